//! Before a file is displaced, its stored copy is read back; where that fails, the file is stored again first.

use std::path::PathBuf;
use std::sync::Mutex;

use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::error::ErrorKind;
use herma_core::restore::RestoreOptions;
use herma_core::{ObjectId, Undone};
use herma_testkit::random::Random;

use super::lost_receipts::rot;
use super::project::TestProject;
use super::steps::of_steps;

/// What does something when a stage begins.
struct When<F>(Mutex<F>);

impl<F: FnMut(Stage) + Send> When<F> {
    fn new(work: F) -> Self {
        Self(Mutex::new(work))
    }
}

impl<F: FnMut(Stage) + Send> Progress for When<F> {
    fn stage(&self, stage: Stage) {
        (self.0.lock().unwrap())(stage);
    }

    fn files(&self, _done: u64, _total: Option<u64>) {}
}

fn id_of(p: &TestProject, path: &str) -> ObjectId {
    let hashed =
        p.repository().git(["hash-object", "--no-filters", p.path(path).to_str().unwrap()]);
    ObjectId::from_hex(hashed.text().trim().as_bytes()).unwrap()
}

/// The object at `what`, as `git rev-parse` understands it.
fn object(p: &TestProject, what: &str) -> ObjectId {
    let found = p.repository().git(["rev-parse", what]);
    ObjectId::from_hex(found.text().trim().as_bytes()).unwrap()
}

/// Two checkpoints: in the second, files are changed, added, have another mode, and links point elsewhere.
fn two() -> (TestProject, herma_testkit::tree::Tree) {
    let p = TestProject::new();
    p.write("sub/deep/a.txt", "one\n");
    p.write("sub/b.txt", "mode\n");
    p.write("stays.txt", "as it is\n");
    std::os::unix::fs::symlink("one", p.path("link")).unwrap();
    p.save("first");
    p.write("sub/deep/a.txt", "two\n");
    p.write("sub/new.txt", "new\n");
    p.chmod("sub/b.txt", 0o600);
    p.remove("link");
    std::os::unix::fs::symlink("two", p.path("link")).unwrap();
    p.save("second");
    let tree = p.tree();
    (p, tree)
}

/// Restores the first checkpoint, and comes back from there.
fn there_and_back(p: &TestProject, present: &herma_testkit::tree::Tree, what: &str) {
    let first = format!("id:{}", p.list().last().unwrap().id);
    let restored = p.restore_with(&first, &RestoreOptions::default());
    restored.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(p.read("sub/deep/a.txt"), "one\n", "{what}");
    p.undo().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(&p.tree(), present, "{what}");
}

#[test]
fn a_damaged_stored_copy_is_stored_again_before_its_file_is_displaced() {
    for path in ["sub/deep/a.txt", "sub/new.txt", "sub/b.txt"] {
        let (p, present) = two();
        rot(&p, &id_of(&p, path));
        there_and_back(&p, &present, path);
    }
    let (p, present) = two();
    rot(&p, &object(&p, &format!("{}:link", p.find("@").id)));
    there_and_back(&p, &present, "link");
}

#[test]
fn a_damaged_tree_or_receipt_is_stored_again_before_a_file_is_displaced() {
    let extra = |p: &TestProject, part: &str| format!("{}:{part}", p.find("@").extra.unwrap());
    for what in ["", "sub", "sub/deep"] {
        let (p, present) = two();
        rot(&p, &object(&p, &format!("{}:{what}", p.find("@").id)));
        there_and_back(&p, &present, what);
    }
    for part in ["", "summary", "modes", "modes/dirs", "modes/dirs/sub/list"] {
        let (p, present) = two();
        rot(&p, &object(&p, &extra(&p, part)));
        there_and_back(&p, &present, part);
    }
    let (p, present) = two();
    rot(&p, &p.find("@").id);
    there_and_back(&p, &present, "the commit");
}

#[test]
fn a_damaged_copy_of_what_an_undo_or_redo_displaces_is_stored_again() {
    let (p, present) = two();
    p.restore("@-1");
    let before = p.tree();
    rot(&p, &id_of(&p, "sub/deep/a.txt"));
    p.undo().unwrap();
    assert_eq!(p.tree(), present);
    rot(&p, &id_of(&p, "sub/deep/a.txt"));
    p.redo().unwrap();
    assert_eq!(p.tree(), before);
    p.undo().unwrap();
    assert_eq!(p.tree(), present);
}

#[test]
fn a_damaged_copy_of_what_undoing_a_step_displaces_is_stored_again() {
    let p = TestProject::new();
    p.write("a", "one\n");
    p.save("first");
    let step = p.step("agent", || p.write("made.txt", "only here\n"));
    rot(&p, &id_of(&p, "made.txt"));
    p.undo_steps(&of_steps(&[step]));
    assert!(!p.exists("made.txt"));
    p.undo().unwrap();
    assert_eq!(p.read("made.txt"), "only here\n");
}

#[test]
fn a_move_whose_end_is_damaged_does_not_keep_the_project_from_other_checkpoints() {
    for damaged in ["", "sub"] {
        let (p, second) = two();
        let (second_id, first) = (p.find("@").id, p.find("@-1").id);
        p.restore("@-1");
        p.write("sub/deep/a.txt", "edited\n");
        p.write("stays.txt", "edited, too\n");
        let edited = p.tree();
        rot(&p, &object(&p, &format!("{first}:{damaged}")));
        let undone = p.undo().map(|_| ()).unwrap_err();
        assert_eq!(undone.kind(), ErrorKind::Damaged, "{damaged}: {undone}");
        assert_eq!(p.tree(), edited);
        p.restore(&format!("id:{second_id}"));
        assert_eq!(p.tree(), second, "{damaged}");
        p.undo().unwrap();
        assert_eq!(p.tree(), edited, "{damaged}");
    }
}

#[test]
fn a_damaged_copy_of_what_finishing_a_restore_displaces_is_stored_again() {
    let (p, present) = two();
    let state = p.store().join("herma/projects").join(p.project().id().as_str());
    let (journal, copy) = (state.join("journal"), p.base().join("copy"));
    let keep = When::new(|stage| {
        if stage == Stage::Restoring {
            std::fs::copy(&journal, &copy).unwrap();
        }
    });
    let target = p.find("@-1");
    let project = p.project();
    let options = RestoreOptions::default();
    project.restore_with(&target, &options, &keep).unwrap();
    // As if it had been killed before the last file.
    p.write("sub/deep/a.txt", "two\n");
    std::fs::copy(&copy, &journal).unwrap();
    rot(&p, &id_of(&p, "sub/deep/a.txt"));
    project.continue_restore(&NoProgress).unwrap();
    assert_eq!(p.read("sub/deep/a.txt"), "one\n");
    let Undone::Done(_) = p.undo().unwrap() else {
        panic!("it was done");
    };
    assert_eq!(p.tree(), present);
}

#[test]
fn a_damaged_copy_of_a_large_file_does_not_hide_the_one_that_was_stored_again() {
    let p = TestProject::new();
    p.write("large", "small at first");
    p.save("first");
    let content = Random::new(7).bytes(3 << 20);
    p.write("large", &content);
    p.save("second");
    rot(&p, &id_of(&p, "large"));
    let restored = p.restore("@-1");
    assert_eq!(restored.lost.files, 1);
    p.undo().unwrap();
    assert!(std::fs::read(p.path("large")).unwrap() == content);
}

#[test]
fn what_cannot_be_stored_again_keeps_its_place() {
    let (p, present) = two();
    rot(&p, &id_of(&p, "sub/deep/a.txt"));
    let temp: PathBuf = p.store().join("herma/tmp");
    let mut looks = 0;
    let full = When::new(|stage| {
        looks += usize::from(stage == Stage::Scanning);
        if looks == 2 && temp.exists() {
            std::fs::remove_dir(&temp).unwrap();
        }
    });
    let target = p.find("@-1");
    let refused = p.project().restore_with(&target, &RestoreOptions::default(), &full);
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("sub/deep/a.txt"), "{error}");
    assert_eq!(p.tree(), present);
    let unfinished = p.project().interrupted().unwrap();
    assert!(unfinished.is_none(), "there is nothing to finish");
}

#[test]
fn a_file_that_changes_while_its_copy_is_stored_again_keeps_its_place() {
    let (p, _) = two();
    rot(&p, &id_of(&p, "sub/deep/a.txt"));
    let path = p.path("sub/deep/a.txt");
    let mut looks = 0;
    let edited = When::new(|stage| {
        looks += usize::from(stage == Stage::Scanning);
        if looks == 2 {
            std::fs::write(&path, "by hand, meanwhile\n").unwrap();
        }
    });
    let target = p.find("@-1");
    let refused = p.project().restore_with(&target, &RestoreOptions::default(), &edited);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!(p.read("sub/deep/a.txt"), "by hand, meanwhile\n");
}
