//! Directories that had to be made for a file of ours, and go again with it.
//!
//! Which ones we made is noted in the home before they are made: a directory that was there before is never
//! removed, however empty.

use std::path::{Path, PathBuf};

use herma_fs::publish::{Durability, sweep, write_file};
use herma_fs::{Dir, Errno, IfThere};

use crate::command_error::Result;

const NAME: &str = "directories.json";
const MAX_BYTES: u64 = 1 << 20;

/// The note of the directories we made.
pub(super) struct MadeDirectories {
    place: PathBuf,
    paths: Vec<PathBuf>,
}

impl MadeDirectories {
    /// Reads the note of this home. One that cannot be read is as good as none: then nothing is removed.
    pub(super) fn read(home: &Path) -> Self {
        let place = home.join("herma/hooks");
        let bytes = Dir::open(&place).and_then(|dir| dir.read_opt(NAME, MAX_BYTES));
        let bytes = bytes.ok().flatten().unwrap_or_default();
        let paths: Vec<PathBuf> = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { place, paths }
    }

    /// Removes what a process that was killed left beside the note.
    pub(super) fn sweep(&self) {
        if let Ok(dir) = Dir::open(&self.place) {
            sweep(&dir);
        }
    }

    /// Makes the directory of a file, and notes what had to be made.
    pub(super) fn make_for(&mut self, file: &Path, mode: u32) -> Result<()> {
        let parent = file.parent().unwrap_or(Path::new("/"));
        let missing = parent.ancestors().take_while(|path| !path.is_dir());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.paths.extend(missing.iter().cloned());
        self.paths.sort();
        self.paths.dedup();
        // ORDER: noted first, or a crash leaves directories that nobody will ever remove.
        self.write()?;
        for path in missing.iter().rev() {
            if let (Some(above), Some(name)) = (path.parent(), path.file_name()) {
                let above = Dir::open(above)?;
                above.create_dir(name, mode)?;
                // A file in a directory that is gone after a power cut is gone as well.
                above.sync()?;
            }
        }
        Ok(())
    }

    /// Removes those directories above a file that we made and that are empty now.
    pub(super) fn clear_above(&mut self, file: &Path) -> Result<()> {
        let above: Vec<PathBuf> = file.ancestors().skip(1).map(Path::to_owned).collect();
        let mut changed = false;
        for path in above {
            if !self.paths.contains(&path) {
                break;
            }
            if path.is_dir() && !remove_if_empty(&path)? {
                break;
            }
            self.paths.retain(|known| *known != path);
            changed = true;
        }
        if changed { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<()> {
        let dir = Dir::ensure_path(&self.place)?;
        let utf8: Vec<&str> = self.paths.iter().filter_map(|path| path.to_str()).collect();
        if utf8.is_empty() {
            dir.remove_if_there(NAME)?;
            return Ok(());
        }
        let bytes = serde_json::to_vec(&utf8).map_err(std::io::Error::from)?;
        write_file(&dir, &dir, NAME, &bytes, Durability::Synced)?;
        Ok(())
    }
}

/// Removes a directory if nothing is in it, and tells whether it is gone.
pub(super) fn remove_if_empty(path: &Path) -> Result<bool> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(false) };
    let Some(above) = Dir::open(above).if_there()? else { return Ok(true) };
    match above.remove_dir(name).if_there() {
        // Something is in it, or it is a link that somebody put in its place.
        Err(error) if matches!(error.errno(), Some(Errno::NOTEMPTY | Errno::NOTDIR)) => {
            return Ok(false);
        }
        removed => drop(removed?),
    }
    // ORDER: gone for good before the note of it is, or a power cut brings back what nobody will ever remove.
    above.sync()?;
    Ok(true)
}
