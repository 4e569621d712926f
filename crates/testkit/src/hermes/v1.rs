//! Repositories as the first version of Hermes wrote them, made by real git: one per project, directly
//! in the base, with commits on the branch of its `HEAD`.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::hermes::project_hash;
use crate::{Bounded, git};

/// The patterns of version 1, an older and shorter list.
const EXCLUDES: &str = "node_modules/\ndist/\nbuild/\n.env\n.env.*\n__pycache__/\n*.pyc\n.git/\n";

/// The checkpoints of Hermes's version 1.
#[derive(Debug)]
pub struct HermesV1 {
    base: PathBuf,
}

impl HermesV1 {
    /// Hermes with this directory for its checkpoints. `None`, loudly, when git is not installed.
    pub fn new(base: impl Into<PathBuf>) -> Option<Self> {
        git::available().then(|| Self { base: base.into() })
    }

    /// The repository of a project.
    ///
    /// # Panics
    ///
    /// If the project does not exist.
    pub fn repository(&self, directory: &Path) -> PathBuf {
        let directory = directory.canonicalize().expect("the project exists");
        self.base.join(project_hash(&directory))
    }

    /// Takes a checkpoint of `directory` and returns its id.
    ///
    /// # Panics
    ///
    /// If git fails.
    pub fn take(&self, directory: &Path, reason: &str) -> String {
        let directory = directory.canonicalize().expect("the project exists");
        let repository = self.repository(&directory);
        if !repository.join("HEAD").exists() {
            fs::create_dir_all(&repository).expect("the test's home is writable");
            must(self.git(&directory, &["init", "-q"]));
            let mut line = directory.as_os_str().as_bytes().to_vec();
            line.push(b'\n');
            fs::write(repository.join("HERMES_WORKDIR"), line).expect("it is writable");
            fs::create_dir_all(repository.join("info")).expect("it is writable");
            fs::write(repository.join("info/exclude"), EXCLUDES).expect("it is writable");
        }
        must(self.git(&directory, &["add", "-A"]));
        let commit = ["commit", "-q", "--allow-empty-message", "-m", reason];
        must(self.git(&directory, &commit));
        must(self.git(&directory, &["rev-parse", "HEAD"]))
    }

    /// Runs git on the repository of a project.
    pub fn git(&self, directory: &Path, args: &[&str]) -> Command {
        let mut command = git::command();
        command
            .env("GIT_DIR", self.repository(directory))
            .env("GIT_WORK_TREE", directory)
            .current_dir(directory)
            .args(args);
        command
    }
}

#[track_caller]
fn must(mut command: Command) -> String {
    let output = command.bounded_output().expect("git is installed");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
