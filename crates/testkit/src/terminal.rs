//! A terminal with somebody at it: for commands that ask.
//!
//! ```no_run
//! # use herma_testkit::env::TestEnv;
//! # let env = TestEnv::with_program("target/debug/herma");
//! # let project = env.work_dir("project");
//! let mut terminal = project.in_terminal(["checkpoints", "clear"]);
//! terminal.wait_for("Proceed? [y/N]: ");
//! terminal.answer("n");
//! terminal.finish().code(1);
//! ```

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::io::{FdFlags, fcntl_setfd};

use crate::Bounded;
use crate::output::Output;

/// No command takes this long to say something.
const MAX_WAIT_FOR_SCREEN: Duration = Duration::from_secs(60);

/// What ends the input on a terminal, and what a terminal's owner types to send it.
const CONTROL_D: &[u8] = b"\x04";

/// A program that runs in a terminal of its own.
#[derive(Debug)]
pub struct Terminal {
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    shown: Vec<u8>,
    /// How much of it has been waited for.
    seen: usize,
    child: Child,
    paths: Vec<(String, &'static str)>,
}

impl Terminal {
    /// Starts a command with a terminal for all its streams.
    pub(crate) fn start(command: Command, paths: Vec<(String, &'static str)>) -> Self {
        Self::open(command, None, paths)
    }

    /// Starts a command that fills the screen, of 100 columns.
    pub fn start_on_screen(command: Command) -> Self {
        let size = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        Self::open(command, Some(&size), Vec::new())
    }

    fn open(
        mut command: Command,
        size: Option<&Winsize>,
        paths: Vec<(String, &'static str)>,
    ) -> Self {
        let pair = openpty(size, None).expect("a terminal can be made");
        for end in [&pair.master, &pair.slave] {
            // Programs that other tests start must not hold it open.
            fcntl_setfd(end, FdFlags::CLOEXEC).expect("it was just opened");
        }
        let stream = || Stdio::from(pair.slave.try_clone().expect("descriptors are left"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.bounded_spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        // Only the program may hold this end: its going away ends the reading.
        drop((pair.slave, command));
        let keyboard = File::from(pair.master);
        let mut reader = keyboard.try_clone().expect("descriptors are left");
        let (sender, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { keyboard, screen, shown: Vec::new(), seen: 0, child, paths }
    }

    /// Waits until the program has printed this.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        if let Err(shown) = self.shows(text) {
            panic!("{text:?} was never printed:\n{shown}");
        }
    }

    /// Waits until the program has printed this; what it has printed if it never does.
    pub fn shows(&mut self, text: &str) -> Result<(), String> {
        let deadline = Instant::now() + MAX_WAIT_FOR_SCREEN;
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.screen.recv_timeout(left) else {
                return Err(String::from_utf8_lossy(&self.shown).into_owned());
            };
            self.shown.extend(bytes);
        }
        Ok(())
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the program runs");
    }

    /// Types a line.
    pub fn answer(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").expect("the program runs");
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.keyboard.write_all(CONTROL_D).expect("the program runs");
    }

    /// Holds the control key and presses this one. What comes of it is up to the terminal: it sends signals
    /// only to programs whose controlling terminal it is, as in [`crate::env::WorkDir::shell_in_terminal`].
    pub fn control(&mut self, key: char) {
        let byte = key.to_ascii_uppercase() as u8 & 0x1f;
        self.keyboard.write_all(&[byte]).expect("the program runs");
    }

    /// Waits until the program has printed this after everything that was waited for before.
    #[track_caller]
    pub fn wait_for_next(&mut self, text: &str) {
        let deadline = Instant::now() + MAX_WAIT_FOR_SCREEN;
        loop {
            let new = String::from_utf8_lossy(&self.shown[self.seen..]).into_owned();
            if let Some(place) = new.find(text) {
                self.seen += place + text.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.screen.recv_timeout(left) else {
                panic!("{text:?} was not printed again:\n{new}");
            };
            self.shown.extend(bytes);
        }
    }

    /// Types Control-C.
    pub fn interrupt(&mut self) {
        let pid = Pid::from_raw(self.child.id() as i32);
        kill(pid, Signal::SIGINT).expect("the program runs");
    }

    /// Waits for the end. What was typed is part of the output, as on every terminal.
    #[must_use = "assert `.success()` or `.code(n)`"]
    #[track_caller]
    pub fn finish(mut self) -> Output {
        let status = self.child.wait().expect("it is our child");
        while let Ok(bytes) = self.screen.recv_timeout(MAX_WAIT_FOR_SCREEN) {
            self.shown.extend(bytes);
        }
        let text = String::from_utf8_lossy(&self.shown).replace("\r\n", "\n");
        let output = std::process::Output { status, stdout: text.into_bytes(), stderr: Vec::new() };
        Output::new(output, self.paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Terminal {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Terminal::start(command, Vec::new())
    }

    #[test]
    fn questions_are_answered() {
        let mut terminal =
            shell("test -t 0 && test -t 2; printf 'well? '; read a; echo got $a; exit 3");
        terminal.wait_for("well? ");
        terminal.answer("yes");
        assert_eq!(terminal.finish().code(3).text(), "well? yes\ngot yes\n");
    }

    #[test]
    fn the_input_can_end() {
        let mut terminal = shell("printf 'well? '; read a || echo no answer");
        terminal.wait_for("well? ");
        terminal.end_input();
        assert!(terminal.finish().success().text().contains("no answer"));
    }
}
