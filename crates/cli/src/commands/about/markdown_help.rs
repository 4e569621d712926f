//! `herma markdown-help`: the source of docs/CLI.md.

use std::fmt::Write as _;
use std::io::Write;

use clap::{Arg, Command, CommandFactory};

use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::commands::cli::Cli;
use crate::terminal::ui::Ui;

pub(crate) fn cmd_markdown_help(ui: &Ui) -> Result<Outcome, CommandError> {
    let mut out = ui.data();
    out.write_all(reference().as_bytes())?;
    out.finish()?;
    Ok(Outcome::Done)
}

/// The reference of all commands.
fn reference() -> String {
    let mut command = Cli::command();
    command.build();
    let mut text = String::from(
        "# The command line\n\nGenerated from the program by `herma markdown-help`; do not edit.\n",
    );
    describe(&mut text, &command, "herma", false);
    text
}

fn describe(text: &mut String, command: &Command, name: &str, is_below: bool) {
    let _ = writeln!(text, "\n## `{name}`\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _ = writeln!(text, "{about}\n");
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let _ = writeln!(text, "```\n{usage}\n```");
    let aliases: Vec<_> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = writeln!(text, "\nAlso: {}", aliases.join(", "));
    }
    let arguments: Vec<_> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && is_worth_telling(argument, is_below))
        .collect();
    if !arguments.is_empty() {
        text.push('\n');
    }
    for argument in arguments {
        describe_argument(text, argument);
    }
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        describe(text, below, &format!("{name} {}", below.get_name()), true);
    }
}

/// The global options are told once, and `--help` nowhere.
fn is_worth_telling(argument: &Arg, is_below: bool) -> bool {
    let id = argument.get_id().as_str();
    !(matches!(id, "help" | "version") || is_below && argument.is_global_set())
}

fn describe_argument(text: &mut String, argument: &Arg) {
    let mut names = Vec::new();
    if argument.is_positional() {
        names.push(argument.to_string());
    } else {
        let value = match argument.get_value_names() {
            Some([value, ..]) if argument.get_action().takes_values() => format!(" <{value}>"),
            _ => String::new(),
        };
        names.extend(argument.get_short().map(|short| format!("-{short}{value}")));
        names.extend(argument.get_long().map(|long| format!("--{long}{value}")));
        let shorts = argument.get_visible_short_aliases().unwrap_or_default();
        names.extend(shorts.iter().map(|short| format!("-{short}{value}")));
        let longs = argument.get_visible_aliases().unwrap_or_default();
        names.extend(longs.iter().map(|long| format!("--{long}{value}")));
    }
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let _ = writeln!(text, "* {}: {}", names.join(", "), help.replace("\n\n", " "));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regenerates docs/CLI.md with `UPDATE=1`.
    #[test]
    #[allow(clippy::disallowed_methods)]
    fn the_reference_in_the_documents_is_up_to_date() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CLI.md");
        let reference = reference();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(file, &reference).unwrap();
        }
        let written = std::fs::read_to_string(file).unwrap();
        assert!(written == reference, "run `UPDATE=1 cargo test -p herma` to update docs/CLI.md");
    }
}
