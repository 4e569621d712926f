//! What can go wrong, as the callers of the engine see it.

use std::path::{Path, PathBuf};

use herma_diff::DiffError;
use herma_exchange::ExchangeError;
use herma_fs::Errno;
use herma_records::checkpoint::address::{BadCheckpointName, BadSpec};
use herma_records::step::{StepId, StepKind};
use herma_store::error::StoreError;
use herma_store::gc::GcError;
use herma_store::objects::ObjectError;
use herma_store::path::BadName;
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::ModesError;
use herma_worktree::present::ScanError;
use herma_worktree::reason::Reason;

use crate::directory::{RootError, RootRefused};
use crate::types::asked::WhichStep;
use crate::types::kept::Kept;

/// What came of it, or why nothing did.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What an engine call answers when it cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody said where Herma's home is.
    #[error("neither HERMES_HOME nor HOME is set, so nobody knows where checkpoints are kept")]
    NoHome,
    /// There is no store yet: nothing was ever saved.
    #[error("there is no store at {}", .0.display())]
    NoStore(PathBuf),
    /// The project has no checkpoints.
    #[error("no checkpoints for {}", .root.display())]
    NoCheckpoints {
        /// The project.
        root: PathBuf,
    },
    /// Nothing in this project goes by that name.
    #[error("no checkpoint of this project is called `{spec}`")]
    NotFound {
        /// What was asked for.
        spec: String,
    },
    /// An id prefix fits several checkpoints.
    #[error("`{prefix}` fits {} checkpoints", .matches.len())]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The checkpoints it fits.
        matches: Vec<ObjectId>,
    },
    /// No checkpoint has this number now.
    #[error("{}", no_such_number(*.number, *.was_given, .nearest))]
    NoSuchNumber {
        /// What was asked for.
        number: u64,
        /// Had one that number before it was dropped?
        was_given: bool,
        /// The numbers next to it.
        nearest: Vec<u64>,
    },
    /// It is the oldest.
    #[error("there is no checkpoint before {number}, which is the oldest")]
    NothingBefore {
        /// What was asked for.
        number: u64,
    },
    /// The oldest checkpoint is younger.
    #[error("there is no checkpoint as old as `{text}`")]
    NothingThatOld {
        /// The time that was asked for.
        text: String,
    },
    /// A time that is the beginning of an id as well.
    #[error("`{text}` is a time, and the beginning of the id {id}")]
    TwoReadings {
        /// What was asked for.
        text: String,
        /// The checkpoint with this id.
        id: ObjectId,
    },
    /// So many checkpoints before the newest there is none.
    #[error("there is no checkpoint `@-{back}`: the oldest is `@-{}`", .count.saturating_sub(1))]
    TooFarBack {
        /// How far back was asked for.
        back: usize,
        /// How many there are.
        count: usize,
    },
    /// The directory that the store would be in cannot be made.
    #[error("{} cannot be made, and the store would be in it", path.display())]
    HomeNotMade {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: herma_fs::Error,
    },
    /// A text that cannot name a checkpoint.
    #[error(transparent)]
    BadSpec(#[from] BadSpec),
    /// A name that cannot be given.
    #[error("`{name}` cannot be a checkpoint's name: {source}")]
    BadName {
        /// The name.
        name: String,
        /// Why not.
        source: BadCheckpointName,
    },
    /// The name is in use.
    #[error("the name `{name}` belongs to checkpoint {}", &.id.to_hex()[..7])]
    NameTaken {
        /// The name.
        name: String,
        /// Whose it is.
        id: ObjectId,
    },
    /// This directory cannot be a project.
    #[error(transparent)]
    Root(#[from] RootRefused),
    /// The project could not be found.
    #[error(transparent)]
    FindRoot(#[from] RootError),
    /// A path outside the project.
    #[error("{} is not inside {}", path.display(), root.display())]
    PathOutside {
        /// The path.
        path: PathBuf,
        /// The project.
        root: PathBuf,
    },
    /// A path no project can contain.
    #[error("{} cannot be part of a project: {source}", path.display())]
    BadPath {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: BadName,
    },
    /// A path that is neither in the checkpoint nor in the project.
    #[error("{path} is neither in the checkpoint nor in the project")]
    PathUnknown {
        /// The path.
        path: RelPath,
    },
    /// The checkpoint holds none of the paths that were asked for, nor does it vouch for their absence.
    #[error("{}", not_held(.paths))]
    NotInCheckpoint {
        /// The paths, and why.
        paths: Vec<Kept>,
    },
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Saved data is missing or damaged.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The project could not be scanned.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// Two states could not be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A restore could not be planned or applied.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// No such step is remembered.
    #[error("{}", no_such_step(.0))]
    NoSuchStep(WhichStep),
    /// Several sessions have a turn of this name.
    #[error("{} sessions have a turn `{turn}`", .sessions.len())]
    TurnOfSeveral {
        /// Its name.
        turn: String,
        /// The sessions.
        sessions: Vec<String>,
    },
    /// Several sessions begin like this.
    #[error("{} sessions begin with `{begins}`", .sessions.len())]
    SessionUnclear {
        /// What was named.
        begins: String,
        /// The sessions.
        sessions: Vec<String>,
    },
    /// The step has ended already.
    #[error("step {0} has ended already")]
    StepIsOver(StepId),
    /// What would be undone has not ended.
    #[error("{} is still under way", under_way(.0, .1.as_deref()))]
    UnderWay(StepId, Option<String>),
    /// None of the steps that were asked for is remembered, or none changed anything.
    #[error("there is no such step")]
    NoSteps,
    /// The steps that were asked for are remembered, but not what they changed.
    #[error("the checkpoints of {} are gone: what was done can no longer be undone", steps_named(.0))]
    StepsForgotten(Vec<StepId>),
    /// A restore was interrupted, or is under way.
    #[error("a restore is not finished: part of the files is as before it, part as after it")]
    RestoreUnfinished,
    /// A restore of another project was interrupted, or is under way.
    #[error("a restore of {} is not finished", .project_name)]
    OtherRestoreUnfinished {
        /// Where the project is, or its id.
        project_name: String,
    },
    /// All of a project cannot be taken out of its own checkpoints.
    #[error("the whole project cannot be purged from its checkpoints")]
    PurgeOfAll,
    /// The checkpoint has another id since something was taken out of it.
    #[error("checkpoint {old} was rewritten by `herma purge` and is {new} now")]
    Rewritten {
        /// Its id before.
        old: ObjectId,
        /// Its id now.
        new: ObjectId,
    },
    /// Files changed between planning and carrying out.
    #[error("files changed since this was worked out; nothing was changed")]
    ChangedSincePlan,
    /// There is nothing older to go back to.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// Several were to be undone at once, and only so many are there.
    #[error("there {} to undo", if *.0 == 1 { "is only one prompt".to_owned() } else { format!("are only {} prompts", .0) })]
    FewerToUndo(usize),
    /// Several were to be undone at once, and this is among them.
    #[error("{} {} is among them, and it is undone by itself", .1.word(), .0)]
    UndoneAlone(StepId, StepKind),
    /// Several were to be undone at once, and nothing that an agent did can be.
    #[error("no prompts can be undone now, and only prompts are undone several at once")]
    NoPrompts,
    /// Nothing was undone, or the undone state is gone.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// Files changed after the undo, so there is no straight way forward.
    #[error("files changed since the last undo, so there is nothing to redo")]
    ChangedSinceUndo,
    /// An interrupted restore needs this checkpoint to be finished or reversed.
    #[error("checkpoint {id} is needed by the restore that was interrupted")]
    NeededByInterrupted {
        /// The checkpoint.
        id: ObjectId,
    },
    /// The project's directory was deleted, or is not mounted.
    #[error("{} is not there any more", root.display())]
    RootGone {
        /// Where it was.
        root: PathBuf,
    },
    /// The project's directory is gone, and cannot be made again where it was.
    #[error("{} is gone, and another file system is where it was", root.display())]
    OtherFileSystem {
        /// Where it was.
        root: PathBuf,
    },
    /// No restore was interrupted.
    #[error("no restore was interrupted here")]
    NothingToContinue,
    /// Checkpoints came or went since somebody was shown what would be removed.
    #[error("checkpoints were saved or dropped since this was shown")]
    ChangedSinceShown,
    /// Refs are missing or cannot be read, and with them what they kept.
    #[error("refs of the store are missing or damaged: {}", lost_refs(.refs, *.more))]
    RefsLost {
        /// Some of them.
        refs: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// There is no such archive of version 1.
    #[error("there is no legacy archive or repository called `{name}`")]
    NoSuchArchive {
        /// What was asked for.
        name: String,
    },
    /// No line goes by this name.
    #[error("there is no line `{name}` here{}", known_lines(.known, *.is_unfinished))]
    NoSuchLine {
        /// What was asked for.
        name: String,
        /// The lines there are.
        known: Vec<String>,
        /// Is it one that did not come in whole?
        is_unfinished: bool,
    },
    /// What was asked for is done only to the project's own checkpoints.
    #[error(
        "`{spec}@{line}` is a row that was imported: it can be shown, compared and restored, and nothing else"
    )]
    RowOfLine {
        /// The row.
        spec: String,
        /// Its line.
        line: String,
    },
    /// A line is only read.
    #[error("the line `{line}` was imported and is only read")]
    ReadOnlyLine {
        /// Its name.
        line: String,
    },
    /// The name of a line is in use.
    #[error("there is another line `{name}` here")]
    LineThere {
        /// The name.
        name: String,
    },
    /// A line cannot be called so.
    #[error(
        "`{name}` cannot be the name of a line: it is letters, digits, `-`, `_` and `.`, and begins with a letter or digit"
    )]
    BadLineName {
        /// The name.
        name: String,
    },
    /// A file cannot be written or read under this name.
    #[error("{} cannot be used: it is no ordinary file, or its name is no text", path.display())]
    BadExportName {
        /// The name.
        path: PathBuf,
    },
    /// The file that was to be written is there.
    #[error("{} is there already", path.display())]
    FileThere {
        /// The file.
        path: PathBuf,
    },
    /// What was to come in would leave too little room for the checkpoints made here.
    #[error("it has {bytes} bytes, more than half of the {limit} that the store may have")]
    ImportTooLarge {
        /// How many bytes it has.
        bytes: u64,
        /// How many the store may have.
        limit: u64,
    },
    /// A file cannot be taken in.
    #[error("{} cannot be imported: {source}", path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ExchangeError,
    },
    /// An export could not be written, or read.
    #[error(transparent)]
    Exchange(ExchangeError),
    /// A copy of a state could not be made.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// It cannot be said who wrote a file.
    #[error(transparent)]
    Authorship(#[from] AuthorshipError),
    /// The file system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}

/// Why no copy of a state was made, or nothing came back from one.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// Something is there, or was: another project, another copy.
    #[error("{} is not an empty directory, or has checkpoints of its own", path.display())]
    Taken {
        /// The place.
        path: PathBuf,
    },
    /// It would be saved with the project.
    #[error("{} is inside the project {}", path.display(), root.display())]
    Inside {
        /// The place.
        path: PathBuf,
        /// The project.
        root: PathBuf,
    },
    /// What was to be copied from the present is not there.
    #[error("{path} is not there now")]
    NotThere {
        /// The path.
        path: RelPath,
    },
    /// All of the present cannot be in a copy of the past.
    #[error("the whole project is not something that checkpoints leave out")]
    AllOfIt,
    /// What is there is not the copy, or not all of it.
    #[error("{} is gone, or was never finished", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// It was made of another project.
    #[error("{} was opened from {}", path.display(), of.display())]
    OfAnother {
        /// Where it is.
        path: PathBuf,
        /// The root of that project.
        of: PathBuf,
    },
    /// What it began with is in no checkpoint any more.
    #[error("checkpoint {number}, with which {} began, is gone", path.display())]
    NoBeginning {
        /// Where the copy is.
        path: PathBuf,
        /// The number it had in its project.
        number: u64,
    },
}

/// What kind of failure it is; each has an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It did not work.
    Failed,
    /// It was asked for wrongly.
    Usage,
    /// There is no store or no such checkpoint.
    NothingThere,
    /// Somebody else is working on it.
    Busy,
    /// Saved data is damaged.
    Damaged,
    /// The caller stopped it.
    Cancelled,
}

impl Error {
    /// A file that cannot be taken in, if it is the file that is to blame.
    pub(crate) fn of_import(path: &Path, error: ExchangeError) -> Self {
        if error.is_of_file() {
            Self::Import { path: path.to_owned(), source: error }
        } else {
            error.into()
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoStore(_)
            | Self::NoCheckpoints { .. }
            | Self::NotFound { .. }
            | Self::Rewritten { .. }
            | Self::NoSuchArchive { .. }
            | Self::NoSuchLine { .. }
            | Self::NoSuchStep(_)
            | Self::NoSteps
            | Self::NotInCheckpoint { .. }
            | Self::StepsForgotten(_)
            | Self::NoSuchNumber { .. }
            | Self::TooFarBack { .. }
            | Self::NothingBefore { .. }
            | Self::NothingThatOld { .. } => ErrorKind::NothingThere,
            Self::TwoReadings { .. }
            | Self::TurnOfSeveral { .. }
            | Self::SessionUnclear { .. }
            | Self::BadSpec(_)
            | Self::BadName { .. }
            | Self::BadPath { .. }
            | Self::PathOutside { .. }
            | Self::PathUnknown { .. }
            | Self::RowOfLine { .. }
            | Self::ReadOnlyLine { .. }
            | Self::LineThere { .. }
            | Self::BadLineName { .. }
            | Self::BadExportName { .. }
            | Self::FileThere { .. }
            | Self::Import { .. }
            | Self::Copy(_)
            | Self::PurgeOfAll => ErrorKind::Usage,
            Self::RefsLost { .. } => ErrorKind::Damaged,
            Self::Store(e) | Self::Scan(ScanError::Store(e)) => store_kind(e),
            Self::Fs(e) | Self::Object(ObjectError::Fs(e)) if is_in_the_way(e) => {
                ErrorKind::Damaged
            }
            Self::Scan(ScanError::Cancelled) => ErrorKind::Cancelled,
            Self::Object(ObjectError::Fs(_)) => ErrorKind::Failed,
            Self::Object(_) | Self::Diff(DiffError::Damaged { .. } | DiffError::Store { .. }) => {
                ErrorKind::Damaged
            }
            Self::Restore(e) => e.kind(),
            _ => ErrorKind::Failed,
        }
    }

    /// Does this keep one checkpoint from being read, and no other? It is damaged, or in a pack that may not be opened.
    pub(crate) fn is_of_one_checkpoint(&self) -> bool {
        match self {
            Self::Object(ObjectError::Fs(e)) => herma_store::error::is_forbidden_pack(e),
            other => other.kind() == ErrorKind::Damaged,
        }
    }
}

fn not_held(paths: &[Kept]) -> String {
    let words: Vec<String> = paths
        .iter()
        .map(|kept| format!("{} cannot be brought back: {}", kept.path, kept.why))
        .collect();
    words.join("\n")
}

/// Is this something of another kind where a file or a directory of the store belongs?
fn is_in_the_way(error: &herma_fs::Error) -> bool {
    let kinds = [Errno::NOTDIR, Errno::ISDIR, Errno::LOOP, Errno::NXIO, Errno::SPIPE];
    let is_kind = error.errno().is_some_and(|errno| kinds.contains(&errno));
    let parts: Vec<_> = error.path.components().map(std::path::Component::as_os_str).collect();
    is_kind && parts.windows(2).any(|two| two[0] == "checkpoints" && two[1] == "store")
}

fn lost_refs(refs: &[String], more: usize) -> String {
    let shown: Vec<String> =
        refs.iter().map(|name| herma_store::path::escape(name.as_bytes())).collect();
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

fn no_such_step(which: &WhichStep) -> String {
    match which {
        WhichStep::Id(id) => format!("there is no step {id}"),
        WhichStep::Call { id: call, .. } => {
            let call = herma_store::path::escape(call.as_bytes());
            format!("no step with the call id `{call}` is under way")
        }
    }
}

fn under_way(id: &StepId, prompt: Option<&str>) -> String {
    match prompt {
        Some(prompt) => format!("the prompt \"{}\"", herma_store::path::escape(prompt.as_bytes())),
        None => format!("step {id}"),
    }
}

fn steps_named(ids: &[StepId]) -> String {
    match ids {
        [id] => format!("step {id}"),
        _ => "these steps".to_owned(),
    }
}

pub(crate) fn store_kind(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::Busy { .. } => ErrorKind::Busy,
        StoreError::Fs(e) if is_in_the_way(e) => ErrorKind::Damaged,
        StoreError::Missing { .. }
        | StoreError::Damaged { .. }
        | StoreError::DamagedFile { .. } => ErrorKind::Damaged,
        _ => ErrorKind::Failed,
    }
}

impl From<ExchangeError> for Error {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Cancelled => Self::Scan(ScanError::Cancelled),
            ExchangeError::Store(e) => e.into(),
            ExchangeError::Object(e) => e.into(),
            ExchangeError::Fs(e) => e.into(),
            other => Self::Exchange(other),
        }
    }
}

fn known_lines(known: &[String], is_unfinished: bool) -> String {
    match known {
        _ if is_unfinished => ": its import was interrupted".to_owned(),
        [] => String::new(),
        known => format!(": those here are {}", known.join(", ")),
    }
}

impl From<herma_store::threads::NoThreads> for Error {
    fn from(error: herma_store::threads::NoThreads) -> Self {
        Self::Scan(error.into())
    }
}

impl From<GcError> for Error {
    fn from(error: GcError) -> Self {
        match error {
            GcError::Threads(e) => e.into(),
            GcError::Object(e) => e.into(),
            GcError::Store(e) => e.into(),
            GcError::Fs(e) => e.into(),
            _ => Self::Scan(ScanError::Cancelled),
        }
    }
}

impl From<ModesError> for Error {
    fn from(error: ModesError) -> Self {
        match error {
            ModesError::Object(e) => e.into(),
            ModesError::Store(e) => e.into(),
            _ => Self::Restore(RestoreError::BadModes),
        }
    }
}

/// Why a restore could not be planned or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The present state of these files could not be saved; nothing was changed.
    #[error("the present state of {} could not be saved first", names(.paths))]
    Unsafe {
        /// The files.
        paths: Vec<RelPath>,
    },
    /// The checkpoint cannot be read. Nothing was changed, or the journal knows the way back.
    #[error("{path} cannot be read from the checkpoint")]
    Damaged {
        /// The file or directory.
        path: RelPath,
        /// What the store said.
        source: ObjectError,
    },
    /// What is to be displaced cannot be brought back from the store, and could not be stored again; nothing was changed.
    #[error("the stored copy of {path} cannot be read back, and it could not be stored again")]
    Unproven {
        /// The file.
        path: RelPath,
        /// Why not.
        source: Box<Error>,
    },
    /// The checkpoint's list of modes is malformed; nothing was changed.
    #[error("the checkpoint's list of modes is malformed")]
    BadModes,
    /// On this file system these are not different names; nothing was changed.
    #[error("the file system takes these names for one: {}", names(.paths))]
    OneName {
        /// The names, those that belong together one after the other.
        paths: Vec<RelPath>,
    },
    /// Writing stopped part way. The journal knows how to go on or back.
    #[error("the restore stopped at {path}")]
    Stopped {
        /// Where.
        path: RelPath,
        /// What the system said.
        source: herma_fs::Error,
    },
}

impl RestoreError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Damaged { source: ObjectError::Fs(_), .. } => ErrorKind::Failed,
            Self::Damaged { .. } | Self::Unproven { .. } | Self::BadModes => ErrorKind::Damaged,
            _ => ErrorKind::Failed,
        }
    }
}

fn names(paths: &[RelPath]) -> String {
    let shown: Vec<String> = paths.iter().take(3).map(ToString::to_string).collect();
    match paths.len() {
        0..=3 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), more - 3),
    }
}

/// Why it cannot be said who wrote a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorshipError {
    /// A directory, a link or a nested repository.
    #[error("{path} is not a file")]
    NotAFile {
        /// The path.
        path: RelPath,
    },
    /// A file without lines.
    #[error("{path} is a binary file: it has no lines")]
    Binary {
        /// The file.
        path: RelPath,
    },
    /// A file beyond all that is compared line by line.
    #[error("{path} is larger than {limit} bytes, too large to be looked at line by line")]
    TooLarge {
        /// The file.
        path: RelPath,
        /// The limit it exceeds.
        limit: u64,
    },
    /// A file that was there and is gone.
    #[error("{path} is not there any more")]
    Gone {
        /// The file.
        path: RelPath,
    },
    /// A file that no checkpoint takes in, so that nobody knows who changed it.
    #[error("{path} is left out of checkpoints ({})", .reason.word())]
    LeftOut {
        /// The file.
        path: RelPath,
        /// Why.
        reason: Reason,
    },
}
/// Why a number leads to no checkpoint, and which would.
fn no_such_number(number: u64, was_given: bool, nearest: &[u64]) -> String {
    let what = if was_given {
        format!("checkpoint {number} is gone: it was dropped or cleaned up")
    } else {
        format!("there is no checkpoint {number}")
    };
    let numbers: Vec<String> = nearest.iter().map(u64::to_string).collect();
    match &numbers[..] {
        [] => what,
        near => format!("{what}; the nearest: {}", near.join(", ")),
    }
}
