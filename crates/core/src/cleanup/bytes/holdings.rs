//! What checkpoints hold, in bytes on disk: for the limits, and for people who want to know what costs them their
//! disk. What is free when one goes is known by pieces, of which each is counted once, however many hold it.

use herma_store::path::join;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use bstr::BString;
use herma_records::checkpoint::message::Message;
use herma_store::ObjectId;
use herma_store::gc::{GcError, loose_files};
use herma_store::layout::StoreDirs;
use herma_store::object::EntryMode;
use herma_store::object::copy::CopyError;
use herma_store::objects::{ObjectError, Objects};

use super::super::facts::ProjectFacts;
use crate::error::Result;

/// Pieces, and which other pieces each consists of. A piece takes its room while something holds it: a
/// checkpoint, or a piece that is held itself.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    bytes: u64,
    parts: Box<[u32]>,
    holders: u32,
}

impl Shares {
    /// A piece of this size, which nobody holds yet and which has no parts.
    pub fn add(&mut self, bytes: u64) -> u32 {
        self.pieces.push(Piece { bytes, ..Piece::default() });
        (self.pieces.len() - 1) as u32
    }

    /// Says what a piece consists of. No piece may be a part of itself.
    pub fn set_parts(&mut self, piece: u32, parts: Vec<u32>) {
        self.pieces[piece as usize].parts = parts.into();
    }

    /// Holds a piece once more; returns the bytes that nobody held before.
    pub fn take_up(&mut self, piece: u32) -> u64 {
        self.change(piece, |holders| holders + 1, 1)
    }

    /// Holds a piece once less; returns the bytes that nobody holds any more.
    pub fn let_go(&mut self, piece: u32) -> u64 {
        self.change(piece, |holders| holders - 1, 0)
    }

    /// Changes how many hold a piece; what has `turning` holders then does the same to its parts. Returns the bytes of these.
    fn change(&mut self, piece: u32, holders: impl Fn(u32) -> u32, turning: u32) -> u64 {
        let mut bytes = 0_u64;
        let mut pending = vec![piece];
        while let Some(piece) = pending.pop() {
            let piece = &mut self.pieces[piece as usize];
            piece.holders = holders(piece.holders);
            if piece.holders == turning {
                bytes = bytes.saturating_add(piece.bytes);
                pending.extend(piece.parts.iter());
            }
        }
        bytes
    }
}

/// What an object costs in a pack's index: its id, a checksum and an offset.
const INDEX_ENTRY: u64 = 28;

/// How many bytes each object takes on disk.
pub(crate) struct Lengths {
    of: HashMap<ObjectId, u64>,
    /// All of them together, an object that is stored twice counted twice.
    pub total: u64,
}

impl Lengths {
    /// Reads the indexes of all packs, and looks at the loose objects.
    pub(crate) fn read(dirs: &StoreDirs, objects: &Objects) -> Result<Self> {
        let mut lengths = Self { of: HashMap::new(), total: 0 };
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
        for file in loose_files(dirs.objects(), None)? {
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
    pub(crate) fn get(&self, id: &ObjectId) -> u64 {
        self.of.get(id).copied().unwrap_or(0)
    }

    /// What these checkpoints hold, and for each of them the piece that is the whole of it. Nobody holds any yet.
    pub(crate) fn shares(
        &self,
        objects: &Objects,
        checkpoints: &[ObjectId],
        go_on: &dyn Fn(u64) -> bool,
    ) -> Result<(Shares, Vec<u32>)> {
        let mut found = Found {
            lengths: self,
            shares: Shares::default(),
            pieces: HashMap::new(),
            trees: Vec::new(),
        };
        let mut whole = Vec::with_capacity(checkpoints.len());
        for id in checkpoints {
            let (commit, is_new) = found.piece(*id);
            whole.push(commit);
            if is_new && let Some(read) = readable(objects.read_commit(id))? {
                let extra = Message::parse(&read.message).extra;
                let trees = std::iter::once(read.tree).chain(extra);
                let parts = trees.map(|tree| found.tree(tree)).collect();
                found.shares.set_parts(commit, parts);
            }
            while let Some((piece, tree)) = found.trees.pop() {
                if !go_on(found.pieces.len() as u64) {
                    return Err(GcError::Cancelled.into());
                }
                // What cannot be read is no reason to keep or to drop anything.
                let entries = readable(objects.read_tree(&tree))?.unwrap_or_default();
                let parts = entries.iter().map(|entry| match entry.mode {
                    EntryMode::Directory => found.tree(entry.id),
                    // Another repository's commit takes no room here.
                    _ => found.piece(entry.id).0,
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
fn readable<T>(read: Result<T, ObjectError>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ObjectError::Fs(e)) => Err(e.into()),
        Err(_) => Ok(None),
    }
}

/// A file of a project, and what all its versions take together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileCost {
    /// The bytes of all versions together.
    pub bytes: u64,
    /// How many different versions there are.
    pub versions: usize,
    /// Where it is, or was, in the project.
    pub path: BString,
}

/// What the checkpoints of one project cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectCost {
    /// Bytes nobody else holds: what dropping all of its checkpoints would free.
    pub own_bytes: u64,
    /// Bytes held together with other projects.
    pub shared_bytes: u64,
    /// The files that take most, the largest first.
    pub biggest: Vec<FileCost>,
}

/// What each of these projects costs, with the `names` files that take most. What cannot be read costs nothing. `go_on`
/// hears how many objects were looked at and may end it.
pub(crate) fn costs(
    objects: &Objects,
    lengths: &Lengths,
    projects: &[ProjectFacts],
    names: usize,
    go_on: &dyn Fn(u64) -> bool,
) -> Result<Vec<ProjectCost>> {
    let mut holders: HashMap<ObjectId, u32> = HashMap::new();
    let mut all = Vec::new();
    for project in projects {
        let mut held = HeldByProject::default();
        for checkpoint in &project.checkpoints {
            held.seen.insert(checkpoint.id);
            if let Some(commit) = readable(objects.read_commit(&checkpoint.id))? {
                held.tree(objects, commit.tree, Some(lengths), go_on)?;
                if let Some(extra) = Message::parse(&commit.message).extra {
                    held.tree(objects, extra, None, go_on)?;
                }
            }
        }
        for id in &held.seen {
            *holders.entry(*id).or_default() += 1;
        }
        all.push(held);
    }
    let cost = |held: HeldByProject| {
        let mut cost = ProjectCost::default();
        for id in held.seen {
            let bytes = lengths.get(&id);
            if holders.get(&id) == Some(&1) {
                cost.own_bytes += bytes;
            } else {
                cost.shared_bytes += bytes;
            }
        }
        cost.biggest = held.files.into_values().collect();
        cost.biggest.sort_unstable_by(|a, b| b.cmp(a));
        cost.biggest.truncate(names);
        cost
    };
    Ok(all.into_iter().map(cost).collect())
}

/// What one project holds, and its files.
#[derive(Default)]
struct HeldByProject {
    seen: HashSet<ObjectId>,
    files: HashMap<BString, FileCost>,
}

impl HeldByProject {
    /// Walks a tree, counting its files if `lengths` are given.
    fn tree(
        &mut self,
        objects: &Objects,
        top: ObjectId,
        lengths: Option<&Lengths>,
        go_on: &dyn Fn(u64) -> bool,
    ) -> Result<()> {
        let mut pending = vec![(top, BString::default())];
        while let Some((tree, path)) = pending.pop() {
            if !self.seen.insert(tree) {
                continue;
            }
            if !go_on(self.seen.len() as u64) {
                return Err(GcError::Cancelled.into());
            }
            for entry in readable(objects.read_tree(&tree))?.unwrap_or_default() {
                let at = BString::from(join(&path, &entry.name));
                if entry.mode == EntryMode::Directory {
                    pending.push((entry.id, at));
                } else if entry.mode != EntryMode::Nested
                    && self.seen.insert(entry.id)
                    && let Some(lengths) = lengths
                {
                    let cost = self.files.entry(at.clone()).or_insert(FileCost {
                        bytes: 0,
                        versions: 0,
                        path: at,
                    });
                    cost.bytes += lengths.get(&entry.id);
                    cost.versions += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "../tests/bytes/shares.rs"]
mod shares_tests;
