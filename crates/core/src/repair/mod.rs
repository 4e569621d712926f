//! Mending a store: what can be mended is, what is replaced is set aside, what stays damaged is named.
//!
//! The rule for packs: an index that is wrong or gone is made again; where that cannot be, because the pack itself is damaged, what is
//! whole in it goes into a new pack and the damaged one is set aside. What checkpoints then lack comes out of the trash, or
//! else from the projects on disk: each is read, and whatever of it has the id of something lost is stored again.
//!
//! Nothing is ever removed: files that are replaced or moved out of the way are in `herma/set-aside`. What
//! stays damaged after a repair is in [`Repaired::after`]; such a checkpoint still gives back the files
//! that are not named there, and can be dropped.

pub(crate) mod lost;
pub(crate) mod lost_refs;
pub(crate) mod refs;
pub(crate) mod state_files;
pub(crate) mod verify;

use std::collections::HashSet;

use herma_fs::Dir;
use herma_fs::publish::Durability;
use herma_store::layout::base;
use herma_store::lock::Guard;
use herma_store::pack::write::PackWriter;
pub use herma_store::repair::own_files::RepairedFile;
use herma_store::repair::salvage::SalvagedPack;
use herma_store::repair::set_aside::SetAside;
use herma_store::repair::{own_files, rebuild, recover, salvage};
use herma_store::verify::packs::{DamagedPack, PackFault};
use herma_store::{ObjectId, ProjectId, layout};

use crate::engine::lock::lock_project;
use crate::engine::open::{OpenStore, project_ids, stamp};
use crate::engine::{Engine, Progress, Stage};
use crate::error::{Error, ErrorKind, Result};
use crate::repair::lost::{missing_commits, missing_cuts};
use crate::repair::refs::{RepairedRecord, RepairedRef, missing_candidates};
use crate::repair::verify::{Verified, VerifyOptions, verify_store};

/// How often a store is read again because something in it was mended.
const MAX_ROUNDS: usize = 8;

/// What a repair did, and what it could not do.
#[derive(Clone, Debug, Default)]
pub struct Repaired {
    /// Bytes that a killed clearing had left to be removed.
    pub bytes_freed: u64,
    /// Settings that Hermes needs were added to the store's configuration.
    pub settings: bool,
    /// Patterns were added to the store's excludes.
    pub excludes: bool,
    /// Indexes that were made again.
    pub indexes: Vec<RebuiltIndex>,
    /// Damaged packs that were set aside, after what can be read of them was saved.
    pub salvaged: Vec<SalvagedPack>,
    /// How many objects that were lost were stored again from projects on disk.
    pub stored_again: u64,
    /// Packs that came back out of the trash.
    pub packs: Vec<String>,
    /// Files of the store, and of projects' own state, that were missing or could not be used.
    pub files: Vec<RepairedFile>,
    /// Refs that were lost or could not be read.
    pub refs: Vec<RepairedRef>,
    /// Records of projects that could not be read.
    pub records: Vec<RepairedRecord>,
    /// What the whole store looks like now; everything was read.
    pub after: Verified,
}

impl Repaired {
    /// Was anything changed?
    pub fn has_changed(&self) -> bool {
        self.bytes_freed > 0
            || self.settings
            || self.excludes
            || !self.indexes.is_empty()
            || !self.salvaged.is_empty()
            || self.stored_again > 0
            || !self.packs.is_empty()
            || !self.files.is_empty()
            || !self.refs.is_empty()
            || !self.records.is_empty()
    }
}

/// An index that was made again from its pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuiltIndex {
    /// The pack's name without an extension.
    pub pack: String,
    /// How many objects it holds.
    pub objects: u32,
}

/// A repair under way.
pub(crate) struct Repair<'r> {
    engine: &'r Engine,
    store: OpenStore,
    base_dir: Dir,
    set_aside: SetAside,
    progress: &'r dyn Progress,
    done: Repaired,
}

impl Engine {
    /// Mends what can be mended. Checkpoints can be saved and restored meanwhile.
    pub fn repair(&self, progress: &dyn Progress) -> Result<Repaired> {
        let base_dir = match layout::open_base(&self.base())? {
            Some((_, base_dir)) if base_dir.stat_opt("store")?.is_some() => base_dir,
            _ => return Err(Error::NoStore(self.store_dir())),
        };
        progress.stage(Stage::Waiting);
        let stamp = stamp(&self.options.clock.now());
        let files = own_files::mend(&base_dir, &stamp)?;
        // Opening sweeps what dead processes left in the store.
        let store = self.open_for_writing()?;
        let set_aside = SetAside::open(&store.dirs, stamp)?;
        let bytes_freed = base::finish_leaving(&base_dir)?;
        let done = Repaired { bytes_freed, files, ..Repaired::default() };
        Repair { engine: self, store, base_dir, set_aside, progress, done }.run()
    }
}

impl Repair<'_> {
    fn run(mut self) -> Result<Repaired> {
        (self.done.settings, self.done.excludes) = layout::complete_again(&self.store.dirs)?;
        self.repair_state()?;
        self.progress.stage(Stage::Verifying);
        // What is in the trash comes first: it may tell what torn refs have named.
        let mut damaged = self.mend_packs()?;
        let missing = [missing_candidates(&self.store)?, missing_commits(&self.store)?].concat();
        let mut has_mended = self.bring_back(&missing)?;
        self.repair_refs()?;
        self.repair_lost()?;
        self.repair_cuts()?;
        has_mended |= !self.done.files.is_empty() || !self.done.refs.is_empty();
        if has_mended {
            damaged = self.mend_packs()?;
        }
        // What is below a lost directory is known only once that is back: then everything that is nowhere is taken.
        for takes_all in [false, true] {
            self.set_loose_aside(&damaged)?;
            let found = self.store_again(&damaged, takes_all)?;
            if found == 0 {
                break;
            }
            self.done.stored_again += found;
            damaged = self.mend_packs()?;
        }
        self.repair_records()?;
        for record in &self.done.records {
            let file = format!("projects/{}.json", record.project);
            self.done.after.metadata.retain(|found| found.file != file);
        }
        Ok(self.done)
    }

    fn lock(&self, project: &ProjectId) -> Result<Guard> {
        lock_project(&self.store.dirs, project, self.engine.options.settings.lock_wait)
    }

    /// Says again where history ends, where that was lost.
    fn repair_cuts(&mut self) -> Result<()> {
        let mut missing = Vec::new();
        for project in project_ids(&self.store)? {
            missing.extend(missing_cuts(&self.store, &project)?);
        }
        if !missing.is_empty() {
            self.store.dirs.shallow().add(&missing)?;
            let what = "it did not say where history ends".to_owned();
            let file = "shallow".to_owned();
            self.done.files.push(RepairedFile { file, what, set_aside: None });
        }
        Ok(())
    }

    /// Brings packs with these objects back out of the trash; tells whether there were any.
    fn bring_back(&mut self, wanted: &[ObjectId]) -> Result<bool> {
        let packs = recover::bring_back(&self.store.dirs, wanted, &self.set_aside)?;
        let has_found = !packs.is_empty();
        self.done.packs.extend(packs);
        Ok(has_found)
    }

    /// Reads the whole store, and again as long as packs can be mended or brought back. Returns the objects that are missing or
    /// damaged in the end.
    fn mend_packs(&mut self) -> Result<Vec<ObjectId>> {
        let all = VerifyOptions { read_data: true, project: None };
        let mut rounds = 0..MAX_ROUNDS;
        loop {
            let (after, damaged) = verify_store(&self.store, &all, self.progress)?;
            let mut has_mended = false;
            for damaged in &after.packs {
                has_mended |= self.mend_pack(damaged)?;
            }
            self.done.after = after;
            let goes_on = has_mended || self.bring_back(&damaged)?;
            if !goes_on || rounds.next().is_none() {
                return Ok(damaged);
            }
        }
    }

    /// Makes the index of a pack again, or saves what is whole in it and sets it aside; tells whether it did.
    fn mend_pack(&mut self, DamagedPack { pack, fault, .. }: &DamagedPack) -> Result<bool> {
        let (dirs, set_aside) = (&self.store.dirs, &self.set_aside);
        let directory = dirs.objects().open_dir("pack")?;
        if *fault != PackFault::Pack
            && let Ok(objects) = rebuild::rebuild_index(dirs, &directory, pack, set_aside)?
        {
            self.done.indexes.push(RebuiltIndex { pack: pack.clone(), objects });
            return Ok(true);
        }
        let salvaged = salvage::salvage(dirs, &directory, pack, &self.store.objects, set_aside)?;
        let has_salvaged = salvaged.is_some();
        self.done.salvaged.extend(salvaged);
        Ok(has_salvaged)
    }

    /// Sets files of single objects aside that do not hold these: an older Hermes made them.
    fn set_loose_aside(&self, damaged: &[ObjectId]) -> Result<()> {
        for id in damaged.iter().map(|id| id.to_hex()) {
            let (fan, name) = id.split_at(2);
            if let Ok(fan) = self.store.dirs.objects().open_dir(fan)
                && fan.stat_opt(name)?.is_some()
            {
                self.set_aside.take_as(&fan, name, &format!("objects+{id}"))?;
            }
        }
        Ok(())
    }

    /// Stores again what projects on disk still have of these objects: their files, and the directories that follow from
    /// them; or else whatever the store does not have. Returns how many of these objects there were.
    fn store_again(&self, damaged: &[ObjectId], takes_all: bool) -> Result<u64> {
        if damaged.is_empty() {
            return Ok(0);
        }
        let store = &self.store;
        let lost: HashSet<&ObjectId> = damaged.iter().collect();
        let is_known = |id: &ObjectId| match lost.contains(id) {
            true => Ok(false),
            false if takes_all => Ok(store.objects.contains_listed(id)?),
            false => Ok(true),
        };
        let writer = PackWriter::new(&store.dirs, &is_known)?;
        for id in project_ids(store)? {
            let workdir = store.identity(&id).workdir();
            let project = workdir.and_then(|path| self.engine.project(&path).ok());
            let Some(project) = project.filter(|project| *project.id() == id) else { continue };
            match project.scan(Some(store), None, true, &writer, self.progress) {
                Err(e) if e.kind() == ErrorKind::Cancelled => return Err(e),
                // One that cannot be looked at keeps nothing from the others.
                _ => {}
            }
        }
        let found = damaged.iter().filter(|id| writer.has(id)).count() as u64;
        writer.finish(Durability::Synced)?;
        Ok(found)
    }
}
