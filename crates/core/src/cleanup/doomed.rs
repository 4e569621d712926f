//! Contents that must not be readable any more: a list in the store, which every collection goes by.
//!
//! It is written before the first ref moves, so that whatever happens later, the next collection knows what
//! to take away at once. A content leaves the list when it is gone, or when something alive needs it again.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use herma_fs::publish::{Durability, write_file};
use herma_records::read_record;
use herma_store::ObjectId;
use herma_store::layout::StoreDirs;

use crate::error::Result;

const FILE: &str = "purging";
/// About a million contents.
const MAX_SIZE: u64 = 41 << 20;
/// Some three million files.
const MAX_INDEX: u64 = 256 << 20;

/// The contents that are to go. What is no id is skipped: a torn list is one that was never acted on.
pub(crate) fn read(dirs: &StoreDirs) -> Result<BTreeSet<ObjectId>> {
    let Some(herma) = dirs.herma() else { return Ok(BTreeSet::new()) };
    let bytes = read_record(&herma.dir, FILE, MAX_SIZE)?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(ObjectId::from_hex).collect())
}

/// Removes Hermes's indexes that name one of these contents. They are only caches, but a git that believes
/// one would not store a file again of which the content is gone, and then fail to save for ever.
pub(crate) fn forget_indexes(dirs: &StoreDirs, contents: &BTreeSet<ObjectId>) -> Result<()> {
    let Ok(indexes) = dirs.store().open_dir("indexes") else { return Ok(()) };
    for entry in indexes.entries()? {
        // What is no file, or larger than any index, was not written by Hermes.
        let Ok(name) = entry.name.to_str() else { continue };
        let Ok(Some(index)) = indexes.read_opt(name, MAX_INDEX) else { continue };
        if contents.iter().any(|id| index.contains_str(id.as_bytes())) {
            indexes.remove_if_there(name)?;
        }
    }
    Ok(())
}

/// Adds contents, durably.
pub(crate) fn add(dirs: &StoreDirs, contents: &BTreeSet<ObjectId>) -> Result<()> {
    let mut all = read(dirs)?;
    let before = all.len();
    all.extend(contents);
    if all.len() == before {
        return Ok(());
    }
    write(dirs, &all)
}

/// Makes this the list.
pub(crate) fn write(dirs: &StoreDirs, contents: &BTreeSet<ObjectId>) -> Result<()> {
    let herma = dirs.for_writing()?;
    if contents.is_empty() {
        match herma.dir.remove_file(FILE) {
            Err(e) if !e.is_not_found() => return Err(e.into()),
            _ => return Ok(()),
        }
    }
    let lines: Vec<String> = contents.iter().map(|id| format!("{id}\n")).collect();
    let text = lines.concat();
    write_file(&herma.tmp, &herma.dir, FILE, text.as_bytes(), Durability::Synced)?;
    Ok(())
}
