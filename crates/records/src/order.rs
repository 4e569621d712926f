//! Checkpoints that are older than their numbers say: those a project took over.
//!
//! A checkpoint keeps its number for ever, and a new one gets a number above all others. What is taken over, from a project that
//! was moved here or a repository of Hermes's version 1, was saved before all that is there. Where it belongs is noted here before
//! its first ref is made. Losing this file loses the order, and no checkpoint.

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Result};
use serde::{Deserialize, Serialize};

use crate::{Version, encode, read_record};

/// Where it is, in a project's own directory.
pub const FILE: &str = "order";
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Which numbers do not say where their checkpoints belong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    version: Version,
    taken_over: Vec<TakenOver>,
}

/// Numbers that follow each other, and the place of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TakenOver {
    first: u64,
    count: u64,
    place: i64,
}

impl Order {
    /// Reads the record of a project; a missing or damaged one says nothing.
    pub fn read(state: &Dir) -> Result<Self> {
        let bytes = read_record(state, FILE, MAX_RECORD_BYTES)?;
        Ok(bytes.and_then(|bytes| Self::parse(&bytes)).unwrap_or_default())
    }

    /// The record in these bytes, if it is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Makes it durable.
    pub fn write(&self, tmp: &Dir, state: &Dir) -> Result<()> {
        write_file(tmp, state, FILE, &encode(self), Durability::Synced)
    }

    /// Where the checkpoint with this number belongs.
    pub fn place_of(&self, number: u64) -> i64 {
        let behind = |one: &TakenOver| number.checked_sub(one.first).filter(|n| *n < one.count);
        let found = self.taken_over.iter().find_map(|one| Some((one.place, behind(one)?)));
        let (place, behind) = found.unwrap_or((0, number));
        place.saturating_add(i64::try_from(behind).unwrap_or(i64::MAX))
    }

    /// Notes that `count` checkpoints, which get the numbers from `first` on, belong before the one at `oldest`.
    pub fn take_over(&mut self, first: u64, count: u64, oldest: i64) {
        let place = oldest.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX));
        self.taken_over.push(TakenOver { first, count, place });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_over_comes_before_all_that_was_there_and_nothing_else_moves() {
        let mut order = Order::default();
        assert_eq!([1, 7].map(|number| order.place_of(number)), [1, 7]);
        order.take_over(8, 3, 1);
        order.take_over(12, 2, order.place_of(8));
        let places = (1..=14).map(|number| order.place_of(number));
        assert_eq!(places.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, -2, -1, 0, 11, -4, -3, 14]);
        assert_eq!(Order::parse(&encode(&order)), Some(order));
    }
}
