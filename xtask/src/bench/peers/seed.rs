//! The checkpoint manager of Hermes Agent, in a Python process that is already there: its start and its
//! imports are not counted.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{Peer, Places, Restored, install};
use crate::Result;
use crate::bench::disk;
use crate::python::HERMES;

/// Answers `save` and `restore` with how many milliseconds that took.
const SCRIPT: &str = include_str!("seed.py");

/// It refuses directories of more files.
pub const MAX_FILES: usize = 50_000;

/// The manager and the process it runs in.
pub struct Seed {
    python: PathBuf,
    root: PathBuf,
    base: PathBuf,
    process: Option<Process>,
}

struct Process {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Seed {
    /// A manager for `root`; an error where Hermes is not installed.
    pub fn new(places: &Places, root: &Path) -> Result<Self> {
        Ok(Self {
            python: install::hermes(&places.peers)?,
            root: root.to_owned(),
            base: places.store("seed"),
            process: None,
        })
    }

    fn start(&self) -> Result<Process> {
        let mut child = Command::new(&self.python)
            .args(["-c", SCRIPT])
            .arg(&self.root)
            .arg(&self.base)
            .env("HERMES_HOME", &self.base)
            .env_remove("PYTHONPATH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = child.stdin.take().ok_or("no pipe")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        Ok(Process { child, questions, answers })
    }

    fn ask(&mut self, what: &str) -> Result<Duration> {
        if self.process.is_none() {
            self.process = Some(self.start()?);
        }
        let process = self.process.as_mut().ok_or("it was just started")?;
        writeln!(process.questions, "{what}")?;
        process.questions.flush()?;
        let mut answer = String::new();
        process.answers.read_line(&mut answer)?;
        let milliseconds: f64 =
            answer.trim().parse().map_err(|_| format!("{HERMES}: {what}: {answer:?}"))?;
        Ok(Duration::from_secs_f64(milliseconds / 1000.0))
    }

    fn stop(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            drop(process.questions);
            process.child.wait()?;
        }
        Ok(())
    }
}

impl Peer for Seed {
    fn name(&self) -> &'static str {
        "hermes-agent"
    }

    fn version(&self) -> Result<String> {
        Ok(HERMES.replace("==", " "))
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn prepare(&mut self) -> Result<()> {
        self.stop()?;
        disk::make_anew(&self.base)
    }

    fn save(&mut self) -> Result<Duration> {
        self.ask("save")
    }

    fn restore(&mut self, _: Restored) -> Result<Option<Duration>> {
        self.ask("restore").map(Some)
    }

    fn size(&self) -> Result<u64> {
        disk::bytes_below(&self.base, &[])
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.stop();
    }
}
