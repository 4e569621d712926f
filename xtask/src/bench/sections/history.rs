//! Two hundred states of a project, one after the other: a repository's commits, or a made-up history.
//!
//! The made-up one is the same on every machine. Its steps are what people and agents do: a few files get
//! some lines changed, now and then one is added, renamed or removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use herma_testkit::random::Random;

use crate::Result;
use crate::bench::measure::time;
use crate::bench::tree;

const SEED: u64 = 3;
const FILES: usize = 700;

/// Where the states come from.
pub enum History {
    /// The newest commits of a repository, oldest first.
    Commits { git_dir: PathBuf, index: PathBuf, commits: Vec<String> },
    /// Made up.
    MadeUp(Box<MadeUp>),
}

/// A history that is made up as it goes.
pub struct MadeUp {
    random: Random,
    files: Vec<PathBuf>,
    steps: usize,
    added: usize,
}

impl History {
    /// The last `steps` commits of a repository. `place` is for git's index.
    pub fn of_repository(repository: &Path, place: &Path, steps: usize) -> Result<Self> {
        let inside = repository.join(".git");
        let git_dir = if inside.exists() { inside } else { repository.to_owned() };
        let mut list = git(&git_dir);
        list.args(["rev-list", "--first-parent", "--reverse"]);
        list.arg(format!("--max-count={steps}")).arg("HEAD");
        let output = list.output()?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {words}", repository.display()).into());
        }
        let commits = String::from_utf8(output.stdout)?;
        Ok(Self::Commits {
            git_dir,
            index: place.join("index"),
            commits: commits.lines().map(str::to_owned).collect(),
        })
    }

    /// A history of so many steps that nobody wrote.
    pub fn made_up(steps: usize) -> Self {
        Self::MadeUp(Box::new(MadeUp {
            random: Random::new(SEED),
            files: Vec::new(),
            steps,
            added: 0,
        }))
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Commits { commits, .. } => commits.len(),
            Self::MadeUp(history) => history.steps,
        }
    }

    /// Brings `work` from the state before to this one.
    pub fn step(&mut self, work: &Path, number: usize) -> Result<()> {
        match self {
            Self::Commits { git_dir, index, commits } => {
                let mut command = git(git_dir);
                command.env("GIT_INDEX_FILE", index);
                command.env("GIT_WORK_TREE", work).current_dir(work);
                command.args(["read-tree", "--reset", "-u", &commits[number]]);
                time(&mut command).map(drop)
            }
            Self::MadeUp(history) if number == 0 => history.begin(work),
            Self::MadeUp(history) => history.go_on(),
        }
    }
}

fn git(git_dir: &Path) -> Command {
    let mut command = herma_testkit::git::command();
    command.env("GIT_DIR", git_dir);
    command
}

impl MadeUp {
    fn begin(&mut self, work: &Path) -> Result<()> {
        tree::generate(work, FILES)?;
        collect_files(work, &mut self.files)?;
        self.files.sort();
        Ok(())
    }

    fn go_on(&mut self) -> Result<()> {
        for _ in 0..1 + self.random.below(5) {
            let at = self.pick();
            self.edit(at)?;
        }
        match self.random.below(10) {
            0 | 1 => self.add(),
            2 => self.rename(),
            3 => {
                let at = self.pick();
                Ok(fs::remove_file(self.files.swap_remove(at))?)
            }
            _ => Ok(()),
        }
    }

    /// Some files are worked on all the time, most hardly ever.
    fn pick(&mut self) -> usize {
        let busy = self.files.len() / 20;
        if self.random.one_in(3) {
            self.random.below(self.files.len())
        } else {
            self.random.below(busy)
        }
    }

    /// Changes one to three runs of lines.
    fn edit(&mut self, at: usize) -> Result<()> {
        let text = fs::read_to_string(&self.files[at])?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..1 + self.random.below(3) {
            let from = self.random.below(lines.len());
            let until = (from + self.random.below(4)).min(lines.len());
            let mut new = String::new();
            let size = 40 * self.random.below(8);
            tree::fill(&mut new, size, &mut self.random);
            lines.splice(from..until, new.lines().map(str::to_owned));
        }
        lines.push(String::new());
        Ok(fs::write(&self.files[at], lines.join("\n"))?)
    }

    fn add(&mut self) -> Result<()> {
        self.added += 1;
        let at = self.pick();
        let path = self.files[at].with_file_name(format!("added_{}.rs", self.added));
        let mut text = String::new();
        let size = 500 + self.random.below(6_000);
        tree::fill(&mut text, size, &mut self.random);
        fs::write(&path, text)?;
        self.files.push(path);
        Ok(())
    }

    fn rename(&mut self) -> Result<()> {
        self.added += 1;
        let at = self.pick();
        let to = self.files[at].with_file_name(format!("renamed_{}.rs", self.added));
        fs::rename(&self.files[at], &to)?;
        self.files[at] = to;
        Ok(())
    }
}

/// The regular files below a directory.
fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect_files(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
