//! What was changed in a copy comes into the project as one change, beside whatever was changed there.

use std::path::{Path, PathBuf};

use herma_core::copies::{CopyPlace, OpenCopy, OpenedCopy, Promote, Promoted};
use herma_core::engine::NoProgress;
use herma_core::error::CopyError;
use herma_core::steps::{StepChoice, StepKind, StepStart};
use herma_core::{Error, RowKind, Settings, Undone};
use herma_reversal::{ConflictWhy, Conflicts, Decided};
use herma_store::RelPath;
use herma_testkit::tree::{Tree, assert_same};

use crate::engine::project::TestProject;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn project() -> TestProject {
    let project = TestProject::new();
    project.write("lines", LINES);
    project.write("same", "same\n");
    project.write("old", "old\n");
    project.write("dir/in", "in\n");
    project.save("first");
    project
}

fn open(project: &TestProject, spec: &str, name: &str) -> OpenedCopy {
    let at = CopyPlace::Chosen(project.base().join(name));
    let (target, with_ignored) = (project.find(spec), Vec::new());
    let asked = OpenCopy { target, at, with_ignored, attempt: None };
    project.project().open_copy(&asked, &NoProgress).unwrap()
}

fn asked(copy: &OpenedCopy) -> Promote {
    Promote { copy: copy.record.clone(), paths: Vec::new(), conflicts: Conflicts::Leave }
}

fn promote(project: &TestProject, asked: &Promote) -> Promoted {
    project.project().promote(asked, &NoProgress).unwrap()
}

fn at(copy: &OpenedCopy, path: &str) -> PathBuf {
    copy.project.root().join(path)
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
fn both_sides_stay_and_it_is_one_change_that_is_undone() {
    let project = project();
    let copy = open(&project, "@", "copy");
    write(&at(&copy, "lines"), &LINES.replace("2\n", "two\n"));
    write(&at(&copy, "new/deep"), "new\n");
    std::fs::remove_file(at(&copy, "old")).unwrap();
    std::fs::rename(at(&copy, "same"), at(&copy, "moved")).unwrap();
    project.write("lines", LINES.replace("8\n", "eight\n"));
    project.write("mine", "mine\n");
    let before = project.tree();
    let promoted = promote(&project, &asked(&copy));
    assert!(promoted.plan.reversed.conflicts.is_empty(), "{:?}", promoted.plan.reversed);
    let both = LINES.replace("2\n", "two\n").replace("8\n", "eight\n");
    assert_eq!(project.read("lines"), both);
    assert_eq!((project.read("new/deep"), project.read("mine")), ("new\n".into(), "mine\n".into()));
    assert_eq!((project.exists("old"), project.exists("same")), (false, false));
    assert_eq!(project.read("moved"), "same\n");
    // One change: a move of its own, with a number, a unit that an undo undoes at once.
    let restored = promoted.restored.unwrap();
    let number = restored.number.unwrap();
    let rows = project.project().rows(&StepChoice::default(), usize::MAX, None).unwrap();
    let row = &rows.rows[0];
    assert_eq!((row.kind, row.id.number()), (RowKind::Move, Some(number)));
    assert_eq!(row.calls[0].step.kind, StepKind::Promote);
    assert_eq!(row.checkpoint.as_ref().unwrap().subject().to_string(), "promoted a copy of 1");
    assert_eq!(rows.rows.iter().filter(|row| row.undone > 0).count(), 0, "nothing is undone by it");
    let after = project.tree();
    assert!(matches!(project.undo().unwrap(), Undone::Done(_)));
    assert_same(&before, &project.tree(), "as before it");
    project.redo().unwrap();
    assert_same(&after, &project.tree(), "as after it");
    // The copy stays as it was, and nothing more comes of it.
    let again = promote(&project, &asked(&copy));
    assert!(again.restored.is_none() && again.plan.reversed.changes.is_empty());
    project.fsck();
}

#[test]
fn later_work_stays_when_it_is_undone_by_its_number() {
    let project = project();
    let copy = open(&project, "@", "copy");
    write(&at(&copy, "lines"), &LINES.replace("2\n", "two\n"));
    let number = promote(&project, &asked(&copy)).restored.unwrap().number.unwrap();
    project.write("later", "later\n");
    project.save("later");
    let ids = vec![herma_core::steps::StepId::Number(number)];
    let steps = StepChoice { ids, ..StepChoice::default() };
    let undo = herma_core::UndoSteps { steps, ..herma_core::UndoSteps::default() };
    project.project().undo_steps(&undo, &NoProgress).unwrap();
    assert_eq!(project.read("lines"), LINES);
    assert_eq!(project.read("later"), "later\n");
}

#[test]
fn a_conflict_leaves_the_file_as_it_is_or_is_decided() {
    for (conflicts, expected) in [
        (Conflicts::Leave, "1\nhere\n3\n4\n5\n6\n7\n8\n9\n"),
        (Conflicts::Ours, "1\nhere\n3\n4\n5\n6\n7\n8\nnine\n"),
        (Conflicts::Theirs, "1\nthere\n3\n4\n5\n6\n7\n8\nnine\n"),
        (
            Conflicts::Markers,
            "1\n<<<<<<< now\nhere\n=======\nthere\n>>>>>>> copy\n3\n4\n5\n6\n7\n8\nnine\n",
        ),
    ] {
        let project = project();
        let copy = open(&project, "@", "copy");
        write(&at(&copy, "lines"), &LINES.replace("2\n", "there\n").replace("9\n", "nine\n"));
        write(&at(&copy, "new"), "new\n");
        project.write("lines", LINES.replace("2\n", "here\n"));
        let asked = Promote { conflicts, ..asked(&copy) };
        let planned = project.project().plan_promote(&asked, &NoProgress).unwrap();
        let tree = project.tree();
        let promoted = promote(&project, &asked);
        assert_eq!(planned.reversed, promoted.plan.reversed, "as it was planned");
        assert_eq!(project.read("lines"), expected, "{conflicts:?}");
        assert_eq!(project.read("new"), "new\n");
        let [conflict] = &promoted.plan.reversed.conflicts[..] else { panic!("one") };
        assert!(matches!(conflict.why, ConflictWhy::Text { .. }));
        assert_eq!(conflict.decided == Decided::Left, conflicts == Conflicts::Leave);
        project.undo().unwrap();
        assert_same(&tree, &project.tree(), "undone");
    }
}

#[test]
fn a_file_that_both_made_and_one_that_was_deleted_there_are_told_as_such() {
    let project = project();
    let copy = open(&project, "@", "copy");
    write(&at(&copy, "made"), "there\n");
    std::fs::remove_file(at(&copy, "old")).unwrap();
    write(&at(&copy, "dir/in"), "changed there\n");
    project.write("made", "here\n");
    project.write("old", "changed here\n");
    project.remove("dir");
    let before = project.tree();
    let promoted = promote(&project, &asked(&copy));
    let mut told: Vec<_> = promoted.plan.reversed.conflicts.iter().collect();
    told.sort_by(|a, b| a.path.cmp(&b.path));
    let told: Vec<_> = told.iter().map(|c| (c.path.to_string(), c.why.of_copy())).collect();
    assert_eq!(
        told,
        [
            ("dir/in".to_owned(), "changed in the copy, and deleted here".to_owned()),
            ("made".to_owned(), "made in the copy, and another one was made here".to_owned()),
            ("old".to_owned(), "deleted in the copy, and changed here".to_owned()),
        ]
    );
    assert!(promoted.restored.is_none());
    assert_same(&before, &project.tree(), "nothing was changed");
}

#[test]
fn only_what_is_named_comes_in() {
    let project = project();
    let copy = open(&project, "@", "copy");
    write(&at(&copy, "dir/in"), "changed\n");
    write(&at(&copy, "lines"), "changed\n");
    let asked = Promote { paths: vec![RelPath::new("dir").unwrap()], ..asked(&copy) };
    promote(&project, &asked);
    assert_eq!((project.read("dir/in"), project.read("lines")), ("changed\n".into(), LINES.into()));
}

/// What checkpoints leave out was never in the copy: it is no gap, and nobody's to touch.
#[test]
fn what_checkpoints_leave_out_stays_here() {
    let project = TestProject::with(Settings { max_file_size: Some(1000), ..Settings::default() });
    project.write(".gitignore", "ignored\n");
    project.write("ignored/x", "here\n");
    project.write("large", "x".repeat(2000));
    project.write(".env", "TOKEN=abcdefghijklmnop\n");
    project.write("a", "a\n");
    project.save("first");
    let copy = open(&project, "@", "copy");
    write(&at(&copy, "a"), "changed\n");
    write(&at(&copy, "ignored/x"), "there\n");
    write(&at(&copy, "larger"), &"y".repeat(2000));
    write(&at(&copy, "large"), "small by now\n");
    let promoted = promote(&project, &asked(&copy));
    let kept: Vec<_> =
        promoted.plan.reversed.kept.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(kept, ["large"], "what is here is in no checkpoint");
    let unsaved: Vec<_> = promoted.plan.unsaved.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(unsaved, ["larger"], "no checkpoint of the copy holds it");
    assert_eq!(
        (project.read("a"), project.read("ignored/x")),
        ("changed\n".into(), "here\n".into())
    );
    assert_eq!(project.read("large").len(), 2000);
    assert!(project.exists(".env") && !project.exists("larger"));
}

/// A copy of a state that lies back: what was changed since stays.
#[test]
fn a_copy_of_an_old_state_brings_in_only_what_was_changed_in_it() {
    let project = project();
    project.write("since", "since\n");
    project.write("dir/in", "since\n");
    project.save("second");
    let copy = open(&project, "1", "copy");
    write(&at(&copy, "lines"), "there\n");
    // Also when steps there went back and forth.
    let start = StepStart { command: Some("sed -i s/1/2/ lines".into()), ..StepStart::default() };
    let begun = copy.project.begin_step(StepKind::Run, start, &NoProgress).unwrap();
    write(&at(&copy, "lines"), "there, by a step\n");
    let which = herma_core::WhichStep::Id(begun.step.id());
    copy.project.end_step(&which, &NoProgress).unwrap();
    let promoted = promote(&project, &asked(&copy));
    assert_eq!(project.read("lines"), "there, by a step\n");
    assert_eq!(
        (project.read("since"), project.read("dir/in")),
        ("since\n".into(), "since\n".into())
    );
    let target = promoted.restored.unwrap().target;
    assert_eq!(target.subject().to_string(), "promoted a copy of 1: sed -i s/1/2/ lines");
}

/// The state that comes of it may be there already; it is a change of its own all the same, and marks nothing as undone.
#[test]
fn a_state_that_was_there_before_is_no_restore() {
    let project = project();
    project.write("lines", "second\n");
    project.save("second");
    let copy = open(&project, "@", "copy");
    write(&at(&copy, "lines"), LINES);
    let restored = promote(&project, &asked(&copy)).restored.unwrap();
    assert_eq!(restored.target.number, restored.number.unwrap());
    assert_eq!(restored.target.tree, project.find("1").tree);
    let steps = project.project().steps(&StepChoice::default()).unwrap();
    assert!(steps.iter().all(|step| !step.undone));
    project.undo().unwrap();
    assert_eq!(project.read("lines"), "second\n");
}

#[test]
fn what_is_not_a_copy_of_this_project_is_refused() {
    let project = project();
    let copy = open(&project, "@", "copy");
    let other = TestProject::new();
    let refused = other.project().promote(&asked(&copy), &NoProgress);
    assert!(matches!(refused, Err(Error::Copy(CopyError::OfAnother { .. }))));
    let root = copy.project.root().to_owned();
    std::fs::rename(&root, project.base().join("elsewhere")).unwrap();
    std::fs::create_dir(&root).unwrap();
    write(&root.join("lines"), "another directory\n");
    let tree: Tree = project.tree();
    let refused = project.project().promote(&asked(&copy), &NoProgress);
    assert!(matches!(refused, Err(Error::Copy(CopyError::Gone { .. }))));
    assert_same(&tree, &project.tree(), "nothing was changed");
}
