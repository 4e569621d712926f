//! Git with a repository outside the tree and a warm index, as a script that keeps states would use it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Peer, Places, Restored, first_line, memory_of};
use crate::Result;
use crate::bench::disk;
use crate::bench::measure::{time, time_and_output};

/// A repository and its settings.
pub struct Git {
    root: PathBuf,
    git_dir: PathBuf,
    has_untracked_cache: bool,
    newest: Option<String>,
}

impl Git {
    /// A repository with the defaults of git; an error where git is not installed.
    pub fn new(places: &Places, root: &Path) -> Result<Self> {
        if !herma_testkit::git::available() {
            return Err("git, which is not installed".into());
        }
        Ok(Self::at(places.store("git"), root))
    }

    /// The same with what git offers for large trees.
    pub fn with_untracked_cache(places: &Places, root: &Path) -> Result<Self> {
        Self::new(places, root)?;
        Ok(Self {
            has_untracked_cache: true,
            ..Self::at(places.store("git-untracked-cache"), root)
        })
    }

    fn at(git_dir: PathBuf, root: &Path) -> Self {
        Self { root: root.to_owned(), git_dir, has_untracked_cache: false, newest: None }
    }

    /// A git command in this repository.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = herma_testkit::git::command();
        command
            .args(args)
            .current_dir(&self.root)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", &self.root);
        command
    }

    /// The last state that was kept.
    pub fn newest(&self) -> Result<&str> {
        Ok(self.newest.as_deref().ok_or("git kept nothing yet")?)
    }
}

impl Peer for Git {
    fn name(&self) -> &'static str {
        match self.has_untracked_cache {
            false => "git",
            true => "git, untracked cache",
        }
    }

    fn version(&self) -> Result<String> {
        first_line(&mut self.command(&["--version"]))
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn prepare(&mut self) -> Result<()> {
        self.newest = None;
        disk::make_anew(&self.git_dir)?;
        time(&mut self.command(&["init", "--quiet"]))?;
        let settings: &[[&str; 2]] = match self.has_untracked_cache {
            false => &[],
            true => &[["core.untrackedCache", "true"], ["index.version", "4"]],
        };
        for [name, value] in settings {
            time(&mut self.command(&["config", name, value]))?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Duration> {
        let add = time(&mut self.command(&["add", "-A"]))?;
        let (write, tree) = time_and_output(&mut self.command(&["write-tree"]))?;
        let mut arguments = vec!["commit-tree", "-m", "bench", tree.trim()];
        if let Some(parent) = &self.newest {
            arguments.extend(["-p", parent]);
        }
        let (commit, id) = time_and_output(&mut self.command(&arguments))?;
        let id = id.trim().to_owned();
        // Not part of what is timed, but it keeps the history for those who list it.
        time(&mut self.command(&["update-ref", "HEAD", &id]))?;
        self.newest = Some(id);
        Ok(add + write + commit)
    }

    /// What was there before is not kept, other than by Herma.
    fn restore(&mut self, _: Restored) -> Result<Option<Duration>> {
        let newest = self.newest()?;
        time(&mut self.command(&["read-tree", "--reset", "-u", newest])).map(Some)
    }

    fn size(&self) -> Result<u64> {
        disk::bytes_below(&self.git_dir.join("objects"), &[])
    }

    fn is_variant(&self) -> bool {
        self.has_untracked_cache
    }

    fn memory(&mut self) -> Result<Option<u64>> {
        memory_of(&self.command(&["add", "-A"]))
    }
}
