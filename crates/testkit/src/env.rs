//! A world of its own for one test: home, store, projects, and the program under test.
//!
//! ```no_run
//! # use herma_testkit::env::TestEnv;
//! let env = TestEnv::with_program("target/debug/herma");
//! let project = env.work_dir("project");
//! project.write("a.txt", "one");
//! project.run(["save", "-m", "first"]).success();
//! env.fsck();
//! ```
//!
//! Nothing of the developer's environment but `PATH` reaches the program; everything lies in one
//! temporary directory that goes away with the [`TestEnv`]. `HERMES_HOME` does not exist at first,
//! because that is how a new user's machine looks.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::Bounded;
use crate::faults::Faults;
use crate::git::Repository;
use crate::output::Output;
use crate::terminal::Terminal;
use crate::tree::{Tree, make_pipe, remove_all, set_mode};

/// The world of one test.
#[derive(Debug)]
pub struct TestEnv {
    /// Owns the directory; the path is canonical, because that is what the program prints.
    _directory: TempDir,
    root: PathBuf,
    program: Option<PathBuf>,
    extra: Vec<(OsString, OsString)>,
}

impl TestEnv {
    /// A world without a program: for tests of the engine.
    pub fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("herma-test-")
            .tempdir()
            .expect("a temporary directory can be made");
        let root = directory.path().canonicalize().expect("it was just made");
        for name in ["user", "work", "tmp"] {
            fs::create_dir(root.join(name)).expect("the directory is new and ours");
        }
        Self { _directory: directory, root, program: None, extra: Vec::new() }
    }

    /// A world for the program at this path: `TestEnv::with_program(env!("CARGO_BIN_EXE_herma"))`.
    pub fn with_program(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let program = program.canonicalize().unwrap_or(program);
        Self { program: Some(program), ..Self::new() }
    }

    /// Sets one more environment variable for every program run from now on.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.extra.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
    }

    /// The directory everything is in; `$ROOT` in shown output.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's home; `$HOME` in shown output.
    pub fn user_home(&self) -> PathBuf {
        self.root.join("user")
    }

    /// `HERMES_HOME`. Not made in advance.
    pub fn home(&self) -> PathBuf {
        self.root.join("hermes")
    }

    /// Where the store is, or will be.
    pub fn store(&self) -> PathBuf {
        self.home().join("checkpoints/store")
    }

    /// The store as git sees it.
    pub fn repository(&self) -> Repository {
        Repository::at(self.store())
    }

    /// Runs git on the store.
    #[must_use = "assert `.success()` or `.code(n)`"]
    pub fn git(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        self.repository().git(args)
    }

    /// Asserts that git finds nothing wrong with the store. Skips loudly without git.
    #[track_caller]
    pub fn fsck(&self) {
        self.repository().fsck();
    }

    /// The tree of a commit of the store, as git reads it; compare with [`Tree::as_git`].
    #[track_caller]
    pub fn archive_tree(&self, commit: &str) -> Tree {
        self.repository().tree(commit)
    }

    /// A project directory, made if it is not there.
    pub fn work_dir(&self, name: impl AsRef<Path>) -> WorkDir<'_> {
        let path = self.root.join("work").join(name);
        fs::create_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        WorkDir { env: self, path }
    }

    /// The environment every program gets: nothing else reaches it.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("HERMES_HOME".into(), self.home().into()),
            ("HOME".into(), self.user_home().into()),
            ("TMPDIR".into(), self.root.join("tmp").into()),
            ("NO_COLOR".into(), "1".into()),
            ("TZ".into(), "UTC".into()),
            ("LC_ALL".into(), "C.UTF-8".into()),
            // What runs beside a test makes it a matter of luck; `set` with an empty value allows it.
            ("HERMA_NO_BACKGROUND".into(), "1".into()),
        ];
        // The second keeps the counters of a coverage build out of the test's directories, the third says which mutant it is.
        for kept in ["PATH", "LLVM_PROFILE_FILE", "HERMA_MUTANT", "HERMA_MUTANTS_MET"] {
            variables.extend(std::env::var_os(kept).map(|value| (kept.into(), value)));
        }
        variables.extend(self.extra.iter().cloned());
        variables
    }

    /// The program under test, ready to run in `directory`.
    #[track_caller]
    pub fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(self.program());
        command.env_clear().envs(self.variables()).current_dir(directory).stdin(Stdio::null());
        command
    }

    /// The program under test, to be run with faults.
    #[track_caller]
    pub fn faults(
        &self,
        directory: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Faults {
        self.in_this_world(Faults::new(self.program()).args(args), directory)
    }

    /// A script to be run with faults; `$HERMA` is the program under test.
    #[track_caller]
    pub fn script_faults(&self, directory: &Path, script: &str) -> Faults {
        let shell = Faults::new("/bin/sh").args(["-c", script]);
        self.in_this_world(shell, directory).env("HERMA", self.program())
    }

    fn in_this_world(&self, faults: Faults, directory: &Path) -> Faults {
        let faults = faults.env_clear().current_dir(directory);
        self.variables().iter().fold(faults, |faults, (name, value)| faults.env(name, value))
    }

    /// Runs a prepared command and gives its result this world's words for paths.
    #[must_use = "assert `.success()` or `.code(n)`"]
    #[track_caller]
    pub fn finish(&self, command: &mut Command) -> Output {
        let output = command.bounded_output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Output::new(output, self.words())
    }

    /// What paths are called in shown output.
    fn words(&self) -> Vec<(String, &'static str)> {
        let word = |path: PathBuf, word| (path.to_string_lossy().into_owned(), word);
        vec![word(self.user_home(), "$HOME"), word(self.root.clone(), "$ROOT")]
    }

    #[track_caller]
    fn program(&self) -> &Path {
        self.program.as_deref().expect("TestEnv::with_program says which program is tested")
    }
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

/// A project directory. Its methods fail the test instead of returning errors.
#[derive(Clone, Debug)]
pub struct WorkDir<'env> {
    env: &'env TestEnv,
    path: PathBuf,
}

impl WorkDir<'_> {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something inside.
    pub fn join(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.path.join(OsStr::from_bytes(path.as_ref()))
    }

    fn with_parent(&self, path: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
        }
        path
    }

    /// Writes several text files.
    #[must_use]
    pub fn files<'a>(self, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        for (path, text) in files {
            self.write(path, text);
        }
        self
    }

    /// Writes a text file, with the directories it needs.
    pub fn write(&self, path: impl AsRef<[u8]>, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    /// Writes a file, with the directories it needs.
    #[track_caller]
    pub fn write_bytes(&self, path: impl AsRef<[u8]>, bytes: &[u8]) {
        let path = self.with_parent(path);
        fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// The text of a file.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<[u8]>) -> String {
        String::from_utf8(self.read_bytes(path)).expect("the file is text")
    }

    /// The content of a file.
    #[track_caller]
    pub fn read_bytes(&self, path: impl AsRef<[u8]>) -> Vec<u8> {
        let path = self.join(path);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Deletes a file, link or whole directory; it is fine if nothing is there.
    pub fn remove(&self, path: impl AsRef<[u8]>) {
        remove_all(&self.join(path));
    }

    /// Sets permission bits.
    #[track_caller]
    pub fn chmod(&self, path: impl AsRef<[u8]>, mode: u32) {
        let path = self.join(path);
        set_mode(&path, mode).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Makes a directory and those above it.
    #[track_caller]
    pub fn mkdir(&self, path: impl AsRef<[u8]>) {
        let path = self.join(path);
        fs::create_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Makes a symbolic link at `path` that points to `target`.
    #[track_caller]
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) {
        let path = self.with_parent(path);
        symlink(OsStr::from_bytes(target.as_ref()), &path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Makes a named pipe.
    #[track_caller]
    pub fn pipe(&self, path: impl AsRef<[u8]>) {
        let path = self.with_parent(path);
        make_pipe(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Is anything there, be it a dangling link?
    pub fn exists(&self, path: impl AsRef<[u8]>) -> bool {
        fs::symlink_metadata(self.join(path)).is_ok()
    }

    /// Everything in it, as a value.
    pub fn tree(&self) -> Tree {
        Tree::read(&self.path)
    }

    /// Runs the program under test here.
    #[must_use = "assert `.success()` or `.code(n)`"]
    #[track_caller]
    pub fn run(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        self.env.finish(self.env.command(&self.path).args(args))
    }

    /// The program under test, ready to run here.
    #[track_caller]
    pub fn command(&self) -> Command {
        self.env.command(&self.path)
    }

    /// Starts the program under test here, in a terminal.
    #[track_caller]
    pub fn in_terminal(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Terminal {
        let mut command = self.env.command(&self.path);
        command.args(args);
        Terminal::start(command, self.env.words())
    }

    /// Starts a shell here, in a terminal that is its own, as a person has it: with job control. It knows the
    /// program under test as `$PROGRAM`, and prompts with `> `.
    #[track_caller]
    pub fn shell_in_terminal(&self) -> Terminal {
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "sh", "-i"])
            .env_clear()
            .envs(self.env.variables())
            .env("PROGRAM", self.env.program())
            .env("PS1", "> ")
            .env("TERM", "dumb")
            .current_dir(&self.path);
        Terminal::start(command, self.env.words())
    }

    /// The program under test, to be run here with faults.
    #[track_caller]
    pub fn faults(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Faults {
        self.env.faults(&self.path, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults;
    use crate::faults::Fault;

    #[test]
    fn the_program_sees_only_its_own_world() {
        let mut env = TestEnv::with_program("/bin/sh");
        env.set("EXTRA", "yes");
        let project = env.work_dir("project");
        let script = "echo $HOME $HERMES_HOME $PWD $EXTRA $NO_COLOR $CARGO_MANIFEST_DIR";
        let output = project.run(["-c", script]).success();
        let shown = "$HOME $ROOT/hermes $ROOT/work/project yes 1\n";
        assert_eq!(output.to_string(), shown);
        assert!(!env.home().exists(), "a new user has no home yet");
    }

    #[test]
    fn shown_output_has_both_streams_and_the_exit_code() {
        let env = TestEnv::with_program("/bin/sh");
        let output = env.work_dir("p").run(["-c", "echo 0123abcd; echo bad >&2; exit 3"]).code(3);
        let shown = "[ID]\n------- stderr -------\nbad\n[exit status: 3]\n";
        assert_eq!(output.to_string(), shown);
    }

    #[test]
    fn files_links_and_modes_are_what_was_asked_for() {
        let env = TestEnv::new();
        let project = env.work_dir("p").files([("src/a.rs", "one")]);
        project.symlink("src", "link");
        project.chmod("src/a.rs", 0o600);
        project.mkdir("empty/deep");
        assert_eq!(project.tree().0.len(), 5);
        assert_eq!(project.read("link/a.rs"), "one");
        project.remove("src");
        assert!(project.exists("link") && !project.exists("src/a.rs"));
    }

    #[test]
    fn faults_run_in_the_same_world() {
        if !faults::available() {
            return;
        }
        let env = TestEnv::with_program("/bin/sh");
        let project = env.work_dir("p");
        let outcome = project.faults(["-c", "mkdir $HERMES_HOME; : > f"]).run(Fault::Kill, 2);
        assert!(outcome.hit.is_some() && env.home().is_dir() && !project.exists("f"));
    }
}
