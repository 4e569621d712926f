//! The recorded payloads and how to call the readers with them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use herma_agents::{Agent, Event, Incoming, Surroundings};

/// The directories of payloads, and whose hook gets them.
pub(crate) const FORMS: [(&str, Agent); 21] = [
    ("claude", Agent::Claude),
    ("cline", Agent::Cline),
    ("cline-vscode", Agent::Cline),
    ("codex", Agent::Codex),
    ("copilot", Agent::Copilot),
    ("copilot-pascal", Agent::Copilot),
    ("copilot-string", Agent::Copilot),
    ("crush", Agent::Crush),
    ("cursor", Agent::Cursor),
    ("droid", Agent::Droid),
    ("gemini", Agent::Gemini),
    ("goose", Agent::Goose),
    ("grok", Agent::Grok),
    ("hermes", Agent::Hermes),
    ("kilo", Agent::Kilo),
    ("kimi", Agent::Kimi),
    ("opencode", Agent::OpenCode),
    ("opencode-plugin", Agent::OpenCode),
    ("pi", Agent::Pi),
    ("qwen", Agent::Qwen),
    ("vibe", Agent::Vibe),
];

pub(crate) fn payloads() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/payloads")
}

/// The payloads of a form by their file names, sorted.
pub(crate) fn files(form: &str) -> Vec<(String, Vec<u8>)> {
    let directory = payloads().join(form);
    let entries = std::fs::read_dir(&directory).expect("a directory of payloads");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a plain name");
            (name, std::fs::read(entry.path()).expect("a payload"))
        })
        .collect();
    files.sort();
    files
}

/// One payload.
pub(crate) fn payload(form: &str, file: &str) -> Vec<u8> {
    std::fs::read(payloads().join(form).join(file)).expect("a payload")
}

/// The event that the command line names for a file such as `02-preToolUse.create.json`.
pub(crate) fn event_of(file: &str) -> Option<String> {
    let (_, name) = file.split_once('-')?;
    let name = name.split(['.', '-']).next()?;
    Some(name.to_owned())
}

/// What surrounds a call from a directory that is not the project.
pub(crate) fn surroundings(event: Option<&str>) -> Surroundings {
    Surroundings {
        event: event.map(ToOwned::to_owned),
        directory: Some(PathBuf::from("/started/here")),
        ..Surroundings::default()
    }
}

pub(crate) fn read(agent: Agent, surroundings: &Surroundings, mut payload: &[u8]) -> Incoming {
    herma_agents::read(agent, surroundings, &mut payload)
}

/// Reads what must be readable.
pub(crate) fn event(agent: Agent, surroundings: &Surroundings, payload: &[u8]) -> Event {
    let incoming = read(agent, surroundings, payload);
    assert!(incoming.problem.is_none(), "{:?}", incoming.problem);
    incoming.event
}

/// An event on one line: what it is, then what is known of it.
pub(crate) fn line(event: &Event) -> String {
    let mut line = format!("{} {}", event.agent.word(), event.kind.word());
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, " {name}={value}").expect("a string takes everything");
        }
    };
    let path = |path: &PathBuf| path.display().to_string();
    let paths = |paths: &[PathBuf]| {
        let all: Vec<String> = paths.iter().map(path).collect();
        (!all.is_empty()).then(|| format!("[{}]", all.join(", ")))
    };
    add("session", event.session.clone());
    add("agent", event.sub_agent.clone());
    add("turn", event.turn.clone());
    add("prompt", event.prompt.as_ref().map(|prompt| format!("{prompt:?}")));
    if let Some(tool) = &event.tool {
        add("tool", Some(format!("{}/{}", tool.name, tool.class.word())));
        add("call", tool.call.clone());
        add("command", tool.command.as_ref().map(|command| format!("{command:?}")));
        add("paths", paths(&tool.paths));
        let written = tool.writes.iter().map(|w| format!("{:?} -> {:?}", w.old, w.new));
        let written: Vec<String> = written.collect();
        add("writes", (!written.is_empty()).then(|| written.join(", ")));
        add("in", tool.directory.as_ref().map(path));
        add("background", tool.in_background.then(|| "yes".to_owned()));
        add("ran", tool.duration.map(|duration| format!("{duration:?}")));
    }
    add("roots", paths(&event.roots));
    add("directory", event.directory.as_ref().map(path));
    line
}
