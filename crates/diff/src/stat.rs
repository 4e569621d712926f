//! How many lines changed, within a budget of files and bytes.
//!
//! Listings show these numbers for many checkpoints at once; one checkpoint that rewrote a gigabyte
//! must not make the list wait. What the budget does not cover is `None`, never a guess.

use herma_store::RelPath;
use herma_store::object::EntryMode;
use herma_store::threads::shared_out;

use crate::lines::{count, is_binary};
use crate::{Change, DiffError, Side, text_of};

/// How many changes are read at once. The budget is looked at in between, so the answer does not
/// depend on which thread was faster.
const BATCH: usize = 128;

/// How much may be read to count lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// With more changes than this, no lines are counted.
    pub max_files: usize,
    /// How many bytes of content are read, both sides together.
    pub max_bytes: u64,
}

impl Budget {
    /// Counts everything that fits into memory file by file.
    pub const UNLIMITED: Self = Self { max_files: usize::MAX, max_bytes: u64::MAX };
}

/// What changed in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Its path; for a rename the new one.
    pub path: RelPath,
    /// Its old path, if it moved.
    pub from: Option<RelPath>,
    /// What it was, if it was there.
    pub old_mode: Option<EntryMode>,
    /// What it is, if it is there.
    pub new_mode: Option<EntryMode>,
    /// Lines added. `None` for binary files and beyond the budget.
    pub insertions: Option<u64>,
    /// Lines removed. `None` for binary files and beyond the budget.
    pub deletions: Option<u64>,
    /// Its content is not text.
    pub binary: bool,
    /// How many bytes it had and has, 0 where it is not. `None` if its content was not looked at.
    pub sizes: Option<(u64, u64)>,
}

/// What changed altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Files that changed.
    pub files: u64,
    /// Lines added, binary files not counted. 0 if not known.
    pub insertions: u64,
    /// Lines removed, binary files not counted. 0 if not known.
    pub deletions: u64,
    /// Were the lines of every file counted? `false` when the budget did not suffice.
    pub lines_known: bool,
    /// Files that are gone; `None` where nobody counted them.
    pub deleted: Option<u64>,
}

/// Counts what changed altogether.
pub fn stats(
    changes: &[Change],
    old: &dyn Side,
    new: &dyn Side,
    budget: Budget,
) -> Result<Stats, DiffError> {
    let deleted = changes.iter().filter(|change| change.new.is_none()).count() as u64;
    let counted = Stats { files: changes.len() as u64, deleted: Some(deleted), ..Stats::default() };
    let mut stats = Stats { lines_known: true, ..counted };
    let complete = count_files(changes, old, new, budget, |file| {
        stats.insertions += file.insertions.unwrap_or(0);
        stats.deletions += file.deletions.unwrap_or(0);
    })?;
    if !complete {
        stats = counted;
    }
    Ok(stats)
}

/// Counts what changed in each file, in the order of `changes`. Files the budget does not reach are
/// in the list too, without line counts.
pub fn per_file(
    changes: &[Change],
    old: &dyn Side,
    new: &dyn Side,
    budget: Budget,
) -> Result<Vec<FileStat>, DiffError> {
    let mut files = Vec::with_capacity(changes.len());
    count_files(changes, old, new, budget, |file| files.push(file))?;
    files.extend(changes[files.len()..].iter().map(uncounted));
    Ok(files)
}

/// Hands out the counted files in order, up to the end (then `true`) or to the first one that the
/// budget does not cover.
fn count_files(
    changes: &[Change],
    old: &dyn Side,
    new: &dyn Side,
    budget: Budget,
    mut each: impl FnMut(FileStat),
) -> Result<bool, DiffError> {
    if changes.len() > budget.max_files {
        return Ok(false);
    }
    let mut left = budget.max_bytes;
    for batch in changes.chunks(BATCH) {
        for counted in shared_out(batch, |change| count_file(change, old, new, left)) {
            match counted? {
                Some((file, bytes)) if bytes <= left => {
                    left -= bytes;
                    each(file);
                }
                _ => return Ok(false),
            }
        }
    }
    Ok(true)
}

fn uncounted(change: &Change) -> FileStat {
    FileStat {
        path: change.path.clone(),
        from: change.from.as_ref().map(|from| from.path.clone()),
        old_mode: change.old.map(|state| state.mode),
        new_mode: change.new.map(|state| state.mode),
        insertions: None,
        deletions: None,
        binary: false,
        sizes: None,
    }
}

/// Counts one file's lines and says how many bytes that took. `None` if it is larger than `limit`.
fn count_file(
    change: &Change,
    old: &dyn Side,
    new: &dyn Side,
    limit: u64,
) -> Result<Option<(FileStat, u64)>, DiffError> {
    let mut file = uncounted(change);
    if change.old.map(|state| state.id) == change.new.map(|state| state.id) {
        (file.insertions, file.deletions) = (Some(0), Some(0));
        return Ok(Some((file, 0)));
    }
    let Some(old) = text_of(old, change.old_path(), change.old, limit)? else { return Ok(None) };
    let Some(new) = text_of(new, &change.path, change.new, limit)? else { return Ok(None) };
    file.sizes = Some((old.len() as u64, new.len() as u64));
    if is_binary(&old) || is_binary(&new) {
        file.binary = true;
    } else {
        let (insertions, deletions) = count(&old, &new);
        (file.insertions, file.deletions) = (Some(insertions), Some(deletions));
    }
    Ok(Some((file, (old.len() + new.len()) as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::testing::{Files, Memory};

    fn sides() -> (Memory, Memory, Vec<Change>) {
        let old = Files::new().file("a", "1\n2\n").file("b", "\0x").file("c", "gone\n");
        let new = Files::new().file("a", "1\n3\n4\n").file("b", "\0y").file("d", "new\n");
        let ((old, old_root), (new, new_root)) = (Memory::of(&old), Memory::of(&new));
        let changes = compare(Some((&old, old_root)), Some((&new, new_root)), &[]).unwrap();
        (old, new, changes)
    }

    #[test]
    fn lines_are_counted_and_binary_files_are_not() {
        let (old, new, changes) = sides();
        let stats = stats(&changes, &old, &new, Budget::UNLIMITED).unwrap();
        assert_eq!(
            stats,
            Stats { files: 4, insertions: 3, deletions: 2, lines_known: true, deleted: Some(1) }
        );
        let files = per_file(&changes, &old, &new, Budget::UNLIMITED).unwrap();
        assert_eq!((files[0].insertions, files[0].deletions), (Some(2), Some(1)));
        assert!(files[1].binary && files[1].insertions.is_none());
    }

    #[test]
    fn over_budget_the_files_are_known_and_the_lines_are_not() {
        let (old, new, changes) = sides();
        let unknown = Stats { files: 4, deleted: Some(1), ..Stats::default() };
        for budget in
            [Budget { max_files: 3, max_bytes: 99 }, Budget { max_files: 4, max_bytes: 20 }]
        {
            assert_eq!(stats(&changes, &old, &new, budget).unwrap(), unknown);
        }
        let files = per_file(&changes, &old, &new, Budget { max_files: 9, max_bytes: 10 }).unwrap();
        assert_eq!(files.len(), 4);
        assert_eq!(files[0].insertions, Some(2));
        assert!(files[1..].iter().all(|file| file.insertions.is_none()));
    }
}
