//! Was a project deleted, or is it merely not there?
//!
//! A path that does not exist proves nothing: its volume may be unmounted, its server asleep, its
//! automounter slow. It counts as deleted only if the very directory it was in is there and does not have
//! it. That directory is known again by everything that was recorded of it while the project lived:
//! device and inode, when it was made, and the number of its file system. Device and inode alone are those
//! of any volume mounted in its place, because all roots of a kind have one inode and device numbers are
//! given anew; so they suffice only for a directory that is no volume's root.
//!
//! An empty directory is no witness, because a mount point without its volume looks like that, unless a
//! volume is mounted on it. A project that was a volume of its own is never taken for deleted. And one that
//! is found in its directory under another name was renamed.
//!
//! If the directories above are gone as well, the nearest one that is left testifies, by its file system: that is the
//! recorded one only if no volume is missing. Moved with them, a project looks like that too, so it does not count
//! as deleted before it was left alone for long ([`Presence::GoneWithParents`]).
//!
//! Everything else is doubt, and doubt keeps checkpoints.
//!
//! # Limits
//!
//! Hermes records nothing of the project itself and only device and inode of the directory above. Of a
//! project only Hermes saved it cannot be seen that it was renamed, or was a volume whose mount point
//! is removed when it is unmounted; and of a directory on a volume, but not its root, that another volume
//! with the same numbers is mounted. A project that was moved to another directory looks deleted from
//! where it was, whoever saved it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use herma_fs::{Dir, Entry, Errno, FileKind, stat_path};

use herma_records::identity::Places;

use crate::directory::Place;

/// Whether a project is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Something is where the project was.
    Live,
    /// It was deleted, on positive evidence.
    Gone,
    /// It is gone with the directories it was in, from a file system that is there.
    GoneWithParents,
    /// It is not there, but nothing proves that it was deleted.
    OutOfReach(Doubt),
    /// The store does not know where it was.
    Unknown,
}

impl Presence {
    /// Was it deleted?
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone | Self::GoneWithParents)
    }
}

/// Why a project that is not there does not count as deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// Nobody recorded which directory it was in.
    #[error("it was not recorded which directory it was in")]
    NoRecord,
    /// The directory it was in is not there either.
    #[error("the directory it was in is missing too")]
    ParentGone,
    /// Another directory is where its own was: another volume, or none.
    #[error("the directory it was in is not the one it was, perhaps a volume is not mounted")]
    ParentReplaced,
    /// The directory it was in is empty, as a mount point without its volume is.
    #[error("the directory it was in is empty, perhaps a volume is not mounted")]
    EmptyParent,
    /// The directory it was in is the root of a volume, and nobody recorded which volume that was.
    #[error("it was at the top of a volume, and it was not recorded which one that was")]
    AnyVolume,
    /// It was a volume of its own, which may only be unmounted.
    #[error("it was a volume of its own, perhaps not mounted now")]
    WasMountPoint,
    /// It was renamed.
    #[error("it is at {} now, and `herma doctor --adopt` there takes its checkpoints over", to.display())]
    Moved {
        /// Where it is now.
        to: PathBuf,
    },
    /// The system would not say; this is its answer.
    #[error("its place cannot be read: {0}")]
    Unreadable(String),
}

/// Whether the project at `workdir` is still there, given what was recorded while it lived.
pub(crate) fn presence(workdir: Option<&Path>, recorded: &Places) -> Presence {
    let Some(workdir) = workdir.filter(|path| path.is_absolute()) else { return Presence::Unknown };
    match stat_path(workdir) {
        // A link without a target counts: somebody put it there, perhaps to a volume that is not mounted.
        Ok(Some(_)) => return Presence::Live,
        Ok(None) => {}
        Err(error) => return Presence::OutOfReach(unreadable(error)),
    }
    let (Some(place), Some(name)) = (workdir.parent(), workdir.file_name()) else {
        return Presence::Unknown;
    };
    match missing_from(place, name, recorded) {
        Ok(presence) => presence,
        Err(doubt) => Presence::OutOfReach(doubt),
    }
}

/// Asks the directory that should have `name`.
fn missing_from(place: &Path, name: &OsStr, recorded: &Places) -> Result<Presence, Doubt> {
    let parent = recorded.parent.ok_or(Doubt::NoRecord)?;
    if recorded.own_dev.is_some_and(|dev| dev != parent.dev) {
        return Err(Doubt::WasMountPoint);
    }
    let dir = match open_witness(place, &parent) {
        Err(Doubt::ParentGone) => return gone_with_parents(place, name, &parent),
        dir => dir?,
    };
    // Asked of the open directory: a volume that is mounted or unmounted meanwhile changes nothing.
    let found = dir.stat_opt(name.as_bytes()).map_err(unreadable)?;
    if found.is_some() {
        return Ok(Presence::Live);
    }
    let entries = dir.entries().map_err(unreadable)?;
    if entries.is_empty() && !is_mount_point(place, &dir)? {
        return Err(Doubt::EmptyParent);
    }
    if let Some(own) = recorded.own {
        look_for(&own, &dir, place, &entries)?;
    }
    Ok(Presence::Gone)
}

/// The directory it was in is gone as well. An unmounted volume looks like that; but what is left of the path is on
/// the file system the project was on only if that is there, and has the project no more.
fn gone_with_parents(place: &Path, name: &OsStr, recorded: &Place) -> Result<Presence, Doubt> {
    for above in place.ancestors().skip(1) {
        let dir = match Dir::open(above) {
            Err(error) if error.is_not_found() => continue,
            Err(error) if error.errno() == Some(Errno::NOTDIR) => {
                return Err(Doubt::ParentReplaced);
            }
            dir => dir.map_err(unreadable)?,
        };
        let now = Place::of(&dir).map_err(unreadable)?;
        let is_same = (now.dev, now.file_system) == (recorded.dev, recorded.file_system);
        if recorded.file_system.is_none() || !is_same {
            return Err(Doubt::ParentGone);
        }
        let entries = dir.entries().map_err(unreadable)?;
        return match look_for(recorded, &dir, above, &entries) {
            // The directory it was in has another name now.
            Err(Doubt::Moved { to })
                if stat_path(&to.join(name)).map_err(unreadable)?.is_some() =>
            {
                Err(Doubt::Moved { to: to.join(name) })
            }
            Ok(()) | Err(Doubt::Moved { .. }) => Ok(Presence::GoneWithParents),
            Err(doubt) => Err(doubt),
        };
    }
    Err(Doubt::ParentGone)
}

/// Opens the directory at `place`, if it is the one that was recorded.
fn open_witness(place: &Path, recorded: &Place) -> Result<Dir, Doubt> {
    let dir = Dir::open(place).map_err(|error| match error.errno() {
        Some(Errno::NOENT) => Doubt::ParentGone,
        Some(Errno::NOTDIR) => Doubt::ParentReplaced,
        _ => unreadable(error),
    })?;
    let now = Place::of(&dir).map_err(unreadable)?;
    if !recorded.is_still(&now) {
        return Err(Doubt::ParentReplaced);
    }
    if recorded.born.is_none() && is_mount_point(place, &dir)? {
        return Err(Doubt::AnyVolume);
    }
    Ok(dir)
}

/// Looks for the project under another name. One is enough: a directory has one name.
fn look_for(own: &Place, dir: &Dir, place: &Path, entries: &[Entry]) -> Result<(), Doubt> {
    let may_be = [FileKind::Directory, FileKind::Unknown];
    for entry in entries.iter().filter(|entry| may_be.contains(&entry.kind)) {
        let name = entry.name.as_bytes();
        let found = dir.inode_of(name).map_err(unreadable)?;
        if found.is_some_and(|inode| own.may_be(&Place::from_inode(&inode))) {
            let to = place.join(OsStr::from_bytes(name));
            return Err(Doubt::Moved { to });
        }
    }
    Ok(())
}

/// Is the directory above on another device? A mount from the same device is not recognised, which
/// errs on the side of doubt.
fn is_mount_point(place: &Path, dir: &Dir) -> Result<bool, Doubt> {
    let Some(above) = place.parent() else { return Ok(true) };
    let dev = dir.stat_self().map_err(unreadable)?.dev;
    let above = stat_path(above).map_err(unreadable)?;
    Ok(above.is_some_and(|above| above.dev != dev))
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unreadable(error: herma_fs::Error) -> Doubt {
    Doubt::Unreadable(error.source.to_string())
}

#[cfg(test)]
#[path = "tests/facts/presence.rs"]
mod presence_tests;
