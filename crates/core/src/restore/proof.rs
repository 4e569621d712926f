//! The proof that comes before a file is displaced.
//!
//! A restore may replace or remove a file only because the safety checkpoint can bring it back. That the store has an object
//! by this name is not enough: the copy may be damaged while the file on disk is the last whole one. So everything that going
//! back would need (the commit, the receipt with its lists, every tree above a displaced file and its content) is read
//! back first, as somebody who comes later would read it: by a reader that remembers nothing, from the packs, each object
//! whole and checked against its id.
//!
//! What fails is stored again from the disk: the project is read anew, file by file, and what the store does not have whole
//! goes into a new pack, which is proven in turn. If that does not help, nothing is changed.
//!
//! [`Proven`] is what a restore is carried out with, and only a proof makes one.

use crate::engine::operation::Operation;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use herma_records::checkpoint::Origin;
use herma_records::checkpoint::receipt::receipt_of;
use herma_records::undo::UndoRecord;
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::objects::{ObjectError, Objects};
use herma_store::pack::write::recent::RecentContents;
use herma_store::threads::shared_out;
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::Present;
use herma_worktree::stat_cache::StatCache;

use crate::engine::open::OpenStore;
use crate::error::{Error, ErrorKind, RestoreError, Result};
use crate::restore::run::before;
use crate::restore::{ActionKind, Plan};
use crate::save::{Draft, Saved};

/// So many files are read back by one thread at a time.
const SHARE: usize = 16;

/// The state before a restore.
pub(crate) struct Before {
    /// The checkpoint that holds it.
    pub(crate) safety: Saved,
    /// The checkpoint that is the newest by now, with its place in the order of saving.
    pub(crate) newest: Option<(ObjectId, i64)>,
    /// Where undo and redo stood.
    pub(crate) undo: UndoRecord,
    pub(crate) present: Present,
    /// Contents that were saved a moment ago.
    pub(crate) recent: Arc<RecentContents>,
}

/// The state before a restore, of which everything that is about to be displaced was read back.
pub(crate) struct Proven(Before);

impl Proven {
    pub(crate) fn into_before(self) -> Before {
        self.0
    }
}

/// What could not be read back.
struct Unproven {
    /// A file that is about to be displaced, and could not come back.
    path: RelPath,
    /// Is it the checkpoint itself, and not something in it, that cannot be read?
    is_checkpoint: bool,
    source: ObjectError,
}

impl Operation<'_> {
    /// Saves the present that `draft` found, unless a checkpoint has it, and proves that what `plan` displaces can come
    /// back from there.
    pub(crate) fn secure(&self, draft: Draft<'_>, plan: &Plan, reason: &str) -> Result<Proven> {
        let (created, held) = (draft.created.clone(), draft.held.clone());
        let before = self.keep_before(draft, reason)?;
        let Some(unproven) = look_for_damage(&self.store, &before, plan)? else {
            return Ok(Proven(before));
        };
        let state = (before.present.tree, before.present.modes);
        let Unproven { path, is_checkpoint, source } = unproven;
        let refuse = |source: Error| match source.kind() {
            ErrorKind::Cancelled => source,
            _ => RestoreError::Unproven { path: path.clone(), source: source.into() }.into(),
        };
        drop(before);
        let draft = self.draft(true, &held);
        let mut draft = draft.map_err(refuse)?;
        if (draft.present.tree, draft.present.modes) != state {
            // It cannot be read any more, or somebody changes files meanwhile.
            return Err(refuse(source.into()));
        }
        draft.is_anew |= is_checkpoint;
        draft.created = created;
        let before = self.keep_before(draft, reason);
        let before = before.map_err(refuse)?;
        match look_for_damage(&self.store, &before, plan).map_err(refuse)? {
            None => Ok(Proven(before)),
            Some(still) => Err(refuse(still.source.into())),
        }
    }

    /// Saves the present, unless a checkpoint has just that state.
    fn keep_before(&self, draft: Draft<'_>, reason: &str) -> Result<Before> {
        let standing = self.standing(&draft.history, &draft.present)?;
        let undo = standing.before_a_move();
        let found = if draft.is_anew {
            None
        } else {
            self.saved_before(&draft.history, &draft.present, &draft.created)?
        };
        if let Some(mut safety) = found {
            let newest = draft.history.newest().map(|e| (e.id, e.place));
            let present = draft.store_again(&mut safety)?;
            return Ok(Before { safety, newest, undo, present, recent: Arc::default() });
        }
        let kept = self.keep(draft, &before(reason), Origin::Safety)?;
        let newest = &kept.saved.checkpoint;
        Ok(Before {
            newest: Some((newest.id, newest.place)),
            undo,
            safety: kept.saved,
            present: kept.present,
            recent: kept.recent,
        })
    }
}

/// Reads back what going back would need. `None` if all of it is whole.
fn look_for_damage(store: &OpenStore, before: &Before, plan: &Plan) -> Result<Option<Unproven>> {
    let Some(first) = plan.actions.first() else { return Ok(None) };
    // One that remembers nothing: what this process has in memory is gone when the object is needed.
    let objects = Objects::open(store.dirs.objects().try_clone()?);
    let displaced = displaced(plan, &before.present.cache);
    let id = &before.safety.checkpoint.id;
    let path = displaced.first().map_or(&first.path, |(path, _)| path);
    let of_checkpoint = |source| Unproven { path: path.clone(), is_checkpoint: true, source };
    let root = match objects.read_commit(id) {
        Ok(commit) => commit.tree,
        Err(source) => return Ok(Some(of_checkpoint(source))),
    };
    let is_lost = |(path, id): &(RelPath, ObjectId)| {
        let whole = objects.is_whole(id);
        whole.err().map(|source| (path.clone(), source))
    };
    let first_lost = |part: &Part<'_>| match part {
        Part::Receipt => read_receipt(&objects, id).err().map(of_checkpoint),
        Part::Files(files) => {
            let lost = check_trees(&objects, root, files);
            let lost = lost.or_else(|| files.iter().find_map(is_lost));
            lost.map(|(path, source)| Unproven { path, is_checkpoint: false, source })
        }
    };
    let shares = displaced.chunks(SHARE).map(Part::Files);
    let parts: Vec<Part<'_>> = [Part::Receipt].into_iter().chain(shares).collect();
    Ok(shared_out(&parts, first_lost).into_iter().flatten().next())
}

/// What is read back by one thread at a time.
enum Part<'p> {
    /// The checkpoint's receipt, with all lists.
    Receipt,
    /// Neighbouring files, of which the trees above them are read once.
    Files(&'p [(RelPath, ObjectId)]),
}

/// The files and links a plan takes from their places or gives another mode, and what they hold.
fn displaced(plan: &Plan, present: &StatCache) -> Vec<(RelPath, ObjectId)> {
    let is_displaced =
        |kind: ActionKind| kind.displaces() || matches!(kind, ActionKind::Mode { .. });
    let displaced = plan.actions.iter().filter(|action| is_displaced(action.kind));
    let held = displaced.filter_map(|action| {
        let entry = present.entry_at(action.path.as_bytes())?;
        entry.kind.is_captured_file().then(|| (action.path.clone(), entry.id))
    });
    held.collect()
}

/// Reads the receipt of a checkpoint with all lists.
fn read_receipt(objects: &Objects, id: &ObjectId) -> Result<(), ObjectError> {
    let (_, contents) = receipt_of(objects, id)?;
    contents.iter().try_for_each(|id| objects.is_whole(id))
}

/// Reads every tree above these files, and looks whether it names just these contents. The first file for which it does not.
fn check_trees(
    objects: &Objects,
    root: ObjectId,
    displaced: &[(RelPath, ObjectId)],
) -> Option<(RelPath, ObjectError)> {
    let mut trees = HashMap::new();
    displaced.iter().find_map(|(path, id)| match content_at(objects, &mut trees, root, path) {
        Ok(Some(found)) if found == *id => None,
        Ok(_) => {
            let what = format!("the checkpoint does not have it as {path}");
            Some((path.clone(), ObjectError::Damaged { id: *id, what }))
        }
        Err(source) => Some((path.clone(), source)),
    })
}

/// What a checkpoint has at a path. Each tree is read once.
fn content_at(
    objects: &Objects,
    trees: &mut HashMap<ObjectId, Vec<TreeEntry>>,
    root: ObjectId,
    path: &RelPath,
) -> Result<Option<ObjectId>, ObjectError> {
    let (mut here, mut is_directory) = (root, true);
    for name in path.components() {
        if !is_directory {
            return Ok(None);
        }
        let entries = match trees.entry(here) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(unread) => unread.insert(objects.read_tree(&here)?),
        };
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else { return Ok(None) };
        (here, is_directory) = (entry.id, entry.mode == EntryMode::Directory);
    }
    Ok(Some(here))
}
