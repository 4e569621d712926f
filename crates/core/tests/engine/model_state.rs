//! What the engine ought to do, on values: the checkpoints, the files, and where undo and redo stand.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use herma_core::{Error, ObjectId};
use herma_testkit::tree::{Node, Tree};

/// A checkpoint as the model has it.
#[derive(Clone, Debug)]
pub struct Kept {
    pub id: ObjectId,
    pub tree: Tree,
    pub names: BTreeSet<String>,
    pub pinned: bool,
}

/// Why an undo or redo is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    NoCheckpoints,
    NothingToUndo,
    NothingToRedo,
    ChangedSinceUndo,
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        match error {
            Error::NoStore(_) | Error::NoCheckpoints { .. } => Self::NoCheckpoints,
            Error::NothingToUndo => Self::NothingToUndo,
            Error::NothingToRedo => Self::NothingToRedo,
            Error::ChangedSinceUndo => Self::ChangedSinceUndo,
            other => panic!("{other:?}"),
        }
    }
}

/// How a restore moves the place where undo and redo stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Restore,
    Undo,
    Redo,
}

/// What part of a checkpoint is brought back.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub paths: Vec<Vec<u8>>,
    pub keep: Vec<Vec<u8>>,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.paths {
            write!(f, " {}", path.escape_ascii())?;
        }
        for path in &self.keep {
            write!(f, " --keep {}", path.escape_ascii())?;
        }
        Ok(())
    }
}

/// The whole state.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub disk: Tree,
    /// Oldest first.
    pub saved: Vec<Kept>,
    past: Vec<ObjectId>,
    future: Vec<ObjectId>,
    position: Option<ObjectId>,
    result: Option<Tree>,
    /// What was saved since, oldest first.
    since: Vec<ObjectId>,
    /// A restore was killed: where undo and redo lead from there is not for this model to say.
    pub moves_are_lost: bool,
    /// There is something an undo takes out of the present, whatever came later.
    pub has_units: bool,
    last_move: Option<Move>,
}

impl Model {
    /// Would a save make a new checkpoint?
    pub fn is_changed(&self) -> bool {
        self.saved.last().is_none_or(|newest| newest.tree != self.disk)
    }

    /// Does some checkpoint hold the files as they are?
    pub fn is_saved(&self) -> bool {
        self.saved.iter().any(|saved| saved.tree == self.disk)
    }

    /// A save made this checkpoint.
    pub fn add(&mut self, id: ObjectId) {
        self.saved.push(Kept {
            id,
            tree: self.disk.clone(),
            names: BTreeSet::new(),
            pinned: false,
        });
        self.since.push(id);
    }

    /// A move led to the files as they are, and has this checkpoint.
    pub fn add_row(&mut self, id: ObjectId) {
        let since = self.since.len();
        self.add(id);
        self.since.truncate(since);
    }

    /// The tree of a live checkpoint.
    pub fn tree_of(&self, id: &ObjectId) -> Option<&Tree> {
        let found = self.saved.iter().find(|kept| kept.id == *id);
        found.map(|kept| &kept.tree)
    }

    fn differs(&self, id: &ObjectId) -> bool {
        self.tree_of(id).is_some_and(|tree| *tree != self.disk)
    }

    /// Is the next undo or redo known to lead back just where the last move came from? With units it is so only right
    /// after a restore, or after the undo of one.
    pub fn leads_straight_back(&self, step: Move) -> bool {
        let opposite = match step {
            Move::Undo => Move::Restore,
            Move::Redo => Move::Undo,
            Move::Restore => return false,
        };
        self.is_current() && self.last_move == Some(opposite)
    }

    /// An agent did something.
    pub fn worked(&mut self) {
        (self.has_units, self.last_move) = (true, None);
    }

    /// The checkpoint an undo goes to.
    pub fn undo_target(&self) -> Result<ObjectId, Refusal> {
        if self.saved.is_empty() {
            return Err(Refusal::NoCheckpoints);
        }
        let line = self.caught_up().0;
        let found = line.into_iter().rev().find(|id| self.differs(id));
        found.ok_or(Refusal::NothingToUndo)
    }

    /// Was the project seen in another state since the last move?
    fn is_worked_on(&self) -> bool {
        let mut trees = self.since.iter().filter_map(|id| self.tree_of(id));
        trees.any(|tree| Some(tree) != self.result.as_ref())
    }

    fn is_current(&self) -> bool {
        self.result.as_ref() == Some(&self.disk) && !self.is_worked_on()
    }

    /// The states the project was in, the latest last, and what can be done again.
    pub fn caught_up(&self) -> (Vec<ObjectId>, Vec<ObjectId>) {
        let (mut past, mut future) = (self.past.clone(), self.future.clone());
        if !self.is_current() {
            let led_there = |id: &&ObjectId| self.tree_of(id) == self.result.as_ref();
            let is_live = |id: &&ObjectId| self.tree_of(id).is_some();
            past.extend(self.position.iter().filter(is_live).filter(led_there));
            past.extend(self.since.iter().filter(is_live));
            past.dedup();
        }
        if self.is_worked_on() {
            future.clear();
        }
        (past, future)
    }

    /// The checkpoint a redo goes to.
    pub fn redo_target(&self) -> Result<ObjectId, Refusal> {
        if self.saved.is_empty() {
            return Err(Refusal::NoCheckpoints);
        }
        if self.future.is_empty() {
            return Err(Refusal::NothingToRedo);
        }
        if !self.is_current() {
            return Err(Refusal::ChangedSinceUndo);
        }
        let found = self.future.iter().rev().copied().find(|id| self.differs(id));
        found.ok_or(Refusal::NothingToRedo)
    }

    /// A restore went from `before` to `target`, and the files are now as `disk` says. It stood as [`Self::caught_up`] said.
    pub fn moved(
        &mut self,
        step: Move,
        before: ObjectId,
        target: ObjectId,
        (past, future): (Vec<ObjectId>, Vec<ObjectId>),
    ) {
        (self.past, self.future) = (past, future);
        self.has_units |= step == Move::Restore;
        self.last_move = Some(step);
        match step {
            Move::Restore => self.future.clear(),
            Move::Undo => {
                let reached = self.past.iter().rposition(|id| *id == target);
                self.past.truncate(reached.expect("it is on the line"));
            }
            Move::Redo => while self.future.pop_if(|id| *id == target).is_some() {},
        }
        match step {
            Move::Undo => self.future.push(before),
            Move::Restore | Move::Redo => self.past.push(before),
        }
        self.past.dedup();
        self.position = Some(target);
        self.result = Some(self.disk.clone());
        self.since.clear();
    }

    /// What the next undo or redo goes to, as far as this model knows.
    pub fn needed(&self) -> Vec<ObjectId> {
        if self.moves_are_lost {
            return Vec::new();
        }
        let ends = [self.past.last(), self.future.last()];
        let ends = ends.into_iter().flatten().copied();
        ends.chain(self.position).collect()
    }

    /// Is there anything at this path, now or in the checkpoint?
    pub fn knows(&self, target: &Tree, path: &[u8]) -> bool {
        path.is_empty() || self.disk.0.contains_key(path) || target.0.contains_key(path)
    }
}

/// Is `path` the same as `top`, or something below it?
pub fn is_within(path: &[u8], top: &[u8]) -> bool {
    top.is_empty() || path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// The directories above a path, innermost first, without the root.
pub fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().rev();
    ends.filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

fn is_dir(tree: &Tree, path: &[u8]) -> bool {
    matches!(tree.0.get(path), Some(Node::Dir { .. }))
}

/// The files after a part of `target` was brought back over `present`.
///
/// What is asked for becomes as it was in the checkpoint; everything else stays. Where the two cannot
/// both be had: a directory that holds something to keep stays a directory, and a path asked for gets
/// the directories it was in.
pub fn mixed(present: &Tree, target: &Tree, part: &Part) -> Tree {
    let within = |path: &[u8], list: &[Vec<u8>]| list.iter().any(|top| is_within(path, top));
    let asked = |path: &[u8]| part.paths.is_empty() || within(path, &part.paths);
    // A file belongs where a directory stands that holds something to keep.
    let blocked: Vec<Vec<u8>> = target
        .0
        .keys()
        .filter(|path| {
            !is_dir(target, path)
                && is_dir(present, path)
                && asked(path)
                && part
                    .keep
                    .iter()
                    .any(|keep| is_within(keep, path) && present.0.contains_key(keep))
        })
        .cloned()
        .collect();
    let ours = |path: &[u8]| asked(path) && !within(path, &part.keep) && !within(path, &blocked);
    let mut result = Tree::new();
    for (path, node) in target.0.iter().filter(|(path, _)| ours(path)) {
        result.0.insert(path.clone(), node.clone());
    }
    for (path, node) in present.0.iter().filter(|(path, _)| !ours(path)) {
        result.0.insert(path.clone(), node.clone());
    }
    let paths: Vec<Vec<u8>> = result.0.keys().cloned().collect();
    for path in &paths {
        for dir in
            above(path).filter(|dir| !is_dir(&result, dir)).map(<[u8]>::to_vec).collect::<Vec<_>>()
        {
            let from = if ours(path) { target } else { present };
            result.0.insert(dir.clone(), from.0[&dir].clone());
        }
    }
    result
}

/// What is on disk, each entry with its inode and, unless it is a directory, its content time.
pub type Files = BTreeMap<Vec<u8>, (Node, (u64, SystemTime))>;

/// Everything below `root`.
pub fn files(root: &Path) -> Files {
    let stat = |path: &[u8], node: &Node| {
        let stat = root.join(OsStr::from_bytes(path)).symlink_metadata().unwrap();
        match node {
            Node::Dir { .. } => (stat.ino(), SystemTime::UNIX_EPOCH),
            _ => (stat.ino(), stat.modified().unwrap()),
        }
    };
    let nodes = Tree::read(root).0.into_iter();
    nodes
        .map(|(path, node)| {
            let stat = stat(&path, &node);
            (path, (node, stat))
        })
        .collect()
}

/// Has a restore no reason to touch the content?
pub fn same_content(old: &Node, new: &Node) -> bool {
    match (old, new) {
        (Node::File { bytes: old, .. }, Node::File { bytes: new, .. }) => old == new,
        (Node::Dir { .. }, Node::Dir { .. }) => true,
        _ => old == new,
    }
}
