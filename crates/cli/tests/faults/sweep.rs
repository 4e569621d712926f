//! Runs a command with a fault at one position after the other, and checks what every crash and every
//! error must leave behind.

use std::collections::BTreeSet;

use herma_testkit::faults::{Fault, Faults, Outcome, Status};
use herma_testkit::tree::{assert_same, diff};
use herma_testkit::{Tree, faults};

use super::disturb::{Disturbed, succeeded, words};
use super::purge_scene::check_purge;
use super::scene::{Action, Scene, Transaction, without_temporary};
use super::step_scenes::check_step;
use super::{assert_sound, json};

/// So many calls belong to the end of a restore: it is noted, its journal is closed, and it gets its number.
const LAST_CALLS: u64 = 70;
/// Of these, one in so many is visited at least.
const STRIDE_AT_THE_END: usize = 4;
/// How a command ends that a signal asked to stop.
const INTERRUPTED: i32 = 130;

pub(super) const SIGHUP: i32 = 1;
pub(super) const SIGINT: i32 = 2;
pub(super) const SIGTERM: i32 = 15;

/// Delivers `fault` at every `stride`-th of the positions [`Faults::positions`] visits, or at all of them if a
/// step is asked for.
#[track_caller]
pub(super) fn sweep(name: &str, scene: &Scene, fault: Fault, stride: usize) {
    let is_asked_for = faults::step() != faults::DEFAULT_STEP;
    let stride = if is_asked_for { 1 } else { stride };
    visit(name, scene, fault, &|plain| positions(scene, fault, plain, stride));
}

/// Delivers `fault` once, when so much of the command is done, unless a step is asked for.
#[track_caller]
pub(super) fn sweep_at(name: &str, scene: &Scene, fault: Fault, per_cent: u64) {
    if faults::step() != faults::DEFAULT_STEP {
        return sweep(name, scene, fault, 1);
    }
    visit(name, scene, fault, &|plain| {
        let calls = match fault {
            Fault::ShortWrite => plain.writes,
            _ => plain.count,
        };
        BTreeSet::from([calls * per_cent / 100 + 1])
    });
}

/// Delivers `fault` at each of the last so many calls.
#[track_caller]
pub(super) fn sweep_end(name: &str, scene: &Scene, fault: Fault, calls: u64) {
    visit(name, scene, fault, &|plain| {
        (plain.count.saturating_sub(calls) + 1..=plain.count).collect()
    });
}

#[track_caller]
fn visit(name: &str, scene: &Scene, fault: Fault, positions: &dyn Fn(&Outcome) -> BTreeSet<u64>) {
    if !faults::available() || !herma_testkit::git::available() {
        return;
    }
    let plain = scene.plain();
    let disturbed = Disturbed {
        name: &format!("{name}, {}", scene.shape.name),
        command: scene.faults(),
        reset: &|| scene.reset(),
        check: &|outcome| check(scene, outcome),
    };
    disturbed.visit(fault, plain.count, &positions(plain));
}

/// Which calls are visited: for a short write all writes. Where steps are known, a move is noted and numbered
/// at the very end, and more calls there count.
fn positions(scene: &Scene, fault: Fault, plain: &Outcome, stride: usize) -> BTreeSet<u64> {
    let count = plain.count;
    if fault == Fault::ShortWrite {
        return (1..=plain.writes).step_by(stride).collect();
    }
    let end = match fault {
        Fault::Kill if scene.has_step => LAST_CALLS,
        _ => 0,
    };
    let last = count.saturating_sub(end) + 1..=count;
    let last = last.step_by(stride.min(STRIDE_AT_THE_END));
    Faults::positions(count).step_by(stride).chain(last).collect()
}

/// Everything that must hold after a command that was killed, or that met an error.
pub(super) fn check(scene: &Scene, outcome: &Outcome) {
    let succeeded = match outcome.status {
        Status::Exited(code) if code == scene.code_when_done() => true,
        // Done in part, and what was not done is named.
        Status::Exited(3) if matches!(scene.action, Action::Clean(_) | Action::Purge) => false,
        // A signal that comes before anybody listens for it ends the program by itself.
        Status::Exited(INTERRUPTED) | Status::Signaled(SIGHUP | SIGINT | SIGTERM) => {
            let litter = scene.litter();
            assert!(litter.is_empty(), "left at once: {litter:?}");
            false
        }
        _ => succeeded(outcome),
    };
    // Before its first file is named `HEAD` there is no store to look at.
    let is_damaged = matches!(scene.action, Action::Mend);
    if !is_damaged && scene.env.store().join("HEAD").exists() {
        assert_sound(&scene.env.repository());
    }
    match scene.action {
        Action::Save => check_save(scene, outcome, succeeded),
        Action::Restore(transaction) => check_restore(scene, outcome, succeeded, transaction),
        Action::Drop => check_drop(scene, succeeded),
        Action::Mark => check_mark(scene, succeeded),
        Action::Clean(may_go) => check_clean(scene, succeeded, may_go),
        Action::Purge => check_purge(scene, succeeded),
        Action::Mend => check_mend(scene, succeeded),
    }
    if scene.has_step {
        check_step(scene);
    }
    check_usable(scene);
}

/// Whatever happened, the next save works, nothing lies about and every checkpoint can be restored.
pub(super) fn check_usable(scene: &Scene) {
    let code = Scene::code_of_save(&scene.project(), scene.shape);
    let again = scene.project().run(["save", "--json"]).code(code);
    let left_out = json(&again)["left_out"].as_array().map(Vec::len);
    assert_eq!(left_out, Some(usize::from(code == 3)), "{again}");
    let litter = scene.litter();
    assert!(litter.is_empty(), "left behind: {litter:?}");
    assert_sound(&scene.env.repository());
    if matches!(scene.action, Action::Purge) {
        // Checkpoints have other ids; all of them were looked at.
        return;
    }
    let listed = scene.listed();
    let may_go = match scene.action {
        Action::Drop => 1,
        Action::Clean(may_go) => may_go,
        _ => 0,
    };
    // git has looked at every object. Where every call is visited, older ones are restored in turn.
    let (last, turn) = (scene.saved.len().saturating_sub(1), scene.turn());
    for (at, (id, tree)) in scene.saved.iter().enumerate() {
        let may_be_gone = at < may_go;
        assert!(may_be_gone || listed.contains(id), "{id} is not listed");
        let is_tried = at == last || at == turn % scene.saved.len() || faults::step() != 1;
        if is_tried && listed.contains(id) {
            scene.assert_restores(id, tree);
        }
    }
}

/// Nothing is left to repair: the same command, once more, leaves only what checkpoints need.
fn check_clean(scene: &Scene, succeeded: bool, may_go: usize) {
    let listed = scene.listed();
    if succeeded {
        assert_eq!(listed.len(), scene.saved.len() - may_go, "dropped as asked");
    }
    let stash = scene.stash();
    scene.run_again().success();
    let gc = ["checkpoints", "gc", "--empty-trash"];
    scene.project().run(gc).success();
    let output = scene.env.repository().git(["fsck", "--strict", "--full"]);
    let said = output.success();
    let said: Vec<&str> = said.text().lines().collect();
    assert!(said.is_empty(), "objects nothing names: {said:?}");
    let trash = scene.env.store().join("herma/trash");
    let trash: Vec<_> = std::fs::read_dir(trash).unwrap().flatten().collect();
    assert!(trash.is_empty(), "left in the trash: {trash:?}");
    scene.reset_to(&stash);
}

/// The checkpoint is there completely or not at all.
fn check_save(scene: &Scene, outcome: &Outcome, succeeded: bool) {
    assert_same(&scene.present, &scene.project().tree(), "a save changes no file");
    let listed = scene.listed();
    let known: Vec<&String> = scene.saved.iter().rev().map(|(id, _)| id).collect();
    let new = match listed.len() - known.len() {
        0 => None,
        1 => Some(&listed[0]),
        _ => panic!("too many checkpoints: {listed:?}"),
    };
    assert_eq!(
        listed.iter().skip(new.iter().len()).collect::<Vec<_>>(),
        known,
        "the older checkpoints keep their places"
    );
    if succeeded {
        let said: serde_json::Value =
            serde_json::from_slice(&outcome.stdout).expect("one JSON object");
        assert_eq!(said["checkpoint"]["id"].as_str(), new.map(String::as_str));
    }
    if let Some(new) = new {
        let stash = scene.stash();
        Tree::new().write(scene.project().path());
        scene.assert_restores(new, &scene.present);
        scene.reset_to(&stash);
    } else {
        // The same command works now, under the same name.
        let stash = scene.stash();
        scene.run_again().code(scene.code_when_done());
        scene.reset_to(&stash);
    }
}

/// The project is at one end, at the other, or known to be in between; then both ways are open.
fn check_restore(scene: &Scene, outcome: &Outcome, succeeded: bool, transaction: Transaction) {
    let (from, to) = ((transaction.from)(), (transaction.to)());
    let (end, other_end) = if transaction.is_undone { (&from, &to) } else { (&to, &from) };
    let (now, temporary) = without_temporary(scene.project().tree());
    let interrupted = scene.is_interrupted();
    if succeeded {
        let what = format!("after a success\n{}", words(outcome));
        assert_same(end, &now, &what);
        assert!(!interrupted, "a success leaves nothing to finish");
    }
    let stash = scene.stash();
    let then = |command: &[&str], expected: &Tree, what: &str| {
        scene.project().run(command).success();
        assert_same(expected, &scene.project().tree(), what);
        assert!(!scene.is_interrupted(), "{what}, but still unfinished");
    };
    if interrupted {
        then(&["restore", "--continue"], &to, "finished");
        let back = if transaction.is_undone { "undo" } else { transaction.other_way };
        then(&[back], &from, "finished, then back");
        scene.reset_to(&stash);
        then(&["undo"], &from, "reversed");
        then(&["redo"], &to, "reversed, then redone");
        // It was made as what it was: an undo that is made after all is one that a redo undoes.
        then(&[back], &from, "reversed, redone, then back");
        scene.reset_to(&stash);
        return;
    }
    assert_eq!(temporary, 0, "temporary files without a journal");
    assert!(
        now == from || now == to,
        "at neither end, and nobody says so. Against where it began:\n{}",
        diff(&from, &now)
    );
    if now == *end {
        then(&[transaction.other_way], other_end, "done, then back");
        scene.reset_to(&stash);
    }
}

/// The checkpoint is listed and works, or is gone; dropping it again finishes the job.
fn check_drop(scene: &Scene, succeeded: bool) {
    let (id, tree) = &scene.saved[0];
    let is_listed = scene.listed().contains(id);
    assert!(!(succeeded && is_listed), "dropped, but still there");
    if is_listed {
        let stash = scene.stash();
        scene.assert_restores(id, tree);
        scene.reset_to(&stash);
        scene.project().run(["drop", "--yes", "--pinned", id]).success();
        assert!(!scene.listed().contains(id), "dropped, but still there");
        assert_sound(&scene.env.repository());
    }
    let refs = scene.env.git(["for-each-ref", "--points-at", id]).success();
    assert_eq!(refs.text(), "", "no mark outlives its checkpoint");
}

/// Nothing was lost on the way, and the same command, once more, leaves nothing to repair.
fn check_mend(scene: &Scene, succeeded: bool) {
    let verify = ["checkpoints", "verify", "--read-data"];
    if succeeded {
        scene.project().run(verify).success();
    }
    scene.run_again().success();
    scene.project().run(verify).success();
    let known: Vec<&String> = scene.saved.iter().rev().map(|(id, _)| id).collect();
    assert_eq!(scene.listed().iter().collect::<Vec<_>>(), known);
}

/// The mark is there or not; setting it again is fine.
fn check_mark(scene: &Scene, succeeded: bool) {
    let marked = |scene: &Scene| {
        let output = json(&scene.project().run(["list", "--json"]).success());
        let marked = output["checkpoints"].as_array().expect("a list").iter();
        let is_marked = |c: &&serde_json::Value| {
            c["pinned"] == true || c["names"].as_array().is_some_and(|names| !names.is_empty())
        };
        marked.filter(is_marked).count()
    };
    if succeeded {
        assert_eq!(marked(scene), 1);
    }
    scene.run_again().success();
    assert_eq!(marked(scene), 1);
}
