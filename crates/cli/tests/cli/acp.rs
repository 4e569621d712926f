//! `herma acp`: an editor and an agent that do not notice it, and saves that come first.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use herma_testkit::env::WorkDir;
use herma_testkit::{Bounded, TestEnv};
use serde_json::Value;

use super::{json, shell, test_env};

/// An agent that opens a session and, given a prompt, says how many checkpoints there are before it changes a
/// file itself and asks the editor to write another one.
const AGENT: &str = r#"
import json, os, subprocess, sys
def send(message): print(json.dumps(message), flush=True)
def reasons(directory):
    found = subprocess.run([os.environ["HERMA"], "-C", directory, "list", "--json"], capture_output=True)
    return [one["reason"] for one in json.loads(found.stdout)["checkpoints"]]
directory = "."
sys.stderr.write("the agent says hello\n")
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "session/new":
        directory = params["cwd"]
        send({"jsonrpc": "2.0", "id": message["id"], "result": {"sessionId": "s-1"}})
    elif method == "session/prompt":
        send({"method": "seen", "params": {"reasons": reasons(directory)}})
        open(os.path.join(directory, "a.txt"), "w").write("agent\n")
        send({"id": "w", "method": "fs/write_text_file", "params": {"sessionId": "s-1", "path": "b.txt"}})
    elif message.get("id") == "w":
        send({"id": 2, "result": {"stopReason": "end_turn"}})
sys.exit(7)
"#;

/// An agent that does what the second text of a prompt says, line by line.
const SCRIPTED: &str = r#"
import json, os, subprocess, sys
def send(message): print(json.dumps(message), flush=True)
def act(act, directory):
    if "say" in act:
        send({"method": "session/update", "params": {"sessionId": "s-1", "update": act["say"]}})
    elif "ask" in act:
        send({"id": "ask", "method": "session/request_permission", "params": {"sessionId": "s-1", "toolCall": act["ask"]}})
        sys.stdin.readline()
    elif "edit" in act:
        send({"id": "edit", "method": "fs/write_text_file", "params": {"sessionId": "s-1", "path": act["edit"]}})
        sys.stdin.readline()
    elif "write" in act:
        open(os.path.join(directory, act["write"]), "a").write(act["text"])
    elif "hook" in act:
        payload = {"session_id": "s-1", "cwd": directory, **act["hook"]}
        subprocess.run([os.environ["HERMA"], "hook", "claude"], input=json.dumps(payload).encode(), check=True)
    elif "exit" in act:
        sys.exit(act["exit"])
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "session/new":
        directory = params["cwd"]
        send({"id": message["id"], "result": {"sessionId": "s-1"}})
    elif method == "session/prompt":
        for one in json.loads(params["prompt"][1]["text"]): act(one, directory)
        send({"id": message["id"], "result": {"stopReason": "end_turn"}})
"#;

/// The program between a test that plays the editor and an agent.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    fn start(env: &TestEnv, arguments: &[&str], agent: &[&str]) -> Self {
        let elsewhere = env.work_dir("elsewhere").path().to_owned();
        let mut command = env.command(&elsewhere);
        command
            .arg("acp")
            .args(arguments)
            .arg("--")
            .args(agent)
            .env("HERMA", env!("CARGO_BIN_EXE_herma"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.bounded_spawn().expect("it can be started");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it has a pipe"));
        Self { child, input, output }
    }

    fn send(&mut self, message: &Value) {
        let mut input = self.input.as_ref().expect("it is open");
        writeln!(input, "{message}").expect("it listens");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    /// Opens a session in a project, sends a prompt, and returns what the agent saw of it.
    fn prompt(&mut self, project: &WorkDir<'_>) -> Value {
        let new = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "session/new",
            "params": {"cwd": project.path(), "mcpServers": []}});
        self.send(&new);
        assert_eq!(self.receive()["result"]["sessionId"], "s-1");
        let prompt = serde_json::json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt",
            "params": {"sessionId": "s-1", "prompt": [{"type": "text", "text": "do it"}]}});
        self.send(&prompt);
        self.receive()["params"]["reasons"].clone()
    }

    /// Has the scripted agent work on a prompt; it says what it has to say until it waits for an answer or is done.
    fn prompts(&mut self, project: &WorkDir<'_>, acts: &Value) -> Value {
        let new = serde_json::json!({"id": 1, "method": "session/new", "params": {"cwd": project.path()}});
        self.send(&new);
        self.receive();
        let text = |text: &str| serde_json::json!({"type": "text", "text": text});
        let prompt = serde_json::json!({"id": 2, "method": "session/prompt",
            "params": {"sessionId": "s-1", "prompt": [text("do it"), text(&acts.to_string())]}});
        self.send(&prompt);
        self.goes_on()
    }

    /// Passes over notifications.
    fn goes_on(&mut self) -> Value {
        loop {
            let message = self.receive();
            if message["method"] != "session/update" {
                return message;
            }
        }
    }

    fn answers(&mut self, id: &str) -> Value {
        self.send(&serde_json::json!({"id": id, "result": {}}));
        self.goes_on()
    }

    /// Closes the input; returns the exit code and what was said on stderr.
    fn finish(mut self) -> (i32, String) {
        drop(self.input.take());
        let output = self.child.bounded_output().expect("it ends");
        let code = output.status.code().expect("by itself");
        (code, String::from_utf8(output.stderr).expect("it is text"))
    }
}

fn reasons(project: &WorkDir<'_>) -> Vec<String> {
    let list = json(&project.run(["list", "--json"]).success());
    let checkpoints = list["checkpoints"].as_array().expect("a list").iter();
    let reasons = checkpoints.map(|one| one["reason"].as_str().expect("a text").to_owned());
    reasons.collect()
}

fn project(env: &TestEnv) -> WorkDir<'_> {
    env.work_dir("project").files([("a.txt", "one\n")])
}

#[test]
fn the_project_is_saved_before_the_agent_sees_a_prompt_and_the_editor_a_change() {
    let env = test_env();
    let project = project(&env);
    let mut session = Session::start(&env, &["--name", "fake"], &["python3", "-c", AGENT]);
    assert_eq!(session.prompt(&project), serde_json::json!(["before prompt"]));
    assert_eq!(session.receive()["method"], "fs/write_text_file");
    assert_eq!(reasons(&project), ["before write_text_file: b.txt", "before prompt"]);
    project.write("b.txt", "written by the editor\n");
    session.send(&serde_json::json!({"id": "w", "result": null}));
    assert_eq!(session.receive()["result"]["stopReason"], "end_turn");
    let (code, said) = session.finish();
    assert_eq!((code, said.as_str()), (7, "the agent says hello\n"));

    let list = json(&project.run(["list", "--json"]).success());
    let facts = &list["checkpoints"][0]["facts"];
    assert_eq!(list["checkpoints"][0]["reason"], "after write_text_file: b.txt");
    assert_eq!(facts["agent"], "fake");
    assert_eq!(facts["session"], "s-1");
    assert_eq!(facts["turn"], list["checkpoints"][2]["facts"]["turn"]);
    assert_eq!(facts["tool"], "write_text_file");
    let before = list["checkpoints"][2]["number"].to_string();
    project.run(["restore", "--all", &before]).success();
    assert_eq!(project.read("a.txt"), "one\n", "the state before the prompt");
    assert!(!project.exists("b.txt"));
}

#[test]
fn every_byte_passes_in_both_directions() {
    let env = test_env();
    let agent = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, open('heard', 'wb')); \
                 shutil.copyfileobj(open('saying', 'rb'), sys.stdout.buffer)";
    let elsewhere = env.work_dir("elsewhere");
    let mut bytes =
        b"\r\n\n{\"id\": 1, \"method\":  \"session/prompt\"}\r\n\xff\0\xc3(\n[1, {}]\n".to_vec();
    bytes.extend(vec![b'x'; 3 << 20]);
    bytes.extend(b"\n{\"method\":\"fs/write_text_file\",\"id\":1}\nno end of line");
    let saying: Vec<u8> = bytes.iter().rev().copied().collect();
    elsewhere.write_bytes("saying", &saying);
    let mut session = Session::start(&env, &[], &["python3", "-c", agent]);
    let mut input = session.input.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let mut said = Vec::new();
    std::io::Read::read_to_end(&mut session.output, &mut said).unwrap();
    writer.join().unwrap();
    assert_eq!(session.finish().0, 0);
    assert!(said == saying, "the editor gets what the agent said");
    assert!(elsewhere.read_bytes("heard") == bytes, "the agent gets what was sent");
}

#[test]
fn a_session_that_wants_no_checkpoints_gets_none() {
    let env = test_env();
    let project = project(&env);
    let mut session = Session::start(&env, &["--checkpoints=off"], &["python3", "-c", AGENT]);
    assert_eq!(session.prompt(&project), serde_json::json!([]));
    let (_, said) = session.finish();
    assert!(said.contains("`--checkpoints` says off: nothing is saved"), "{said}");
    assert_eq!(reasons(&project), [""; 0]);
}

#[test]
#[allow(clippy::disallowed_methods)]
fn a_save_that_fails_holds_nothing_up() {
    let env = test_env();
    let project = project(&env);
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("checkpoints"), "not a directory").unwrap();
    let echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)";
    let mut session = Session::start(&env, &[], &["python3", "-c", echo]);
    for directory in [project.path().to_str().unwrap(), "/not/there", "relative", ""] {
        let load = serde_json::json!({"id": 1, "method": "session/load",
            "params": {"cwd": directory, "sessionId": "s"}});
        let prompt =
            serde_json::json!({"id": 2, "method": "session/prompt", "params": {"sessionId": "s"}});
        for message in [load, prompt] {
            session.send(&message);
            assert_eq!(session.receive(), message);
        }
    }
    let (code, said) = session.finish();
    assert_eq!(code, 0);
    assert_eq!(said.matches("Warning: not saved: ").count(), 4, "{said}");
}

#[test]
fn a_save_that_takes_long_holds_nothing_up_for_ever() {
    let env = test_env();
    let project = project(&env);
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    let lock = std::fs::File::open(env.store().join("herma/lock")).unwrap();
    lock.lock().unwrap();
    let echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)";
    let mut session = Session::start(&env, &["--wait", "1"], &["python3", "-c", echo]);
    let load = serde_json::json!({"id": 1, "method": "session/load",
        "params": {"cwd": project.path(), "sessionId": "s"}});
    let prompt =
        serde_json::json!({"id": 2, "method": "session/prompt", "params": {"sessionId": "s"}});
    for message in [load, prompt] {
        session.send(&message);
        assert_eq!(session.receive(), message, "passed on while the store is locked");
    }
    lock.unlock().unwrap();
    let (_, said) = session.finish();
    assert!(said.contains("Warning: saving takes long"), "{said}");
}

#[test]
fn a_save_that_is_not_done_at_the_end_is_told() {
    let env = test_env();
    let project = project(&env);
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    let lock = std::fs::File::open(env.store().join("herma/lock")).unwrap();
    lock.lock().unwrap();
    let echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)";
    let mut session = Session::start(&env, &["--wait", "1"], &["python3", "-c", echo]);
    let prompt = serde_json::json!({"id": 2, "method": "session/prompt",
        "params": {"sessionId": "s", "cwd": project.path()}});
    session.send(&prompt);
    assert_eq!(session.receive(), prompt);
    let (_, said) = session.finish();
    let told = "Warning: not saved: a save was not done when the agent ended";
    assert!(said.contains(told), "{said}");
    lock.unlock().unwrap();
    assert_eq!(reasons(&project), ["first"]);
}

#[test]
fn a_message_that_cannot_be_read_may_be_a_prompt() {
    let env = test_env();
    let project = project(&env);
    let echo = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line[:9] + b'\\n'); sys.stdout.flush()";
    let mut session = Session::start(&env, &[], &["python3", "-c", echo]);
    let load = serde_json::json!({"id": 1, "method": "session/load",
        "params": {"cwd": project.path(), "sessionId": "s"}});
    session.send(&load);
    let mut heard = Vec::new();
    session.output.read_until(b'\n', &mut heard).unwrap();
    let lines: [&[u8]; 2] = [
        b"{\"id\":2,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"prompt\":\"\xff\"}}",
        b"{\"id\":3,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"x\":NaN}}",
    ];
    for (number, line) in lines.iter().enumerate() {
        project.write("a.txt", &format!("{number}\n"));
        let mut input = session.input.as_ref().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        heard.clear();
        session.output.read_until(b'\n', &mut heard).unwrap();
        assert_eq!(heard[..9], line[..9], "it is passed on");
        assert_eq!(reasons(&project).len(), number + 1, "and saved before");
    }
    let (_, said) = session.finish();
    assert_eq!(said.matches("cannot be read").count(), 1, "once: {said}");
}

#[test]
fn the_settings_can_turn_the_saves_off() {
    let env = test_env();
    let project = project(&env);
    project.run(["config", "set", "enabled", "false"]).success();
    let mut session = Session::start(&env, &[], &["python3", "-c", AGENT]);
    assert_eq!(session.prompt(&project), serde_json::json!([]));
    let (code, said) = session.finish();
    assert_eq!(code, 7);
    assert!(said.contains("`checkpoints.enabled` is false: nothing is saved"), "{said}");
    assert_eq!(reasons(&project), [""; 0]);
}

#[test]
fn an_agent_that_ends_ends_it_although_the_editor_stays() {
    let env = test_env();
    let mut session = Session::start(&env, &[], &["sh", "-c", "echo last words; exit 9"]);
    let mut said = String::new();
    session.output.read_line(&mut said).unwrap();
    assert_eq!(said, "last words\n");
    let status = session.child.wait().unwrap();
    assert_eq!(status.code(), Some(9));
    assert!(session.input.is_some(), "the editor has not hung up");
}

#[test]
fn signals_reach_the_agent() {
    let env = test_env();
    let project = project(&env);
    for (signal, code) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let agent = format!(
            "trap 'echo caught; exit {code}' {signal}; echo ready; while :; do sleep 0.05; done"
        );
        let mut session = Session::start(&env, &[], &["sh", "-c", &agent]);
        let mut line = String::new();
        session.output.read_line(&mut line).unwrap();
        let kill = format!("kill -{signal} {}", session.child.id());
        let killed = shell(&env, &project).args(["-c", &kill]).bounded_status().unwrap();
        assert!(killed.success());
        session.output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\ncaught\n");
        assert_eq!(session.child.wait().unwrap().code(), Some(code), "{signal}");
    }
}

#[test]
fn an_agent_that_is_not_there_is_said_to_be_missing() {
    let env = test_env();
    let project = project(&env);
    let output = project.run(["acp", "--", "no-such-agent"]).code(127);
    assert!(output.error_text().contains("there is no command `no-such-agent`"), "{output}");
    project.run(["acp"]).code(2);
}

fn call(id: &str, kind: &str, status: &str, path: &str) -> Value {
    serde_json::json!({"say": {"sessionUpdate": "tool_call", "toolCallId": id, "title": "it", "kind": kind,
        "status": status, "locations": [{"path": path}], "rawInput": {"command": ["touch", path]}}})
}

fn update(id: &str, status: &str) -> Value {
    serde_json::json!({"say": {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status}})
}

fn write(path: &str, text: &str) -> Value {
    serde_json::json!({"write": path, "text": text})
}

fn steps(project: &WorkDir<'_>) -> Vec<Value> {
    let steps = json(&project.run(["steps", "--all", "--json"]).success());
    let mut steps = steps["steps"].as_array().expect("a list").clone();
    steps.retain(|step| step["kind"] == "tool");
    steps.reverse();
    steps
}

fn scripted(env: &TestEnv) -> Session {
    Session::start(env, &["--name", "fake"], &["python3", "-c", SCRIPTED])
}

#[test]
fn tool_calls_are_steps_of_their_prompt() {
    let env = test_env();
    let project = project(&env);
    let mut session = scripted(&env);
    // The last one had run before anybody heard of it.
    let acts = serde_json::json!([
        call("c1", "edit", "pending", "a.txt"),
        update("c1", "in_progress"),
        write("a.txt", "two\n"),
        update("c1", "completed"),
        {"ask": call("r", "read", "pending", "a.txt")["say"]}, update("r", "completed"),
        update("r", "completed"),
        write("b.txt", "new\n"),
        call("c2", "execute", "in_progress", "b.txt"),
        update("c2", "failed"),
    ]);
    assert_eq!(session.prompts(&project, &acts)["method"], "session/request_permission");
    assert_eq!(session.answers("ask")["result"]["stopReason"], "end_turn");
    assert_eq!(session.finish(), (0, String::new()));
    let found = steps(&project);
    let of = |name: &str| found.iter().map(|step| step[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("call"), ["c1", "c2"]);
    assert_eq!(of("tool"), ["edit", "execute"]);
    assert_eq!(of("state"), ["changed", "changed"]);
    assert_eq!(of("late"), [false, false]);
    assert_eq!(of("prompt"), ["do it", "do it"]);
    assert_eq!(found[1]["command"], "touch b.txt");
    let list = json(&project.run(["list", "--json"]).success());
    let prompts: Vec<&Value> =
        list["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "work").collect();
    assert_eq!(prompts.len(), 1, "{list}");
    assert_eq!(
        (&prompts[0]["prompt"], prompts[0]["steps"].as_array().unwrap().len()),
        (&"do it".into(), 2)
    );
    project.run(["undo", "--yes"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(!project.exists("b.txt"));
}

#[test]
fn a_question_is_held_until_the_project_is_saved_and_what_a_person_does_meanwhile_is_theirs() {
    let env = test_env();
    let project = project(&env);
    let mut session = scripted(&env);
    let ask = &call("c1", "execute", "pending", "b.txt")["say"];
    let acts = serde_json::json!([
        {"ask": ask}, write("b.txt", "agent\n"), update("c1", "completed"),
        {"ask": call("c2", "edit", "pending", "a.txt")["say"]}, update("c2", "failed"),
        {"edit": "c.txt"},
    ]);
    project.write("before.txt", "hand\n");
    assert_eq!(session.prompts(&project, &acts)["method"], "session/request_permission");
    let open = steps(&project);
    assert_eq!((&open[0]["state"], &open[0]["late"]), (&"open".into(), &false.into()));
    // More than a second after its beginning, an end tells what was changed before the tool ran.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    project.write("hand.txt", "hand\n");
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(session.answers("ask")["method"], "session/request_permission");
    assert_eq!(session.answers("ask")["method"], "fs/write_text_file");
    project.write("c.txt", "the editor\n");
    assert_eq!(session.answers("edit")["id"], 2);
    assert_eq!(session.finish(), (0, String::new()));
    let found = steps(&project);
    let of = |name: &str| found.iter().map(|step| step[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("tool"), ["execute", "edit", "write_text_file"]);
    assert_eq!(of("state"), ["changed", "unchanged", "changed"]);
    project.run(["undo", "--yes"]).success();
    assert!(project.exists("hand.txt") && !project.exists("b.txt") && !project.exists("c.txt"));
}

#[test]
fn what_hooks_tell_of_is_recorded_once() {
    let env = test_env();
    let project = project(&env);
    let mut session = scripted(&env);
    let hook = |event: &str, id: &str| {
        serde_json::json!({"hook": {"hook_event_name": event, "prompt_id": "p", "prompt": "do it",
        "tool_use_id": id, "tool_name": "Bash", "tool_input": {"command": "touch it"}}})
    };
    let acts = serde_json::json!([
        hook("UserPromptSubmit", ""),
        call("c1", "execute", "pending", "b.txt"),
        hook("PreToolUse", "t1"),
        write("b.txt", "1\n"),
        hook("PostToolUse", "t1"),
        update("c1", "completed"),
        call("c2", "execute", "pending", "b.txt"),
        hook("PreToolUse", "t2"),
        write("b.txt", "2\n"),
        hook("PostToolUse", "t2"),
        update("c2", "completed"),
    ]);
    assert_eq!(session.prompts(&project, &acts)["id"], 2);
    assert_eq!(session.finish(), (0, String::new()));
    let found = steps(&project);
    let of = |name: &str| found.iter().map(|step| step[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("call"), ["t1", "t2"]);
    assert_eq!(of("agent"), ["claude", "claude"]);
    let list = json(&project.run(["list", "--json"]).success());
    let prompts = list["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "work");
    assert_eq!(prompts.count(), 1, "{list}");
}

#[test]
fn what_nobody_ended_ends_with_its_agent() {
    let env = test_env();
    let project = project(&env);
    let mut session = scripted(&env);
    let acts = serde_json::json!([{"ask": call("c1", "edit", "pending", "a.txt")["say"]}, write("a.txt", "two\n"), {"exit": 3}]);
    session.prompts(&project, &acts);
    session.send(&serde_json::json!({"id": "ask", "result": {}}));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut session.output, &mut rest).unwrap();
    assert_eq!(session.finish().0, 3);
    assert_eq!(steps(&project)[0]["state"], "unknown");
    project.write("hand.txt", "hand\n");
    project.run(["undo", "--yes"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(project.exists("hand.txt"), "what changed since is not its");
}
