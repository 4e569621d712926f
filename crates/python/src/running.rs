//! Calls that are under way, and the end of the interpreter.
//!
//! A thread that asks for the interpreter once it is being taken down is ended on the spot, in the middle of
//! whatever it does; in the middle of Rust that ends the whole process with a crash. So before Python takes the
//! interpreter down, calls of other threads are asked to stop and waited for, and none begins any more.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A function that never returns must not keep a process alive.
const MAX_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
static EXITING: AtomicBool = AtomicBool::new(false);
/// The thread that takes the interpreter down. It may go on: nobody ends it.
static LAST_THREAD: PyOnceLock<ThreadId> = PyOnceLock::new();

/// A call that is under way, for as long as this lives.
pub(crate) struct Running(());

impl Running {
    fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A child that was forked inside a call has begun to count anew.
        let less = |count: usize| count.checked_sub(1);
        let _ = UNDER_WAY.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }
}

/// What ends a thread that is in the way of the end. Python says nothing about a thread that ends so.
pub(crate) fn ended() -> PyErr {
    PySystemExit::new_err("the interpreter is exiting")
}

/// Is the interpreter about to go?
pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// May this thread be ended because the interpreter goes?
pub(crate) fn can_be_ended(py: Python<'_>) -> bool {
    let last = LAST_THREAD.get(py);
    last.is_none_or(|last| *last != std::thread::current().id())
}

/// Can functions of Python still be called by other threads than the last one?
pub(crate) fn is_whole(py: Python<'_>) -> bool {
    let asked = py.import("sys").and_then(|sys| sys.call_method0("is_finalizing"));
    asked.and_then(|finalizing| finalizing.is_truthy()).is_ok_and(|finalizing| !finalizing)
}

/// Runs `work` without the interpreter.
pub(crate) fn without_interpreter<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if is_exiting() && can_be_ended(py) {
        return Err(ended());
    }
    // ORDER: counted while this thread has the interpreter, and until it has it again.
    let running = Running::begin();
    let done = py.detach(work);
    drop(running);
    Ok(done)
}

/// Waits until no call is under way. Python calls this when it is about to take the interpreter down.
#[pyfunction]
fn wait_for_calls(py: Python<'_>) -> PyResult<()> {
    // ORDER: a call that sees no end coming is counted by the time this thread looks.
    LAST_THREAD.get_or_init(py, || std::thread::current().id());
    EXITING.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    while UNDER_WAY.load(Ordering::SeqCst) > 0 && begun.elapsed() < MAX_WAIT {
        py.detach(|| std::thread::sleep(PAUSE));
        py.check_signals()?;
    }
    Ok(())
}

/// The calls of other threads are not under way in a child.
#[pyfunction]
fn forget_calls() {
    UNDER_WAY.store(0, Ordering::SeqCst);
}

/// Has Python tell when it exits, and when it forks.
pub(crate) fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let wait = pyo3::wrap_pyfunction!(wait_for_calls, module)?;
    py.import("atexit")?.call_method1("register", (wait,))?;
    let forking = pyo3::types::PyDict::new(py);
    forking.set_item("after_in_child", pyo3::wrap_pyfunction!(forget_calls, module)?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&forking))?;
    Ok(())
}
