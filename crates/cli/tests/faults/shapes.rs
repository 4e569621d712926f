//! The projects that commands are disturbed in: one of everything, very wide, very deep, with names and modes
//! nobody should use, with a big file, with more than one pack holds.

use std::sync::LazyLock;

use herma_testkit::random::Random;
use herma_testkit::{Node, Tree, WorkDir, names};

use super::scene;
use super::scene::{Action, Scene, State, Transaction, file, kill_a_restore};

/// A project in three states: as it was first saved, after some work, and with changes nobody saved yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) first: State,
    pub(super) second: State,
    pub(super) third: State,
    /// A named pipe that is always there, and that no checkpoint has.
    pub(super) pipe: Option<&'static str>,
}

/// A small tree with one of everything.
pub(super) const MIXED: Shape = Shape {
    name: "mixed",
    first: scene::first,
    second: scene::second,
    third: scene::third,
    pipe: None,
};

/// 300 files in one directory. A restore of more than 64 syncs them all at once.
pub(super) const WIDE: Shape = Shape {
    name: "wide",
    first: || wide(|_| "one"),
    second: || wide(|n| if n % 3 == 0 { "two" } else { "one" }),
    third: wide_with_unsaved_changes,
    pipe: None,
};

/// 60 directories in each other, with a file in each.
pub(super) const DEEP: Shape = Shape {
    name: "deep",
    first: || deep(60, |_| "one"),
    second: || deep(60, |level| if level % 3 == 0 { "two" } else { "one" }),
    third: deep_with_unsaved_changes,
    pipe: None,
};

/// Names, links and modes that have broken some tool, and a pipe.
pub(super) const HOSTILE: Shape = Shape {
    name: "hostile",
    first: hostile_first,
    second: hostile_second,
    third: hostile_third,
    pipe: Some("pipe"),
};

/// A big file that changes at one place, and a directory whose files are all renamed.
pub(super) const BIG: Shape = Shape {
    name: "big",
    first: || big(0, "old"),
    second: || big(1, "new"),
    third: || big(2, "newer"),
    pipe: None,
};

/// So much that a save writes three packs.
pub(super) const MUCH: Shape =
    Shape { name: "much", first: || much(0), second: || much(1), third: || much(2), pipe: None };

fn wide(text: impl Fn(usize) -> &'static str) -> Tree {
    let mut tree = Tree::new();
    for n in 0..300 {
        let text = format!("{} of {n}\n", text(n));
        tree.insert(format!("all/{n:03}.txt"), file(&text, 0o644));
    }
    tree
}

fn wide_with_unsaved_changes() -> Tree {
    let mut tree = (WIDE.second)();
    for n in (0..300).step_by(10) {
        tree.remove(format!("all/{n:03}.txt").as_bytes());
        tree.insert(format!("all/{n:03}.new"), file("three\n", 0o600));
    }
    tree
}

/// The path of a directory so many levels down.
fn level_path(level: usize) -> String {
    let names: Vec<String> = (1..=level).map(|level| format!("level-{level}")).collect();
    names.join("/")
}

fn deep(levels: usize, text: impl Fn(usize) -> &'static str) -> Tree {
    let mut tree = Tree::new();
    for level in 1..=levels {
        let path = format!("{}/file", level_path(level));
        tree.insert(path, file(text(level), 0o644));
    }
    tree
}

/// The lowest levels are gone, and a file is where a directory was.
fn deep_with_unsaved_changes() -> Tree {
    let mut tree = deep(40, |_| "three");
    tree.insert(level_path(41), file("a file now\n", 0o644));
    let beside = format!("{}/beside/empty", level_path(39));
    tree.insert(beside, Node::Dir { mode: 0o700 });
    tree
}

/// Names that are valid all the same.
fn hostile_names() -> impl Iterator<Item = Vec<u8>> {
    static NAMES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(names::hostile);
    NAMES.iter().step_by(NAMES.len() / 40).cloned()
}

const MODES: [u32; 5] = [0o644, 0o755, 0o600, 0o444, 0o711];

fn hostile_first() -> Tree {
    let mut tree = Tree::new();
    for (name, mode) in hostile_names().zip(MODES.into_iter().cycle()) {
        let path = [b"names/", name.as_slice()].concat();
        tree.insert(path, file("one\n", mode));
        let directory = [b"directories/", name.as_slice()].concat();
        tree.insert(directory, Node::Dir { mode: 0o755 });
    }
    for (name, target) in [
        ("dangling", "nowhere/at all"),
        ("outside", "../../../outside"),
        ("absolute", "/etc/passwd"),
        ("itself", "itself"),
        ("directory", "../names"),
    ] {
        tree.insert(format!("links/{name}"), Node::Link(target.into()));
    }
    tree.insert("empty/a/b", Node::Dir { mode: 0o700 });
    tree.insert("empty/read-only", Node::Dir { mode: 0o555 });
    tree.insert("locked/inner/file", file("kept\n", 0o400));
    tree.insert("locked/inner", Node::Dir { mode: 0o500 });
    tree.insert("locked", Node::Dir { mode: 0o555 });
    tree
}

/// Contents, modes and targets change, and what was empty is not.
fn hostile_second() -> Tree {
    let mut tree = hostile_first();
    for (at, name) in hostile_names().enumerate() {
        let path = [b"names/", name.as_slice()].concat();
        let directory = [b"directories/", name.as_slice()].concat();
        match at % 4 {
            0 => tree.insert(path, file("two\n", MODES[(at + 1) % 5])),
            1 => tree.remove(&path),
            2 => tree.insert([&directory, b"/x".as_slice()].concat(), file("x", 0o644)),
            _ => tree.insert(directory, Node::Dir { mode: 0o711 }),
        }
    }
    tree.remove(b"empty");
    tree.insert("empty", Node::Link(b"names".to_vec()));
    tree.insert("links/itself", file("a file now\n", 0o644));
    tree.insert("links/directory", Node::Link(b"/".to_vec()));
    tree.insert("locked/inner/file", file("changed in there\n", 0o444));
    tree.insert("locked/inner", Node::Dir { mode: 0o555 });
    tree
}

/// Names become directories, and nothing is locked any more.
fn hostile_third() -> Tree {
    let mut tree = hostile_second();
    for name in hostile_names().step_by(4) {
        let path = [b"names/", name.as_slice()].concat();
        tree.remove(&path);
        tree.insert([&path, b"/below".as_slice()].concat(), file("three", 0o644));
    }
    tree.remove(b"locked");
    tree.insert("locked", file("a file now\n", 0o400));
    tree
}

const BIG_SIZE: usize = 3 << 20;

fn big(version: usize, directory: &str) -> Tree {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| Random::new(6).bytes(BIG_SIZE));
    let mut bytes = BYTES.clone();
    let changed = BIG_SIZE / 3 * version;
    bytes[changed..changed + 9].copy_from_slice(b"a version");
    let mut tree = Tree::new();
    tree.insert("big.bin", Node::File { bytes, mode: 0o644 });
    for n in 0..60 {
        let text = format!("the content of {n}, which stays the same\n");
        tree.insert(format!("{directory}/{n:02}.txt"), file(&text, 0o644));
    }
    tree
}

fn much(version: u64) -> Tree {
    let mut random = Random::new(7 + version);
    let mut tree = Tree::new();
    for n in 0..36 {
        let bytes = random.bytes(8 << 20);
        tree.insert(format!("all/{n}.bin"), Node::File { bytes, mode: 0o644 });
    }
    tree
}

impl Shape {
    /// Makes a project contain exactly this tree, and the pipe.
    pub(super) fn write(&self, tree: &Tree, project: &WorkDir<'_>) {
        tree.write(project.path());
        if let Some(pipe) = self.pipe {
            project.pipe(pipe);
        }
    }

    /// A new user's machine: no home, no store.
    pub(super) fn first_save(self) -> Scene {
        let args = ["save", "--json"];
        self.scene(&[], &(self.first)(), |_| (), &args, Action::Save)
    }

    /// A save of changes.
    pub(super) fn second_save(self) -> Scene {
        let args = ["save", "--json", "--name", "kept"];
        let history = [(self.first)()];
        self.scene(&history, &(self.second)(), |_| (), &args, Action::Save)
    }

    /// A restore of the oldest checkpoint.
    pub(super) fn restore(self) -> Scene {
        self.moving(|_| (), &["restore", "@-1"], self.back(false, "undo"))
    }

    /// A restore of some files of it.
    pub(super) fn restore_of_files(self) -> Scene {
        let to = scene::third_with_files_of_first;
        let some = Transaction { to, ..self.back(false, "undo") };
        self.moving(|_| (), &["restore", "@-1", "a.txt", "link"], some)
    }

    /// An undo of such a restore.
    pub(super) fn undo(self) -> Scene {
        let prepare = |project: &WorkDir<'_>| {
            project.run(["restore", "@-1"]).success();
        };
        let forward = Transaction { from: self.first, to: self.third, ..self.back(false, "redo") };
        self.moving(prepare, &["undo"], forward)
    }

    /// A redo after such an undo.
    pub(super) fn redo(self) -> Scene {
        let prepare = |project: &WorkDir<'_>| {
            project.run(["restore", "@-1"]).success();
            project.run(["undo"]).success();
        };
        self.moving(prepare, &["redo"], self.back(false, "undo"))
    }

    /// The end of a restore that was killed when most of it was done.
    pub(super) fn finish(self) -> Scene {
        let args = ["restore", "--continue"];
        self.moving(kill_a_restore, &args, self.back(false, "undo"))
    }

    /// The reversal of a restore that was killed when most of it was done.
    pub(super) fn reverse(self) -> Scene {
        self.moving(kill_a_restore, &["undo"], self.back(true, "redo"))
    }

    /// A collection of everything there is.
    pub(super) fn gc(self) -> Scene {
        self.cluttered(&["checkpoints", "gc"], 0)
    }

    /// A cleaning that drops four checkpoints and collects what they held.
    pub(super) fn prune(self) -> Scene {
        let args = ["checkpoints", "prune", "--force", "--max-snapshots", "2"];
        self.cluttered(&args, 4)
    }

    /// Cleaning in the background, as a save starts it.
    pub(super) fn maintain(self) -> Scene {
        self.cluttered(&["maintain"], 0)
    }

    /// The way from the unsaved changes to the first state.
    fn back(self, is_undone: bool, other_way: &'static str) -> Transaction {
        Transaction { from: self.third, to: self.first, is_undone, other_way }
    }

    /// A move of the project, over changes that were not saved.
    fn moving(
        self,
        prepare: impl FnOnce(&WorkDir<'_>),
        args: &[&str],
        transaction: Transaction,
    ) -> Scene {
        let saves = [(self.first)(), (self.second)()];
        let action = Action::Restore(transaction);
        self.scene(&saves, &(self.third)(), prepare, args, action)
    }

    /// A store with packs to merge, dead objects, loose objects and a checkpoint that was cut out.
    fn cluttered(self, args: &[&str], may_go: usize) -> Scene {
        let prepare = |project: &WorkDir<'_>| {
            project.write("extra.txt", "will be dropped\n");
            let saved = project.run(["save", "--name", "dropped"]);
            saved.code(Scene::code_of_save(project, self));
            project.run(["drop", "--yes", "--pinned", "dropped"]).success();
            std::fs::remove_file(project.path().join("extra.txt")).unwrap();
        };
        let mut history = Vec::new();
        for round in 0..3 {
            for mut tree in [(self.first)(), (self.second)()] {
                tree.insert("round", file(&format!("{round}\n"), 0o644));
                history.push(tree);
            }
        }
        let present = &history[5];
        self.scene(&history, present, prepare, args, Action::Clean(may_go))
    }

    fn scene(
        self,
        history: &[Tree],
        present: &Tree,
        prepare: impl FnOnce(&WorkDir<'_>),
        args: &[&str],
        action: Action,
    ) -> Scene {
        let prepare = |project: &WorkDir<'_>, _: &std::path::Path| prepare(project);
        Scene::in_shape(self, history, present, prepare, args, action)
    }
}
