//! The runs in which an agent works for an editor, over the Agent Client Protocol, and `herma acp` stands between the two: no hook is
//! installed, and what the agent tells the editor is all there is to know it by.

use std::fs;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::check::array;
use super::drivers::Driver;
use super::report::Table;
use super::script::{Action, prompt_of};
use super::stage::{Setting, Stage};
use super::{LIMIT, project};
use crate::Result;

/// Runs each agent that speaks the protocol itself.
pub fn run(setting: &Setting, drivers: &[&'static dyn Driver]) -> Table {
    let mut table = Table::new(&["agent", "version", "steps", "verdict"]);
    table.fill(drivers, |driver| run_one(setting, driver));
    table
}

fn run_one(setting: &Setting, driver: &'static dyn Driver) -> Result<(Vec<String>, Vec<String>)> {
    let stage = Stage::set_up(setting, driver, "acp")?;
    let actions = [
        Action::Create { path: "new.txt", text: "created\n" },
        Action::Edit { path: "edited.txt", old: "one", new: "two" },
        Action::Shell { command: "rm removed.txt && echo side > side.txt".to_owned() },
    ];
    let scene = actions.iter().map(|action| vec![action.clone()]).collect();
    let talk = stage.converse(&[scene])?;
    let agent = talk.for_editor().ok_or("nobody has said how it works for an editor")?;
    let sandbox = &stage.sandbox;
    let mut command = sandbox.command(sandbox.program());
    command.args(["acp", "--name", driver.word(), "--"]).arg(agent.get_program());
    command.args(agent.get_args());
    command.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut editor = Editor::start(command, File::create(sandbox.directory().join("acp.err"))?)?;
    editor.prompt(&sandbox.workspace().to_string_lossy(), &prompt_of(1))?;
    editor.end()?;

    let mut problems = Vec::new();
    let done = project::after(&stage.start, actions.iter().cloned());
    let mut expect = |when: &str, expected| {
        let found = project::read(&sandbox.workspace());
        let differing = project::differences(expected, &found);
        problems.extend(differing.map(|names| format!("{when} these differ: {names}")));
    };
    expect("after the agent", &done);
    let steps = sandbox.ask(&["steps", "--all"])?;
    let calls = array(&steps, "steps").iter().filter(|step| step["number"].is_u64()).count();
    sandbox.ask(&["undo"])?;
    expect("after the undo of the prompt", &stage.start);
    if calls != actions.len() {
        problems.push(format!("{} calls are {calls} steps", actions.len()));
    }
    Ok((vec![stage.version(), calls.to_string()], problems))
}

/// An editor that allows everything.
struct Editor {
    agent: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    last: u64,
    start: Instant,
}

impl Editor {
    fn start(mut command: Command, errors: File) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut agent = command.spawn()?;
        let input = agent.stdin.take().ok_or("no input")?;
        let output = BufReader::new(agent.stdout.take().ok_or("no output")?);
        let (to, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(std::io::Result::ok) {
                if to.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { agent, input, lines, last: 0, start: Instant::now() })
    }

    /// A session with one prompt.
    fn prompt(&mut self, directory: &str, text: &str) -> Result<()> {
        let files = json!({"readTextFile": true, "writeTextFile": true});
        let able = json!({"fs": files, "terminal": false});
        self.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": able}))?;
        let session = self.ask("session/new", &json!({"cwd": directory, "mcpServers": []}))?;
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session["sessionId"], "prompt": prompt});
        self.ask("session/prompt", &params).map(drop)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let left = LIMIT.saturating_sub(self.start.elapsed());
            let line = self.lines.recv_timeout(left);
            let line = line.map_err(|_| format!("no answer to {method}"))?;
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            match (message["method"].as_str(), message.get("id")) {
                (Some(asked), Some(_)) => self.answer(asked, &message)?,
                (None, Some(answered)) if *answered == json!(id) => {
                    return match message.get("error") {
                        Some(error) => Err(format!("{method}: {error}").into()),
                        None => Ok(message["result"].clone()),
                    };
                }
                _ => {}
            }
        }
    }

    /// Does what the agent asks for.
    fn answer(&mut self, method: &str, message: &Value) -> Result<()> {
        let params = &message["params"];
        let path = params["path"].as_str().unwrap_or_default();
        let done = match method {
            "session/request_permission" => {
                let allows = |option: &&Value| {
                    option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"))
                };
                let option =
                    array(params, "options").iter().find(allows).ok_or("no way to allow")?;
                let chosen = json!({"outcome": "selected", "optionId": option["optionId"]});
                Ok(json!({"outcome": chosen}))
            }
            "fs/read_text_file" => fs::read_to_string(path).map(|text| json!({"content": text})),
            "fs/write_text_file" => fs::write(path, params["content"].as_str().unwrap_or_default())
                .map(|()| Value::Null),
            _ => Err(std::io::ErrorKind::Unsupported.into()),
        };
        let id = &message["id"];
        self.send(&match done {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                let error = json!({"code": -32603, "message": error.to_string()});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        })
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        Ok(writeln!(self.input, "{message}")?)
    }

    /// Hangs up, and waits for the agent's end, but not for ever.
    fn end(self) -> Result<()> {
        let Self { mut agent, input, .. } = self;
        drop(input);
        let start = Instant::now();
        while agent.try_wait()?.is_none() {
            if start.elapsed() > Duration::from_secs(30) {
                agent.kill()?;
                agent.wait()?;
                return Err("`herma acp` did not end with its editor".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}
