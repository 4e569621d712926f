//! What checkpoints hold, in bytes on disk: for the limits, and for people who want to know what costs them
//! their disk.

use std::collections::BTreeSet;
use std::collections::HashMap;

use super::into_error;
use super::mark::Walk;
use crate::error::Error;
use crate::id::ObjectId;
use crate::retention::CheckpointKey;
use crate::retention::Holdings;
use crate::store::copy::CopyError;
use crate::store::layout::StoreDirs;
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
    fn added_bytes(&mut self, order: &[CheckpointKey]) -> Result<Vec<u64>, Error> {
        let mut walk = Walk::new(self.objects, BTreeSet::new(), self.go_on);
        let mut added = Vec::with_capacity(order.len());
        for key in order {
            let before = walk.order().len();
            walk.checkpoint(key.id).map_err(into_error)?;
            let new = walk.order()[before..].iter();
            added.push(new.map(|wanted| self.lengths.get(&wanted.id)).sum());
        }
        Ok(added)
    }
}
