//! Tool calls as an agent's hooks tell of them: several at once, some of them twice.
//!
//! Agents run tools side by side, and agents that read each other's configuration call the same hook more than
//! once for one tool. A save that began after a hook was called, and is done, shows the state that hook was to
//! save, since its tool waits for the answer. So of any number of hooks that wait for each other two save: the
//! one that is at it, and the first of those that came meanwhile. What that one saw is noted in a small file,
//! the look, and the others share it.

use std::path::PathBuf;

use crate::engine::Project;
use crate::engine::operation::Operation;
use herma_fs::Dir;
use herma_fs::process::{BootMoment, TempName};
use herma_fs::publish::{Durability, write_file};
use herma_records::checkpoint::Checkpoint;
use herma_records::step::log::StepLog;
use herma_records::step::marks::Marks;
use herma_records::step::{Step, StepKind, StepStart};
use herma_records::{LOOK, forget_look, read_record};
use herma_store::ObjectId;
use herma_worktree::held::Holding;

use crate::error::Result;
use crate::save::{SaveOptions, Saved};
use crate::steps::recording::{before_options, open_steps};

const MAX_LOOK: u64 = 200;

/// A tool call that an agent's hook tells of.
pub struct Call<'a> {
    /// What the agent is about to do.
    pub start: StepStart,
    /// When the hook was called. The tool has waited since then.
    pub received: BootMoment,
    /// An open call of the same id that is older than so many seconds is another one, whose end nobody told.
    /// `None`: the ids are the agent's own and never come twice.
    pub repeats_within: Option<i64>,
    /// Is the call part of this open step? The newest one that is counts.
    pub is_outer: &'a dyn Fn(&Step) -> bool,
    /// Is this open step of the same agent over, since that begins another call? Also told: was one that began after the step
    /// answered by now?
    pub is_over: &'a dyn Fn(&Step, bool) -> bool,
    /// Files it names that are in no project that is saved for it.
    pub elsewhere: Vec<PathBuf>,
    /// The agent's process: once it is gone, so is the call.
    pub owner: Option<TempName>,
}

impl Call<'_> {
    /// A call of which an agent tells once, and that is part of no other and ends none.
    pub fn new(start: StepStart, received: BootMoment) -> Self {
        Self {
            start,
            received,
            repeats_within: None,
            is_outer: &|_| false,
            is_over: &|_, _| false,
            elsewhere: Vec::new(),
            owner: None,
        }
    }
}

/// A tool call that has begun.
#[derive(Clone, Debug)]
pub struct BegunCall {
    /// Its step.
    pub step: Step,
    /// The save before it; `None` if somebody else's shows the same state.
    pub saved: Option<Saved>,
    /// Had somebody told of it already? Then the save is one in the middle of it.
    pub repeated: bool,
}

impl Operation<'_> {
    pub(crate) fn begin_call(&self, call: Call<'_>) -> Result<BegunCall> {
        let state = self.state_dir()?;
        let mut start = Project::in_its_turn(&Marks::read(&state)?, call.start.cut());
        let mut log = StepLog::open(&state)?;
        let mut open = self.give_up_abandoned(&mut log)?;
        let options = before_options(&start);
        // Told twice or not, what is there now may be gone in a moment.
        let holding = self.holding_steps(&open);
        let (before, saved) = self.save_or_share(&state, &options, &call.received, holding)?;
        if let Some(place) = open.iter().rposition(|step| is_same(step, &start)) {
            let step = open[place].clone();
            let age = self.clock().now().seconds.saturating_sub(step.started);
            if call.repeats_within.is_none_or(|seconds| age <= seconds) {
                return Ok(BegunCall { step, saved, repeated: true });
            }
            self.end_unknown(&mut log, step)?;
            open.remove(place);
        }
        self.give_up_over(&mut log, &mut open, call.is_over, (&before, saved.as_ref()))?;
        if start.within.is_none() {
            let outer = open.iter().rev().find(|step| (call.is_outer)(step));
            start.within = outer.map(|step| step.handle);
        }
        // Of what was changed by hand since it was told of, the end may tell that it was.
        let told_ago = call.received.elapsed().as_secs();
        let begins = Step {
            kind: StepKind::Tool,
            start,
            started: self.clock().now().seconds.saturating_sub_unsigned(told_ago),
            owner: call.owner.map(|owner| owner.to_string()),
            watched: self.sight_outside().with_elsewhere(&call.elsewhere),
            ..Step::default()
        };
        let (step, _) = self.note_begun(&mut log, &open, begins, &before)?;
        Ok(BegunCall { step, saved, repeated: false })
    }

    /// Ends the open steps that are over although nobody said so: an agent that begins a call has the answers of those before it.
    fn give_up_over(
        &self,
        log: &mut StepLog,
        open: &mut Vec<Step>,
        is_over: &dyn Fn(&Step, bool) -> bool,
        (look, saved): (&Checkpoint, Option<&Saved>),
    ) -> Result<()> {
        if open.is_empty() {
            return Ok(());
        }
        let recent: Vec<Step> = log.recent().collect::<herma_fs::Result<_>>()?;
        let is_answered = |step: &Step| {
            let later = recent.iter().take_while(|later| later.handle > step.handle);
            let mut answered = later.filter(|later| later.after().is_some() && !later.inferred);
            answered.any(|later| is_same_conversation(later, step))
        };
        let (over, rest) = std::mem::take(open)
            .into_iter()
            .partition(|step| step.kind == StepKind::Tool && is_over(step, is_answered(step)));
        *open = rest;
        let over: Vec<Step> = over;
        over.into_iter().try_for_each(|step| self.end_at_a_look(log, step, look, saved).map(drop))
    }

    pub(crate) fn save_since(
        &self,
        options: &SaveOptions,
        received: &BootMoment,
    ) -> Result<Option<Saved>> {
        let state = self.state_dir()?;
        Ok(self.save_or_share(&state, options, received, Holding::default())?.1)
    }

    pub(crate) fn amend(&self, handle: i64, amend: impl FnOnce(&mut Step)) -> Result<()> {
        let state = self.state_dir()?;
        let mut log = StepLog::open(&state)?;
        if let Some(mut step) = log.step(handle)? {
            amend(&mut step);
            let herma = self.store.dirs.for_writing()?;
            log.write(&herma.tmp, &state, &step, Durability::Cache)?;
        }
        Ok(())
    }

    pub(crate) fn forget_call(&self, handle: i64) -> Result<()> {
        Ok(StepLog::open(&self.state_dir()?)?.remove(&[handle])?)
    }

    pub(crate) fn recent_steps(&self) -> Result<Vec<Step>> {
        Ok(self.step_log()?.recent().collect::<herma_fs::Result<_>>()?)
    }

    pub(crate) fn open_steps(&self) -> Result<Vec<Step>> {
        open_steps(&self.step_log()?)
    }

    fn save_or_share(
        &self,
        state: &Dir,
        options: &SaveOptions,
        received: &BootMoment,
        holding: Holding,
    ) -> Result<(Checkpoint, Option<Saved>)> {
        if let Some(shared) = self.shared(state, received)? {
            return Ok((shared, None));
        }
        let look = BootMoment::now();
        let saved = self.save_and_note(options, holding)?;
        self.note_look(state, &look, &saved.checkpoint)?;
        Ok((saved.checkpoint.clone(), Some(saved)))
    }

    /// Notes what somebody saw who began to look then.
    pub(crate) fn note_look(
        &self,
        state: &Dir,
        look: &BootMoment,
        seen: &Checkpoint,
    ) -> Result<()> {
        let text = format!("{look} {}\n", seen.id.to_hex());
        // Without it the next one looks for itself. The old one goes first: some file systems write a file to disk
        // at once when it takes the place of another.
        let herma = self.store.dirs.for_writing()?;
        forget_look(state);
        let _ = write_file(&herma.tmp, state, LOOK, text.as_bytes(), Durability::Cache);
        Ok(())
    }

    /// The newest checkpoint, if somebody began to look after `received` and found its state.
    fn shared(&self, state: &Dir, received: &BootMoment) -> Result<Option<Checkpoint>> {
        let Some((began, id)) = read_look(state)? else { return Ok(None) };
        // An interrupted restore may have changed files without anybody looking.
        if !began.is_not_before(received) || self.records()?.0.is_some() {
            return Ok(None);
        }
        let history = self.load_history()?;
        if history.newest().is_none_or(|newest| newest.id != id) {
            return Ok(None);
        }
        let newest = history.entries.len() - 1;
        let checkpoint = history.checkpoint(newest, &self.store)?;
        Ok((!checkpoint.receipt_damaged).then_some(checkpoint))
    }
}

/// Are these two calls of one agent, and not one of an agent of it?
fn is_same_conversation(one: &Step, other: &Step) -> bool {
    let of = |step: &Step| {
        (step.start.facts.session.clone(), step.start.sub_agent.clone(), step.start.within)
    };
    of(one) == of(other)
}

/// Is this open step the call that is told of? The same id for other words is another call.
fn is_same(step: &Step, start: &StepStart) -> bool {
    let known = &step.start;
    known.call.is_some()
        && known.call == start.call
        && known.facts.session == start.facts.session
        && known.command == start.command
        && known.paths == start.paths
}

fn read_look(state: &Dir) -> Result<Option<(BootMoment, ObjectId)>> {
    let bytes = read_record(state, LOOK, MAX_LOOK)?;
    Ok(bytes.and_then(|bytes| parse_look(&bytes)))
}

/// When somebody looked last, and what was there.
pub(crate) fn parse_look(bytes: &[u8]) -> Option<(BootMoment, ObjectId)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (began, id) = text.trim_end().rsplit_once(' ')?;
    Some((BootMoment::parse(began)?, ObjectId::from_hex(id.as_bytes())?))
}
