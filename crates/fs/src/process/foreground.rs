//! A command that runs in our place: the terminal, the streams and the process group are as without us.
//!
//! The terminal sends its signals to the whole process group, so the command hears Control-C and Control-Z
//! itself. We survive the first kind, because something is left to do afterwards, and stop with the second
//! kind, because that is what the shell waits for. Signals that are sent to us alone, to end us or because
//! the terminal is gone, are passed on. All waiting and passing on is done by one thread, so nothing is
//! ever sent to a process that has been replaced by another one of the same number.
//!
//! Handlers are replaced by the default when a program is started. A signal that is ignored stays ignored
//! in the command, as `nohup` wants it, because no handler is put in its place.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::io::PipeReader;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpgrp, getpid, kill_process, waitid, waitpid,
};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// Who stopped on its own is given so much time to be continued together with us, before we stop as well.
const STOP_DELAY: Duration = Duration::from_millis(50);

/// The signals are ours to hear; nothing runs yet.
pub struct Foreground {
    signals: Signals,
    output: Output,
}

/// Where a command writes what it prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// To our output.
    #[default]
    Ours,
    /// To where our errors go: our own output says something else.
    BesideOurs,
}

/// A command under way.
pub struct Running {
    signals: Signals,
    child: Pid,
    /// Does nobody but us send it Control-C?
    passes_interrupts: bool,
}

/// A command under way whose input and output we hold.
pub struct Piped {
    /// The command.
    pub running: Running,
    /// What it reads.
    pub input: ChildStdin,
    /// What it prints.
    pub output: ChildStdout,
}

/// A command under way that reads nothing, and whose output comes to us.
pub struct Heard {
    /// The command.
    pub running: Running,
    /// What it prints. What it started may hold it open when the command itself has ended.
    pub output: PipeReader,
}

/// A variable of the environment; without a value it is taken away.
pub type Variable = (&'static str, Option<OsString>);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(u8),
    /// By this signal.
    Killed(i32),
}

impl Ended {
    /// The code a shell would give it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Killed(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(127)),
        }
    }
}

impl Foreground {
    /// From now on no signal of the terminal ends us. To be called before anything that must not be left
    /// half done; signals that arrive before the command is started are passed on when it is.
    pub fn prepare() -> io::Result<Self> {
        let heard =
            [SIGINT, SIGQUIT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let signals = Signals::new(heard.chain([SIGCHLD]))?;
        Ok(Self { signals, output: Output::Ours })
    }

    /// The command is to print there.
    #[must_use]
    pub fn printing(self, output: Output) -> Self {
        Self { output, ..self }
    }

    /// Starts a program in this directory with our streams and our environment, with these variables besides, and without
    /// those that have no value.
    pub fn start(
        self,
        program: &OsStr,
        arguments: &[OsString],
        directory: &Path,
        variables: &[Variable],
    ) -> io::Result<Running> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory);
        if self.output == Output::BesideOurs {
            command.stdout(io::stderr());
        }
        set_variables(&mut command, variables);
        let child = command.spawn()?;
        self.running(child.id(), false)
    }

    /// The same for one of several that run at once: it reads nothing, and what it prints comes to us, its errors too if
    /// they are wanted.
    pub fn start_heard(
        self,
        program: &OsStr,
        arguments: &[OsString],
        directory: &Path,
        (variables, with_errors): (&[Variable], bool),
    ) -> io::Result<Heard> {
        let (output, writer) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        if with_errors {
            command.stderr(writer.try_clone()?);
        }
        command.stdout(writer);
        set_variables(&mut command, variables);
        let child = command.spawn()?;
        let running = self.running(child.id(), !is_in_front())?;
        Ok(Heard { running, output })
    }

    /// Starts a program in this directory with pipes for its input and output. Where no terminal sends signals
    /// to both of us, the ones it would send are passed on, too.
    pub fn start_piped(
        self,
        program: &OsStr,
        arguments: &[OsString],
        directory: &Path,
    ) -> io::Result<Piped> {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("the system gave no pipe");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let running = self.running(child.id(), !is_in_front())?;
        Ok(Piped { running, input, output })
    }

    fn running(self, child: u32, passes_interrupts: bool) -> io::Result<Running> {
        let child = Pid::from_raw(child as i32);
        Ok(Running {
            signals: self.signals,
            child: child.ok_or_else(|| io::Error::other("the system gave no process id"))?,
            passes_interrupts,
        })
    }
}

impl Running {
    /// Waits for its end.
    pub fn wait(mut self) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.look()? {
                return Ok(ended);
            }
            for signal in self.signals.wait() {
                let passed_on = match signal {
                    SIGTERM => Signal::TERM,
                    SIGHUP => Signal::HUP,
                    SIGINT if self.passes_interrupts => Signal::INT,
                    SIGQUIT if self.passes_interrupts => Signal::QUIT,
                    _ => continue,
                };
                // It may have ended already; that is seen next.
                let _ = kill_process(self.child, passed_on);
            }
        }
    }

    /// Has it ended? If it has stopped, we stop too.
    fn look(&self) -> io::Result<Option<Ended>> {
        while self.has_stopped(WaitIdOptions::NOWAIT) {
            std::thread::sleep(STOP_DELAY);
            // Whoever stopped us both continues us both, if not at the very same moment.
            if self.has_stopped(WaitIdOptions::empty()) && is_in_front() {
                kill_process(getpid(), Signal::STOP)?;
                kill_process(self.child, Signal::CONT)?;
            }
        }
        let Some((_, status)) = waitpid(Some(self.child), WaitOptions::NOHANG)? else {
            return Ok(None);
        };
        let killed = status.terminating_signal().map(Ended::Killed);
        let exited =
            status.exit_status().map(|code| Ended::Exited(u8::try_from(code).unwrap_or(u8::MAX)));
        Ok(killed.or(exited))
    }

    /// Has it stopped since that was last asked for good?
    fn has_stopped(&self, how: WaitIdOptions) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | how;
        matches!(waitid(WaitId::Pid(self.child), options), Ok(Some(_)))
    }
}

fn set_variables(command: &mut Command, variables: &[Variable]) {
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Does the terminal belong to our process group? Otherwise nobody at a terminal waits for us to stop.
fn is_in_front() -> bool {
    let front = File::open("/dev/tty").and_then(|terminal| Ok(tcgetpgrp(terminal)?));
    front.is_ok_and(|front| front == getpgrp())
}

/// Was this process started with a signal ignored? Then it is to stay so, here and in what is started.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: zeros are a valid `sigaction`; without a new one, the call changes nothing but this variable.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(signal, std::ptr::null(), &raw mut now);
        asked == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn run(script: &str) -> Ended {
        let prepared = Foreground::prepare().unwrap();
        let arguments = ["-c".into(), script.into()];
        let variables = [("HERMA_TEST", Some("x".into())), ("HOME", None)];
        let directory = Path::new("/");
        let started = prepared.start(OsStr::new("sh"), &arguments, directory, &variables);
        started.unwrap().wait().unwrap()
    }

    #[test]
    fn the_end_is_told_as_a_shell_would() {
        assert_eq!(run("exit 0"), Ended::Exited(0));
        assert_eq!(
            run("test $PWD = / && test $HERMA_TEST = x && test -z $HOME && exit 3").exit_code(),
            3
        );
        let killed = run("kill -TERM $$");
        assert_eq!((killed, killed.exit_code()), (Ended::Killed(15), 143));
    }

    #[test]
    fn several_are_heard_at_once() {
        let start = |script: &str, with_errors| {
            let prepared = Foreground::prepare().unwrap();
            let arguments = ["-c".into(), script.into()];
            let variables = [("HERMA_TEST", Some("x".into()))];
            let directory = Path::new("/");
            let variables = (&variables[..], with_errors);
            prepared.start_heard(OsStr::new("sh"), &arguments, directory, variables).unwrap()
        };
        let first = start("cat; echo $HERMA_TEST; echo bad >&2; exit 3", true);
        let second = start("echo 7", false);
        for (mut heard, said, code) in [(second, "7\n", 0), (first, "x\nbad\n", 3)] {
            let mut text = String::new();
            heard.output.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), heard.running.wait().unwrap()), (said, Ended::Exited(code)));
        }
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let start = |program: &str| {
            let prepared = Foreground::prepare().unwrap();
            let started = prepared.start(OsStr::new(program), &[], Path::new("/"), &[]);
            started.err().map(|e| e.kind())
        };
        assert_eq!(start("/nonexistent"), Some(io::ErrorKind::NotFound));
        assert_eq!(start("/etc"), Some(io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn ignored_signals_are_known() {
        // Every Rust program ignores this one, and nobody the other.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGSYS));
        assert!(!is_ignored(0) && !is_ignored(-1) && !is_ignored(1000));
    }
}
