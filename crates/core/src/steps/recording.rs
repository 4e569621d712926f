//! Recording steps: a save before a tool call, a save after it, and what ties the two together.
//!
//! Beginning and ending are separate calls, usually of separate processes. Between them the project is not
//! locked: other steps may begin and end, and whoever looks at the timeline later sees that they overlapped.

use crate::engine::operation::Operation;
use herma_fs::process::{BootMoment, TempName};
use herma_fs::publish::Durability;
use herma_records::checkpoint::{Checkpoint, Facts, Origin};
use herma_records::journal::Journal;
use herma_records::step::log::StepLog;
use herma_records::step::marks::{Marks, Turn};
use herma_records::step::outside::Sighting;
use herma_records::step::record::cut_name;
use herma_records::step::{
    Background, Moment, Step, StepEnd, StepId, StepKind, StepRules, StepStart, UndoneAs,
};
use herma_records::undo::{Move, UndoRecord};
use herma_store::ObjectId;
use herma_worktree::present::StateIds;
use herma_worktree::stat_cache::StatCache;
use std::sync::Arc;

use crate::engine::Project;
use crate::engine::open::own_state;
use crate::error::{Error, Result};
use crate::restore::arrival::Arrived;
use crate::save::publish::Way;
use crate::save::{SaveOptions, Saved};
use crate::steps::share::{CallEnd, Ran};
use crate::types::asked::WhichStep;

/// A step that has begun.
#[derive(Clone, Debug)]
pub struct BegunStep {
    /// The step.
    pub step: Step,
    /// The save before it.
    pub saved: Saved,
    /// Steps that are under way in this project, of which it is not a part: what happens until one of them
    /// ends cannot be attributed.
    pub beside: Vec<StepId>,
}

/// A step that has ended.
#[derive(Clone, Debug)]
pub struct EndedStep {
    /// The step, and how it ended.
    pub step: Step,
    /// The save after it; none when the state after it is not known, or was not looked at.
    pub saved: Option<Saved>,
}

impl Operation<'_> {
    pub(crate) fn begin_step(&self, kind: StepKind, start: StepStart) -> Result<BegunStep> {
        let state = self.state_dir()?;
        let start = Project::in_its_turn(&Marks::read(&state)?, start.cut());
        let options = before_options(&start);
        let mut log = StepLog::open(&state)?;
        let open = self.give_up_abandoned(&mut log)?;
        let holding = self.holding_steps(&open);
        let saved = self.save_and_note(&options, holding)?;
        let begins = Step {
            kind,
            start,
            started: self.clock().now().seconds,
            owner: (kind == StepKind::Run).then(|| TempName::next().to_string()),
            watched: self.sight_outside(),
            ..Step::default()
        };
        let (step, beside) = self.note_begun(&mut log, &open, begins, &saved.checkpoint)?;
        Ok(BegunStep { step, saved, beside })
    }

    /// Steps whose process is gone are over, and what changes from here on is not theirs. Returns the others that are
    /// under way.
    pub(crate) fn give_up_abandoned(&self, log: &mut StepLog) -> Result<Vec<Step>> {
        let (abandoned, mut open): (Vec<_>, Vec<_>) =
            going_on(log)?.into_iter().partition(Step::is_abandoned);
        for step in abandoned {
            self.end_unknown(log, step)?;
        }
        open.retain(Step::is_open);
        Ok(open)
    }

    /// Notes that a step begins, or began so long ago, in the state of this checkpoint. Also tells which of the open ones it is not
    /// a part of.
    pub(crate) fn note_begun(
        &self,
        log: &mut StepLog,
        open: &[Step],
        begins: Step,
        before: &Checkpoint,
    ) -> Result<(Step, Vec<StepId>)> {
        let handle = log.next_handle();
        let within = outer_step(log, &begins.start)?;
        let step = Step {
            handle,
            before: Moment { checkpoint: before.id, place: before.place, next_step: handle },
            rules: Some(self.rules_now()).filter(StepRules::is_recorded),
            start: StepStart { within, ..begins.start },
            ..begins
        };
        let beside =
            open.iter().filter(|open| !is_within(log, &step, open.handle)).map(Step::id).collect();
        // Losing this to a power cut loses the step, not the checkpoint.
        let herma = self.store.dirs.for_writing()?;
        let state = self.state_dir()?;
        log.write(&herma.tmp, &state, &step, Durability::Cache)?;
        Ok((step, beside))
    }

    pub(crate) fn end_call(&self, which: &WhichStep, end: CallEnd) -> Result<EndedStep> {
        match end {
            CallEnd::Ran(ran) => self.end_step(which, &ran),
            CallEnd::OnlyRead => self.end_step_unchanged(which, false),
            CallEnd::Refused => self.end_step_unchanged(which, true),
            CallEnd::GoesOn => self.leave_in_background(which),
        }
    }

    /// Ends a step in what is there now, though it goes on.
    fn leave_in_background(&self, which: &WhichStep) -> Result<EndedStep> {
        let mut ended = self.end_step(which, &Ran::default())?;
        ended.step.background = Some(Background::Running);
        self.amend(ended.step.handle, |step| step.background = Some(Background::Running))?;
        Ok(ended)
    }

    /// Ends a step in what is there now.
    pub(crate) fn end_step(&self, which: &WhichStep, ran: &Ran) -> Result<EndedStep> {
        let state = self.state_dir()?;
        let mut log = StepLog::open(&state)?;
        let mut step = find_open(&log, which)?;
        step.inferred = false;
        let options = SaveOptions {
            reason: reason("after", &step.start).into(),
            facts: step.start.facts.clone(),
            ..SaveOptions::default()
        };
        // What was covered when it began, or when others did that are under way, is covered when it ends.
        let holding = self.holding_steps(&open_steps(&log)?);
        let look = BootMoment::now();
        let mut saved = match self.save_and_note(&options, holding) {
            Ok(saved) => saved,
            Err(e) => {
                // The call is over all the same. If that cannot be noted either, the step stays open.
                let _ = self.end_unknown(&mut log, step);
                return Err(e);
            }
        };
        let after = &saved.checkpoint;
        let is_other = after.id != step.before.checkpoint;
        let before = is_other.then(|| self.state_of_checkpoint(&step.before.checkpoint)).flatten();
        let is_changed = is_other && before != Some((after.tree, after.modes));
        let is_its = match before {
            Some((before, _)) if is_changed => {
                self.note_share(&mut step, [before, after.tree], ran)?
            }
            _ => is_changed,
        };
        step.outside = self.outside_of(&step, &saved.receipt.summary, is_its)?;
        if is_its || !step.outside.is_empty() {
            saved = self.as_own(saved, &options)?;
            step.number = Some(saved.checkpoint.number);
        } else {
            step.outside.unseen = step.watched.unseen();
        }
        self.note_look(&state, &look, &saved.checkpoint)?;
        if ran.passed && !is_changed && !step.late {
            // The mark is for people: the step has ended all the same.
            let marked = self.mark_green(&saved.checkpoint);
            saved.notes.extend(marked.err().map(|e| format!("the state was not marked: {e}")));
        }
        let Checkpoint { id: checkpoint, place, .. } = saved.checkpoint;
        let moment = Moment { checkpoint, place, next_step: log.next_handle() };
        let end = match is_its {
            true => StepEnd::Changed(moment),
            // All that changed others did.
            false if is_changed => at_its_beginning(&step),
            false => StepEnd::Unchanged(moment),
        };
        let step = self.write_end(&mut log, step, end)?;
        Ok(EndedStep { step, saved: Some(saved) })
    }

    /// The save that a step ended in, with a checkpoint of its own: what is there already may be another step's.
    fn as_own(&self, saved: Saved, options: &SaveOptions) -> Result<Saved> {
        if saved.is_new {
            return Ok(saved);
        }
        let own = self.publish_again(&saved.checkpoint, options, Origin::Saved, &Way::UNKNOWN)?;
        Ok(Saved { is_new: true, checkpoint: own, ..saved })
    }

    pub(crate) fn end_step_unknown(&self, which: &WhichStep) -> Result<EndedStep> {
        let mut log = StepLog::open(&self.state_dir()?)?;
        let step = find_open(&log, which)?;
        let step = self.end_unknown(&mut log, step)?;
        Ok(EndedStep { step, saved: None })
    }

    fn end_step_unchanged(&self, which: &WhichStep, inferred: bool) -> Result<EndedStep> {
        let mut log = StepLog::open(&self.state_dir()?)?;
        let step = Step { inferred, ..find_open(&log, which)? };
        let end = at_its_beginning(&step);
        let step = self.write_end(&mut log, step, end)?;
        Ok(EndedStep { step, saved: None })
    }

    pub(crate) fn end_unknown(&self, log: &mut StepLog, step: Step) -> Result<Step> {
        let newest = self.load_history()?.newest().map(|entry| (entry.id, entry.place));
        let (checkpoint, place) = newest.unwrap_or((step.before.checkpoint, step.before.place));
        let moment = Moment { checkpoint, place, next_step: log.next_handle() };
        self.end_by(log, step, moment)
    }

    /// Notes that a step was over by then: the call, or what it left in the background.
    fn end_by(&self, log: &mut StepLog, mut step: Step, moment: Moment) -> Result<Step> {
        if !step.is_in_background() {
            return self.write_end(log, step, StepEnd::Unknown(moment));
        }
        step.background = Some(Background::Until(moment));
        self.amend(step.handle, |known| known.background = step.background)?;
        Ok(step)
    }

    fn write_end(&self, log: &mut StepLog, mut step: Step, end: StepEnd) -> Result<Step> {
        step.end = end;
        // Whoever undoes one that nobody ended has to know all that was there.
        if !matches!(end, StepEnd::Unknown(_)) {
            step.watched = Sighting::default();
        }
        step.ended = Some(self.clock().now().seconds);
        let durability = match end {
            StepEnd::Unchanged(_) if step.outside.is_empty() => Durability::Cache,
            StepEnd::Changed(_) | StepEnd::Unchanged(_) => self.settings().durability,
            StepEnd::Open | StepEnd::Unknown(_) => Durability::Cache,
        };
        let herma = self.store.dirs.for_writing()?;
        let state = self.state_dir()?;
        log.write(&herma.tmp, &state, &step, durability)?;
        Ok(step)
    }

    pub(crate) fn begin_turn(
        &self,
        session: &str,
        facts: &Facts,
        prompt: Option<&str>,
    ) -> Result<Turn> {
        let state = self.state_dir()?;
        let mut log = StepLog::open(&state)?;
        for step in open_of(&log, session, Whose::OfAgent)? {
            self.end_unknown(&mut log, step)?;
        }
        let mut marks = Marks::read(&state)?;
        let now = self.clock().now().seconds;
        let name = facts.turn.as_deref();
        if marks.begin(session, facts.agent.as_deref(), name, prompt, now).count == 1 {
            // What happened before a session is no news to it.
            marks.note_told(session, UndoRecord::read(&state)?.moves);
        }
        marks.write(self.store.tmp()?, &state)?;
        Ok(marks.of_session(session).cloned().unwrap_or_default())
    }

    pub(crate) fn resume_turn(&self, session: &str, name: Option<&str>) -> Result<Option<Turn>> {
        let state = self.state_dir()?;
        let mut marks = Marks::read(&state)?;
        let turn = marks.resume(session, name);
        if turn.is_some() {
            marks.write(self.store.tmp()?, &state)?;
        }
        Ok(turn)
    }

    /// Notes that the turn of a session is over, and which calls of it are.
    pub(crate) fn end_turn(&self, session: &str, whose: Whose<'_>) -> Result<Option<Turn>> {
        let state = self.state_dir()?;
        self.give_up_after_a_look(session, whose)?;
        let mut marks = Marks::read(&state)?;
        let turn = marks.end(session);
        if turn.is_some() {
            marks.write(self.store.tmp()?, &state)?;
        }
        Ok(turn)
    }

    pub(crate) fn turn(&self, session: &str) -> Result<Option<Turn>> {
        let Some(state) = own_state(&self.store, &self.id)? else { return Ok(None) };
        Ok(Marks::read(&state)?.of_session(session).cloned())
    }

    pub(crate) fn last_turn(&self) -> Result<Option<Turn>> {
        let Some(state) = own_state(&self.store, &self.id)? else { return Ok(None) };
        Ok(Marks::read(&state)?.last().cloned())
    }

    /// Ends calls in what is there now: what changes from here on is not theirs.
    pub(crate) fn give_up_after_a_look(&self, session: &str, whose: Whose<'_>) -> Result<()> {
        let mut log = StepLog::open(&self.state_dir()?)?;
        let mut open = open_of(&log, session, whose)?;
        if let Some(step) = open.last() {
            let facts = step.start.facts.clone();
            let reason = reason("after", &step.start).into();
            let options = SaveOptions { reason, facts, ..SaveOptions::default() };
            let holding = self.holding_steps(&open);
            // They are over all the same.
            if let Ok(saved) = self.save_and_note(&options, holding) {
                for step in open.drain(..) {
                    self.end_at_a_look(&mut log, step, &saved.checkpoint, Some(&saved))?;
                }
            }
        }
        open.into_iter().try_for_each(|step| self.end_unknown(&mut log, step).map(drop))
    }

    /// Ends a step that was over when somebody looked, though nobody said so. Where nothing had changed by then, it changed nothing.
    pub(crate) fn end_at_a_look(
        &self,
        log: &mut StepLog,
        mut step: Step,
        look: &Checkpoint,
        saved: Option<&Saved>,
    ) -> Result<Step> {
        step.inferred = step.is_open();
        let next_step = log.next_handle();
        let is_same = look.id == step.before.checkpoint
            || self.state_of_checkpoint(&step.before.checkpoint) == Some((look.tree, look.modes));
        if let Some(saved) = saved.filter(|_| is_same && step.inferred) {
            let outside = self.outside_of(&step, &saved.receipt.summary, false)?;
            if outside.is_empty() {
                step.outside.unseen = step.watched.unseen();
                let end = StepEnd::Unchanged(Moment { next_step, ..step.before });
                return self.write_end(log, step, end);
            }
        }
        // It ended before what was seen there at the latest.
        let moment = Moment { checkpoint: look.id, place: look.place - 1, next_step };
        self.end_by(log, step, moment)
    }

    /// All steps that are remembered, oldest first.
    pub(crate) fn all_steps(&self) -> Result<Vec<Step>> {
        Ok(self.step_log()?.all()?)
    }

    /// The steps, to be read one by one.
    pub(crate) fn step_log(&self) -> Result<StepLog> {
        match own_state(&self.store, &self.id)? {
            Some(state) => Ok(StepLog::open(&state)?),
            None => Ok(StepLog::empty()),
        }
    }

    pub(crate) fn state_of_checkpoint(&self, id: &ObjectId) -> Option<StateIds> {
        let history = self.load_history().ok()?;
        let index = history.entries.iter().position(|entry| entry.id == *id)?;
        let checkpoint = history.checkpoint(index, &self.store).ok()?;
        (!checkpoint.receipt_damaged).then_some((checkpoint.tree, checkpoint.modes))
    }

    /// Notes one of Herma's own moves, so that nobody takes it for a person's work. A move that was
    /// interrupted and finished is noted once.
    pub(crate) fn note_move(
        &self,
        journal: &Journal,
        target: &Checkpoint,
        newest: i64,
    ) -> Result<Step> {
        let state = self.state_dir()?;
        herma_records::forget_look(&state);
        let mut log = StepLog::open(&state)?;
        let kind = kind_of(journal);
        if let Some(noted) = noted(&log, kind, journal)? {
            return Ok(noted);
        }
        let handle = log.next_handle();
        let at = |checkpoint, next_step| Moment { checkpoint, place: newest, next_step };
        // What was put together for this says why.
        let is_made_for_it = is_made_to_go_there(&log, target, newest)?;
        let made_for = is_made_for_it.then(|| target.subject().to_string());
        let step = Step {
            handle,
            kind,
            start: StepStart { command: made_for, ..StepStart::default() },
            before: at(journal.safety, handle),
            end: StepEnd::Changed(at(journal.target, handle + 1)),
            part: journal.options.clone(),
            started: journal.started,
            ended: Some(self.clock().now().seconds),
            moves_before: Some(journal.undo.moves),
            undid: journal.undid.clone(),
            ..Step::default()
        };
        let herma = self.store.dirs.for_writing()?;
        log.write(&herma.tmp, &state, &step, Durability::Synced)?;
        Ok(step)
    }

    /// Gives one of Herma's own moves its number, that of a checkpoint of the state it led to. `before` is what the look before it
    /// saw, with the places it touched since. A move that could not get a number is done all the same.
    pub(crate) fn number_move(
        &self,
        mut step: Step,
        journal: &Journal,
        arrived: &Arrived<'_>,
        (before, touched): (Option<&mut Arc<StatCache>>, Vec<Vec<u8>>),
    ) -> Option<u64> {
        if step.number.is_some() || !self.settings().number_moves {
            return step.number;
        }
        let state = self.state_dir().ok()?;
        let mut log = StepLog::open(&state).ok()?;
        let target = arrived.target;
        let options =
            SaveOptions { reason: went(journal, &log, target).into(), ..SaveOptions::default() };
        let is_made_for_it = is_made_to_go_there(&log, target, step.before.place).ok()?;
        let number = if arrived.has_its_files() && is_made_for_it {
            target.number
        } else if arrived.is_at_target() {
            self.publish_again(target, &options, Origin::Merged, &arrived.way).ok()?.number
        } else {
            let before = before?;
            // A checkpoint holds all of it by now.
            if let Some(before) = Arc::get_mut(before) {
                before.all_stored();
            }
            let expected = (!arrived.is_disturbed()).then_some(arrived.after);
            let before = (Arc::clone(before), touched);
            self.save_arrived(expected, before, &options).ok()?.number
        };
        step.number = Some(number);
        let herma = self.store.dirs.for_writing().ok()?;
        log.write(&herma.tmp, &state, &step, Durability::Synced).ok()?;
        step.number
    }

    /// Forgets one of Herma's own moves that was interrupted after it was noted, and then reversed: it
    /// never led anywhere.
    pub(crate) fn forget_move(&self, journal: &Journal) -> Result<()> {
        let mut log = StepLog::open(&self.state_dir()?)?;
        match noted(&log, kind_of(journal), journal)? {
            Some(step) => Ok(log.remove(&[step.handle])?),
            None => Ok(()),
        }
    }
}

impl Project {
    /// Fills in the turn and its prompt where only the session is known.
    pub(crate) fn in_its_turn(marks: &Marks, mut start: StepStart) -> StepStart {
        let session = start.facts.session.as_deref();
        if let Some(turn) = session.and_then(|session| marks.of_session(session)) {
            if start.facts.turn.as_ref().is_none_or(|name| turn.is_called(name)) {
                start.facts.turn = Some(turn.turn.clone());
            }
            if start.facts.turn.as_ref() == Some(&turn.turn) && start.prompt.is_none() {
                start.prompt.clone_from(&turn.prompt);
            }
            if start.facts.agent.is_none() {
                start.facts.agent.clone_from(&turn.agent);
            }
        }
        start
    }
}

fn kind_of(journal: &Journal) -> StepKind {
    let how = journal.undid.as_ref().map(|undid| undid.how);
    match journal.by {
        Move::Restore => match how {
            Some(UndoneAs::Chosen | UndoneAs::Last) => StepKind::Undo,
            Some(UndoneAs::Redo) => StepKind::Redo,
            Some(UndoneAs::Promote) => StepKind::Promote,
            Some(UndoneAs::Restore) | None => StepKind::Restore,
        },
        Move::Undo => StepKind::Undo,
        Move::Redo => StepKind::Redo,
    }
}

/// How a move is told of in the list of checkpoints.
fn went(journal: &Journal, log: &StepLog, target: &Checkpoint) -> String {
    let number = match &target.line {
        Some(line) => format!("{}@{line}", target.number),
        None => target.number.to_string(),
    };
    let id_of = |handle| log.step(handle).ok().flatten().map(|step| step.id());
    if let Some(told) = journal.undid.as_ref().and_then(|undid| undid.in_words(&id_of)) {
        return told;
    }
    let paths: Vec<String> = journal.options.paths.iter().map(ToString::to_string).collect();
    match journal.by {
        // The state was put together for another restore that kept the same edits.
        Move::Restore if target.origin == Origin::Merged && journal.undid.is_some() => {
            target.subject().to_string()
        }
        Move::Restore if paths.is_empty() => format!("went back to {number}"),
        Move::Restore => format!("restored {} to {number}", paths.join(", ")),
        Move::Undo => format!("undid what came after {number}"),
        Move::Redo => format!("redid what led to {number}"),
    }
}

/// Did Herma just put this checkpoint together in order to go there? Otherwise it is where an earlier move led. `newest` is the
/// place of the newest one before the move.
fn is_made_to_go_there(log: &StepLog, target: &Checkpoint, newest: i64) -> Result<bool> {
    let led_there = |step: &Step| step.number == Some(target.number);
    if target.line.is_some() {
        return Ok(false);
    }
    let is_new = target.origin == Origin::Merged && target.place == newest;
    Ok(is_new && log.newest(led_there)?.is_none())
}

/// The step under which a move was noted, if it was.
fn noted(log: &StepLog, kind: StepKind, journal: &Journal) -> Result<Option<Step>> {
    let is_it = |step: &Step| {
        step.kind == kind
            && step.moves_before.is_none_or(|moves| moves == journal.undo.moves)
            && step.started == journal.started
            && step.before.checkpoint == journal.safety
            && step.after() == Some(journal.target)
    };
    Ok(log.recent().find(|step| step.as_ref().map_or(true, is_it)).transpose()?)
}

/// How the state before a step is saved.
pub(crate) fn before_options(start: &StepStart) -> SaveOptions {
    SaveOptions {
        reason: reason("before", start).into(),
        facts: start.facts.clone(),
        ..SaveOptions::default()
    }
}

/// Why a checkpoint around a step is taken, as lists show it.
fn reason(when: &str, start: &StepStart) -> String {
    let what = start.facts.tool.as_deref().unwrap_or("a step");
    let about = start.command.as_ref().or_else(|| start.paths.first());
    match about.and_then(|about| about.lines().next()) {
        Some(about) => format!("{when} {what}: {about}"),
        None => format!("{when} {what}"),
    }
}

/// The steps that are under way, among the newest ones.
pub(crate) fn open_steps(log: &StepLog) -> Result<Vec<Step>> {
    let mut open = going_on(log)?;
    open.retain(Step::is_open);
    Ok(open)
}

/// The same with those that go on in the background.
fn going_on(log: &StepLog) -> Result<Vec<Step>> {
    let goes_on = |step: &Step| step.is_open() || step.is_in_background();
    let recent = log.recent().filter(|step| step.as_ref().map_or(true, goes_on));
    let mut recent: Vec<Step> = recent.collect::<herma_fs::Result<_>>()?;
    recent.reverse();
    Ok(recent)
}

/// Whose calls of a session are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose<'a> {
    All,
    /// Not those of agents of the agent.
    OfAgent,
    /// Those of this agent of the agent.
    Of(&'a str),
}

/// The calls of a session that are under way.
fn open_of(log: &StepLog, session: &str, whose: Whose<'_>) -> Result<Vec<Step>> {
    let session = Some(cut_name(session));
    let is_meant = |step: &Step| match (whose, &step.start.sub_agent) {
        (Whose::All, _) | (Whose::OfAgent, None) => true,
        (Whose::Of(wanted), Some(sub_agent)) => cut_name(wanted) == *sub_agent,
        (Whose::OfAgent, Some(_)) | (Whose::Of(_), None) => false,
    };
    let mut open = going_on(log)?;
    open.retain(|step| {
        let is_its = step.start.facts.session == session && step.kind == StepKind::Tool;
        is_its && is_meant(step) && (step.is_open() || whose == Whose::All)
    });
    Ok(open)
}

/// The step that a new one is part of, if that is still under way. What was started during a step and
/// outlives it says that it is part of it for ever after.
fn outer_step(log: &StepLog, start: &StepStart) -> Result<Option<i64>> {
    let Some(outer) = start.within else { return Ok(None) };
    let is_open = log.step(outer)?.is_some_and(|step| step.is_open());
    Ok(is_open.then_some(outer))
}

/// Is a step part of the one with this number?
fn is_within(log: &StepLog, step: &Step, outer: i64) -> bool {
    let mut above = step.start.within;
    while let Some(number) = above {
        if number == outer {
            return true;
        }
        // Each step is part of an earlier one, so this comes to an end.
        above = match log.step(number) {
            Ok(Some(step)) => step.start.within,
            _ => None,
        };
    }
    false
}

/// The newest call of this name that is under way, or else one of which it was only inferred that it was over: the agent knows better.
fn told_of(log: &StepLog, told: &StepStart) -> Result<Option<Step>> {
    let mut over = None;
    for step in log.recent() {
        let step = step?;
        let session = &told.facts.session;
        let is_its = session.is_none() || step.start.facts.session == *session;
        if step.start.call != told.call || !is_its {
            continue;
        }
        if step.is_open() {
            return Ok(Some(step));
        }
        over = over.or(Some(step).filter(is_inferred));
    }
    Ok(over)
}

fn find_open(log: &StepLog, which: &WhichStep) -> Result<Step> {
    let found = match which {
        WhichStep::Id(StepId::Handle(handle)) => log.step(*handle)?,
        WhichStep::Id(id) => log.newest(|step| step.is(*id))?,
        WhichStep::Call { id, session } => {
            let facts = Facts { session: session.clone(), ..Facts::default() };
            let call = Some(id.clone());
            told_of(log, &StepStart { facts, call, ..StepStart::default() }.cut())?
        }
    };
    match (found, which) {
        (None, _) => Err(Error::NoSuchStep(which.clone())),
        // By now it may have a number.
        (Some(step), WhichStep::Id(asked)) if !step.is_open() => Err(Error::StepIsOver(*asked)),
        (Some(step), _) => Ok(step),
    }
}

/// Was it only inferred that a step was over?
fn is_inferred(step: &Step) -> bool {
    step.inferred || matches!(step.end, StepEnd::Unknown(_))
}

/// The end of a step that changed nothing, and was over for all that anybody else did.
fn at_its_beginning(step: &Step) -> StepEnd {
    StepEnd::Unchanged(Moment { next_step: step.handle + 1, ..step.before })
}
