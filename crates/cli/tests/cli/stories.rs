//! Stories of a person at a terminal: what they type, what is on the screen, what is on the disk.
//!
//! What an agent did before is recorded with the engine, so that it can be an hour or eight days old; what the person types runs
//! in a shell with a terminal of its own.

use std::sync::Arc;

use herma_core::engine::NoProgress;
use herma_core::steps::{StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::types::clock::{FixedClock, Timestamp};
use herma_core::{Engine, EngineOptions, Project, SaveOptions, Settings, WhichStep};
use herma_testkit::terminal::Terminal;
use herma_testkit::{TestEnv, WorkDir};

use super::test_env;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// What happened in a project before the person sits down.
struct Past<'p> {
    env: &'p TestEnv,
    project: &'p WorkDir<'p>,
}

impl Past<'_> {
    /// The project as seen so many seconds ago.
    fn at(&self, ago: i64) -> Project {
        let seconds = jiff::Timestamp::now().as_second() - ago;
        let options = EngineOptions {
            home: self.env.home(),
            user_home: None,
            clock: Arc::new(FixedClock(Timestamp { seconds, nanos: 0, offset_minutes: 0 })),
            settings: Settings::default(),
        };
        Engine::new(options).project(self.project.path()).expect("a project")
    }

    fn save(&self, ago: i64, reason: &str) {
        let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
        self.at(ago).save_with(&options, &NoProgress).expect("a save");
    }

    /// A prompt in a session of its own, and one tool call that does this.
    fn prompt(
        &self,
        ago: i64,
        agent: &str,
        prompt: &str,
        tool: &str,
        work: impl FnOnce(&WorkDir<'_>),
    ) {
        let project = self.at(ago);
        let session = format!("{agent} {prompt}");
        let facts = Facts::of(Some(agent.to_owned()), Some(session.clone()), None, None);
        project.begin_turn(&session, &facts, Some(prompt)).expect("a prompt");
        let facts = Facts { tool: Some(tool.to_owned()), ..facts };
        let start = StepStart { facts, ..StepStart::default() };
        let begun = project.begin_step(StepKind::Tool, start, &NoProgress).expect("a step");
        work(self.project);
        project.end_step(&WhichStep::Id(begun.step.id()), &NoProgress).expect("its end");
        project.end_turn(&session).expect("the end of the prompt");
    }
}

/// A shell in the project, in a terminal with so many columns, where the program is `herma`.
fn sits_down(project: &WorkDir<'_>, columns: usize) -> Terminal {
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer(&format!(
        "stty cols {columns} rows 50; export HERMA_PAGER=cat; herma() {{ \"$PROGRAM\" \"$@\"; }}; echo rea''dy"
    ));
    shell.wait_for_next("ready");
    shell.wait_for_next("> ");
    shell
}

/// Types a command and waits until each of these is on the screen, in this order.
fn types(shell: &mut Terminal, command: &str, expected: &[&str]) {
    shell.answer(&format!("{command}; echo ex''it $?"));
    for text in expected {
        shell.wait_for_next(text);
    }
    shell.wait_for_next("exit ");
    shell.wait_for_next("> ");
}

fn lines(range: std::ops::RangeInclusive<u32>) -> String {
    range.fold(String::new(), |text, n| text + &format!("line {n}\n"))
}

fn changed(project: &WorkDir<'_>, file: &str, line: u32, to: &str) {
    let text = project.read(file);
    let text: String = text
        .lines()
        .map(
            |old| {
                if old == format!("line {line}") { format!("{to}\n") } else { format!("{old}\n") }
            },
        )
        .collect();
    project.write(file, &text);
}

#[test]
fn an_hour_ago() {
    let env = test_env();
    let project = env.work_dir("project").files([("config.py", &*lines(1..=9))]);
    let past = Past { env: &env, project: &project };
    past.save(3 * HOUR, "in the morning");
    past.prompt(30 * MINUTE, "claude", "make it faster", "Edit", |p| {
        changed(p, "config.py", 2, "fast");
    });
    let mut shell = sits_down(&project, 80);
    types(&mut shell, "herma list", &["2", "claude", "\"make it faster\"", "1", "in the morning"]);
    let said = ["`1h` is checkpoint 1", "3 hours ago; the next, 2, 30 minutes ago", "`herma undo`"];
    types(&mut shell, "herma restore 1h --all", &said);
    assert_eq!(project.read("config.py"), lines(1..=9));
    types(&mut shell, "herma undo", &["herma redo"]);
    assert!(project.read("config.py").contains("fast"), "and back again");
}

#[test]
fn only_config_py() {
    let env = test_env();
    let files = [("config.py", lines(1..=9)), ("main.py", lines(1..=9))];
    let project = env.work_dir("project").files(files.iter().map(|(name, text)| (*name, &**text)));
    let past = Past { env: &env, project: &project };
    past.save(2 * HOUR, "before");
    past.prompt(MINUTE, "claude", "rename all settings", "Edit", |p| {
        changed(p, "config.py", 2, "agent");
        changed(p, "main.py", 2, "agent");
    });
    changed(&project, "config.py", 8, "mine");
    let mut shell = sits_down(&project, 80);
    types(&mut shell, "herma undo config.py", &["Undid", "1 file written", "herma redo"]);
    let config = project.read("config.py");
    assert!(!config.contains("agent") && config.contains("mine"), "{config}");
    assert!(project.read("main.py").contains("agent"), "the other file stays");
    types(&mut shell, "herma redo", &["herma undo"]);
    assert!(project.read("config.py").contains("agent"));
}

#[test]
fn which_agent_wrote_this_line() {
    let env = test_env();
    let project = env.work_dir("project").files([("config.py", &*lines(1..=9))]);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    past.prompt(20 * MINUTE, "codex", "add a cache", "Edit", |p| {
        changed(p, "config.py", 4, "cache = {}");
    });
    past.prompt(10 * MINUTE, "claude", "tidy up", "Edit", |p| changed(p, "config.py", 7, "tidy"));
    let mut shell = sits_down(&project, 120);
    types(&mut shell, "herma blame config.py -L 4", &["2", "codex", "cache = {}", "add a cache"]);
    types(&mut shell, "herma show 2", &["codex", "add a cache", "-line 4", "+cache = {}"]);
}

#[test]
fn a_long_prompt_is_told_as_wide_as_the_terminal() {
    let env = test_env();
    let project = env.work_dir("project").files([("config.py", &*lines(1..=9))]);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    let prompt = "word ".repeat(40) + "end";
    past.prompt(10 * MINUTE, "claude", &prompt, "Edit", |p| changed(p, "config.py", 7, "tidy"));
    for columns in [80, 160] {
        let mut shell = sits_down(&project, columns);
        shell.answer("herma blame config.py -L 7; exit");
        let output = shell.finish();
        let told = output.text().lines().find(|line| line.starts_with("Step 2")).unwrap_or("");
        assert_eq!(unicode_width::UnicodeWidthStr::width(told), columns, "{told}");
    }
}

#[test]
fn a_deleted_folder_by_its_name() {
    let env = test_env();
    let files = [("docs/a.md", "a\n"), ("docs/b.md", "b\n"), ("keep", "k\n")];
    let project = env.work_dir("project").files(files);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    past.prompt(5 * MINUTE, "claude", "clean the repo", "Bash", |p| {
        p.remove("docs/a.md");
        p.remove("docs/b.md");
    });
    past.prompt(MINUTE, "claude", "something else", "Edit", |p| p.write("keep", "changed\n"));
    let mut shell = sits_down(&project, 80);
    types(&mut shell, "herma list", &["\"clean the repo\"", "2 deleted"]);
    types(
        &mut shell,
        "herma history docs",
        &["2", "\"clean the repo\"", "2 deleted", "`herma restore 2^ docs` brings back"],
    );
    types(&mut shell, "herma restore 2^ docs", &["herma undo"]);
    assert_eq!(project.read("docs/a.md"), "a\n");
    assert_eq!(project.read("keep"), "changed\n", "nothing else moves");
}

#[test]
fn two_prompts_back_and_forward_again() {
    let env = test_env();
    let project = env.work_dir("project").files([("config.py", &*lines(1..=9))]);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    past.prompt(3 * MINUTE, "claude", "first prompt", "Edit", |p| {
        changed(p, "config.py", 2, "first");
    });
    past.prompt(2 * MINUTE, "claude", "second prompt", "Edit", |p| {
        changed(p, "config.py", 8, "second");
    });
    let both = project.read("config.py");
    let mut shell = sits_down(&project, 80);
    types(&mut shell, "herma undo", &["Undid \"second prompt\""]);
    types(&mut shell, "herma undo", &["Undid \"first prompt\""]);
    assert_eq!(project.read("config.py"), lines(1..=9));
    types(&mut shell, "herma list", &["\"second prompt\"", "undone", "\"first prompt\"", "undone"]);
    types(&mut shell, "herma undo", &["nothing to undo"]);
    types(&mut shell, "herma redo", &["Redid \"first prompt\""]);
    types(&mut shell, "herma redo", &["Redid \"second prompt\""]);
    assert_eq!(project.read("config.py"), both);
    // The same in two commands.
    changed(&project, "config.py", 5, "mine");
    let names = "\"second prompt\" (step 3) and \"first prompt\" (step 2)";
    let would = format!("Undoing {names} would change 1 path");
    types(&mut shell, "herma undo -n 2 --dry-run", &["-second", &would]);
    let did = format!("Undid {names}");
    types(&mut shell, "herma undo -n 2", &[&did, "`herma redo` brings it back"]);
    assert_eq!(project.read("config.py"), lines(1..=9).replace("line 5", "mine"));
    types(&mut shell, "herma redo", &[&format!("Redid {names}")]);
    assert_eq!(project.read("config.py"), both.replace("line 5", "mine"));
    types(&mut shell, "herma undo -n 3", &["only 2 prompts", "Nothing was changed", "-n 2"]);
    types(&mut shell, "herma undo -n 2 3", &["`--count` is about the last prompt"]);
}

#[test]
fn hand_edits_in_between_stay() {
    let env = test_env();
    let project = env.work_dir("project").files([("config.py", &*lines(1..=30))]);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    changed(&project, "config.py", 3, "before by me");
    past.prompt(3 * MINUTE, "claude", "first prompt", "Edit", |p| {
        changed(p, "config.py", 9, "agent");
    });
    changed(&project, "config.py", 15, "between by me");
    past.prompt(2 * MINUTE, "claude", "second prompt", "Edit", |p| {
        changed(p, "config.py", 21, "agent");
    });
    changed(&project, "config.py", 27, "after by me");
    let mut shell = sits_down(&project, 80);
    types(
        &mut shell,
        "herma list",
        &["now", "you", "config.py", "\"second prompt\"", "you", "config.py"],
    );
    types(
        &mut shell,
        "herma undo; herma undo",
        &["Undid \"second prompt\"", "Undid \"first prompt\""],
    );
    let left = project.read("config.py");
    assert!(!left.contains("agent"), "{left}");
    for mine in ["before by me", "between by me", "after by me"] {
        assert!(left.contains(mine), "{mine}: {left}");
    }
}

#[test]
fn in_a_package_of_a_monorepo() {
    let env = test_env();
    let files = [("packages/app/package.json", "{}\n"), ("packages/app/main.js", "1\n")];
    let root = env.work_dir("mono").files(files);
    let past = Past { env: &env, project: &root };
    past.save(HOUR, "before");
    past.prompt(MINUTE, "claude", "break the app", "Edit", |p| {
        p.write("packages/app/main.js", "2\n");
    });
    let mut shell = sits_down(&root, 80);
    types(&mut shell, "cd packages/app; herma list", &["\"break the app\""]);
    types(&mut shell, "herma undo", &["Undid \"break the app\""]);
    assert_eq!(root.read("packages/app/main.js"), "1\n");
}

#[test]
fn a_project_that_was_moved() {
    let env = test_env();
    let project = env.work_dir("old").files([("a", "1\n")]);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    past.prompt(MINUTE, "claude", "break it", "Edit", |p| p.write("a", "2\n"));
    let mut shell = sits_down(&project, 80);
    types(
        &mut shell,
        "cd ..; mv old new; cd new; herma list",
        &["no checkpoints", "herma doctor --adopt"],
    );
    types(&mut shell, "herma doctor --adopt", &["Reconnected 2 checkpoints"]);
    types(&mut shell, "herma undo", &["Undid \"break it\""]);
    assert_eq!(env.work_dir("new").read("a"), "1\n");
}

/// Worked in before it was adopted: the older steps come along, with who did them, and are before all that is here.
#[test]
fn a_moved_project_that_was_worked_in() {
    let env = test_env();
    let project = env.work_dir("old").files([("a", &*lines(1..=9))]);
    let past = Past { env: &env, project: &project };
    past.save(HOUR, "before");
    past.prompt(30 * MINUTE, "claude", "break it", "Edit", |p| changed(p, "a", 2, "broken"));
    past.prompt(20 * MINUTE, "codex", "tidy", "Edit", |p| changed(p, "a", 5, "tidy"));
    // Number 4 marks number 3.
    project.run(["undo"]).success();
    let mut shell = sits_down(&project, 100);
    types(&mut shell, "cd ..; mv old new; cd new", &[]);
    let moved = env.work_dir("new");
    let past = Past { env: &env, project: &moved };
    // The same session goes on, and its prompts are counted anew.
    past.prompt(10 * MINUTE, "claude", "break it", "Edit", |p| changed(p, "a", 8, "later"));
    moved.run(["save", "-m", "mine"]).success();
    types(
        &mut shell,
        "herma doctor --adopt",
        &["Reconnected 4 checkpoints", "1–4 there, 3–6 here"],
    );
    let list = [
        "2 ",
        "claude",
        "\"break it\"",
        "1 ",
        "first checkpoint",
        "5 ",
        "codex",
        "\"tidy\"",
        "undone",
        "4 ",
        "claude",
        "\"break it\"",
        "3 ",
        "before",
    ];
    types(&mut shell, "herma list", &list);
    types(&mut shell, "herma show 4", &["Prompt:", "break it", "+broken"]);
    types(&mut shell, "herma blame a -L 2", &["4", "claude", "broken"]);
    types(&mut shell, "herma undo", &["Undid \"break it\" (step 2)"]);
    types(&mut shell, "herma undo", &["Undid \"break it\" (step 4)"]);
    assert_eq!(moved.read("a"), lines(1..=9));
    types(&mut shell, "herma redo; herma redo", &["Redid", "Redid"]);
    types(&mut shell, "herma undo 4", &["Undid step 4"]);
    let left = moved.read("a");
    assert!(left.contains("later") && !left.contains("broken") && !left.contains("tidy"), "{left}");
    // Handles go on where they were.
    past.prompt(MINUTE, "gemini", "more", "Edit", |p| changed(p, "a", 9, "more"));
    types(&mut shell, "herma undo", &["Undid \"more\""]);
}

#[test]
fn eight_days_away() {
    let env = test_env();
    let project = env.work_dir("project").files([("config.py", &*lines(1..=9))]);
    let past = Past { env: &env, project: &project };
    past.save(9 * DAY, "before the holiday");
    past.prompt(8 * DAY, "claude", "one last thing", "Edit", |p| {
        changed(p, "config.py", 2, "agent");
    });
    let after = project.read("config.py");
    let mut shell = sits_down(&project, 80);
    types(
        &mut shell,
        "herma list",
        &["day, ", "\"one last thing\"", "before the holiday", "Oldest: checkpoint"],
    );
    shell.answer("herma undo");
    shell.wait_for_next("is older than a day. Undo it? [y/N] ");
    assert_eq!(project.read("config.py"), after, "nothing changes before the answer");
    shell.answer("n");
    shell.wait_for_next("Nothing was changed.");
    shell.wait_for_next("> ");
    types(&mut shell, "herma undo --yes", &["Undid \"one last thing\""]);
    assert_eq!(project.read("config.py"), lines(1..=9));
    let refused = project.run(["redo"]).success();
    drop(refused);
    let refused = project.run(["undo"]).code(2);
    assert!(refused.error_text().contains("--yes"), "{refused}");
}

#[test]
fn three_hundred_changes_fit_every_terminal() {
    let env = test_env();
    let project = env.work_dir("project").files([("a", "0\n"), ("漢字.md", "0\n")]);
    let past = Past { env: &env, project: &project };
    past.save(30 * DAY, "the beginning");
    for n in 1..=100 {
        let ago = (101 - n) * 7 * HOUR;
        let prompt =
            format!("漢字 prompt {n} that is rather long and goes on and on beyond eighty columns");
        past.prompt(ago, "claude", &prompt, "Bash", |p| p.write("a", &format!("{n}\n")));
        project.write("漢字.md", &format!("{n}\n"));
        past.save(ago - HOUR, "");
        past.prompt(ago - 2 * HOUR, "codex", "short", "Edit", |p| p.write(format!("f{n}"), "x\n"));
    }
    for columns in [40, 80, 120] {
        let mut shell = sits_down(&project, columns);
        shell.answer("herma list; herma steps; exit");
        let output = shell.finish();
        let shown = output.text();
        let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let rows: Vec<&str> = shown.lines().filter(is_row).collect();
        assert_eq!(rows.len(), 301 + 200, "{shown}");
        for row in rows {
            let width = unicode_width::UnicodeWidthStr::width(row);
            assert!(width <= columns, "{width} of {columns}: {row}");
        }
    }
}
