//! How often a command looks at the whole project, and what one look is enough for.

use std::sync::atomic::{AtomicUsize, Ordering};

use herma_core::UndoSteps;
use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::restore::RestoreOptions;
use herma_core::steps::StepId;

use super::authorship::rel;
use super::project::TestProject;
use super::steps::of_steps;

/// Counts the looks at the whole project.
#[derive(Default)]
struct Looks(AtomicUsize);

impl Progress for Looks {
    fn stage(&self, stage: Stage) {
        if stage == Stage::Scanning {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn files(&self, _done: u64, _total: Option<u64>) {}
}

/// How often the project is looked at while this is done.
fn looks<T>(work: impl FnOnce(&Looks) -> Result<T, herma_core::Error>) -> (usize, T) {
    let looks = Looks::default();
    let done = work(&looks).unwrap();
    (looks.0.into_inner(), done)
}

/// A project with a step that changed two files, and an edit by hand since that nobody saved.
fn edited() -> (TestProject, StepId) {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("sub/b.txt", "one\n");
    p.write("sub/deep/c.txt", "one\n");
    p.save("first");
    let step = p.step("claude", || {
        p.write("a.txt", "agent\n");
        p.write("sub/b.txt", "agent\n");
    });
    p.write("sub/deep/c.txt", "by hand\n");
    (p, step)
}

#[test]
fn a_step_is_undone_with_one_look_and_a_check_of_what_changed() {
    let (p, step) = edited();
    let asked = of_steps(&[step]);
    let (looks, taken) = looks(|looks| p.project().undo_steps(&asked, looks));
    assert_eq!(looks, 1);
    assert_eq!(taken.restored.unwrap().written, 2);
    assert_eq!((p.read("a.txt"), p.read("sub/deep/c.txt")), ("one\n".into(), "by hand\n".into()));
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "agent\n");
    assert_eq!(p.read("sub/deep/c.txt"), "by hand\n", "the save before it has the edit");
    p.fsck();
}

#[test]
fn a_plan_that_somebody_saw_is_carried_out_with_one_more_look() {
    let (p, step) = edited();
    let (planning, plan) = looks(|looks| p.project().plan_undo_steps(&of_steps(&[step]), looks));
    let preview = p.project().preview(&plan).unwrap();
    assert_eq!(preview.changes.len(), 2);
    let (doing, taken) = looks(|looks| p.project().undo_as_planned(plan, looks));
    assert_eq!((planning, doing), (1, 1));
    assert!(taken.restored.is_some());
    assert_eq!(p.read("sub/b.txt"), "one\n");
}

#[test]
fn a_restore_across_a_step_looks_once() {
    let (p, _) = edited();
    let since = p.find("@-1");
    let asked = UndoSteps { since: Some(since), ..UndoSteps::default() };
    let (looks, _) = looks(|looks| p.project().undo_steps(&asked, looks));
    assert_eq!(looks, 1);
    assert_eq!((p.read("a.txt"), p.read("sub/deep/c.txt")), ("one\n".into(), "by hand\n".into()));
}

#[test]
fn an_exact_restore_across_a_step_is_planned_and_done_with_one_look_each() {
    let (p, _) = edited();
    p.write("sub/deep/c.txt", "one\n");
    let before = p.tree();
    let asked = UndoSteps { since: Some(p.find("@-1")), ..UndoSteps::default() };
    let (planning, plan) = looks(|looks| p.project().plan_undo_steps(&asked, looks));
    assert_eq!(plan.exact.unwrap().actions.len(), 2);
    let (doing, taken) = looks(|looks| p.project().undo_steps(&asked, looks));
    assert_eq!((planning, doing), (1, 1));
    assert_eq!(taken.restored.unwrap().written, 2);
    p.undo().unwrap();
    assert_eq!(p.tree(), before);
}

#[test]
fn a_restore_looks_once_and_undo_and_redo_look_once_more_for_their_plan() {
    let (p, _) = edited();
    let (project, all) = (p.project(), RestoreOptions::default());
    let one = RestoreOptions { paths: vec![rel("a.txt")], ..RestoreOptions::default() };
    assert_eq!(looks(|looks| project.undo_with(looks, false)).0, 2);
    assert_eq!(
        (p.read("sub/b.txt"), p.read("sub/deep/c.txt")),
        ("one\n".into(), "by hand\n".into())
    );
    assert_eq!(looks(|looks| project.redo_with(looks, false)).0, 2);
    assert_eq!(p.read("sub/b.txt"), "agent\n");
    let first = p.list().pop().unwrap();
    assert_eq!(looks(|looks| project.restore_with(&first, &one, looks)).0, 1);
    assert_eq!((p.read("a.txt"), p.read("sub/b.txt")), ("one\n".into(), "agent\n".into()));
    assert_eq!(looks(|looks| project.restore_with(&first, &all, looks)).0, 1);
    assert_eq!(looks(|looks| project.undo_with(looks, false)).0, 2, "straight back");
    p.write("sub/deep/c.txt", "later\n");
    assert_eq!(looks(|looks| project.redo_with(looks, false)).0, 2, "with edits since");
}

#[test]
fn blame_and_history_look_only_on_the_way_to_the_file() {
    let (p, _) = edited();
    let (project, path) = (p.project(), rel("sub/deep/c.txt"));
    let (looked, blame) = looks(|looks| project.blame(&path, looks));
    assert_eq!((looked, blame.lines.len()), (0, 1));
    assert_eq!(blame.lines[0].text, "by hand\n");
    let (looked, history) = looks(|looks| project.history(&path, looks));
    assert_eq!((looked, history.versions.len()), (0, 2));
}

#[test]
fn a_file_that_nobody_saved_is_looked_for_where_it_may_come_from() {
    let (p, _) = edited();
    std::fs::rename(p.path("sub/b.txt"), p.path("elsewhere.txt")).unwrap();
    let path = rel("elsewhere.txt");
    let (looked, history) = looks(|looks| p.project().history(&path, looks));
    assert_eq!(looked, 1);
    let paths: Vec<_> = history.versions.iter().map(|v| v.path.to_string()).collect();
    assert_eq!(paths, ["elsewhere.txt", "sub/b.txt", "sub/b.txt"]);
}

#[test]
fn blame_sees_that_an_ignore_file_on_the_way_changed() {
    let (p, _) = edited();
    p.write("sub/.gitignore", "new.txt\n");
    p.write("sub/new.txt", "nobody's\n");
    let refused = p.project().blame(&rel("sub/new.txt"), &NoProgress);
    assert!(refused.unwrap_err().to_string().contains("left out"), "it is ignored by now");
}
