//! What the tests of the store share: a fresh store, and real git as the judge.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{StoreDirs, layout};

pub(crate) const STAMP: &str = "20260102-030405";

/// A store in a temporary directory.
pub(crate) struct Fresh {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) dirs: StoreDirs,
}

impl Fresh {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let dirs = layout::create_or_open(&directory.path().join("checkpoints"), STAMP).unwrap();
        Self { directory, dirs }
    }

    pub(crate) fn store(&self) -> std::path::PathBuf {
        self.directory.path().join("checkpoints/store")
    }

    /// Runs git on the store and returns what it printed; fails the test if git fails.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.store(), arguments)
    }

    /// Git finds nothing wrong with the store.
    pub(crate) fn assert_sound(&self) {
        self.git(&["fsck", "--strict", "--full"]);
    }

    /// The names in `herma/tmp`.
    pub(crate) fn temporary_files(&self) -> Vec<String> {
        names(&self.store().join("herma/tmp"))
    }
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub(crate) fn git(store: &Path, arguments: &[&str]) -> String {
    let output = git_output(store, arguments, b"");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[allow(clippy::disallowed_methods)]
pub(crate) fn git_output(store: &Path, arguments: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
        .args(arguments)
        .current_dir(store.parent().unwrap())
        .env("GIT_DIR", store)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}
