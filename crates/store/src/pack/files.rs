//! The files in the pack directory, opened when needed and only so many at a time.
//!
//! A store has one pack per checkpoint until they are merged, so there may be more packs than a process
//! may have open files. A file closed here can be gone when it is wanted again: that is an ordinary
//! answer (another process merged packs), which readers meet by listing the directory again.
//!
//! Everything is read with `pread`, never mapped: a disk that fails must be an error, not a signal.

use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock, PoisonError};

use herma_fs::sync::Mutex;
use herma_fs::{Dir, Errno, Stat};

use crate::object::copy::{CopyError, OpenFile};

/// How many pack files are kept open, where files may be.
const MAX_OPEN_FILES: usize = 64;

/// Where few files may be open, this part of them may be those.
const SHARE: u64 = 6;

/// How many pack files may be kept open by a process that may open so many in all.
fn most_open() -> usize {
    static MAX_OPEN: OnceLock<usize> = OnceLock::new();
    *MAX_OPEN.get_or_init(|| {
        let share = herma_fs::process::descriptor_limit().map(|limit| limit / SHARE);
        share.map_or(MAX_OPEN_FILES, |share| (share as usize).clamp(1, MAX_OPEN_FILES))
    })
}

/// A pack that the directory lists: its name without `.pack`, and what its index file is.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name without an extension.
    pub stem: String,
    /// The stat of the index, to see whether it is still the same file.
    pub index: Stat,
    /// The stat of the pack.
    pub pack: Stat,
}

/// The pack directory of a store.
#[derive(Debug)]
pub struct PackFiles {
    above: Arc<Dir>,
    name: CString,
    /// The directory itself, as of the last listing, or of the first file if none was needed.
    listed: Mutex<Option<Arc<Dir>>>,
    /// The open files, the one used last at the end.
    open: Mutex<Vec<(CString, Arc<OpenFile>)>>,
}

impl PackFiles {
    /// The directory `name` in this one, which holds packs. Opens nothing.
    pub fn new(above: Arc<Dir>, name: CString) -> Self {
        Self { above, name, listed: Mutex::default(), open: Mutex::default() }
    }

    /// Opens a file, or finds it open.
    pub fn open(&self, name: &CStr) -> Result<Arc<OpenFile>, CopyError> {
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.iter().rposition(|(known, _)| known.as_c_str() == name) {
                let found = open.remove(at);
                let file = Arc::clone(&found.1);
                open.push(found);
                return Ok(file);
            }
        }
        let file = match self.open_anew(name) {
            // Those that are only kept open for later have to go first.
            Err(CopyError::Fs(e)) if matches!(e.errno(), Some(Errno::MFILE | Errno::NFILE)) => {
                self.close_all_but(|_| false);
                self.open_anew(name)?
            }
            opened => opened?,
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while open.len() >= most_open() {
            open.remove(0);
        }
        open.push((name.to_owned(), Arc::clone(&file)));
        Ok(file)
    }

    fn open_anew(&self, name: &CStr) -> Result<Arc<OpenFile>, CopyError> {
        let dir = {
            let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            match &*listed {
                Some(dir) => Arc::clone(dir),
                None => {
                    Arc::clone(listed.insert(Arc::new(self.above.open_dir(self.name.as_c_str())?)))
                }
            }
        };
        OpenFile::open(&dir, name).map(Arc::new)
    }

    /// Closes all files but those `keep` wants, so that the space of deleted packs becomes free.
    pub fn close_all_but(&self, keep: impl Fn(&CStr) -> bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(name, _)| keep(name));
    }

    /// Lists the packs that have both their files, the newest first. No directory means no packs.
    pub fn list(&self) -> Result<Vec<Listed>, herma_fs::Error> {
        // A descriptor of our own: listing moves its position, and other threads may be listing too. It may have become another one.
        let dir = match self.above.open_dir(self.name.as_c_str()) {
            Ok(dir) => Arc::new(dir),
            Err(e) if e.is_not_found() => {
                *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return Ok(Vec::new());
            }
            Err(e) => return Err(e),
        };
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&dir));
        let entries = dir.entries()?;
        let find = |name: &[u8]| {
            let found = entries.binary_search_by(|entry| entry.name.to_bytes().cmp(name));
            found.ok().map(|at| entries[at].name.as_c_str())
        };
        let mut listed = Vec::new();
        for entry in &entries {
            let name = entry.name.to_bytes();
            // Names that are not text are nobody's packs: git and Herma name them by hash.
            let Some(stem) = name.strip_suffix(b".idx").and_then(|s| std::str::from_utf8(s).ok())
            else {
                continue;
            };
            let Some(pack) = find(format!("{stem}.pack").as_bytes()) else { continue };
            // A stat that finds nothing: the pack was removed after the listing.
            let index = dir.stat_opt(entry.name.as_c_str())?;
            if let (Some(index), Some(pack)) = (index, dir.stat_opt(pack)?) {
                listed.push(Listed { stem: stem.to_owned(), index, pack });
            }
        }
        listed.sort_by_key(|pack| std::cmp::Reverse(pack.index.mtime));
        Ok(listed)
    }
}
