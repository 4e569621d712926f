//! What waits to be written to one client.
//!
//! Answers are never dropped: the thread that has the next one waits until the one before is on its way, so a
//! client that does not read only holds up itself. Notifications never wait: when too many of them pile up,
//! they are thrown away, and the client is told once that its subscriptions have ended.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use herma_fs::sync::Condvar;
use herma_fs::sync::Mutex;
use herma_fs::sync::MutexGuard;

/// So many notifications may wait.
const MOST_NOTIFICATIONS: usize = 256;
/// So many bytes of notifications may wait.
const MOST_BYTES: usize = 1 << 20;

/// What waits to be written to one client.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    notifications: usize,
    notification_bytes: usize,
    answers: usize,
    /// Nothing will be added any more.
    is_closed: bool,
    /// Nothing can be written any more.
    is_broken: bool,
    is_writing: bool,
}

#[derive(Debug)]
struct Waiting {
    line: Vec<u8>,
    is_notification: bool,
}

/// A client reads too slowly to hear of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooSlow;

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an answer, once the one before it has been taken up. Where nobody reads any more it is dropped.
    pub(crate) fn answer(&self, line: Vec<u8>) {
        let mut state = self.state();
        while state.answers > 0 && !state.is_broken {
            state = self.wait(state);
        }
        if state.is_broken {
            return;
        }
        state.answers += 1;
        state.waiting.push_back(Waiting {
            line,
            is_notification: false,
        });
        drop(state);
        self.changed.notify_all();
    }

    /// Adds a notification. When too many wait, all of them are dropped.
    pub(crate) fn notify(&self, line: Vec<u8>) -> Result<(), TooSlow> {
        let mut state = self.state();
        if state.is_broken || state.is_closed {
            return Ok(());
        }
        let is_full = state.notifications >= MOST_NOTIFICATIONS
            || state.notification_bytes + line.len() > MOST_BYTES;
        if is_full {
            state.waiting.retain(|waiting| !waiting.is_notification);
            (state.notifications, state.notification_bytes) = (0, 0);
            return Err(TooSlow);
        }
        state.notifications += 1;
        state.notification_bytes += line.len();
        state.waiting.push_back(Waiting {
            line,
            is_notification: true,
        });
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Says that nothing will be added any more; what waits is still written.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Writes what comes until it is closed or nobody reads any more. Says whether all of it was written.
    pub(crate) fn write_to(&self, mut output: impl Write) -> bool {
        loop {
            let mut state = self.state();
            state.is_writing = false;
            self.changed.notify_all();
            while state.waiting.is_empty() && !state.is_closed {
                state = self.wait(state);
            }
            let Some(next) = state.waiting.pop_front() else {
                return true;
            };
            if next.is_notification {
                state.notifications -= 1;
                state.notification_bytes -= next.line.len();
            } else {
                state.answers -= 1;
            }
            state.is_writing = true;
            drop(state);
            self.changed.notify_all();
            let written = output.write_all(&next.line).and_then(|()| output.flush());
            if written.is_err() {
                let mut state = self.state();
                *state = State {
                    is_broken: true,
                    is_closed: state.is_closed,
                    ..State::default()
                };
                drop(state);
                self.changed.notify_all();
                return false;
            }
        }
    }

    /// Waits until everything is written, but not for longer than this.
    pub(crate) fn drain(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        while (state.is_writing || !state.waiting.is_empty()) && !state.is_broken {
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
    use std::io;
    use std::thread;

    use super::*;

    #[test]
    fn everything_is_written_in_order() {
        let outbox = Outbox::default();
        let mut written = Vec::new();
        thread::scope(|scope| {
            let writer = scope.spawn(|| outbox.write_to(&mut written));
            for number in 0..100 {
                outbox.answer(format!("{number}\n").into_bytes());
                outbox.notify(b"n\n".to_vec()).unwrap();
            }
            outbox.close();
            assert!(writer.join().unwrap());
        });
        let expected: Vec<String> = (0..100).map(|number| format!("{number}\nn\n")).collect();
        assert_eq!(String::from_utf8(written).unwrap(), expected.concat());
    }

    #[test]
    fn notifications_that_nobody_reads_are_dropped_and_answers_are_not() {
        let outbox = Outbox::default();
        outbox.answer(b"answer\n".to_vec());
        for _ in 0..MOST_NOTIFICATIONS {
            outbox.notify(b"n\n".to_vec()).unwrap();
        }
        assert_eq!(outbox.notify(b"one too many\n".to_vec()), Err(TooSlow));
        outbox.notify(b"after\n".to_vec()).unwrap();
        assert_eq!(outbox.notify(vec![b'x'; MOST_BYTES]), Err(TooSlow));
        outbox.close();
        let mut written = Vec::new();
        assert!(outbox.write_to(&mut written));
        assert_eq!(written, b"answer\n");
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
                outbox.answer(b"x\n".to_vec());
            }
            outbox.drain(Duration::from_secs(60));
        });
    }
}
