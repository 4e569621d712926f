//! Files outside the project that a call names, as they were: no checkpoint of the project holds them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BString;
use herma_fs::{Dir, FileKind, Stat};
use serde::{Deserialize, Serialize};

use super::{OutsideChange, OutsideWhat};

/// What is there is no file that anybody wrote.
const NO_FILES: [&str; 2] = ["/proc", "/sys"];

/// A path outside the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Named {
    #[serde(with = "super::text")]
    path: BString,
    /// Size and time of the last change; `None` if nothing was there.
    there: Option<(u64, i64)>,
}

impl Named {
    /// What is at this absolute path, unless it is no file of anybody's.
    pub(super) fn now(path: &Path) -> Option<Self> {
        let is_file = path.is_absolute() && !NO_FILES.iter().any(|root| path.starts_with(root));
        let there = look(path).ok().filter(|_| is_file)?;
        Some(Self { path: path.as_os_str().as_bytes().into(), there: there.as_ref().map(summary) })
    }

    /// What became of it.
    pub(super) fn change(&self) -> Option<OutsideChange> {
        // What cannot be looked at is not known to be different.
        let now = look(Path::new(OsStr::from_bytes(&self.path))).ok()?;
        let fate = match (&self.there, now.as_ref().map(summary)) {
            (None, Some(_)) => "made",
            (Some(_), None) => "removed",
            (Some(before), Some(now)) if *before != now => "changed",
            _ => return None,
        };
        Some(OutsideChange {
            path: self.path.clone(),
            what: OutsideWhat::Elsewhere(fate.to_owned()),
        })
    }
}

/// What is at a path, if anything is.
fn look(path: &Path) -> Result<Option<Stat>, herma_fs::Error> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    match Dir::open(parent) {
        Ok(parent) => parent.stat_opt(name.as_bytes()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Of a directory only that it is there: others work in it, too.
fn summary(stat: &Stat) -> (u64, i64) {
    match stat.kind {
        FileKind::File | FileKind::Symlink => (stat.size, stat.ctime),
        _ => (0, 0),
    }
}
