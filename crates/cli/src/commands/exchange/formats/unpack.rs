//! A checkpoint's files in a new directory.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_core::{Checkpoint, Project, SavedEntry};
use herma_fs::Dir;

use crate::command_env::Result;

/// Writes all files and links below an empty directory. Modes are those of git: executable or not.
pub(super) fn unpack(project: &Project, checkpoint: &Checkpoint, root: &Dir) -> Result<()> {
    let files = project.files_of(checkpoint)?;
    for (path, entry) in files.entries() {
        let Some((above, name)) = path.split() else { continue };
        let directory = root.open_beneath(above.as_bytes())?;
        match *entry {
            SavedEntry::Directory(_) => drop(directory.create_dir(name, 0o700)?),
            SavedEntry::Link(id) => {
                let target = files.read(&id)?;
                directory.symlink(&target[..], name)?;
            }
            SavedEntry::File(mode, _, id) => {
                let mut file = directory.create_new(name)?;
                files.stream(&id, &mut |piece| file.write_all(piece))?;
                let mode = if mode & 0o100 == 0 { 0o600 } else { 0o700 };
                directory.set_mode(name, mode)?;
            }
        }
    }
    Ok(())
}

/// A directory that goes with everything in it.
pub(super) struct Scratch {
    above: Dir,
    name: std::ffi::CString,
    pub(super) dir: Dir,
}

impl Scratch {
    /// Makes one in Herma's home.
    pub(super) fn new(home: &Path) -> Result<Self> {
        let above = Dir::ensure_path(&home.join("herma/scratch"))?;
        for entry in above.entries()? {
            let owner = herma_fs::process::TempName::parse(entry.name.as_bytes());
            if owner.is_some_and(|owner| !owner.owner_lives()) {
                above.remove_tree(&entry.name)?;
            }
        }
        let name = herma_fs::process::TempName::next().to_string();
        above.create_dir(name.as_str(), 0o700)?;
        let dir = above.open_dir(name.as_str())?;
        let name = std::ffi::CString::new(name).map_err(std::io::Error::other)?;
        Ok(Self { above, name, dir })
    }

    /// The path of something in it.
    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(OsStr::from_bytes(name.as_bytes()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        let _ = self.above.remove_tree(&self.name);
    }
}
