//! Plays the session with the real program, in a scratch project, and keeps what the terminal shows.
//!
//! The terminal is a pseudo-terminal, so the program prints as for a person. Its clock stands at the time the session says, by
//! a library that is loaded before the others (`clock.c`).

use std::fs;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::{Value, json};

use super::session::{Act, COLUMNS, Call, DAY, FILES, SESSION};
use crate::{Result, workspace};

/// Lines of the terminal: more than any session needs.
const LINES: u16 = 200;

/// How a typed line begins, and how an agent's part does.
const PROMPT: &str = "\x1b[32m$\x1b[0;1m ";
const ASKED: &str = "\x1b[36m# You tell Claude Code: ";

/// A scratch project, and the screen that shows what was typed and printed in it.
pub struct Stage {
    place: tempfile::TempDir,
    programs: PathBuf,
    screen: vt100::Parser,
    /// How many tool calls there were.
    calls: usize,
}

/// Plays the session and returns the screen at its end.
pub fn play(programs: &Path) -> Result<vt100::Parser> {
    let mut stage = Stage::new(programs)?;
    for (number, act) in SESSION.iter().enumerate() {
        match act {
            Act::Type(time, line) => stage.type_line(time, line)?,
            Act::Ask(time, prompt, calls) => stage.ask(number, time, prompt, calls)?,
        }
    }
    Ok(stage.screen)
}

impl Stage {
    fn new(programs: &Path) -> Result<Self> {
        let place = tempfile::Builder::new().prefix("herma-picture-").tempdir()?;
        for (name, content) in FILES {
            let path = place.path().join("shop").join(name);
            fs::create_dir_all(path.parent().ok_or("a file needs a directory")?)?;
            fs::write(path, content)?;
        }
        build_clock(place.path())?;
        let size = |length| NonZeroU16::new(length).ok_or("a screen has lines and columns");
        let screen = vt100::Parser::new(size(LINES)?, size(COLUMNS)?, 0);
        Ok(Self { place, programs: programs.to_owned(), screen, calls: 0 })
    }

    /// A shell line in the project, at a time of day.
    fn shell(&self, time: &str, line: &str) -> Result<Command> {
        let moment: jiff::Timestamp = format!("{DAY}T{time}:00Z").parse()?;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.place.path().join("shop"))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.programs.display()))
            .env("HOME", self.place.path())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("TZ", "UTC")
            .env("HERMA_PAGER", "")
            .env("HERMA_NO_BACKGROUND", "1")
            .env("LD_PRELOAD", self.place.path().join(CLOCK))
            .env("PICTURE_TIME", moment.as_second().to_string());
        Ok(command)
    }

    /// Shows a line as it is typed, and what comes of it.
    fn type_line(&mut self, time: &str, line: &str) -> Result<()> {
        self.screen.process(format!("{PROMPT}{line}\x1b[0m\r\n").as_bytes());
        let printed = in_terminal(self.shell(time, line)?)?;
        self.screen.process(&printed);
        Ok(())
    }

    /// Has an agent do something: only that it was asked is shown.
    fn ask(&mut self, number: usize, time: &str, prompt: &str, calls: &[Call]) -> Result<()> {
        self.screen.process(format!("{ASKED}\"{prompt}\"\x1b[0m\r\n").as_bytes());
        let turn = format!("prompt-{number}");
        self.hook(time, &turn, json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}))?;
        for call in calls {
            self.call(time, &turn, call)?;
        }
        self.hook(time, &turn, json!({"hook_event_name": "Stop"}))
    }

    fn call(&mut self, time: &str, turn: &str, call: &Call) -> Result<()> {
        self.calls += 1;
        let input = match call.tool {
            "Edit" => json!({"file_path": self.place.path().join("shop").join(call.file)}),
            _ => json!({"command": call.command}),
        };
        let event = |name: &str| {
            json!({"hook_event_name": name, "tool_name": call.tool, "tool_input": input,
                   "tool_response": {}, "tool_use_id": format!("call-{}", self.calls)})
        };
        self.hook(time, turn, event("PreToolUse"))?;
        well(call.command, self.shell(time, call.command)?.output()?.status)?;
        self.hook(time, turn, event("PostToolUse"))
    }

    /// Calls the hook as Claude Code does.
    fn hook(&self, time: &str, turn: &str, mut payload: Value) -> Result<()> {
        payload["session_id"] = json!("session-1");
        payload["prompt_id"] = json!(turn);
        payload["cwd"] = json!(self.place.path().join("shop"));
        let mut child = self.shell(time, "herma hook claude")?.stdin(Stdio::piped()).spawn()?;
        child.stdin.take().ok_or("a pipe")?.write_all(payload.to_string().as_bytes())?;
        well("herma hook claude", child.wait()?)
    }
}

const CLOCK: &str = "clock.so";

fn build_clock(place: &Path) -> Result<()> {
    fs::write(place.join("clock.c"), include_str!("clock.c"))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", CLOCK, "clock.c"]).current_dir(place);
    well("cc", compiler.status()?)
}

/// Runs a command in a terminal of the picture's size, and returns what it printed.
fn in_terminal(mut command: Command) -> Result<Vec<u8>> {
    let size = Winsize { ws_row: LINES, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    let pair = openpty(&size, None)?;
    for end in [&pair.master, &pair.slave] {
        fcntl_setfd(end, FdFlags::CLOEXEC)?;
    }
    let stream = || pair.slave.try_clone().map(Stdio::from);
    let mut child = command.stdin(stream()?).stdout(stream()?).stderr(stream()?).spawn()?;
    // Only the program may hold this end: its going away ends the reading, which Linux calls an error.
    drop((pair.slave, command));
    let mut printed = Vec::new();
    let _ = File::from(pair.master).read_to_end(&mut printed);
    well("a line of the session", child.wait()?)?;
    Ok(printed)
}

fn well(what: &str, status: std::process::ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(format!("{what}: {status}").into()) }
}

/// Where the built programs are.
pub fn programs() -> Result<PathBuf> {
    workspace::run(workspace::cargo()?.args(["build", "--quiet", "--package", "herma"]))?;
    Ok(workspace::target()?.join("debug"))
}
