//! Coming to an end: what runs is finished, nothing new begins.

use std::io;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use herma_fs::process::foreground::is_ignored;
use herma_fs::sync::RwLock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;

/// Does the server stop, and does anything still run?
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    has_begun: Arc<AtomicBool>,
    /// Read by whoever works.
    working: RwLock<()>,
}

impl Stopping {
    /// Begins a request, which runs as long as what is returned is kept; `None` if the server stops.
    pub(crate) fn begin(&self) -> Option<impl Sized + '_> {
        // Asked first: whoever stops must not wait for ever behind those who ask again and again.
        let has_begun = || self.has_begun.load(Ordering::SeqCst);
        if has_begun() {
            return None;
        }
        let working = self.working.read().unwrap_or_else(PoisonError::into_inner);
        (!has_begun()).then_some(working)
    }

    /// From now on nothing new begins. Waits for what runs, however long it takes.
    pub(crate) fn stop(&self) {
        self.has_begun.store(true, Ordering::SeqCst);
        drop(self.working.write());
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
            let stopped = scope.spawn(|| stopping.stop());
            while stopping.begin().is_some() {
                std::thread::yield_now();
            }
            assert!(!stopped.is_finished(), "a request still runs");
            drop(running);
            stopped.join().expect("it stops");
        });
    }
}
