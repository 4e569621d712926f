//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`, as part of a library made of this program: what
//! comes over a socket or a pipe, what is in the settings, and what must hold of it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches};
use herma_diff::lines::hunks;
use herma_diff::lines::hunks::apply_chosen;
use herma_settings as settings;
use herma_settings::{KEYS, Key, Overrides, Value};
use herma_view::changes::hunk_choices::{Choices, Understood};

use crate::commands::agents::acp::traffic::{Side, Traffic};
use crate::commands::cli::{Cli, Command};
use crate::mcp::lines::{Line, Lines};
use crate::mcp::message;
use crate::mcp::message::{Incoming, Request};
use crate::mcp::tools::TOOLS;
use crate::mcp::tools::arguments::{Arguments, check, command_line};

/// What a client sends to a server: every line is a request, an answer or a mistake.
pub fn requests(bytes: &[u8]) {
    let mut lines = Lines::new(bytes);
    let mut length = 0;
    while let Line::Whole(line) = lines.next().expect("memory can be read") {
        length += line.len() + 1;
        match message::parse(line) {
            Incoming::Request(request) => parameters(&request),
            Incoming::Answer => {}
            Incoming::Bad { id, error } => {
                let answer = message::answer_line(&id, Err(error));
                assert!(
                    answer.len() < line.len() * 2 + 1000,
                    "an answer is no longer than what it is to"
                );
                let once = answer.iter().filter(|byte| **byte == b'\n').count();
                assert_eq!(once, 1, "an answer is one line");
            }
        }
    }
    assert!(length == bytes.len() || length == bytes.len() + 1, "no byte is lost");
}

/// Whatever arguments say, they are arguments of the one command, and switch nothing on that is off.
fn parameters(request: &Request) {
    if let Some(id) = &request.id {
        let answer = message::answer_line(id, Ok(serde_json::Value::Null));
        let read: serde_json::Value = serde_json::from_slice(&answer).expect("an answer is JSON");
        assert_eq!(read["id"], *id, "an answer is known by its id");
    }
    let Ok(arguments) = request.params::<Arguments>() else { return };
    for tool in &TOOLS {
        let properties = tool.properties(true);
        let mut given = arguments.clone();
        given.retain(|name, _| properties.contains_key(name));
        // Those that are refused never become a command line, and what names a checkpoint becomes its id.
        if check(&properties, &given).is_err() {
            continue;
        }
        for name in ["checkpoint", "from", "to"] {
            if let Some(named) = given.get_mut(name).filter(|named| !named.is_null()) {
                *named = "id:ab".into();
            }
        }
        let Some(cli) = parse(command_line(tool.command, &given)) else { continue };
        assert!(cli.global.home.is_none() && cli.global.root.is_none());
        if let Some(Command::Restore(args)) = cli.command {
            let is_all = given.get("all") == Some(&true.into());
            assert!(args.all == is_all, "only who says so restores everything");
            assert!(args.dry_run == (tool.command == "restore --dry-run"));
        }
    }
}

thread_local! {
    /// What the command line may be. Making it takes a thousand times as long as reading a request.
    static COMMANDS: RefCell<clap::Command> = RefCell::new(Cli::command());
}

fn parse(arguments: Vec<OsString>) -> Option<Cli> {
    let matches = COMMANDS.with_borrow_mut(|commands| commands.try_get_matches_from_mut(arguments));
    Cli::from_arg_matches(&matches.ok()?).ok()
}

/// What an editor and an agent say to each other.
pub fn traffic(bytes: &[u8]) {
    let mut traffic = Traffic::new(PathBuf::from("/started/here"));
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let side = if number % 2 == 0 { Side::Editor } else { Side::Agent };
        match traffic.read(side, line) {
            Some(happenings) => assert!(happenings.iter().all(|one| one.directory.is_absolute())),
            None => assert!(traffic.unreadable(side).len() <= 4),
        }
    }
}

/// `config.yaml`: reading it never fails, and what is set in it is read back, with everything else as it was.
pub fn settings(text: &str) {
    let read = |text: &str| settings::read::parse(PathBuf::from("config.yaml"), text);
    let before = read(text);
    let _ = (before.for_engine(Overrides::default()), before.sessions());
    // One key for each text: all of them take long, and texts are many.
    let sum = text.bytes().fold(0, |sum: usize, byte| sum + usize::from(byte));
    let key = &KEYS[sum % KEYS.len()];
    let value = other_value(key);
    let Ok(edited) = settings::set(text, key, &value) else { return };
    let after = read(&edited);
    let mut found = after.all().filter(|(one, _, _)| *one == key);
    assert!(found.any(|(_, found, _)| *found == value), "{} is {value}", key.full_name());
    let is_same = |(one, old, _): (&Key, &Value, _)| {
        let same = |(other, new, _): (&Key, &Value, _)| one == other && old == new;
        one == key || after.all().any(same)
    };
    if before.problems.is_empty() {
        assert!(before.all().all(is_same), "the others stay");
    }
}

/// A value that is not the default.
fn other_value(key: &Key) -> Value {
    match key.default() {
        Value::Bool(value) => Value::Bool(!value),
        Value::Number(value) => Value::Number(value.saturating_add(7)),
        word @ Value::Word(_) => word,
        Value::List(_) => Value::List(vec!["a: #b".to_owned(), "'".to_owned()]),
    }
}

/// Two texts, and what somebody types about their hunks: what is chosen applies, and lines that nobody asked for
/// are as they were.
pub fn patch_choice(old: &[u8], new: &[u8], answers: &[u8]) {
    let mut choices = Choices::new(hunks(old, new, 3));
    let mut letters = answers.iter();
    let mut said_yes = false;
    let mut quit = false;
    while let Some(at) = choices.next_open() {
        assert!(at < choices.count() && !quit, "nothing is asked after the end");
        let letter = letters.next().map(|letter| char::from(*letter).to_string());
        said_yes |= matches!(letter.as_deref(), Some("y" | "a"));
        let before = choices.count();
        let understood = choices.answer(letter.as_deref());
        quit = understood == Understood::Quit;
        assert!(choices.count() >= before, "no hunk gets lost");
    }
    let chosen = choices.chosen();
    assert!(said_yes || chosen.is_empty());
    let made = apply_chosen(old, chosen.iter().copied()).expect("hunks of these very texts apply");
    if chosen.is_empty() {
        assert_eq!(made, old);
    } else if chosen.len() == choices.count() {
        assert_eq!(made, new);
    }
}
