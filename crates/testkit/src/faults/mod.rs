//! Crashes and errors at an exact system call.
//!
//! [`Faults`] runs a command under `ptrace` and counts every system call that changes storage, over
//! all threads and children of the command. At the n-th one it does what the [`Fault`] says: kill
//! everything, make the call fail, or cut a write short. A sweep over 1..=count of a fault-free run
//! therefore visits every state a crash can leave behind.
//!
//! ```no_run
//! use herma_testkit::faults::{Fault, Faults};
//! let save = Faults::new("herma").args(["save"]);
//! for n in 1..=save.run(Fault::Count, 0).count {
//!     let outcome = save.run(Fault::Kill, n);
//!     assert!(outcome.hit.is_some());
//! }
//! ```
//!
//! The count starts when the command itself begins to run and includes processes it leaves in the
//! background: [`Faults::run`] returns when the last of them has ended.
//!
//! The same tracer can write down what a command does to the disk, as a [`Journal`] that power cuts are drawn from.
//!
//! # Limits
//!
//! Linux on x86-64 with glibc only. Elsewhere, and where `ptrace` is forbidden, the status is
//! [`Status::Unsupported`] and [`available`] says so loudly once. Stores through a memory map and
//! `io_uring` are not seen. A command that stops itself (`SIGSTOP`) is continued at once.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

mod journal;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod recorder;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod syscalls;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod trace;

pub use crate::bounded::{FULL_VARIABLE, is_full};
pub(crate) use journal::Node;
pub use journal::{Change, Journal, NodeId, Op, Step};

/// The environment variable that sets how many system calls a sweep advances by.
///
/// Unset, sweeps visit every [`DEFAULT_STEP`]-th call; `HERMA_FAULT_STEP=1` visits each one, which is
/// what `cargo xtask faults --full` does.
pub const STEP_VARIABLE: &str = "HERMA_FAULT_STEP";

/// The step of a sweep when [`STEP_VARIABLE`] is not set.
pub const DEFAULT_STEP: u64 = 19;

/// What happens at the chosen system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: only count.
    Count,
    /// All processes are killed before the call takes effect.
    Kill,
    /// The call takes effect, then all processes are killed.
    KillAfter,
    /// This one call fails with the error number, or the first after it that can; later ones work.
    Error(i32),
    /// This call and every later one that can fail with the error number does, as on a disk that stays full.
    ErrorFrom(i32),
    /// The command gets the signal when the call is about to be made; its children do not.
    Signal(i32),
    /// A write stores only half of what it was given. Here only such calls are counted: threads take turns
    /// differently in every run, and the n-th call of all is not always a write.
    ShortWrite,
}

/// A system call that changes storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syscall {
    /// Its number on this architecture.
    pub nr: i64,
    /// Its name in the manual.
    pub name: &'static str,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It ended by itself with this code; 127 when it could not be started.
    Exited(i32),
    /// It was ended by this signal.
    Signaled(i32),
    /// It was not run: this system cannot inject faults.
    Unsupported,
}

/// What a run did.
#[must_use]
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Storage-changing calls seen, the one that was hit included.
    pub count: u64,
    /// How many of them were writes of more than one byte, or buffer.
    pub writes: u64,
    /// How the command ended.
    pub status: Status,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
    /// The call the fault was delivered to; `None` if the run never got that far.
    pub hit: Option<Syscall>,
    /// It ran longer than its time limit and was killed for that.
    pub timed_out: bool,
}

impl Outcome {
    /// The outcome on a system that cannot inject faults.
    pub fn unsupported() -> Self {
        Self {
            count: 0,
            writes: 0,
            status: Status::Unsupported,
            stdout: Vec::new(),
            stderr: Vec::new(),
            hit: None,
            timed_out: false,
        }
    }

    /// Was the command run at all?
    pub fn is_supported(&self) -> bool {
        self.status != Status::Unsupported
    }
}

/// A command to be run with faults.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")),
    allow(dead_code)
)]
#[derive(Clone, Debug)]
pub struct Faults {
    program: OsString,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    keep_environment: bool,
    directory: Option<PathBuf>,
    limit: Duration,
}

impl Faults {
    /// A command with no arguments, this process's environment and directory.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            envs: Vec::new(),
            keep_environment: true,
            directory: None,
            limit: Duration::from_secs(120),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Starts from an empty environment instead of this process's.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.envs.clear();
        self.keep_environment = false;
        self
    }

    /// Sets the directory the command runs in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets how long a run may take before everything is killed; two minutes unless set.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the command and delivers `fault` at its `n`-th storage-changing call, counted from 1.
    pub fn run(&self, fault: Fault, n: u64) -> Outcome {
        #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
        return trace::run(self, fault, n);
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
        {
            let _ = (self, fault, n);
            Outcome::unsupported()
        }
    }

    /// Runs the command without a fault and writes down what it does to the disk.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    pub(crate) fn run_recorded(&self, journal: Journal) -> (Outcome, Journal) {
        trace::record(self, journal)
    }

    /// The positions a sweep visits: every [`step`]-th call of a run that makes `count` of them.
    pub fn positions(count: u64) -> impl Iterator<Item = u64> {
        (1..=count).step_by(step() as usize)
    }

    /// The command behind a shell that stops itself first, so that tracing begins before it does.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")),
        allow(dead_code)
    )]
    fn stopped_command(&self) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]);
        command.arg(&self.program).args(&self.args);
        if !self.keep_environment {
            command.env_clear();
        }
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

/// How many calls a sweep advances by: [`STEP_VARIABLE`], or [`DEFAULT_STEP`].
pub fn step() -> u64 {
    let set = std::env::var(STEP_VARIABLE).ok().and_then(|value| value.parse().ok());
    set.unwrap_or(DEFAULT_STEP).max(1)
}

/// Can faults be injected here? The calling test counts as skipped if not, and returns.
pub fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    let can =
        AVAILABLE.get_or_init(|| Faults::new("/bin/true").run(Fault::Count, 0).is_supported());
    let otherwise = "no faults can be injected here (no ptrace, or not x86-64 Linux)";
    crate::skips::needs("ptrace", *can, otherwise)
}

#[cfg(test)]
mod tests;
