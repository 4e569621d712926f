//! Contents that were put into a pack a moment ago, kept for whoever asks for them next.
//!
//! Right after a save collected what changed, the changed lines are counted. Without this, each of these files would be inflated and
//! hashed again.

use std::collections::HashMap;
use std::sync::PoisonError;

use herma_fs::sync::Mutex;

use super::object::Kind;
use super::object::Object;
use crate::id::ObjectId;

/// What is larger is read from the pack again.
const LARGEST: usize = 64 << 10;

/// Small contents, as many as there is room for.
pub(super) struct Recent {
    kept: Mutex<Kept>,
    is_wanted: bool,
}

struct Kept {
    room: usize,
    contents: HashMap<ObjectId, Vec<u8>>,
}

impl Recent {
    /// Has room for so many bytes.
    pub(super) fn with_room(room: usize) -> Self {
        Self {
            kept: Mutex::new(Kept {
                room,
                contents: HashMap::new(),
            }),
            is_wanted: room > 0,
        }
    }

    /// Keeps a content, if it is small and there is room.
    pub(super) fn keep(&self, id: ObjectId, kind: Kind, data: &[u8]) {
        if !self.is_wanted || kind != Kind::Blob || data.len() > LARGEST {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = kept.room.checked_sub(data.len()) {
            kept.room = room;
            kept.contents.insert(id, data.to_vec());
        }
    }

    /// Gives a content that was kept.
    pub(super) fn get(&self, id: &ObjectId) -> Option<Object> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let data = kept.contents.get(id)?.clone();
        Some(Object {
            kind: Kind::Blob,
            data,
        })
    }
}
