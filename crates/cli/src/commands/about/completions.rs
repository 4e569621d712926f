//! `herma completions`

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::command_env::{Outcome, Result};
use crate::commands::cli::Cli;
use crate::terminal::Ui;

/// Print the completions for a shell
///
/// For bash: `herma completions bash > ~/.local/share/bash-completion/completions/herma`
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn cmd_completions(ui: &Ui, args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "herma", &mut script);
    let mut out = ui.data();
    out.write_all(&script)?;
    out.finish()?;
    Ok(Outcome::Done)
}
