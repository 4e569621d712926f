//! Real git as the oracle: what it says about a store is what Herma must have meant.
//!
//! Every call runs with no configuration but the repository's own, a fixed identity and nothing from
//! the caller's environment, so a developer's settings cannot change a test.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::Bounded;
use crate::output::Output;
use crate::tree::{Node, Tree};

/// Is git installed? The calling test counts as skipped if not, and returns.
pub fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    let found = AVAILABLE.get_or_init(|| {
        let said = Command::new("git").arg("--version").bounded_output();
        said.is_ok_and(|output| output.status.success())
    });
    let otherwise = "git is not installed, nothing is compared with it";
    crate::skips::needs("git", *found, otherwise)
}

/// Where git is. A command that clears its environment and has to be searched for is started by copying this process, which takes
/// longer than most of git's answers.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).map(|place| place.join("git"));
        places.find(|git| git.is_file()).unwrap_or_else(|| "git".into())
    })
}

/// A git command that sees only what is set here.
pub fn command() -> Command {
    let mut command = Command::new(program());
    command.env_clear();
    for kept in ["PATH", "TMPDIR"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
        .stdin(Stdio::null())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.com"]);
    command
}

/// A repository asked by its directory, with or without a working directory.
#[derive(Clone, Debug)]
pub struct Repository {
    git_dir: PathBuf,
}

impl Repository {
    /// The repository whose git directory is `git_dir`. It need not exist yet.
    pub fn at(git_dir: impl Into<PathBuf>) -> Self {
        Self { git_dir: git_dir.into() }
    }

    /// Runs `git --git-dir=… args`.
    ///
    /// # Panics
    ///
    /// If git is not installed: ask [`available`] first.
    #[must_use = "assert `.success()` or `.code(n)`"]
    pub fn git(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        let output = self.command().args(args).bounded_output().expect("git is installed");
        Output::new(output, Vec::new())
    }

    /// A command on this repository, to which environment and arguments can be added.
    pub fn command(&self) -> Command {
        let mut command = command();
        command.arg("--git-dir").arg(&self.git_dir);
        command
    }

    /// Asserts that `git fsck --strict --full` finds nothing to say. Skips loudly without git.
    #[track_caller]
    pub fn fsck(&self) {
        self.check("--dangling");
    }

    /// The same, where objects nobody needs are no surprise: a file that changed while it was saved leaves one.
    #[track_caller]
    pub fn fsck_but_dangling(&self) {
        self.check("--no-dangling");
    }

    #[track_caller]
    fn check(&self, dangling: &str) {
        if !available() {
            return;
        }
        if let Some(damage) = self.damage(dangling) {
            panic!("git fsck finds the store damaged {damage}");
        }
    }

    /// What git has to say against the store, and how it ended; nothing if it is whole. `dangling` is an option of
    /// `git fsck` that says whether objects that nobody needs are worth a word.
    ///
    /// # Panics
    ///
    /// If git is not installed: ask [`available`] first.
    pub fn damage(&self, dangling: &str) -> Option<String> {
        let output = self.git(["fsck", "--strict", "--full", "--no-progress", dangling]);
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said);
        let words: Vec<&str> = said
            .lines()
            // A store without branches has an unborn HEAD, which git mentions and which is meant.
            .filter(|line| !line.starts_with("notice:"))
            .collect();
        let is_whole = output.status.success() && words.is_empty();
        (!is_whole).then(|| format!("({}):\n{}", output.status, words.join("\n")))
    }

    /// The tree of a commit, in the form of [`Tree::as_git`].
    #[track_caller]
    pub fn tree(&self, commit: &str) -> Tree {
        let listing = self.git(["ls-tree", "-r", "-z", "--full-tree", commit]).success();
        let mut entries = Vec::new();
        for line in listing.stdout.split(|b| *b == 0).filter(|line| !line.is_empty()) {
            let tab =
                line.iter().position(|b| *b == b'\t').expect("ls-tree puts a tab before the path");
            let facts =
                std::str::from_utf8(&line[..tab]).expect("ls-tree prints mode, kind and id");
            let [mode, _kind, id] = facts.split(' ').collect::<Vec<_>>()[..] else {
                panic!("ls-tree prints mode, kind and id, not {facts:?}");
            };
            entries.push((line[tab + 1..].to_vec(), mode.to_owned(), id.to_owned()));
        }
        let blobs = self.blobs(entries.iter().map(|(_, _, id)| id.as_str()));
        let mut tree = Tree::new();
        for (path, mode, id) in entries {
            let bytes = blobs[&id].clone();
            let node = match mode.as_str() {
                "120000" => Node::Link(bytes),
                "100755" => Node::File { bytes, mode: 0o755 },
                "100644" => Node::File { bytes, mode: 0o644 },
                other => panic!("{}: mode {other} in {commit}", path.escape_ascii()),
            };
            tree.0.insert(path, node);
        }
        tree
    }

    /// The contents of many blobs by one process.
    fn blobs<'a>(&self, ids: impl Iterator<Item = &'a str>) -> BTreeMap<String, Vec<u8>> {
        let mut child = self
            .command()
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .bounded_spawn()
            .expect("git is installed");
        let mut input = child.stdin.take().expect("standard input is a pipe");
        let request: String = ids.flat_map(|id| [id, "\n"]).collect();
        // Apart, because git answers while it is still being asked.
        let asking = std::thread::spawn(move || input.write_all(request.as_bytes()));
        let output = child.bounded_output().expect("git can be waited for");
        asking.join().expect("asking does not panic").expect("git reads its input");
        let mut blobs = BTreeMap::new();
        let mut rest = &output.stdout[..];
        while !rest.is_empty() {
            let end = rest.iter().position(|b| *b == b'\n').expect("cat-file answers in lines");
            let header = std::str::from_utf8(&rest[..end]).expect("cat-file answers in text");
            let [id, "blob", size] = header.split(' ').collect::<Vec<_>>()[..] else {
                panic!("git cat-file: {header}");
            };
            let size: usize = size.parse().expect("cat-file prints a size");
            blobs.insert(id.to_owned(), rest[end + 1..end + 1 + size].to_vec());
            rest = &rest[end + 1 + size + 1..];
        }
        blobs
    }

    /// Where the git directory is.
    pub fn path(&self) -> &Path {
        &self.git_dir
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committed_tree_is_read_back_whole() {
        if !available() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        let mut tree = Tree::of_files([("a", "one"), ("b/c\n", "two\n"), ("empty", "")]);
        tree.insert("run", Node::File { bytes: b"#!".to_vec(), mode: 0o755 });
        tree.insert("link", Node::Link(b"a".to_vec()));
        tree.write(&work);
        let repository = Repository::at(directory.path().join("git"));
        let run = |args: &[&str]| {
            let output =
                repository.command().arg("--work-tree").arg(&work).args(args).bounded_output();
            assert!(output.unwrap().status.success(), "{args:?}");
        };
        run(&["init", "-q"]);
        run(&["add", "-A"]);
        run(&["commit", "-qm", "first"]);
        assert_eq!(repository.tree("HEAD"), tree.as_git());
        repository.fsck();
        let object = repository.git(["rev-parse", "HEAD:a"]).success().line().to_owned();
        let path = repository.path().join("objects").join(&object[..2]).join(&object[2..]);
        std::fs::remove_file(path).unwrap();
        let damaged = std::panic::catch_unwind(|| repository.fsck());
        assert!(damaged.is_err(), "a missing object is noticed");
    }
}
