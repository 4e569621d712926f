//! Makes commits again without what is to go.
//!
//! The same commit always becomes the same new one, whatever was done before: so a purge that was killed and
//! is run again makes no second copy of anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use herma_diff::StoreSide;
use herma_records::checkpoint::message;
use herma_records::checkpoint::message::Message;
use herma_reversal as reversal;
use herma_reversal::{Outcome, Reversed, StateView};
use herma_store::object::commit::Commit;
use herma_store::object::{EntryMode, Kind, compare_names, push_tree_entry};
use herma_store::objects::Objects;
use herma_store::pack::write::PackWriter;
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::Modes;

use super::search::{Contents, Place, at_paths};
use crate::error::{Error, ErrorKind, Result};

/// Modes of which nothing is recorded follow from a root that anybody may read; nothing keeps them.
const USUAL_ROOT: u32 = 0o755;

/// What goes out of the checkpoints of one project.
pub(crate) struct Selection<'a> {
    /// Files and directories, in every checkpoint.
    pub(crate) paths: Vec<RelPath>,
    /// Contents, wherever they are.
    pub(crate) contents: Contents<'a>,
}

impl Selection<'_> {
    /// What of a tree goes, sorted by path.
    pub(crate) fn of_tree(&mut self, objects: &Objects, tree: ObjectId) -> Result<Vec<Place>> {
        let mut found = at_paths(objects, tree, &self.paths)?;
        found.extend(self.contents.below(tree)?.iter().cloned());
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by(|a, b| a.path == b.path);
        Ok(found)
    }

    /// The path under which a place is noted as taken out: the one that was asked for, or its own.
    fn noted(&self, place: &Place) -> RelPath {
        let asked = self.paths.iter().find(|path| place.path.starts_with(path));
        asked.unwrap_or(&place.path).clone()
    }
}

/// A tree with its receipt, and what became of them.
#[derive(Clone)]
struct NewState {
    tree: ObjectId,
    extra: Option<ObjectId>,
    purged: Vec<RelPath>,
}

/// Makes commits again; see the module.
pub(crate) struct Rewriter<'a, 'w> {
    objects: &'a Objects,
    writer: &'a PackWriter<'w>,
    selection: Selection<'a>,
    /// Where history ends.
    shallow: BTreeSet<ObjectId>,
    states: HashMap<(ObjectId, Option<ObjectId>), NewState>,
    commits: HashMap<ObjectId, ObjectId>,
    /// New receipts, by the new commits that name them.
    extras: HashMap<ObjectId, Option<ObjectId>>,
    /// New commits at which history ends.
    cuts: Vec<ObjectId>,
}

impl<'a, 'w> Rewriter<'a, 'w> {
    /// A rewriter that has seen nothing.
    pub(crate) fn new(
        objects: &'a Objects,
        writer: &'a PackWriter<'w>,
        selection: Selection<'a>,
        shallow: BTreeSet<ObjectId>,
    ) -> Self {
        Self {
            objects,
            writer,
            selection,
            shallow,
            states: HashMap::new(),
            commits: HashMap::new(),
            extras: HashMap::new(),
            cuts: Vec::new(),
        }
    }

    /// What becomes of a commit. One that cannot be read, or whose tree cannot, stays what it is.
    pub(crate) fn commit(&mut self, id: ObjectId) -> Result<ObjectId> {
        let mut pending = vec![id];
        while let Some(next) = pending.last().copied() {
            if self.commits.contains_key(&next) {
                pending.pop();
                continue;
            }
            let commit = match self.objects.read_commit(&next).map_err(Error::from) {
                Err(e) if e.kind() == ErrorKind::Damaged => {
                    self.commits.insert(next, next);
                    continue;
                }
                read => read?,
            };
            let before = pending.len();
            if !self.shallow.contains(&next) {
                let parents = commit.parents.iter().copied();
                pending.extend(parents.filter(|parent| !self.commits.contains_key(parent)));
            }
            if pending.len() == before {
                let new = self.rewrite(next, commit)?;
                self.commits.insert(next, new);
            }
        }
        Ok(self.commits.get(&id).copied().unwrap_or(id))
    }

    /// The receipt of a commit that was made again, if it has one.
    pub(crate) fn extra_of(&self, new: &ObjectId) -> Option<ObjectId> {
        self.extras.get(new).copied().flatten()
    }

    /// Every commit that became another one, and the new commits at which history ends.
    pub(crate) fn finish(self) -> (BTreeMap<ObjectId, ObjectId>, Vec<ObjectId>) {
        let commits = self.commits.into_iter();
        let changed = commits.filter(|(old, new)| old != new).collect();
        (changed, self.cuts)
    }

    fn rewrite(&mut self, id: ObjectId, mut commit: Commit) -> Result<ObjectId> {
        let extra = Message::parse(&commit.message).extra;
        let state = match self.state(commit.tree, extra) {
            Err(e) if e.kind() == ErrorKind::Damaged => return Ok(id),
            state => state?,
        };
        let known = &self.commits;
        let parents: Vec<ObjectId> = commit
            .parents
            .iter()
            .map(|parent| known.get(parent).copied().unwrap_or(*parent))
            .collect();
        if state.purged.is_empty() && parents == commit.parents {
            return Ok(id);
        }
        if !state.purged.is_empty() {
            commit.tree = state.tree;
            commit.message = message::without(&commit.message, state.extra, &state.purged).into();
        }
        commit.parents = parents;
        let new = self.writer.add(Kind::Commit, &commit.encode())?;
        self.extras.insert(new, state.extra);
        if self.shallow.contains(&id) {
            self.cuts.push(new);
        }
        Ok(new)
    }

    fn state(&mut self, tree: ObjectId, extra: Option<ObjectId>) -> Result<NewState> {
        if let Some(known) = self.states.get(&(tree, extra)) {
            return Ok(known.clone());
        }
        let going = self.selection.of_tree(self.objects, tree)?;
        let mut purged: Vec<RelPath> = going.iter().map(|p| self.selection.noted(p)).collect();
        purged.sort_unstable();
        purged.dedup();
        let state = if going.is_empty() {
            NewState { tree, extra, purged }
        } else {
            self.without(tree, extra, &going, purged)?
        };
        self.states.insert((tree, extra), state.clone());
        Ok(state)
    }

    fn without(
        &self,
        tree: ObjectId,
        extra: Option<ObjectId>,
        going: &[Place],
        purged: Vec<RelPath>,
    ) -> Result<NewState> {
        let receipt = match extra.map(|extra| self.read_receipt(&extra)).transpose() {
            // What cannot be read cannot be made again; restores know how to do without.
            Err(e) if e.kind() == ErrorKind::Damaged => None,
            receipt => receipt?,
        };
        let unknown = Modes::unknown(USUAL_ROOT);
        let modes = receipt.as_ref().map_or(&unknown, |receipt| &receipt.modes);
        let mut changes: BTreeMap<RelPath, Outcome> =
            going.iter().map(|place| (place.path.clone(), Outcome::Gone)).collect();
        let directories = self.directories(going, modes);
        changes.extend(directories.iter().map(|dir| (dir.clone(), Outcome::Gone)));
        let view = StateView {
            tree,
            modes,
            side: &StoreSide::new(self.objects),
            left_out: &BTreeMap::new(),
        };
        let reversed = Reversed { changes, ..Reversed::default() };
        let add = |kind, data: &[u8]| self.writer.add(kind, data).map_err(Error::from);
        let (tree, modes) = reversal::write_state(&view, &reversed, &add)?;
        let extra = match receipt {
            Some(receipt) => Some(self.write_receipt(&receipt, modes, going, directories.len())?),
            None => extra,
        };
        Ok(NewState { tree, extra, purged })
    }

    /// The directories that go with what was asked for: those at or below such a path.
    fn directories(&self, going: &[Place], modes: &Modes) -> BTreeSet<RelPath> {
        let roots: Vec<&RelPath> = self
            .selection
            .paths
            .iter()
            .filter(|path| {
                going.iter().any(|place| place.path != **path && place.path.starts_with(path))
            })
            .collect();
        let goes = |dir: &RelPath| roots.iter().any(|root| dir.starts_with(root));
        let above = going.iter().flat_map(|place| place.path.ancestors());
        let empty = modes.directories.keys().cloned();
        above.chain(empty).filter(goes).collect()
    }

    fn read_receipt(&self, extra: &ObjectId) -> Result<ReceiptParts> {
        let mut parts = ReceiptParts::default();
        for entry in self.objects.read_tree(extra)? {
            match &entry.name[..] {
                b"modes" => parts.modes = Modes::read(self.objects, Some(entry.id))?,
                b"summary" => parts.summary = Some(self.objects.read(&entry.id)?.data),
                _ => parts.others.push((entry.mode, entry.name.to_vec(), entry.id)),
            }
        }
        Ok(parts)
    }

    fn write_receipt(
        &self,
        receipt: &ReceiptParts,
        modes: Option<ObjectId>,
        going: &[Place],
        directories: usize,
    ) -> Result<ObjectId> {
        let mut entries = receipt.others.clone();
        if let Some(modes) = modes {
            entries.push((EntryMode::Directory, b"modes".to_vec(), modes));
        }
        if let Some(summary) = &receipt.summary {
            let mut bytes = 0;
            for place in going.iter().filter(|place| place.mode != EntryMode::Nested) {
                bytes += self.objects.read_header(&place.id).map_or(0, |(_, size)| size);
            }
            let less = [going.len() as u64, bytes, directories as u64];
            let summary = smaller(summary, less);
            let id = self.writer.add(Kind::Blob, &summary)?;
            entries.push((EntryMode::File, b"summary".to_vec(), id));
        }
        let is_dir = |mode: EntryMode| mode == EntryMode::Directory;
        entries.sort_by(|(a_mode, a, _), (b_mode, b, _)| {
            compare_names(a, is_dir(*a_mode), b, is_dir(*b_mode))
        });
        let mut tree = Vec::new();
        for (mode, name, id) in &entries {
            push_tree_entry(&mut tree, *mode, name, id);
        }
        Ok(self.writer.add(Kind::Tree, &tree)?)
    }
}

/// What a receipt's tree holds.
#[derive(Default)]
struct ReceiptParts {
    modes: Modes,
    summary: Option<Vec<u8>>,
    others: Vec<(EntryMode, Vec<u8>, ObjectId)>,
}

/// The lines of a summary with these counts of files, bytes and directories less; others stay.
fn smaller(summary: &[u8], less: [u64; 3]) -> Vec<u8> {
    let words = ["files ", "bytes ", "directories "];
    let mut out = Vec::with_capacity(summary.len());
    for line in summary.split_inclusive(|byte| *byte == b'\n') {
        let count = words.iter().zip(less).find_map(|(word, less)| {
            let digits = line.strip_prefix(word.as_bytes())?.trim_ascii_end();
            let count: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
            Some(format!("{word}{}\n", count.saturating_sub(less)))
        });
        match count {
            Some(line) => out.extend_from_slice(line.as_bytes()),
            None => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_get_smaller_and_unknown_lines_stay() {
        let old = b"files 5\nbytes 100\ndirectories 3\nleft-out ignored 7\nlater x\n";
        let new = smaller(old, [2, 30, 9]);
        let expected = b"files 3\nbytes 70\ndirectories 0\nleft-out ignored 7\nlater x\n";
        assert_eq!(new, expected);
    }
}
