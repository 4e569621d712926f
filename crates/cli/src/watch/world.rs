//! What no directory tells, and makes an answer wrong all the same: something is mounted over a part of the
//! project, or the machine was asleep.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use herma_fs::process::since_boot;
use herma_fs::watch::mounts;
use herma_fs::watch::mounts::Mounts;

/// Clocks that are read one after the other differ by less.
const SLEEP: Duration = Duration::from_secs(2);

/// Mounts and sleep.
pub(super) struct World {
    mounts: Mounts,
    namespace: u64,
    beneath: HashMap<PathBuf, Option<Vec<Vec<u8>>>>,
    begun: (Instant, Duration),
}

impl World {
    /// As it is now.
    pub(super) fn new() -> herma_fs::Result<Self> {
        Ok(Self {
            mounts: Mounts::open()?,
            namespace: mounts::namespace(),
            beneath: HashMap::new(),
            begun: (Instant::now(), since_boot()),
        })
    }

    /// Does somebody with this set of mounts see what we see?
    pub(super) fn is_ours(&self, namespace: u64) -> bool {
        self.namespace == namespace
    }

    /// Was the machine asleep since this was last asked?
    pub(super) fn has_slept(&mut self) -> bool {
        let (awake, since) = self.begun;
        let slept = since_boot()
            .saturating_sub(since)
            .saturating_sub(awake.elapsed());
        if slept > SLEEP {
            self.begun = (Instant::now(), since_boot());
        }
        slept > SLEEP
    }

    /// Remembers what is mounted in a project.
    pub(super) fn remember(&mut self, root: &Path) {
        if !self.beneath.contains_key(root) {
            let beneath = self.mounts.beneath(root);
            self.beneath.insert(root.to_owned(), beneath);
        }
    }

    /// Is something mounted within a project? What happens there may be told elsewhere: a file can be mounted over another.
    pub(super) fn has_mounts_within(&self, root: &Path) -> bool {
        let at_root = [b" ", root.as_os_str().as_bytes()].concat();
        let beneath = self.beneath.get(root).and_then(Option::as_ref);
        beneath.is_none_or(|mounts| mounts.iter().any(|mount| !mount.ends_with(&at_root)))
    }

    /// The projects in which something was mounted or unmounted, or of which that is not known.
    pub(super) fn remounted(&mut self) -> Vec<PathBuf> {
        if !self.mounts.have_changed() {
            return Vec::new();
        }
        let Self {
            mounts, beneath, ..
        } = self;
        let mut other = Vec::new();
        beneath.retain(|root, known| {
            let now = mounts.beneath(root);
            let is_same = now.is_some() && now == *known;
            if !is_same {
                other.push(root.clone());
            }
            is_same
        });
        other
    }

    /// Keeps only what is said of these projects.
    pub(super) fn keep_only(&mut self, roots: &[PathBuf]) {
        self.beneath.retain(|root, _| roots.contains(root));
    }
}
