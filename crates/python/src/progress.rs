//! Tells a Python function how far the engine has got. What the function raises stops the engine, before it
//! has changed anything, and is raised again when the engine has let go. Where it is too late to stop, the
//! engine finishes first.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use std::time::Instant;

use herma_core::engine::Progress;
use herma_core::engine::Stage;
use herma_core::error::ErrorKind;
use pyo3::prelude::*;

use crate::errors;

/// The function is called at most this often about files, and signals are looked for as often.
const PAUSE: Duration = Duration::from_millis(50);

/// As much room as a main thread has.
const STACK: usize = 8 << 20;
const MOST_THREADS: usize = 8;

/// Listens to the engine on behalf of Python.
pub(crate) struct Listener {
    callback: Option<Py<PyAny>>,
    state: Mutex<State>,
}

struct State {
    raised: Option<PyErr>,
    told: Instant,
    stage: &'static str,
}

const fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Waiting => "waiting",
        Stage::Scanning => "scanning",
        Stage::Saving => "saving",
        Stage::Restoring => "restoring",
        Stage::Verifying => "verifying",
        Stage::Marking => "marking",
        Stage::Merging => "merging",
        Stage::Removing => "removing",
    }
}

impl Listener {
    fn new(callback: Option<Py<PyAny>>) -> Self {
        Self {
            callback,
            state: Mutex::new(State {
                raised: None,
                told: Instant::now(),
                stage: "waiting",
            }),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the function. The state is not locked meanwhile: the function may take its time.
    fn tell(&self, stage: &'static str, done: u64, total: Option<u64>) {
        let Some(callback) = &self.callback else {
            return;
        };
        if self.state().raised.is_some() {
            return;
        }
        let called = Python::attach(|py| callback.call1(py, (stage, done, total)).map(drop));
        if let Err(raised) = called {
            self.state().raised.get_or_insert(raised);
        }
    }

    /// Looks for Ctrl-C, which Python handles only when it is asked to, in its main thread.
    fn look_for_signals(&self) {
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            self.state().raised.get_or_insert(raised);
        }
    }

    /// Runs `work` in threads that are gone when it is done, while this one looks for signals. Threads that
    /// a process keeps are lost to its children: a fork takes along only the thread that forks.
    fn accompany<T: Send>(&self, work: impl FnOnce(&Self) -> T + Send) -> T {
        let mut threads = Vec::new();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(
                std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS)),
            )
            .spawn_handler(|thread| {
                let builder = std::thread::Builder::new().stack_size(STACK);
                threads.push(builder.spawn(|| thread.run())?);
                Ok(())
            })
            .build();
        let Ok(pool) = pool else {
            return work(self);
        };
        let (sender, receiver) = mpsc::sync_channel(1);
        let done = pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // The receiver waits until this is sent.
                let _ = sender.send(work(self));
            });
            loop {
                match receiver.recv_timeout(PAUSE) {
                    Err(RecvTimeoutError::Timeout) => self.look_for_signals(),
                    Ok(done) => break Some(done),
                    Err(RecvTimeoutError::Disconnected) => break None,
                }
            }
        });
        drop(pool);
        // They end by themselves by now, but in their own time: who asks again and again would have more and more.
        for thread in threads {
            let _ = thread.join();
        }
        done.expect("work that panics ends the scope with its panic")
    }
}

impl Progress for Listener {
    fn stage(&self, stage: Stage) {
        self.state().stage = word(stage);
        self.tell(word(stage), 0, None);
    }

    fn files(&self, done: u64, total: Option<u64>) {
        if self.callback.is_none() {
            return;
        }
        let stage = {
            let mut state = self.state();
            if state.told.elapsed() < PAUSE {
                return;
            }
            state.told = Instant::now();
            state.stage
        };
        self.tell(stage, done, total);
    }

    fn is_cancelled(&self) -> bool {
        self.state().raised.is_some()
    }
}

/// How work ended, and what was raised meanwhile by whoever listened.
pub(crate) struct Heard<T> {
    pub(crate) done: Result<T, herma_core::Error>,
    pub(crate) raised: Option<PyErr>,
}

impl<T> Heard<T> {
    /// What was raised comes first. A failure that has another cause than being stopped is noted on it.
    pub(crate) fn or_raise(self, py: Python<'_>, finished: Option<&str>) -> PyResult<T> {
        let Some(raised) = self.raised else {
            return self.done.map_err(errors::raise);
        };
        match (&self.done, finished) {
            (Ok(_), Some(what)) => {
                let text = format!("herma: the {what} was finished before this was raised");
                errors::note(raised.value(py), &text);
            }
            (Err(error), _) if error.kind() != ErrorKind::Cancelled => {
                let text = format!("herma: besides, {}", errors::in_words(error));
                errors::note(raised.value(py), &text);
            }
            _ => {}
        }
        Err(raised)
    }
}

/// Runs `work` without the interpreter, with somebody listening, and tells all that came of it.
pub(crate) fn hearing<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Listener) -> Result<T, herma_core::Error> + Send,
) -> Heard<T> {
    let listener = Listener::new(callback);
    let done = py.detach(|| listener.accompany(work));
    let raised = listener.state().raised.take();
    Heard { done, raised }
}

/// Runs `work` without the interpreter, with somebody listening.
pub(crate) fn listening<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Listener) -> Result<T, herma_core::Error> + Send,
) -> PyResult<T> {
    hearing(py, callback, work).or_raise(py, None)
}

/// The same for work that changes something. If it came to its end although somebody wanted it stopped, the
/// exception says so: `what` is its name.
pub(crate) fn finishing<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    what: &str,
    work: impl FnOnce(&Listener) -> Result<T, herma_core::Error> + Send,
) -> PyResult<T> {
    hearing(py, callback, work).or_raise(py, Some(what))
}

/// Runs `work` without the interpreter.
pub(crate) fn quietly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, herma_core::Error> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(errors::raise)
}
