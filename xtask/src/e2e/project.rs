//! The project the agents work in, and what the script does to it.
//!
//! It has a file of every sort that matters to a backup: tracked, untracked, ignored by the project, left out by the
//! built-in list, large, and too large.

use std::path::Path;

use herma_testkit::random::Random;
use herma_testkit::{Node, Tree};

use super::script::{Action, prompt_of};
use crate::Result;

/// Files with their texts.
const FILES: [(&str, &str); 6] = [
    (".gitignore", "*.ignored\n"),
    ("edited.txt", "one\n"),
    ("removed.txt", "delete me\n"),
    ("tracked.txt", "known to git\n"),
    ("untracked.txt", "unknown to git\n"),
    ("notes.ignored", "left out, as the project says\n"),
];

/// What git knows.
const TRACKED: [&str; 4] = [".gitignore", "edited.txt", "removed.txt", "tracked.txt"];

/// Three megabytes: more than some agents' own checkpoints take.
const LARGE: &str = "large.bin";
/// More than Herma saves unless told to.
const TOO_LARGE: &str = "too-large.bin";
/// In the built-in list of what is left out.
const EXCLUDED: &str = "node_modules/library.js";

/// Deletes one file of every sort without any word a pattern would find, and writes over another.
const DELETION: &str = "python3 -c \"import os; \
    [os.remove(name) for name in ('tracked.txt', 'untracked.txt', 'notes.ignored', 'large.bin', \
    'too-large.bin', 'node_modules/library.js')]; open('edited.txt', 'w').write('clobbered')\"";

/// What that deletion removes and Herma saves.
pub const DELETED_AND_SAVED: [&str; 3] = ["tracked.txt", "untracked.txt", LARGE];

/// What it removes and Herma leaves out, with the reason the receipt gives.
pub const LEFT_OUT: [(&str, &str); 3] =
    [("notes.ignored", "ignored"), (TOO_LARGE, "too-large"), (EXCLUDED, "excluded")];

/// Makes the project and says what is in it.
pub fn make(workspace: &Path) -> Result<Tree> {
    let mut tree = Tree::of_files(FILES);
    let mut random = Random::new(6);
    for (path, length) in [(LARGE, 3 << 20), (TOO_LARGE, 11 << 20), (EXCLUDED, 1 << 10)] {
        let bytes = random.bytes(length);
        tree.insert(path, Node::File { bytes, mode: 0o644 });
    }
    tree.write(workspace);
    for args in [
        &["init", "--quiet"][..],
        &[&["add", "--"], &TRACKED[..]].concat(),
        &["commit", "--quiet", "-m", "start"],
    ] {
        let mut git = herma_testkit::git::command();
        let output = git.args(args).current_dir(workspace).output()?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("git {}: {words}", args[0]).into());
        }
    }
    Ok(tree)
}

/// The project as it is now, without git's own directory.
pub fn read(workspace: &Path) -> Tree {
    let mut tree = Tree::read(workspace);
    tree.remove(b".git");
    tree
}

/// The scene: a new file, an edit, a shell `rm`, and a deletion by a script.
pub fn scene() -> Vec<Vec<Action>> {
    vec![
        vec![Action::Create { path: "new.txt", text: "created\n" }],
        vec![Action::Look { path: "edited.txt" }],
        vec![Action::Edit { path: "edited.txt", old: "one", new: "two" }],
        vec![Action::Shell { command: "rm removed.txt && echo side > side.txt".to_owned() }],
        vec![deletion()],
    ]
}

/// A deletion of one file of every sort.
pub fn deletion() -> Action {
    Action::Shell { command: DELETION.to_owned() }
}

/// Two calls, for runs in which each takes long.
pub fn short_scene() -> Vec<Vec<Action>> {
    let scene = scene();
    vec![scene[0].clone(), scene[4].clone()]
}

/// The second scene is left to another agent.
pub fn delegation() -> Action {
    Action::Delegate { prompt: prompt_of(2) }
}

/// An agent lets another one delete files; that one's scene is the second.
pub fn delegating_scenes() -> Vec<Vec<Vec<Action>>> {
    vec![vec![vec![delegation()]], vec![vec![deletion()]]]
}

/// Several calls in one message, for two agents that work at the same time.
pub fn crowded_scene(second: bool) -> Vec<Vec<Action>> {
    let create = |path| Action::Create { path, text: "created\n" };
    if second {
        let command = "rm removed.txt && echo side > side.txt".to_owned();
        return vec![vec![
            create("second-1.txt"),
            Action::Shell { command },
            create("second-2.txt"),
        ]];
    }
    vec![vec![create("first-1.txt"), deletion(), create("first-2.txt")]]
}

/// What a tree becomes when an agent does these things.
pub fn after(start: &Tree, actions: impl IntoIterator<Item = Action>) -> Tree {
    let mut tree = start.clone();
    for action in actions {
        match action {
            Action::Create { path, text } => put(&mut tree, path, text),
            Action::Look { .. } | Action::Background { .. } | Action::Delegate { .. } => {}
            Action::Edit { path, new, .. } => put(&mut tree, path, &format!("{new}\n")),
            Action::Shell { command } if command == DELETION => {
                for path in DELETED_AND_SAVED {
                    tree.remove(path.as_bytes());
                }
                for (path, _) in LEFT_OUT {
                    tree.remove(path.as_bytes());
                }
                put(&mut tree, "edited.txt", "clobbered");
            }
            Action::Shell { .. } => {
                tree.remove(b"removed.txt");
                put(&mut tree, "side.txt", "side\n");
            }
        }
    }
    tree
}

/// The mode of a file an agent wrote, which is the agent's affair.
const ANY_MODE: u32 = u32::MAX;

/// Puts a file into a tree as an agent writes it.
pub fn put(tree: &mut Tree, path: &str, text: &str) {
    let (bytes, mode) = (text.into(), ANY_MODE);
    tree.insert(path, Node::File { bytes, mode });
}

fn is_as_expected(expected: Option<&Node>, found: Option<&Node>) -> bool {
    match (expected, found) {
        (Some(Node::File { bytes, mode }), Some(Node::File { bytes: there, .. }))
            if *mode == ANY_MODE =>
        {
            bytes == there
        }
        (expected, found) => expected == found,
    }
}

/// What differs, in a few words; `None` if nothing does. Directories are not compared: agents make some of their
/// own.
pub fn differences(expected: &Tree, found: &Tree) -> Option<String> {
    let only_files = |tree: &Tree| {
        let mut tree = tree.clone();
        tree.0.retain(|_, node| !matches!(node, Node::Dir { .. }));
        tree
    };
    let (expected, found) = (only_files(expected), only_files(found));
    let differing: Vec<_> = expected
        .0
        .keys()
        .chain(found.0.keys())
        .filter(|path| !is_as_expected(expected.0.get(*path), found.0.get(*path)))
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    let mut names = differing;
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}
