//! What is in a directory now, compared with what the cache says was in it.

use std::ffi::CStr;

use herma_fs::dir::ListBuffer;
use herma_fs::{Dir, Errno, FileKind, Stat};
use herma_store::ObjectId;
use herma_store::object::compare_names;
use herma_store::path::is_reserved_link;

use crate::reason::Reason;
use crate::rules::{Scope, Verdict};
use crate::scan::{Here, Walk};
use crate::stat_cache::{DirRecord, EntryKind, EntryRecord, StatCache};

/// What to do about one name.
pub(crate) enum Child {
    /// As the cache has it, or left out: nothing to read.
    Known(EntryRecord),
    /// A file or link that has to be looked into, and why the rules leave it out, if it is to be covered only as far as it is
    /// held.
    Look(Stat, Option<Reason>),
    /// A directory to walk.
    Directory { cached: Option<u32>, judged: Verdict },
}

/// The names of one directory, in git's order.
pub(crate) struct Listed<'n> {
    pub(crate) children: Vec<(&'n CStr, Child)>,
    /// Are all names here, or only the directories, because all else is as cached?
    pub(crate) complete: bool,
    /// How many names there are.
    pub(crate) names: usize,
    /// Is anything here different from the cache?
    pub(crate) changed: bool,
    /// Did an ignore file here or above change, so that names below must be judged anew?
    pub(crate) rules_changed: bool,
}

type Known<'c> = Option<(u32, &'c StatCache, DirRecord)>;

thread_local! {
    static LIST_BUFFER: std::cell::RefCell<ListBuffer> = std::cell::RefCell::new(ListBuffer::new());
}

/// Lists `here`, from the cache if the directory is unchanged. `names` holds the names read from disk.
pub(crate) fn list<'n, 'r>(
    walk: &Walk<'r>,
    here: &mut Here<'_, 'r>,
    stat: &Stat,
    known: Known<'n>,
    rules_changed: bool,
    names: &'n mut Vec<u8>,
) -> Result<Listed<'n>, Errno> {
    if let Some((index, cache, record)) = known {
        here.has_gitignore = record.ignore_files.git;
        here.has_hermaignore = record.ignore_files.herma;
        let trusted = walk.trust_listings
            && !walk.judge_all
            && !rules_changed
            && !record.unsettled
            && record.same_state(stat);
        let trusted = trusted && !ignore_files_changed(here, cache, index);
        let only_leads = walk.changed().is_some_and(|changed| !changed.changed.contains(&index));
        let listed = || {
            let directories = only_leads.then(|| directories_of(cache, index));
            directories.flatten().or_else(|| from_cache(walk, here, cache, index))
        };
        if let Some(listed) = trusted.then(listed).flatten() {
            return Ok(listed);
        }
    }
    from_disk(walk, here, known, rules_changed, names)
}

/// Has an ignore file of this directory changed since the cache was written?
fn ignore_files_changed(here: &Here<'_, '_>, cache: &StatCache, index: u32) -> bool {
    let changed = |present: bool, name: &[u8]| {
        let entry = if present { cache.find_kind(index, name, false) } else { None };
        entry.is_some_and(|entry| {
            here.dir.stat_raw(name).map_or(true, |stat| !entry.is_clean(&stat))
        })
    };
    changed(here.has_gitignore, b".gitignore") || changed(here.has_hermaignore, b".hermaignore")
}

/// The names as the cache has them, each file compared with its record.
///
/// Nearly always nothing changed, and then only the directories are listed: the rest is made from the
/// cache again ([`known_children`]) if something below turns out to have changed.
fn from_cache<'n, 'r>(
    walk: &Walk<'r>,
    here: &Here<'_, 'r>,
    cache: &'n StatCache,
    index: u32,
) -> Option<Listed<'n>> {
    let mut directories = Vec::new();
    let entries = cache.entries(index)?;
    let names = entries.len();
    for (place, entry) in entries.enumerate() {
        let entry = entry?;
        match entry.kind {
            EntryKind::Directory => directories.push((cache.name(&entry)?, directory(&entry))),
            EntryKind::LeftOut(_) => {}
            EntryKind::Watched(reason)
                if entry.is_dir
                    && reason.is_foreign()
                    && walk.is_still_foreign(here, cache.name(&entry)?, reason) => {}
            _ => {
                let stat = here.dir.stat_raw(cache.name(&entry)?);
                if entry.is_dir || !stat.is_ok_and(|stat| is_same(walk, &entry, &stat)) {
                    return changed_since_cached(walk, here, cache, index, place);
                }
            }
        }
    }
    Some(unchanged(directories, names))
}

/// Is a file as it was, and as much the project's as it was?
fn is_same(walk: &Walk<'_>, entry: &EntryRecord, stat: &Stat) -> bool {
    let was_mounted = entry.kind == EntryKind::Watched(Reason::Mount);
    entry.is_clean(stat) && was_mounted == walk.owners.boundary.is_mounted(stat)
}

/// The directories as the cache has them, in one of which something happened, while nothing happened to the rest. `None` if
/// something has to be looked at all the same.
fn directories_of(cache: &StatCache, index: u32) -> Option<Listed<'_>> {
    let entries = cache.entries(index)?;
    let names = entries.len();
    let mut directories = Vec::new();
    for entry in entries {
        let entry = entry?;
        match entry.kind {
            EntryKind::Directory => directories.push((cache.name(&entry)?, directory(&entry))),
            _ if entry.wants_a_look() => return None,
            _ => {}
        }
    }
    Some(unchanged(directories, names))
}

fn unchanged(directories: Vec<(&CStr, Child)>, names: usize) -> Listed<'_> {
    Listed { children: directories, complete: false, names, changed: false, rules_changed: false }
}

fn directory(entry: &EntryRecord) -> Child {
    Child::Directory {
        cached: entry.child(),
        judged: entry.descend.map_or(Verdict::Keep, Verdict::Descend),
    }
}

/// Every name of a directory in which nothing changed.
pub(crate) fn known_children(cache: &StatCache, index: u32) -> Option<Vec<(&CStr, Child)>> {
    let entries = cache.entries(index)?;
    entries
        .map(|entry| {
            let entry = entry?;
            let child = match entry.kind {
                EntryKind::Directory => directory(&entry),
                _ => Child::Known(entry),
            };
            Some((cache.name(&entry)?, child))
        })
        .collect()
}

/// The names as the cache has them, in a directory in which a file changed; those before `place` were looked at already.
fn changed_since_cached<'n, 'r>(
    walk: &Walk<'r>,
    here: &Here<'_, 'r>,
    cache: &'n StatCache,
    index: u32,
    place: usize,
) -> Option<Listed<'n>> {
    let entries = cache.entries(index)?;
    let mut children = Vec::with_capacity(entries.len());
    for (at, entry) in entries.enumerate() {
        let entry = entry?;
        let name = cache.name(&entry)?;
        let child = match entry.kind {
            EntryKind::Directory => directory(&entry),
            EntryKind::LeftOut(_) => Child::Known(entry),
            _ if at < place => Child::Known(entry),
            // A directory that could not be entered is tried again each time.
            EntryKind::Watched(_) if entry.is_dir => {
                Child::Directory { cached: None, judged: Verdict::Keep }
            }
            _ => match here.dir.stat_raw(name) {
                Ok(stat) if stat.kind == FileKind::Directory => return None,
                Ok(stat) if is_same(walk, &entry, &stat) => Child::Known(entry),
                Ok(stat) => look(walk, stat, entry.descend),
                Err(Errno::NOENT) => continue,
                Err(_) => Child::Known(unreadable()),
            },
        };
        children.push((name, child));
    }
    Some(Listed {
        names: children.len(),
        children,
        complete: true,
        changed: true,
        rules_changed: false,
    })
}

struct Name {
    start: usize,
    end: usize,
    kind: FileKind,
}

fn from_disk<'n, 'r>(
    walk: &Walk<'r>,
    here: &mut Here<'_, 'r>,
    known: Known<'n>,
    rules_changed: bool,
    names: &'n mut Vec<u8>,
) -> Result<Listed<'n>, Errno> {
    let mut found = match known {
        Some(_) => read_names(&here.dir.reopened()?, names)?,
        None => read_names(&here.dir, names)?,
    };
    let names: &'n [u8] = names;
    let bytes = |name: &Name| &names[name.start..name.end];
    found.sort_unstable_by(|a, b| {
        let is_dir = |n: &Name| n.kind == FileKind::Directory;
        compare_names(bytes(a), is_dir(a), bytes(b), is_dir(b))
    });
    let has = |wanted: &[u8]| found.iter().any(|n| bytes(n) == wanted && n.kind == FileKind::File);
    let (had_gitignore, had_hermaignore) = (here.has_gitignore, here.has_hermaignore);
    here.has_gitignore = has(b".gitignore");
    here.has_hermaignore = has(b".hermaignore");
    let rules_changed = rules_changed
        || known.is_some_and(|(index, cache, _)| {
            had_gitignore != here.has_gitignore
                || had_hermaignore != here.has_hermaignore
                || ignore_files_changed(here, cache, index)
        });
    let mut children = Vec::with_capacity(found.len());
    for name in &found {
        let c_name = CStr::from_bytes_with_nul(&names[name.start..=name.end])
            .expect("names are collected with their NUL");
        let is_dir = name.kind == FileKind::Directory;
        let old = known.and_then(|(index, cache, _)| cache.find_kind(index, bytes(name), is_dir));
        let old_judgement = old.filter(|_| !rules_changed && !walk.judge_all);
        let judged = match old_judgement.and_then(|entry| judged_before(&entry)) {
            Some(verdict) => verdict,
            None => judge(walk, here, bytes(name), name.kind),
        };
        // What was seen in a file's content, and that it is not too large, counts only as long as the rules do.
        let is_small =
            |entry: &EntryRecord| walk.reader.max_size.is_none_or(|max| entry.size <= max);
        let still_counts = |entry: &EntryRecord| !entry.is_state_judged() && is_small(entry);
        let old = old.filter(|entry| old_judgement.is_some() || still_counts(entry));
        if let Some(child) = child(walk, here, c_name, name.kind, judged, old) {
            children.push((c_name, child));
        }
    }
    Ok(Listed { names: children.len(), children, complete: true, changed: true, rules_changed })
}

/// Reads the directory; names are stored each with a NUL behind it.
fn read_names(dir: &Dir, names: &mut Vec<u8>) -> Result<Vec<Name>, Errno> {
    let mut found = Vec::new();
    LIST_BUFFER.with_borrow_mut(|buffer| {
        dir.for_each_entry(buffer, |name, kind| {
            let start = names.len();
            names.extend_from_slice(name.to_bytes_with_nul());
            found.push(Name { start, end: names.len() - 1, kind });
        })
    })?;
    // File systems that do not say what an entry is have to be asked.
    for name in &mut found {
        if name.kind == FileKind::Unknown {
            let stat = dir.stat_raw(&names[name.start..name.end]);
            name.kind = stat.map_or(FileKind::Special, |s| s.kind);
        }
    }
    Ok(found)
}

/// The judgement a cached entry implies, if the rules alone decided it.
fn judged_before(entry: &EntryRecord) -> Option<Verdict> {
    match (entry.kind, entry.descend) {
        (EntryKind::LeftOut(Reason::Special), _) => None,
        (EntryKind::LeftOut(reason) | EntryKind::Watched(reason), _) if reason.is_foreign() => None,
        (EntryKind::LeftOut(reason), _) => Some(Verdict::LeaveOut(reason)),
        (EntryKind::Watched(reason), _) if reason.is_rule() || reason == Reason::Secret => {
            Some(Verdict::LeaveOut(reason))
        }
        (_, Some(reason)) => Some(Verdict::Descend(reason)),
        _ => Some(Verdict::Keep),
    }
}

fn judge<'r>(walk: &Walk<'r>, here: &Here<'_, 'r>, name: &[u8], kind: FileKind) -> Verdict {
    if kind == FileKind::Symlink && is_reserved_link(name) {
        return Verdict::LeaveOut(Reason::ReservedName);
    }
    let path = here.path_of(name);
    let is_dir = kind == FileKind::Directory;
    match walk.scope(here).judge(&path, is_dir, walk.tracked) {
        Verdict::LeaveOut(reason) if walk.may_be_held(here, &path, is_dir, reason) => {
            Verdict::Descend(reason)
        }
        verdict => verdict,
    }
}

/// What to do about a name that was found on disk.
fn child<'r>(
    walk: &Walk<'r>,
    here: &Here<'_, 'r>,
    name: &CStr,
    kind: FileKind,
    judged: Verdict,
    old: Option<EntryRecord>,
) -> Option<Child> {
    let is_dir = kind == FileKind::Directory;
    if let Verdict::LeaveOut(reason) = judged {
        return left_out(here, name, kind, reason);
    }
    if is_dir {
        return Some(Child::Directory { cached: old.and_then(|entry| entry.child()), judged });
    }
    let unless_held = match judged {
        Verdict::Descend(reason) if walk.held.is_none() => {
            return left_out(here, name, kind, reason);
        }
        Verdict::Descend(reason) => Some(reason),
        _ => None,
    };
    if kind == FileKind::Special {
        return left_out(here, name, kind, Reason::Special);
    }
    match here.dir.stat_raw(name) {
        Ok(stat) => match old {
            Some(mut entry) if is_same(walk, &entry, &stat) && !entry.is_dir => {
                let path = || here.path_of(name.to_bytes());
                if unless_held.is_none() || walk.is_still_held(here, &path(), &entry, unless_held) {
                    entry.descend = unless_held;
                    return Some(Child::Known(entry));
                }
                Some(look(walk, stat, unless_held))
            }
            _ => Some(look(walk, stat, unless_held)),
        },
        Err(Errno::NOENT) => None,
        Err(_) => Some(Child::Known(unreadable())),
    }
}

/// What to do about a file that is not as it was: it is read, unless it is not the project's.
fn look(walk: &Walk<'_>, stat: Stat, unless_held: Option<Reason>) -> Child {
    if !walk.owners.boundary.is_mounted(&stat) {
        return Child::Look(stat, unless_held);
    }
    let kind = EntryKind::Watched(Reason::Mount);
    Child::Known(EntryRecord::new(kind, Some(&stat), ObjectId::NULL))
}

/// An entry of which only the name is known: its directory may be listed, but not entered.
fn unreadable() -> EntryRecord {
    let kind = EntryKind::Watched(Reason::Unreadable);
    let mut record = EntryRecord::new(kind, None, ObjectId::NULL);
    record.unsettled = true;
    record
}

/// An entry that is left out.
fn left_out(here: &Here<'_, '_>, name: &CStr, kind: FileKind, reason: Reason) -> Option<Child> {
    if kind == FileKind::File && Scope::depends_on(name.to_bytes()) {
        let stat = here.dir.stat_raw(name).ok()?;
        let record = left_out_record(name.to_bytes(), &stat, reason);
        return Some(Child::Known(record));
    }
    let mut record = EntryRecord::new(EntryKind::LeftOut(reason), None, ObjectId::NULL);
    record.is_dir = kind == FileKind::Directory;
    Some(Child::Known(record))
}

/// A file that is left out. Ignore files keep being watched: their rules count even so.
pub(crate) fn left_out_record(name: &[u8], stat: &Stat, reason: Reason) -> EntryRecord {
    if Scope::depends_on(name) && stat.kind == FileKind::File {
        return EntryRecord::new(EntryKind::Watched(reason), Some(stat), ObjectId::NULL);
    }
    EntryRecord::new(EntryKind::LeftOut(reason), None, ObjectId::NULL)
}
