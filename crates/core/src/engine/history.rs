//! The checkpoints of one project, as the refs tell them.
//!
//! `refs/herma/<project>/<number>` is the truth: one ref per live checkpoint. Beside it,
//! `<number>.extra` keeps the receipt and the modes reachable for git. `refs/hermes/<project>` names the
//! newest checkpoint for Hermes and `git log`; Hermes may have moved it. Commits it added are
//! checkpoints too, and get the next numbers; copies it rewrote (same tree, same subject) are
//! recognised and not counted twice.

use std::collections::{HashMap, HashSet};

use bstr::BString;
use herma_records::checkpoint::address::{BadSpec, NOW, Spec, When, parse_id};
use herma_records::checkpoint::message;
use herma_records::checkpoint::message::Message;
use herma_records::checkpoint::{Checkpoint, DamagedCheckpoint, Listed};
use herma_records::clock::Timestamp;
use herma_records::copy::CopyRecord;
use herma_records::order::Order;
use herma_records::step::log::StepLog;
use herma_store::error::StoreError;
use herma_store::layout::StoreDirs;
use herma_store::object::commit::Commit;
use herma_store::objects::{ObjectError, Objects};
use herma_store::refs::roll::Roll;
use herma_store::refs::scheme::{
    EXTRA, GREEN, checkpoint_ref, leaf, mirror_ref, name_of, name_ref, number_of,
};
use herma_store::threads::shared_out;
use herma_store::{ObjectId, ProjectId};

use crate::engine::open::{OpenStore, own_state_in};
use crate::error::{Error, Result};

/// How far back a chain of commits is followed.
const MAX_CHAIN_COMMITS: usize = 100_000;

/// One live checkpoint: its number, its place in the order of saving, and its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) place: i64,
    pub(crate) id: ObjectId,
    /// Does a ref of ours name it, or only Hermes's or the roll?
    pub(crate) has_ref: bool,
}

/// The live checkpoints of a project, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) project: ProjectId,
    pub(crate) entries: Vec<Entry>,
    /// The first number that no dropped checkpoint had.
    reserved: u64,
    /// Where `refs/hermes/<project>` stands.
    pub(crate) mirror: Option<ObjectId>,
    /// Refs that are there but cannot be read.
    pub(crate) broken: Vec<String>,
}

impl History {
    /// Reads the refs of a project, and follows Hermes's where it has gone on alone.
    pub(crate) fn load(store: &OpenStore, project: &ProjectId) -> Result<Self> {
        Self::read(&store.dirs, &store.objects, project)
    }

    /// The same of a store that nobody holds.
    pub(crate) fn read(dirs: &StoreDirs, objects: &Objects, project: &ProjectId) -> Result<Self> {
        let prefix = format!("refs/herma/{project}");
        // Receipts are found through their checkpoints.
        let is_wanted = |name: &str| !name.ends_with(EXTRA);
        // A project may have thousands: what the roll knows of a ref that is there need not be read again.
        let roll = Roll::read(dirs, project).unwrap_or_default();
        let listing = dirs.refs().list_known(&prefix, &is_wanted, &roll.refs)?;
        let (order, reserved) = match own_state_in(dirs, project)? {
            Some(state) => (Order::read(&state)?, StepLog::reserved_order(&state)?),
            None => (Order::default(), 0),
        };
        let entry = |number, id, has_ref| {
            let place = order.place_of(number);
            Entry { number, place, id, has_ref }
        };
        let own = listing.refs.iter().filter_map(|(name, id)| {
            let number = number_of(leaf(name, &prefix)?)?;
            Some(entry(number, *id, /*has_ref*/ true))
        });
        let mut entries: Vec<Entry> = own.collect();
        let there: HashSet<u64> = entries.iter().map(|entry| entry.number).collect();
        let is_lost = |name: &String| {
            let number = leaf(name, &prefix).and_then(number_of);
            number.filter(|n| !there.contains(n) && !listing.broken.contains(name))
        };
        if roll.refs.keys().any(|name| is_lost(name).is_some()) {
            // ORDER: the refs are read before the roll, which a dropped checkpoint leaves before its ref goes. So what is on the roll
            // alone was lost or has just come, and is a checkpoint like the others: the next save gives it its ref again.
            let roll = Roll::read(dirs, project).unwrap_or_default();
            let lost = roll.refs.iter().filter_map(|(name, id)| Some((is_lost(name)?, *id)));
            entries.extend(lost.map(|(number, id)| entry(number, id, /*has_ref*/ false)));
        }
        entries.sort_unstable_by_key(|entry| (entry.place, entry.number));
        let mirror = match dirs.refs().read(&mirror_ref(project)) {
            Ok(mirror) => mirror,
            // A torn mirror is healed by the next save; what it pointed to has refs of its own.
            Err(StoreError::DamagedFile { .. }) => None,
            Err(e) => return Err(e.into()),
        };
        let project = project.clone();
        let mut history = Self { project, entries, reserved, mirror, broken: listing.broken };
        history.adopt_foreign(dirs, objects)?;
        Ok(history)
    }

    /// Takes in what Hermes committed on its own.
    fn adopt_foreign(&mut self, dirs: &StoreDirs, objects: &Objects) -> Result<()> {
        let Some(tip) = self.mirror else { return Ok(()) };
        let known: HashSet<ObjectId> = self.entries.iter().map(|entry| entry.id).collect();
        if known.contains(&tip) {
            return Ok(());
        }
        let foreign = chain_behind(dirs, objects, tip, &known)?;
        let mut copies = HashMap::new();
        for entry in &self.entries {
            if let Ok(commit) = objects.read_commit(&entry.id) {
                *copies.entry(likeness(&commit)).or_insert(0_usize) += 1;
            }
        }
        let mut next = self.next_number();
        for (id, commit) in foreign.into_iter().rev() {
            match copies.get_mut(&likeness(&commit)) {
                Some(left) if *left > 0 => *left -= 1,
                _ => {
                    let place = i64::try_from(next).unwrap_or(i64::MAX);
                    self.entries.push(Entry { number: next, place, id, has_ref: false });
                    next += 1;
                }
            }
        }
        Ok(())
    }

    /// The number the next checkpoint gets.
    pub(crate) fn next_number(&self) -> u64 {
        let broken = self.broken.iter().filter_map(|name| {
            let leaf = name.rsplit('/').next()?;
            number_of(leaf.split('.').next()?)
        });
        let used = self.entries.iter().map(|entry| entry.number).chain(broken);
        used.max().map_or(1, |last| last + 1).max(self.reserved)
    }

    /// The newest checkpoint.
    pub(crate) fn newest(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Is this commit a live checkpoint?
    pub(crate) fn contains(&self, id: &ObjectId) -> bool {
        self.entries.iter().any(|entry| entry.id == *id)
    }

    /// The live checkpoint with this commit. Anything else is refused, be it another project's checkpoint
    /// or one that was dropped since the caller found it.
    pub(crate) fn entry(&self, id: &ObjectId) -> Result<&Entry> {
        let found = self.entries.iter().find(|entry| entry.id == *id);
        found.ok_or_else(|| Error::NotFound { spec: id.to_hex() })
    }

    /// Where something named by a spec stands, as an index into `entries`.
    pub(crate) fn find(&self, spec: &Spec, store: &OpenStore, now: Timestamp) -> Result<usize> {
        let count = self.entries.len();
        match spec {
            Spec::Number(number) => self.find_number(*number),
            Spec::Before(number) => {
                let before = self.find_number(*number)?.checked_sub(1);
                before.ok_or(Error::NothingBefore { number: *number })
            }
            Spec::Back(back) => {
                let index = count.checked_sub(back.saturating_add(1));
                index.ok_or(Error::TooFarBack { back: *back, count })
            }
            Spec::OnLine(of, line) => {
                Err(Error::RowOfLine { spec: text_of(of), line: line.clone() })
            }
            Spec::Id(prefix) => self.find_id(prefix, store),
            Spec::Name(name) => self.find_name(name, store),
            Spec::Time { when, text } => self.find_time(when, text, store, now),
        }
    }

    /// The state the project was in at a time, unless the text is an older name.
    fn find_time(
        &self,
        when: &When,
        text: &str,
        store: &OpenStore,
        now: Timestamp,
    ) -> Result<usize> {
        if let Ok(named) = self.find_name(text, store) {
            return Ok(named);
        }
        if text == NOW {
            return Err(BadSpec::Present.into());
        }
        let prefix = parse_id(text);
        let is_it = |entry: &&Entry| {
            prefix.as_ref().is_some_and(|prefix| entry.id.to_hex().starts_with(prefix))
        };
        if let Some(entry) = self.entries.iter().find(is_it) {
            return Err(Error::TwoReadings { text: text.to_owned(), id: entry.id });
        }
        let last = when.last_second(now);
        for (index, entry) in self.entries.iter().enumerate().rev() {
            match store.objects.read_commit(&entry.id) {
                Ok(commit) if last.is_some_and(|last| commit.author.seconds <= last) => {
                    return Ok(index);
                }
                Err(ObjectError::Fs(e)) => return Err(e.into()),
                _ => {}
            }
        }
        Err(Error::NothingThatOld { text: text.to_owned() })
    }

    fn find_number(&self, number: u64) -> Result<usize> {
        let found = self.entries.iter().position(|entry| entry.number == number);
        found.ok_or_else(|| self.no_such_number(number))
    }

    fn no_such_number(&self, number: u64) -> Error {
        let numbers = self.entries.iter().map(|entry| entry.number);
        let before = numbers.clone().filter(|other| *other < number).max();
        let after = numbers.filter(|other| *other > number).min();
        let nearest = before.into_iter().chain(after).collect();
        Error::NoSuchNumber {
            number,
            was_given: (1..self.next_number()).contains(&number),
            nearest,
        }
    }

    fn find_id(&self, prefix: &str, store: &OpenStore) -> Result<usize> {
        let ids = self.entries.iter().map(|entry| entry.id);
        let fitting = ids.enumerate().filter(|(_, id)| id.to_hex().starts_with(prefix));
        match fitting.collect::<Vec<_>>()[..] {
            [(index, _)] => Ok(index),
            [] => self.find_name(prefix, store),
            ref found => Err(Error::Ambiguous {
                prefix: prefix.to_owned(),
                matches: found.iter().map(|(_, id)| *id).collect(),
            }),
        }
    }

    fn find_name(&self, name: &str, store: &OpenStore) -> Result<usize> {
        let id = store.dirs.refs().read(&name_ref(&self.project, name))?;
        let found = self.entries.iter().position(|entry| Some(entry.id) == id);
        found.ok_or_else(|| Error::NotFound { spec: name.to_owned() })
    }

    /// Every checkpoint that can be read, newest first: for operations that need some of them, which a
    /// damaged one must not stop.
    pub(crate) fn readable(&self, store: &OpenStore) -> Result<Vec<Checkpoint>> {
        self.readable_where(store, |_| true)
    }

    /// The same for some of them.
    pub(crate) fn readable_where(
        &self,
        store: &OpenStore,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Checkpoint>> {
        let labels = Labels::load(store, &self.project)?;
        let wanted = self.entries.iter().rev().filter(|entry| is_wanted(entry));
        let read = wanted.map(|entry| read(store, entry, &labels));
        read.filter(|read| !matches!(read, Err(e) if e.is_of_one_checkpoint())).collect()
    }

    /// The newest checkpoints that can be read, as many as wanted, and what cannot be. Those that are older are only
    /// looked up.
    pub(crate) fn newest_ones(&self, most: usize, store: &OpenStore) -> Result<Listed> {
        let labels = Labels::load(store, &self.project)?;
        let mut listed = Listed { count: self.entries.len(), ..Listed::default() };
        let mut oldest_read = i64::MIN;
        let newest: Vec<&Entry> = self.entries.iter().rev().take(most).collect();
        let mut wanted = shared_out(&newest, |entry| read(store, entry, &labels)).into_iter();
        for entry in self.entries.iter().rev() {
            let is_wanted = listed.checkpoints.len() < most;
            if !is_wanted && matches!(store.objects.contains(&entry.id), Ok(true)) {
                continue;
            }
            match wanted.next().unwrap_or_else(|| read(store, entry, &labels)) {
                Ok(checkpoint) if is_wanted => {
                    oldest_read = checkpoint.place;
                    listed.checkpoints.push(checkpoint);
                }
                Ok(_) => {}
                Err(e) if e.is_of_one_checkpoint() => {
                    listed.damaged.push(self.damaged_one(entry, &e));
                }
                Err(e) => return Err(e),
            }
        }
        if listed.checkpoints.len() < most {
            oldest_read = i64::MIN;
        }
        // The receipts of those that were not wanted are not either.
        let older = self.entries.iter().filter(|entry| entry.place < oldest_read);
        let older: HashSet<u64> = older.map(|entry| entry.number).collect();
        let is_read = |number: u64| !older.contains(&number);
        let is_wanted = |name: &str| {
            let extra = name.rsplit('/').next().and_then(|leaf| leaf.strip_suffix(EXTRA));
            extra.is_some_and(|of| number_of(of).is_none_or(is_read))
        };
        let prefix = format!("refs/herma/{}", self.project);
        let mut broken = store.dirs.refs().list_where(&prefix, &is_wanted)?.broken;
        broken.extend_from_slice(&self.broken);
        broken.sort_unstable();
        listed.damaged.extend(broken.into_iter().map(broken_ref));
        Ok(listed)
    }

    /// Checkpoints that cannot be read, newest first, and refs that name nothing.
    pub(crate) fn damaged(&self, store: &OpenStore) -> Result<Vec<DamagedCheckpoint>> {
        let labels = Labels::load(store, &self.project)?;
        let mut found = Vec::new();
        for entry in self.entries.iter().rev() {
            if let Err(error) = read(store, entry, &labels) {
                found.push(self.damaged_one(entry, &error));
            }
        }
        let broken = store.dirs.refs().list(&format!("refs/herma/{}", self.project))?.broken;
        found.extend(broken.into_iter().map(broken_ref));
        Ok(found)
    }

    /// One checkpoint in full.
    pub(crate) fn checkpoint(&self, index: usize, store: &OpenStore) -> Result<Checkpoint> {
        let labels = Labels::load(store, &self.project)?;
        read(store, &self.entries[index], &labels)
    }

    fn damaged_one(&self, entry: &Entry, error: &Error) -> DamagedCheckpoint {
        let what = match error {
            Error::Object(ObjectError::Fs(e)) => format!("{e}: {}", e.source),
            other => other.to_string(),
        };
        let name = checkpoint_ref(&self.project, entry.number);
        DamagedCheckpoint { name, number: Some(entry.number), what }
    }
}

fn broken_ref(name: String) -> DamagedCheckpoint {
    DamagedCheckpoint { name, number: None, what: "it does not hold an object id".to_owned() }
}

/// An address of a row, as it is written.
pub(crate) fn text_of(spec: &Spec) -> String {
    match spec {
        Spec::Number(number) => number.to_string(),
        Spec::Before(number) => format!("{number}^"),
        Spec::Back(0) => "@".to_owned(),
        Spec::Back(back) => format!("@-{back}"),
        Spec::Id(text) | Spec::Name(text) | Spec::Time { text, .. } => text.clone(),
        Spec::OnLine(of, line) => format!("{}@{line}", text_of(of)),
    }
}

/// What makes a rewritten copy the same checkpoint: its tree and its subject, which is all that Hermes
/// copies of a message.
fn likeness(commit: &Commit) -> (ObjectId, BString) {
    (commit.tree, message::subject(&commit.message))
}

/// The commits from `tip` back to the first known one, newest first.
pub(crate) fn chain_behind(
    dirs: &StoreDirs,
    objects: &Objects,
    tip: ObjectId,
    known: &HashSet<ObjectId>,
) -> Result<Vec<(ObjectId, Commit)>> {
    let shallow = dirs.shallow().read()?;
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(tip);
    while let Some(id) = next.filter(|id| !known.contains(id) && seen.insert(*id)) {
        if chain.len() >= MAX_CHAIN_COMMITS {
            break;
        }
        let commit = match objects.read_commit(&id) {
            Ok(commit) => commit,
            // A ref that names what is missing or no commit ends the chain: what is older and live has
            // refs of its own, and the next save must not fail for it.
            Err(ObjectError::Missing { .. } | ObjectError::Damaged { .. }) => break,
            Err(e) => return Err(e.into()),
        };
        next = commit.parents.first().copied().filter(|_| !shallow.contains(&id));
        chain.push((id, commit));
    }
    Ok(chain)
}

/// The names, pins and green marks of a project.
pub(crate) struct Labels {
    names: Vec<(String, ObjectId)>,
    pins: HashSet<u64>,
    greens: HashSet<u64>,
}

impl Labels {
    /// Is the checkpoint with this number pinned?
    pub(crate) fn is_pinned(&self, number: u64) -> bool {
        self.pins.contains(&number)
    }

    /// Did a check pass in the state of the checkpoint with this number?
    pub(crate) fn is_green(&self, number: u64) -> bool {
        self.greens.contains(&number)
    }

    /// The names of a checkpoint.
    pub(crate) fn names_of(&self, id: &ObjectId) -> impl Iterator<Item = &str> {
        let names = self.names.iter().filter(move |(_, of)| of == id);
        names.map(|(name, _)| name.as_str())
    }

    pub(crate) fn load(store: &OpenStore, project: &ProjectId) -> Result<Self, StoreError> {
        let names_prefix = format!("refs/herma-names/{project}");
        let pins_prefix = format!("refs/herma-pins/{project}");
        let names = store.dirs.refs().list(&names_prefix)?.refs;
        let pins = store.dirs.refs().list(&pins_prefix)?.refs;
        let name = |(full, id): &(String, _)| Some((name_of(leaf(full, &names_prefix)?), *id));
        let pin = |(full, _): &(String, _)| leaf(full, &pins_prefix)?.parse().ok();
        let green =
            |(full, _): &(String, _)| leaf(full, &pins_prefix)?.strip_suffix(GREEN)?.parse().ok();
        Ok(Self {
            names: names.iter().filter_map(name).collect(),
            pins: pins.iter().filter_map(pin).collect(),
            greens: pins.iter().filter_map(green).collect(),
        })
    }
}

fn read(store: &OpenStore, entry: &Entry, labels: &Labels) -> Result<Checkpoint> {
    let commit = store.objects.read_commit(&entry.id)?;
    let message = Message::parse(&commit.message);
    let receipt = match message.extra.map(|extra| store.objects.read_tree(&extra)).transpose() {
        Err(ObjectError::Fs(e)) => return Err(e.into()),
        // Checkpoints share this object: its loss must not hide any of them.
        read => read.ok(),
    };
    let receipt_damaged = receipt.is_none();
    let modes =
        receipt.flatten().and_then(|tree| Some(tree.iter().find(|e| e.name == "modes")?.id));
    Ok(Checkpoint {
        id: entry.id,
        number: entry.number,
        place: entry.place,
        tree: commit.tree,
        modes,
        extra: message.extra,
        receipt_damaged,
        time: Timestamp {
            seconds: commit.author.seconds,
            nanos: 0,
            offset_minutes: commit.author.offset_minutes,
        },
        reason: message.reason,
        origin: message.origin,
        facts: message.facts,
        changes: message.changes,
        names: labels.names_of(&entry.id).map(str::to_owned).collect(),
        pinned: labels.is_pinned(entry.number),
        // What was taken out of it may be what it passed with.
        green: labels.is_green(entry.number) && message.purged.is_empty(),
        purged: message.purged,
        line: None,
    })
}
/// The checkpoints that copies hold and that follow right after one of these, which a project is about to drop: git has to be told
/// that history ends there.
pub(crate) fn held_by_copies_after(
    store: &OpenStore,
    dropped: &HashSet<ObjectId>,
    by: &ProjectId,
) -> Result<Vec<ObjectId>> {
    let Some(herma) = store.dirs.herma() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for copy in CopyRecord::all(&herma.dir)?.iter().filter(|copy| copy.id() != *by) {
        for entry in History::load(store, &copy.id())?.entries {
            let commit = store.objects.read_commit(&entry.id);
            let follows = |commit: Commit| commit.parents.iter().any(|id| dropped.contains(id));
            if commit.is_ok_and(follows) {
                found.push(entry.id);
            }
        }
    }
    Ok(found)
}
