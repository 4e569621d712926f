//! Rules about what is left out that change between a restore and its undo, or inside a step: whatever they say by
//! then, undo leads back exactly, or names what it leaves.

use herma_core::restore::KeptWhy;
use herma_core::steps::StepId;
use herma_core::{Restored, Settings, Undone, WhichStep};
use herma_testkit::tree::assert_same;
use herma_worktree::reason::Reason;

use super::ledger::names;
use super::project::{TestProject, engine};
use super::steps::of_steps;

/// Goes on with other settings, as the next process would.
pub fn set(p: &mut TestProject, change: impl FnOnce(&mut Settings)) {
    let mut settings = p.engine.settings().clone();
    change(&mut settings);
    p.engine = engine(&p.home(), None, settings);
}

fn done(undone: Undone) -> Restored {
    match undone {
        Undone::Done(restored) => *restored,
        Undone::Steps(_, Some(taken)) => *taken.restored.expect("something was done"),
        Undone::Steps(_, None) | Undone::Planned(_) => {
            panic!("nothing was done")
        }
    }
}

fn with_git() -> TestProject {
    let p = TestProject::new();
    p.git_in("", &["init", "-q"]);
    p
}

/// Leaves `made/x` out by a rule that is no part of the project.
type ChangeRules = fn(&mut TestProject);

const RULES: [(&str, ChangeRules); 5] = [
    ("info/exclude", |p| {
        p.write(".git/info/exclude", "made/\n");
    }),
    ("info/exclude, one file", |p| {
        p.write(".git/info/exclude", "x\n");
    }),
    ("the setting exclude", |p| {
        set(p, |s| s.excludes.exclude.push("made/".to_owned()));
    }),
    ("a lower size limit", |p| {
        set(p, |s| s.max_file_size = Some(100));
    }),
    ("the index of another branch", |p| {
        p.git_in("", &["rm", "-rq", "--cached", "made"]);
        p.forget_cache();
    }),
];

/// A project with `made/x` in checkpoint `first`; without it, and with other rules, now.
fn without_x(what: &str, rules: ChangeRules) -> TestProject {
    let mut p = with_git();
    p.write("made/x", "x".repeat(200));
    p.write("a", "1\n");
    if what.contains("index") {
        p.write(".gitignore", "made/\n");
        p.git_in("", &["add", "-f", "made/x"]);
    }
    p.save("first");
    p.remove("made");
    p.write("a", "2\n");
    rules(&mut p);
    p
}

#[test]
fn undo_removes_what_a_restore_made_though_the_rules_leave_it_out_by_now() {
    for (what, rules) in RULES {
        let p = without_x(what, rules);
        let before = p.tree();
        assert_eq!(p.restore("@").kept, [], "{what}");
        assert!(p.exists("made/x"), "{what}");
        let after = p.tree();
        assert_eq!(done(p.undo().unwrap()).kept, [], "{what}");
        assert_same(&before, &p.tree(), &format!("undone, {what}"));
        assert_eq!(done(p.redo().unwrap()).kept, [], "{what}");
        assert_same(&after, &p.tree(), &format!("done again, {what}"));
        // A save by hand, which goes by the rules, changes nothing about that.
        p.save("by hand");
        p.undo().unwrap();
        assert_same(&before, &p.tree(), &format!("undone after a save, {what}"));
        p.fsck();
    }
}

/// The undo went to that save, and changed nothing.
#[test]
fn a_save_after_a_restore_to_other_rules_is_not_what_an_undo_undoes() {
    let mut p = TestProject::new();
    p.write("a", "1\n");
    p.write("c", "c\n");
    set(&mut p, |s| s.excludes.exclude = vec!["/c".to_owned()]);
    p.save("without c");
    set(&mut p, |s| s.excludes.exclude.clear());
    p.write("a", "2\n");
    p.save("with c");
    set(&mut p, |s| s.excludes.exclude = vec!["/c".to_owned()]);
    p.restore("@-1");
    assert_eq!((p.read("a"), p.read("c")), ("1\n".into(), "c\n".into()));
    p.save("by the rules of now");
    let undone = done(p.undo().unwrap());
    assert_eq!(names(undone.plan.actions.iter().map(|a| &a.path)), ["a"]);
    assert_eq!((p.read("a"), p.read("c")), ("2\n".into(), "c\n".into()));
}

/// It was taken for one that was moved to a name of which the checkpoint before says nothing, and stayed away.
#[test]
fn a_deleted_file_comes_back_though_one_like_it_was_left_out_before_the_step() {
    let p = TestProject::with(Settings { max_file_size: Some(300), ..Settings::default() });
    let text = |last: &str| format!("{}{last}\n", "line\n".repeat(20));
    p.write("b", text("b"));
    p.write("d", "x".repeat(400));
    let step = p.begin("claude", "bash");
    p.remove("b");
    p.write("d", text("d"));
    p.end(step);
    p.undo_steps(&of_steps(&[step]));
    assert_eq!(p.read("b"), text("b"));
    assert_eq!(p.read("d"), text("d"), "nobody knows what it was");
}

#[test]
fn undo_leaves_what_was_ignored_beside_the_file_a_restore_made() {
    for (what, rules) in RULES {
        let p = without_x(what, rules);
        p.write("made/mine", "never saved\n");
        p.write("made/deep/too", "never saved\n");
        // Even where an older checkpoint holds the same state and left the directory out as a whole.
        p.save("before");
        let before = p.tree();
        p.restore("@-1");
        assert!(p.exists("made/x"), "{what}");
        assert_eq!(done(p.undo().unwrap()).kept, [], "{what}");
        assert_same(&before, &p.tree(), what);
    }
}

#[test]
fn a_file_a_restore_made_and_somebody_edited_is_named_and_not_removed() {
    for (what, rules) in RULES {
        let p = without_x(what, rules);
        p.restore("@");
        p.write("made/x", "y".repeat(200));
        let undone = done(p.undo().unwrap());
        let kept: Vec<_> = undone.kept.iter().map(|kept| kept.path.to_string()).collect();
        if what == "a lower size limit" {
            // Nothing but its size leaves it out.
            assert_eq!(undone.kept[0].why, KeptWhy::NotSaved(Reason::TooLarge));
        }
        assert_eq!(kept, ["made/x"], "{what}");
        assert_eq!(p.read("made/x"), "y".repeat(200), "{what}");
        assert_eq!(p.read("a"), "2\n", "{what}");
    }
}

#[test]
fn undo_brings_back_what_a_restore_removed_or_replaced_though_the_rules_leave_it_out_by_now() {
    let mut p = with_git();
    p.write("a", "1\n");
    p.write("replaced", "1\n");
    p.save("first");
    p.write("removed/x", "mine\n");
    p.write("replaced", "2\n");
    p.restore("@");
    p.write(".git/info/exclude", "removed/\n");
    set(&mut p, |s| s.excludes.exclude.push("replaced".to_owned()));
    assert_eq!(done(p.undo().unwrap()).kept, []);
    assert_eq!(p.read("removed/x"), "mine\n");
    assert_eq!(p.read("replaced"), "2\n");
    assert_eq!(done(p.redo().unwrap()).kept, []);
    assert!(!p.exists("removed"));
    assert_eq!(p.read("replaced"), "1\n");
}

#[test]
fn a_step_that_also_writes_an_ignore_file_is_undone_as_a_whole() {
    let p = TestProject::new();
    p.write("notes.txt", "1\n");
    p.write("kept.txt", "1\n");
    p.write("gone.tmp", "1\n");
    p.write("lib/a.tmp", "1\n");
    p.save("first");
    let before = p.tree();
    p.step("claude", || {
        p.write(".gitignore", "*.tmp\nnotes.txt\ngen/\n");
        p.write("notes.txt", "2\n");
        p.write("new.tmp", "new\n");
        p.write("gen/deep/new", "new\n");
        p.write("lib/a.tmp", "2\n");
        p.remove("gone.tmp");
        p.write("kept.txt", "2\n");
    });
    let after = p.tree();
    // Another step, before and after which the rules of now count.
    p.step("codex", || p.write("other.txt", "other\n"));
    let taken = p.undo_steps(&of_steps(&[StepId::Handle(1)]));
    assert_eq!(names(&taken.plan.by_hand), [""; 0]);
    assert_eq!(taken.plan.reversed.kept, []);
    assert_eq!(taken.plan.reversed.conflicts, []);
    assert_eq!(p.read("other.txt"), "other\n");
    p.remove("other.txt");
    assert_same(&before, &p.tree(), "undone");
    p.write("other.txt", "other\n");
    p.undo().unwrap();
    p.remove("other.txt");
    assert_same(&after, &p.tree(), "the undo undone");
    p.fsck();
}

#[test]
fn a_step_that_changes_settings_or_info_exclude_is_undone_as_a_whole() {
    let mut p = with_git();
    p.write("a.txt", "1\n");
    p.write("b.txt", "1\n");
    p.save("first");
    let step = p.begin("claude", "Bash");
    p.write(".git/info/exclude", "# mine\na.txt\nnew.txt\n");
    set(&mut p, |s| s.excludes.exclude.push("b.txt".to_owned()));
    for name in ["a.txt", "b.txt", "new.txt"] {
        p.write(name, "2\n");
    }
    p.end(step);
    let taken = p.undo_steps(&of_steps(&[StepId::Handle(1)]));
    assert_eq!(taken.plan.reversed.kept, []);
    p.write(".git/info/exclude", "");
    assert_eq!(p.read("a.txt"), "1\n");
    assert_eq!(p.read("b.txt"), "1\n");
    assert!(!p.exists("new.txt"));
    p.undo().unwrap();
    for name in ["a.txt", "b.txt", "new.txt"] {
        assert_eq!(p.read(name), "2\n");
    }
}

#[test]
fn what_a_step_made_too_large_or_secret_is_named_and_the_rest_of_it_undone() {
    let mut p = TestProject::new();
    set(&mut p, |s| s.max_file_size = Some(100));
    p.write("grown.txt", "small\n");
    p.write("a.txt", "1\n");
    p.save("first");
    p.step("claude", || {
        p.write("grown.txt", "x".repeat(200));
        p.write("new.bin", "x".repeat(200));
        p.write(".env", "TOKEN=1\n");
        p.write("a.txt", "2\n");
    });
    for time in ["first", "second"] {
        let taken = p.undo_steps(&of_steps(&[StepId::Handle(1)]));
        let kept = names(taken.plan.reversed.kept.iter().map(|(path, _)| path));
        assert_eq!(kept, [".env", "grown.txt", "new.bin"], "{time}");
        assert_eq!(names(&taken.plan.by_hand), [""; 0], "{time}");
        assert_eq!(p.read("a.txt"), "1\n", "{time}");
    }
    assert_eq!(p.read("grown.txt"), "x".repeat(200));
    assert!(p.exists(".env"));
}

#[test]
fn a_bare_undo_after_a_step_that_wrote_an_ignore_file_goes_back_and_not_in_a_circle() {
    let p = TestProject::new();
    p.write("a.txt", "1\n");
    p.save("first");
    let before = p.tree();
    p.step("claude", || {
        p.write(".gitignore", "*.tmp\n");
        p.write("new.tmp", "new\n");
        p.write("a.txt", "2\n");
    });
    p.undo().unwrap();
    assert_same(&before, &p.tree(), "undone");
}

#[test]
fn the_next_save_goes_by_the_rules_of_now() {
    let p = TestProject::new();
    p.write("a.txt", "1\n");
    p.save("first");
    p.step("claude", || {
        p.write(".gitignore", "*.tmp\n");
        p.write("new.tmp", "new\n");
    });
    assert_eq!(p.left_out().get("new.tmp"), None);
    p.write("a.txt", "2\n");
    p.save("second");
    assert_eq!(p.left_out()["new.tmp"], Reason::Ignored);
    let changes = p.saved_tree(&p.find("@")).0;
    assert!(!changes.contains_key(&b"new.tmp"[..]));
}

/// It was too large when the step began, so no checkpoint says that it was there.
#[test]
fn a_file_that_a_step_made_smaller_is_left_alone_though_no_checkpoint_knew_of_it() {
    let mut p = TestProject::new();
    set(&mut p, |s| s.max_file_size = Some(100));
    p.write("a", "1\n");
    p.save("first");
    p.write("b", "x".repeat(200));
    let step = p.begin("claude", "bash");
    p.write("a", "2\n");
    p.write("b", "short\n");
    p.end(step);
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(p.read("a"), "1\n");
    assert_eq!(p.read("b"), "short\n");
    let named = taken.plan.reversed.kept.iter().map(|(path, _)| path);
    assert_eq!(names(named), ["b"]);
}

/// What a step does by which `data/r.csv`, there and left out before, becomes part of the project.
const COVERING: [(&str, ChangeRules, ChangeRules); 6] = [
    (
        "the line goes from .gitignore",
        |p| p.write(".gitignore", "data/\n"),
        |p| p.write(".gitignore", "\n"),
    ),
    (
        "one file is named in .gitignore no more",
        |p| p.write(".gitignore", "*.csv\n"),
        |p| p.remove(".gitignore"),
    ),
    (
        "the line goes from .hermaignore",
        |p| p.write(".hermaignore", "data/\n"),
        |p| p.remove(".hermaignore"),
    ),
    (
        "git tracks it",
        |p| p.write(".gitignore", "data/\n"),
        |p| p.git_in("", &["add", "-f", "data/r.csv"]),
    ),
    (
        "it is not too large any more",
        |p| set(p, |s| s.max_file_size = Some(5)),
        |p| set(p, |s| s.max_file_size = None),
    ),
    (
        "what tools make again is covered",
        |p| p.write(".gitignore", "r.csv~\ndata/\n"),
        |p| p.write(".gitignore", "\n"),
    ),
];

/// The save at the beginning of the step finds nothing new, and keeps the checkpoint from before the file was there.
#[test]
fn undo_leaves_what_was_there_left_out_before_the_step_that_made_it_part_of_the_project() {
    for (what, leave_out, cover) in COVERING {
        for is_bare in [true, false] {
            let mut p = with_git();
            p.write("a", "1\n");
            leave_out(&mut p);
            p.save("first");
            p.write("data/r.csv", "important\n");
            p.write("r.csv~", "too\n");
            let step = p.begin("claude", "bash");
            p.write("a", "2\n");
            cover(&mut p);
            p.end(step);
            let taken = if is_bare {
                let Undone::Steps(_, Some(taken)) = p.undo().unwrap() else { panic!("{what}") };
                *taken
            } else {
                p.undo_steps(&of_steps(&[step]))
            };
            let kept: Vec<_> = taken.plan.reversed.kept.into_iter().map(|(path, _)| path).collect();
            assert_eq!(p.read("a"), "1\n", "{what}");
            assert_eq!(p.read("data/r.csv"), "important\n", "{what}");
            assert!(names(&kept).contains(&"data/r.csv".to_owned()), "{what}: {kept:?}");
            assert_eq!(p.read("r.csv~"), "too\n", "{what}");
        }
    }
}

/// The one who was to say how it ended was killed.
#[test]
fn undo_leaves_what_was_there_left_out_before_a_step_nobody_ended() {
    let p = TestProject::new();
    p.write(".gitignore", "data/\n");
    p.save("first");
    p.write("data/r.csv", "important\n");
    let step = p.begin("claude", "bash");
    p.write(".gitignore", "\n");
    p.project().end_step_unknown(&WhichStep::Id(step)).unwrap();
    p.save("second");
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(p.read(".gitignore"), "data/\n");
    assert_eq!(p.read("data/r.csv"), "important\n");
    let named = taken.plan.reversed.kept.iter().map(|(path, _)| path);
    assert_eq!(names(named), ["data", "data/r.csv"]);
}

/// The checkpoint between the two says that it was there; the one before the first does not.
#[test]
fn undoing_several_steps_leaves_what_was_there_left_out_before_the_first() {
    let p = TestProject::new();
    p.write(".gitignore", "data/\n");
    p.write("a", "1\n");
    p.save("first");
    p.write("data/r.csv", "important\n");
    let one = p.step("claude", || p.write("a", "2\n"));
    let two = p.step("claude", || p.write(".gitignore", "\n"));
    p.undo_steps(&of_steps(&[one, two]));
    assert_eq!(p.read("a"), "1\n");
    assert_eq!(p.read("data/r.csv"), "important\n");
}
