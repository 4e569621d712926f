//! The options every command has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options every command has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Act as if started in this directory
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// Take this directory as the project
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) root: Option<PathBuf>,
    /// Where settings and checkpoints are kept [default: `$HERMES_HOME`, or `~/.hermes`]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) home: Option<PathBuf>,
    /// Print one JSON object, as docs/JSON.md describes it
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: ColorChoice,
    /// Print data, warnings and errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Do not send long output through a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// Save automatically, or not, whatever the settings say
    #[arg(
        long,
        value_name = "SWITCH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        global = true
    )]
    pub(crate) checkpoints: Option<Switch>,
}

/// On or off.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ColorChoice {
    // On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

impl GlobalArgs {
    /// `--json` and nothing else, for command lines that could not be read.
    pub(crate) fn plain_json() -> Self {
        let color = ColorChoice::Never;
        Self { json: true, color, quiet: true, no_pager: true, ..Self::default() }
    }
}
