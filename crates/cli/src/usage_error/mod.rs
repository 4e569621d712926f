//! What is wrong with a command line: clap finds it, and here it is said as every other error is, with what happened, what state
//! things are in and what to type next. [`habits`] knows what people mean who are used to other programs.

mod habits;

use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use crate::command_error::CommandError;
use crate::commands::about::help::examples;
use crate::commands::cli::Cli;
use crate::terminal::escape;

/// What stands around the name of a value in clap's words.
const BRACKETS: [char; 5] = ['<', '>', '[', ']', '.'];

/// What an argument is called, without what stands around it; an option keeps the name of its value.
fn unbracketed(argument: &str) -> &str {
    if argument.starts_with('-') { argument } else { argument.trim_matches(BRACKETS) }
}

/// The options before a command that have a value.
const WITH_VALUE: [&str; 4] = ["-C", "--root", "--home", "--color"];

/// The error of a command line that clap cannot read.
pub(crate) fn usage_error(error: &clap::Error, line: &[OsString]) -> CommandError {
    let whole = Cli::command();
    let command = called(&whole, line);
    let said = Said { error, whole: &whole, command };
    said.in_words().with_state("Nothing was done.")
}

/// The words that call the command on a line, as far as there is one: `config set`.
fn called(whole: &Command, line: &[OsString]) -> String {
    let (mut here, mut called) = (whole, Vec::new());
    let mut words = line.iter().skip(1).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if WITH_VALUE.iter().any(|option| word == option) {
            words.next();
        } else if let Some(below) = here.find_subcommand(word) {
            called.push(below.get_name());
            here = below;
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            break;
        }
    }
    called.join(" ")
}

/// What clap says about a line.
struct Said<'a> {
    error: &'a clap::Error,
    whole: &'a Command,
    /// The command without `herma`; empty if there is none.
    command: String,
}

impl Said<'_> {
    fn in_words(&self) -> CommandError {
        let name = self.name();
        match self.error.kind() {
            ErrorKind::InvalidSubcommand => self.no_such_command(),
            ErrorKind::UnknownArgument => self.unknown_argument(),
            ErrorKind::MissingRequiredArgument => {
                let missing = self.texts(ContextKind::InvalidArg);
                let missing: Vec<_> = missing.iter().map(|one| unbracketed(one)).collect();
                let needs = format!("`{name}` needs {}", missing.join(" and "));
                self.with_example(CommandError::usage(needs))
            }
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => self.invalid_value(),
            ErrorKind::ArgumentConflict => {
                let one = self.text(ContextKind::InvalidArg);
                let other = self.texts(ContextKind::PriorArg).join("` and `");
                let together = format!("`{one}` and `{other}` do not go together");
                self.with_page(CommandError::usage(together))
            }
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                self.with_example(CommandError::usage(format!(
                    "`{name}` needs to be told what to do"
                )))
            }
            ErrorKind::NoEquals => {
                let option = self.text(ContextKind::InvalidArg);
                let option = option.split(['=', '[']).next().unwrap_or_default();
                let message = format!("the value of `{option}` belongs behind `=`");
                CommandError::usage(message).with_hint(format!("Write `{option}=VALUE`."))
            }
            _ => {
                let text = self.error.render().to_string();
                let first = text.lines().next().unwrap_or_default();
                let first = first.strip_prefix("error: ").unwrap_or(first);
                self.with_page(CommandError::usage(escape(first.as_bytes())))
            }
        }
    }

    /// The command as one types it.
    fn name(&self) -> String {
        format!("herma {}", self.command).trim_end().to_owned()
    }

    fn no_such_command(&self) -> CommandError {
        let typed = self.text(ContextKind::InvalidSubcommand);
        if !self.command.is_empty() {
            let message = format!("`{}` has no command `{typed}`", self.name());
            return self.with_page(CommandError::usage(message));
        }
        let error = CommandError::usage(format!("there is no command `{typed}`"));
        if let Some(instead) = habits::instead_of(&typed) {
            return error.with_hint(instead);
        }
        let is_visible = |name: &String| {
            self.whole.find_subcommand(name).is_some_and(|command| !command.is_hide_set())
        };
        let is_slip = |name: &String| name.chars().next() == typed.chars().next();
        let mut similar = self.texts(ContextKind::SuggestedSubcommand).into_iter();
        // The most similar is the last.
        match similar.rfind(|name| is_visible(name) && is_slip(name)) {
            Some(similar) => error.with_hint(format!("Did you mean `herma {similar}`?")),
            None => error.with_hint("`herma help` lists the commands."),
        }
    }

    fn unknown_argument(&self) -> CommandError {
        let (name, typed) = (self.name(), self.text(ContextKind::InvalidArg));
        let error = CommandError::usage(if typed.starts_with('-') {
            format!("`{name}` has no option `{typed}`")
        } else {
            format!("`{name}` does not take `{typed}`")
        });
        if let Some(instead) = habits::instead_of_argument(&self.command, &typed) {
            return error.with_hint(instead);
        }
        match self.texts(ContextKind::SuggestedArg).pop() {
            Some(similar) => error.with_hint(format!("Did you mean `{similar}`?")),
            None => self.with_page(error),
        }
    }

    fn invalid_value(&self) -> CommandError {
        let argument = self.text(ContextKind::InvalidArg);
        let value = self.text(ContextKind::InvalidValue);
        if value.is_empty() {
            return self.with_page(CommandError::usage(format!("`{argument}` needs a value")));
        }
        let wanted = match self.error.source() {
            Some(source) if source.is::<ParseIntError>() => ": it takes a whole number".to_owned(),
            Some(source) => format!(": {}", escape(source.to_string().as_bytes())),
            None => String::new(),
        };
        let is_option = argument.starts_with('-');
        let option = argument.split([' ', '=', '[']).next().unwrap_or_default();
        let error = CommandError::usage(if is_option {
            format!("`{option}` cannot be `{value}`{wanted}")
        } else {
            let what = argument.trim_matches(BRACKETS).to_lowercase();
            format!("`{value}` is no {what}{wanted}")
        });
        match &self.texts(ContextKind::ValidValue)[..] {
            [] => self.with_page(error),
            values => error.with_hint(format!("It can be {}.", values.join(", "))),
        }
    }

    fn with_page(&self, error: CommandError) -> CommandError {
        match &*self.command {
            "" => error.with_hint("`herma help` lists the commands."),
            command => error.with_hint(format!("`herma help {command}` explains it.")),
        }
    }

    fn with_example(&self, error: CommandError) -> CommandError {
        match examples::of(&self.name())[..] {
            [(line, what), ..] => error.with_hint(format!("For example, `{line}`: {what}.")),
            [] => self.with_page(error),
        }
    }

    /// What was typed, or is known, of this kind; fit to be shown.
    fn texts(&self, kind: ContextKind) -> Vec<String> {
        let texts = match self.error.get(kind) {
            Some(ContextValue::Strings(texts)) => texts.clone(),
            Some(ContextValue::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        };
        texts.iter().map(|text| escape(text.as_bytes())).collect()
    }

    fn text(&self, kind: ContextKind) -> String {
        self.texts(kind).into_iter().next().unwrap_or_default()
    }
}
