//! Work that goes on after the command is done: a process of its own, which nobody waits for.
//!
//! The one who starts it hands over nothing but arguments, and the new process lets go of everything it
//! was given besides: its session, its place in the queue for the processor, and descriptors that
//! somebody further up left open. So no terminal, pipe or volume is held for the sake of housekeeping.

use std::ffi::OsStr;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions, waitpid};

/// A low priority, but not the lowest: where everybody is busy saving, cleaning must not starve. The disk follows
/// it, too, unless somebody said otherwise.
const LOW: i32 = 5;

/// A worker says no more at once: a pipe takes it whole.
const MAX_SAID: usize = 4096;

/// What was started and has perhaps not ended: a caller that lives on must not fill the table of processes.
static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Starts this very program with these arguments and an empty environment, and does not wait for it.
///
/// A caller that lives on keeps the entry of the finished process in the table until it starts another one.
pub fn spawn_detached(arguments: &[&OsStr]) -> io::Result<()> {
    let program = std::env::current_exe()?;
    start(&program, arguments)
}

fn start(program: &Path, arguments: &[&OsStr]) -> io::Result<()> {
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    started.retain_mut(|earlier| matches!(earlier.try_wait(), Ok(None)));
    started.push(child);
    Ok(())
}

/// Makes this process one that runs in the background: no terminal can end it any more, everybody else
/// goes first, and nothing inherited is held open.
///
/// For the beginning of a program, before it opens anything. All of it is best effort: a housekeeper that
/// is noticed is better than none.
pub fn become_background() {
    // Fails for the leader of a group, as when it was typed at a prompt; then it stays there.
    let _ = rustix::process::setsid();
    close_all_but(-1);
    let _ = rustix::process::nice(LOW);
}

/// Which of the two processes this one is after [`split`].
pub enum Half {
    /// The one that was called. Somebody waits for it.
    Called(Waiting),
    /// The one that does the work. Nobody waits for it but the other half.
    Working(Speaking),
}

/// What the half that does the work can say to the other one.
pub struct Speaking {
    /// Held until this process ends, because its end is a message, too.
    pipe: ManuallyDrop<OwnedFd>,
}

/// Waits for the half that does the work.
pub struct Waiting {
    /// Closed at the other end when the work is done, however it ended.
    done: OwnedFd,
    worker: Pid,
}

/// Splits this process in two: one that can answer in time, and one that does the work however long it takes.
///
/// The worker has a session of its own and none of the streams, so that no terminal ends it and nobody who
/// waits for the end of a pipe waits for it. This is quicker by far than to start the program again, and the
/// worker knows all that is known by now. An error leaves one process, which can do the work itself.
pub fn split() -> io::Result<Half> {
    if !is_single_threaded() {
        return Err(io::Error::other("there are threads already"));
    }
    let (done, held) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: there is one thread, so no lock or buffer can be left behind in the middle of something.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(done);
            let _ = rustix::process::setsid();
            let _ = rustix::process::chdir("/");
            let _ = silence();
            close_all_but(held.as_raw_fd());
            Ok(Half::Working(Speaking { pipe: ManuallyDrop::new(held) }))
        }
        worker => {
            let worker = Pid::from_raw(worker).ok_or_else(|| io::Error::other("no process id"))?;
            Ok(Half::Called(Waiting { done, worker }))
        }
    }
}

impl Speaking {
    /// Says something, which must be short. An error if the other half waits no longer.
    pub fn say(&self, words: &[u8]) -> io::Result<()> {
        if words.len() > MAX_SAID {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // A pipe takes this much at once, or nothing.
        rustix::io::write(&*self.pipe, words)?;
        Ok(())
    }
}

impl Waiting {
    /// Waits until the work is done, but no longer than this. Returns what the worker said until then, and whether it is done.
    pub fn wait(self, longest: Duration) -> (Vec<u8>, bool) {
        let deadline = Instant::now() + longest;
        let mut said = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut polled = [PollFd::new(&self.done, PollFlags::IN)];
            match rustix::event::poll(&mut polled, timeout.as_ref()) {
                Err(Errno::INTR) => continue,
                Ok(0) | Err(_) => return (said, false),
                Ok(_) => {}
            }
            let mut words = [0; MAX_SAID];
            match rustix::io::read(&self.done, &mut words) {
                Err(Errno::INTR) => {}
                Ok(0) | Err(_) => break,
                Ok(count) => said.extend_from_slice(&words[..count]),
            }
        }
        // It is about to end. Under a process that adopts orphans without looking after them it would stay in
        // the table for ever.
        let _ = waitpid(Some(self.worker), WaitOptions::empty());
        (said, true)
    }
}

fn is_single_threaded() -> bool {
    #[cfg(target_os = "linux")]
    {
        std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
    }
    #[cfg(not(target_os = "linux"))]
    {
        // Nothing tells. Those who call this do so before they start any.
        true
    }
}

/// Nothing is read from the standard streams or written to them any more.
pub fn silence() -> io::Result<()> {
    let nowhere = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Somebody may wait for the end of a pipe that was passed down by mistake.
#[cfg(target_os = "linux")]
fn close_all_but(kept: RawFd) {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && *descriptor != kept)
        .collect();
    for descriptor in open {
        let path = format!("/proc/self/fd/{descriptor}");
        // The directory that was just read is in its own list, and closed by now.
        if std::fs::symlink_metadata(path).is_ok() {
            // SAFETY: the caller has opened nothing yet, so no value of this process owns it.
            unsafe { rustix::io::close(descriptor) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn close_all_but(_kept: RawFd) {}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_detached_program_runs_without_terminal_environment_or_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out");
        let script = format!(
            "{{ pwd; env | grep -c HOME; readlink /proc/self/fd/0; }} > {0}.new; mv {0}.new {0}",
            file.display()
        );
        start(Path::new("/bin/sh"), &[OsStr::new("-c"), OsStr::new(&script)]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !file.exists() {
            assert!(Instant::now() < deadline, "it never ran");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), "/\n0\n/dev/null\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_nothing_else() {
        assert!(start(Path::new("/nonexistent/herma"), &[]).is_err());
    }
}
