//! The kept ends of sessions that are deleted: they hold messages, so they go with them.

use std::ffi::CStr;

use herma_fs::{Dir, IfThere};
use serde::Deserialize;

use super::ends::DIRECTORY;
use super::intent::EndName;
use crate::error::Result;
use crate::pending::Lines;

/// The first line of an end is no longer: an id, and the names of some columns.
const MAX_HEAD_BYTES: u64 = 4 << 20;

/// What ends and notes say first, whatever else they say.
#[derive(Deserialize)]
struct Head {
    session: String,
}

/// Calls `each` with the directory of the ends, the name of an end or note, and the session it is of.
pub(crate) fn for_each_end(
    sessions: &Dir,
    mut each: impl FnMut(&Dir, &CStr, &str) -> Result<()>,
) -> Result<()> {
    let Some(dir) = sessions.open_dir(DIRECTORY).if_there()? else { return Ok(()) };
    for entry in dir.entries()? {
        let name = entry.name.as_c_str();
        if !name.to_str().is_ok_and(|name| EndName::parse(name).is_some()) {
            continue;
        }
        if let Some(session) = session_of(&dir, name)? {
            each(&dir, name, &session)?;
        }
    }
    Ok(())
}

/// The session an end is of; `None` if it does not say, or is gone meanwhile.
fn session_of(dir: &Dir, name: &CStr) -> Result<Option<String>> {
    let Some(file) = dir.open_file(name).if_there()? else { return Ok(None) };
    let head = Lines::new(file, MAX_HEAD_BYTES, dir.path()).next()?.unwrap_or_default();
    let head = serde_json::from_slice::<Head>(&head).ok();
    Ok(head.map(|head| head.session))
}
