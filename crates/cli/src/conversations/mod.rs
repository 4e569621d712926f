//! What a home keeps of conversations: the database, the transcripts beside it, and what an interrupted command left to do to one
//! ([`pending`]).

pub(crate) mod pending;

use std::path::Path;

use herma_fs::{Dir, FileKind, IfThere, trust};
use herma_sessions::{Access, Database};
use herma_store::path::escape;

use crate::command_error::{CommandError, Kind, Result};
use crate::terminal::shown;

/// Opens the database of this home.
pub(crate) fn open(home: &Path, access: Access) -> Result<Database> {
    Ok(Database::open(&home.join("state.db"), access)?)
}

/// Opens the directory with the transcripts of a home, if there is one. A link is followed to a directory in
/// the home, or to one that belongs to the user and that nobody else can write to.
pub(crate) fn directory(home: &Path) -> Result<Option<Dir>> {
    let path = home.join("sessions");
    match Dir::open_nofollow(&path).if_there() {
        Ok(dir) => Ok(dir),
        Err(error) => match linked(home, &path)? {
            Some(dir) => Ok(Some(dir)),
            None => Err(error.into()),
        },
    }
}

/// Opens the directory with the transcripts; it is made if need be.
pub(crate) fn ensure_directory(home: &Path) -> Result<Dir> {
    match directory(home)? {
        Some(dir) => Ok(dir),
        None => Ok(Dir::open(home)?.ensure_dir("sessions", 0o700)?),
    }
}

/// The directory a link leads to; `None` if it is no link.
fn linked(home: &Path, path: &Path) -> Result<Option<Dir>> {
    let stat = Dir::open(home)?.stat("sessions")?;
    if stat.kind != FileKind::Symlink {
        return Ok(None);
    }
    let refused = |why: &str| {
        let text = format!("{} is a link that is not followed: {why}", shown(path));
        CommandError::new(Kind::Failed, text)
            .with_state("Nothing was changed.")
            .with_hint("It may lead to a directory in the home, or to one of your own that nobody else can write to.")
    };
    let nowhere = |_| refused("it leads to no directory");
    let real = herma_fs::dir::canonicalize(path).map_err(nowhere)?;
    let dir = Dir::open_nofollow(&real).map_err(nowhere)?;
    if real.starts_with(herma_fs::dir::canonicalize(home)?) {
        return Ok(Some(dir));
    }
    match trust::check(&dir)? {
        Ok(()) => Ok(Some(dir)),
        Err(distrust) => Err(refused(&escape(distrust.to_string().as_bytes()))),
    }
}
