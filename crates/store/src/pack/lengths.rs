//! How much room each object takes in a pack.

use crate::ObjectId;
use crate::object::copy::CopyError;
use crate::pack::read::{FIRST_ENTRY, Pack};

/// The checksum a pack ends with.
const TRAILER: u64 = 20;

impl Pack {
    /// Every object with the offset of its entry and the bytes the entry takes in the pack, sorted by
    /// id. An entry reaches to the next one, the last one to the checksum.
    pub fn entry_lengths(&self) -> Result<Vec<(ObjectId, u64, u64)>, CopyError> {
        let end = self.size()?.saturating_sub(TRAILER);
        let mut lengths = Vec::new();
        for entry in self.index().entries() {
            let (id, offset) = entry?;
            if !(FIRST_ENTRY..end).contains(&offset) {
                return Err(self.damaged("an entry lies outside the pack"));
            }
            lengths.push((id, offset, 0));
        }
        let mut by_offset: Vec<usize> = (0..lengths.len()).collect();
        by_offset.sort_unstable_by_key(|at| lengths[*at].1);
        let mut next = end;
        for at in by_offset.into_iter().rev() {
            let (_, offset, length) = &mut lengths[at];
            *length = next - *offset;
            if *length == 0 {
                return Err(self.damaged("two objects share an entry"));
            }
            next = *offset;
        }
        Ok(lengths)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::os::unix::fs::PermissionsExt;

    use herma_fs::Dir;
    use herma_fs::publish::Durability;

    use super::*;
    use crate::PackWriter;
    use crate::object::Kind;
    use crate::objects::Objects;
    use crate::testing::Fresh;

    fn store_with_a_pack() -> (Fresh, Objects) {
        let fresh = Fresh::new();
        let nothing_known = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
        for n in 0..3000_usize {
            let data = format!("{n} ").repeat(n % 50);
            writer.add(Kind::Blob, data.as_bytes()).unwrap();
        }
        writer.finish(Durability::Cache).unwrap();
        let objects = Objects::open(Dir::open(&fresh.store().join("objects")).unwrap());
        (fresh, objects)
    }

    #[test]
    fn lengths_are_those_git_shows() {
        let (fresh, objects) = store_with_a_pack();
        let pack = &objects.packs().unwrap()[0];
        let index = format!("objects/pack/{}.idx", pack.stem());
        let index = fresh.store().join(index);
        let shown = fresh.git(&["verify-pack", "-v", index.to_str().unwrap()]);
        let mut expected: Vec<(ObjectId, u64, u64)> = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .filter(|words| words.len() == 5 && words[1] == "blob")
            .map(|words| {
                let id = ObjectId::from_hex(words[0].as_bytes()).unwrap();
                (id, words[4].parse().unwrap(), words[3].parse().unwrap())
            })
            .collect();
        expected.sort_unstable();
        assert!(expected.len() > 2900);
        assert_eq!(pack.entry_lengths().unwrap(), expected);
    }

    #[test]
    fn an_index_that_lies_is_damaged() {
        let (fresh, objects) = store_with_a_pack();
        let pack = &objects.packs().unwrap()[0];
        let path = format!("objects/pack/{}.idx", pack.stem());
        let path = fresh.store().join(path);
        let intact = std::fs::read(&path).unwrap();
        let offsets = 8 + 1024 + pack.index().count() as usize * 24;
        let mut second = [0; 4];
        second.copy_from_slice(&intact[offsets + 4..offsets + 8]);
        for lie in [[0; 4], [0, 0, 0, 11], [0x7f, 0xff, 0xff, 0xff], second] {
            let mut bytes = intact.clone();
            bytes[offsets..offsets + 4].copy_from_slice(&lie);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            std::fs::write(&path, bytes).unwrap();
            let objects = Objects::open(Dir::open(&fresh.store().join("objects")).unwrap());
            let lengths = objects.packs().unwrap()[0].entry_lengths();
            assert!(matches!(lengths, Err(CopyError::Damaged { .. })), "{lie:?}");
        }
    }
}
