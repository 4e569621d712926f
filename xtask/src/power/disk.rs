//! A small ext4 file system in a file, which can lose its power.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use crate::Result;

/// So large the image is; most of it is never written.
const IMAGE_BYTES: u64 = 96 << 20;
/// A process that just ended may hold the mount for a moment.
const UNMOUNT_TRIES: usize = 200;

/// How a file system is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mount {
    /// ext4 as it comes: new data is on disk before the metadata that names it, if it was allocated.
    Ordered,
    /// The same without the help ext4 gives to programs that rename without syncing.
    NoAutoDaAlloc,
    /// Metadata may reach the disk long before the data.
    Writeback,
}

impl Mount {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ordered, Self::NoAutoDaAlloc, Self::Writeback];

    /// The word for it on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::NoAutoDaAlloc => "noauto_da_alloc",
            Self::Writeback => "writeback",
        }
    }

    /// The mount of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mount| mount.name() == name)
    }

    const fn options(self) -> &'static str {
        match self {
            Self::Ordered => "loop,data=ordered",
            Self::NoAutoDaAlloc => "loop,data=ordered,noauto_da_alloc",
            Self::Writeback => "loop,data=writeback",
        }
    }
}

/// The file system, mounted or not.
#[derive(Debug)]
pub struct Disk {
    image: PathBuf,
    mounted_at: PathBuf,
    mount: Mount,
}

impl Disk {
    /// A disk whose image and mount point are in this directory. It has no file system yet.
    pub fn new(directory: &Path, mount: Mount) -> Result<Self> {
        let mounted_at = directory.join("disk");
        fs::create_dir_all(&mounted_at)?;
        Ok(Self { image: directory.join("image"), mounted_at, mount })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mounted_at
    }

    /// Makes a new file system and mounts it.
    pub fn format(&self) -> Result<()> {
        // A new file, so that nothing of the last one shines through.
        let _ = fs::remove_file(&self.image);
        File::create(&self.image)?.set_len(IMAGE_BYTES)?;
        done(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&self.image))?;
        self.mount()
    }

    fn mount(&self) -> Result<()> {
        let mut mount = Command::new("mount");
        mount.args(["-o", self.mount.options()]).arg(&self.image);
        done(mount.arg(&self.mounted_at))
    }

    /// Takes it away as one does with a disk that works.
    pub fn unmount(&self) -> Result<()> {
        let mut tries = 0;
        loop {
            match done(Command::new("umount").arg(&self.mounted_at)) {
                Err(error) if tries == UNMOUNT_TRIES => return Err(error),
                Err(_) => tries += 1,
                Ok(()) => return Ok(()),
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Cuts the power: what was not written is gone, and everything fails from here on.
    pub fn cut(&self) -> Result<()> {
        Ok(herma_testkit::power::cut(&self.mounted_at)?)
    }

    /// Brings it back after a cut, when nobody uses it any more. The journal is replayed.
    pub fn power_up(&self) -> Result<()> {
        self.unmount()?;
        self.mount()
    }

    /// Writes everything to the disk.
    pub fn sync(&self) -> Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.mounted_at)?)?)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It may not be mounted; and the namespace it is mounted in ends with this process.
        let _ = Command::new("umount").arg(&self.mounted_at).output();
    }
}

/// Runs a command that says nothing when all is well.
fn done(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}", words.trim()).into())
}
