//! Programs that tests start: every one of them ends.
//!
//! A test that waits for ever tells nobody what it waited for, so no test starts a program but through [`Bounded`]: what runs
//! longer than [`time_limit`] is killed, which ends every wait for it, be it for its end or for what it says.
//!
//! They also start with the signals of a person's shell. Who runs the tests may ignore some of them, as `nohup`,
//! supervisors and background jobs of a shell without job control do, and a program inherits that.

use std::io;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Once, mpsc};
use std::time::Duration;

/// How long somebody else may hold on to what a program that ended wrote to.
const HELD: Duration = Duration::from_secs(60);

/// The environment variable that asks for crowds of processes in their full size.
///
/// `cargo xtask faults --full` sets it; without it a smaller run of the same is made.
pub const FULL_VARIABLE: &str = "HERMA_FAULT_FULL";

/// Are crowds of processes asked for in their full size, by [`FULL_VARIABLE`]?
pub fn is_full() -> bool {
    std::env::var_os(FULL_VARIABLE).is_some_and(|value| !value.is_empty())
}

/// No program of a test takes this long.
pub fn time_limit() -> Duration {
    let minutes = if is_full() { 60 } else { 10 };
    Duration::from_secs(60 * minutes)
}

/// `Command` and `Child` without their endless waits.
pub trait Bounded {
    /// What is waited for.
    type Waited;

    /// Runs it to its end, and takes all it says. To say elsewhere where its streams go, start it first.
    fn bounded_output(self) -> io::Result<Output>;

    /// Runs it to its end.
    fn bounded_status(self) -> io::Result<ExitStatus>;

    /// Starts it, if it does not run yet, and lets it run no longer than [`time_limit`].
    fn bounded_spawn(self) -> io::Result<Self::Waited>;
}

impl Bounded for &mut Command {
    type Waited = Child;

    fn bounded_output(self) -> io::Result<Output> {
        self.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.bounded_spawn()?.bounded_output()
    }

    fn bounded_status(self) -> io::Result<ExitStatus> {
        self.bounded_spawn()?.wait()
    }

    fn bounded_spawn(self) -> io::Result<Child> {
        give_back_signals();
        let child = self.spawn()?;
        watch(child.id(), format!("{self:?}"));
        Ok(child)
    }
}

/// One that [`Bounded::bounded_spawn`] started.
impl Bounded for Child {
    type Waited = Self;

    fn bounded_output(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        let stdout = self.stdout.take().map(read_apart);
        let stderr = self.stderr.take().map(read_apart);
        let status = self.wait()?;
        let said = |pipe: Option<Receiver<Vec<u8>>>| {
            pipe.map_or(Ok(Vec::new()), |pipe| {
                let held = |_| io::Error::other("it ended, and another program holds its output");
                pipe.recv_timeout(HELD).map_err(held)
            })
        };
        Ok(Output { status, stdout: said(stdout)?, stderr: said(stderr)? })
    }

    fn bounded_status(mut self) -> io::Result<ExitStatus> {
        self.wait()
    }

    fn bounded_spawn(self) -> io::Result<Self> {
        Ok(self)
    }
}

/// Ends the loops that run until something is done, also when a test fails: its scope waits for them.
#[derive(Debug)]
pub struct Done<'a>(pub &'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn read_apart(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was said before an error is better than nothing, and the test will see that it is not all.
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Kills a child that is still there after [`time_limit`]. Its descriptor never stands for another process.
#[cfg(target_os = "linux")]
fn watch(pid: u32, words: String) {
    use rustix::event::{PollFd, PollFlags, Timespec};
    use rustix::process::{Pid, PidfdFlags, Signal};

    let pid = Pid::from_raw(pid as i32).expect("a process has a number");
    // Kernels before 5.3 have none: there nobody is watched.
    let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let limit = time_limit();
    std::thread::spawn(move || {
        let timeout = Timespec::try_from(limit).expect("so many seconds can be said");
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        if matches!(rustix::event::poll(&mut ended, Some(&timeout)), Ok(0)) {
            eprintln!("killed after {} s: {words}", limit.as_secs());
            // It may have ended just now.
            let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
        }
    });
}

#[cfg(not(target_os = "linux"))]
fn watch(_pid: u32, _words: String) {}

/// Lets programs started from here on hear the signals that this one was started deaf to: the kernel gives a signal with a handler
/// its usual meaning in a new program, and one that is ignored stays so. This process goes on as before.
pub fn give_back_signals() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
            return;
        };
        for signal in ignored(&status) {
            signal_hook::flag::register(signal, std::sync::Arc::default())
                .unwrap_or_else(|e| panic!("signal {signal} cannot be given back: {e}"));
        }
    });
}

/// Which signals that end programs this status says are ignored.
fn ignored(status: &str) -> Vec<i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let signals = [
        signal_hook::consts::SIGHUP,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGQUIT,
        signal_hook::consts::SIGTERM,
    ];
    let is_ignored = |signal: &i32| mask.unwrap_or(0) & (1 << (signal - 1)) != 0;
    signals.into_iter().filter(is_ignored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_status_are_those_of_the_program() {
        let mut shell = Command::new("/bin/sh");
        let output = shell.args(["-c", "echo said; echo wrong >&2; exit 3"]);
        let output = output.bounded_output().unwrap();
        assert_eq!(output.stdout, b"said\n");
        assert_eq!(output.stderr, b"wrong\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn the_input_of_a_program_that_is_waited_for_ends() {
        let mut reader = Command::new("/bin/cat");
        reader.stdin(Stdio::piped()).stdout(Stdio::piped());
        let output = reader.bounded_spawn().unwrap().bounded_output().unwrap();
        assert!(output.status.success());
    }

    #[test]
    fn ignored_signals_are_known_and_others_left_alone() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001003\n"), [1, 2]);
        assert_eq!(ignored("SigIgn:\t0000000000004004\n"), [3, 15]);
        assert!(ignored("SigIgn:\t0000000000001000\n").is_empty());
        assert!(ignored("").is_empty());
    }

    /// Run by the one below, as it would be by `nohup`.
    #[test]
    #[ignore = "run by another"]
    fn a_child_of_a_deaf_process() {
        let mut shell = Command::new("/bin/sh");
        let output = shell.args(["-c", "kill -INT $$; echo deaf"]);
        let output = output.bounded_output().unwrap();
        assert!(output.stdout.is_empty() && output.status.code().is_none());
    }

    #[test]
    fn a_program_hears_signals_that_its_test_was_started_deaf_to() {
        let test = "bounded::tests::a_child_of_a_deaf_process";
        let mut deaf = Command::new("/bin/sh");
        let script = "trap '' INT; exec \"$0\" --exact --ignored \"$1\"";
        let program = std::env::current_exe().unwrap();
        deaf.args(["-c", script]).arg(program).arg(test);
        let output = deaf.bounded_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("1 passed"), "{said}");
    }
}
