//! How far a request is, for its client; and for the engine, whether anybody still wants to know.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use herma_core::engine::{Progress, Stage};
use herma_fs::sync::Mutex;
use serde_json::{Value, json};

use super::connection::Cancelled;
use super::message;
use super::outbox::Outbox;

/// The shortest time between two reports about the same stage of a request.
const PAUSE: Duration = Duration::from_millis(100);

/// Tells how far one request is.
pub(super) struct RequestProgress {
    token: Option<Value>,
    outbox: Arc<Outbox>,
    cancelled: Cancelled,
    told: Mutex<Told>,
}

struct Told {
    stage: Option<Stage>,
    /// What the stages before came to: the number always grows.
    before: u64,
    last: u64,
    time: Instant,
}

impl RequestProgress {
    /// For a client that gave this token, if it wants to know.
    pub(super) fn new(token: Option<Value>, outbox: &Arc<Outbox>, cancelled: &Cancelled) -> Self {
        Self {
            token: token.filter(message::is_id),
            outbox: Arc::clone(outbox),
            cancelled: Arc::clone(cancelled),
            told: Mutex::new(Told { stage: None, before: 0, last: 0, time: Instant::now() }),
        }
    }

    fn tell(&self, told: &mut Told, done: u64, total: Option<u64>) {
        let Some(token) = &self.token else { return };
        let progress = told.before.saturating_add(done);
        if progress <= told.last {
            return;
        }
        (told.last, told.time) = (progress, Instant::now());
        let mut params = json!({"progressToken": token, "progress": progress});
        if let Some(total) = total {
            params["total"] = told.before.saturating_add(total).into();
        }
        if let Some(stage) = told.stage {
            params["message"] = stage.word().into();
        }
        let line = message::notification_line("notifications/progress", &params);
        self.outbox.notify("progress".to_owned(), line);
    }
}

impl Progress for RequestProgress {
    fn stage(&self, stage: Stage) {
        if let Ok(mut told) = self.told.lock() {
            (told.stage, told.before) = (Some(stage), told.last + 1);
            self.tell(&mut told, 0, None);
        }
    }

    fn files(&self, done: u64, total: Option<u64>) {
        // Asked for every file: workers that meet here do not wait for each other, one of them tells.
        if self.token.is_some()
            && let Ok(mut told) = self.told.try_lock()
            && told.time.elapsed() >= PAUSE
        {
            self.tell(&mut told, done, total);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
