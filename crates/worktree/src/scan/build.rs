//! Turns a walked directory into objects, and a walked project into a new stat cache.

use std::ffi::CStr;

use herma_fs::Stat;
use herma_store::ObjectId;
use herma_store::error::StoreError;
use herma_store::object::{EntryMode, Kind, id_of, push_tree_entry};

use crate::lists::{KEPT_BITS, KEPT_DIRECTORY_BITS, ListBuilder};
use crate::scan::{Here, NewEntry, Walk, Walked};
use crate::stat_cache::{
    CacheBuilder, CacheSize, DirRecord, EntryKind, EntryRecord, IgnoreFiles, StatCache,
};

impl<'r> Walk<'r> {
    /// Stores the tree and the lists of a directory; its record has their ids.
    pub(crate) fn build_objects(
        &self,
        here: &Here<'_, 'r>,
        stat: &Stat,
        known: Option<DirRecord>,
        entries: &[NewEntry<'_>],
    ) -> Result<DirRecord, StoreError> {
        let mut record = DirRecord::new(stat, !self.reader.is_settled(stat.ctime));
        let mut tree = Vec::with_capacity(entries.len() * 48);
        let mut modes = ListBuilder::default();
        let mut left = ListBuilder::default();
        let mut files = ListBuilder::default();
        for entry in entries {
            let name = entry.name;
            record.repository |= name == c".git";
            let ids = entry.below.as_ref().and_then(|walked| self.ids(walked));
            add_to_tree(&mut tree, entry, ids.as_ref());
            self.add_mode(&mut files, name, &entry.record);
            if let Some(reason) = entry.record.listed_reason() {
                left.left_out(name.to_bytes(), reason, entry.record.secret);
            }
            record.look |= entry.record.wants_a_look();
            if let Some(ids) = ids {
                record.look |= ids.look;
                record.pending_below |= ids.pending_below;
                if !ids.modes.is_null() {
                    modes.subdirectory(name.to_bytes(), &ids.modes);
                }
                if !ids.left.is_null() {
                    left.subdirectory(name.to_bytes(), &ids.left);
                }
            }
        }
        let is_root = here.parent.is_none();
        record.look |= record.repository && !is_root;
        if is_root {
            modes.usual_modes(self.usual);
        }
        let mode = stat.mode & KEPT_DIRECTORY_BITS;
        // A directory that is in no git tree exists only through this record.
        if mode != self.usual.directory() || (tree.is_empty() && !is_root) {
            modes.directory_mode(mode);
        }
        modes.append_records(&files);
        record.ignore_files = IgnoreFiles { git: here.has_gitignore, herma: here.has_hermaignore };
        record.tree = self.store_tree(&tree, known, is_root)?;
        let sink = self.reader.sink;
        let blob = |data: &[u8]| sink.add(Kind::Blob, data);
        let list_tree = |data: &[u8]| sink.add(Kind::Tree, data);
        record.modes = modes.finish(blob, list_tree)?;
        record.left = left.finish(blob, list_tree)?;
        record.pending = known.is_none_or(|k| k.pending || k.left != record.left);
        record.pending_below |= record.pending;
        Ok(record)
    }

    fn store_tree(
        &self,
        tree: &[u8],
        known: Option<DirRecord>,
        is_root: bool,
    ) -> Result<ObjectId, StoreError> {
        if tree.is_empty() && !is_root {
            return Ok(ObjectId::NULL);
        }
        // The tree the cache names is in the store, or the cache would not have been believed.
        let same = known.filter(|known| id_of(Kind::Tree, tree) == Some(known.tree));
        if let Some(known) = same {
            return Ok(known.tree);
        }
        self.reader.sink.add(Kind::Tree, tree)
    }

    fn add_mode(&self, modes: &mut ListBuilder, name: &CStr, record: &EntryRecord) {
        let executable = match record.kind {
            EntryKind::File => false,
            EntryKind::Executable => true,
            _ => return,
        };
        let mode = u32::from(record.mode) & KEPT_BITS;
        if mode != self.usual.file(executable) {
            modes.file_mode(name.to_bytes(), mode);
        }
    }

    /// The record of a walked subdirectory.
    pub(crate) fn ids(&self, walked: &Walked) -> Option<DirRecord> {
        match walked {
            Walked::Same(index) => self.cache?.dir(*index),
            Walked::New(dir) => Some(dir.record),
            Walked::LeftOut(_) | Walked::Gone => None,
        }
    }
}

/// Writes a walked directory and all below it into a new cache. `None` if the old cache, from which
/// unchanged parts are copied, does not hold together.
pub(crate) fn emit(
    builder: &mut CacheBuilder,
    old: Option<&StatCache>,
    walked: Walked,
) -> Option<u32> {
    let dir = match walked {
        Walked::Same(index) => return builder.copy(old?, index),
        Walked::New(dir) => *dir,
        Walked::LeftOut(_) | Walked::Gone => return None,
    };
    let (index, first) = builder.push_dir(dir.record, &dir.entries)?;
    // What was copied is not needed twice.
    drop(dir.entries);
    for (place, walked) in dir.below {
        let child = emit(builder, old, walked)?;
        builder.set_child(first + place, child);
    }
    Some(index)
}

/// How large the cache of a walked directory and all below it will be.
pub(crate) fn cache_size(old: Option<&StatCache>, walked: &Walked) -> Option<CacheSize> {
    let dir = match walked {
        Walked::Same(index) => return CacheSize::of_subtree(old?, *index),
        Walked::New(dir) => dir,
        Walked::LeftOut(_) | Walked::Gone => return None,
    };
    let mut size = CacheSize::of_dir(&dir.entries);
    for (_, walked) in &dir.below {
        size += cache_size(old, walked)?;
    }
    Some(size)
}

fn add_to_tree(tree: &mut Vec<u8>, entry: &NewEntry<'_>, ids: Option<&DirRecord>) {
    let name = entry.name.to_bytes();
    if let Some(mode) = entry.record.kind.mode() {
        push_tree_entry(tree, mode, name, &entry.record.id);
    } else if let Some(ids) = ids.filter(|ids| !ids.tree.is_null()) {
        push_tree_entry(tree, EntryMode::Directory, name, &ids.tree);
    }
}
