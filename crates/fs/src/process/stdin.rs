//! Standard input from somebody who may never finish the sentence.

use std::io;
use std::io::Read;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// Reads standard input until a deadline; then it is an error.
#[derive(Debug)]
pub struct TimedStdin {
    deadline: Instant,
}

impl TimedStdin {
    /// From now on for so long.
    pub fn new(longest: Duration) -> Self {
        Self { deadline: Instant::now() + longest }
    }

    /// Reads what is left, for so long at most, and lets go of it: a writer whose reader goes away gets an error.
    pub fn drain(&mut self, longest: Duration) {
        self.deadline = Instant::now() + longest;
        let mut buffer = [0; 1 << 14];
        while matches!(self.read(&mut buffer), Ok(1..)) {}
    }
}

impl Read for TimedStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = rustix::stdio::stdin();
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
            match rustix::event::poll(&mut polled, timeout.as_ref()) {
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => match rustix::io::read(stdin, &mut *buffer) {
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    read => return Ok(read?),
                },
            }
        }
    }
}
