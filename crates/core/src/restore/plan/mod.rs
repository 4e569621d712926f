//! Works out what has to change, from the checkpoint and the present.

pub(crate) mod dirs;
pub(crate) mod requested;
pub(crate) mod same_name;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use herma_diff::{Change, DiffError, Side};
use herma_fs::Dir;
use herma_records::checkpoint::Checkpoint;
use herma_store::object::EntryMode;
use herma_store::{ObjectId, RelPath};
use herma_worktree::lists::KEPT_BITS;
use herma_worktree::modes::Modes;
use herma_worktree::owner::{Before, Owners};
use herma_worktree::reason::Reason;
use herma_worktree::receipt::why_left_out;
use herma_worktree::scan::same_shape::Edits;
use herma_worktree::stat_cache::StatCache;

use super::{Action, ActionKind, Kept, KeptWhy, Plan, RestoreOptions};
use crate::error::{Error, Result};
use crate::save::read_ahead::{Content, ReadAhead};

/// Everything a plan is made from.
pub(crate) struct Planner<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) target: &'a Checkpoint,
    pub(crate) target_side: &'a dyn Side,
    pub(crate) target_modes: &'a Modes,
    /// What the checkpoint left out: paths it says nothing about. `None` if that cannot be read, and so
    /// any path it does not have may be one of them.
    pub(crate) target_left_out: Option<&'a BTreeMap<Vec<u8>, Reason>>,
    /// Can its modes, or what it left out, not be read?
    pub(crate) receipt_damaged: bool,
    pub(crate) present_side: &'a dyn Side,
    pub(crate) present: &'a StatCache,
    pub(crate) present_tree: ObjectId,
    pub(crate) present_modes: Option<ObjectId>,
    /// Whose the directories of the project are.
    pub(crate) owners: &'a Owners<'a>,
    /// What the look at the present found changed, and since when.
    pub(crate) edits: Option<&'a Edits>,
    /// What the rules leave out of the present, and a state that a move led to or from had otherwise.
    pub(crate) held_and_left_out: &'a [(Vec<u8>, Reason)],
    pub(crate) options: &'a RestoreOptions,
}

/// A plan with what applying it needs to know beyond what it shows.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    /// What changes from the present to the checkpoint, by the files alone.
    pub(crate) edits: Edits,
    /// Blob and full mode of each file to write, target of each link.
    pub(crate) contents: BTreeMap<RelPath, Content>,
    /// The directories of the target that the plan touches.
    pub(crate) directory_modes: BTreeMap<RelPath, DirectoryMode>,
    /// As much of that as was read already.
    pub(crate) read_ahead: Arc<ReadAhead>,
    /// A path that was asked for and is neither in the checkpoint nor in the project.
    unknown: Option<RelPath>,
}

impl Prepared {
    /// Checks that every path asked for is in the checkpoint or in the project, and one of them can be brought back.
    pub(crate) fn check_paths(&self) -> Result<()> {
        self.check_known()?;
        requested::check(&self.plan.requested)
    }

    /// Checks that every path asked for is in the checkpoint or in the project.
    pub(crate) fn check_known(&self) -> Result<()> {
        let unknown = self.unknown.clone();
        unknown.map_or(Ok(()), |path| Err(Error::PathUnknown { path }))
    }
}

/// The mode of a directory of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectoryMode {
    /// The one it ends up with.
    pub(crate) wanted: u32,
    /// The one it had when the present was looked at, if it was there.
    pub(crate) seen: Option<u32>,
}

#[derive(Default)]
pub(super) struct Draft {
    pub(super) actions: BTreeMap<RelPath, ActionKind>,
    pub(super) kept: BTreeMap<RelPath, KeptWhy>,
    contents: BTreeMap<RelPath, Content>,
    /// Directories whose content must stay, because something in them is not ours to remove.
    blocked: BTreeSet<RelPath>,
}

impl Draft {
    /// Is this path in a directory whose content must stay?
    pub(super) fn is_blocked(&self, path: &RelPath) -> bool {
        self.blocked.iter().any(|blocked| path.starts_with(blocked))
    }

    /// Does something below this directory stay because the checkpoint says nothing about it?
    pub(super) fn spares_below(&self, directory: &RelPath) -> bool {
        let first = directory.join(b"");
        let below = self.kept.range(first.clone()..);
        below
            .take_while(|(path, _)| path.as_bytes().starts_with(first.as_bytes()))
            .any(|(_, why)| matches!(why, KeptWhy::NotSaved(_)))
    }
}

impl Planner<'_> {
    /// Makes the plan.
    pub(crate) fn plan(&self) -> Result<Prepared> {
        let changes = self.changes()?;
        let mut draft = Draft::default();
        self.block(&changes, &mut draft);
        for change in &changes {
            self.take(change, &mut draft)?;
        }
        self.name_changed_since(&mut draft)?;
        let wanted = self.directories(&changes, &mut draft)?;
        let (requested, unknown) = self.requested()?;
        self.note_not_held(&requested, &mut draft);
        let actions = draft.actions.into_iter();
        let plan = Plan {
            target: self.target.clone(),
            receipt_damaged: self.receipt_damaged,
            requested,
            actions: actions.map(|(path, kind)| Action { path, kind }).collect(),
            kept: draft.kept.into_iter().map(|(path, why)| Kept { path, why }).collect(),
            outside: Vec::new(),
            passed: None,
        };
        Ok(Prepared {
            plan,
            edits: Edits { base: self.present_tree, changes },
            contents: draft.contents,
            directory_modes: wanted,
            read_ahead: Arc::default(),
            unknown,
        })
    }

    /// Names files that belong to none of the two states, but to one Herma led to or from: they would go, but the rules leave
    /// them out and somebody changed them, so nobody holds them.
    fn name_changed_since(&self, draft: &mut Draft) -> Result<()> {
        for (path, reason) in self.held_and_left_out {
            let Ok(path) = RelPath::new(path.clone()) else { continue };
            let is_ours = self.is_asked_for(&path) && !self.is_to_be_kept(&path);
            if is_ours
                && self.target_said_nothing(&path).is_none()
                && self.target_entry(&path)?.is_none()
            {
                draft.kept.insert(path, KeptWhy::NotSaved(*reason));
            }
        }
        Ok(())
    }

    /// What has to change, by the files alone.
    fn changes(&self) -> Result<Vec<Change>, DiffError> {
        match self.edits {
            Some(edits) if edits.base == self.target.tree && self.options.paths.is_empty() => {
                Ok(edits.reversed())
            }
            _ => herma_diff::compare(
                Some((self.present_side, self.present_tree)),
                Some((self.target_side, self.target.tree)),
                &self.options.paths,
            ),
        }
    }

    /// What the checkpoint has at a path.
    pub(super) fn target_entry(&self, path: &RelPath) -> Result<Option<EntryMode>> {
        Ok(self.target_at(path)?.map(|(mode, _)| mode))
    }

    /// What the checkpoint has at a path, and which object that is.
    pub(super) fn target_at(&self, path: &RelPath) -> Result<Option<(EntryMode, ObjectId)>> {
        Ok(herma_diff::entry_at(self.target_side, self.target.tree, path)?)
    }

    pub(super) fn is_asked_for(&self, path: &RelPath) -> bool {
        let within = |scope: &[RelPath]| scope.iter().any(|dir| path.starts_with(dir));
        self.options.paths.is_empty() || within(&self.options.paths)
    }

    pub(super) fn leads_to_asked(&self, dir: &RelPath) -> bool {
        self.options.paths.iter().any(|path| path.starts_with(dir))
    }

    pub(super) fn is_to_be_kept(&self, path: &RelPath) -> bool {
        self.options.keep.iter().any(|keep| path.starts_with(keep))
    }

    /// Is something to be kept at or below this path? Something that is gone keeps nothing else.
    pub(super) fn keeps_below(&self, path: &RelPath) -> bool {
        self.options
            .keep
            .iter()
            .any(|keep| keep.starts_with(path) && self.present.entry_at(keep.as_bytes()).is_some())
    }

    /// Finds files that belong where a directory stands that holds something no checkpoint holds, and
    /// nested repositories, of which the checkpoint does not hold the files.
    fn block(&self, changes: &[Change], draft: &mut Draft) {
        for change in changes {
            let Some(new) = change.new.filter(|_| !self.is_to_be_kept(&change.path)) else {
                continue;
            };
            if new.mode == EntryMode::Nested {
                let why = KeptWhy::NestedRepository;
                draft.kept.insert(change.path.clone(), why);
                draft.blocked.insert(change.path.clone());
                continue;
            }
            if let Some(dir) = self.present.dir_at(change.path.as_bytes()) {
                let keeps = self.keeps_below(&change.path);
                let found = self.left_out_below(dir);
                if let Some(reason) = found.or(keeps.then_some(Reason::Own)) {
                    let why = if keeps { KeptWhy::Asked } else { KeptWhy::InTheWay(reason) };
                    draft.kept.insert(change.path.clone(), why);
                    draft.blocked.insert(change.path.clone());
                }
            }
        }
    }

    /// Why something at or below a present directory is not in the save, if anything is not.
    pub(super) fn left_out_below(&self, dir: u32) -> Option<Reason> {
        let mut stack = vec![dir];
        while let Some(dir) = stack.pop() {
            for entry in self.present.entries(dir)?.flatten() {
                if let Some(reason) = entry.kind.left_out() {
                    return Some(reason);
                }
                stack.extend(entry.child());
            }
        }
        None
    }

    fn take(&self, change: &Change, draft: &mut Draft) -> Result<()> {
        let path = &change.path;
        if draft.is_blocked(path) {
            return Ok(());
        }
        if self.is_to_be_kept(path) {
            draft.kept.insert(path.clone(), KeptWhy::Asked);
            return Ok(());
        }
        match change.new {
            None => self.take_removal(path, draft)?,
            Some(_) if change.old.is_none() && self.spare_foreign(path, draft) => {}
            Some(new) => {
                let obstacle = if change.old.is_none() { self.obstacle(path) } else { None };
                if let Some(why) = obstacle {
                    draft.kept.insert(path.clone(), why);
                    return Ok(());
                }
                let executable = new.mode == EntryMode::Executable;
                let now = self.present.entry_at(path.as_bytes());
                let bits = self.file_mode(path, executable, now.as_ref());
                let content = Content { id: new.id, mode: new.mode, bits };
                let new_file = change.old.is_none();
                let kind = match (new.mode, change.old) {
                    (EntryMode::Symlink, _) => ActionKind::Link { new: new_file },
                    // Same bytes, other executable bit: the inode stays.
                    (_, Some(old)) if old.id == new.id && old.mode != EntryMode::Symlink => {
                        let from = now.map_or(0, |now| u32::from(now.mode) & KEPT_BITS);
                        ActionKind::Mode { from, to: bits }
                    }
                    _ => ActionKind::Write { new: new_file },
                };
                draft.actions.insert(path.clone(), kind);
                draft.contents.insert(path.clone(), content);
            }
        }
        Ok(())
    }

    fn take_removal(&self, path: &RelPath, draft: &mut Draft) -> Result<()> {
        if let Some(reason) = self.target_said_nothing(path) {
            // Left out then and now, it is nobody's business.
            let now = self.present.entry_at(path.as_bytes());
            if now.is_some_and(|entry| entry.descend.is_some()) {
                return Ok(());
            }
            draft.kept.insert(path.clone(), KeptWhy::NotSaved(reason));
        } else if self.is_in_nested(path)? {
            draft.kept.insert(path.clone(), KeptWhy::NestedRepository);
        } else if self.may_have_been_left_out(path)? {
            draft.kept.insert(path.clone(), KeptWhy::ReceiptDamaged);
        } else {
            draft.actions.insert(path.clone(), ActionKind::RemoveFile);
        }
        Ok(())
    }

    /// Is a path, asked for by itself, in what the checkpoint knows only as a nested repository? Where
    /// all paths are asked for, the repository is among them and blocks what is in it.
    fn is_in_nested(&self, path: &RelPath) -> Result<bool> {
        for dir in path.ancestors().filter(|dir| !self.is_asked_for(dir)) {
            if self.target_entry(&dir)? == Some(EntryMode::Nested) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Why the checkpoint does not vouch for a path: it, or a directory above it, was left out then.
    pub(super) fn target_said_nothing(&self, path: &RelPath) -> Option<Reason> {
        why_left_out(self.target_left_out?, path)
    }

    /// Is it lost whether the checkpoint vouches for the absence of a path? Where it has a file there was
    /// no directory, and where it has a directory no file: nothing there was left out.
    pub(super) fn may_have_been_left_out(&self, path: &RelPath) -> Result<bool> {
        if self.target_left_out.is_some() {
            return Ok(false);
        }
        let mut here = RelPath::root();
        for name in path.components() {
            here = here.join(name);
            match self.target_entry(&here)? {
                Some(EntryMode::Directory) => {}
                None | Some(EntryMode::Nested) => return Ok(true),
                Some(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Is something that belongs to somebody else at this path, or above it? Then that is kept as a whole.
    pub(super) fn spare_foreign(&self, path: &RelPath, draft: &mut Draft) -> bool {
        let found = self.foreign(path);
        if let Some((place, reason)) = &found {
            let why = KeptWhy::NotSaved(*reason);
            draft.kept.insert(place.clone(), why);
        }
        found.is_some()
    }

    /// What belongs to somebody else at a path or above it. In directories no save looks into, the disk tells.
    fn foreign(&self, path: &RelPath) -> Option<(RelPath, Reason)> {
        let (mut place, mut dir, mut open) = (RelPath::root(), Some(StatCache::ROOT), None);
        for name in path.components() {
            let above = place;
            place = above.join(name);
            let entry = dir.and_then(|dir| self.present.find(dir, name));
            match (entry.and_then(|entry| entry.kind.left_out()), &open) {
                (Some(reason), _) if reason.is_foreign() => return Some((place, reason)),
                (None, None) => {
                    dir = entry?.child();
                    continue;
                }
                (Some(_), _) => open = self.root.open_beneath(above.as_bytes()).ok(),
                (None, Some(_)) => {}
            }
            dir = None;
            let stat = open.as_ref()?.stat_raw(name).ok()?;
            let boundary = &self.owners.boundary;
            if boundary.is_mounted(&stat) {
                return Some((place, Reason::Mount));
            }
            let inside = open.as_ref()?.open_dir(name).ok()?;
            let crossed = boundary.crossed_by(&inside.stat_self().ok()?);
            let path = || place.as_bytes().to_vec();
            let owner = || self.owners.owner(&inside, path, Before::Unknown);
            if let Some(reason) = crossed.or_else(owner) {
                return Some((place, reason));
            }
            open = Some(inside);
        }
        None
    }

    /// What stands at a path that the present save does not hold, if anything does.
    pub(super) fn obstacle(&self, path: &RelPath) -> Option<KeptWhy> {
        let mut dir = StatCache::ROOT;
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            let Some(entry) = self.present.find(dir, name) else { break };
            if let Some(reason) = entry.kind.left_out() {
                let is_above = names.peek().is_some();
                // What the checkpoint has in a directory was looked at, whatever the rules say; one that could not be is left alone.
                return Some(match (is_above, entry.is_dir) {
                    (true, true) | (false, false) => KeptWhy::NotSaved(reason),
                    (true, false) | (false, true) => KeptWhy::InTheWay(reason),
                });
            }
            match entry.child() {
                Some(child) => dir = child,
                None => break,
            }
        }
        None
    }

    pub(super) fn is_taken(&self, path: &RelPath) -> bool {
        let Some((parent, name)) = path.split() else { return true };
        match self.root.open_beneath(parent.as_bytes()) {
            // What cannot be looked at is there: in a directory that may be listed and not entered, say.
            Ok(dir) => !matches!(dir.stat_opt(name), Ok(None)),
            Err(e) => !e.is_not_found(),
        }
    }

    /// Is a file or link of the project where a directory above this path would have to be?
    pub(super) fn is_below_a_file(&self, path: &RelPath) -> bool {
        path.ancestors().any(|dir| self.present.has_file(dir.as_bytes()))
    }
}
