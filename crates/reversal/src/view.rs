//! One state of the project, and how to look things up in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use bstr::BString;
use herma_diff::{Change, DiffError, FileState, Side, compare};
use herma_store::object::EntryMode;
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::Modes;
use herma_worktree::reason::Reason;
use herma_worktree::receipt::left_out_at;

/// One saved state, with what it does not vouch for.
#[derive(Clone, Copy)]
pub struct StateView<'a> {
    /// Its files.
    pub tree: ObjectId,
    /// Its full modes and its empty directories.
    pub modes: &'a Modes,
    /// Where its trees and contents are read.
    pub side: &'a dyn Side,
    /// What was left out of it, by path: it says nothing about these and what is below them.
    pub left_out: &'a BTreeMap<Vec<u8>, Reason>,
}

impl StateView<'_> {
    /// Why this state says nothing about a path, and where that was decided.
    pub(crate) fn left_out(&self, path: &RelPath) -> Option<(usize, Reason)> {
        left_out_at(self.left_out, path)
    }

    /// Was something below this directory left out?
    pub(crate) fn left_out_below(&self, directory: &RelPath) -> bool {
        let first = directory.join(b"");
        let mut below = self.left_out.range(first.as_bytes().to_vec()..);
        below.next().is_some_and(|(path, _)| path.starts_with(first.as_bytes()))
    }

    /// Every file of the state, as additions to nothing.
    pub(crate) fn all_files(&self) -> Result<Vec<Change>, DiffError> {
        compare(None, Some((self.side, self.tree)), &[])
    }
}

/// A file, link or nested repository in one of the states, or as a merge made it.
#[derive(Clone)]
pub(crate) struct Entry<'a> {
    /// What it is, and the id of its content.
    pub(crate) state: FileState,
    /// Its full mode; zero for links and nested repositories, which have none.
    pub(crate) full_mode: u32,
    /// Where its content is.
    pub(crate) bytes: Bytes<'a>,
    /// Where the file it continues is in the present.
    pub(crate) continues: Option<RelPath>,
}

/// Where a content is.
#[derive(Clone)]
pub(crate) enum Bytes<'a> {
    /// At a path of a saved state.
    Saved(&'a dyn Side, RelPath),
    /// At a path of the present.
    Present(&'a dyn Side, RelPath),
    /// Here.
    Merged(Arc<[u8]>),
}

impl Entry<'_> {
    /// What it is, whether or not somebody may execute it.
    pub(crate) fn kind(&self) -> EntryMode {
        if self.is_executable() { EntryMode::File } else { self.state.mode }
    }

    /// Are kind and content the same, whatever the mode?
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.state.id == other.state.id
    }

    /// May the owner execute it?
    pub(crate) fn is_executable(&self) -> bool {
        self.state.mode == EntryMode::Executable
    }

    /// The content, if it is not larger than `limit`.
    pub(crate) fn read(&self, limit: u64) -> Result<Option<Vec<u8>>, DiffError> {
        match &self.bytes {
            Bytes::Saved(side, path) | Bytes::Present(side, path) => {
                side.content(path, &self.state.id, limit)
            }
            Bytes::Merged(bytes) => Ok((bytes.len() as u64 <= limit).then(|| bytes.to_vec())),
        }
    }
}

/// Is this the state everything starts from, or an older one?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Present,
    Saved,
}

/// What a directory of a tree holds, by name.
pub(crate) type Listing = BTreeMap<BString, (EntryMode, ObjectId)>;

/// Looks paths up in a state. Every directory is read once.
pub(crate) struct Reader<'a> {
    pub(crate) view: StateView<'a>,
    role: Role,
    /// `None`: the tree has no such directory.
    listings: RefCell<HashMap<RelPath, Option<Rc<Listing>>>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(view: StateView<'a>, role: Role) -> Self {
        Self { view, role, listings: RefCell::default() }
    }

    /// What is in a directory, if the tree has it.
    pub(crate) fn listing(&self, directory: &RelPath) -> Result<Option<Rc<Listing>>, DiffError> {
        let mut missing = Vec::new();
        let mut here = directory.clone();
        let mut found = loop {
            if let Some(known) = self.listings.borrow().get(&here) {
                break known.clone();
            }
            let Some((parent, name)) = here.split() else {
                let root = self.read(&here, &self.view.tree)?;
                break self.remember(here, Some(root));
            };
            missing.push((here.clone(), BString::from(name)));
            here = parent;
        };
        for (path, name) in missing.into_iter().rev() {
            let below = match found.as_ref().and_then(|listing| listing.get(&name)) {
                Some((EntryMode::Directory, id)) => Some(self.read(&path, id)?),
                _ => None,
            };
            found = self.remember(path, below);
        }
        Ok(found)
    }

    fn read(&self, path: &RelPath, id: &ObjectId) -> Result<Listing, DiffError> {
        if *id == ObjectId::EMPTY_TREE {
            return Ok(Listing::new());
        }
        let entries = self.view.side.entries(path, id)?.into_iter();
        Ok(entries.map(|entry| (entry.name, (entry.mode, entry.id))).collect())
    }

    fn remember(&self, path: RelPath, listing: Option<Listing>) -> Option<Rc<Listing>> {
        let listing = listing.map(Rc::new);
        self.listings.borrow_mut().insert(path, listing.clone());
        listing
    }

    /// The file, link or nested repository at a path.
    pub(crate) fn file(&self, path: &RelPath) -> Result<Option<Entry<'a>>, DiffError> {
        let Some((parent, name)) = path.split() else { return Ok(None) };
        let listing = self.listing(&parent)?;
        let found = listing.and_then(|listing| listing.get(name).copied());
        Ok(found
            .filter(|(mode, _)| *mode != EntryMode::Directory)
            .map(|(mode, id)| self.entry(path, FileState { mode, id })))
    }

    fn entry(&self, path: &RelPath, state: FileState) -> Entry<'a> {
        let full_mode = match state.mode {
            EntryMode::File => self.view.modes.file(path, /*executable*/ false),
            EntryMode::Executable => self.view.modes.file(path, /*executable*/ true),
            EntryMode::Symlink | EntryMode::Nested | EntryMode::Directory => 0,
        };
        let (bytes, continues) = match self.role {
            Role::Present => (Bytes::Present(self.view.side, path.clone()), Some(path.clone())),
            Role::Saved => (Bytes::Saved(self.view.side, path.clone()), None),
        };
        Entry { state, full_mode, bytes, continues }
    }

    /// Is there a directory at this path, and with which mode?
    pub(crate) fn directory(&self, path: &RelPath) -> Result<Option<u32>, DiffError> {
        let exists = path.is_root()
            || self.view.modes.directories.contains_key(path)
            || self.listing(path)?.is_some();
        Ok(exists.then(|| self.view.modes.directory(path)))
    }
}
