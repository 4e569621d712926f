//! The sessions in the README and the guide are what really happens.
#![allow(clippy::disallowed_methods, reason = "the session is played by a shell")]

use std::path::Path;
use std::process::Command;

use herma_testkit::Bounded;
use herma_testkit::env::TestEnv;
use herma_testkit::output::redact::redact;

/// One command of the demonstration and what it is said to print.
struct Step {
    command: String,
    output: String,
}

/// The sessions in the README and the guide.
fn sessions() -> Vec<Vec<Step>> {
    let pages = [include_str!("../../../README.md"), include_str!("../../../docs/GUIDE.md")];
    let sessions = pages.iter().flat_map(|page| page.split("```console\n").skip(1));
    sessions
        .map(|session| steps(session.split("```").next().expect("the end of the session")))
        .collect()
}

fn steps(session: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in session.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                steps.push(Step { command: command.to_owned(), output: String::new() });
            }
            (None, Some(step)) => {
                step.output.push_str(line);
                step.output.push('\n');
            }
            (None, None) => panic!("the session begins with a command, not {line:?}"),
        }
    }
    steps
}

#[test]
fn the_sessions_in_the_readme_are_what_really_happens() {
    let sessions = sessions();
    assert_eq!(sessions.len(), 3);
    for session in &sessions {
        play(session);
    }
}

fn play(session: &[Step]) {
    let env = TestEnv::with_program(env!("CARGO_BIN_EXE_herma"));
    let shop = env.work_dir("shop").files([
        ("README.md", "# Shop\n"),
        ("package.json", "{\"name\": \"shop\"}\n"),
        ("src/cart.py", "def total(items):\n    return sum(items)\n"),
    ]);
    let programs = Path::new(env!("CARGO_BIN_EXE_herma")).parent().expect("a directory");
    for step in session {
        let mut shell = Command::new("sh");
        let path = format!("{}:/usr/bin:/bin", programs.display());
        shell.args(["-c", &format!("{} 2>&1", step.command)]);
        shell.current_dir(shop.path()).env_clear().envs(env.variables()).env("PATH", path);
        let output = shell.bounded_output().expect("sh runs");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = redact(&step.output, &[]);
        assert_eq!(redact(&printed, &[]), said, "$ {}", step.command);
        assert!(output.status.success(), "$ {}", step.command);
    }
}
