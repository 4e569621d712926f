//! Guards of steps (see `guards`): what is said of them, and what is undone with them.

use herma_core::engine::NoProgress;
use herma_core::steps::{StepChoice, StepEnd, StepKind};

use herma_core::{Error, Extent, StepOutcome, UndoSteps};
use herma_worktree::reason::Reason;

use super::authorship::rel;
use super::changed_rules::set;
use super::guards::interrupt_at;
use super::ledger::names;
use super::project::TestProject;
use super::steps::of_steps;

/// It was noted twice when it was finished, and stayed noted when it was undone.
#[test]
fn a_restore_that_was_interrupted_after_it_was_noted_is_noted_once_and_forgotten_when_undone() {
    let p = TestProject::new();
    for text in ["one\n", "two\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    let project = p.project();
    assert!(!project.has_steps().unwrap());
    p.restore("@-1");
    assert!(project.has_steps().unwrap());
    let steps = || project.steps(&StepChoice::default()).unwrap();
    let noted = steps().remove(0).step;
    let StepEnd::Changed(end) = noted.end else { panic!("{noted:?}") };
    assert_eq!((noted.kind, noted.before.next_step, end.next_step), (StepKind::Restore, 1, 2));
    // As if it had been killed before its journal was closed.
    interrupt_at(&p, noted.before.checkpoint, end.checkpoint, noted.started);
    project.continue_restore(&NoProgress).unwrap();
    assert_eq!(steps().len(), 1);
    interrupt_at(&p, noted.before.checkpoint, end.checkpoint, noted.started);
    p.undo().unwrap();
    assert_eq!((p.read("a.txt").as_str(), steps().len()), ("two\n", 0));
}

#[test]
fn a_plan_says_what_was_done_by_hand_and_what_becomes_of_each_step() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("b.txt", "one\n");
    p.save("first");
    let step = p.step("claude", || p.write("a.txt", "agent\n"));
    p.chmod("a.txt", 0o600);
    p.chmod("b.txt", 0o600);
    let plan = p.plan_undo_steps(&of_steps(&[step]));
    assert_eq!(names(&plan.by_hand), ["a.txt"], "only what overlaps is named");
    let whole = StepOutcome { step, extent: Extent::Whole, left: Vec::new() };
    assert_eq!(plan.outcomes(), [whole]);
}

#[test]
fn a_path_that_was_asked_for_and_is_not_held_is_named_once() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("secrets.yaml", "key: 1\n");
    p.save("first");
    p.step("claude", || p.write("a.txt", "agent\n"));
    p.write("b.txt", "by hand\n");
    let asked = UndoSteps {
        since: Some(p.find("@-1")),
        paths: vec![rel("a.txt"), rel("secrets.yaml")],
        ..UndoSteps::default()
    };
    let plan = p.plan_undo_steps(&asked);
    assert_eq!(plan.reversed.kept, [(rel("secrets.yaml"), Reason::Secret)]);
}

/// The older checkpoint was restored, and what the step had made stayed.
#[test]
fn what_a_step_made_goes_though_an_older_checkpoint_of_the_same_files_left_it_out() {
    let mut p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("made", "before the rules changed\n");
    set(&mut p, |settings| settings.excludes.exclude = vec!["/made".to_owned()]);
    p.save("without it");
    set(&mut p, |settings| settings.excludes.exclude.clear());
    p.remove("made");
    p.write("a.txt", "two\n");
    let step = p.step("claude", || p.write("made", "by the agent\n"));
    p.write("a.txt", "one\n");
    p.undo_steps(&of_steps(&[step]));
    assert_eq!((p.read("a.txt").as_str(), p.exists("made")), ("one\n", false));
}

#[test]
fn what_the_rules_leave_out_stays_though_a_step_before_all_that_is_undone_made_it() {
    let mut p = TestProject::new();
    p.write("a.txt", "one\n");
    p.step("claude", || p.write("made", "by the agent\n"));
    p.remove("made");
    set(&mut p, |settings| settings.excludes.exclude = vec!["/made".to_owned()]);
    p.write("a.txt", "two\n");
    let since = Some(p.save("without it").checkpoint);
    p.step("claude", || p.write("a.txt", "three\n"));
    p.write("made", "by the agent\n");
    let taken = p.undo_steps(&UndoSteps { since, ..UndoSteps::default() });
    assert!(taken.plan.exact.is_some(), "it is nobody's work");
    assert_eq!((p.read("a.txt").as_str(), p.exists("made")), ("two\n", true));
}

#[test]
fn where_nothing_was_undone_there_is_nothing_to_redo_whatever_changed() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    p.write("a.txt", "two\n");
    let refused = p.redo();
    assert!(matches!(refused, Err(Error::NothingToRedo)), "{refused:?}");
}
