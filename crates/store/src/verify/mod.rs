//! Looks at every object that live checkpoints need, each once, and tells which files a damaged one
//! hurts.
//!
//! Trees and commits are always read and hashed: they are few, and without them nothing can be said.
//! Blobs are looked up in the indexes, or read and hashed if the caller wants to know for certain.
//! Trees come from a store that may be crafted: every walk is a loop, and the search for paths, which
//! may meet a damaged object by very many ways, has a limit.

pub mod packs;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bstr::BString;

use crate::ObjectId;
use crate::error::in_full;
use crate::object::commit::Commit;
use crate::object::{EntryMode, Kind, TreeEntry};
use crate::objects::{ObjectError, Objects};
use crate::threads::shared_out;

/// How many paths are named for one checkpoint; the others are counted.
const MAX_PATHS_NAMED: usize = 100;

/// How often trees that are known to be hurt are walked through again for the paths of one checkpoint.
const MAX_STEPS: u64 = 100_000;

/// The paths a checkpoint cannot give back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hurt {
    /// Files, or directories whose content is not known, relative to the project.
    pub paths: Vec<BString>,
    /// How many more there are, at least.
    pub more: u64,
}

impl Hurt {
    /// Is nothing hurt?
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.more == 0
    }

    fn add(&mut self, path: BString) {
        if self.paths.len() < MAX_PATHS_NAMED {
            self.paths.push(path);
        } else {
            self.more += 1;
        }
    }
}

/// What was looked at, and what is wrong with it.
pub struct Survey<'a> {
    objects: &'a Objects,
    trees: HashSet<ObjectId>,
    blobs: HashSet<ObjectId>,
    /// Blobs not looked at yet.
    waiting: Vec<ObjectId>,
    damaged: HashMap<ObjectId, String>,
    /// Trees that need nothing damaged; filled while paths are searched.
    clean: HashSet<ObjectId>,
    /// Trees that are whole but need something damaged.
    unclean: HashSet<ObjectId>,
    commits: u64,
    bytes: u64,
}

/// A tree on the way down.
struct Level {
    id: ObjectId,
    path: usize,
    left: std::vec::IntoIter<TreeEntry>,
    is_hurt: bool,
}

impl<'a> Survey<'a> {
    /// A look at these objects.
    pub fn new(objects: &'a Objects) -> Self {
        Self {
            objects,
            trees: HashSet::new(),
            blobs: HashSet::new(),
            waiting: Vec::new(),
            damaged: HashMap::new(),
            clean: HashSet::new(),
            unclean: HashSet::new(),
            commits: 0,
            bytes: 0,
        }
    }

    /// Reads a commit; `None`, and noted as damaged, if that cannot be done.
    pub fn commit(&mut self, id: &ObjectId) -> Option<Commit> {
        self.commits += 1;
        let read = self.objects.read_commit(id);
        read.map_err(|e| self.note(id, &e)).ok()
    }

    /// Reads a tree and all trees below it that were not read before.
    pub fn tree(&mut self, id: &ObjectId) {
        let mut pending = vec![*id];
        while let Some(id) = pending.pop() {
            if !self.trees.insert(id) {
                continue;
            }
            let entries = match self.objects.read_tree(&id) {
                Ok(entries) => entries,
                Err(e) => {
                    self.note(&id, &e);
                    continue;
                }
            };
            for entry in entries {
                self.bytes += entry.name.len() as u64 + 28;
                match entry.mode {
                    EntryMode::Directory => pending.push(entry.id),
                    // Hermes recorded only which commit a nested repository was at.
                    EntryMode::Nested => {}
                    EntryMode::File | EntryMode::Executable | EntryMode::Symlink => {
                        if self.blobs.insert(entry.id) {
                            self.waiting.push(entry.id);
                        }
                    }
                }
            }
        }
    }

    /// Looks for the blobs found so far, and with `read_data` reads them. `each` hears how many of how
    /// many are done and says whether to go on.
    pub fn check_blobs(
        &mut self,
        read_data: bool,
        each: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<(), ObjectError> {
        let mut waiting = std::mem::take(&mut self.waiting);
        // All are looked up before any is read: a single missing one would have the packs listed again,
        // and a lost pack makes thousands of them.
        let mut missing = self.take_missing(&mut waiting);
        if !missing.is_empty() {
            self.objects.packs()?;
            let still = self.take_missing(&mut missing);
            waiting.append(&mut missing);
            for id in still {
                self.note(&id, &ObjectError::Missing { id });
            }
        }
        if read_data {
            self.read_blobs(&waiting, each);
        }
        Ok(())
    }

    /// Takes those out of `ids` that no index has.
    fn take_missing(&self, ids: &mut Vec<ObjectId>) -> Vec<ObjectId> {
        let is_missing = |id: &ObjectId| !self.objects.contains_listed(id).is_ok_and(|is| is);
        let mut are_missing = shared_out(ids, is_missing).into_iter();
        ids.extract_if(.., |_| are_missing.next() == Some(true)).collect()
    }

    fn read_blobs(&mut self, ids: &[ObjectId], each: &(dyn Fn(u64, u64) -> bool + Sync)) {
        let (done, is_stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        let objects = self.objects;
        let read = shared_out(ids, |id| {
            // Nothing is lost when it stops early: the caller who asked for that does not use the result.
            if is_stopped.load(Ordering::Relaxed) {
                return Ok(0);
            }
            let read = read_blob(objects, id).map_err(|e| (*id, in_full(&e)));
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            is_stopped.fetch_or(!each(done, ids.len() as u64), Ordering::Relaxed);
            read
        });
        for read in read {
            match read {
                Ok(size) => self.bytes += size,
                Err((id, what)) => drop(self.damaged.insert(id, what)),
            }
        }
    }

    fn note(&mut self, id: &ObjectId, error: &ObjectError) {
        self.damaged.insert(*id, in_full(error));
    }

    /// Notes an object that the caller could not read.
    pub fn note_lost(&mut self, id: &ObjectId) {
        let missing = ObjectError::Missing { id: *id };
        self.damaged.entry(*id).or_insert_with(|| in_full(&missing));
    }

    /// What is wrong with an object, if anything is.
    pub fn damage(&self, id: &ObjectId) -> Option<&str> {
        self.damaged.get(id).map(String::as_str)
    }

    /// Every damaged or missing object.
    pub fn damaged(&self) -> impl Iterator<Item = &ObjectId> {
        self.damaged.keys()
    }

    /// How many objects were looked at.
    pub fn object_count(&self) -> u64 {
        self.commits + (self.trees.len() + self.blobs.len()) as u64
    }

    /// How many bytes were read, about.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Everything below a tree that needs a damaged object, and what is wrong with the first of these.
    pub fn hurt(&mut self, root: &ObjectId) -> (Hurt, Option<String>) {
        let mut hurt = Hurt::default();
        let mut first = None;
        if let Some(what) = self.damaged.get(root) {
            hurt.add(BString::default());
            return (hurt, Some(what.clone()));
        }
        if self.damaged.is_empty() || self.clean.contains(root) {
            return (hurt, None);
        }
        let mut path = Vec::new();
        let mut levels = vec![self.level(*root, 0)];
        let mut steps = 0;
        while let Some(level) = levels.last_mut() {
            path.truncate(level.path);
            let Some(entry) = level.left.next() else {
                let is_hurt = self.leave(levels.pop());
                if let Some(above) = levels.last_mut() {
                    above.is_hurt |= is_hurt;
                }
                continue;
            };
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry.name);
            if let Some(what) = self.damaged.get(&entry.id) {
                level.is_hurt = true;
                hurt.add(path.clone().into());
                first.get_or_insert_with(|| what.clone());
            } else if entry.mode == EntryMode::Directory && !self.clean.contains(&entry.id) {
                steps += u64::from(self.unclean.contains(&entry.id));
                if steps > MAX_STEPS {
                    level.is_hurt = true;
                    hurt.more += 1;
                } else {
                    let below = self.level(entry.id, path.len());
                    levels.push(below);
                }
            }
        }
        (hurt, first)
    }

    /// Remembers whether a tree that was looked through is hurt.
    fn leave(&mut self, level: Option<Level>) -> bool {
        let Some(level) = level else { return false };
        let known = if level.is_hurt { &mut self.unclean } else { &mut self.clean };
        known.insert(level.id);
        level.is_hurt
    }

    fn level(&self, id: ObjectId, path: usize) -> Level {
        // It was read before; if it cannot be read any more, the next survey says so.
        let entries = self.objects.read_tree(&id).unwrap_or_default();
        Level { id, path, left: entries.into_iter(), is_hurt: false }
    }
}

/// Reads a blob and checks it against its id; returns its size.
fn read_blob(objects: &Objects, id: &ObjectId) -> Result<u64, ObjectError> {
    match objects.stream_blob(id, &mut |_| Ok(())) {
        Ok(size) => Ok(size),
        // A stream stops at the first damaged copy of a large blob; there may be another.
        Err(first) => match objects.read(id) {
            Ok(object) if object.kind == Kind::Blob => Ok(object.data.len() as u64),
            _ => Err(first),
        },
    }
}

#[cfg(test)]
mod tests {
    use herma_fs::publish::Durability;

    use super::*;
    use crate::object::push_tree_entry;
    use crate::pack::write::PackWriter;
    use crate::testing::Fresh;

    fn tree(entries: &[(&[u8], EntryMode, ObjectId)]) -> Vec<u8> {
        let mut data = Vec::new();
        for (name, mode, id) in entries {
            push_tree_entry(&mut data, *mode, name, id);
        }
        data
    }

    #[test]
    fn a_tree_that_reaches_damage_by_countless_ways_is_not_followed_for_ever() {
        let fresh = Fresh::new();
        let nothing = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&fresh.dirs, &nothing).unwrap();
        let lost = ObjectId::from_bytes([7; 20]);
        let whole = writer.add(Kind::Blob, b"whole").unwrap();
        let files = [(&b"lost"[..], EntryMode::File, lost), (b"whole", EntryMode::File, whole)];
        let mut top = writer.add(Kind::Tree, &tree(&files)).unwrap();
        for _ in 0..60 {
            let both = [(&b"a"[..], EntryMode::Directory, top), (b"b", EntryMode::Directory, top)];
            top = writer.add(Kind::Tree, &tree(&both)).unwrap();
        }
        writer.finish(Durability::Cache).unwrap();
        let objects = Objects::open(fresh.dirs.objects().try_clone().unwrap());
        let mut survey = Survey::new(&objects);
        survey.tree(&top);
        survey.check_blobs(true, &|_, _| true).unwrap();
        assert_eq!(survey.object_count(), 63);
        assert_eq!(survey.damaged().collect::<Vec<_>>(), [&lost]);
        let (hurt, what) = survey.hurt(&top);
        assert_eq!(hurt.paths.len(), MAX_PATHS_NAMED);
        assert!(hurt.more > 0 && hurt.paths[0].ends_with(b"/a/lost"));
        assert_eq!(what.unwrap(), format!("object {lost} is missing"));
    }

    #[test]
    fn what_is_missing_and_what_is_no_blob_is_noted() {
        let fresh = Fresh::new();
        let nothing = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&fresh.dirs, &nothing).unwrap();
        let whole = writer.add(Kind::Blob, b"whole").unwrap();
        let tree = writer.add(Kind::Tree, b"").unwrap();
        writer.finish(Durability::Cache).unwrap();
        let lost = ObjectId::from_bytes([7; 20]);
        let objects = Objects::open(fresh.dirs.objects().try_clone().unwrap());
        let mut survey = Survey::new(&objects);
        let mut ids = vec![whole, lost, tree];
        assert_eq!(survey.take_missing(&mut ids), [lost]);
        assert_eq!(ids, [whole, tree]);
        survey.read_blobs(&ids, &|_, _| true);
        assert_eq!(survey.damaged().collect::<Vec<_>>(), [&tree]);
    }
}
