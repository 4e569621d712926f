//! Steps that change what no checkpoint holds: noticed, listed, and named by every way back.

use std::os::unix::fs::symlink;

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::steps::{Step, StepChoice, StepEnd, StepId, StepKind, StepStart};
use herma_core::{
    Error, OutsideOfStep, SaveOptions, Settings, UndoPlan, UndoSteps, Undone, WhichStep,
};
use herma_records::step::outside::Outside;

use super::changed_rules::set;
use super::project::TestProject;

/// A project in which something is left out for every reason a person meets.
fn project() -> TestProject {
    let p = TestProject::with(Settings { max_file_size: Some(1000), ..Settings::default() });
    p.write("a.txt", "one\n");
    p.write(".gitignore", "*.sqlite\n/uploads/\n");
    p.write(".env", "KEY=1\n");
    p.write("secrets.yaml", "key: 1\n");
    p.write("app.sqlite", "rows\n");
    p.write("data.bin", vec![b'x'; 2000]);
    p.write("server.log", "started\n");
    p.write("pkg/__pycache__/a.pyc", "compiled\n");
    p.write("node_modules/x/index.js", "x\n");
    p.write("node_modules/y/index.js", "y\n");
    p.write("uploads/photo", "only copy\n");
    p.save("first");
    p
}

/// Does something as a step.
fn step(p: &TestProject, work: impl FnOnce()) -> Step {
    let project = p.project();
    let begun = project.begin_step(StepKind::Run, StepStart::default(), &NoProgress).unwrap();
    work();
    let which = WhichStep::Id(begun.step.id());
    project.end_step(&which, &NoProgress).unwrap().step
}

fn words(step: &Step) -> Vec<String> {
    step.outside.changes.iter().map(ToString::to_string).collect()
}

fn plan(p: &TestProject, step: StepId) -> UndoPlan {
    let asked = UndoSteps {
        steps: StepChoice { ids: vec![step], ..StepChoice::default() },
        ..UndoSteps::default()
    };
    p.project().plan_undo_steps(&asked, &NoProgress).unwrap()
}

fn of(step: &Step) -> [OutsideOfStep; 1] {
    [OutsideOfStep { step: step.id(), outside: step.outside.clone() }]
}

/// What an undo names that can do nothing else.
#[track_caller]
fn only_outside(undone: Undone) -> Vec<OutsideOfStep> {
    let Undone::Steps(planned, taken) = undone else { panic!("{undone:?}") };
    assert!(planned.plan.is_empty() && taken.is_none_or(|taken| taken.restored.is_none()));
    planned.plan.outside
}

#[test]
fn a_step_that_destroys_what_checkpoints_leave_out_does_not_change_nothing() {
    let p = project();
    let gone = step(&p, || {
        for path in [".env", "secrets.yaml", "app.sqlite", "data.bin", "node_modules"] {
            p.remove(path);
        }
    });
    let expected = [
        ".env removed",
        "app.sqlite removed",
        "data.bin removed",
        "node_modules removed",
        "secrets.yaml removed",
    ];
    assert_eq!(words(&gone), expected);
    assert!(matches!(gone.end, StepEnd::Unchanged(_)) && !gone.is_idle());
    let listed = p.project().steps(&StepChoice::default()).unwrap();
    assert_eq!(listed[0].step, gone, "it is on record");

    assert_eq!(plan(&p, gone.id()).outside, of(&gone));
    // It has a checkpoint of its own, and nothing was lost since that.
    assert_eq!(p.restore("@").plan.outside, []);
    let restored = p.restore("@-1");
    assert_eq!(restored.plan.outside, of(&gone));
    let asked = RestoreOptions {
        paths: vec![herma_core::RelPath::new("a.txt").unwrap()],
        keep: Vec::new(),
    };
    let one = p.restore_with("@-1", &asked).unwrap();
    assert_eq!(one.plan.outside, [], "nobody asked for the others");
}

#[test]
fn an_undo_does_not_undo_something_older_than_a_step_nobody_can_undo() {
    let p = project();
    p.write("a.txt", "two\n");
    p.restore("@");
    let gone = step(&p, || p.remove("data.bin"));
    for text in ["one\n", "three\n"] {
        p.write("a.txt", text);
        assert_eq!(only_outside(p.undo().unwrap()), of(&gone));
        assert_eq!(p.read("a.txt"), text, "the older restore stays, and what is done by hand");
    }
}

#[test]
fn an_undo_of_a_step_that_did_both_names_what_stays_gone() {
    let p = project();
    let both = step(&p, || {
        p.write("a.txt", "two\n");
        p.write("app.sqlite", "other rows\n");
    });
    assert_eq!(words(&both), ["app.sqlite changed"]);
    let Undone::Steps(planned, None) = p.project().undo_with(&NoProgress, true).unwrap() else {
        panic!("it is only planned");
    };
    assert_eq!(planned.plan.outside, of(&both));
    assert_eq!(p.read("a.txt"), "two\n");
    let Undone::Steps(_, Some(taken)) = p.undo().unwrap() else {
        panic!("there is something to undo");
    };
    assert_eq!(taken.plan.outside, of(&both));
    assert_eq!(p.read("a.txt"), "one\n");
    let Undone::Steps(_, Some(again)) = p.redo().unwrap() else {
        panic!("there is something to redo");
    };
    assert_eq!(again.plan.outside, [], "the undo did nothing outside");
    assert_eq!(p.read("a.txt"), "two\n");
}

#[test]
fn a_step_does_not_repeat_what_the_checkpoint_before_it_says_was_left_out() {
    let p = project();
    let changed = step(&p, || p.write("a.txt", "two\n"));
    assert_eq!(changed.outside, Outside::default());
}

#[test]
fn what_tools_do_all_day_is_not_worth_a_word() {
    let p = project();
    let busy = step(&p, || {
        p.write("server.log", "started\nanswered\n");
        p.remove("pkg/__pycache__");
        p.write("node_modules/.package-lock.json", "{}\n");
        p.remove("node_modules/x");
        p.write("target/debug/app", "built\n");
        p.write("new.sqlite", "came new\n");
        p.write("uploads/second", "came new\n");
    });
    assert_eq!(words(&busy), [] as [&str; 0]);
    assert!(busy.is_idle());
    assert_eq!(busy.outside.unseen, 2, "node_modules and uploads");
    // Without a step nobody says anything, and no save is made for it.
    p.write("app.sqlite", "rows and rows\n");
    assert!(!p.save("again").is_new);
    let gone = step(&p, || {
        p.remove("server.log");
        p.remove("uploads/photo");
        p.remove("uploads/second");
    });
    assert_eq!(words(&gone), ["server.log removed", "uploads emptied"]);
}

/// The next undo undid older work without a word.
#[test]
fn an_undo_after_a_step_deep_in_a_left_out_directory_says_that_it_goes_further_back() {
    let p = project();
    p.write("a.txt", "two\n");
    p.save("second");
    let deep = step(&p, || p.write("node_modules/x/index.js", "broken\n"));
    assert!(deep.is_idle());
    assert_eq!(deep.outside.unseen, 2);
    let Ok(Undone::Done(undone)) = p.undo() else {
        panic!("an undo goes to what is older");
    };
    assert_eq!(p.read("a.txt"), "one\n");
    assert_eq!(undone.plan.passed, Some(of(&deep)[0].clone()));
    assert_eq!(undone.plan.outside, []);
    // What changed something is what an undo undoes.
    let busy = step(&p, || p.write("a.txt", "three\n"));
    assert_eq!(busy.outside.unseen, 0);
    let Ok(Undone::Steps(planned, Some(_))) = p.undo() else {
        panic!("an undo undoes it");
    };
    assert_eq!(planned.units[0].id, busy.id());
    assert_eq!(p.read("a.txt"), "one\n");
}

#[test]
fn a_directory_that_became_a_link_is_not_followed() {
    let p = project();
    p.write("deep/er/secrets.yaml", "key: 2\n");
    p.save("second");
    let other = p.base().join("elsewhere");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("secrets.yaml"), "key: 2\n").unwrap();
    let moved = step(&p, || {
        p.remove("deep/er");
        symlink(&other, p.path("deep/er")).unwrap();
    });
    assert_eq!(words(&moved), ["deep/er/secrets.yaml removed"]);
}

fn repository() -> TestProject {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.git_in("", &["init", "-q", "-b", "main"]);
    commit(&p, "", "first");
    p.git_in("", &["branch", "f"]);
    p.save("first");
    p
}

fn commit(p: &TestProject, directory: &str, message: &str) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    p.git_in(directory, &["add", "-A"]);
    let commit = ["commit", "-q", "--allow-empty", "-m", message];
    p.git_in(directory, &[&who[..], &commit].concat());
}

#[test]
fn a_deleted_branch_is_not_nothing_and_undo_leaves_older_things_alone() {
    let p = repository();
    p.write("a.txt", "two\n");
    p.restore("@");
    let deleted = step(&p, || p.git_in("", &["branch", "-q", "-D", "f"]));
    assert_eq!(words(&deleted), ["git: branch f deleted, not covered"]);
    assert_eq!(plan(&p, deleted.id()).outside, of(&deleted));
    assert_eq!(only_outside(p.undo().unwrap()), of(&deleted));
    assert_eq!(p.read("a.txt"), "one\n");
    // Packing moves every ref to another file and changes none.
    p.git_in("", &["branch", "g"]);
    let packed = step(&p, || p.git_in("", &["pack-refs", "--all"]));
    assert!(packed.is_idle(), "{:?}", words(&packed));
    let looked = step(&p, || p.git_in("", &["status", "--short"]));
    assert!(looked.is_idle(), "{:?}", words(&looked));
    let deleted = step(&p, || p.git_in("", &["branch", "-q", "-D", "g"]));
    assert_eq!(words(&deleted), ["git: branch g deleted, not covered"]);
}

#[test]
fn a_reset_that_is_undone_says_that_the_branch_stays_where_it_went() {
    let p = repository();
    p.write("a.txt", "two\n");
    commit(&p, "", "second");
    let reset = step(&p, || p.git_in("", &["reset", "-q", "--hard", "HEAD~1"]));
    assert_eq!(p.read("a.txt"), "one\n");
    let said = words(&reset);
    assert!(said.len() == 1 && said[0].starts_with("git: branch main moved from "), "{said:?}");
    let Undone::Steps(_, Some(taken)) = p.undo().unwrap() else {
        panic!("the file can be undone");
    };
    assert_eq!(p.read("a.txt"), "two\n");
    assert_eq!(taken.plan.outside, of(&reset));
    let switched = step(&p, || {
        p.git_in("", &["symbolic-ref", "HEAD", "refs/heads/f"]);
    });
    assert_eq!(words(&switched), ["git: HEAD moved from main to f, not covered"]);
}

#[test]
fn nested_repositories_are_watched_and_other_worktrees_are_not() {
    let p = repository();
    p.write("lib/b.txt", "one\n");
    p.git_in("lib", &["init", "-q", "-b", "main"]);
    commit(&p, "lib", "inner");
    p.git_in("", &["worktree", "add", "-q", "-b", "w", "../w"]);
    p.save("second");
    let other = step(&p, || commit(&p, "../w", "somebody else's"));
    assert!(other.is_idle(), "{:?}", words(&other));
    let gone = step(&p, || p.remove("lib/.git"));
    assert_eq!(words(&gone), ["git in lib: the repository is gone, not covered"]);
}

/// An undo changes nothing and names it, because nobody asked for what is older than the step.
#[track_caller]
pub fn check_told(p: &TestProject, done: &Step, told: &[&str]) {
    assert_eq!(words(done), told);
    assert!(!done.is_idle());
    for dry_run in [true, false] {
        let undone = p.project().undo_with(&NoProgress, dry_run).unwrap();
        assert_eq!(only_outside(undone), of(done));
    }
    assert_eq!(p.read("a.txt"), "two\n", "what is older stays");
}

#[test]
fn a_step_that_removes_or_adds_a_worktree_does_not_change_nothing() {
    let p = repository();
    p.git_in("", &["worktree", "add", "-q", "-b", "w", "wt"]);
    p.write("a.txt", "two\n");
    p.save("second");
    let gone = step(&p, || {
        p.git_in("", &["worktree", "remove", "--force", "wt"]);
    });
    check_told(&p, &gone, &["worktree wt removed"]);
    // That a branch is checked out by now takes it from nobody.
    let come = step(&p, || p.git_in("", &["worktree", "add", "-q", "wt2", "w"]));
    check_told(&p, &come, &["worktree wt2 added"]);
    let idle = step(&p, || p.write("wt2/mine", "somebody else's\n"));
    assert!(idle.is_idle(), "{:?}", words(&idle));
    assert_eq!(idle.outside.unseen, 1);
}

#[test]
fn a_step_that_removes_a_submodule_or_a_project_of_its_own_does_not_change_nothing() {
    let p = repository();
    for inner in ["lib", "own"] {
        p.write(&format!("{inner}/b.txt"), "one\n");
        p.git_in(inner, &["init", "-q", "-b", "main"]);
        commit(&p, inner, "inner");
    }
    p.git_in("", &["-c", "advice.addEmbeddedRepo=false", "add", "lib"]);
    let own = p.engine.project(&p.path("own")).unwrap();
    own.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    p.write("a.txt", "two\n");
    p.save("second");
    let gone = step(&p, || p.remove("own"));
    check_told(&p, &gone, &["repository own removed"]);
    let emptied = step(&p, || {
        p.remove("lib/b.txt");
        p.remove("lib/.git");
    });
    check_told(&p, &emptied, &["submodule lib emptied"]);
}

#[test]
fn a_hostile_repository_is_not_followed_and_stops_nothing() {
    let p = repository();
    p.git_in("", &["update-ref", "--no-deref", "refs/heads/x", "HEAD"]);
    std::fs::create_dir_all(p.path(".git/refs/heads/deep")).unwrap();
    symlink("/", p.path(".git/refs/heads/deep/out")).unwrap();
    std::fs::write(p.path(".git/packed-refs"), [0xff, b' ', 0xfe, b'\n', 0]).unwrap();
    std::fs::write(p.path(".git/HEAD"), "ref: refs/heads/\u{1b}[31mred\n").unwrap();
    let step = step(&p, || {
        std::fs::write(p.path(".git/HEAD"), vec![b'x'; 100_000]).unwrap();
    });
    let said = "git: the repository cannot be read any more, not covered";
    assert_eq!(words(&step), [said]);
    assert!(!matches!(p.undo(), Err(Error::Fs(_))));
}

/// The checkpoint is from before the limit was lower.
#[test]
fn a_file_that_a_restore_brings_back_is_not_named_as_one_that_no_checkpoint_holds() {
    let mut p = TestProject::new();
    p.write("f", "x".repeat(200));
    p.write("a", "1\n");
    p.save("first");
    set(&mut p, |s| s.max_file_size = Some(100));
    p.step("claude", || {
        p.remove("f");
        p.write("a", "2\n");
    });
    let first = p.list().pop().unwrap().id.to_hex();
    let restored = p.restore(&first);
    assert_eq!(p.read("f").len(), 200);
    assert_eq!(restored.plan.outside, []);
}
