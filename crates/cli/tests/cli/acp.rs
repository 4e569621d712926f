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
    assert_eq!(reasons(&project), ["before write_text_file", "before prompt"]);
    project.write("b.txt", "written by the editor\n");
    session.send(&serde_json::json!({"id": "w", "result": null}));
    assert_eq!(session.receive()["result"]["stopReason"], "end_turn");
    let (code, said) = session.finish();
    assert_eq!((code, said.as_str()), (7, "the agent says hello\n"));

    let list = json(&project.run(["list", "--json"]).success());
    let facts = &list["checkpoints"][0]["facts"];
    assert_eq!(facts["agent"], "fake");
    assert_eq!(facts["session"], "s-1");
    assert_eq!(facts["turn"], list["checkpoints"][1]["facts"]["turn"]);
    assert_eq!(facts["tool"], "write_text_file");
    project.run(["restore", "@-1"]).success();
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
