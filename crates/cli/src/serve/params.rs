//! What methods take, and how it becomes arguments.
//!
//! Fields nobody knows are refused: a misspelt `dry_run` must not become a restore.

use serde::Deserialize;
use serde::de::Error as _;

use super::bounds::Page;
use super::call::CommandLine;

/// A checkpoint as people name it: its number in the list, the beginning of its id, a name, `@-2`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a checkpoint is its number in the list, the beginning of its id, a name, or `@-2`"
)]
pub(super) enum Named {
    /// The number.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl Named {
    /// What a person would type.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// Is nothing said?
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

/// A list that is empty says "nothing", and leaving it out says "everything": the one must not become the other.
fn not_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Vec::deserialize(deserializer)?;
    if list.is_empty() {
        let message =
            "`steps` and `paths` are not empty; leave them out if nothing is to be chosen";
        return Err(D::Error::custom(message));
    }
    Ok(list)
}

/// A turn: its name, or `true` for the last one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a turn is its name, or `true` for the last one")]
pub(super) enum TurnNamed {
    /// The last one, or none in particular.
    Last(bool),
    /// The one of this name.
    Name(String),
}

/// Only a project.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct InProject {
    pub(super) root: Option<String>,
}

/// `open`: a project, or the one around a directory.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Open {
    pub(super) root: Option<String>,
    pub(super) directory: Option<String>,
}

/// `list`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct List {
    pub(super) root: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

/// `show`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Show {
    pub(super) root: Option<String>,
    pub(super) checkpoint: Option<Named>,
}

/// `save` and `ensure_checkpoint`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Save {
    pub(super) root: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) name: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) turn: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) rehash: bool,
    pub(super) fast: bool,
    pub(super) wait: Option<u32>,
    /// Only `ensure_checkpoint` has it.
    pub(super) once_per_turn: Option<bool>,
}

impl Save {
    pub(super) fn command(&self) -> CommandLine {
        CommandLine::new(&["save"])
            .option("--message", self.reason.as_ref())
            .option("--name", self.name.as_ref())
            .option("--agent", self.agent.as_ref())
            .option("--session", self.session.as_ref())
            .option("--turn", self.turn.as_ref())
            .option("--tool", self.tool.as_ref())
            .flag("--rehash", self.rehash)
            .flag("--fast", self.fast)
            .option("--wait", self.wait)
    }
}

/// `diff`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Diff {
    pub(super) root: Option<String>,
    pub(super) from: Option<Named>,
    pub(super) to: Option<Named>,
    pub(super) paths: Vec<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) steps: Vec<u64>,
    pub(super) renames: Option<bool>,
    pub(super) patch: bool,
    pub(super) context: Option<u32>,
    pub(super) max_bytes: Option<usize>,
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

impl Diff {
    /// The command, for the checkpoints with these ids.
    pub(super) fn command(&self, checkpoints: &[String]) -> CommandLine {
        let line = CommandLine::new(&["diff"])
            .flag("--no-renames", self.renames == Some(false))
            .option("--unified", self.context)
            .option("--agent", self.agent.as_ref())
            .option("--session", self.session.as_ref());
        let steps = self.steps.iter();
        let line = steps.fold(line, |line, step| line.option("--step", Some(step)));
        let ids = checkpoints.iter();
        ids.fold(line, |line, id| line.checkpoint(id))
            .then(&self.paths)
    }
}

/// `plan_restore` and `restore`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Restore {
    pub(super) root: Option<String>,
    pub(super) checkpoint: Option<Named>,
    #[serde(deserialize_with = "not_empty")]
    pub(super) paths: Vec<String>,
    pub(super) keep: Vec<String>,
    pub(super) all: bool,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) turn: Option<TurnNamed>,
    pub(super) since: Option<String>,
    pub(super) conflicts: Option<String>,
    pub(super) with_transcript: bool,
}

impl Restore {
    /// Is said which steps are meant?
    pub(super) fn is_choice(&self) -> bool {
        let is_turn = matches!(self.turn, Some(TurnNamed::Last(true) | TurnNamed::Name(_)));
        is_turn || self.agent.is_some() || self.session.is_some() || self.since.is_some()
    }

    /// The command, for the checkpoint with this id if one is named.
    pub(super) fn command(&self, checkpoint: Option<String>, dry_run: bool) -> CommandLine {
        let line = CommandLine::new(&["restore"])
            .flag("--dry-run", dry_run)
            .flag("--all", self.all)
            .flag("--with-transcript", self.with_transcript)
            .options("--keep", &self.keep)
            .option("--conflicts", self.conflicts.as_ref());
        let line = choice(
            line,
            [&self.agent, &self.session, &self.since],
            self.turn.as_ref(),
        );
        let checkpoint = checkpoint.map(|id| format!("id:{id}"));
        line.then(checkpoint.as_slice()).then(&self.paths)
    }
}

/// `undo`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Undo {
    pub(super) root: Option<String>,
    #[serde(deserialize_with = "not_empty")]
    pub(super) steps: Vec<u64>,
    #[serde(deserialize_with = "not_empty")]
    pub(super) paths: Vec<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) turn: Option<TurnNamed>,
    pub(super) since: Option<String>,
    pub(super) conflicts: Option<String>,
    pub(super) dry_run: bool,
}

impl Undo {
    pub(super) fn command(&self) -> CommandLine {
        let numbers = self.steps.iter().copied();
        // Numbers first: `--turn`, whose value may be missing, would take one that follows it for its own.
        let line = numbers
            .fold(CommandLine::new(&["undo"]), CommandLine::number)
            .flag("--dry-run", self.dry_run)
            .option("--conflicts", self.conflicts.as_ref());
        choice(
            line,
            [&self.agent, &self.session, &self.since],
            self.turn.as_ref(),
        )
        .then(&self.paths)
    }
}

/// Which steps are meant.
fn choice(
    line: CommandLine,
    [agent, session, since]: [&Option<String>; 3],
    turn: Option<&TurnNamed>,
) -> CommandLine {
    let (last, named) = match turn {
        None | Some(TurnNamed::Last(false)) => (false, None),
        Some(TurnNamed::Last(true)) => (true, None),
        Some(TurnNamed::Name(name)) => (false, Some(name)),
    };
    line.flag("--turn", last)
        .option("--turn", named)
        .option("--only-agent", agent.as_ref())
        .option("--session", session.as_ref())
        .option("--since", since.as_ref())
}

/// `redo`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Redo {
    pub(super) root: Option<String>,
    pub(super) dry_run: bool,
}

/// `new_turn`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NewTurn {
    pub(super) root: Option<String>,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) turn: Option<String>,
    pub(super) prompt: Option<String>,
}

/// `end_turn`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndTurn {
    pub(super) root: Option<String>,
    pub(super) session: String,
}

/// `record_step`: the beginning of a tool call, or its end.
#[derive(Debug, Deserialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub(super) enum RecordStep {
    Begin(BeginStep),
    End(EndStep),
}

/// The beginning of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BeginStep {
    pub(super) root: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) turn: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) call: Option<String>,
    pub(super) command: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) paths: Vec<String>,
    pub(super) within: Option<u64>,
}

impl BeginStep {
    pub(super) fn command(&self) -> CommandLine {
        CommandLine::new(&["step", "begin"])
            .option("--agent", self.agent.as_ref())
            .option("--session", self.session.as_ref())
            .option("--turn", self.turn.as_ref())
            .option("--tool", self.tool.as_ref())
            .option("--call", self.call.as_ref())
            .option("--command", self.command.as_ref())
            .option("--prompt", self.prompt.as_ref())
            .options("--path", &self.paths)
            .option("--within", self.within)
    }
}

/// The end of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EndStep {
    pub(super) root: Option<String>,
    pub(super) step: Option<u64>,
    pub(super) call: Option<String>,
    pub(super) unknown: bool,
}

impl EndStep {
    pub(super) fn command(&self) -> CommandLine {
        let line = CommandLine::new(&["step", "end"])
            .flag("--unknown", self.unknown)
            .option("--call", self.call.as_ref());
        self.step.into_iter().fold(line, CommandLine::number)
    }
}

/// `steps`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Steps {
    pub(super) root: Option<String>,
    pub(super) all: bool,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

/// `prune`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Prune {
    pub(super) retention_days: Option<i64>,
    pub(super) max_size_mb: Option<u64>,
    pub(super) max_snapshots: Option<u64>,
    pub(super) keep_orphans: bool,
    pub(super) dry_run: bool,
}

impl Prune {
    pub(super) fn command(&self) -> CommandLine {
        CommandLine::new(&["checkpoints", "prune", "--force"])
            .option("--retention-days", self.retention_days)
            .option("--max-size-mb", self.max_size_mb)
            .option("--max-snapshots", self.max_snapshots)
            .flag("--keep-orphans", self.keep_orphans)
            .flag("--dry-run", self.dry_run)
    }
}

/// A page of a list.
pub(super) const fn page(offset: usize, limit: Option<usize>) -> Page {
    Page { offset, limit }
}

/// No parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}
