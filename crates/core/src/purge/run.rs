//! Purging: a file leaves everything that was saved, and then the store.
//!
//! Order: what takes the place of checkpoints is durable → the contents to be rid of are on the list that
//! collection goes by → per project, what its refs will name is on record → the refs move one by one → a
//! collection takes the contents away, and litter that may hold them → a look whether they are gone. Killed anywhere, each checkpoint is
//! the old one or the new one; the next command that writes to the project moves the rest of its refs, the
//! next collection takes away the contents.
//!
//! Locks are those of cleaning: the collector's for all of it, the store's and the projects' until the refs
//! have moved.

use crate::engine::operation::Operation;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use herma_fs::Entry;
use herma_fs::publish::Durability;
use herma_records::purge::PurgeRecord;
use herma_store::gc::litter::holds_objects;
use herma_store::layout::StoreDirs;
use herma_store::pack::write::PackWriter;
use herma_store::{ObjectId, ProjectId, RelPath};
use herma_worktree::present::Present;

use crate::cleanup::doomed;
use crate::cleanup::room::store_bytes;
use crate::engine::lock::{carry_out, lock_project};
use crate::engine::open::{OpenStore, own_state, project_ids};
use crate::engine::{Engine, Progress, Project};
use crate::error::{Error, ErrorKind, Result};
use crate::purge::refs::{own_refs, plan_refs};
use crate::purge::rewrite::{Rewriter, Selection};
use crate::purge::search::Contents;
use crate::purge::{Copies, PurgePlan, PurgeRequest, Purged, Rewritten};
use crate::restore::interrupted::records_of;

impl Operation<'_> {
    /// What goes out of the checkpoints of one project.
    fn selection(
        &self,
        project: &ProjectId,
        request: &PurgeRequest,
        contents: &BTreeSet<ObjectId>,
    ) -> Result<Selection<'_>> {
        let is_own = self.with_lines()?.contains(project);
        let wanted = match request.copies {
            Copies::Stay => BTreeSet::new(),
            Copies::GoFromProject | Copies::GoFromEverywhere => contents.clone(),
        };
        Ok(Selection {
            paths: if is_own { request.paths.clone() } else { Vec::new() },
            contents: Contents::new(&self.store.objects, wanted),
        })
    }

    /// Refuses while a restore is half way: its journal names checkpoints.
    fn check_finished(&self, project: &ProjectId) -> Result<()> {
        if records_of(&self.store, project)?.0.is_none() {
            return Ok(());
        }
        if *project == self.id {
            return Err(Error::RestoreUnfinished);
        }
        let workdir = self.store.identity(project).workdir();
        let project_name = workdir.map_or_else(
            || project.to_string(),
            |path| herma_store::path::escape(path.as_os_str().as_encoded_bytes()),
        );
        Err(Error::OtherRestoreUnfinished { project_name })
    }

    /// The project as it is, if it can be looked at: a purge does not fail for it.
    fn present_if_readable(&self) -> Result<Option<Present>> {
        let history = self.load_history()?;
        match self.look(&history) {
            Err(e) if e.kind() == ErrorKind::Cancelled => Err(e),
            present => Ok(present.ok()),
        }
    }

    pub(crate) fn plan_purge(&self, request: &PurgeRequest) -> Result<PurgePlan> {
        Ok(self.survey(request)?.0)
    }

    /// What there is of what is to go, and the projects whose checkpoints have to be made again.
    fn survey(&self, request: &PurgeRequest) -> Result<(PurgePlan, BTreeSet<ProjectId>)> {
        let present = self.present_if_readable()?;
        let (mut plan, concerned) = self.look_through(request)?;
        plan.still_present = still_present(request, &plan, &self.id, present.as_ref());
        plan.not_searched = self.engine.not_searched(&self.store.dirs)?;
        Ok((plan, concerned))
    }

    /// Makes the checkpoints again that hold what is to go, and moves their refs.
    fn rewrite(&self, request: &PurgeRequest) -> Result<Purged> {
        let store = &self.store;
        let mut projects = self.with_lines()?;
        if request.copies == Copies::GoFromEverywhere {
            projects.extend(project_ids(store)?);
        }
        let wait = self.settings().lock_wait;
        let mut locks = Vec::new();
        for project in &projects {
            locks.push(lock_project(&store.dirs, project, wait)?);
            self.check_finished(project)?;
        }
        let (plan, concerned) = self.survey(request)?;
        let mut purged = Purged { plan, ..Purged::default() };
        if purged.plan.is_empty() {
            return Ok(purged);
        }
        let contents: BTreeSet<ObjectId> = purged.plan.contents.iter().copied().collect();
        let writer = PackWriter::new(&store.dirs, &store.objects)?;
        let mut changes = Vec::new();
        for project in &concerned {
            let selection = self.selection(project, request, &contents)?;
            changes.push(Change::of(store, project, &writer, selection)?);
        }
        // ORDER: everything that refs will name is durable first, and history ends where it did.
        writer.finish(Durability::Synced)?;
        let cuts: Vec<ObjectId> = changes.iter().flat_map(|c| c.cuts.clone()).collect();
        store.dirs.shallow().add(&cuts)?;
        // ORDER: before the first ref moves it is known what has to be taken away.
        doomed::add(&store.dirs, &contents)?;
        let tmp = store.tmp()?;
        for change in changes {
            let Some(state) = own_state(store, change.project)? else { continue };
            // ORDER: the record is durable before what it says is begun.
            change.record.write(tmp, &state)?;
            carry_out(&store.dirs, change.project, &state, &change.record)?;
            purged.rewritten.extend(change.rewritten);
        }
        Ok(purged)
    }
}

/// Takes files out of every checkpoint of this project, and their contents out of the store.
pub(crate) fn purge(
    project: &Project,
    request: &PurgeRequest,
    progress: &dyn Progress,
) -> Result<Purged> {
    let engine = &project.engine;
    let dirs = engine.open_for_cleaning()?;
    let dirs = dirs.ok_or_else(|| Error::NoStore(engine.store_dir()))?;
    let _collector = engine.lock_collector(&dirs, /*attended*/ true)?;
    dirs.use_reserve()?;
    engine.finish_purges(&dirs)?;
    // What cannot be found now cannot be searched, and would be deleted at the end.
    engine.check_refs()?;
    let bytes_before = store_bytes(&dirs)?;
    let mut purged = project.writing(progress)?.rewrite(request)?;
    let mut contents = doomed::read(&dirs)?;
    contents.extend(&purged.plan.contents);
    project.take_away(&dirs, &contents, &mut purged, progress)?;
    purged.bytes_freed = bytes_before.saturating_sub(store_bytes(&dirs)?);
    dirs.restore_reserve()?;
    Ok(purged)
}

impl Engine {
    /// What may hold anything and is left alone by everybody.
    fn not_searched(&self, dirs: &StoreDirs) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let set_aside = dirs.herma().and_then(|herma| herma.dir.open_dir("set-aside").ok());
        if let Some(set_aside) = set_aside
            && set_aside.entries()?.iter().any(may_hold_anything)
        {
            found.push(Path::new("store/herma/set-aside").to_owned());
        }
        let archives = self.legacy()?.into_iter();
        found.extend(archives.map(|archive| PathBuf::from(archive.name)));
        let before = self.pre_v2_projects()?.into_iter();
        found.extend(before.map(|old| PathBuf::from(old.project.as_str())));
        Ok(found)
    }
}

/// What becomes of one project.
struct Change<'p> {
    project: &'p ProjectId,
    record: PurgeRecord,
    rewritten: Vec<Rewritten>,
    /// New commits at which history ends.
    cuts: Vec<ObjectId>,
}

impl<'p> Change<'p> {
    /// Makes the checkpoints of a project again, as far as they change.
    fn of(
        store: &OpenStore,
        project: &'p ProjectId,
        writer: &PackWriter<'_>,
        selection: Selection<'_>,
    ) -> Result<Self> {
        let history = own_refs(store, project)?;
        let shallow = store.dirs.shallow().read()?;
        let mut rewriter = Rewriter::new(&store.objects, writer, selection, shallow);
        let (refs, mirror) = plan_refs(store, project, &mut rewriter)?;
        let (commits, cuts) = rewriter.finish();
        let renamed = history.entries.iter().filter_map(|entry| {
            Some(Rewritten {
                project: project.clone(),
                old: entry.id,
                new: *commits.get(&entry.id)?,
            })
        });
        Ok(Self {
            project,
            rewritten: renamed.collect(),
            cuts,
            record: PurgeRecord { refs, mirror, commits },
        })
    }
}

pub(crate) fn check(request: &PurgeRequest) -> Result<()> {
    if request.paths.is_empty() || request.paths.iter().any(RelPath::is_root) {
        return Err(Error::PurgeOfAll);
    }
    Ok(())
}

/// Is this nothing that a purge takes away by itself?
fn may_hold_anything(set_aside: &Entry) -> bool {
    !set_aside.name.to_str().is_ok_and(holds_objects)
}

/// What the next save would bring back.
fn still_present(
    request: &PurgeRequest,
    plan: &PurgePlan,
    own: &ProjectId,
    present: Option<&Present>,
) -> Vec<RelPath> {
    let Some(present) = present else { return Vec::new() };
    let copies = plan.copies.iter().filter(|copy| copy.goes && copy.project == *own);
    let paths: BTreeSet<&RelPath> =
        request.paths.iter().chain(copies.map(|copy| &copy.path)).collect();
    let is_saved = |path: &&&RelPath| {
        let entry = present.cache.entry_at(path.as_bytes());
        entry.is_some_and(|entry| entry.kind.left_out().is_none())
    };
    paths.iter().filter(is_saved).map(|path| (*path).clone()).collect()
}
