//! Taking rows to another machine, and those that came from one.
//!
//! * [`files`]: one state's files, for whoever puts them somewhere else
//! * [`export`]: rows with all that belongs to them, out of the store into a file
//! * [`import`]: a file checked whole, then taken in as a line; and a line removed
//!
//! A line is read-only and beside a project's own rows: nothing is renumbered. The store keeps it as a project with an id that is
//! no path's (`herma_records::line`), so that gc, verifying, repairing and purging treat its refs as any others. Cleaning never
//! drops its rows. What can be read of a project can be read of a line through [`Project::line`]; what would write is refused.

pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod import;

use std::path::Path;

use herma_fs::Dir;
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::address::Spec;
use herma_records::line::LineRecord;
use herma_store::ProjectId;

use crate::engine::beside::lines_of;
use crate::engine::history::History;
use crate::engine::{NoProgress, Project};
use crate::error::{Error, Result};

/// A line, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The id it has in the store.
    pub id: ProjectId,
    /// What people call it.
    pub name: String,
    /// The numbers of its rows, the lowest first.
    pub numbers: Vec<u64>,
    /// When it came in, in seconds since 1970.
    pub imported: i64,
    /// Is all of it here? An import that was killed leaves a part.
    pub complete: bool,
}

impl Project {
    /// The lines beside this project, by their names.
    pub fn lines(&self) -> Result<Vec<Line>> {
        self.if_stored(|operation| {
            let mut lines = Vec::new();
            for (id, record) in lines_of(&operation.store.dirs, &operation.id)? {
                let history = History::load(&operation.store, &id)?;
                let mut numbers: Vec<u64> =
                    history.entries.iter().map(|entry| entry.number).collect();
                numbers.sort_unstable();
                let LineRecord { name, imported, complete, .. } = record;
                lines.push(Line { id, name, numbers, imported, complete });
            }
            lines.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(lines)
        })
    }

    /// A line of this project, to be read as a project is.
    pub fn line(&self, name: &str) -> Result<Self> {
        let found = self.reading(&NoProgress)?.line_named(name)?;
        match found {
            Some((id, record)) if record.complete => {
                Ok(Self { id, line: Some(record.name), ..self.clone() })
            }
            _ => Err(self.no_such_line(name, found.is_some())?),
        }
    }

    /// The checkpoint a person named, and the project or line it is one of.
    pub fn find_on_lines(&self, spec: &Spec) -> Result<(Self, Checkpoint)> {
        let Spec::OnLine(of, line) = spec else { return Ok((self.clone(), self.find(spec)?)) };
        let line = self.line(line)?;
        let found = line.find(of)?;
        Ok((line, found))
    }

    /// Which line this is, if it is one.
    pub fn line_name(&self) -> Option<&str> {
        self.line.as_deref()
    }

    fn no_such_line(&self, name: &str, is_unfinished: bool) -> Result<Error> {
        let known = self.lines()?.into_iter().filter(|line| line.complete);
        let known = known.map(|line| line.name).collect();
        Ok(Error::NoSuchLine { name: name.to_owned(), known, is_unfinished })
    }
}

/// The directory a file is in, open, and its name.
fn split(path: &Path) -> Result<(Dir, String)> {
    let bad = || Error::BadExportName { path: path.to_owned() };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(bad)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((Dir::open(parent.unwrap_or_else(|| ".".as_ref()))?, name.to_owned()))
}
