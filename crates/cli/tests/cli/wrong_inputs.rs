//! What is said about wrong inputs: what happened, what state things are in, what to type next, in one voice.
//!
//! `wrong_inputs.txt` holds command lines as people typed them, each with all that it printed. `UPDATE=1` writes down what is
//! printed now; then read the difference.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::fmt::Write;

use herma_testkit::TestEnv;
use herma_testkit::env::WorkDir;

use super::{shell, test_env};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/wrong_inputs.txt");

/// A project with a checkpoint that has a name, a file that a step changed, and a directory that one deleted.
fn project(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("shop").files([
        ("README.md", "A shop\n"),
        ("config.py", "port = 80\n"),
        ("billing/tax.py", "rate = 19\n"),
        (".env", "KEY=1\n"),
        ("Makefile", ""),
    ]);
    project.run(["save", "-m", "before", "--name", "main"]).success();
    for change in ["echo port = 81 > config.py", "rm -r billing"] {
        project.run(["run", "--agent", "robot", "--", "sh", "-c", change]).success();
    }
    project
}

/// What a line prints, as a shell runs it.
fn printed(env: &TestEnv, project: &WorkDir<'_>, line: &str) -> String {
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_herma")).parent().unwrap();
    let mut command = shell(env, project);
    command.args(["-c", &format!("PATH=\"$BIN:$PATH\"; {line}")]).env("BIN", bin);
    env.finish(&mut command).to_string()
}

#[test]
fn every_wrong_input_is_answered_as_written_down() {
    let env = test_env();
    let project = project(&env);
    let written = std::fs::read_to_string(TABLE).unwrap();
    let mut table = String::new();
    for line in written.lines() {
        if let Some(line) = line.strip_prefix("$ ") {
            let printed = printed(&env, &project, line);
            let printed = printed.replace("------- stderr -------\n", "");
            let _ = write!(table, "$ {line}\n{printed}\n");
        } else if line.starts_with('#') {
            let _ = writeln!(table, "{line}");
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(TABLE, &table).unwrap();
    }
    let written = std::fs::read_to_string(TABLE).unwrap();
    for (now, before) in table.lines().zip(written.lines()) {
        assert_eq!(
            now, before,
            "`UPDATE=1 cargo test -p herma --test cli wrong_inputs` writes it down"
        );
    }
    assert_eq!(table.lines().count(), written.lines().count());
    // None of these may do anything.
    assert_eq!(project.read("config.py"), "port = 81\n");
    assert!(!project.exists("billing"));
}
