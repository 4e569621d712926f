//! Checking the whole store: which checkpoints are damaged, and which of their files.
//!
//! Damage costs what it hits and nothing else, so the answer is a list: checkpoints with the paths they
//! cannot give back, packs, refs and records that cannot be read. Nothing is changed; [`crate::repair`]
//! mends what can be mended.

use std::path::PathBuf;

use herma_records::checkpoint::message::Message;
use herma_records::identity::Identity;
use herma_store::refs::roll::Roll;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref};
use herma_store::repair::own_files;
pub use herma_store::repair::own_files::DamagedRecord;
use herma_store::verify::packs::{DamagedPack, PackFault};
use herma_store::verify::{Hurt, Survey, packs};
use herma_store::{ObjectId, ProjectId};

use crate::engine::history::{Entry, History};
use crate::engine::open::{OpenStore, project_ids};
use crate::engine::{Engine, Progress, Stage};
use crate::error::Result;
use crate::repair::lost::{missing_cuts, missing_extras};
use crate::repair::lost_refs::{known_ids, lost_refs, misplaced};
use crate::repair::refs::misled_refs;
use crate::repair::state_files::damaged_state;

/// Where refs of ours are.
pub(crate) const OUR_REFS: [&str; 4] =
    ["refs/herma", "refs/hermes", "refs/herma-names", "refs/herma-pins"];

/// How much is checked.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Read and hash every file, not only look it up in the indexes.
    pub read_data: bool,
    /// Only the checkpoints of this project.
    pub project: Option<ProjectId>,
}

/// What was checked, and everything that is wrong.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Checkpoints looked at.
    pub checkpoints: u64,
    /// Objects looked at, each once however many checkpoints share it.
    pub objects: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Checkpoints that cannot give back everything, newest first in each project.
    pub damaged: Vec<DamagedFinding>,
    /// Packs that are damaged or have no usable index.
    pub packs: Vec<DamagedPack>,
    /// Refs that cannot be read.
    pub refs: Vec<BrokenRef>,
    /// Records of projects, and other files of the store, that cannot be used.
    pub metadata: Vec<DamagedRecord>,
}

impl Verified {
    /// Is everything in order? A pack without an index that no checkpoint needs is, and a lost step.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty()
            && self.packs.iter().all(|pack| pack.fault == PackFault::NoIndex)
            && self.refs.is_empty()
            && self.metadata.iter().all(is_harmless)
    }
}

/// A checkpoint that cannot give back everything. The paths not named here can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFinding {
    /// Whose it is.
    pub project: ProjectId,
    /// Where that project was when it was last saved.
    pub workdir: Option<PathBuf>,
    /// Its number.
    pub number: u64,
    /// Its commit.
    pub id: ObjectId,
    /// Nothing of it can be read.
    pub is_lost: bool,
    /// Its files that are damaged or missing. An empty path is the whole tree.
    pub paths: Hurt,
    /// Its modes or its list of what was left out are damaged; the files are not.
    pub receipt: bool,
    /// What is wrong, with the first damaged object by name.
    pub what: String,
}

/// A ref that is there but names nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRef {
    /// Its name.
    pub name: String,
    /// What is wrong.
    pub what: String,
}

impl Verified {
    fn broken(&mut self, names: impl IntoIterator<Item = String>, what: &str) {
        let broken = |name| BrokenRef { name, what: what.to_owned() };
        self.refs.extend(names.into_iter().map(broken));
    }
}

/// A record of a step that was lost: it is not synced when the step begins.
fn is_harmless(record: &DamagedRecord) -> bool {
    record.file.starts_with("herma/projects/") && record.file.contains("/steps/")
}

/// A checkpoint to look at, in the words of what may be wrong with it: its tree and its receipt.
type Candidate = (DamagedFinding, Option<ObjectId>, Option<ObjectId>);

impl Engine {
    /// Checks the store. An empty answer if there is none.
    pub fn verify(&self, options: &VerifyOptions, progress: &dyn Progress) -> Result<Verified> {
        let Some(store) = self.open_for_reading()? else { return Ok(Verified::default()) };
        progress.stage(Stage::Verifying);
        verify_store(&store, options, progress).map(|(verified, _)| verified)
    }

    /// The quick part of [`Self::verify`]: refs, records and files of the store, without anything that was saved.
    pub fn verify_quickly(&self) -> Result<Verified> {
        let mut verified = Verified::default();
        if let Some(store) = self.open_for_reading()? {
            let all = VerifyOptions::default();
            if no_refs(&store, &mut verified)? {
                return Ok(verified);
            }
            for project in project_ids(&store)? {
                record(&store, &project, &mut verified);
            }
            broken_refs(&store, &all, &mut verified)?;
            lost(&store, &all, &mut verified)?;
        }
        Ok(verified)
    }
}

/// Checks an open store; also returns the objects that are missing or damaged.
pub(crate) fn verify_store(
    store: &OpenStore,
    options: &VerifyOptions,
    progress: &dyn Progress,
) -> Result<(Verified, Vec<ObjectId>)> {
    let mut verified = Verified::default();
    if no_refs(store, &mut verified)? {
        return Ok((verified, Vec::new()));
    }
    let mut survey = Survey::new(&store.objects);
    let mut candidates = Vec::new();
    for project in project_ids(store)? {
        if options.project.as_ref().is_some_and(|only| *only != project) {
            continue;
        }
        record(store, &project, &mut verified);
        match checkpoints(store, &project, &mut survey, &mut verified) {
            Ok(found) => candidates.extend(found),
            Err(e) => verified.broken([format!("refs/herma/{project}")], &e.to_string()),
        }
        progress.check()?;
    }
    survey.check_blobs(options.read_data, &|done, total| {
        if done % 64 == 0 || done == total {
            progress.files(done, Some(total));
        }
        !progress.is_cancelled()
    })?;
    progress.check()?;
    verified.checkpoints = candidates.len() as u64;
    for candidate in candidates {
        verified.damaged.extend(finding(candidate, &mut survey));
    }
    broken_refs(store, options, &mut verified)?;
    lost(store, options, &mut verified)?;
    (verified.objects, verified.bytes) = (survey.object_count(), survey.bytes());
    match store.dirs.objects().open_dir("pack") {
        Err(e) if e.is_not_found() => {}
        directory => {
            let (packs, read) = packs::check_packs(&store.objects, &directory?, options.read_data)?;
            (verified.packs, verified.bytes) = (packs, verified.bytes + read);
        }
    }
    Ok((verified, survey.damaged().copied().collect()))
}

/// Looks at the commits and trees of one project.
fn checkpoints(
    store: &OpenStore,
    project: &ProjectId,
    survey: &mut Survey<'_>,
    verified: &mut Verified,
) -> Result<Vec<Candidate>> {
    let history = History::load(store, project)?;
    let workdir = store.identity(project).workdir();
    let mut found = Vec::new();
    for entry in history.entries.iter().rev() {
        let commit = survey.commit(&entry.id);
        let tree = commit.as_ref().map(|commit| commit.tree);
        let extra = commit.and_then(|commit| Message::parse(&commit.message).extra);
        for id in tree.iter().chain(&extra) {
            survey.tree(id);
        }
        let other = extra.and_then(|extra| other_extra(store, project, entry, extra));
        let what = "it names something else than the receipt of its checkpoint";
        verified.broken(other.map(|(name, _)| name), what);
        let finding = DamagedFinding {
            project: project.clone(),
            workdir: workdir.clone(),
            number: entry.number,
            id: entry.id,
            is_lost: tree.is_none(),
            paths: Hurt::default(),
            receipt: false,
            what: String::new(),
        };
        found.push((finding, tree, extra));
    }
    Ok(found)
}

/// The ref that keeps the receipt of a checkpoint, and what it names, if that is something else.
pub(crate) fn other_extra(
    store: &OpenStore,
    project: &ProjectId,
    entry: &Entry,
    extra: ObjectId,
) -> Option<(String, ObjectId)> {
    let name = extra_ref(project, entry.number);
    let named = store.dirs.refs().read(&name).ok().flatten();
    let other = named.filter(|named| entry.has_ref && *named != extra)?;
    (!is_purged(store, project, entry, &name, other)).then_some((name, other))
}

/// A purge moves the ref of a receipt before that of its checkpoint, and may have been cut off between them.
fn is_purged(
    store: &OpenStore,
    project: &ProjectId,
    entry: &Entry,
    extra: &str,
    named: ObjectId,
) -> bool {
    let record = store.purge_of(project).ok().flatten();
    let moves = record.map(|record| record.refs).unwrap_or_default();
    // ORDER: the record is read before the ref. It is there until both refs have moved.
    let checkpoint = || store.dirs.refs().read(&checkpoint_ref(project, entry.number));
    moves.iter().any(|m| m.name == extra && m.new == named)
        || checkpoint().ok().flatten() != Some(entry.id)
}

/// What is wrong with a checkpoint, if anything is.
fn finding((mut of, tree, extra): Candidate, survey: &mut Survey<'_>) -> Option<DamagedFinding> {
    if let Some(tree) = tree {
        let (paths, files) = survey.hurt(&tree);
        let lists = extra.and_then(|extra| survey.hurt(&extra).1);
        (of.paths, of.receipt) = (paths, lists.is_some());
        of.what = files.or(lists).unwrap_or_default();
    } else {
        survey.damage(&of.id).unwrap_or_default().clone_into(&mut of.what);
    }
    (of.is_lost || of.receipt || !of.paths.is_empty()).then_some(of)
}

fn broken_refs(store: &OpenStore, options: &VerifyOptions, verified: &mut Verified) -> Result<()> {
    for prefix in OUR_REFS {
        let of_project = options.project.as_ref().map(|project| format!("{prefix}/{project}"));
        let broken = store.dirs.refs().list(of_project.as_deref().unwrap_or(prefix))?.broken;
        verified.broken(broken, "it does not hold an object id");
    }
    Ok(())
}

/// Is something else where the refs belong? Then nothing can be asked about what was saved.
fn no_refs(store: &OpenStore, verified: &mut Verified) -> Result<bool> {
    if misplaced(&store.dirs)?.is_empty() {
        return Ok(false);
    }
    verified.metadata.extend(own_files::problems(&store.dirs)?);
    Ok(!verified.metadata.is_empty())
}

/// Refs that were lost, and files of the store and of projects' own state that cannot be used.
fn lost(store: &OpenStore, options: &VerifyOptions, verified: &mut Verified) -> Result<()> {
    let only = options.project.as_ref();
    for project in known_ids(store)? {
        if only.is_some_and(|only| *only != project) {
            continue;
        }
        for lost in lost_refs(store, &project)? {
            verified.broken([lost.name], lost.kind.what());
        }
        // A power cut may leave one of two refs that were made at once; what is on the roll was there.
        let roll = Roll::read(&store.dirs, &project);
        let was_there = |extra: &str| {
            let checkpoint = extra.strip_suffix(".extra").unwrap_or(extra);
            roll.as_ref().is_none_or(|roll| roll.refs.contains_key(checkpoint))
        };
        let extras = missing_extras(store, &project)?.into_iter();
        let extras = extras.map(|(name, _)| name).filter(|name| was_there(name));
        verified.broken(extras, "it is missing");
        let misled = misled_refs(store, &project)?.into_iter().map(|(name, ..)| name);
        verified.broken(misled, "it names something that is not there");
        let cuts = missing_cuts(store, &project)?.into_iter();
        verified.metadata.extend(cuts.map(|id| DamagedRecord {
            file: "shallow".to_owned(),
            what: format!("it does not say that history ends at {id}"),
        }));
    }
    verified.metadata.extend(damaged_state(store, only)?);
    if only.is_none() {
        verified.metadata.extend(own_files::problems(&store.dirs)?);
    }
    Ok(())
}

fn record(store: &OpenStore, project: &ProjectId, verified: &mut Verified) {
    let file = format!("projects/{project}.json");
    let problem = record_problem(store, project);
    verified.metadata.extend(problem.map(|(what, _)| DamagedRecord { file, what }));
}

/// What is wrong with a project's record, if anything is, and its bytes if they can be read.
pub(crate) fn record_problem(store: &OpenStore, project: &ProjectId) -> Option<(String, Vec<u8>)> {
    match store.read_record(project) {
        Ok(bytes) => bytes.and_then(|bytes| Some((Identity::problem(&bytes)?.to_owned(), bytes))),
        Err(e) => Some((format!("{e}: {}", e.source), Vec::new())),
    }
}
