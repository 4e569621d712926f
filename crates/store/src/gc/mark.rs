//! Marking: everything that refs keep alive, and the receipts their commits name, in the order a merged pack should have it.
//!
//! The walk goes from the newest checkpoint of a project to the oldest and compares each tree with that of
//! the next newer one. An object is met at the newest place it is used; beside it stands the object that
//! was at the same path in the newer checkpoint, which is what it will resemble most. So in a merged
//! pack the newest state is stored whole and every older version as a small change to a newer one.
//!
//! What cannot be read is noted, and the walk goes on.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::BString;

use crate::ObjectId;
use crate::gc::GcError;
use crate::id_table::IdTable;
use crate::merge::Wanted;
use crate::object::commit::receipt_of;
use crate::object::{EntryMode, Kind, TreeEntry};
use crate::objects::{ObjectError, Objects};

/// File names are remembered for finding what a moved file may resemble; beyond this many, no more.
const MAX_NAMES: usize = 1 << 18;

/// A walk over live objects; see the module.
pub struct Walk<'a> {
    objects: &'a Objects,
    shallow: BTreeSet<ObjectId>,
    /// Where each object is in `order`.
    places: IdTable,
    order: Vec<Wanted>,
    /// Of each of them: is what it resembles the same file or directory in a newer checkpoint?
    versions: Vec<bool>,
    /// Objects that cannot even be told what they are, and so have no place.
    lost: HashSet<ObjectId>,
    by_name: HashMap<BString, ObjectId>,
    /// Live objects that cannot be read.
    unreadable: Vec<ObjectId>,
    /// What commits name as their receipts.
    receipts: Vec<ObjectId>,
    /// How many objects had been met when stock was taken.
    settled: usize,
    /// How many of them could not be read.
    known_unreadable: usize,
    go_on: &'a (dyn Fn(u64) -> bool + Sync),
}

/// A tree to be walked, and the newer one it is compared with.
struct Pair {
    tree: ObjectId,
    newer: Option<ObjectId>,
}

impl<'a> Walk<'a> {
    /// A walk that has seen nothing. History ends at the commits in `shallow`. `go_on` is told how many
    /// objects were met, and may end the walk.
    pub fn new(
        objects: &'a Objects,
        shallow: BTreeSet<ObjectId>,
        go_on: &'a (dyn Fn(u64) -> bool + Sync),
    ) -> Self {
        Self {
            objects,
            shallow,
            places: IdTable::default(),
            order: Vec::new(),
            versions: Vec::new(),
            lost: HashSet::new(),
            by_name: HashMap::new(),
            unreadable: Vec::new(),
            receipts: Vec::new(),
            settled: 0,
            known_unreadable: 0,
            go_on,
        }
    }

    /// Is this object alive?
    pub fn has(&self, id: &ObjectId) -> bool {
        self.place(id).is_some() || self.lost.contains(id)
    }

    /// Where an object is in [`Walk::order`].
    pub fn place(&self, id: &ObjectId) -> Option<usize> {
        self.places.find(id, |place| self.order[place].id)
    }

    /// Everything met so far, in the order of a merged pack.
    pub fn order(&self) -> &[Wanted] {
        &self.order
    }

    /// The place of the newer version of an object that was met at this place, if there is one.
    pub(crate) fn newer(&self, place: usize) -> Option<usize> {
        let like = self.order[place].like.filter(|_| self.versions[place])?;
        self.place(&like)
    }

    /// Everything met from now on is late.
    pub fn settle(&mut self) {
        self.settled = self.order.len();
        self.known_unreadable = self.unreadable.len();
    }

    /// Could all be read that was met since [`Walk::settle`]?
    pub fn is_late_readable(&self) -> bool {
        self.unreadable.len() == self.known_unreadable
    }

    /// What was met since [`Walk::settle`].
    pub fn late(&self) -> &[Wanted] {
        &self.order[self.settled..]
    }

    /// Notes objects that were met but are not in the store.
    pub fn note_missing(&mut self, missing: &BTreeSet<ObjectId>) {
        let known: BTreeSet<ObjectId> = self.unreadable.iter().copied().collect();
        self.unreadable.extend(missing.difference(&known));
    }

    /// What could not be read.
    pub fn unreadable(&self) -> &[ObjectId] {
        &self.unreadable
    }

    /// Walks all refs: for every directory of refs the last name first, which is the newest checkpoint.
    /// Says whether there was anything new.
    pub fn refs(&mut self, refs: &[(String, ObjectId)]) -> Result<bool, GcError> {
        let before = self.order.len();
        let mut newer: HashMap<(String, bool), ObjectId> = HashMap::new();
        for (name, id) in refs.iter().rev() {
            let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
            let place = (parent.to_owned(), name.strip_suffix(".extra").is_some());
            let like = newer.insert(place, *id);
            self.root(*id, like)?;
        }
        self.named_receipts()?;
        Ok(self.order.len() > before)
    }

    /// Walks receipts that no ref keeps: theirs is lost, or names something else, which `repair` can mend only as long as the
    /// receipt is there. Last, so that in a merged pack all others are where they would be without this.
    fn named_receipts(&mut self) -> Result<(), GcError> {
        for receipt in std::mem::take(&mut self.receipts) {
            let is_tree = |id| matches!(self.objects.read_header(id), Ok((Kind::Tree, _)));
            if !self.has(&receipt) && is_tree(&receipt) {
                self.tree(receipt, None)?;
            }
        }
        Ok(())
    }

    /// Walks one checkpoint without those before it: its commit, its tree and its extra data.
    pub fn checkpoint(&mut self, id: ObjectId) -> Result<(), GcError> {
        if !self.meet(id, None)? {
            return Ok(());
        }
        match self.objects.read_commit(&id) {
            Ok(commit) => {
                self.tree(commit.tree, None)?;
                match receipt_of(&commit.message) {
                    Some(extra) => self.tree(extra, None),
                    None => Ok(()),
                }
            }
            Err(e) => self.note(id, e),
        }
    }

    /// Walks what a ref names, whatever kind of object that is.
    fn root(&mut self, id: ObjectId, like: Option<ObjectId>) -> Result<(), GcError> {
        let mut next = vec![(id, like)];
        while let Some((id, like)) = next.pop() {
            if self.has(&id) {
                continue;
            }
            match self.objects.read_header(&id) {
                Ok((Kind::Commit, _)) => next.extend(self.commit(id, like)?),
                Ok((Kind::Tree, _)) => self.tree(id, like)?,
                Ok((Kind::Tag, _)) => {
                    self.meet(id, None)?;
                    next.extend(self.tagged(id)?.map(|id| (id, None)));
                }
                Ok((Kind::Blob, _)) => drop(self.meet(id, like)?),
                Err(e) => self.note(id, e)?,
            }
        }
        Ok(())
    }

    /// Walks a commit; returns its parents, to which it is the newer one.
    fn commit(
        &mut self,
        id: ObjectId,
        like: Option<ObjectId>,
    ) -> Result<Vec<(ObjectId, Option<ObjectId>)>, GcError> {
        self.meet(id, like)?;
        let commit = match self.objects.read_commit(&id) {
            Ok(commit) => commit,
            Err(e) => {
                self.note(id, e)?;
                return Ok(Vec::new());
            }
        };
        let newer = like.and_then(|like| self.objects.read_commit(&like).ok());
        self.tree(commit.tree, newer.map(|newer| newer.tree))?;
        self.receipts.extend(receipt_of(&commit.message));
        if self.shallow.contains(&id) {
            return Ok(Vec::new());
        }
        let parents = commit.parents.iter();
        Ok(parents.map(|parent| (*parent, Some(id))).collect())
    }

    /// What a tag names.
    fn tagged(&mut self, id: ObjectId) -> Result<Option<ObjectId>, GcError> {
        match self.objects.read(&id) {
            Ok(tag) => {
                let line = tag.data.split(|byte| *byte == b'\n').next();
                let hex = line.and_then(|line| line.strip_prefix(b"object "));
                Ok(hex.and_then(ObjectId::from_hex))
            }
            Err(e) => self.note(id, e).map(|()| None),
        }
    }

    /// Walks a tree and all below it that has not been met.
    fn tree(&mut self, tree: ObjectId, newer: Option<ObjectId>) -> Result<(), GcError> {
        let mut pending = vec![Pair { tree, newer }];
        while let Some(pair) = pending.pop() {
            if !self.meet(pair.tree, pair.newer)? {
                continue;
            }
            let entries = match self.objects.read_tree(&pair.tree) {
                Ok(entries) => entries,
                Err(e) => {
                    self.note(pair.tree, e)?;
                    continue;
                }
            };
            let beside = pair.newer.and_then(|id| self.objects.read_tree(&id).ok());
            let beside = ByName::new(beside.as_deref().unwrap_or_default());
            let first = pending.len();
            for entry in &entries {
                let newer = beside.get(entry);
                match entry.mode {
                    // Another repository's commit: its objects were never ours.
                    EntryMode::Nested => {}
                    EntryMode::Directory => pending.push(Pair { tree: entry.id, newer }),
                    _ => self.blob(entry, newer)?,
                }
            }
            // Popped from the end: what comes first in the tree comes first in the pack.
            pending[first..].reverse();
        }
        Ok(())
    }

    fn blob(&mut self, entry: &TreeEntry, newer: Option<ObjectId>) -> Result<(), GcError> {
        if self.has(&entry.id) {
            return Ok(());
        }
        let like = newer.or_else(|| self.by_name.get(&entry.name).copied());
        self.meet(entry.id, like)?;
        if let Some(last) = self.versions.last_mut() {
            *last = newer.is_some();
        }
        if self.by_name.len() < MAX_NAMES || self.by_name.contains_key(&entry.name) {
            self.by_name.insert(entry.name.clone(), entry.id);
        }
        Ok(())
    }

    /// Notes that an object is alive; says whether that is news.
    fn meet(&mut self, id: ObjectId, like: Option<ObjectId>) -> Result<bool, GcError> {
        if self.has(&id) {
            return Ok(false);
        }
        let like = like.filter(|like| *like != id);
        self.order.push(Wanted { id, like });
        self.versions.push(like.is_some());
        let order = &self.order;
        self.places.insert(&id, order.len() - 1, |place| order[place].id);
        if self.order.len().is_multiple_of(256) && !(self.go_on)(self.order.len() as u64) {
            return Err(GcError::Cancelled);
        }
        Ok(true)
    }

    /// Notes an object that is missing or damaged; anything else that goes wrong ends the walk, because
    /// what was not seen would be taken for dead.
    fn note(&mut self, id: ObjectId, error: ObjectError) -> Result<(), GcError> {
        if self.place(&id).is_none() {
            self.lost.insert(id);
        }
        match error {
            ObjectError::Fs(_) | ObjectError::Sink(_) => Err(error.into()),
            _ => {
                self.unreadable.push(id);
                Ok(())
            }
        }
    }
}

/// The entries of a tree, looked up in their own order.
struct ByName<'t> {
    entries: HashMap<(&'t [u8], bool), ObjectId>,
}

impl<'t> ByName<'t> {
    fn new(entries: &'t [TreeEntry]) -> Self {
        let key = |entry: &'t TreeEntry| (&entry.name[..], entry.mode == EntryMode::Directory);
        let entries = entries.iter().map(|entry| (key(entry), entry.id));
        Self { entries: entries.collect() }
    }

    /// What has the same name and is of the same sort.
    fn get(&self, entry: &TreeEntry) -> Option<ObjectId> {
        let key = (&entry.name[..], entry.mode == EntryMode::Directory);
        self.entries.get(&key).copied()
    }
}
