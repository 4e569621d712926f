//! A restore that was interrupted is finished or reversed, after somebody went on working.

use herma_core::engine::{NoProgress, Stage};
use herma_core::restore::{Kept, KeptWhy, RestoreOptions};
use herma_core::{Error, Move, RelPath, Restored, Settled, Undone};
use herma_testkit::tree::Tree;

use super::project::TestProject;
use super::reviewed::When;

const LINES: &str = "1\n2\n3\n4\n5\n";
const AGENT: &str = "1\n2\n3\n4\n5\nA\n";

/// What stops a restore before it is over.
fn obstacle(p: &TestProject) -> impl Fn() + Sync {
    let (root, aside) = (p.root.clone(), p.base().join("aside"));
    move || std::fs::rename(&root, &aside).unwrap()
}

/// Removes the obstacle, and leaves the files half way: `a` is as after the restore, the others are as before it.
fn half_way<T>(p: &TestProject, stopped: &Result<T, Error>) {
    assert!(stopped.is_err(), "nothing stopped it");
    std::fs::rename(p.base().join("aside"), &p.root).unwrap();
    p.write("a", LINES);
    p.write("sub/x", AGENT);
    p.write("made", "made\n");
    assert!(p.project().interrupted().unwrap().is_some());
}

fn scene() -> TestProject {
    let p = TestProject::new();
    p.write("a", LINES);
    p.write("b", "b\n");
    p.write("sub/x", LINES);
    p.save("first");
    p
}

/// The undo of an agent's work, interrupted.
fn interrupted_undo() -> TestProject {
    let p = scene();
    p.step("claude", || p.write("zero", "zero\n"));
    p.step("claude", || {
        p.write("a", AGENT);
        p.write("sub/x", AGENT);
        p.write("made", "made\n");
    });
    let stopped = p.project().undo_with(&When(Stage::Verifying, obstacle(&p)), false);
    half_way(&p, &stopped);
    p
}

/// A restore where no agent ever worked, interrupted.
fn interrupted_restore(options: &RestoreOptions) -> TestProject {
    let p = scene();
    p.write("a", AGENT);
    p.write("sub/x", AGENT);
    p.write("made", "made\n");
    p.save("second");
    let (target, project) = (p.find("@-1"), p.project());
    let stopped = project.restore_with(&target, options, &When(Stage::Verifying, obstacle(&p)));
    half_way(&p, &stopped);
    p
}

/// What a person does after the interruption.
fn edit(p: &TestProject) {
    p.write("a", format!("mine\n{LINES}"));
    p.write("sub/x", format!("mine\n{AGENT}"));
    p.write("own/new", "mine\n");
    p.remove("b");
}

fn done(undone: Undone) -> Restored {
    match undone {
        Undone::Done(restored) => *restored,
        other => panic!("{other:?}"),
    }
}

fn since(kept: &[Kept]) -> Vec<String> {
    assert!(kept.iter().all(|kept| kept.why == KeptWhy::ChangedSince), "{kept:?}");
    kept.iter().map(|kept| kept.path.to_string()).collect()
}

/// The checkpoint that was saved first brings back the files of a moment ago.
fn check_way_back(p: &TestProject, restored: &Restored, before: &Tree) {
    let after = p.tree();
    let safety = restored.safety.as_ref().unwrap();
    p.restore(&safety.number.to_string());
    assert_eq!(p.tree(), *before);
    p.undo().unwrap();
    assert_eq!(p.tree(), after);
}

const CHANGED: [&str; 4] = ["a", "b", "own/new", "sub/x"];

#[test]
fn what_was_changed_since_stays_when_an_interrupted_undo_is_reversed() {
    let p = interrupted_undo();
    p.remove("made");
    edit(&p);
    let before = p.tree();
    let Undone::Planned(plan) = p.project().undo_with(&NoProgress, true).unwrap() else {
        panic!("it was not planned");
    };
    assert_eq!(since(&plan.kept), CHANGED);
    let restored = done(p.undo().unwrap());
    assert_eq!(restored.settled, Some(Settled::Reversed));
    assert_eq!(since(&restored.kept), CHANGED);
    assert_eq!(p.read("made"), "made\n", "as before the undo");
    assert_eq!(p.read("sub/x"), format!("mine\n{AGENT}"));
    assert_eq!((p.read("own/new").as_str(), p.exists("b")), ("mine\n", false));
    assert!(p.project().interrupted().unwrap().is_none());
    assert!(p.redo().is_err(), "there is more to it than the undo");
    p.undo().unwrap();
    assert_eq!(p.read("sub/x"), format!("mine\n{LINES}"), "only the agent's line is undone");
    assert_eq!(p.read("a"), format!("mine\n{LINES}"));
    assert_eq!((p.exists("made"), p.exists("own/new"), p.exists("zero")), (false, true, true));
    check_way_back(&p, &restored, &before);
}

#[test]
fn what_was_changed_since_stays_when_an_interrupted_undo_is_finished_and_a_redo_keeps_it() {
    let p = interrupted_undo();
    edit(&p);
    let before = p.tree();
    let plan = p.project().plan_continue(false, &NoProgress).unwrap();
    let restored = p.project().continue_restore(&NoProgress).unwrap();
    assert_eq!(restored.settled, Some(Settled::Finished(Move::Redo)));
    assert_eq!((plan.actions, &plan.kept), (restored.plan.actions.clone(), &restored.kept));
    assert_eq!(since(&restored.kept), CHANGED);
    assert!(!p.exists("made"), "as the undo set out to do");
    assert_eq!(p.read("sub/x"), format!("mine\n{AGENT}"));
    assert_eq!((p.read("own/new").as_str(), p.exists("b")), ("mine\n", false));
    p.redo().unwrap();
    assert_eq!(p.read("a"), format!("mine\n{AGENT}"), "what was undone is back");
    assert_eq!((p.read("made").as_str(), p.read("own/new").as_str()), ("made\n", "mine\n"));
    assert!(!p.exists("b"));
    check_way_back(&p, &restored, &before);
}

#[test]
fn an_undo_after_a_finished_restore_keeps_what_was_changed_before_it_was_finished() {
    let p = interrupted_restore(&RestoreOptions::default());
    edit(&p);
    let restored = p.project().continue_restore(&NoProgress).unwrap();
    assert_eq!(restored.settled, Some(Settled::Finished(Move::Undo)));
    assert_eq!(since(&restored.kept), CHANGED);
    assert!(!p.exists("made"));
    p.undo().unwrap();
    assert_eq!(p.read("a"), format!("mine\n{AGENT}"));
    assert_eq!((p.read("made").as_str(), p.read("own/new").as_str()), ("made\n", "mine\n"));
    assert!(!p.exists("b"));
}

#[test]
fn who_says_all_finishes_a_restore_over_what_was_changed_since() {
    let p = interrupted_restore(&RestoreOptions::default());
    edit(&p);
    let before = p.tree();
    let plan = p.project().plan_continue(true, &NoProgress).unwrap();
    assert_eq!(plan.kept, []);
    let restored = p.project().continue_restore_over_all(&NoProgress).unwrap();
    assert_eq!(restored.kept, []);
    assert_eq!((p.read("a").as_str(), p.exists("own")), (LINES, false));
    check_way_back(&p, &restored, &before);
}

#[test]
fn what_an_agent_does_after_the_interruption_stays() {
    for is_finished in [true, false] {
        let p = interrupted_undo();
        let step = p.step("claude", || {
            p.write("later", "later\n");
            p.write("zero", "more\n");
        });
        let kept = if is_finished {
            p.project().continue_restore(&NoProgress).unwrap().kept
        } else {
            done(p.undo().unwrap()).kept
        };
        assert_eq!(since(&kept), ["later", "zero"], "{is_finished}");
        assert_eq!((p.read("later").as_str(), p.read("zero").as_str()), ("later\n", "more\n"));
        assert_eq!(p.exists("made"), !is_finished);
        p.undo_steps(&super::steps::of_steps(&[p.called(step)]));
        assert_eq!((p.exists("later"), p.read("zero").as_str()), (false, "zero\n"));
    }
}

/// Directories are opened up to write in them, and a file may be moved aside before another takes its name.
#[test]
fn what_a_killed_restore_may_leave_is_nobodys_work() {
    for is_finished in [true, false] {
        let p = interrupted_restore(&RestoreOptions::default());
        p.remove("a");
        p.write("sub/x", "");
        p.chmod("sub", 0o700);
        let (kept, lines) = if is_finished {
            (p.project().continue_restore(&NoProgress).unwrap().kept, LINES)
        } else {
            (done(p.undo().unwrap()).kept, AGENT)
        };
        assert_eq!(kept, []);
        assert_eq!((p.read("a").as_str(), p.read("sub/x").as_str()), (lines, lines));
        assert_eq!((p.mode("sub"), p.exists("made")), (0o755, !is_finished));
    }
}

#[test]
fn what_a_restore_of_some_paths_is_not_about_stays_when_it_is_reversed() {
    let paths = ["sub", "made"].map(|path| RelPath::new(path).unwrap()).to_vec();
    let p = interrupted_restore(&RestoreOptions { paths, ..RestoreOptions::default() });
    p.write("sub/x", LINES);
    p.write("b", "other\n");
    let kept = done(p.undo().unwrap()).kept;
    // It is as in the checkpoint, but not because of the restore.
    assert_eq!(since(&kept), ["a", "b"]);
    assert_eq!((p.read("a").as_str(), p.read("sub/x").as_str()), (LINES, AGENT));
}
