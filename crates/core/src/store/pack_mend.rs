//! Writes a pack anew whose first or last bytes are damaged, and nothing else.
//!
//! Git reads nothing of a pack that begins or ends wrongly, although every object in it is whole. What has
//! to stand there is known: its index has the number of objects and the checksum of the whole pack. Only if
//! what lies between has exactly that checksum, the pack is written once more. The old one is not set aside: it
//! has nothing that the new one has not.

use std::sync::Arc;
use std::time::Duration;

use herma_fs::Dir;
use sha1::Digest;

use super::copy::CopyError;
use super::error::StoreError;
use super::layout::StoreDirs;
use super::layout::private_temp;
use super::pack_files::OpenFile;
use super::pack_read::FIRST_ENTRY;
use super::pack_read::Pack;

/// How much is read at a time.
const PIECE: u64 = 1 << 20;

/// The checksum at the end of a pack.
const CHECKSUM: u64 = 20;

/// Mends the ends of a pack; tells whether it did. If they are not what is wrong with it, nothing is changed.
pub(crate) fn mend_ends(
    dirs: &StoreDirs,
    directory: &Dir,
    pack: &Pack,
) -> Result<bool, StoreError> {
    let Ok(Some(damaged)) = Damaged::look(pack) else {
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
    temp.publish(directory, &format!("{}.pack", pack.stem()))?;
    directory.sync()?;
    pack.close();
    Ok(true)
}

/// A pack of which only the ends are wrong.
struct Damaged {
    file: Arc<OpenFile>,
    /// What it has to begin with.
    header: [u8; FIRST_ENTRY as usize],
    /// What it has to end with.
    checksum: [u8; CHECKSUM as usize],
}

impl Damaged {
    fn look(pack: &Pack) -> Result<Option<Self>, CopyError> {
        let file = pack.file()?;
        if file.stat.size < FIRST_ENTRY + CHECKSUM {
            return Ok(None);
        }
        let mut begins = [0; FIRST_ENTRY as usize];
        file.read_exact_at(&mut begins, 0)?;
        let mut ends = [0; CHECKSUM as usize];
        file.read_exact_at(&mut ends, file.stat.size - CHECKSUM)?;
        let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
        header[8..].copy_from_slice(&pack.index().count().to_be_bytes());
        let damaged = Self {
            file,
            header,
            checksum: *pack.index().pack_trailer(),
        };
        if begins == header && ends == damaged.checksum {
            return Ok(None);
        }
        let is_whole_between = damaged.read(|_| ())? == damaged.checksum;
        Ok(is_whole_between.then_some(damaged))
    }

    /// Reads what lies between the ends; returns the checksum of that behind the right beginning.
    fn read(&self, mut each: impl FnMut(&[u8])) -> Result<[u8; CHECKSUM as usize], CopyError> {
        let mut hasher = sha1::Sha1::new();
        hasher.update(self.header);
        let end = self.file.stat.size - CHECKSUM;
        let mut piece = vec![0; PIECE.min(end) as usize];
        let mut done = FIRST_ENTRY;
        while done < end {
            let wanted = PIECE.min(end - done) as usize;
            self.file.read_exact_at(&mut piece[..wanted], done)?;
            hasher.update(&piece[..wanted]);
            each(&piece[..wanted]);
            done += wanted as u64;
        }
        Ok(hasher.finalize().into())
    }
}
