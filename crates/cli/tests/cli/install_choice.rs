//! `herma install` without a name: what it shows, asks and does.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::fs;
use std::path::PathBuf;

use herma_testkit::env::TestEnv;
use herma_testkit::output::Output;
use herma_testkit::terminal::Terminal;

use super::{json, test_env};

/// Makes the settings of agents as a user who has started them once has them.
fn with_agents(paths: &[&str]) -> TestEnv {
    let env = test_env();
    for path in paths {
        let path = env.user_home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}\n").unwrap();
    }
    env
}

const CLAUDE: &str = ".claude/settings.json";
const QWEN: &str = ".qwen/settings.json";

fn install(env: &TestEnv, more: &[&str]) -> Output {
    env.work_dir("project").run([&["install"], more].concat())
}

fn in_terminal(env: &TestEnv) -> Terminal {
    env.work_dir("project").in_terminal(["install"])
}

fn settings(env: &TestEnv, path: &str) -> String {
    let path: PathBuf = env.user_home().join(path);
    fs::read_to_string(path).unwrap()
}

#[test]
fn enter_connects_all_that_were_found() {
    let env = with_agents(&[CLAUDE, QWEN]);
    let mut terminal = in_terminal(&env);
    terminal.wait_for("Connect these 2 agents? [Y/n/choose] ");
    assert_eq!(settings(&env, CLAUDE), "{}\n", "nothing changes before the answer");
    terminal.answer("");
    insta::assert_snapshot!(terminal.finish().success(), @"
    Claude Code   not connected     would change $HOME/.claude/settings.json
                                    would create 4 files in $HOME/.claude/commands
    Qwen Code     not connected     would change $HOME/.qwen/settings.json
                                    would create 4 files in $HOME/.qwen/commands
    Connect these 2 agents? [Y/n/choose] 
    Claude Code: changed $HOME/.claude/settings.json
      What it was before is in $HOME/.claude/settings.json.herma-backup
    Claude Code: wrote 4 files in $HOME/.claude/commands
    Qwen Code: changed $HOME/.qwen/settings.json
      What it was before is in $HOME/.qwen/settings.json.herma-backup
    Qwen Code: wrote 4 files in $HOME/.qwen/commands
    ");
    assert!(settings(&env, CLAUDE).contains("herma"));
    assert!(settings(&env, QWEN).contains("herma"));

    insta::assert_snapshot!(in_terminal(&env).finish().success(), @"
    Claude Code   connected         $HOME/.claude/settings.json
    Qwen Code     connected         $HOME/.qwen/settings.json
    All of them are connected; there is nothing to do.
    ");
}

#[test]
fn some_of_them_are_chosen() {
    let env = with_agents(&[CLAUDE, QWEN]);
    let mut terminal = in_terminal(&env);
    terminal.wait_for_next("[Y/n/choose] ");
    terminal.answer("perhaps");
    terminal.wait_for_next("[Y/n/choose] ");
    terminal.answer("c");
    terminal.wait_for_next("Connect Claude Code? [Y/n] ");
    terminal.answer("n");
    terminal.wait_for_next("Connect Qwen Code? [Y/n] ");
    terminal.answer("y");
    insta::assert_snapshot!(terminal.finish().success(), @"
    Claude Code   not connected     would change $HOME/.claude/settings.json
                                    would create 4 files in $HOME/.claude/commands
    Qwen Code     not connected     would change $HOME/.qwen/settings.json
                                    would create 4 files in $HOME/.qwen/commands
    Connect these 2 agents? [Y/n/choose] perhaps
    Type y, n, or choose to be asked about each one.
    Connect these 2 agents? [Y/n/choose] c
    Connect Claude Code? [Y/n] n
    Connect Qwen Code? [Y/n] y
    Qwen Code: changed $HOME/.qwen/settings.json
      What it was before is in $HOME/.qwen/settings.json.herma-backup
    Qwen Code: wrote 4 files in $HOME/.qwen/commands
    ");
    assert_eq!(settings(&env, CLAUDE), "{}\n");

    // The next time only the other one is asked about, and what is connected is shown as such.
    let mut terminal = in_terminal(&env);
    terminal.wait_for_next("Connect Claude Code? [Y/n] ");
    terminal.answer("n");
    insta::assert_snapshot!(terminal.finish().code(1), @"
    Claude Code   not connected     would change $HOME/.claude/settings.json
                                    would create 4 files in $HOME/.claude/commands
    Qwen Code     connected         $HOME/.qwen/settings.json
    Connect Claude Code? [Y/n] n
    Nothing was changed.
    [exit status: 1]
    ");
    let mut terminal = in_terminal(&env);
    terminal.wait_for_next("[Y/n] ");
    terminal.end_input();
    assert!(terminal.finish().code(1).to_string().contains("Nothing was changed."));
    assert_eq!(settings(&env, CLAUDE), "{}\n");
}

#[test]
fn without_a_terminal_nothing_is_done() {
    let env = with_agents(&[CLAUDE, QWEN]);
    insta::assert_snapshot!(install(&env, &[]).code(2), @"
    Claude Code   not connected     would change $HOME/.claude/settings.json
                                    would create 4 files in $HOME/.claude/commands
    Qwen Code     not connected     would change $HOME/.qwen/settings.json
                                    would create 4 files in $HOME/.qwen/commands
    ------- stderr -------
    Error: say which agents to connect
    Nothing was changed: there is no terminal to ask on.
    Hint: `herma install claude qwen`
    [exit status: 2]
    ");
    assert_eq!(settings(&env, CLAUDE), "{}\n");
    let listed = json(&install(&env, &["--json"]).success());
    assert_eq!(listed["schema"], "herma.agents/1");
    assert_eq!(listed["agents"][0]["state"], "not-installed");

    let patch = install(&env, &["--dry-run"]).success();
    assert!(patch.text().contains("/.claude/settings.json\n+++ "), "{patch}");
    assert!(patch.text().contains("/.qwen/settings.json\n+++ "), "{patch}");
    assert_eq!(settings(&env, CLAUDE), "{}\n");

    install(&env, &["--all"]).success();
    insta::assert_snapshot!(install(&env, &[]).success(), @"
    Claude Code   connected         $HOME/.claude/settings.json
    Qwen Code     connected         $HOME/.qwen/settings.json
    ------- stderr -------
    All of them are connected; there is nothing to do.
    ");
    assert_eq!(install(&env, &["--dry-run"]).success().text(), "");
}

#[test]
fn where_no_agent_is_found_the_supported_ones_are_named() {
    let env = test_env();
    insta::assert_snapshot!(install(&env, &[]).code(1), @"
    ------- stderr -------
    Error: no agent was found on this machine
    Nothing was changed.
    Hint: `herma install NAME` connects one that has not been started yet: claude, codex, gemini, opencode, copilot, cline, goose, qwen, cursor, crush, hermes, kilo, pi, vibe, kimi, droid, grok.
    Hint: `herma run -- COMMAND` saves around any other program.
    [exit status: 1]
    ");
    install(&env, &["--all"]).code(1);
    let error = json(&install(&env, &["--all", "--json"]).code(1));
    assert_eq!(error["schema"], "herma.error/1");
    assert!(!env.home().exists());
}

#[test]
fn an_agent_that_cannot_be_connected_does_not_keep_others_from_it() {
    let env = with_agents(&[CLAUDE, QWEN]);
    fs::write(env.user_home().join(CLAUDE), "{broken").unwrap();
    let mut terminal = in_terminal(&env);
    terminal.wait_for("Connect Qwen Code? [Y/n] ");
    terminal.answer("y");
    insta::assert_snapshot!(terminal.finish().success(), @"
    Claude Code   not connected     cannot be connected, see below
    Qwen Code     not connected     would change $HOME/.qwen/settings.json
                                    would create 4 files in $HOME/.qwen/commands
    Error: cannot edit $HOME/.claude/settings.json: it cannot be read as JSON: line 1: a name in quotes is missing
    Nothing was changed.
    Hint: Correct the file, or move it away, and run the command again.
    Connect Qwen Code? [Y/n] y
    Qwen Code: changed $HOME/.qwen/settings.json
      What it was before is in $HOME/.qwen/settings.json.herma-backup
    Qwen Code: wrote 4 files in $HOME/.qwen/commands
    ");
    insta::assert_snapshot!(install(&env, &[]).code(1), @"
    Claude Code   not connected     cannot be connected, see below
    Qwen Code     connected         $HOME/.qwen/settings.json
    ------- stderr -------
    Error: cannot edit $HOME/.claude/settings.json: it cannot be read as JSON: line 1: a name in quotes is missing
    Nothing was changed.
    Hint: Correct the file, or move it away, and run the command again.
    [exit status: 1]
    ");
}
