//! One line on stderr for what takes long, erased when it is done.
//!
//! Nothing is shown for the first quarter of a second, and then at most 30 times a second. Workers call
//! this for every file, so the common case is one atomic load.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use herma_core::engine::{Progress, Stage};
use herma_fs::process::foreground::is_ignored;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::low_level::unregister;

/// How long a command may take in silence.
const SILENCE: Duration = Duration::from_millis(250);

/// The shortest time between two drawings.
const PAUSE: Duration = Duration::from_millis(34);

/// Who pressed Control-C to end a command may press it once more than needed; what comes so soon after the
/// command is not meant for the save that follows it.
const DEAF: Duration = Duration::from_secs(1);

/// Shows how far the engine is, and tells it when the user wants to stop.
pub(crate) struct TerminalProgress {
    is_shown: bool,
    started: Instant,
    /// Milliseconds after the start before which nothing is drawn.
    next_drawing: AtomicU64,
    state: Mutex<State>,
    cancelled: Arc<AtomicBool>,
    handlers: Vec<SigId>,
    /// For how long nothing that the user wants to stop is heard.
    deaf: Duration,
}

/// Somebody within the program who hears how far the engine is.
pub(crate) type Listener = Arc<dyn Progress + Send + Sync>;

struct State {
    stage: Option<Stage>,
    has_drawn: bool,
}

impl TerminalProgress {
    /// Starts watching for Control-C. A second one ends the program at once; what was published by
    /// then is complete, and an interrupted restore is finished or reversed by the next command.
    pub(crate) fn start(is_shown: bool) -> Self {
        let mut new = Self::deaf(is_shown, Duration::ZERO);
        for signal in heard() {
            // Without the handlers a signal ends the program at once, which is safe as well.
            let flag = || Arc::clone(&new.cancelled);
            let handlers =
                [register_conditional_shutdown(signal, 130, flag()), register(signal, flag())];
            new.handlers.extend(handlers.into_iter().flatten());
        }
        new
    }

    /// Like [`Self::start`], for what follows a command that Control-C may have ended: the second one does
    /// not end the program, and what comes right after the command is not heard.
    pub(crate) fn start_after_command(is_shown: bool) -> Self {
        let mut new = Self::deaf(is_shown, DEAF);
        for signal in heard() {
            let flag = Arc::clone(&new.cancelled);
            new.handlers.extend(register(signal, flag));
        }
        new
    }

    fn deaf(is_shown: bool, deaf: Duration) -> Self {
        Self {
            is_shown,
            started: Instant::now(),
            next_drawing: AtomicU64::new(SILENCE.as_millis() as u64),
            state: Mutex::new(State { stage: None, has_drawn: false }),
            cancelled: Arc::new(AtomicBool::new(false)),
            handlers: Vec::new(),
            deaf,
        }
    }

    /// Ends it, and stops watching for Control-C: from now on that is somebody else's. Says whether the
    /// user wanted to stop.
    pub(crate) fn let_go(self) -> bool {
        for handler in &self.handlers {
            unregister(*handler);
        }
        self.is_cancelled()
    }

    /// Draws the line if it is time to.
    fn draw(&self, done: u64, total: Option<u64>) {
        let elapsed = self.started.elapsed().as_millis() as u64;
        let due = self.next_drawing.load(Ordering::Relaxed);
        if !self.is_shown || elapsed < due {
            return;
        }
        let next = elapsed + PAUSE.as_millis() as u64;
        let won =
            self.next_drawing.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        if won.is_err() {
            return;
        }
        if let Ok(mut state) = self.state.try_lock() {
            state.has_drawn = true;
            let text = line(state.stage, done, total);
            // A terminal that takes no more text gets none; the command goes on.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }
}

/// What asks the program to stop: Control-C, somebody who ends it, a terminal that is closed. A job in the
/// background does not hear the Control-C of the one in front, and one that is to outlive its terminal
/// (`nohup`) not the end of that.
fn heard() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal))
}

/// `Scanning: 12,345 files` and the like.
fn line(stage: Option<Stage>, done: u64, total: Option<u64>) -> String {
    let (verb, what) = match stage {
        Some(Stage::Waiting) => return "Waiting for another herma to finish".to_owned(),
        Some(Stage::Scanning) | None => ("Scanning", "files"),
        Some(Stage::Saving) => ("Saving", "files"),
        Some(Stage::Restoring) => ("Restoring", "files"),
        Some(Stage::Verifying) => ("Verifying", "files"),
        Some(Stage::Marking) => ("Looking at what is needed", "objects"),
        Some(Stage::Merging) => ("Merging packs", "objects"),
        Some(Stage::Removing) => ("Removing what is not needed", "files"),
    };
    match total {
        Some(total) => format!("{verb}: {done} of {total} {what}"),
        None if done == 0 => verb.to_owned(),
        None => format!("{verb}: {done} {what}"),
    }
}

impl Progress for TerminalProgress {
    fn stage(&self, stage: Stage) {
        if let Ok(mut state) = self.state.lock() {
            state.stage = Some(stage);
        }
        self.draw(0, None);
    }

    fn files(&self, done: u64, total: Option<u64>) {
        self.draw(done, total);
    }

    fn is_cancelled(&self) -> bool {
        if self.started.elapsed() < self.deaf {
            self.cancelled.store(false, Ordering::Relaxed);
        }
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Drop for TerminalProgress {
    fn drop(&mut self) {
        if self.state.get_mut().is_ok_and(|state| state.has_drawn) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known() {
        assert_eq!(line(None, 0, None), "Scanning");
        assert_eq!(line(Some(Stage::Saving), 3, None), "Saving: 3 files");
        assert_eq!(line(Some(Stage::Restoring), 3, Some(9)), "Restoring: 3 of 9 files");
        assert_eq!(line(Some(Stage::Merging), 3, None), "Merging packs: 3 objects");
    }
}
