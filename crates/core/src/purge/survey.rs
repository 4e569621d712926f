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
use crate::engine::operation::Operation;
use crate::engine::{Progress, Stage};
use crate::error::{Error, ErrorKind, Result};
use crate::purge::search::{Contents, Place, at_paths};
use crate::purge::{Copies, CopyFound, PathFound, PurgePlan, PurgeRequest};

/// A look through the checkpoints of all projects.
struct Survey<'a> {
    store: &'a OpenStore,
    /// The project and its lines.
    own: BTreeSet<ProjectId>,
    /// The paths that were asked for, sorted.
    paths: Vec<RelPath>,
    copies: Copies,
    /// What was at the paths.
    contents: BTreeSet<ObjectId>,
    /// The checkpoints that have to be made again.
    going: BTreeSet<(ProjectId, u64)>,
    plan: PurgePlan,
}

/// A checkpoint that can be read.
struct Seen {
    number: u64,
    tree: ObjectId,
}

impl Operation<'_> {
    /// Looks through the checkpoints of all projects: what there is to go, and which projects have any of it.
    pub(crate) fn look_through(
        &self,
        request: &PurgeRequest,
    ) -> Result<(PurgePlan, BTreeSet<ProjectId>)> {
        self.progress.stage(Stage::Marking);
        let mut paths = request.paths.clone();
        paths.sort_unstable();
        paths.dedup();
        let mut survey = Survey {
            store: &self.store,
            own: self.with_lines()?,
            paths,
            copies: request.copies,
            contents: BTreeSet::new(),
            going: BTreeSet::new(),
            plan: PurgePlan::default(),
        };
        survey.at_paths()?;
        let live = survey.contents.len();
        survey.contents.extend(dropped(&self.store, &survey.paths, self.progress)?);
        survey.plan.dropped = survey.contents.len() - live;
        survey.copies()?;
        let Survey { mut plan, going, contents, .. } = survey;
        plan.checkpoints = going.len();
        plan.contents = contents.into_iter().collect();
        plan.unreadable.sort_unstable();
        plan.unreadable.dedup();
        Ok((plan, going.into_iter().map(|(project, _)| project).collect()))
    }
}

impl Survey<'_> {
    /// The contents at the paths, and the checkpoints that have them.
    fn at_paths(&mut self) -> Result<()> {
        let paths = self.paths.clone();
        let mut of_path: BTreeMap<&RelPath, (usize, BTreeSet<ObjectId>)> =
            paths.iter().map(|path| (path, Default::default())).collect();
        let mut known: BTreeMap<ObjectId, Vec<Place>> = BTreeMap::new();
        for project in self.own.clone() {
            self.at_paths_of(&project, &paths, &mut known, &mut of_path)?;
        }
        let found = of_path.into_iter().map(|(path, (checkpoints, ids))| PathFound {
            path: path.clone(),
            checkpoints,
            contents: ids.len(),
        });
        self.plan.paths = found.collect();
        Ok(())
    }

    /// The same in the project, or in one line of it.
    fn at_paths_of(
        &mut self,
        project: &ProjectId,
        paths: &[RelPath],
        known: &mut BTreeMap<ObjectId, Vec<Place>>,
        of_path: &mut BTreeMap<&RelPath, (usize, BTreeSet<ObjectId>)>,
    ) -> Result<()> {
        for seen in self.readable(project)? {
            let places = match known.entry(seen.tree) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => {
                    let found =
                        at_paths(&self.store.objects, seen.tree, paths).map_err(Error::from);
                    match self.unless_damaged(project, seen.number, found)? {
                        Some(found) => free.insert(found),
                        None => continue,
                    }
                }
            };
            if places.is_empty() {
                continue;
            }
            self.going.insert((project.clone(), seen.number));
            self.contents.extend(places.iter().filter_map(Place::content));
            for (path, (checkpoints, ids)) in of_path.iter_mut() {
                let mut below =
                    places.iter().filter(|place| place.path.starts_with(path)).peekable();
                *checkpoints += usize::from(below.peek().is_some());
                ids.extend(below.map(|place| place.id));
            }
        }
        Ok(())
    }

    /// Where else the contents are.
    fn copies(&mut self) -> Result<()> {
        if self.contents.is_empty() {
            return Ok(());
        }
        let mut search = Contents::new(&self.store.objects, self.contents.clone());
        for project in project_ids(self.store)? {
            let is_own = self.own.contains(&project);
            let least = if is_own { Copies::GoFromProject } else { Copies::GoFromEverywhere };
            let goes = self.copies >= least;
            let mut found: BTreeMap<RelPath, usize> = BTreeMap::new();
            for seen in self.readable(&project)? {
                let places = search.below(seen.tree).map_err(Error::from);
                let Some(places) = self.unless_damaged(&project, seen.number, places)? else {
                    continue;
                };
                let asked = |place: &&Place| {
                    is_own && self.paths.iter().any(|path| place.path.starts_with(path))
                };
                for place in places.iter().filter(|place| !asked(place)) {
                    *found.entry(place.path.clone()).or_default() += 1;
                    if goes {
                        self.going.insert((project.clone(), seen.number));
                    }
                }
            }
            let workdir = self.store.identity(&project).workdir();
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
    fn readable(&mut self, project: &ProjectId) -> Result<Vec<Seen>> {
        let history = History::load(self.store, project)?;
        let mut seen = Vec::new();
        for entry in history.entries {
            let (number, id) = (entry.number, entry.id);
            let commit = self.store.objects.read_commit(&id).map_err(Error::from);
            let commit = self.unless_damaged(project, number, commit)?;
            seen.extend(commit.map(|commit| Seen { number, tree: commit.tree }));
        }
        self.plan.unreadable.extend(history.broken);
        Ok(seen)
    }

    /// Notes a checkpoint that cannot be looked into.
    fn unless_damaged<T>(
        &mut self,
        project: &ProjectId,
        number: u64,
        read: Result<T>,
    ) -> Result<Option<T>> {
        match read {
            Err(e) if e.kind() == ErrorKind::Damaged => {
                self.plan.unreadable.push(checkpoint_ref(project, number));
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
