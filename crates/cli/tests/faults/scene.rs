//! What stands before a command is run with a fault, put back for every position of a sweep.

use std::cell::{Cell, OnceCell};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use herma_testkit::faults::{Fault, Faults, Outcome, Status};
use herma_testkit::tree::assert_same;
use herma_testkit::{Node, Output, TestEnv, Tree, WorkDir};
use tempfile::TempDir;

use super::copy::copy;
use super::disturb::words;
use super::shapes::{MIXED, Shape};
use super::{json, test_env};

/// What a command does to the project, and what is checked after it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// It makes a checkpoint of [`Scene::present`].
    Save,
    /// It moves the project from one state to another, or finishes or reverses such a move.
    Restore(Transaction),
    /// It removes the oldest checkpoint.
    Drop,
    /// It changes marks only.
    Mark,
    /// It takes a file out of all checkpoints.
    Purge,
    /// It frees room, and may drop so many of the oldest checkpoints.
    Clean(usize),
    /// It mends a damaged store.
    Mend,
}

/// A state of the project's files.
pub(super) type State = fn() -> Tree;

/// A move from one state of the project to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    pub(super) from: State,
    pub(super) to: State,
    /// Does the command undo it, rather than bring it to its end?
    pub(super) is_undone: bool,
    /// The command that goes to the other end when it is over.
    pub(super) other_way: &'static str,
}

/// A project and a store, and the command to be disturbed.
pub(super) struct Scene {
    pub(super) env: TestEnv,
    pub(super) shape: Shape,
    pub(super) action: Action,
    pub(super) present: Tree,
    /// Checkpoints that were acknowledged before, oldest first.
    pub(super) saved: Vec<(String, Tree)>,
    /// Is there a step that was acknowledged?
    pub(super) has_step: bool,
    args: Vec<String>,
    template: TempDir,
    plain: OnceCell<Outcome>,
    turns: Cell<usize>,
}

pub(super) fn file(text: &str, mode: u32) -> Node {
    let bytes = text.into();
    Node::File { bytes, mode }
}

/// A small tree with one of everything.
pub(super) fn first() -> Tree {
    let mut tree = Tree::of_files([
        ("a.txt", "one\n"),
        ("b.txt", "stays\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/er/x", "x\n"),
        ("swap-to-file/inner/f", "below\n"),
        ("swap-to-dir", "a file\n"),
        ("gone/only.txt", "only in the first\n"),
    ]);
    tree.insert("run", file("#!/bin/sh\n", 0o755));
    tree.insert("private", file("mine\n", 0o600));
    tree.insert("link", Node::Link(b"a.txt".to_vec()));
    tree.insert("link-to-file", Node::Link(b"src".to_vec()));
    tree.insert("empty", Node::Dir { mode: 0o750 });
    tree.insert("locked/in", file("in a read-only directory\n", 0o444));
    tree.insert("locked", Node::Dir { mode: 0o555 });
    tree
}

/// The same project after some work.
pub(super) fn second() -> Tree {
    let mut tree = first();
    for path in ["swap-to-file", "swap-to-dir", "gone", "empty", "link-to-file"] {
        tree.remove(path.as_bytes());
    }
    tree.insert("a.txt", file("two, and longer\n", 0o644));
    tree.insert("src/main.rs", file("fn main() { work() }\n", 0o640));
    tree.insert("swap-to-file", file("a file now\n", 0o644));
    tree.insert("swap-to-dir/with/f", file("a directory now\n", 0o644));
    tree.insert("link", Node::Link(b"b.txt".to_vec()));
    tree.insert("link-to-file", file("a file now\n", 0o644));
    tree.insert("run", file("#!/bin/sh\n", 0o644));
    tree.insert("locked/in", file("changed in there\n", 0o444));
    tree.insert("locked/new", file("new in there\n", 0o644));
    tree.insert("new/empty", Node::Dir { mode: 0o700 });
    tree.insert("new/file", file("new\n", 0o644));
    tree
}

/// The project with changes nobody saved yet.
pub(super) fn third() -> Tree {
    let mut tree = second();
    tree.remove(b"new");
    tree.insert("a.txt", file("three\n", 0o644));
    tree.insert("src/later.rs", file("not saved by anybody\n", 0o644));
    tree.insert("empty/no-more", file("x", 0o644));
    tree
}

/// The same with some files of the first state.
pub(super) fn third_with_files_of_first() -> Tree {
    let (mut tree, first) = (third(), first());
    for path in ["a.txt", "link"] {
        tree.insert(path, first.0[path.as_bytes()].clone());
    }
    tree
}

impl Scene {
    /// A new user's machine: no home, no store.
    pub(super) fn first_save() -> Self {
        MIXED.first_save()
    }

    /// A save of changes.
    pub(super) fn second_save() -> Self {
        MIXED.second_save()
    }

    /// The same, by somebody who does not wait until the disk has everything.
    pub(super) fn fast_save() -> Self {
        let args = ["save", "--json", "--fast"];
        Self::new(&[first()], &second(), |_| (), &args, Action::Save)
    }

    /// A restore of the oldest checkpoint.
    pub(super) fn restore() -> Self {
        MIXED.restore()
    }

    /// A restore of some files of it.
    pub(super) fn restore_of_files() -> Self {
        MIXED.restore_of_files()
    }

    /// An undo of such a restore.
    pub(super) fn undo() -> Self {
        MIXED.undo()
    }

    /// A redo after such an undo.
    pub(super) fn redo() -> Self {
        MIXED.redo()
    }

    /// The end of a restore that was killed when most of it was done.
    pub(super) fn finish() -> Self {
        MIXED.finish()
    }

    /// The reversal of a restore that was killed when most of it was done.
    pub(super) fn reverse() -> Self {
        MIXED.reverse()
    }

    /// The removal of the oldest checkpoint, which has a name, a pin and a child.
    pub(super) fn drop() -> Self {
        let prepare = |project: &WorkDir<'_>| {
            project.run(["name", "@-2", "old"]).success();
            project.run(["pin", "@-2"]).success();
        };
        let trees = [first(), second(), third()];
        let args = ["drop", "--yes", "--pinned", "@-2"];
        Self::new(&trees, &third(), prepare, &args, Action::Drop)
    }

    /// A collection of everything there is.
    pub(super) fn gc() -> Self {
        MIXED.gc()
    }

    /// A cleaning that drops four checkpoints and collects what they held.
    pub(super) fn prune() -> Self {
        MIXED.prune()
    }

    /// Cleaning in the background, as a save starts it.
    pub(super) fn maintain() -> Self {
        MIXED.maintain()
    }

    /// A repair of a store that lost an index, a ref and a project's record.
    pub(super) fn repair() -> Self {
        let trees = [first(), second()];
        let args = ["checkpoints", "repair"];
        let scene = Self::new(&trees, &second(), |_| (), &args, Action::Mend);
        let store = scene.env.store();
        let ends_with = |path: &PathBuf, ending: &str| path.extension() == Some(OsStr::new(ending));
        let mut indexes = files_below(&store.join("objects/pack"));
        indexes.retain(|path| ends_with(path, "idx"));
        std::fs::remove_file(&indexes[0]).expect("the store is ours");
        for torn in ["refs/hermes", "projects"] {
            for path in files_below(&store.join(torn)) {
                std::fs::write(path, "torn").expect("the store is ours");
            }
        }
        copy(scene.env.root(), scene.template.path());
        scene
    }

    /// A mark on the older of two checkpoints.
    pub(super) fn mark(args: &[&str]) -> Self {
        let trees = [first(), second()];
        Self::new(&trees, &second(), |_| (), args, Action::Mark)
    }

    fn new(
        history: &[Tree],
        present: &Tree,
        prepare: impl FnOnce(&WorkDir<'_>),
        args: &[&str],
        action: Action,
    ) -> Self {
        let prepare = |project: &WorkDir<'_>, _: &Path| prepare(project);
        Self::prepared(history, present, prepare, args, action)
    }

    /// A scene whose preparation knows Herma's home.
    pub(super) fn prepared(
        history: &[Tree],
        present: &Tree,
        prepare: impl FnOnce(&WorkDir<'_>, &Path),
        args: &[&str],
        action: Action,
    ) -> Self {
        Self::in_shape(MIXED, history, present, prepare, args, action)
    }

    /// A scene with another kind of project.
    pub(super) fn in_shape(
        shape: Shape,
        history: &[Tree],
        present: &Tree,
        prepare: impl FnOnce(&WorkDir<'_>, &Path),
        args: &[&str],
        action: Action,
    ) -> Self {
        let env = test_env();
        let project = env.work_dir("project");
        let mut saved = Vec::new();
        for tree in history {
            shape.write(tree, &project);
            let output = project.run(["save", "--json"]);
            let output = json(&output.code(Self::code_of_save(&project, shape)));
            saved.push((id_of(&output["checkpoint"]), tree.clone()));
        }
        shape.write(present, &project);
        prepare(&project, &env.home());
        let mut scene = Self {
            shape,
            action,
            present: project.tree(),
            saved,
            has_step: false,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            template: tempfile::tempdir().expect("a temporary directory can be made"),
            plain: OnceCell::new(),
            turns: Cell::new(0),
            env,
        };
        // Saves that a preparing restore made count as acknowledged as well.
        for id in scene.listed().into_iter().rev() {
            if !scene.saved.iter().any(|(known, _)| *known == id) {
                let stored = scene.env.archive_tree(&id);
                let states = [shape.first, shape.second, shape.third].into_iter();
                let mut states = states.map(|state| state()).chain(history.iter().cloned());
                let tree = states.find(|tree| tree.as_git() == stored);
                scene.saved.push((id, tree.expect("one of the states there were")));
            }
        }
        copy(scene.env.root(), scene.template.path());
        scene
    }

    pub(super) fn project(&self) -> WorkDir<'_> {
        self.env.work_dir("project")
    }

    /// The command, to be run with a fault.
    pub(super) fn faults(&self) -> Faults {
        self.project().faults(&self.args)
    }

    /// What the command does when nothing disturbs it.
    #[track_caller]
    pub(super) fn plain(&self) -> &Outcome {
        self.plain.get_or_init(|| {
            self.reset();
            let plain = self.faults().run(Fault::Count, 0);
            let done = Status::Exited(self.code_when_done());
            assert_eq!(plain.status, done, "{}", words(&plain));
            plain
        })
    }

    /// How often this was asked.
    pub(super) fn turn(&self) -> usize {
        self.turns.replace(self.turns.get() + 1)
    }

    /// The command, to be run with other streams.
    pub(super) fn command(&self) -> std::process::Command {
        let mut command = self.project().command();
        command.args(&self.args);
        command
    }

    /// The name the command gives to a new checkpoint.
    pub(super) fn name(&self) -> Option<&str> {
        let mut args = self.args.iter();
        args.find(|arg| *arg == "--name")?;
        args.next().map(String::as_str)
    }

    /// How a save ends in a project: a pipe is named, because no checkpoint has it.
    pub(super) fn code_of_save(project: &WorkDir<'_>, shape: Shape) -> i32 {
        let has_pipe = shape.pipe.is_some_and(|pipe| project.exists(pipe));
        if has_pipe { 3 } else { 0 }
    }

    /// How the command ends when all is well.
    pub(super) fn code_when_done(&self) -> i32 {
        match self.action {
            Action::Save => Self::code_of_save(&self.project(), self.shape),
            _ => 0,
        }
    }

    /// The command, to be run without one.
    #[track_caller]
    pub(super) fn run_again(&self) -> Output {
        self.project().run(&self.args)
    }

    /// Puts everything back to where it was before the command.
    pub(super) fn reset(&self) {
        copy(self.template.path(), self.env.root());
    }

    /// A copy of how things are now, to come back to with [`Scene::reset_to`].
    pub(super) fn stash(&self) -> TempDir {
        let stash = tempfile::tempdir().expect("a temporary directory can be made");
        copy(self.env.root(), stash.path());
        stash
    }

    pub(super) fn reset_to(&self, stash: &TempDir) {
        copy(stash.path(), self.env.root());
    }

    /// The ids of all checkpoints, newest first.
    #[track_caller]
    pub(super) fn listed(&self) -> Vec<String> {
        let output = json(&self.project().run(["list", "--json"]).success());
        let checkpoints = output["checkpoints"].as_array().expect("a list");
        checkpoints.iter().map(id_of).collect()
    }

    /// Does the program say that a restore was interrupted?
    #[track_caller]
    pub(super) fn is_interrupted(&self) -> bool {
        let status = self.project().run(["list", "--json"]).success();
        let says = json(&status)["project"]["interrupted_restore"] == true;
        let warns = status.error_text().contains("was not finished");
        assert_eq!(says, warns, "in words and in JSON:\n{status}");
        says
    }

    /// Asserts that a checkpoint brings back exactly this tree.
    #[track_caller]
    pub(super) fn assert_restores(&self, id: &str, tree: &Tree) {
        let output = self.project().run(["restore", "--all", id]);
        // What no checkpoint can hold, such as a pipe, is named.
        let code = output.status.code();
        let is_named = output.text().contains("miss   ");
        assert!(code == Some(0) || code == Some(3) && is_named, "{output}");
        let what = format!("restored from {id}");
        assert_same(tree, &self.project().tree(), &what);
    }

    /// Files in the store whose name ends so, and everything in its temporary directory.
    pub(super) fn litter(&self) -> Vec<PathBuf> {
        let mut found = files_below(&self.env.store());
        found.retain(|path| {
            let is_temporary = path.parent().is_some_and(|dir| dir.ends_with("herma/tmp"));
            is_temporary || path.extension() == Some(OsStr::new("lock"))
        });
        found
    }
}

/// Starts a restore of the oldest checkpoint and kills it when three quarters of its calls are made.
pub(super) fn kill_a_restore(project: &WorkDir<'_>) {
    if !herma_testkit::faults::available() {
        return;
    }
    let stash = tempfile::tempdir().expect("a temporary directory can be made");
    let root = project.path().ancestors().nth(2).expect("the world around it");
    copy(root, stash.path());
    let restore = project.faults(["restore", "@-1"]);
    let count = restore.run(Fault::Count, 0).count;
    copy(stash.path(), root);
    let killed = restore.run(Fault::Kill, count * 3 / 4);
    assert!(killed.hit.is_some(), "{killed:?}");
}

pub(super) fn id_of(checkpoint: &serde_json::Value) -> String {
    checkpoint["id"].as_str().expect("an id").to_owned()
}

/// A project's tree without the temporary files of a restore, and how many there were.
pub(super) fn without_temporary(mut tree: Tree) -> (Tree, usize) {
    let all = tree.0.len();
    tree.0.retain(|path, _| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        !(name.starts_with(b".herma-") && name.ends_with(b".tmp"))
    });
    let temporary = all - tree.0.len();
    (tree, temporary)
}

/// All files below a directory; none if it does not exist.
pub(super) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("a directory can be listed to its end").path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}
