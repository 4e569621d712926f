//! Publishing: a state becomes a checkpoint, in the order that makes a crash leave the old state or the new
//! one.

use crate::engine::operation::Operation;
use std::collections::HashSet;
use std::sync::Arc;

use herma_diff::{Change, Pending, StoreSide};
use herma_fs::publish::Durability;
use herma_records::checkpoint::message::{MAX_REASON, Message};
use herma_records::checkpoint::receipt::receipt_in;
use herma_records::checkpoint::{ChangeCount, Checkpoint, Origin};
use herma_records::clock::Timestamp;
use herma_store::error::StoreError;
use herma_store::in_parallel::in_parallel;
use herma_store::object::commit::{Commit, Signature};
use herma_store::object::{EntryMode, Kind, push_tree_entry};
use herma_store::pack::write::PackWriter;
use herma_store::refs::roll::Roll;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref, mirror_ref, name_ref, number_of};
use herma_store::{ObjectId, ProjectId, RelPath};
use herma_worktree::present::{Present, StateIds};
use herma_worktree::receipt::Receipt;
use herma_worktree::scan::same_shape::Edits;

use crate::engine::history::{Entry, History};
use crate::engine::open::OpenStore;
use crate::error::Result;
use crate::save::comparable::{Foreign, may_be_foreign};
use crate::save::read_ahead::ReadAhead;
use crate::save::{SaveOptions, Saved, named_at_once};

/// Line counts are for people; beyond this a save does not wait for them.
const COUNT_BUDGET: herma_diff::stat::Budget =
    herma_diff::stat::Budget { max_files: 1000, max_bytes: 64 << 20 };

/// A file that moved counts as one file, as in a diff, as long as finding that out costs little.
const COUNTED_RENAMES: herma_diff::RenameOptions =
    herma_diff::RenameOptions { min_similarity: 50, max_pairs: 100 * 100, max_bytes: 16 << 20 };

/// A state that is to become a checkpoint.
pub(crate) struct NewState {
    tree: ObjectId,
    modes: Option<ObjectId>,
    /// The list of what was left out.
    left: Option<ObjectId>,
    receipt: Receipt,
    /// What of it belongs to somebody else.
    foreign: Foreign,
    /// What changed, if that is known already.
    edits: Option<Arc<Edits>>,
    /// Contents of the state before that were read already.
    at_hand: Arc<ReadAhead>,
    /// May whoever asked still stop it?
    pub(crate) may_stop: bool,
}

/// What is known of the way from one state to another without asking the store.
pub(crate) struct Way<'w> {
    /// What changed on it, and since which tree.
    pub(crate) edits: Option<&'w Edits>,
    /// Contents of the state it began with.
    pub(crate) old: &'w Pending<'w>,
    /// Contents of the state it led to.
    pub(crate) new: &'w Pending<'w>,
}

impl Way<'_> {
    pub(crate) const UNKNOWN: Self = Self { edits: None, old: &|_| Ok(None), new: &|_| Ok(None) };
}

/// A checkpoint whose state is stored already.
#[derive(Clone, Copy)]
struct Row {
    tree: ObjectId,
    modes: Option<ObjectId>,
    extra: Option<ObjectId>,
    changes: Option<ChangeCount>,
    origin: Origin,
    may_stop: bool,
}

impl NewState {
    pub(crate) fn of(present: &Present, at_hand: Arc<ReadAhead>) -> Self {
        let mut foreign = Foreign::default();
        foreign.add_present(&present.cache);
        Self {
            foreign,
            tree: present.tree,
            modes: present.modes,
            left: present.left,
            receipt: named_at_once(present),
            edits: present.edits.clone(),
            at_hand,
            may_stop: false,
        }
    }
}

impl Operation<'_> {
    pub(crate) fn publish(
        &self,
        history: &History,
        before: Option<(ObjectId, ObjectId)>,
        state: &NewState,
        writer: PackWriter<'_>,
        options: &SaveOptions,
        origin: Origin,
    ) -> Result<Saved> {
        let mut notes = Vec::new();
        let extra = store_extra(&writer, state)?;
        let way = Way {
            edits: state.edits.as_deref(),
            old: &|id| Ok(state.at_hand.object(id)),
            new: &|id| writer.read(id),
        };
        let after = (state.tree, &state.foreign);
        let count = |before| count_changes(&self.store, before, after, &way);
        let changes = before.map(count).transpose().unwrap_or_else(|e| {
            notes.push(format!("the changes could not be counted: {e}"));
            None
        });
        let given = options.reason.len();
        if given > MAX_REASON {
            notes.push(format!(
                "the reason has {given} bytes; only its first {MAX_REASON} were kept"
            ));
        }
        let NewState { tree, modes, may_stop, .. } = *state;
        let row = Row { tree, modes, extra: Some(extra), changes, origin, may_stop };
        let before = before.map(|(id, _)| id);
        let saved = self.publish_row(history, before, row, writer, options)?;
        notes.extend(saved.notes);
        Ok(Saved { receipt: state.receipt.clone(), notes, ..saved })
    }

    /// Makes one more checkpoint of a state that has one, for what led to it again on this way.
    pub(crate) fn publish_again(
        &self,
        of: &Checkpoint,
        options: &SaveOptions,
        origin: Origin,
        way: &Way<'_>,
    ) -> Result<Checkpoint> {
        let history = self.load_history()?;
        let writer = PackWriter::new(&self.store.dirs, &self.store.objects)?;
        let before = history.newest().map(|newest| newest.id);
        // The count is for people: it may be missing.
        let changes = before.and_then(|before| {
            let old = self.store.objects.read_commit(&before).ok()?.tree;
            let mut foreign = Foreign::default();
            foreign.add_checkpoint(&self.store.objects, &of.id);
            count_changes(&self.store, (before, old), (of.tree, &foreign), way).ok()
        });
        let (tree, modes, extra) = (of.tree, of.modes, of.extra);
        let row = Row { tree, modes, extra, changes, origin, may_stop: false };
        let made = self.publish_row(&history, before, row, writer, options)?.checkpoint;
        self.note_packs_with(made.id);
        Ok(made)
    }

    /// Writes the commit, makes all of it durable, and names it.
    fn publish_row(
        &self,
        history: &History,
        before: Option<ObjectId>,
        row: Row,
        writer: PackWriter<'_>,
        options: &SaveOptions,
    ) -> Result<Saved> {
        let Row { tree, modes, extra, changes, origin, may_stop } = row;
        let stop_if_unwanted = || if may_stop { self.progress.check() } else { Ok(()) };
        stop_if_unwanted()?;
        let mut notes = Vec::new();
        let now = self.clock().now();
        let message = Message {
            reason: options.reason.clone(),
            origin,
            facts: options.facts.clone(),
            changes,
            extra,
            purged: Vec::new(),
        };
        let commit = commit(tree, before, &now, &message);
        let id = writer.add(Kind::Commit, &commit.encode())?;
        // ORDER: the pack is durable before a ref names anything in it, however little the caller wants to
        // wait: a ref that a power cut leaves without its objects would be damage.
        let finish = || writer.finish(Durability::Synced);
        // That somebody was here holds in any case.
        let touch = || self.touch(self.settings().durability);
        let (touched, finished) = in_parallel(touch, finish);
        finished?;
        // The last moment at which stopping makes no checkpoint: the disk may have taken its time.
        stop_if_unwanted()?;
        if touched? {
            notes.extend(self.unrestorable());
        }
        self.note_unsettled()?;
        let roll = Roll::read(&self.store.dirs, &self.id).unwrap_or_default();
        notes.extend(lost_of(&roll, history, &self.id));
        let name = options.name.as_deref();
        let number = self.publish_refs(history, &roll, id, extra, name)?;
        notes.extend(self.move_mirror(history.mirror, id));
        // A store that cannot be looked at is not cleaned; the checkpoint is safe all the same. Nobody cleans up after a
        // restore: the next save sees to it.
        let due = match origin {
            Origin::Safety => Ok(None),
            _ => self.engine.due(&self.store, history),
        };
        let checkpoint = Checkpoint {
            id,
            number,
            // What is new is the newest.
            place: i64::try_from(number).unwrap_or(i64::MAX),
            tree,
            modes,
            extra,
            receipt_damaged: false,
            time: Timestamp { nanos: 0, ..now },
            reason: Message::parse(&message.encode()).reason,
            origin,
            facts: options.facts.clone(),
            changes,
            names: Vec::new(),
            pinned: false,
            green: false,
            purged: Vec::new(),
            line: None,
        };
        let due = due.unwrap_or_default();
        Ok(Saved { is_new: true, notes, due, ..Saved::known(checkpoint) })
    }

    /// Makes a checkpoint of a state that Herma put together from the present and older ones. What the
    /// present leaves out, it leaves out too.
    pub(crate) fn publish_merged(
        &self,
        history: &History,
        present: &Present,
        (tree, modes): StateIds,
        writer: PackWriter<'_>,
        reason: String,
    ) -> Result<Checkpoint> {
        let newest = history.newest();
        let before = newest.map(|entry| (entry.id, present.tree));
        let state = NewState { tree, modes, edits: None, ..NewState::of(present, Arc::default()) };
        let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
        let origin = Origin::Merged;
        let saved = self.publish(history, before, &state, writer, &options, origin)?;
        Ok(saved.checkpoint)
    }

    /// Creates the refs of a new checkpoint, after those of checkpoints Hermes added alone.
    fn publish_refs(
        &self,
        history: &History,
        roll: &Roll,
        id: ObjectId,
        extra: Option<ObjectId>,
        name: Option<&str>,
    ) -> Result<u64> {
        let mut refs: Vec<(String, ObjectId)> = Vec::new();
        let (mut after, mut given) = (0, HashSet::new());
        for entry in history.entries.iter().filter(|entry| !entry.has_ref) {
            // One of ours that lost its ref gets its number back.
            let known = numbers(roll, &self.id).find(|(_, id)| *id == entry.id);
            let wanted = known.map_or(entry.number.max(after), |(number, _)| number);
            let (mut number, mut is_there) = self.free_number(wanted, entry.id)?;
            while !given.insert(number) {
                (number, is_there) = self.free_number(number + 1, entry.id)?;
            }
            after = after.max(number + 1);
            if !is_there {
                let receipt = receipt_in(&self.store.objects, &entry.id);
                refs.extend(receipt.map(|receipt| (extra_ref(&self.id, number), receipt)));
                refs.push((checkpoint_ref(&self.id, number), entry.id));
            }
        }
        clear_leftover(&self.store, &refs)?;
        // A number whose ref was lost is not given again: the roll has it, and so the history.
        let first = history.next_number().max(after);
        let (number, _) = self.free_number(first, ObjectId::NULL)?;
        // ORDER: the checkpoint's own ref is what makes it exist, so it comes last.
        let mut own = Vec::new();
        own.extend(extra.map(|extra| (extra_ref(&self.id, number), extra)));
        own.extend(name.map(|name| (name_ref(&self.id, name), id)));
        clear_leftover(&self.store, &own)?;
        refs.append(&mut own);
        refs.push((checkpoint_ref(&self.id, number), id));
        let refs: Vec<(&str, ObjectId)> = refs.iter().map(|(n, id)| (n.as_str(), *id)).collect();
        let refs_of_store = self.store.dirs.refs().durable(self.settings().durability);
        refs_of_store.create(&refs)?;
        Ok(number)
    }

    /// The first number from `first` on that no checkpoint has, or that `id` has, and whether it has it.
    ///
    /// A directory may not list yet what is in it: on network file systems, or because somebody saves there who
    /// cannot be locked out. Whatever has a checkpoint's ref is one, listed or not.
    fn free_number(&self, first: u64, id: ObjectId) -> Result<(u64, bool)> {
        let refs = self.store.dirs.refs();
        let mut number = first;
        loop {
            let name = checkpoint_ref(&self.id, number);
            match refs.read(&name) {
                Ok(None) => return Ok((number, false)),
                Ok(Some(found)) if found == id => return Ok((number, true)),
                Ok(Some(_)) => number += 1,
                // Torn by a power cut. It says nothing, so nothing is lost with it.
                Err(StoreError::DamagedFile { .. }) => {
                    refs.remove_broken(&name)?;
                    // What is damaged still is something else, and no reason to try for ever.
                    if refs.read(&name)?.is_none() {
                        return Ok((number, false));
                    }
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Moves the ref Hermes reads. It is only a view: a save does not fail for it, the next one heals, and nobody waits for its
    /// name to be on disk.
    pub(crate) fn move_mirror(&self, from: Option<ObjectId>, to: ObjectId) -> Option<String> {
        let name = mirror_ref(&self.id);
        let refs = self.store.dirs.refs().durable(Durability::Ordered);
        let moved = match refs.update(&name, from, to) {
            // A power cut may have left it empty. It says nothing, so nothing is lost with it.
            Err(StoreError::DamagedFile { .. }) => {
                refs.remove_broken(&name).and_then(|()| refs.update(&name, refs.read(&name)?, to))
            }
            moved => moved,
        };
        moved.err().map(|e| format!("{name} was not moved, the next save will do it: {e}"))
    }
}

/// How a state, and what of it belongs to somebody else, differs from that of a checkpoint.
fn count_changes(
    store: &OpenStore,
    (before, old): (ObjectId, ObjectId),
    (new, foreign): (ObjectId, &Foreign),
    way: &Way<'_>,
) -> Result<ChangeCount, herma_diff::DiffError> {
    let old_side = StoreSide::with_pending(&store.objects, way.old);
    let new_side = StoreSide::with_pending(&store.objects, way.new);
    let mut changes = match way.edits {
        Some(edits) if edits.base == old => edits.changes.clone(),
        _ => herma_diff::compare(Some((&old_side, old)), Some((&new_side, new)), &[])?,
    };
    if may_be_foreign(&changes) {
        let mut foreign = foreign.clone();
        foreign.add_checkpoint(&store.objects, &before);
        foreign.take_out(&mut changes);
    }
    count(changes, &old_side, &new_side)
}

/// What changed between two checkpoints, within these paths.
pub(crate) fn changes_between(
    store: &OpenStore,
    (before, after): (ObjectId, ObjectId),
    paths: &[RelPath],
) -> Result<Vec<Change>> {
    let side = StoreSide::new(&store.objects);
    let old = store.objects.read_commit(&before)?.tree;
    let new = store.objects.read_commit(&after)?.tree;
    let mut changes = herma_diff::compare(Some((&side, old)), Some((&side, new)), paths)?;
    if may_be_foreign(&changes) {
        let mut foreign = Foreign::default();
        foreign.add_checkpoint(&store.objects, &before);
        foreign.add_checkpoint(&store.objects, &after);
        foreign.take_out(&mut changes);
    }
    Ok(changes)
}

/// Counts changes for people: a file that moved is one file.
pub(crate) fn count(
    mut changes: Vec<Change>,
    old: &dyn herma_diff::Side,
    new: &dyn herma_diff::Side,
) -> Result<ChangeCount, herma_diff::DiffError> {
    if changes.len() <= COUNT_BUDGET.max_files {
        changes = herma_diff::renames::detect(changes, old, new, &COUNTED_RENAMES)?.changes;
    }
    herma_diff::stat::stats(&changes, old, new, COUNT_BUDGET)
}

/// Stores the receipt's counts, the modes and what was left out as one tree.
fn store_extra(writer: &PackWriter<'_>, state: &NewState) -> Result<ObjectId, StoreError> {
    let summary = herma_records::checkpoint::receipt::encode_summary(&state.receipt.summary);
    let summary = writer.add(Kind::Blob, summary.as_bytes())?;
    let mut extra = Vec::new();
    if let Some(left) = &state.left {
        push_tree_entry(&mut extra, EntryMode::Directory, b"left-out", left);
    }
    if let Some(modes) = &state.modes {
        push_tree_entry(&mut extra, EntryMode::Directory, b"modes", modes);
    }
    push_tree_entry(&mut extra, EntryMode::File, b"summary", &summary);
    writer.add(Kind::Tree, &extra)
}

fn commit(tree: ObjectId, parent: Option<ObjectId>, now: &Timestamp, message: &Message) -> Commit {
    let signature = Signature {
        name: "Herma".into(),
        email: "herma@local".into(),
        seconds: now.seconds.max(0),
        offset_minutes: now.offset_minutes,
    };
    Commit {
        tree,
        parents: parent.into_iter().collect(),
        author: signature.clone(),
        committer: signature,
        message: message.encode().into(),
    }
}

/// The checkpoints on the roll of a project, by their places in its order.
fn numbers<'r>(
    roll: &'r Roll,
    project: &ProjectId,
) -> impl Iterator<Item = (u64, ObjectId)> + use<'r> {
    let prefix = format!("refs/herma/{project}/");
    roll.refs.iter().filter_map(move |(name, id)| {
        let number = name.strip_prefix(&prefix).and_then(number_of)?;
        Some((number, *id))
    })
}

/// Says that refs of older checkpoints were lost, if they were. Publishing makes them again.
fn lost_of(roll: &Roll, history: &History, project: &ProjectId) -> Option<String> {
    let on_roll: HashSet<ObjectId> = numbers(roll, project).map(|(_, id)| id).collect();
    let is_lost = |entry: &&Entry| !entry.has_ref && on_roll.contains(&entry.id);
    let count = history.entries.iter().filter(is_lost).count();
    (count > 0).then(|| {
        format!(
            "refs that older checkpoints had lost were made again ({count}); `herma checkpoints repair` looks for lost names and pins"
        )
    })
}

/// Removes refs beside a checkpoint's own that a killed save left behind without having made the checkpoint exist.
fn clear_leftover(store: &OpenStore, refs: &[(String, ObjectId)]) -> Result<()> {
    for (name, _) in refs {
        match store.dirs.refs().read(name) {
            Ok(None) => {}
            Ok(Some(stale)) => store.dirs.refs().delete(name, stale)?,
            // Torn by a power cut. It says nothing, so nothing is lost with it.
            Err(StoreError::DamagedFile { .. }) => store.dirs.refs().remove_broken(name)?,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
