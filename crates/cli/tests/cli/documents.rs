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
        assert_eq!(output.text().lines().count(), 1, "{output}");
        assert!(output.text().contains(&format!("COMPLETE={shell} herma")), "{output}");
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

#[test]
fn help_lists_the_commands_in_groups_and_explains_one_or_a_topic() {
    let env = test_env();
    let project = env.work_dir("project");
    let all = project.run(["help"]).success();
    for group in ["Go back:", "Look:", "Keep:", "Agents:", "Plumbing:"] {
        assert!(all.text().contains(&format!("\n{group}\n  ")), "{group}: {all}");
    }
    for asked in ["-h", "--help"] {
        assert_eq!(all.text(), project.run([asked]).success().text());
    }
    let page = project.run(["help", "config", "set"]).success();
    assert_eq!(page.text(), project.run(["config", "set", "--help"]).success().text());
    for topic in ["checkpoints", "undo", "agents", "retention", "store", "scripts"] {
        assert!(project.run(["help", topic]).success().text().len() > 500, "{topic}");
    }
    // A topic that is a command as well is followed by the command's page.
    assert!(project.run(["help", "undo"]).success().text().contains("Usage: herma undo"));
    project.run(["help", "nosuch"]).code(2);
    project.run(["help", "maintain"]).code(2);
}

#[test]
fn what_people_type_first_does_what_it_says_where_that_is_clear() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    for (typed, meant) in [("log", &["list"][..]), ("status", &[]), ("version", &["--version"])] {
        assert_eq!(project.run([typed]).success().text(), project.run(meant).success().text());
    }
}
