//! A project, an engine with a watcher that really watches, and one without.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use herma_core::Checkpoint;
use herma_core::Engine;
use herma_core::EngineOptions;
use herma_core::Settings;
use herma_core::clock::Clock;
use herma_core::clock::Timestamp;
use herma_core::engine::NoProgress;
use herma_core::engine::Progress;
use herma_core::engine::SaveOptions;
use herma_core::engine::Saved;
use herma_core::restore::RestoreOptions;
use herma_core::watch::Answer;
use herma_core::watch::Question;
use herma_core::watch::Watcher;
use herma_core::watch::watching::Limits;
use herma_core::watch::watching::Watching;
use herma_fs::Dir;
use herma_fs::watch::inotify::Inotify;
use herma_testkit::Bounded;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
            offset_minutes: 0,
        }
    }
}

/// A watcher in this process.
struct Local {
    watching: Mutex<Watching<Inotify>>,
    last: Mutex<Option<Answer>>,
    told: AtomicUsize,
    is_deaf: AtomicBool,
}

impl Watcher for Local {
    fn changes(&self, question: &Question<'_>) -> Answer {
        if self.is_deaf.load(Ordering::Relaxed) {
            let last = self.last.lock().unwrap();
            return last.clone().expect("something was asked before");
        }
        let answer = self.watching.lock().unwrap().ask(question);
        if matches!(answer, Answer::Since { .. }) {
            self.told.fetch_add(1, Ordering::Relaxed);
        }
        *self.last.lock().unwrap() = Some(answer.clone());
        answer
    }
}

/// A project that is watched.
pub struct Scene {
    temp: tempfile::TempDir,
    pub root: PathBuf,
    local: Arc<Local>,
    watched: Engine,
    plain: Engine,
}

impl Scene {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(temp.path()).unwrap();
        let [root, home, place, outside] =
            ["project", "home", "place", "outside"].map(|name| base.join(name));
        for dir in [&root, &place, &outside] {
            std::fs::create_dir(dir).unwrap();
        }
        let limits = Limits {
            projects: 4,
            directories: 10_000,
        };
        let source = Inotify::new(Dir::open(&place).unwrap()).unwrap();
        let local = Arc::new(Local {
            watching: Mutex::new(Watching::new(source, limits, 1)),
            last: Mutex::new(None),
            told: AtomicUsize::new(0),
            is_deaf: AtomicBool::new(false),
        });
        let engine = |watcher: Option<Arc<dyn Watcher>>| {
            Engine::new(EngineOptions {
                home: home.clone(),
                user_home: None,
                clock: Arc::new(Still),
                settings: Settings::default(),
                watcher,
            })
        };
        let watched = engine(Some(Arc::clone(&local) as Arc<dyn Watcher>));
        Self {
            root,
            watched,
            plain: engine(None),
            local,
            temp,
        }
    }

    /// A directory beside the project.
    pub fn outside(&self) -> PathBuf {
        std::fs::canonicalize(self.temp.path().join("outside")).unwrap()
    }

    pub fn save(&self) -> Saved {
        self.save_with(&SaveOptions::default(), &NoProgress)
    }

    pub fn save_with(&self, options: &SaveOptions, progress: &dyn Progress) -> Saved {
        save(&self.watched, &self.root, options, progress)
    }

    /// A save that believes nobody.
    pub fn rehash(&self) -> Saved {
        let options = SaveOptions {
            rehash: true,
            ..SaveOptions::default()
        };
        save(&self.plain, &self.root, &options, &NoProgress)
    }

    /// Saves until the watcher knows everything and every file is older than the clock is exact.
    pub fn settle(&self) {
        self.save();
        self.work();
        std::thread::sleep(Duration::from_millis(15));
        for _ in 0..3 {
            self.save();
            self.work();
            self.look_into_doubts();
        }
    }

    fn work(&self) {
        let mut watching = self.local.watching.lock().unwrap();
        watching.pump();
        while watching.work() {}
    }

    /// Lets the watcher find out who holds what it is not sure of. Says whether there was anything.
    pub fn look_into_doubts(&self) -> bool {
        let mut watching = self.local.watching.lock().unwrap();
        watching.pump();
        let check = watching.next_quick_check();
        let found = check.and_then(herma_core::watch::check::Check::run);
        if let Some(found) = &found {
            watching.checked(found);
        }
        found.is_some()
    }

    /// From now on the last answer is given again.
    pub fn deafen(&self) {
        self.save();
        self.local.is_deaf.store(true, Ordering::Relaxed);
    }

    /// How often the watcher knew.
    pub fn told(&self) -> usize {
        self.local.told.load(Ordering::Relaxed)
    }

    pub fn restore(&self, checkpoint: &Checkpoint) {
        let project = self.watched.project(&self.root).unwrap();
        let options = RestoreOptions::default();
        project.restore(checkpoint, &options, &NoProgress).unwrap();
    }

    pub fn undo(&self) {
        let project = self.watched.project(&self.root).unwrap();
        project.undo(&NoProgress, false).unwrap();
    }

    /// What the second checkpoint has and the first has not.
    pub fn difference(&self, saved: &Checkpoint, again: &Checkpoint) -> String {
        let store = self.plain.store_dir();
        let output = std::process::Command::new("git")
            .arg("--git-dir")
            .arg(store)
            .args(["diff", "--raw"])
            .args([saved.tree.to_hex(), again.tree.to_hex()])
            .bounded_output();
        output.map_or(String::new(), |output| {
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }
}

fn save(engine: &Engine, root: &Path, options: &SaveOptions, progress: &dyn Progress) -> Saved {
    let project = engine.project(root).unwrap();
    project.save(options, progress).unwrap()
}
