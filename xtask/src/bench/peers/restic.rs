//! restic: deduplicating backups, encrypted as always.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Peer, Places, Restored, first_line, install, memory_of};
use crate::Result;
use crate::bench::disk;
use crate::bench::measure::time;

/// A repository.
pub struct Restic {
    program: PathBuf,
    root: PathBuf,
    store: PathBuf,
}

impl Restic {
    /// A repository for `root`; an error where restic is not installed.
    pub fn new(places: &Places, root: &Path) -> Result<Self> {
        Ok(Self {
            program: install::restic(&places.peers)?,
            root: root.to_owned(),
            store: places.store("restic"),
        })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--quiet")
            .args(args)
            .current_dir(&self.root)
            .env("RESTIC_REPOSITORY", self.store.join("repository"))
            .env("RESTIC_CACHE_DIR", self.store.join("cache"))
            .env("RESTIC_PASSWORD", "bench");
        command
    }

    fn backup(&self) -> Command {
        self.command(&["backup", "."])
    }
}

impl Peer for Restic {
    fn name(&self) -> &'static str {
        "restic"
    }

    fn version(&self) -> Result<String> {
        let line = first_line(&mut self.command(&["version"]))?;
        let words: Vec<&str> = line.split(' ').take(2).collect();
        Ok(words.join(" "))
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn prepare(&mut self) -> Result<()> {
        disk::make_anew(&self.store)?;
        time(&mut self.command(&["init", "--repository-version", "2"])).map(drop)
    }

    fn save(&mut self) -> Result<Duration> {
        time(&mut self.backup())
    }

    fn restore(&mut self, wanted: Restored) -> Result<Option<Duration>> {
        if wanted == Restored::Changed {
            return Ok(None);
        }
        time(&mut self.command(&["restore", "latest", "--target", "."])).map(Some)
    }

    fn size(&self) -> Result<u64> {
        disk::bytes_below(&self.store.join("repository"), &[])
    }

    fn memory(&mut self) -> Result<Option<u64>> {
        memory_of(&self.backup())
    }

    fn most_rounds(&self) -> usize {
        3
    }
}
