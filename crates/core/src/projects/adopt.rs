//! Projects the store knows, and reconnecting one that was moved or renamed.

use crate::engine::operation::Operation;
use herma_fs::publish::Durability;
use herma_records::identity::Places;
use herma_records::order::Order;
use herma_records::step::log::StepLog;
use herma_store::object::EntryMode;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref, green_ref, name_ref, pin_ref};
use herma_store::{ObjectId, ProjectId};

use crate::cleanup::{Doubt, Presence, presence};
use crate::directory::Place;
use crate::engine::beside::{self, is_line};
use crate::engine::history::{Entry, History, Labels};
use crate::engine::lock::lock_project;
use crate::engine::open::{OpenStore, own_state, project_ids};
use crate::engine::{Engine, KnownProject};
use crate::error::Result;

/// How many of a gone project's top-level names must be here for it to be taken for this one.
const RESEMBLANCE_PERCENT: usize = 50;

/// What was taken over from another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The numbers that its checkpoints have here, the oldest first.
    pub numbers: Vec<u64>,
    /// The numbers that these had there.
    pub were: Vec<u64>,
}

impl Engine {
    /// Every project the store has heard of.
    pub fn projects(&self) -> Result<Vec<KnownProject>> {
        let Some(store) = self.open_for_reading()? else { return Ok(Vec::new()) };
        let mut ids = project_ids(&store)?;
        // What came in from elsewhere is beside a project, and none itself.
        ids.retain(|id| !matches!(is_line(&store.dirs, id), Ok(true)));
        ids.into_iter().map(|id| known(&store, id)).collect()
    }
}

pub(crate) fn known(store: &OpenStore, id: ProjectId) -> Result<KnownProject> {
    let identity = store.identity(&id);
    let workdir = identity.workdir();
    Ok(KnownProject {
        checkpoints: History::load(store, &id)?.entries.len(),
        // As for cleaning: a file or a link that leads nowhere stands there because somebody put it there.
        exists: workdir
            .as_ref()
            .is_some_and(|path| matches!(herma_fs::stat_path(path), Ok(Some(_)))),
        last_touch: identity.last_touch(),
        workdir,
        id,
    })
}

impl Operation<'_> {
    pub(crate) fn adoptable(&self) -> Result<Vec<KnownProject>> {
        let root = self.open_root()?;
        let here = Place::of(&root)?;
        let (mut found, mut same) = (Vec::new(), Vec::new());
        for known in self.engine.projects()? {
            if known.exists || known.checkpoints == 0 || known.id == self.id {
                continue;
            }
            let places = self.store.identity(&known.id).places();
            let is_here = places.own.is_some_and(|own| own.may_be(&here));
            let born = places.own.and_then(|own| own.born);
            let is_certain = is_here && born.is_some() && born == here.born;
            if !is_certain && !resembles(&self.store, &root, &known.id).unwrap_or(false) {
                continue;
            }
            if is_here {
                same.push(known);
            } else if !is_elsewhere(&known, &places) {
                found.push(known);
            }
        }
        Ok(if same.is_empty() { found } else { same })
    }

    pub(crate) fn adopt(&self, from: &KnownProject) -> Result<Adopted> {
        // What a purge was interrupted in is finished there, before it moves.
        drop(lock_project(&self.store.dirs, &from.id, self.settings().lock_wait)?);
        let theirs = History::load(&self.store, &from.id)?;
        let labels = Labels::load(&self.store, &from.id)?;
        let ours = self.load_history()?;
        self.touch(Durability::Synced)?;
        let fresh: Vec<_> = theirs.entries.iter().filter(|e| !ours.contains(&e.id)).collect();
        let numbers = self.numbers_for(&ours, &theirs, &fresh)?;
        // ORDER: the newest first. What is missing after a kill is older than all that is there, where the next call puts it.
        for (number, entry) in numbers.into_iter().zip(&fresh).rev() {
            let extra = self.store.dirs.refs().read(&extra_ref(&from.id, entry.number))?;
            let checkpoint = checkpoint_ref(&self.id, number);
            let extra_name = extra_ref(&self.id, number);
            let mut refs: Vec<(&str, ObjectId)> = Vec::new();
            refs.extend(extra.map(|id| (extra_name.as_str(), id)));
            refs.push((&checkpoint, entry.id));
            self.store.dirs.refs().create(&refs)?;
        }
        if let (true, Some(newest)) = (ours.entries.is_empty(), theirs.newest()) {
            // Only a view for Hermes and `git log`; the next save heals what could not be done.
            let _ = self.move_mirror(ours.mirror, newest.id);
        }
        let now = self.load_history()?;
        self.carry_labels(&theirs, &now, &labels)?;
        let place_of = |place: i64| {
            let last = theirs.entries.iter().rev().find(|entry| entry.place <= place);
            let last = last.and_then(|last| now.entries.iter().find(|entry| entry.id == last.id));
            let before_all = || now.entries.first().map_or(0, |oldest| oldest.place - 1);
            last.map_or_else(before_all, |last| last.place)
        };
        let number_of = |number: u64| {
            let theirs = theirs.entries.iter().find(|entry| entry.number == number)?;
            now.entries.iter().find(|entry| entry.id == theirs.id).map(|entry| entry.number)
        };
        self.carry_steps(&from.id, &place_of, &number_of)?;
        beside::follow(&self.store, &from.id, &self.id)?;
        // ORDER: the old project goes when nothing is left that only it has.
        forget(&self.store, &from.id)?;
        let taken = now.entries.iter().filter(|now| fresh.iter().any(|entry| entry.id == now.id));
        let numbers = taken.map(|entry| entry.number).collect();
        Ok(Adopted { numbers, were: fresh.iter().map(|entry| entry.number).collect() })
    }

    /// Names, pins and green marks of what is ours now: of what came before a kill, too.
    fn carry_labels(&self, theirs: &History, now: &History, labels: &Labels) -> Result<()> {
        for entry in &theirs.entries {
            let Some(own) = now.entries.iter().find(|own| own.id == entry.id) else { continue };
            let pin = labels.is_pinned(entry.number).then(|| pin_ref(&self.id, own.number));
            let names = labels.names_of(&entry.id).map(|name| name_ref(&self.id, name));
            let green = labels.is_green(entry.number).then(|| green_ref(&self.id, own.number));
            for full in names.chain(pin).chain(green) {
                if self.store.dirs.refs().read(&full)?.is_none() {
                    self.store.dirs.refs().create(&[(&full, entry.id)])?;
                }
            }
        }
        Ok(())
    }

    /// The numbers for checkpoints of another project: their own if none was ever given here.
    fn numbers_for(&self, ours: &History, theirs: &History, fresh: &[&Entry]) -> Result<Vec<u64>> {
        let state = self.state_dir()?;
        let is_theirs = |own: &Entry| {
            let mut entries = theirs.entries.iter();
            entries.any(|entry| (entry.number, entry.id) == (own.number, own.id))
        };
        let is_begun = !ours.entries.is_empty() && ours.entries.iter().all(is_theirs);
        if !is_begun && ours.next_number() > 1 {
            let first = numbers_of_older(&self.store, ours, fresh.len())?;
            return Ok((first..).take(fresh.len()).collect());
        }
        if let Some(own) = own_state(&self.store, &theirs.project)? {
            let tmp = self.store.tmp()?;
            // ORDER: before the first ref is made that they are about.
            Order::read(&own)?.write(tmp, &state)?;
            StepLog::reserve_order(tmp, &state, theirs.next_number())?;
        }
        Ok(fresh.iter().map(|entry| entry.number).collect())
    }
}

/// The first of `count` numbers for checkpoints that are older than all there are. Where they belong is noted.
pub(crate) fn numbers_of_older(store: &OpenStore, ours: &History, count: usize) -> Result<u64> {
    let herma = store.dirs.for_writing()?;
    let state = herma.projects.ensure_dir(ours.project.as_str(), 0o700)?;
    let first = ours.next_number();
    if let Some(oldest) = ours.entries.first().filter(|_| count > 0) {
        let mut order = Order::read(&state)?;
        order.take_over(first, count as u64, oldest.place);
        // ORDER: before the first ref is made that it is about.
        order.write(&herma.tmp, &state)?;
    }
    Ok(first)
}

/// Was the project renamed, and is still where that left it?
fn is_elsewhere(known: &KnownProject, places: &Places) -> bool {
    let presence = presence::presence(known.workdir.as_deref(), places);
    matches!(presence, Presence::OutOfReach(Doubt::Moved { .. }))
}

/// Are most of the top-level names of a project's newest checkpoint in this directory?
fn resembles(store: &OpenStore, root: &herma_fs::Dir, id: &ProjectId) -> Result<bool> {
    let history = History::load(store, id)?;
    let Some(newest) = history.newest() else { return Ok(false) };
    let tree = store.objects.read_commit(&newest.id)?.tree;
    let names = store.objects.read_tree(&tree)?;
    let here = names.iter().filter(|entry| {
        let stat = root.stat_opt(&entry.name[..]).ok().flatten();
        stat.is_some_and(|stat| {
            (stat.kind == herma_fs::FileKind::Directory) == (entry.mode == EntryMode::Directory)
        })
    });
    Ok(!names.is_empty() && here.count() * 100 > names.len() * RESEMBLANCE_PERCENT)
}

/// Removes the steps and refs of a project whose checkpoints have moved elsewhere, or go with its directory.
pub(crate) fn forget(store: &OpenStore, id: &ProjectId) -> Result<()> {
    // ORDER: steps first. Were they left, those of a project that comes to this place later would follow them.
    if let Some(state) = own_state(store, id)? {
        let mut log = StepLog::open(&state)?;
        let handles: Vec<i64> = log.all()?.iter().map(|step| step.handle).collect();
        log.remove(&handles)?;
    }
    let refs = store.dirs.refs();
    let below = ["refs/herma-names", "refs/herma-pins", "refs/herma", "refs/hermes"];
    for prefix in below {
        for (name, value) in refs.list(&format!("{prefix}/{id}"))?.refs {
            refs.delete(&name, value)?;
        }
    }
    if let Ok(dir) = store.dirs.store().open_dir("projects") {
        // The file may be missing; then there is nothing to forget.
        let _ = dir.remove_file(format!("{id}.json").as_str());
    }
    Ok(())
}
