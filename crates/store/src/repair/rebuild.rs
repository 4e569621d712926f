//! Makes the index of a pack again, out of the pack alone.
//!
//! A pack is read from its start to its end: every entry is inflated and hashed, deltas are applied once
//! their base is known. Git's format has no index for a part of a pack, so a pack with one rotten byte
//! gets none; [`crate::repair::salvage`] takes out of it what is whole.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use herma_fs::Dir;
use herma_fs::publish::Temp;

use crate::error::{StoreError, in_full};
use crate::layout::StoreDirs;
use crate::object::copy::{CopyError, MEMORY_LIMIT, OpenFile};
use crate::object::inflate::Reader;
use crate::object::{Hasher, Kind, Object, delta};
use crate::objects::cache::{Cache, Key};
use crate::objects::chain::MAX_DELTA_CHAIN;
use crate::pack::read::{EntryKind, FIRST_ENTRY, header};
use crate::pack::write::finish;
use crate::pack::write::finish::IndexEntry;
use crate::repair::set_aside::SetAside;
use crate::verify::packs::checksum;
use crate::{ObjectId, object};

/// The checksum at the end of a pack.
const CHECKSUM: u64 = 20;

/// No entry is smaller: a header, and the shortest zlib stream.
const MIN_ENTRY_BYTES: u64 = 9;

/// How much memory is used for objects that deltas may build on.
const CACHE: usize = 64 << 20;

/// One entry of the pack.
pub(crate) struct Item {
    offset: u64,
    crc: u32,
    kind: EntryKind,
    /// What it is and how it is called, once that is known.
    pub(crate) object: Option<(Kind, ObjectId)>,
}

/// A pack being read.
pub(crate) struct Scan {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) items: Vec<Item>,
    by_offset: HashMap<u64, usize>,
    by_id: HashMap<ObjectId, usize>,
    cache: Cache,
}

/// Publishes a new index for the pack `stem`; what was there is set aside. Returns how many objects the
/// pack has, or what is wrong with it, in which case nothing was changed.
pub fn rebuild_index(
    dirs: &StoreDirs,
    directory: &Dir,
    stem: &str,
    set_aside: &SetAside,
) -> Result<Result<u32, String>, StoreError> {
    let entries = match read_pack(directory, stem) {
        Ok(entries) => entries,
        Err(e) => return Ok(Err(in_full(&e))),
    };
    let (entries, trailer) = entries;
    let mut temp = Temp::create_private(&dirs.for_writing()?.tmp)?;
    temp.write(&finish::index(entries.iter().copied(), trailer))?;
    temp.set_mode(0o400)?;
    // ORDER: content before name.
    temp.sync()?;
    let name = format!("{stem}.idx");
    if directory.stat_opt(name.as_str())?.is_some() {
        set_aside.keep(directory, &name)?;
    }
    temp.publish(directory, &name)?;
    directory.sync()?;
    Ok(Ok(entries.len() as u32))
}

/// Every object of a pack, sorted by id, and the pack's checksum.
pub(crate) fn read_pack(
    directory: &Dir,
    stem: &str,
) -> Result<(Vec<IndexEntry>, ObjectId), CopyError> {
    let file = open_pack(directory, stem)?;
    let mut start = [0; FIRST_ENTRY as usize];
    file.read_exact_at(&mut start, 0)?;
    if &start[..4] != b"PACK" || !matches!(start[4..8], [0, 0, 0, 2 | 3]) {
        return Err(CopyError::damaged(&file, "it does not begin like a pack"));
    }
    let count = u32::from_be_bytes([start[8], start[9], start[10], start[11]]);
    let end = file.stat.size.saturating_sub(CHECKSUM);
    if u64::from(count) > end / MIN_ENTRY_BYTES {
        return Err(CopyError::damaged(&file, "it is shorter than it says"));
    }
    let mut trailer = [0; CHECKSUM as usize];
    file.read_exact_at(&mut trailer, end)?;
    if checksum(&file, end)? != trailer {
        return Err(CopyError::damaged(&file, "its checksum is wrong"));
    }
    let mut scan = Scan::new(file);
    scan.read_entries(count, end)?;
    scan.resolve(false)?;
    Ok((scan.entries()?, ObjectId::from_bytes(trailer)))
}

/// Opens the pack itself, without an index.
pub(crate) fn open_pack(directory: &Dir, stem: &str) -> Result<Arc<OpenFile>, CopyError> {
    let bad_name = |_| CopyError::Damaged { file: stem.to_owned(), what: "not a name" };
    let name = CString::new(format!("{stem}.pack")).map_err(bad_name)?;
    Ok(Arc::new(OpenFile::open(directory, &name)?))
}

impl Scan {
    pub(crate) fn new(file: Arc<OpenFile>) -> Self {
        Self {
            file,
            items: Vec::new(),
            by_offset: HashMap::new(),
            by_id: HashMap::new(),
            cache: Cache::new(CACHE),
        }
    }

    fn damaged(&self, what: &'static str) -> CopyError {
        CopyError::damaged(&self.file, what)
    }

    /// Reads all entries once, and hashes those that are whole.
    fn read_entries(&mut self, count: u32, end: u64) -> Result<(), CopyError> {
        let mut offset = FIRST_ENTRY;
        for _ in 0..count {
            offset = self.read_entry(offset, end)?;
        }
        if offset != end {
            return Err(self.damaged("it has more bytes than entries"));
        }
        Ok(())
    }

    /// Reads one entry; returns where the next one begins.
    pub(crate) fn read_entry(&mut self, offset: u64, end: u64) -> Result<u64, CopyError> {
        let (mut reader, kind, size) = self.open(offset)?;
        let failed = |e| CopyError::inflating(&self.file, e);
        let object = if let EntryKind::Whole(kind) = kind {
            let mut hasher = Hasher::new(kind, size);
            let mut sink = |bytes: &[u8]| {
                hasher.update(bytes);
                Ok(())
            };
            reader.stream_rest(size, &mut sink).map_err(failed)?;
            let id = hasher.finish();
            Some((kind, id.ok_or_else(|| self.damaged("a forged collision"))?))
        } else {
            reader.stream_rest(size, &mut |_| Ok(())).map_err(failed)?;
            None
        };
        let next = reader.position();
        if next > end {
            return Err(self.damaged("an entry runs into its checksum"));
        }
        let crc = self.crc(offset, next)?;
        self.by_offset.insert(offset, self.items.len());
        self.items.push(Item { offset, crc, kind, object });
        Ok(next)
    }

    /// Like [`Self::read_entry`], if the compressed bytes of the entry begin at `stream`.
    pub(crate) fn read_entry_with_stream_at(
        &mut self,
        offset: u64,
        stream: u64,
        end: u64,
    ) -> Result<u64, CopyError> {
        let (reader, _, _) = self.open(offset)?;
        if reader.position() != stream {
            return Err(self.damaged("no entry begins there"));
        }
        self.read_entry(offset, end)
    }

    fn open(&self, offset: u64) -> Result<(Reader, EntryKind, u64), CopyError> {
        let mut reader = Reader::new(Arc::clone(&self.file), offset);
        let bytes = reader.peek().map_err(|e| self.file.error(e))?;
        let (kind, size, length) = header(bytes, offset).map_err(|what| self.damaged(what))?;
        reader.skip(length);
        Ok((reader, kind, size))
    }

    fn crc(&self, from: u64, to: u64) -> Result<u32, CopyError> {
        let mut hasher = crc32fast::Hasher::new();
        self.file.read_pieces(from, to, |piece| hasher.update(piece))?;
        Ok(hasher.finalize())
    }

    /// Gives every delta its id: those that build on known objects first, then those that build on them.
    /// With `skip`, one that cannot be built has no id in the end, and nothing that builds on it.
    pub(crate) fn resolve(&mut self, skip: bool) -> Result<(), CopyError> {
        let mut on_offset: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut on_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        let mut known = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            match item.kind {
                EntryKind::Whole(_) => known.push(at),
                EntryKind::OffsetDelta { base } => on_offset.entry(base).or_default().push(at),
                EntryKind::IdDelta { base } => on_id.entry(base).or_default().push(at),
            }
        }
        while let Some(at) = known.pop() {
            let item = &self.items[at];
            let Some((_, id)) = item.object else { continue };
            let mut waiting = on_offset.remove(&item.offset).unwrap_or_default();
            waiting.extend(on_id.remove(&id).unwrap_or_default());
            self.by_id.entry(id).or_insert(at);
            for child in waiting {
                let object = match self.build(child) {
                    Err(_) if skip => continue,
                    built => built?,
                };
                let id = object::id_of(object.kind, &object.data);
                let id = id.ok_or_else(|| self.damaged("a forged collision"))?;
                self.items[child].object = Some((object.kind, id));
                known.push(child);
            }
        }
        Ok(())
    }

    /// The object of an entry whose base is known.
    pub(crate) fn build(&self, at: usize) -> Result<Arc<Object>, CopyError> {
        let mut deltas = Vec::new();
        let mut held = 0;
        let mut at = at;
        let mut object = loop {
            let item = &self.items[at];
            if let Some(object) = self.cache.get(&Key::Place(0, item.offset)) {
                break object;
            }
            let (mut reader, kind, size) = self.open(item.offset)?;
            held += size;
            if held > MEMORY_LIMIT || deltas.len() > MAX_DELTA_CHAIN {
                return Err(CopyError::TooLarge { size });
            }
            let read = reader.read_rest(Vec::new(), size);
            let data = read.map_err(|e| CopyError::inflating(&self.file, e))?;
            let base = match kind {
                EntryKind::Whole(kind) => break Arc::new(Object { kind, data }),
                EntryKind::OffsetDelta { base } => self.by_offset.get(&base),
                EntryKind::IdDelta { base } => self.by_id.get(&base),
            };
            deltas.push((item.offset, data));
            at = *base.ok_or_else(|| self.damaged("a delta builds on nothing"))?;
        };
        while let Some((offset, delta)) = deltas.pop() {
            let bad = |e: delta::BadDelta| self.damaged(e.0);
            let size = delta::sizes(&delta).map_err(bad)?.result;
            if size > MEMORY_LIMIT {
                return Err(CopyError::TooLarge { size });
            }
            let data = delta::apply(&object.data, &delta).map_err(bad)?;
            object = Arc::new(Object { kind: object.kind, data });
            self.cache.insert(Key::Place(0, offset), &object);
        }
        Ok(object)
    }

    fn entries(&self) -> Result<Vec<IndexEntry>, CopyError> {
        let mut entries = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let (_, id) = item
                .object
                .ok_or_else(|| self.damaged("a delta builds on an object that is not in it"))?;
            entries.push(IndexEntry { id, crc: item.crc, offset: item.offset });
        }
        entries.sort_unstable_by_key(|entry| entry.id);
        Ok(entries)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::testing::{Fresh, git_output};

    /// A store with one pack that git made, deltas included, and the pack's name.
    fn packed() -> (Fresh, String) {
        let fresh = Fresh::new();
        let mut text = String::new();
        for line in 0..400 {
            text += &line.to_string();
            text += " is a line of a file that grows\n";
            if line % 40 == 0 {
                let made =
                    git_output(&fresh.store(), &["hash-object", "-w", "--stdin"], text.as_bytes());
                assert!(made.status.success());
            }
        }
        let ids = fresh.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
        let path = fresh.store().join("objects/pack/pack");
        let made = git_output(
            &fresh.store(),
            &["pack-objects", "-q", "--delta-base-offset", path.to_str().unwrap()],
            ids.as_bytes(),
        );
        let stem = format!("pack-{}", String::from_utf8(made.stdout).unwrap().trim());
        (fresh, stem)
    }

    fn set_aside(fresh: &Fresh) -> SetAside {
        SetAside::open(&fresh.dirs, "20260102-030405".to_owned()).unwrap()
    }

    #[test]
    fn a_rebuilt_index_is_the_one_git_made() {
        let (fresh, stem) = packed();
        let directory = fresh.dirs.objects().open_dir("pack").unwrap();
        let path = fresh.store().join(format!("objects/pack/{stem}.idx"));
        let original = std::fs::read(&path).unwrap();
        for damage in [None, Some(&b"torn"[..])] {
            std::fs::remove_file(&path).unwrap();
            if let Some(bytes) = damage {
                std::fs::write(&path, bytes).unwrap();
            }
            let rebuilt = rebuild_index(&fresh.dirs, &directory, &stem, &set_aside(&fresh));
            assert_eq!(rebuilt.unwrap(), Ok(10));
            assert_eq!(std::fs::read(&path).unwrap(), original);
        }
        let kept = fresh.store().join("herma/set-aside");
        let kept = kept.join(format!("20260102-030405-{stem}.idx"));
        assert_eq!(std::fs::read(kept).unwrap(), b"torn");
    }

    #[test]
    fn a_damaged_pack_gets_no_index_and_stays() {
        let (fresh, stem) = packed();
        let directory = fresh.dirs.objects().open_dir("pack").unwrap();
        let path = fresh.store().join(format!("objects/pack/{stem}.pack"));
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(path.with_extension("idx")).unwrap();
        for at in [0, 7, 11, 12, 60, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            let rebuilt = rebuild_index(&fresh.dirs, &directory, &stem, &set_aside(&fresh));
            assert!(rebuilt.unwrap().is_err(), "{at}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            assert!(!path.with_extension("idx").exists());
        }
    }

    #[test]
    fn crafted_packs_are_refused() {
        use sha1::Digest;
        let fresh = Fresh::new();
        let directory = fresh.dirs.objects().open_dir("pack").unwrap();
        let crafted: [&[u8]; 5] = [
            b"",
            b"PACK\0\0\0\x02\xff\xff\xff\xff",
            b"PACK\0\0\0\x02\0\0\0\x01\x33",
            b"PACK\0\0\0\x02\0\0\0\x01\x65\x01xxxxxxxxxxxxxxxx",
            b"PACK\0\0\0\x02\0\0\0\0trailing bytes",
        ];
        for (at, bytes) in crafted.iter().enumerate() {
            let mut bytes = bytes.to_vec();
            let sum = sha1::Sha1::digest(&bytes);
            bytes.extend_from_slice(&sum);
            let stem = format!("pack-{at}");
            let path = fresh.store().join(format!("objects/pack/{stem}.pack"));
            std::fs::write(path, bytes).unwrap();
            let rebuilt = rebuild_index(&fresh.dirs, &directory, &stem, &set_aside(&fresh));
            assert!(rebuilt.unwrap().is_err(), "{at}");
        }
    }
}
