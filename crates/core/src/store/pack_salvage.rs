//! Takes what is whole out of a damaged pack that has no index, or one with wrong bytes.
//!
//! The pack is read from its start. Behind damage, the next entry is looked for: a zlib stream begins
//! with one of few pairs of bytes, and an entry counts only if it inflates to exactly the size before it
//! and its checksum is right. What nobody else has goes into a new pack. One without an index is set aside; one
//! with an index stays, for there may be more to read by it.

use std::time::Duration;

use herma_fs::Dir;
use herma_fs::publish::Durability;

use super::copy::CopyError;
use super::error::StoreError;
use super::layout::StoreDirs;
use super::objects::Objects;
use super::pack_files::OpenFile;
use super::pack_read::FIRST_ENTRY;
use super::pack_rebuild::Scan;
use super::pack_rebuild::open_pack;
use super::pack_write::PackWriter;
use super::set_aside::SetAside;
use crate::id::ObjectId;

/// How much is searched for the beginning of an entry at a time.
const PIECE: u64 = 1 << 16;

/// No header of an entry is longer: a size, and the id or the place of a base.
const LONGEST_HEADER: u64 = 32;

/// How often an entry is looked for where none need be: a crafted pack has as many such places as bytes.
const MOST_TRIES: u64 = 4_000_000;

/// What was taken out of a damaged pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedPack {
    /// The pack's name without an extension.
    pub pack: String,
    /// How many of its objects were saved, which nothing else in the store had.
    pub saved: u64,
    /// How many of its objects cannot be read, as far as it tells how many it had.
    pub lost: u64,
    /// Where it is now, relative to the store; `None` if it stayed where it was.
    pub set_aside: Option<String>,
}

/// Saves what can be read of a pack that no reader can use, or not all of. `None`, and nothing changed, if it has nothing
/// that is not elsewhere, too. `set_aside` is for one that has no index.
pub(crate) fn salvage(
    dirs: &StoreDirs,
    directory: &Dir,
    stem: &str,
    objects: &Objects,
    set_aside: Option<&SetAside>,
) -> Result<Option<SalvagedPack>, StoreError> {
    let Ok((scan, count)) = read_what_can_be_read(directory, stem) else {
        // It stays where it is, and in the report.
        return Ok(None);
    };
    // Whoever collects moves the same files.
    let _collect = dirs.lock_collect(Duration::ZERO)?;
    let nothing = |_: &ObjectId| Ok(false);
    let writer = PackWriter::new(dirs, &nothing)?;
    let (mut readable, mut saved) = (0, 0);
    for (at, item) in scan.items.iter().enumerate() {
        let Some((_, id)) = item.object else { continue };
        // What an index names is not always where it says.
        let is_listed = objects.contains_listed(&id).is_ok_and(|is| is);
        let is_elsewhere = is_listed && objects.is_whole(&id).is_ok();
        if !is_elsewhere {
            let Ok(object) = scan.build(at) else { continue };
            writer.add(object.kind, &object.data)?;
            saved += 1;
        }
        readable += 1;
    }
    if saved == 0 {
        return Ok(None);
    }
    let files = [format!("{stem}.idx"), format!("{stem}.pack")];
    // The new pack has the name of the old one if it holds the same: what is to be kept is kept before.
    let mut kept = None;
    for file in &files {
        if let Some(set_aside) = set_aside
            && directory.stat_opt(file.as_str())?.is_some()
        {
            kept = Some(set_aside.keep(directory, file)?);
        }
    }
    // ORDER: what was saved is durable before the pack it comes from goes.
    let new = writer.finish(Durability::Synced)?;
    let is_replaced = new.iter().any(|new| files.contains(&new.pack_file()));
    if set_aside.is_some() && !is_replaced {
        for file in &files {
            match directory.remove_file(file.as_str()) {
                Err(e) if !e.is_not_found() => return Err(e.into()),
                _ => {}
            }
        }
        directory.sync()?;
    }
    Ok(Some(SalvagedPack {
        pack: stem.to_owned(),
        saved,
        lost: u64::from(count).saturating_sub(readable),
        set_aside: kept,
    }))
}

/// Every entry that is whole, and how many there should be.
pub(crate) fn read_what_can_be_read(directory: &Dir, stem: &str) -> Result<(Scan, u32), CopyError> {
    let file = open_pack(directory, stem)?;
    let mut count = [0; 4];
    file.read_exact_at(&mut count, FIRST_ENTRY - 4)?;
    // Of a pack that was cut off, the last bytes are no checksum.
    let end = file.stat.size;
    let mut scan = Scan::new(file);
    let mut offset = FIRST_ENTRY;
    let mut tries = MOST_TRIES;
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
    Ok((scan, u32::from_be_bytes(count)))
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
            let first = stream.saturating_sub(LONGEST_HEADER).max(from);
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
    use crate::store::object::Kind;
    use crate::store::testing::Fresh;

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
        let salvaged = salvage(&fresh.dirs, &directory, &stem, &objects, Some(&aside));
        let salvaged = salvaged.unwrap().unwrap();
        assert_eq!((salvaged.saved, salvaged.lost), (1, 0));
        let kept = fresh.store().join(salvaged.set_aside.unwrap());
        assert_eq!(std::fs::read(kept).unwrap(), damaged);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        assert_eq!(objects.read(&id).unwrap().data, b"content");
        fresh.git(&["fsck", "--strict"]);
    }
}
