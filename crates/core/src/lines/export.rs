//! Rows with all that belongs to them, out of the store into a file.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use herma_exchange::contents::{Contents, Head, Row};
use herma_exchange::write::write_new;
use herma_records::order::Order;
use herma_records::step::log::StepLog;
use herma_records::step::marks::Marks;
use herma_store::ObjectId;
use herma_store::gc::mark::Walk;
use herma_store::objects::ObjectError;

use crate::engine::open::own_state;
use crate::engine::operation::Operation;
use crate::engine::{Progress, Project, Stage};
use crate::error::{Error, Result};
use crate::lines::split;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The numbers of the rows, the lowest first.
    pub numbers: Vec<u64>,
    /// How many steps are with them.
    pub steps: usize,
    /// How many objects they take.
    pub objects: u64,
    /// How long the file is.
    pub bytes: u64,
}

impl Project {
    /// Writes these rows, or all there are, with all that belongs to them into a new file. One that is there stays as it is.
    pub fn export(
        &self,
        numbers: Option<&BTreeSet<u64>>,
        to: &Path,
        progress: &dyn Progress,
    ) -> Result<Exported> {
        self.reading(progress)?.export(numbers, to)
    }
}

impl Operation<'_> {
    fn export(&self, numbers: Option<&BTreeSet<u64>>, to: &Path) -> Result<Exported> {
        let (directory, name) = split(to)?;
        if directory.stat_opt(name.as_str())?.is_some() {
            return Err(Error::FileThere { path: to.to_owned() });
        }
        self.progress.stage(Stage::Marking);
        let mut contents = self.contents_of(numbers)?;
        let ids = self.objects_of(&contents.rows)?;
        contents.head = Head {
            written: self.clock().now().seconds,
            rows: contents.rows.len() as u64,
            objects: ids.len() as u64,
        };
        self.progress.stage(Stage::Saving);
        let go_on = |done| {
            self.progress.files(done, Some(ids.len() as u64));
            !self.progress.is_cancelled()
        };
        let place = (&directory, name.as_str());
        if !write_new(place, &contents, &self.store.objects, &ids, &go_on)? {
            return Err(Error::FileThere { path: to.to_owned() });
        }
        Ok(Exported {
            numbers: contents.rows.iter().map(|row| row.number).collect(),
            steps: contents.steps.len(),
            objects: ids.len() as u64,
            bytes: directory.stat(name.as_str())?.size,
        })
    }

    /// Everything about the rows but their objects.
    fn contents_of(&self, numbers: Option<&BTreeSet<u64>>) -> Result<Contents> {
        let history = self.some_history()?;
        let mut rows = Vec::new();
        let mut sessions = HashSet::new();
        for (index, entry) in history.entries.iter().enumerate() {
            if numbers.is_some_and(|numbers| !numbers.contains(&entry.number)) {
                continue;
            }
            self.progress.check()?;
            let checkpoint = history.checkpoint(index, &self.store)?;
            if let Some(extra) = checkpoint.extra.filter(|_| checkpoint.receipt_damaged) {
                let what = "the receipt of a checkpoint cannot be read".to_owned();
                return Err(ObjectError::Damaged { id: extra, what }.into());
            }
            sessions.extend(checkpoint.facts.session);
            let (names, pinned, green) = (checkpoint.names, checkpoint.pinned, checkpoint.green);
            let (commit, extra) = (entry.id, checkpoint.extra);
            rows.push(Row { number: entry.number, commit, extra, names, pinned, green });
        }
        rows.sort_unstable_by_key(|row| row.number);
        let commits: HashSet<ObjectId> = rows.iter().map(|row| row.commit).collect();
        let mut cuts = BTreeSet::new();
        for row in &rows {
            let commit = self.store.objects.read_commit(&row.commit)?;
            if !commit.parents.iter().all(|parent| commits.contains(parent)) {
                cuts.insert(row.commit);
            }
        }
        let mut contents = Contents { rows, cuts, ..Contents::default() };
        if let Some(state) = own_state(&self.store, &self.id)? {
            let there: HashSet<u64> = contents.rows.iter().map(|row| row.number).collect();
            contents.steps = StepLog::open(&state)?.all()?;
            contents.steps.retain(|step| {
                step.number.is_some_and(|number| there.contains(&number)) && !step.is_open()
            });
            sessions.extend(contents.steps.iter().filter_map(|s| s.start.facts.session.clone()));
            let turns = Marks::read(&state)?.of_sessions(|session| sessions.contains(session));
            contents.turns = (turns != Marks::default()).then_some(turns);
            let order = Order::read(&state)?;
            contents.order = (order != Order::default()).then_some(order);
        }
        Ok(contents)
    }

    /// The objects of the rows, the newest row first.
    fn objects_of(&self, rows: &[Row]) -> Result<Vec<ObjectId>> {
        let go_on = |done| self.progress.goes_on(done);
        let mut walk = Walk::new(&self.store.objects, BTreeSet::new(), &go_on);
        for row in rows.iter().rev() {
            walk.checkpoint(row.commit)?;
        }
        if let Some(id) = walk.unreadable().first() {
            let what = "a row needs it, and it cannot be read".to_owned();
            return Err(ObjectError::Damaged { id: *id, what }.into());
        }
        Ok(walk.order().iter().map(|wanted| wanted.id).collect())
    }
}
