//! Which directory it was: what can be recorded of one while it is there.
//!
//! A path alone says nothing about a directory that is missing. What is recorded here lets it be known
//! again: where it is now if it was renamed, and whether what stands in its place is another one.

use crate::{Dir, Inode};

/// One directory, as it was when somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The device, with the number Python's `st_dev` has.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// When it was made, nanoseconds since 1970; where that is known.
    pub born: Option<i64>,
    /// The number of its file system; where that is known.
    pub file_system: Option<u64>,
}

impl Place {
    /// An open directory.
    pub fn of(dir: &Dir) -> crate::Result<Self> {
        let place = Self::from_inode(&dir.inode()?);
        let file_system = dir.file_system_id();
        Ok(Self { file_system, ..place })
    }

    /// A directory that was only looked at, which does not tell its file system.
    pub fn from_inode(inode: &Inode) -> Self {
        Self { dev: st_dev(inode.dev), ino: inode.ino, born: inode.born, file_system: None }
    }

    /// Is `now` as it was recorded here, in everything that was?
    pub fn is_still(&self, now: &Self) -> bool {
        let same_file_system = self.file_system.is_none() || self.file_system == now.file_system;
        let same_birth = self.born.is_none() || self.born == now.born;
        (self.dev, self.ino) == (now.dev, now.ino) && same_birth && same_file_system
    }

    /// Can `now` be this directory under another name? Not if both say when they were made and differ.
    pub fn may_be(&self, now: &Self) -> bool {
        let same_birth = self.born.is_none() || now.born.is_none() || self.born == now.born;
        (self.dev, self.ino) == (now.dev, now.ino) && same_birth
    }
}

/// The device number as the C library packs it; an [`Inode`] keeps the two halves apart.
#[cfg(target_os = "linux")]
fn st_dev(dev: u64) -> u64 {
    let (major, minor) = (dev >> 32, dev & 0xffff_ffff);
    ((major & 0xffff_f000) << 32)
        | ((major & 0xfff) << 8)
        | ((minor & 0xffff_ff00) << 12)
        | (minor & 0xff)
}

#[cfg(not(target_os = "linux"))]
fn st_dev(dev: u64) -> u64 {
    dev
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    const RECORDED: Place = Place { dev: 8, ino: 2, born: Some(5), file_system: Some(7) };

    #[test]
    #[cfg(target_os = "linux")]
    fn the_device_has_the_number_the_c_library_gives_it() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let place = Place::of(&Dir::open(dir.path()).unwrap()).unwrap();
        let expected = std::fs::metadata(dir.path()).unwrap();
        assert_eq!((place.dev, place.ino), (expected.dev(), expected.ino()));
    }

    #[test]
    fn every_recorded_value_has_to_match() {
        assert!(RECORDED.is_still(&RECORDED));
        let others = [
            Place { dev: 9, ..RECORDED },
            Place { ino: 3, ..RECORDED },
            Place { born: Some(6), ..RECORDED },
            Place { born: None, ..RECORDED },
            Place { file_system: Some(8), ..RECORDED },
            Place { file_system: None, ..RECORDED },
        ];
        for now in others {
            assert!(!RECORDED.is_still(&now), "{now:?}");
        }
        let by_hermes = Place { born: None, file_system: None, ..RECORDED };
        assert!(by_hermes.is_still(&RECORDED), "what was not recorded");
    }

    #[test]
    fn a_directory_with_a_used_inode_is_another_one_if_it_was_made_later() {
        let now = |born| Place { born, file_system: None, ..RECORDED };
        assert!(RECORDED.may_be(&now(Some(5))));
        assert!(RECORDED.may_be(&now(None)), "nobody knows");
        assert!(!RECORDED.may_be(&now(Some(6))));
        assert!(!RECORDED.may_be(&Place { dev: 9, ..RECORDED }));
    }
}
