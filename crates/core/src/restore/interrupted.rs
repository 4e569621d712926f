//! A restore that did not get to its end: noticing it, finishing it, cleaning up behind it.

use crate::engine::operation::Operation;
use herma_fs::{Dir, Errno};
use herma_records::journal;
use herma_records::journal::{Journal, TempKind, parse_temp_name};
use herma_records::undo::UndoRecord;
use herma_store::objects::ObjectError;
use herma_store::{ObjectId, ProjectId, RelPath, layout};
use herma_worktree::reason::Reason;
use herma_worktree::sink::HashOnly;

use crate::engine::open::{OpenStore, own_state};
use crate::engine::{NoProgress, Project};
use crate::error::{Error, Result};
use crate::restore::Plan;
use crate::restore::apply::write::content_id;
use crate::restore::changed_since::Unfinished;
use crate::restore::run::{Restored, Task};

/// A restore that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The checkpoint of the state before it.
    pub safety: ObjectId,
    /// The checkpoint it was bringing back.
    pub target: ObjectId,
    /// When it began, in seconds since 1970.
    pub started: i64,
}

impl Operation<'_> {
    pub(crate) fn records(&self) -> Result<(Option<Journal>, UndoRecord)> {
        records_of(&self.store, &self.id)
    }

    pub(crate) fn interrupted(&self) -> Result<Option<Interrupted>> {
        let (journal, _) = self.records()?;
        if journal.is_none() || self.is_locked()? {
            return Ok(None);
        }
        Ok(journal.map(|j| Interrupted { safety: j.safety, target: j.target, started: j.started }))
    }

    /// Is a save or restore of this project under way?
    fn is_locked(&self) -> Result<bool> {
        use herma_fs::lock;
        let Some(dir) = own_state(&self.store, &self.id)? else { return Ok(false) };
        let free =
            lock::acquire_existing(&dir, "lock", lock::Mode::Shared, std::time::Duration::ZERO)?;
        Ok(matches!(free, Some(lock::Acquired::Busy { .. })))
    }

    /// What finishing an interrupted restore would do.
    pub(crate) fn plan_continue(&self, all: bool) -> Result<Plan> {
        let journal = self.records()?.0.ok_or(Error::NothingToContinue)?;
        let history = self.load_history()?;
        let target = self.end_of_interrupted(&history, &journal.target)?;
        let present = self.look_holding(&history, &[target.id])?;
        let options = journal.options.clone();
        let task = Task::Finish(Unfinished { journal, all });
        let (prepared, _) = self.prepare_task((&target, &options), (&history, &present), &task)?;
        let mut plan = prepared.plan;
        plan.forget_left_out();
        Ok(plan)
    }

    pub(crate) fn continue_restore(&self, all: bool) -> Result<Restored> {
        let journal = Journal::read(&self.state_dir()?)?;
        let journal = journal.ok_or(Error::NothingToContinue)?;
        // Who removed the project's directory has changed nothing in it.
        let all = self.make_root_again()? || all;
        let target = self.end_of_interrupted(&self.load_history()?, &journal.target)?;
        let options = journal.options.clone();
        let task = Task::Finish(Unfinished { journal, all });
        self.restore_locked(&target, &options, &task)
    }

    /// Removes temporary files that a killed restore left in the project.
    pub(crate) fn sweep_interrupted(&self) -> Result<()> {
        let Some(journal) = Journal::read(&self.state_dir()?)? else { return Ok(()) };
        let present = self.scan(Some(&self.store), None, false, &HashOnly, &NoProgress)?;
        let root = self.open_root()?;
        for litter in present.cache.left_out().filter(|item| item.reason == Reason::Own) {
            let path = RelPath::new(litter.path).ok();
            let Some((parent, name)) = path.as_ref().and_then(RelPath::split) else { continue };
            let Some(kind) = parse_temp_name(name, journal.token) else { continue };
            let dir = root.open_within(parent.as_bytes())?;
            if kind == TempKind::Unfinished || is_in_store(&self.store, &dir, name)? {
                dir.remove_file(name)?;
                // ORDER: gone for good before the journal that knows its name is replaced or closed.
                dir.sync()?;
            }
        }
        Ok(())
    }
}

impl Project {
    /// Every command asks; nearly always it is enough to see that there is no journal.
    pub(crate) fn may_have_journal(&self) -> Result<bool> {
        let Some((_, base)) = layout::open_base(&self.engine.base())? else { return Ok(false) };
        let journal = format!("store/herma/projects/{}/{}", self.id, journal::FILE);
        Ok(!matches!(base.stat_raw(journal.as_str()), Err(Errno::NOENT)))
    }
}

/// The records of a restore in progress and of undo, for a project that need not be there any more.
pub(crate) fn records_of(
    store: &OpenStore,
    project: &ProjectId,
) -> Result<(Option<Journal>, UndoRecord)> {
    match own_state(store, project)? {
        Some(dir) => Ok((Journal::read(&dir)?, UndoRecord::read(&dir)?)),
        None => Ok((None, UndoRecord::default())),
    }
}

/// Does the store hold exactly what this file or link holds, and can it be read back?
fn is_in_store(store: &OpenStore, dir: &Dir, name: &[u8]) -> Result<bool> {
    let Some(id) = content_id(dir, name) else { return Ok(false) };
    match store.objects.is_whole(&id) {
        Err(ObjectError::Fs(e)) => Err(e.into()),
        whole => Ok(whole.is_ok()),
    }
}
