//! Carrying out a restore: change the files, look whether they received, note how to get back.

use crate::engine::operation::Operation;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use herma_fs::Errno;
use herma_records::Version;
use herma_records::checkpoint::RestoreOptions;
use herma_records::journal::Journal;
use herma_records::undo::UndoRecord;
use herma_store::in_parallel::in_parallel;
use herma_store::pack::write::recent::RecentContents;
use herma_store::threads::in_waiting_pool;
use herma_worktree::present::{Present, StateIds};

use crate::engine::open::Stored;
use crate::engine::{Project, Stage};
use crate::error::Result;
use crate::restore::Plan;
use crate::restore::apply::write::Writer;
use crate::restore::apply::{Applied, Applier};
use crate::restore::arrival::{Arrived, syncs_each, touched};
use crate::restore::plan::Prepared;
use crate::restore::proof::{Before, Proven};
use crate::restore::run::{Restored, Task};
use crate::save::publish::Way;
use crate::types::kept::KeptWhy;

impl Operation<'_> {
    /// Changes the files, looks whether they received, and notes how to get back.
    pub(crate) fn carry_out(
        &self,
        proven: Proven,
        prepared: Prepared,
        options: &RestoreOptions,
        task: &Task,
    ) -> Result<Restored> {
        let Before { safety, newest, undo, present, recent } = proven.into_before();
        let herma = self.store.dirs.for_writing()?;
        let state_dir = self.state_dir()?;
        let target = prepared.plan.target.clone();
        let token = self.token();
        let (by, undid) = match task {
            Task::New(by, undid) => (*by, undid.clone()),
            Task::Finish(old) | Task::Reverse(old) => (old.journal.by, old.journal.undid.clone()),
        };
        let journal = match task {
            Task::New(..) => Journal {
                version: Version,
                token,
                safety: safety.checkpoint.id,
                target: target.id,
                options: options.clone(),
                started: self.clock().now().seconds,
                by,
                undo,
                undid,
            },
            // What was interrupted stays what it was, so that both ways stay open until one is gone.
            Task::Finish(interrupted) | Task::Reverse(interrupted) => {
                Journal { token, ..interrupted.journal.clone() }
            }
        };
        let changes_anything = !prepared.plan.actions.is_empty();
        let mut applied = Applied::default();
        if changes_anything {
            self.refuse_read_only()?;
            // The last moment at which stopping leaves every file as it is, and nothing to finish.
            self.progress.check()?;
            // ORDER: the journal is durable before the first file changes.
            journal.write(&herma.tmp, &state_dir)?;
            self.progress.stage(Stage::Restoring);
            applied = self.apply(&prepared, (&present, &recent), journal.token)?;
            self.progress.stage(Stage::Verifying);
        }
        let plan = &prepared.plan;
        let to = (&target, &prepared);
        let (after, on_disk) = in_parallel(
            || self.arrived(to, options, &present, &mut applied),
            || self.sync_changes(plan),
        );
        // ORDER: all that was changed is on disk before the journal that could change it again closes.
        on_disk?;
        let after = after?;
        let mut record = record_after(&journal, task, plan, after);
        (record.newest, record.order) = newest.unzip();
        let note = || {
            record.write(&herma.tmp, &state_dir)?;
            if matches!(task, Task::Reverse(_)) {
                self.forget_move(&journal)?;
                return Ok(None);
            }
            // What is finished may have changed its last file before it was interrupted.
            let is_move = changes_anything || matches!(task, Task::Finish(_));
            let newest = newest.map_or(0, |(_, place)| place);
            let noted = is_move.then(|| self.note_move(&journal, &target, newest));
            noted.transpose()
        };
        let mut kept = plan.kept.clone();
        kept.extend(applied.kept);
        kept.sort_unstable();
        kept.dedup();
        let way = Way {
            edits: Some(&prepared.edits),
            old: &|id| Ok(recent.get(id)),
            new: &|id| Ok(prepared.read_ahead.object(id)),
        };
        let options = &journal.options;
        let arrived = Arrived { target: &target, after, options, kept: &kept, way };
        // The checkpoint it describes is published: nothing that is still to come makes it untrue.
        let remember = |cache| {
            self.write_cache(cache, safety.checkpoint.id, Stored::All);
            self.note_packs(safety.checkpoint.id);
        };
        let mut before = Some(present.cache);
        let noted = match before.take_if(|_| safety.is_new && arrived.is_at_target()) {
            Some(cache) => in_parallel(|| remember(cache), note).1?,
            None => note()?,
        };
        // ORDER: the journal closes last; until then the next command can finish or reverse.
        Journal::close(&state_dir)?;
        let number = noted.and_then(|step| {
            self.number_move(step, &journal, &arrived, (before.as_mut(), touched(plan)))
        });
        if let Some(cache) = before.filter(|_| safety.is_new) {
            remember(cache);
        }
        Ok(Restored {
            target,
            number,
            safety_is_new: safety.is_new,
            safety: Some(safety.checkpoint),
            lost: safety.lost,
            written: applied.written,
            removed: applied.removed,
            kept,
            plan: prepared.plan,
            root_made: false,
            settled: task.settled(),
        })
    }

    fn apply(
        &self,
        prepared: &Prepared,
        (present, recent): (&Present, &RecentContents),
        token: u32,
    ) -> Result<Applied> {
        let root = self.open_root()?;
        let total = prepared.plan.actions.len();
        let writer = Writer {
            objects: &self.store.objects,
            token,
            serial: AtomicU32::new(0),
            read_ahead: &prepared.read_ahead,
            recent,
            sync_each: syncs_each(&prepared.plan),
            fresh: None,
        };
        let report = |done: u64| self.progress.files(done, Some(total as u64));
        let (opened, applied) = (Mutex::default(), Mutex::default());
        let (root, present) = (&root, &present.cache);
        let work = Applier { root, present, writer, prepared, progress: &report, opened, applied };
        // Replacing a file is waiting for the disk: to free the blocks of the old one, to write the new one.
        Ok(in_waiting_pool(self.settings().threads, || work.apply())??)
    }
}

impl Project {
    /// Fails where no file can be written, while there is nothing to finish or to reverse yet.
    fn refuse_read_only(&self) -> Result<()> {
        let root = self.open_root()?;
        if root.is_read_only()? {
            return Err(herma_fs::Error::on("write to", root.path(), Errno::ROFS).into());
        }
        Ok(())
    }

    /// A number no other restore's temporary files carry.
    fn token(&self) -> u32 {
        let now = self.clock().now();
        let mix = xxhash_rust::xxh3::xxh3_64(
            format!(
                "{} {} {}",
                now.as_nanos(),
                herma_fs::process::file_clock(),
                std::process::id()
            )
            .as_bytes(),
        );
        mix as u32
    }
}

/// Where undo and redo stand after this move, which ended in the state `after`.
fn record_after(journal: &Journal, task: &Task, plan: &Plan, after: StateIds) -> UndoRecord {
    let (from, to) = (journal.safety, journal.target);
    let is_reversed = matches!(task, Task::Reverse(_));
    let mut record = if is_reversed {
        journal.undo.clone().reversed(from, journal.what(), after)
    } else {
        journal.undo.clone().moved(journal.by, from, to, after)
    };
    record.whole = journal.options == RestoreOptions::default();
    if plan.kept.iter().any(|kept| kept.why == KeptWhy::ChangedSince) {
        // It led to one of its ends, and what was changed comes after it.
        let end = Some(&plan.target).filter(|_| record.whole || is_reversed);
        record.tree = end.map(|end| end.tree);
        record.modes = end.and_then(|end| end.modes);
    }
    record
}
