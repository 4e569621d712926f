//! Recording steps: a save before a tool call, a save after it, and what ties the two together.
//!
//! Beginning and ending are separate calls, usually of separate processes. Between them the project is not
//! locked: other steps may begin and end, and whoever looks at the timeline later sees that they overlapped.

use herma_fs::process::TempName;
use herma_fs::publish::Durability;
use herma_store::ObjectId;
use herma_worktree::present::StateIds;

use crate::engine::open::{OpenStore, own_state};
use crate::engine::{Progress, Project, Stage};
use crate::error::Error;
use crate::history::History;
use crate::records::journal::Journal;
use crate::records::step::log::{STEPS_SEARCHED_FOR_OPEN, StepLog};
use crate::records::step::marks::{Marks, Turn};
use crate::records::step::outside::{Outside, Sighting};
use crate::records::step::{Moment, Step, StepEnd, StepKind, StepRules, StepStart};
use crate::records::undo::Move;
use crate::save::{SaveOptions, Saved};
use crate::types::asked::{RestoreOptions, WhichStep};
use crate::types::checkpoint::{Checkpoint, Facts, Origin};

/// A step that has begun.
#[derive(Clone, Debug)]
pub struct BegunStep {
    /// The step.
    pub step: Step,
    /// The save before it.
    pub saved: Saved,
    /// Steps that are under way in this project, of which it is not a part: what happens until one of them
    /// ends cannot be attributed.
    pub beside: Vec<u64>,
}

/// A step that has ended.
#[derive(Clone, Debug)]
pub struct EndedStep {
    /// The step, and how it ended.
    pub step: Step,
    /// The save after it; none when the state after it is not known, or was not looked at.
    pub saved: Option<Saved>,
}

impl Project {
    /// Saves the project before a tool call and notes that the call has begun.
    pub fn begin_step(
        &self,
        kind: StepKind,
        start: StepStart,
        progress: &dyn Progress,
    ) -> Result<BegunStep, Error> {
        progress.stage(Stage::Waiting);
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let state = self.state_dir(&store.dirs)?;
        let start = Self::in_its_turn(&Marks::read(&state)?, start.cut());
        let options = before_options(&start);
        let mut log = StepLog::open(&state)?;
        let open = self.give_up_abandoned(&store, &mut log)?;
        let holding = self.holding_steps(&store, &open);
        let saved = self.save_and_note(&store, &options, holding, progress)?;
        let (step, beside) =
            self.note_begun(&store, &mut log, &open, kind, start, &saved.checkpoint)?;
        Ok(BegunStep { step, saved, beside })
    }

    /// Steps whose process is gone are over, and what changes from here on is not theirs. Returns the others that are
    /// under way.
    pub(crate) fn give_up_abandoned(
        &self,
        store: &OpenStore,
        log: &mut StepLog,
    ) -> Result<Vec<Step>, Error> {
        let (abandoned, open): (Vec<_>, Vec<_>) =
            open_steps(log, log.next_number())?.into_iter().partition(Step::is_abandoned);
        for step in abandoned {
            self.end_unknown(store, log, step)?;
        }
        Ok(open)
    }

    /// Notes that a step begins in the state of this checkpoint. Also tells which of the open ones it is not a part of.
    pub(crate) fn note_begun(
        &self,
        store: &OpenStore,
        log: &mut StepLog,
        open: &[Step],
        kind: StepKind,
        mut start: StepStart,
        before: &Checkpoint,
    ) -> Result<(Step, Vec<u64>), Error> {
        let number = log.next_number();
        start.within = outer_step(log, &start)?;
        let step = Step {
            number,
            kind,
            before: Moment { checkpoint: before.id, sequence: before.sequence, next_step: number },
            end: StepEnd::Open,
            part: RestoreOptions::default(),
            started: self.clock().now().seconds,
            ended: None,
            owner: (kind == StepKind::Run).then(|| TempName::next().to_string()),
            late: false,
            watched: self.sight_outside(store),
            outside: Outside::default(),
            rules: Some(self.rules_now()).filter(StepRules::is_recorded),
            start,
        };
        let beside = open
            .iter()
            .map(|open| open.number)
            .filter(|open| !is_within(log, &step, *open))
            .collect();
        // Losing this to a power cut loses the step, not the checkpoint.
        let herma = store.dirs.for_writing()?;
        let state = self.state_dir(&store.dirs)?;
        log.write(&herma.tmp, &state, &step, Durability::Cache)?;
        Ok((step, beside))
    }

    /// Saves the project after a tool call, unless nothing changed, and notes that the call has ended.
    pub fn end_step(&self, which: &WhichStep, progress: &dyn Progress) -> Result<EndedStep, Error> {
        progress.stage(Stage::Waiting);
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let state = self.state_dir(&store.dirs)?;
        let mut log = StepLog::open(&state)?;
        let mut step = find_open(&log, which)?;
        let options = SaveOptions {
            reason: reason("after", &step.start).into(),
            facts: step.start.facts.clone(),
            ..SaveOptions::default()
        };
        // What was covered when it began, or when others did that are under way, is covered when it ends.
        let holding = self.holding_steps(&store, &open_steps(&log, log.next_number())?);
        let saved = match self.save_and_note(&store, &options, holding, progress) {
            Ok(saved) => saved,
            Err(e) => {
                // The call is over all the same. If that cannot be noted either, the step stays open.
                let _ = self.end_unknown(&store, &mut log, step);
                return Err(e);
            }
        };
        let after = &saved.checkpoint;
        let before = &step.before.checkpoint;
        let is_changed = after.id != *before
            && self.state_of_checkpoint(&store, before) != Some((after.tree, after.modes));
        let moment =
            Moment { checkpoint: after.id, sequence: after.sequence, next_step: log.next_number() };
        let end = if is_changed { StepEnd::Changed(moment) } else { StepEnd::Unchanged(moment) };
        step.outside = self.outside_of(&store, &step, &saved.receipt.summary, is_changed)?;
        if !is_changed && step.outside.is_empty() {
            step.outside.unseen = step.watched.unseen();
        }
        let step = self.write_end(&store, &mut log, step, end)?;
        Ok(EndedStep { step, saved: Some(saved) })
    }

    /// Notes that a tool call has ended in a way nobody can tell: it goes on in the background, or the one
    /// who was to say it is gone. Nothing is saved.
    pub fn end_step_unknown(&self, which: &WhichStep) -> Result<EndedStep, Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let mut log = StepLog::open(&self.state_dir(&store.dirs)?)?;
        let step = find_open(&log, which)?;
        let step = self.end_unknown(&store, &mut log, step)?;
        Ok(EndedStep { step, saved: None })
    }

    /// Notes that a tool call has ended that certainly changed nothing: it was over, as far as files go, when it began. Nobody
    /// looks; what others changed meanwhile is found by the next one who does, and is not the call's.
    pub fn end_step_unchanged(&self, which: &WhichStep) -> Result<EndedStep, Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let mut log = StepLog::open(&self.state_dir(&store.dirs)?)?;
        let step = find_open(&log, which)?;
        let end = StepEnd::Unchanged(Moment { next_step: step.number + 1, ..step.before });
        let step = self.write_end(&store, &mut log, step, end)?;
        Ok(EndedStep { step, saved: None })
    }

    pub(crate) fn end_unknown(
        &self,
        store: &OpenStore,
        log: &mut StepLog,
        step: Step,
    ) -> Result<Step, Error> {
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        let newest = history.newest();
        let end = StepEnd::Unknown(Moment {
            checkpoint: newest.map_or(step.before.checkpoint, |entry| entry.id),
            sequence: newest.map_or(step.before.sequence, |entry| entry.sequence),
            next_step: log.next_number(),
        });
        self.write_end(store, log, step, end)
    }

    fn write_end(
        &self,
        store: &OpenStore,
        log: &mut StepLog,
        mut step: Step,
        end: StepEnd,
    ) -> Result<Step, Error> {
        step.end = end;
        // Whoever takes back one that nobody ended has to know all that was there.
        if !matches!(end, StepEnd::Unknown(_)) {
            step.watched = Sighting::default();
        }
        step.ended = Some(self.clock().now().seconds);
        let durability = match end {
            StepEnd::Unchanged(_) if step.outside.is_empty() => Durability::Cache,
            StepEnd::Changed(_) | StepEnd::Unchanged(_) => self.settings().durability,
            StepEnd::Open | StepEnd::Unknown(_) => Durability::Cache,
        };
        let herma = store.dirs.for_writing()?;
        let state = self.state_dir(&store.dirs)?;
        log.write(&herma.tmp, &state, &step, durability)?;
        Ok(step)
    }

    /// Notes that a user prompt begins a turn of a session, and that what was still open in the session is
    /// over, however it ended; but not what agents of the agent do, who may be at work in the background.
    pub fn begin_turn(
        &self,
        session: &str,
        facts: &Facts,
        prompt: Option<&str>,
    ) -> Result<Turn, Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let state = self.state_dir(&store.dirs)?;
        self.give_up_open(&store, session, |step| step.start.sub_agent.is_none())?;
        let mut marks = Marks::read(&state)?;
        let now = self.clock().now().seconds;
        let turn = marks.begin(session, facts.agent.as_deref(), facts.turn.as_deref(), prompt, now);
        marks.write(&store.dirs.for_writing()?.tmp, &state)?;
        Ok(turn)
    }

    /// Notes that the turn of a session is over, and with it what was still open in the session, as
    /// [`Self::begin_turn`] has it. `None` if no turn of it was noted.
    pub fn end_turn(&self, session: &str) -> Result<Option<Turn>, Error> {
        self.end_turn_with(session, |step| step.start.sub_agent.is_none())
    }

    /// Notes that a session is over, and with it everything that was still open in it.
    pub fn end_session(&self, session: &str) -> Result<Option<Turn>, Error> {
        self.end_turn_with(session, |_| true)
    }

    fn end_turn_with(
        &self,
        session: &str,
        is_over: impl Fn(&Step) -> bool,
    ) -> Result<Option<Turn>, Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let state = self.state_dir(&store.dirs)?;
        self.give_up_open(&store, session, is_over)?;
        let mut marks = Marks::read(&state)?;
        let turn = marks.end(session);
        if turn.is_some() {
            marks.write(&store.dirs.for_writing()?.tmp, &state)?;
        }
        Ok(turn)
    }

    /// The turn of a session that was noted last.
    pub fn turn(&self, session: &str) -> Result<Option<Turn>, Error> {
        let Some(store) = self.engine.open_for_reading()? else { return Ok(None) };
        let Some(state) = own_state(&store, &self.id)? else { return Ok(None) };
        Ok(Marks::read(&state)?.of_session(session).cloned())
    }

    fn give_up_open(
        &self,
        store: &OpenStore,
        session: &str,
        is_over: impl Fn(&Step) -> bool,
    ) -> Result<(), Error> {
        let mut log = StepLog::open(&self.state_dir(&store.dirs)?)?;
        let wanted = StepStart {
            facts: Facts { session: Some(session.to_owned()), ..Facts::default() },
            ..StepStart::default()
        }
        .cut();
        for step in open_steps(&log, log.next_number())? {
            let is_its = step.start.facts.session == wanted.facts.session;
            if is_its && step.kind == StepKind::Tool && is_over(&step) {
                self.end_unknown(store, &mut log, step)?;
            }
        }
        Ok(())
    }

    /// Fills in the turn and its prompt where only the session is known.
    pub(crate) fn in_its_turn(marks: &Marks, mut start: StepStart) -> StepStart {
        let session = start.facts.session.as_deref();
        if let Some(turn) = session.and_then(|session| marks.of_session(session)) {
            if start.facts.turn.is_none() {
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

    /// All steps that are remembered, oldest first.
    pub(crate) fn all_steps(&self, store: &OpenStore) -> Result<Vec<Step>, Error> {
        self.step_log(store)?.all()
    }

    /// The steps, to be read one by one.
    pub(crate) fn step_log(&self, store: &OpenStore) -> Result<StepLog, Error> {
        match own_state(store, &self.id)? {
            Some(state) => StepLog::open(&state),
            None => Ok(StepLog::empty()),
        }
    }

    pub(crate) fn state_of_checkpoint(&self, store: &OpenStore, id: &ObjectId) -> Option<StateIds> {
        let history = History::load(&store.dirs, &store.objects, &self.id).ok()?;
        let index = history.entries.iter().position(|entry| entry.id == *id)?;
        let checkpoint = history.checkpoint(index, &store.dirs, &store.objects, &self.id).ok()?;
        (!checkpoint.receipt_damaged).then_some((checkpoint.tree, checkpoint.modes))
    }

    /// Notes one of Herma's own moves, so that nobody takes it for a person's work. A move that was
    /// interrupted and finished is noted once.
    pub(crate) fn note_move(
        &self,
        store: &OpenStore,
        journal: &Journal,
        target: &Checkpoint,
        newest: u64,
    ) -> Result<(), Error> {
        let state = self.state_dir(&store.dirs)?;
        crate::records::forget_look(&state);
        let mut log = StepLog::open(&state)?;
        let kind = kind_of(journal.by);
        if noted(&log, kind, journal)?.is_some() {
            return Ok(());
        }
        let number = log.next_number();
        let at = |checkpoint, next_step| Moment { checkpoint, sequence: newest, next_step };
        // What was put together for this says why.
        let is_merged = target.origin == Origin::Merged;
        let made_for = is_merged.then(|| target.subject().to_string());
        let step = Step {
            number,
            kind,
            start: StepStart { command: made_for, ..StepStart::default() },
            before: at(journal.safety, number),
            end: StepEnd::Changed(at(journal.target, number + 1)),
            part: journal.options.clone(),
            started: journal.started,
            ended: Some(self.clock().now().seconds),
            owner: None,
            late: false,
            watched: Sighting::default(),
            outside: Outside::default(),
            rules: None,
        };
        let herma = store.dirs.for_writing()?;
        log.write(&herma.tmp, &state, &step, Durability::Synced)
    }

    /// Forgets one of Herma's own moves that was interrupted after it was noted, and then reversed: it
    /// never led anywhere.
    pub(crate) fn forget_move(&self, store: &OpenStore, journal: &Journal) -> Result<(), Error> {
        let mut log = StepLog::open(&self.state_dir(&store.dirs)?)?;
        match noted(&log, kind_of(journal.by), journal)? {
            Some(number) => log.remove(&[number]),
            None => Ok(()),
        }
    }
}

const fn kind_of(by: Move) -> StepKind {
    match by {
        Move::Restore => StepKind::Restore,
        Move::Undo => StepKind::Undo,
        Move::Redo => StepKind::Redo,
    }
}

/// The step under which a move was noted, if it was.
fn noted(log: &StepLog, kind: StepKind, journal: &Journal) -> Result<Option<u64>, Error> {
    let next = log.next_number();
    for number in (next.saturating_sub(STEPS_SEARCHED_FOR_OPEN).max(1)..next).rev() {
        let is_it = |step: &Step| {
            step.kind == kind
                && step.started == journal.started
                && step.before.checkpoint == journal.safety
                && step.after() == Some(journal.target)
        };
        if log.step(number)?.is_some_and(|step| is_it(&step)) {
            return Ok(Some(number));
        }
    }
    Ok(None)
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

/// Steps below `number` that are under way, among the newest ones.
pub(crate) fn open_steps(log: &StepLog, number: u64) -> Result<Vec<Step>, Error> {
    let mut open = Vec::new();
    for recent in number.saturating_sub(STEPS_SEARCHED_FOR_OPEN).max(1)..number {
        open.extend(log.step(recent)?.filter(Step::is_open));
    }
    Ok(open)
}

/// The step that a new one is part of, if that is still under way. What was started during a step and
/// outlives it says that it is part of it for ever after.
fn outer_step(log: &StepLog, start: &StepStart) -> Result<Option<u64>, Error> {
    let Some(outer) = start.within else { return Ok(None) };
    let is_open = log.step(outer)?.is_some_and(|step| step.is_open());
    Ok(is_open.then_some(outer))
}

/// Is a step part of the one with this number?
fn is_within(log: &StepLog, step: &Step, outer: u64) -> bool {
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

fn find_open(log: &StepLog, which: &WhichStep) -> Result<Step, Error> {
    let found = match which {
        WhichStep::Number(number) => log.step(*number)?,
        WhichStep::Call(call) => {
            let wanted = StepStart { call: Some(call.clone()), ..StepStart::default() }.cut();
            log.newest(|step| step.is_open() && step.start.call == wanted.call)?
        }
    };
    match found {
        None => Err(Error::NoSuchStep(which.clone())),
        Some(step) if !step.is_open() => Err(Error::StepIsOver(step.number)),
        Some(step) => Ok(step),
    }
}
