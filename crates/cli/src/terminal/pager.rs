//! Output that goes through a pager once it is longer than the screen.
//!
//! Until then it is held back, so that a short answer starts no other program. A pager is started only on the
//! user's own terminal.

use std::io;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where data goes: stdout, or a pager in front of it.
pub(crate) struct Output {
    held_back: Vec<u8>,
    lines: usize,
    /// How many lines fit the screen, and the pager's command line; `None`: no pager.
    pager: Option<(usize, String)>,
    running: Option<Child>,
    stdout: Box<dyn Write>,
}

/// A patch may be one line of gigabytes; that much is held back at most.
const MAX_HELD_BACK: usize = 1 << 20;

impl Output {
    /// To stdout, through the pager's command line once there are more lines than this.
    pub(crate) fn stdout(pager: Option<(usize, String)>) -> Self {
        Self::new(pager, Box::new(io::stdout().lock()))
    }

    /// To `reader`, who may have asked from within the program.
    pub(crate) fn new(pager: Option<(usize, String)>, stdout: Box<dyn Write>) -> Self {
        Self { held_back: Vec::new(), lines: 0, pager, running: None, stdout }
    }

    /// Writes out the rest and waits until the reader is done with it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush_held_back()?;
        self.stdout.flush()?;
        if let Some(mut child) = self.running.take() {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }

    fn flush_held_back(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.held_back);
        match &mut self.running {
            Some(child) => match &mut child.stdin {
                Some(stdin) => stdin.write_all(&bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            None => self.stdout.write_all(&bytes),
        }
    }

    /// Decides whether the text is too long for the screen by now.
    fn start_pager_if_long(&mut self) {
        let is_long = |height: usize| self.lines >= height || self.held_back.len() > MAX_HELD_BACK;
        if self.running.is_none()
            && let Some((_, command)) = self.pager.take_if(|(height, _)| is_long(*height))
        {
            // Without its pager the text is still worth printing.
            self.running = start(&command).ok();
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held_back.extend_from_slice(bytes);
        self.lines += bytes.split(|byte| *byte == b'\n').skip(1).count();
        self.start_pager_if_long();
        if self.pager.is_none() && self.held_back.len() >= 32 * 1024 {
            self.flush_held_back()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pager.is_none() {
            self.flush_held_back()?;
        }
        Ok(())
    }
}

/// Output that is given up half-way must not leave a pager running on the user's terminal.
impl Drop for Output {
    fn drop(&mut self) {
        if let Some(mut child) = self.running.take() {
            drop(child.stdin.take());
            // Its exit code says nothing about ours.
            let _ = child.wait();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user chose the pager")]
fn start(command: &str) -> io::Result<Child> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let child = Command::new(program).args(words).stdin(Stdio::piped()).spawn()?;
    // Control-C belongs to the pager now: it must not leave it alone with the terminal.
    let ignored = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, ignored);
    Ok(child)
}
