//! What does an agent wait for? The call of a hook before a tool and after it, in a project nothing has changed
//! in, beside a bare `herma save` there, the bare walk, and a process that only starts. Rounds are interleaved.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::bench::measure::time;
use crate::bench::options::Size;
use crate::bench::peers::{HermaKind, Places};
use crate::bench::results::Recorder;
use crate::bench::{disk, tree, walk};

pub const SUBJECT: &str = "hooks";
pub const WALK: &str = "bare walk";
pub const START: &str = "program start";
pub const HERMA: &str = HermaKind::Plain.name();
pub const BEFORE_HERMA: &str = HermaKind::Before.name();
pub const SAVE: &str = "save, nothing changed";
pub const BEFORE: &str = "hook before a tool";
pub const AFTER: &str = "hook after a tool";
pub const READS: &str = "hook before a tool that only reads";
const NAMES: [&str; 7] =
    [WALK, START, SAVE, BEFORE, AFTER, "hook at the beginning of a turn", READS];

struct Hooks {
    /// In tables.
    name: &'static str,
    herma: PathBuf,
    root: PathBuf,
    home: PathBuf,
}

/// Measures below `place`.
pub fn measure(places: &Places, place: &Path, rounds: usize) -> Result<Recorder> {
    // A project of ordinary size.
    let files = Size::Medium.files();
    let root = place.join(format!("tree-{files}"));
    tree::ensure(&root, files)?;
    let mut record = Recorder::new(SUBJECT);
    record.about("nothing changed since the last checkpoint");
    record.tree(walk::walk(&root)?);
    let before = places.before.as_ref().map(|before| (BEFORE_HERMA, before));
    let mut programs = Vec::new();
    for (name, herma) in [(HERMA, &places.herma)].into_iter().chain(before) {
        let home = place.join(format!("hooks-home of {name}"));
        disk::make_anew(&home)?;
        let hooks = Hooks { name, herma: herma.clone(), root: root.clone(), home };
        time(&mut hooks.save())?;
        programs.push(hooks);
    }
    // They are short: more of them say more.
    for round in 0..=rounds * 3 {
        for hooks in &programs {
            let times = hooks.one_round(round)?;
            // Round zero only warms up.
            if round > 0 {
                for (work, time) in NAMES.iter().zip(times) {
                    record.time(work, hooks.name, time);
                }
            }
        }
    }
    Ok(record)
}

impl Hooks {
    fn herma(&self) -> Command {
        let mut command = Command::new(&self.herma);
        command
            .current_dir(&self.root)
            .env("HERMES_HOME", &self.home)
            .env("HERMA_NO_BACKGROUND", "1");
        command
    }

    fn save(&self) -> Command {
        let mut command = self.herma();
        command.arg("--root").arg(&self.root).arg("save");
        command
    }

    fn one_round(&self, round: usize) -> Result<[Duration; 7]> {
        let tool = |event: &str, name: &str| {
            json!({
                "session_id": "bench", "cwd": self.root, "hook_event_name": event, "tool_name": name,
                "tool_input": {"command": "make"}, "tool_use_id": format!("call-{round}"),
            })
        };
        let turn = json!({
            "session_id": "bench", "cwd": self.root, "hook_event_name": "UserPromptSubmit",
            "prompt_id": format!("turn-{round}"), "prompt": "go on",
        });
        let start = Instant::now();
        walk::walk(&self.root)?;
        let walk = start.elapsed();
        Ok([
            walk,
            time(self.herma().arg("--version"))?,
            time(&mut self.save())?,
            self.call(&tool("PreToolUse", "Bash"))?,
            self.call(&tool("PostToolUse", "Bash"))?,
            self.call(&turn)?,
            self.call(&tool("PreToolUse", "Read"))?,
        ])
    }

    /// How long an agent waits for the answer.
    fn call(&self, payload: &Value) -> Result<Duration> {
        let mut command = self.herma();
        command
            .args(["--root"])
            .arg(&self.root)
            .args(["hook", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let payload = payload.to_string();
        let start = Instant::now();
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().ok_or("no pipe")?;
        stdin.write_all(payload.as_bytes())?;
        drop(stdin);
        let status = child.wait()?;
        let elapsed = start.elapsed();
        if !status.success() {
            return Err(format!("{command:?}: {status}").into());
        }
        Ok(elapsed)
    }
}
