//! A file taken in as a line, and a line removed.
//!
//! The file is checked whole before anything is written. Then: the record of the line, which is not complete; its objects,
//! durable; where its history ends, into `shallow`; its steps; its refs; the record again, complete. Killed anywhere on the way it
//! leaves a part that no address reaches, and that the next import of the file or a removal takes away.

use std::collections::HashSet;
use std::path::Path;

use herma_exchange::contents::{Contents, Row};
use herma_exchange::read::Checked;
use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, FileKind};
use herma_records::checkpoint::address::is_line_name;
use herma_records::line::{LineRecord, name_of_file};
use herma_records::step::log::StepLog;
use herma_store::layout::{FORMAT_WITH_LINES, raise_format};
use herma_store::pack::write::PackWriter;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref, green_ref, name_ref, pin_ref};
use herma_store::{ObjectId, ProjectId};

use crate::cleanup::execute::remove_all;
use crate::engine::beside::lines_of;
use crate::engine::history::History;
use crate::engine::lock::lock_project;
use crate::engine::operation::Operation;
use crate::engine::{NoProgress, Progress, Project, Stage};
use crate::error::{Error, Result};
use crate::lines::{Line, split};
use crate::steps::numbering::MARK as STEPS_NUMBERED;

/// What came of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedLine {
    /// The line.
    pub line: Line,
    /// How many steps are with it.
    pub steps: usize,
    /// Was it here already? Then nothing was changed.
    pub was_there: bool,
}

impl Project {
    /// Takes in a file that [`Self::export`] wrote, as a line of its own.
    pub fn import(
        &self,
        file: &Path,
        name: Option<&str>,
        progress: &dyn Progress,
    ) -> Result<ImportedLine> {
        if let Some(name) = name.filter(|name| !is_line_name(name)) {
            return Err(Error::BadLineName { name: name.to_owned() });
        }
        let path = herma_fs::dir::canonicalize(file)?;
        let (directory, file_name) = split(&path)?;
        if directory.stat(file_name.as_str())?.kind != FileKind::File {
            return Err(Error::BadExportName { path });
        }
        let opened = directory.open_file(file_name.as_str())?;
        progress.stage(Stage::Verifying);
        let go_on = |done| progress.goes_on(done);
        let checked = Checked::open(&opened, &go_on).map_err(|e| Error::of_import(file, e))?;
        let proposed = name.map_or_else(|| name_of_file(&file_name), str::to_owned);
        let operation = self.locked(progress)?;
        operation.import(&checked, (&proposed, name.is_some())).map_err(|error| match error {
            Error::Exchange(e) => Error::of_import(file, e),
            error => error,
        })
    }

    /// Removes a line. What only it needs is freed by the next gc.
    pub fn remove_line(&self, name: &str) -> Result<Line> {
        let lines = self.lines()?;
        let Some(line) = lines.iter().find(|line| line.name == name).cloned() else {
            let known = lines.into_iter().map(|line| line.name).collect();
            return Err(Error::NoSuchLine { name: name.to_owned(), known, is_unfinished: false });
        };
        self.writing(&NoProgress)?.store.dirs.use_reserve()?;
        self.locked(&NoProgress)?.remove_line(&line.id)?;
        Ok(line)
    }
}

impl Operation<'_> {
    fn import(
        &self,
        checked: &Checked<'_>,
        (name, is_given): (&str, bool),
    ) -> Result<ImportedLine> {
        let now = self.clock().now().seconds;
        let there = lines_of(&self.store.dirs, &self.id)?;
        let fresh = LineRecord::new(&self.id, name, checked.seal(), now);
        let is_it = |record: &LineRecord| record.seal == fresh.seal;
        let known = there.iter().find(|(_, at)| is_it(at) && (at.name == name || !is_given));
        if let Some((id, record)) = known.filter(|(_, record)| record.complete) {
            return self.told(id, record, checked.contents(), /*was_there*/ true);
        }
        let is_taken = |name: &str| there.iter().any(|(_, at)| at.name == name && !is_it(at));
        let name = match (is_taken(name), is_given) {
            (false, _) => name.to_owned(),
            (true, true) => return Err(Error::LineThere { name: name.to_owned() }),
            (true, false) => free_name(name, is_taken),
        };
        self.check_room(checked.pack_bytes())?;
        let record = LineRecord::new(&self.id, &name, checked.seal(), now);
        let id = record.id();
        // What an import left that was killed goes first: something may have been purged from it since.
        for (part, _) in there.iter().filter(|(_, at)| is_it(at) && !at.complete) {
            self.remove_line(part)?;
        }
        let _lock = lock_project(&self.store.dirs, &id, self.settings().lock_wait)?;
        self.take_in(&id, &record, checked)?;
        let complete = record.as_complete(true);
        self.told(&id, &complete, checked.contents(), /*was_there*/ false)
    }

    fn take_in(&self, id: &ProjectId, record: &LineRecord, checked: &Checked<'_>) -> Result<()> {
        let dirs = &self.store.dirs;
        let herma = dirs.for_writing()?;
        // ORDER: before there is anything that a program of before would take for a project without a place.
        raise_format(dirs, FORMAT_WITH_LINES)?;
        let state = herma.projects.ensure_dir(id.as_str(), 0o700)?;
        herma.projects.sync()?;
        // ORDER: what comes is known as a line from its first ref on.
        record.write(&herma.tmp, &state)?;
        self.progress.stage(Stage::Saving);
        let writer = PackWriter::new(dirs, &self.store.objects)?;
        checked.add_to(&writer, &|done| self.progress.goes_on(done))?;
        // ORDER: the objects are durable before anything names them.
        writer.finish(Durability::Synced)?;
        let contents = checked.contents();
        // ORDER: before a ref names a commit without its parent, `shallow` says that this is meant.
        dirs.shallow().add(&self.cuts_of(contents)?)?;
        write_beside(&herma.tmp, &state, contents)?;
        give_refs(self, id, &contents.rows)?;
        // ORDER: all of it is here before it says so.
        record.clone().as_complete(true).write(&herma.tmp, &state)?;
        Ok(())
    }

    /// Where history ends. Not at a checkpoint the store has already: it knows what was before that.
    fn cuts_of(&self, contents: &Contents) -> Result<Vec<ObjectId>> {
        let alive: HashSet<ObjectId> =
            self.store.dirs.refs().list("refs/herma")?.refs.into_iter().map(|(_, id)| id).collect();
        Ok(contents.cuts.iter().filter(|id| !alive.contains(id)).copied().collect())
    }

    /// Refuses what would leave too little of the store's limit to the project's own checkpoints.
    fn check_room(&self, bytes: u64) -> Result<()> {
        let limit = self.engine.size_limit_of(&self.store.dirs)?;
        if limit > 0 && bytes > limit / 2 {
            return Err(Error::ImportTooLarge { bytes, limit });
        }
        Ok(())
    }

    fn told(
        &self,
        id: &ProjectId,
        record: &LineRecord,
        contents: &Contents,
        was_there: bool,
    ) -> Result<ImportedLine> {
        let history = History::load(&self.store, id)?;
        let mut numbers: Vec<u64> = history.entries.iter().map(|entry| entry.number).collect();
        numbers.sort_unstable();
        let LineRecord { name, imported, complete, .. } = record.clone();
        let line = Line { id: id.clone(), name, numbers, imported, complete };
        Ok(ImportedLine { line, steps: contents.steps.len(), was_there })
    }

    fn remove_line(&self, id: &ProjectId) -> Result<()> {
        let history = History::load(&self.store, id)?;
        if let Some(journal) = self.records()?.0
            && history.contains(&journal.target)
        {
            return Err(Error::NeededByInterrupted { id: journal.target });
        }
        let _lock = lock_project(&self.store.dirs, id, self.settings().lock_wait)?;
        if let Some(state) = crate::engine::open::own_state(&self.store, id)?
            && let Some(record) = LineRecord::read(&state)?
        {
            // ORDER: a part of it is never taken for all of it.
            record.as_complete(false).write(self.store.tmp()?, &state)?;
        }
        remove_all(&self.store, id)
    }
}

/// The first name of this sort that is free.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let more = (2..).map(|more| format!("{name}-{more}"));
    more.into_iter().find(|name| !is_taken(name)).expect("there is always another number")
}

/// Writes what belongs to the rows and is no object.
fn write_beside(tmp: &Dir, state: &Dir, contents: &Contents) -> Result<()> {
    if let Some(order) = &contents.order {
        order.write(tmp, state)?;
    }
    // Those that had none got their numbers where they came from.
    write_file(tmp, state, STEPS_NUMBERED, b"", Durability::Synced)?;
    let mut log = StepLog::open(state)?;
    for step in &contents.steps {
        log.write(tmp, state, step, Durability::Synced)?;
    }
    if let Some(turns) = &contents.turns {
        turns.write(tmp, state)?;
    }
    Ok(())
}

fn give_refs(operation: &Operation<'_>, line: &ProjectId, rows: &[Row]) -> Result<()> {
    let refs = operation.store.dirs.refs();
    let (mut own, mut labels) = (Vec::new(), Vec::new());
    for row in rows {
        own.extend(row.extra.map(|extra| (extra_ref(line, row.number), extra)));
        own.push((checkpoint_ref(line, row.number), row.commit));
        labels.extend(row.names.iter().map(|name| (name_ref(line, name), row.commit)));
        labels.extend(row.pinned.then(|| (pin_ref(line, row.number), row.commit)));
        labels.extend(row.green.then(|| (green_ref(line, row.number), row.commit)));
    }
    // ORDER: a name of what is not there would stop every gc.
    for refs_now in [own, labels] {
        let named: Vec<(&str, ObjectId)> =
            refs_now.iter().map(|(n, id)| (n.as_str(), *id)).collect();
        refs.create(&named)?;
    }
    Ok(())
}
