//! What a user may set, as the engine takes it. Reading it from a file is the caller's business.

use std::time::Duration;

use herma_fs::publish::Durability;

use crate::snapshot::excludes::ExcludeSettings;

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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_file_size: Some(10 << 20),
            excludes: ExcludeSettings::default(),
            lock_wait: Duration::from_secs(10),
            durability: Durability::Synced,
            threads: 0,
        }
    }
}
