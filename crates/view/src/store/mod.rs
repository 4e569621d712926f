//! The store as a whole: what it holds and costs, what a cleaning takes, what is damaged and what was repaired.
//!
//! * [`status`], [`limits`]: what is there, and how much of it may stay
//! * [`cleaning`], [`prune`]: what goes, and what went
//! * [`verify`], [`repair`]: what is damaged, and what was put right

pub mod cleaning;
pub mod limits;
pub mod prune;
pub mod repair;
pub mod status;
pub mod verify;

use std::io;
use std::io::Write;
use std::path::Path;

use herma_core::ProjectId;

use crate::here::shown;
use crate::units::size;

/// A project as people know it: by its directory if that is known.
pub fn place(workdir: Option<&Path>, id: &ProjectId) -> String {
    match workdir {
        Some(workdir) => shown(workdir),
        None => format!("project {id}"),
    }
}

/// Prints what is out of use and not yet free.
pub fn write_trash(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let bytes = size(bytes);
    writeln!(
        out,
        "In the trash:    {bytes} for at least an hour; to delete it now: herma checkpoints gc --empty-trash"
    )
}
