//! The end of a purge: the contents leave the store, with every file that may hold them unseen.

use std::collections::BTreeSet;
use std::path::PathBuf;

use herma_store::gc::litter::Litter;
use herma_store::layout::StoreDirs;
use herma_store::objects::Objects;
use herma_store::{ObjectId, ProjectId, gc};

use crate::cleanup::doomed;
use crate::cleanup::room::purging;
use crate::engine::open::project_ids;
use crate::engine::{Engine, Progress, Project};
use crate::error::Result;
use crate::purge::Purged;
use crate::repair::verify::{VerifyOptions, verify_store};

/// A purge that was begun and not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptedPurge {
    /// How many contents it was to remove and may not have.
    pub contents: usize,
    /// The projects of which some checkpoints are as they were and some as they are to be.
    pub projects: Vec<ProjectId>,
}

/// How often the store is asked for when somebody is always using it.
const ATTEMPTS: usize = 3;

impl Project {
    /// Collects until the contents are gone, and looks whether they are. Litter goes also if there are none:
    /// nothing says what is in it.
    pub(crate) fn take_away(
        &self,
        dirs: &StoreDirs,
        contents: &BTreeSet<ObjectId>,
        purged: &mut Purged,
        progress: &dyn Progress,
    ) -> Result<()> {
        let litter = Litter::look(dirs)?;
        if contents.is_empty() && litter.is_empty() {
            return Ok(());
        }
        let lost = self.engine.lost_beside(dirs, &litter, progress)?;
        for _ in 0..ATTEMPTS {
            let options = purging(/*litter_at_once*/ lost.is_empty());
            let collected = self.engine.collect_locked(dirs, options, progress)?;
            purged.postponed = collected.postponed;
            purged.no_room = collected.unfinished && !collected.doomed_left.is_empty();
            purged.damaged = collected.damaged;
            if !purged.postponed {
                break;
            }
        }
        purged.damaged.extend(lost);
        purged.damaged.sort_unstable();
        purged.damaged.dedup();
        // Nothing that was read before counts.
        let objects = Objects::open(dirs.objects().try_clone()?);
        let is_there = |id: &&ObjectId| objects.contains(id).unwrap_or(true);
        purged.remaining = contents.iter().filter(is_there).copied().collect();
        purged.gone = contents.len() - purged.remaining.len();
        purged.left_over = Litter::look(dirs)?.paths();
        let left: BTreeSet<&PathBuf> = purged.left_over.iter().collect();
        let is_gone = |path: &&PathBuf| !left.contains(path);
        purged.litter_removed = litter.paths().iter().filter(is_gone).count();
        if !purged.remaining.is_empty() && purged.damaged.is_empty() {
            let remaining = purged.remaining.iter().copied().collect();
            let _shared = dirs.lock_shared(self.settings().lock_wait)?;
            purged.needed_by = gc::refs_needing(dirs, &objects, &remaining)?;
        }
        Ok(())
    }
}

impl Engine {
    /// A purge that was begun and not finished, if there is one and nobody is at it.
    pub fn interrupted_purge(&self) -> Result<Option<InterruptedPurge>> {
        let Some(store) = self.open_for_reading()? else { return Ok(None) };
        let mut projects = Vec::new();
        for project in project_ids(&store)? {
            if store.purge_of(&project)?.is_some() {
                projects.push(project);
            }
        }
        let contents = doomed::read(&store.dirs)?.len();
        if contents == 0 && projects.is_empty() || store.dirs.is_collecting()? {
            return Ok(None);
        }
        Ok(Some(InterruptedPurge { contents, projects }))
    }

    /// May litter go at once? Only to finish a purge, and if nothing alive may need it.
    pub(crate) fn may_finish_purge(
        &self,
        dirs: &StoreDirs,
        progress: &dyn Progress,
    ) -> Result<bool> {
        if doomed::read(dirs)?.is_empty() {
            return Ok(false);
        }
        let litter = Litter::look(dirs)?;
        Ok(self.lost_beside(dirs, &litter, progress)?.is_empty())
    }

    /// The refs that need something which cannot be read, if litter may be the only copy of it.
    fn lost_beside(
        &self,
        dirs: &StoreDirs,
        litter: &Litter,
        progress: &dyn Progress,
    ) -> Result<Vec<String>> {
        if !litter.may_be_needed() {
            return Ok(Vec::new());
        }
        std::thread::sleep(litter.moment());
        let store = self.open_for_writing()?;
        let all = VerifyOptions { read_data: true, project: None };
        let (verified, lost) = verify_store(&store, &all, progress)?;
        let mut names: Vec<String> = verified.refs.into_iter().map(|found| found.name).collect();
        if !lost.is_empty() {
            let lost = lost.into_iter().collect();
            names.extend(gc::damaged(dirs, &store.objects, &lost)?);
        }
        Ok(names)
    }
}
