//! The files of a store that are neither objects nor refs: what each has to be, what is wrong with it, and how it
//! is made again.
//!
//! None of them may make a store unusable for good. What cannot be read is an error that names the file; a repair
//! sets it aside and puts another in its place, with whatever could still be read of the old one. It does so
//! before the store is opened, which takes these files.

use std::ffi::OsStr;

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Errno, FileKind, trust};

use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::layout::plain_file::{in_a_word, read_plain};
use crate::layout::sweep::kind_of;
use crate::lock_file::LockFile;
use crate::refs::packed::PackedRefs;
use crate::refs::{name, roll, shallow};
use crate::repair::set_aside::SetAside;
use crate::{ObjectId, ProjectId, layout};

/// No file of these is larger.
const MAX_SIZE: u64 = 96 << 20;

/// Under this name something waits that stood where `herma/` belongs.
const IN_THE_WAY: &str = "herma-in-the-way";

/// Directories beside those every store is made with.
const OTHER_DIRECTORIES: [&str; 4] =
    ["herma/set-aside", "herma/reserve", "refs/herma-names", "refs/herma-pins"];

/// A file of the store that is no object and no ref, and cannot be used: a record, a journal, a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// The file, relative to the store.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
}

/// A file of the store that a repair replaced, or made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedFile {
    /// The file, relative to the store.
    pub file: String,
    /// What was wrong with it.
    pub what: String,
    /// Where the old one is now, relative to the store; `None` if it was not there.
    pub set_aside: Option<String>,
}

/// What a file has to be.
struct Rule {
    path: &'static str,
    /// Has every store one?
    is_needed: bool,
    /// What is wrong with this content?
    problem: fn(&[u8]) -> Option<String>,
    /// What is put in the place of one that cannot be used, given what it held; `None`: nothing.
    again: fn(&[u8]) -> Option<Vec<u8>>,
}

/// A file whose content is nobody's concern here.
const fn any(path: &'static str, is_needed: bool) -> Rule {
    Rule { path, is_needed, problem: |_| None, again: |_| None }
}

const RULES: [Rule; 11] = [
    Rule {
        path: "HEAD",
        is_needed: true,
        problem: head_problem,
        again: |_| Some(layout::HEAD.into()),
    },
    Rule {
        path: "config",
        is_needed: true,
        problem: |bytes| in_words(layout::check_config(bytes, /*was_made*/ true)),
        again: |_| Some(layout::CONFIG.into()),
    },
    Rule {
        path: "herma/format",
        is_needed: true,
        problem: |bytes| in_words(layout::check_format(bytes)),
        again: |_| Some(layout::format_text().into()),
    },
    Rule {
        path: "packed-refs",
        is_needed: false,
        problem: |bytes| in_words(PackedRefs::parse(bytes.to_vec())),
        again: |bytes| Some(PackedRefs::salvage(bytes)),
    },
    Rule {
        path: "shallow",
        is_needed: false,
        problem: |bytes| in_words(shallow::parse(bytes)),
        again: |bytes| Some(ids_in(bytes)),
    },
    Rule {
        path: "herma/purging",
        is_needed: false,
        problem: |bytes| in_words(shallow::parse(bytes)),
        again: |bytes| Some(ids_in(bytes)),
    },
    any("herma/lock", true),
    any("herma/gate", false),
    any("herma/collect", false),
    any("herma/sweep", false),
    any("herma/cleaning", false),
];

fn head_problem(bytes: &[u8]) -> Option<String> {
    let text = bytes.trim_ascii_end();
    let branch = text.strip_prefix(b"ref: ");
    let is_branch = |name: &[u8]| name.starts_with(b"refs/heads/") && name::is_valid(name);
    let is_head = branch.is_some_and(is_branch) || ObjectId::from_hex(text).is_some();
    (!is_head).then(|| "it names no branch".to_owned())
}

fn ids_in(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let ids = lines.filter_map(ObjectId::from_hex).collect();
    shallow::render(&ids).into_bytes()
}

/// What is wrong, without the file's name, which whoever asks knows.
fn in_words<T>(read: Result<T, StoreError>) -> Option<String> {
    match read {
        Ok(_) => None,
        Err(StoreError::DamagedFile { what, .. }) => Some(what),
        Err(e) => Some(e.to_string()),
    }
}

/// What is wrong with a file that follows a rule.
fn problem(store: &Dir, rule: &Rule) -> Result<Option<String>, StoreError> {
    // Otherwise the directory is what is wrong.
    let Ok((dir, name)) = layout::parent_beneath(store, rule.path) else { return Ok(None) };
    match read_plain(&dir, name, rule.path, MAX_SIZE) {
        Ok(Some(bytes)) => Ok((rule.problem)(&bytes)),
        Ok(None) => Ok(rule.is_needed.then(|| "it is missing".to_owned())),
        Err(StoreError::DamagedFile { what, .. }) => Ok(Some(what)),
        Err(e) => Err(e),
    }
}

/// What is wrong with the directories and files of a store that Herma has written to.
pub fn problems(dirs: &StoreDirs) -> Result<Vec<DamagedRecord>, StoreError> {
    let store = dirs.store();
    // What was never finished, by Hermes or because the power was cut, lacks some, and nothing is lost with it.
    let was_made = kind_at(store, "herma/format")?.is_some();
    if !was_made && !dirs.refs().any("refs/herma").unwrap_or(false) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for path in layout::DIRECTORIES.into_iter().chain(OTHER_DIRECTORIES) {
        let what = match kind_at(store, path)? {
            Some(FileKind::Directory) => continue,
            Some(kind) => format!("it is {}, not a directory", in_a_word(kind)),
            None if OTHER_DIRECTORIES.contains(&path) => continue,
            None => "it is missing".to_owned(),
        };
        found.push(DamagedRecord { file: path.to_owned(), what });
    }
    for rule in &RULES {
        let file = rule.path.to_owned();
        found.extend(problem(store, rule)?.map(|what| DamagedRecord { file, what }));
    }
    Ok(found)
}

/// What is at a path below the store; `None` if nothing is, or the way to it leads over something else.
fn kind_at(store: &Dir, path: &str) -> Result<Option<FileKind>, StoreError> {
    let stat = match layout::parent_beneath(store, path) {
        Ok((dir, name)) => dir.stat_opt(name)?,
        Err(e) if matches!(e.errno(), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => None,
        Err(e) => return Err(e.into()),
    };
    Ok(stat.map(|stat| stat.kind))
}

/// Makes a store usable that was one before: what is no directory and no file where one belongs is set aside,
/// and what cannot be read is written again. A store of a later format is left alone.
pub fn mend(base: &Dir, stamp: &str) -> Result<Vec<RepairedFile>, StoreError> {
    let Some(store) = layout::open_real(base, OsStr::new("store"))? else { return Ok(Vec::new()) };
    trust::check(&store)??;
    match layout::check_kind(&store) {
        Err(e @ (StoreError::NewerFormat { .. } | StoreError::UnknownGitFeature { .. })) => {
            return Err(e);
        }
        // Which is what this is for.
        Err(StoreError::DamagedFile { .. }) | Ok(()) => {}
        Err(e) => return Err(e),
    }
    // What is missing in one that was never finished is no loss; whoever opens it finishes it.
    let was_made = kind_at(&store, "herma/format")?.is_some();
    let mut mended = clear_the_way(&store, stamp, was_made)?;
    let herma = store.open_dir("herma")?;
    let set_aside = SetAside::at(&herma, stamp.to_owned())?;
    for rule in &RULES {
        let Some(what) = problem(&store, rule)? else { continue };
        let is_there = kind_at(&store, rule.path)?.is_some();
        if !is_there && !was_made {
            continue;
        }
        mended.push(RepairedFile {
            file: rule.path.to_owned(),
            what,
            set_aside: replace(&store, &herma, rule, &set_aside)?,
        });
    }
    Ok(mended)
}

/// Sees to it that every directory is one. Those of refs are not made here: that they are gone is a loss.
fn clear_the_way(
    store: &Dir,
    stamp: &str,
    was_made: bool,
) -> Result<Vec<RepairedFile>, StoreError> {
    let mut mended = Vec::new();
    let mut missing = Vec::new();
    let is_dir = |kind: Option<FileKind>| kind == Some(FileKind::Directory);
    let herma = kind_at(store, "herma")?;
    if herma.is_some() && !is_dir(herma) {
        store.rename_new("herma", store, IN_THE_WAY)?;
    }
    let own = store.ensure_private("herma")?;
    if let Some(kind) = kind_at(store, "herma/set-aside")?
        && kind != FileKind::Directory
    {
        own.rename_new("set-aside", store, IN_THE_WAY)?;
    }
    let set_aside = SetAside::at(&own, stamp.to_owned())?;
    let mut note = |path: &str, from: &Dir, name: &str| -> Result<(), StoreError> {
        mended.push(RepairedFile {
            file: path.to_owned(),
            what: "it was no directory".to_owned(),
            set_aside: Some(set_aside.take_as(from, name, &path.replace('/', "+"))?),
        });
        Ok(())
    };
    if store.stat_opt(IN_THE_WAY)?.is_some() {
        note("herma", store, IN_THE_WAY)?;
    }
    for path in layout::DIRECTORIES.into_iter().chain(OTHER_DIRECTORIES) {
        let kind = kind_at(store, path)?;
        if kind.is_some() && !is_dir(kind) {
            let (parent, name) = layout::parent_beneath(store, path)?;
            note(path, &parent, name)?;
        } else if kind.is_none() && was_made && !OTHER_DIRECTORIES.contains(&path) {
            missing.push(path);
        }
        if !is_dir(kind) && !OTHER_DIRECTORIES.contains(&path) && !path.starts_with("refs") {
            let (parent, name) = layout::parent_beneath(store, path)?;
            parent.ensure_private(name)?;
        }
    }
    for prefix in roll::PREFIXES {
        let Ok(dir) = store.open_beneath(prefix.trim_end_matches('/').as_bytes()) else { continue };
        for entry in dir.entries()? {
            let name = entry.name.to_string_lossy();
            let is_project = ProjectId::parse(entry.name.to_bytes()).is_some();
            if is_project && kind_of(&dir, &entry)? != Some(FileKind::Directory) {
                note(&format!("{prefix}{name}"), &dir, &name)?;
            }
        }
    }
    mended.extend(missing.into_iter().map(|path| RepairedFile {
        file: path.to_owned(),
        what: "it was missing".to_owned(),
        set_aside: None,
    }));
    Ok(mended)
}

/// Sets a file aside, if it is there, and puts another in its place; says where the old one is.
fn replace(
    store: &Dir,
    herma: &Dir,
    rule: &Rule,
    set_aside: &SetAside,
) -> Result<Option<String>, StoreError> {
    let (dir, name) = layout::parent_beneath(store, rule.path)?;
    let dir = &dir;
    let label = rule.path.replace('/', "+");
    let held = dir.read_opt(name, MAX_SIZE).ok().flatten();
    let new = (rule.again)(held.as_deref().unwrap_or_default());
    let is_file = held.is_some();
    let aside = match (dir.stat_opt(name)?, &new) {
        (None, _) => None,
        // ORDER: kept under a second name, and replaced in one step.
        (Some(_), Some(_)) if is_file => Some(set_aside.keep_as(dir, name, &label)?),
        (Some(_), _) => Some(set_aside.take_as(dir, name, &label)?),
    };
    let tmp = herma.open_dir("tmp")?;
    match new {
        // A git may be writing to these, too.
        Some(new) if !rule.path.contains('/') => {
            let mut lock = LockFile::acquire(herma, &tmp, dir, name, rule.path)?;
            lock.write(&new)?;
            lock.commit()?;
        }
        Some(new) => write_file(&tmp, dir, name, &new, Durability::Synced)?,
        None if rule.is_needed => write_file(&tmp, dir, name, b"", Durability::Synced)?,
        None => {}
    }
    Ok(aside)
}
