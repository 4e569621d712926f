//! How much memory a large payload takes. Alone in its program: the measure is the whole process.
#![cfg(target_os = "linux")]

use std::io::Read;

use herma_agents::{Agent, EventKind, Surroundings};

/// The most memory the process ever had, in bytes.
fn peak() -> u64 {
    let status =
        std::fs::read_to_string("/proc/self/status").expect("the process describes itself");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}

/// Repeats a text so many times, without ever holding all of it.
struct Repeated {
    text: &'static [u8],
    left: usize,
    at: usize,
}

impl Read for Repeated {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let mut given = 0;
        while given < room.len() && self.left > 0 {
            let piece = &self.text[self.at..];
            let count = piece.len().min(room.len() - given);
            room[given..given + count].copy_from_slice(&piece[..count]);
            given += count;
            self.at += count;
            if self.at == self.text.len() {
                self.at = 0;
                self.left -= 1;
            }
        }
        Ok(given)
    }
}

#[test]
fn a_whole_conversation_passes_through_without_being_held() {
    let message: &[u8] =
        br#"{"role":"tool","content":"a file of some length, again and again \u00e9 \n"},"#;
    let begin: &[u8] =
        br#"{"hook_event_name":"pre_llm_call","session_id":"s","extra":{"conversation_history":["#;
    let end: &[u8] = br#"{}],"turn_id":"t","user_message":"hello"},"cwd":"/home/user/project"}"#;
    let conversation = Repeated { text: message, left: 60_000_000 / message.len(), at: 0 };
    let mut payload = begin.chain(conversation).chain(end);

    let before = peak();
    let incoming = herma_agents::read(Agent::Hermes, &Surroundings::default(), &mut payload);
    let grown = peak() - before;

    assert!(incoming.problem.is_none(), "{:?}", incoming.problem);
    assert!(incoming.size > 59_000_000);
    assert_eq!(incoming.event.kind, EventKind::TurnStart);
    assert_eq!(incoming.event.turn.as_deref(), Some("t"));
    assert_eq!(incoming.event.prompt.as_deref(), Some("hello"));
    assert!(grown < 3 * 1024 * 1024, "{grown} bytes");
}
