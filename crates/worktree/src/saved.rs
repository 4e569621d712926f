//! What a scan asks about the store.

use herma_store::ObjectId;

/// Tells what is in the store already. Leaving it out of the next checkpoint would take it from undo and
/// protect nothing.
pub trait AlreadySaved: Sync {
    /// Does the newest checkpoint of the project have a file at this path?
    fn has_path(&self, path: &[u8]) -> bool;
    /// Does the store have this very content?
    fn has_content(&self, id: &ObjectId) -> bool;
    /// Has this directory below the project's root checkpoints of its own?
    fn has_project(&self, _directory: &[u8]) -> bool {
        false
    }
}

/// A store with nothing in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingSaved;

impl AlreadySaved for NothingSaved {
    fn has_path(&self, _path: &[u8]) -> bool {
        false
    }

    fn has_content(&self, _id: &ObjectId) -> bool {
        false
    }
}
