//! Takes events to the projects they are about.

use std::collections::HashMap;

use herma_fs::watch::Event;
use herma_fs::watch::WatchId;
use herma_fs::watch::What;

use super::Use;
use crate::snapshot::stat_cache::CACHE_FILE;
use crate::watch::root::Root;
use crate::watch::root::Unneeded;

/// Takes events to the projects they are about.
pub(super) struct Notes<'w> {
    pub(super) roots: &'w mut Vec<Root>,
    pub(super) uses: &'w HashMap<WatchId, Vec<Use>>,
    pub(super) sequence: &'w mut u64,
    pub(super) unneeded: Vec<(u64, Unneeded)>,
    pub(super) lost: Vec<u64>,
}

impl Notes<'_> {
    pub(super) fn take(&mut self, event: &Event<'_>) {
        // What is not known was given up before this was told.
        for used in self.uses.get(&event.watch).into_iter().flatten() {
            let (Use::Directory(instance, _) | Use::State(instance)) = *used;
            let Some(root) = self.roots.iter_mut().find(|r| r.instance == instance) else {
                continue;
            };
            let is_watched = match *used {
                Use::Directory(_, place) if root.tree.watch(place) == Some(event.watch) => {
                    *self.sequence += 1;
                    let mut unneeded = Vec::new();
                    let is_watched = root.apply(place, event, *self.sequence, &mut unneeded);
                    if !unneeded.is_empty() {
                        self.unneeded.push((instance, unneeded));
                    }
                    is_watched
                }
                Use::Directory(..) => true,
                Use::State(_) => {
                    root.needs_sync |=
                        event.what == What::Came && event.name == CACHE_FILE.as_bytes();
                    event.what != What::Lost
                }
            };
            if !is_watched {
                self.lost.push(instance);
            }
        }
    }
}
