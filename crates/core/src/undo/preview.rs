//! What undoing would change, as a comparison of the present with what it would become.

use crate::engine::operation::Operation;
use std::collections::BTreeMap;
use std::sync::Arc;

use herma_diff::{Change, DiffError, FileState, Side, StoreSide};
use herma_reversal::{Content, Outcome, Reversed};
use herma_store::object::{Kind, TreeEntry, id_of};
use herma_store::{ObjectId, RelPath};
use herma_worktree::side::PresentSide;
use herma_worktree::stat_cache::StatCache;

use crate::engine::open::OpenStore;
use crate::error::{Error, Result};
use crate::restore::ActionKind;
use crate::undo::plan::UndoPlan;

/// The present beside what it would become.
pub struct Preview {
    /// What would change, sorted by path.
    pub changes: Vec<Change>,
    /// Directories and permissions that would change, which no patch can say, with the words of a restore's actions.
    pub modes: Vec<(RelPath, &'static str)>,
    reversed: Reversed,
    store: OpenStore,
    present: PresentSide,
    /// Where files that move are now.
    moved_from: BTreeMap<RelPath, RelPath>,
}

impl Preview {
    /// The files as they are.
    pub fn old_side(&self) -> impl Side + '_ {
        &self.present
    }

    /// The files as they would be.
    pub fn new_side(&self) -> impl Side + '_ {
        ResultSide(self)
    }
}

struct ResultSide<'p>(&'p Preview);

impl Side for ResultSide<'_> {
    fn entries(&self, path: &RelPath, _id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        Err(DiffError::Vanished { path: path.clone() })
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        let preview = self.0;
        match preview.reversed.changes.get(path) {
            Some(Outcome::File { content, .. }) => match content {
                Content::Merged(bytes) => Ok((bytes.len() as u64 <= limit).then(|| bytes.to_vec())),
                Content::Stored(_) => {
                    StoreSide::new(&preview.store.objects).content(path, id, limit)
                }
                Content::Present(_) => {
                    let now = preview.moved_from.get(path).unwrap_or(path);
                    (&preview.present).content(now, id, limit)
                }
            },
            _ => Err(DiffError::Vanished { path: path.clone() }),
        }
    }
}

impl Operation<'_> {
    pub(crate) fn preview(self, plan: &UndoPlan) -> Result<Preview> {
        let seen = plan.seen.as_ref().filter(|_| plan.exact.is_none());
        self.preview_of(seen.ok_or(Error::ChangedSincePlan)?, &plan.reversed)
    }

    /// What this would make of what was seen.
    pub(crate) fn preview_of(self, seen: &Arc<StatCache>, reversed: &Reversed) -> Result<Preview> {
        let (changes, modes) = list(seen, reversed);
        let moved = reversed.renamed.iter();
        let mut preview = Preview {
            changes: Vec::new(),
            modes,
            reversed: reversed.clone(),
            present: PresentSide::new(self.open_root()?, Arc::clone(seen)),
            store: self.store,
            moved_from: moved.map(|(now, then)| (then.clone(), now.clone())).collect(),
        };
        let options = herma_diff::RenameOptions::default();
        let (old, new) = (preview.old_side(), preview.new_side());
        let detected = herma_diff::renames::detect(changes, &old, &new, &options)?;
        drop((old, new));
        preview.changes = detected.changes;
        Ok(preview)
    }
}

/// The changes a patch can say, and the paths of the others.
fn list(present: &StatCache, reversed: &Reversed) -> (Vec<Change>, Vec<(RelPath, &'static str)>) {
    let mut changes = Vec::new();
    let mut modes = Vec::new();
    for (path, outcome) in &reversed.changes {
        let old = file_at(present, path);
        let new = match outcome {
            Outcome::Gone | Outcome::Directory { .. } => None,
            Outcome::File { mode, content, .. } => {
                Some(FileState { mode: *mode, id: content_id(content) })
            }
        };
        if old == new {
            modes.push((path.clone(), word_of(present, path, outcome)));
        } else {
            changes.push(Change { path: path.clone(), old, new, from: None });
        }
    }
    (changes, modes)
}

/// What a restore calls a change of which no patch can tell.
fn word_of(present: &StatCache, path: &RelPath, outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Gone => ActionKind::RemoveDirectory.word(),
        Outcome::Directory { .. } if present.dir_at(path.as_bytes()).is_none() => {
            ActionKind::CreateDirectory.word()
        }
        Outcome::Directory { .. } | Outcome::File { .. } => ActionKind::MODE,
    }
}

fn content_id(content: &Content) -> ObjectId {
    match content {
        Content::Stored(id) | Content::Present(id) => *id,
        // Only a comparison looks at it, and a collision would be refused when it is stored.
        Content::Merged(bytes) => id_of(Kind::Blob, bytes).unwrap_or(ObjectId::EMPTY_TREE),
    }
}

fn file_at(present: &StatCache, path: &RelPath) -> Option<FileState> {
    let entry = present.entry_at(path.as_bytes())?;
    Some(FileState { mode: entry.kind.mode()?, id: entry.id })
}
