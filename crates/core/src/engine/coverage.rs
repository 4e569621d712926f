//! Could a command be taken back? Looks at the project as a save would, and writes nothing.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use bstr::BString;
use herma_fs::Dir;
use herma_fs::FileKind;
use herma_fs::Stat;
use herma_store::RelPath;

use super::Progress;
use super::Project;
use crate::coverage;
use crate::coverage::CanUndo;
use crate::coverage::Command;
use crate::coverage::Ledger;
use crate::coverage::places::Found;
use crate::coverage::places::Ground;
use crate::coverage::places::LastLink;
use crate::coverage::places::Lost;
use crate::coverage::places::Place;
use crate::coverage::places::absolute;
use crate::coverage::places::resolve;
use crate::error::Error;
use crate::history::History;
use crate::snapshot::excludes::Rules;
use crate::snapshot::judge::Judge;
use crate::snapshot::lists::KEPT_BITS;
use crate::snapshot::lists::KEPT_DIRECTORY_BITS;
use crate::snapshot::reason::Reason;
use crate::snapshot::sink::HashOnly;
use crate::snapshot::stat_cache::EntryKind;
use crate::snapshot::stat_cache::StatCache;

impl Project<'_> {
    /// Would a checkpoint taken now bring back everything `command`, started in `directory`, can change?
    ///
    /// Nothing is run and nothing is written. The project is scanned, which is as fast as a save in which
    /// nothing changed once there is a checkpoint.
    pub fn can_undo(
        &self,
        command: &Command,
        directory: &RelPath,
        progress: &dyn Progress,
    ) -> Result<CanUndo, Error> {
        let store = self.engine.open_for_reading()?;
        let cache = match &store {
            Some(store) => {
                let history = History::load(&store.dirs, &store.objects, &self.id)?;
                self.load_cache(store, &history)
            }
            None => None,
        };
        let present = self.scan(store.as_ref(), cache, false, &HashOnly, progress)?;
        let rules = Rules::new(&self.settings().excludes);
        let mut left_out = Vec::new();
        present.cache.each_left_out(|path, why| {
            if !matches!(why.reason, Reason::SavedSecret | Reason::Identity) {
                left_out.push((BString::from(path), why.reason));
            }
            true
        });
        left_out.sort_unstable();
        let home = self.engine.options.user_home.as_ref();
        let ground = PresentGround {
            root: self.root.as_os_str().as_bytes().into(),
            home: home.map(|home| home.as_os_str().as_bytes().into()),
            dir: self.open_root()?,
            cache: present.cache,
            left_out,
            judge: Judge::new(self.open_root()?, &rules),
            largest_file: self.settings().max_file_size,
        };
        let start = directory.as_bytes();
        let start = match resolve(&ground, &ground.root, start, LastLink::Followed).place {
            Place::Inside { path, .. } => absolute(&ground, &path),
            Place::Outside(path) => path,
        };
        let mut ledger = Ledger::new(&ground);
        coverage::run(command, &start, &mut ledger);
        Ok(ledger.finish())
    }
}

/// The project as a scan found it.
struct PresentGround<'r> {
    root: BString,
    home: Option<BString>,
    dir: Dir,
    cache: Arc<StatCache>,
    /// Everything left out, sorted by path.
    left_out: Vec<(BString, Reason)>,
    judge: Judge<'r>,
    largest_file: Option<u64>,
}

impl PresentGround<'_> {
    /// What is on disk beside the scan: how many names a file has, where a link leads.
    fn on_disk<T>(&self, path: &[u8], look: impl Fn(&Dir, &[u8]) -> Option<T>) -> Option<T> {
        let (parent, name) = split(path);
        look(&self.dir.open_beneath(parent).ok()?, name)
    }

    fn stat(&self, path: &[u8]) -> Option<Stat> {
        if path.is_empty() {
            return self.dir.stat_self().ok();
        }
        self.on_disk(path, |dir, name| dir.stat_raw(name).ok())
    }
}

/// The directory a path is in, and its last component.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// What a checkpoint does not keep of a file or directory.
fn lost(stat: &Stat) -> Lost {
    let kept = match stat.kind {
        FileKind::File => KEPT_BITS,
        FileKind::Directory => KEPT_DIRECTORY_BITS,
        _ => u32::MAX,
    };
    Lost {
        // A directory has many names by nature.
        other_names: stat.kind != FileKind::Directory && stat.links > 1,
        identity: stat.mode & !kept != 0,
    }
}

impl Ground for PresentGround<'_> {
    fn root(&self) -> &[u8] {
        &self.root
    }

    fn home(&self) -> Option<&[u8]> {
        self.home.as_ref().map(|home| home.as_slice())
    }

    fn look(&self, path: &[u8]) -> Found {
        let mut dir = StatCache::ROOT;
        let mut rest = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty());
        let mut next = rest.next();
        while let Some(name) = next {
            next = rest.next();
            let Some(entry) = self.cache.find(dir, name) else {
                return Found::Nothing;
            };
            match (entry.kind, entry.child()) {
                (EntryKind::LeftOut(reason) | EntryKind::Watched(reason), _) => {
                    return Found::LeftOut(reason);
                }
                (EntryKind::Directory, Some(child)) => dir = child,
                _ if next.is_some() => return Found::Nothing,
                _ if entry.unstable => return Found::LeftOut(Reason::Unstable),
                (EntryKind::Symlink, _) => {
                    let target = self.on_disk(path, |dir, name| dir.read_link(name).ok());
                    // A link that cannot be read leads nobody knows where.
                    return target.map_or(Found::LeftOut(Reason::Unreadable), |target| {
                        Found::Link(target.into())
                    });
                }
                _ => {
                    let stat = self.on_disk(path, |dir, name| dir.stat_raw(name).ok());
                    return match stat {
                        Some(stat) if stat.kind == FileKind::File => Found::File,
                        _ => Found::LeftOut(Reason::Unstable),
                    };
                }
            }
        }
        Found::Directory
    }

    fn names(&self, directory: &[u8]) -> Vec<BString> {
        let dir = self.cache.dir_at(directory);
        let entries = dir.and_then(|dir| self.cache.entries(dir));
        let entries = entries.into_iter().flatten().flatten();
        entries
            .filter_map(|entry| Some(self.cache.name(&entry)?.to_bytes().into()))
            .collect()
    }

    fn left_out_below(&self, path: &[u8], each: &mut dyn FnMut(&[u8], Reason)) {
        let at = |found: &BString| found.as_slice() == path;
        let first = self
            .left_out
            .partition_point(|(found, _)| found.as_slice() < path);
        if let Some((found, reason)) = self.left_out.get(first).filter(|(found, _)| at(found)) {
            each(found, *reason);
        }
        let below = if path.is_empty() {
            Vec::new()
        } else {
            [path, b"/"].concat()
        };
        let first = self
            .left_out
            .partition_point(|(found, _)| found.as_slice() < below.as_slice());
        let rest = self.left_out[first..].iter();
        for (found, reason) in rest.take_while(|(found, _)| found.starts_with(&below)) {
            each(found, *reason);
        }
    }

    fn saved_below(&self, directory: &[u8], each: &mut dyn FnMut(&[u8]) -> bool) {
        let Some(start) = self.cache.dir_at(directory) else {
            return;
        };
        let mut stack = vec![(start, directory.to_vec())];
        while let Some((dir, path)) = stack.pop() {
            for entry in self.cache.entries(dir).into_iter().flatten().flatten() {
                let Some(name) = self.cache.name(&entry) else {
                    continue;
                };
                if entry.kind.left_out().is_some() {
                    continue;
                }
                let mut below = path.clone();
                if !below.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name.to_bytes());
                if !each(&below) {
                    return;
                }
                if let Some(child) = entry.child() {
                    stack.push((child, below));
                }
            }
        }
    }

    fn rule(&self, path: &[u8], is_dir: bool) -> Option<Reason> {
        self.judge.left_out(path, is_dir)
    }

    fn lost(&self, path: &[u8]) -> Lost {
        self.stat(path).as_ref().map(lost).unwrap_or_default()
    }

    fn lost_below(&self, directory: &[u8], each: &mut dyn FnMut(&[u8], Lost)) {
        let mut opened: Option<(Vec<u8>, Dir)> = None;
        self.saved_below(directory, &mut |path| {
            let (parent, name) = split(path);
            if opened.as_ref().is_none_or(|(open, _)| open != parent) {
                let dir = self.dir.open_beneath(parent).ok();
                opened = dir.map(|dir| (parent.to_vec(), dir));
            }
            let stat = opened.as_ref().and_then(|(_, dir)| dir.stat_raw(name).ok());
            match stat.as_ref().map(lost) {
                Some(lost) if lost != Lost::default() => each(path, lost),
                _ => {}
            }
            true
        });
    }

    fn largest_file(&self) -> Option<u64> {
        self.largest_file
    }

    fn size(&self, path: &[u8]) -> Option<u64> {
        self.stat(path).map(|stat| stat.size)
    }

    fn kind(&self, path: &[u8]) -> Option<FileKind> {
        self.stat(path).map(|stat| stat.kind)
    }

    fn read(&self, path: &[u8], limit: u64) -> Option<Vec<u8>> {
        self.on_disk(path, |dir, name| dir.read(name, limit).ok())
    }
}
