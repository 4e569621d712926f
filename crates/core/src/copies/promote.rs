//! What was changed in a copy comes into the project it was made of, as one change over whatever that is by now.
//!
//! It is the undo of a step that would lead from the copy back to the state it began with: a three-way merge in which that state
//! is the base. So a file is brought in as a whole or left alone, conflicts are those of an undo, and making it real is a restore
//! like any other: a save before it, the journal, a look after it, one number, undone by `undo`.

use std::collections::BTreeMap;
use std::sync::Arc;

use herma_diff::merge::Labels;
use herma_diff::{Pending, StoreSide};
use herma_records::checkpoint::receipt::{by_path, read_left_out};
use herma_records::checkpoint::{Checkpoint, RestoreOptions};
use herma_records::copy::CopyRecord;
use herma_records::step::{Undid, UndoneAs};
use herma_records::undo::Move;
use herma_reversal::{Conflicts, Request, Reversed, Run, reverse};
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::Present;
use herma_worktree::reason::Reason;
use herma_worktree::stat_cache::StatCache;

use crate::copies::CopyState;
use crate::copies::clean::state_of;
use crate::engine::operation::Operation;
use crate::engine::{Progress, Project};
use crate::error::{CopyError, Result};
use crate::restore::run::{Restored, Task};
use crate::save::SaveOptions;
use crate::timeline::StateParts;

/// What markers say about the two sides of a conflict.
const LABELS: Labels<'static> = Labels { ours: "now", theirs: "copy" };
/// Of what was done in the copy, so much is told.
const TOLD: usize = 120;

/// What to bring in.
#[derive(Clone, Debug)]
pub struct Promote {
    /// The copy.
    pub copy: CopyRecord,
    /// Only in these files and directories; empty means everywhere.
    pub paths: Vec<RelPath>,
    /// What to do where something else was changed here in the same place.
    pub conflicts: Conflicts,
}

/// What bringing it in would do.
#[derive(Clone, Debug)]
pub struct PromotePlan {
    /// The state the copy is in, as it is saved there.
    pub state: Checkpoint,
    /// How this project will differ from now.
    pub reversed: Reversed,
    /// What is in the copy and could not be saved there, so that it stays there: too large, unreadable.
    pub unsaved: Vec<(RelPath, Reason)>,
    /// What the look found that this was worked out from.
    pub(crate) seen: Arc<StatCache>,
}

/// What came of bringing it in.
#[derive(Clone, Debug)]
pub struct Promoted {
    /// What was to be done.
    pub plan: PromotePlan,
    /// What was done; none if there was nothing to do.
    pub restored: Option<Box<Restored>>,
}

/// Where a copy began and where it is.
pub(crate) struct Ends {
    base: Checkpoint,
    state: Checkpoint,
    /// What could not be saved in it.
    unsaved: Vec<(RelPath, Reason)>,
    /// What was done in it, in a line.
    told: String,
}

impl Ends {
    fn held(&self) -> [ObjectId; 2] {
        [self.base.id, self.state.id]
    }
}

/// Saves a copy, and finds the state it began with.
pub(crate) fn ends(of: &Project, asked: &Promote, progress: &dyn Progress) -> Result<Ends> {
    let record = &asked.copy;
    let path = record.path();
    if record.of() != of.root {
        return Err(CopyError::OfAnother { path, of: record.of() }.into());
    }
    if state_of(record)? != CopyState::There {
        return Err(CopyError::Gone { path }.into());
    }
    let copy = of.engine.project(&path)?;
    let copy = copy.locked(progress)?;
    copy.check_whole()?;
    let options = SaveOptions { reason: "before it is promoted".into(), ..SaveOptions::default() };
    let state = copy.save_with(&options)?.checkpoint;
    let history = copy.load_history()?;
    let rewritten = copy.store.rewritten(&copy.id)?;
    let began = rewritten.get(&record.checkpoint).unwrap_or(&record.checkpoint);
    let index = history.entries.iter().position(|entry| entry.id == *began);
    let index = index.ok_or(CopyError::NoBeginning { path, number: record.number })?;
    let base = history.checkpoint(index, &copy.store)?;
    let left_out = by_path(read_left_out(&copy.store.objects, &state)?);
    let left_out = left_out.into_iter().filter(|(_, reason)| !reason.is_rule());
    let unsaved = left_out.filter_map(|(path, why)| Some((RelPath::new(path).ok()?, why)));
    let (unsaved, told) = (unsaved.collect(), copy.told_of_copy(record)?);
    Ok(Ends { base, state, unsaved, told })
}

impl Operation<'_> {
    pub(crate) fn plan_promote(&self, asked: &Promote, ends: Ends) -> Result<PromotePlan> {
        self.check_whole()?;
        let history = self.load_history()?;
        let writer =
            herma_store::pack::write::PackWriter::new(&self.store.dirs, &self.store.objects)?;
        let present = self.scan_holding(&history, &ends.held(), &writer)?;
        let pending = |id: &ObjectId| writer.read(id);
        let reversed = self.merge_copy(asked, &ends, &present, &pending)?;
        let Ends { state, unsaved, .. } = ends;
        Ok(PromotePlan { state, reversed, unsaved, seen: present.cache })
    }

    pub(crate) fn promote(&self, asked: &Promote, ends: Ends) -> Result<Promoted> {
        self.check_whole()?;
        // One look serves the merge and the save.
        let draft = self.draft(false, &ends.held())?;
        let pending = |id: &ObjectId| draft.writer.read(id);
        let reversed = self.merge_copy(asked, &ends, &draft.present, &pending)?;
        let seen = Arc::clone(&draft.present.cache);
        let Ends { state, unsaved, told, .. } = ends;
        let plan = PromotePlan { state, reversed, unsaved, seen };
        if plan.reversed.changes.is_empty() {
            return Ok(Promoted { plan, restored: None });
        }
        // A checkpoint of its own, though an older one may have the same state: the list tells what this was.
        let (draft, target) = self.make_target(draft, &plan.reversed, told, false)?;
        let task =
            Task::New(Move::Restore, Some(Undid { how: UndoneAs::Promote, ..Undid::default() }));
        let restored = self.restore_over(draft, &target, &RestoreOptions::default(), &task)?;
        Ok(Promoted { plan, restored: Some(Box::new(restored)) })
    }

    fn merge_copy(
        &self,
        asked: &Promote,
        ends: &Ends,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<Reversed> {
        let side = StoreSide::with_pending(&self.store.objects, pending);
        let (base, state) = (&ends.base, &ends.state);
        // What its first state left out was never in the copy: that nothing is there is known, and no gap.
        let base_parts = self.parts_of(base, base.modes, pending)?;
        let base_parts = StateParts { left_out: BTreeMap::new(), ..base_parts };
        let state_parts = self.parts_of(state, state.modes, pending)?;
        let present_parts = self.present_parts(present, pending)?;
        let run = Run {
            from: state_parts.view(state.tree, &side),
            to: base_parts.view(base.tree, &side),
        };
        let request = Request {
            present: present_parts.view(present.tree, &side),
            runs: &[run],
            scope: &asked.paths,
            conflicts: asked.conflicts,
            labels: LABELS,
        };
        Ok(reverse(&request)?)
    }

    /// Which copy this is, and what was run in it last.
    fn told_of_copy(&self, record: &CopyRecord) -> Result<String> {
        let which = match record.attempt {
            Some(attempt) => format!("try {} of {}", attempt.index, record.number),
            None => format!("a copy of {}", record.number),
        };
        let ran = self.step_log()?.newest(|step| !step.kind.is_move() && !step.is_idle())?;
        let ran = ran.and_then(|step| step.start.prompt.or(step.start.command));
        let line = ran.as_deref().and_then(|ran| ran.lines().next()).unwrap_or_default();
        let line: String = line.chars().take(TOLD).collect();
        let ran = if line.is_empty() { line } else { format!(": {line}") };
        Ok(format!("promoted {which}{ran}"))
    }
}
