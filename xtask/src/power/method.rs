//! Ways to keep the states of a project, each asked for the same things.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use herma_testkit::git;
use herma_testkit::git::Repository;
use herma_testkit::hermes::{HermesStore, project_hash};

use super::world::{Program, World, damage, id_of};
use crate::Result;

/// Who keeps the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `herma save`.
    Herma,
    /// `herma save --fast`, which does not wait for the disk, after a first save that does.
    HermaFast,
    /// `git add -A && git commit` with git's own defaults.
    Git,
    /// The same with `core.fsync=committed`.
    GitCommitted,
    /// One store beside all projects, written by git's plumbing, as Hermes v2 does it.
    Seed,
}

impl Method {
    /// What it is called in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Herma => "herma",
            Self::HermaFast => "herma save --fast",
            Self::Git => "git, defaults",
            Self::GitCommitted => "git, core.fsync=committed",
            Self::Seed => "the seed's method",
        }
    }
}

/// Projects kept by one method below one directory.
#[derive(Debug)]
pub struct Place {
    method: Method,
    world: World,
    store: PathBuf,
    /// The projects that have a checkpoint.
    saved: Mutex<BTreeSet<usize>>,
}

impl Place {
    /// A place for so many projects, made ready for the first snapshot.
    pub fn prepare(
        method: Method,
        program: &Program,
        base: &Path,
        projects: usize,
    ) -> Result<Self> {
        let place = Self {
            method,
            world: World::new(program, base),
            store: base.join("home/checkpoints/store"),
            saved: Mutex::default(),
        };
        for number in 0..projects {
            fs::create_dir_all(place.project(number))?;
            if matches!(method, Method::Git | Method::GitCommitted) {
                place.git(number, &["init", "-q"])?;
            }
            if method == Method::GitCommitted {
                place.git(number, &["config", "core.fsync", "committed"])?;
            }
        }
        if method == Method::Seed {
            HermesStore::at(place.store.clone())?;
        }
        Ok(place)
    }

    /// The directory of a project.
    pub fn project(&self, number: usize) -> PathBuf {
        self.world.project(number)
    }

    /// Runs git in a project, with nothing but the repository's own settings.
    fn git(&self, number: usize, args: &[&str]) -> Result<String> {
        let mut command = git::command();
        command.current_dir(self.project(number)).args(args);
        let output = command.output()?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("git {args:?}: {}", words.trim()).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Keeps the present state of a project, which must have changed. Returns the id it can be had by.
    pub fn snapshot(&self, number: usize) -> Result<String> {
        match self.method {
            Method::Herma | Method::HermaFast => {
                let mut args = vec!["save", "--wait", "60"];
                if self.method == Method::HermaFast && self.note_saved(number) {
                    args.push("--fast");
                }
                let answer = self.world.ask(number, &args);
                let answer = answer.map_err(|failure| failure.words)?;
                Ok(id_of(&answer)?.to_owned())
            }
            Method::Git | Method::GitCommitted => {
                self.git(number, &["add", "-A"])?;
                self.git(number, &["commit", "-q", "-m", "snapshot"])?;
                self.git(number, &["rev-parse", "HEAD"])
            }
            Method::Seed => {
                let store = HermesStore::at(self.store.clone())?;
                let taken = store.try_take(&self.project(number), "snapshot")?;
                taken.ok_or_else(|| "nothing was taken, although something changed".into())
            }
        }
    }

    /// Notes that a project is saved, and returns whether it was before.
    fn note_saved(&self, number: usize) -> bool {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        !saved.insert(number)
    }

    /// Frees what nothing needs, at once. It may fail beside others.
    pub fn collect(&self) -> Result<()> {
        match self.method {
            Method::Herma | Method::HermaFast => {
                let collected = self.world.ask(0, &["checkpoints", "gc"]);
                collected.map_err(|failure| failure.words)?;
                Ok(())
            }
            Method::Seed => Ok(HermesStore::at(self.store.clone())?.try_gc()?),
            Method::Git | Method::GitCommitted => {
                Err("a repository of its own is not collected".into())
            }
        }
    }

    fn repository(&self, number: usize) -> Repository {
        match self.method {
            Method::Herma | Method::HermaFast | Method::Seed => Repository::at(&self.store),
            Method::Git | Method::GitCommitted => Repository::at(self.project(number).join(".git")),
        }
    }

    /// What git has to say against the stores of so many projects.
    pub fn damage(&self, projects: usize) -> Option<String> {
        let apart = matches!(self.method, Method::Git | Method::GitCommitted);
        let stores = if apart { projects } else { 1 };
        (0..stores).find_map(|number| damage(&self.repository(number)))
    }

    /// The ids a project's history still has.
    fn history(&self, number: usize) -> Result<BTreeSet<String>> {
        let reference = match self.method {
            Method::Herma | Method::HermaFast => {
                // Where some checkpoints are damaged, the others are listed nevertheless.
                let answer = match self.world.ask(number, &["list"]) {
                    Ok(answer) => answer,
                    Err(failure) => failure.answer.ok_or(failure.words)?,
                };
                let checkpoints = answer["checkpoints"].as_array().into_iter().flatten();
                let ids = checkpoints.filter_map(|one| one["id"].as_str());
                return Ok(ids.map(str::to_owned).collect());
            }
            Method::Git | Method::GitCommitted => "HEAD".to_owned(),
            Method::Seed => {
                let directory = self.project(number).canonicalize()?;
                format!("refs/hermes/{}", project_hash(&directory))
            }
        };
        let listed = self.repository(number).git(["rev-list", &reference]);
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// Which of these snapshots are not in the history of their project, or cannot be read to the last file.
    pub fn lost<'a>(&self, snapshots: &'a [(usize, String)]) -> Vec<&'a str> {
        let mut lost = Vec::new();
        let projects: BTreeSet<usize> = snapshots.iter().map(|(number, _)| *number).collect();
        for number in projects {
            // A history that cannot be read has nothing in it.
            let history = self.history(number).unwrap_or_default();
            let own = snapshots.iter().filter(|(of, _)| *of == number);
            let gone = own.filter(|(_, id)| !history.contains(id) || !self.is_readable(number, id));
            lost.extend(gone.map(|(_, id)| id.as_str()));
        }
        lost
    }

    fn is_readable(&self, number: usize, id: &str) -> bool {
        let mut archive: Command = self.repository(number).command();
        let archive = archive.args(["archive", "--format=tar", id]);
        let status = archive.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}
