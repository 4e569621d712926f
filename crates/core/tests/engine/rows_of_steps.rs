//! Every step that changed something, and every one of Herma's own moves, has a number of its own: that of a checkpoint
//! of the state it led to.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use herma_core::engine::{NoProgress, Stage};
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::steps::{Step, StepChoice, StepEnd, StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Origin;
use herma_core::{Checkpoint, LineAuthor, Restored, Undone};

use super::authorship::rel;
use super::ledger::{names, restore_oldest};
use super::project::{TestProject, engine};
use super::reviewed::restore_when;
use super::steps::{handle, of_steps};

/// A project with some files and one checkpoint.
fn started() -> TestProject {
    let p = TestProject::new();
    for name in ["a.txt", "b.txt", "sub/c.txt"] {
        p.write(name, "old\n");
    }
    p.chmod("b.txt", 0o600);
    p.save("first");
    p
}

fn done(undone: Undone) -> Restored {
    match undone {
        Undone::Done(restored) => *restored,
        Undone::Steps(_, Some(taken)) => *taken.restored.expect("something was done"),
        other => panic!("{other:?}"),
    }
}

fn by_number(p: &TestProject, step: StepId) -> Checkpoint {
    p.find(&step.number().expect("it has a number").to_string())
}

/// The steps, newest first.
fn steps(p: &TestProject) -> Vec<Step> {
    let listed = p.project().steps(&StepChoice::default()).unwrap();
    listed.into_iter().map(|listed| listed.step).collect()
}

fn state_file(p: &TestProject, name: &str) -> PathBuf {
    let id = p.project().id().clone();
    p.store().join("herma/projects").join(id.as_str()).join(name)
}

/// The number of a move is that of the newest checkpoint, which says what somebody who never saw the project finds there.
#[track_caller]
fn assert_row_is_the_present(p: &TestProject, restored: &Restored) -> Checkpoint {
    let number = restored.number.expect("something changed");
    let row = p.find(&number.to_string());
    assert_eq!((row.number, p.find("@").id), (number, row.id));
    assert_eq!(row.origin, Origin::Merged);
    assert_eq!(p.saved_tree(&row), p.tree().as_git());
    let elsewhere = tempfile::tempdir().unwrap();
    let fresh = engine(&elsewhere.path().join("home"), None, p.engine.settings().clone());
    let fresh = fresh.project(&p.root).unwrap().save("fresh").unwrap().checkpoint;
    assert_eq!((row.tree, row.modes), (fresh.tree, fresh.modes));
    assert_eq!(steps(p)[0].number, Some(number), "the move is called so");
    row
}

#[test]
fn nested_steps_that_end_in_the_same_state_have_numbers_and_checkpoints_of_their_own() {
    let p = started();
    let outer = p.begin("claude", "task");
    let within = Some(handle(outer));
    let inner = p.begin_as(StepStart { within, ..StepStart::default() });
    p.write("a.txt", "new\n");
    let inner = p.end(inner).id();
    let outer = p.end(outer).id();
    assert_eq!([inner, outer], [2, 3].map(StepId::Number));
    let [one, two] = [inner, outer].map(|step| by_number(&p, step));
    assert_ne!(one.id, two.id);
    assert_eq!((one.tree, one.modes, one.extra), (two.tree, two.modes, two.extra));
    assert_eq!(two.changes.unwrap().files, 0, "nothing changed from the one to the other");
    p.expect("a.txt", &[("new\n", &inner.to_string())]);
    let taken = p.undo_steps(&of_steps(&[outer]));
    assert_eq!(taken.plan.steps, [inner], "the outer one did nothing beside it");
    assert_eq!(p.read("a.txt"), "old\n");
    p.fsck();
}

#[test]
fn overlapping_steps_that_end_in_the_same_state_have_numbers_and_checkpoints_of_their_own() {
    let p = started();
    let [one, two] = ["claude", "codex"].map(|agent| p.begin(agent, "bash"));
    p.write("a.txt", "whose?\n");
    let [one, two] = [one, two].map(|step| p.end(step).id());
    assert_eq!([one, two], [2, 3].map(StepId::Number));
    let [first, second] = [one, two].map(|step| by_number(&p, step));
    assert_ne!(first.id, second.id);
    assert_eq!((first.tree, first.modes), (second.tree, second.modes));
    p.expect("a.txt", &[("whose?\n", &format!("?[{one}, {two}]"))]);
    let Undone::Steps(planned, Some(taken)) = p.undo().unwrap() else { panic!("a step") };
    assert_eq!(
        (planned.units[0].id, names(&taken.plan.unattributed)),
        (two, vec!["a.txt".to_owned()])
    );
    assert_eq!(p.read("a.txt"), "whose?\n", "it is not known whose it is");
    p.undo_steps(&of_steps(&[one, two]));
    assert_eq!(p.read("a.txt"), "old\n");
    assert!(p.undo().is_ok_and(|undone| matches!(undone, Undone::Done(_))), "of that undo");
    p.fsck();
}

#[test]
fn a_step_has_a_number_if_anything_was_noticed_to_change() {
    let p = TestProject::new();
    p.write(".gitignore", "*.sqlite\n");
    p.write("a.txt", "old\n");
    p.write("app.sqlite", "rows\n");
    p.save("first");
    let idle = p.begin("claude", "grep");
    let idle = p.end(idle);
    assert_eq!((idle.number, idle.id()), (None, StepId::Handle(1)));
    assert_eq!(p.list().len(), 1);
    let project = p.project();
    let outside = project.begin_step(StepKind::Run, StepStart::default(), &NoProgress).unwrap();
    p.remove("app.sqlite");
    let outside = p.end(outside.step.id());
    assert!(matches!(outside.end, StepEnd::Unchanged(_)), "{outside:?}");
    assert_eq!(outside.id(), StepId::Number(2));
    let [newest, first] = [p.find("@"), p.find("@-1")];
    assert_eq!((newest.number, newest.tree), (2, first.tree));
    let changed = p.step("claude", || p.write("a.txt", "new\n"));
    assert_eq!(changed, StepId::Number(3));
    p.fsck();
}

#[test]
fn every_move_has_the_number_of_a_checkpoint_of_what_is_there_then() {
    let p = started();
    let first = p.tree();
    let step = p.step("claude", || {
        p.write("a.txt", "agent\n");
        p.write("made/by/agent", "agent\n");
        p.chmod("b.txt", 0o755);
    });
    p.write("sub/c.txt", "by hand\n");
    let mut rows = vec![(by_number(&p, step), 0)];
    let mut states = Vec::new();
    let mut note = |p: &TestProject, restored: Restored, files| {
        rows.push((assert_row_is_the_present(p, &restored), files));
        states.push(p.tree());
    };
    note(&p, p.restore(&p.oldest()), 4);
    assert_eq!(p.tree(), first);
    note(&p, done(p.undo().unwrap()), 4);
    note(&p, done(p.redo().unwrap()), 4);
    note(&p, done(p.undo().unwrap()), 4);
    note(&p, p.restore_paths(&p.oldest(), &["a.txt"]).unwrap(), 1);
    note(&p, *p.undo_steps(&of_steps(&[step])).restored.unwrap(), 2);
    assert_eq!(p.read("sub/c.txt"), "by hand\n", "not undone with it");
    let rows = rows.split_off(1);
    for (row, files) in &rows {
        assert_eq!(row.changes.unwrap().files, *files, "{}", row.reason);
    }
    let numbers: Vec<u64> = rows.iter().map(|(row, _)| row.number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    for ((row, _), state) in rows.iter().zip(&states) {
        p.restore(&row.number.to_string());
        assert_eq!(p.tree(), *state, "{} is back", row.number);
    }
    p.fsck();
}

#[test]
fn a_move_that_changes_nothing_has_no_number() {
    let p = started();
    let count = p.list().len();
    assert_eq!(p.restore("@").number, None);
    assert_eq!((p.list().len(), steps(&p).len()), (count, 0));
}

/// What a restore led to was taken for a checkpoint that was made to go there, as that of an undo of steps is.
#[test]
fn going_back_to_where_a_move_led_is_a_move_of_its_own() {
    let p = started();
    let step = p.step("claude", || p.write("a.txt", "agent\n"));
    p.write("b.txt", "by hand\n");
    let undo = p.undo_steps(&of_steps(&[step])).restored.unwrap();
    let row = assert_row_is_the_present(&p, &undo);
    assert_eq!(row.reason, format!("undo of step {step}"), "one checkpoint is enough");
    p.write("a.txt", "later\n");
    let restored = p.restore(&row.number.to_string());
    assert!(restored.number > undo.number, "{:?}", restored.number);
    assert_row_is_the_present(&p, &restored);
    let newest = steps(&p).remove(0);
    assert_eq!((newest.kind, newest.start.command), (StepKind::Restore, None));
}

#[test]
fn what_others_do_while_files_are_restored_is_theirs_and_not_the_moves() {
    let p = started();
    p.step("claude", || p.write("sub/c.txt", "agent\n"));
    let kept = restore_when(&p, &p.oldest(), Stage::Restoring, || p.write("sub/new", "theirs\n"));
    assert_eq!(kept, [("sub/new".to_owned(), KeptWhy::ChangedMeanwhile)]);
    let newest = p.find("@");
    assert_eq!(steps(&p)[0].number, Some(newest.number));
    assert_eq!(p.saved_tree(&newest), p.tree().as_git());
    assert_eq!(newest.origin, Origin::Saved, "it is no state the move alone led to");
    assert!(!p.save("at once").is_new);
    p.expect("sub/new", &[("theirs\n", "hand")]);
    p.step("claude", || p.write("a.txt", "agent\n"));
    let taken = p.undo_steps(&restore_oldest(&p));
    assert_eq!(names(&taken.plan.by_hand), ["sub/new"]);
    assert_eq!((p.read("sub/new"), p.read("a.txt")), ("theirs\n".into(), "old\n".into()));
}

/// Who wrote each line, by the order in which steps began.
fn authors(p: &TestProject, path: &str) -> Vec<(String, Option<Vec<i64>>)> {
    let steps = steps(p);
    let handle = |id: &StepId| steps.iter().find(|step| step.is(*id)).unwrap().handle;
    let blame = p.project().blame(&rel(path), &NoProgress).unwrap();
    let author = |author: &LineAuthor| match author {
        LineAuthor::Earlier => None,
        author => Some(author.steps().iter().map(handle).collect()),
    };
    let lines = blame.lines.iter();
    lines.map(|line| (line.text.to_string(), author(&line.origin.author))).collect()
}

/// Works, goes back and forth, and works again; without the checkpoints of the moves, if they are to be dropped.
fn worked(drops: bool) -> TestProject {
    let p = TestProject::new();
    let after_move = |number: Option<u64>| {
        if let Some(number) = number.filter(|_| drops) {
            p.project().drop_checkpoint(&p.find(&number.to_string())).unwrap();
        }
    };
    p.write("f", "1\n2\n3\n4\n");
    p.write("g", "1\n");
    p.save("first");
    let first = p.oldest();
    let one = p.step("claude", || p.write("f", "1\none\n2\n3\n4\n"));
    p.write("f", "1\none\n2\n3\n4\nby hand\n");
    p.step("codex", || p.write("g", "1\ntwo\n"));
    after_move(p.restore_paths(&first, &["g"]).unwrap().number);
    p.write("g", "1\nby hand\n");
    after_move(p.restore(&first).number);
    after_move(done(p.undo().unwrap()).number);
    let outer = p.begin("claude", "task");
    let within = Some(handle(outer));
    let inner = p.begin_as(StepStart { within, ..StepStart::default() });
    p.write("f", "1\none\n2\n3\ninner\n4\nby hand\n");
    p.end(inner);
    p.end(outer);
    // Its checkpoint was made before it, and there was one like it before moves had numbers.
    p.undo_steps(&of_steps(&[one])).restored.unwrap();
    p.write("g", "1\nby hand\nlast\n");
    p
}

#[test]
fn the_checkpoints_of_moves_change_no_authors() {
    let [with, without] = [false, true].map(worked);
    assert!(with.list().len() > without.list().len());
    for path in ["f", "g"] {
        assert_eq!(with.read(path), without.read(path));
        assert_eq!(authors(&with, path), authors(&without, path), "{path}");
    }
    let hand = || Some(Vec::new());
    let inner = || Some(vec![7]);
    let f = [None, None, None, inner(), None, hand()];
    let f = ["1\n", "2\n", "3\n", "inner\n", "4\n", "by hand\n"].into_iter().zip(f);
    let f: Vec<_> = f.map(|(line, author)| (line.to_owned(), author)).collect();
    assert_eq!(authors(&with, "f"), f);
    let hands = |p: &TestProject| names(&p.plan_undo_steps(&restore_oldest(p)).by_hand);
    assert_eq!(hands(&with), hands(&without));
}

#[test]
fn a_number_stays_when_its_checkpoint_is_dropped() {
    let p = started();
    let step = p.step("claude", || p.write("a.txt", "agent\n"));
    p.write("b.txt", "by hand\n");
    let restored = p.restore(&p.oldest());
    p.undo().unwrap();
    for number in [step.number(), restored.number] {
        p.project().drop_checkpoint(&p.find(&number.unwrap().to_string())).unwrap();
    }
    let called: Vec<StepId> = steps(&p).iter().map(Step::id).collect();
    assert!(called.contains(&step) && called.contains(&StepId::Number(restored.number.unwrap())));
    assert_eq!(p.plan_undo_steps(&of_steps(&[step])).uncertain(), [step]);
    let later = p.step("claude", || p.write("a.txt", "later\n"));
    assert!(called.iter().all(|before| *before < later), "{later}: {called:?}");
}

/// As the program of before wrote them: with the order of beginning for a number.
#[test]
fn records_of_before_are_read() {
    let p = started();
    p.step("claude", || p.write("a.txt", "agent\n"));
    p.write("b.txt", "by hand\n");
    p.restore_paths(&p.oldest(), &["b.txt"]).unwrap();
    for (file, handle) in [("steps/00000001", 1), ("steps/00000002", 2)] {
        let text = std::fs::read_to_string(state_file(&p, file)).unwrap();
        let row = text.split("\"row\":").nth(1).unwrap().split([',', '}']).next().unwrap();
        let old = text.replace(&format!("\"row\":{row},"), "");
        let old = old.replace(&format!("\"handle\":{handle}"), &format!("\"number\":{handle}"));
        assert!(!old.contains("handle") && !old.contains("\"row\""), "{old}");
        std::fs::write(state_file(&p, file), old).unwrap();
    }
    let called: Vec<String> = steps(&p).iter().map(|step| step.id().to_string()).collect();
    assert_eq!(called, ["s2", "s1"]);
    p.expect("a.txt", &[("agent\n", "s1")]);
    let next = p.begin("claude", "edit");
    assert_eq!(next, StepId::Handle(3), "the order goes on");
    assert_eq!(p.end(next).id(), next);
    let taken = p.undo_steps(&of_steps(&[StepId::Handle(1)]));
    assert_eq!(taken.plan.steps, [StepId::Handle(1)]);
    assert_eq!((p.read("a.txt"), p.read("b.txt")), ("old\n".into(), "old\n".into()));
}

/// The stat cache described a checkpoint that was not the newest any more, and each save looked for every object.
#[test]
fn a_save_where_nothing_changed_finds_the_checkpoint_of_the_move_and_writes_nothing() {
    let p = started();
    let step = p.begin("claude", "task");
    let inner = p.begin("claude", "bash");
    p.write("a.txt", "agent\n");
    p.end(inner);
    p.end(step);
    let saves_write_nothing = |what: &str| {
        let newest = p.find("@").id;
        let first = p.save("first");
        assert_eq!((first.is_new, first.checkpoint.id), (false, newest), "{what}");
        let written = |name: &str| std::fs::metadata(state_file(&p, name)).unwrap().ino();
        let before = ["stat-cache", "packs"].map(written);
        let second = p.save("second");
        assert_eq!((second.is_new, second.checkpoint.id), (false, newest), "{what}");
        assert_eq!(["stat-cache", "packs"].map(written), before, "{what}");
    };
    saves_write_nothing("a nested step");
    p.restore(&p.oldest());
    saves_write_nothing("a restore");
    p.undo().unwrap();
    saves_write_nothing("an undo");
    p.restore_with(
        &p.oldest(),
        &RestoreOptions { paths: vec![rel("a.txt")], ..Default::default() },
    )
    .unwrap();
    saves_write_nothing("a restore of one file");
}

#[test]
fn a_lost_pack_with_the_checkpoint_of_a_move_is_noticed_by_the_next_save() {
    for collects in [false, true] {
        let p = started();
        p.step("claude", || p.write("a.txt", "agent\n"));
        if collects {
            super::cleaning::gc(&p);
        }
        let packs = || -> std::collections::BTreeSet<PathBuf> {
            let packs = std::fs::read_dir(p.store().join("objects/pack")).unwrap();
            packs.map(|entry| entry.unwrap().path()).collect()
        };
        let before = packs();
        // No checkpoint is made of the state before it: there is one.
        assert!(!p.restore(&p.oldest()).safety_is_new);
        for file in packs().difference(&before) {
            std::fs::remove_file(file).unwrap();
        }
        let saved = p.save("after the loss");
        assert_eq!((saved.is_new, saved.lost.packs.len()), (true, 1), "collected: {collects}");
        assert_eq!(p.saved_tree(&saved.checkpoint), p.tree().as_git());
    }
}
