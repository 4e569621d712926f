//! The lines beside a project: those there are, and what is on them. Taking them in and removing them is for `lines`.

use std::collections::BTreeSet;

use herma_records::checkpoint::Checkpoint;
use herma_records::line::{self, LineRecord};
use herma_store::layout::StoreDirs;
use herma_store::{ObjectId, ProjectId};

use crate::engine::history::History;
use crate::engine::open::{OpenStore, own_state};
use crate::engine::operation::Operation;
use crate::error::Result;

impl Operation<'_> {
    /// This project and its lines.
    pub(crate) fn with_lines(&self) -> Result<BTreeSet<ProjectId>> {
        let lines = lines_of(&self.store.dirs, &self.id)?.into_iter().map(|(id, _)| id);
        Ok(lines.chain([self.id.clone()]).collect())
    }

    /// The line with this name.
    pub(crate) fn line_named(&self, name: &str) -> Result<Option<(ProjectId, LineRecord)>> {
        let lines = lines_of(&self.store.dirs, &self.id)?;
        Ok(lines.into_iter().find(|(_, record)| record.name == name))
    }

    /// A checkpoint of one of this project's lines.
    pub(crate) fn on_lines(&self, id: &ObjectId) -> Result<Option<Checkpoint>> {
        for (line, record) in lines_of(&self.store.dirs, &self.id)? {
            let history = History::load(&self.store, &line)?;
            let rewritten = self.store.rewritten(&line)?;
            let id = rewritten.get(id).unwrap_or(id);
            if let Some(index) = history.entries.iter().position(|entry| entry.id == *id) {
                let found = history.checkpoint(index, &self.store)?;
                return Ok(Some(Checkpoint { line: Some(record.name), ..found }));
            }
        }
        Ok(None)
    }
}

/// Is this the id of a line? One whose record cannot be read is one all the same: its rows are to stay.
pub(crate) fn is_line(dirs: &StoreDirs, id: &ProjectId) -> Result<bool> {
    let Some(herma) = dirs.herma() else { return Ok(false) };
    match herma.projects.open_dir(id.as_str()) {
        Ok(state) => Ok(state.stat_opt(line::FILE)?.is_some()),
        Err(e) if e.is_not_found() => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// What a line is called; `None` for a project.
pub(crate) fn name_of_line(store: &OpenStore, id: &ProjectId) -> Result<Option<String>> {
    let Some(state) = own_state(store, id)? else { return Ok(None) };
    Ok(LineRecord::read(&state)?.map(|record| record.name))
}

/// The lines beside a project.
pub(crate) fn lines_of(
    dirs: &StoreDirs,
    project: &ProjectId,
) -> Result<Vec<(ProjectId, LineRecord)>> {
    let Some(herma) = dirs.herma() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in herma.projects.entries()? {
        let Some(id) = ProjectId::parse(entry.name.to_bytes()) else { continue };
        let Ok(state) = herma.projects.open_dir(id.as_str()) else { continue };
        let record = LineRecord::read(&state)?;
        found.extend(record.filter(|it| it.project().as_ref() == Some(project)).map(|it| (id, it)));
    }
    Ok(found)
}

/// Puts the lines of a project beside another one, to which it was moved.
pub(crate) fn follow(store: &OpenStore, from: &ProjectId, to: &ProjectId) -> Result<()> {
    let taken: Vec<String> =
        lines_of(&store.dirs, to)?.into_iter().map(|(_, record)| record.name).collect();
    for (id, mut record) in lines_of(&store.dirs, from)? {
        let Some(state) = own_state(store, &id)? else { continue };
        let first = record.name.clone();
        for more in 2.. {
            if !taken.contains(&record.name) {
                break;
            }
            record.name = format!("{first}-{more}");
        }
        record.beside(to).write(store.tmp()?, &state)?;
    }
    Ok(())
}
