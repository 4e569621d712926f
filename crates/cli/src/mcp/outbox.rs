//! What waits to be written to one client.
//!
//! Answers are never dropped: nothing is begun for a client before it has taken up the answer before, so one that
//! does not read only holds up itself. What it is told besides (how far a request is, what has changed) never
//! waits and never piles up: of the same thing only the latest is kept.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use herma_fs::sync::{Condvar, Mutex, MutexGuard};

/// With so many of them waiting, nothing more is done for a client; more than others can cause, so that only its
/// own requests are held up.
const MAX_NOTIFICATIONS: usize = 256;

/// What waits to be written to one client.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<Vec<u8>>,
    /// By what they are about.
    notifications: BTreeMap<String, Vec<u8>>,
    /// Nothing will be added any more.
    is_closed: bool,
    /// Nothing can be written any more.
    is_broken: bool,
    is_writing: bool,
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn wait_while(&self, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while is_so(&state) {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Waits until the answer before has been taken up, or nobody reads any more.
    pub(crate) fn wait_for_room(&self) {
        let is_full = |state: &State| {
            !state.answers.is_empty() || state.notifications.len() >= MAX_NOTIFICATIONS
        };
        drop(self.wait_while(|state| is_full(state) && !state.is_broken));
    }

    /// Adds an answer. Where nobody reads any more it is dropped.
    pub(crate) fn answer(&self, line: Vec<u8>) {
        self.change(|state| {
            if !state.is_broken {
                state.answers.push_back(line);
            }
        });
    }

    /// Adds what a client is told without having asked, in the place of what it was to be told of the same thing.
    pub(crate) fn notify(&self, about: String, line: Vec<u8>) {
        self.change(|state| {
            if !state.is_broken && !state.is_closed {
                state.notifications.insert(about, line);
            }
        });
    }

    /// Says that nothing will be added any more; what waits is still written.
    pub(crate) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// Writes what comes until it is closed or nobody reads any more. Says whether all of it was written.
    pub(crate) fn write_to(&self, mut output: impl Write) -> bool {
        loop {
            self.change(|state| state.is_writing = false);
            let mut state = self.wait_while(|state| {
                state.answers.is_empty() && state.notifications.is_empty() && !state.is_closed
            });
            // How far a request is comes before its answer.
            let notifications = std::mem::take(&mut state.notifications);
            let answer = state.answers.pop_front();
            if notifications.is_empty() && answer.is_none() {
                return true;
            }
            state.is_writing = true;
            drop(state);
            self.changed.notify_all();
            let mut lines = notifications.into_values().chain(answer);
            let written = lines.try_for_each(|line| output.write_all(&line));
            if written.and_then(|()| output.flush()).is_err() {
                self.change(|state| {
                    *state =
                        State { is_broken: true, is_closed: state.is_closed, ..State::default() };
                });
                return false;
            }
        }
    }

    /// Waits until everything is written, but not for longer than this.
    pub(crate) fn drain(&self, time_limit: Duration) {
        let deadline = Instant::now() + time_limit;
        let mut state = self.state();
        let is_left = |state: &State| {
            state.is_writing || !state.answers.is_empty() || !state.notifications.is_empty()
        };
        while is_left(&state) && !state.is_broken {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io, thread};

    use super::*;

    #[test]
    fn everything_is_written_in_order() {
        let outbox = Outbox::default();
        let mut written = Vec::new();
        thread::scope(|scope| {
            let writer = scope.spawn(|| outbox.write_to(&mut written));
            for number in 0..100 {
                outbox.wait_for_room();
                outbox.notify(number.to_string(), b"n\n".to_vec());
                outbox.answer(format!("{number}\n").into_bytes());
            }
            outbox.close();
            assert!(writer.join().unwrap());
        });
        let text = String::from_utf8(written).unwrap();
        let answers: Vec<&str> = text.lines().filter(|line| *line != "n").collect();
        let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(answers, expected);
        assert_eq!(text.lines().count(), 200);
    }

    #[test]
    fn of_what_nobody_reads_only_the_latest_is_kept() {
        let outbox = Outbox::default();
        for number in 0..100_000 {
            outbox.notify("a".to_owned(), format!("{number}\n").into_bytes());
        }
        outbox.notify("b".to_owned(), b"b\n".to_vec());
        outbox.answer(b"answer\n".to_vec());
        outbox.close();
        let mut written = Vec::new();
        assert!(outbox.write_to(&mut written));
        assert_eq!(written, b"99999\nb\nanswer\n");
    }

    #[test]
    fn a_reader_that_went_away_holds_nobody_up() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let outbox = Outbox::default();
        thread::scope(|scope| {
            scope.spawn(|| outbox.write_to(Gone));
            for _ in 0..10 {
                outbox.wait_for_room();
                outbox.answer(b"x\n".to_vec());
            }
            outbox.drain(Duration::from_secs(60));
        });
    }
}
