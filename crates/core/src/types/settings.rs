//! What a user may set, as the engine takes it. Reading it from a file is the caller's business.

use std::time::Duration;

use herma_fs::publish::Durability;
pub use herma_records::identity::AskedLimits;
use herma_worktree::present::ScanSettings;
use herma_worktree::rules::ExcludeSettings;

/// How the engine behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Files larger than this many bytes are left out and named; `None` takes every size.
    pub max_file_size: Option<u64>,
    /// What is left out by rule.
    pub excludes: ExcludeSettings,
    /// How long to wait for another Herma working on the same project.
    pub lock_wait: Duration,
    /// Must a checkpoint survive a power cut once it is reported?
    pub durability: Durability,
    /// Threads for scanning and hashing; 0 takes one per core.
    pub threads: usize,
    /// How many directories a project must have for a look at all of them before a walk. Fewer are walked as soon.
    pub quick_check_from: u32,
    /// Does each restore, undo and redo get a number, that of a checkpoint of where it led? Hermes makes none.
    pub number_moves: bool,
    /// What is kept, and for how long.
    pub keeping: Keeping,
    /// What this caller asks for the projects it saves.
    pub asked: AskedLimits,
}

/// What is kept, and for how long. Pinned and named checkpoints, and the newest of every project that was not
/// deleted, are kept whatever the limits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// How many checkpoints a project may have, if somebody set that for the whole store; 0 is no limit.
    pub max_snapshots: Option<usize>,
    /// How many bytes the store may have, if somebody set that; 0 is no limit.
    pub max_total_size: Option<u64>,
    /// How many bytes of the disk are to be left free; 0 is no limit.
    pub min_free_disk: u64,
    /// For how many days a project that is no longer saved keeps its older checkpoints; 0 is for ever, and then
    /// nothing else goes by age either.
    pub retention_days: u32,
    /// Clean up by age from time to time?
    pub auto_prune: bool,
    /// How many hours lie between two such cleanings.
    pub min_interval_hours: u32,
    /// Clean up after projects that were deleted?
    pub delete_orphans: bool,
}

impl Keeping {
    /// How densely a project in use is kept; `None` if nothing goes by age.
    pub fn thinning(&self) -> Option<Thinning> {
        let usual = Thinning::default();
        let whole_days = usual.whole_days.max(self.retention_days as usize);
        (self.retention_days > 0).then_some(Thinning { whole_days, ..usual })
    }

    /// How many bytes the store may have; `asked` is the largest number anybody asked for, where 0 is no limit.
    pub fn size_limit(&self, asked: Option<u64>) -> u64 {
        self.max_total_size.or(asked).unwrap_or(500 << 20)
    }
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            max_snapshots: None,
            max_total_size: None,
            min_free_disk: 0,
            retention_days: 30,
            auto_prune: true,
            min_interval_hours: 24,
            delete_orphans: true,
        }
    }
}

/// How densely the history of a project in use is kept, and how far it reaches back: a count of days and weeks in
/// which the project was saved, the newest first. What lies further back goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinning {
    /// Days of which everything stays.
    pub whole_days: usize,
    /// Days before those, of which one checkpoint stays each.
    pub daily: usize,
    /// Weeks before those, of which one checkpoint stays each.
    pub weekly: usize,
}

impl Default for Thinning {
    fn default() -> Self {
        Self { whole_days: 30, daily: 30, weekly: 26 }
    }
}

impl Settings {
    /// What of it a look at the project follows.
    pub fn scan(&self) -> ScanSettings<'_> {
        ScanSettings {
            max_file_size: self.max_file_size,
            excludes: &self.excludes,
            threads: self.threads,
            quick_check_from: self.quick_check_from,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_file_size: Some(10 << 20),
            excludes: ExcludeSettings::default(),
            lock_wait: Duration::from_secs(10),
            durability: Durability::Synced,
            threads: 0,
            quick_check_from: 200,
            number_moves: true,
            keeping: Keeping::default(),
            asked: AskedLimits::default(),
        }
    }
}
