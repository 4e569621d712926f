//! Work that goes on after the command is done: a process of its own, which nobody waits for.
//!
//! The one who starts it hands over nothing but arguments, and the new process lets go of everything it
//! was given besides: its session, its place in the queue for the processor, and descriptors that
//! somebody further up left open. So no terminal, pipe or volume is held for the sake of housekeeping.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

/// A low priority, but not the lowest: where everybody is busy saving, cleaning must not starve. The disk follows
/// it, too, unless somebody said otherwise.
const LOW: i32 = 5;

/// Starts this very program with these arguments and an empty environment, and does not wait for it.
///
/// A caller that lives on keeps the entry of the finished process in the table until it ends itself.
pub fn spawn_detached(arguments: &[&OsStr]) -> io::Result<()> {
    let program = std::env::current_exe()?;
    start(&program, arguments)
}

fn start(program: &Path, arguments: &[&OsStr]) -> io::Result<()> {
    Command::new(program)
        .args(arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}

/// Makes this process one that runs in the background: no terminal can end it any more, everybody else
/// goes first, and nothing inherited is held open.
///
/// For the beginning of a program, before it opens anything. All of it is best effort: a housekeeper that
/// is noticed is better than none.
pub fn become_background() {
    // Fails for the leader of a group, as when it was typed at a prompt; then it stays there.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(LOW);
    close_inherited();
}

/// Somebody may wait for the end of a pipe that was passed down by mistake.
#[cfg(target_os = "linux")]
fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
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
fn close_inherited() {}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_detached_program_runs_without_terminal_environment_or_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out");
        let script = format!(
            "{{ pwd; env | grep -c HOME; readlink /proc/self/fd/0; }} > {0}.new; mv {0}.new {0}",
            file.display()
        );
        start(
            Path::new("/bin/sh"),
            &[OsStr::new("-c"), OsStr::new(&script)],
        )
        .unwrap();
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
