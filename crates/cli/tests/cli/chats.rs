//! `herma restore N --chat`: the agent's conversation goes on as a new session, after the files.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use herma_testkit::env::WorkDir;
use herma_testkit::{Bounded, TestEnv};
use serde_json::{Value, json};

use super::{json as answer, test_env};

/// A project in which Claude Code's prompt `p-1` made the changes 2 and 3 with the calls `c-1` and `c-2`, and `p-2` change 4
/// with `c-3`; the same is in its record, as this version writes it.
fn worked<'e>(env: &'e TestEnv, version: &str) -> WorkDir<'e> {
    let project = env.work_dir("project").files([("a.txt", "0\n"), (".git/HEAD", "")]);
    let mut record = String::new();
    let mut last = Value::Null;
    let mut line = |kind: &str, message: Value| {
        let id = format!("u-{}", record.lines().count());
        let line = json!({
            "parentUuid": last, "uuid": id, "type": kind, "sessionId": "s-1", "version": version,
            "cwd": project.path(), "message": message,
        });
        record.push_str(&line.to_string());
        record.push('\n');
        last = json!(id);
    };
    for (prompt, calls) in [("p-1", &["c-1", "c-2"][..]), ("p-2", &["c-3"])] {
        hook(&project, "UserPromptSubmit", &json!({"prompt_id": prompt, "prompt": prompt}));
        line("user", json!({"role": "user", "content": prompt}));
        for call in calls {
            let more = json!({
                "prompt_id": prompt, "tool_name": "Bash", "tool_use_id": call,
                "tool_input": {"command": "make"},
            });
            hook(&project, "PreToolUse", &more);
            project.write("a.txt", &format!("{call}\n"));
            hook(&project, "PostToolUse", &more);
            let part = json!({"type": "tool_use", "id": call, "name": "Bash", "input": {}});
            line("assistant", json!({"id": format!("m-{call}"), "content": [part]}));
            let part = json!({"type": "tool_result", "tool_use_id": call, "content": "ok"});
            line("user", json!({"role": "user", "content": [part]}));
        }
        let part = json!({"type": "text", "text": "done"});
        line("assistant", json!({"id": format!("m-{prompt}"), "content": [part]}));
        hook(&project, "Stop", &json!({"prompt_id": prompt}));
    }
    let sessions = sessions(env);
    fs::create_dir_all(&sessions).unwrap();
    fs::write(sessions.join("s-1.jsonl"), record).unwrap();
    project
}

fn sessions(env: &TestEnv) -> PathBuf {
    env.user_home().join(".claude/projects/-project")
}

#[track_caller]
fn hook(project: &WorkDir<'_>, event: &str, more: &Value) {
    let mut payload = json!({
        "session_id": "s-1", "cwd": project.path(), "hook_event_name": event,
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut command = project.command();
    command.args(["hook", "claude"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).bounded_spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.bounded_output().unwrap().status.success());
}

/// The new session: its id, and the places of its lines in the old one.
fn new_session(env: &TestEnv) -> (String, Vec<String>) {
    let files = fs::read_dir(sessions(env)).unwrap().map(|entry| entry.unwrap().path());
    let new: Vec<PathBuf> = files.filter(|path| !path.ends_with("s-1.jsonl")).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    let id = new[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let lines: Vec<Value> = fs::read_to_string(&new[0])
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.iter().all(|line| line["sessionId"] == id.as_str()), "{lines:?}");
    (id, lines.iter().map(|line| line["uuid"].as_str().unwrap().to_owned()).collect())
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("u-{number}")).collect()
}

#[test]
fn files_and_conversation_go_to_where_they_belong_together() {
    for (asked, content, left) in [
        // After change 2, before change 3, after it, before the second prompt.
        ("2", "c-1\n", 3),
        ("3^", "c-1\n", 3),
        ("3", "c-2\n", 5),
        ("4^", "c-2\n", 6),
    ] {
        let env = test_env();
        let project = worked(&env, "2.1.0");
        let old = fs::read(sessions(&env).join("s-1.jsonl")).unwrap();
        let output = project.run(["restore", asked, "--chat"]).success();
        assert_eq!(project.read("a.txt"), content, "{asked}");
        let (id, lines) = new_session(&env);
        assert_eq!(lines, ids(left), "{asked}");
        assert!(output.error_text().contains(&format!("claude --resume {id}\n")), "{output}");
        assert_eq!(fs::read(sessions(&env).join("s-1.jsonl")).unwrap(), old);
    }
}

#[test]
fn a_dry_run_says_what_would_become_of_the_conversation_and_writes_nothing() {
    let env = test_env();
    let project = worked(&env, "2.1.0");
    let output = project.run(["restore", "3^", "--chat", "--dry-run"]).success();
    let text = "A new session would have 3 messages of the conversation with Claude Code, without the last 7.";
    assert!(output.error_text().contains(text), "{output}");
    let output = project.run(["restore", "2^", "--chat", "--dry-run"]).success();
    assert!(output.error_text().contains("nothing of it would be left"), "{output}");
    assert_eq!(fs::read_dir(sessions(&env)).unwrap().count(), 1);
    assert_eq!(project.read("a.txt"), "c-3\n");
}

#[test]
fn a_record_that_is_not_known_is_refused_by_name_and_the_files_are_restored() {
    let env = test_env();
    let project = worked(&env, "3.0.0");
    let output = project.run(["restore", "3", "--chat"]).code(3);
    assert!(output.error_text().contains("Claude Code 3.0.0 wrote this record"), "{output}");
    assert_eq!(project.read("a.txt"), "c-2\n");
    assert_eq!(fs::read_dir(sessions(&env)).unwrap().count(), 1);
}

#[test]
fn programs_are_told_how_to_go_on() {
    let env = test_env();
    let project = worked(&env, "2.1.0");
    let output = project.run(["restore", "3", "--chat", "--json"]).success();
    let chat = &answer(&output)["chat"];
    let (id, _) = new_session(&env);
    assert_eq!(chat["command"], json!(["claude", "--resume", id]));
    assert_eq!((&chat["messages_kept"], &chat["messages_cut"]), (&json!(5), &json!(5)));
    assert_eq!(chat["directory"], json!(project.path()));
    fs::remove_file(sessions(&env).join("s-1.jsonl")).unwrap();
    let output = project.run(["restore", "2", "--chat", "--json"]).code(3);
    let refused = answer(&output)["chat"]["refused"].to_string();
    assert!(refused.contains("no record of this session"), "{refused}");
}

#[test]
fn where_no_agent_changed_anything_there_is_no_conversation() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    let output = project.run(["restore", "1", "--chat"]).code(2);
    assert!(output.error_text().contains("no tool call of an agent"), "{output}");
    assert_eq!(project.read("a.txt"), "two\n");
}

/// How a call ended of whose end no hook told.
#[derive(Clone, Copy)]
enum How {
    Refused,
    Stopped,
    Unknown,
}

/// A call that Claude Code announced, and what its record says of how it ended.
fn asked(env: &TestEnv, how: How) -> WorkDir<'_> {
    let project =
        env.work_dir("project").files([("a.txt", "0\n"), ("b.txt", "0\n"), (".git/HEAD", "")]);
    let call = |id: &str| json!({"prompt_id": "p-1", "tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "make"}});
    hook(&project, "UserPromptSubmit", &json!({"prompt_id": "p-1", "prompt": "do it"}));
    hook(&project, "PreToolUse", &call("c-1"));
    project.write("a.txt", "agent\n");
    hook(&project, "PostToolUse", &call("c-1"));
    hook(&project, "PreToolUse", &call("c-2"));
    project.write("b.txt", "changed\n");
    let line = |kind: &str, part: Value, more: Value| {
        let message = json!({"id": "msg_1", "content": [part]});
        let mut line = json!({"type": kind, "version": "2.1.325", "message": message});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let made = line("assistant", json!({"type": "tool_use", "id": "c-2"}), json!({}));
    let mark = json!({"type": "text", "text": "[Request interrupted by user for tool use]"});
    let told = match how {
        How::Unknown => String::new(),
        How::Refused | How::Stopped => {
            let part = json!({"type": "tool_result", "tool_use_id": "c-2", "is_error": true});
            let stopped = matches!(how, How::Stopped).then_some("msg_1");
            line("user", part, json!({"toolDenialKind": "user-rejected"}))
                + &line("user", mark, json!({"interruptedMessageId": stopped}))
        }
    };
    fs::create_dir_all(sessions(env)).unwrap();
    fs::write(sessions(env).join("s-1.jsonl"), made + &told).unwrap();
    project
}

#[test]
fn what_was_edited_while_a_call_waited_that_was_refused_stays_whatever_tells_of_the_end() {
    for event in
        [None, Some("UserPromptSubmit"), Some("PreToolUse"), Some("Stop"), Some("SessionEnd")]
    {
        let env = test_env();
        let project = asked(&env, How::Refused);
        let more = json!({"prompt_id": "p-2", "prompt": "go on", "tool_name": "Bash", "tool_use_id": "c-3",
            "tool_input": {"command": "ls"}});
        if let Some(event) = event {
            hook(&project, event, &more);
        }
        if event == Some("PreToolUse") {
            hook(&project, "Stop", &more);
        }
        project.run(["undo"]).success();
        assert_eq!(
            (&*project.read("a.txt"), &*project.read("b.txt")),
            ("0\n", "changed\n"),
            "{event:?}"
        );
    }
}

#[test]
fn a_call_that_was_stopped_is_over_and_did_what_changed() {
    let env = test_env();
    let project = asked(&env, How::Stopped);
    project.run(["undo"]).success();
    assert_eq!((&*project.read("a.txt"), &*project.read("b.txt")), ("0\n", "0\n"));
    let env = test_env();
    let project = asked(&env, How::Unknown);
    let output = project.run(["undo"]).code(1);
    assert!(output.error_text().contains("--running"), "{output}");
}
