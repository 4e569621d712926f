//! What a checkpoint has at the paths that were asked for by name.
//!
//! Whoever asks for a path wants it back. So for each one the plan says if the checkpoint holds it, if it vouches that
//! nothing was there, or why it can do neither: then that path is not restored, and nobody is told that it is. What was
//! left out by no rule below a directory that comes back, and is gone by now, is named as well: it was part of it.

use herma_store::RelPath;
use herma_store::object::EntryMode;

use crate::error::{Error, Result};
use crate::restore::plan::{Draft, Planner};
use crate::types::kept::{Kept, KeptWhy};

/// A path that was asked for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The path.
    pub path: RelPath,
    /// What the checkpoint has there.
    pub then: Then,
}

/// What a checkpoint has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It holds the file, the link or the directory.
    Held,
    /// Nothing was there. To bring that back is to remove what is there now, and only what the save before the restore
    /// holds is removed.
    Absent,
    /// It cannot be brought back, for this reason.
    NotHeld(KeptWhy),
}

impl Requested {
    /// Why it cannot be brought back, if it cannot.
    pub fn not_held(&self) -> Option<Kept> {
        match self.then {
            Then::NotHeld(why) => Some(Kept { path: self.path.clone(), why }),
            Then::Held | Then::Absent => None,
        }
    }
}

/// Refuses what was asked for if nothing of it can be brought back.
pub(crate) fn check(requested: &[Requested]) -> Result<()> {
    let paths: Vec<Kept> = requested.iter().filter_map(Requested::not_held).collect();
    if !paths.is_empty() && paths.len() == requested.len() {
        return Err(Error::NotInCheckpoint { paths });
    }
    Ok(())
}

impl Planner<'_> {
    /// What the checkpoint has at the paths asked for, and the first path that is neither there nor in the project.
    pub(crate) fn requested(&self) -> Result<(Vec<Requested>, Option<RelPath>)> {
        let (mut requested, mut unknown) = (Vec::new(), None);
        for path in &self.options.paths {
            match self.then(path)? {
                Some(then) => requested.push(Requested { path: path.clone(), then }),
                None => unknown = unknown.or(Some(path)),
            }
        }
        for path in &self.options.keep {
            if self.then(path)?.is_none() {
                unknown = unknown.or(Some(path));
            }
        }
        Ok((requested, unknown.cloned()))
    }

    /// What the checkpoint has at a path; `None` if neither it nor the project has anything there.
    fn then(&self, path: &RelPath) -> Result<Option<Then>> {
        let not_held = |why| Ok(Some(Then::NotHeld(why)));
        match self.target_entry(path)? {
            _ if path.is_root() => return Ok(Some(Then::Held)),
            Some(EntryMode::Nested) => return not_held(KeptWhy::NestedRepository),
            Some(_) => return Ok(Some(Then::Held)),
            None if self.had_directory(path) => return Ok(Some(Then::Held)),
            None => {}
        }
        if let Some(reason) = self.target_said_nothing(path) {
            return not_held(KeptWhy::LeftOut(reason));
        }
        for dir in path.ancestors() {
            if self.target_entry(&dir)? == Some(EntryMode::Nested) {
                return not_held(KeptWhy::NestedRepository);
            }
        }
        let is_there = self.present.entry_at(path.as_bytes()).is_some()
            || (!self.is_below_a_file(path) && self.is_taken(path));
        if !is_there {
            return Ok(None);
        }
        if self.may_have_been_left_out(path)? {
            return not_held(KeptWhy::ReceiptDamaged);
        }
        // It was not there then, but no save holds what is there now, so it stays.
        Ok(Some(self.obstacle(path).map_or(Then::Absent, Then::NotHeld)))
    }

    /// Did the checkpoint have a directory here without a file in it?
    fn had_directory(&self, path: &RelPath) -> bool {
        let mut directories = self.target_modes.directories.keys();
        directories.any(|dir| dir.starts_with(path))
    }

    /// Notes what cannot be brought back: what was asked for by name, and what was left out by no rule and is gone.
    pub(super) fn note_not_held(&self, requested: &[Requested], draft: &mut Draft) {
        for kept in requested.iter().filter_map(Requested::not_held) {
            draft.kept.entry(kept.path).or_insert(kept.why);
        }
        for (bytes, reason) in self.target_left_out.into_iter().flatten() {
            let Ok(path) = RelPath::new(bytes.clone()) else { continue };
            let is_loss = !reason.is_rule() && !reason.is_foreign() && self.is_asked_for(&path);
            if is_loss && !self.is_to_be_kept(&path) && self.is_gone(&path) {
                let why = KeptWhy::LeftOut(*reason);
                draft.kept.entry(path).or_insert(why);
            }
        }
    }

    /// Is nothing at a path by now, neither in the save nor outside it?
    fn is_gone(&self, path: &RelPath) -> bool {
        let is_saved_or_named = self.present.entry_at(path.as_bytes()).is_some();
        !is_saved_or_named && (self.is_below_a_file(path) || !self.is_taken(path))
    }
}
