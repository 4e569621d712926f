//! Mending a store: what can be mended is, what is replaced is set aside, what stays damaged is named.
//!
//! Nothing is ever removed: files that are replaced or moved out of the way are in `herma/set-aside`, but for a pack of
//! which only the ends were wrong: the one written in its place has all that it had. What
//! stays damaged after a repair is in [`Repaired::after`]; such a checkpoint still gives back the files
//! that are not named there, and can be dropped.

use herma_fs::Dir;

use super::Engine;
use super::Progress;
use super::Stage;
use super::adopt::project_ids;
use super::open::OpenStore;
use super::open::stamp;
use super::repair_lost::missing_commits;
use super::repair_lost::missing_cuts;
use super::repair_refs::RepairedRecord;
use super::repair_refs::RepairedRef;
use super::repair_refs::missing_candidates;
use super::verify::Verified;
use super::verify::VerifyOptions;
use super::verify::verify_store;
use crate::error::Error;
use crate::id::ObjectId;
use crate::store::base;
use crate::store::layout;
use crate::store::own_files;
pub use crate::store::own_files::RepairedFile;
use crate::store::pack_check;
use crate::store::pack_check::DamagedPack;
use crate::store::pack_check::PackFault;
use crate::store::pack_mend;
use crate::store::pack_rebuild;
use crate::store::pack_salvage;
use crate::store::pack_salvage::SalvagedPack;
use crate::store::recover;
use crate::store::set_aside::SetAside;

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
    /// Packs of which only the first or last bytes were damaged, written anew.
    pub mended: Vec<String>,
    /// Damaged packs without an index, or with a wrong one, of which what can be read is in a new pack.
    pub salvaged: Vec<SalvagedPack>,
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
            || !self.mended.is_empty()
            || !self.salvaged.is_empty()
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

impl Engine {
    /// Mends what can be mended. Checkpoints can be saved and restored meanwhile.
    pub fn repair(&self, progress: &dyn Progress) -> Result<Repaired, Error> {
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
        let mut repaired = Repaired {
            bytes_freed: base::finish_leaving(&base_dir)?,
            files,
            ..Repaired::default()
        };
        (repaired.settings, repaired.excludes) = layout::complete_again(&store.dirs)?;
        repaired
            .files
            .extend(self.repair_state(&store, &set_aside)?);
        progress.stage(Stage::Verifying);
        let directory = store.dirs.objects().open_dir("pack")?;
        mend_packs(&store, &directory, &set_aside, &mut repaired)?;
        // What is in the trash comes first: it may tell what torn refs have named.
        let damaged = verify_all(&store, &mut repaired, progress)?;
        bring_back(&store, &damaged, &set_aside, &mut repaired)?;
        bring_back(
            &store,
            &missing_candidates(&store)?,
            &set_aside,
            &mut repaired,
        )?;
        bring_back(&store, &missing_commits(&store)?, &set_aside, &mut repaired)?;
        repaired.refs = self.repair_refs(&store, &set_aside)?;
        repaired.refs.extend(self.repair_lost(&store)?);
        repaired.files.extend(repair_cuts(&store)?);
        let has_mended = !repaired.files.is_empty() || !repaired.refs.is_empty();
        if !repaired.packs.is_empty() || has_mended {
            let damaged = verify_all(&store, &mut repaired, progress)?;
            if bring_back(&store, &damaged, &set_aside, &mut repaired)? {
                verify_all(&store, &mut repaired, progress)?;
            }
        }
        repaired.records = self.repair_records(&store, &base_dir, &set_aside)?;
        for record in &repaired.records {
            let file = format!("projects/{}.json", record.project);
            repaired.after.metadata.retain(|found| found.file != file);
        }
        Ok(repaired)
    }
}

/// Says again where history ends, where that was lost.
fn repair_cuts(store: &OpenStore) -> Result<Option<RepairedFile>, Error> {
    let mut missing = Vec::new();
    for project in project_ids(store)? {
        missing.extend(missing_cuts(store, &project)?);
    }
    if missing.is_empty() {
        return Ok(None);
    }
    store.dirs.shallow().add(&missing)?;
    Ok(Some(RepairedFile {
        file: "shallow".to_owned(),
        what: "it did not say where history ends".to_owned(),
        set_aside: None,
    }))
}

/// Reads the whole store; returns the objects that are missing or damaged.
fn verify_all(
    store: &OpenStore,
    repaired: &mut Repaired,
    progress: &dyn Progress,
) -> Result<Vec<ObjectId>, Error> {
    let all = VerifyOptions {
        read_data: true,
        project: None,
    };
    let (after, damaged) = verify_store(store, &all, progress)?;
    repaired.after = after;
    Ok(damaged)
}

/// Brings packs with these objects back out of the trash; tells whether there were any.
fn bring_back(
    store: &OpenStore,
    wanted: &[ObjectId],
    set_aside: &SetAside,
    repaired: &mut Repaired,
) -> Result<bool, Error> {
    let packs = recover::bring_back(&store.dirs, wanted, set_aside)?;
    let has_found = !packs.is_empty();
    repaired.packs.extend(packs);
    Ok(has_found)
}

/// Mends the ends of packs and makes indexes again; what cannot have a right one gives up what is whole in it.
fn mend_packs(
    store: &OpenStore,
    directory: &Dir,
    set_aside: &SetAside,
    repaired: &mut Repaired,
) -> Result<(), Error> {
    let (dirs, objects) = (&store.dirs, &store.objects);
    let indexed = |stem: &str| -> Result<_, Error> {
        let mut packs = objects.packs()?.into_iter();
        Ok(packs.find(|pack| pack.stem() == stem))
    };
    let (damaged, _) = pack_check::check_packs(objects, directory, false)?;
    for DamagedPack { pack, .. } in damaged {
        if pack_mend::mend_ends(dirs, directory, &pack, indexed(&pack)?.as_deref())? {
            repaired.mended.push(pack);
        }
    }
    let (damaged, _) = pack_check::check_packs(objects, directory, false)?;
    let faulty = damaged
        .into_iter()
        .filter(|pack| pack.fault != PackFault::Pack);
    for DamagedPack { pack, .. } in faulty {
        let made = pack_rebuild::rebuild_index(dirs, directory, &pack, set_aside)?;
        if let Ok(objects) = made {
            repaired.indexes.push(RebuiltIndex { pack, objects });
            continue;
        }
        // Where an index can be read, most objects are found by it: the pack stays.
        let aside = indexed(&pack)?.is_none().then_some(set_aside);
        let salvaged = pack_salvage::salvage(dirs, directory, &pack, objects, aside)?;
        repaired.salvaged.extend(salvaged);
    }
    Ok(())
}
