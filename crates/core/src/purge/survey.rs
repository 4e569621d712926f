//! What a purge finds: the paths in the checkpoints of a project, and their contents wherever else they are.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_fs::stat_path;
use herma_store::gc::dead::dead_commits;
use herma_store::gc::mark::Walk;
use herma_store::refs::scheme::checkpoint_ref;
use herma_store::{ObjectId, ProjectId, RelPath};

use crate::engine::history::History;
use crate::engine::open::{OpenStore, project_ids};
use crate::engine::{Progress, Stage};
use crate::error::{Error, ErrorKind, Result};
use crate::purge::search::{Contents, Place, at_paths};
use crate::purge::{Copies, CopyFound, PathFound, PurgePlan, PurgeRequest};

/// What was found.
pub(crate) struct Survey {
    pub(crate) plan: PurgePlan,
    /// The projects whose checkpoints have to be made again.
    pub(crate) concerned: BTreeSet<ProjectId>,
}

/// A checkpoint that can be read.
struct Seen {
    sequence: u64,
    tree: ObjectId,
}

impl Survey {
    /// Looks through the checkpoints of all projects.
    pub(crate) fn take(
        store: &OpenStore,
        own: &ProjectId,
        request: &PurgeRequest,
        progress: &dyn Progress,
    ) -> Result<Self> {
        progress.stage(Stage::Marking);
        let mut survey = Self { plan: PurgePlan::default(), concerned: BTreeSet::new() };
        let mut paths = request.paths.clone();
        paths.sort_unstable();
        paths.dedup();
        let mut going: BTreeSet<(ProjectId, u64)> = BTreeSet::new();
        let (mut contents, found) = survey.at_paths(store, own, &paths)?;
        going.extend(found.into_iter().map(|sequence| (own.clone(), sequence)));
        let live = contents.len();
        contents.extend(dropped(store, &paths, progress)?);
        survey.plan.dropped = contents.len() - live;
        survey.copies(store, own, request, &paths, &contents, &mut going)?;
        survey.concerned = going.iter().map(|(project, _)| project.clone()).collect();
        survey.plan.checkpoints = going.len();
        survey.plan.contents = contents.into_iter().collect();
        survey.plan.unreadable.sort_unstable();
        survey.plan.unreadable.dedup();
        Ok(survey)
    }

    /// The contents at the paths, and the checkpoints that have them, by their places in the order.
    fn at_paths(
        &mut self,
        store: &OpenStore,
        own: &ProjectId,
        paths: &[RelPath],
    ) -> Result<(BTreeSet<ObjectId>, BTreeSet<u64>)> {
        let mut contents = BTreeSet::new();
        let mut sequences = BTreeSet::new();
        let mut of_path: BTreeMap<&RelPath, (usize, BTreeSet<ObjectId>)> =
            paths.iter().map(|path| (path, Default::default())).collect();
        let mut known: BTreeMap<ObjectId, Vec<Place>> = BTreeMap::new();
        for seen in self.readable(store, own)? {
            let places = match known.entry(seen.tree) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => {
                    let found = at_paths(&store.objects, seen.tree, paths).map_err(Error::from);
                    match self.unless_damaged(own, seen.sequence, found)? {
                        Some(found) => free.insert(found),
                        None => continue,
                    }
                }
            };
            if places.is_empty() {
                continue;
            }
            sequences.insert(seen.sequence);
            contents.extend(places.iter().filter_map(Place::content));
            for (path, (checkpoints, ids)) in &mut of_path {
                let below = places.iter().filter(|place| place.path.starts_with(path));
                let mut there = below.peekable();
                let is_there = there.peek().is_some();
                ids.extend(there.map(|place| place.id));
                *checkpoints += usize::from(is_there);
            }
        }
        let found = of_path.into_iter().map(|(path, (checkpoints, ids))| PathFound {
            path: path.clone(),
            checkpoints,
            contents: ids.len(),
        });
        self.plan.paths = found.collect();
        Ok((contents, sequences))
    }

    /// Where else the contents are.
    fn copies(
        &mut self,
        store: &OpenStore,
        own: &ProjectId,
        request: &PurgeRequest,
        paths: &[RelPath],
        contents: &BTreeSet<ObjectId>,
        going: &mut BTreeSet<(ProjectId, u64)>,
    ) -> Result<()> {
        if contents.is_empty() {
            return Ok(());
        }
        let mut search = Contents::new(&store.objects, contents.clone());
        for project in project_ids(store)? {
            let is_own = project == *own;
            let least = if is_own { Copies::GoFromProject } else { Copies::GoFromEverywhere };
            let goes = request.copies >= least;
            let mut found: BTreeMap<RelPath, usize> = BTreeMap::new();
            for seen in self.readable(store, &project)? {
                let places = search.below(seen.tree).map_err(Error::from);
                let Some(places) = self.unless_damaged(&project, seen.sequence, places)? else {
                    continue;
                };
                let asked =
                    |place: &Place| is_own && paths.iter().any(|p| place.path.starts_with(p));
                for place in places.iter().filter(|place| !asked(place)) {
                    *found.entry(place.path.clone()).or_default() += 1;
                    if goes {
                        going.insert((project.clone(), seen.sequence));
                    }
                }
            }
            let workdir = store.identity(&project).workdir();
            let copies = found.into_iter().map(|(path, checkpoints)| CopyFound {
                still_present: !is_own && is_on_disk(workdir.as_deref(), &path),
                project: project.clone(),
                workdir: workdir.clone(),
                path,
                checkpoints,
                goes,
            });
            self.plan.copies.extend(copies);
        }
        Ok(())
    }

    /// The checkpoints of a project that can be read; the others are noted.
    fn readable(&mut self, store: &OpenStore, project: &ProjectId) -> Result<Vec<Seen>> {
        let history = History::load(store, project)?;
        let mut seen = Vec::new();
        for entry in history.entries {
            let (sequence, id) = (entry.sequence, entry.id);
            let commit = store.objects.read_commit(&id).map_err(Error::from);
            let commit = self.unless_damaged(project, sequence, commit)?;
            seen.extend(commit.map(|commit| Seen { sequence, tree: commit.tree }));
        }
        self.plan.unreadable.extend(history.broken);
        Ok(seen)
    }

    /// Notes a checkpoint that cannot be looked into.
    fn unless_damaged<T>(
        &mut self,
        project: &ProjectId,
        sequence: u64,
        read: Result<T>,
    ) -> Result<Option<T>> {
        match read {
            Err(e) if e.kind() == ErrorKind::Damaged => {
                self.plan.unreadable.push(checkpoint_ref(project, sequence));
                Ok(None)
            }
            read => read.map(Some),
        }
    }
}

/// Is something at a path of a project that is somewhere else? What cannot be looked at is not.
fn is_on_disk(workdir: Option<&Path>, path: &RelPath) -> bool {
    let file = workdir.map(|workdir| workdir.join(OsStr::from_bytes(path.as_bytes())));
    file.is_some_and(|file| matches!(stat_path(&file), Ok(Some(_))))
}

/// What was at the paths in checkpoints that were dropped, of any project, and that nothing alive needs.
fn dropped(
    store: &OpenStore,
    paths: &[RelPath],
    progress: &dyn Progress,
) -> Result<BTreeSet<ObjectId>> {
    let go_on = |done| progress.goes_on(done);
    let mut walk = Walk::new(&store.objects, store.dirs.shallow().read()?, &go_on);
    walk.refs(&store.dirs.refs().list("refs")?.refs)?;
    let mut found = BTreeSet::new();
    for id in dead_commits(&store.dirs, &store.objects, &walk)? {
        let Ok(commit) = store.objects.read_commit(&id) else { continue };
        // A tree that cannot be read to its end gives its contents to nobody by their paths.
        let places = at_paths(&store.objects, commit.tree, paths).unwrap_or_default();
        for content in places.iter().filter_map(Place::content) {
            if !walk.has(&content) && store.objects.contains(&content)? {
                found.insert(content);
            }
        }
    }
    Ok(found)
}
