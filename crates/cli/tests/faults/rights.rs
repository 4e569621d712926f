//! Without root's powers: what may not be read, written or trusted.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, Node, Output, TestEnv, Tree, WorkDir, skipped};
use tempfile::TempDir;

use super::{has_program, json};

const NOBODY: &str = "65534";
/// A user without other processes, where their number counts.
const LONELY: &str = "65531";

/// A world whose user is not root.
struct Nobody {
    env: TestEnv,
    /// A copy of the program where everybody can run it.
    _program: TempDir,
    is_root: bool,
}

impl Nobody {
    /// `None`, said loudly, where root cannot become somebody else.
    fn new() -> Option<Self> {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
        if is_root && !has_program("setpriv") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        chmod(directory.path(), 0o755);
        let program = directory.path().join("herma");
        // Not by this process: while another test forks, its child would hold it open for writing, and nobody could start it.
        run(Command::new("cp").arg(env!("CARGO_BIN_EXE_herma")).arg(&program));
        Some(Self { env: TestEnv::with_program(program), _program: directory, is_root })
    }

    /// Writes a project that belongs to the user.
    fn project(&self, tree: &Tree) -> WorkDir<'_> {
        let project = self.env.work_dir("project");
        tree.write(project.path());
        self.give(self.env.root());
        project
    }

    /// Makes everything below `path` the user's.
    fn give(&self, path: &Path) {
        if self.is_root {
            let owner = format!("{NOBODY}:{NOBODY}");
            run(Command::new("chown").args(["-hR", &owner]).arg(path));
        }
    }

    /// Runs the program as the user.
    #[track_caller]
    fn run(&self, args: &[&str]) -> Output {
        self.run_as(NOBODY, &[], args)
    }

    /// Runs the program as a user, if that can be chosen, by way of `wrapper`.
    #[track_caller]
    fn run_as(&self, user: &str, wrapper: &[&str], args: &[&str]) -> Output {
        let project = self.env.work_dir("project");
        let mut plain = self.env.command(project.path());
        plain.args(args);
        if !self.is_root {
            return self.env.finish(&mut plain);
        }
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", user, "--regid", NOBODY, "--clear-groups"])
            .args(wrapper)
            .arg(plain.get_program())
            .args(args)
            .env_clear()
            .envs(self.env.variables())
            .current_dir(project.path());
        self.env.finish(&mut command)
    }

    /// The number of a project's checkpoints.
    #[track_caller]
    fn checkpoints(&self) -> usize {
        let listed = json(&self.run(&["list", "--json"]).success());
        listed["checkpoints"].as_array().map_or(0, Vec::len)
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let status = command.bounded_status().expect("the program is there");
    assert!(status.success(), "{command:?}");
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_saved() {
    let Some(nobody) = Nobody::new() else { return };
    let files = [("open.txt", "open\n"), ("closed.txt", "x"), ("shut/in.txt", "x")];
    let project = nobody.project(&Tree::of_files(files));
    project.chmod("closed.txt", 0o000);
    project.chmod("shut", 0o000);
    for message in ["first", "nothing changed, and still something is missing"] {
        let output = nobody.run(&["save", "--json", "-m", message]).code(3);
        let left_out = json(&output)["left_out"].clone();
        let named = left_out.as_array().unwrap().iter();
        let named: Vec<_> = named.map(|e| (e["path"].as_str(), e["reason"].as_str())).collect();
        let expected = ["closed.txt", "shut"].map(|path| (Some(path), Some("unreadable")));
        assert_eq!(named, expected);
        for path in ["closed.txt", "shut"] {
            assert!(output.error_text().contains(path), "{output}");
        }
    }
    assert_eq!(nobody.checkpoints(), 1);
    project.write("open.txt", "changed\n");
    nobody.run(&["restore", "@"]).success();
    project.chmod("closed.txt", 0o644);
    project.chmod("shut", 0o755);
    assert_same(&Tree::of_files(files), &project.tree(), "what was not saved is not touched");
}

#[test]
fn read_only_directories_are_restored_and_stay_read_only() {
    let Some(nobody) = Nobody::new() else { return };
    let mut old = Tree::of_files([("locked/deep/a", "one\n"), ("locked/b", "one\n")]);
    old.insert("locked/deep", Node::Dir { mode: 0o555 });
    old.insert("locked", Node::Dir { mode: 0o555 });
    let project = nobody.project(&old);
    nobody.run(&["save"]).success();
    let mut new = Tree::of_files([("locked/deep/a", "two\n"), ("locked/c/d", "new\n")]);
    for path in ["locked/c", "locked/deep", "locked"] {
        new.insert(path, Node::Dir { mode: 0o500 });
    }
    new.write(project.path());
    nobody.give(project.path());
    nobody.run(&["restore", "@"]).success();
    assert_same(&old, &project.tree(), "restored");
    nobody.run(&["undo"]).success();
    assert_same(&new, &project.tree(), "undone");
}

#[test]
fn a_save_says_that_nothing_can_be_restored_where_only_others_may_write() {
    let Some(nobody) = Nobody::new() else { return };
    let project = nobody.project(&Tree::of_files([("a", "one\n")]));
    // A directory of one's own is opened up by a restore, whatever its mode.
    chmod(project.path(), 0o555);
    let own = json(&nobody.run(&["save", "--json"]).success());
    assert_eq!(own["notes"], serde_json::json!([]));
    if !nobody.is_root {
        return chmod(project.path(), 0o755);
    }
    let other = nobody.env.work_dir("other");
    other.write("a", "one\n");
    let place = other.path().to_str().unwrap();
    let saved = json(&nobody.run(&["-C", place, "save", "--json"]).success());
    let notes = saved["notes"].to_string();
    assert!(notes.contains("its directory may not be written to"), "{notes}");
}

#[test]
fn names_that_differ_in_case_come_back_below_a_read_only_directory() {
    let Some(nobody) = Nobody::new() else { return };
    let mut old = Tree::of_files([("locked/new/a", "lower\n"), ("locked/new/A", "upper\n")]);
    old.insert("locked", Node::Dir { mode: 0o555 });
    let project = nobody.project(&old);
    nobody.run(&["save"]).success();
    let locked = project.path().join("locked");
    chmod(&locked, 0o755);
    std::fs::remove_dir_all(locked.join("new")).unwrap();
    chmod(&locked, 0o555);
    nobody.run(&["restore", "@"]).success();
    assert_same(&old, &project.tree(), "restored");
}

#[test]
fn a_restore_ends_where_hardly_any_threads_can_be_had() {
    let Some(nobody) = Nobody::new() else { return };
    if !nobody.is_root {
        return skipped("root", "only root can be a user who runs nothing else");
    }
    if !has_program("prlimit") {
        return;
    }
    let files: Vec<String> = (0..40).map(|number| format!("{number}/file")).collect();
    let old = Tree::of_files(files.iter().map(|file| (file.as_str(), "old\n")));
    let project = nobody.project(&old);
    let owner = format!("{LONELY}:{NOBODY}");
    let give = || {
        run(Command::new("chown").args(["-hR", &owner]).arg(nobody.env.root()));
    };
    give();
    let save = ["save", "--name", "old"];
    nobody.run_as(LONELY, &[], &save).success();
    for file in &files {
        std::fs::write(project.path().join(file), "new\n").unwrap();
    }
    give();
    // The first one, one beside it, those for short work, of which there is one for each processor, and one that looks or writes.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let limit = format!("--nproc={}", processors + 3);
    let restore = ["restore", "old", "--all"];
    let wrapper = ["prlimit", &limit];
    nobody.run_as(LONELY, &wrapper, &restore).success();
    assert_same(&old, &project.tree(), "restored");
}

/// A store nobody must trust: everything refuses it and says why.
#[track_caller]
fn refused(nobody: &Nobody, why: &str) {
    let before = nobody.env.work_dir("project").tree();
    for args in [&["save"][..], &["list"], &["restore", "@"], &["undo"], &["drop", "-f", "@"]] {
        let output = nobody.run(args).code(1);
        assert!(output.error_text().contains(why), "{args:?}: {output}");
    }
    let after = nobody.env.work_dir("project").tree();
    assert_same(&before, &after, "refused, so nothing changes");
}

/// A store with one checkpoint, and a change since.
fn with_a_store() -> Option<Nobody> {
    let nobody = Nobody::new()?;
    let project = nobody.project(&Tree::of_files([("a.txt", "one\n")]));
    nobody.run(&["save"]).success();
    project.write("a.txt", "two\n");
    Some(nobody)
}

#[test]
fn a_store_of_another_user_is_refused() {
    let Some(nobody) = with_a_store() else { return };
    if !nobody.is_root {
        return skipped("root", "only root can give a store to another user");
    }
    let store = nobody.env.store();
    run(Command::new("chown").args(["-R", "1:1"]).arg(&store));
    run(Command::new("chmod").args(["-R", "a+rX"]).arg(&store));
    refused(&nobody, "belongs to another user");
}

#[test]
fn a_store_others_can_write_to_is_refused() {
    let Some(nobody) = with_a_store() else { return };
    chmod(&nobody.env.store(), 0o777);
    refused(&nobody, "can be written by other users");
    chmod(&nobody.env.store(), 0o700);
    nobody.run(&["restore", "@"]).success();
}

#[test]
fn a_store_that_is_a_link_is_refused() {
    let Some(nobody) = with_a_store() else { return };
    let store = nobody.env.store();
    let moved: PathBuf = nobody.env.root().join("moved");
    std::fs::rename(&store, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &store).unwrap();
    nobody.give(nobody.env.root());
    refused(&nobody, "not a directory of its own");
}

#[test]
fn a_store_that_cannot_be_written_can_still_be_read() {
    let Some(nobody) = with_a_store() else { return };
    let home = nobody.env.home();
    run(Command::new("chmod").args(["-R", "a-w"]).arg(&home));
    let before = Tree::read(&home);
    assert_eq!(nobody.checkpoints(), 1);
    nobody.run(&["show", "@"]).success();
    let diff = nobody.run(&["diff"]).success();
    assert!(diff.text().contains("+two"), "{diff}");
    nobody.run(&["restore", "@", "--dry-run"]).success();
    let refused = nobody.run(&["save"]).code(1);
    assert!(refused.error_text().contains("ermission denied"), "{refused}");
    let refused = nobody.run(&["restore", "@"]).code(1);
    assert!(refused.error_text().contains("Nothing was changed."), "{refused}");
    assert_eq!(nobody.env.work_dir("project").read("a.txt"), "two\n");
    assert_same(&before, &Tree::read(&home), "a reader writes nothing");
    run(Command::new("chmod").args(["-R", "u+w"]).arg(&home));
}

#[test]
fn real_errors_what_belongs_to_others_stops_a_restore_that_can_be_reversed() {
    let Some(nobody) = Nobody::new() else { return };
    if !nobody.is_root {
        return skipped("root", "only root can give a directory to another user");
    }
    let tree = |text: &str| Tree::of_files([("mine.txt", text), ("theirs/f.txt", text)]);
    let project = nobody.project(&tree("one\n"));
    nobody.run(&["save", "--name", "old"]).success();
    project.write("mine.txt", "two\n");
    project.write("theirs/f.txt", "two\n");
    let theirs = project.join("theirs");
    run(Command::new("chown").args(["-R", "0:0"]).arg(&theirs));
    nobody.run(&["save"]).success();
    let stopped = nobody.run(&["restore", "old"]).code(1);
    let said = stopped.error_text();
    assert!(said.contains("theirs/f.txt") && said.contains("Permission denied"), "{stopped}");
    assert_eq!(project.read("theirs/f.txt"), "two\n");
    nobody.run(&["undo"]).success();
    assert_same(&tree("two\n"), &project.tree(), "reversed");
    nobody.run(&["restore", "old", "mine.txt"]).success();
    assert_eq!(project.read("mine.txt"), "one\n", "the others can be had");
}
