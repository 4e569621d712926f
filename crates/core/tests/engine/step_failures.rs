//! Steps that overlap, contain each other, never end, or lose their checkpoints; and Herma's own moves among
//! them.

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::steps::{StepChoice, StepId, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Error, RelPath, UndoSteps, WhichStep};
use herma_testkit::tree::assert_same;

use super::interleavings::quick_project;
use super::ledger::{conflicts, names, restore_oldest};
use super::project::TestProject;
use super::steps::{handle, of_steps};

/// A project with some files and one checkpoint.
fn started() -> TestProject {
    let p = quick_project();
    for name in ["a", "b", "c", "d"] {
        p.write(&format!("{name}.txt"), "old\n");
    }
    p.save("first");
    p
}

fn in_session(session: &str) -> StepStart {
    StepStart {
        facts: Facts {
            agent: Some("claude".into()),
            session: Some(session.into()),
            ..Facts::default()
        },
        ..StepStart::default()
    }
}

fn contents(p: &TestProject) -> [String; 4] {
    ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| p.read(name).trim_end().to_owned())
}

/// The step that was noted last: Herma's own move.
fn last_step(p: &TestProject) -> StepId {
    let step = p.begin("nobody", "nothing");
    p.end(step);
    p.called(StepId::Handle(handle(step) - 1))
}

#[test]
fn a_step_nobody_ended_counts_until_the_next_checkpoint() {
    let mut p = started();
    let step = p.begin_as(in_session("s"));
    p.write("a.txt", "agent\n");
    p.write("b.txt", "by hand, meanwhile\n");
    p.reopen();
    // The next prompt says that it is over, whatever came of it.
    let project = p.project();
    project.begin_turn("s", &Facts::default(), None).unwrap();
    let again = project.end_step(&WhichStep::Id(step), &NoProgress);
    assert!(matches!(again, Err(Error::StepIsOver(_))), "{again:?}");
    p.save("somebody");
    p.write("c.txt", "by hand, later\n");
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(taken.plan.uncertain(), [step]);
    assert_eq!(names(&taken.plan.by_hand), [""; 0], "what overlaps nothing is not named");
    assert_eq!(contents(&p), ["old", "old", "by hand, later", "old"]);
}

#[test]
fn a_step_that_is_still_open_counts_until_now_and_says_so() {
    let p = started();
    let step = p.begin_as(in_session("s"));
    p.write("a.txt", "agent\n");
    p.save("somebody");
    p.write("b.txt", "anybody\n");
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(taken.plan.uncertain(), [step]);
    assert_eq!(contents(&p), ["old"; 4]);
    p.undo().unwrap();
    assert_eq!(contents(&p), ["agent", "anybody", "old", "old"]);
}

#[test]
fn a_step_with_an_unknown_end_counts_until_the_next_checkpoint() {
    let p = started();
    let step = p.begin("claude", "background");
    p.write("a.txt", "agent\n");
    let project = p.project();
    let which = WhichStep::Id(step);
    project.end_step_unknown(&which).unwrap();
    p.write("b.txt", "agent, in the background\n");
    let next = p.step("codex", || p.write("c.txt", "codex\n"));
    p.write("d.txt", "by hand\n");
    let plan = p.plan_undo_steps(&of_steps(&[next]));
    assert_eq!(plan.uncertain(), []);
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(taken.plan.uncertain(), [step]);
    assert_eq!(names(&taken.plan.by_others), [""; 0], "what overlaps nothing is not named");
    assert_eq!(contents(&p), ["old", "old", "codex", "by hand"]);
}

#[test]
fn what_happened_during_two_steps_is_nobodys() {
    let p = started();
    let first = p.begin("claude", "bash");
    p.write("a.txt", "claude\n");
    let second = p.begin("codex", "bash");
    p.write("b.txt", "one of them\n");
    let first = p.end(first).id();
    p.write("c.txt", "codex\n");
    let second = p.end(second).id();
    p.write("d.txt", "by hand\n");
    let plan = p.plan_undo_steps(&of_steps(&[second]));
    assert_eq!(names(&plan.unattributed), ["b.txt"]);
    let taken = p.undo_steps(&of_steps(&[first]));
    assert_eq!(names(&taken.plan.unattributed), ["b.txt"]);
    assert_eq!(names(&taken.plan.by_others), [""; 0], "what overlaps nothing is not named");
    assert_eq!(contents(&p), ["old", "one of them", "codex", "by hand"]);
    p.undo().unwrap();
    let both = p.undo_steps(&of_steps(&[first, second]));
    assert_eq!(names(&both.plan.unattributed), [""; 0]);
    assert_eq!(contents(&p), ["old", "old", "old", "by hand"]);
}

#[test]
fn a_step_within_another_is_told_from_it_and_goes_with_it() {
    let p = started();
    let outer = p.begin("claude", "task");
    p.write("a.txt", "outer\n");
    let inner = p.begin_as(StepStart { within: Some(handle(outer)), ..in_session("s") });
    p.write("b.txt", "inner\n");
    let inner = p.end(inner).id();
    p.write("c.txt", "outer\n");
    let outer = p.end(outer).id();
    p.write("d.txt", "by hand\n");
    let taken = p.undo_steps(&of_steps(&[inner]));
    assert_eq!(taken.plan.steps, [inner]);
    assert_eq!(contents(&p), ["outer", "old", "outer", "by hand"]);
    p.undo().unwrap();
    let taken = p.undo_steps(&of_steps(&[outer]));
    assert_eq!(taken.plan.steps, [inner, outer]);
    assert_eq!(contents(&p), ["old", "old", "old", "by hand"]);
}

/// Drops checkpoints, by what they are to the step; whatever is undone then is right or is doubted.
#[test]
fn a_step_that_lost_a_checkpoint_is_doubted() {
    for (lose_before, lose_after) in [(true, false), (false, true), (true, true)] {
        let p = started();
        p.write("b.txt", "by hand, before\n");
        let step = p.begin("claude", "edit");
        let before = p.find("@");
        p.write("a.txt", "agent\n");
        let step = p.end(step).id();
        let after = p.find("@");
        p.write("c.txt", "by hand, after\n");
        p.save("somebody");
        p.write("d.txt", "by hand, unsaved\n");
        let project = p.project();
        if lose_before {
            project.drop_checkpoint(&before).unwrap();
        }
        if lose_after {
            project.drop_checkpoint(&after).unwrap();
        }
        let what = format!("before lost: {lose_before}, after lost: {lose_after}");
        let taken = p.undo_steps(&of_steps(&[step]));
        assert_eq!(taken.plan.uncertain(), [step], "{what}");
        let b = if lose_before { "old" } else { "by hand, before" };
        let c = if lose_after { "old" } else { "by hand, after" };
        assert_eq!(contents(&p), ["old", b, c, "by hand, unsaved"], "{what}");
        p.undo().unwrap();
        let whole = ["agent", "by hand, before", "by hand, after", "by hand, unsaved"];
        assert_eq!(contents(&p), whole, "{what}");
        p.fsck_but_dangling();
    }
}

#[test]
fn a_step_of_which_nothing_is_left_is_refused() {
    let p = started();
    let step = p.step("claude", || p.write("a.txt", "agent\n"));
    p.write("b.txt", "by hand\n");
    p.save("newest");
    let project = p.project();
    let all = p.list();
    for old in &all[1..] {
        project.drop_checkpoint(old).unwrap();
    }
    p.write("c.txt", "by hand\n");
    let plan = project.plan_undo_steps(&of_steps(&[step]), &NoProgress);
    assert!(matches!(&plan, Err(Error::StepsForgotten(steps)) if *steps == [step]), "{plan:?}");
    let unknown = project.plan_undo_steps(&of_steps(&[StepId::Number(99)]), &NoProgress);
    assert!(matches!(unknown, Err(Error::NoSuchStep(_))), "{unknown:?}");
    assert_eq!(contents(&p), ["agent", "by hand", "by hand", "old"]);
}

#[test]
fn a_checkpoint_in_the_place_of_a_dropped_one_is_not_taken_for_it() {
    let p = started();
    let step = p.step("claude", || p.write("a.txt", "agent\n"));
    let dropped = p.find("@");
    p.project().drop_checkpoint(&dropped).unwrap();
    p.write("b.txt", "by hand\n");
    let saved = p.save("somebody");
    assert!(saved.checkpoint.number > dropped.number);
    p.write("a.txt", "by hand\n");
    let plan = p.plan_undo_steps(&of_steps(&[step]));
    assert_eq!(plan.uncertain(), [step], "nobody knows where it ended");
    assert_eq!(names(&plan.by_hand), ["a.txt"]);
}

#[test]
fn a_restore_between_steps_is_not_a_persons_work() {
    let part = |paths: &[&str], keep: &[&str]| {
        let all = |list: &[&str]| list.iter().map(|p| RelPath::new(*p).unwrap()).collect();
        RestoreOptions { paths: all(paths), keep: all(keep) }
    };
    for (part, b_after) in [
        (part(&[], &[]), "old"),
        (part(&["a.txt"], &[]), "first step"),
        (part(&[], &["b.txt"]), "first step"),
    ] {
        let p = started();
        let first = p.find("@");
        p.step("claude", || {
            p.write("a.txt", "first step\n");
            p.write("b.txt", "first step\n");
        });
        p.restore_with(&first.id.to_hex(), &part).unwrap();
        assert_eq!(contents(&p), ["old", b_after, "old", "old"]);
        let plan = p.plan_undo_steps(&restore_oldest(&p));
        assert_eq!(names(&plan.by_hand), [""; 0], "{part:?}");
        assert!(plan.exact.is_some(), "{part:?}");
        let second = p.step("codex", || p.write("c.txt", "second step\n"));
        p.write("d.txt", "by hand\n");
        let taken = p.undo_steps(&of_steps(&[second]));
        assert_eq!(names(&taken.plan.by_hand), [""; 0], "{part:?}");
        assert_eq!(contents(&p), ["old", b_after, "old", "by hand"]);
        let taken = p.undo_steps(&restore_oldest(&p));
        assert_eq!(names(&taken.plan.by_hand), ["d.txt"], "{part:?}");
        assert_eq!(conflicts(&taken.plan), [""; 0], "{part:?}");
        assert_eq!(contents(&p), ["old", "old", "old", "by hand"], "{part:?}");
        p.fsck();
    }
}

#[test]
fn restores_after_restores_keep_what_is_a_persons() {
    let p = started();
    p.step("claude", || p.write("a.txt", "one\n"));
    p.write("b.txt", "by hand\n");
    p.undo_steps(&restore_oldest(&p));
    assert_eq!(contents(&p), ["old", "by hand", "old", "old"]);
    let again = p.plan_undo_steps(&restore_oldest(&p));
    assert!(again.is_empty(), "{again:?}");
    p.step("claude", || p.write("a.txt", "two\n"));
    p.write("c.txt", "by hand\n");
    let taken = p.undo_steps(&restore_oldest(&p));
    assert_eq!(names(&taken.plan.by_hand), ["b.txt", "c.txt"]);
    assert_eq!(contents(&p), ["old", "by hand", "by hand", "old"]);
    p.undo().unwrap();
    assert_eq!(contents(&p), ["two", "by hand", "by hand", "old"]);
    let taken = p.undo_steps(&restore_oldest(&p));
    assert_eq!(names(&taken.plan.by_hand), ["b.txt", "c.txt"]);
    assert_eq!(contents(&p), ["old", "by hand", "by hand", "old"]);
}

#[test]
fn an_undo_of_an_undo_brings_the_step_back() {
    let p = started();
    let first = p.step("claude", || p.write("a.txt", "one\n"));
    let second = p.step("claude", || p.write("b.txt", "two\n"));
    p.write("c.txt", "by hand\n");
    p.undo_steps(&of_steps(&[first]));
    let undo_of_first = last_step(&p);
    p.undo_steps(&of_steps(&[second]));
    assert_eq!(contents(&p), ["old", "old", "by hand", "old"]);
    p.write("d.txt", "by hand\n");
    let taken = p.undo_steps(&of_steps(&[undo_of_first]));
    assert_eq!(taken.plan.steps, [undo_of_first]);
    assert_eq!(contents(&p), ["one", "old", "by hand", "by hand"]);
    // What is back is the step's again, or it is nobody's loss: undoing it once more is no conflict.
    p.undo().unwrap();
    assert_eq!(contents(&p), ["old", "old", "by hand", "by hand"]);
    p.fsck();
}

#[test]
fn a_step_that_was_undone_already_leaves_nothing_to_do() {
    let p = started();
    let step = p.step("claude", || {
        p.write("a.txt", "agent\n");
        p.write("made.txt", "made\n");
    });
    p.write("b.txt", "by hand\n");
    p.undo_steps(&of_steps(&[step]));
    let tree = p.tree();
    let again = p.undo_steps(&of_steps(&[step]));
    assert!(again.restored.is_none(), "{:?}", again.plan.reversed);
    assert_same(&tree, &p.tree(), "twice is once");
}

#[test]
fn a_plan_for_other_files_is_refused() {
    let p = started();
    let step = p.step("claude", || p.write("a.txt", "agent\n"));
    let project = p.project();
    let plan = p.plan_undo_steps(&of_steps(&[step]));
    p.write("b.txt", "by hand, after planning\n");
    let count = p.list().len();
    let refused = project.undo_as_planned(plan, &NoProgress);
    assert!(matches!(refused, Err(Error::ChangedSincePlan)), "{refused:?}");
    assert_eq!(p.list().len(), count, "a refusal adds no entry");
    assert_eq!(p.read("a.txt"), "agent\n");
}

#[test]
fn steps_are_chosen_by_session_turn_and_time() {
    let p = started();
    let project = p.project();
    let work = |session: &str, file: &str| {
        let step = p.begin_as(in_session(session));
        p.write(file, "agent\n");
        p.end(step);
    };
    project.begin_turn("s", &Facts::default(), None).unwrap();
    work("s", "a.txt");
    project.begin_turn("s", &Facts::default(), None).unwrap();
    work("s", "b.txt");
    work("other", "c.txt");
    p.write("d.txt", "by hand\n");
    let asked = |choice: StepChoice| UndoSteps { steps: choice, ..UndoSteps::default() };
    let session = Some("s".to_owned());
    let last_turn = StepChoice {
        session: session.clone(),
        turn: Some(herma_core::steps::TurnChoice::Last),
        ..StepChoice::default()
    };
    p.undo_steps(&asked(last_turn));
    assert_eq!(contents(&p), ["agent", "old", "agent", "by hand"]);
    let of_session = StepChoice { session, ..StepChoice::default() };
    p.undo_steps(&asked(of_session));
    assert_eq!(contents(&p), ["old", "old", "agent", "by hand"]);
}

#[test]
fn a_formatter_over_a_thousand_files_goes_and_twenty_hand_edits_stay() {
    let p = quick_project();
    let lines = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n7\n{last}\n");
    let path = |n: usize| format!("src/dir{}/file{n}.rs", n % 20);
    for n in 0..1000 {
        p.write(&path(n), lines(&format!("  head {n}"), "tail"));
    }
    p.save("first");
    let mut expected = p.tree();
    let step = p.step("claude", || {
        for n in 0..1000 {
            p.write(&path(n), lines(&format!("head {n}"), "tail"));
        }
    });
    for n in (0..1000).step_by(50) {
        p.write(&path(n), lines(&format!("head {n}"), "by hand"));
        let bytes = lines(&format!("  head {n}"), "by hand").into_bytes();
        let mode = 0o644;
        expected.insert(path(n), herma_testkit::tree::Node::File { bytes, mode });
    }
    let before = p.tree();
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(taken.plan.by_hand.len(), 20);
    assert_eq!(taken.plan.reversed.merged.len(), 20);
    assert_same(&expected, &p.tree(), "formatted back");
    p.undo().unwrap();
    assert_same(&before, &p.tree(), "undone");
    p.fsck();
}

#[test]
fn without_steps_or_without_hand_edits_a_restore_is_exact() {
    let p = started();
    p.write("a.txt", "by hand\n");
    p.save("somebody");
    p.write("b.txt", "by hand\n");
    let taken = p.undo_steps(&restore_oldest(&p));
    assert!(taken.plan.exact.is_some());
    assert_eq!(contents(&p), ["old"; 4]);
    let p = started();
    p.step("claude", || p.write("a.txt", "agent\n"));
    let taken = p.undo_steps(&restore_oldest(&p));
    assert!(taken.plan.exact.is_some());
    assert_eq!(contents(&p), ["old"; 4]);
}

#[test]
fn an_exact_restore_names_steps_it_is_not_sure_of() {
    let p = started();
    let step = p.begin("claude", "background");
    p.write("a.txt", "agent\n");
    let project = p.project();
    project.end_step_unknown(&WhichStep::Id(step)).unwrap();
    p.write("b.txt", "by hand, as far as anybody can tell\n");
    assert!(project.has_work().unwrap());
    let plan = p.plan_undo_steps(&restore_oldest(&p));
    assert!(plan.exact.is_some());
    assert_eq!((plan.steps.clone(), plan.uncertain()), (vec![step], vec![step]));
    p.save("somebody");
    p.write("c.txt", "by hand\n");
    p.undo_steps(&restore_oldest(&p));
    assert_eq!(contents(&p), ["old", "old", "by hand", "old"]);
}
