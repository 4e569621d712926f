//! One checkpoint as a tar archive. The same checkpoint always gives the same bytes.

use std::ffi::OsStr;
use std::io;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_core::{Checkpoint, ObjectId, Project, SavedEntry, SavedFiles};
use herma_store::path::RelPath;
use tar::{Builder, EntryType, Header};

use crate::command_env::{CommandError, Result};

/// Larger files go through a pipe.
const WHOLE: u64 = 16 << 20;

/// Writes the archive.
pub(crate) fn write(project: &Project, checkpoint: &Checkpoint, out: &mut dyn Write) -> Result<()> {
    let files = project.files_of(checkpoint)?;
    let time = u64::try_from(checkpoint.time.seconds).unwrap_or(0);
    let mut archive = Builder::new(out);
    for (path, entry) in files.entries() {
        append(&mut archive, &files, (path, entry), time)?;
    }
    archive.into_inner()?.flush()?;
    Ok(())
}

fn append(
    archive: &mut Builder<&mut dyn Write>,
    files: &SavedFiles,
    (path, entry): (&RelPath, &SavedEntry),
    time: u64,
) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    match *entry {
        SavedEntry::Directory(mode) => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(mode & 0o7777);
            archive.append_data(&mut header, path, io::empty())?;
        }
        SavedEntry::Link(id) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            let target = files.read(&id)?;
            archive.append_link(&mut header, path, OsStr::from_bytes(&target))?;
        }
        SavedEntry::File(mode, size, id) => {
            header.set_entry_type(EntryType::Regular);
            header.set_mode(mode & 0o7777);
            header.set_size(size);
            if size > WHOLE {
                append_large(archive, files, (&mut header, path), id)?;
            } else {
                archive.append_data(&mut header, path, &files.read(&id)?[..])?;
            }
        }
    }
    Ok(())
}

/// The archive takes what it reads, and the store gives what it has: a pipe is between them.
fn append_large(
    archive: &mut Builder<&mut dyn Write>,
    files: &SavedFiles,
    (header, path): (&mut Header, &Path),
    id: ObjectId,
) -> Result<()> {
    let (reader, mut writer) = io::pipe()?;
    std::thread::scope(|scope| {
        let passing = scope.spawn(move || files.stream(&id, &mut |piece| writer.write_all(piece)));
        let appended = archive.append_data(header, path, reader);
        let passed = passing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        passed.map(drop).map_err(CommandError::from).and(appended.map_err(CommandError::from))
    })
}
