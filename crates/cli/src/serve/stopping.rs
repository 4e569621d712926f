//! Coming to an end: what runs is finished, nothing new begins.

use std::cell::Cell;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use herma_fs::foreground::is_ignored;
use herma_fs::sync::Condvar;
use herma_fs::sync::Mutex;
use herma_fs::sync::MutexGuard;
use signal_hook::consts::SIGHUP;
use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;
use signal_hook::flag::register_conditional_shutdown;

/// Does the server stop, and what still runs?
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    has_begun: Arc<AtomicBool>,
    running: Mutex<Counts>,
    changed: Condvar,
}

/// How many requests there are.
#[derive(Debug, Default)]
struct Counts {
    /// Those that are carried out.
    working: usize,
    /// Those that are done, and whose answer the client has not taken yet.
    answering: usize,
}

/// A request that runs.
pub(crate) struct Running<'s> {
    stopping: &'s Stopping,
    is_answering: Cell<bool>,
}

impl Stopping {
    fn running(&self) -> MutexGuard<'_, Counts> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request, unless the server stops.
    pub(crate) fn begin(&self) -> Option<Running<'_>> {
        let mut running = self.running();
        if self.has_begun.load(Ordering::Relaxed) {
            return None;
        }
        running.working += 1;
        Some(Running {
            stopping: self,
            is_answering: Cell::new(false),
        })
    }

    /// From now on nothing new begins. Waits for what runs, however long it takes, and then so long for clients
    /// to take their answers. Says whether all did.
    pub(crate) fn stop(&self, patience: Duration) -> bool {
        let mut running = self.running();
        self.has_begun.store(true, Ordering::Relaxed);
        while running.working > 0 {
            running = self
                .changed
                .wait(running)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let is_answering = |counts: &mut Counts| counts.answering > 0;
        let waited = self
            .changed
            .wait_timeout_while(running, patience, is_answering);
        let (counts, _) = waited.unwrap_or_else(PoisonError::into_inner);
        counts.answering == 0
    }
}

impl Running<'_> {
    /// It is done; what is left is the client's to take.
    pub(crate) fn answers(&self) {
        if !self.is_answering.replace(true) {
            let mut counts = self.stopping.running();
            counts.working -= 1;
            counts.answering += 1;
            drop(counts);
            self.stopping.changed.notify_all();
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.answers();
        self.stopping.running().answering -= 1;
        self.stopping.changed.notify_all();
    }
}

/// What wakes the thread that waits for the end.
#[derive(Debug)]
pub(crate) struct Wake {
    pub(crate) receiver: UnixStream,
    sender: UnixStream,
}

impl Wake {
    /// Wakes on signals that ask a program to end. Once it stops, the next one ends it at once: what was
    /// published by then is complete, and an interrupted restore is finished or reversed by the next command.
    pub(crate) fn on_signals(stopping: &Stopping) -> io::Result<Self> {
        let (receiver, sender) = UnixStream::pair()?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            if is_ignored(signal) {
                continue;
            }
            register_conditional_shutdown(signal, 130, Arc::clone(&stopping.has_begun))?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Self { receiver, sender })
    }

    /// Something that wakes it, too.
    pub(crate) fn waker(&self) -> io::Result<UnixStream> {
        self.sender.try_clone()
    }

    /// Waits for it.
    pub(crate) fn wait(&self) {
        let mut byte = [0];
        while let Err(error) = (&self.receiver).read(&mut byte) {
            if error.kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
    }
}

/// Wakes whoever waits for the end.
pub(crate) fn wake(mut waker: &UnixStream) {
    // It is full of such bytes only if it is awake.
    let _ = waker.write(&[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_waits_for_what_runs_and_lets_nothing_begin() {
        let stopping = Stopping::default();
        let running = stopping.begin().expect("it does not stop yet");
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| stopping.stop(Duration::from_secs(60)));
            while stopping.begin().is_some() {
                std::thread::yield_now();
            }
            assert!(!stopped.is_finished(), "a request still runs");
            drop(running);
            assert!(stopped.join().expect("it stops"));
        });
    }

    #[test]
    fn a_client_that_takes_no_answer_does_not_keep_it_from_stopping() {
        let stopping = Stopping::default();
        let running = stopping.begin().expect("it does not stop yet");
        running.answers();
        assert!(!stopping.stop(Duration::from_millis(1)));
        drop(running);
        assert!(stopping.stop(Duration::from_millis(1)));
    }
}
