//! The part of a plan that is about directories and about modes without content.
//!
//! Where the checkpoint and the present have the same list of modes, only directories around changed files
//! can differ, and nothing else is looked at. Lists are shaped like the project, so those that differ are
//! found from the root down. Only where modes are unknown, or other ones are usual, both trees are walked whole.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};
use herma_diff::Change;
use herma_fs::FileKind;
use herma_store::object::EntryMode;
use herma_store::{ObjectId, RelPath};
use herma_worktree::lists;
use herma_worktree::lists::{KEPT_BITS, KEPT_DIRECTORY_BITS, UsualModes};
use herma_worktree::stat_cache::{EntryKind, EntryRecord, StatCache};

use crate::error::Result;
use crate::restore::ActionKind;
use crate::restore::plan::{DirectoryMode, Draft, Planner};
use crate::types::kept::KeptWhy;

/// New files in a directory get its group.
const SETGID: u32 = 0o2000;

/// The list of a directory in the checkpoint, and the directory in the present.
type Lists = (Option<ObjectId>, Option<u32>);

impl Planner<'_> {
    /// Plans directories and modes. Returns the directories of the checkpoint the plan has to do with.
    pub(super) fn directories(
        &self,
        changes: &[Change],
        draft: &mut Draft,
    ) -> Result<BTreeMap<RelPath, DirectoryMode>> {
        let differing = self.directories_with_other_lists()?;
        let mut wanted = if let Some(differing) = &differing {
            let mut wanted = self.directories_around(changes);
            self.compare_in(differing, draft, &mut wanted)?;
            wanted
        } else {
            self.each_target_directory(|dir, tree| self.compare_modes(dir, tree, draft))?;
            self.target_directories()?
        };
        wanted.retain(|path, _| {
            let ours = self.is_asked_for(path) || self.is_missing_above(path);
            ours && !self.is_to_be_kept(path) && !draft.is_blocked(path)
        });
        let modes = self.plan_modes(wanted, draft);
        let candidates = match differing {
            Some(differing) => {
                let mut candidates = removed_around(changes);
                candidates.extend(differing.into_iter().filter(|path| !path.is_root()));
                candidates
            }
            None => self.all_present(),
        };
        for path in candidates {
            if self.is_surplus(&path, &modes, draft)? {
                draft.actions.entry(path).or_insert(ActionKind::RemoveDirectory);
            }
        }
        Ok(modes)
    }

    /// Plans the directories that are to have these modes: those that are there with another one, and those that are not.
    fn plan_modes(
        &self,
        wanted: BTreeMap<RelPath, u32>,
        draft: &mut Draft,
    ) -> BTreeMap<RelPath, DirectoryMode> {
        let mut modes = BTreeMap::new();
        for (path, wanted) in wanted {
            let now = self.present.dir_at(path.as_bytes());
            let now = now.and_then(|dir| self.present.dir(dir));
            let seen = now.map(|now| u32::from(now.mode) & KEPT_DIRECTORY_BITS);
            // Older checkpoints do not say whether it was setgid: what is there stays.
            let wanted = wanted | seen.unwrap_or(0) & SETGID;
            match seen {
                Some(from) if from != wanted => {
                    let action = ActionKind::Mode { from, to: wanted };
                    draft.actions.insert(path.clone(), action);
                }
                None if !self.make_directory(&path, draft) => continue,
                _ => {}
            }
            modes.insert(path, DirectoryMode { wanted, seen });
        }
        modes
    }

    /// Is this a directory that something asked for is in and that is not there?
    fn is_missing_above(&self, path: &RelPath) -> bool {
        let mut asked = self.options.paths.iter();
        asked.any(|asked| asked.starts_with(path) && !self.is_to_be_kept(asked))
            && !self.is_a_directory(path)
    }

    /// Directories that files to be written are in.
    fn directories_around(&self, changes: &[Change]) -> BTreeMap<RelPath, u32> {
        let mut found = BTreeMap::new();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            let mut next = change.path.split().map(|(parent, _)| parent);
            while let Some(dir) = next.filter(|dir| !found.contains_key(dir)) {
                found.insert(dir.clone(), self.directory_mode(&dir));
                next = dir.split().map(|(parent, _)| parent);
            }
        }
        found
    }

    /// The mode a file ends up with; `now` is what is there.
    pub(crate) fn file_mode(
        &self,
        path: &RelPath,
        executable: bool,
        now: Option<&EntryRecord>,
    ) -> u32 {
        let is_file =
            |now: &&EntryRecord| now.kind.is_captured_file() && now.kind != EntryKind::Symlink;
        let Some(now) = now.filter(|now| self.target_modes.unknown && is_file(now)) else {
            return self.target_modes.file(path, executable);
        };
        let mode = u32::from(now.mode) & KEPT_BITS;
        match (executable, mode & 0o100 != 0) {
            // Whoever may read it may run it.
            (true, false) => mode | (mode & 0o444) >> 2,
            (false, true) => mode & !0o111,
            _ => mode,
        }
    }

    /// The mode a directory ends up with.
    fn directory_mode(&self, path: &RelPath) -> u32 {
        if self.target_modes.unknown {
            let now = self.present.dir_at(path.as_bytes());
            if let Some(now) = now.and_then(|dir| self.present.dir(dir)) {
                return u32::from(now.mode) & KEPT_DIRECTORY_BITS;
            }
        }
        self.target_modes.directory(path)
    }

    /// Every directory of the checkpoint, with its mode.
    fn target_directories(&self) -> Result<BTreeMap<RelPath, u32>> {
        let mut found = BTreeMap::new();
        self.each_target_directory(|dir, _| {
            found.insert(dir.clone(), self.directory_mode(dir));
            Ok(())
        })?;
        for (path, mode) in &self.target_modes.directories {
            found.insert(path.clone(), *mode);
        }
        Ok(found)
    }

    /// Calls `each` with the directories of the checkpoint that were asked for, and those around them.
    fn each_target_directory(
        &self,
        mut each: impl FnMut(&RelPath, &ObjectId) -> Result<()>,
    ) -> Result<()> {
        let mut stack = vec![(RelPath::root(), self.target.tree)];
        while let Some((dir, tree)) = stack.pop() {
            each(&dir, &tree)?;
            for entry in self.target_side.entries(&dir, &tree)? {
                if entry.mode == EntryMode::Directory {
                    let below = dir.join(&entry.name);
                    // Nothing else is read: a crafted tree may be small in part and endless as a whole.
                    if self.is_asked_for(&below) || self.leads_to_asked(&below) {
                        stack.push((below, entry.id));
                    }
                }
            }
        }
        Ok(())
    }

    /// Directories about which the checkpoint and the present say different things: their mode, that of a file
    /// in them, or that they exist, if nothing else says so. `None` if any directory may be one of them.
    fn directories_with_other_lists(&self) -> Result<Option<BTreeSet<RelPath>>> {
        let mut found = BTreeSet::new();
        if self.target.modes == self.present_modes {
            return Ok(Some(found));
        }
        let root = self.present.dir(StatCache::ROOT);
        let usual = root.map(|root| UsualModes::below(root.mode.into()));
        if self.target_modes.unknown || usual != Some(self.target_modes.usual) {
            return Ok(None);
        }
        let mut stack = vec![(RelPath::root(), self.target.modes, Some(StatCache::ROOT))];
        while let Some((path, list, dir)) = stack.pop() {
            if list == dir.and_then(|dir| self.present_list(dir)) {
                continue;
            }
            if self.is_asked_for(&path) || self.leads_to_asked(&path) {
                let below = self.lists_below(&path, list, dir)?;
                let below = below.into_iter();
                stack.extend(below.map(|(name, (list, dir))| (path.join(&name), list, dir)));
                found.insert(path);
            }
        }
        Ok(Some(found))
    }

    /// The list of modes of a present directory.
    fn present_list(&self, dir: u32) -> Option<ObjectId> {
        let list = self.present.dir(dir)?.modes;
        (!list.is_null()).then_some(list)
    }

    /// The subdirectories that have a list in the checkpoint, in the present, or in both.
    fn lists_below(
        &self,
        path: &RelPath,
        list: Option<ObjectId>,
        dir: Option<u32>,
    ) -> Result<BTreeMap<BString, Lists>> {
        let mut below: BTreeMap<BString, Lists> = BTreeMap::new();
        let dirs = match list {
            Some(list) => lists::parts(&self.target_side.entries(path, &list)?).1,
            None => None,
        };
        if let Some(dirs) = dirs {
            for entry in self.target_side.entries(path, &dirs)? {
                below.entry(entry.name).or_default().0 = Some(entry.id);
            }
        }
        let entries = dir.and_then(|dir| self.present.entries(dir));
        for entry in entries.into_iter().flatten().flatten() {
            let (Some(child), Some(name)) = (entry.child(), self.present.name(&entry)) else {
                continue;
            };
            let name = name.to_bytes();
            if self.present_list(child).is_some() || below.contains_key(name.as_bstr()) {
                below.entry(name.into()).or_default().1 = Some(child);
            }
        }
        Ok(below)
    }

    /// Compares what the checkpoint has in some directories; those it has are wanted.
    fn compare_in(
        &self,
        directories: &BTreeSet<RelPath>,
        draft: &mut Draft,
        wanted: &mut BTreeMap<RelPath, u32>,
    ) -> Result<()> {
        for dir in directories {
            let tree = match self.target_at(dir)? {
                Some((EntryMode::Directory, tree)) => Some(tree),
                _ => None,
            };
            if let Some(tree) = &tree {
                self.compare_modes(dir, tree, draft)?;
            }
            if tree.is_some() || self.target_modes.directories.contains_key(dir) {
                wanted.insert(dir.clone(), self.directory_mode(dir));
            }
        }
        Ok(())
    }

    /// Finds files of a directory whose content is as it was but whose mode is not.
    fn compare_modes(&self, dir: &RelPath, tree: &ObjectId, draft: &mut Draft) -> Result<()> {
        let Some(index) = self.present.dir_at(dir.as_bytes()) else { return Ok(()) };
        for entry in self.target_side.entries(dir, tree)? {
            let executable = match entry.mode {
                EntryMode::File => false,
                EntryMode::Executable => true,
                EntryMode::Directory | EntryMode::Symlink | EntryMode::Nested => continue,
            };
            let Some(now) = self.present.find_kind(index, &entry.name, false) else { continue };
            let is_file = matches!(now.kind, EntryKind::File | EntryKind::Executable);
            if !is_file || now.id != entry.id {
                continue;
            }
            let path = dir.join(&entry.name);
            let from = u32::from(now.mode) & KEPT_BITS;
            let to = self.file_mode(&path, executable, Some(&now));
            let ours = self.is_asked_for(&path) && !self.is_to_be_kept(&path);
            if from != to && ours && !draft.is_blocked(&path) {
                draft.actions.insert(path, ActionKind::Mode { from, to });
            }
        }
        Ok(())
    }

    fn make_directory(&self, path: &RelPath, draft: &mut Draft) -> bool {
        if self.spare_foreign(path, draft) {
            return false;
        }
        match self.obstacle(path) {
            // A directory that is there but not looked into serves as well.
            Some(KeptWhy::InTheWay(_)) if self.is_a_directory(path) => {}
            Some(why) => {
                draft.kept.insert(path.clone(), why);
                return false;
            }
            None if self.present.has_file(path.as_bytes()) => {
                draft.actions.entry(path.clone()).or_insert(ActionKind::RemoveFile);
            }
            None => {
                draft.actions.insert(path.clone(), ActionKind::CreateDirectory);
            }
        }
        true
    }

    fn is_a_directory(&self, path: &RelPath) -> bool {
        let Some((parent, name)) = path.split() else { return true };
        let dir = self.root.open_beneath(parent.as_bytes());
        dir.and_then(|dir| dir.stat(name)).is_ok_and(|stat| stat.kind == FileKind::Directory)
    }

    /// Every directory of the present.
    fn all_present(&self) -> BTreeSet<RelPath> {
        let mut found = BTreeSet::new();
        let mut stack = vec![(RelPath::root(), StatCache::ROOT)];
        while let Some((path, dir)) = stack.pop() {
            for entry in self.present.entries(dir).into_iter().flatten().flatten() {
                if let (Some(child), Some(name)) = (entry.child(), self.present.name(&entry)) {
                    let below = path.join(name.to_bytes());
                    stack.push((below.clone(), child));
                    found.insert(below);
                }
            }
        }
        found
    }

    /// Is this a present directory the checkpoint does not have, with nothing in it that is not ours?
    fn is_surplus(
        &self,
        path: &RelPath,
        wanted: &BTreeMap<RelPath, DirectoryMode>,
        draft: &mut Draft,
    ) -> Result<bool> {
        let Some(dir) = self.present.dir_at(path.as_bytes()) else { return Ok(false) };
        // One that the rules leave out, and that is entered only for something in it, may have been there before without a word.
        let descends = self.target.extra.is_none()
            && self.present.entry_at(path.as_bytes()).is_some_and(|e| e.descend.is_some());
        let ours = self.is_asked_for(path) && !self.is_to_be_kept(path) && !draft.is_blocked(path);
        if wanted.contains_key(path) || descends || !ours {
            return Ok(false);
        }
        if self.target_said_nothing(path).is_some() || self.left_out_below(dir).is_some() {
            return Ok(false);
        }
        let was_there = self.target_modes.directories.contains_key(path)
            || self.target_entry(path)? == Some(EntryMode::Directory);
        if was_there || self.keeps_below(path) || draft.spares_below(path) {
            return Ok(false);
        }
        let stays = self.may_have_been_left_out(path)?;
        if stays {
            draft.kept.insert(path.clone(), KeptWhy::ReceiptDamaged);
        }
        Ok(!stays)
    }
}

/// Directories that files to be removed are in.
fn removed_around(changes: &[Change]) -> BTreeSet<RelPath> {
    let mut found = BTreeSet::new();
    for change in changes.iter().filter(|change| change.new.is_none()) {
        let mut next = change.path.split().map(|(parent, _)| parent);
        while let Some(dir) = next.filter(|dir| !dir.is_root() && !found.contains(dir)) {
            next = dir.split().map(|(parent, _)| parent);
            found.insert(dir);
        }
    }
    found
}
