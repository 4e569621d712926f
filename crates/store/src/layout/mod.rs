//! Where everything in the store is, and how a store comes to be.
//!
//! A store is made by a list of steps, each of which does nothing if its result is there already. A
//! process killed anywhere on the way leaves a store that the next one completes; `herma/format`, the
//! last step, says that all the others were done and are durable. A store Hermes made goes through the
//! same steps and so gets what it lacks; what it has is left as it is.
//!
//! Readers ([`open`]) write nothing at all. Both readers and writers refuse a store that somebody else
//! could have written to, or that needs a newer Herma or unknown git features.

pub mod base;
pub mod git_config;
pub(crate) mod hermes_files;
pub mod plain_file;
pub(crate) mod reserve;
pub mod sweep;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use herma_fs::publish::{Durability, Temp, write_file};
use herma_fs::trust::Distrust;
use herma_fs::{Dir, Errno, FileKind, IfThere, trust};

use super::error::StoreError;
use crate::layout::git_config::is_garbled;
use crate::layout::plain_file::read_plain;

/// What Hermes leaves out of every checkpoint: the content of a store's `info/exclude`.
#[rustfmt::skip]
pub const HERMES_EXCLUDES: &[&str] = &[
    "node_modules/", "dist/", "build/", "target/", "out/", ".next/", ".nuxt/", "__pycache__/",
    "*.pyc", "*.pyo", ".cache/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", "coverage/",
    ".coverage", ".venv/", "venv/", "env/", ".git/", ".hg/", ".svn/", ".worktrees/", "*.so",
    "*.dylib", "*.dll", "*.o", "*.a", "*.jar", "*.class", "*.exe", "*.obj", "*.mp4", "*.mov",
    "*.mkv", "*.webm", "*.zip", "*.tar", "*.tar.gz", "*.tgz", "*.7z", "*.rar", "*.iso", ".env",
    ".env.*", ".env.local", ".env.*.local", ".DS_Store", "Thumbs.db", "*.log",
];

/// The newest format this program reads.
pub const FORMAT: u64 = 3;
/// The format every store has that this program wrote to.
const USUAL_FORMAT: u64 = 2;
/// The format of a store with lines: an older program would clean them up like checkpoints.
pub const FORMAT_WITH_LINES: u64 = 3;

pub(crate) const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\
    [extensions]\n\tpreciousObjects = true\n\
    [user]\n\temail = hermes@local\n\tname = Hermes Checkpoint\n\
    [commit]\n\tgpgsign = false\n[tag]\n\tgpgSign = false\n\
    [gc]\n\tauto = 0\n\tpruneExpire = never\n[maintenance]\n\tauto = false\n";

/// No branch of a store is ever born.
pub(crate) const HEAD: &str = "ref: refs/heads/master\n";

/// The files of a store that are read whole are small; anything larger is not ours.
pub(crate) const SMALL_FILE: u64 = 1 << 20;

/// The open directories of a store.
#[derive(Debug)]
pub struct StoreDirs {
    base: Dir,
    store: Dir,
    objects: Dir,
    herma: Option<HermaDirs>,
    access: Access,
}

/// The directories that hold Herma's own state inside a store.
#[derive(Debug)]
pub struct HermaDirs {
    /// `herma/` itself.
    pub dir: Dir,
    /// Files being written; every name is a [`herma_fs::process::TempName`].
    pub tmp: Dir,
    /// What collection has taken out of use.
    pub trash: Dir,
    /// One directory per project: its lock, stat cache, turn marks and journal.
    pub projects: Dir,
}

/// What a store was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing may be written.
    Read,
    /// Everything may.
    Write,
}

impl StoreDirs {
    /// `<home>/checkpoints`.
    pub fn base(&self) -> &Dir {
        &self.base
    }

    /// The git directory.
    pub fn store(&self) -> &Dir {
        &self.store
    }

    /// The object directory.
    pub fn objects(&self) -> &Dir {
        &self.objects
    }

    /// Herma's own directories; `None` for a reader of a store only Hermes has written to.
    pub fn herma(&self) -> Option<&HermaDirs> {
        self.herma.as_ref()
    }

    /// What the store was opened for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Herma's own directories, for writing.
    pub fn for_writing(&self) -> Result<&HermaDirs, StoreError> {
        match (&self.herma, self.access) {
            (Some(herma), Access::Write) => Ok(herma),
            _ => Err(StoreError::ReadOnly),
        }
    }
}

/// The directories every store is made with, in the order they are made.
#[rustfmt::skip]
pub(crate) const DIRECTORIES: [&str; 14] = [
    // First, because the files that follow are written there.
    "herma", "herma/tmp", "herma/trash", "herma/projects",
    "objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/hermes", "refs/herma", "info", "indexes", "projects",
];

type MakeContent = fn() -> String;

/// The files every store is made with, in the order they are made, after the directories.
const FILES: [(&str, MakeContent); 4] = [
    ("herma/lock", String::new),
    // ORDER: the excludes and the configuration exist before `HEAD` makes this a repository to git
    // and to Hermes, which would otherwise save secrets, or fail for want of an identity.
    ("info/exclude", || HERMES_EXCLUDES.join("\n") + "\n"),
    ("config", || CONFIG.to_owned()),
    ("HEAD", || HEAD.to_owned()),
];

/// How many steps it takes to make a store.
const STEPS: usize = DIRECTORIES.len() + FILES.len();

/// Opens the store below `base` for writing, making or completing it if need be.
///
/// `legacy_stamp` (`YYYYmmdd-HHMMSS`) names the directory that version 1 repositories are moved to when
/// the store is made for the first time.
pub fn create_or_open(base: &Path, legacy_stamp: &str) -> Result<StoreDirs, StoreError> {
    let (parent, name) = parent_and_name(base)?;
    let parent = Dir::ensure_path(&parent)?;
    let base = match open_real(&parent, name)? {
        Some(base) => base,
        None => parent.ensure_private(name)?,
    };
    require_owner(&base)?;
    let existing = open_real(&base, OsStr::new("store"))?;
    let is_first = match &existing {
        // A damaged format is one that was written.
        Some(store) => store.stat_opt("HEAD")?.is_none() && matches!(read_format(store), Ok(None)),
        None => true,
    };
    if is_first {
        set_legacy_aside(&base, legacy_stamp)?;
    }
    let store = match existing {
        Some(store) => store,
        None => base.ensure_private("store")?,
    };
    refuse_unsafe(&store)?;
    if store.stat_self()?.mode & 0o077 != 0 {
        store.set_mode_self(0o700)?;
    }
    let is_new = !is_complete(&store)?;
    if is_new {
        complete(&store, STEPS)?;
    }
    let dirs = open_inside(base, store, Access::Write)?;
    raise_format(&dirs, USUAL_FORMAT)?;
    if is_new {
        // A disk without room for the reserve may still have room for a checkpoint.
        let _ = dirs.restore_reserve();
    }
    sweep::sweep_dead(&dirs)?;
    Ok(dirs)
}

/// Opens `base`, whatever it holds, with the directory it is in; `None` if it is not there.
pub fn open_base(base: &Path) -> Result<Option<(Dir, Dir)>, StoreError> {
    let Some((parent, name)) = split(base)? else { return Ok(None) };
    let Some(base) = open_real(&parent, name)? else { return Ok(None) };
    require_owner(&base)?;
    Ok(Some((parent, base)))
}

/// Opens the store below `base` for reading, writing nothing; `None` if there is no store.
pub fn open(base: &Path) -> Result<Option<StoreDirs>, StoreError> {
    let Some((_, base)) = open_base(base)? else { return Ok(None) };
    let Some(store) = open_real(&base, OsStr::new("store"))? else { return Ok(None) };
    refuse_unsafe(&store)?;
    if !holds_anything(&store)? {
        return Ok(None);
    }
    open_inside(base, store, Access::Read).map(Some)
}

/// May a reader find something in this store? A power cut need not leave the parts of one that was being made in
/// the order they were made in: before `herma/format` promises them, nothing was saved here by anybody.
fn holds_anything(store: &Dir) -> Result<bool, StoreError> {
    if read_format(store)?.is_some() {
        return Ok(true);
    }
    Ok(store.stat_opt("HEAD")?.is_some() && store.stat_opt("objects")?.is_some())
}

fn open_inside(base: Dir, store: Dir, access: Access) -> Result<StoreDirs, StoreError> {
    let objects = store.open_dir("objects")?;
    let herma = match open_herma(&store) {
        Ok(herma) => Some(herma),
        Err(e) if e.is_not_found() && access == Access::Read => None,
        Err(e) => return Err(e.into()),
    };
    Ok(StoreDirs { base, store, objects, herma, access })
}

fn open_herma(store: &Dir) -> herma_fs::Result<HermaDirs> {
    let dir = store.open_dir("herma")?;
    let tmp = dir.open_dir("tmp")?;
    let trash = dir.open_dir("trash")?;
    let projects = dir.open_dir("projects")?;
    Ok(HermaDirs { dir, tmp, trash, projects })
}

/// The open parent of `path` and the name in it; `None` if the parent does not exist.
fn split(path: &Path) -> Result<Option<(Dir, &OsStr)>, StoreError> {
    let (parent, name) = parent_and_name(path)?;
    Ok(Dir::open(&parent).if_there()?.map(|parent| (parent, name)))
}

fn parent_and_name(path: &Path) -> Result<(PathBuf, &OsStr), StoreError> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if parent.as_os_str().is_empty() => Ok((".".into(), name)),
        (Some(parent), Some(name)) => Ok((parent.to_owned(), name)),
        _ => Err(Distrust::NotADirectory(path.to_owned()).into()),
    }
}

/// Opens a directory that must not be a symlink or anything else; `None` if nothing is there.
pub fn open_real(parent: &Dir, name: &OsStr) -> Result<Option<Dir>, StoreError> {
    let Some(stat) = parent.stat_opt(name)? else { return Ok(None) };
    if stat.kind != FileKind::Directory {
        return Err(Distrust::NotADirectory(parent.path().join(name)).into());
    }
    Ok(Some(parent.open_dir(name)?))
}

/// The directory above the store must be ours. Its group may write there, as a umask of 002 has it:
/// whatever is put in the store's place is then checked for its owner.
fn require_owner(base: &Dir) -> Result<(), StoreError> {
    match trust::check(base)? {
        Ok(()) | Err(Distrust::WritableByOthers { .. }) => Ok(()),
        Err(distrust) => Err(distrust.into()),
    }
}

/// Refuses a store that others could have written to, or that is not of a kind known here.
fn refuse_unsafe(store: &Dir) -> Result<(), StoreError> {
    trust::check(store)??;
    check_kind(store)
}

/// Refuses a store that is not of a kind known here.
pub(crate) fn check_kind(store: &Dir) -> Result<(), StoreError> {
    let format = read_format(store)?;
    if let Some(config) = read_plain(store, "config", "config", SMALL_FILE)? {
        check_config(&config, format.is_some())?;
    }
    match format {
        Some(format) => check_format(&format),
        None => Ok(()),
    }
}

/// Refuses a configuration that asks for what Herma does not do, or cannot be read.
pub(crate) fn check_config(config: &[u8], was_made: bool) -> Result<(), StoreError> {
    match git_config::scan(config) {
        // What a store was made with is not there any more: this is not what somebody asked for.
        Err(StoreError::UnknownGitFeature { key }) if was_made && is_garbled(config) => {
            let what = format!("it names {key}, and not what every store has");
            Err(StoreError::damaged_file("config", what))
        }
        scanned => scanned.map(drop),
    }
}

fn read_format(store: &Dir) -> Result<Option<Vec<u8>>, StoreError> {
    match store.open_dir("herma") {
        Ok(herma) => read_plain(&herma, "format", "herma/format", 4096),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) if matches!(e.errno(), Some(Errno::NOTDIR | Errno::LOOP)) => {
            Err(StoreError::damaged_file("herma", "it is no directory"))
        }
        Err(e) => Err(e.into()),
    }
}

/// Notes that a program that does not know this format must not write here from now on.
pub fn raise_format(dirs: &StoreDirs, least: u64) -> Result<(), StoreError> {
    let (store, herma) = (dirs.store(), dirs.for_writing()?);
    match read_format(store)? {
        Some(format) if number_of_format(&format) < Some(least) => {}
        _ => return Ok(()),
    }
    let text = text_of_format(least);
    Ok(write_file(&herma.tmp, &herma.dir, "format", text.as_bytes(), Durability::Synced)?)
}

/// What `herma/format` says.
pub(crate) fn format_text() -> String {
    text_of_format(USUAL_FORMAT)
}

fn text_of_format(number: u64) -> String {
    format!("herma-store {number}\n")
}

fn number_of_format(format: &[u8]) -> Option<u64> {
    let text = str::from_utf8(format).ok()?;
    text.strip_prefix("herma-store ")?.trim_end().parse().ok()
}

pub(crate) fn check_format(format: &[u8]) -> Result<(), StoreError> {
    let text = String::from_utf8_lossy(format);
    let found: String = text.trim_end().chars().take(64).collect();
    match number_of_format(format) {
        Some(1..=FORMAT) => Ok(()),
        Some(newer) if newer > FORMAT => {
            Err(StoreError::NewerFormat { found, known: FORMAT as u32 })
        }
        _ => Err(StoreError::damaged_file("herma/format", format!("it reads {found:?}"))),
    }
}

/// Were all steps done once, and is nothing of it gone since?
fn is_complete(store: &Dir) -> Result<bool, StoreError> {
    if read_format(store)?.is_none() {
        return Ok(false);
    }
    for path in ["HEAD", "config", "objects/pack", "herma/tmp", "herma/trash"] {
        if store.stat_opt(path)?.is_none() {
            return Ok(false);
        }
    }
    Ok(store.stat_opt("herma/projects")?.is_some() && store.stat_opt("herma/lock")?.is_some())
}

/// Does the first `count` steps, and if those are all, makes them durable and says so.
fn complete(store: &Dir, count: usize) -> Result<(), StoreError> {
    // Refs that were there once and are not any more are a loss, which an empty directory would hide.
    let was_made = read_format(store)?.is_some();
    let stays_lost = |path: &str| was_made && path.starts_with("refs");
    let directories = || DIRECTORIES.iter().filter(|path| !stays_lost(path));
    for path in directories().take(count) {
        make_directory(store, path)?;
    }
    for (path, content) in FILES.iter().take(count.saturating_sub(DIRECTORIES.len())) {
        write_if_missing(store, path, &content())?;
    }
    if count < STEPS {
        return Ok(());
    }
    hermes_files::complete_config(store)?;
    hermes_files::refresh_excludes(store)?;
    // ORDER: the format file promises that the steps are durable; some may be left from a killed
    // process that never synced them, so all are synced here.
    for path in directories() {
        store.open_beneath(path.as_bytes())?.sync()?;
    }
    store.sync()?;
    write_if_missing(store, "herma/format", &format_text())?;
    Ok(store.open_dir("herma")?.sync()?)
}

/// Makes whatever a store lacks, although it was complete once; tells whether there was anything to add
/// to its configuration or its excludes.
pub fn complete_again(dirs: &StoreDirs) -> Result<(bool, bool), StoreError> {
    dirs.for_writing()?;
    for path in DIRECTORIES {
        make_directory(&dirs.store, path)?;
        dirs.store.open_beneath(path.as_bytes())?.sync()?;
    }
    let config = hermes_files::complete_config(&dirs.store)?;
    let excludes = hermes_files::refresh_excludes(&dirs.store)?;
    complete(&dirs.store, STEPS)?;
    Ok((config, excludes))
}

fn make_directory(store: &Dir, path: &str) -> Result<(), StoreError> {
    let (parent, name) = parent_beneath(store, path)?;
    if parent.create_dir(name, 0o700)? {
        parent.ask_for_mode(name, 0o700)?;
    }
    Ok(())
}

pub(crate) fn parent_beneath<'p>(store: &Dir, path: &'p str) -> herma_fs::Result<(Dir, &'p str)> {
    match path.rsplit_once('/') {
        Some((parent, name)) => Ok((store.open_beneath(parent.as_bytes())?, name)),
        None => Ok((store.try_clone()?, path)),
    }
}

fn write_if_missing(store: &Dir, path: &str, content: &str) -> Result<(), StoreError> {
    let (parent, name) = parent_beneath(store, path)?;
    if parent.stat_opt(name)?.is_some() {
        return Ok(());
    }
    let directory = store.open_beneath(b"herma/tmp")?;
    let mut temp = Temp::create_private(&directory)?;
    temp.write(content.as_bytes())?;
    // ORDER: content before name.
    temp.sync()?;
    // If another process was faster, it wrote the same.
    temp.publish_new(&parent, name)?;
    Ok(())
}

/// Moves version 1 repositories, and nothing else, out of the way.
fn set_legacy_aside(base: &Dir, stamp: &str) -> Result<(), StoreError> {
    let mut archive = None;
    for entry in base.entries()? {
        let name = entry.name.as_bytes();
        if crate::id::ProjectId::parse(name).is_none() || !is_repository(base, &entry.name)? {
            continue;
        }
        if archive.is_none() {
            archive = Some(base.ensure_private(format!("legacy-{stamp}").as_str())?);
        }
        if let Some(archive) = &archive {
            match base.rename_new(entry.name.as_c_str(), archive, entry.name.as_c_str()) {
                // Another process that is making the store has moved it.
                Err(e) if e.is_not_found() => {}
                other => other?,
            }
        }
    }
    if let Some(archive) = archive {
        archive.sync()?;
        base.sync()?;
    }
    Ok(())
}

/// Is this directory a repository of version 1?
pub fn is_repository(base: &Dir, name: &std::ffi::CStr) -> Result<bool, StoreError> {
    match base.open_dir(name) {
        Ok(dir) => Ok(dir.stat_opt("HEAD")?.is_some_and(|stat| stat.kind == FileKind::File)),
        Err(e) if matches!(e.errno(), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {
            Ok(false)
        }
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests;
