//! What does an agent wait for? The call of a hook before a tool and after it, in a project nothing has changed
//! in, beside a bare `herma save` there. Rounds are interleaved and medians compared.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use super::measure::Series;
use super::measure::time;
use super::report::describe_machine;
use super::tree;
use crate::Result;

/// A project of ordinary size.
const FILES: usize = 6_000;
const NAMES: [&str; 5] = [
    "herma save, nothing changed",
    "hook before a tool",
    "hook after a tool",
    "hook at the beginning of a turn",
    "hook before a tool that only reads",
];

/// Everything that was measured.
pub struct HooksReport {
    rows: Vec<(&'static str, Series)>,
    machine: String,
}

struct Hooks {
    herma: PathBuf,
    root: PathBuf,
    home: PathBuf,
}

/// Measures below `place`.
pub fn measure(herma: &Path, place: &Path, rounds: usize) -> Result<HooksReport> {
    let root = place.join(format!("tree-{FILES}"));
    tree::ensure(&root, FILES)?;
    let home = place.join("hooks-home");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    let hooks = Hooks {
        herma: herma.to_owned(),
        root,
        home,
    };
    time(&mut hooks.save())?;
    let mut rows: Vec<_> = NAMES.map(|name| (name, Series::default())).into();
    for round in 0..=rounds {
        let times = hooks.one_round(round)?;
        // Round zero only warms up.
        if round > 0 {
            for ((_, series), time) in rows.iter_mut().zip(times) {
                series.push(time);
            }
        }
    }
    let threads = std::thread::available_parallelism()?.get();
    let machine = describe_machine(&hooks.root, threads);
    Ok(HooksReport { rows, machine })
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

    fn one_round(&self, round: usize) -> Result<[Duration; 5]> {
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
        Ok([
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

impl HooksReport {
    fn save(&self) -> f64 {
        let (_, series) = &self.rows[0];
        series.median().unwrap_or(f64::NAN)
    }

    /// Prints a table.
    pub fn print(&self) {
        println!("\n{FILES} files; {}", self.machine);
        println!("{:<38} {:>10} {:>10}", "", "median ms", "of a save");
        for (name, series) in &self.rows {
            let median = series.median().unwrap_or(f64::NAN);
            println!("{name:<38} {median:>10.1} {:>9.2}×", median / self.save());
        }
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        let row = |(name, series): &(&str, Series)| json!({"name": name, "median_ms": series.median(), "of_a_save": series.median().map(|m| m / self.save())});
        json!({"files": FILES, "machine": self.machine, "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }
}
