//! Comparing two states of a project. Nothing is written, neither to the store nor to the project.

use crate::engine::operation::Operation;
use std::sync::Arc;

use herma_diff::{Change, DiffError, FileState, Renamed, Side, StoreSide};
use herma_records::checkpoint::Checkpoint;
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::objects::Objects;
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::StateIds;
use herma_worktree::reason::Reason;
use herma_worktree::side::PresentSide;

use crate::engine::Project;
use crate::engine::open::OpenStore;
use crate::error::{Error, Result};
use crate::save::comparable::{Foreign, may_be_foreign};
use crate::timeline::Made;

/// One side of a comparison.
#[derive(Clone, Debug)]
pub enum State {
    /// A saved state.
    Checkpoint(Box<Checkpoint>),
    /// The files as they are.
    Present,
}

/// What differs between two states, with the means to look inside.
#[derive(Default)]
pub struct Comparison {
    /// The differences, sorted by path.
    pub changes: Vec<Change>,
    /// Do permissions or empty directories differ, which no git patch can say?
    pub modes_differ: bool,
    /// What could not be read of the files as they are, where something differs: it looks as if it were not there.
    pub unreadable: Vec<RelPath>,
    /// What belongs to somebody else on one of the sides, where the trees differ: it is not compared.
    pub not_covered: Vec<(RelPath, Reason)>,
    store: Option<OpenStore>,
    present: Option<PresentSide>,
    old_is_present: bool,
    new_is_present: bool,
    /// What only the newer side has, if nobody saved it.
    made: Made,
}

impl Comparison {
    /// Keeps what the contents of both sides are read from.
    pub(crate) fn keep(&mut self, store: OpenStore, made: Made) {
        self.store = Some(store);
        self.made = made;
    }

    /// The older side.
    pub fn old_side(&self) -> Box<dyn Side + '_> {
        self.side(self.old_is_present)
    }

    /// The newer side.
    pub fn new_side(&self) -> Box<dyn Side + '_> {
        self.side(self.new_is_present)
    }

    /// Takes out of the changes between two states what belongs to somebody else in one of them.
    fn take_out_foreign(
        &self,
        states: [&State; 2],
        changes: &mut Vec<Change>,
    ) -> Vec<(RelPath, Reason)> {
        if !may_be_foreign(changes) {
            return Vec::new();
        }
        let mut foreign = Foreign::default();
        for state in states {
            match (state, &self.present, &self.store) {
                (State::Checkpoint(checkpoint), _, Some(store)) => {
                    foreign.add_receipt(&store.objects, checkpoint.extra);
                }
                (State::Present, Some(present), _) => foreign.add_present(&present.cache),
                _ => {}
            }
        }
        foreign.take_out(changes)
    }

    fn side(&self, is_present: bool) -> Box<dyn Side + '_> {
        match (&self.present, &self.store) {
            (Some(present), _) if is_present => Box::new(present),
            (_, Some(store)) => Box::new(MadeSide { objects: &store.objects, made: &self.made }),
            _ => Box::new(herma_diff::Nothing),
        }
    }
}

/// What the store holds, and what is only in memory.
pub(crate) struct MadeSide<'c> {
    pub(crate) objects: &'c Objects,
    pub(crate) made: &'c Made,
}

impl Side for MadeSide<'_> {
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        let pending = |id: &ObjectId| Ok(self.made.read(id));
        StoreSide::with_pending(self.objects, &pending).entries(path, id)
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        let pending = |id: &ObjectId| Ok(self.made.read(id));
        StoreSide::with_pending(self.objects, &pending).content(path, id, limit)
    }
}

impl Operation<'_> {
    pub(crate) fn changes(
        self,
        from: &State,
        to: &State,
        scope: &[RelPath],
        renames: bool,
    ) -> Result<Comparison> {
        let needs_present = matches!(from, State::Present) || matches!(to, State::Present);
        let present = if needs_present { Some(self.present_side([from, to])?) } else { None };
        let mut comparison = Comparison {
            old_is_present: matches!(from, State::Present),
            new_is_present: matches!(to, State::Present),
            ..Comparison::default()
        };
        let present_tree = present.as_ref().map_or(ObjectId::EMPTY_TREE, |(_, state)| state.0);
        let present_modes = present.as_ref().and_then(|(_, state)| state.1);
        let modes = |state: &State| match state {
            State::Checkpoint(checkpoint) => checkpoint.modes,
            State::Present => present_modes,
        };
        let known = [from, to].iter().all(|state| match state {
            State::Checkpoint(checkpoint) => {
                checkpoint.extra.is_some() && !checkpoint.receipt_damaged
            }
            State::Present => true,
        });
        comparison.modes_differ = known && modes(from) != modes(to);
        let tree = |state: &State| match state {
            State::Checkpoint(checkpoint) => checkpoint.tree,
            State::Present => present_tree,
        };
        let unreadable = present.as_ref().map(|(side, _)| side.unreadable());
        comparison.present = present.map(|(side, _)| side);
        comparison.store = Some(self.store);
        let (changes, not_covered) = {
            let (old, new) = (comparison.old_side(), comparison.new_side());
            self.project.check_scope(&[(&*old, tree(from)), (&*new, tree(to))], scope)?;
            let trees = (Some((&*old, tree(from))), Some((&*new, tree(to))));
            let mut changes = herma_diff::compare(trees.0, trees.1, scope)?;
            let not_covered = comparison.take_out_foreign([from, to], &mut changes);
            if renames {
                let options = herma_diff::renames::RenameOptions::default();
                changes = herma_diff::renames::detect(changes, &*old, &*new, &options)?.changes;
            }
            (changes, not_covered)
        };
        let differs =
            |path: &RelPath| changes.iter().any(|change| change.old_path().starts_with(path));
        comparison.unreadable = unreadable.unwrap_or_default();
        comparison.unreadable.retain(differs);
        comparison.changes = changes;
        comparison.not_covered = not_covered;
        Ok(comparison)
    }

    /// Compares what is at one path of a state with what is at another path of another one: two files, or two directories.
    pub(crate) fn changes_of_paths(
        self,
        (old, old_path): (&Checkpoint, &RelPath),
        (new, new_path): (&Checkpoint, &RelPath),
    ) -> Result<Comparison> {
        let side = StoreSide::new(&self.store.objects);
        let at = |tree: ObjectId, path: &RelPath| {
            let found = herma_diff::entry_at(&side, tree, path)?;
            found.ok_or_else(|| Error::PathUnknown { path: path.clone() })
        };
        let (old, new) = (at(old.tree, old_path)?, at(new.tree, new_path)?);
        let from = |path: RelPath| Some(Renamed { path, similarity: 0 });
        let state = |(mode, id)| Some(FileState { mode, id });
        let is_directory = |entry: (EntryMode, ObjectId)| entry.0 == EntryMode::Directory;
        let changes = match (is_directory(old), is_directory(new)) {
            (false, false) if old == new => Vec::new(),
            (false, false) => vec![Change {
                path: new_path.clone(),
                old: state(old),
                new: state(new),
                from: from(old_path.clone()),
            }],
            (true, true) => {
                let mut changes =
                    herma_diff::compare(Some((&side, old.1)), Some((&side, new.1)), &[])?;
                for change in &mut changes {
                    let below = |above: &RelPath| {
                        change.path.components().fold(above.clone(), |path, name| path.join(name))
                    };
                    let (old_path, new_path) = (below(old_path), below(new_path));
                    if change.new.is_none() {
                        change.path = old_path;
                    } else {
                        change.from = change.old.and_then(|_| from(old_path));
                        change.path = new_path;
                    }
                }
                changes
            }
            _ => return Err(Error::PathUnknown { path: old_path.clone() }),
        };
        Ok(Comparison { changes, store: Some(self.store), ..Comparison::default() })
    }

    fn present_side(&self, states: [&State; 2]) -> Result<(PresentSide, StateIds)> {
        let history = self.load_history()?;
        // What is exactly as in the other state is not gone because rules changed.
        let held = states.iter().filter_map(|state| match state {
            State::Checkpoint(checkpoint) => Some(checkpoint.id),
            State::Present => None,
        });
        let held: Vec<ObjectId> = held.collect();
        let present = self.look_holding(&history, &held)?;
        let side = PresentSide::new(self.open_root()?, Arc::clone(&present.cache));
        Ok((side, (present.tree, present.modes)))
    }
}

impl Project {
    /// Checks that every path asked for is on one of the sides, or at least on disk.
    pub(crate) fn check_scope(
        &self,
        sides: &[(&dyn Side, ObjectId)],
        scope: &[RelPath],
    ) -> Result<()> {
        let root = self.open_root()?;
        for path in scope {
            let Some((parent, name)) = path.split() else { continue };
            let mut found =
                root.open_beneath(parent.as_bytes()).and_then(|dir| dir.stat(name)).is_ok();
            for (side, tree) in sides {
                found = found || herma_diff::entry_at(*side, *tree, path)?.is_some();
            }
            if !found {
                return Err(Error::PathUnknown { path: path.clone() });
            }
        }
        Ok(())
    }
}
