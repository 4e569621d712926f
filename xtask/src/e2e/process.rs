//! Programs that are given so much time and no more, and leave nobody behind.
//!
//! An agent starts shells, hooks and sometimes a daemon that goes its own way. Every process of a run carries
//! the run's token in its environment, and by that all of them are found in the end.

use std::fs;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::Result;

/// The variable that carries a run's token.
pub const TOKEN: &str = "HERMA_E2E_RUN";

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended by itself; `None` if its time was over first.
    pub status: Option<ExitStatus>,
    /// How long it took.
    pub took: Duration,
}

impl Ended {
    /// Did it end by itself and well?
    pub fn is_well(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// How it ended, in words.
    pub fn words(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => format!("not over after {} s", self.took.as_secs()),
        }
    }
}

/// A program under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    start: Instant,
}

/// Starts a program in a process group of its own; what it says goes to two files named after `name`.
pub fn start(command: &mut Command, directory: &Path, name: &str) -> Result<Running> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(File::create(directory.join(format!("{name}.out")))?)
        .stderr(File::create(directory.join(format!("{name}.err")))?)
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    Ok(Running { child, start })
}

impl Running {
    /// Waits for its end, and ends it if its time is over first.
    pub fn wait(mut self, limit: Duration) -> Result<Ended> {
        self.wait_until(limit, || false)?;
        let took = self.start.elapsed();
        let status = self.child.try_wait()?;
        if status.is_none() {
            self.signal_group(Signal::SIGKILL);
            self.child.wait()?;
        }
        Ok(Ended { status, took })
    }

    /// Waits until something is so, or it has ended, or its time is over. Returns whether it is so.
    pub fn wait_until(&mut self, limit: Duration, is_so: impl Fn() -> bool) -> Result<bool> {
        while !is_so() {
            if self.child.try_wait()?.is_some() || self.start.elapsed() >= limit {
                return Ok(is_so());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(true)
    }

    /// Signals its process group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        // The group may be gone already.
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), signal);
    }
}

/// Runs a program in a process group of its own; what it says goes to two files named after `name`.
pub fn run_bounded(
    command: &mut Command,
    directory: &Path,
    name: &str,
    limit: Duration,
) -> Result<Ended> {
    start(command, directory, name)?.wait(limit)
}

/// Signals the process with this token that has most memory: the agent itself, whatever started it.
pub fn signal_largest(token: &str, signal: Signal) {
    let pages = |process: &Pid| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        text.split(' ').nth(1)?.parse().ok()
    };
    if let Some(process) = carrying(token).into_iter().max_by_key(pages) {
        let _ = kill(process, signal);
    }
}

/// Waits until no process with this token runs this program any more, but not for ever.
pub fn wait_for_program(token: &str, program: &Path, limit: Duration) {
    let start = Instant::now();
    let runs = |process: &Pid| {
        fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|found| found == program)
    };
    while start.elapsed() < limit && carrying(token).iter().any(runs) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends every process that carries this token.
pub fn end_all(token: &str) {
    // A process may start another while they are being looked for.
    for _ in 0..10 {
        let found = carrying(token);
        if found.is_empty() {
            return;
        }
        for process in found {
            // It may have ended by itself.
            let _ = kill(process, Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn carrying(token: &str) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let entry = format!("{TOKEN}={token}");
    let own = Pid::this();
    processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|process| *process != own)
        .filter(|process| {
            fs::read(format!("/proc/{process}/environ")).is_ok_and(|bytes| {
                let mut entries = bytes.split(|byte| *byte == 0);
                entries.any(|one| one == entry.as_bytes())
            })
        })
        .collect()
}
