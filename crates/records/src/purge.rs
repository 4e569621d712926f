//! What a purge is about to do to the refs of a project: a record that is durable before the first ref moves.
//!
//! Whoever takes the project's lock next, or collects, carries out what is left of it, which needs nothing
//! but the record: every commit it names is in the store. Beside it, and for good, is kept which ids became
//! which, for conversations and people that remember an old one.

use std::collections::BTreeMap;

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Result};
use herma_store::ObjectId;
use serde::{Deserialize, Serialize};

use crate::read_record;

const FILE: &str = "purge";
/// Where it is kept which ids became which, in a project's own directory.
pub const REWRITTEN: &str = "rewritten";
const VERSION: u32 = 1;
/// No record is larger: about half a million refs.
const MAX_SIZE: u64 = 256 << 20;

/// A ref, what it names and what it will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// Its full name.
    pub name: String,
    /// What it names until then.
    pub old: ObjectId,
    /// What it will name.
    pub new: ObjectId,
}

/// What is about to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeRecord {
    /// Refs of checkpoints, receipts, names and pins, in the order in which they move.
    pub refs: Vec<RefMove>,
    /// The ref Hermes reads.
    pub mirror: Option<RefMove>,
    /// Every commit that became another one.
    pub commits: BTreeMap<ObjectId, ObjectId>,
}

/// The record as it is written: ids are hexadecimal.
#[derive(Serialize, Deserialize)]
struct Form {
    version: u32,
    refs: Vec<(String, String, String)>,
    mirror: Option<(String, String, String)>,
    commits: Vec<(String, String)>,
}

impl PurgeRecord {
    /// Reads the record; a missing one, or one that makes no sense, says that nothing is to be done.
    pub fn read(state: &Dir) -> Result<Option<Self>> {
        let bytes = read_record(state, FILE, MAX_SIZE)?;
        Ok(bytes.and_then(|bytes| Self::parse(&bytes)))
    }

    /// The record in these bytes, if it is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let form: Form = serde_json::from_slice(bytes).ok()?;
        (form.version == VERSION).then_some(())?;
        let id = |hex: &str| ObjectId::from_hex(hex.as_bytes());
        let moved = |(name, old, new): &(String, String, String)| {
            Some(RefMove { name: name.clone(), old: id(old)?, new: id(new)? })
        };
        let mirror = match &form.mirror {
            Some(mirror) => Some(moved(mirror)?),
            None => None,
        };
        let commits = form.commits.iter();
        Some(Self {
            refs: form.refs.iter().map(moved).collect::<Option<_>>()?,
            mirror,
            commits: commits.map(|(old, new)| Some((id(old)?, id(new)?))).collect::<Option<_>>()?,
        })
    }

    /// Makes the record durable.
    pub fn write(&self, tmp: &Dir, state: &Dir) -> Result<()> {
        write_file(tmp, state, FILE, &self.encode(), Durability::Synced)
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let moved = |m: &RefMove| (m.name.clone(), m.old.to_hex(), m.new.to_hex());
        let commits = self.commits.iter();
        let form = Form {
            version: VERSION,
            refs: self.refs.iter().map(moved).collect(),
            mirror: self.mirror.as_ref().map(moved),
            commits: commits.map(|(old, new)| (old.to_hex(), new.to_hex())).collect(),
        };
        serde_json::to_vec(&form).expect("strings always serialise")
    }

    /// Removes the record: all of it was done.
    pub fn close(state: &Dir) -> Result<()> {
        match state.remove_file(FILE) {
            Err(e) if !e.is_not_found() => return Err(e),
            _ => {}
        }
        state.sync()
    }
}

/// Which commits became which, in every purge there was.
pub fn read_rewritten(state: &Dir) -> Result<BTreeMap<ObjectId, ObjectId>> {
    let bytes = read_record(state, REWRITTEN, MAX_SIZE)?.unwrap_or_default();
    Ok(parse_rewritten(&bytes))
}

/// The pairs of ids in a list; what is none is skipped.
pub fn parse_rewritten(bytes: &[u8]) -> BTreeMap<ObjectId, ObjectId> {
    let pairs = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut words = line.split(|byte| *byte == b' ');
        let mut id = || ObjectId::from_hex(words.next()?);
        Some((id()?, id()?))
    });
    pairs.collect()
}

/// The list that names these pairs.
pub fn render_rewritten(pairs: &BTreeMap<ObjectId, ObjectId>) -> String {
    let lines = pairs.iter().map(|(old, new)| format!("{old} {new}\n"));
    lines.collect::<Vec<_>>().concat()
}

/// Adds commits that became others; who was one of those before is followed to where it is now.
pub fn add_rewritten(tmp: &Dir, state: &Dir, commits: &BTreeMap<ObjectId, ObjectId>) -> Result<()> {
    let mut all = read_rewritten(state)?;
    for new in all.values_mut() {
        if let Some(newer) = commits.get(new) {
            *new = *newer;
        }
    }
    all.extend(commits);
    let text = render_rewritten(&all);
    write_file(tmp, state, REWRITTEN, text.as_bytes(), Durability::Synced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_as_it_was_written_and_nonsense_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let moved = RefMove {
            name: "refs/herma/0123456789abcdef/00000001".to_owned(),
            old: ObjectId::EMPTY_TREE,
            new: ObjectId::EMPTY_BLOB,
        };
        let record = PurgeRecord {
            refs: vec![moved.clone()],
            mirror: Some(moved),
            commits: BTreeMap::from([(ObjectId::EMPTY_TREE, ObjectId::EMPTY_BLOB)]),
        };
        record.write(&dir, &dir).unwrap();
        assert_eq!(PurgeRecord::read(&dir).unwrap(), Some(record));
        PurgeRecord::close(&dir).unwrap();
        PurgeRecord::close(&dir).unwrap();
        assert_eq!(PurgeRecord::read(&dir).unwrap(), None);
        assert_eq!(PurgeRecord::parse(b"{\"version\":1}"), None);
    }

    #[test]
    fn an_id_is_followed_through_several_purges() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let [first, second, third] = [ObjectId::EMPTY_TREE, ObjectId::EMPTY_BLOB, ObjectId::NULL];
        add_rewritten(&dir, &dir, &BTreeMap::from([(first, second)])).unwrap();
        add_rewritten(&dir, &dir, &BTreeMap::from([(second, third)])).unwrap();
        let all = read_rewritten(&dir).unwrap();
        assert_eq!(all, BTreeMap::from([(first, third), (second, third)]));
    }
}
