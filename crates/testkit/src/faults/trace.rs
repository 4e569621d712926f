//! The tracer: follows a process tree call by call.
//!
//! It lives on a thread of its own and waits with `__WNOTHREAD`, so it never reaps a child that
//! another test of the same process started.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Seek};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::Options;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::sys::{ptrace, signal};
use nix::unistd::Pid;

use super::journal::Journal;
use super::recorder::Recorder;
use super::{Fault, Faults, Outcome, Status, Syscall, syscalls};
use crate::Bounded;

/// What to do when a call that was entered returns.
#[derive(Clone, Copy)]
enum AtExit {
    KillAll,
    Fail(i32),
}

/// The processes alive, shared with the watchdog.
#[derive(Clone, Default)]
struct Alive(Arc<Mutex<BTreeSet<i32>>>);

impl Alive {
    fn add(&self, pid: Pid) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid.as_raw());
    }

    fn remove(&self, pid: Pid) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid.as_raw());
    }

    fn kill(&self) {
        for pid in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // One that is gone already needs no killing.
            let _ = signal::kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
    }
}

struct Tracer {
    root: Pid,
    fault: Fault,
    n: u64,
    /// The command itself has replaced the shell that held it back.
    started: bool,
    killing: bool,
    alive: Alive,
    at_exit: HashMap<Pid, AtExit>,
    recorder: Option<Recorder>,
    count: u64,
    writes: u64,
    hit: Option<Syscall>,
    status: Status,
}

pub(super) fn run(faults: &Faults, fault: Fault, n: u64) -> Outcome {
    on_own_thread(|| trace(faults, fault, n, None).0)
}

/// Runs the command without a fault and keeps its journal.
pub(super) fn record(faults: &Faults, journal: Journal) -> (Outcome, Journal) {
    let recorder = Some(Recorder::new(journal));
    on_own_thread(|| {
        let (outcome, recorder) = trace(faults, Fault::Count, 0, recorder);
        let recorder = recorder.expect("the recorder that was given comes back");
        (outcome, recorder.into_journal())
    })
}

fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[allow(clippy::zombie_processes)] // the tracer itself waits for the child
fn trace(
    faults: &Faults,
    fault: Fault,
    n: u64,
    recorder: Option<Recorder>,
) -> (Outcome, Option<Recorder>) {
    let mut stdout = tempfile::tempfile().expect("a temporary file can be made");
    let mut stderr = tempfile::tempfile().expect("a temporary file can be made");
    let child = faults
        .stopped_command()
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().expect("a descriptor is free"))
        .stderr(stderr.try_clone().expect("a descriptor is free"))
        .bounded_spawn()
        .expect("/bin/sh can be started");
    let root = Pid::from_raw(child.id() as i32);
    let mut tracer = Tracer {
        root,
        fault,
        n,
        started: false,
        killing: false,
        alive: Alive::default(),
        at_exit: HashMap::new(),
        recorder,
        count: 0,
        writes: 0,
        hit: None,
        status: Status::Unsupported,
    };
    if !tracer.seize() {
        return (Outcome::unsupported(), tracer.recorder);
    }
    let timed_out = tracer.follow_within(faults.limit);
    let outcome = Outcome {
        count: tracer.count,
        writes: tracer.writes,
        status: tracer.status,
        stdout: contents(&mut stdout),
        stderr: contents(&mut stderr),
        hit: tracer.hit,
        timed_out,
    };
    (outcome, tracer.recorder)
}

fn contents(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .expect("a temporary file is readable");
    bytes
}

impl Tracer {
    /// Takes hold of the stopped shell and lets it go on. False where tracing is forbidden.
    fn seize(&mut self) -> bool {
        let stopped = waitpid(self.root, Some(WaitPidFlag::WUNTRACED));
        assert!(
            matches!(stopped, Ok(WaitStatus::Stopped(..))),
            "the shell stops before it runs the command, but: {stopped:?}"
        );
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        let seized = ptrace::seize(self.root, options);
        if seized.is_err() {
            let _ = signal::kill(self.root, Signal::SIGKILL);
            let _ = waitpid(self.root, None);
            return false;
        }
        self.alive.add(self.root);
        signal::kill(self.root, Signal::SIGCONT).expect("the stopped shell is still there");
        true
    }

    /// Follows the tree to its end, killing it when `limit` has passed. Returns whether it had to.
    fn follow_within(&mut self, limit: std::time::Duration) -> bool {
        let timed_out = AtomicBool::new(false);
        let alive = self.alive.clone();
        let (done, wait) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let timed_out = &timed_out;
            scope.spawn(move || {
                if wait.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                    timed_out.store(true, Ordering::Relaxed);
                    alive.kill();
                }
            });
            self.follow();
            drop(done);
        });
        timed_out.load(Ordering::Relaxed)
    }

    fn follow(&mut self) {
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::Exited(pid, code)) => self.ended(pid, Status::Exited(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => {
                    self.ended(pid, Status::Signaled(signal as i32));
                }
                Ok(WaitStatus::PtraceSyscall(pid)) => self.stopped_at_call(pid),
                Ok(WaitStatus::PtraceEvent(pid, _, event)) => {
                    self.started |= event == libc::PTRACE_EVENT_EXEC;
                    self.resume(pid, None);
                }
                Ok(WaitStatus::Stopped(pid, signal)) => self.resume(pid, Some(signal)),
                Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => return,
                Err(errno) => panic!("cannot follow the command any further: {errno}"),
            }
        }
    }

    fn ended(&mut self, pid: Pid, status: Status) {
        self.alive.remove(pid);
        self.at_exit.remove(&pid);
        if let Some(recorder) = &mut self.recorder {
            recorder.ended(pid);
        }
        self.let_next_through();
        if pid == self.root {
            self.status = status;
        }
    }

    fn resume(&mut self, pid: Pid, signal: Option<Signal>) {
        self.alive.add(pid);
        if self.killing {
            // Born while the others were being killed.
            let _ = signal::kill(pid, Signal::SIGKILL);
        }
        // Killed in the meantime: its end is reported next.
        let _ = ptrace::syscall(pid, signal);
    }

    fn stopped_at_call(&mut self, pid: Pid) {
        let mut may_go_on = true;
        if self.started && !self.killing {
            // A process that was killed under our hands has nothing to be read any more.
            may_go_on = self.look_at_call(pid).unwrap_or(true);
        }
        if may_go_on {
            self.resume(pid, None);
        }
        self.let_next_through();
    }

    /// Calls that are recorded are made one at a time; whoever waited goes on when nothing is under way.
    fn let_next_through(&mut self) {
        while let Some(pid) = self.recorder.as_mut().and_then(Recorder::next) {
            self.entered(pid);
        }
    }

    fn entered(&mut self, pid: Pid) {
        let recorder = self.recorder.as_mut();
        let may_go_on = recorder.map_or(Ok(true), |recorder| recorder.entering(pid));
        if may_go_on.unwrap_or(true) {
            self.resume(pid, None);
        }
    }

    /// May the process go on now? If not, the recorder lets it through later.
    fn look_at_call(&mut self, pid: Pid) -> nix::Result<bool> {
        match (ptrace::syscall_info(pid)?.op, &mut self.recorder) {
            (libc::PTRACE_SYSCALL_INFO_ENTRY, Some(recorder)) => return recorder.entering(pid),
            (libc::PTRACE_SYSCALL_INFO_EXIT, Some(recorder)) => recorder.leaving(pid)?,
            (libc::PTRACE_SYSCALL_INFO_ENTRY, None) => self.entering(pid)?,
            (libc::PTRACE_SYSCALL_INFO_EXIT, None) => self.leaving(pid)?,
            _ => {}
        }
        Ok(true)
    }

    fn entering(&mut self, pid: Pid) -> nix::Result<()> {
        let mut registers = ptrace::getregs(pid)?;
        let Some(syscall) = syscalls::changing(pid, &registers) else {
            return Ok(());
        };
        self.count += 1;
        let is_write = syscalls::can_be_halved(&registers);
        self.writes += u64::from(is_write);
        if !self.is_due(is_write) {
            return Ok(());
        }
        match self.fault {
            Fault::Count => return Ok(()),
            Fault::Kill => self.kill_all(),
            Fault::KillAfter => {
                self.at_exit.insert(pid, AtExit::KillAll);
            }
            Fault::Signal(signal) => {
                // Once for the process, not once for each of its threads. It is there: it makes this call.
                signal::kill(self.root, Signal::try_from(signal)?)?;
            }
            Fault::Error(errno) | Fault::ErrorFrom(errno) => {
                if !syscalls::can_fail_with(errno, syscall.nr) {
                    return Ok(());
                }
                // No call has this number: the kernel does nothing, and we fill in the result.
                registers.orig_rax = u64::MAX;
                ptrace::setregs(pid, registers)?;
                self.at_exit.insert(pid, AtExit::Fail(errno));
            }
            Fault::ShortWrite => {
                syscalls::halve_write(&mut registers);
                ptrace::setregs(pid, registers)?;
            }
        }
        self.hit.get_or_insert(syscall);
        Ok(())
    }

    /// Is it the turn of the call that was just counted?
    fn is_due(&self, is_write: bool) -> bool {
        match self.fault {
            _ if self.n == 0 => false,
            Fault::ShortWrite => is_write && self.writes == self.n,
            // The call itself may be one that never fails so.
            Fault::Error(_) => self.count >= self.n && self.hit.is_none(),
            Fault::ErrorFrom(_) => self.count >= self.n,
            _ => self.count == self.n,
        }
    }

    fn leaving(&mut self, pid: Pid) -> nix::Result<()> {
        match self.at_exit.remove(&pid) {
            None => {}
            Some(AtExit::KillAll) => self.kill_all(),
            Some(AtExit::Fail(errno)) => {
                let mut registers = ptrace::getregs(pid)?;
                registers.rax = (-i64::from(errno)) as u64;
                ptrace::setregs(pid, registers)?;
            }
        }
        Ok(())
    }

    fn kill_all(&mut self) {
        self.killing = true;
        self.alive.kill();
    }
}
