//! Copies of whole worlds. In this process: a sweep makes thousands of them.

use std::collections::HashMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use herma_testkit::tree::make_pipe;

/// Makes `to` a copy of `from`, with modes, times of files and hard links, whatever was in it before.
#[track_caller]
pub(super) fn copy(from: &Path, to: &Path) {
    let copied = empty(to).and_then(|()| copy_into(from, to, &mut HashMap::new()));
    copied.unwrap_or_else(|e| panic!("{} to {}: {e}", from.display(), to.display()));
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// A session whose files were just written is in use.
fn keep_time(copy: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    fs::File::open(copy)?.set_modified(metadata.modified()?)
}

/// Removes everything in a directory, also what its modes protect.
fn empty(directory: &Path) -> io::Result<()> {
    set_mode(directory, 0o700)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            empty(&entry.path())?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// `copied` knows the copies of files that have several names.
fn copy_into(from: &Path, to: &Path, copied: &mut HashMap<u64, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, copy) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            fs::create_dir(&copy)?;
            copy_into(&source, &copy, copied)?;
            set_mode(&copy, metadata.mode() & 0o7777)?;
        } else if metadata.is_symlink() {
            symlink(fs::read_link(&source)?, &copy)?;
        } else if metadata.file_type().is_fifo() {
            make_pipe(&copy)?;
        } else if let Some(first) = copied.get(&metadata.ino()) {
            fs::hard_link(first, &copy)?;
        } else {
            fs::copy(&source, &copy)?;
            keep_time(&copy, &metadata)?;
            if metadata.nlink() > 1 {
                copied.insert(metadata.ino(), copy);
            }
        }
    }
    Ok(())
}
