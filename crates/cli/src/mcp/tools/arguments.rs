//! What a tool takes, and how it becomes arguments of a command.
//!
//! What a command knows is asked of clap: which options it has, whether they are switches, and what they are for.
//! So a tool's schema, the check of what a client sends, and the command line that is made of it have one source.
//!
//! What a client sends is never taken for an option: values stand behind `=`, and everything else behind `--`,
//! or is a number or the whole id of a checkpoint. What nobody knows is refused: a misspelt `dry_run` must not
//! become a restore.

use std::ffi::OsString;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, Command, CommandFactory};
use serde_json::{Map, Value, json};

use crate::command_error::{CommandError, Result};
use crate::commands::cli::Cli;

static HERMA: LazyLock<Command> = LazyLock::new(Cli::command);

/// Numbers of changes as a list prints them, or the handle of a step that has none yet: `17`, `15-17`, `3-5,7`, `s7`.
const NUMBERS: &str = "^s?[0-9][0-9,-]*$";

/// The arguments of a tool, by their names.
pub(crate) type Arguments = Map<String, Value>;

/// The command of these words, among which may be switches.
pub(in crate::mcp) fn command_of(words: &str) -> &'static Command {
    let names = words.split(' ').filter(|word| !word.starts_with('-'));
    names.fold(&HERMA, |command, name| command.find_subcommand(name).unwrap_or(command))
}

/// What tools call an argument of a command.
fn names_of(arg: &'static Arg) -> Vec<&'static str> {
    match arg.get_id().as_str() {
        "message" => vec!["reason"],
        "arguments" => vec!["from", "to"],
        // Files stand in `paths`.
        "what" => vec!["steps"],
        name => vec![name],
    }
}

/// The schema of what a tool calls `name`; `None` if neither the command nor anybody here knows it.
pub(in crate::mcp) fn property(command: &'static Command, name: &str) -> Option<Value> {
    let mut schema = match own_property(name) {
        Some(schema) => schema,
        None => schema_of(command, find(command, name)?),
    };
    if schema["description"].is_null() {
        let help = find(command, name).and_then(Arg::get_help);
        schema["description"] = help.map(ToString::to_string).into();
    }
    Some(schema)
}

/// Does the command itself know this?
pub(in crate::mcp) fn find(command: &'static Command, name: &str) -> Option<&'static Arg> {
    arguments_of(command).find(|arg| names_of(arg).contains(&name))
}

/// What a command takes, without what every command does.
fn arguments_of(command: &'static Command) -> impl Iterator<Item = &'static Arg> {
    command.get_arguments().filter(|arg| !arg.is_global_set())
}

/// What no command has, or not in the same words.
fn own_property(name: &str) -> Option<Value> {
    let plain = |kind: &str, what: &str| json!({"type": kind, "description": what});
    let checkpoint = |what: &str| {
        let how = "A number from herma_timeline, the beginning of an id, a name, or @-2";
        json!({"type": ["string", "integer"], "description": format!("{what}. {how}")})
    };
    let number = |minimum: u64, what: &str| json!({"type": "integer", "minimum": minimum, "description": what});
    Some(match name {
        "checkpoint" => checkpoint("The state to go back to, or to look at"),
        "from" => checkpoint("The older state; the newest checkpoint unless said otherwise"),
        "to" => checkpoint("The newer state; the present files unless said otherwise"),
        "reason" => plain("string", "Why, in a few words"),
        "patch" => plain("boolean", "Also the changed lines; true unless said otherwise"),
        "max_bytes" => number(0, "How much of the patch at most"),
        "limit" => {
            json!({"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many at most"})
        }
        "offset" => number(0, "How many newer ones to skip"),
        "root" => plain(
            "string",
            "The project's directory, as an absolute path; the one the server was started in unless said otherwise",
        ),
        "directory" => {
            plain("string", "Anywhere in the project, as an absolute path, instead of `root`")
        }
        _ => return None,
    })
}

fn schema_of(command: &Command, arg: &Arg) -> Value {
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    let words: Vec<String> =
        arg.get_possible_values().iter().map(|one| one.get_name().to_owned()).collect();
    let one = match arg.get_id().as_str() {
        _ if arg.get_id() == "conflicts" => json!({"type": "string", "enum": words}),
        // Those of a prompt with several calls are listed as one text.
        "what" => json!({"type": ["integer", "string"], "minimum": 1, "pattern": NUMBERS}),
        "steps" => json!({"type": "integer", "minimum": 1}),
        "paths" | "keep" | "name" => json!({"type": "string"}),
        _ => json!({"type": ["string", "integer"]}),
    };
    match arg.get_action() {
        ArgAction::SetTrue => json!({"type": "boolean"}),
        ArgAction::Append => {
            // To choose nothing must not become everything.
            let is_choice = arg.is_positional() && command.get_name() != "diff";
            json!({"type": "array", "items": one, "minItems": u8::from(is_choice)})
        }
        _ if is_optional => json!({"type": ["string", "boolean"]}),
        _ => one,
    }
}

/// Is this what [`NUMBERS`] says, and not endless?
pub(in crate::mcp) fn is_numbers(text: &str) -> bool {
    let digits = text.strip_prefix('s').unwrap_or(text);
    text.len() <= 4096
        && digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte))
}

/// Takes one number of a change for a list of it, as models write it.
pub(in crate::mcp) fn with_lists(properties: &Arguments, mut arguments: Arguments) -> Arguments {
    for (name, value) in &mut arguments {
        let is_list = properties.get(name).is_some_and(|one| one["items"]["pattern"].is_string());
        if is_list && (value.is_string() || value.is_number()) {
            *value = Value::Array(vec![value.take()]);
        }
    }
    arguments
}

/// Refuses arguments that a tool with these properties does not take. `null` says nothing, as if it were left out;
/// but a list that says nothing must not become everything.
pub(crate) fn check(properties: &Arguments, arguments: &Arguments) -> Result<()> {
    for (name, value) in arguments {
        let Some(schema) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let name: String = name.chars().take(64).collect();
            let name = herma_store::path::escape(name.as_bytes());
            let known = known.join("`, `");
            return Err(CommandError::usage(format!(
                "there is no argument `{name}`; there are `{known}`"
            )));
        };
        if !fits(schema, value) && (!value.is_null() || schema["type"] == "array") {
            let mut wanted = schema.clone();
            if let Some(wanted) = wanted.as_object_mut() {
                wanted.remove("description");
            }
            return Err(CommandError::usage(format!("`{name}` must be {wanted}")));
        }
    }
    Ok(())
}

fn fits(schema: &Value, value: &Value) -> bool {
    let minimum = schema["minimum"].as_i64().unwrap_or(i64::MIN);
    let is = |kind: &Value| match kind.as_str().unwrap_or_default() {
        "boolean" => value.is_boolean(),
        "string" => {
            let is_fit = |text| schema["pattern"].is_null() || is_numbers(text);
            value.as_str().is_some_and(is_fit)
        }
        "integer" => value.as_i64().map_or(value.is_u64(), |number| number >= minimum),
        "array" => value.as_array().is_some_and(|list| {
            let shortest = schema["minItems"].as_u64().unwrap_or(0);
            list.len() as u64 >= shortest && list.iter().all(|one| fits(&schema["items"], one))
        }),
        _ => false,
    };
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}

/// The command line for arguments that were checked. Names the command does not know are somebody else's.
pub(crate) fn command_line(words: &str, arguments: &Arguments) -> Vec<OsString> {
    let command = command_of(words);
    let has_last = command.get_positionals().any(Arg::is_last_set);
    let (mut first, mut options, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for arg in arguments_of(command) {
        let named = names_of(arg).into_iter();
        for value in named.filter_map(|name| arguments.get(name)) {
            let Some(long) = arg.get_long().map(|name| format!("--{name}")) else {
                // Where something is to stand behind `--`, what comes before it is numbers and ids.
                let place = if has_last && !arg.is_last_set() { &mut first } else { &mut rest };
                place.extend(texts(value));
                continue;
            };
            match value {
                Value::Bool(true) => options.push(long),
                value => options.extend(texts(value).map(|text| format!("{long}={text}"))),
            }
        }
    }
    let words = words.split(' ').filter(|word| !word.is_empty());
    let words = std::iter::once("herma").chain(words).map(str::to_owned);
    // Numbers before options: `--turn`, whose value may be missing, would take one that follows it for its own.
    let line = words.chain(first).chain(options);
    let separator = (!rest.is_empty()).then(|| "--".to_owned());
    line.chain(separator).chain(rest).map(OsString::from).collect()
}

/// What a person would type for a value.
fn texts(value: &Value) -> impl Iterator<Item = String> {
    let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    values.iter().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
    fn line(words: &str, arguments: Value) -> String {
        let line = command_line(words, arguments.as_object().unwrap());
        let words: Vec<_> = line.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn what_a_client_sends_is_never_an_option() {
        let restore =
            json!({"checkpoint": "id:ab", "paths": ["--yes"], "keep": ["--all"], "all": false});
        assert_eq!(
            line("restore --dry-run", restore),
            "herma restore --dry-run --keep=--all -- id:ab --yes"
        );
        assert_eq!(
            line("save", json!({"reason": "--name=x", "name": null})),
            "herma save --message=--name=x"
        );
        assert_eq!(
            line("sessions search", json!({"words": ["--yes"]})),
            "herma sessions search -- --yes"
        );
    }

    #[test]
    fn numbers_and_ids_come_first_and_paths_last() {
        let undo = json!({"turn": true, "steps": [3, 5], "paths": ["-a"], "dry_run": true});
        assert_eq!(line("undo", undo), "herma undo 3 5 --turn --dry-run -- -a");
        let diff = json!({"to": "id:b", "from": "id:a", "paths": ["--stat"], "unified": 0});
        assert_eq!(line("diff", diff), "herma diff id:a id:b --unified=0 -- --stat");
        assert_eq!(line("step end", json!({"handle": "s7"})), "herma step end -- s7");
        assert_eq!(line("", json!({"root": "/"})), "herma");
    }

    #[test]
    fn only_what_fits_the_schema_is_taken() {
        let properties = json!({
            "list": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "count": {"type": "integer", "minimum": 1},
            "turn": {"type": ["string", "boolean"]},
        });
        let properties = properties.as_object().unwrap();
        let is_taken = |value: Value| check(properties, value.as_object().unwrap()).is_ok();
        for good in [
            json!({}),
            json!({"list": ["a"], "count": 1, "turn": true}),
            json!({"count": null, "turn": "x"}),
        ] {
            assert!(is_taken(good.clone()), "{good}");
        }
        for bad in [
            json!({"list": []}),
            json!({"list": null}),
            json!({"list": "a"}),
            json!({"list": [1]}),
            json!({"count": 0}),
            json!({"count": 1.5}),
            json!({"count": "1"}),
            json!({"turn": 1}),
            json!({"lists": ["a"]}),
        ] {
            assert!(!is_taken(bad.clone()), "{bad}");
        }
    }
}
