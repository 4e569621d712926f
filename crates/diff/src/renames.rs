//! Which deleted and added files are one file that moved.
//!
//! Equal ids pair first, files with the same name before others. What is left is compared by
//! content, in git's measure: both files are cut into lines (and lines into pieces of 64 bytes), and
//! the bytes in pieces that both have are the similarity. That is quadratic, so it is bounded; past
//! the bound only equal ids count and [`Detected::exact_only`] is set.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use herma_store::object::EntryMode;
use herma_store::threads::shared_out;
use herma_store::{ObjectId, RelPath};

use crate::lines::is_binary;
use crate::{Change, DiffError, FileState, Renamed, Side};

/// The id of a file without content.
const EMPTY_FILE: ObjectId = ObjectId::from_bytes([
    0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2,
    0xe4, 0x8c, 0x53, 0x91,
]);

/// What counts as a rename, and how much work may go into finding out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenameOptions {
    /// How many per cent of the content must have stayed.
    pub min_similarity: u8,
    /// How many pairs of a deleted and an added file are compared by content.
    pub max_pairs: usize,
    /// How many bytes of content are read for that.
    pub max_bytes: u64,
}

impl Default for RenameOptions {
    fn default() -> Self {
        Self { min_similarity: 50, max_pairs: 400 * 400, max_bytes: 64 << 20 }
    }
}

/// The changes after rename detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The changes, sorted by path. A rename stands in place of its deletion and its addition.
    pub changes: Vec<Change>,
    /// Comparing contents would have exceeded the options: only moves without edits were found.
    pub exact_only: bool,
}

/// Turns deletions and additions of what is the same file into renames.
///
/// Never pairs a link with a file, and never empty files: they have nothing to recognise them by.
pub fn detect(
    mut changes: Vec<Change>,
    old: &dyn Side,
    new: &dyn Side,
    options: &RenameOptions,
) -> Result<Detected, DiffError> {
    let mut pairs = exact_pairs(&changes);
    let sources = files_left(&changes, &pairs, deleted);
    let targets = files_left(&changes, &pairs, added);

    let mut exact_only = sources.len().saturating_mul(targets.len()) > options.max_pairs;
    if !exact_only && !sources.is_empty() && !targets.is_empty() {
        let budget = ReadBudget { limit: options.max_bytes, used: AtomicU64::new(0) };
        let sources = fingerprints(&changes, &sources, old, &budget)?;
        let targets = fingerprints(&changes, &targets, new, &budget)?;
        match (sources, targets) {
            (Some(sources), Some(targets)) => {
                pairs.extend(similar_pairs(&changes, &sources, &targets, options.min_similarity));
            }
            _ => exact_only = true,
        }
    }
    join_pairs(&mut changes, &pairs);
    Ok(Detected { changes, exact_only })
}

/// A deletion and an addition, by their position in the list of changes.
#[derive(Clone, Copy)]
struct Pair {
    source: usize,
    target: usize,
    similarity: u8,
}

fn deleted(change: &Change) -> Option<FileState> {
    if change.new.is_none() && change.from.is_none() { movable(change.old) } else { None }
}

fn added(change: &Change) -> Option<FileState> {
    if change.old.is_none() && change.from.is_none() { movable(change.new) } else { None }
}

fn movable(state: Option<FileState>) -> Option<FileState> {
    state.filter(|state| state.id != EMPTY_FILE && state.mode != EntryMode::Nested)
}

fn file_name(path: &RelPath) -> &[u8] {
    path.split().map_or(b"", |_| path.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or(b""))
}

/// Pairs equal contents: those that kept their name first, then the rest in the order of their paths.
fn exact_pairs(changes: &[Change]) -> Vec<Pair> {
    let key = |state: FileState| (state.id, state.mode == EntryMode::Symlink);
    let mut sources: HashMap<_, Vec<usize>> = HashMap::new();
    // Reversed, so that taking from the end goes in the order of paths.
    for (position, change) in changes.iter().enumerate().rev() {
        if let Some(state) = deleted(change) {
            sources.entry(key(state)).or_default().push(position);
        }
    }
    let targets: Vec<_> = changes
        .iter()
        .enumerate()
        .filter_map(|(position, change)| Some((position, key(added(change)?))))
        .filter(|(_, key)| sources.contains_key(key))
        .collect();

    let mut by_name: HashMap<_, Vec<usize>> = HashMap::new();
    for (key, positions) in &sources {
        for position in positions {
            let name = file_name(&changes[*position].path);
            by_name.entry((*key, name)).or_default().push(*position);
        }
    }
    let mut pairs = Vec::new();
    let mut used = HashSet::new();
    let mut renamed = Vec::new();
    for (target, key) in targets {
        let same_name = by_name.get_mut(&(key, file_name(&changes[target].path)));
        match same_name.and_then(Vec::pop) {
            Some(source) => {
                used.insert(source);
                pairs.push(Pair { source, target, similarity: 100 });
            }
            None => renamed.push((target, key)),
        }
    }
    for (target, key) in renamed {
        let positions = sources.entry(key).or_default();
        while let Some(source) = positions.pop() {
            if used.insert(source) {
                pairs.push(Pair { source, target, similarity: 100 });
                break;
            }
        }
    }
    pairs
}

/// The files, not links, that `which` selects and that no pair has taken yet.
fn files_left(
    changes: &[Change],
    pairs: &[Pair],
    which: impl Fn(&Change) -> Option<FileState>,
) -> Vec<(usize, ObjectId)> {
    let taken: HashSet<usize> = pairs.iter().flat_map(|p| [p.source, p.target]).collect();
    changes
        .iter()
        .enumerate()
        .filter_map(|(position, change)| Some((position, which(change)?)))
        .filter(|(position, state)| state.mode != EntryMode::Symlink && !taken.contains(position))
        .map(|(position, state)| (position, state.id))
        .collect()
}

struct ReadBudget {
    limit: u64,
    used: AtomicU64,
}

/// What a file is recognised by: how many bytes it has in pieces of each hash, sorted by hash.
struct Fingerprint {
    position: usize,
    size: u64,
    pieces: Vec<(u32, u32)>,
}

/// Reads the files. `None` when they exceed the budget.
fn fingerprints(
    changes: &[Change],
    files: &[(usize, ObjectId)],
    side: &dyn Side,
    budget: &ReadBudget,
) -> Result<Option<Vec<Fingerprint>>, DiffError> {
    let fingerprint = |(position, id): &(usize, ObjectId)| {
        if budget.used.load(Ordering::Relaxed) > budget.limit {
            return Ok(None);
        }
        let Some(content) = side.content(&changes[*position].path, id, budget.limit)? else {
            budget.used.store(u64::MAX / 2, Ordering::Relaxed);
            return Ok(None);
        };
        let length = content.len() as u64;
        if budget.used.fetch_add(length, Ordering::Relaxed).saturating_add(length) > budget.limit {
            return Ok(None);
        }
        Ok(Some(Fingerprint { position: *position, size: length, pieces: pieces(&content) }))
    };
    shared_out(files, fingerprint).into_iter().collect()
}

/// Git's `hash_chars`: the measure must be git's, so that similarities are the ones people know.
fn pieces(content: &[u8]) -> Vec<(u32, u32)> {
    const HASH_BASE: u32 = 107_927;
    const MAX_PIECE_BYTES: u32 = 64;
    let is_text = !is_binary(content);
    let mut counts: HashMap<u32, u32> = HashMap::new();
    let (mut high, mut low, mut length) = (0_u32, 0_u32, 0_u32);
    let mut bytes = content.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        // A line ending that changed does not make another line.
        if !(is_text && byte == b'\r' && bytes.peek() == Some(&b'\n')) {
            let before = high;
            high = ((high << 7) ^ (low >> 25)).wrapping_add(u32::from(byte));
            low = (low << 7) ^ (before >> 25);
            length += 1;
        }
        let ends = length == MAX_PIECE_BYTES || byte == b'\n' || bytes.peek().is_none();
        if ends && length > 0 {
            let hash = high.wrapping_add(low.wrapping_mul(0x61)) % HASH_BASE;
            *counts.entry(hash).or_default() += length;
            (high, low, length) = (0, 0, 0);
        }
    }
    let mut pieces: Vec<_> = counts.into_iter().collect();
    pieces.sort_unstable();
    pieces
}

/// How much of `old` is in `new`, in per cent of the larger one.
fn similarity(old: &Fingerprint, new: &Fingerprint, min: u8) -> u8 {
    let (smaller, larger) = (old.size.min(new.size), old.size.max(new.size));
    if larger == 0 || smaller * 100 < larger * u64::from(min) {
        return 0;
    }
    let mut kept = 0_u64;
    let mut candidates = new.pieces.iter().peekable();
    for (hash, count) in &old.pieces {
        while candidates.next_if(|(candidate, _)| candidate < hash).is_some() {}
        if let Some((_, in_new)) = candidates.next_if(|(candidate, _)| candidate == hash) {
            kept += u64::from(*count.min(in_new));
        }
    }
    (kept * 100 / larger).min(100) as u8
}

/// Pairs the most similar files first; among equals those that kept their name.
fn similar_pairs(
    changes: &[Change],
    sources: &[Fingerprint],
    targets: &[Fingerprint],
    min: u8,
) -> Vec<Pair> {
    let pairs_of = |new: &Fingerprint| -> Vec<Pair> {
        let pairs = sources.iter().filter_map(|old| {
            let similarity = similarity(old, new, min);
            let pair = Pair { source: old.position, target: new.position, similarity };
            (similarity > 0 && similarity >= min).then_some(pair)
        });
        pairs.collect()
    };
    let mut candidates: Vec<_> = shared_out(targets, pairs_of).into_iter().flatten().collect();
    let name = |position: usize| file_name(&changes[position].path);
    candidates.sort_by_key(|pair| {
        let same_name = name(pair.source) == name(pair.target);
        (100 - pair.similarity, !same_name, pair.target, pair.source)
    });
    let mut taken = HashSet::new();
    candidates.retain(|pair| {
        let free = !taken.contains(&pair.source) && !taken.contains(&pair.target);
        if free {
            taken.extend([pair.source, pair.target]);
        }
        free
    });
    candidates
}

fn join_pairs(changes: &mut Vec<Change>, pairs: &[Pair]) {
    for pair in pairs {
        let path = changes[pair.source].path.clone();
        changes[pair.target].old = changes[pair.source].old;
        changes[pair.target].from = Some(Renamed { path, similarity: pair.similarity });
    }
    let moved_away: HashSet<usize> = pairs.iter().map(|pair| pair.source).collect();
    let mut position = 0;
    changes.retain(|_| {
        position += 1;
        !moved_away.contains(&(position - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::testing::{Files, Memory, numbered_lines};

    fn moves(old: &Files, new: &Files, options: &RenameOptions) -> (Vec<(String, String)>, bool) {
        let ((old, old_root), (new, new_root)) = (Memory::of(old), Memory::of(new));
        let changes = compare(Some((&old, old_root)), Some((&new, new_root)), &[]).unwrap();
        let detected = detect(changes, &old, &new, options).unwrap();
        let moves = detected
            .changes
            .iter()
            .filter_map(|change| {
                Some((change.from.as_ref()?.path.to_string(), change.path.to_string()))
            })
            .collect();
        (moves, detected.exact_only)
    }

    fn found(old: &Files, new: &Files) -> Vec<(String, String)> {
        moves(old, new, &RenameOptions::default()).0
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    fn lines(count: u32) -> String {
        numbered_lines(0..count, |n| format!("line {n}"))
    }

    #[test]
    fn of_equal_files_the_one_that_kept_its_name_is_the_one_that_moved() {
        let old = Files::new().file("a/x", "same").file("a/y", "same").file("b/z", "same");
        let new = Files::new().file("c/y", "same").file("c/other", "same");
        assert_eq!(found(&old, &new), [pair("a/x", "c/other"), pair("a/y", "c/y")]);
    }

    #[test]
    fn an_edited_file_is_found_by_what_stayed() {
        let old = Files::new().file("old", lines(20)).file("other", "nothing alike\n");
        let new = Files::new().file("new", lines(20) + "more\n").file("unlike", "something\n");
        assert_eq!(found(&old, &new), [pair("old", "new")]);
    }

    #[test]
    fn less_than_half_is_another_file() {
        let old = Files::new().file("old", lines(20));
        let new = Files::new().file("new", lines(9) + &"changed\n".repeat(11));
        assert!(found(&old, &new).is_empty());
    }

    #[test]
    fn a_changed_line_ending_is_not_a_changed_line() {
        let old = Files::new().file("unix", lines(20));
        let new = Files::new().file("windows", lines(20).replace('\n', "\r\n"));
        assert_eq!(found(&old, &new), [pair("unix", "windows")]);
    }

    #[test]
    fn links_never_pair_with_files_and_empty_files_never_pair() {
        let old = Files::new().file("file", "target").file("empty", "");
        let link = Files::new().entry("link", EntryMode::Symlink, "target").file("void", "");
        assert!(found(&old, &link).is_empty());
        assert!(found(&link, &old).is_empty());
        let moved = Files::new().entry("moved", EntryMode::Symlink, "target").file("void", "");
        assert_eq!(found(&link, &moved), [pair("link", "moved")]);
    }

    #[test]
    fn past_a_limit_only_exact_moves_are_found_and_it_says_so() {
        let old = Files::new().file("edited", lines(20)).file("exact", "as it was\n");
        let new = Files::new().file("edited2", lines(21)).file("exact2", "as it was\n");
        let exact = [pair("exact", "exact2")];
        for options in [
            RenameOptions { max_pairs: 0, ..RenameOptions::default() },
            RenameOptions { max_bytes: 200, ..RenameOptions::default() },
            RenameOptions { max_bytes: 10, ..RenameOptions::default() },
        ] {
            assert_eq!(moves(&old, &new, &options), (exact.to_vec(), true));
        }
        assert_eq!(found(&old, &new).len(), 2);
    }
}
