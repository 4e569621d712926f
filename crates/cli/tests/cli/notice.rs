//! What an agent is told with its next prompt of its work that was undone, in the form of each agent.

use std::io::Write;
use std::process::Stdio;

use herma_testkit::env::WorkDir;
use herma_testkit::{Bounded, TestEnv};
use serde_json::{Value, json};

use super::{json, test_env};

/// An agent at work: its session, and how its hook tells of a prompt.
pub(super) struct Agent<'p> {
    project: &'p WorkDir<'p>,
    word: &'static str,
    session: &'static str,
    prompts: std::cell::Cell<usize>,
}

impl<'p> Agent<'p> {
    pub(super) fn new(project: &'p WorkDir<'p>, word: &'static str, session: &'static str) -> Self {
        Self { project, word, session, prompts: 0.into() }
    }

    /// What the hook prints.
    #[track_caller]
    pub(super) fn hears(&self, arguments: &[&str], payload: &Value) -> String {
        let mut command = self.project.command();
        command.args(["hook", self.word]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.bounded_spawn().expect("the hook starts");
        let _ = child.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes());
        let output = child.bounded_output().expect("the hook ends");
        assert!(output.status.success() && output.stderr.is_empty());
        String::from_utf8(output.stdout).expect("text")
    }

    /// The prompt and its end; what the hook of the prompt prints.
    #[track_caller]
    pub(super) fn prompt(&self, text: &str) -> String {
        let number = self.prompts.replace(self.prompts.get() + 1);
        let (session, cwd, id) = (self.session, self.project.path(), format!("m{number}"));
        let (arguments, payload): (&[&str], Value) = match self.word {
            "copilot" => (
                &["userPromptSubmitted"],
                json!({"sessionId": session, "timestamp": number, "cwd": cwd, "prompt": text}),
            ),
            "opencode" => (
                &["chat.message"],
                json!({
                    "hook": "chat.message", "directory": cwd, "worktree": cwd,
                    "input": {"sessionID": session},
                    "output": {"message": {"id": id}, "parts": [{"type": "text", "text": text}]},
                }),
            ),
            "gemini" => (
                &[],
                json!({
                    "session_id": session, "cwd": cwd, "hook_event_name": "BeforeAgent",
                    "timestamp": "2026-11-02T10:00:00Z", "prompt": text,
                }),
            ),
            "codex" => (
                &[],
                json!({
                    "session_id": session, "cwd": cwd, "hook_event_name": "UserPromptSubmit",
                    "turn_id": id, "model": "m", "permission_mode": "default", "prompt": text,
                    "transcript_path": null,
                }),
            ),
            "qwen" => (
                &[],
                json!({
                    "session_id": session, "cwd": cwd, "hook_event_name": "UserPromptSubmit",
                    "timestamp": "2026-11-02T10:00:00Z", "prompt": text,
                    "prompt_id": format!("{session}########{number}"),
                }),
            ),
            "goose" => (
                &[],
                json!({
                    "event": "UserPromptSubmit", "session_id": session, "message": text,
                    "matcher_context": "", "working_dir": cwd,
                }),
            ),
            _ => (
                &[],
                json!({
                    "session_id": session, "cwd": cwd, "hook_event_name": "UserPromptSubmit",
                    "prompt_id": id, "prompt": text,
                }),
            ),
        };
        let heard = self.hears(arguments, &payload);
        self.project.run(["turn", "end", "--session", session]).success();
        heard
    }

    /// The same, of an agent with Claude Code's form: only the text that the model is to know.
    #[track_caller]
    pub(super) fn told(&self, text: &str) -> String {
        let heard = self.prompt(text);
        let heard: Value = serde_json::from_str(&heard).expect("an answer");
        let told = heard["hookSpecificOutput"]["additionalContext"].as_str();
        told.expect("a text").to_owned()
    }

    /// A step of the session.
    pub(super) fn works(&self, does: impl FnOnce()) {
        step(self.project, self.session, does);
    }
}

fn step(project: &WorkDir<'_>, session: &str, does: impl FnOnce()) {
    let begin = ["step", "begin", "--session", session, "--tool", "Edit", "--call", "c"];
    project.run(begin).success();
    does();
    project.run(["step", "end", "--call", "c"]).success();
}

pub(super) fn repository(env: &TestEnv) -> WorkDir<'_> {
    let lines: Vec<String> = (1..30).map(|n| format!("line {n}\n")).collect();
    let lines = lines.concat();
    env.work_dir("project").files([
        ("a.txt", "one\n"),
        ("b.txt", "keep\n"),
        ("c.txt", &lines),
        (".git/HEAD", ""),
    ])
}

/// What the session would be told, without telling it.
fn news(project: &WorkDir<'_>, session: &str) -> Value {
    let notice = ["notice", "--session", session, "--dry-run", "--json"];
    json(&project.run(notice).success())
}

fn paths(news: &Value) -> Vec<String> {
    let files = news["files"].as_array().expect("a list").iter();
    let shown = files.map(|file| {
        let word = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        let by_hand = if file["by_hand"] == true { " by hand" } else { "" };
        format!("{} {}{by_hand}", word("path"), word("what"))
    });
    shown.collect()
}

#[test]
fn each_agent_is_told_once_in_its_own_form() {
    let forms = [
        ("claude", "/hookSpecificOutput/additionalContext", "UserPromptSubmit"),
        ("codex", "/hookSpecificOutput/additionalContext", "UserPromptSubmit"),
        ("qwen", "/hookSpecificOutput/additionalContext", "UserPromptSubmit"),
        ("gemini", "/hookSpecificOutput/additionalContext", "BeforeAgent"),
        ("copilot", "/additionalContext", ""),
        ("opencode", "/context", ""),
    ];
    for (word, place, event) in forms {
        let env = test_env();
        let project = repository(&env);
        let agent = Agent::new(&project, word, "s-1");
        assert_eq!(agent.prompt("clean the repo"), "", "{word}");
        agent.works(|| {
            project.write("a.txt", "two\n");
            project.remove("b.txt");
            project.write("new.txt", "new\n");
        });
        assert_eq!(agent.prompt("nothing was undone"), "", "{word}");
        project.run(["undo"]).success();
        let heard = agent.prompt("go on");
        let told: Value = serde_json::from_str(&heard).unwrap_or_else(|e| panic!("{word}: {e}"));
        let text = told.pointer(place).and_then(Value::as_str).unwrap_or_default();
        let name = &told["hookSpecificOutput"]["hookEventName"];
        assert_eq!(name.as_str().unwrap_or_default(), event, "{word}");
        for part in [
            "Undone: prompt \"clean the repo\": 2 Edit.",
            "No longer as you wrote them: a.txt.",
            "Gone: new.txt.",
            "There again: b.txt.",
        ] {
            assert!(text.contains(part), "{word}: {text}");
        }
        assert!(
            text.chars().count() <= 1200
                && heard.ends_with("}\n")
                && told.as_object().is_some_and(|all| all.len() == 1)
        );
        assert_eq!(agent.prompt("and again"), "", "{word}");
    }
}

#[test]
fn an_agent_that_does_not_listen_is_told_by_the_command_once() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "goose", "s-1");
    assert_eq!(agent.prompt("clean"), "");
    agent.works(|| project.write("a.txt", "two\n"));
    project.run(["undo"]).success();
    assert_eq!(agent.prompt("go on"), "", "any text may be a refusal");
    assert_eq!(news(&project, "s-1")["undone"], json!([2]));
    let told = project.run(["notice"]).success();
    insta::assert_snapshot!(told, @r#"
    Note by Herma, which can undo changes in this project: your earlier work is not all as you left it.
    Undone: prompt "clean": 2 Edit.
    No longer as you wrote them: a.txt.
    Read files again before you rely on them, and do not repeat what was undone unless asked to.
    "#);
    insta::assert_snapshot!(project.run(["notice"]).success(), @r"
    ------- stderr -------
    Nothing to tell.
    ");
    assert_eq!(news(&project, "nobody")["text"], Value::Null);
}

#[test]
fn what_comes_to_nothing_is_not_told() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    let other = Agent::new(&project, "claude", "s-2");
    agent.prompt("one");
    other.prompt("two");
    agent.works(|| project.write("a.txt", "two\n"));
    other.works(|| project.write("b.txt", "two\n"));
    project.run(["undo", "3"]).success();
    assert_eq!(agent.prompt("not mine"), "");
    assert!(other.prompt("mine").contains("3 Edit"));
    project.run(["undo", "2"]).success();
    project.run(["undo"]).success();
    assert_eq!(agent.prompt("undone, and that undone"), "");
}

#[test]
fn an_undo_and_its_redo_come_to_nothing() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    agent.works(|| project.write("a.txt", "two\n"));
    project.run(["undo"]).success();
    project.run(["redo"]).success();
    assert_eq!(agent.prompt("undone and redone"), "");
    project.run(["undo"]).success();
    assert!(agent.told("undone").contains("Undone: prompt \"one\": 2 Edit."));
    project.run(["redo"]).success();
    assert!(agent.told("redone").contains("Brought back: prompt \"one\": 2 Edit."));
}

#[test]
fn the_setting_turns_it_off() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    agent.works(|| project.write("a.txt", "two\n"));
    project.run(["undo"]).success();
    project.run(["config", "set", "notice", "off"]).success();
    assert_eq!(agent.prompt("go on"), "");
    project.run(["config", "set", "notice", "on"]).success();
    assert!(agent.prompt("go on then").contains("2 Edit"));
}

#[test]
fn a_prompt_that_is_told_twice_and_the_agent_of_an_agent_hear_nothing() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    agent.works(|| project.write("a.txt", "two\n"));
    project.run(["undo"]).success();
    let payload = |more: Value| {
        let mut payload = json!({
            "session_id": "s-1", "cwd": project.path(), "hook_event_name": "UserPromptSubmit",
            "prompt_id": "p-9", "prompt": "go on",
        });
        let fields = more.as_object().expect("an object").clone();
        payload.as_object_mut().expect("an object").extend(fields);
        payload
    };
    let sub_agent = payload(json!({"agent_id": "a1", "prompt_id": "p-8"}));
    assert_eq!(agent.hears(&[], &sub_agent), "");
    assert!(agent.hears(&[], &payload(json!({}))).contains("2 Edit"));
    project.run(["redo"]).success();
    assert_eq!(agent.hears(&[], &payload(json!({}))), "", "it is the same prompt");
    assert!(agent.prompt("the next one").contains("Brought back"));
}

#[test]
fn hand_edits_that_stay_are_named() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    let lines = project.read("c.txt");
    agent.works(|| {
        project.write("c.txt", &lines.replace("line 3\n", "agent\n"));
        project.write("a.txt", "two\n");
    });
    let text = project.read("c.txt");
    project.write("c.txt", &text.replace("line 25\n", "mine\n"));
    project.write("own.txt", "mine\n");
    project.run(["undo"]).success();
    assert!(project.read("c.txt").contains("mine\n") && !project.read("c.txt").contains("agent"));
    assert_eq!(paths(&news(&project, "s-1")), ["a.txt differs", "c.txt differs by hand"]);
    assert!(agent.prompt("go on").contains("Edits by hand stay in: c.txt."));
}

#[test]
fn files_that_are_undone_or_restored_alone_are_parts_of_steps() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    agent.works(|| {
        project.write("a.txt", "two\n");
        project.write("b.txt", "two\n");
    });
    project.run(["undo", "a.txt"]).success();
    let found = news(&project, "s-1");
    assert_eq!((&found["undone"], &found["in_part"]), (&json!([]), &json!([2])));
    assert_eq!(paths(&found), ["a.txt differs"]);
    assert!(agent.told("two").contains("Undone in part: prompt \"one\": 2 Edit."));
    project.run(["redo"]).success();
    assert!(agent.told("three").contains("Brought back: prompt \"one\": 2 Edit."));
    project.run(["restore", "1", "b.txt", "--all"]).success();
    assert_eq!(paths(&news(&project, "s-1")), ["b.txt differs"]);
    project.run(["restore", "1", "--all"]).success();
    assert!(agent.told("four").contains("Undone: prompt \"one\": 2 Edit."));
    project.run(["undo"]).success();
    let told = agent.told("five");
    assert!(told.contains("Undone in part: ") || told.contains("Brought back: "), "{told}");
}
