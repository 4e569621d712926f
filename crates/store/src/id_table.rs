//! Finds an object's number by its id, in five bytes for each object: the ids themselves are where their
//! owner has them.

use hashbrown::HashTable;

use crate::ObjectId;

/// Numbers, found by the id that somebody else keeps for each.
#[derive(Default)]
pub struct IdTable(HashTable<u32>);

/// Ids are evenly spread already.
fn hash(id: &ObjectId) -> u64 {
    let bytes = id.as_bytes();
    u64::from_ne_bytes(bytes[8..16].try_into().expect("eight bytes"))
}

impl IdTable {
    /// The number of an object. `id_of` tells the id of a number that was inserted.
    pub fn find(&self, id: &ObjectId, id_of: impl Fn(usize) -> ObjectId) -> Option<usize> {
        let found = self.0.find(hash(id), |number| id_of(*number as usize) == *id);
        found.map(|number| *number as usize)
    }

    /// Adds an object that is not in it. No table has more than 2^32 objects, as no pack has.
    pub fn insert(&mut self, id: &ObjectId, number: usize, id_of: impl Fn(usize) -> ObjectId) {
        let number = u32::try_from(number).expect("at most 2^32 objects");
        self.0.insert_unique(hash(id), number, |number| hash(&id_of(*number as usize)));
    }
}
