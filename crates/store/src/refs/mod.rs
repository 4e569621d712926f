//! Refs: the names that keep checkpoints alive.
//!
//! The formats and the locking are git's, so that a git running beside us sees whole refs and never
//! loses one of ours, nor we one of its. Reading goes loose first, packed second: git writes
//! `packed-refs` before it removes the loose file, so a ref is always in at least one of the two.

pub mod head;
pub mod name;
pub mod packed;
pub mod roll;
pub mod scheme;
pub mod shallow;

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};
use herma_fs::process::TempName;
use herma_fs::publish::{Durability, Temp};
use herma_fs::{Dir, Errno, FileKind};

use super::error::StoreError;
use super::layout::{HermaDirs, StoreDirs};
use crate::ObjectId;
use crate::in_parallel::in_parallel;
use crate::layout::sweep::kind_of;
use crate::lock_file::LockFile;
use crate::refs::packed::PackedRefs;

/// Refs nested deeper than this are reported as broken.
const MAX_DEPTH: usize = 16;

/// What is always a directory.
pub const DIRECTORIES: [&str; 6] =
    ["refs", "refs/heads", "refs/herma", "refs/hermes", "refs/herma-names", "refs/herma-pins"];

/// A loose ref is 41 bytes; anything much larger is something else.
const MAX_LOOSE: usize = 512;

/// How often a directory is made again that a concurrent git removes because it is empty.
const ATTEMPTS: usize = 5;

/// The refs of a store.
#[derive(Clone, Copy, Debug)]
pub struct Refs<'a> {
    dirs: &'a StoreDirs,
    durability: Durability,
}

/// The refs below a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names and values, sorted by name.
    pub refs: Vec<(String, ObjectId)>,
    /// Refs that are there but cannot be read, sorted.
    pub broken: Vec<String>,
}

/// What a loose ref's file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loose {
    Absent,
    Is(ObjectId),
    Broken,
}

impl StoreDirs {
    /// The refs of this store.
    pub fn refs(&self) -> Refs<'_> {
        Refs { dirs: self, durability: Durability::Synced }
    }
}

impl Refs<'_> {
    /// The same refs. What is created or moved through this may be undone by a power cut, as a whole,
    /// unless it is to be [`Durability::Synced`].
    #[must_use]
    pub fn durable(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }
}

impl Refs<'_> {
    /// The value of a ref; `None` if it does not exist.
    pub fn read(self, name: &str) -> Result<Option<ObjectId>, StoreError> {
        name::check(name)?;
        let loose = match self.dirs.store().open_beneath(parent_of(name).as_bytes()) {
            Ok(dir) => read_loose(&dir, leaf_of(name))?,
            Err(e) => {
                self.require_absent(parent_of(name), e, /*may_be_ref*/ false)?;
                Loose::Absent
            }
        };
        match loose {
            Loose::Is(id) => Ok(Some(id)),
            Loose::Absent => Ok(PackedRefs::read(self.dirs.store())?.get(name)),
            Loose::Broken => Err(StoreError::damaged_file(name, "it does not hold an object id")),
        }
    }

    /// All refs that are `prefix` or lie below it, such as `refs/herma/0123456789abcdef`.
    pub fn list(self, prefix: &str) -> Result<Listing, StoreError> {
        self.list_where(prefix, &|_| true)
    }

    /// Like [`Refs::list`], for names that are wanted only; others are not even read.
    pub fn list_where(
        self,
        prefix: &str,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Listing, StoreError> {
        self.list_known(prefix, is_wanted, &BTreeMap::new())
    }

    /// The same without reading those whose values are known: they only have to be there.
    pub fn list_known(
        self,
        prefix: &str,
        is_wanted: &dyn Fn(&str) -> bool,
        known: &BTreeMap<String, ObjectId>,
    ) -> Result<Listing, StoreError> {
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if prefix != "refs" {
            name::check(prefix)?;
        }
        let mut found = BTreeMap::new();
        self.walk_loose(prefix, is_wanted, known, &mut found)?;
        // ORDER: packed after loose, see the top of this file.
        for (name, id) in PackedRefs::read(self.dirs.store())?.iter() {
            let rest = name.strip_prefix(prefix.as_bytes());
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/")) {
                let (name, value) = match str::from_utf8(name) {
                    Ok(name) => (name.to_owned(), Some(id)),
                    Err(_) => (String::from_utf8_lossy(name).into_owned(), None),
                };
                if is_wanted(&name) {
                    found.entry(name).or_insert(value);
                }
            }
        }
        let mut listing = Listing::default();
        for (name, value) in found {
            match value {
                Some(id) => listing.refs.push((name, id)),
                None => listing.broken.push(name),
            }
        }
        Ok(listing)
    }

    /// Is there anything below `prefix`? Nothing is read but names.
    pub fn any(self, prefix: &str) -> Result<bool, StoreError> {
        let is_loose = !self.loose_components(prefix)?.is_empty();
        Ok(is_loose || !self.packed_components(prefix)?.is_empty())
    }

    /// What follows `prefix/` in the names of refs, up to the next slash. No ref is read: it may be broken.
    pub fn next_components(self, prefix: &str) -> Result<BTreeSet<BString>, StoreError> {
        let mut found = self.loose_components(prefix)?;
        // ORDER: packed after loose, see the top of this file.
        found.extend(self.packed_components(prefix)?);
        Ok(found)
    }

    fn loose_components(self, prefix: &str) -> Result<BTreeSet<BString>, StoreError> {
        name::check(prefix)?;
        let mut found = BTreeSet::new();
        let dir = match self.dirs.store().open_beneath(prefix.as_bytes()) {
            Ok(dir) => dir,
            Err(e) => {
                self.require_absent(prefix, e, /*may_be_ref*/ true)?;
                return Ok(found);
            }
        };
        let stays = |entry: &herma_fs::Entry| !is_passing(entry.name.as_bytes());
        for entry in dir.entries()?.iter().filter(|entry| stays(entry)) {
            let is_there = match kind_of(&dir, entry)? {
                Some(FileKind::Directory) => match dir.open_dir(entry.name.as_c_str()) {
                    Ok(below) => below.entries()?.iter().any(stays),
                    Err(e) => !e.is_not_found(),
                },
                kind => kind.is_some(),
            };
            if is_there {
                found.insert(entry.name.as_bytes().into());
            }
        }
        Ok(found)
    }

    fn packed_components(self, prefix: &str) -> Result<BTreeSet<BString>, StoreError> {
        let packed = PackedRefs::read(self.dirs.store())?;
        let below = |name: &'_ [u8]| -> Option<BString> {
            let rest = name.strip_prefix(prefix.as_bytes())?.strip_prefix(b"/")?;
            rest.split_str(b"/").next().map(BString::from)
        };
        Ok(packed.iter().filter_map(|(name, _)| below(name)).collect())
    }

    /// Notes every loose ref at or below `prefix`, with `None` for a broken one.
    fn walk_loose(
        self,
        prefix: &str,
        is_wanted: &dyn Fn(&str) -> bool,
        known: &BTreeMap<String, ObjectId>,
        found: &mut BTreeMap<String, Option<ObjectId>>,
    ) -> Result<(), StoreError> {
        let store = self.dirs.store();
        let top = match store.open_beneath(prefix.as_bytes()) {
            Ok(dir) => dir,
            Err(e) => {
                self.require_absent(prefix, e, /*may_be_ref*/ true)?;
                // The prefix itself may be a ref.
                if prefix != "refs"
                    && let Some(value) = self.read(prefix).transpose()
                {
                    found.insert(prefix.to_owned(), value.ok());
                }
                return Ok(());
            }
        };
        let mut pending = vec![(top, prefix.to_owned(), 0)];
        while let Some((dir, path, depth)) = pending.pop() {
            for entry in dir.entries()? {
                let bytes = entry.name.as_bytes();
                if is_passing(bytes) {
                    continue;
                }
                let name = format!("{path}/{}", entry.name.to_string_lossy());
                if !is_wanted(&name) {
                    continue;
                }
                let is_named = entry.name.to_str().is_ok() && name::is_valid(name.as_bytes());
                match kind_of(&dir, &entry)? {
                    None => {}
                    Some(FileKind::Directory) if is_named && depth < MAX_DEPTH => {
                        match dir.open_dir(entry.name.as_c_str()) {
                            Ok(child) => pending.push((child, name, depth + 1)),
                            Err(e) if e.is_not_found() => {}
                            Err(_) => drop(found.insert(name, None)),
                        }
                    }
                    Some(FileKind::File) if known.contains_key(&name) => {
                        let value = known.get(&name).copied();
                        found.insert(name, value);
                    }
                    Some(FileKind::File) if is_named => {
                        match read_value(&dir, &entry.name.to_string_lossy()) {
                            Ok(Loose::Is(id)) => drop(found.insert(name, Some(id))),
                            Ok(Loose::Absent) => {}
                            // The ref may be whole: without it every number would name another checkpoint.
                            Err(StoreError::Fs(e)) if e.is_passing() => return Err(e.into()),
                            Ok(Loose::Broken) | Err(_) => drop(found.insert(name, None)),
                        }
                    }
                    Some(_) => drop(found.insert(name, None)),
                }
            }
        }
        Ok(())
    }

    /// Creates refs that must not exist, in the order given.
    ///
    /// If one exists, it and those after it are not created and the error is
    /// [`StoreError::RefMoved`]. The caller holds the project's lock, which is what keeps another
    /// Herma from creating the same name.
    pub fn create(self, refs: &[(&str, ObjectId)]) -> Result<(), StoreError> {
        let herma = self.dirs.for_writing()?;
        let packed = PackedRefs::read(self.dirs.store())?;
        for (name, _) in refs {
            name::check(name)?;
            if let Some(found) = packed.get(name) {
                return Err(moved(name, None, Some(found)));
            }
            if packed.conflicts_with(name) {
                return Err(StoreError::BadRefName((*name).to_owned()));
            }
        }
        let values = refs.iter().map(|(_, id)| value(herma, *id));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        // ORDER: content before name.
        let (aside, here) = values.split_at(values.len() / 2);
        let sync = |values: &[Temp<'_>]| values.iter().try_for_each(Temp::sync);
        let (aside, here) = in_parallel(|| sync(aside), || sync(here));
        aside.and(here)?;
        let mut changed: BTreeMap<&str, Dir> = BTreeMap::new();
        for ((name, id), temp) in refs.iter().zip(values) {
            let dir = self.publish_new(herma, name, *id, temp)?;
            changed.insert(parent_of(name), dir);
        }
        if self.durability != Durability::Synced {
            return Ok(());
        }
        for (path, dir) in &changed {
            dir.sync()?;
            // The directory may be left from a killed process that never made its own name durable; once
            // older refs are in it, somebody has.
            if dir.entries()?.len() <= refs.len() {
                self.sync_above(path)?;
            }
        }
        // ORDER: what is on the roll is on disk.
        roll::enter(self.dirs, refs);
        Ok(())
    }

    /// Puts a value in the place of a loose ref that does not hold an object id; tells whether it was one.
    pub fn replace_broken(self, name: &str, id: ObjectId) -> Result<bool, StoreError> {
        let mut was_broken = false;
        self.with_lock(name, |dir, mut lock| {
            was_broken = read_loose(dir, leaf_of(name))? == Loose::Broken;
            if was_broken {
                lock.write(format!("{id}\n").as_bytes())?;
                lock.commit()?;
            }
            Ok(())
        })?;
        if was_broken {
            roll::enter(self.dirs, &[(name, id)]);
        }
        Ok(was_broken)
    }

    /// Removes the file of a loose ref that does not hold an object id.
    pub fn remove_broken(self, name: &str) -> Result<(), StoreError> {
        name::check(name)?;
        let dir = self.dirs.store().open_beneath(parent_of(name).as_bytes())?;
        if read_loose(&dir, leaf_of(name))? == Loose::Broken {
            dir.remove_file(leaf_of(name))?;
            dir.sync()?;
        }
        Ok(())
    }

    /// Makes the names in the directory `path` durable, and its own.
    pub fn sync_names(self, path: &str) -> Result<(), StoreError> {
        match self.dirs.store().open_beneath(path.as_bytes()) {
            Ok(dir) => dir.sync()?,
            Err(e) if is_absent(&e) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
        self.sync_above(path)
    }

    /// Makes the names of the directories on the way to `path` durable.
    fn sync_above(self, path: &str) -> Result<(), StoreError> {
        let mut above = parent_of(path);
        while !above.is_empty() {
            self.dirs.store().open_beneath(above.as_bytes())?.sync()?;
            above = parent_of(above);
        }
        Ok(())
    }

    /// Gives a synced value its name and returns the directory, which is still to be synced.
    fn publish_new(
        self,
        herma: &HermaDirs,
        name: &str,
        id: ObjectId,
        temp: Temp<'_>,
    ) -> Result<Dir, StoreError> {
        let mut dir = self.ensure_parent(name)?;
        let mut result = temp.publish_new(&dir, leaf_of(name));
        let mut is_repeated = false;
        for _ in 1..ATTEMPTS {
            match result {
                Err(e) if e.is_not_found() => {
                    is_repeated = true;
                    dir = self.ensure_parent(name)?;
                    result = synced_value(herma, id)?.publish_new(&dir, leaf_of(name));
                }
                // An empty directory is in nobody's way; git removes it, too.
                Ok(false) if dir.remove_dir(leaf_of(name)).is_ok() => {
                    result = synced_value(herma, id)?.publish_new(&dir, leaf_of(name));
                }
                _ => break,
            }
        }
        let is_published = result?;
        let found = if is_published { None } else { self.read(name)? };
        // Over a network a rename may be done and its answer lost; asked for again, it finds nothing to rename.
        if is_published || (is_repeated && found == Some(id)) {
            Ok(dir)
        } else {
            Err(moved(name, None, found))
        }
    }

    /// Sets a ref to `new` if it is at `expected`, where `None` means that it does not exist.
    pub fn update(
        self,
        name: &str,
        expected: Option<ObjectId>,
        new: ObjectId,
    ) -> Result<(), StoreError> {
        self.with_lock(name, |_, mut lock| {
            let found = self.read(name)?;
            if found != expected {
                return Err(moved(name, expected, found));
            }
            if found.is_none() && PackedRefs::read(self.dirs.store())?.conflicts_with(name) {
                return Err(StoreError::BadRefName(name.to_owned()));
            }
            lock.write(format!("{new}\n").as_bytes())?;
            lock.commit_with(self.durability)
        })?;
        if self.durability == Durability::Synced {
            roll::enter(self.dirs, &[(name, new)]);
        }
        Ok(())
    }

    /// Removes a ref if it is at `expected`.
    pub fn delete(self, name: &str, expected: ObjectId) -> Result<(), StoreError> {
        let herma = self.dirs.for_writing()?;
        let store = self.dirs.store();
        self.with_lock(name, |dir, lock| {
            let found = self.read(name)?;
            if found != Some(expected) {
                return Err(moved(name, Some(expected), found));
            }
            // ORDER: off the roll before it goes, or it would look lost.
            roll::strike(self.dirs, std::iter::once(name))?;
            let mut packed_lock =
                LockFile::acquire(&herma.dir, &herma.tmp, store, "packed-refs", "packed-refs")?;
            let packed = PackedRefs::read(store)?;
            // ORDER: packed before loose, or an older packed value would come back to life.
            if packed.get(name).is_some() {
                packed_lock.write(&packed.without(&[name]))?;
                packed_lock.commit()?;
            } else {
                drop(packed_lock);
            }
            dir.remove_if_there(leaf_of(name))?;
            // ORDER: the lock goes before the sync, or a power cut could bring it back.
            drop(lock);
            Ok(dir.sync()?)
        })
    }

    /// Removes refs, each if it is at the value given with it; those that are gone already are none the
    /// worse. Nothing is durable before all are gone, which is what makes this fast.
    pub fn delete_all(self, refs: &[(String, ObjectId)]) -> Result<(), StoreError> {
        let herma = self.dirs.for_writing()?;
        let store = self.dirs.store();
        let mut packed_lock =
            LockFile::acquire(&herma.dir, &herma.tmp, store, "packed-refs", "packed-refs")?;
        let mut names = Vec::new();
        let packed = PackedRefs::read(store)?;
        for (name, expected) in refs {
            match self.read(name)? {
                Some(found) if found != *expected => {
                    return Err(moved(name, Some(*expected), Some(found)));
                }
                // Its value may be an older one, which the loose file stands before.
                Some(_) if packed.get(name).is_some() => names.push(name.as_str()),
                _ => {}
            }
        }
        // ORDER: off the roll before they go, or they would look lost.
        roll::strike(self.dirs, refs.iter().map(|(name, _)| name.as_str()))?;
        // ORDER: packed before loose, or an older packed value would come back to life.
        if names.is_empty() {
            drop(packed_lock);
        } else {
            packed_lock.write(&packed.without(&names))?;
            packed_lock.commit()?;
        }
        let mut changed: BTreeMap<&str, Dir> = BTreeMap::new();
        for (name, expected) in refs {
            self.with_lock(name, |dir, _lock| {
                let leaf = leaf_of(name);
                match read_loose(dir, leaf)? {
                    Loose::Is(found) if found == *expected => drop(dir.remove_if_there(leaf)?),
                    Loose::Absent => {}
                    Loose::Is(found) => return Err(moved(name, Some(*expected), Some(found))),
                    Loose::Broken => return Err(moved(name, Some(*expected), None)),
                }
                changed.insert(parent_of(name), dir.try_clone()?);
                Ok(())
            })?;
        }
        for dir in changed.values() {
            dir.sync()?;
        }
        Ok(())
    }

    /// Calls `change` with the ref's directory while the ref's lock is held.
    fn with_lock(
        self,
        name: &str,
        change: impl FnOnce(&Dir, LockFile<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        name::check(name)?;
        let herma = self.dirs.for_writing()?;
        let mut attempt = 1;
        loop {
            let dir = self.ensure_parent(name)?;
            match LockFile::acquire(&herma.dir, &herma.tmp, &dir, leaf_of(name), name) {
                Err(StoreError::Fs(e)) if e.is_not_found() && attempt < ATTEMPTS => attempt += 1,
                Err(e) => return Err(e),
                Ok(lock) => return change(&dir, lock),
            }
        }
    }

    /// Nothing is at `path`, or a ref is, below which git has no others. Anything else in the way of a directory
    /// is damage: what is below it may be all there was.
    fn require_absent(
        self,
        path: &str,
        error: herma_fs::Error,
        may_be_ref: bool,
    ) -> Result<(), StoreError> {
        match error.errno() {
            Some(Errno::NOENT) => return Ok(()),
            Some(Errno::NOTDIR | Errno::LOOP) => {}
            _ => return Err(error.into()),
        }
        let mut dir = self.dirs.store().try_clone()?;
        let mut at = 0;
        for component in path.split('/') {
            at += component.len() + usize::from(at > 0);
            let Some(stat) = dir.stat_opt(component)? else { return Ok(()) };
            if stat.kind == FileKind::Directory {
                dir = dir.open_dir(component)?;
                continue;
            }
            let is_top = DIRECTORIES.contains(&&path[..at]);
            let is_last = at == path.len() && may_be_ref;
            let is_ref = || matches!(read_loose(&dir, component), Ok(Loose::Is(_)));
            if !is_top && (is_last || is_ref()) {
                return Ok(());
            }
            return Err(StoreError::damaged_file(&path[..at], "it is no directory"));
        }
        Ok(())
    }

    /// Opens the directory of a ref, durably making what is missing of it.
    fn ensure_parent(self, name: &str) -> Result<Dir, StoreError> {
        let mut attempt = 1;
        loop {
            let made = self.dirs.store().try_clone().and_then(|mut dir| {
                for component in parent_of(name).split('/') {
                    dir = dir.ensure_private(component)?;
                }
                Ok(dir)
            });
            match made {
                Err(e) if e.is_not_found() && attempt < ATTEMPTS => attempt += 1,
                other => return Ok(other?),
            }
        }
    }
}

/// The directory part of a checked name, which always has one.
fn parent_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn leaf_of(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, leaf)| leaf)
}

fn moved(name: &str, expected: Option<ObjectId>, found: Option<ObjectId>) -> StoreError {
    StoreError::RefMoved { name: name.to_owned(), expected, found }
}

/// Is it a file that is there only while somebody writes?
fn is_passing(name: &[u8]) -> bool {
    name.ends_with(b".lock") || TempName::parse(name).is_some()
}

fn is_absent(error: &herma_fs::Error) -> bool {
    matches!(error.errno(), Some(Errno::NOENT | Errno::NOTDIR))
}

/// A temporary file that holds a ref's value, on disk already.
fn value(herma: &HermaDirs, id: ObjectId) -> Result<Temp<'_>, StoreError> {
    let mut temp = Temp::create_private(&herma.tmp)?;
    temp.write(format!("{id}\n").as_bytes())?;
    Ok(temp)
}

fn synced_value(herma: &HermaDirs, id: ObjectId) -> Result<Temp<'_>, StoreError> {
    let temp = value(herma, id)?;
    // ORDER: content before name.
    temp.sync()?;
    Ok(temp)
}

/// Reads a loose ref; a directory in its place is no ref.
pub(crate) fn read_loose(dir: &Dir, leaf: &str) -> Result<Loose, StoreError> {
    match dir.stat_opt(leaf)?.map(|stat| stat.kind) {
        None | Some(FileKind::Directory) => return Ok(Loose::Absent),
        Some(FileKind::File) => {}
        Some(_) => return Ok(Loose::Broken),
    }
    read_value(dir, leaf)
}

/// Reads a loose ref that is known to be a file. A project may have very many of them.
fn read_value(dir: &Dir, leaf: &str) -> Result<Loose, StoreError> {
    let mut buffer = [0; MAX_LOOSE];
    let Some(length) = dir.read_small(leaf, &mut buffer)? else { return Ok(Loose::Absent) };
    // A full buffer is something larger, cut off.
    let bytes = buffer[..length].trim_ascii_end();
    Ok(match ObjectId::from_hex(bytes) {
        Some(id) if !id.is_null() && length < MAX_LOOSE => Loose::Is(id),
        _ => Loose::Broken,
    })
}

#[cfg(test)]
mod tests;
