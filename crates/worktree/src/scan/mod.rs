//! Walks the project and turns what changed into objects.
//!
//! Directories are walked in parallel, each held by its descriptor, every name looked at relative to
//! it. A directory whose own times are unchanged is not listed again; its files are only compared with
//! the stat cache; a directory in which nothing changed is answered by its old tree. Rules are judged
//! only for names not seen before, and only if that happens are paths built and ignore files read.

pub(crate) mod build;
pub(crate) mod changed_dirs;
mod held;
pub mod judge;
pub(crate) mod listing;
pub(crate) mod read_file;
pub mod same_shape;
pub(crate) mod unchanged;

use herma_store::path::join;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use herma_fs::{Dir, Errno, Stat, is_want_of_resources};
use herma_store::ObjectId;
use herma_store::error::StoreError;
use herma_store::object::{Kind, id_of};
use rayon::prelude::*;

use super::held::Held;
use super::lists::UsualModes;
use super::owner::{Before, Owners};
use super::reason::Reason;
use super::saved::AlreadySaved;
use super::secrets;
use super::stat_cache::{
    DirRecord, EncodedEntries, EntryKind, EntryRecord, StatCache, has_other_names,
};
use crate::rules::{Rules, Scope, SecretRules, Tracked, Verdict};
use crate::scan::changed_dirs::ChangedDirs;
use crate::scan::listing::Child;
use crate::scan::read_file::{Judged, Reader};

/// What a walk needs to know, shared by all threads.
pub(crate) struct Walk<'a> {
    pub(crate) cache: Option<&'a StatCache>,
    pub(crate) reader: Reader<'a>,
    pub(crate) rules: &'a Rules,
    pub(crate) info_exclude: Option<&'a [u8]>,
    pub(crate) tracked: &'a dyn Tracked,
    pub(crate) saved: &'a dyn AlreadySaved,
    /// States of which something is covered whatever the rules say.
    pub(crate) held: Option<&'a Held<'a>>,
    /// Is something covered only for that?
    pub(crate) overruled: AtomicBool,
    /// Judge every name anew: the rules changed.
    pub(crate) judge_all: bool,
    /// Build every list anew: the usual modes changed.
    pub(crate) rebuild: bool,
    /// May an unchanged directory be taken as listed?
    pub(crate) trust_listings: bool,
    /// The directories in which something may have changed, if that is known.
    pub(crate) changed: Option<ChangedDirs>,
    /// What is known of that is not enough after all.
    pub(crate) distrust: AtomicBool,
    pub(crate) usual: UsualModes,
    pub(crate) owners: Owners<'a>,
    pub(crate) files_seen: AtomicU64,
    pub(crate) stop: AtomicBool,
    pub(crate) failure: Mutex<Option<StoreError>>,
    /// Is the caller tired of waiting?
    pub(crate) cancelled: &'a (dyn Fn(u64) -> bool + Sync),
}

/// A directory being walked. Lives on the stack of its walk, so children can reach upwards.
pub(crate) struct Here<'h, 'r> {
    pub(crate) dir: Dir,
    pub(crate) parent: Option<&'h Here<'h, 'r>>,
    pub(crate) name: &'h [u8],
    pub(crate) judged: Verdict,
    pub(crate) has_gitignore: bool,
    pub(crate) has_hermaignore: bool,
    scope: OnceLock<Scope<'r>>,
    /// The rules at the beginning of each step that is held.
    pub(crate) begun_scopes: OnceLock<Vec<Scope<'r>>>,
}

impl<'h, 'r> Here<'h, 'r> {
    pub(crate) fn new(
        dir: Dir,
        parent: Option<&'h Here<'h, 'r>>,
        name: &'h [u8],
        judged: Verdict,
    ) -> Self {
        Self {
            dir,
            parent,
            name,
            judged,
            has_gitignore: false,
            has_hermaignore: false,
            scope: OnceLock::new(),
            begun_scopes: OnceLock::new(),
        }
    }

    /// The path from the root, built only when somebody asks.
    pub(crate) fn path(&self) -> Vec<u8> {
        self.parent.map(|parent| parent.path_of(self.name)).unwrap_or_default()
    }

    /// The path of an entry of this directory.
    pub(crate) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        join(&self.path(), name)
    }
}

/// What came of walking a directory.
pub(crate) enum Walked {
    /// Exactly as in the cache, all the way down.
    Same(u32),
    /// Something changed, here or below.
    New(Box<Captured>),
    /// It could not be entered, or must not be.
    LeftOut(Reason),
    /// It is gone.
    Gone,
}

/// A directory as it is now, kept until the whole project is walked: a million files at once, so in as few
/// bytes as the cache has for them.
pub(crate) struct Captured {
    pub(crate) record: DirRecord,
    pub(crate) entries: EncodedEntries,
    /// Each subdirectory, with the place of its entry.
    pub(crate) below: Vec<(u32, Walked)>,
}

/// One name in a directory as it is now.
pub(crate) struct NewEntry<'n> {
    pub(crate) name: &'n CStr,
    pub(crate) record: EntryRecord,
    pub(crate) below: Option<Walked>,
}

impl Captured {
    fn new(record: DirRecord, entries: Vec<NewEntry<'_>>) -> Self {
        let encoded = EncodedEntries::new(entries.iter().map(|entry| (entry.name, entry.record)));
        let below = (0..)
            .zip(entries)
            .filter_map(|(place, entry)| Some((place, entry.below?)))
            .filter(|(_, walked)| matches!(walked, Walked::Same(_) | Walked::New(_)));
        Self { record, entries: encoded, below: below.collect() }
    }
}

impl<'r> Walk<'r> {
    /// The rules in force in a directory; reads the ignore files on the way down when first asked.
    pub(crate) fn scope<'s>(&self, here: &'s Here<'_, 'r>) -> &'s Scope<'r> {
        here.scope.get_or_init(|| {
            let read = |present: bool, name: &str| {
                // An ignore file that cannot be read has no rules: more is captured, never less.
                if present { here.dir.read_opt(name, 4 << 20).ok().flatten() } else { None }
            };
            let gitignore = read(here.has_gitignore, ".gitignore");
            let hermaignore = read(here.has_hermaignore, ".hermaignore");
            let above = match here.parent {
                Some(parent) => self.scope(parent).clone(),
                None => Scope::root(self.rules, self.info_exclude),
            };
            let path = here.path();
            above.enter(&path, gitignore.as_deref(), hermaignore.as_deref(), here.judged)
        })
    }

    /// Is it known that nothing happened in this directory and below it?
    fn is_known_unchanged(&self, index: u32) -> bool {
        let (Some(changed), Some(cache)) = (self.changed(), self.cache) else { return false };
        let record = cache.dir(index);
        let needs_look = |record: &DirRecord| record.look && !changed.is_seen;
        !changed.entered.contains(&index)
            && record.is_some_and(|record| !needs_look(&record) && !record.pending_below)
    }

    /// Where something may have changed, as far as that can be believed.
    pub(crate) fn changed(&self) -> Option<&ChangedDirs> {
        let is_trusted = !self.judge_all && !self.rebuild && !self.distrust.load(Ordering::Relaxed);
        self.changed.as_ref().filter(|_| is_trusted)
    }

    /// Walks the subdirectory `name` of `parent`.
    fn walk(
        &self,
        parent: &Here<'_, 'r>,
        name: &CStr,
        cached: Option<u32>,
        judged: Verdict,
        rules_changed: bool,
    ) -> Walked {
        if let Some(index) = cached
            && !rules_changed
            && self.is_known_unchanged(index)
        {
            return Walked::Same(index);
        }
        // One that is known will hardly have to be listed.
        let opened = match cached {
            Some(_) => parent.dir.open_dir_to_look(name),
            None => parent.dir.open_dir_for_walk(name),
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Walked::Gone,
            Err(errno) => return self.unreadable(parent, name.to_bytes(), errno),
        };
        let mut here = Here::new(dir, Some(parent), name.to_bytes(), judged);
        self.walk_open(&mut here, cached, rules_changed)
    }

    /// Walks an open directory.
    pub(crate) fn walk_open(
        &self,
        here: &mut Here<'_, 'r>,
        cached: Option<u32>,
        rules_changed: bool,
    ) -> Walked {
        if self.stop.load(Ordering::Relaxed) {
            return Walked::Gone;
        }
        let Ok(stat) = here.dir.stat_self() else { return Walked::LeftOut(Reason::Unreadable) };
        let known = cached.and_then(|index| Some((index, self.cache?, self.cache?.dir(index)?)));
        if let Some(reason) = self.owner(here, &stat, known.map(|k| (k.0, k.2))) {
            return Walked::LeftOut(reason);
        }
        let mut names = Vec::new();
        let listed = listing::list(self, here, &stat, known, rules_changed, &mut names);
        let listed = match listed {
            Ok(listed) => listed,
            Err(errno) => return self.unreadable(here, b"", errno),
        };
        let seen = self.files_seen.fetch_add(listed.names as u64, Ordering::Relaxed);
        self.stop_if_cancelled(seen);
        let below = self.walk_children(here, &listed.children, listed.rules_changed);
        let mut children = listed.children;
        if let Some((index, cache, record)) = known {
            let same = !listed.changed && !self.rebuild && !record.pending;
            if same && children_same(&children, &below) {
                return Walked::Same(index);
            }
            if !listed.complete {
                match listing::known_children(cache, index) {
                    Some(known) => children = known,
                    None => return self.fail(damaged_cache()),
                }
            }
        }
        match self.capture_children(here, &stat, known.map(|k| k.2), children, below) {
            Ok(dir) => Walked::New(Box::new(dir)),
            Err(e) => self.fail(e),
        }
    }

    /// Why a directory below the root is not the project's, if it is not.
    fn owner(
        &self,
        here: &Here<'_, 'r>,
        stat: &Stat,
        known: Option<(u32, DirRecord)>,
    ) -> Option<Reason> {
        here.parent?;
        let crossed = self.owners.boundary.crossed_by(stat);
        if crossed.is_some() {
            return crossed;
        }
        let Some((index, record)) = known.filter(|_| !self.judge_all) else {
            return self.owners.owner(&here.dir, || here.path(), Before::Unknown);
        };
        // The names of a directory that is as it was are known.
        let is_as_it_was = self.trust_listings && !record.unsettled && record.same_state(stat);
        let is_named = || {
            let mut named = self.owners.worktrees.iter();
            named.any(|path| self.cache.and_then(|cache| cache.dir_at(path)) == Some(index))
        };
        if is_as_it_was && !record.repository && !is_named() {
            return None;
        }
        self.owners.owner(&here.dir, || here.path(), Before::Ours)
    }

    /// Is a subdirectory that was somebody else's still theirs, and for the same reason?
    pub(crate) fn is_still_foreign(&self, here: &Here<'_, 'r>, name: &CStr, was: Reason) -> bool {
        let Ok(dir) = here.dir.open_dir_to_look(name) else { return false };
        let now = dir.stat_self().ok().and_then(|stat| {
            let crossed = self.owners.boundary.crossed_by(&stat);
            let path = || here.path_of(name.to_bytes());
            crossed.or_else(|| self.owners.owner(&dir, path, Before::Foreign(was)))
        });
        now == Some(was)
    }

    fn stop_if_cancelled(&self, seen: u64) {
        if (self.cancelled)(seen) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// A directory that cannot be listed is left out, unless it is this process that can open no more.
    fn unreadable(&self, here: &Here<'_, 'r>, name: &[u8], errno: Errno) -> Walked {
        if is_want_of_resources(errno) {
            self.fail(not_opened(here, name, errno.into()))
        } else {
            Walked::LeftOut(Reason::Unreadable)
        }
    }

    fn fail(&self, error: StoreError) -> Walked {
        self.stop.store(true, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        Walked::Gone
    }

    /// Walks the subdirectories in parallel; one result per child that is a directory, in order.
    fn walk_children(
        &self,
        here: &Here<'_, 'r>,
        children: &[(&CStr, Child)],
        rules_changed: bool,
    ) -> Vec<Walked> {
        let dirs: Vec<(&CStr, Option<u32>, Verdict)> = children
            .iter()
            .filter_map(|(name, child)| match child {
                Child::Directory { cached, judged } => Some((*name, *cached, *judged)),
                _ => None,
            })
            .collect();
        let walk = |&(name, cached, judged): &(&CStr, Option<u32>, Verdict)| {
            self.walk(here, name, cached, judged, rules_changed)
        };
        match &dirs[..] {
            [] => Vec::new(),
            [one] => vec![walk(one)],
            many => many.par_iter().map(walk).collect(),
        }
    }

    /// Reads what changed in this directory and builds its tree and lists.
    fn capture_children(
        &self,
        here: &Here<'_, 'r>,
        stat: &Stat,
        known: Option<DirRecord>,
        children: Vec<(&CStr, Child)>,
        below: Vec<Walked>,
    ) -> Result<Captured, StoreError> {
        let read = self.read_changed(here, &children)?;
        let (mut read, mut below) = (read.into_iter(), below.into_iter());
        let mut entries = Vec::with_capacity(children.len());
        for (name, child) in children {
            let (record, walked) = match child {
                Child::Known(record) => (record, None),
                Child::Look(..) => match read.next().flatten() {
                    Some(record) => (record, None),
                    None => continue,
                },
                Child::Directory { judged, .. } => {
                    let walked = below.next().unwrap_or(Walked::Gone);
                    let mut record = match &walked {
                        Walked::Gone => continue,
                        Walked::LeftOut(reason) => {
                            EntryRecord::new(EntryKind::Watched(*reason), None, ObjectId::NULL)
                        }
                        _ => EntryRecord::new(EntryKind::Directory, None, ObjectId::NULL),
                    };
                    record.is_dir = true;
                    record.unsettled = matches!(walked, Walked::LeftOut(_));
                    record.descend = match judged {
                        Verdict::Descend(reason) => Some(reason),
                        _ => None,
                    };
                    (record, Some(walked))
                }
            };
            entries.push(NewEntry { name, record, below: walked });
        }
        let record = self.build_objects(here, stat, known, &entries)?;
        Ok(Captured::new(record, entries))
    }

    /// May this file be saved, seeing what is in it?
    fn judge_content(&self, here: &Here<'_, 'r>, name: &[u8], content: &[u8]) -> Judged {
        if self.rules.secrets != SecretRules::NamesAndContent {
            return Judged::Saved(None);
        }
        let Some(finding) = secrets::find(content) else { return Judged::Saved(None) };
        let path = here.path_of(name);
        if self.scope(here).names(&path) {
            return Judged::Saved(None);
        }
        let is_known = secrets::is_fixture(&path, finding.kind)
            || self.tracked.contains(&path)
            || self.saved.has_path(&path)
            || id_of(Kind::Blob, content).is_some_and(|id| self.saved.has_content(&id));
        if is_known { Judged::Saved(Some(finding)) } else { Judged::LeftOut(finding) }
    }

    /// Captures a file that changed. One that the rules leave out is covered if it is held.
    fn capture(
        &self,
        here: &Here<'_, 'r>,
        name: &CStr,
        stat: Stat,
        left_out: Option<Reason>,
    ) -> Result<Option<EntryRecord>, StoreError> {
        let judge = |content: &[u8]| self.judge_content(here, name.to_bytes(), content);
        let by_rule = left_out.filter(|reason| !reason.is_of_state());
        let is_usual = by_rule.is_none_or(|_| {
            let path = here.path_of(name.to_bytes());
            self.is_taken_in_by_a_step(here, &path, /*is_dir*/ false, by_rule)
        });
        let mut record = if is_usual {
            match self.reader.capture(&here.dir, name, stat, &judge)? {
                Some(record) => record,
                None => return Ok(None),
            }
        } else {
            listing::left_out_record(name.to_bytes(), &stat, by_rule.unwrap_or(Reason::Excluded))
        };
        let why = record.kind.left_out().filter(|why| Held::is_about(*why));
        match why {
            Some(why) => {
                if let Some(exact) = self.capture_exact(here, name, stat)? {
                    record = exact;
                    record.descend = Some(why);
                    self.overruled.store(true, Ordering::Relaxed);
                }
            }
            None => record.descend = by_rule,
        }
        Ok(Some(record))
    }

    fn read_changed(
        &self,
        here: &Here<'_, 'r>,
        children: &[(&CStr, Child)],
    ) -> Result<Vec<Option<EntryRecord>>, StoreError> {
        let changed: Vec<(&CStr, Stat, Option<Reason>)> = children
            .iter()
            .filter_map(|(name, child)| match child {
                Child::Look(stat, left_out) => Some((*name, *stat, *left_out)),
                _ => None,
            })
            .collect();
        let capture = |&(name, stat, left_out): &(&CStr, Stat, Option<Reason>)| {
            // It may have a second name elsewhere, where nobody looks.
            let is_partial = self.changed().is_some_and(|changed| !changed.is_seen);
            if is_partial && has_other_names(&stat) {
                self.distrust.store(true, Ordering::Relaxed);
            }
            self.stop_if_cancelled(self.files_seen.load(Ordering::Relaxed));
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let captured = self.capture(here, name, stat, left_out);
            captured.map_err(|error| match error {
                StoreError::Source(e) => not_opened(here, name.to_bytes(), e),
                error => error,
            })
        };
        if changed.len() < 2 {
            return changed.iter().map(capture).collect();
        }
        changed.par_iter().with_max_len(8).map(capture).collect()
    }
}

/// Something in the project that this process could not open.
fn not_opened(here: &Here<'_, '_>, name: &[u8], source: io::Error) -> StoreError {
    let path = match name {
        b"" => here.path(),
        name => here.path_of(name),
    };
    herma_fs::Error::on("open", Path::new(OsStr::from_bytes(&path)), source).into()
}

/// A stat cache with a correct checksum that makes no sense. Removing the file helps; `rehash` does too.
pub(crate) fn damaged_cache() -> StoreError {
    StoreError::DamagedFile {
        file: "stat-cache".to_owned(),
        what: "its names do not hold together".to_owned(),
    }
}

/// Is every subdirectory exactly the one the cache has?
fn children_same(children: &[(&CStr, Child)], below: &[Walked]) -> bool {
    let cached = children.iter().filter_map(|(_, child)| match child {
        Child::Directory { cached, .. } => Some(*cached),
        _ => None,
    });
    cached.zip(below).all(|(cached, walked)| match walked {
        Walked::Same(index) => cached == Some(*index),
        _ => false,
    })
}
