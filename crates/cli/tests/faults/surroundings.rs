//! What a program runs in: mounts that only it sees, limits, and files that nobody may change.

use std::path::{Path, PathBuf};
use std::process::Command;

use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};
use herma_testkit::{Bounded, Output, TestEnv};

/// Runs the program in the project after a script of mounts that nobody else sees. The script knows the project
/// as `$PROJECT` and everything else by the usual variables.
#[must_use = "assert `.success()` or `.code(n)`"]
#[track_caller]
pub(super) fn mounted(env: &TestEnv, mounts: &str, args: &[&str]) -> Output {
    let script = format!("set -eu\n{mounts}\ncd \"$PROJECT\"; exec \"$HERMA\" \"$@\"");
    let words = ["-m", "sh", "-c", &script, "sh"];
    behind(env, "unshare", &words, args)
}

/// Runs the program in the project with a limit of `prlimit`, such as `--nofile=20`.
#[must_use = "assert `.success()` or `.code(n)`"]
#[track_caller]
pub(super) fn limited(env: &TestEnv, limit: &str, args: &[&str]) -> Output {
    let words = [limit, env!("CARGO_BIN_EXE_herma")];
    behind(env, "prlimit", &words, args)
}

/// Runs the program in the project where no file may have more than so many KiB, like one of 4 GiB on FAT.
#[must_use = "assert `.success()` or `.code(n)`"]
#[track_caller]
pub(super) fn with_small_files(env: &TestEnv, kib: u32, args: &[&str]) -> Output {
    // A limit of the process comes with a signal, one of a file system does not.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$HERMA\" \"$@\"", kib * 2);
    behind(env, "sh", &["-c", &script, "sh"], args)
}

#[track_caller]
fn behind(env: &TestEnv, program: &str, words: &[&str], args: &[&str]) -> Output {
    let project = env.work_dir("project");
    let mut command = Command::new(program);
    command
        .args(words)
        .args(args)
        .env_clear()
        .envs(env.variables())
        .env("PROJECT", project.path())
        .env("HERMA", env!("CARGO_BIN_EXE_herma"))
        .current_dir(project.path());
    env.finish(&mut command)
}

/// Makes directories of this name in each other, and opens the last. Its path may be longer than the kernel takes.
pub(super) fn nested(top: &Path, name: &str, levels: usize) -> Dir {
    let top = Dir::open(top).expect("the directory is there");
    (0..levels).fold(top, |above, _| {
        let made = above.ensure_dir(name, 0o755);
        made.expect("the directory is ours")
    })
}

/// Writes a small file into a directory that no path may lead to.
pub(super) fn write_in(directory: &Dir, name: &str, text: &str) {
    let bytes = text.as_bytes();
    let written = write_file(directory, directory, name, bytes, Durability::Cache);
    written.expect("the directory is ours");
}

/// The text of such a file.
pub(super) fn read_in(directory: &Dir, name: &str) -> String {
    let read = directory.read_opt(name, 100).expect("the directory is ours");
    String::from_utf8(read.expect("the file is there")).expect("the file is text")
}

/// A file with an attribute of `chattr`, which goes when this does.
pub(super) struct Marked {
    path: PathBuf,
    attribute: char,
}

impl Marked {
    /// `None`, said loudly, where that is not possible.
    pub(super) fn new(path: &Path, attribute: char) -> Option<Self> {
        let marked = Self { path: path.to_owned(), attribute };
        if marked.change('+') {
            return Some(marked);
        }
        herma_testkit::skipped("chattr", "it needs root, and a file system that knows it");
        None
    }

    fn change(&self, sign: char) -> bool {
        let flag = format!("{sign}{}", self.attribute);
        let changed = Command::new("chattr").arg(flag).arg(&self.path).bounded_output();
        changed.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        self.change('-');
    }
}
