//! Choosing what goes, and writing what is alive in it into a new pack.

use std::collections::{HashSet, VecDeque};

use herma_fs::publish::Durability;

use super::inventory::Inventory;
use super::mark::Walk;
use super::victims::Thoroughness;
use super::{CollectOptions, CollectStage, Collected, Report, victims};
use crate::gc::GcError;
use crate::layout::StoreDirs;
use crate::merge::{MergeOptions, Merged, Wanted};
use crate::objects::Objects;
use crate::{ObjectId, StoreError, merge};

/// A merge this small may always be tried: the room for it is no copy of anybody's store.
const SMALL_MERGE: u64 = 8 << 20;

/// A newer version of what is in another pack becomes a delta, so many times smaller at least.
const DELTA_GAIN: u64 = 4;

/// What is left free on a disk for everybody else.
const FREE_DISK_BYTES: u64 = 1 << 20;

/// So many loose objects are packed even if nothing else is to be done.
const MANY_LOOSE: usize = 64;

/// What the chosen packs may be replaced with, one new pack at a time: the room of what it replaces is free
/// before the next one is written.
pub(crate) struct Merge<'a> {
    dirs: &'a StoreDirs,
    objects: &'a Objects,
    inventory: &'a Inventory,
    options: &'a CollectOptions,
    report: Report<'a>,
    /// What is still to be merged.
    groups: VecDeque<Vec<usize>>,
    /// What goes without being merged; `None` once it is gone.
    remove: Option<Vec<usize>>,
    /// Live objects that are in no pack.
    loose: HashSet<ObjectId>,
    /// The bytes of all packs.
    total: u64,
}

/// What is superfluous now that the new pack is there.
#[derive(Default)]
pub(crate) struct Superfluous {
    /// Packs, as indexes into the inventory.
    pub(crate) packs: Vec<usize>,
    /// Loose objects of which a pack that stays has a whole copy.
    pub(crate) loose: Vec<ObjectId>,
    /// Is this the first sweep, which also tidies up?
    pub(crate) is_first: bool,
}

impl<'a> Merge<'a> {
    /// Chooses.
    pub(crate) fn new(
        dirs: &'a StoreDirs,
        objects: &'a Objects,
        inventory: &'a Inventory,
        options: &'a CollectOptions,
        report: Report<'a>,
    ) -> Self {
        let facts: Vec<_> = inventory.packs.iter().map(|pack| pack.facts).collect();
        let loose: HashSet<ObjectId> = inventory.loose_only().collect();
        let CollectOptions { thoroughness, max_pack, .. } = *options;
        let choice = victims::choose(&facts, !loose.is_empty(), thoroughness, max_pack);
        Self {
            dirs,
            objects,
            inventory,
            options,
            report,
            groups: choice.groups.into(),
            remove: Some(choice.remove),
            loose,
            total: facts.iter().map(|pack| pack.bytes).sum(),
        }
    }

    /// Writes the next pack; says what it makes superfluous. `None`: nothing is left to do.
    pub(crate) fn next(
        &mut self,
        walk: &Walk<'_>,
        collected: &mut Collected,
    ) -> Result<Option<Superfluous>, GcError> {
        while let Some(mut group) = self.groups.pop_front() {
            let remove = self.remove.clone().unwrap_or_default();
            let (room, is_disk) = self.room(&group);
            if self.expected(walk, &group) <= room {
                let wanted = self.wanted(walk, &remove, &group)?;
                if let Some(merged) = self.write(&wanted, room)? {
                    collected.merged += merged.objects;
                    group.extend(&remove);
                    let name = merged.name.to_string();
                    return self.superfluous(&group, Some(&name), &wanted).map(Some);
                }
            }
            collected.unfinished |= is_disk;
            // Without the largest there may be room. One pack by itself is written again only for what is dead in it.
            let largest = group.pop().filter(|_| !group.is_empty());
            for part in [Some(group), largest.map(|at| vec![at])].into_iter().flatten().rev() {
                let is_worth = |at: &usize| {
                    let facts = &self.inventory.packs[*at].facts;
                    facts.is_worth_writing_again(self.options.thoroughness)
                };
                if part.len() > 1 || part.iter().any(is_worth) {
                    self.groups.push_front(part);
                }
            }
        }
        match self.remove.clone() {
            Some(remove) => self.without_groups(walk, remove, collected).map(Some),
            None => Ok(None),
        }
    }

    /// No packs are merged; there may still be some to remove, and many loose objects to take in.
    fn without_groups(
        &mut self,
        walk: &Walk<'_>,
        mut remove: Vec<usize>,
        collected: &mut Collected,
    ) -> Result<Superfluous, GcError> {
        let wanted = self.wanted(walk, &remove, &[])?;
        if wanted.is_empty() {
            return self.superfluous(&remove, None, &[]);
        }
        if let Some(merged) = self.write(&wanted, self.room(&[]).0)? {
            collected.merged += merged.objects;
            return self.superfluous(&remove, Some(&merged.name.to_string()), &wanted);
        }
        collected.unfinished = true;
        remove.retain(|at| self.inventory.packs[*at].live.is_empty());
        self.superfluous(&remove, None, &[])
    }

    /// How large the pack with what is alive in these is going to be, without its index: what is in no other pack in another
    /// version stays as long as it is.
    fn expected(&self, walk: &Walk<'_>, group: &[usize]) -> u64 {
        let of_pack = |at: &usize| {
            let pack = &self.inventory.packs[*at];
            let length = |(place, length): (&u32, &u32)| {
                let place = *place as usize;
                let newer = walk.newer(place).and_then(|newer| self.inventory.holder(newer));
                let becomes_delta = newer.is_some_and(|by| by != *at && group.contains(&by));
                let is_held = self.inventory.holder(place) == Some(*at);
                let gain = if becomes_delta { DELTA_GAIN } else { 1 };
                if is_held { u64::from(*length) / gain } else { 0 }
            };
            pack.live.iter().zip(&pack.lengths).map(length).sum::<u64>()
        };
        group.iter().map(of_pack).sum()
    }

    /// How large the new pack may become: never so large that the store is there twice. A pack that is
    /// written again by itself may be as large as what is left of it. Also says whether the disk is what
    /// sets the bound.
    /// One with something doomed in it may be as large as the disk allows.
    fn room(&self, group: &[usize]) -> (u64, bool) {
        let mut room = (self.total / 2).saturating_add(SMALL_MERGE);
        if group.iter().any(|at| self.inventory.packs[*at].facts.is_doomed) {
            room = u64::MAX;
        } else if group.len() > 1 {
            room = room.min(self.options.max_pack);
        }
        match self.dirs.store().free_bytes() {
            Ok(free) if free.saturating_sub(FREE_DISK_BYTES) < room => {
                (free.saturating_sub(FREE_DISK_BYTES), true)
            }
            _ => (room, false),
        }
    }

    /// Writes a pack; `None` if there is no room for it.
    fn write(&self, wanted: &[Wanted], max_bytes: u64) -> Result<Option<Merged>, GcError> {
        let options = MergeOptions {
            max_bytes,
            threads: self.options.threads,
            durability: Durability::Synced,
            progress: &|done| (self.report)(CollectStage::Merging, done),
        };
        match merge::merge(self.dirs, self.objects, wanted, &options) {
            Ok(Some(merged)) => {
                self.check_written(&merged.name.to_string(), wanted)?;
                Ok(Some(merged))
            }
            Ok(None) | Err(GcError::TooLarge) => Ok(None),
            Err(GcError::Store(StoreError::Fs(e))) if e.is_full() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads the new pack back. Only what it gives back makes another copy superfluous.
    fn check_written(&self, name: &str, written: &[Wanted]) -> Result<(), GcError> {
        self.objects.packs()?;
        for Wanted { id, .. } in written {
            if !self.objects.is_whole_in(name, id)? {
                let what = "it did not read back as it was written".to_owned();
                return Err(StoreError::Damaged { id: *id, what }.into());
            }
        }
        Ok(())
    }

    /// What must be written: live objects of the chosen packs, and loose ones, of which no pack that stays
    /// has a whole copy.
    fn wanted(
        &self,
        walk: &Walk<'_>,
        remove: &[usize],
        group: &[usize],
    ) -> Result<Vec<Wanted>, GcError> {
        let loose = &self.loose;
        let packs = &self.inventory.packs;
        let going: HashSet<usize> = group.iter().chain(remove).copied().collect();
        let order = walk.order();
        // By place in the walk.
        let mut needed = vec![false; order.len()];
        let is_full = self.options.thoroughness == Thoroughness::Full;
        if !group.is_empty() || is_full || loose.len() >= MANY_LOOSE {
            for place in loose.iter().filter_map(|id| walk.place(id)) {
                needed[place] = true;
            }
        }
        for at in &going {
            for place in &packs[*at].live {
                let place = *place as usize;
                // The only copy left must not be a damaged one.
                needed[place] |= match self.inventory.holder(place) {
                    Some(holder) if !going.contains(&holder) => {
                        let (stem, id) = (&packs[holder].stem, &order[place].id);
                        !self.objects.is_whole_in(stem, id)?
                    }
                    _ => true,
                };
            }
        }
        let wanted = order.iter().zip(needed);
        Ok(wanted.filter(|(_, is)| *is).map(|(w, _)| *w).collect())
    }

    fn superfluous(
        &mut self,
        going: &[usize],
        new: Option<&str>,
        written: &[Wanted],
    ) -> Result<Superfluous, GcError> {
        let packs = &self.inventory.packs;
        // The same objects in the same order make the same pack, under the same name.
        let is_new = |at: &usize| new == Some(packs[*at].stem.as_str());
        let mut found = Superfluous {
            packs: going.iter().copied().filter(|at| !is_new(at)).collect(),
            loose: Vec::new(),
            is_first: self.remove.take().is_some(),
        };
        let leaving: HashSet<usize> = found.packs.iter().copied().collect();
        let written: HashSet<ObjectId> = written.iter().map(|wanted| wanted.id).collect();
        self.loose.retain(|id| !written.contains(id));
        for file in self.inventory.loose.iter().filter(|file| file.is_live) {
            let held = match self.inventory.holder_of(file) {
                _ if written.contains(&file.id) => true,
                Some(at) if !leaving.contains(&at) => {
                    let stem = &packs[at].stem;
                    self.objects.is_whole_in(stem, &file.id)?
                }
                _ => false,
            };
            if held {
                found.loose.push(file.id);
            }
        }
        Ok(found)
    }
}
