//! Takes what is whole out of a damaged pack, and the pack out of the way.
//!
//! The pack is read from its start. Behind damage, the next entry is looked for: a zlib stream begins
//! with one of few pairs of bytes, and an entry counts only if it inflates to exactly the size before it
//! and its checksum is right. What no other pack has whole goes into a new one; then the damaged pack is set aside with its index,
//! so that nobody relies any more on what only its index says it has.

use std::collections::HashSet;
use std::time::Duration;

use herma_fs::Dir;
use herma_fs::publish::Durability;

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::object::copy::{CopyError, OpenFile};
use crate::objects::Objects;
use crate::pack::read::FIRST_ENTRY;
use crate::pack::sign::PackSign;
use crate::pack::write::PackWriter;
use crate::repair::rebuild::{Scan, open_pack};
use crate::repair::set_aside::SetAside;

/// How much is searched for the beginning of an entry at a time.
const PIECE: u64 = 1 << 16;

/// No header of an entry is longer: a size, and the id or the place of a base.
const MAX_HEADER_BYTES: u64 = 32;

/// How often an entry is looked for where none need be: a crafted pack has as many such places as bytes.
const MAX_TRIES: u64 = 4_000_000;

/// What was taken out of a damaged pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedPack {
    /// The pack's name without an extension.
    pub pack: String,
    /// How many of its objects were saved, which nothing else in the store had.
    pub saved: u64,
    /// Where it is now, relative to the store.
    pub set_aside: String,
}

/// Saves what can be read of a damaged pack, and sets it aside. `None`, and nothing changed, if the disk does not give it back, if
/// something whole in it cannot be taken out, or if it has no index and nothing to save: a save that was killed leaves such a pack.
pub fn salvage(
    dirs: &StoreDirs,
    directory: &Dir,
    stem: &str,
    objects: &Objects,
    set_aside: &SetAside,
) -> Result<Option<SalvagedPack>, StoreError> {
    let scan = match read_what_can_be_read(directory, stem) {
        Ok(scan) => Some(scan),
        Err(CopyError::Fs(_)) => return Ok(None),
        // It is no file at all.
        Err(_) => None,
    };
    // Whoever collects moves the same files.
    let _collect = dirs.lock_collect(Duration::ZERO)?;
    let nothing = |_: &ObjectId| Ok(false);
    let writer = PackWriter::new(dirs, &nothing)?;
    if !take_out(scan.as_ref(), stem, objects, &writer)? {
        return Ok(None);
    }
    let saved = writer.object_count() as u64;
    let index = directory.stat_opt(format!("{stem}.idx").as_str())?;
    if saved == 0 && index.is_none() {
        return Ok(None);
    }
    Ok(Some(SalvagedPack {
        pack: stem.to_owned(),
        saved,
        set_aside: replace(dirs, directory, stem, objects, (writer, set_aside))?,
    }))
}

/// Takes out of a pack what no other one has whole. `false` if something of that is too large.
fn take_out(
    scan: Option<&Scan>,
    stem: &str,
    objects: &Objects,
    writer: &PackWriter<'_>,
) -> Result<bool, StoreError> {
    let packs = objects.packs()?;
    let is_whole_in = |stem: &str, id: &ObjectId| objects.is_whole_in(stem, id).is_ok_and(|is| is);
    let is_elsewhere = |id: &ObjectId| {
        let mut others = packs.iter().filter(|pack| pack.stem() != stem);
        others.any(|pack| is_whole_in(pack.stem(), id))
    };
    let mut seen = HashSet::new();
    let items = scan.into_iter().flat_map(|scan| {
        let numbered = scan.items.iter().enumerate();
        numbered.filter_map(move |(at, item)| Some((scan, at, item.object?.1)))
    });
    for (scan, at, id) in items {
        if seen.insert(id) && !is_elsewhere(&id) {
            let Ok(object) = scan.build(at) else { return Ok(false) };
            writer.add(object.kind, &object.data)?;
        }
    }
    // Its index may lead to what was not found without it.
    let own = packs.iter().filter(|pack| pack.stem() == stem);
    for (id, _) in own.flat_map(|pack| pack.index().entries()).flatten() {
        if seen.insert(id) && is_whole_in(stem, &id) && !is_elsewhere(&id) {
            let Ok(object) = objects.read(&id) else { return Ok(false) };
            writer.add(object.kind, &object.data)?;
        }
    }
    Ok(true)
}

/// Publishes what was saved and sets the pack aside that it comes from; returns where that is now.
fn replace(
    dirs: &StoreDirs,
    directory: &Dir,
    stem: &str,
    objects: &Objects,
    (writer, set_aside): (PackWriter<'_>, &SetAside),
) -> Result<String, StoreError> {
    let files = [format!("{stem}.idx"), format!("{stem}.pack")];
    // The new pack has the name of the old one if it holds the same: what is to be kept is kept before.
    let mut kept = String::new();
    for file in &files {
        if directory.stat_opt(file.as_str())?.is_some() {
            kept = set_aside.keep(directory, file)?;
        }
    }
    // ORDER: what was saved is durable before the pack it comes from goes.
    let new = writer.finish(Durability::Synced)?;
    if !new.iter().any(|new| files.contains(&new.pack_file())) {
        // Nobody has to look for this one.
        let now = objects.signed_packs_now()?;
        PackSign::note_collection(dirs, now, |going| going == stem)?;
        for file in &files {
            directory.remove_if_there(file)?;
        }
        directory.sync()?;
    }
    Ok(kept)
}

/// Every entry that is whole.
pub(crate) fn read_what_can_be_read(directory: &Dir, stem: &str) -> Result<Scan, CopyError> {
    let file = open_pack(directory, stem)?;
    // Of a pack that was cut off, the last bytes are no checksum.
    let end = file.stat.size;
    let mut scan = Scan::new(file);
    let mut offset = FIRST_ENTRY;
    let mut tries = MAX_TRIES;
    while offset < end {
        offset = match scan.read_entry(offset, end) {
            Ok(next) => next,
            Err(CopyError::Fs(e)) => return Err(e.into()),
            Err(_) => match next_entry(&mut scan, offset + 1, end, &mut tries)? {
                Some(next) => next,
                None => break,
            },
        };
    }
    scan.resolve(true)?;
    Ok(scan)
}

/// Looks for an entry that is whole from `from` on, and reads it; returns where the next one begins.
fn next_entry(
    scan: &mut Scan,
    from: u64,
    end: u64,
    tries: &mut u64,
) -> Result<Option<u64>, CopyError> {
    let mut at = from;
    while at < end && *tries > 0 {
        let piece = read_piece(&scan.file, at, end)?;
        for (stream, pair) in (at..).zip(piece.windows(2)) {
            if pair[0] != 0x78 || u16::from_be_bytes([pair[0], pair[1]]) % 31 != 0 {
                continue;
            }
            let first = stream.saturating_sub(MAX_HEADER_BYTES).max(from);
            for start in (first..stream).rev() {
                *tries = tries.saturating_sub(1);
                // Anything that is not exactly an entry fails; so does a part of a longer header.
                if let Ok(next) = scan.read_entry_with_stream_at(start, stream, end) {
                    return Ok(Some(next));
                }
            }
        }
        at += (piece.len() as u64).saturating_sub(1).max(1);
    }
    Ok(None)
}

fn read_piece(file: &OpenFile, at: u64, end: u64) -> Result<Vec<u8>, CopyError> {
    let mut piece = vec![0; (end - at).min(PIECE) as usize];
    file.read_exact_at(&mut piece, at)?;
    Ok(piece)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::object::Kind;
    use crate::testing::Fresh;

    #[test]
    fn a_salvaged_pack_that_has_the_name_of_the_old_one_stays_and_the_old_one_is_kept() {
        let fresh = Fresh::new();
        let nothing = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&fresh.dirs, &nothing).unwrap();
        let id = writer.add(Kind::Blob, b"content").unwrap();
        let name = writer.finish(Durability::Synced).unwrap()[0];
        let path = fresh.store().join("objects/pack").join(name.pack_file());
        let whole = std::fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        std::fs::remove_file(path.with_extension("idx")).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &damaged).unwrap();
        let directory = fresh.dirs.objects().open_dir("pack").unwrap();
        let objects = Objects::open(fresh.dirs.objects().try_clone().unwrap());
        let aside = SetAside::open(&fresh.dirs, "20260102-030405".to_owned()).unwrap();
        let stem = name.to_string();
        let salvaged = salvage(&fresh.dirs, &directory, &stem, &objects, &aside);
        let salvaged = salvaged.unwrap().unwrap();
        assert_eq!(salvaged.saved, 1);
        let kept = fresh.store().join(salvaged.set_aside);
        assert_eq!(std::fs::read(kept).unwrap(), damaged);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        assert_eq!(objects.read(&id).unwrap().data, b"content");
        fresh.git(&["fsck", "--strict"]);
    }
}
