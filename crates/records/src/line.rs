//! A line: rows that came in from elsewhere, read-only, beside a project's own.
//!
//! To the store a line is a project like others, with refs, steps and a roll of its own, whose id is no path's. What makes it one is
//! this record in its directory. It is written before anything else of the line, and once more when all of it is there.

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Result};
use herma_store::ProjectId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::address::is_line_name;
use crate::{Version, encode, read_record};

/// Where it is, in a line's own directory.
pub const FILE: &str = "line";
const MAX_RECORD_BYTES: u64 = 64 << 10;

/// Where a line belongs, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRecord {
    version: Version,
    /// The project beside which it is.
    of: String,
    /// What people call it.
    pub name: String,
    /// The hash of the file it came in.
    pub seal: String,
    /// When it came, in seconds since 1970.
    pub imported: i64,
    /// Is all of it here?
    pub complete: bool,
}

impl LineRecord {
    /// A line that is about to come in.
    pub fn new(of: &ProjectId, name: &str, seal: &[u8; 32], imported: i64) -> Self {
        let seal = herma_store::id::hex(seal);
        let (of, name) = (of.to_string(), name.to_owned());
        Self { version: Version, of, name, seal, imported, complete: false }
    }

    /// The line with this record: the same file under the same name beside the same project is the same line.
    pub fn id(&self) -> ProjectId {
        // No project's path begins like this.
        let text = format!("herma-line {} {} {}", self.of, self.name, self.seal);
        ProjectId::of(text.as_ref())
    }

    /// The project beside which it is.
    pub fn project(&self) -> Option<ProjectId> {
        ProjectId::parse(self.of.as_bytes())
    }

    /// The same line beside another project.
    #[must_use]
    pub fn beside(self, project: &ProjectId) -> Self {
        Self { of: project.to_string(), ..self }
    }

    /// The same line, all of it here or not.
    #[must_use]
    pub fn as_complete(self, complete: bool) -> Self {
        Self { complete, ..self }
    }

    /// Reads the record of a line; a missing or damaged one is none.
    pub fn read(state: &Dir) -> Result<Option<Self>> {
        let bytes = read_record(state, FILE, MAX_RECORD_BYTES)?;
        Ok(bytes.and_then(|bytes| Self::parse(&bytes)))
    }

    /// The record in these bytes, if it is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        is_line_name(&record.name).then_some(record)
    }

    /// Makes it durable.
    pub fn write(&self, tmp: &Dir, state: &Dir) -> Result<()> {
        write_file(tmp, state, FILE, &encode(self), Durability::Synced)
    }
}

/// A name for a line, made of that of a file.
pub fn name_of_file(file: &str) -> String {
    let stem = file.split('.').next().unwrap_or_default();
    let kept: String =
        stem.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let name: String = kept.trim_start_matches(['-', '_']).chars().take(24).collect();
    if is_line_name(&name) { name } else { "imported".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_a_name_that_can_be_typed() {
        for (file, name) in [
            ("laptop.herma", "laptop"),
            ("my work (2).herma", "my-work--2-"),
            ("--x.herma", "x"),
            (".hidden", "imported"),
            ("größe.tar.gz", "größe"),
            ("\u{202e}", "imported"),
        ] {
            assert_eq!(name_of_file(file), name);
            assert!(is_line_name(&name_of_file(file)));
        }
        assert!(!is_line_name("a/b") && !is_line_name("") && !is_line_name("a@b"));
    }

    #[test]
    fn a_record_reads_back_and_tells_lines_apart() {
        let project = ProjectId::parse(b"0123456789abcdef").unwrap();
        let record = LineRecord::new(&project, "laptop", &[7; 32], 5);
        assert_eq!(LineRecord::parse(&encode(&record)), Some(record.clone()));
        let other = LineRecord::new(&project, "desk", &[7; 32], 5);
        assert_ne!(record.id(), other.id());
        assert_eq!(record.project(), Some(project));
        let crafted = LineRecord { name: "../x".to_owned(), ..record };
        assert_eq!(LineRecord::parse(&encode(&crafted)), None);
    }
}
