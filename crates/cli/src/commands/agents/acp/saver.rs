//! Saves, one after the other, while a message is held back for it.
//!
//! Who holds a message back waits for its save, but not for ever. What goes wrong is said on stderr, which the
//! editor shows to nobody or in a log, and never stands in the way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::recorder::{Moment, Recorder};
use super::traffic::Happening;
use crate::command_env::CommandEnv;

/// What waits for a save that takes long. More is not noted: the next save covers the same files.
const MAX_WAITING: usize = 32;
/// Problems that are told; they tend to repeat.
const MAX_PROBLEMS_TOLD: usize = 10;

struct Job {
    /// `None`: there is nothing more to come.
    happening: Option<Happening>,
    /// When it happened.
    at: Moment,
    /// Hangs up when the job is done.
    done: Sender<()>,
}

/// Saves what happens; there is one thread that does.
#[derive(Clone)]
pub(super) struct Saver {
    /// `None`: the settings want no saves.
    jobs: Option<SyncSender<Job>>,
    env: Arc<CommandEnv>,
    /// How long a message is held back at most.
    time_limit: Duration,
    told: Arc<Told>,
}

/// What was said already.
#[derive(Default)]
struct Told {
    /// Saves that failed.
    failures: AtomicUsize,
    /// That a message cannot be read.
    unreadable: AtomicBool,
}

impl Saver {
    /// Starts the thread.
    pub(super) fn start(
        env: &Arc<CommandEnv>,
        agent: Option<String>,
        time_limit: Duration,
    ) -> Self {
        if let Some(switch) = env.settings.switched_off_by() {
            env.ui.warning(format_args!("{switch}: nothing is saved"));
            return Self { jobs: None, env: Arc::clone(env), time_limit, told: Arc::default() };
        }
        let told = Arc::<Told>::default();
        let failures = Arc::clone(&told);
        let (jobs, todo) = sync_channel::<Job>(MAX_WAITING);
        let worker = Arc::clone(env);
        thread::spawn(move || {
            let mut recorder = Recorder::new(&worker, agent, time_limit);
            for job in todo {
                let noted = match job.happening {
                    Some(happening) => recorder.note(happening, &job.at),
                    None => recorder.end_all(),
                };
                if let Err(error) = noted {
                    let before = failures.failures.fetch_add(1, Ordering::Relaxed);
                    if before < MAX_PROBLEMS_TOLD {
                        worker.ui.warning(format_args!("not saved: {}", error.message));
                    }
                }
                drop(job.done);
            }
        });
        Self { jobs: Some(jobs), env: Arc::clone(env), time_limit, told }
    }

    /// Says, once, that a message cannot be read, and what is done about it.
    pub(super) fn tell_of_unreadable(&self) {
        if self.jobs.is_some() && !self.told.unreadable.swap(true, Ordering::Relaxed) {
            self.env.ui.warning(
                "a message of the editor cannot be read; the projects of all sessions are saved before it",
            );
        }
    }

    /// Notes what happens. If it begins something, this waits until the project is saved.
    pub(super) fn note(&self, happening: Happening) {
        let Some(jobs) = &self.jobs else { return };
        let waits = happening.what.waits();
        let (done, is_done) = mpsc::channel();
        let job = Job { happening: Some(happening), at: Moment::now(), done };
        if jobs.try_send(job).is_err() {
            self.env.ui.warning("not saved: the saves before this one are not done yet");
            return;
        }
        if waits && is_done.recv_timeout(self.time_limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            self.env.ui.warning("saving takes long; the message was passed on before it was done");
        }
    }

    /// Waits for what is under way, as long as a message would, and says what nobody was told yet.
    pub(super) fn finish(&self) {
        let Some(jobs) = &self.jobs else { return };
        let (done, is_done) = mpsc::channel();
        let is_queued = jobs.try_send(Job { happening: None, at: Moment::now(), done }).is_ok();
        let waited = is_done.recv_timeout(self.time_limit);
        // A save that takes longer is ended with us, which leaves no half of it.
        if !is_queued || waited == Err(mpsc::RecvTimeoutError::Timeout) {
            self.env.ui.warning("not saved: a save was not done when the agent ended");
        }
        let failures = self.told.failures.load(Ordering::Relaxed);
        if failures > MAX_PROBLEMS_TOLD {
            let more = failures - MAX_PROBLEMS_TOLD;
            self.env.ui.warning(format_args!("not saved: {more} more saves failed"));
        }
    }
}
