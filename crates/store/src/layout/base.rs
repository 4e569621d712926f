//! The directory the store is in, and what else may stand there.
//!
//! Hermes keeps other things beside its store: resume records of sessions, a marker of its last
//! cleaning, repositories of its version 1 and archives of these, into which it once swept everything it
//! found. Only what is known to be a store, a repository or an archive is ever removed, no resume record is,
//! and a directory
//! leaves its name before the first file in it goes: a process killed meanwhile leaves a `tmp-…`
//! directory that the next one finishes, never half a repository.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use herma_fs::process::TempName;
use herma_fs::{Dir, Entry, FileKind};

use crate::ProjectId;
use crate::error::StoreError;
use crate::layout::is_repository;
use crate::layout::sweep::kind_of;

/// The file in which a repository of version 1 names its directory.
const WORKDIR: &str = "HERMES_WORKDIR";

/// Longer paths than this do not exist.
const MAX_WORKDIR: u64 = 64 << 10;

/// What a name in the base stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The store.
    Store,
    /// An archive of repositories of version 1, and of what was swept into it.
    Archive,
    /// A repository of version 1.
    Repository(ProjectId),
    /// When something was last cleaned up.
    LastPrune,
    /// Something being removed, and whether the process that does it still lives.
    Leaving {
        /// Is the process that moves it away still there?
        owner_lives: bool,
    },
    /// Somebody else's.
    Foreign,
}

/// What the entry of a base, or of an archive, is.
pub fn classify(dir: &Dir, entry: &Entry) -> Result<Found, StoreError> {
    let name = entry.name.to_bytes();
    let is_directory = kind_of(dir, entry)? == Some(FileKind::Directory);
    Ok(match name {
        b".last_prune" | b".last_resume_gc" if !is_directory => Found::LastPrune,
        _ if !is_directory => Found::Foreign,
        b"store" => Found::Store,
        _ if name.starts_with(b"legacy-") => Found::Archive,
        _ => match (ProjectId::parse(name), TempName::parse(name)) {
            (Some(id), _) if is_repository(dir, &entry.name)? => Found::Repository(id),
            (_, Some(owner)) => Found::Leaving { owner_lives: owner.owner_lives() },
            _ => Found::Foreign,
        },
    })
}

/// A name as the system has it.
pub fn os_name(name: &CStr) -> OsString {
    OsString::from_vec(name.to_bytes().to_vec())
}

/// Where the project of a version 1 repository is, as the repository says.
pub fn workdir_of(repository: &Dir) -> Option<PathBuf> {
    let mut bytes = repository.read_opt(WORKDIR, MAX_WORKDIR).ok()??;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    let is_path = bytes.first() == Some(&b'/') && !bytes.contains(&0);
    is_path.then(|| PathBuf::from(OsString::from_vec(bytes)))
}

/// Removes the directory `name` of `from`; returns the bytes that were in it.
pub fn discard(base: &Dir, from: &Dir, name: &CStr) -> Result<u64, StoreError> {
    let leaving = leaving_name();
    // ORDER: the name goes first and durably, or a crash could leave half of it under its name.
    from.rename_new(name, base, leaving.as_c_str())?;
    from.sync()?;
    base.sync()?;
    Ok(base.remove_tree(&leaving)?)
}

fn leaving_name() -> CString {
    CString::new(TempName::next().to_string()).expect("digits and dashes hold no zero byte")
}

/// Removes what killed processes had begun to remove; returns the bytes that were left of it.
pub fn finish_leaving(base: &Dir) -> Result<u64, StoreError> {
    let mut bytes = 0;
    for entry in base.entries()? {
        if classify(base, &entry)? == (Found::Leaving { owner_lives: false }) {
            match base.remove_tree(&entry.name) {
                // Another process was at it, too.
                Err(e) if e.is_not_found() => {}
                removed => bytes += removed?,
            }
        }
    }
    Ok(bytes)
}

/// What became of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedLegacy {
    /// The bytes that were removed.
    pub bytes_freed: u64,
    /// Is the archive gone?
    pub deleted: bool,
    /// What was moved back to the base.
    pub moved_back: Vec<OsString>,
    /// What stays in the archive, because the base has something of that name.
    pub kept: Vec<OsString>,
}

/// Is it a resume record, or what was set aside for one? Hermes swept both into its archives.
fn is_resume_record(archive: &Dir, entry: &Entry) -> Result<bool, StoreError> {
    let name = entry.name.to_bytes();
    Ok(match kind_of(archive, entry)? {
        Some(FileKind::File) => name.ends_with(b".yaml"),
        Some(FileKind::Directory) => name == b"set-aside",
        _ => false,
    })
}

/// Removes an archive with everything in it, except resume records: these move back to where Hermes took
/// them from.
pub fn remove_archive(base: &Dir, name: &CStr) -> Result<RemovedLegacy, StoreError> {
    let archive = base.open_dir(name)?;
    let mut removed = RemovedLegacy::default();
    let mut others = Vec::new();
    for entry in archive.entries()? {
        if !is_resume_record(&archive, &entry)? {
            others.push(entry);
            continue;
        }
        match archive.rename_new(entry.name.as_c_str(), base, entry.name.as_c_str()) {
            Ok(()) => removed.moved_back.push(os_name(&entry.name)),
            Err(e) if e.is_exists() => removed.kept.push(os_name(&entry.name)),
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e.into()),
        }
    }
    if !removed.moved_back.is_empty() {
        // ORDER: what was moved back is there to stay before anything is removed.
        base.sync()?;
        archive.sync()?;
    }
    if removed.kept.is_empty() {
        removed.bytes_freed = discard(base, base, name)?;
        removed.deleted = true;
        return Ok(removed);
    }
    for entry in others {
        removed.bytes_freed += match kind_of(&archive, &entry)? {
            Some(FileKind::Directory) => discard(base, &archive, &entry.name)?,
            Some(_) => remove_one_file(&archive, &entry.name)?,
            None => 0,
        };
    }
    archive.sync()?;
    Ok(removed)
}

fn remove_one_file(dir: &Dir, name: &CStr) -> Result<u64, StoreError> {
    let stat = dir.stat(name)?;
    dir.remove_file(name)?;
    Ok(if stat.kind == FileKind::File { stat.size } else { 0 })
}
