//! What was at each path, from which state to which.
//!
//! The states are walked in their order. Between two neighbours only the trees that differ are read, and most of those are still
//! remembered from the walk before; so each distinct tree is read about once, however many states have it.

use std::cmp::Ordering;
use std::collections::HashSet;

use herma_store::error::is_forbidden_pack;
use herma_store::id_table::IdTable;
use herma_store::object::{EntryMode, TreeEntry, compare_names};
use herma_store::objects::{ObjectError, Objects};
use herma_store::{ObjectId, RelPath};

use crate::paths::{PathId, Paths};

/// More than that no project has: a crafted store, in which a few trees name each other's entries over and over.
const MAX_SPANS: usize = 1 << 25;
const TOO_MANY: WalkError = WalkError::TooMany { limit: MAX_SPANS };
/// Nothing is open at a path.
const NOTHING: u32 = u32::MAX;

/// What was at a path, from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where.
    pub path: PathId,
    /// What.
    pub what: What,
    /// The first state that has it.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

/// What was at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A directory, whatever was in it.
    Directory,
    /// A file, a link, or the commit of a nested repository; its content by its number.
    File(EntryMode, u32),
}

/// What could not be read: nothing is known of what was in it.
#[derive(Debug)]
pub struct Unread {
    /// The first state of which it is part.
    pub state: u32,
    /// The directory.
    pub path: RelPath,
    /// Why not.
    pub error: ObjectError,
}

/// Why the states could not be walked.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// Somebody stopped it.
    #[error("interrupted")]
    Cancelled,
    /// A crafted store.
    #[error("the trees name more than {limit} entries, or paths beyond all measure")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The system refused.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// What all states held.
#[derive(Default)]
pub struct Past {
    paths: Paths,
    contents: Vec<ObjectId>,
    numbers: IdTable,
    spans: Vec<Span>,
    /// For each path, the span that goes on.
    open: Vec<u32>,
    unread: Vec<Unread>,
    named: HashSet<ObjectId>,
}

/// A directory that differs between two neighbours.
struct Pair {
    path: PathId,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

impl Past {
    /// Walks these states, oldest first. `goes_on` is asked now and then, with the number of states that are done.
    pub fn of(
        states: &[ObjectId],
        objects: &Objects,
        goes_on: &dyn Fn(u64) -> bool,
    ) -> Result<Self, WalkError> {
        let mut past = Self::default();
        let mut before = None;
        for (state, tree) in (0..).zip(states) {
            if !goes_on(u64::from(state)) {
                return Err(WalkError::Cancelled);
            }
            past.step(state, (before, *tree), objects, goes_on)?;
            before = Some(*tree);
        }
        let last = u32::try_from(states.len()).map_err(|_| TOO_MANY)?.saturating_sub(1);
        for at in past.open.drain(..).filter(|at| *at != NOTHING) {
            past.spans[at as usize].last = last;
        }
        Ok(past)
    }

    /// All spans, in no order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// A path in full.
    pub fn path(&self, path: PathId) -> RelPath {
        self.paths.path(path)
    }

    /// The last name of a path.
    pub fn name(&self, path: PathId) -> &[u8] {
        self.paths.name(path)
    }

    /// How many paths there are; no number of one is higher.
    pub fn path_count(&self) -> usize {
        self.paths.len()
    }

    /// The content with this number.
    pub fn content(&self, number: u32) -> ObjectId {
        self.contents[number as usize]
    }

    /// How many contents there are.
    pub fn content_count(&self) -> usize {
        self.contents.len()
    }

    /// The number of a content, if any state had it.
    pub fn number_of(&self, id: &ObjectId) -> Option<u32> {
        self.numbers.find(id, |at| self.contents[at]).map(|at| at as u32)
    }

    /// Directories that could not be read, each named once.
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// Notes what is different in a state.
    fn step(
        &mut self,
        state: u32,
        (old, new): (Option<ObjectId>, ObjectId),
        objects: &Objects,
        goes_on: &dyn Fn(u64) -> bool,
    ) -> Result<(), WalkError> {
        // Without recursion: a crafted tree may be deep.
        let mut pending = vec![Pair { path: PathId::ROOT, old, new: Some(new) }];
        let mut done: u32 = 0;
        while let Some(pair) = pending.pop() {
            done = done.wrapping_add(1);
            if done.is_multiple_of(256) && !goes_on(u64::from(state)) {
                return Err(WalkError::Cancelled);
            }
            if pair.old != pair.new {
                self.directory(state, &pair, objects, &mut pending)?;
            }
        }
        Ok(())
    }

    fn directory(
        &mut self,
        state: u32,
        pair: &Pair,
        objects: &Objects,
        pending: &mut Vec<Pair>,
    ) -> Result<(), WalkError> {
        let old = self.entries(state, pair.path, pair.old, objects)?;
        let new = self.entries(state, pair.path, pair.new, objects)?;
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => order_of(old, new),
            };
            let gone = old.next_if(|_| order.is_le());
            let come = new.next_if(|_| order.is_ge());
            if gone.map(kind) == come.map(kind) {
                continue;
            }
            let name = gone.or(come).map_or(&b""[..], |entry| &entry.name);
            let path = self.paths.join(pair.path, name).ok_or(TOO_MANY)?;
            let below = |entry: Option<&TreeEntry>| {
                entry.filter(|entry| entry.mode == EntryMode::Directory).map(|entry| entry.id)
            };
            let (old, new) = (below(gone), below(come));
            if old.is_none() || new.is_none() {
                self.close(state, path, gone.is_some());
                if let Some(entry) = come {
                    self.open(state, path, entry)?;
                }
            }
            if old.is_some() || new.is_some() {
                pending.push(Pair { path, old, new });
            }
        }
    }

    /// What is in a directory. What cannot be read is named, and counts as empty.
    fn entries(
        &mut self,
        state: u32,
        path: PathId,
        tree: Option<ObjectId>,
        objects: &Objects,
    ) -> Result<Vec<TreeEntry>, WalkError> {
        let Some(tree) = tree else { return Ok(Vec::new()) };
        match objects.read_tree(&tree) {
            Ok(entries) => Ok(entries),
            Err(ObjectError::Fs(error)) if !is_forbidden_pack(&error) => {
                Err(ObjectError::Fs(error).into())
            }
            Err(error) => {
                if self.named.insert(tree) {
                    self.unread.push(Unread { state, path: self.path(path), error });
                }
                Ok(Vec::new())
            }
        }
    }

    fn open(&mut self, state: u32, path: PathId, entry: &TreeEntry) -> Result<(), WalkError> {
        // A name may be a directory in one state and a file in the next, and either may be met first.
        self.close(state, path, true);
        let what = match entry.mode {
            EntryMode::Directory => What::Directory,
            mode => What::File(mode, self.number(&entry.id)?),
        };
        if self.spans.len() >= MAX_SPANS {
            return Err(TOO_MANY);
        }
        self.open.resize(self.paths.len(), NOTHING);
        self.open[path.index()] = self.spans.len() as u32;
        self.spans.push(Span { path, what, first: state, last: state });
        Ok(())
    }

    /// Ends what was at a path, unless that began in this state.
    fn close(&mut self, state: u32, path: PathId, was_there: bool) {
        let Some(open) = self.open.get_mut(path.index()).filter(|_| was_there) else { return };
        let Some(span) = self.spans.get_mut(*open as usize) else { return };
        if span.first < state {
            span.last = state - 1;
            *open = NOTHING;
        }
    }

    fn number(&mut self, id: &ObjectId) -> Result<u32, WalkError> {
        let contents = &mut self.contents;
        if let Some(found) = self.numbers.find(id, |at| contents[at]) {
            return Ok(found as u32);
        }
        let number = contents.len();
        contents.push(*id);
        self.numbers.insert(id, number, |at| contents[at]);
        u32::try_from(number).map_err(|_| TOO_MANY)
    }
}

/// What an entry is, as far as two states can differ in it.
fn kind(entry: &TreeEntry) -> (EntryMode, ObjectId) {
    (entry.mode, entry.id)
}

fn order_of(old: &TreeEntry, new: &TreeEntry) -> Ordering {
    let is_directory = |entry: &TreeEntry| entry.mode == EntryMode::Directory;
    compare_names(&old.name, is_directory(old), &new.name, is_directory(new))
}
