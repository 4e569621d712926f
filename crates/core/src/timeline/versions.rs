//! One file along the timeline: which versions of it there were, and under which names.
//!
//! The line is walked backwards from the present, because it is the present file that is asked about. Where
//! it is missing from an older state, that state may have it under another name, may not have it, or may
//! say nothing about it because it was left out of the save. In the last case nobody knows, and what
//! changed is ascribed to everybody from the last state that knows to the next one.

use crate::engine::operation::Operation;
use std::collections::HashSet;
use std::sync::Arc;

use herma_diff::renames::RenameOptions;
use herma_diff::{Change, FileState, Side, renames};
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::receipt::why_left_out;
use herma_records::step::{LineAuthor, Step, StepId};
use herma_store::object::EntryMode;
use herma_store::{ObjectId, RelPath};
use herma_worktree::held::Holding;
use herma_worktree::present::{Present, ScanError};
use herma_worktree::reason::Reason;
use herma_worktree::side::PresentSide;
use herma_worktree::stat_cache::{EntryKind, StatCache};

use crate::engine::history::History;
use crate::error::{Error, Result};
use crate::save::read_ahead::ReadAhead;
use crate::steps::StepChoice;
use crate::timeline::Story;
use crate::timeline::compare::MadeSide;

/// The story of a project up to its present, open for reading.
pub(crate) struct Told<'p> {
    operation: Operation<'p>,
    pub(crate) story: Story,
    present: PresentSide,
    cache: Arc<StatCache>,
}

/// One version of a file, from the first to the last state that has it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: RelPath,
    /// `None`: there was no such file.
    pub(crate) state: Option<FileState>,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// What a state says about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    File(FileState),
    Directory,
    Nothing,
    /// The state does not vouch for it.
    LeftOut(Reason),
    /// What the state left out cannot be read.
    Unknown,
}

impl<'p> Operation<'p> {
    /// Puts the story together and looks at what is at a path. Nothing is written.
    pub(crate) fn tell(self, path: &RelPath) -> Result<Told<'p>> {
        let history = self.some_history()?;
        let Some(cache) = self.load_cache(&history) else {
            let present = self.look(&history)?;
            return self.told_up_to(present, &history);
        };
        let (way, known) = (ways_to(path), ReadAhead::default());
        let seen = self.look_again(&cache, way, None, &known, Holding::default())?;
        drop(cache);
        let present = seen.ok_or(ScanError::Cancelled)?;
        let told = self.told_up_to(present, &history)?;
        if !told.is_new(path)? {
            return Ok(told);
        }
        // It may have moved there from anywhere.
        let present = told.operation.look(&history)?;
        told.operation.told_up_to(present, &history)
    }

    /// The story up to this present.
    fn told_up_to(self, present: Present, history: &History) -> Result<Told<'p>> {
        Ok(Told {
            story: self.story(history, (present.tree, present.modes), &StepChoice::default())?,
            present: PresentSide::new(self.open_root()?, Arc::clone(&present.cache)),
            cache: present.cache,
            operation: self,
        })
    }
}

/// The directories on the way to a path, and what is there.
fn ways_to(path: &RelPath) -> Vec<Vec<u8>> {
    let mut here = RelPath::root();
    let mut ways = vec![Vec::new()];
    for name in path.components() {
        here = here.join(name);
        ways.push(here.as_bytes().to_vec());
    }
    ways
}

impl Told<'_> {
    /// Is a file at this path of which the state before the present says nothing?
    fn is_new(&self, path: &RelPath) -> Result<bool> {
        let Some(before) = self.now().checked_sub(1) else { return Ok(true) };
        let is_file = |point| Ok::<_, Error>(matches!(self.at(point, path)?, At::File(_)));
        Ok(is_file(self.now())? && !is_file(before)?)
    }

    /// The number of the point that is the present.
    pub(crate) fn now(&self) -> usize {
        self.story.line.points.len() - 1
    }

    /// Where the files of a point are read.
    pub(crate) fn side(&self, point: usize) -> Box<dyn Side + '_> {
        if point == self.now() {
            Box::new(&self.present)
        } else {
            Box::new(MadeSide { objects: &self.operation.store.objects, made: &self.story.made })
        }
    }

    /// The versions of the file that is at `path` now, or was last there, oldest first.
    pub(crate) fn versions(&self, path: &RelPath) -> Result<Vec<Seen>> {
        // Newest first until the end.
        let mut versions: Vec<Seen> = Vec::new();
        let mut path = path.clone();
        for point in (0..=self.now()).rev() {
            self.operation.progress.check()?;
            let state = match self.at(point, &path)? {
                At::File(state) => Some(state),
                At::LeftOut(_) | At::Unknown => continue,
                At::Directory | At::Nothing => match versions.last() {
                    Some(newer) if newer.state.is_some() => {
                        let moved = self.moved_from(point, newer.first, &path)?;
                        moved.map(|(from, state)| {
                            path = from;
                            state
                        })
                    }
                    _ => None,
                },
            };
            match versions.last_mut() {
                Some(newer) if newer.path == path && newer.state == state => newer.first = point,
                _ => versions.push(Seen { path: path.clone(), state, first: point, last: point }),
            }
        }
        versions.reverse();
        Ok(versions)
    }

    /// What a state says about a path.
    pub(crate) fn at(&self, point: usize, path: &RelPath) -> Result<At> {
        let side = self.side(point);
        let mut here = (EntryMode::Directory, self.story.line.points[point].state.0);
        let mut dir = RelPath::root();
        for name in path.components() {
            let (EntryMode::Directory, tree) = here else { return self.missing(point, path) };
            let is_empty = tree == ObjectId::EMPTY_TREE;
            let entries = if is_empty { Vec::new() } else { side.entries(&dir, &tree)? };
            match entries.iter().find(|entry| entry.name == name) {
                Some(entry) => here = (entry.mode, entry.id),
                None => return self.missing(point, path),
            }
            dir = dir.join(name);
        }
        Ok(match here {
            (EntryMode::Directory, _) => At::Directory,
            (mode, id) => At::File(FileState { mode, id }),
        })
    }

    /// Is a path that is not in the tree not there, or was it left out?
    fn missing(&self, point: usize, path: &RelPath) -> Result<At> {
        let left_out = match &self.story.line.points[point].checkpoint {
            None => self.left_out_now(path),
            Some(checkpoint) if checkpoint.receipt_damaged => return Ok(At::Unknown),
            Some(checkpoint) => match why_left_out(&self.operation.store.objects, checkpoint, path)
                .map_err(Error::from)
            {
                Ok(reason) => reason,
                Err(e) if e.kind() == crate::error::ErrorKind::Damaged => return Ok(At::Unknown),
                Err(e) => return Err(e),
            },
        };
        Ok(left_out.map_or(At::Nothing, At::LeftOut))
    }

    fn left_out_now(&self, path: &RelPath) -> Option<Reason> {
        let mut above = RelPath::root();
        path.components().find_map(|name| {
            above = above.join(name);
            match self.cache.entry_at(above.as_bytes())?.kind {
                EntryKind::LeftOut(reason) | EntryKind::Watched(reason) => Some(reason),
                _ => None,
            }
        })
    }

    /// Where the file that is at `path` in `new` was in `old`, which has nothing there.
    fn moved_from(
        &self,
        old: usize,
        new: usize,
        path: &RelPath,
    ) -> Result<Option<(RelPath, FileState)>> {
        let (old_side, new_side) = (self.side(old), self.side(new));
        let tree = |point: usize| self.story.line.points[point].state.0;
        let (old_tree, new_tree) = (tree(old), tree(new));
        let all =
            herma_diff::compare(Some((&*old_side, old_tree)), Some((&*new_side, new_tree)), &[])?;
        let detect = |changes: Vec<Change>| {
            renames::detect(changes, &*old_side, &*new_side, &RenameOptions::default())
        };
        // All of it first: then this agrees with what `diff` shows.
        let mut found = detect(all)?;
        if found.exact_only {
            // Too much to compare everything with everything; one file with all that is gone may do.
            let is_candidate = |change: &Change| change.new.is_none() || change.path == *path;
            found.changes.retain(is_candidate);
            found = detect(found.changes)?;
        }
        let change = found.changes.into_iter().find(|c| c.path == *path);
        Ok(change.and_then(|change| Some((change.from?.path, change.old?))))
    }

    /// Who led from one state to another, whatever is in between.
    pub(crate) fn author_between(&self, from: usize, to: usize) -> LineAuthor {
        self.story.author_between(from, to)
    }

    /// Did Herma itself, and nobody else, lead from one state to another?
    pub(crate) fn is_move_between(&self, from: usize, to: usize) -> bool {
        let line = &self.story.line;
        let is_move = |number: i64| self.story.step(number).is_some_and(|s| s.kind.is_move());
        (from..to).all(|stretch| {
            let mut steps = line.steps_in(stretch).peekable();
            steps.peek().is_some() && steps.all(is_move)
        })
    }

    /// The checkpoint that holds the state of a point, if one does.
    pub(crate) fn holder(&self, point: usize) -> Option<&Checkpoint> {
        let point = &self.story.line.points[point];
        let held = point.checkpoint.as_ref()?;
        (held.tree == point.state.0).then_some(held)
    }

    /// When the version that begins at a point came about, as far as that was noted.
    pub(crate) fn time(&self, point: usize, author: Option<&LineAuthor>) -> Option<i64> {
        let step = match author {
            Some(LineAuthor::Step(id)) => self.story.steps.iter().find(|step| step.is(*id)),
            _ => None,
        };
        match (step, self.holder(point)) {
            // It may have led to a checkpoint that is older.
            (Some(step), _) if step.kind.is_move() => step.ended,
            (_, Some(checkpoint)) => Some(checkpoint.time.seconds),
            (step, None) => step.and_then(|step| step.ended),
        }
    }

    /// The length of a version's content.
    pub(crate) fn size(&self, seen: &Seen) -> Result<Option<u64>> {
        let Some(state) = seen.state.filter(|state| state.mode != EntryMode::Nested) else {
            return Ok(None);
        };
        if seen.first == self.now() {
            let entry = self.cache.entry_at(seen.path.as_bytes());
            return Ok(entry.map(|entry| entry.size));
        }
        // What was put together in memory is not in the store.
        if let Some(made) = self.story.made.read(&state.id) {
            return Ok(Some(made.data.len() as u64));
        }
        Ok(Some(self.operation.store.objects.read_header(&state.id)?.1))
    }

    /// The steps that are called so, in the order of beginning.
    pub(crate) fn steps(&self, ids: impl Iterator<Item = StepId>) -> Vec<Step> {
        let ids: HashSet<StepId> = ids.collect();
        let is_meant = |step: &&Step| ids.contains(&step.id());
        self.story.steps.iter().filter(is_meant).cloned().collect()
    }
}
