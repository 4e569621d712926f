//! The history of one file: every version of it, and who made it.

use crate::engine::operation::Operation;
use herma_diff::patch::MAX_TEXT_BYTES;
use herma_diff::stat::per_file;
use herma_diff::{Budget, Change, Renamed};
use herma_records::checkpoint::Checkpoint;
use herma_records::step::{LineAuthor, Step};
use herma_store::RelPath;

use crate::error::{AuthorshipError, Error, Result};
use crate::timeline::versions::{At, Seen, Told};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// It came, or is in the oldest state that is known.
    Added,
    /// It has another content.
    Changed,
    /// It went.
    Removed,
    /// It moved, and may have changed on the way.
    Renamed {
        /// Where it was.
        from: RelPath,
    },
    /// It became executable, or stopped being so.
    ModeChanged,
}

impl VersionChange {
    /// The word records and JSON use.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Renamed { .. } => "renamed",
            Self::ModeChanged => "mode",
        }
    }
}

/// A version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Where it was then.
    pub path: RelPath,
    /// The oldest checkpoint with it; `None` if only the present has it, or a state between checkpoints.
    pub checkpoint: Option<Box<Checkpoint>>,
    /// Who made it.
    pub author: LineAuthor,
    /// What became of the file.
    pub change: VersionChange,
    /// Lines added. `None` for what has no lines or is too large to count them.
    pub insertions: Option<u64>,
    /// Lines removed.
    pub deletions: Option<u64>,
    /// Its length in bytes; `None` if it was removed.
    pub size: Option<u64>,
    /// When it was first seen, in seconds since 1970; `None` if it is not saved yet.
    pub time: Option<i64>,
}

/// Every version of a file.
#[derive(Clone, Debug)]
pub struct FileHistory {
    /// The file, as it was asked for.
    pub path: RelPath,
    /// Its versions, newest first.
    pub versions: Vec<Version>,
    /// The steps that are named, ascending.
    pub steps: Vec<Step>,
}

impl Operation<'_> {
    pub(crate) fn history(self, path: &RelPath) -> Result<FileHistory> {
        let progress = self.progress;
        let told = self.tell(path)?;
        let seen = told.versions(path)?;
        if seen.iter().all(|seen| seen.state.is_none()) {
            return Err(match told.at(told.now(), path)? {
                At::Directory => AuthorshipError::NotAFile { path: path.clone() }.into(),
                At::LeftOut(reason) => {
                    let path = path.clone();
                    AuthorshipError::LeftOut { path, reason }.into()
                }
                _ => Error::PathUnknown { path: path.clone() },
            });
        }
        let mut versions = Vec::new();
        for (index, seen_here) in seen.iter().enumerate() {
            progress.check()?;
            let before = index.checked_sub(1).map(|before| &seen[before]);
            versions.extend(told.version(before, seen_here)?);
        }
        versions.reverse();
        let named = versions.iter().flat_map(|version| version.author.steps());
        Ok(FileHistory { path: path.clone(), steps: told.steps(named.copied()), versions })
    }
}

impl Told<'_> {
    /// A version in full; `None` for the time before there was any.
    fn version(&self, before: Option<&Seen>, seen: &Seen) -> Result<Option<Version>> {
        let Some(change) = change(before, seen) else { return Ok(None) };
        let author = before.map(|before| self.author_between(before.last, seen.first));
        let (insertions, deletions) = self.count_lines(before, seen)?;
        Ok(Some(Version {
            path: seen.path.clone(),
            checkpoint: self.holder(seen.first).cloned().map(Box::new),
            time: self.time(seen.first, author.as_ref()),
            author: author.unwrap_or(LineAuthor::Earlier),
            change,
            insertions,
            deletions,
            size: self.size(seen)?,
        }))
    }

    fn count_lines(
        &self,
        before: Option<&Seen>,
        seen: &Seen,
    ) -> Result<(Option<u64>, Option<u64>)> {
        let from = before
            .filter(|b| b.path != seen.path && b.state.is_some() && seen.state.is_some())
            .map(|b| Renamed { path: b.path.clone(), similarity: 0 });
        let change = Change {
            path: seen.path.clone(),
            old: before.and_then(|before| before.state),
            new: seen.state,
            from,
        };
        let old = self.side(before.map_or(seen.first, |before| before.last));
        let new = self.side(seen.first);
        let budget = Budget { max_files: 1, max_bytes: 2 * MAX_TEXT_BYTES };
        let counted = per_file(&[change], &*old, &*new, budget)?;
        let counted = counted.first();
        Ok((counted.and_then(|file| file.insertions), counted.and_then(|file| file.deletions)))
    }
}

fn change(before: Option<&Seen>, seen: &Seen) -> Option<VersionChange> {
    let old = before.and_then(|before| Some((&before.path, before.state?)));
    Some(match (old, seen.state) {
        (None, None) => return None,
        (None, Some(_)) => VersionChange::Added,
        (Some(_), None) => VersionChange::Removed,
        (Some((from, _)), Some(_)) if *from != seen.path => {
            VersionChange::Renamed { from: from.clone() }
        }
        (Some((_, old)), Some(new)) if old.id == new.id => VersionChange::ModeChanged,
        _ => VersionChange::Changed,
    })
}
