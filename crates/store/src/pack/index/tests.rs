//! Tests of looking things up in large indexes.

#![allow(clippy::disallowed_methods)]

use herma_fs::publish::Durability;

use super::*;
use crate::error::StoreError;
use crate::object::Kind;
use crate::pack::write::PackWriter;
use crate::testing::Fresh;

const OBJECTS: u64 = 24_000;

/// A pack with many objects, by its name without an extension.
fn large_pack(fresh: &Fresh) -> String {
    let nothing = |_: &ObjectId| Ok::<_, StoreError>(false);
    let writer = PackWriter::new(&fresh.dirs, &nothing).unwrap();
    for number in 0..OBJECTS {
        writer.add(Kind::Blob, &number.to_le_bytes()).unwrap();
    }
    let name = writer.finish(Durability::Synced).unwrap()[0];
    name.to_string()
}

fn open(fresh: &Fresh, stem: &str) -> PackIndex {
    let objects = Arc::new(fresh.dirs.objects().try_clone().unwrap());
    PackIndex::open(&Arc::new(PackFiles::new(objects, c"pack".to_owned())), stem).unwrap()
}

fn entries(index: &PackIndex) -> Vec<(ObjectId, u64)> {
    index.entries().map(Result::unwrap).collect()
}

#[test]
fn a_large_index_finds_all_ids_and_no_others_whether_asked_for_few_or_many() {
    let fresh = Fresh::new();
    let stem = large_pack(&fresh);
    let entries = entries(&open(&fresh, &stem));
    assert_eq!(entries.len() as u64, OBJECTS);
    let last = entries.len() - 1;
    // Each of a few is among the first that are asked for.
    for (id, offset) in entries.iter().step_by(397).chain([&entries[last]]) {
        let index = open(&fresh, &stem);
        assert_eq!(index.find(id).unwrap(), Some(*offset));
        for other in [1, 255] {
            let mut bytes = *id.as_bytes();
            bytes[19] = bytes[19].wrapping_add(other);
            assert_eq!(index.find(&ObjectId::from_bytes(bytes)).unwrap(), None);
        }
    }
    let index = open(&fresh, &stem);
    for (id, offset) in &entries {
        assert_eq!(index.find(id).unwrap(), Some(*offset));
    }
    let index = open(&fresh, &stem);
    for first in 0..=255 {
        for rest in [0, 0x7f, 0xff] {
            let mut bytes = [rest; 20];
            bytes[0] = first;
            assert_eq!(index.find(&ObjectId::from_bytes(bytes)).unwrap(), None);
        }
    }
}

#[test]
fn ids_that_are_not_in_order_where_one_is_looked_for_are_damage() {
    let fresh = Fresh::new();
    let stem = large_pack(&fresh);
    let entries = entries(&open(&fresh, &stem));
    let position = entries.len() / 2;
    let path = fresh.store().join(format!("objects/pack/{stem}.idx"));
    let mut bytes = std::fs::read(&path).unwrap();
    let at = 8 + FAN_OUT as usize + position * 20;
    let (here, next) = bytes[at..at + 40].split_at_mut(20);
    here.swap_with_slice(next);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let found = open(&fresh, &stem).find(&entries[position + 8].0);
    assert!(matches!(found, Err(CopyError::Damaged { .. })), "{found:?}");
}
