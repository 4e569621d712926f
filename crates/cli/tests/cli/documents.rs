//! What the program says about itself: help, completions, manual pages.

use super::test_env;
use herma_testkit::Bounded;

#[test]
fn the_short_help_lists_the_commands() {
    let env = test_env();
    let output = env.work_dir("project").run(["-h"]).success();
    for command in ["save", "list", "show", "diff", "restore", "undo", "redo", "doctor"] {
        assert!(output.text().contains(&format!("\n  {command} ")), "{command}: {output}");
    }
    assert!(!output.text().contains("markdown-help"));
}

#[test]
fn completions_exist_for_the_usual_shells() {
    let env = test_env();
    let project = env.work_dir("project");
    for shell in ["bash", "zsh", "fish"] {
        let output = project.run(["completions", shell]).success();
        assert!(output.text().contains("restore"), "{shell}");
    }
    project.run(["completions", "abacus"]).code(2);
}

#[test]
fn manual_pages_are_written_one_per_command() {
    let env = test_env();
    let project = env.work_dir("project");
    assert!(project.run(["man"]).success().text().contains(".TH herma 1"));
    project.mkdir("man1");
    project.run(["man", "man1"]).success();
    for page in ["man1/herma.1", "man1/herma-restore.1", "man1/herma-config-set.1"] {
        assert!(project.read(page).contains(".TH herma"), "{page}");
    }
    assert!(!project.exists("man1/herma-markdown-help.1"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let env = test_env();
    let project = env.work_dir("project");
    let mut command = env.command(project.path());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.arg("markdown-help").stdout(writer).stderr(std::process::Stdio::piped());
    let output = command.bounded_spawn().unwrap().bounded_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
