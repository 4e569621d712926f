//! The bare walk: the least any tool has to do to know that nothing changed.
//!
//! Every directory is opened relative to its parent and listed, every entry is asked for its stat, on
//! all cores. Nothing is compared, nothing is kept.

use std::cell::RefCell;
use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use herma_fs::dir::ListBuffer;
use herma_fs::{Dir, FileKind};
use rayon::Scope;

use crate::Result;

/// What a walk saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Files, links and others.
    pub files: u64,
    /// Directories, without the root.
    pub directories: u64,
    /// The sum of the file sizes.
    pub bytes: u64,
}

#[derive(Default)]
struct Counters {
    files: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    error: Mutex<Option<String>>,
}

thread_local! {
    static BUFFER: RefCell<ListBuffer> = RefCell::new(ListBuffer::new());
}

/// Walks `root` on the current thread pool.
pub fn walk(root: &Path) -> Result<Seen> {
    let root = Dir::open(root)?;
    let counters = Counters::default();
    rayon::scope(|scope| visit(scope, &root, &counters));
    let error = counters.error.into_inner().unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error.into()),
        None => Ok(Seen {
            files: counters.files.into_inner(),
            directories: counters.directories.into_inner(),
            bytes: counters.bytes.into_inner(),
        }),
    }
}

fn visit<'scope>(scope: &Scope<'scope>, directory: &Dir, counters: &'scope Counters) {
    if let Err(errno) = visit_entries(scope, directory, counters) {
        let message = format!("cannot walk the tree: {errno}");
        *counters.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
    }
}

fn visit_entries<'scope>(
    scope: &Scope<'scope>,
    directory: &Dir,
    counters: &'scope Counters,
) -> std::result::Result<(), herma_fs::Errno> {
    let (mut files, mut bytes) = (0, 0);
    let mut subdirectories: Vec<CString> = Vec::new();
    let mut failed = None;
    BUFFER.with_borrow_mut(|buffer| {
        directory.for_each_entry(buffer, |name, _| match directory.stat_raw(name) {
            Ok(stat) if stat.kind == FileKind::Directory => subdirectories.push(name.to_owned()),
            Ok(stat) => {
                files += 1;
                bytes += stat.size;
            }
            Err(errno) => failed = Some(errno),
        })
    })?;
    if let Some(errno) = failed {
        return Err(errno);
    }
    counters.files.fetch_add(files, Ordering::Relaxed);
    counters.bytes.fetch_add(bytes, Ordering::Relaxed);
    counters.directories.fetch_add(subdirectories.len() as u64, Ordering::Relaxed);
    for name in subdirectories {
        let child = directory.open_dir_for_walk(&name)?;
        scope.spawn(move |scope| visit(scope, &child, counters));
    }
    Ok(())
}
