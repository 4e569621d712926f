//! Stopping work that nobody waits for when something more urgent comes up.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use super::Progress;
use super::Stage;
use super::cleaning_record::PackFilesFacts;
use crate::error::Error;
use crate::retention::is_near;
use crate::store::layout::StoreDirs;

/// How often the store is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// So many packs more than there were are not the work's own: it writes one, and takes others away for it.
const OTHERS: usize = 4;

/// Passes progress on, and stops when what others save meanwhile brings the store near its limit.
pub(super) struct Patient<'a> {
    progress: &'a dyn Progress,
    dirs: &'a StoreDirs,
    limit: u64,
    packs: usize,
    state: Mutex<(Instant, bool)>,
}

impl<'a> Patient<'a> {
    /// `limit` is how many bytes the store may have; 0 is no limit.
    pub(super) fn new(
        progress: &'a dyn Progress,
        dirs: &'a StoreDirs,
        limit: u64,
    ) -> Result<Self, Error> {
        Ok(Self {
            progress,
            dirs,
            limit,
            packs: PackFilesFacts::of(dirs)?.packs,
            state: Mutex::new((Instant::now(), false)),
        })
    }

    fn is_pressed(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.limit > 0 && !state.1 && state.0.elapsed() > INTERVAL {
            // What cannot be looked at is no reason to stop.
            let files = PackFilesFacts::of(self.dirs).unwrap_or_default();
            let has_grown = files.packs > self.packs + OTHERS;
            *state = (
                Instant::now(),
                has_grown && is_near(files.bytes, self.limit),
            );
        }
        state.1
    }
}

impl Progress for Patient<'_> {
    fn stage(&self, stage: Stage) {
        self.progress.stage(stage);
    }

    fn files(&self, done: u64, total: Option<u64>) {
        self.progress.files(done, total);
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled() || self.is_pressed()
    }
}
