//! Tells a Python function how far the engine has got. What the function raises stops the engine, before it
//! has changed anything, and is raised again when the engine has let go. Where it is too late to stop, the
//! engine finishes first.
//!
//! The function is called in a thread of the engine, while the caller's thread waits, with a copy of the caller's
//! context variables.

use std::cell::Cell;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use herma_core::engine::{Progress, Stage};
use herma_core::error::ErrorKind;
use herma_worktree::present::ScanError;
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

use crate::running::without_interpreter;
use crate::{errors, running};

/// The function is called at most this often about files, and signals are looked for as often.
const PAUSE: Duration = Duration::from_millis(50);

/// As much room as a main thread has.
const STACK_BYTES: usize = 8 << 20;
const MAX_THREADS: usize = 8;

/// Calls from functions that are told of calls, and so on. Each is in threads of its own, so that Python itself never
/// finds that there are too many.
const MAX_NESTED_CALLS: usize = 16;

thread_local! {
    /// How many functions that are being told of a call this thread is inside of.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Listens to the engine on behalf of Python.
pub(crate) struct Listener {
    callback: Option<Callback>,
    /// Can the interpreter be asked for?
    is_whole: bool,
    /// Is the work given up when the interpreter goes?
    can_be_ended: bool,
    state: Mutex<State>,
}

/// The function, and the context variables of whoever handed it over.
struct Callback {
    function: Py<PyAny>,
    context: Py<PyAny>,
    depth: usize,
}

impl Callback {
    fn new(py: Python<'_>, function: Py<PyAny>) -> PyResult<Self> {
        let depth = DEPTH.get() + 1;
        if depth > MAX_NESTED_CALLS {
            let text = "`progress` functions call the engine, which calls them, too many times";
            return Err(PyRecursionError::new_err(text));
        }
        let context = py.import("contextvars")?.call_method0("copy_context")?;
        Ok(Self { function, context: context.unbind(), depth })
    }

    /// Two threads may be here at once, and a context is only in one of them at a time: each has a copy.
    fn call(
        &self,
        py: Python<'_>,
        stage: &'static str,
        done: u64,
        total: Option<u64>,
    ) -> PyResult<()> {
        let context = self.context.call_method0(py, "copy")?;
        let outer = DEPTH.replace(self.depth);
        let called = context.call_method1(py, "run", (&self.function, stage, done, total));
        DEPTH.set(outer);
        called.map(drop)
    }
}

struct State {
    raised: Option<PyErr>,
    told: Instant,
    stage: &'static str,
}

impl Listener {
    fn new(py: Python<'_>, callback: Option<Py<PyAny>>) -> PyResult<Self> {
        let is_whole = running::is_whole(py);
        let callback = callback.filter(|_| is_whole);
        Ok(Self {
            callback: callback.map(|function| Callback::new(py, function)).transpose()?,
            is_whole,
            can_be_ended: running::can_be_ended(py),
            state: Mutex::new(State { raised: None, told: Instant::now(), stage: "waiting" }),
        })
    }

    /// Must the work be given up, because the interpreter goes?
    fn is_ended(&self) -> bool {
        self.can_be_ended && running::is_exiting()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the function. The state is not locked meanwhile: the function may take its time.
    fn tell(&self, stage: &'static str, done: u64, total: Option<u64>) {
        let Some(callback) = &self.callback else { return };
        if self.is_cancelled() {
            return;
        }
        let called = Python::try_attach(|py| callback.call(py, stage, done, total));
        if let Some(Err(raised)) = called {
            self.state().raised.get_or_insert(raised);
        }
    }

    /// Looks for Ctrl-C, which Python handles only when it is asked to, in its main thread.
    fn look_for_signals(&self) {
        if !self.is_whole {
            return;
        }
        if let Some(Err(raised)) = Python::try_attach(|py| py.check_signals()) {
            self.state().raised.get_or_insert(raised);
        }
    }

    /// Runs `work` in threads that are gone when it is done, while this one looks for signals. Threads that
    /// a process keeps are lost to its children: a fork takes along only the thread that forks.
    fn accompany<T: Send>(&self, work: impl FnOnce(&Self) -> T + Send) -> T {
        let mut threads = Vec::new();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(
                std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)),
            )
            .spawn_handler(|thread| {
                let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                threads.push(builder.spawn(|| thread.run())?);
                Ok(())
            })
            .build();
        let Ok(pool) = pool else { return work(self) };
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
        self.state().stage = stage.word();
        self.tell(stage.word(), 0, None);
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
        self.state().raised.is_some() || self.is_ended()
    }
}

/// How work ended, and what was raised meanwhile by whoever listened.
pub(crate) struct Outcome<T> {
    pub(crate) done: Result<T, herma_core::Error>,
    pub(crate) raised: Option<PyErr>,
}

impl<T> Outcome<T> {
    /// What was raised comes first. A failure that has another cause than being stopped is noted on it.
    pub(crate) fn or_raise(self, py: Python<'_>, finished: Option<&str>) -> PyResult<T> {
        let Some(raised) = self.raised else { return self.done.map_err(errors::raise) };
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

/// Runs `work` without the interpreter, telling the callback, and tells all that came of it.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Listener) -> Result<T, herma_core::Error> + Send,
) -> Outcome<T> {
    let stopped =
        |raised: PyErr| Outcome { done: Err(ScanError::Cancelled.into()), raised: Some(raised) };
    let listener = match Listener::new(py, callback) {
        Ok(listener) => listener,
        Err(raised) => return stopped(raised),
    };
    let done = match without_interpreter(py, || listener.accompany(work)) {
        Ok(done) => done,
        Err(raised) => return stopped(raised),
    };
    let mut raised = listener.state().raised.take();
    if listener.is_ended() && done.is_err() {
        raised.get_or_insert_with(running::ended);
    }
    Outcome { done, raised }
}

/// Runs `work` without the interpreter, telling the callback.
pub(crate) fn with_progress<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Listener) -> Result<T, herma_core::Error> + Send,
) -> PyResult<T> {
    watched(py, callback, work).or_raise(py, None)
}

/// The same for work that changes something. If it came to its end although somebody wanted it stopped, the
/// exception says so: `what` is its name.
pub(crate) fn finishing<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    what: &str,
    work: impl FnOnce(&Listener) -> Result<T, herma_core::Error> + Send,
) -> PyResult<T> {
    watched(py, callback, work).or_raise(py, Some(what))
}

/// Runs `work` without the interpreter.
pub(crate) fn quietly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, herma_core::Error> + Send,
) -> PyResult<T> {
    without_interpreter(py, work)?.map_err(errors::raise)
}
