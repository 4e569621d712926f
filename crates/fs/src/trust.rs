//! Whose directory is this, and who else may write to it.
//!
//! A store another user can write to is a way to make Herma write that user's bytes into a project, so
//! it is refused, whatever it contains.

use std::path::{Path, PathBuf};

use crate::process::effective_uid;
use crate::{Dir, FileKind, Result};

/// Why a directory is not ours to trust.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// It is a symlink, or something else that is not a directory.
    #[error("{} is not a directory of its own but a link or a file", .0.display())]
    NotADirectory(PathBuf),
    /// Somebody else owns it.
    #[error("{} belongs to another user (uid {owner})", path.display())]
    ForeignOwner {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Group or others may write to it.
    #[error("{} can be written by other users (mode {mode:04o})", path.display())]
    WritableByOthers {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Checks that the open directory is owned by us and writable by nobody else.
pub fn check(dir: &Dir) -> Result<std::result::Result<(), Distrust>> {
    let stat = dir.stat_self()?;
    let path = dir.path().to_owned();
    if stat.uid != effective_uid() {
        return Ok(Err(Distrust::ForeignOwner { path, owner: stat.uid }));
    }
    if stat.mode & 0o022 != 0 {
        return Ok(Err(Distrust::WritableByOthers { path, mode: stat.mode }));
    }
    Ok(Ok(()))
}

/// Checks that nobody else can put another directory in the place of this one: every directory above it is
/// writable by its owner only, or has the sticky bit, as `/tmp` has.
pub fn check_parents(dir: &Dir) -> Result<std::result::Result<(), Distrust>> {
    let canonical = crate::dir::canonicalize(dir.path())?;
    for parent in canonical.ancestors().skip(1) {
        let Some(stat) = crate::stat_path(parent)? else {
            continue;
        };
        if stat.mode & 0o022 != 0 && stat.mode & 0o1000 == 0 {
            return Ok(Err(Distrust::WritableByOthers {
                path: parent.to_owned(),
                mode: stat.mode,
            }));
        }
    }
    Ok(Ok(()))
}

/// Checks that `path` is a real directory, not a link to one.
pub fn is_real_directory(parent: &Dir, name: &str) -> Result<std::result::Result<(), Distrust>> {
    let stat = parent.stat(name)?;
    if stat.kind == FileKind::Directory {
        return Ok(Ok(()));
    }
    Ok(Err(Distrust::NotADirectory(parent.path().join(Path::new(name)))))
}

#[cfg(test)]
mod tests {
    use rustix::fs::Uid;

    use super::*;

    #[test]
    fn a_directory_of_somebody_else_is_told_from_ours() {
        let place = tempfile::tempdir().unwrap();
        let ours = Dir::open(place.path()).unwrap();
        assert_eq!(check(&ours).unwrap(), Ok(()));
        // Only root can give a directory away; everybody else has one of root's above.
        let theirs = if effective_uid() == 0 {
            let given = place.path().join("given");
            std::fs::create_dir(&given).unwrap();
            rustix::fs::chown(&given, Some(Uid::from_raw(1234)), None).unwrap();
            Dir::open(&given).unwrap()
        } else {
            Dir::open(Path::new("/")).unwrap()
        };
        let refused = check(&theirs).unwrap().unwrap_err();
        assert!(matches!(refused, Distrust::ForeignOwner { .. }), "{refused}");
    }
}
