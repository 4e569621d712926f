//! The line as shells run it: whatever stands where the program should be, the agent sees nothing of it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test of shells has to run them, and fails where something is missing"
)]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use herma_agents::Agent;
use herma_agents::install::HookCommand;
use herma_testkit::Bounded;

/// What may stand in the program's place. All of them keep what they are given, where they live to do so.
const STAND_INS: [(&str, &str); 4] = [
    ("killed", "cat > \"$0.got\"; kill -9 $$"),
    ("crashed", "cat > \"$0.got\"; kill -SEGV $$"),
    ("talks", "cat > \"$0.got\"; echo bad; echo worse >&2; exit 2"),
    ("well", "cat > \"$0.got\"; echo '{}'"),
];

/// A script that another thread's child still has open for writing cannot be run, so one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stand_in(shell: &str, name: &str, body: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guard it's {shell}"));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(shell: &str, line: &str, input: &str) -> Output {
    let mut child = Command::new(shell)
        .args(["-c", line])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .bounded_spawn()
        .unwrap();
    // A program that does not read its input is no failure of the line.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.bounded_output().unwrap()
}

/// The shells of this machine; the first is everywhere.
fn shells() -> impl Iterator<Item = &'static str> {
    let is_there = |name: &&str| Path::new("/bin").join(name).exists();
    ["sh", "bash", "dash"].into_iter().filter(is_there)
}

#[track_caller]
fn assert_silent(output: &Output, agent: Agent, line: &str) {
    assert!(output.status.success(), "{line}: {output:?}");
    let answer: &[u8] = if agent == Agent::Cursor { b"{}\n" } else { b"" };
    assert_eq!(output.stdout, answer, "{line}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
}

#[test]
fn nothing_that_happens_to_the_program_reaches_the_agent() {
    let _alone = alone();
    for shell in shells() {
        for (name, body) in STAND_INS {
            let program = stand_in(shell, name, body);
            let command = HookCommand::new(&program, None).unwrap();
            for agent in Agent::ALL {
                let line = command.line(agent, Some("event"));
                assert_silent(&run(shell, &line, "payload"), agent, &line);
                let got = std::fs::read(program.with_file_name(format!("{name}.got"))).unwrap();
                assert_eq!(got, b"payload", "{line}");
            }
        }
    }
}

#[test]
fn a_program_that_is_gone_is_no_failure() {
    let _alone = alone();
    let command = HookCommand::new(Path::new("/nonexistent/herma"), None).unwrap();
    for shell in shells() {
        for agent in Agent::ALL {
            let line = command.line(agent, None);
            let output = run(shell, &line, "payload");
            assert!(output.status.success(), "{line}");
            assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
        }
    }
}

#[test]
fn a_here_document_behind_cursors_line_reaches_the_program() {
    let _alone = alone();
    for shell in shells() {
        for (name, body) in STAND_INS {
            let program = stand_in(shell, &format!("here-{name}"), body);
            let line = HookCommand::new(&program, None).unwrap().line(Agent::Cursor, None);
            let line = format!("{line} <<'END'\n{{\"a\": \"$x\"}}\nEND");
            assert_silent(&run(shell, &line, ""), Agent::Cursor, &line);
            let got = std::fs::read(program.with_file_name(format!("here-{name}.got"))).unwrap();
            assert_eq!(got, b"{\"a\": \"$x\"}\n", "{line}");
        }
    }
}
