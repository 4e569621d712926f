//! What every fuzz target checks, besides that nothing panics.
//!
//! `cargo +nightly fuzz run payload_claude fuzz/corpus/payload_claude crates/hosts/tests/payloads/claude` runs
//! one target with the recorded payloads as seeds. A parser that is added to Herma gets a function here and a
//! file in `fuzz_targets/`.

use std::path::Path;
use std::path::PathBuf;

pub use herma_hosts::Host;

use herma_hosts::Event;
use herma_hosts::EventKind;
use herma_hosts::Surroundings;
use herma_hosts::install::HookCommand;
use herma_hosts::install::Places;
use herma_hosts::install::Scope;
use herma_hosts::payload::LONGEST_COMMAND;
use herma_hosts::payload::LONGEST_ID;
use herma_hosts::payload::LONGEST_PROMPT;

/// A payload on standard input, and the same as an argument.
pub fn payload(host: Host, bytes: &[u8]) {
    let mut surroundings = Surroundings {
        event: Some("preToolUse".to_owned()),
        directory: Some(PathBuf::from("/started/here")),
        ..Surroundings::default()
    };
    let incoming = herma_hosts::read(host, &surroundings, &mut &*bytes);
    assert_eq!(incoming.size, bytes.len() as u64);
    if incoming.problem.is_some() {
        assert_eq!(incoming.event.kind, EventKind::TurnStart);
        assert_eq!(incoming.event.host, host);
    }
    check(&incoming.event);
    if let Ok(text) = std::str::from_utf8(bytes) {
        surroundings.argument = Some(text.to_owned());
        let again = herma_hosts::read(host, &surroundings, &mut &*bytes);
        assert_eq!(again.event, incoming.event);
        assert_eq!(again.event.call_key(), incoming.event.call_key());
    }
}

/// A text that may contain patches.
pub fn patches(text: &str) {
    let paths = herma_hosts::patches::paths(text);
    assert!(paths.len() <= 1000);
    for (at, path) in paths.iter().enumerate() {
        let length = path.as_os_str().len();
        assert!(0 < length && length <= 4096);
        assert!(!paths[..at].contains(path), "each file once");
    }
}

/// The configuration of an agent: what is put in can be taken out to the byte, or is refused.
pub fn install(host: Host, bytes: &[u8]) {
    let places = Places {
        home: PathBuf::from("/home/user"),
        variables: Vec::new(),
        has_cline_documents: false,
    };
    let command = HookCommand::new(Path::new("/opt/herma"), None).expect("it is absolute");
    // Text that says it is ours is treated as ours, whoever wrote it.
    let is_foreign = !bytes.windows(5).any(|word| word == b"herma");
    let targets = herma_hosts::install::targets(host, &places, &Scope::User);
    for target in targets.expect("every host has a user level") {
        let _ = target.look(bytes);
        let _ = target.uninstall(bytes);
        let Ok(edited) = target.install(Some(bytes), &command) else {
            continue;
        };
        let after = edited.after.expect("installing removes nothing");
        let again = target.install(Some(&after), &command).expect("it was just written");
        assert_eq!(again.after.as_ref(), Some(&after), "idempotent");
        let back = target.uninstall(&after).expect("it was just written");
        if is_foreign {
            assert_eq!(back.after.as_deref(), Some(bytes), "as before");
        }
    }
}

fn check(event: &Event) {
    let ids = [
        &event.session,
        &event.parent_session,
        &event.agent,
        &event.turn,
    ];
    assert!(ids.into_iter().flatten().all(|id| id.len() <= LONGEST_ID));
    assert!(
        event
            .prompt
            .as_ref()
            .is_none_or(|prompt| prompt.len() <= LONGEST_PROMPT)
    );
    assert!(event.roots.iter().all(|root| root.is_absolute()));
    assert!(
        event
            .directory
            .as_ref()
            .is_some_and(|directory| directory.is_absolute())
    );
    if let Some(tool) = &event.tool {
        assert!(tool.name.len() <= LONGEST_ID);
        assert!(
            tool.command
                .as_ref()
                .is_none_or(|command| command.len() <= LONGEST_COMMAND)
        );
        assert!(tool.paths.len() <= 1000);
        assert!(tool.paths.iter().all(|path| path.as_os_str().len() <= 4096));
    }
}
