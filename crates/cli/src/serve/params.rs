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
pub(crate) enum Named {
    /// The number.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl Named {
    /// What a person would type.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// Is nothing said?
    pub(crate) fn is_empty(&self) -> bool {
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
pub(crate) enum TurnNamed {
    /// The last one, or none in particular.
    Last(bool),
    /// The one of this name.
    Name(String),
}

/// Only a project.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InProject {
    pub(crate) root: Option<String>,
}

/// `open`: a project, or the one around a directory.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Open {
    pub(crate) root: Option<String>,
    pub(crate) directory: Option<String>,
}

/// `list`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct List {
    pub(crate) root: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) offset: usize,
}

/// `show`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Show {
    pub(crate) root: Option<String>,
    pub(crate) checkpoint: Option<Named>,
}

/// `save` and `ensure_checkpoint`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Save {
    pub(crate) root: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) turn: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) rehash: bool,
    pub(crate) fast: bool,
    pub(crate) wait: Option<u32>,
    /// Only `ensure_checkpoint` has it.
    pub(crate) once_per_turn: Option<bool>,
}

impl Save {
    pub(crate) fn command(&self) -> CommandLine {
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
pub(crate) struct Diff {
    pub(crate) root: Option<String>,
    pub(crate) from: Option<Named>,
    pub(crate) to: Option<Named>,
    pub(crate) paths: Vec<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) steps: Vec<u64>,
    pub(crate) renames: Option<bool>,
    pub(crate) patch: bool,
    pub(crate) context: Option<u32>,
    pub(crate) max_bytes: Option<usize>,
    pub(crate) limit: Option<usize>,
    pub(crate) offset: usize,
}

impl Diff {
    /// The command, for the checkpoints with these ids.
    pub(crate) fn command(&self, checkpoints: &[String]) -> CommandLine {
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
pub(crate) struct Restore {
    pub(crate) root: Option<String>,
    pub(crate) checkpoint: Option<Named>,
    #[serde(deserialize_with = "not_empty")]
    pub(crate) paths: Vec<String>,
    pub(crate) keep: Vec<String>,
    pub(crate) all: bool,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) turn: Option<TurnNamed>,
    pub(crate) since: Option<String>,
    pub(crate) conflicts: Option<String>,
    pub(crate) with_transcript: bool,
}

impl Restore {
    /// Is said which steps are meant?
    pub(crate) fn is_choice(&self) -> bool {
        let is_turn = matches!(self.turn, Some(TurnNamed::Last(true) | TurnNamed::Name(_)));
        is_turn || self.agent.is_some() || self.session.is_some() || self.since.is_some()
    }

    /// The command, for the checkpoint with this id if one is named.
    pub(crate) fn command(&self, checkpoint: Option<String>, dry_run: bool) -> CommandLine {
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
pub(crate) struct Undo {
    pub(crate) root: Option<String>,
    #[serde(deserialize_with = "not_empty")]
    pub(crate) steps: Vec<u64>,
    #[serde(deserialize_with = "not_empty")]
    pub(crate) paths: Vec<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) turn: Option<TurnNamed>,
    pub(crate) since: Option<String>,
    pub(crate) conflicts: Option<String>,
    pub(crate) dry_run: bool,
}

impl Undo {
    pub(crate) fn command(&self) -> CommandLine {
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
pub(crate) struct Redo {
    pub(crate) root: Option<String>,
    pub(crate) dry_run: bool,
}

/// `new_turn`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewTurn {
    pub(crate) root: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) turn: Option<String>,
    pub(crate) prompt: Option<String>,
}

/// `end_turn`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndTurn {
    pub(crate) root: Option<String>,
    pub(crate) session: String,
}

/// `record_step`: the beginning of a tool call, or its end.
#[derive(Debug, Deserialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub(crate) enum RecordStep {
    Begin(BeginStep),
    End(EndStep),
}

/// The beginning of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BeginStep {
    pub(crate) root: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) turn: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) within: Option<u64>,
}

impl BeginStep {
    pub(crate) fn command(&self) -> CommandLine {
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
pub(crate) struct EndStep {
    pub(crate) root: Option<String>,
    pub(crate) step: Option<u64>,
    pub(crate) call: Option<String>,
    pub(crate) unknown: bool,
}

impl EndStep {
    pub(crate) fn command(&self) -> CommandLine {
        let line = CommandLine::new(&["step", "end"])
            .flag("--unknown", self.unknown)
            .option("--call", self.call.as_ref());
        self.step.into_iter().fold(line, CommandLine::number)
    }
}

/// `steps`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Steps {
    pub(crate) root: Option<String>,
    pub(crate) all: bool,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) offset: usize,
}

/// `prune`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Prune {
    pub(crate) retention_days: Option<i64>,
    pub(crate) max_size_mb: Option<u64>,
    pub(crate) max_snapshots: Option<u64>,
    pub(crate) keep_orphans: bool,
    pub(crate) dry_run: bool,
}

impl Prune {
    pub(crate) fn command(&self) -> CommandLine {
        CommandLine::new(&["checkpoints", "prune", "--force"])
            .option("--retention-days", self.retention_days)
            .option("--max-size-mb", self.max_size_mb)
            .option("--max-snapshots", self.max_snapshots)
            .flag("--keep-orphans", self.keep_orphans)
            .flag("--dry-run", self.dry_run)
    }
}

/// A page of a list.
pub(crate) const fn page(offset: usize, limit: Option<usize>) -> Page {
    Page { offset, limit }
}

/// No parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}
