//! Every way a command can fail, in words: what happened, what state things are in, what to type next.
//!
//! The engine's errors know what happened. What that means to a person at a prompt is decided here and
//! nowhere else, together with the exit code.

use std::error::Error as StdError;
use std::io;
use std::path::Path;

use herma_core::error::ErrorKind;
use herma_core::restore::{Kept, RestoreError};
use herma_core::types::address::BadSpec;
use herma_core::{AuthorshipError, Error, RelPath};
use herma_diff::DiffError;
use herma_exchange::ExchangeError;
use herma_sessions::Error as SessionsError;
use herma_sessions::resume::ResumeError;
use herma_settings::file::FileError;
use herma_settings::{CannotEdit, Problem};
use herma_store::StoreError;
use herma_store::path::escape;
use herma_view::here;
use serde::Serialize;

/// What to type where nothing is saved yet.
pub(crate) const FIRST_SAVE: &str = "`herma save` makes the first checkpoint.";

/// What to do about a project whose directory was deleted.
pub(crate) const MAKE_AGAIN: &str = "`herma undo` makes it again, as it was at the newest checkpoint; `herma restore N` as at another.";

/// What to do about a home that cannot be used.
pub(crate) const ANOTHER_HOME: &str = "Checkpoints and settings are kept there: set `HERMES_HOME` to a directory you may write to, or use `--home DIR`.";

/// The kinds of failure, each with its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// It did not work.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// There is no store or no such checkpoint.
    #[serde(rename = "not-found")]
    NoStore,
    /// Another process is at it.
    Busy,
    /// What was stored is damaged.
    Damaged,
    /// The user stopped it.
    Cancelled,
    /// Nobody reads the output any more: no failure, and nothing to say to anyone.
    BrokenPipe,
}

impl Kind {
    /// The exit code.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoStore => 10,
            Self::Busy => 11,
            Self::Damaged => 12,
            Self::Cancelled => 130,
        }
    }
}

/// A failure as the user hears of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommandError {
    pub(crate) kind: Kind,
    /// What happened.
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    /// What state things are in.
    pub(crate) state: Option<String>,
    /// What to type next.
    pub(crate) hints: Vec<String>,
    /// The directory that has no checkpoints or cannot have any, where that is what happened.
    #[serde(skip)]
    pub(crate) without_checkpoints: Option<Box<Path>>,
}

/// What a command comes to, and parts of it.
pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

/// Adds to a failure what state things are in.
pub(crate) trait WithState<T> {
    /// Says what state things are in, unless that is known better already.
    fn with_state(self, state: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<CommandError>> WithState<T> for Result<T, E> {
    fn with_state(self, state: impl Into<String>) -> Result<T> {
        self.map_err(|error| error.into().with_state(state))
    }
}

impl CommandError {
    /// A failure of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            state: None,
            hints: Vec::new(),
            without_checkpoints: None,
        }
    }

    /// A command line that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A failure of this kind, in the words of an error and its causes.
    pub(crate) fn from_error(kind: Kind, error: &dyn StdError) -> Self {
        let mut new = Self::new(kind, clean(&error.to_string()));
        let mut next = error.source();
        while let Some(cause) = next {
            let text = clean(&cause.to_string());
            // Transparent errors repeat what they wrap, and some messages end with their cause.
            if !new.message.ends_with(&text) && new.causes.last() != Some(&text) {
                new.causes.push(text);
            }
            next = cause.source();
        }
        new
    }

    /// Adds what to type next.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says what to type next, and nothing else of that.
    #[must_use]
    pub(crate) fn with_only_hint(self, hint: impl Into<String>) -> Self {
        Self { hints: vec![hint.into()], ..self }
    }

    /// Says what state things are in, unless that is known better already.
    #[must_use]
    pub(crate) fn with_state(mut self, state: impl Into<String>) -> Self {
        self.state.get_or_insert_with(|| state.into());
        self
    }

    /// What `--json` prints instead of words.
    pub(crate) fn to_json(&self) -> ErrorJson<'_> {
        ErrorJson { schema: "herma.error/1", error: self }
    }
}

/// An error as programs get it.
#[derive(Serialize)]
pub(crate) struct ErrorJson<'e> {
    schema: &'static str,
    error: &'e CommandError,
}

/// An error's text may quote names from disk; a terminal must not act on them.
pub(crate) fn clean(text: &str) -> String {
    text.split('\n').map(|line| escape(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        Self::from_error(Kind::Failed, &problem)
            .with_hint("`herma config show` lists the settings and what they accept.")
    }
}

impl From<CannotEdit> for CommandError {
    fn from(error: CannotEdit) -> Self {
        Self::from_error(Kind::Failed, &error)
            .with_state("The file is as it was.")
            .with_hint("Change it in an editor; `herma config show` tells whether it reads well.")
    }
}

impl From<FileError> for CommandError {
    fn from(error: FileError) -> Self {
        let new = Self::from_error(Kind::Failed, &error);
        match error {
            FileError::Fs(error) => error.into(),
            FileError::Unfit { hint, .. } => {
                Self { hints: hint.into_iter().collect(), ..new }.with_state("Nothing was changed.")
            }
            FileError::ChangedMeanwhile { .. } => Self { kind: Kind::Busy, ..new }
                .with_state("The file is as that program left it.")
                .with_hint("Run the command again."),
        }
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Usage => Kind::Usage,
            ErrorKind::NothingThere => Kind::NoStore,
            ErrorKind::Busy => Kind::Busy,
            ErrorKind::Damaged => Kind::Damaged,
            ErrorKind::Cancelled => Kind::Cancelled,
            ErrorKind::Failed => Kind::Failed,
        };
        let mut new = Self::from_error(kind, &error);
        new.message = from_here(&error).unwrap_or(new.message);
        new.without_checkpoints = match &error {
            Error::NoCheckpoints { root } => Some(root.as_path().into()),
            Error::Root(refused) => refused.directory().map(Into::into),
            _ => None,
        };
        explain(new, &error)
    }
}

/// An error about files that can be typed, with their paths as from the present directory.
fn from_here(error: &Error) -> Option<String> {
    let words =
        |kept: &Kept| format!("{} cannot be brought back: {}", here::path(&kept.path), kept.why);
    match error {
        Error::PathUnknown { path } => {
            Some(format!("{} is neither in the checkpoint nor in the project", here::path(path)))
        }
        Error::NotInCheckpoint { paths } => {
            Some(paths.iter().map(words).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// What to do where there is no undo or redo now.
fn explain_undo(new: CommandError, error: &Error) -> CommandError {
    match error {
        // Most agents tell nothing of a question that was answered with no.
        Error::UnderWay(..) => new
            .with_state("Nothing was changed.")
            .with_hint("`herma undo --running` undoes what it has done so far; the agent goes on.")
            .with_hint(
                "If you stopped it, `--running` is right, too: not every agent says that it was stopped.",
            ),
        Error::NothingToUndo => {
            new.with_hint("`herma list` shows the checkpoints; `herma restore N` goes back to one.")
        }
        Error::FewerToUndo(count) => new
            .with_state("Nothing was changed.")
            .with_hint(format!("The same command with `-n {count}` undoes what there is; `herma list` shows it.")),
        Error::UndoneAlone(..) | Error::NoPrompts => new
            .with_state("Nothing was changed.")
            .with_hint("`herma undo` undoes one after the other; `herma undo --dry-run` shows what is next."),
        Error::NothingToRedo => new
            .with_state("Nothing was changed.")
            .with_hint("`herma redo` redoes what a bare `herma undo` undid, until something new is done. What `herma undo N` undid, `herma undo` brings back; `herma list` shows what is undone."),
        Error::ChangedSinceUndo => new.with_state("Nothing was changed.").with_hint(
            "`herma list` shows the state from before the undo; `herma restore N` goes back to it.",
        ),
        _ => new,
    }
}

/// Adds the state of things and what to type next to an error of the engine.
fn explain(new: CommandError, error: &Error) -> CommandError {
    let new = explain_kind(new, error);
    match error {
        Error::NoStore(_) | Error::NoCheckpoints { .. } => {
            new.with_hint(FIRST_SAVE)
        }
        Error::NotFound { spec } => explain_not_found(new, spec),
        Error::NoSuchNumber { .. }
        | Error::TooFarBack { .. }
        | Error::NothingBefore { .. }
        | Error::NothingThatOld { .. } => {
            new.with_hint("`herma list` shows the checkpoints of this project.")
        }
        Error::Ambiguous { matches, .. } => {
            let ids: Vec<_> = matches.iter().take(5).map(|id| id.to_hex()).collect();
            new.with_hint(format!("Write more of the id: {}", ids.join(", ")))
        }
        Error::HomeNotMade { .. } => new.with_hint(ANOTHER_HOME),
        Error::BadSpec(BadSpec::Present) => new.with_hint(
            "`@` is the newest checkpoint; `herma diff N` compares checkpoint N with the present.",
        ),
        Error::BadSpec(_) => new.with_hint(
            "A checkpoint is a number from `herma list`, the beginning of an id, a name, a time such as 1h or 15:30, or `@-2`.",
        ),
        Error::TwoReadings { text, id } => new.with_hint(format!(
            "Write `id:{text}` for that checkpoint, or the time another way; its id is {id}."
        )),
        Error::BadName { .. } => new.with_hint("For example: `before-refactor`"),
        Error::NameTaken { name, .. } => new
            .with_state("Nothing was saved, and the name stays where it is.")
            .with_hint(format!("`herma unname {}` frees it.", escape(name.as_bytes()))),
        Error::Root(_) | Error::FindRoot(_) => new
            .with_state("Nothing was saved or changed.")
            .with_hint("Go into a project, or name one with `--root DIR`."),
        Error::PathOutside { .. } | Error::BadPath { .. } => {
            new.with_hint("`herma doctor` shows which directory is the project, and why.")
        }
        Error::PathUnknown { path } => explain_unknown_path(new, &here::path(path)),
        Error::NotInCheckpoint { .. } => new
            .with_state("Nothing was changed.")
            .with_hint("`herma show N` names what checkpoint N left out, and why."),
        Error::Restore(error) => explain_restore(new, error),
        Error::NoSuchStep(_) | Error::StepIsOver(_) => {
            new.with_hint("`herma steps --all` shows the steps of this project.")
        }
        Error::TurnOfSeveral { sessions, .. } | Error::SessionUnclear { sessions, .. } => {
            let one = |session: &String| format!("`--session={}`", escape(session.as_bytes()));
            let sessions: Vec<String> = sessions.iter().map(one).collect();
            new.with_state("Nothing was changed.")
                .with_hint(format!("Say which: {}.", sessions.join(", ")))
        }
        Error::UnderWay(..)
        | Error::NothingToUndo
        | Error::FewerToUndo(_)
        | Error::UndoneAlone(..)
        | Error::NoPrompts
        | Error::NothingToRedo
        | Error::ChangedSinceUndo => explain_undo(new, error),
        Error::NeededByInterrupted { .. } => new.with_state("Nothing was removed.").with_hint(
            "`herma restore --continue` finishes that restore, `herma undo` undoes it.",
        ),
        Error::ChangedSinceShown => new
            .with_state("Nothing was removed.")
            .with_hint("Run the command again to see what there is now."),
        Error::NothingToContinue => new.with_state("Nothing was changed."),
        Error::RootGone { .. } => {
            new.with_state("Its checkpoints are as they were.").with_hint(MAKE_AGAIN)
        }
        Error::OtherFileSystem { .. } => new
            .with_state("Nothing was changed.")
            .with_hint("Mount the volume it was on; or make the directory, and try again."),
        Error::RestoreUnfinished => {
            new.with_hint("`herma restore --continue` finishes it; `herma undo` undoes it.")
        }
        Error::OtherRestoreUnfinished { .. } => new.with_state("Nothing was changed.").with_hint(
            "In that project, `herma restore --continue` finishes it; `herma undo` undoes it.",
        ),
        Error::PurgeOfAll => new
            .with_state("Nothing was changed.")
            .with_hint("Name files or directories in it; `herma drop` removes whole checkpoints."),
        Error::Rewritten { new: id, .. } => {
            new.with_hint(format!("Use the new id: `herma show {id}`"))
        }
        Error::NoSteps | Error::StepsForgotten(_) => {
            new.with_hint("`herma steps` lists the steps of this project.")
        }
        Error::Authorship(AuthorshipError::Gone { .. }) => {
            new.with_hint("`herma history FILE` lists the versions it had.")
        }
        Error::Authorship(AuthorshipError::Binary { .. } | AuthorshipError::TooLarge { .. }) => {
            new.with_hint("`herma history FILE` lists its versions, without their lines.")
        }
        Error::Authorship(AuthorshipError::LeftOut { .. }) => new.with_hint(
            "`herma show` lists what is left out; a line in `.hermaignore` can include it again.",
        ),
        Error::Fs(error) if error.is_full() => {
            new.with_hint("The disk is full: free some space and run the command again.")
        }
        _ => explain_exchange(new, error),
    }
}

/// The same for what comes from other machines, or goes there.
fn explain_exchange(new: CommandError, error: &Error) -> CommandError {
    match error {
        Error::NoSuchLine { is_unfinished: true, .. } => new
            .with_hint("Import its file again, or remove it: `herma import --remove NAME`."),
        Error::NoSuchLine { .. } => {
            new.with_hint("`herma import --list` shows what was imported into this project.")
        }
        Error::RowOfLine { spec, line } => new.with_state("Nothing was changed.").with_hint(format!(
            "`herma restore {0}@{1}` brings that state here, and `herma undo` undoes that; `herma diff {0}^@{1} {0}@{1}` is what it changed.",
            escape(spec.as_bytes()),
            escape(line.as_bytes())
        )),
        Error::LineThere { .. } => {
            new.with_hint("Give it another name with `--name`, or remove the other one: `herma import --remove NAME`.")
        }
        Error::FileThere { .. } => new.with_hint("Name another file, or remove that one."),
        Error::ImportTooLarge { .. } => new.with_hint(
            "`herma config set checkpoints.max_total_size_mb` gives the store more room; or export fewer checkpoints.",
        ),
        Error::Import { source: ExchangeError::Newer { .. }, .. } => {
            new.with_hint("Install the newest herma and try again.")
        }
        Error::Import { .. } => new.with_hint("Export it again, or copy the file again."),
        _ => new,
    }
}

/// What somebody may have meant who named no checkpoint of this project.
fn explain_not_found(new: CommandError, spec: &str) -> CommandError {
    let list = "`herma list` shows the checkpoints of this project.";
    let is_hex = !spec.is_empty() && spec.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (digits, rest) = spec.split_at(spec.bytes().take_while(u8::is_ascii_digit).count());
    if is_hex && spec.len() < 4 {
        return new
            .with_hint("The beginning of an id has at least four characters.")
            .with_hint(list);
    }
    if matches!(spec, "HEAD" | "head" | "latest" | "newest" | "last") {
        return new.with_hint("The newest checkpoint is `@`.").with_hint(list);
    }
    let second = rest.strip_prefix('-').filter(|_| !digits.is_empty());
    if let Some(Ok(second)) = second.map(str::parse::<u64>) {
        let is_backwards = digits.parse().is_ok_and(|first: u64| second < first);
        return new
            .with_hint(if is_backwards {
                format!("A range begins with the lower number: {second}-{digits}.")
            } else {
                "This takes one checkpoint at a time.".to_owned()
            })
            .with_hint(list);
    }
    new.with_hint(list)
}

/// The error of a path that nobody ever had.
pub(crate) fn unknown_path(path: &RelPath) -> CommandError {
    let path = here::path(path);
    let message = format!("{path} is neither in the project nor in any of its checkpoints");
    explain_unknown_path(CommandError::usage(message), &path)
}

/// What somebody may have meant who named a path that is not there.
fn explain_unknown_path(new: CommandError, path: &str) -> CommandError {
    let new = new.with_state("Nothing was done.");
    let (file, line) = path.rsplit_once(':').unwrap_or((path, ""));
    if let Some(here) = here::called_from_root(path) {
        new.with_hint(format!(
            "Paths are read from the directory you are in: here `{path}` is `{here}`."
        ))
    } else if path.starts_with('-') {
        new.with_hint(format!("What follows `--` is a path: put `{path}` before it."))
    } else if path.contains(['*', '?', '[']) {
        new.with_hint(
            "Patterns are for the shell: without quotes it puts the files in their place.",
        )
    } else if line.parse::<u64>().is_ok() {
        new.with_hint(format!("`herma blame -L {line} {file}` shows one line of a file."))
    } else {
        new.with_hint("`herma diff --name-only N` lists the files that differ from checkpoint N.")
    }
}

/// Adds what holds for every error of its kind.
fn explain_kind(new: CommandError, error: &Error) -> CommandError {
    match new.kind {
        Kind::Busy => explain_busy(new, error),
        Kind::Damaged => match error {
            Error::RefsLost { .. } => new
                .with_state("Nothing was deleted.")
                .with_hint("`herma checkpoints repair` brings back what is left of them."),
            Error::Store(StoreError::DamagedFile { .. } | StoreError::Fs(_)) | Error::Fs(_) => new
                .with_hint(
                    "`herma checkpoints repair` makes it again; what it replaces is set aside.",
                ),
            _ => new.with_hint("`herma doctor` looks at the store."),
        },
        _ => new,
    }
}

/// What to do about who is in the way. Saves wait as long as they are told to; for the end of a cleaning
/// nobody waits.
fn explain_busy(new: CommandError, error: &Error) -> CommandError {
    match error {
        Error::Store(StoreError::Busy { what, holder, .. }) if what == "the collection" => {
            let who = holder.map_or("Another process".to_owned(), |id| format!("Process {id}"));
            new.with_hint(format!(
                "{who} is cleaning or mending the store; try again when it is done."
            ))
        }
        _ => new.with_hint("Try again in a moment; `herma save --wait 60` waits for a minute."),
    }
}

fn explain_restore(new: CommandError, error: &RestoreError) -> CommandError {
    match error {
        RestoreError::Unsafe { .. } => new.with_state("Nothing was changed.").with_hint(
            "These files could not be saved first; `--keep PATH` leaves one as it is and restores the rest.",
        ),
        RestoreError::Unproven { .. } => new.with_state("Nothing was changed.").with_hint(
            "The file on disk may be the last whole copy. `herma checkpoints verify` tells what is damaged; `--keep PATH` leaves the \
             file as it is and restores the rest.",
        ),
        RestoreError::OneName { .. } => new.with_state("Nothing was changed.").with_hint(
            "`--keep PATH` leaves one of them out and restores the rest. Where a name here differs from the \
             checkpoint's only in how it is written, rename it first.",
        ),
        RestoreError::Damaged { .. } | RestoreError::BadModes => new.with_hint(
            "`herma list` shows the other checkpoints; undamaged ones stay usable.",
        ),
        _ => new,
    }
}

impl From<DiffError> for CommandError {
    fn from(error: DiffError) -> Self {
        match error {
            DiffError::Write(error) => error.into(),
            error => {
                let kind = match error {
                    DiffError::Damaged { .. } | DiffError::Store { .. } => Kind::Damaged,
                    _ => Kind::Failed,
                };
                let new = Self::from_error(kind, &error);
                match error {
                    DiffError::Vanished { .. } => new.with_hint("Run the command again."),
                    DiffError::TooLarge { .. } => {
                        new.with_hint("Without `--binary` large files are only said to differ.")
                    }
                    DiffError::Damaged { .. } | DiffError::Store { .. } => {
                        new.with_hint("`herma doctor` looks at the store.")
                    }
                    _ => new,
                }
            }
        }
    }
}

impl From<ResumeError> for CommandError {
    fn from(error: ResumeError) -> Self {
        let kind = match &error {
            ResumeError::NothingToUpdate(_) => Kind::NoStore,
            ResumeError::Unusable { .. } => Kind::Damaged,
            ResumeError::Busy => Kind::Busy,
            _ => Kind::Failed,
        };
        let new = Self::from_error(kind, &error);
        match &error {
            ResumeError::NothingToUpdate(session) => new.with_hint(format!(
                "`herma resume save {session} --task TEXT` writes the first one."
            )),
            ResumeError::Unusable { session, .. } => {
                new.with_state("The file is as it was.").with_hint(format!(
                    "`herma resume save {session} --task TEXT` sets it aside and writes a new one."
                ))
            }
            ResumeError::Unwritable(_) => new.with_state("The record is as it was."),
            ResumeError::Busy => new.with_hint("Try again in a moment."),
            ResumeError::Fs(error) if error.is_full() => {
                new.with_hint("The disk is full: free some space and run the command again.")
            }
            _ => new,
        }
    }
}

impl From<SessionsError> for CommandError {
    fn from(error: SessionsError) -> Self {
        use SessionsError as E;
        let kind = match &error {
            E::NoDatabase(_) | E::NotFound(_) => Kind::NoStore,
            E::Ambiguous { .. } | E::BadTitle { .. } => Kind::Usage,
            E::Busy { .. } | E::OtherCleaner { .. } | E::OtherMove { .. } => Kind::Busy,
            E::NotADatabase(_)
            | E::NotAFile(_)
            | E::NotSessions { .. }
            | E::Damaged(_)
            | E::BadFile { .. } => Kind::Damaged,
            _ => Kind::Failed,
        };
        let new = Self::from_error(kind, &error);
        match error {
            E::Write(error) => error.into(),
            E::NoDatabase(_) => new.with_hint(
                "It is where Hermes keeps conversations. What other agents did is in `herma steps`.",
            ),
            E::NotFound(_) => new.with_hint("`herma sessions list` shows the sessions."),
            E::Ambiguous { ids, .. } => {
                let ids: Vec<_> = ids.iter().map(|id| clean(id)).collect();
                new.with_hint(format!("Write more of the id: {}", ids.join(", ")))
            }
            E::Active(_) => new.with_state("Nothing was removed.").with_hint(
                "If its process is gone, `herma sessions prune --reap` ends it after a week without activity.",
            ),
            E::Newer { .. } | E::ForeignIndex(_) => new.with_state("Nothing was changed.").with_hint(
                "Listing, searching and exporting work; to change it, use a newer Herma, or Hermes itself.",
            ),
            E::Busy { .. } | E::OtherCleaner { .. } | E::OtherMove { .. } => {
                new.with_hint("Try again in a moment.")
            },
            _ => new,
        }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Kind::BrokenPipe, "nobody reads the output");
        }
        Self::new(Kind::Failed, format!("could not write the output: {error}"))
    }
}

impl From<herma_fs::Error> for CommandError {
    fn from(error: herma_fs::Error) -> Self {
        Self::from_error(Kind::Failed, &error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_documented_exit_code() {
        let codes = [
            (Kind::Failed, 1),
            (Kind::Usage, 2),
            (Kind::NoStore, 10),
            (Kind::Busy, 11),
            (Kind::Damaged, 12),
            (Kind::Cancelled, 130),
            (Kind::BrokenPipe, 0),
        ];
        for (kind, code) in codes {
            assert_eq!(kind.exit_code(), code, "{kind:?}");
        }
    }

    #[test]
    fn a_missing_store_says_how_to_make_one() {
        let error = CommandError::from(Error::NoStore("/store".into()));
        assert_eq!(error.kind, Kind::NoStore);
        assert_eq!(error.hints, ["`herma save` makes the first checkpoint."]);
    }

    #[test]
    fn a_running_collection_is_not_waited_for_by_saving() {
        let busy = |what: &str| {
            let error = StoreError::Busy {
                what: what.to_owned(),
                holder: Some(4711),
                waited: std::time::Duration::from_secs(1),
            };
            CommandError::from(Error::from(error)).hints.concat()
        };
        assert_eq!(
            busy("the collection"),
            "Process 4711 is cleaning or mending the store; try again when it is done."
        );
        assert!(busy("the project").contains("herma save --wait"));
    }

    #[test]
    fn text_from_disk_cannot_move_the_cursor() {
        let path = "a\x1b[2J".into();
        let error = CommandError::from(Error::PathOutside { path, root: "/project".into() });
        assert!(!error.message.contains('\x1b'), "{}", error.message);
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let error = CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(error.kind.exit_code(), 0);
    }
}
