//! `herma blame`, `herma history`, and `herma diff` of steps.

use std::sync::Arc;

use herma_core::engine::NoProgress;
use herma_core::steps::{StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::types::clock::Timestamp;
use herma_core::{Clock, Engine, EngineOptions, Settings, WhichStep};
use herma_testkit::{TestEnv, WorkDir};

use super::{json, test_env};

pub(super) struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp { seconds: 1_700_000_000, nanos: 0, offset_minutes: 0 }
    }
}

/// What an agent's hooks do around a tool call, without the program.
fn begin(env: &TestEnv, project: &WorkDir<'_>, agent: &str, turn: &str) -> (Engine, StepId) {
    let engine = Engine::new(EngineOptions {
        home: env.home(),
        user_home: None,
        clock: Arc::new(Fixed),
        settings: Settings::default(),
    });
    let start = StepStart {
        facts: Facts {
            agent: Some(agent.to_owned()),
            session: Some(format!("of {agent}")),
            turn: Some(turn.to_owned()),
            tool: Some("edit".to_owned()),
            ..Facts::default()
        },
        prompt: Some(format!("make it\n\x1b[31mbetter {turn}")),
        ..StepStart::default()
    };
    let root = project.path().to_owned();
    let opened = engine.project(&root).expect("a project");
    let begun = opened.begin_step(StepKind::Tool, start, &NoProgress);
    let step = begun.expect("a step").step.id();
    (engine, step)
}

fn end(project: &WorkDir<'_>, (engine, step): &(Engine, StepId)) {
    let opened = engine.project(project.path()).expect("a project");
    opened.end_step(&WhichStep::Id(*step), &NoProgress).expect("its end");
}

fn step(env: &TestEnv, project: &WorkDir<'_>, agent: &str, turn: &str, work: impl FnOnce()) {
    let begun = begin(env, project, agent, turn);
    work();
    end(project, &begun);
}

/// Two agents and a person in one file.
fn shared(env: &TestEnv) -> WorkDir<'_> {
    let project =
        env.work_dir("project").files([("cart.py", "def total(items):\n    return sum(items)\n")]);
    step(env, &project, "claude", "t1", || {
        project.write("cart.py", "import math\n\ndef total(items):\n    return math.fsum(items)\n");
    });
    project.write(
        "cart.py",
        "import math\n\n# in cents\ndef total(items):\n    return math.fsum(items)\n",
    );
    step(env, &project, "codex", "t7", || {
        project.write(
            "cart.py",
            "import math\n\n# in cents\ndef total(items):\n    return math.fsum(items)\n\ndef count(items):\n    return len(items)\n",
        );
        project.write("notes.txt", "done\n");
    });
    project.write(
        "cart.py",
        "import math\n\n# in cents\ndef total(items):\n    return math.fsum(items)\n\ndef count(items):\n    return len(items)  # fast\n",
    );
    project
}

#[test]
fn every_line_is_shown_behind_its_author() {
    let env = test_env();
    let project = shared(&env);
    let output = project.run(["blame", "cart.py"]).success();
    insta::assert_snapshot!(output, @r#"
    2        claude  [TIME]  1  import math
    2        claude  [TIME]  2
    you              [TIME]  3  # in cents
    earlier          [TIME]  4  def total(items):
    2        claude  [TIME]  5      return math.fsum(items)
    4        codex   [TIME]  6
    4        codex   [TIME]  7  def count(items):
    you              not saved yet        8      return len(items)  # fast
    ------- stderr -------
    Step 2: claude, edit, for "make it \u{1b}[31mbetter t1"
    Step 4: codex, edit, for "make it \u{1b}[31mbetter t7"
    "#);
}

#[test]
fn some_lines_are_shown_with_their_own_numbers_and_steps() {
    let env = test_env();
    let project = shared(&env);
    let output = project.run(["blame", "cart.py", "-L", "3-4"]).success();
    insta::assert_snapshot!(output, @r"
    you      [TIME]  3  # in cents
    earlier  [TIME]  4  def total(items):
    ");
    for lines in ["6,+2", "6-7", "6,7"] {
        let blame = json(&project.run(["blame", "--json", "cart.py", "-L", lines]).success());
        let numbers: Vec<_> =
            blame["lines"].as_array().unwrap().iter().map(|l| &l["number"]).collect();
        assert_eq!(numbers, [6, 7]);
        assert_eq!(blame["steps"].as_array().unwrap().len(), 1);
    }
    let beyond = project.run(["blame", "cart.py", "-L", "99"]).success();
    assert!(beyond.error_text().contains("The file has 8 lines."), "{beyond}");
}

#[test]
fn every_version_is_listed_with_its_step() {
    let env = test_env();
    let project = shared(&env);
    let output = project.run(["history", "cart.py"]).success();
    insta::assert_snapshot!(output, @r#"
                not saved yet        you              changed  +1/-1, 119 B
    4  [ID]  [TIME]           codex   changed  +3/-0, 111 B
    3  [ID]  [TIME]  you              changed  +1/-0, 70 B
    2  [ID]  [TIME]           claude  changed  +3/-1, 59 B
    1  [ID]  [TIME]  earlier          added    +2/-0, 40 B
    ------- stderr -------
    Step 2: claude, edit, for "make it \u{1b}[31mbetter t1"
    Step 4: codex, edit, for "make it \u{1b}[31mbetter t7"
    "#);
    let records = project.run(["history", "cart.py", "-z"]).success();
    assert_eq!(records.text().matches('\0').count(), 5, "{records}");
    assert!(records.text().contains("\tstep\t4\tchanged\t3\t0\t"), "{records}");
    assert!(records.error_text().is_empty(), "{records}");
}

#[test]
fn a_diff_of_steps_shows_what_they_changed_and_nothing_else() {
    let env = test_env();
    let project = shared(&env);
    let session = project.run(["diff", "--session", "of codex", "--stat"]).success();
    insta::assert_snapshot!(session, @r"
    cart.py   | +3 -0
    notes.txt | +1 -0
    2 files changed, +4/-0
    ");
    let turn = project.run(["diff", "--turn", "t1"]).success();
    assert!(turn.text().contains("\n-    return sum(items)\n+    return math.fsum(items)\n"));
    assert!(!turn.text().contains("cents"), "{turn}");
    let last = project.run(["diff", "--name-only", "--turn"]).success();
    assert_eq!(last.text(), "cart.py\nnotes.txt\n");
    let some = project.run(["diff", "--step", "4", "--name-only", "notes.txt"]).success();
    assert_eq!(some.text(), "notes.txt\n");
    let agent = project.run(["diff", "--agent", "claude", "--name-status"]).success();
    assert_eq!(agent.text(), "M\tcart.py\n");
}

#[test]
fn steps_and_checkpoints_do_not_go_together() {
    let env = test_env();
    let project = shared(&env);
    let refused = project.run(["diff", "--step", "2", "4"]).code(2);
    assert!(refused.error_text().contains("Hint: Name either"), "{refused}");
    project.run(["diff", "--step", "9"]).code(10);
    project.run(["diff", "--session", "nobody"]).code(10);
    project.run(["diff", "--step", "2", "--", "missing"]).code(2);
}

#[test]
fn what_cannot_be_attributed_is_named_and_the_exit_code_says_so() {
    let env = test_env();
    let project = env.work_dir("project").files([("a", "1\n")]);
    let one = begin(&env, &project, "claude", "t1");
    let two = begin(&env, &project, "codex", "t1");
    project.write("a", "1\n2\n");
    end(&project, &one);
    end(&project, &two);
    let output = project.run(["diff", "--session", "of claude"]).code(3);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    Warning: changed while other steps were under way too, so that nobody can tell by whom; not shown: 1 file
      a
    [exit status: 3]
    ");
    let blame = project.run(["blame", "a"]).success();
    assert!(blame.text().contains("unattributed  claude, codex"), "{blame}");
}

#[test]
fn authors_reach_programs() {
    let env = test_env();
    let project = shared(&env);
    let blame = json(&project.run(["blame", "--json", "cart.py"]).success());
    assert_eq!(blame["schema"], "herma.blame/2");
    assert_eq!(blame["path"], "cart.py");
    let authors: Vec<&str> = blame["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["author"].as_str().unwrap())
        .collect();
    let expected = ["step", "step", "hand", "earlier", "step", "step", "step", "hand"];
    assert_eq!(authors, expected);
    assert_eq!(blame["lines"][6]["steps"][0], 4);
    assert_eq!(blame["lines"][6]["text"], "def count(items):\n");
    assert_eq!(blame["steps"][1]["agent"], "codex");
    let history = json(&project.run(["history", "--json", "cart.py"]).success());
    assert_eq!(history["schema"], "herma.history/3");
    assert_eq!(history["versions"][0]["checkpoint"], serde_json::Value::Null);
    assert_eq!(history["versions"][1]["steps"][0], 4);
    assert_eq!(history["versions"][4]["change"], "added");
    let diff = json(&project.run(["diff", "--json", "--step", "4"]).success());
    assert_eq!(diff["schema"], "herma.diff-steps/2");
    assert_eq!(diff["steps"][0]["number"], 4);
    assert_eq!(diff["changes"][0]["insertions"], 3);
}

#[test]
fn what_has_no_lines_or_is_not_there_is_said_so() {
    let env = test_env();
    let project = env.work_dir("project").files([("text", "x\n")]);
    project.write_bytes("binary", b"a\0b");
    project.run(["blame", "text"]).code(10);
    project.run(["save"]).success();
    project.remove("text");
    for (path, code) in [("binary", 1), (".", 2), ("missing", 2)] {
        project.run(["blame", path]).code(code);
    }
    let gone = project.run(["blame", "text"]).code(1);
    assert!(gone.error_text().contains("herma history FILE"), "{gone}");
    let history = project.run(["history", "text"]).success();
    assert!(history.text().contains("removed"), "{history}");
    project.run(["blame"]).code(2);
    project.run(["blame", "text", "-L", "5-4"]).code(2);
}
