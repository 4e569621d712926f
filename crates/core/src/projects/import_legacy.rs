//! Bringing the history of version 1 repositories into the store.
//!
//! Their commits become checkpoints as they are, with their ids and times, older than those the project
//! has. The repositories themselves are only read.
//!
//! Refs are created from the newest to the oldest. After a kill the ones that are there are the last of
//! the chain, so the next run puts the others in front of them, where they belong.

use crate::purge::refs::own_refs;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use herma_fs::publish::Durability;
use herma_fs::{Dir, FileKind};
use herma_records::identity::Identity;
use herma_store::error::StoreError;
use herma_store::layout::base;
use herma_store::layout::base::Found;
use herma_store::layout::sweep::kind_of;
use herma_store::object::commit::Commit;
use herma_store::objects::Objects;
use herma_store::pack::write::PackWriter;
use herma_store::refs::head::read_head;
use herma_store::refs::scheme::{checkpoint_ref, mirror_ref, pin_ref};
use herma_store::transfer::Transfer;
use herma_store::{ObjectId, ProjectId, layout};

use crate::engine::history::{History, Labels};
use crate::engine::lock::lock_project;
use crate::engine::open::OpenStore;
use crate::engine::{Engine, Progress, Stage};
use crate::error::Result;
use crate::projects::adopt::numbers_of_older;

/// How far back a chain of commits is followed.
const MAX_CHAIN_COMMITS: usize = 100_000;

/// How to bring old history in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Pin every imported checkpoint, so that no cleaning takes it.
    pub pin: bool,
}

/// What came of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The archive it is in; `None` if it stands beside the store.
    pub archive: Option<OsString>,
    /// Its project.
    pub project: ProjectId,
    /// The directory it belongs to.
    pub workdir: Option<PathBuf>,
    /// How many checkpoints were brought in.
    pub checkpoints: usize,
    /// How many were in the store already.
    pub skipped: usize,
    /// How many could not be brought in, at least.
    pub lost: usize,
    /// Why some or all could not.
    pub problem: Option<String>,
}

/// A repository of version 1.
struct Source {
    archive: Option<OsString>,
    project: ProjectId,
    /// The repository, or why it is none.
    dir: Result<Dir, &'static str>,
}

impl Source {
    /// What can be said before anything was brought in.
    fn untouched(&self) -> Imported {
        let workdir = self.dir.as_ref().ok().and_then(base::workdir_of);
        Imported {
            archive: self.archive.clone(),
            project: self.project.clone(),
            // Another path than the one the repository is named after is not its project's.
            workdir: workdir.filter(|path| ProjectId::of(path) == self.project),
            checkpoints: 0,
            skipped: 0,
            lost: 0,
            problem: self.dir.as_ref().err().map(|what| (*what).to_owned()),
        }
    }
}

/// The commits of a repository, newest first, and why there are no older ones.
#[derive(Default)]
struct Chain {
    commits: Vec<(ObjectId, Commit)>,
    cut: Option<String>,
}

impl Engine {
    /// Brings the history of all version 1 repositories into the store, those beside it and those in
    /// archives. What is in the store already is not brought in twice.
    pub fn import_legacy(
        &self,
        options: &ImportOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<Imported>> {
        let Some((_, dir)) = layout::open_base(&self.base())? else { return Ok(Vec::new()) };
        let found = sources(&dir)?;
        if found.iter().all(|source| source.dir.is_err()) {
            return Ok(found.iter().map(Source::untouched).collect());
        }
        let store = self.open_for_writing()?;
        progress.stage(Stage::Saving);
        let mut imported = Vec::new();
        // Listed again: making the store may have moved them into an archive.
        for source in sources(&dir)? {
            imported.push(self.import(&store, &source, *options, progress)?);
        }
        Ok(imported)
    }

    fn import(
        &self,
        store: &OpenStore,
        source: &Source,
        options: ImportOptions,
        progress: &dyn Progress,
    ) -> Result<Imported> {
        let project = &source.project;
        let mut imported = source.untouched();
        let Ok(repository) = &source.dir else { return Ok(imported) };
        let objects = match repository.open_dir("objects") {
            Ok(dir) => Objects::open(dir),
            Err(e) => {
                imported.problem = Some(format!("{e}: {}", e.source));
                return Ok(imported);
            }
        };
        let _lock = lock_project(&store.dirs, project, self.options.settings.lock_wait)?;
        own_refs(store, project)?;
        let ours = History::load(store, project)?;
        let chain = read_chain(repository, &objects);
        let fresh = copy(store, &objects, &ours, &chain, &mut imported, progress)?;
        if !fresh.is_empty() {
            self.write_record(store, &imported, &fresh)?;
            give_refs(store, &ours, &fresh)?;
            imported.checkpoints = fresh.len();
        }
        if options.pin {
            pin(store, project, &chain)?;
        }
        Ok(imported)
    }

    /// Writes `projects/<id>.json` if the store has none. The history was touched now, by who asked for
    /// it: cleaning by age must not take it away at once.
    fn write_record(
        &self,
        store: &OpenStore,
        imported: &Imported,
        fresh: &[&(ObjectId, Commit)],
    ) -> Result<()> {
        if store.read_record(&imported.project).is_ok_and(|record| record.is_some()) {
            return Ok(());
        }
        let oldest = fresh.last().map_or(0, |(_, commit)| commit.author.seconds);
        let mut identity = Identity::default();
        let now = self.options.clock.now().as_float();
        identity.complete(imported.workdir.as_deref(), oldest as f64, now);
        store.write_identity(&imported.project, &identity, Durability::Synced)
    }
}

/// Copies what the store lacks into one pack and makes that durable; returns the commits that are
/// whole, newest first.
fn copy<'c>(
    store: &OpenStore,
    objects: &Objects,
    ours: &History,
    chain: &'c Chain,
    imported: &mut Imported,
    progress: &dyn Progress,
) -> Result<Vec<&'c (ObjectId, Commit)>> {
    let writer = PackWriter::new(&store.dirs, &store.objects)?;
    let mut transfer = Transfer::new(objects, &writer);
    let mut fresh = Vec::new();
    for (done, link) in chain.commits.iter().enumerate() {
        progress.check()?;
        progress.files(done as u64, Some(chain.commits.len() as u64));
        let (id, commit) = link;
        if ours.contains(id) {
            imported.skipped += 1;
        } else if let Some(what) = transfer.commit(id, &commit.tree)? {
            imported.lost += 1;
            imported.problem.get_or_insert(what);
        } else {
            fresh.push(link);
        }
    }
    if let Some(cut) = &chain.cut {
        imported.lost += 1;
        imported.problem.get_or_insert_with(|| cut.clone());
    }
    // ORDER: the objects are durable before anything names them.
    writer.finish(Durability::Synced)?;
    Ok(fresh)
}

/// The repositories beside the store, then those in archives, the latest archive first: each one's
/// history goes in front of what was imported before.
fn sources(dir: &Dir) -> Result<Vec<Source>> {
    let mut found = repositories(dir, None)?;
    for entry in dir.entries()?.iter().rev() {
        if base::classify(dir, entry)? == Found::Archive {
            let archive = dir.open_dir(entry.name.as_c_str())?;
            let name = base::os_name(&entry.name);
            found.extend(repositories(&archive, Some(&name))?);
        }
    }
    Ok(found)
}

fn repositories(dir: &Dir, archive: Option<&OsString>) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for entry in dir.entries()? {
        let repository = match base::classify(dir, &entry)? {
            Found::Repository(_) => Ok(dir.open_dir(entry.name.as_c_str())?),
            Found::Foreign => Err(match kind_of(dir, &entry)? {
                Some(FileKind::Symlink) => "it is a link, and links are not followed",
                _ => "it is no repository",
            }),
            _ => continue,
        };
        // Anything else that is called like a project must be named: somebody may miss it.
        if let Some(project) = ProjectId::parse(entry.name.to_bytes()) {
            found.push(Source { archive: archive.cloned(), project, dir: repository });
        }
    }
    Ok(found)
}

fn read_chain(repository: &Dir, objects: &Objects) -> Chain {
    let mut chain = Chain::default();
    let mut next = match read_head(repository) {
        Ok(head) => head,
        Err(e) => {
            chain.cut = Some(e.to_string());
            return chain;
        }
    };
    let mut seen = HashSet::new();
    while let Some(id) = next.filter(|id| seen.insert(*id)) {
        if chain.commits.len() >= MAX_CHAIN_COMMITS {
            chain.cut = Some(format!("only the latest {MAX_CHAIN_COMMITS} were looked at"));
            break;
        }
        match objects.read_commit(&id) {
            Ok(commit) => {
                next = commit.parents.first().copied();
                chain.commits.push((id, commit));
            }
            Err(e) => {
                chain.cut = Some(e.to_string());
                break;
            }
        }
    }
    chain
}

/// Makes the copied commits checkpoints.
fn give_refs(store: &OpenStore, ours: &History, fresh: &[&(ObjectId, Commit)]) -> Result<()> {
    let project = &ours.project;
    let coming: HashSet<ObjectId> = fresh.iter().map(|(id, _)| *id).collect();
    let mut cut_off = Vec::new();
    for (id, commit) in fresh {
        for parent in &commit.parents {
            if !coming.contains(parent) && !store.objects.contains(parent)? {
                cut_off.push(*id);
            }
        }
    }
    // ORDER: before a ref names a commit without its parent, `shallow` says that this is meant.
    if !cut_off.is_empty() {
        store.dirs.shallow().add(&cut_off)?;
    }
    let first = numbers_of_older(store, ours, fresh.len())?;
    let last = first + fresh.len() as u64;
    // ORDER: the newest first, one by one; see the top of this file.
    for (number, (id, _)) in (first..last).rev().zip(fresh) {
        let name = checkpoint_ref(project, number);
        store.dirs.refs().create(&[(&name, *id)])?;
    }
    let history = History::load(store, project)?;
    if let (None, Some(newest)) = (history.mirror, history.newest()) {
        let mirror = mirror_ref(project);
        match store.dirs.refs().update(&mirror, None, newest.id) {
            // A torn one is healed by the next save, and Hermes may have been faster.
            Err(StoreError::RefMoved { .. } | StoreError::DamagedFile { .. }) => {}
            other => other?,
        }
    }
    Ok(())
}

fn pin(store: &OpenStore, project: &ProjectId, chain: &Chain) -> Result<()> {
    let wanted: HashSet<ObjectId> = chain.commits.iter().map(|(id, _)| *id).collect();
    let history = History::load(store, project)?;
    let labels = Labels::load(store, project)?;
    for entry in &history.entries {
        if wanted.contains(&entry.id) && !labels.is_pinned(entry.number) {
            let name = pin_ref(project, entry.number);
            store.dirs.refs().create(&[(&name, entry.id)])?;
        }
    }
    Ok(())
}
