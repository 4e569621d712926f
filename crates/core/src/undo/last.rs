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
    /// What it undoes, or brings back.
    pub unit: Unit,
    /// What that would do.
    pub plan: UndoPlan,
    /// Why a person should be asked first.
    pub doubt: Option<UndoDoubt>,
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
        let doubt = match self {
            Self::Steps(planned) => planned.doubt,
            Self::States(_, just) => just.as_ref().and_then(|just| just.doubt),
            Self::Again(_) => None,
        };
        self.unit().zip(doubt)
    }

    /// What is undone or redone.
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Steps(planned) => Some(&planned.unit),
            Self::States(_, just) => just.as_ref().map(|just| &just.unit),
            Self::Again(_) => None,
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

impl Operation<'_> {
    pub(crate) fn plan_undo(&self, asked: &UndoLast) -> Result<NextMove> {
        let along_states = || Ok(NextMove::States(Move::Undo, None));
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
        for unit in units.into_iter().filter(of_session) {
            if let Some(next) = self.plan_unit(unit, asked)? {
                return Ok(next);
            }
        }
        Err(Error::NothingToUndo)
    }

    /// What undoing a unit would do; `None` if nothing of it is there any more.
    fn plan_unit(&self, unit: Unit, asked: &UndoLast) -> Result<Option<NextMove>> {
        // Who decides about conflicts by now, or names the file, means what is left of it and not what came before it.
        let again = asked.conflicts != Conflicts::Leave || !asked.paths.is_empty();
        let all = unit.to_undo(again);
        let choices: Vec<Vec<i64>> = if asked.only_step {
            all.into_iter().rev().map(|handle| vec![handle]).collect()
        } else {
            vec![all]
        };
        for handles in choices.into_iter().filter(|handles| !handles.is_empty()) {
            let asked_of = UndoSteps {
                steps: chosen(handles),
                paths: asked.paths.clone(),
                how: UndoneAs::Last,
                conflicts: asked.conflicts,
                file_by_file: asked.file_by_file,
                ..UndoSteps::default()
            };
            let looked = self.look_for(&asked_of)?;
            let is_whole = asked.paths.is_empty() && !asked.only_step;
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
            if unit.is_under_way(self.clock().now().seconds) && !asked.running {
                return Err(Error::UnderWay(unit.id, unit.prompt().map(str::to_owned)));
            }
            let is_gone = plan.doubts.iter().any(|(_, doubt)| *doubt == Doubt::CheckpointGone);
            let doubt =
                if is_gone { Some(UndoDoubt::CheckpointGone) } else { self.doubt_about(&unit)? };
            let planned = PlannedUndo { unit, plan, doubt, is_whole };
            return Ok(Some(NextMove::Steps(Box::new(planned))));
        }
        Ok(None)
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
        let is_whole = undid.iter().all(|undid| undid.part.is_empty())
            && units.iter().any(|unit| unit.steps.iter().all(is_taken));
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
        let unit = marks.unit(taken);
        let plan = self.plan_from(looked, &asked)?;
        Ok(NextMove::Steps(Box::new(PlannedUndo { unit, plan, doubt: None, is_whole })))
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
        let by_hand = newer.iter().find(|c| c.origin == Origin::Saved && is_by_hand(&c.facts));
        Ok(by_hand.map(|checkpoint| UndoDoubt::OlderThanSave(checkpoint.number)))
    }
}

fn chosen(handles: Vec<i64>) -> StepChoice {
    StepChoice { ids: handles.into_iter().map(StepId::Handle).collect(), ..StepChoice::default() }
}
