//! Directories and logs that come into being when they are first needed.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::path::Arg;

use crate::{Dir, Error, Result};

impl Dir {
    /// Opens a directory, making what is missing of its path, for the owner only.
    pub fn ensure_path(path: &Path) -> Result<Self> {
        let mut missing = Vec::new();
        let mut present = path;
        let mut dir = loop {
            match (Self::open(present), present.file_name(), present.parent()) {
                (Ok(dir), ..) => break dir,
                (Err(e), Some(name), Some(parent)) if e.is_not_found() => {
                    missing.push(name);
                    present = parent;
                }
                (Err(e), ..) => return Err(e),
            }
        };
        for name in missing.into_iter().rev() {
            if dir.create_dir(name, 0o700)? {
                dir.set_mode(name, 0o700)?;
                dir.sync()?;
            }
            dir = dir.open_dir(name)?;
        }
        Ok(dir)
    }

    /// Opens (creating if need be) a file that lines are appended to, by several processes at once.
    pub fn open_append(&self, name: impl Arg + Copy) -> Result<File> {
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NONBLOCK;
        let fd =
            rustix::fs::openat(self, name, flags, Mode::from_raw_mode(0o600)).map_err(|e| {
                let name = name.to_string_lossy();
                Error::on("open", &self.path().join(name.as_ref()), e)
            })?;
        Ok(File::from(fd))
    }
}
