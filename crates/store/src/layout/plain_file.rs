//! Small files of the store that are read whole, and what stands in the place of one.

use herma_fs::{Dir, Errno, FileKind};

use crate::error::StoreError;

/// Reads a small file of the store whole. Something else in its place is damage.
pub fn read_plain(
    dir: &Dir,
    name: &str,
    shown: &str,
    limit: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    dir.read_opt(name, limit).map_err(|e| match e.errno() {
        Some(Errno::INVAL | Errno::LOOP | Errno::FBIG | Errno::NXIO | Errno::NOTDIR) => {
            let what = what_stands_there(dir, name);
            StoreError::damaged_file(shown, what.unwrap_or_else(|| e.source.to_string()))
        }
        _ => e.into(),
    })
}

/// What is where a file belongs, if that is none.
pub fn what_stands_there(dir: &Dir, name: &str) -> Option<String> {
    let kind = dir.stat_opt(name).ok()??.kind;
    (kind != FileKind::File).then(|| format!("it is {}, not a file", in_a_word(kind)))
}

/// What something is, for people.
pub(crate) const fn in_a_word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "a directory",
        FileKind::Symlink => "a link",
        FileKind::File => "a file",
        _ => "something else",
    }
}
