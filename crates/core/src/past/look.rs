//! One state as it was: what is in a directory of it, and in a file. And whether a content was ever in any.

use std::cmp::Reverse;
use std::io;

use herma_diff::{StoreSide, entry_at};
use herma_records::checkpoint::Checkpoint;
use herma_search::Span;
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::{ObjectId, RelPath};

use super::grep::number_of;
use super::{Stay, UnreadPast};
use crate::engine::operation::Operation;
use crate::error::Result;

/// Something in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastEntry {
    /// Where.
    pub path: RelPath,
    /// What it is.
    pub mode: EntryMode,
    /// The id of its content, or of the directory's tree.
    pub id: ObjectId,
    /// The length of a file's content, or of a link's target; `None` for other things, and for what cannot be read.
    pub size: Option<u64>,
}

/// Where a content ever was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Where and when, the newest first; a hundred at most.
    pub stays: Vec<Stay>,
    /// How many more there are.
    pub more: usize,
    /// What could not be read.
    pub unread: Vec<UnreadPast>,
}

impl Operation<'_> {
    /// What is at a path of a state; for a directory, also what is in it. `None` if nothing is.
    pub(crate) fn look_at(
        &self,
        checkpoint: &Checkpoint,
        path: &RelPath,
    ) -> Result<Option<(PastEntry, Vec<PastEntry>)>> {
        let tree = self.store.objects.read_commit(&checkpoint.id)?.tree;
        let side = StoreSide::new(&self.store.objects);
        let Some((mode, id)) = entry_at(&side, tree, path)? else { return Ok(None) };
        let own = self.past_entry(path.clone(), mode, id);
        let mut below = Vec::new();
        if mode == EntryMode::Directory && id != ObjectId::EMPTY_TREE {
            let entries: Vec<TreeEntry> = self.store.objects.read_tree(&id)?;
            let entry =
                |entry: TreeEntry| self.past_entry(path.join(&entry.name), entry.mode, entry.id);
            below = entries.into_iter().map(entry).collect();
        }
        Ok(Some((own, below)))
    }

    fn past_entry(&self, path: RelPath, mode: EntryMode, id: ObjectId) -> PastEntry {
        let has_size = !matches!(mode, EntryMode::Directory | EntryMode::Nested);
        let header = has_size.then(|| self.store.objects.read_header(&id));
        let size = header.and_then(std::result::Result::ok).map(|(_, size)| size);
        PastEntry { path, mode, id, size }
    }

    /// Passes a content on, piece by piece.
    pub(crate) fn stream(
        &self,
        content: &ObjectId,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64> {
        Ok(self.store.objects.stream_blob(content, sink)?)
    }

    pub(crate) fn whereabouts(&self, content: &ObjectId) -> Result<Whereabouts> {
        let Some(ages) = self.ages()? else { return Ok(Whereabouts::default()) };
        let unread = ages.unread();
        let Some(number) = ages.past.number_of(content) else {
            return Ok(Whereabouts { unread, ..Whereabouts::default() });
        };
        let is_it = |span: &&Span| number_of(span) == number;
        let mut spans: Vec<Span> = ages.past.spans().iter().filter(is_it).copied().collect();
        spans.sort_unstable_by_key(|span| (Reverse(span.last), span.path));
        let (stays, more) = ages.stays(number, &spans);
        Ok(Whereabouts { stays, more, unread })
    }
}
