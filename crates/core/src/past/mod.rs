//! Looking into the past of a project: its states one after the other, what was where in them, and who led from each to the next.
//!
//! The states are those of the checkpoints, all of them, also of moves that were not finished: what a checkpoint holds can be found.
//! [`find`]: names; [`grep`]: lines and prompts; [`look`]: one state, and whether a content ever was.

pub(crate) mod find;
pub(crate) mod grep;
pub(crate) mod look;

use std::collections::HashMap;

use herma_diff::DiffError;
use herma_records::checkpoint::Checkpoint;
use herma_records::step::{LineAuthor, Step, StepId};
use herma_search::{Past, Span, WalkError};
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::ScanError;

use crate::engine::operation::Operation;
use crate::error::Result;
use crate::steps::StepChoice;
use crate::timeline::Story;

/// A change: what led from one checkpoint to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastChange {
    /// Its number in the list.
    pub number: u64,
    /// When it was saved, in seconds since 1970.
    pub time: i64,
    /// Who made it.
    pub author: LineAuthor,
    /// Of a step: the agent.
    pub agent: Option<String>,
    /// Of a step: the beginning of the prompt that led to it.
    pub prompt: Option<String>,
}

/// What was somewhere, from one checkpoint to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Where.
    pub path: RelPath,
    /// The change that brought it; of what the oldest checkpoint has, that one.
    pub came: PastChange,
    /// The newest checkpoint that has it.
    pub last: u64,
    /// The change that removed or replaced it. `None` if the newest checkpoint has it, or if nobody can tell because what came next
    /// cannot be read.
    pub gone: Option<PastChange>,
    /// Has the newest checkpoint it?
    pub is_in_newest: bool,
}

/// What could not be read while all states were looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadPast {
    /// The checkpoint it is part of, if that is known.
    pub checkpoint: Option<u64>,
    /// Where it is.
    pub path: RelPath,
    /// What is wrong with it.
    pub what: String,
}

/// All states of a project.
pub(crate) struct Ages {
    /// Oldest first.
    checkpoints: Vec<Checkpoint>,
    story: Story,
    past: Past,
    /// Steps by what they are called.
    steps: HashMap<StepId, usize>,
}

impl Operation<'_> {
    /// Walks all states. `None` if there is none.
    pub(crate) fn ages(&self) -> Result<Option<Ages>> {
        self.finish_purge()?;
        let history = self.load_history()?;
        let mut checkpoints = history.readable(&self.store)?;
        let Some(newest) = checkpoints.first() else { return Ok(None) };
        let story = self.story(&history, (newest.tree, newest.modes), &StepChoice::default())?;
        checkpoints.reverse();
        let trees: Vec<ObjectId> = checkpoints.iter().map(|checkpoint| checkpoint.tree).collect();
        let progress = self.progress;
        let past = Past::of(&trees, &self.store.objects, &|_| !progress.is_cancelled());
        let past = match past {
            Err(WalkError::Cancelled) => return Err(ScanError::Cancelled.into()),
            Err(WalkError::Object(error)) => return Err(error.into()),
            Err(WalkError::TooMany { limit }) => {
                return Err(DiffError::TooMany { limit }.into());
            }
            Ok(past) => past,
        };
        let steps = (0..).zip(&story.steps).map(|(at, step)| (step.id(), at)).collect();
        Ok(Some(Ages { checkpoints, story, past, steps }))
    }
}

impl Ages {
    /// The number of the newest state.
    fn newest(&self) -> u32 {
        self.checkpoints.len().saturating_sub(1) as u32
    }

    /// What was somewhere from the first of these spans to the last.
    fn stay(&self, first: &Span, last: &Span) -> Stay {
        let path = self.past.path(last.path);
        let next = last.last + 1;
        let is_in_newest = last.last == self.newest();
        let is_told = !is_in_newest && !self.is_unread(next, &path);
        Stay {
            came: self.change(first.first),
            last: self.checkpoints[last.last as usize].number,
            gone: is_told.then(|| self.change(next)),
            is_in_newest,
            path,
        }
    }

    /// Can it not be told whether this state had something at a path?
    fn is_unread(&self, state: u32, path: &RelPath) -> bool {
        let mut unread = self.past.unread().iter();
        unread.any(|unread| unread.state == state && path.starts_with(&unread.path))
    }

    /// What led to this state.
    fn change(&self, state: u32) -> PastChange {
        let after = &self.checkpoints[state as usize];
        let before = state.checked_sub(1).map(|before| &self.checkpoints[before as usize]);
        let author = before.map_or(LineAuthor::Earlier, |before| self.author(before, after));
        let only = match &author {
            LineAuthor::Step(id) => self.step(*id),
            _ => None,
        };
        PastChange {
            number: only.and_then(|step| step.number).unwrap_or(after.number),
            time: after.time.seconds,
            agent: only.map(|step| step.agent().to_owned()),
            prompt: only.and_then(|step| step.start.prompt.clone()),
            author,
        }
    }

    fn author(&self, before: &Checkpoint, after: &Checkpoint) -> LineAuthor {
        // A move of ours made the checkpoint that has its number.
        let own = self.step(StepId::Number(after.number)).filter(|step| step.kind.is_move());
        if let Some(own) = own {
            return LineAuthor::Step(own.id());
        }
        let line = &self.story.line;
        let Some(to) = line.point_of(after).filter(|to| *to > 0) else {
            return LineAuthor::Unattributed(Vec::new());
        };
        let from = line.point_of(before).filter(|from| *from < to);
        self.story.author_between(from.unwrap_or(to - 1), to)
    }

    fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(&id).map(|at| &self.story.steps[*at])
    }

    /// The directories that could not be read.
    fn unread(&self) -> Vec<UnreadPast> {
        let unread = self.past.unread().iter().map(|unread| UnreadPast {
            checkpoint: self.checkpoints.get(unread.state as usize).map(|c| c.number),
            path: unread.path.clone(),
            what: unread.error.to_string(),
        });
        unread.collect()
    }

    /// Which states were saved in a stretch of time.
    fn states_in(&self, since: Option<i64>, until: Option<i64>) -> Option<(u32, u32)> {
        let fits = |checkpoint: &Checkpoint| {
            let seconds = checkpoint.time.seconds;
            since.is_none_or(|since| seconds >= since) && until.is_none_or(|until| seconds <= until)
        };
        let first = self.checkpoints.iter().position(fits)?;
        let last = self.checkpoints.iter().rposition(fits)?;
        Some((first as u32, last as u32))
    }

    /// Which paths lie in what is asked for; all of them if nothing is.
    fn paths_within(&self, scope: &[RelPath]) -> impl Fn(&Span) -> bool + '_ {
        let scope = scope.to_vec();
        move |span| {
            scope.is_empty() || {
                let path = self.past.path(span.path);
                scope.iter().any(|asked| path.starts_with(asked))
            }
        }
    }
}
