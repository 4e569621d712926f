//! borg: deduplicating backups, here without encryption.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Peer, Places, Restored, first_line, install, memory_of};
use crate::Result;
use crate::bench::disk;
use crate::bench::measure::time;

/// A repository.
pub struct Borg {
    program: install::Borg,
    root: PathBuf,
    store: PathBuf,
    kept: usize,
}

impl Borg {
    /// A repository for `root`; an error where borg is not installed.
    pub fn new(places: &Places, root: &Path) -> Result<Self> {
        Ok(Self {
            program: install::borg(&places.peers)?,
            root: root.to_owned(),
            store: places.store("borg"),
            kept: 0,
        })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program.command();
        command
            .args(args)
            .current_dir(&self.root)
            .env("BORG_BASE_DIR", &self.store)
            .env("BORG_REPO", self.store.join("repository"))
            .env("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes")
            .env("BORG_RELOCATED_REPO_ACCESS_IS_OK", "yes");
        command
    }

    fn create(&mut self) -> Command {
        self.kept += 1;
        self.command(&["create", &format!("::state-{}", self.kept), "."])
    }
}

impl Peer for Borg {
    fn name(&self) -> &'static str {
        "borg"
    }

    fn version(&self) -> Result<String> {
        first_line(&mut self.command(&["--version"]))
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn prepare(&mut self) -> Result<()> {
        self.kept = 0;
        disk::make_anew(&self.store)?;
        time(&mut self.command(&["init", "--encryption", "none"])).map(drop)
    }

    fn save(&mut self) -> Result<Duration> {
        time(&mut self.create())
    }

    fn restore(&mut self, wanted: Restored) -> Result<Option<Duration>> {
        if wanted == Restored::Changed {
            return Ok(None);
        }
        let state = format!("::state-{}", self.kept);
        time(&mut self.command(&["extract", &state])).map(Some)
    }

    fn size(&self) -> Result<u64> {
        disk::bytes_below(&self.store.join("repository"), &[])
    }

    fn memory(&mut self) -> Result<Option<u64>> {
        let command = self.create();
        memory_of(&command)
    }

    fn most_rounds(&self) -> usize {
        3
    }
}
