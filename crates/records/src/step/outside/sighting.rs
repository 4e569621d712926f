//! What no checkpoint holds, as it was at one moment.

use herma_store::path::split;
use std::ffi::CStr;
use std::path::PathBuf;

use bstr::BString;
use herma_fs::dir::ListBuffer;
use herma_fs::{Dir, FileKind, Stat};
use herma_worktree::owner::Boundary;
use herma_worktree::reason::Reason;
use herma_worktree::receipt::{LeftOut, Summary};
use herma_worktree::stat_cache::StatCache;
use serde::{Deserialize, Serialize};

use super::elsewhere::Named;
use super::repository::{Bounds, Repository};
use super::{LeftOutThen, Outside, OutsideChange, OutsideWhat, noise};

/// So many files and directories are watched; what is somebody else's, then single files before whole directories, what no
/// rule leaves out first.
const MAX_PATHS_WATCHED: usize = 1000;
/// All paths together take no more.
const MAX_NOTE_BYTES: usize = 64 << 10;
const MAX_REPOSITORIES: usize = 16;
/// A directory whose own size is above this is not counted: many names are in it.
const LARGE_DIRECTORY: u64 = 1 << 20;

/// What no checkpoint holds, as it was when somebody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    files: Vec<Seen>,
    repositories: Vec<Repository>,
    /// What is left out and not worth a word when it changes, but there: as much of it as there is room for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    quiet: Vec<LeftOutThen>,
    /// What a call names outside the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    elsewhere: Vec<Named>,
    /// Is there more than is watched?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// A file or a whole directory that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    #[serde(with = "super::text")]
    path: BString,
    reason: Reason,
    /// Is it a directory? Then the size is the number of names in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dir: bool,
    size: u64,
    time: i64,
}

impl Sighting {
    /// Looks at what the last save of the project at `root` left out, and at its repositories.
    pub fn of(root: &Dir, saved: Option<&StatCache>) -> Self {
        let (mut watched, mut nested, mut quiet) = (Vec::new(), Vec::new(), Vec::new());
        for LeftOut { path, reason, .. } in saved.into_iter().flat_map(StatCache::left_out) {
            let (above, name) = split(&path);
            if name == b".git" {
                nested.push(BString::from(above));
            } else if noise::is_watched(reason) && !noise::is_made_again(name) {
                watched.push((path, reason));
            } else if !reason.is_captured() && quiet.len() < MAX_PATHS_WATCHED {
                quiet.push(LeftOutThen { path, reason });
            }
        }
        let mut place = Place::new(root);
        let mut files = Vec::new();
        for (path, reason) in watched {
            match Seen::now(&mut place, &path, reason) {
                Some(seen) => files.push(seen),
                None => quiet.push(LeftOutThen { path, reason }),
            }
        }
        files.sort_unstable_by(|a, b| a.rank().cmp(&b.rank()).then_with(|| a.path.cmp(&b.path)));
        let (mut bytes, found) = (0, files.len());
        files.truncate(MAX_PATHS_WATCHED);
        files.retain(|seen| {
            bytes += seen.path.len();
            bytes <= MAX_NOTE_BYTES
        });
        quiet.truncate(MAX_PATHS_WATCHED - files.len());
        quiet.retain(|then| {
            bytes += then.path.len();
            bytes <= MAX_NOTE_BYTES
        });
        nested.retain(|above| !above.is_empty());
        nested.sort_unstable();
        nested.truncate(MAX_REPOSITORIES - 1);
        let mut bounds = Bounds::default();
        let all = std::iter::once(BString::default()).chain(nested);
        let repositories = all.filter_map(|above| Repository::at(root, above, &mut bounds));
        let (repositories, cut) = (repositories.collect(), files.len() < found);
        Self { files, repositories, quiet, elsewhere: Vec::new(), cut }
    }

    /// The same with these files, which are not in the project.
    #[must_use]
    pub fn with_elsewhere(mut self, paths: &[PathBuf]) -> Self {
        self.elsewhere = paths.iter().filter_map(|path| Named::now(path)).collect();
        self
    }

    /// Has a save with these counts found something of somebody else's that was not there?
    pub fn is_outnumbered(&self, now: &Summary) -> bool {
        let counts = now.left_out.iter().filter(|(reason, _)| is_told_of(**reason));
        let watched = self.files.iter().filter(|seen| is_told_of(seen.reason));
        !self.cut && counts.map(|(_, count)| count).sum::<u64>() > watched.count() as u64
    }

    /// How many directories are not looked into.
    pub fn unseen(&self) -> u64 {
        self.files.iter().filter(|seen| seen.dir).count() as u64
    }

    /// What is gone or different by now, and what of somebody else's has come that the last save found.
    pub fn changes(&self, root: &Dir, saved: Option<&StatCache>) -> Outside {
        let mut place = Place::new(root);
        let files = self.files.iter().filter_map(|seen| seen.change(&mut place));
        let mut files: Vec<OutsideChange> = files.collect();
        for LeftOut { path, reason, .. } in saved.into_iter().flat_map(StatCache::left_out) {
            let is_known = || self.files.iter().any(|seen| seen.path == path);
            if is_told_of(reason) && !is_known() {
                files.push(OutsideChange { path, what: OutsideWhat::Added(reason) });
            }
        }
        let mut bounds = Bounds::default();
        let mut repositories = Vec::new();
        for before in &self.repositories {
            let now = Repository::at(root, before.above().clone(), &mut bounds);
            let words = match &now {
                Some(now) => before.changes(now),
                // What cannot be told is not known to be different.
                None => match place.stat(&before.path()) {
                    Ok(None) => vec!["the repository is gone".to_owned()],
                    Ok(Some(_)) => vec!["the repository cannot be read any more".to_owned()],
                    Err(_) => Vec::new(),
                },
            };
            let words = words.into_iter();
            repositories.extend(
                words.map(|words| OutsideChange {
                    path: before.path(),
                    what: OutsideWhat::Git(words),
                }),
            );
        }
        repositories.extend(self.elsewhere.iter().filter_map(Named::change));
        Outside::of(files, repositories)
    }

    /// Everything that was there, left out.
    pub fn were_there(&self) -> impl Iterator<Item = LeftOutThen> + '_ {
        let files = self.files.iter();
        let watched = files.map(|seen| LeftOutThen::new(&seen.path, seen.reason));
        watched.chain(self.quiet.iter().cloned())
    }
}

impl Seen {
    fn now(place: &mut Place<'_>, path: &BString, reason: Reason) -> Option<Self> {
        let stat = place.stat(path).ok()??;
        let dir = stat.kind == FileKind::Directory;
        let is_special = matches!(stat.kind, FileKind::Special | FileKind::Unknown);
        if is_special && !reason.is_mount() {
            return None;
        }
        let size = match dir {
            // Whoever answers for it may take their time.
            true if reason.is_mount() => 0,
            true => place.names(path, &stat)?,
            false => stat.size,
        };
        Some(Self { path: path.clone(), reason, dir, size, time: stat.mtime })
    }

    /// What comes first where not all can be watched.
    fn rank(&self) -> (bool, bool, bool) {
        (!self.reason.is_foreign(), self.dir, self.reason.is_rule())
    }

    fn change(&self, place: &mut Place<'_>) -> Option<OutsideChange> {
        // What cannot be looked at is not known to be different.
        let what = match place.stat(&self.path).ok()? {
            None => OutsideWhat::Removed(self.reason),
            Some(now) if self.reason.is_mount() => {
                (!place.is_mounted(&now)).then_some(OutsideWhat::Removed(self.reason))?
            }
            Some(now) if (now.kind == FileKind::Directory) != self.dir => {
                OutsideWhat::Changed(self.reason)
            }
            Some(now) if self.dir => {
                let was_filled = self.size > 0 && now.mtime != self.time;
                let is_empty = was_filled && place.names(&self.path, &now) == Some(0);
                is_empty.then_some(OutsideWhat::Emptied(self.reason))?
            }
            Some(now) => {
                let is_same = (now.size, now.mtime) == (self.size, self.time);
                let is_quiet = is_same || noise::is_log(split(&self.path).1);
                (!is_quiet).then_some(OutsideWhat::Changed(self.reason))?
            }
        };
        Some(OutsideChange { path: self.path.clone(), what })
    }
}

/// The directory that was looked at last, so that neighbours need not be found again.
struct Place<'r> {
    root: &'r Dir,
    boundary: Option<Boundary>,
    above: Option<(BString, Option<Dir>)>,
    buffer: ListBuffer,
}

impl<'r> Place<'r> {
    fn new(root: &'r Dir) -> Self {
        Self {
            root,
            boundary: root.stat_self().ok().map(|stat| Boundary::around(&stat)),
            above: None,
            buffer: ListBuffer::new(),
        }
    }

    /// The directory a path is in, if it is there.
    fn directory(&mut self, above: &[u8]) -> Result<Option<&Dir>, herma_fs::Error> {
        if self.above.as_ref().is_none_or(|(known, _)| known != above) {
            let opened = match self.root.open_beneath(above) {
                Ok(dir) => Some(dir),
                Err(e) if is_gone(&e) => None,
                Err(e) => return Err(e),
            };
            self.above = Some((above.into(), opened));
        }
        Ok(self.above.as_ref().and_then(|(_, dir)| dir.as_ref()))
    }

    /// What is at a path, to which no link leads.
    fn stat(&mut self, path: &[u8]) -> Result<Option<Stat>, herma_fs::Error> {
        let (above, name) = split(path);
        match self.directory(above)? {
            Some(dir) => dir.stat_opt(name),
            None => Ok(None),
        }
    }

    /// Is something in this state on another mount than the project? So it stays where that cannot be told.
    fn is_mounted(&self, found: &Stat) -> bool {
        self.boundary.is_none_or(|boundary| match found.kind {
            FileKind::Directory => boundary.crossed_by(found).is_some(),
            _ => boundary.is_mounted(found),
        })
    }

    /// How many names are in a directory; `u64::MAX` for many.
    fn names(&mut self, path: &[u8], stat: &Stat) -> Option<u64> {
        if stat.size > LARGE_DIRECTORY {
            return Some(u64::MAX);
        }
        let (above, name) = split(path);
        let dir = self.directory(above).ok()??.open_dir(name).ok()?;
        let mut names = 0;
        let count = |_: &CStr, _| names += 1;
        dir.for_each_entry(&mut self.buffer, count).ok()?;
        Some(names)
    }
}

/// Is it told of when it comes? A repository may have had its first checkpoint meanwhile, by which nothing changed.
fn is_told_of(reason: Reason) -> bool {
    reason.is_foreign() && reason != Reason::Repository
}

/// Is there nothing at all where a directory was to be, or something else by now?
fn is_gone(error: &herma_fs::Error) -> bool {
    error.is_not_found()
        || matches!(error.errno(), Some(herma_fs::Errno::NOTDIR | herma_fs::Errno::LOOP))
}
