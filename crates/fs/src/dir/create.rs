//! Directories and logs that come into being when they are first needed.

use std::fs::File;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::path::Arg;

use crate::{Dir, Result};

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
                    let is_here = parent.as_os_str().is_empty();
                    present = if is_here { Path::new(".") } else { parent };
                }
                (Err(e), ..) => return Err(e),
            }
        };
        for name in missing.into_iter().rev() {
            dir = dir.ensure_private(name)?;
        }
        Ok(dir)
    }

    /// Makes and opens a directory with mode 0700, whatever the umask, and makes its name durable.
    pub fn ensure_private(&self, name: impl Arg + Copy) -> Result<Self> {
        if self.create_dir(name, 0o700)? {
            self.ask_for_mode(name, 0o700)?;
            self.sync()?;
        }
        self.open_dir(name)
    }

    /// Opens (creating if need be) a file that lines are appended to, by several processes at once.
    pub fn open_append(&self, name: impl Arg + Copy) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        self.open_with("open", name, flags)
    }
}
