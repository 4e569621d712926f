//! `herma help`: the commands in groups, a page for each, and a few topics that are larger than one command.
//!
//! [`described`] is the description of all commands as people read it: with examples, and the options of every command told
//! once, where the commands are listed. What only parses ([`one_command`](crate::commands::one_command)) does without it.

pub(crate) mod examples;
mod groups;
mod topics;

use std::io::Write;

use clap::{Args, Command, CommandFactory};

use crate::command_env::{CommandError, Outcome, Result};
use crate::commands::cli::Cli;
use crate::terminal::{Ui, escape};

/// Explain a command or a topic
///
/// The topics: checkpoints, undo, agents, retention, store, scripts.
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// The command or topic [default: all commands]
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
}

pub(crate) fn cmd_help(ui: &Ui, args: &HelpArgs) -> Result<Outcome> {
    let mut whole = described();
    let text = match &args.words[..] {
        [] => whole.render_help().to_string(),
        words => page(&mut whole, words)?,
    };
    let mut out = ui.listing();
    out.write_all(text.trim_end().as_bytes())?;
    out.write_all(b"\n")?;
    out.finish()?;
    Ok(Outcome::Done)
}

/// The topic of that name, and the page of the command; some have both.
fn page(whole: &mut Command, words: &[String]) -> Result<String> {
    let topic = match words {
        [word] => topics::text(word),
        _ => None,
    };
    let mut found = Some(whole);
    for word in words {
        found = found.and_then(|command| command.find_subcommand_mut(word));
    }
    let command = found.filter(|command| !command.is_hide_set());
    let command = command.map(|command| command.render_long_help().to_string());
    match (topic, command) {
        (Some(topic), Some(command)) => Ok(format!("{topic}\n---\n\n{command}")),
        (Some(topic), None) => Ok(topic.to_owned()),
        (None, Some(command)) => Ok(command),
        (None, None) => {
            let named = escape(words.join(" ").as_bytes());
            let topics = topics::NAMES.join(", ");
            Err(CommandError::usage(format!("there is no command or topic `{named}`"))
                .with_hint(format!("`herma help` lists the commands; the topics are {topics}.")))
        }
    }
}

/// The description of all commands, as people read it.
pub(crate) fn described() -> Command {
    // A list is wanted of the program itself; all that there is to say is in its manual page.
    let mut whole = with_examples(Cli::command().long_about(None), "herma");
    // What every command has is handed down by this.
    whole.build();
    let whole = without_what_all_have(whole);
    let (topics, examples) = (topics::NAMES.join(", "), examples_of(&whole, "herma"));
    let template = groups::template(&whole);
    whole.help_template(template).after_help(format!(
        "{examples}\n`herma help COMMAND` explains a command; `herma help TOPIC` one of these: {topics}."
    ))
}

/// All that has a page by one word, and what it is about.
pub(crate) fn named() -> Vec<(String, String)> {
    let about = |command: &Command| {
        let about = command.get_about().map(ToString::to_string);
        (command.get_name().to_owned(), about.unwrap_or_default())
    };
    let whole = Cli::command();
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set()).map(about);
    let topics = topics::NAMES.iter().map(|name| ((*name).to_owned(), "a topic".to_owned()));
    let topics = topics.filter(|(name, _)| whole.find_subcommand(name).is_none());
    commands.chain(topics).collect()
}

/// Every command below this one with its examples.
fn with_examples(command: Command, name: &str) -> Command {
    command.mut_subcommands(|below| {
        let name = format!("{name} {}", below.get_name());
        let examples = examples_of(&below, &name);
        with_examples(below.after_long_help(examples), &name)
    })
}

fn examples_of(command: &Command, name: &str) -> String {
    let header = command.get_styles().get_header();
    format!("{header}Examples:{header:#}\n{}", examples::text(name))
}

/// The options of every command are told once.
fn without_what_all_have(command: Command) -> Command {
    command.mut_subcommands(|below| {
        without_what_all_have(below).mut_args(|argument| {
            let is_told_above = argument.is_global_set();
            if is_told_above { argument.hide(true) } else { argument }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every visible command with the words that call it.
    fn commands() -> Vec<String> {
        let mut found = Vec::new();
        let mut waiting = vec![("herma".to_owned(), Cli::command())];
        while let Some((name, command)) = waiting.pop() {
            for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
                waiting.push((format!("{name} {}", below.get_name()), below.clone()));
            }
            found.push(name);
        }
        found
    }

    /// The words of a line, where double quotes hold several together.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('"').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = groups::GROUPS.iter().flat_map(|(_, names)| *names).collect();
        grouped.sort_unstable();
        let whole = Cli::command();
        let visible = whole.get_subcommands().filter(|command| !command.is_hide_set());
        let mut named: Vec<_> = visible.map(Command::get_name).collect();
        named.sort_unstable();
        assert_eq!(grouped.into_iter().copied().collect::<Vec<_>>(), named);
    }

    #[test]
    fn every_command_has_three_examples_that_can_be_typed() {
        for command in commands() {
            let examples = examples::of(&command);
            assert_eq!(examples.len(), 3, "{command}");
            for (line, _) in examples {
                assert!(line.starts_with(&command), "{line}");
                let read = Cli::command().try_get_matches_from(words(line));
                assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
            }
            let text = examples::text(&command);
            let widest = text.lines().map(str::len).max();
            assert!(widest <= Some(80), "{text}");
        }
    }

    #[test]
    fn the_options_of_every_command_are_told_once() {
        let mut whole = described();
        assert!(whole.render_help().to_string().contains("--no-pager"));
        for words in [&["save"][..], &["config", "set"]] {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            let page = page(&mut whole, &words).unwrap();
            assert!(page.contains("Usage: herma ") && page.contains("Examples:"), "{page}");
            assert!(!page.contains("--no-pager"), "{page}");
        }
    }
}
