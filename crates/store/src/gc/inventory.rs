//! What there is: every pack and every loose object, and how much of each is alive.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use herma_fs::{Dir, FileKind, IfThere};

use super::mark::Walk;
use super::victims::PackFacts;
use crate::ObjectId;
use crate::gc::GcError;
use crate::layout::StoreDirs;
use crate::object::copy::CopyError;
use crate::objects::Objects;
use crate::pack::read::Pack;

/// No pack has it.
const NOBODY: u32 = u32::MAX;

/// A pack and the live objects that are in it.
pub(crate) struct Held {
    /// Its name without an extension.
    pub(crate) stem: String,
    /// What it holds of the store.
    pub(crate) facts: PackFacts,
    /// The live objects in it, whoever else has them, by their place in the walk.
    pub(crate) live: Vec<u32>,
    /// How long each of them is in the pack; at least so long.
    pub(crate) lengths: Vec<u32>,
}

/// A loose object.
pub struct LooseFile {
    /// Its id.
    pub id: ObjectId,
    /// How long its file is.
    pub bytes: u64,
    /// When it was last written or used by git, in nanoseconds since 1970.
    pub(crate) touched: i64,
    /// Its place in the walk, if it is alive.
    pub(crate) place: Option<usize>,
    pub(crate) is_live: bool,
    /// Must it not be readable any more?
    pub(crate) is_doomed: bool,
}

/// Everything there is.
#[derive(Default)]
pub(crate) struct Inventory {
    pub(crate) packs: Vec<Held>,
    /// For each live object, by its place in the walk, which pack counts as its holder.
    holders: Vec<u32>,
    pub(crate) loose: Vec<LooseFile>,
    /// What cannot be read.
    lost: BTreeSet<ObjectId>,
}

impl Inventory {
    /// Takes stock. A pack whose index cannot be read is not in it, and so is never touched.
    pub(crate) fn take(
        dirs: &StoreDirs,
        objects: &Objects,
        walk: &Walk<'_>,
        doomed: &BTreeSet<ObjectId>,
    ) -> Result<Self, GcError> {
        let mut inventory = Self { holders: vec![NOBODY; walk.order().len()], ..Self::default() };
        // What something alive needs again is not doomed any more.
        let doomed: BTreeSet<ObjectId> =
            doomed.iter().filter(|id| !walk.has(id)).copied().collect();
        let pack_dir = dirs.objects().open_dir("pack")?;
        for pack in objects.packs()? {
            let mut held = hold(&pack_dir, &pack, walk)?;
            let holds = |id: &ObjectId| !matches!(pack.index().find(id), Ok(None));
            held.facts.is_doomed = doomed.iter().any(holds);
            inventory.packs.push(held);
        }
        inventory.loose = loose_files(dirs.objects(), Some(walk))?;
        for file in &mut inventory.loose {
            file.is_doomed = doomed.contains(&file.id);
        }
        inventory.attribute();
        Ok(inventory)
    }

    /// Counts every live object for one pack: of those that have it, the one with most.
    fn attribute(&mut self) {
        let mut order: Vec<usize> = (0..self.packs.len()).collect();
        order.sort_by_key(|at| {
            let pack = &self.packs[*at];
            (!pack.facts.keep, std::cmp::Reverse(pack.live.len()))
        });
        for at in order {
            let pack = &mut self.packs[at];
            let mut doubled = 0_u128;
            for place in &pack.live {
                let holder = &mut self.holders[*place as usize];
                if *holder == NOBODY {
                    *holder = at as u32;
                    pack.facts.live += 1;
                } else {
                    doubled += 1;
                }
            }
            if doubled > 0 {
                // Doubled objects are rare and of any size: their share is good enough.
                let alone = u128::from(pack.facts.live);
                let all = alone + doubled;
                let bytes = u128::from(pack.facts.live_bytes) * alone / all;
                pack.facts.live_bytes = bytes as u64;
            }
        }
    }

    /// Leaves the packs alone that hold one of these objects, which cannot be read.
    pub(crate) fn keep_packs_with(
        &mut self,
        objects: &Objects,
        lost: &BTreeSet<ObjectId>,
    ) -> Result<(), GcError> {
        self.lost.clone_from(lost);
        for pack in objects.packs()? {
            let holds = |id: &ObjectId| !matches!(pack.index().find(id), Ok(None));
            if lost.iter().any(holds) {
                let held = self.packs.iter_mut().find(|held| held.stem == pack.stem());
                if let Some(held) = held {
                    held.facts.keep = true;
                }
            }
        }
        Ok(())
    }

    /// What is alive and nowhere to be found.
    pub(crate) fn missing(&self, walk: &Walk<'_>) -> Vec<ObjectId> {
        let loose: HashSet<ObjectId> = self.loose.iter().map(|file| file.id).collect();
        let in_no_pack = walk.order().iter().zip(&self.holders);
        in_no_pack
            .filter(|(_, holder)| **holder == NOBODY)
            .map(|(wanted, _)| wanted.id)
            .filter(|id| !loose.contains(id))
            // Git knows this tree without storing it.
            .filter(|id| *id != ObjectId::EMPTY_TREE)
            .collect()
    }

    /// The pack that counts as the holder of a live object.
    pub(crate) fn holder(&self, place: usize) -> Option<usize> {
        let holder = self.holders.get(place).filter(|at| **at != NOBODY);
        holder.map(|at| *at as usize)
    }

    /// The pack that holds what is in a loose file as well.
    pub(crate) fn holder_of(&self, file: &LooseFile) -> Option<usize> {
        self.holder(file.place?)
    }

    /// The loose objects that are alive and in no pack.
    pub(crate) fn loose_only(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.loose
            .iter()
            .filter(|file| file.is_live && self.holder_of(file).is_none())
            .filter(|file| !self.lost.contains(&file.id))
            .map(|file| file.id)
    }
}

fn hold(pack_dir: &Dir, pack: &Arc<Pack>, walk: &Walk<'_>) -> Result<Held, GcError> {
    let mut facts = PackFacts {
        bytes: 0,
        live_bytes: 0,
        live: 0,
        is_doomed: false,
        keep: pack_dir.stat_opt(format!("{}.keep", pack.stem()).as_str())?.is_some(),
    };
    let (mut live, mut lengths) = (Vec::new(), Vec::new());
    match pack.entry_lengths() {
        Ok(entries) => {
            for (id, _, length) in entries {
                facts.bytes += length;
                if let Some(place) = walk.place(&id) {
                    facts.live_bytes += length;
                    live.push(place as u32);
                    lengths.push(u32::try_from(length).unwrap_or(u32::MAX));
                } else {
                    // Alive, but nobody can tell what it is: it must not go.
                    facts.keep |= walk.has(&id);
                }
            }
        }
        Err(CopyError::Fs(e)) => return Err(e.into()),
        // The pack is not what its index says. It stays if anything alive may be in it.
        Err(_) => {
            for entry in pack.index().entries() {
                match entry {
                    Ok((id, offset)) => {
                        facts.keep |= walk.has(&id);
                        // What it only claims to have is missing, and said to be.
                        let is_there = pack.entry(offset).is_ok();
                        let place = walk.place(&id).filter(|_| is_there);
                        live.extend(place.map(|place| place as u32));
                    }
                    Err(_) => facts.keep = true,
                }
            }
        }
    }
    Ok(Held { stem: pack.stem().to_owned(), facts, live, lengths })
}

/// The loose objects below `objects`; without a walk none counts as alive.
pub fn loose_files(objects: &Dir, walk: Option<&Walk<'_>>) -> Result<Vec<LooseFile>, GcError> {
    let mut found = Vec::new();
    for first in 0..=u8::MAX {
        let fan = format!("{first:02x}");
        let Some(dir) = objects.open_dir(fan.as_str()).if_there()? else { continue };
        for entry in dir.entries()? {
            let hex = [fan.as_bytes(), entry.name.to_bytes()].concat();
            let Some(id) = ObjectId::from_hex(&hex) else { continue };
            let Some(stat) = dir.stat_opt(entry.name.as_c_str())? else { continue };
            if stat.kind == FileKind::File {
                found.push(LooseFile {
                    id,
                    bytes: stat.size,
                    touched: stat.mtime.max(stat.ctime),
                    place: walk.and_then(|walk| walk.place(&id)),
                    is_live: walk.is_some_and(|walk| walk.has(&id)),
                    is_doomed: false,
                });
            }
        }
    }
    Ok(found)
}
