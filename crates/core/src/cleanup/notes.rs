//! What a plan has to say besides the list of what goes.

use std::fmt;
use std::path::{Path, PathBuf};

use herma_store::ProjectId;

use super::clock::Trust;
use super::plan::Rule;
use super::presence::Doubt;

/// Why a checkpoint stays whatever the limits say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Protection {
    /// It is the newest of its project.
    #[error("the newest of its project")]
    Newest,
    /// It is the newest of its project that can be read.
    #[error("the newest of its project that can be read")]
    NewestReadable,
    /// An interrupted restore or the next undo needs it.
    #[error("needed for undo")]
    InUse,
    /// It has a name.
    #[error("named")]
    Named,
    /// A person pinned it.
    #[error("pinned")]
    Pinned,
    /// It came in with a line, which goes only when somebody removes it.
    #[error("imported")]
    Imported,
}

/// Something a person should know about a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Note {
    /// The clock is not believed: nothing is dropped or thinned out by age this time.
    #[error("{0}, so nothing is dropped because of its age this time")]
    ClockDistrusted(Trust),
    /// The project's record says that it was last saved in the future, and its newest checkpoint does
    /// not bear that out. Whoever applies the plan sets the record to the present.
    #[error("project {project} is recorded as saved in the future; it counts as saved now")]
    FutureTouch {
        /// The project.
        project: ProjectId,
    },
    /// The project's record says that it was last saved long before an older checkpoint was taken: the
    /// clock was behind at its last save, and when that was nobody knows. Whoever applies the plan sets
    /// the record to the present, before the checkpoint that shows it may go.
    #[error(
        "project {project} was last saved while the clock was behind; its age is counted from now on"
    )]
    EarlyTouch {
        /// The project.
        project: ProjectId,
        /// When it was used, at least; in seconds since 1970.
        last_use: f64,
    },
    /// The newest checkpoint itself is dated in the future. Its project's age is not judged until it is
    /// saved again.
    #[error(
        "the newest checkpoint of project {project} is dated in the future, so its age is not judged until it is saved again"
    )]
    FutureCheckpoint {
        /// The project.
        project: ProjectId,
    },
    /// The project is not there, but it may not have been deleted, so it is no orphan.
    #[error("{} stays: {doubt}", place(project, workdir.as_deref()))]
    OutOfReach {
        /// The project.
        project: ProjectId,
        /// Where it was.
        workdir: Option<PathBuf>,
        /// Why it does not count as deleted.
        doubt: Doubt,
    },
    /// The project was deleted, but some of its checkpoints are protected and stay.
    #[error("project {project} was deleted, but {} protected", those(*checkpoints))]
    OrphanStays {
        /// The project.
        project: ProjectId,
        /// How many stay.
        checkpoints: usize,
    },
    /// So many checkpoints of the project are protected that it keeps more than the limit.
    #[error("project {project} keeps {}, more than the limit of {limit}: the others are protected", counted(*checkpoints))]
    OverCount {
        /// The project.
        project: ProjectId,
        /// How many stay.
        checkpoints: usize,
        /// The limit.
        limit: usize,
    },
}

impl Note {
    /// The project it is about, if it is about one.
    pub fn project(&self) -> Option<&ProjectId> {
        match self {
            Self::ClockDistrusted(_) => None,
            Self::FutureTouch { project }
            | Self::EarlyTouch { project, .. }
            | Self::FutureCheckpoint { project }
            | Self::OutOfReach { project, .. }
            | Self::OrphanStays { project, .. }
            | Self::OverCount { project, .. } => Some(project),
        }
    }
}

/// A byte limit that cannot be reached.
///
/// For the size of the store, what may go is kept to the limit by itself. For the disk that would be in vain: then nothing goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// The limit: [`Rule::TotalSize`] or [`Rule::FreeDisk`].
    pub limit: Rule,
    /// By how many bytes it is missed when the plan is applied and collected.
    pub bytes: u64,
    /// The bytes of what stays and may go: the most that checkpoints could still give.
    pub could_free: u64,
    /// What must stay, and what that holds.
    pub held: Vec<Held>,
}

/// What the checkpoints under one protection hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The protection.
    pub protection: Protection,
    /// How many checkpoints it keeps.
    pub checkpoints: usize,
    /// Bytes they hold that those listed before do not.
    pub bytes: u64,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limit == Rule::FreeDisk {
            return write!(
                f,
                "less disk is free than wanted, by {}: checkpoints could free {} at most, so none is \
                 dropped for it",
                size(self.bytes),
                size(self.could_free)
            );
        }
        let missed = size(self.bytes);
        write!(f, "the store stays over its size limit, by {missed}")?;
        for (index, held) in self.held.iter().enumerate() {
            let lead = if index == 0 { ": " } else { ", " };
            let Held { protection, checkpoints, bytes } = held;
            let checkpoints = counted(*checkpoints);
            write!(f, "{lead}{checkpoints} ({protection}) with {}", size(*bytes))?;
        }
        if !self.held.is_empty() {
            f.write_str(" must stay")?;
        }
        if self.could_free > 0 {
            let may_go = size(self.could_free);
            write!(f, "; what may go has {may_go}, kept to the limit by itself")?;
        }
        Ok(())
    }
}

fn place(project: &ProjectId, workdir: Option<&Path>) -> String {
    workdir.map_or_else(|| format!("project {project}"), |path| path.display().to_string())
}

fn those(checkpoints: usize) -> String {
    let verb = if checkpoints == 1 { "is" } else { "are" };
    format!("{} of it {verb}", counted(checkpoints))
}

fn counted(checkpoints: usize) -> String {
    let plural = if checkpoints == 1 { "" } else { "s" };
    format!("{checkpoints} checkpoint{plural}")
}

/// Bytes as people say them, with the megabytes of the settings (1024 × 1024).
fn size(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

#[cfg(test)]
#[path = "tests/plan/notes.rs"]
mod notes_tests;
