//! What agents send, and what is in their configurations.

use std::path::{Path, PathBuf};

use herma_agents::install::{HookCommand, Places, Scope};
use herma_agents::payload::{MAX_COMMAND_BYTES, MAX_ID_BYTES, MAX_PROMPT_BYTES};
use herma_agents::slash::message::Span;
use herma_agents::slash::{Message, Platform};
use herma_agents::{Agent, Event, EventKind, Surroundings, slash};

/// A payload on standard input, and the same as an argument.
pub fn payload(agent: Agent, bytes: &[u8]) {
    let mut surroundings = Surroundings {
        event: Some("preToolUse".to_owned()),
        directory: Some(PathBuf::from("/started/here")),
        ..Surroundings::default()
    };
    let incoming = herma_agents::read(agent, &surroundings, &mut &*bytes);
    assert_eq!(incoming.size, bytes.len() as u64);
    if incoming.problem.is_some() {
        assert_eq!(incoming.event.kind, EventKind::TurnStart);
        assert_eq!(incoming.event.agent, agent);
    }
    check(&incoming.event);
    if let Ok(text) = std::str::from_utf8(bytes) {
        surroundings.argument = Some(text.to_owned());
        let again = herma_agents::read(agent, &surroundings, &mut &*bytes);
        assert_eq!(again.event, incoming.event);
        assert_eq!(again.event.call_key(), incoming.event.call_key());
    }
}

/// A text that may contain patches.
pub fn patches(text: &str) {
    let paths = herma_agents::patches::paths(text);
    assert!(paths.len() <= 1000);
    for (at, path) in paths.iter().enumerate() {
        let length = path.as_os_str().len();
        assert!(0 < length && length <= 4096);
        assert!(!paths[..at].contains(path), "each file once");
    }
}

/// The configuration of an agent: what is put in can be taken out to the byte, or is refused.
pub fn install(agent: Agent, bytes: &[u8]) {
    let places = Places {
        home: PathBuf::from("/home/user"),
        variables: Vec::new(),
        has_cline_documents: false,
    };
    let command = HookCommand::new(Path::new("/opt/herma"), None).expect("it is absolute");
    let moved = HookCommand::new(Path::new("/moved/herma"), None).expect("it is absolute");
    // Text that says it is ours is treated as ours, whoever wrote it.
    let is_foreign = !bytes.windows(5).any(|word| word == b"herma");
    let targets = agent.targets(&places, &Scope::User);
    for target in targets.expect("every agent has a user level") {
        let _ = target.file.look(bytes);
        let _ = target.file.uninstall(bytes);
        let Ok(edited) = target.file.install(Some(bytes), &command) else {
            continue;
        };
        let after = edited.after.expect("installing removes nothing");
        let again = target.file.install(Some(&after), &command).expect("it was just written");
        assert_eq!(again.after.as_ref(), Some(&after), "idempotent");
        let back = target.file.uninstall(&after).expect("it was just written");
        if is_foreign {
            assert_eq!(back.after.as_deref(), Some(bytes), "as before");
            // Spaces may be others where the program moved; what is left without it may not.
            let replaced = target.file.install(Some(&after), &moved);
            let replaced = replaced.expect("it was just written").after;
            let back = target.file.uninstall(&replaced.expect("installing removes nothing"));
            let back = back.expect("it was just written").after;
            assert_eq!(back.as_deref(), Some(bytes), "as before, though it moved");
        }
    }
}

/// What is typed in a chat, and what is answered there: no answer is longer than the place takes.
pub fn slash(text: &str) {
    match slash::parse(text) {
        slash::Request::Restore { checkpoint, files, .. } => {
            assert!(!checkpoint.is_empty() && files.iter().all(|file| !file.is_empty()));
        }
        _ => _ = slash::grammar::number(text),
    }
    let mut message = Message::new();
    let (words, foreign) = text.split_at(text.floor_char_boundary(text.len() / 2));
    message.line([Span::Words("Restored ".to_owned()), Span::Foreign(foreign.to_owned())]);
    message.block(words.lines().map(str::to_owned).collect(), words.len());
    message.note(vec!["3 files".to_owned()]);
    for platform in [Platform::Telegram, Platform::Discord, Platform::Slack] {
        let length = message.render(platform).encode_utf16().count();
        assert!(platform.limit().is_none_or(|limit| length <= limit));
    }
    let _ = (message.render(Platform::Cli), message.render(Platform::Plain));
}

fn check(event: &Event) {
    let ids = [&event.session, &event.sub_agent, &event.turn];
    assert!(ids.into_iter().flatten().all(|id| id.len() <= MAX_ID_BYTES));
    assert!(event.prompt.as_ref().is_none_or(|prompt| prompt.len() <= MAX_PROMPT_BYTES));
    assert!(event.roots.iter().all(|root| root.is_absolute()));
    assert!(event.directory.as_ref().is_some_and(|directory| directory.is_absolute()));
    if let Some(tool) = &event.tool {
        assert!(tool.name.len() <= MAX_ID_BYTES);
        assert!(tool.command.as_ref().is_none_or(|command| command.len() <= MAX_COMMAND_BYTES));
        assert!(tool.paths.len() <= 1000);
        assert!(tool.paths.iter().all(|path| path.as_os_str().len() <= 4096));
    }
}
