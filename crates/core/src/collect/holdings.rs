//! What checkpoints hold, in bytes on disk: for the limits, and for people who want to know what costs them
//! their disk.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::into_error;
use super::mark::WalkError;
use crate::error::Error;
use crate::id::ObjectId;
use crate::message::Message;
use crate::retention::CheckpointKey;
use crate::retention::Holdings;
use crate::retention::Shares;
use crate::store::copy::CopyError;
use crate::store::layout::StoreDirs;
use crate::store::object::EntryMode;
use crate::store::objects::ObjectError;
use crate::store::objects::Objects;

/// What an object costs in a pack's index: its id, a checksum and an offset.
const INDEX_ENTRY: u64 = 28;

/// How many bytes each object takes on disk.
pub struct Lengths {
    of: HashMap<ObjectId, u64>,
    /// All of them together, an object that is stored twice counted twice.
    pub total: u64,
}

impl Lengths {
    /// Reads the indexes of all packs, and looks at the loose objects.
    pub fn read(dirs: &StoreDirs, objects: &Objects) -> Result<Self, Error> {
        let mut lengths = Self {
            of: HashMap::new(),
            total: 0,
        };
        for pack in objects.packs()? {
            match pack.entry_lengths() {
                Ok(entries) => {
                    for (id, _, length) in entries {
                        lengths.add(id, length + INDEX_ENTRY);
                    }
                }
                Err(CopyError::Fs(e)) => return Err(e.into()),
                // A damaged pack takes room that no checkpoint can give back.
                Err(_) => {}
            }
        }
        for file in super::inventory::loose_files(dirs.objects(), None)? {
            lengths.add(file.id, file.bytes);
        }
        Ok(lengths)
    }

    fn add(&mut self, id: ObjectId, length: u64) {
        self.total += length;
        let least = self.of.entry(id).or_insert(length);
        *least = length.min(*least);
    }

    /// The bytes of one object; of the smallest copy, if there are several.
    pub fn get(&self, id: &ObjectId) -> u64 {
        self.of.get(id).copied().unwrap_or(0)
    }
}

/// The holdings of the checkpoints of a store.
pub struct StoreHoldings<'a> {
    objects: &'a Objects,
    lengths: &'a Lengths,
    go_on: &'a (dyn Fn(u64) -> bool + Sync),
}

impl<'a> StoreHoldings<'a> {
    /// The holdings of checkpoints whose objects are these.
    pub fn new(
        objects: &'a Objects,
        lengths: &'a Lengths,
        go_on: &'a (dyn Fn(u64) -> bool + Sync),
    ) -> Self {
        Self {
            objects,
            lengths,
            go_on,
        }
    }
}

impl Holdings for StoreHoldings<'_> {
    fn shares(&mut self, checkpoints: &[CheckpointKey]) -> Result<(Shares, Vec<u32>), Error> {
        let mut found = Found {
            lengths: self.lengths,
            shares: Shares::default(),
            pieces: HashMap::new(),
            trees: Vec::new(),
        };
        let mut whole = Vec::with_capacity(checkpoints.len());
        for key in checkpoints {
            let (commit, is_new) = found.piece(key.id);
            whole.push(commit);
            if is_new && let Some(read) = readable(self.objects.read_commit(&key.id))? {
                let extra = Message::parse(&read.message).extra;
                let trees = std::iter::once(read.tree).chain(extra);
                let parts = trees.map(|tree| found.tree(tree)).collect();
                found.shares.set_parts(commit, parts);
            }
            while let Some((piece, tree)) = found.trees.pop() {
                if !(self.go_on)(found.pieces.len() as u64) {
                    return Err(into_error(WalkError::Cancelled));
                }
                // What cannot be read is no reason to keep or to drop anything.
                let entries = readable(self.objects.read_tree(&tree))?.unwrap_or_default();
                let parts = entries.iter().filter_map(|entry| match entry.mode {
                    EntryMode::Nested => None,
                    EntryMode::Directory => Some(found.tree(entry.id)),
                    _ => Some(found.piece(entry.id).0),
                });
                let parts = parts.collect();
                found.shares.set_parts(piece, parts);
            }
        }
        Ok((found.shares, whole))
    }
}

/// The objects that were met, each one piece.
struct Found<'a> {
    lengths: &'a Lengths,
    shares: Shares,
    pieces: HashMap<ObjectId, u32>,
    /// Directories that were met and not read yet.
    trees: Vec<(u32, ObjectId)>,
}

impl Found<'_> {
    /// The piece of an object, and whether it was met for the first time.
    fn piece(&mut self, id: ObjectId) -> (u32, bool) {
        match self.pieces.entry(id) {
            Entry::Occupied(piece) => (*piece.get(), false),
            Entry::Vacant(place) => (*place.insert(self.shares.add(self.lengths.get(&id))), true),
        }
    }

    fn tree(&mut self, id: ObjectId) -> u32 {
        let (piece, is_new) = self.piece(id);
        if is_new {
            self.trees.push((piece, id));
        }
        piece
    }
}

/// What could be read; only a system that refuses ends it all.
fn readable<T>(read: Result<T, ObjectError>) -> Result<Option<T>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ObjectError::Fs(e)) => Err(e.into()),
        Err(_) => Ok(None),
    }
}
