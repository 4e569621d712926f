//! jj, whose every command keeps the working copy first. It keeps its state inside the tree, so it has a
//! tree of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Peer, Places, Restored, first_line, install, memory_of};
use crate::Result;
use crate::bench::disk;
use crate::bench::measure::{time, time_and_output};

const SETTINGS: &str = "\
user.name = \"Bench\"
user.email = \"bench@example.com\"
ui.paginate = \"never\"
snapshot.max-new-file-size = \"4GiB\"
";

/// A repository.
pub struct Jj {
    program: PathBuf,
    root: PathBuf,
    settings: PathBuf,
    newest: Option<String>,
}

impl Jj {
    /// A repository inside `root`; an error where jj is not installed.
    pub fn new(places: &Places, root: &Path) -> Result<Self> {
        Ok(Self {
            program: install::jj(&places.peers)?,
            root: root.to_owned(),
            settings: places.store("jj.toml"),
            newest: None,
        })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(&self.root).env("JJ_CONFIG", &self.settings);
        command
    }

    fn snapshot(&self) -> Command {
        self.command(&["util", "snapshot"])
    }
}

impl Peer for Jj {
    fn name(&self) -> &'static str {
        "jj"
    }

    fn version(&self) -> Result<String> {
        first_line(&mut self.command(&["--version"]))
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn prepare(&mut self) -> Result<()> {
        self.newest = None;
        let state = self.root.join(".jj");
        if state.exists() {
            fs::remove_dir_all(state)?;
        }
        fs::write(&self.settings, SETTINGS)?;
        time(&mut self.command(&["git", "init", "--no-colocate"])).map(drop)
    }

    fn save(&mut self) -> Result<Duration> {
        let spent = time(&mut self.snapshot())?;
        let newest = [
            "operation",
            "log",
            "--ignore-working-copy",
            "--no-graph",
            "--limit=1",
            "--template=id",
        ];
        let (_, id) = time_and_output(&mut self.command(&newest))?;
        self.newest = Some(id);
        Ok(spent)
    }

    /// The present is kept first, as by Herma.
    fn restore(&mut self, _: Restored) -> Result<Option<Duration>> {
        let newest = self.newest.as_deref().ok_or("jj kept nothing yet")?;
        time(&mut self.command(&["operation", "restore", newest])).map(Some)
    }

    fn size(&self) -> Result<u64> {
        disk::bytes_below(&self.root.join(".jj"), &[])
    }

    fn memory(&mut self) -> Result<Option<u64>> {
        memory_of(&self.snapshot())
    }
}
