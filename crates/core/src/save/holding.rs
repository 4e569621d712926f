//! Which states a look at the present holds, so that changed rules take nothing out of it: see [`herma_worktree::held`].

use crate::engine::operation::Operation;
use herma_records::step::log::StepLog;
use herma_records::step::{Step, StepRules};
use herma_store::ObjectId;
use herma_worktree::held::{Begun, Holding};
use herma_worktree::present::info_exclude_rules;
use herma_worktree::rules::ExcludeSettings;

use crate::engine::Project;
use crate::engine::history::History;
use crate::engine::open::own_state;
use crate::error::Result;

/// So many of the newest steps may have ended with the newest checkpoint.
const STEPS_SEARCHED: usize = 16;

impl Operation<'_> {
    /// What a look before files are moved holds: the two ends of the last move, also of one that was interrupted, the end of
    /// the last step, if nothing happened since, and these. So what Herma wrote, or a step did under other rules, belongs to the
    /// present as long as nobody changed it.
    pub(crate) fn holding(&self, history: &History, more: &[ObjectId]) -> Result<Holding> {
        let (journal, undo) = self.records()?;
        let interrupted = journal.iter().flat_map(|j| [j.safety, j.target]);
        let newest = history.newest().map(|entry| entry.id);
        let is_newer = newest.is_some() && newest != undo.newest;
        let step_end = newest.filter(|newest| is_newer && self.ends_a_step(newest));
        let ids = interrupted.chain(undo.position).chain(undo.left).chain(step_end);
        let mut holding = Holding::default();
        for id in ids.chain(more.iter().copied()) {
            // What cannot be read cannot be gone back to either.
            if let Ok(commit) = self.store.objects.read_commit(&id) {
                holding.hold(commit.tree);
            }
        }
        Ok(holding)
    }

    /// Did one of the last steps end with this checkpoint?
    fn ends_a_step(&self, checkpoint: &ObjectId) -> bool {
        let Ok(Some(state)) = own_state(&self.store, &self.id) else { return false };
        let Ok(log) = StepLog::open(&state) else { return false };
        let is_its_end = |step: Step| !step.kind.is_move() && step.after() == Some(*checkpoint);
        log.recent().take(STEPS_SEARCHED).any(|step| step.is_ok_and(is_its_end))
    }

    /// What a save holds while these steps are under way: the states they began with, and the rules of then.
    pub(crate) fn holding_steps(&self, steps: &[Step]) -> Holding {
        let now = &self.settings().excludes;
        let begun = steps.iter().filter_map(|step| {
            let checkpoint = step.before.checkpoint;
            let rules = match &step.rules {
                Some(rules) => rules.clone(),
                None => self.rules_now(),
            };
            Some(Begun {
                checkpoint,
                tree: self.store.objects.read_commit(&checkpoint).ok()?.tree,
                settings: ExcludeSettings {
                    exclude: rules.exclude,
                    include: rules.include,
                    ..now.clone()
                },
                info_exclude: rules.info_exclude,
            })
        });
        let mut begun: Vec<Begun> = begun.collect();
        begun.dedup();
        Holding { states: Vec::new(), begun }
    }
}

impl Project {
    /// The rules that no checkpoint holds, as they are now.
    pub(crate) fn rules_now(&self) -> StepRules {
        let settings = &self.settings().excludes;
        let root = self.open_root().ok();
        StepRules {
            exclude: settings.exclude.clone(),
            include: settings.include.clone(),
            info_exclude: root.map(|root| info_exclude_rules(&root)).unwrap_or_default(),
        }
    }
}
