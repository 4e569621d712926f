//! What tests about cleaning share: a clock set by hand, several projects, and everything that must still be
//! there afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use herma_core::cleanup::{CleanRequest, Cleaned, Limits};
use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::types::clock::Timestamp;
use herma_core::{Checkpoint, Clock, ObjectId, SaveOptions, Saved, Settings};
use herma_store::gc::Thoroughness;
pub use herma_testkit::tree::names_below;
use herma_testkit::tree::{Tree, assert_same};

use super::project::{TestProject, engine_with_clock};

pub const HOUR: i64 = 3600;
pub const DAY: i64 = 24 * HOUR;
/// When the tests begin.
pub const START: i64 = 1_790_000_000;

/// A clock that shows what it was told to.
pub struct HandClock(AtomicI64);

impl HandClock {
    pub fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::SeqCst);
    }

    pub fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn seconds(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp { seconds: self.seconds(), nanos: 0, offset_minutes: 0 }
    }
}

/// A project whose clock is set by hand.
pub fn with_clock(settings: Settings) -> (TestProject, Arc<HandClock>) {
    let mut p = TestProject::new();
    let clock = Arc::new(HandClock(START.into()));
    p.engine = engine_with_clock(&p.home(), None, settings, Arc::clone(&clock) as _);
    (p, clock)
}

/// Settings with which a project keeps twenty checkpoints, as Hermes has it.
pub fn keeping_twenty() -> Settings {
    let mut settings = Settings::default();
    settings.keeping.max_snapshots = Some(20);
    settings
}

/// Makes a project beside the first one.
pub fn make(p: &TestProject, name: &str) -> PathBuf {
    let root = p.base().canonicalize().unwrap().join(name);
    std::fs::create_dir_all(&root).unwrap();
    root
}

/// Saves the project at `root`.
pub fn save_at(p: &TestProject, root: &Path, reason: &str) -> Saved {
    let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
    let project = p.engine.project(root).unwrap();
    project.save_with(&options, &NoProgress).unwrap()
}

/// The reasons of the checkpoints of the project at `root`, oldest first.
pub fn reasons_at(p: &TestProject, root: &Path) -> Vec<String> {
    let list = p.engine.project(root).unwrap().timeline().unwrap();
    let reasons = list.iter().rev().map(|c| c.reason.to_string());
    reasons.collect()
}

/// Cleans up as the settings say; nobody is in the way, and nothing goes wrong.
#[track_caller]
pub fn maintain(p: &TestProject) -> Cleaned {
    let cleaned = p.engine.maintain(&NoProgress).unwrap();
    let cleaned = cleaned.expect("nobody else is cleaning");
    assert_eq!(cleaned.errors, [""; 0], "{cleaned:?}");
    cleaned
}

/// Cleans up within these limits, while somebody waits for it.
#[track_caller]
pub fn clean(p: &TestProject, limits: Limits) -> Cleaned {
    let request = CleanRequest { limits, attended: true, clock_is_right: false };
    let cleaned = p.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(cleaned.errors, [""; 0], "{cleaned:?}");
    cleaned
}

/// Collects thoroughly.
#[track_caller]
pub fn collect(p: &TestProject) -> Cleaned {
    p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap()
}

/// Checkpoints and what they hold.
pub struct Saves(pub Vec<(ObjectId, Tree)>);

impl Saves {
    /// So many checkpoints that share nothing but an unchanged file.
    pub fn make(p: &TestProject, count: u64) -> Self {
        p.write("same.txt", "the same\n");
        let saves = (0..count).map(|number| {
            p.write("a.txt", super::cleaning::text(number, 20));
            p.write("sub/b.txt", super::cleaning::text(1000 + number, 20));
            // Full modes are stored beside the tree.
            p.chmod("a.txt", 0o600 + number as u32 % 64);
            let saved = p.save(&format!("save {number}")).checkpoint;
            (saved.id, p.tree())
        });
        Self(saves.collect())
    }

    /// A checkpoint as the list has it.
    pub fn find(&self, p: &TestProject, number: usize) -> Checkpoint {
        p.find(&format!("id:{}", self.0[number].0))
    }

    /// Every one of them comes back exactly.
    #[track_caller]
    pub fn check(&self, p: &TestProject) {
        self.check_but(p, usize::MAX);
    }

    /// The same for all but one.
    #[track_caller]
    pub fn check_but(&self, p: &TestProject, damaged: usize) {
        for (number, (id, tree)) in self.0.iter().enumerate() {
            if number == damaged {
                continue;
            }
            let checkpoint = p.find(&format!("id:{id}"));
            let options = RestoreOptions::default();
            let restored = p.project().restore_with(&checkpoint, &options, &NoProgress);
            restored.unwrap_or_else(|e| panic!("checkpoint {number}: {e}"));
            assert_same(tree, &p.tree(), "a checkpoint that must stay");
        }
    }
}

/// The packs of the store.
pub fn packs(p: &TestProject) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(p.store().join("objects/pack")).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
        .collect();
    found.sort();
    found
}

/// The pack that holds this object.
pub fn pack_with(p: &TestProject, id: &str) -> PathBuf {
    let holds = |path: &PathBuf| {
        let index = std::fs::read(path.with_extension("idx")).unwrap();
        let raw: Vec<u8> =
            (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
        index.windows(20).any(|window| window == raw)
    };
    packs(p).into_iter().find(holds).expect("some pack has it")
}

/// Replaces a file that may be read-only.
pub fn overwrite(path: &Path, bytes: &[u8]) {
    // There may be none yet.
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
}

/// Moves a file away, out of its read-only directory or into another.
pub fn move_to(path: &Path, directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    std::fs::rename(path, directory.join(path.file_name().unwrap())).unwrap();
}

/// What git answers, on one line.
pub fn git_line(p: &TestProject, args: &[&str]) -> String {
    p.repository().git(args).success().line().to_owned()
}
