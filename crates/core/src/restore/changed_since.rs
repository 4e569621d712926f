//! What somebody changed since a restore was interrupted. It stays as it is when the restore is finished or reversed.
//!
//! An interrupted restore left each file it concerns as it was before, or as in its target. So a file that is as in neither
//! of the two was changed since, and so was whatever the restore does not concern and is not as before it. Both ends are
//! asked with an ordinary plan: a path that both plans would change is as in neither.
//!
//! Where both ends differ, what a killed restore or a power cut may leave is no work of anybody's: nothing at all, the right
//! content with another mode, or a part of the right content. Directories that were opened up to write in them have a mode of
//! neither end, so modes of directories are not judged.

use std::collections::{BTreeMap, BTreeSet};

use herma_records::checkpoint::RestoreOptions;
use herma_records::journal::Journal;
use herma_store::RelPath;

use crate::error::Result;
use crate::restore::plan::Prepared;
use crate::restore::{ActionKind, Plan};
use crate::types::kept::{Kept, KeptWhy};

/// A power cut keeps or loses whole sectors of a file.
const SECTOR: usize = 512;

/// An interrupted restore that is finished or reversed.
pub(crate) struct Unfinished {
    pub(crate) journal: Journal,
    /// Does it go over what was changed since, too?
    pub(crate) all: bool,
}

/// What both ends of an interrupted restore say about the present.
pub(crate) struct Ends<'p> {
    /// The plan for the end it is brought to now.
    pub(crate) here: &'p Prepared,
    /// The plan for the other one.
    pub(crate) other: &'p Prepared,
    /// What the restore is about.
    pub(crate) asked: &'p RestoreOptions,
}

impl Ends<'_> {
    /// The paths that were changed since, sorted. `is_work` tells if somebody's work is at a path about which the ends differ.
    pub(crate) fn changed_since(
        &self,
        is_work: &dyn Fn(&RelPath) -> Result<bool>,
    ) -> Result<Vec<RelPath>> {
        let other = self.other.plan.actions.iter();
        let other: BTreeMap<&RelPath, ActionKind> = other.map(|a| (&a.path, a.kind)).collect();
        let spared: BTreeSet<&RelPath> = self.other.plan.kept.iter().map(|k| &k.path).collect();
        let mut changed = BTreeSet::new();
        let mut directories = Vec::new();
        for action in &self.here.plan.actions {
            let path = &action.path;
            let is_spared = spared.contains(path) && !other.contains_key(path);
            let is_beyond = is_spared || !self.is_concerned(path);
            if !is_beyond && !other.contains_key(path) {
                continue;
            }
            match action.kind {
                ActionKind::Mode { .. } if self.here.directory_modes.contains_key(path) => {}
                ActionKind::CreateDirectory | ActionKind::RemoveDirectory => {
                    let is_alike = is_beyond || other.get(path) == Some(&action.kind);
                    let is_there = action.kind == ActionKind::RemoveDirectory;
                    directories.extend(is_alike.then_some((path, is_there)));
                }
                kind => {
                    let is_alike = other.get(path) == Some(&kind) && self.has_same_content(path);
                    if is_beyond || is_alike || is_work(path)? {
                        changed.insert(path.clone());
                    }
                }
            }
        }
        // A directory that is needed for something else is not judged by itself; one that something stays in stays with it.
        for (path, is_there) in directories.into_iter().rev() {
            let is_below = |path: &RelPath, at: &RelPath| at != path && at.starts_with(path);
            let mut below = self.here.plan.actions.iter().map(|action| &action.path);
            let stays = if is_there {
                !below.any(|at| is_below(path, at))
            } else {
                below.filter(|at| is_below(path, at)).all(|at| changed.contains(at))
            };
            if stays {
                changed.insert(path.clone());
            }
        }
        Ok(changed.into_iter().collect())
    }

    fn is_concerned(&self, path: &RelPath) -> bool {
        let RestoreOptions { paths, keep } = self.asked;
        let is_asked = |asked: &RelPath| path.starts_with(asked) || asked.starts_with(path);
        (paths.is_empty() || paths.iter().any(is_asked))
            && !keep.iter().any(|keep| path.starts_with(keep))
    }

    fn has_same_content(&self, path: &RelPath) -> bool {
        let of = |end: &Prepared| end.contents.get(path).map(|c| (c.id, c.mode, c.bits));
        of(self.here) == of(self.other)
    }
}

/// Tells of what stays because it was changed since, where a plan says that somebody asked for it.
pub(crate) fn name(plan: &mut Plan, changed: &[RelPath], asked: &RestoreOptions) {
    let is_asked = |path: &RelPath| asked.keep.iter().any(|keep| path.starts_with(keep));
    for kept in plan.kept.iter_mut().filter(|kept| kept.why == KeptWhy::Asked) {
        if !is_asked(&kept.path) {
            kept.why = KeptWhy::ChangedSince;
        }
    }
    let named: BTreeSet<RelPath> = plan.kept.iter().map(|kept| kept.path.clone()).collect();
    let more = changed.iter().filter(|path| !named.contains(*path));
    plan.kept.extend(more.map(|path| Kept { path: path.clone(), why: KeptWhy::ChangedSince }));
    plan.kept.sort_unstable();
}

/// May a power cut have left this of a file? Then it holds nothing that the file does not.
pub(crate) fn is_torn(now: &[u8], whole: &[u8]) -> bool {
    let is_cut = now.len() < whole.len() && now.len().is_multiple_of(SECTOR);
    (is_cut || now.len() == whole.len())
        && now.iter().zip(whole).all(|(now, whole)| *now == 0 || now == whole)
}

#[cfg(test)]
mod tests {
    use super::is_torn;

    #[test]
    fn only_what_holds_nothing_else_is_torn() {
        let whole = [b'x'; 1300];
        for torn in [&whole[..0], &whole[..512], &whole[..1024], &[0; 1300]] {
            assert!(is_torn(torn, &whole), "{}", torn.len());
        }
        for edited in [&whole[..1], &whole[..1299], &[b'y'; 1300], &[b'x'; 1536]] {
            assert!(!is_torn(edited, &whole), "{}", edited.len());
        }
    }
}
