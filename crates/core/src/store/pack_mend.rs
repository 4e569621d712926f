//! Writes a pack anew of which only the ends are damaged: its first 12 bytes, its checksum, or where it stops.
//!
//! Git reads nothing of such a pack, although every object in it is whole. Where its entries end is found by reading them, and
//! what has to stand before and behind them is known: the name of a pack is its checksum, and its index has that and the number of
//! objects. Only if the entries have exactly that checksum, the pack is written once more. The old one is not set
//! aside: it has nothing that the new one has not.

use std::sync::Arc;
use std::time::Duration;

use herma_fs::Dir;
use sha1::Digest;

use super::copy::CopyError;
use super::error::StoreError;
use super::layout::StoreDirs;
use super::layout::private_temp;
use super::pack_check::checksum;
use super::pack_files::OpenFile;
use super::pack_finish;
use super::pack_read::FIRST_ENTRY;
use super::pack_read::Pack;
use super::pack_rebuild::Scan;
use super::pack_rebuild::open_pack;
use crate::id::ObjectId;

/// How much is read at a time.
const PIECE: u64 = 1 << 20;

/// The checksum at the end of a pack.
const CHECKSUM: u64 = 20;

type Checksum = [u8; CHECKSUM as usize];

/// Mends the ends of the pack `stem`; tells whether it did. If they are not what is wrong with it, nothing is
/// changed. `index` belongs to it, if one can be read.
pub(crate) fn mend_ends(
    dirs: &StoreDirs,
    directory: &Dir,
    stem: &str,
    index: Option<&Pack>,
) -> Result<bool, StoreError> {
    let Ok(Some(damaged)) = Damaged::look(directory, stem, index) else {
        // It stays as it is, and in the report.
        return Ok(false);
    };
    // Whoever collects moves the same files.
    let _collect = dirs.lock_collect(Duration::ZERO)?;
    let mut temp = private_temp(&dirs.for_writing()?.tmp)?;
    temp.write(&damaged.header)?;
    let mut written = Ok(());
    let again = damaged.read(|piece| {
        if written.is_ok() {
            written = temp.write(piece);
        }
    });
    written?;
    if again.ok() != Some(damaged.checksum) {
        // It was whole a moment ago: the disk does not say the same twice.
        return Ok(false);
    }
    temp.write(&damaged.checksum)?;
    temp.set_mode(0o400)?;
    // ORDER: content before name.
    temp.sync()?;
    temp.publish(directory, &format!("{stem}.pack"))?;
    directory.sync()?;
    if let Some(index) = index {
        index.close();
    }
    Ok(true)
}

/// A pack of which only the ends are wrong.
struct Damaged {
    file: Arc<OpenFile>,
    /// What it has to begin with.
    header: [u8; FIRST_ENTRY as usize],
    /// Where its entries end.
    end: u64,
    /// What it has to end with.
    checksum: Checksum,
}

impl Damaged {
    fn look(directory: &Dir, stem: &str, index: Option<&Pack>) -> Result<Option<Self>, CopyError> {
        let file = open_pack(directory, stem)?;
        if is_whole(&file)? {
            return Ok(None);
        }
        let hex = stem.strip_prefix("pack-").unwrap_or_default();
        let named = ObjectId::from_hex(hex.as_bytes()).map(|id| *id.as_bytes());
        let indexed = index.map(|pack| *pack.index().pack_trailer());
        let right: Vec<Checksum> = named.into_iter().chain(indexed).collect();
        let ends = ends_of_entries(&file);
        let mut counts = vec![ends.len() as u64 - 1, announced(&file)?];
        counts.extend(index.map(|pack| u64::from(pack.index().count())));
        counts.dedup();
        for count in counts {
            let Some(end) = ends.get(count as usize) else {
                continue;
            };
            let mut damaged = Self {
                file: Arc::clone(&file),
                header: pack_finish::header(count as u32),
                end: *end,
                checksum: Checksum::default(),
            };
            damaged.checksum = damaged.read(|_| ())?;
            if right.contains(&damaged.checksum) {
                return Ok(Some(damaged));
            }
        }
        Ok(None)
    }

    /// Reads the entries; returns the checksum of these behind the right beginning.
    fn read(&self, mut each: impl FnMut(&[u8])) -> Result<Checksum, CopyError> {
        let mut hasher = sha1::Sha1::new();
        hasher.update(self.header);
        let mut piece = vec![0; PIECE.min(self.end) as usize];
        let mut done = FIRST_ENTRY;
        while done < self.end {
            let wanted = PIECE.min(self.end - done) as usize;
            self.file.read_exact_at(&mut piece[..wanted], done)?;
            hasher.update(&piece[..wanted]);
            each(&piece[..wanted]);
            done += wanted as u64;
        }
        Ok(hasher.finalize().into())
    }
}

/// Is it its index, if anything, that is wrong?
fn is_whole(file: &OpenFile) -> Result<bool, CopyError> {
    let Some(end) = file.stat.size.checked_sub(CHECKSUM) else {
        return Ok(false);
    };
    let mut last = Checksum::default();
    file.read_exact_at(&mut last, end)?;
    Ok(checksum(file, end)? == last)
}

/// How many objects it says it has.
fn announced(file: &OpenFile) -> Result<u64, CopyError> {
    let mut count = [0; 4];
    file.read_exact_at(&mut count, FIRST_ENTRY - 4)?;
    Ok(u64::from(u32::from_be_bytes(count)))
}

/// Where entries begin and end: the first place, and the one behind each entry that can be read before one cannot.
fn ends_of_entries(file: &Arc<OpenFile>) -> Vec<u64> {
    let mut scan = Scan::new(Arc::clone(file));
    let mut ends = vec![FIRST_ENTRY];
    let mut offset = FIRST_ENTRY;
    while let Ok(next) = scan.read_entry(offset, file.stat.size) {
        ends.push(next);
        offset = next;
    }
    ends
}
