//! The packs of a store as somebody saw them: by name, with the sizes of pack and index.
//!
//! Whoever builds on what is in the store without reading it notes which packs there were. As long as all of them are
//! there, and as long as they were, nothing of it was lost; packs that came since do not matter. A collection, which takes packs
//! away for good reason, notes those that stay, so that others can tell what was taken from what was lost.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;

use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};
use xxhash_rust::xxh3::xxh3_64;

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::StoreDirs;

/// What the file is called, in the state of a project and in that of the store.
pub(crate) const FILE: &str = "packs";

/// More packs than fit are not noted.
const MAX_FILE: u64 = 64 << 20;
const FIRST_LINE: &str = "herma packs 1";
/// The newest packs are looked for in so much of a note: about a thousand.
const NEWEST_BYTES: u64 = 64 << 10;

/// A pack by its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedPack {
    /// The name without an extension.
    pub stem: String,
    /// How long pack and index are; `None` if one of them is no ordinary file.
    pub(crate) sizes: Option<(u64, u64)>,
}

/// The packs there were at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackSign {
    /// The number of the last collection that took packs away before.
    pub collection: u64,
    /// The checkpoint all objects of which are in these packs; none in the note of a collection.
    pub checkpoint: Option<ObjectId>,
    /// The packs there were.
    pub packs: Vec<SignedPack>,
}

impl PackSign {
    /// Reads a note; `None` if there is none that can be believed.
    pub fn read(state: &Dir) -> Option<Self> {
        Self::parse(&state.read_opt(FILE, MAX_FILE).ok().flatten()?)
    }

    /// The names of the packs that stand first in the note, which are the newest. Nothing is checked: they are a place to look.
    pub fn newest(state: &Dir) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = |file: File| file.take(NEWEST_BYTES).read_to_end(&mut bytes);
        let _ = state.open_file(FILE).map(read);
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let stem = |line: &str| Some(line.split(' ').nth(2)?.to_owned());
        text.lines().skip(1).filter_map(stem).collect()
    }

    /// Writes the note.
    pub fn write(
        &self,
        temp_dir: &Dir,
        state: &Dir,
        durability: Durability,
    ) -> herma_fs::Result<()> {
        let text = self.render();
        write_file(temp_dir, state, FILE, text.as_bytes(), durability)
    }

    /// What the last collection that took packs away noted; nothing if there was none.
    pub fn of_last_collection(dirs: &StoreDirs) -> Self {
        let noted = dirs.herma().and_then(|herma| Self::read(&herma.dir));
        noted.unwrap_or_default()
    }

    /// Notes that a collection is about to take packs away, and that of those there are `now` all others stay.
    pub fn note_collection(
        dirs: &StoreDirs,
        now: Vec<SignedPack>,
        is_going: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let mut packs = now;
        packs.retain(|pack| !is_going(&pack.stem));
        let sign = Self {
            collection: 1 + Self::of_last_collection(dirs).collection,
            checkpoint: None,
            packs,
        };
        let herma = dirs.for_writing()?;
        Ok(sign.write(&herma.tmp, &herma.dir, Durability::Cache)?)
    }

    fn render(&self) -> String {
        let mut text = format!("{FIRST_LINE}\ncollection {}\n", self.collection);
        if let Some(id) = &self.checkpoint {
            let _ = writeln!(text, "checkpoint {id}");
        }
        for pack in &self.packs {
            if let Some((size, index)) = pack.sizes {
                let _ = writeln!(text, "{size} {index} {}", pack.stem);
            }
        }
        let sum = xxh3_64(text.as_bytes());
        let _ = writeln!(text, "sum {sum:016x}");
        text
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let end = text.strip_suffix('\n')?.rfind('\n')? + 1;
        let sum = text[end..].trim_end().strip_prefix("sum ")?;
        if u64::from_str_radix(sum, 16).ok()? != xxh3_64(&bytes[..end]) {
            return None;
        }
        let mut lines = text[..end].lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut sign = Self::default();
        for line in lines {
            match line.split_once(' ')? {
                ("collection", number) => sign.collection = number.parse().ok()?,
                ("checkpoint", id) => sign.checkpoint = Some(ObjectId::from_hex(id.as_bytes())?),
                (size, rest) => {
                    let (index, stem) = rest.split_once(' ')?;
                    sign.packs.push(SignedPack {
                        stem: stem.to_owned(),
                        sizes: Some((size.parse().ok()?, index.parse().ok()?)),
                    });
                }
            }
        }
        Some(sign)
    }

    /// The packs that are not among those there are now, or not as they were.
    pub fn missing_from(&self, now: &[SignedPack]) -> Vec<&str> {
        let now: HashMap<&str, _> = now.iter().map(|p| (p.stem.as_str(), p.sizes)).collect();
        let packs = self.packs.iter();
        let gone = packs.filter(|pack| now.get(pack.stem.as_str()) != Some(&pack.sizes));
        gone.map(|pack| pack.stem.as_str()).collect()
    }

    /// Is this pack among them?
    pub fn has(&self, stem: &str) -> bool {
        self.packs.iter().any(|pack| pack.stem == stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(stem: &str, sizes: (u64, u64)) -> SignedPack {
        SignedPack { stem: stem.to_owned(), sizes: Some(sizes) }
    }

    fn sign() -> PackSign {
        PackSign {
            collection: 7,
            checkpoint: Some(ObjectId::EMPTY_TREE),
            packs: vec![pack("pack-a", (100, 20)), pack("pack-b", (300, 40))],
        }
    }

    #[test]
    fn a_note_reads_back_and_a_damaged_one_is_none() {
        for sign in [sign(), PackSign::default()] {
            let text = sign.render().into_bytes();
            assert_eq!(PackSign::parse(&text), Some(sign));
            for at in 0..text.len() {
                let mut damaged = text.clone();
                damaged[at] ^= 1;
                assert_eq!(PackSign::parse(&damaged), None, "byte {at}");
                assert_eq!(PackSign::parse(&text[..at]), None, "cut at {at}");
            }
        }
    }

    #[test]
    fn the_newest_are_read_from_the_beginning_of_a_note_of_any_length() {
        let dir = tempfile::tempdir().unwrap();
        let state = Dir::open(dir.path()).unwrap();
        assert!(PackSign::newest(&state).is_empty());
        let write = |sign: &PackSign| sign.write(&state, &state, Durability::Cache).unwrap();
        write(&sign());
        assert_eq!(PackSign::newest(&state), ["pack-a", "pack-b"]);
        let name = |number: usize| format!("pack-{number:040}");
        let packs = (0..5000).map(|number| pack(&name(number), (1, 1))).collect();
        write(&PackSign { packs, ..sign() });
        let newest = PackSign::newest(&state);
        assert!((1000..2000).contains(&newest.len()));
        assert!(newest.iter().enumerate().all(|(at, stem)| *stem == name(at)));
    }

    #[test]
    fn packs_that_went_or_have_another_size_are_missing_and_new_ones_do_not_matter() {
        let mut now = sign().packs;
        now.push(pack("pack-c", (1, 1)));
        assert!(sign().missing_from(&now).is_empty());
        now[0].sizes = Some((99, 20));
        assert_eq!(sign().missing_from(&now), ["pack-a"]);
        now[0].sizes = Some((100, 21));
        assert_eq!(sign().missing_from(&now), ["pack-a"]);
        now[0].sizes = None;
        now.remove(1);
        assert_eq!(sign().missing_from(&now), ["pack-a", "pack-b"]);
    }
}
