//! What the rules of now leave out and belongs to the present all the same.
//!
//! Rules change: an ignore file, the index, a setting. A restore that brings back a file the rules of now leave out, or a step that
//! ends under other rules than it began with, could then not be undone: the file would be nobody's. So a scan can be told to
//! hold some states, and what it finds is covered whatever the rules say
//!
//! * while it is exactly what one of the held states has at its path: nothing is stored that is not stored already, and
//!   whoever removes or replaces it can bring it back. Once it was changed, the rules apply to it again;
//! * whatever is in it, if it is in the state a step began with, or the rules of then would have taken it in. Its size and what
//!   looks like a secret still count: what may not be stored is left out and named.
//!
//! A directory is entered if something in it may be held, and what is not is left out by name. So a checkpoint of such a scan also
//! vouches for the absence of every path the held states have and it does not.

use herma_store::path::join;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use herma_diff::StoreSide;
use herma_store::ObjectId;
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::objects::Objects;
use xxhash_rust::xxh3::Xxh3;

use super::reason::Reason;
use super::receipt::LeftOut;
use super::stat_cache::{DirRecord, EntryRecord, StatCache};
use crate::rules::{ExcludeSettings, Rules, Scope};

/// An ignore file that is larger has no rules, as on disk.
const MAX_IGNORE_FILE_BYTES: u64 = 4 << 20;

/// Which states a scan is to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The trees of these states: what is exactly as in one of them is covered.
    pub states: Vec<ObjectId>,
    /// Where the steps under way began: what is covered there stays covered.
    pub begun: Vec<Begun>,
}

/// The state a step began with, and the rules of then, as far as its tree does not have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The checkpoint.
    pub checkpoint: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
    /// The settings of then.
    pub settings: ExcludeSettings,
    /// `.git/info/exclude` as it was then.
    pub info_exclude: Vec<u8>,
}

impl Holding {
    /// Adds a state.
    pub fn hold(&mut self, tree: ObjectId) {
        if !self.states.contains(&tree) && tree != ObjectId::EMPTY_TREE {
            self.states.push(tree);
        }
    }
}

/// The states a scan holds, with the store they are read from. What cannot be read is not held.
pub struct Held<'a> {
    objects: &'a Objects,
    pub(crate) holding: &'a Holding,
    rules: Vec<Rules>,
    listings: Mutex<HashMap<ObjectId, Option<Arc<[TreeEntry]>>>>,
}

impl<'a> Held<'a> {
    /// Holds these states.
    pub fn new(objects: &'a Objects, holding: &'a Holding) -> Self {
        let rules = holding.begun.iter();
        Self {
            objects,
            holding,
            rules: rules.map(|begun| Rules::new(&begun.settings)).collect(),
            listings: Mutex::default(),
        }
    }

    /// What a look at the present left out although a held state has a file there: it is not the one of that state.
    pub fn left_out_in(&self, cache: &StatCache) -> Vec<(Vec<u8>, Reason)> {
        if self.holding.states.is_empty() {
            return Vec::new();
        }
        let is_file = |(mode, _)| mode != EntryMode::Directory;
        let is_held = |item: &LeftOut| {
            let mut states = self.holding.states.iter();
            Self::is_about(item.reason)
                && states.any(|tree| self.at(tree, &item.path, Some(cache)).is_some_and(is_file))
        };
        let found = cache.left_out().filter(is_held);
        found.map(|item| (item.path.into(), item.reason)).collect()
    }

    /// A number for these states under rules with this number.
    pub(crate) fn number(&self, rules: u64) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&rules.to_le_bytes());
        for tree in &self.holding.states {
            hash.update(tree.as_bytes());
        }
        for (begun, rules) in self.holding.begun.iter().zip(&self.rules) {
            hash.update(begun.tree.as_bytes());
            hash.update(&rules.fingerprint.to_le_bytes());
            hash.update(&begun.info_exclude);
        }
        hash.digest()
    }

    /// May rules like this one leave out something that is held?
    pub(crate) fn is_about(reason: Reason) -> bool {
        matches!(
            reason,
            Reason::Excluded
                | Reason::Ignored
                | Reason::Secret
                | Reason::SecretContent
                | Reason::TooLarge
        )
    }

    /// Does a held state have a file, or for a directory anything in it, at this path?
    pub(crate) fn has(&self, path: &[u8], is_dir: bool) -> bool {
        let mut states = self.holding.states.iter();
        states.any(|tree| self.has_in(tree, path, is_dir))
    }

    /// The same for a state that a step began with.
    pub(crate) fn has_begun(&self, path: &[u8], is_dir: bool) -> bool {
        let mut begun = self.holding.begun.iter();
        begun.any(|begun| self.has_in(&begun.tree, path, is_dir))
    }

    fn has_in(&self, tree: &ObjectId, path: &[u8], is_dir: bool) -> bool {
        let found = self.at(tree, path, None);
        found.is_some_and(|(mode, _)| (mode == EntryMode::Directory) == is_dir)
    }

    /// The contents the held states have at a path for a file of this kind.
    pub(crate) fn contents(&self, path: &[u8], kind: EntryMode) -> Vec<ObjectId> {
        let begun = self.holding.begun.iter().map(|begun| &begun.tree);
        let states = self.holding.states.iter().chain(begun);
        let found = states.filter_map(|tree| self.at(tree, path, None));
        found.filter(|(mode, _)| *mode == kind).map(|(_, id)| id).collect()
    }

    /// How long a stored content is.
    pub(crate) fn size(&self, id: &ObjectId) -> Option<u64> {
        self.objects.read_header(id).ok().map(|(_, size)| size)
    }

    /// Is what a record describes exactly what a held state has?
    pub(crate) fn is_exact(&self, path: &[u8], record: &EntryRecord) -> bool {
        let is_in = |mode| self.contents(path, mode).contains(&record.id);
        !record.unstable && record.kind.mode().is_some_and(is_in)
    }

    /// The rules around the root at the beginning of each step.
    pub(crate) fn scopes(&self) -> Vec<Scope<'_>> {
        let begun = self.holding.begun.iter().zip(&self.rules);
        begun.map(|(begun, rules)| Scope::root(rules, Some(&begun.info_exclude))).collect()
    }

    /// The ignore files of a directory at the beginning of the step with this place.
    pub(crate) fn ignore_file(&self, step: usize, dir: &[u8], name: &str) -> Option<Vec<u8>> {
        let path = join(dir, name.as_bytes());
        let (mode, id) = self.at(&self.holding.begun[step].tree, &path, None)?;
        let is_file = matches!(mode, EntryMode::File | EntryMode::Executable);
        let (_, size) = self.objects.read_header(&id).ok().filter(|_| is_file)?;
        if size > MAX_IGNORE_FILE_BYTES {
            return None;
        }
        Some(self.objects.read(&id).ok()?.data)
    }

    /// Does a cache of the rules of now leave out something that is held, so that names have to be judged anew? `is_as_now`
    /// says whether settings and `info/exclude` are as when a step began.
    pub fn overrules(&self, cache: &StatCache, is_as_now: impl Fn(&Begun) -> bool) -> bool {
        let described = cache.header().checkpoint;
        if !self.holding.begun.iter().all(is_as_now) {
            return true;
        }
        let begun = self.holding.begun.iter();
        let begun = begun.filter(|begun| described != Some(begun.checkpoint));
        let begun: Vec<&Begun> = begun.collect();
        if begun.iter().any(|begun| self.has_other_ignore_files(begun, cache)) {
            return true;
        }
        if self.holding.states.is_empty() && begun.is_empty() {
            return false;
        }
        let trees = || self.holding.states.iter().chain(begun.iter().map(|begun| &begun.tree));
        let is_held = |path: &[u8]| trees().any(|tree| self.at(tree, path, Some(cache)).is_some());
        cache.left_out().any(|item| Self::is_about(item.reason) && is_held(&item.path))
    }

    /// Are ignore files in the state of a cache others than when a step began?
    fn has_other_ignore_files(&self, begun: &Begun, cache: &StatCache) -> bool {
        let Some(root) = cache.dir(StatCache::ROOT) else { return true };
        let side = StoreSide::new(self.objects);
        match herma_diff::compare(Some((&side, begun.tree)), Some((&side, root.tree)), &[]) {
            Ok(changes) => changes.iter().any(|change| {
                let name = change.path.components().last();
                name.is_some_and(Scope::depends_on)
            }),
            Err(_) => true,
        }
    }

    /// What a tree has at a path. Of what a cache leaves out that is nothing where the cache has the same tree above it.
    fn at(
        &self,
        tree: &ObjectId,
        path: &[u8],
        beside: Option<&StatCache>,
    ) -> Option<(EntryMode, ObjectId)> {
        let mut here = (EntryMode::Directory, *tree);
        let mut beside = beside.map(|cache| (cache, StatCache::ROOT));
        for name in path.split(|byte| *byte == b'/') {
            let has_same = |dir: DirRecord| dir.tree == here.1;
            let is_same = beside.and_then(|(cache, dir)| cache.dir(dir)).is_some_and(has_same);
            if here.0 != EntryMode::Directory || is_same {
                return None;
            }
            let listing = self.listing(&here.1)?;
            let entry = listing.iter().find(|entry| entry.name == name)?;
            here = (entry.mode, entry.id);
            beside = beside
                .and_then(|(cache, dir)| Some((cache, cache.find_kind(dir, name, true)?.child()?)));
        }
        Some(here)
    }

    fn listing(&self, tree: &ObjectId) -> Option<Arc<[TreeEntry]>> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        let listing = listings
            .entry(*tree)
            .or_insert_with(|| Some(self.objects.read_tree(tree).ok()?.into()));
        listing.clone()
    }
}
