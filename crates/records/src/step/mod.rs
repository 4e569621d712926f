//! A step as it is remembered: what a tool call, a command or Herma itself did, between which two states.
//!
//! * [`record`]: a step as a small file, replaced as a whole when the step ends
//! * [`log`]: all steps of a project, found again by number or by the call's id
//! * [`marks`]: which turn of which session is under way, so that separate processes agree on it
//! * [`outside`]: what a step did to files no checkpoint holds

pub mod id;
pub mod log;
pub mod marks;
pub mod outside;
pub mod record;

use std::collections::BTreeSet;

use herma_fs::process::TempName;
use herma_store::{ObjectId, RelPath};
use herma_worktree::reason::Reason;
pub use id::StepId;
use id::number_by_hand;
use serde::{Deserialize, Serialize};

use crate::Version;
use crate::checkpoint::{Facts, RestoreOptions};
use crate::step::outside::{Outside, Sighting};

/// A tool call nobody has ended after so many seconds has ended all the same.
const MAX_CALL_SECONDS: i64 = 3600;
/// A command under `herma run` may take a day.
const MAX_RUN_SECONDS: i64 = 24 * 3600;

/// What kind of step it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// A tool call of an agent.
    #[default]
    Tool,
    /// A command under `herma run`.
    Run,
    /// Herma brought a state back.
    Restore,
    /// Herma undid something.
    Undo,
    /// Herma did again what was undone.
    Redo,
    /// Herma brought in what was changed in a copy.
    Promote,
}

impl StepKind {
    /// The word records and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Run => "run",
            Self::Restore => "restore",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Promote => "promote",
        }
    }

    /// Is it one of Herma's own moves between states, rather than work?
    pub const fn is_move(self) -> bool {
        matches!(self, Self::Restore | Self::Undo | Self::Redo | Self::Promote)
    }
}

/// What an agent is about to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepStart {
    /// Who asks, in which conversation.
    #[serde(flatten)]
    pub facts: Facts,
    /// The agent's own id of the tool call.
    pub call: Option<String>,
    /// The command line, for tools that run one.
    pub command: Option<String>,
    /// The files the tool names, for tools that name some: labels, which may lie outside the project.
    pub paths: Vec<String>,
    /// The files that the tool says it edits, and nothing else; `None` for tools that may change anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<RelPath>>,
    /// The beginning of the prompt that led to it.
    pub prompt: Option<String>,
    /// The step that this one is part of.
    pub within: Option<i64>,
    /// The agent within the conversation, for the agent of an agent. It may be at work in the background, so
    /// its calls do not end with a turn.
    pub sub_agent: Option<String>,
    /// The directories of other projects that the same call is recorded in, too: labels.
    pub also_in: Vec<String>,
}

/// A moment in the life of a project: what was the newest checkpoint, and which step would come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The checkpoint that held the state.
    pub checkpoint: ObjectId,
    /// The place of the newest checkpoint in the order of saving.
    #[serde(rename = "sequence")]
    pub place: i64,
    /// The number of the next step.
    pub next_step: i64,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "after", rename_all = "lowercase")]
pub enum StepEnd {
    /// Not yet.
    #[default]
    Open,
    /// With every file as before.
    Unchanged(Moment),
    /// In another state.
    Changed(Moment),
    /// Nobody said how: the one who was to say it was killed, or the work went on in the background.
    Unknown(Moment),
}

impl StepEnd {
    /// The word records and JSON use.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Unchanged(_) => "unchanged",
            Self::Changed(_) => "changed",
            Self::Unknown(_) => "unknown",
        }
    }

    /// When it ended.
    pub const fn moment(&self) -> Option<&Moment> {
        match self {
            Self::Open => None,
            Self::Unchanged(moment) | Self::Changed(moment) | Self::Unknown(moment) => Some(moment),
        }
    }
}

/// A command that went on after its call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Background {
    /// It still does, as far as anybody knows.
    Running,
    /// It was over by then.
    Until(Moment),
}

/// Why it is not known what belongs to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It has not ended: all that changed since it began counts as its own.
    StillOpen,
    /// Nobody said how it ended: what changed until the next time somebody looked counts as its own.
    EndUnknown,
    /// It went on in the background: nobody can tell what it changed after it was answered, and what others did meanwhile.
    InBackground,
    /// A person may have changed or deleted something of what it changed: that counts as its own.
    Unclear,
    /// A checkpoint before or after it is gone: what changed until the next one that is left counts too.
    CheckpointGone,
}

impl Doubt {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::StillOpen => "open",
            Self::EndUnknown => "end-unknown",
            Self::InBackground => "in-background",
            Self::Unclear => "unclear",
            Self::CheckpointGone => "checkpoint-gone",
        }
    }
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The version of the record.
    pub version: Version,
    /// Which step of this project it is, in the order of beginning: what it is called until it has a number. Those that were taken
    /// over from another project came before the first one here, and have handles below 0.
    #[serde(alias = "number")]
    pub handle: i64,
    /// The number of the checkpoint of its own that it ended in; none until it has ended, and if nothing was noticed to change.
    #[serde(rename = "row", default)]
    pub number: Option<u64>,
    /// What kind of step it is.
    pub kind: StepKind,
    /// What was to be done.
    #[serde(flatten)]
    pub start: StepStart,
    /// The state before.
    pub before: Moment,
    /// The state after.
    #[serde(flatten)]
    pub end: StepEnd,
    /// The part of the project that one of Herma's own moves was about.
    #[serde(flatten, with = "Part")]
    pub part: RestoreOptions,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// When it ended.
    pub ended: Option<i64>,
    /// The process that is going to end it, if it is known.
    pub owner: Option<String>,
    /// What changed while it was under way and is certainly not its doing, beside what it does not edit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_its: Vec<RelPath>,
    /// What changed while it was under way without anybody being able to tell whether it did that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<RelPath>,
    /// What changed while it was under way and is certainly its doing, whoever else was under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surely: Vec<RelPath>,
    /// Does it go on in the background though it was answered, or until when did it?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Did nobody say that it had ended, and somebody looked when it was over at the latest?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    /// Was the save before it finished only after it had begun? Then some of its changes may be in there.
    #[serde(default)]
    pub late: bool,
    /// What no checkpoint holds, as it was when the step began; until somebody says how it ended.
    #[serde(default, deserialize_with = "record::unless_newer")]
    pub watched: Sighting,
    /// What it changed that no checkpoint holds.
    #[serde(default, deserialize_with = "record::unless_newer")]
    pub outside: Outside,
    /// Of a move: how many had come to their end before it, which tells it from one in the same second between the same states.
    pub moves_before: Option<u64>,
    /// Of a move that undid steps: which.
    pub undid: Option<Undid>,
    /// The rules when it began that no checkpoint holds; `None` for moves, and where they were not recorded.
    pub rules: Option<StepRules>,
}

/// What one of Herma's own moves undid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undid {
    /// The handles of the steps that it undid whole: not those that changed more than the files it was about.
    pub steps: Vec<i64>,
    /// Those of which something stays, because it is in conflict; of a redo, those that stay undone.
    #[serde(default)]
    pub left: Vec<i64>,
    /// Those that it undid in some files only, as somebody asked; of a redo, those of which some files stay undone.
    #[serde(default)]
    pub part: Vec<i64>,
    /// How it was asked for.
    pub how: UndoneAs,
}

impl Undid {
    /// What it did to which steps, by what these are called now. `None` if it was about no whole steps, or went back to a state.
    pub fn in_words(&self, id_of: &dyn Fn(i64) -> Option<StepId>) -> Option<String> {
        let of = |handles: &[i64]| {
            let by_hand = |handle: i64| number_by_hand(handle).map(StepId::Number);
            let ids =
                handles.iter().filter_map(|handle| by_hand(*handle).or_else(|| id_of(*handle)));
            let ids: BTreeSet<StepId> = ids.collect();
            ids.iter().map(StepId::to_string).collect::<Vec<_>>().join(", ")
        };
        match (self.how, of(&self.steps), of(&[&*self.left, &*self.part].concat())) {
            (UndoneAs::Restore | UndoneAs::Promote, ..) => None,
            (UndoneAs::Redo, whole, _) if !whole.is_empty() => {
                Some(format!("redid what {whole} undid"))
            }
            (_, whole, part) => match (&*whole, &*part) {
                ("", "") => None,
                ("", part) => Some(format!("undid a part of {part}")),
                (whole, "") => Some(format!("undid {whole}")),
                (whole, part) => Some(format!("undid {whole} and a part of {part}")),
            },
        }
    }
}

/// How somebody asks for steps to be undone, which says what a later undo or redo makes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UndoneAs {
    /// By number, agent, session or time: an undo undoes it like work.
    #[default]
    Chosen,
    /// What was newest: an undo goes on to what came before it, and a redo undoes it.
    Last,
    /// A redo.
    Redo,
    /// A restore that keeps what others did.
    Restore,
    /// Not at all: what was changed in a copy comes in.
    Promote,
}

/// What part a restore brought back, as a step's record has it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "RestoreOptions")]
struct Part {
    #[serde(rename = "only", default)]
    paths: Vec<RelPath>,
    #[serde(default)]
    keep: Vec<RelPath>,
}

/// Rules about what is left out that are in no checkpoint, as they were when a step began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRules {
    /// The setting `exclude`.
    pub exclude: Vec<String>,
    /// The setting `include`.
    pub include: Vec<String>,
    /// What `.git/info/exclude` says.
    pub info_exclude: Vec<u8>,
}

impl StepRules {
    /// More than this is not recorded with each step; then the rules at its end count.
    const MAX_RECORD_BYTES: usize = 16 << 10;

    /// Are they short enough to be recorded?
    pub fn is_recorded(&self) -> bool {
        let patterns = self.exclude.iter().chain(&self.include);
        let bytes: usize = patterns.map(String::len).sum();
        bytes + self.info_exclude.len() <= Self::MAX_RECORD_BYTES
    }
}

impl Step {
    /// What it is called.
    pub fn id(&self) -> StepId {
        self.number.map_or(StepId::Handle(self.handle), StepId::Number)
    }

    /// Is it called so?
    pub fn is(&self, id: StepId) -> bool {
        match id {
            StepId::Number(number) => self.number == Some(number),
            StepId::Handle(handle) => self.handle == handle,
        }
    }

    /// Who did it, in a word.
    pub fn agent(&self) -> &str {
        match (&self.start.facts.agent, self.kind.is_move()) {
            (Some(agent), _) => agent,
            (None, true) => "herma",
            (None, false) => "unnamed",
        }
    }

    /// What is in doubt about it, if it is not known where it began or ended, or what it did. Also told: are both its checkpoints there?
    pub fn doubt(&self, has_both: bool) -> Doubt {
        let is_noted = !self.unclear.is_empty() && !self.unclear.contains(&RelPath::root());
        match self.end {
            StepEnd::Open => Doubt::StillOpen,
            StepEnd::Unknown(_) => Doubt::EndUnknown,
            StepEnd::Changed(_) | StepEnd::Unchanged(_) if self.background.is_some() => {
                Doubt::InBackground
            }
            StepEnd::Changed(_) | StepEnd::Unchanged(_) if has_both && is_noted => Doubt::Unclear,
            StepEnd::Changed(_) | StepEnd::Unchanged(_) => Doubt::CheckpointGone,
        }
    }

    /// Did it go on in the background after its call was answered?
    pub const fn went_on(&self) -> bool {
        self.background.is_some()
    }

    /// Does it go on in the background?
    pub fn is_in_background(&self) -> bool {
        self.background == Some(Background::Running)
    }

    /// Is it open although the process that was to end it is gone?
    pub fn is_abandoned(&self) -> bool {
        let goes_on = self.is_open() || self.is_in_background();
        goes_on && self.process().is_some_and(|owner| !owner.owner_lives())
    }

    /// Is it under way, and the process that is to end it there?
    pub fn has_live_owner(&self) -> bool {
        self.is_open() && self.process().is_some_and(|owner| owner.owner_lives())
    }

    fn process(&self) -> Option<TempName> {
        TempName::parse(self.owner.as_ref()?.as_bytes())
    }

    /// Is it this process that is to end it?
    pub fn is_of(&self, process: &TempName) -> bool {
        self.process().is_some_and(|owner| owner.has_owner_of(process))
    }

    /// Did it change nothing, neither in checkpoints nor outside them, as far as anybody noticed?
    pub fn is_idle(&self) -> bool {
        matches!(self.end, StepEnd::Unchanged(_)) && self.outside.is_empty()
    }

    /// What was there, left out, when it began, as far as that matters by now.
    pub fn were_there(&self) -> impl Iterator<Item = (Vec<u8>, Reason)> + '_ {
        let watched = self.watched.were_there();
        let watched = watched.map(|then| (then.path.into(), then.reason));
        self.outside.were_there().chain(watched)
    }

    /// May it have changed a file that another one may have changed?
    pub fn may_meet(&self, other: &Self) -> bool {
        let (Some(edits), Some(others)) = (&self.start.edits, &other.start.edits) else {
            return true;
        };
        edits.iter().any(|path| is_within(path, others))
            || others.iter().any(|path| is_within(path, edits))
    }

    /// May it have changed this, as far as anybody knows?
    pub fn may_have_changed(&self, path: &RelPath) -> bool {
        self.start.edits.as_deref().is_none_or(|edits| is_within(path, edits))
            && !is_within(path, &self.not_its)
    }

    /// Is it unclear whether this is its doing?
    pub fn is_unclear(&self, path: &RelPath) -> bool {
        is_within(path, &self.unclear)
    }

    /// Is this certainly its doing?
    pub fn surely_changed(&self, path: &RelPath) -> bool {
        self.surely.contains(path)
    }

    /// Is all that changed while it was under way its own, if nobody else was?
    pub fn is_all_its(&self) -> bool {
        self.not_its.is_empty() && self.unclear.is_empty()
    }

    /// Has nobody ended it?
    pub fn is_open(&self) -> bool {
        self.end == StepEnd::Open
    }

    /// Is it under way at this time, in seconds since 1970? One that nobody ended is over all the same some day.
    pub fn is_under_way(&self, now: i64) -> bool {
        self.is_open() && now <= self.given_up_at() && !self.is_abandoned()
    }

    /// When it counts as over though nobody ended it, in seconds since 1970.
    pub fn given_up_at(&self) -> i64 {
        let longest = match self.kind {
            StepKind::Run => MAX_RUN_SECONDS,
            _ => MAX_CALL_SECONDS,
        };
        self.started.saturating_add(longest)
    }

    /// The checkpoint after it, if there is one that nobody else had a hand in.
    pub fn after(&self) -> Option<ObjectId> {
        match self.end {
            StepEnd::Changed(moment) | StepEnd::Unchanged(moment) => Some(moment.checkpoint),
            StepEnd::Open | StepEnd::Unknown(_) => None,
        }
    }
}

fn is_within(path: &RelPath, roots: &[RelPath]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// What a step changed that no checkpoint holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideOfStep {
    /// The step.
    pub step: StepId,
    /// What it changed.
    pub outside: Outside,
}

impl OutsideOfStep {
    /// What a step changed, as far as it is within these paths; all of it if there are none.
    pub fn of(step: &Step, paths: &[RelPath]) -> Option<Self> {
        let mut outside = step.outside.clone();
        if !paths.is_empty() {
            let is_asked = |path: &[u8]| {
                let path = RelPath::new(path);
                path.is_ok_and(|path| paths.iter().any(|asked| path.starts_with(asked)))
            };
            outside.changes.retain(|change| is_asked(&change.path));
            outside.more = 0;
        }
        (!outside.is_empty()).then_some(Self { step: step.id(), outside })
    }
}

/// Who a line or a version is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineAuthor {
    /// Somebody before the oldest checkpoint that has it.
    Earlier,
    /// A person, or a program no agent started.
    Hand,
    /// This step.
    Step(StepId),
    /// One or more of these steps, or a person meanwhile: nobody can tell.
    Unattributed(Vec<StepId>),
}

impl LineAuthor {
    /// The word JSON uses.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Earlier => "earlier",
            Self::Hand => "hand",
            Self::Step(_) => "step",
            Self::Unattributed(_) => "unattributed",
        }
    }

    /// The steps it names.
    pub fn steps(&self) -> &[StepId] {
        match self {
            Self::Earlier | Self::Hand => &[],
            Self::Step(step) => std::slice::from_ref(step),
            Self::Unattributed(steps) => steps,
        }
    }
}
