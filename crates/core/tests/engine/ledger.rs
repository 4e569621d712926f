//! What Hermes keeps a ledger of written files for, and what its safe restore promises.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use herma_core::{RelPath, Settings, UndoPlan, UndoSteps};
use herma_reversal::{ConflictWhy, Conflicts};
use herma_testkit::Bounded;
use herma_testkit::tree::{Tree, assert_same};

use super::project::TestProject;
use super::steps::of_steps;

/// Files larger than this are left out in these tests.
const LIMIT: usize = 1000;

fn with_limit() -> TestProject {
    TestProject::with(Settings { max_file_size: Some(LIMIT as u64), ..Settings::default() })
}

/// `herma restore` of the oldest checkpoint.
pub fn restore_oldest(p: &TestProject) -> UndoSteps {
    UndoSteps { since: p.list().last().cloned(), ..UndoSteps::default() }
}

pub fn names<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> Vec<String> {
    let sorted: BTreeSet<String> = paths.into_iter().map(ToString::to_string).collect();
    sorted.into_iter().collect()
}

pub fn conflicts(plan: &UndoPlan) -> Vec<String> {
    names(plan.reversed.conflicts.iter().map(|conflict| &conflict.path))
}

fn kept(plan: &UndoPlan) -> Vec<String> {
    names(plan.reversed.kept.iter().map(|(path, _)| path))
}

fn text(changed: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = (0..20).map(|n| format!("line {n}")).collect();
    for (line, content) in changed {
        (*content).clone_into(&mut lines[*line]);
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_hand_edit_after_the_agents_write_survives() {
    let p = TestProject::new();
    p.write("shared.txt", text(&[]));
    p.write("agents.txt", "old\n");
    p.write("persons.txt", "old\n");
    p.save("first");
    p.step("claude", || {
        p.write("shared.txt", text(&[(2, "by the agent")]));
        p.write("agents.txt", "new\n");
    });
    p.write("shared.txt", text(&[(2, "by the agent"), (15, "by hand")]));
    p.write("persons.txt", "edited\n");
    let taken = p.undo_steps(&restore_oldest(&p));
    assert_eq!(names(&taken.plan.by_hand), ["persons.txt", "shared.txt"]);
    assert_eq!(names(&taken.plan.reversed.merged), ["shared.txt"]);
    assert_eq!(p.read("shared.txt"), text(&[(15, "by hand")]));
    assert_eq!(p.read("agents.txt"), "old\n");
    assert_eq!(p.read("persons.txt"), "edited\n");
}

#[test]
fn a_hand_edit_of_the_agents_own_line_leaves_the_file_alone_and_is_named() {
    let p = TestProject::new();
    p.write("shared.txt", text(&[]));
    p.save("first");
    p.step("claude", || {
        p.write("shared.txt", text(&[(2, "by the agent"), (10, "too")]));
    });
    let edited = text(&[(2, "by hand"), (10, "too")]);
    p.write("shared.txt", &edited);
    let taken = p.undo_steps(&restore_oldest(&p));
    assert_eq!(conflicts(&taken.plan), ["shared.txt"]);
    assert!(taken.restored.is_none());
    assert_eq!(p.read("shared.txt"), edited);
    for (conflicts, expected) in [
        (Conflicts::Ours, text(&[(2, "by hand")])),
        (Conflicts::Theirs, text(&[])),
        (Conflicts::Markers, text(&[(2, "<<<<<<< now\nby hand\n=======\nline 2\n>>>>>>> undone")])),
    ] {
        p.undo_steps(&UndoSteps { conflicts, ..restore_oldest(&p) });
        assert_eq!(p.read("shared.txt"), expected, "{conflicts:?}");
        p.undo().unwrap();
        assert_eq!(p.read("shared.txt"), edited, "{conflicts:?}");
    }
}

// HERMES defect 5
#[test]
fn an_agent_created_file_goes() {
    let p = TestProject::new();
    p.write("old-name.rs", text(&[]));
    p.save("first");
    let before = p.tree();
    p.step("claude", || {
        std::fs::rename(p.path("old-name.rs"), p.path("new-name.rs")).unwrap();
        p.write("junk/deep/report.md", "notes\n");
        symlink("junk", p.path("link")).unwrap();
    });
    p.write("persons.txt", "by hand\n");
    p.undo_steps(&restore_oldest(&p));
    let mut expected = before;
    let mut by_hand = Tree::of_files([("persons.txt", "by hand\n")]);
    expected.0.append(&mut by_hand.0);
    assert_same(&expected, &p.tree(), "only the agent's files are gone");
}

#[test]
fn an_agent_created_file_that_was_edited_by_hand_stays_and_is_named() {
    let p = TestProject::new();
    p.write("a.txt", "a\n");
    p.save("first");
    p.step("claude", || {
        p.write("edited.md", text(&[]));
        p.write("moved.md", text(&[(0, "another file")]));
        p.write("untouched.md", "x\n");
    });
    p.write("edited.md", text(&[(5, "by hand")]));
    std::fs::rename(p.path("moved.md"), p.path("wanted.md")).unwrap();
    let taken = p.undo_steps(&restore_oldest(&p));
    assert_eq!(conflicts(&taken.plan), ["edited.md", "wanted.md"]);
    let found = taken.plan.reversed.conflicts.iter();
    assert!(found.clone().all(|c| c.why == ConflictWhy::ChangedLater));
    assert_eq!(names(&taken.plan.by_hand), ["edited.md", "moved.md", "wanted.md"]);
    assert_eq!(p.read("edited.md"), text(&[(5, "by hand")]));
    assert_eq!(p.read("wanted.md"), text(&[(0, "another file")]));
    assert!(!p.exists("untouched.md"));
}

#[test]
fn what_a_shell_changed_is_undone_too() {
    let p = TestProject::new();
    p.write("one.txt", "one\n");
    p.write("two.txt", "two\n");
    p.write("run.sh", "#!/bin/sh\n");
    p.save("first");
    let before = p.tree();
    p.step("claude", || {
        let line = "echo more >> one.txt; rm two.txt; chmod 755 run.sh; mkdir -p out-of/x; echo y > out-of/x/y";
        let shell = std::process::Command::new("sh")
            .args(["-c", line])
            .current_dir(&p.root)
            .bounded_status();
        assert!(shell.unwrap().success());
    });
    p.write("by-hand.txt", "kept\n");
    p.undo_steps(&restore_oldest(&p));
    assert_eq!(p.read("by-hand.txt"), "kept\n");
    p.remove("by-hand.txt");
    assert_same(&before, &p.tree(), "as before the shell");
}

/// A file at four times: at the checkpoint, after the step, now; small or too large.
#[test]
fn a_file_that_is_or_was_too_large_stays_as_it_is() {
    let small = |word: &str| format!("{word}\n");
    let large = |word: &str| format!("{word}\n").repeat(LIMIT);
    for (large_then, large_after, large_now) in [
        (true, false, false),
        (false, true, true),
        (false, true, false),
        (false, false, true),
        (true, true, false),
        (true, false, true),
        (true, true, true),
    ] {
        let size = |is_large: bool, word: &str| if is_large { large(word) } else { small(word) };
        let p = with_limit();
        p.write("data.csv", size(large_then, "then"));
        p.write("a.txt", "old\n");
        p.save("first");
        let step = p.step("claude", || {
            p.write("data.csv", size(large_after, "after"));
            p.write("a.txt", "new\n");
        });
        let now = size(large_now, "now");
        p.write("data.csv", &now);
        p.write("by-hand.txt", "kept\n");
        for asked in [of_steps(&[step]), restore_oldest(&p)] {
            let what = format!("{large_then} {large_after} {large_now}");
            let plan = p.plan_undo_steps(&asked);
            assert!(plan.exact.is_none(), "{what}");
            p.undo_steps(&asked);
            assert_eq!(p.read("data.csv"), now, "{what}");
            assert_eq!(p.read("a.txt"), "old\n", "{what}");
            assert_eq!(p.read("by-hand.txt"), "kept\n", "{what}");
            p.undo().unwrap();
            assert_eq!(p.read("data.csv"), now, "{what}");
            assert_eq!(p.read("a.txt"), "new\n", "{what}");
        }
        p.fsck();
    }
}

#[test]
fn a_file_that_was_ignored_then_and_is_not_now_stays() {
    let p = TestProject::new();
    p.write(".gitignore", "*.dat\n/cache/\n");
    p.write("own.dat", "the person's\n");
    p.write("cache/entry", "cached\n");
    p.save("first");
    let step = p.step("claude", || {
        p.write(".gitignore", "");
        p.write("own.dat", "changed by the agent\n");
        p.write("cache/entry", "changed too\n");
    });
    p.write("by-hand.txt", "kept\n");
    let plan = p.plan_undo_steps(&of_steps(&[step]));
    assert!(kept(&plan).contains(&"own.dat".to_owned()), "{:?}", kept(&plan));
    for asked in [of_steps(&[step]), restore_oldest(&p)] {
        p.undo_steps(&asked);
        assert_eq!(p.read(".gitignore"), "*.dat\n/cache/\n");
        assert_eq!(p.read("own.dat"), "changed by the agent\n");
        assert_eq!(p.read("cache/entry"), "changed too\n");
        p.undo().unwrap();
        assert_eq!(p.read(".gitignore"), "");
    }
}

#[test]
fn a_file_that_is_ignored_now_and_was_not_then_stays() {
    let p = TestProject::new();
    p.write("own.dat", "saved\n");
    p.write("cache/entry", "saved\n");
    p.save("first");
    let step = p.step("claude", || {
        p.write(".gitignore", "*.dat\n/cache/\n");
    });
    p.write("own.dat", "edited while nobody looked\n");
    p.write("cache/entry", "filled\n");
    for asked in [of_steps(&[step]), restore_oldest(&p)] {
        p.undo_steps(&asked);
        assert!(!p.exists(".gitignore"));
        assert_eq!(p.read("own.dat"), "edited while nobody looked\n");
        assert_eq!(p.read("cache/entry"), "filled\n");
        p.undo().unwrap();
    }
}

#[test]
fn files_no_checkpoint_vouches_for_are_never_deleted() {
    let p = TestProject::new();
    p.write("data", "a file\n");
    p.write("a.txt", "old\n");
    p.save("first");
    let step = p.step("claude", || {
        p.write("a.txt", "new\n");
        p.write("gen/made.txt", "made\n");
        p.write("gen/debug.log", "excluded\n");
        p.write("node_modules/x/index.js", "excluded\n");
        p.write(".env", "SECRET=1\n");
        p.remove("data");
        p.write("data/trace.log", "excluded, where a file was\n");
    });
    p.write("by-hand.txt", "kept\n");
    for asked in [of_steps(&[step]), restore_oldest(&p)] {
        let taken = p.undo_steps(&asked);
        assert_eq!(p.read("a.txt"), "old\n");
        assert!(!p.exists("gen/made.txt"));
        assert_eq!(p.read("gen/debug.log"), "excluded\n");
        assert_eq!(p.read("node_modules/x/index.js"), "excluded\n");
        assert_eq!(p.read(".env"), "SECRET=1\n");
        assert_eq!(p.read("data/trace.log"), "excluded, where a file was\n");
        let plan = &taken.plan;
        let named = [conflicts(plan), kept(plan)].concat();
        let left = taken.restored.map(|r| names(r.kept.iter().map(|k| &k.path)));
        let left = left.unwrap_or_default();
        let is_named = |path: &String| path.starts_with("data");
        assert!(
            named.iter().chain(&left).any(is_named),
            "that `data` did not come back is said: {named:?} {left:?}"
        );
        p.undo().unwrap();
        assert_eq!(p.read("a.txt"), "new\n");
    }
    p.fsck();
}
