//! What a comparison of two states can be about.
//!
//! What belongs to somebody else in one of them is not covered by both: that it is in one tree and not in the other
//! means that it changed its owner, not that it was added or deleted.

use std::collections::BTreeMap;

use herma_diff::Change;
use herma_records::checkpoint::message::Message;
use herma_records::checkpoint::receipt::{left_out_of, summary_of};
use herma_store::objects::Objects;
use herma_store::{ObjectId, RelPath};
use herma_worktree::reason::Reason;
use herma_worktree::receipt::Summary;
use herma_worktree::stat_cache::StatCache;

/// Places that belong to somebody else in one of the states that are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign(BTreeMap<RelPath, Reason>);

impl Foreign {
    /// Adds those of the files as they are.
    pub(crate) fn add_present(&mut self, present: &StatCache) {
        if has_foreign(&present.header().summary) {
            for item in present.left_out() {
                self.add(&item.path, item.reason);
            }
        }
    }

    /// Adds those of a checkpoint whose receipt this is. One that cannot be read names none.
    pub(crate) fn add_receipt(&mut self, objects: &Objects, receipt: Option<ObjectId>) {
        let Some(receipt) = receipt else { return };
        if summary_of(objects, receipt).is_ok_and(|summary| has_foreign(&summary)) {
            for item in left_out_of(objects, receipt).unwrap_or_default() {
                self.add(&item.path, item.reason);
            }
        }
    }

    /// Adds those of a checkpoint.
    pub(crate) fn add_checkpoint(&mut self, objects: &Objects, checkpoint: &ObjectId) {
        let commit = objects.read_commit(checkpoint).ok();
        let receipt = commit.and_then(|commit| Message::parse(&commit.message).extra);
        self.add_receipt(objects, receipt);
    }

    fn add(&mut self, path: &[u8], reason: Reason) {
        if let Some(path) = RelPath::new(path).ok().filter(|_| reason.is_foreign()) {
            self.0.insert(path, reason);
        }
    }

    /// The place of somebody else that a path is at or below.
    fn around(&self, path: &RelPath) -> Option<&RelPath> {
        let mut place = RelPath::root();
        path.components().find_map(|name| {
            place = place.join(name);
            self.0.get_key_value(&place).map(|(place, _)| place)
        })
    }

    /// Takes out of `changes` what only changed its owner, and says where that was.
    pub(crate) fn take_out(&self, changes: &mut Vec<Change>) -> Vec<(RelPath, Reason)> {
        let mut found = BTreeMap::new();
        changes.retain(|change| {
            let place = self.around(&change.path);
            found.extend(place.map(|place| (place.clone(), self.0[place])));
            place.is_none()
        });
        found.into_iter().collect()
    }
}

/// Can changes between two states have to do with who owns what? Nothing has to be read if not.
pub(crate) fn may_be_foreign(changes: &[Change]) -> bool {
    let comes_or_goes = |change: &Change| change.old.is_none() || change.new.is_none();
    changes.iter().any(comes_or_goes)
}

fn has_foreign(summary: &Summary) -> bool {
    summary.left_out.keys().any(|reason| reason.is_foreign())
}
