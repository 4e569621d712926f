//! Undoing what was newest, again and again, and redoing it.

use herma_fs::stat_path;
use std::cell::OnceCell;

use herma_records::checkpoint::Origin;
use herma_records::step::{Doubt, Step, StepId, StepKind, Undid, UndoneAs};
use herma_records::undo::{Move, Reversed};
use herma_reversal::Conflicts;
use herma_store::{ObjectId, RelPath};

use crate::engine::operation::Operation;
use crate::error::{Error, Result};
use crate::steps::StepChoice;
use crate::undo::plan::{UndoPlan, UndoSteps};
use crate::undo::steps::Looked;
use crate::undo::units::{Marks, Unit};
use crate::undo::{Standing, Undone};

/// What is older than so many seconds is not undone without a question.
const SECONDS_OF_A_DAY: i64 = 24 * 3600;

/// How what was newest is to be undone.
#[derive(Clone, Debug, Default)]
pub struct UndoLast {
    /// So many more units, those before it, at once with it.
    pub more: usize,
    /// Only in these files and directories: then it is about the last unit that changed them.
    pub paths: Vec<RelPath>,
    /// Only the last tool call of it.
    pub only_step: bool,
    /// Only what this session did.
    pub session: Option<String>,
    /// Also while it is under way.
    pub running: bool,
    /// What to do where something else was changed in the same place since.
    pub conflicts: Conflicts,
    /// Work out each file by itself, because somebody chooses among them.
    pub file_by_file: bool,
}

/// What an undo or redo would do.
#[derive(Clone, Debug)]
pub enum NextMove {
    /// It undoes steps.
    Steps(Box<PlannedUndo>),
    /// It goes to the state before, or forward again: where no steps are known, where a restore was interrupted, and where the last
    /// move is undone before anything else happened.
    States(Move, Option<Box<JustMoved>>),
    /// It makes a move after all that was interrupted and reversed.
    Again(Box<Reversed>),
}

/// One of Herma's own moves that is undone while the project is just as it left it.
#[derive(Clone, Debug)]
pub struct JustMoved {
    /// The move.
    pub unit: Unit,
    /// Why a person should be asked first.
    pub doubt: Option<UndoDoubt>,
    /// Is what it undid a whole unit?
    is_whole: bool,
    undid: Undid,
}

/// What an undo would undo, and how.
#[derive(Clone, Debug)]
pub struct PlannedUndo {
    /// What it undoes, or brings back, the newest first.
    pub units: Vec<Unit>,
    /// What that would do.
    pub plan: UndoPlan,
    /// What of it a person should be asked about first, and why.
    pub doubted: Option<(Unit, UndoDoubt)>,
    /// Is all of the unit meant?
    pub is_whole: bool,
}

/// Why a person should be asked before a unit is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoDoubt {
    /// It is older than this checkpoint, which a person made.
    OlderThanSave(u64),
    /// It ended more than a day ago.
    OlderThanADay,
    /// A checkpoint around it is gone, and nobody can tell any more what was edited by hand meanwhile.
    CheckpointGone,
}

impl std::fmt::Display for UndoDoubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OlderThanSave(number) => {
                write!(f, "is older than checkpoint {number}, which you saved")
            }
            Self::OlderThanADay => f.write_str("is older than a day"),
            Self::CheckpointGone => {
                f.write_str("has lost a checkpoint: edits by hand around it would go with it")
            }
        }
    }
}

impl NextMove {
    /// What a person should be asked about first, and why.
    pub fn doubt(&self) -> Option<(&Unit, UndoDoubt)> {
        match self {
            Self::Steps(planned) => planned.doubted.as_ref().map(|(unit, doubt)| (unit, *doubt)),
            Self::States(_, just) => just.as_ref().and_then(|just| Some((&just.unit, just.doubt?))),
            Self::Again(_) => None,
        }
    }

    /// What is undone or redone, the newest first.
    pub fn units(&self) -> &[Unit] {
        match self {
            Self::Steps(planned) => &planned.units,
            Self::States(_, Some(just)) => std::slice::from_ref(&just.unit),
            Self::States(_, None) | Self::Again(_) => &[],
        }
    }

    /// Is it about a whole unit? Then the next undo undoes what a redo brought back.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Steps(planned) => planned.is_whole,
            Self::States(_, just) => just.as_ref().is_none_or(|just| just.is_whole),
            Self::Again(_) => true,
        }
    }
}

impl UndoLast {
    /// The steps of a unit that are meant, by their handles. Who decides about conflicts by now, or names the file, means what is
    /// left of it and not what came before it.
    pub(crate) fn handles_of(&self, unit: &Unit) -> Vec<i64> {
        unit.to_undo(self.conflicts != Conflicts::Leave || !self.paths.is_empty())
    }

    /// The same of these steps.
    pub(crate) fn of(&self, handles: Vec<i64>) -> UndoSteps {
        UndoSteps {
            steps: chosen(handles),
            paths: self.paths.clone(),
            how: UndoneAs::Last,
            conflicts: self.conflicts,
            file_by_file: self.file_by_file,
            ..UndoSteps::default()
        }
    }
}

impl Operation<'_> {
    pub(crate) fn plan_undo(&self, asked: &UndoLast) -> Result<NextMove> {
        let along_states = || match asked.more {
            0 => Ok(NextMove::States(Move::Undo, None)),
            _ => Err(Error::NoPrompts),
        };
        // Of a project that is gone altogether, all is wanted back.
        if self.records()?.0.is_some() || stat_path(&self.root)?.is_none() {
            return along_states();
        }
        let steps = self.all_steps()?;
        let units = self.marks(&steps).units(&steps);
        // Where agents tell of their work, what they did not do is not theirs to undo.
        let is_call = |step: &Step| step.kind == StepKind::Tool;
        let has_agents = steps.iter().any(is_call) || self.last_turn()?.is_some();
        let is_any = asked.paths.is_empty() && asked.session.is_none();
        if units.is_empty() && is_any && !has_agents {
            return along_states();
        }
        let of_session = |unit: &Unit| {
            let session = unit.turn().map(|(session, _)| session);
            asked.session.is_none() || session == asked.session.as_deref()
        };
        let units = units.into_iter().filter(of_session);
        if asked.more > 0 {
            return self.plan_several(units, asked);
        }
        for unit in units {
            if let Some(next) = self.plan_unit(unit, asked)? {
                return Ok(next);
            }
        }
        Err(Error::NothingToUndo)
    }

    /// What undoing a unit would do; `None` if nothing of it is there any more.
    fn plan_unit(&self, unit: Unit, asked: &UndoLast) -> Result<Option<NextMove>> {
        let all = asked.handles_of(&unit);
        let choices: Vec<Vec<i64>> = if asked.only_step {
            all.into_iter().rev().map(|handle| vec![handle]).collect()
        } else {
            vec![all]
        };
        for handles in choices.into_iter().filter(|handles| !handles.is_empty()) {
            let asked_of = asked.of(handles);
            let looked = self.look_for(&asked_of)?;
            let is_any = asked.paths.is_empty() && asked.session.is_none();
            let is_whole = is_any && !asked.only_step;
            if asked.paths.is_empty()
                && !asked.file_by_file
                && let Some(undid) = self.just_moved(&unit, UndoneAs::Last, &looked)?
            {
                let doubt = self.doubt_about(&unit)?;
                let just = JustMoved { unit, doubt, is_whole, undid };
                return Ok(Some(NextMove::States(Move::Undo, Some(Box::new(just)))));
            }
            let plan = self.plan_from(looked, &asked_of)?;
            // Somebody has done it already.
            if plan.leaves_all() && plan.outside.is_empty() {
                continue;
            }
            self.check_over(&unit, asked)?;
            let doubt = self.doubt_about_planned(&unit, &plan)?;
            let doubted = doubt.map(|doubt| (unit.clone(), doubt));
            let planned = PlannedUndo { units: vec![unit], plan, doubted, is_whole };
            return Ok(Some(NextMove::Steps(Box::new(planned))));
        }
        Ok(None)
    }

    /// Refuses what is under way, unless that is meant, too.
    pub(crate) fn check_over(&self, unit: &Unit, asked: &UndoLast) -> Result<()> {
        if unit.is_under_way(self.clock().now().seconds) && !asked.running {
            return Err(Error::UnderWay(unit.id, unit.prompt().map(str::to_owned)));
        }
        Ok(())
    }

    pub(crate) fn plan_redo(&self) -> Result<NextMove> {
        let along_states = |just| Ok(NextMove::States(Move::Redo, just));
        if self.records()?.0.is_some() {
            return along_states(None);
        }
        if let Some(reversed) = self.reversed_last()? {
            return Ok(NextMove::Again(Box::new(reversed)));
        }
        let steps = self.all_steps()?;
        let marks = self.marks(&steps);
        let Some(undo) = marks.to_redo() else {
            let has_units = !marks.units(&steps).is_empty();
            return if has_units { Err(Error::NothingToRedo) } else { along_states(None) };
        };
        let units = marks.units(&steps);
        let unit = marks.unit(steps.into_iter().filter(|step| step.handle == undo).collect());
        let undid: Vec<&Undid> = unit.steps.iter().filter_map(|step| step.undid.as_ref()).collect();
        let taken: Vec<i64> =
            undid.iter().flat_map(|undid| [&*undid.steps, &*undid.left].concat()).collect();
        let is_taken = |step: &Step| taken.contains(&step.handle);
        // What the next undo is about, once this is redone.
        let next = units.iter().find(|unit| !unit.undone || unit.steps.iter().any(is_taken));
        let is_whole = undid.iter().all(|undid| undid.part.is_empty())
            && next.is_some_and(|unit| {
                let is_of_it = |handle: &i64| unit.steps.iter().any(|step| step.handle == *handle);
                unit.steps.iter().all(is_taken) && taken.iter().all(is_of_it)
            });
        let asked =
            UndoSteps { steps: chosen(vec![undo]), how: UndoneAs::Redo, ..UndoSteps::default() };
        let looked = self.look_for(&asked)?;
        if let Some(undid) = self.just_moved(&unit, UndoneAs::Redo, &looked)? {
            return along_states(Some(Box::new(JustMoved { unit, doubt: None, is_whole, undid })));
        }
        let mut taken: Vec<Step> = self.all_steps()?.into_iter().filter(is_taken).collect();
        // What one of Herma's own moves had undone comes with it.
        if taken.iter().any(|step| step.kind.is_move()) {
            taken.retain(|step| step.kind.is_move());
        }
        let taken: Vec<i64> = taken.into_iter().map(|step| step.handle).collect();
        let units = units.into_iter().filter_map(|unit| unit.of_these(&taken, &marks)).collect();
        let plan = self.plan_from(looked, &asked)?;
        Ok(NextMove::Steps(Box::new(PlannedUndo { units, plan, doubted: None, is_whole })))
    }

    /// Does whatever an undo or redo would do next.
    pub(crate) fn make_next(&self, next: NextMove) -> Result<Undone> {
        match next {
            NextMove::States(by, just) => self.make_move(by, just.map(|just| just.undid)),
            NextMove::Again(moved) => self.make_again(&moved),
            NextMove::Steps(planned) => {
                let taken = self.undo_as_planned(planned.plan.clone())?;
                Ok(Undone::Steps(planned, Some(Box::new(taken))))
            }
        }
    }

    /// Is this one of Herma's own moves, and the project just as it left it, or as a redo of it did? Then all that it did is
    /// gone back along the states, with the conversation that followed it.
    fn just_moved(&self, unit: &Unit, how: UndoneAs, looked: &Looked<'_>) -> Result<Option<Undid>> {
        let [step] = &unit.steps[..] else { return Ok(None) };
        if !step.kind.is_move() || self.last_done()? != Some(step.handle) {
            return Ok(None);
        }
        let by = if how == UndoneAs::Redo { Move::Redo } else { Move::Undo };
        let standing = self.standing(&looked.history, &looked.present)?;
        // A state may have several checkpoints: each move has one of its own.
        let state = |id: ObjectId| self.state_of_checkpoint(&id);
        let before = step.before.checkpoint;
        let is_before =
            |next| next == before || state(next).is_some() && state(next) == state(before);
        let leads_back = standing.next(by).is_some_and(is_before);
        let undid = Undid { steps: vec![step.handle], how, ..Undid::default() };
        Ok((standing.is_untouched() && leads_back).then_some(undid))
    }

    /// The handle of what was done last; what was undone and redone was.
    fn last_done(&self) -> Result<Option<i64>> {
        let log = self.step_log()?;
        let mut last = log.newest(|step| !step.is_idle())?;
        let only = |step: &Step, as_asked: UndoneAs| {
            let undid = step.undid.as_ref().filter(|undid| undid.how == as_asked)?;
            <[i64; 1]>::try_from(&undid.steps[..]).ok().map(|[only]| only)
        };
        while let Some(undo) = last.as_ref().and_then(|redo| only(redo, UndoneAs::Redo)) {
            let undo = log.newest(|step| step.handle == undo)?;
            let undone = undo.and_then(|undo| only(&undo, UndoneAs::Last));
            last = log.newest(|step| Some(step.handle) == undone)?;
        }
        Ok(last.map(|last| last.handle))
    }

    /// The last move, if it was interrupted and reversed, and nothing happened since.
    fn reversed_last(&self) -> Result<Option<Reversed>> {
        let (_, record) = self.records()?;
        if record.reversed.is_none() {
            return Ok(None);
        }
        Ok(self.standing_now()?.reversed())
    }

    fn standing_now(&self) -> Result<Standing> {
        let history = self.some_history()?;
        let present = self.look_holding(&history, &[])?;
        self.standing(&history, &present)
    }

    pub(crate) fn marks(&self, steps: &[Step]) -> Marks {
        // Only restores of everything are looked up.
        let history = OnceCell::new();
        let load = || self.load_history().ok();
        let place_of = |id: ObjectId| {
            history.get_or_init(load).as_ref()?.entry(&id).ok().map(|entry| entry.place)
        };
        Marks::after(steps, &place_of, self.clock().now().seconds)
    }

    /// The same, also about what this plan would do.
    pub(crate) fn doubt_about_planned(
        &self,
        unit: &Unit,
        plan: &UndoPlan,
    ) -> Result<Option<UndoDoubt>> {
        let is_of_unit = |id: &StepId| unit.steps.iter().any(|step| step.is(*id));
        let mut doubts = plan.doubts.iter().filter(|(step, _)| is_of_unit(step));
        if doubts.any(|(_, doubt)| *doubt == Doubt::CheckpointGone) {
            return Ok(Some(UndoDoubt::CheckpointGone));
        }
        self.doubt_about(unit)
    }

    /// Would a person be surprised that this is what an undo undoes?
    fn doubt_about(&self, unit: &Unit) -> Result<Option<UndoDoubt>> {
        let ended = unit.steps.iter().map(|step| step.ended.unwrap_or(step.given_up_at())).max();
        let day_ago = self.clock().now().seconds.saturating_sub(SECONDS_OF_A_DAY);
        if ended.is_some_and(|ended| ended < day_ago) {
            return Ok(Some(UndoDoubt::OlderThanADay));
        }
        let Some(number) = unit.id.number() else { return Ok(None) };
        let history = self.load_history()?;
        let own = history.entries.iter().find(|entry| entry.number == number);
        let own = own.map_or(number.cast_signed(), |own| own.place);
        let newer = history.readable_where(&self.store, |entry| entry.place > own)?;
        let is_by_hand = |facts: &herma_records::checkpoint::Facts| {
            facts.texts().iter().all(|(_, text)| text.is_none())
        };
        let by_hand = newer.iter().filter(|c| c.origin == Origin::Saved && is_by_hand(&c.facts));
        let log = self.step_log()?;
        // Where something was kept that others changed, one of Herma's own moves ended in an ordinary checkpoint.
        let is_end_of_move = |number| -> Result<bool> {
            let ended = log.newest(|step| step.number == Some(number))?;
            Ok(ended.is_some_and(|step| step.kind.is_move()))
        };
        for checkpoint in by_hand {
            if !is_end_of_move(checkpoint.number)? {
                return Ok(Some(UndoDoubt::OlderThanSave(checkpoint.number)));
            }
        }
        Ok(None)
    }
}

fn chosen(handles: Vec<i64>) -> StepChoice {
    StepChoice { ids: handles.into_iter().map(StepId::Handle).collect(), ..StepChoice::default() }
}
