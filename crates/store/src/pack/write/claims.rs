//! Which objects the packs being written have been asked to take, and where they are.
//!
//! The first save of a million files asks about more than a million objects, so an object costs 36 bytes
//! here and five in the table that finds it. The table is in pieces by the first bits of the id: threads
//! seldom wait for one another, no more than one piece is ever moved at a time to make room, and the
//! pieces, each sorted, are the indexes of the packs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ObjectId;
use crate::id_table::IdTable;
use crate::pack::write::finish::IndexEntry;

/// How many pieces there are: one for each value of the first six bits of an id.
const PIECES: usize = 64;

/// The offset of an object that somebody else has, or is about to write. No pack is this long.
const ELSEWHERE: [u8; 6] = [u8::MAX; 6];

/// Where an object is in the packs being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of the pack.
    pub(crate) pack: u16,
    pub(crate) offset: u64,
    /// How many bytes its entry has.
    pub(crate) length: u64,
    pub(crate) crc: u32,
}

/// Objects by id, asked for by many threads.
pub(crate) struct Claims {
    pieces: Vec<Mutex<Piece>>,
}

#[derive(Default)]
struct Piece {
    /// Numbers of `objects`, found by id.
    table: IdTable,
    objects: Vec<Claim>,
}

/// An object, without a byte of padding: a million of these are in memory at once.
#[derive(Clone, Copy)]
struct Claim {
    id: ObjectId,
    crc: u32,
    /// The largest number if it is larger: such an entry is not read back.
    length: u32,
    /// Little-endian.
    offset: [u8; 6],
    pack: u16,
}

impl Claim {
    fn new(id: ObjectId) -> Self {
        Self { id, crc: 0, length: 0, offset: ELSEWHERE, pack: 0 }
    }

    fn offset(&self) -> Option<u64> {
        let mut offset = [0; 8];
        offset[..6].copy_from_slice(&self.offset);
        (self.offset != ELSEWHERE).then_some(u64::from_le_bytes(offset))
    }

    /// In the order of the indexes: pack by pack, and by id.
    fn order(&self) -> (u16, ObjectId) {
        (self.pack, self.id)
    }
}

impl Piece {
    fn find(&self, id: &ObjectId) -> Option<usize> {
        self.table.find(id, |number| self.objects[number].id)
    }
}

impl Claims {
    pub(crate) fn new() -> Self {
        Self { pieces: (0..PIECES).map(|_| Mutex::default()).collect() }
    }

    fn piece(&self, id: &ObjectId) -> MutexGuard<'_, Piece> {
        let piece = &self.pieces[usize::from(id.as_bytes()[0] >> 2)];
        // Every change below is complete before anything that could panic.
        piece.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes on an object. `false` if somebody did so before.
    pub(crate) fn claim(&self, id: ObjectId) -> bool {
        let mut piece = self.piece(&id);
        if piece.find(&id).is_some() {
            return false;
        }
        let Piece { table, objects } = &mut *piece;
        let number = objects.len();
        objects.push(Claim::new(id));
        table.insert(&id, number, |number| objects[number].id);
        true
    }

    /// Notes where an object that was taken on is.
    pub(crate) fn set(&self, id: &ObjectId, place: Place) {
        let mut piece = self.piece(id);
        if let Some(number) = piece.find(id) {
            let claim = &mut piece.objects[number];
            claim.crc = place.crc;
            claim.pack = place.pack;
            let [offset @ .., _, _] = place.offset.to_le_bytes();
            claim.offset = offset;
            claim.length = u32::try_from(place.length).unwrap_or(u32::MAX);
        }
    }

    /// Where an object is; `None` if it is in none of these packs, or of 4 GiB and more.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<Place> {
        let piece = self.piece(id);
        let claim = &piece.objects[piece.find(id)?];
        Some(Place {
            pack: claim.pack,
            offset: claim.offset()?,
            length: Some(claim.length).filter(|length| *length < u32::MAX)?.into(),
            crc: claim.crc,
        })
    }

    /// Is this object in one of the packs?
    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        let piece = self.piece(id);
        let found = piece.find(id).map(|number| &piece.objects[number]);
        found.is_some_and(|claim| claim.offset().is_some())
    }

    /// What is in the packs, in the order of their indexes.
    pub(crate) fn into_sorted(self) -> SortedClaims {
        let pieces = self.pieces.into_iter().map(|piece| {
            let Piece { table, mut objects } =
                piece.into_inner().unwrap_or_else(PoisonError::into_inner);
            drop(table);
            objects.retain(|claim| claim.offset().is_some());
            objects.sort_unstable_by_key(Claim::order);
            objects
        });
        SortedClaims(pieces.collect())
    }
}

/// What is in the packs, sorted.
pub(crate) struct SortedClaims(Vec<Vec<Claim>>);

impl SortedClaims {
    /// The entries of the index of one pack.
    pub(crate) fn of_pack(&self, pack: u16) -> impl Iterator<Item = IndexEntry> + Clone {
        self.0.iter().flat_map(move |piece| {
            let from = piece.partition_point(|claim| claim.pack < pack);
            let length = piece[from..].partition_point(|claim| claim.pack == pack);
            piece[from..from + length].iter().filter_map(|claim| {
                Some(IndexEntry { id: claim.id, crc: claim.crc, offset: claim.offset()? })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Kind, id_of};

    fn id(number: u32) -> ObjectId {
        id_of(Kind::Blob, &number.to_le_bytes()).unwrap()
    }

    fn place(number: u32) -> Place {
        Place {
            pack: (number % 5) as u16,
            offset: u64::from(number) << 20,
            length: u64::from(number) + 1,
            crc: !number,
        }
    }

    #[test]
    fn an_object_is_taken_on_once_and_found_where_it_was_put() {
        let claims = Claims::new();
        for number in 0..5000 {
            assert!(claims.claim(id(number)));
            assert!(!claims.claim(id(number)));
            assert_eq!(claims.get(&id(number)), None);
            claims.set(&id(number), place(number));
        }
        for number in 0..5000 {
            assert_eq!(claims.get(&id(number)), Some(place(number)));
        }
        assert_eq!(claims.get(&id(5000)), None);
    }

    #[test]
    fn the_indexes_are_sorted_and_have_only_what_is_in_their_packs() {
        let claims = Claims::new();
        for number in 0..5000 {
            claims.claim(id(number));
            if number % 3 == 0 {
                claims.set(&id(number), place(number));
            }
        }
        let sorted = claims.into_sorted();
        for pack in 0..5 {
            let entries: Vec<IndexEntry> = sorted.of_pack(pack).collect();
            assert!(entries.is_sorted_by(|a, b| a.id < b.id));
            let mut expected: Vec<u32> = (0..5000).step_by(3).collect();
            expected.retain(|number| place(*number).pack == pack);
            assert_eq!(entries.len(), expected.len());
            for number in expected {
                let at = entries.binary_search_by_key(&id(number), |entry| entry.id);
                assert_eq!(entries[at.unwrap()].offset, place(number).offset);
            }
        }
        assert_eq!(sorted.of_pack(5).count(), 0);
    }

    #[test]
    fn an_entry_of_four_gigabytes_is_in_the_index_and_not_read_back() {
        let claims = Claims::new();
        claims.claim(id(1));
        let length = u64::from(u32::MAX);
        claims.set(&id(1), Place { length, ..place(1) });
        assert_eq!(claims.get(&id(1)), None);
        assert_eq!(claims.into_sorted().of_pack(place(1).pack).count(), 1);
    }
}
