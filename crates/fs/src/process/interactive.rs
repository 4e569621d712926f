//! A program that is talked to line by line, and never waited for longer than was said.

use std::ffi::OsStr;
use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Longer lines end the exchange.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// A program that was started to be talked to. It ends with this value.
#[derive(Debug)]
pub struct Interactive {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

impl Interactive {
    /// Starts a program in a directory. What it says on standard error is dropped.
    pub fn start(
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
        directory: &Path,
    ) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take();
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            // Ends with the program, or when nobody takes the lines any more.
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stdout);
                let mut line = Vec::new();
                while let Ok(length) =
                    (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)
                {
                    if length == 0 || sender.send(std::mem::take(&mut line)).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, stdin, lines })
    }

    /// Says a line.
    pub fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(line)?;
        stdin.write_all(b"\n")?;
        stdin.flush()
    }

    /// The next line it says; `None` if it has ended, or says nothing for so long.
    pub fn receive(&self, longest: Duration) -> Option<Vec<u8>> {
        self.lines.recv_timeout(longest).ok()
    }
}

impl Drop for Interactive {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Interactive {
        Interactive::start(Path::new("/bin/sh"), &["-c", script], Path::new("/")).unwrap()
    }

    #[test]
    fn lines_go_both_ways() {
        let mut program = shell("while read line; do echo \"<$line>\"; done");
        program.send(b"one").unwrap();
        let answer = program.receive(Duration::from_secs(30)).unwrap();
        assert_eq!(answer, b"<one>\n");
    }

    #[test]
    fn a_program_that_says_nothing_is_not_waited_for_and_ends() {
        let program = shell("exec sleep 1000");
        assert_eq!(program.receive(Duration::from_millis(10)), None);
        let id = program.child.id();
        drop(program);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
