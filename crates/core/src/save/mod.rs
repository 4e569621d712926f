//! Saving: scan, store, publish, in the order that makes a crash leave the old state or the new one.

pub(crate) mod comparable;
pub(crate) mod holding;
pub(crate) mod neighbours;
pub(crate) mod publish;
pub(crate) mod read_ahead;
pub(crate) mod reliance;
pub(crate) mod saved_before;
pub(crate) mod unsettled;

use crate::engine::operation::Operation;
use std::sync::Arc;
use std::time::Duration;

use bstr::BString;
use herma_fs::publish::Durability;
use herma_records::checkpoint::message::Message;
use herma_records::checkpoint::receipt::{by_path, read_left_out};
use herma_records::checkpoint::{Checkpoint, Facts, Origin};
use herma_store::in_parallel::in_parallel;
use herma_store::pack::write::PackWriter;
use herma_store::pack::write::recent::RecentContents;
use herma_store::{ObjectId, RelPath};
use herma_worktree::held::{Held, Holding};
use herma_worktree::present::{
    Present, Recent, ScanError, ScanOptions, StateIds, scan, scan_unless,
};
use herma_worktree::receipt::{Receipt, why_left_out};
use herma_worktree::stat_cache::StatCache;

use crate::engine::history::{Entry, History};
use crate::engine::open::{OpenStore, Stored, believed};
use crate::engine::{NoProgress, Progress, Project, Stage};
use crate::error::Result;
use crate::save::publish::NewState;
use crate::save::read_ahead::ReadAhead;
use crate::save::reliance::Reliance;
use crate::save::saved_before::SavedBefore;
use crate::types::asked::Due;

/// So much of what a save finds changed stays in memory until its lines are counted.
const COUNTED_SOON: usize = 4 << 20;

/// Said with every checkpoint: whoever puts a store on such a file system should know what is missing there.
const WITHOUT_LOCKS: &str = "the file system of the store has no locks: two saves at once may fail where one would wait \
     for the other, and nothing is ever cleaned up";

/// What to save, and why.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// Why the checkpoint is taken; its first line is what lists show.
    pub reason: BString,
    /// A name to give to it.
    pub name: Option<String>,
    /// Who asks.
    pub facts: Facts,
    /// Read every file, whatever the stat cache says.
    pub rehash: bool,
}

/// What came of a save.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The checkpoint that holds the present state.
    pub checkpoint: Checkpoint,
    /// Was it made now? If not, nothing had changed since it was.
    pub is_new: bool,
    /// The counts, and what is missing that no rule leaves out.
    pub receipt: Receipt,
    /// Things worth telling that did not keep the checkpoint from being saved.
    pub notes: Vec<String>,
    /// Is it time to clean up? Then the caller starts [`crate::engine::Engine::maintain`] in the background.
    pub due: Option<Due>,
    /// What the store had lost.
    pub lost: Lost,
    /// How long others kept the save from beginning.
    pub waited: Waited,
}

impl Saved {
    /// Nothing had to be saved: there is a checkpoint of that state.
    pub(crate) fn known(checkpoint: Checkpoint) -> Self {
        Self {
            checkpoint,
            is_new: false,
            receipt: Receipt::default(),
            notes: Vec::new(),
            due: None,
            lost: Lost::default(),
            waited: Waited::default(),
        }
    }
}

/// What the store had lost, as far as a save has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// So many files of the present state were missing in the store, or damaged there, and were saved again.
    pub files: u64,
    /// Packs that were there at the last save and are gone or not as they were, by their names.
    pub packs: Vec<String>,
}

/// How long a save waited for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// For the store, which a collection or a `clear` had for itself.
    pub for_store: Duration,
    /// For the project, which somebody else was saving, restoring or cleaning up.
    pub for_project: Duration,
}

/// A scan whose new objects wait in a pack that nothing names yet. Dropped, it leaves nothing behind.
pub(crate) struct Draft<'s> {
    pub(crate) history: History,
    pub(crate) present: Present,
    /// Contents that were read meanwhile.
    pub(crate) at_hand: Arc<ReadAhead>,
    /// What is about to be made: the checkpoint has to vouch for its absence.
    pub(crate) created: Vec<RelPath>,
    /// Is a new checkpoint made in any case? The one that has this state cannot be relied on.
    pub(crate) is_anew: bool,
    /// What the look before files move held beside what the rules cover.
    pub(crate) held: Vec<ObjectId>,
    described: Option<Described>,
    /// Was everything read, whatever the stat cache says?
    is_reread: bool,
    /// Has nothing moved yet, so that whoever asked may still think better of it?
    may_stop: bool,
    pub(crate) losses: Reliance,
    pub(crate) writer: PackWriter<'s>,
}

impl Draft<'_> {
    /// Publishes what the store did not have whole of a state that a checkpoint has, and tells that with it.
    pub(crate) fn store_again(self, saved: &mut Saved) -> Result<Present> {
        let Self { present, writer, .. } = self;
        // A tree that names something new is new to the pack as well.
        let has_part = |id: &ObjectId| writer.has(id);
        if self.is_reread || has_part(&present.tree) || present.modes.iter().any(has_part) {
            saved.lost.files = count_files(&present.cache, has_part);
            writer.finish(Durability::Synced)?;
        }
        saved.lost.packs = self.losses.packs;
        Ok(present)
    }
}

/// The state of a checkpoint, as the stat cache has it.
#[derive(Clone, Copy)]
struct Described {
    checkpoint: ObjectId,
    state: StateIds,
}

impl Described {
    fn by(cache: &StatCache) -> Option<Self> {
        let root = cache.dir(StatCache::ROOT)?;
        Some(Self {
            checkpoint: cache.header().checkpoint?,
            state: (root.tree, (!root.modes.is_null()).then_some(root.modes)),
        })
    }
}

/// What is known before a project is looked at.
struct Known {
    history: History,
    cache: Option<Arc<StatCache>>,
    losses: Reliance,
}

/// How to look at the project.
#[derive(Default)]
struct Look {
    cache: Option<Arc<StatCache>>,
    rehash: bool,
    /// Look only there, and take the rest as the cache has it?
    only_in: Option<Vec<Vec<u8>>>,
    recent: Recent,
    holding: Holding,
}

/// A save together with the state it found, for a restore to go on from.
pub(crate) struct SavedState {
    pub(crate) saved: Saved,
    pub(crate) present: Present,
    /// Contents that were saved a moment ago.
    pub(crate) recent: Arc<RecentContents>,
}

impl Operation<'_> {
    pub(crate) fn save_with(&self, options: &SaveOptions) -> Result<Saved> {
        if let Some(name) = &options.name {
            self.check_name_free(name)?;
        }
        let mut saved = self.save_and_note(options, Holding::default())?;
        if let Some(lock) = &self.lock {
            saved.waited = Waited { for_store: self.store.waited(), for_project: lock.waited() };
            if saved.is_new && !lock.is_locked() {
                saved.notes.push(WITHOUT_LOCKS.to_owned());
            }
        }
        if let Some(name) = &options.name {
            if !saved.is_new {
                self.give_name(&saved.checkpoint.id, name)?;
            }
            saved.checkpoint.names.push(name.clone());
        }
        Ok(saved)
    }

    /// Saves while the project's lock is held, and notes in the stat cache what was seen.
    pub(crate) fn save_and_note(&self, options: &SaveOptions, holding: Holding) -> Result<Saved> {
        let known = self.clear_the_way_and_load()?;
        let is_sign_due = known.losses.is_sign_due;
        let look = Look {
            rehash: options.rehash,
            recent: Recent::WrittenBack,
            holding,
            ..Look::default()
        };
        let draft = self.draft_of(known, look)?;
        let cached = draft.described.map(|described| described.checkpoint);
        let state = self.keep(draft, options, Origin::Saved)?;
        let SavedState { saved, present, .. } = state;
        let describes = saved.checkpoint.id;
        // The newest may have been made without a look.
        let is_other = saved.is_new || cached != Some(describes);
        if is_other || !present.same_as_cache {
            let stored = if saved.is_new { Stored::All } else { Stored::TreesOnly };
            self.write_cache(present.cache, describes, stored);
        }
        if is_other || is_sign_due {
            self.note_packs(describes);
        }
        Ok(saved)
    }

    /// Makes a checkpoint of where one of Herma's own moves led. Looks only at what it touched: all else is as it was
    /// `before`, and in the store. If it is not as `expected`, others were at work meanwhile: it is a state like any other.
    pub(crate) fn save_arrived(
        &self,
        expected: Option<StateIds>,
        (before, touched): (Arc<StatCache>, Vec<Vec<u8>>),
        options: &SaveOptions,
    ) -> Result<Checkpoint> {
        let history = self.load_history()?;
        let look = Look {
            cache: Some(before),
            only_in: Some(touched),
            holding: self.holding(&history, &[])?,
            ..Look::default()
        };
        let writer = PackWriter::new(&self.store.dirs, &self.store.objects)?;
        let present =
            self.with_options(Some(&self.store), look, &NoProgress, |o| scan(o, &writer))?;
        let is_its_own = Some((present.tree, present.modes)) == expected;
        let origin = if is_its_own { Origin::Merged } else { Origin::Saved };
        let draft = Draft {
            is_anew: true,
            writer,
            history,
            ..self.draft_of_stored(present, Vec::new(), Vec::new())?
        };
        let made = self.keep(draft, options, origin)?.saved.checkpoint;
        self.note_packs_with(made.id);
        Ok(made)
    }

    /// Looks at the present before it is changed, and collects what a checkpoint of it needs. Most of what
    /// changed lately is about to be replaced: nobody waits for the disk to write it. The states of the checkpoints `held` are
    /// among those that are held.
    pub(crate) fn draft(&self, rehash: bool, held: &[ObjectId]) -> Result<Draft<'_>> {
        let known = self.clear_the_way_and_load()?;
        let look = Look { rehash, holding: self.holding(&known.history, held)?, ..Look::default() };
        let mut draft = self.draft_of(known, look)?;
        draft.held = held.to_vec();
        Ok(draft)
    }

    /// A draft of a present of which all was stored a moment ago. These packs the store had lost before.
    pub(crate) fn draft_of_stored(
        &self,
        present: Present,
        held: Vec<ObjectId>,
        lost_packs: Vec<String>,
    ) -> Result<Draft<'_>> {
        Ok(Draft {
            history: self.load_history()?,
            present,
            at_hand: Arc::default(),
            created: Vec::new(),
            is_anew: false,
            held,
            described: None,
            is_reread: false,
            may_stop: false,
            losses: Reliance { packs: lost_packs, ..Reliance::default() },
            writer: PackWriter::new(&self.store.dirs, &self.store.objects)?,
        })
    }

    /// Makes last what is not on disk yet, and cleans up behind an interrupted restore.
    fn clear_the_way(&self) -> Result<History> {
        self.settle()?;
        let history = self.load_history()?;
        self.sweep_interrupted()?;
        Ok(history)
    }

    /// Clears the way, and reads a large stat cache meanwhile.
    fn clear_the_way_and_load(&self) -> Result<Known> {
        let (cache, history) = if self.has_large_cache() {
            in_parallel(|| self.read_cache(), || self.clear_the_way())
        } else {
            let history = self.clear_the_way();
            (self.read_cache(), history)
        };
        self.with_losses(history?, cache)
    }

    /// Looks whether the store has what a stat cache relies on.
    fn with_losses(&self, history: History, cache: Option<StatCache>) -> Result<Known> {
        let is_named = |id: ObjectId| history.contains(&id);
        let cache = cache.filter(|cache| cache.header().checkpoint.is_some_and(is_named));
        let losses = cache.as_ref().map(|cache| self.look_for_losses(cache));
        let losses = losses.transpose()?.unwrap_or_default();
        let cache = cache.and_then(|cache| believed(&self.store, &history, cache));
        Ok(Known { history, cache, losses })
    }

    /// Looks at the present, and collects what a checkpoint of it needs.
    fn draft_of(&self, known: Known, mut look: Look) -> Result<Draft<'_>> {
        let Known { history, cache, losses } = known;
        look.cache = cache;
        look.rehash |= losses.is_broken();
        let is_reread = look.rehash;
        let described = look.cache.as_deref().and_then(Described::by);
        // Nothing is counted where there was nothing before.
        let room = history.newest().map_or(0, |_| COUNTED_SOON);
        let writer = PackWriter::new(&self.store.dirs, &self.store.objects)?.remembering(room);
        let present = self.look_with(Some(&self.store), look, &writer, self.progress)?;
        Ok(Draft {
            history,
            present,
            at_hand: Arc::default(),
            created: Vec::new(),
            is_anew: losses.checkpoint,
            held: Vec::new(),
            described,
            is_reread,
            may_stop: true,
            losses,
            writer,
        })
    }

    /// Makes a checkpoint of a draft, unless the newest one holds just that state.
    pub(crate) fn keep(
        &self,
        draft: Draft<'_>,
        options: &SaveOptions,
        origin: Origin,
    ) -> Result<SavedState> {
        let recent = draft.writer.recent();
        let (history, present) = (&draft.history, &draft.present);
        let newest = newest_readable(&self.store, history, draft.described)?;
        let now = (present.tree, present.modes);
        let is_newest = |entry: &Entry| history.newest() == Some(entry);
        let is_known = newest.is_some_and(|(entry, state)| is_newest(entry) && state == now);
        if is_known && !draft.is_anew {
            match self.unchanged(history, named_at_once(present)) {
                // The state is known from the cache, but nobody could go back to it.
                Err(e) if e.is_of_one_checkpoint() => {}
                // A new one writes the receipt again, for all that share it.
                Ok(saved) if saved.checkpoint.receipt_damaged => {}
                // That something is not there any more is news to one that says nothing about it.
                Ok(saved) if !saved.checkpoint.purged.is_empty() => {}
                // So is what was left out then.
                Ok(saved)
                    if !vouches_for_absence(&self.store, &saved.checkpoint, &draft.created) => {}
                saved => {
                    let mut saved = saved?;
                    let present = draft.store_again(&mut saved)?;
                    return Ok(SavedState { saved, present, recent });
                }
            }
        }
        self.progress.stage(Stage::Saving);
        let origin = match self.records()? {
            (Some(_), _) => Origin::Interrupted,
            (None, _) => origin,
        };
        let before = newest.map(|(entry, (tree, _))| (entry.id, tree));
        let Draft { history, present, at_hand, may_stop, losses, writer, .. } = draft;
        let mut state = NewState::of(&present, at_hand);
        state.may_stop = may_stop;
        let mut saved = self.publish(&history, before, &state, writer, options, origin)?;
        saved.lost = Lost {
            files: if losses.objects.is_empty() {
                0
            } else {
                count_files(&present.cache, |id| losses.objects.contains(id))
            },
            packs: losses.packs,
        };
        Ok(SavedState { saved, present, recent })
    }

    /// The same, holding the ends of the last move, the newest checkpoint, and these.
    pub(crate) fn scan_holding(
        &self,
        history: &History,
        held: &[ObjectId],
        sink: &dyn herma_worktree::sink::Sink,
    ) -> Result<Present> {
        let look = Look {
            cache: self.load_cache(history),
            holding: self.holding(history, held)?,
            ..Look::default()
        };
        self.look_with(Some(&self.store), look, sink, self.progress)
    }

    /// Looks again at these directories of a project that was seen as `before` a moment ago. `None` if it is in the
    /// state that is expected. Contents that are `known` need not be hashed.
    pub(crate) fn look_again(
        &self,
        before: &Arc<StatCache>,
        directories: Vec<Vec<u8>>,
        expected: Option<StateIds>,
        known: &ReadAhead,
        holding: Holding,
    ) -> Result<Option<Present>> {
        let look = Look {
            cache: Some(Arc::clone(before)),
            only_in: Some(directories),
            holding,
            ..Look::default()
        };
        self.with_options(Some(&self.store), look, &NoProgress, |options| match expected {
            Some(expected) => scan_unless(options, known, expected),
            None => scan(options, known).map(Some),
        })
    }

    /// Nothing changed: the newest checkpoint is the answer.
    pub(crate) fn unchanged(&self, history: &History, receipt: Receipt) -> Result<Saved> {
        let newest = history.entries.len() - 1;
        let checkpoint = history.checkpoint(newest, &self.store)?;
        // The answer stands whether or not the time of this visit could be noted.
        let _ = self.touch_now_and_then();
        Ok(Saved { receipt, ..Saved::known(checkpoint) })
    }
}

impl Project {
    /// Scans the project with `sink` taking what is new. `store` says what was saved before. Nothing of it is to
    /// be noted in the stat cache.
    pub(crate) fn scan(
        &self,
        store: Option<&OpenStore>,
        cache: Option<Arc<StatCache>>,
        rehash: bool,
        sink: &dyn herma_worktree::sink::Sink,
        progress: &dyn Progress,
    ) -> Result<Present> {
        let look = Look { cache, rehash, ..Look::default() };
        self.look_with(store, look, sink, progress)
    }

    fn look_with(
        &self,
        store: Option<&OpenStore>,
        look: Look,
        sink: &dyn herma_worktree::sink::Sink,
        progress: &dyn Progress,
    ) -> Result<Present> {
        progress.stage(Stage::Scanning);
        self.with_options(store, look, progress, |options| scan(options, sink))
    }

    fn with_options<T>(
        &self,
        store: Option<&OpenStore>,
        look: Look,
        progress: &dyn Progress,
        work: impl FnOnce(ScanOptions<'_>) -> Result<T, ScanError>,
    ) -> Result<T> {
        let root = self.open_root()?;
        let cancelled = |seen: u64| {
            progress.files(seen, None);
            progress.is_cancelled()
        };
        let holding = Some(&look.holding).filter(|holding| **holding != Holding::default());
        let held = store.zip(holding).map(|(store, holding)| Held::new(&store.objects, holding));
        let options = ScanOptions {
            root: &root,
            settings: self.settings().scan(),
            cache: look.cache,
            saved: &SavedBefore::new(self, store),
            rehash: look.rehash,
            only_in: look.only_in,
            recent: look.recent,
            held: held.as_ref(),
            cancelled: &cancelled,
        };
        Ok(work(options)?)
    }
}

/// Does a checkpoint say that nothing was at these paths, rather than leave open what was?
pub(crate) fn vouches_for_absence(
    store: &OpenStore,
    checkpoint: &Checkpoint,
    paths: &[RelPath],
) -> bool {
    if paths.is_empty() {
        return true;
    }
    let left_out = read_left_out(&store.objects, checkpoint).map(by_path);
    left_out.is_ok_and(|left_out| {
        let mut paths = paths.iter();
        paths.all(|path| why_left_out(&left_out, path).is_none())
    })
}

/// The counts, and everything that no rule leaves out and that is missing or worth a warning.
pub(crate) fn named_at_once(present: &Present) -> Receipt {
    let mut receipt =
        Receipt { summary: present.cache.header().summary.clone(), left_out: Vec::new() };
    if receipt.summary.names_something() {
        let named = present.cache.left_out().filter(|item| !item.reason.is_rule());
        receipt.left_out.extend(named);
        receipt.left_out.sort_unstable();
    }
    receipt
}

/// How many files hold something of which this is true.
fn count_files(cache: &StatCache, is_counted: impl Fn(&ObjectId) -> bool) -> u64 {
    let entries = (0..cache.directories()).filter_map(|index| cache.entries(index));
    let files = entries.flatten().flatten();
    let counted = files.filter(|entry| entry.kind.is_captured_file() && is_counted(&entry.id));
    counted.count() as u64
}

/// The newest checkpoint that can be read, and its state. A damaged one is lost itself, but does not
/// keep later ones from being saved.
fn newest_readable<'h>(
    store: &OpenStore,
    history: &'h History,
    described: Option<Described>,
) -> Result<Option<(&'h Entry, StateIds)>> {
    for entry in history.entries.iter().rev() {
        match state_of(store, entry, described) {
            Err(e) if e.is_of_one_checkpoint() => {}
            state => return Ok(Some((entry, state?))),
        }
    }
    Ok(None)
}

/// The tree and the modes of a checkpoint; from the cache if that describes it.
fn state_of(store: &OpenStore, entry: &Entry, described: Option<Described>) -> Result<StateIds> {
    if let Some(described) = described.filter(|described| described.checkpoint == entry.id) {
        return Ok(described.state);
    }
    let commit = store.objects.read_commit(&entry.id)?;
    let modes = match Message::parse(&commit.message).extra {
        Some(extra) => {
            let tree = store.objects.read_tree(&extra)?;
            tree.iter().find(|e| e.name == "modes").map(|e| e.id)
        }
        None => None,
    };
    Ok((commit.tree, modes))
}
