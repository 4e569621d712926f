//! Contents that were put into a pack a moment ago, kept for whoever asks for them next.
//!
//! Right after a save collected what changed, the changed lines are counted, and a restore replaces the files. Without this, each of
//! them would be inflated and hashed again.

use std::collections::HashMap;
use std::sync::PoisonError;

use herma_fs::sync::Mutex;

use crate::ObjectId;
use crate::object::{Kind, Object};

/// What is larger is read from the pack again.
const MAX_KEPT_BYTES: usize = 64 << 10;

/// Small contents, as many as there is room for.
#[derive(Debug)]
pub struct RecentContents {
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    room: usize,
    contents: HashMap<ObjectId, Vec<u8>>,
}

impl Default for RecentContents {
    fn default() -> Self {
        Self::with_room(0)
    }
}

impl RecentContents {
    /// Has room for so many bytes.
    pub fn with_room(room: usize) -> Self {
        Self { kept: Mutex::new(Kept { room, contents: HashMap::new() }) }
    }

    /// Keeps a content, if it is small and there is room.
    pub fn keep(&self, id: ObjectId, kind: Kind, data: &[u8]) {
        if kind != Kind::Blob || data.len() > MAX_KEPT_BYTES {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = kept.room.checked_sub(data.len()) {
            kept.room = room;
            kept.contents.insert(id, data.to_vec());
        }
    }

    /// Is this, byte for byte, the content with this id? `None` if that one was not kept.
    pub fn is(&self, id: &ObjectId, data: &[u8]) -> Option<bool> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.contents.get(id).map(|content| content == data)
    }

    /// How long the content with this id is, if it was kept.
    pub fn length_of(&self, id: &ObjectId) -> Option<usize> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.contents.get(id).map(Vec::len)
    }

    /// Gives a content that was kept.
    pub fn get(&self, id: &ObjectId) -> Option<Object> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let data = kept.contents.get(id)?.clone();
        Some(Object { kind: Kind::Blob, data })
    }
}
