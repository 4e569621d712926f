//! `herma markdown-help`: the source of docs/CLI.md.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::Write;

use clap::{Arg, Command, CommandFactory};

use crate::command_env::{Outcome, Result};
use crate::commands::cli::Cli;
use crate::terminal::Ui;

pub(crate) fn cmd_markdown_help(ui: &Ui) -> Result<Outcome> {
    let mut out = ui.data();
    out.write_all(reference().as_bytes())?;
    out.finish()?;
    Ok(Outcome::Done)
}

/// What commands say about their options, the first one that says it, and the place of the option there.
type Told = HashMap<String, (String, usize)>;

/// The reference of all commands.
fn reference() -> String {
    let mut command = Cli::command();
    command.build();
    let mut text = String::from(
        "# The command line\n\nGenerated from the program by `herma markdown-help`; do not edit. \
         Every command also takes the options of `herma`.\n",
    );
    describe(&mut text, &mut Told::new(), &command, "herma", false);
    text
}

fn describe(text: &mut String, told: &mut Told, command: &Command, name: &str, is_below: bool) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).replace(" [OPTIONS]", "");
    let _ = writeln!(text, "\n## `{usage}`");
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _ = writeln!(text, "\n{about}");
    }
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
    describe_arguments(text, told, &arguments, name);
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        describe(text, told, below, &format!("{name} {}", below.get_name()), true);
    }
}

/// Several options that an earlier command described in the same words are named, and that command is.
fn describe_arguments(text: &mut String, told: &mut Told, arguments: &[&Arg], name: &str) {
    let mut same: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    let mut all = Vec::new();
    for argument in arguments {
        let described = described(argument);
        let known = argument.get_long().zip(told.get(&described));
        if let Some((long, (first, place))) = known {
            same.entry(first.clone()).or_default().push((*place, format!("`--{long}`")));
        }
        all.push((known.map(|(_, (first, _))| first.clone()), described));
    }
    same.retain(|_, options| options.len() > 1);
    for (place, (first, described)) in all.into_iter().enumerate() {
        if !first.is_some_and(|first| same.contains_key(&first)) {
            let _ = writeln!(text, "* {described}");
            told.entry(described).or_insert_with(|| (name.to_owned(), place));
        }
    }
    for (first, options) in same {
        let _ = writeln!(text, "* {}: as for `{first}`", series(&options));
    }
}

/// The options, or the first and the last of them where they follow each other in the other command, too.
fn series(options: &[(usize, String)]) -> String {
    let follow = options.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
    match options {
        [(_, first), .., (_, last)] if follow && options.len() > 3 => format!("{first} to {last}"),
        _ => options.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// The global options are told once, `--help` nowhere, nor that a `<FILE>` is the file.
fn is_worth_telling(argument: &Arg, is_below: bool) -> bool {
    let id = argument.get_id().as_str();
    !(matches!(id, "help" | "version")
        || is_below && argument.is_global_set()
        || argument.is_positional() && says_its_name(argument))
}

fn says_its_name(argument: &Arg) -> bool {
    let name = argument.get_value_names().and_then(<[_]>::first);
    let says = argument.get_help().map(ToString::to_string).unwrap_or_default();
    name.is_some_and(|name| says.trim_end_matches('s').eq_ignore_ascii_case(&format!("the {name}")))
}

fn described(argument: &Arg) -> String {
    let mut names = Vec::new();
    if argument.is_positional() {
        names.push(argument.to_string());
    } else {
        let value = match argument.get_value_names() {
            Some([value, ..]) if argument.get_action().takes_values() => format!(" <{value}>"),
            _ => String::new(),
        };
        let shorts = argument.get_visible_short_aliases().unwrap_or_default();
        let shorts = argument.get_short().into_iter().chain(shorts);
        names.extend(shorts.map(|short| format!("-{short}")));
        let longs = argument.get_visible_aliases().unwrap_or_default();
        names.extend(argument.get_long().into_iter().chain(longs).map(|long| format!("--{long}")));
        // Once is enough: `-n`, `--limit <COUNT>`.
        names.last_mut().expect("an option has a name").push_str(&value);
    }
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{}: {}", names.join(", "), help.replace("\n\n", ". "))
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
