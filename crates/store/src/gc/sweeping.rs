//! The short phase under the exclusive lock: what is superfluous goes into the trash.

use std::collections::HashSet;
use std::ffi::CString;
use std::time::{Duration, Instant};

use herma_fs::Dir;

use super::inventory::Inventory;
use super::mark::Walk;
use super::merging::Superfluous;
use super::trash::Trash;
use super::{Collected, litter};
use crate::gc::GcError;
use crate::layout::StoreDirs;
use crate::lock::Guard;
use crate::objects::Objects;
use crate::pack::sign::PackSign;
use crate::{ObjectId, ProjectId, StoreError};

/// How long savers may be kept waiting while those inside the store leave it.
const DRAIN: Duration = Duration::from_millis(60);

/// Loose objects nobody needs stay for so long, in nanoseconds: a git that is just about to need one has
/// touched it.
const LOOSE_GRACE: i64 = 3600 * 1_000_000_000;

/// How many loose objects are taken away while the store is kept from the others.
const SLICE: usize = 500;

pub(crate) struct Sweep<'a> {
    pub(crate) dirs: &'a StoreDirs,
    pub(crate) objects: &'a Objects,
    pub(crate) inventory: &'a Inventory,
    pub(crate) plan: &'a Superfluous,
    /// Does litter go however young it is?
    pub(crate) litter_at_once: bool,
}

impl Sweep<'_> {
    /// Takes away what is not needed, unless the store is in use for all of `time_limit`.
    pub(crate) fn run(
        &self,
        walk: &mut Walk<'_>,
        time_limit: Duration,
        collected: &mut Collected,
    ) -> Result<(), GcError> {
        self.remove_doubled()?;
        let packs = self.dirs.objects().open_dir("pack")?;
        let mut trash = Trash::begin(self.dirs)?;
        let mut old = self.old_loose();
        let mut packs_are_done = false;
        loop {
            let Some(_exclusive) = self.lock(walk, time_limit)? else {
                collected.postponed = true;
                break;
            };
            if !self.look_again(walk)? {
                // What is new cannot be read, so what it needs is not known.
                break;
            }
            if !packs_are_done {
                self.remove_packs(walk, &packs, &mut trash)?;
                if self.plan.is_first {
                    self.tidy(walk)?;
                }
                packs_are_done = true;
            }
            let slice = old.split_off(old.len().saturating_sub(SLICE));
            self.remove_loose(walk, &slice, &mut trash)?;
            if old.is_empty() {
                packs.sync()?;
                break;
            }
        }
        collected.trashed_bytes += trash.bytes;
        Ok(())
    }

    /// Takes away the packs that are superfluous, and halves of packs.
    fn remove_packs(
        &self,
        walk: &Walk<'_>,
        packs: &Dir,
        trash: &mut Trash<'_>,
    ) -> Result<(), GcError> {
        let spared = self.spared(walk)?;
        let going: Vec<&str> = self
            .plan
            .packs
            .iter()
            .filter(|at| !spared.contains(at))
            .map(|at| self.inventory.packs[*at].stem.as_str())
            .collect();
        if !going.is_empty() {
            let now = self.objects.signed_packs_now()?;
            let is_going = |stem: &str| going.contains(&stem);
            // On a disk without room for that, packs are missed that were not lost.
            let _ = PackSign::note_collection(self.dirs, now, is_going);
            self.remove_summaries(packs, trash)?;
        }
        for stem in &going {
            trash.put_pack(packs, stem)?;
        }
        litter::remove(self.dirs, trash, self.litter_at_once)
    }

    /// Removes names of what is gone: cuts of history that nothing reaches any more, and directories of
    /// projects that have no checkpoint, unless their next number is kept there. Nobody is about to use them now.
    fn tidy(&self, walk: &Walk<'_>) -> Result<(), GcError> {
        let shallow = self.dirs.shallow();
        let stale: Vec<ObjectId> = shallow.read()?.into_iter().filter(|id| !walk.has(id)).collect();
        if !stale.is_empty() {
            shallow.remove(&stale)?;
        }
        let refs = self.dirs.refs().list("refs")?;
        let names = refs.refs.iter().map(|(name, _)| name).chain(&refs.broken);
        let with_refs: HashSet<&str> = names.filter_map(|name| name.split('/').nth(2)).collect();
        let records = self.dirs.store().open_dir("projects").ok();
        let projects = &self.dirs.for_writing()?.projects;
        for entry in projects.entries()? {
            let Ok(name) = entry.name.to_str() else { continue };
            let record = format!("{name}.json");
            let has_record = match &records {
                Some(records) => records.stat_opt(record.as_str())?.is_some(),
                None => false,
            };
            let next = |own: Dir| own.open_dir("steps")?.stat_opt("next-checkpoint");
            let is_counted = projects.open_dir(name).and_then(next).is_ok_and(|n| n.is_some());
            if ProjectId::parse(name.as_bytes()).is_some()
                && !(has_record || is_counted || with_refs.contains(name))
            {
                projects.remove_tree(&entry.name)?;
            }
        }
        Ok(())
    }

    /// Waits for a moment when nobody is in the store. In between, what was saved meanwhile is walked, so
    /// that little is left to do under the lock.
    fn lock(&self, walk: &mut Walk<'_>, time_limit: Duration) -> Result<Option<Guard>, GcError> {
        let deadline = Instant::now() + time_limit;
        let mut pause = DRAIN;
        loop {
            {
                let _shared = self.dirs.lock_shared(time_limit)?;
                self.look_again(walk)?;
            }
            match self.dirs.lock_exclusive(DRAIN) {
                Ok(guard) => return Ok(Some(guard)),
                Err(StoreError::Busy { .. }) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_secs(2));
                }
                Err(StoreError::Busy { .. }) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Walks what refs have come to name since; says whether all of it could be read.
    fn look_again(&self, walk: &mut Walk<'_>) -> Result<bool, GcError> {
        let refs = self.dirs.refs().list("refs")?.refs;
        walk.refs(&refs)?;
        Ok(walk.is_late_readable())
    }

    /// The chosen packs that hold something which came to life after they were chosen, and which no pack
    /// that stays has.
    fn spared(&self, walk: &Walk<'_>) -> Result<HashSet<usize>, GcError> {
        let mut spared = HashSet::new();
        let going = &self.plan.packs;
        let stems: HashSet<&str> =
            going.iter().map(|at| self.inventory.packs[*at].stem.as_str()).collect();
        let late: Vec<ObjectId> = walk.late().iter().map(|wanted| wanted.id).collect();
        let packs = self.objects.packs()?;
        let (leaving, staying): (Vec<_>, Vec<_>) =
            packs.iter().partition(|pack| stems.contains(pack.stem()));
        let has = |pack: &crate::pack::read::Pack, id: &ObjectId| match pack.index().find(id) {
            Ok(found) => Ok(found.is_some()),
            Err(crate::object::copy::CopyError::Fs(e)) => Err(GcError::from(e)),
            Err(_) => Ok(false),
        };
        for id in late {
            let mut stays = false;
            for pack in &staying {
                stays = stays || has(pack, &id)?;
            }
            if stays {
                continue;
            }
            for pack in &leaving {
                if has(pack, &id)? {
                    let at = going.iter().find(|at| self.inventory.packs[**at].stem == pack.stem());
                    spared.extend(at);
                }
            }
        }
        Ok(spared)
    }

    /// Removes what git derived from the packs that are going: it would name objects that are gone. Git
    /// does without.
    fn remove_summaries(&self, packs: &Dir, trash: &mut Trash<'_>) -> Result<(), GcError> {
        for entry in packs.entries()? {
            if entry.name.to_bytes().starts_with(b"multi-pack-index") {
                trash.put(packs, &entry.name, &entry.name)?;
            }
        }
        let Ok(info) = self.dirs.objects().open_dir("info") else { return Ok(()) };
        trash.put(&info, c"commit-graph", c"commit-graph")?;
        let Ok(chain) = info.open_dir("commit-graphs") else { return Ok(()) };
        for entry in chain.entries()? {
            trash.put(&chain, &entry.name, &entry.name)?;
        }
        Ok(())
    }

    /// Removes loose objects that are in a pack, as `git prune-packed` does: readers look into the packs
    /// first, so this needs no lock.
    fn remove_doubled(&self) -> Result<(), GcError> {
        for id in &self.plan.loose {
            let hex = id.to_hex();
            if let Ok(fan) = self.dirs.objects().open_dir(&hex[..2]) {
                fan.remove_if_there(&hex[2..])?;
            }
        }
        Ok(())
    }

    /// The loose objects nobody has needed for a while.
    fn old_loose(&self) -> Vec<ObjectId> {
        if !self.plan.is_first {
            return Vec::new();
        }
        let now = herma_fs::process::file_clock();
        let is_old = |touched: i64| now.saturating_sub(touched) > LOOSE_GRACE;
        let dead = self.inventory.loose.iter().filter(|file| !file.is_live);
        dead.filter(|file| file.is_doomed || is_old(file.touched)).map(|file| file.id).collect()
    }

    fn remove_loose(
        &self,
        walk: &Walk<'_>,
        old: &[ObjectId],
        trash: &mut Trash<'_>,
    ) -> Result<(), GcError> {
        for id in old.iter().filter(|id| !walk.has(id)) {
            let hex = id.to_hex();
            let Ok(fan) = self.dirs.objects().open_dir(&hex[..2]) else { continue };
            let (name, whole) = (CString::new(&hex[2..]), CString::new(hex.as_str()));
            if let (Ok(name), Ok(whole)) = (name, whole) {
                trash.put(&fan, &name, &whole)?;
            }
        }
        Ok(())
    }
}
