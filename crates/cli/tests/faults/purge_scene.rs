//! A purge that is disturbed: every checkpoint is as it was or as it is to be, and the next command that
//! writes, the next cleaning or the same command finishes it.

use herma_testkit::raw::files_holding;
use herma_testkit::tree::{assert_same, diff};
use herma_testkit::{Node, Tree, WorkDir};

use super::scene::{Action, Scene, first, id_of, second, third};
use super::{assert_sound, json};

const KEY: &str = "vault/key";

fn with_key(mut tree: Tree, text: &str) -> Tree {
    let bytes = text.into();
    tree.insert(KEY, Node::File { bytes, mode: 0o600 });
    tree
}

/// The directory stays, as it would if somebody had deleted the file.
fn purged(mut tree: Tree) -> Tree {
    tree.remove(KEY.as_bytes());
    tree
}

/// The ids of the contents that are to go.
fn contents(scene: &Scene) -> Vec<String> {
    let hash = |text: &str| {
        let file = scene.env.root().join("content");
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().expect("a path of text");
        let id = scene.env.git(["hash-object", path]).success();
        std::fs::remove_file(&file).unwrap();
        id.line().to_owned()
    };
    ["secret one\n", "secret two\n"].map(hash).to_vec()
}

impl Scene {
    /// A purge of a file that is in three of four checkpoints, one of which has a name and one a pin, after
    /// a restore that was undone.
    pub(super) fn purge() -> Self {
        let trees = [
            first(),
            with_key(second(), "secret one\n"),
            with_key(first(), "secret two\n"),
            with_key(third(), "secret two\n"),
        ];
        let prepare = |project: &WorkDir<'_>| {
            project.run(["name", "@-2", "good"]).success();
            project.run(["pin", "@-1"]).success();
            project.run(["restore", "--all", "@-1"]).success();
            project.run(["undo"]).success();
        };
        let prepare = |project: &WorkDir<'_>, _: &std::path::Path| prepare(project);
        let present = with_key(third(), "secret two\n");
        let args = ["purge", "--yes", KEY];
        Self::prepared(&trees, &present, prepare, &args, Action::Purge)
    }

    /// What each checkpoint brings back, the oldest first.
    fn all_states(&self) -> Vec<Tree> {
        let stash = self.stash();
        let listed = self.listed();
        let states = listed.iter().rev().map(|id| {
            Tree::new().write(self.project().path());
            self.project().run(["restore", "--all", id]).success();
            self.project().tree()
        });
        let states = states.collect();
        self.reset_to(&stash);
        states
    }

    /// Every checkpoint is there, under its place, the old one or the new one; says how many are new.
    #[track_caller]
    fn assert_old_or_new(&self) -> usize {
        let listed = self.listed();
        assert_eq!(listed.len(), self.saved.len(), "as many as there were");
        let mut moved = 0;
        for (id, (_, old)) in listed.iter().rev().zip(&self.saved).skip(1) {
            let stored = self.env.archive_tree(id);
            let new = purged(old.clone()).as_git();
            moved += usize::from(stored == new);
            assert!(stored == new || stored == old.as_git(), "{}", diff(&new, &stored));
        }
        moved
    }

    /// The bytes of all files count, not what git lists.
    #[track_caller]
    fn assert_in_no_file(&self) {
        for secret in ["secret one\n", "secret two\n"] {
            let held = files_holding(&self.env.store(), secret.as_bytes());
            assert!(held.is_empty(), "{secret:?} is still in {held:?}");
        }
    }

    #[track_caller]
    fn assert_finished(&self, contents: &[String]) {
        for (state, (_, old)) in self.all_states().iter().zip(&self.saved) {
            assert_same(&purged(old.clone()), state, "with modes and empty directories");
        }
        let listed = json(&self.project().run(["list", "--json"]).success());
        let listed = listed["checkpoints"].as_array().expect("a list");
        assert_eq!(listed[4]["names"], serde_json::json!(["good"]));
        assert_eq!(listed[3]["pinned"], true);
        let tip = self.env.git(["for-each-ref", "--format=%(objectname)", "refs/hermes"]).success();
        assert_eq!(tip.line(), id_of(&listed[0]));
        for id in contents {
            let found = self.env.git(["cat-file", "-e", id]);
            assert!(!found.status.success(), "{id} can still be read");
        }
        self.assert_in_no_file();
        assert_sound(&self.env.repository());
        // Undo and redo know where they stand; what was purged is left alone by both.
        let stash = self.stash();
        self.project().run(["redo"]).code(3);
        let there = with_key(first(), "secret two\n");
        assert_same(&there, &self.project().tree(), "redone");
        self.project().run(["undo"]).success();
        assert_same(&self.present, &self.project().tree(), "undone again");
        self.reset_to(&stash);
    }
}

pub(super) fn check_purge(scene: &Scene, succeeded: bool) {
    let contents = contents(scene);
    scene.assert_old_or_new();
    let stash = scene.stash();
    if succeeded {
        scene.assert_finished(&contents);
    }
    // A command that writes moves the rest of the refs, and a cleaning harms nothing.
    scene.project().run(["pin", "@"]).success();
    scene.project().run(["checkpoints", "gc"]).success();
    let verify = ["checkpoints", "verify", "--read-data"];
    scene.project().run(verify).success();
    let moved = scene.assert_old_or_new();
    assert!(moved == 0 || moved == scene.saved.len() - 1, "all or none: {moved}");
    if moved > 0 {
        scene.assert_in_no_file();
    }
    scene.reset_to(&stash);
    let again = scene.run_again();
    // Where all was done, nothing is found.
    let is_done = matches!(again.status.code(), Some(0 | 10));
    assert!(is_done, "{again}");
    scene.assert_finished(&contents);
    scene.reset_to(&stash);
}
