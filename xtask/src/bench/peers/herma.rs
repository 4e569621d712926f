//! Herma itself, as one whole process for each thing it is asked.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Peer, Places, Restored, first_line, memory_of};
use crate::Result;
use crate::bench::measure::time;
use crate::bench::sections::latency::wait_for_cleaning;
use crate::bench::{disk, measure};

/// A home with its settings.
pub struct Herma {
    program: PathBuf,
    root: PathBuf,
    home: PathBuf,
    kind: Kind,
}

/// What is peculiar about a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing; there is no limit that it could reach.
    Plain,
    /// It has as many checkpoints as it may, and is cleaned in the background.
    AtTheCap,
    /// The program of an earlier day.
    Before,
}

impl Kind {
    /// So many checkpoints are kept at the cap.
    pub const CAP: usize = 20;

    /// What a home like this is called in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "herma",
            Self::AtTheCap => "herma at the cap",
            Self::Before => "herma before",
        }
    }
}

impl Herma {
    /// A home for `root`.
    pub fn new(places: &Places, root: &Path, kind: Kind) -> Self {
        Self {
            program: match (kind, &places.before) {
                (Kind::Before, Some(before)) => before.clone(),
                _ => places.herma.clone(),
            },
            root: root.to_owned(),
            home: places.store(kind.name()),
            kind,
        }
    }

    /// A command in the project, with nothing in the background unless that is what is measured.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // The tree may lie inside another project: the benchmark is about this one.
        command
            .arg("--root")
            .arg(&self.root)
            .args(args)
            .current_dir(&self.root)
            .env("HERMES_HOME", &self.home)
            .env("NO_COLOR", "1");
        if self.kind != Kind::AtTheCap {
            command.env("HERMA_NO_BACKGROUND", "1");
        }
        command
    }

    fn save_command(&self) -> Command {
        self.command(&["save", "-m", "bench"])
    }

    /// The files of the last save. They are of one project.
    pub fn saved_files(&self) -> Result<HashSet<PathBuf>> {
        let git = |args: &[&str]| {
            let mut git = herma_testkit::git::command();
            git.env("GIT_DIR", self.home.join("checkpoints/store")).args(args);
            measure::time_and_output(&mut git).map(|(_, output)| output)
        };
        let refs = git(&["for-each-ref", "--format=%(refname)", "refs/hermes"])?;
        let newest = refs.lines().next_back().ok_or("nothing was saved")?;
        let names = git(&["ls-tree", "-r", "-z", "--name-only", newest])?;
        Ok(names.split_terminator('\0').map(PathBuf::from).collect())
    }

    /// Saves, and says what the checkpoint is called.
    pub fn saved_id(&self) -> Result<String> {
        let (_, output) = measure::time_and_output(&mut self.command(&["save", "--json"]))?;
        let saved: serde_json::Value = serde_json::from_str(&output)?;
        Ok(saved["checkpoint"]["id"].as_str().ok_or("a save without an id")?.to_owned())
    }

    /// A program that exits with 0 and saves nothing is very fast.
    fn check_saved(&self) -> Result<()> {
        let references = self.home.join("checkpoints/store/refs/hermes");
        let saved = fs::read_dir(references).is_ok_and(|entries| entries.count() > 0);
        match saved {
            true => Ok(()),
            false => Err("`herma save` did not save anything".into()),
        }
    }
}

impl Peer for Herma {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn version(&self) -> Result<String> {
        first_line(Command::new(&self.program).arg("--version"))
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn prepare(&mut self) -> Result<()> {
        disk::make_anew(&self.home)?;
        let most = match self.kind {
            Kind::AtTheCap => Kind::CAP,
            Kind::Plain | Kind::Before => 0,
        };
        fs::write(
            self.home.join("config.yaml"),
            format!(
                "checkpoints:\n  max_snapshots: {most}\n  max_file_size_mb: 0\n  max_total_size_mb: 0\n"
            ),
        )?;
        Ok(())
    }

    fn first(&mut self) -> Result<Duration> {
        let time = self.save()?;
        self.check_saved()?;
        Ok(time)
    }

    fn save(&mut self) -> Result<Duration> {
        let time = time(&mut self.save_command())?;
        if self.kind == Kind::AtTheCap {
            wait_for_cleaning(&self.home);
        }
        Ok(time)
    }

    /// The present is saved first, and all that is written is made durable.
    fn restore(&mut self, _: Restored) -> Result<Option<Duration>> {
        time(&mut self.command(&["restore", "@", "--all"])).map(Some)
    }

    fn size(&self) -> Result<u64> {
        disk::bytes_below(&self.home.join("checkpoints/store/objects"), &[])
    }

    fn is_variant(&self) -> bool {
        self.kind != Kind::Plain
    }

    fn memory(&mut self) -> Result<Option<u64>> {
        memory_of(&self.save_command())
    }
}
