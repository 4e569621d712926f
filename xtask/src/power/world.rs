//! The store and the projects on a disk, and the program that works on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use herma_testkit::git::Repository;
use serde_json::Value;

use crate::Result;

/// What carries out a command of Herma.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// Is it made to believe that everything is on disk, when nothing was asked of the disk?
    pub without_syncs: bool,
}

/// Everything that lies on one disk.
#[derive(Clone, Debug)]
pub struct World {
    program: Program,
    base: PathBuf,
}

impl World {
    /// A world below this directory.
    pub fn new(program: &Program, base: &Path) -> Self {
        Self { program: program.clone(), base: base.to_owned() }
    }

    /// The directory of a project.
    pub fn project(&self, number: usize) -> PathBuf {
        self.base.join("work").join(number.to_string())
    }

    /// The store as git sees it.
    pub fn store(&self) -> Repository {
        Repository::at(self.base.join("home/checkpoints/store"))
    }

    /// Herma in a project, to which arguments can be added.
    fn command(&self, project: usize) -> Command {
        let mut command = if self.program.without_syncs {
            let mut strace = Command::new("strace");
            strace.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"]);
            strace.args(["-e", "trace=fsync,fdatasync,syncfs"]);
            strace.args(["-e", "inject=fsync,fdatasync,syncfs:retval=0"]);
            strace.arg(&self.program.path);
            strace
        } else {
            Command::new(&self.program.path)
        };
        command.env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("HERMES_HOME", self.base.join("home"))
            .env("HOME", self.base.join("user"))
            .env("HERMA_NO_BACKGROUND", "1")
            .env("NO_COLOR", "1")
            .env("TZ", "UTC")
            .current_dir(self.project(project))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command of Herma with `--json` and returns its answer, or what it said instead.
    pub fn ask(&self, project: usize, args: &[&str]) -> std::result::Result<Value, Failure> {
        let mut command = self.command(project);
        command.args(args).arg("--json");
        let output = command.output().map_err(|error| Failure {
            code: None,
            words: format!("{args:?}: {error}"),
            answer: None,
        })?;
        let answer = serde_json::from_slice::<Value>(&output.stdout).ok();
        match answer.filter(|answer| answer.get("error").is_none()) {
            Some(answer) if matches!(output.status.code(), Some(0)) => Ok(answer),
            answer => Err(Failure {
                code: output.status.code(),
                words: describe(args, &output, answer.as_ref()),
                answer,
            }),
        }
    }
}

/// A command that did not do what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// How it ended, if by itself.
    pub code: Option<i32>,
    /// What it said.
    pub words: String,
    /// Its answer, if it had one nevertheless.
    pub answer: Option<Value>,
}

fn describe(args: &[&str], output: &Output, answer: Option<&Value>) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let answer = answer.map(Value::to_string).unwrap_or_default();
    format!("herma {}: {}: {} {answer}", args.join(" "), output.status, said.trim())
}

/// The id of the checkpoint an answer is about.
pub fn id_of(answer: &Value) -> Result<&str> {
    let id = answer["checkpoint"]["id"].as_str();
    id.ok_or_else(|| format!("an answer without a checkpoint: {answer}").into())
}

/// What git has to say against a store; nothing if it is whole. Objects that nobody needs are no damage, and an
/// index that cannot be read is none either: it can be made anew from what is whole. So git is not shown it.
pub fn damage(store: &Repository) -> Option<String> {
    let (index, aside) = (store.path().join("index"), store.path().join("index-aside"));
    let is_aside = std::fs::rename(&index, &aside).is_ok();
    let damage = store.damage("--no-dangling");
    if is_aside && let Err(error) = std::fs::rename(&aside, &index) {
        return Some(format!("the index cannot be put back: {error}"));
    }
    damage
}
