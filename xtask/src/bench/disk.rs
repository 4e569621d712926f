//! Directories as wholes: copied, measured, made anew.

use std::fs;
use std::path::Path;

use crate::Result;

/// An empty directory, whatever was there before.
pub fn make_anew(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(fs::create_dir_all(directory)?)
}

/// Copies a directory of plain files to a place where nothing is.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    // A store is refused when others may write to it.
    Ok(fs::set_permissions(to, fs::metadata(from)?.permissions())?)
}

/// The bytes of all files below a directory whose names end in one of these; all files for none.
pub fn bytes_below(directory: &Path, endings: &[&str]) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            sum += bytes_below(&entry.path(), endings)?;
        } else if endings.is_empty() || endings.iter().any(|ending| name.ends_with(ending)) {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}
