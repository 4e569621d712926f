//! The kept ends of sessions that are deleted: they hold messages, so they go with them.

use std::ffi::CStr;
use std::io::{BufRead, BufReader, Read};

use herma_fs::Dir;
use serde::Deserialize;

use super::ends::open_directory;
use super::intent::EndName;
use crate::error::Result;

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
    let Some(dir) = open_directory(sessions)? else { return Ok(()) };
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
    let file = match dir.open_file(name) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut head = Vec::new();
    BufReader::new(file)
        .take(MAX_HEAD_BYTES)
        .read_until(b'\n', &mut head)
        .map_err(|e| herma_fs::Error::on("read", dir.path(), e))?;
    let head = serde_json::from_slice::<Head>(&head).ok();
    Ok(head.map(|head| head.session))
}
