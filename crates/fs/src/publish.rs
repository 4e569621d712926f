//! The one way a file becomes visible: written beside, synced, renamed, directory synced.
//!
//! A reader sees the old file or the new one, never a mix, and what [`Temp::publish`] returned for has
//! survived a power cut. A [`Temp`] that is dropped removes its file; one whose process was killed is
//! found by its name ([`crate::process::TempName`]) and swept.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;

use crate::error::is_without_modes;
use crate::process::TempName;
use crate::{Dir, Error, FileKind, Result};

/// Does the caller need the bytes to survive a power cut?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Synced before it is named, and the name synced too.
    Synced,
    /// Synced before it is named. A power cut may take the name back, never leave it without its bytes.
    Ordered,
    /// May be lost or torn by a power cut; the reader checks and can rebuild it.
    Cache,
}

/// A file being written that nobody can see yet.
#[derive(Debug)]
pub struct Temp<'d> {
    dir: &'d Dir,
    name: String,
    file: File,
    published: bool,
}

impl<'d> Temp<'d> {
    /// Starts a file in `dir`, which is on the same file system as where it will be published.
    pub fn create(dir: &'d Dir) -> Result<Self> {
        let name = TempName::next().to_string();
        let file = dir.create_new(name.as_str())?;
        Ok(Self { dir, name, file, published: false })
    }

    /// The same with mode 0600, whatever the umask.
    pub fn create_private(dir: &'d Dir) -> Result<Self> {
        let temp = Self::create(dir)?;
        temp.set_mode(0o600)?;
        Ok(temp)
    }

    /// Starts a file under a name other programs agree on, such as git's `HEAD.lock`; fails if the
    /// name is taken. Dropped or published it behaves like any other, but if the process is killed
    /// nothing tells whose it was.
    pub fn create_as(dir: &'d Dir, name: &str) -> Result<Self> {
        let file = dir.create_new(name)?;
        Ok(Self { dir, name: name.to_owned(), file, published: false })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The temporary name, in the directory it was created in.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn error(&self, verb: &'static str, source: std::io::Error) -> Error {
        Error::on(verb, &self.dir.path().join(&self.name), source)
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.error("write", e))
    }

    /// Overwrites bytes at `offset`.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|e| self.error("write", e))
    }

    /// Undoes everything from `length` on; the next bytes are appended there.
    pub fn cut(&mut self, length: u64) -> Result<()> {
        self.file
            .set_len(length)
            .and_then(|()| self.file.seek(SeekFrom::Start(length)))
            .map(drop)
            .map_err(|e| self.error("shorten", e))
    }

    /// Makes the content durable. An error is final: the file must be discarded and written anew,
    /// because the kernel may have dropped the pages it could not write.
    pub fn sync(&self) -> Result<()> {
        match rustix::fs::fsync(&self.file) {
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(e) => Err(self.error("sync", e.into())),
        }
    }

    /// Sets the permission bits, where there are any.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        match rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode as _)) {
            Err(errno) if !is_without_modes(errno) => {
                Err(self.error("set the mode of", errno.into()))
            }
            _ => Ok(()),
        }
    }

    /// Gives the file what another one has from its owner: owner and group, as far as they differ, and the
    /// attributes that users put on files (`user.*`).
    pub fn take_owner_of(&self, other: &File) -> Result<()> {
        // ORDER: before the owner changes, while the file is ours to mark.
        crate::file::copy_user_attributes(other, &self.file)
            .map_err(|e| self.error("set the attributes of", e.into()))?;
        let owner = |file: &File| {
            let stat = rustix::fs::fstat(file).map_err(|e| self.error("look at", e.into()))?;
            Ok((stat.st_uid, stat.st_gid))
        };
        let (uid, gid) = owner(other)?;
        if owner(&self.file)? == (uid, gid) {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        rustix::fs::fchown(&self.file, Some(uid), Some(gid))
            .map_err(|e| self.error("set the owner of", e.into()))
    }

    /// Leaves the file under its temporary name, to be swept once this process is gone.
    pub fn leave(mut self) {
        self.published = true;
    }

    /// Renames the file to `to/name`, replacing what is there. The directory is not synced here, so
    /// that several files can share one sync.
    pub fn publish(mut self, to: &Dir, name: &str) -> Result<()> {
        self.dir.rename(self.name.as_str(), to, name)?;
        self.published = true;
        Ok(())
    }

    /// Gives the file the name `to/name` if that is free; tells whether it was.
    pub fn publish_new(mut self, to: &Dir, name: &str) -> Result<bool> {
        match self.dir.rename_new(self.name.as_str(), to, name) {
            Ok(()) => {
                self.published = true;
                Ok(true)
            }
            Err(e) if e.is_exists() => Ok(false),
            Err(e) => Err(e),
        }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.published {
            // A file that cannot be removed now is swept once this process is gone.
            let _ = self.dir.remove_file(self.name.as_str());
        }
    }
}

/// Writes a whole small file so that a reader sees the old content or the new one.
pub fn write_file(
    temp_dir: &Dir,
    to: &Dir,
    name: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<()> {
    let mut temp = Temp::create(temp_dir)?;
    temp.write(bytes)?;
    if durability != Durability::Cache {
        // ORDER: content before name, or a power cut may leave an empty file under the name.
        temp.sync()?;
    }
    temp.publish(to, name)?;
    if durability == Durability::Synced {
        to.sync()?;
    }
    Ok(())
}

/// Removes what processes that are gone left in `dir` under a temporary name. One that cannot be removed harms
/// nobody, and is tried again the next time.
pub fn sweep(dir: &Dir) {
    for entry in dir.entries().unwrap_or_default() {
        let owner = TempName::parse(entry.name.as_bytes());
        if owner.is_some_and(|owner| !owner.owner_lives()) {
            let _ = dir.remove_file(&*entry.name);
        }
    }
}

/// How many files of one name are put aside under one stamp.
const MAX_SAME_NAMES: u32 = 100_000;

/// Has `put` try names that begin with `stamp` and end with `name`, until it finds one that is free; returns it.
pub fn free_name(stamp: &str, name: &str, put: impl Fn(&str) -> Result<()>) -> Result<String> {
    let mut number = 1;
    loop {
        let new = match number {
            1 => format!("{stamp}-{name}"),
            _ => format!("{stamp}-{number}-{name}"),
        };
        match put(&new) {
            Ok(()) => return Ok(new),
            Err(e) if e.is_exists() && number < MAX_SAME_NAMES => number += 1,
            Err(e) => return Err(e),
        }
    }
}

/// Replaces a large cache by writing over the blocks of the old one, which costs a quarter of freeing and
/// allocating them; `changed` says where it differs from that, if it does not everywhere. The file is taken out of
/// its place meanwhile, so a reader finds no cache, or one whose checksum does not fit; a crash loses it.
pub fn rewrite_cache(
    temp_dir: &Dir,
    to: &Dir,
    name: &str,
    bytes: &[u8],
    changed: &[Range<usize>],
) -> Result<()> {
    let aside = TempName::next().to_string();
    // What is no file is not ours, and could not be swept as one.
    let there = to.stat_opt(name)?;
    if there.is_some_and(|stat| stat.kind != FileKind::File) {
        return Err(Error::on("write", &to.path().join(name), Errno::EXIST));
    }
    match to.rename(name, temp_dir, aside.as_str()) {
        Ok(()) => {}
        Err(e) if e.is_not_found() => {
            return write_file(temp_dir, to, name, bytes, Durability::Cache);
        }
        Err(e) => return Err(e),
    }
    let written = temp_dir.open_existing(aside.as_str()).and_then(|file| {
        write_over(&file, bytes, changed)
            .map_err(|e| Error::on("write", &temp_dir.path().join(&aside), e))
    });
    match written {
        Ok(()) => temp_dir.rename(aside.as_str(), to, name),
        Err(e) => {
            // Swept with this process if it cannot be removed now.
            let _ = temp_dir.remove_file(aside.as_str());
            Err(e)
        }
    }
}

fn write_over(file: &File, bytes: &[u8], changed: &[Range<usize>]) -> std::io::Result<()> {
    let length = bytes.len() as u64;
    if file.metadata()?.len() != length {
        file.write_all_at(bytes, 0)?;
        return file.set_len(length);
    }
    changed
        .iter()
        .try_for_each(|range| file.write_all_at(&bytes[range.clone()], range.start as u64))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

    use super::*;

    #[test]
    fn what_is_no_cache_is_left_where_it_is() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        dir.ensure_dir("cache", 0o700).unwrap();
        rewrite_cache(&dir, &dir, "cache", b"content", &[]).unwrap_err();
        assert_eq!(dir.entries().unwrap().len(), 1);
        assert_eq!(dir.stat("cache").unwrap().kind, FileKind::Directory);
    }

    #[test]
    fn a_file_that_takes_an_owner_takes_the_notes_of_the_owner_too() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let old = dir.create_new("settings").unwrap();
        match fsetxattr(&old, "user.note", b"mine", XattrFlags::empty()) {
            // Nothing to be kept where nothing can be.
            Err(Errno::NOTSUP) => return,
            set => set.unwrap(),
        }
        let temp = Temp::create(&dir).unwrap();
        temp.take_owner_of(&old).unwrap();
        temp.publish(&dir, "settings").unwrap();
        let new = dir.open_file("settings").unwrap();
        let mut note = [0; 8];
        let length = fgetxattr(&new, "user.note", &mut note[..]).unwrap();
        assert_eq!(&note[..length], b"mine");
    }
}
