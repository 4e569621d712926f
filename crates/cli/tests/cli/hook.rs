//! `herma hook`: what agents call, in every state a hook can find the world in.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use herma_testkit::env::WorkDir;
use herma_testkit::hermes::sessions::HermesSessions;
use herma_testkit::{Bounded, TestEnv};
use serde_json::{Value, json};

use super::{json, test_env};

/// An agent's process, which calls its hook.
struct Agent<'a> {
    project: &'a WorkDir<'a>,
    host: &'static str,
}

impl Agent<'_> {
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.project.command();
        command
            .args(["hook", self.host])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.bounded_spawn().unwrap()
    }

    /// Calls with these bytes; whatever they are, the answer is empty and 0.
    #[track_caller]
    fn sends(&self, arguments: &[&str], payload: &[u8]) {
        let mut child = self.start(arguments);
        // A hook that does not want to hear more is no error of the agent's.
        let _ = child.stdin.take().unwrap().write_all(payload);
        answered(child, "");
    }

    #[track_caller]
    fn says(&self, payload: &Value) {
        self.sends(&[], payload.to_string().as_bytes());
    }

    /// Claude Code's form, which several have.
    #[track_caller]
    fn event(&self, event: &str, more: &Value) {
        let mut payload = json!({
            "session_id": "s-1",
            "cwd": self.project.path(),
            "hook_event_name": event,
            "prompt_id": "p-1",
        });
        for (key, value) in more.as_object().unwrap() {
            payload[key] = value.clone();
        }
        self.says(&payload);
    }

    #[track_caller]
    fn before(&self, call: &str, tool: &str, input: &Value) {
        let more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": call});
        self.event("PreToolUse", &more);
    }

    #[track_caller]
    fn after(&self, call: &str, tool: &str, input: &Value) {
        let more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": call});
        self.event("PostToolUse", &more);
    }
}

#[track_caller]
fn answered(child: Child, expected: &str) {
    let output = child.bounded_output().unwrap();
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(texts, [expected.to_owned(), String::new()]);
    assert_eq!(output.status.code(), Some(0));
}

fn claude<'a>(project: &'a WorkDir<'a>) -> Agent<'a> {
    Agent { project, host: "claude" }
}

fn steps(project: &WorkDir<'_>) -> Vec<Value> {
    let answer = json(&project.run(["steps", "--all", "--json"]).success());
    answer["steps"].as_array().unwrap().clone()
}

fn checkpoints(project: &WorkDir<'_>) -> usize {
    let answer = json(&project.run(["list", "--json"]).success());
    answer["checkpoints"].as_array().unwrap().len()
}

/// A project with one file, and a marker that makes it one.
fn repository(env: &TestEnv) -> WorkDir<'_> {
    env.work_dir("project").files([("a.txt", "one\n"), (".git/HEAD", "")])
}

/// Waits for what a detached half is going to do.
#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_session_that_wants_no_checkpoints_gets_none() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let agent = Agent { project: &project, host: "claude" };
    let payload = json!({
        "session_id": "s-1", "cwd": project.path(), "hook_event_name": "UserPromptSubmit", "prompt": "go",
    });
    let saved = || {
        json(&project.run(["list", "--json"]).success())["checkpoints"].as_array().unwrap().len()
    };
    agent.sends(&["--checkpoints=off"], payload.to_string().as_bytes());
    let mut command = project.command();
    command.args(["hook", "claude"]).env("HERMA_CHECKPOINTS", "0").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).bounded_spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
    answered(child, "");
    assert_eq!(saved(), 0);
    let log = std::fs::read_to_string(env.home().join("herma/hooks/hook.log")).unwrap();
    assert_eq!(log.matches("says off: not saved").count(), 2, "{log}");
    agent.sends(&[], payload.to_string().as_bytes());
    assert_eq!(saved(), 1);
}

#[test]
fn every_call_of_a_turn_is_a_step_that_can_be_undone() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "tidy up\nplease"}));
    let write = json!({"file_path": project.join("new.txt"), "content": "created\n"});
    agent.before("1", "Write", &write);
    project.write("new.txt", "created\n");
    agent.after("1", "Write", &write);
    let delete = json!({"command": "rm a.txt"});
    agent.before("2", "Bash", &delete);
    project.remove("a.txt");
    agent.after("2", "Bash", &delete);
    agent.event("Stop", &json!({}));
    insta::assert_snapshot!(project.run(["steps"]).success(), @"
    3  [TIME]  [AGE]        claude  Bash   rm a.txt  (1 file, +0/-1)
    2  [TIME]  [AGE]        claude  Write  new.txt  (1 file, +1/-0)
    ");
    insta::assert_snapshot!(project.run(["list"]).success(), @r#"
    now                    no unsaved changes
    2-3  [AGE]  claude  "tidy up"  2 files  +1 −1  1 deleted
    1    [AGE]  you     the first checkpoint
    ------- stderr -------
    Oldest: checkpoint 1, [TIME] today.
    "#);
    insta::assert_snapshot!(project.run(["list", "-v"]).success(), @r#"
    now                    no unsaved changes
    2-3  [AGE]  claude  "tidy up"  2 files  +1 −1  1 deleted  session s-1
      3                    Bash rm a.txt  −1  1 deleted  [ID]
      2                    Write new.txt  +1  [ID]
    1    [AGE]  you     the first checkpoint  [ID]
    ------- stderr -------
    Oldest: checkpoint 1, [TIME] today.
    "#);
    project.run(["undo", "3"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(project.exists("new.txt"));
    project.run(["undo", "--turn", "p-1"]).success();
    assert!(!project.exists("new.txt"));
}

#[test]
fn a_tool_that_only_looks_leaves_no_trace() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    claude(&project).before("1", "Read", &json!({"file_path": project.join("a.txt")}));
    assert!(!env.store().exists());
}

#[test]
fn whatever_an_agent_sends_it_is_answered_and_the_project_saved() {
    let env = test_env();
    let deep = "[".repeat(100_000);
    let payloads: [&[u8]; 7] = [
        b"",
        b"{",
        b"null",
        b"\xff\xfe\x00",
        b"{\"tool_name\": [1], \"session_id\": {}}",
        deep.as_bytes(),
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"}",
    ];
    for (number, payload) in payloads.into_iter().enumerate() {
        let project = env.work_dir(format!("project{number}"));
        let project = project.files([("a.txt", "one\n"), (".git/HEAD", "")]);
        claude(&project).sends(&[], payload);
        assert_eq!(checkpoints(&project), 1, "payload {number}");
    }
}

#[test]
fn nonsense_on_the_command_line_is_answered_as_well() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let agent = claude(&project);
    agent.sends(&["--no-such-option", "PreToolUse", "x"], b"{}");
    let nobody = Agent { project: &project, host: "nobody" };
    nobody.sends(&[], b"{}");
    let log = std::fs::read_to_string(env.home().join("herma/hooks/hook.log")).unwrap();
    assert!(log.contains("no agent is called \"nobody\""), "{log}");
}

#[test]
fn a_home_that_cannot_be_written_keeps_no_agent_from_working() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    std::fs::create_dir_all(env.home().parent().unwrap()).unwrap();
    std::fs::write(env.home(), "a file").unwrap();
    claude(&project).before("1", "Bash", &json!({"command": "rm a.txt"}));
}

#[test]
fn only_who_says_no_is_not_saved() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("config.yaml"), "checkpoints: false\n").unwrap();
    let agent = claude(&project);
    agent.before("1", "Bash", &json!({"command": "rm a.txt"}));
    assert!(!env.store().exists());
    std::fs::write(env.home().join("config.yaml"), "model: x\n").unwrap();
    agent.before("1", "Bash", &json!({"command": "rm a.txt"}));
    assert_eq!(checkpoints(&project), 1);
}

#[test]
fn a_session_stays_with_the_project_it_was_first_seen_in() {
    let env = test_env();
    let project = repository(&env);
    let other = env.work_dir("elsewhere").files([("b.txt", "one\n")]);
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    project.write("a.txt", "two\n");
    let moved = json!({
        "cwd": other.path(),
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_use_id": "1",
    });
    agent.event("PreToolUse", &moved);
    assert_eq!(checkpoints(&project), 2);
    assert_eq!(checkpoints(&other), 0);
}

#[test]
fn a_session_that_began_where_nothing_can_be_saved_is_saved_in_its_projects() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    let home = env.user_home();
    std::fs::create_dir_all(&home).unwrap();
    agent.event("SessionStart", &json!({"cwd": home}));
    agent.event("UserPromptSubmit", &json!({"cwd": "/", "prompt": "go"}));
    let edit = json!({
        "cwd": home, "tool_name": "Write", "tool_use_id": "1",
        "tool_input": {"file_path": project.join("a.txt")},
    });
    agent.event("PreToolUse", &edit);
    assert_eq!((checkpoints(&project), steps(&project).len()), (1, 1));
}

#[test]
fn what_an_agent_does_when_a_background_task_is_over_belongs_to_the_last_prompt() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    let write = |prompt: &str, name: &str| {
        let call = json!({
            "prompt_id": prompt, "tool_name": "Write", "tool_use_id": name,
            "tool_input": {"file_path": project.join(name)},
        });
        agent.event("PreToolUse", &call);
        project.write(name, "new\n");
        agent.event("PostToolUse", &call);
        agent.event("Stop", &json!({"prompt_id": prompt}));
    };
    agent.event("UserPromptSubmit", &json!({"prompt": "older", "prompt_id": "p-0"}));
    write("p-0", "old.txt");
    agent.event("UserPromptSubmit", &json!({"prompt": "start it"}));
    write("p-1", "b.txt");
    let note = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>";
    agent.event("UserPromptSubmit", &json!({"prompt": note, "prompt_id": "p-2"}));
    write("p-2", "c.txt");
    let told = steps(&project);
    let prompts: Vec<_> = told.iter().map(|step| [&step["turn"], &step["prompt"]]).collect();
    let last = [&json!("p-1"), &json!("start it")];
    assert_eq!(prompts.iter().filter(|prompt| **prompt == last).count(), 2, "{prompts:?}");
    project.run(["undo"]).success();
    let is_there = |name: &str| project.join(name).exists();
    assert_eq!(["old.txt", "b.txt", "c.txt"].map(is_there), [true, false, false]);
}

#[test]
fn a_directory_that_is_not_there_is_nobodys_project() {
    let mut env = test_env();
    env.set("CLAUDE_PROJECT_DIR", "/nonexistent/project");
    let project = repository(&env);
    let other = env.work_dir("elsewhere").files([("b.txt", "one\n")]);
    let agent = claude(&project);
    let gone = json!({
        "cwd": other.join("gone"), "tool_name": "Bash", "tool_use_id": "1",
        "tool_input": {"command": "make"},
    });
    agent.event("PreToolUse", &gone);
    agent.before("2", "Bash", &json!({"command": "make"}));
    assert_eq!(steps(&project).len(), 2);
    assert_eq!(checkpoints(&other), 0, "what is above it was not meant");
}

#[test]
fn a_session_that_goes_on_elsewhere_is_saved_there() {
    let env = test_env();
    let first = env.work_dir("first").files([("a.txt", "one\n")]);
    let second = env.work_dir("second").files([("b.txt", "one\n")]);
    for project in [&first, &second] {
        let agent = Agent { project, host: "codex" };
        let event = |event: &str, more: Value| {
            let mut payload = json!({
                "session_id": "s", "turn_id": "t", "model": "m", "cwd": project.path(),
                "hook_event_name": event,
            });
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            agent.says(&payload);
        };
        event("UserPromptSubmit", json!({"prompt": "go"}));
        let patch = "*** Begin Patch\n*** Update File: b.txt\n*** End Patch";
        event(
            "PreToolUse",
            json!({
                "tool_name": "apply_patch", "tool_use_id": "1", "tool_input": {"command": patch},
            }),
        );
    }
    assert_eq!((steps(&first).len(), steps(&second).len()), (1, 1));
}

#[test]
fn what_is_there_when_a_call_is_told_again_is_saved() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.before("1", "Bash", &json!({"command": "make"}));
    project.write("mine.txt", "precious\n");
    agent.before("1", "Bash", &json!({"command": "make"}));
    assert_eq!((checkpoints(&project), steps(&project).len()), (2, 1));
    project.write("mine.txt", "more precious\n");
    agent.before("1", "Bash", &json!({"command": "rm mine.txt"}));
    assert_eq!((checkpoints(&project), steps(&project).len()), (3, 2));
}

#[test]
fn a_mistake_in_the_settings_keeps_nothing_from_being_saved() {
    let env = test_env();
    let project = repository(&env);
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("config.yaml"), "model: x\nfoo: [\n").unwrap();
    claude(&project).before("1", "Bash", &json!({"command": "make"}));
    assert_eq!(checkpoints(&project), 1);
}

#[test]
fn a_payload_that_is_complete_counts_though_its_sender_stays() {
    let env = test_env();
    let project = repository(&env);
    let mut child = claude(&project).start(&[]);
    let mut pipe = child.stdin.take().unwrap();
    let payload = json!({
        "session_id": "s-1", "cwd": project.path(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "1",
    });
    pipe.write_all(payload.to_string().as_bytes()).unwrap();
    answered(child, "");
    drop(pipe);
    assert_eq!(steps(&project).len(), 1);
}

#[test]
fn a_tool_that_works_in_another_project_has_that_one_saved_too() {
    let env = test_env();
    let project = repository(&env);
    let other = env.work_dir("other").files([("b.txt", "one\n"), ("go.mod", "")]);
    let agent = claude(&project);
    let edit = json!({"file_path": other.join("b.txt"), "old_string": "one", "new_string": "two"});
    agent.before("1", "Edit", &edit);
    other.write("b.txt", "two\n");
    agent.after("1", "Edit", &edit);
    assert_eq!((steps(&project).len(), steps(&other).len()), (1, 1));
    other.run(["undo", "2"]).success();
    assert_eq!(other.read("b.txt"), "one\n");
}

#[test]
fn a_call_that_works_in_a_worktree_within_the_project_is_a_step_of_both() {
    let env = test_env();
    let project = repository(&env).files([("pkg/package.json", "{}"), ("pkg/c.txt", "one\n")]);
    let worktree = env
        .work_dir("project/.claude/worktrees/w1")
        .files([("b.txt", "one\n"), (".git", "gitdir: /elsewhere/.git/worktrees/w1\n")]);
    let agent = claude(&project);
    let edit =
        json!({"file_path": worktree.join("b.txt"), "old_string": "one", "new_string": "two"});
    agent.before("1", "Edit", &edit);
    worktree.write("b.txt", "two\n");
    agent.after("1", "Edit", &edit);
    // A command says where it goes; a package within the project is a part of it.
    let both = json!({"command": "sed -i s/o/O/ a.txt pkg/c.txt && cd .claude/worktrees/w1; echo three >b.txt"});
    agent.before("2", "Bash", &both);
    project.write("a.txt", "One\n");
    project.write("pkg/c.txt", "One\n");
    worktree.write("b.txt", "three\n");
    agent.after("2", "Bash", &both);
    assert_eq!((steps(&project).len(), steps(&worktree).len()), (2, 2));
    let undone = project.run(["undo", "2"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(project.read("pkg/c.txt"), "one\n");
    let said = undone.error_text();
    assert!(said.contains("worktrees/w1"), "{undone}");
    assert_eq!(worktree.read("b.txt"), "three\n");
    let undone = json(&worktree.run(["undo", "3", "--json"]).success());
    assert_eq!(worktree.read("b.txt"), "two\n");
    let others = undone["also_in"].as_array().unwrap();
    assert_eq!(others.len(), 1, "{undone}");
}

#[test]
fn calls_at_the_same_time_are_all_noted() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    let calls: Vec<(Child, String)> = (0..8)
        .map(|number| {
            let payload = json!({
                "session_id": "s-1", "cwd": project.path(), "hook_event_name": "PreToolUse",
                "prompt_id": "p-1", "tool_name": "Bash", "tool_input": {"command": "true"},
                "tool_use_id": number.to_string(),
            });
            (agent.start(&[]), payload.to_string())
        })
        .collect();
    for (mut child, payload) in calls {
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        answered(child, "");
    }
    assert_eq!(steps(&project).len(), 8);
    assert_eq!(checkpoints(&project), 1);
    env.fsck();
}

#[test]
fn a_call_that_two_hooks_tell_of_is_one_step() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    let delete = json!({"command": "rm a.txt"});
    for _ in 0..2 {
        agent.before("1", "Bash", &delete);
    }
    project.remove("a.txt");
    for _ in 0..2 {
        agent.after("1", "Bash", &delete);
    }
    assert_eq!(steps(&project).len(), 1);
}

#[test]
fn a_turn_that_is_told_before_every_request_is_one_turn() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    let prompt = json!({"prompt": "go"});
    agent.event("UserPromptSubmit", &prompt);
    agent.before("1", "Bash", &json!({"command": "make"}));
    agent.event("UserPromptSubmit", &prompt);
    assert_eq!(steps(&project)[0]["state"], "open");
    agent.event("UserPromptSubmit", &json!({"prompt": "again", "prompt_id": "p-2"}));
    assert_eq!(steps(&project)[0]["state"], "unknown");
}

#[test]
fn an_agent_of_an_agent_may_go_on_when_the_turn_ends() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    agent.before("1", "Bash", &json!({"command": "make"}));
    let delete = json!({
        "tool_name": "Bash", "tool_input": {"command": "rm a.txt"}, "tool_use_id": "2",
        "agent_id": "agent-7", "agent_type": "worker",
    });
    agent.event("PreToolUse", &delete);
    agent.event("Stop", &json!({}));
    project.remove("a.txt");
    agent.event("PostToolUse", &delete);
    let listed = steps(&project);
    let states: Vec<_> = listed.iter().map(|step| &step["state"]).collect();
    // What the agent itself had begun is over, and nothing had changed by then.
    assert_eq!(states, ["changed", "unchanged"]);
    agent.before("3", "Bash", &json!({"command": "make"}));
    agent.event("SessionEnd", &json!({"reason": "exit"}));
    assert_eq!(steps(&project)[0]["state"], "unchanged");
}

/// An edit that a person refuses, or that fails, is told by no agent's hook: what comes after it is known all the same.
#[test]
fn a_refused_call_takes_nothing_from_the_steps_after_it() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    agent.before("1", "Write", &json!({"file_path": project.path().join("never.txt")}));
    // While the agent asks for permission.
    project.write("mine.txt", "a person's\n");
    agent.before("2", "Bash", &json!({"command": "make"}));
    project.write("made.txt", "made\n");
    agent.after("2", "Bash", &json!({"command": "make"}));
    agent.before("3", "Write", &json!({"file_path": project.path().join("new.txt")}));
    project.write("new.txt", "new\n");
    agent.after("3", "Write", &json!({"file_path": project.path().join("new.txt")}));
    agent.event("Stop", &json!({}));
    let blame = |path: &str| json(&project.run(["blame", path, "--json"]))["lines"][0].clone();
    assert_eq!(blame("mine.txt")["author"], "hand", "{}", blame("mine.txt"));
    for path in ["made.txt", "new.txt"] {
        assert_eq!(blame(path)["author"], "step", "{}", blame(path));
    }
    project.run(["undo"]).success();
    let left: Vec<bool> =
        ["mine.txt", "made.txt", "new.txt"].map(|path| project.path().join(path).exists()).into();
    assert_eq!(left, [true, false, false]);
}

/// Codex tells of no end of a patch that fails, and applies no two patches at once.
#[test]
fn a_patch_that_fails_takes_nothing_from_the_one_after_it() {
    let env = test_env();
    let project = repository(&env);
    project.write("a.txt", "one\n");
    let agent = Agent { project: &project, host: "codex" };
    let event = |name: &str, call: &str| {
        let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
        let tool = json!({"turn_id": "t-1", "model": "m", "tool_name": "apply_patch",
            "tool_input": {"command": patch}, "tool_use_id": call});
        agent.event(name, &tool);
    };
    event("PreToolUse", "1");
    event("PreToolUse", "2");
    project.write("a.txt", "two\n");
    event("PostToolUse", "2");
    let step = &steps(&project)[0];
    assert_eq!(step["overlaps"], json!([]), "{step}");
    project.run(["undo", &step["number"].to_string()]).success();
    assert_eq!(project.read("a.txt"), "one\n");
}

/// Grok's sub-agents have sessions that name nobody: what they do in the process of the call that started them is part of that.
#[test]
fn what_a_nameless_agent_of_an_agent_does_belongs_to_the_persons_prompt() {
    let env = test_env();
    let project = repository(&env);
    project.write("old.txt", "old\n");
    let agent = Agent { project: &project, host: "grok" };
    let event = |name: &str, session: &str, tool: &str| {
        agent.event(
            name,
            &json!({"hookEventName": name, "workspaceRoot": project.path(),
            "session_id": session, "promptId": session, "prompt_id": null, "prompt": "go",
            "tool_name": tool, "tool_use_id": tool, "tool_input": {"command": "make"}}),
        );
    };
    event("UserPromptSubmit", "person", "");
    event("PreToolUse", "person", "spawn_subagent");
    event("UserPromptSubmit", "child", "");
    event("PreToolUse", "child", "run_terminal_command");
    project.remove("old.txt");
    event("PostToolUse", "child", "run_terminal_command");
    event("SessionEnd", "child", "");
    event("PostToolUse", "person", "spawn_subagent");
    event("Stop", "person", "");
    let all = steps(&project);
    assert!(all.iter().all(|step| step["overlaps"] == json!([])), "{all:?}");
    project.run(["undo"]).success();
    assert_eq!(project.read("old.txt"), "old\n");
}

#[test]
fn what_a_call_changes_outside_the_project_is_said() {
    let env = test_env();
    let project = repository(&env);
    let elsewhere = tempfile::tempdir().unwrap();
    let at = |name: &str| elsewhere.path().join(name);
    std::fs::write(at("doomed"), "1").unwrap();
    std::fs::write(at("kept"), "1").unwrap();
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    let command = format!("rm {} && cat '{}'", at("doomed").display(), at("kept").display());
    agent.before("1", "Bash", &json!({"command": command}));
    std::fs::remove_file(at("doomed")).unwrap();
    agent.after("1", "Bash", &json!({"command": command}));
    let edit = json!({"file_path": at("new")});
    agent.before("2", "Write", &edit);
    std::fs::write(at("new"), "2").unwrap();
    agent.after("2", "Write", &edit);
    let said: Vec<Value> = steps(&project).iter().map(|step| step["outside"].clone()).collect();
    let text = |step: usize| said[step][0]["text"].as_str().unwrap().to_owned();
    let expected = |name: &str, fate: &str| {
        format!("outside the project: {} {fate}, not covered", at(name).display())
    };
    let told = [expected("doomed", "removed"), expected("new", "made")];
    assert!([text(0), text(1)].iter().all(|text| told.contains(text)), "{said:?}");
    let shown = project.run(["show", "@"]).success().stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains(&expected("new", "made")), "{shown}");
}

/// A sub-agent's conversation is its own, and the prompt that led to it a person's: one undo undoes both.
#[test]
fn what_an_agent_of_an_agent_does_belongs_to_the_persons_prompt() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent { project: &project, host: "opencode" };
    let base = json!({"directory": project.path(), "worktree": project.path()});
    let says = |name: &str, more: Value| {
        let mut payload = base.clone();
        payload["hook"] = name.into();
        for (key, value) in more.as_object().unwrap() {
            payload[key] = value.clone();
        }
        agent.sends(&[name], payload.to_string().as_bytes());
    };
    let prompt = |session: &str, parent: Value, text: &str| {
        says(
            "chat.message",
            json!({
                "input": {"sessionID": session}, "parent_session_id": parent,
                "output": {"message": {"id": format!("msg-{session}")}, "parts": [{"type": "text", "text": text}]},
            }),
        );
    };
    let call = |when: &str, session: &str, parent: Value, tool: &str, id: &str| {
        let args = json!({"command": "make"});
        says(
            when,
            json!({
                "input": {"tool": tool, "sessionID": session, "callID": id, "args": args},
                "output": {"args": args}, "parent_session_id": parent,
            }),
        );
    };
    let (before, after) = ("tool.execute.before", "tool.execute.after");
    prompt("ses_1", Value::Null, "tidy up");
    call(before, "ses_1", Value::Null, "task", "1");
    prompt("ses_2", json!("ses_1"), "you are to tidy up");
    call(before, "ses_2", json!("ses_1"), "bash", "2");
    project.write("made.txt", "by the sub-agent\n");
    call(after, "ses_2", json!("ses_1"), "bash", "2");
    let idle = json!({"type": "session.idle", "properties": {"sessionID": "ses_2"}});
    says("event", json!({"event": idle, "parent_session_id": "ses_1"}));
    project.write("more.txt", "by the agent\n");
    call(after, "ses_1", Value::Null, "task", "1");
    let prompts: Vec<Value> = steps(&project).iter().map(|step| step["prompt"].clone()).collect();
    assert_eq!(prompts, ["tidy up", "tidy up"]);
    project.run(["undo"]).success();
    let left = ["made.txt", "more.txt"].map(|path| project.path().join(path).exists());
    assert_eq!(left, [false, false]);
}

/// What changed before a tool began, as its duration tells, is not the agent's.
#[test]
fn an_edit_by_hand_while_permission_is_asked_for_is_not_the_agents() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    let input = json!({"command": "make"});
    agent.before("1", "Bash", &input);
    project.write("mine.txt", "a person's\n");
    std::thread::sleep(Duration::from_millis(4200));
    project.write("made.txt", "made\n");
    let ran =
        json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "1", "duration_ms": 5});
    agent.event("PostToolUse", &ran);
    agent.event("Stop", &json!({}));
    project.run(["undo"]).success();
    let left = ["mine.txt", "made.txt"].map(|path| project.path().join(path).exists());
    assert_eq!(left, [true, false]);
}

#[test]
fn what_an_agent_of_an_agent_does_is_part_of_the_step_that_started_it() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.before("1", "Bash", &json!({"command": "make"}));
    agent.before("2", "Task", &json!({"prompt": "tidy up"}));
    agent.before("3", "Bash", &json!({"command": "make"}));
    let task_of_another = json!({
        "session_id": "s-2", "tool_name": "Task", "tool_input": {}, "tool_use_id": "2",
    });
    agent.event("PreToolUse", &task_of_another);
    let inner = json!({
        "tool_name": "Bash", "tool_input": {"command": "rm a.txt"}, "tool_use_id": "4",
        "agent_id": "agent-7", "agent_type": "worker",
    });
    agent.event("PreToolUse", &inner);
    let within: Vec<_> = steps(&project).iter().map(|step| step["within"].clone()).collect();
    let nothing = || json!(null);
    assert_eq!(within, [json!("s2"), nothing(), nothing(), nothing(), nothing()]);
}

/// Only where Hermes keeps the conversation can both go back together.
#[test]
fn what_hermes_tells_of_is_saved_with_how_far_its_conversation_was() {
    let env = test_env();
    HermesSessions::new(&env.home()).add("s-1", 1.7e9, None, &[1.7e9, 1.7e9 + 1.0]);
    let project = repository(&env);
    let hermes = Agent { project: &project, host: "hermes" };
    hermes.says(&json!({
        "hook_event_name": "pre_llm_call", "session_id": "s-1", "cwd": project.path(),
    }));
    let listed = json(&project.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"][0]["facts"]["transcript"]["messages"], 2, "{listed}");
}

#[test]
fn where_no_end_is_told_the_next_call_ends_the_last_one() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent { project: &project, host: "crush" };
    let call = |command: &str| {
        agent.says(&json!({
            "event": "PreToolUse", "session_id": "s-1", "cwd": project.path(),
            "tool_name": "bash", "tool_input": {"command": command},
        }));
    };
    call("rm a.txt");
    project.remove("a.txt");
    call("make");
    let listed = steps(&project);
    let states: Vec<_> = listed.iter().map(|step| &step["state"]).collect();
    assert_eq!(states, ["open", "changed"]);
}

#[test]
fn cursor_gets_an_empty_object_and_nobody_else_does() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    for (host, payload) in [
        ("cursor", "{"),
        ("cursor", "{\"hook_event_name\":\"preToolUse\",\"tool_name\":\"Shell\"}"),
        (
            "claude",
            "{\"cursor_version\":\"2.1\",\"hook_event_name\":\"preToolUse\",\"tool_name\":\"Shell\"}",
        ),
    ] {
        let agent = Agent { project: &project, host };
        let mut child = agent.start(&[]);
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        answered(child, "{}\n");
    }
}

#[test]
fn an_agent_that_never_finishes_its_sentence_is_answered() {
    let env = test_env();
    let project = repository(&env);
    let mut child = claude(&project).start(&[]);
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"session_id\":").unwrap();
    // The pipe stays open until the answer is there.
    answered(child, "");
    drop(pipe);
    assert_eq!(checkpoints(&project), 1);
}

#[test]
fn a_save_that_takes_too_long_goes_on_without_the_agent() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    let id = json(&project.run(["list", "--json"]).success())["project"]["id"].clone();
    let lock = env.store().join(format!("herma/projects/{}/lock", id.as_str().unwrap()));
    let held = std::fs::File::options().read(true).write(true).open(lock).unwrap();
    held.lock().unwrap();
    // Somebody has the project, and the answer comes all the same.
    agent.before("1", "Bash", &json!({"command": "rm a.txt"}));
    assert!(steps(&project).is_empty());
    held.unlock().unwrap();
    eventually("the step is noted", || !steps(&project).is_empty());
    eventually("it is marked as late", || steps(&project)[0]["late"] == true);
}

#[test]
fn neither_contents_nor_the_environment_are_written_down() {
    let mut env = test_env();
    env.set("SOME_TOKEN", "sesame-in-a-variable");
    let project = repository(&env);
    let agent = claude(&project);
    let write = json!({"file_path": project.join("b.txt"), "content": "sesame-in-a-file"});
    agent.before("1", "Write", &write);
    agent.after("1", "Write", &write);
    let found = std::process::Command::new("grep")
        .args(["-r", "-l", "sesame"])
        .arg(env.home())
        .bounded_output()
        .unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "");
}

#[test]
fn the_log_says_who_called_what_for_where_and_what_came_of_it() {
    let env = test_env();
    let project = repository(&env);
    claude(&project).before("1", "Bash", &json!({"command": "rm a.txt"}));
    let log = std::fs::read_to_string(env.home().join("herma/hooks/hook.log")).unwrap();
    let line = log.lines().find(|line| line.contains(" claude ")).unwrap_or_default();
    let place = format!(" in {}: ", project.path().display());
    assert!(line.contains(" Bash of ") && line.contains(&place), "{log}");
    assert!(line.ends_with(" ms)"), "{log}");
}

#[test]
fn doctor_says_when_nothing_could_be_saved() {
    let env = test_env();
    let project = repository(&env);
    project.run(["install", "claude"]).success();
    let settings = env.user_home().join(".claude/settings.json");
    assert!(settings.exists());
    let nowhere = json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "make"}, "tool_use_id": "1",
    });
    let mut command = env.command(std::path::Path::new("/"));
    command.args(["hook", "claude"]).stdin(Stdio::piped());
    let mut child = command.bounded_spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(nowhere.to_string().as_bytes()).unwrap();
    drop(pipe);
    assert!(child.wait().unwrap().success());
    let doctor = project.run(["doctor"]).code(3);
    assert!(doctor.text().contains("nothing was saved"), "{doctor}");
}

#[test]
fn doctor_can_tell_when_an_agent_was_last_heard_of() {
    let env = test_env();
    let project = repository(&env);
    claude(&project).event("UserPromptSubmit", &json!({"prompt": "go"}));
    let seen = std::fs::read_to_string(env.home().join("herma/hooks/claude.seen")).unwrap();
    let words: Vec<_> = seen.split_whitespace().collect();
    assert_eq!(words[1..], ["turn-start", "done"]);
    words[0].parse::<u64>().unwrap();
}

/// Its answer is not its end: what it still does belongs to nobody else, and is not called done.
#[test]
fn a_command_that_certainly_only_reads_costs_one_look() {
    let env = test_env();
    let project = repository(&env);
    let claude = claude(&project);
    for (command, is_looked_for) in [("ls -la | sort", false), ("ls > made.txt", true)] {
        let input = json!({"command": command});
        claude.before(command, "Bash", &input);
        let before = checkpoints(&project);
        project.write("by-hand.txt", command);
        claude.after(command, "Bash", &input);
        assert_eq!(checkpoints(&project) - before, usize::from(is_looked_for), "{command}");
    }
    let ends = steps(&project).into_iter().map(|step| step["state"].clone());
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends, [json!("changed"), json!("unchanged")]);
}

#[test]
fn a_command_that_goes_on_in_the_background_is_not_called_over() {
    let env = test_env();
    let project = repository(&env);
    let agent = claude(&project);
    let command = json!({"command": "make watch", "run_in_background": true});
    agent.before("1", "Bash", &command);
    project.write("a.txt", "so far\n");
    agent.after("1", "Bash", &command);
    let step = &steps(&project)[0];
    assert_eq!((&step["state"], &step["background"]), (&json!("changed"), &json!(true)));
    let shown = project.run(["show", "@"]).success().stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("It went on in the background"), "{shown}");
}

/// Where nobody tells of ends, the next call of the same session does; that of another session says nothing.
#[test]
fn a_call_of_another_session_does_not_end_a_call() {
    let env = test_env();
    let project = repository(&env);
    let crush = Agent { project: &project, host: "crush" };
    let call = |session: &str, id: &str| {
        let payload = json!({"event": "PreToolUse", "session_id": session, "cwd": project.path(),
            "tool_name": "bash", "tool_call_id": id, "tool_input": {"command": "make"}});
        crush.says(&payload);
    };
    call("s-1", "1");
    call("s-2", "2");
    let states = |listed: Vec<Value>| listed.iter().map(|step| step["state"].clone()).collect();
    let open: Vec<Value> = states(steps(&project));
    assert_eq!(open, ["open", "open"]);
    call("s-1", "3");
    let open: Vec<Value> = states(steps(&project));
    assert_eq!(open.iter().filter(|state| *state == "open").count(), 2);
}

/// A program that saves with a limit of its own, as the Python package does.
fn with_limit(env: &TestEnv, max_snapshots: usize) -> herma_core::Engine {
    let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    herma_core::Engine::new(herma_core::EngineOptions {
        home: env.home(),
        user_home: None,
        clock: std::sync::Arc::new(herma_core::types::clock::FixedClock(
            herma_core::types::clock::Timestamp { seconds, nanos: 0, offset_minutes: 0 },
        )),
        settings: herma_core::Settings {
            keeping: herma_core::types::settings::Keeping {
                max_snapshots: Some(4),
                ..herma_core::types::settings::Keeping::default()
            },
            asked: herma_core::types::settings::AskedLimits {
                max_snapshots: Some(max_snapshots),
                max_total_size: None,
            },
            ..herma_core::Settings::default()
        },
    })
}

#[test]
fn twenty_projects_saved_by_commands_hooks_and_programs_keep_what_their_own_limits_keep() {
    const SAVES: usize = 7;
    let env = test_env();
    std::fs::create_dir_all(env.home()).unwrap();
    let settings = "checkpoints:\n  max_snapshots: 4\n";
    std::fs::write(env.home().join("config.yaml"), settings).unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("project-{number}")).collect();
    let projects: Vec<_> =
        names.iter().map(|name| env.work_dir(name).files([(".git/HEAD", "")])).collect();
    // Programs ask for fewer than the settings allow, for more, and for any number.
    let asked = |number: usize| [1, 2, 5, 6, 100, 0][number / 3 % 6];
    let save = |number: usize, round: usize| {
        let project = &projects[number];
        project.write("a.txt", &format!("{number} {round}\n"));
        match number % 3 {
            0 => drop(project.run(["save"]).success()),
            1 => {
                let call = round.to_string();
                let input = json!({"command": "make"});
                claude(project).before(&call, "Bash", &input);
                claude(project).after(&call, "Bash", &input);
            }
            _ => {
                let engine = with_limit(&env, asked(number));
                let root = engine.project(project.path()).unwrap();
                let options = herma_core::SaveOptions::default();
                root.save_with(&options, &herma_core::engine::NoProgress).unwrap();
            }
        }
    };
    let kept = |number: usize| match (number % 3, asked(number)) {
        (2, 0) => SAVES,
        (2, asked) => asked.clamp(4, SAVES),
        _ => 4,
    };
    for round in 0..SAVES {
        for number in 0..projects.len() {
            save(number, round);
        }
        // Whoever cleans up, with whatever limit of its own.
        projects[round].run(["maintain"]).success();
        let progress = herma_core::engine::NoProgress;
        with_limit(&env, 1).maintain(&progress).unwrap();
        for (number, project) in projects.iter().enumerate() {
            let left = checkpoints(project);
            assert!(left >= kept(number).min(round + 1), "{number}: {left}");
        }
    }
    let left: Vec<_> = projects.iter().map(checkpoints).collect();
    let all: Vec<_> = (0..projects.len()).map(kept).collect();
    assert_eq!(left, all);
}
