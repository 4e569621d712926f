//! The project as a scan found it: what is saved, what is left out, and what on disk a checkpoint would not keep.

use std::sync::Arc;

use bstr::BString;
use herma_fs::{Dir, FileKind, Stat};
use herma_shell::{PathEntry, ProjectFiles};
use herma_store::path::{join, split};
use herma_worktree::lists::{KEPT_BITS, KEPT_DIRECTORY_BITS};
use herma_worktree::reason::Reason;
use herma_worktree::scan::judge::Judge;
use herma_worktree::stat_cache::{EntryKind, StatCache};

/// The project as a scan found it.
pub struct PresentFiles<'r> {
    /// Where it is.
    pub root: BString,
    /// The home of whoever runs the command.
    pub home: Option<BString>,
    /// Its directory.
    pub dir: Dir,
    /// What a look found.
    pub cache: Arc<StatCache>,
    /// Everything left out.
    pub left_out: Vec<(BString, Reason)>,
    /// What a save would leave out.
    pub judge: Judge<'r>,
    /// A larger file is not saved.
    pub largest_file: Option<u64>,
}

impl PresentFiles<'_> {
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

    /// What is at a path, or why it is left out. No link on the way is followed.
    pub(crate) fn look(&self, path: &[u8]) -> Result<PathEntry, Reason> {
        let mut dir = StatCache::ROOT;
        let mut rest = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let mut next = rest.next();
        while let Some(name) = next {
            next = rest.next();
            let Some(entry) = self.cache.find(dir, name) else { return Ok(PathEntry::Nothing) };
            match (entry.kind, entry.child()) {
                (EntryKind::LeftOut(reason) | EntryKind::Watched(reason), _) => {
                    return Err(reason);
                }
                (EntryKind::Directory, Some(child)) => dir = child,
                _ if next.is_some() => return Ok(PathEntry::Nothing),
                _ if entry.unstable => return Err(Reason::Unstable),
                (EntryKind::Symlink, _) => {
                    let target = self.on_disk(path, |dir, name| dir.read_link(name).ok());
                    // A link that cannot be read leads nobody knows where.
                    return target
                        .map(|target| PathEntry::Link(target.into()))
                        .ok_or(Reason::Unreadable);
                }
                _ => {
                    let stat = self.on_disk(path, |dir, name| dir.stat_raw(name).ok());
                    return match stat {
                        Some(stat) if stat.kind == FileKind::File => Ok(PathEntry::File),
                        _ => Err(Reason::Unstable),
                    };
                }
            }
        }
        Ok(PathEntry::Directory)
    }

    /// Calls `each` for everything left out at or below a path.
    pub(crate) fn left_out_below(&self, path: &[u8], mut each: impl FnMut(&[u8], Reason)) {
        for (found, reason) in &self.left_out {
            let rest = found.strip_prefix(path);
            if rest.is_some_and(|rest| path.is_empty() || matches!(rest.first(), None | Some(b'/')))
            {
                each(found, *reason);
            }
        }
    }

    /// Calls `each` with the path of everything saved below a directory, until it returns `false`.
    pub(crate) fn saved_below(&self, directory: &[u8], mut each: impl FnMut(&[u8]) -> bool) {
        let Some(start) = self.cache.dir_at(directory) else { return };
        let mut stack = vec![(start, directory.to_vec())];
        while let Some((dir, path)) = stack.pop() {
            for entry in self.cache.entries(dir).into_iter().flatten().flatten() {
                let Some(name) = self.cache.name(&entry) else { continue };
                if entry.kind.left_out().is_some() {
                    continue;
                }
                let below = join(&path, name.to_bytes());
                if !each(&below) {
                    return;
                }
                if let Some(child) = entry.child() {
                    stack.push((child, below));
                }
            }
        }
    }

    /// What of the file or directory at a path would not come back with it.
    pub(crate) fn lost(&self, path: &[u8]) -> Lost {
        self.stat(path).as_ref().map(lost_of).unwrap_or_default()
    }

    /// Calls `each` for everything saved below a directory that would not come back whole.
    pub(crate) fn lost_below(&self, directory: &[u8], mut each: impl FnMut(&[u8], Lost)) {
        let mut opened: Option<(Vec<u8>, Dir)> = None;
        self.saved_below(directory, |path| {
            let (parent, name) = split(path);
            if opened.as_ref().is_none_or(|(open, _)| open != parent) {
                let dir = self.dir.open_beneath(parent).ok();
                opened = dir.map(|dir| (parent.to_vec(), dir));
            }
            let stat = opened.as_ref().and_then(|(_, dir)| dir.stat_raw(name).ok());
            match stat.as_ref().map(lost_of) {
                Some(lost) if lost != Lost::default() => each(path, lost),
                _ => {}
            }
            true
        });
    }

    /// What is on disk at a path, whether it is saved or not. No link on the way is followed.
    pub(crate) fn kind(&self, path: &[u8]) -> Option<FileKind> {
        self.stat(path).map(|stat| stat.kind)
    }

    /// The content of the file at a path, whether it is saved or not; `None` if it is longer than `limit`
    /// or cannot be read. No link is followed.
    pub(crate) fn read(&self, path: &[u8], limit: u64) -> Option<Vec<u8>> {
        self.on_disk(path, |dir, name| dir.read(name, limit).ok())
    }
}

/// What a checkpoint does not keep of a file or directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// It has other names, which would be other files afterwards.
    pub(crate) other_names: bool,
    /// It has a setuid or setgid bit.
    pub(crate) identity: bool,
}

/// What a checkpoint does not keep of a file or directory.
fn lost_of(stat: &Stat) -> Lost {
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

impl ProjectFiles for PresentFiles<'_> {
    fn root(&self) -> &[u8] {
        &self.root
    }

    fn home(&self) -> Option<&[u8]> {
        self.home.as_ref().map(|home| home.as_slice())
    }

    fn entry(&self, path: &[u8]) -> PathEntry {
        self.look(path).unwrap_or(PathEntry::LeftOut)
    }

    fn names(&self, directory: &[u8]) -> Vec<BString> {
        let dir = self.cache.dir_at(directory);
        let entries = dir.and_then(|dir| self.cache.entries(dir));
        let entries = entries.into_iter().flatten().flatten();
        entries.filter_map(|entry| Some(self.cache.name(&entry)?.to_bytes().into())).collect()
    }

    fn size(&self, path: &[u8]) -> Option<u64> {
        self.stat(path).map(|stat| stat.size)
    }
}
