//! Runs a command with a fault at one position after the other, and checks what every crash and every
//! error must leave behind.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use herma_testkit::Tree;
use herma_testkit::faults;
use herma_testkit::faults::Fault;
use herma_testkit::faults::Faults;
use herma_testkit::faults::Outcome;
use herma_testkit::faults::Status;
use herma_testkit::tree::assert_same;
use herma_testkit::tree::diff;

use super::assert_sound;
use super::json;
use super::purge_scene::check_purge;
use super::scene::Action;
use super::scene::Scene;
use super::scene::Transaction;
use super::scene::without_temporary;
use super::step_scenes::check_step;

/// How many failing positions are shown in full.
const SHOWN: usize = 3;
/// So many calls belong to the end of a restore.
const LAST_CALLS: u64 = 16;

/// Delivers `fault` at every `stride`-th of the positions [`Faults::positions`] visits.
#[track_caller]
pub(super) fn sweep(name: &str, scene: &Scene, fault: Fault, stride: usize) {
    if !faults::available() || !herma_testkit::git::available() {
        return;
    }
    scene.reset();
    let plain = scene.faults().run(Fault::Count, 0);
    assert_eq!(plain.status, Status::Exited(0), "{}", words(&plain));
    let stride = if faults::step() == 1 { 1 } else { stride };
    let (mut visited, mut hit) = (0, 0);
    let mut failures: Vec<String> = Vec::new();
    for n in positions(scene, fault, plain.count, stride) {
        scene.reset();
        let outcome = scene.faults().run(fault, n);
        visited += 1;
        hit += u64::from(outcome.hit.is_some());
        if outcome.hit.is_none() && fault == Fault::ShortWrite {
            continue;
        }
        let checked = catch_unwind(AssertUnwindSafe(|| check(scene, &outcome)));
        if let Err(panic) = checked {
            let call = outcome.hit.map_or("-", |call| call.name);
            failures.push(format!("at {n} ({call}): {}", message_of(&*panic)));
        }
    }
    let failed = failures.len();
    eprintln!(
        "{name}, {fault:?}: {} calls, {visited} visited, {hit} hit, {failed} failed",
        plain.count
    );
    failures.truncate(SHOWN);
    assert!(
        failures.is_empty(),
        "{name}, {fault:?}: {failed} of {visited} positions failed\n{}",
        failures.join("\n")
    );
}

/// Which calls are visited. Where steps are known, a move is noted at the very end, just before its journal is
/// closed, and each call there counts.
fn positions(scene: &Scene, fault: Fault, count: u64, stride: usize) -> BTreeSet<u64> {
    let has_end = scene.has_step && fault == Fault::Kill;
    let end = if has_end { LAST_CALLS } else { 0 };
    let last = count.saturating_sub(end) + 1..=count;
    Faults::positions(count)
        .step_by(stride)
        .chain(last)
        .collect()
}

pub(super) fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}

fn words(outcome: &Outcome) -> String {
    format!(
        "{:?}\n{}{}",
        outcome.status,
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr)
    )
}

/// Everything that must hold after a command that was killed, or that met an error.
pub(super) fn check(scene: &Scene, outcome: &Outcome) {
    assert!(!outcome.timed_out, "it hung\n{}", words(outcome));
    let succeeded = match outcome.status {
        Status::Signaled(9) => false,
        Status::Exited(0) => true,
        // Done in part, and what was not done is named.
        Status::Exited(3) if matches!(scene.action, Action::Clean(_) | Action::Purge) => false,
        Status::Exited(code) => {
            assert_explained(code, outcome);
            false
        }
        _ => panic!("it ended in an unforeseen way: {}", words(outcome)),
    };
    // Before its first file is named `HEAD` there is no store to look at.
    if scene.env.store().join("HEAD").exists() {
        assert_sound(&scene.env.repository());
    }
    match scene.action {
        Action::Save => check_save(scene, outcome, succeeded),
        Action::Restore(transaction) => check_restore(scene, outcome, succeeded, transaction),
        Action::Drop => check_drop(scene, succeeded),
        Action::Mark => check_mark(scene, succeeded),
        Action::Clean(may_go) => check_clean(scene, succeeded, may_go),
        Action::Purge => check_purge(scene, succeeded),
        Action::Mend => {}
    }
    if scene.has_step {
        check_step(scene);
    }
    check_usable(scene);
}

/// A failure says what failed and what that means.
fn assert_explained(code: i32, outcome: &Outcome) {
    let said = words(outcome);
    assert!([1, 11, 12].contains(&code), "an unforeseen code: {said}");
    assert!(
        said.contains("os error") || said.contains("error\":{"),
        "the failed call is not named: {said}"
    );
}

/// Whatever happened, the next save works, nothing lies about and every checkpoint can be restored.
fn check_usable(scene: &Scene) {
    let again = scene.project().run(["save", "--json"]).success();
    assert_eq!(json(&again)["left_out"].as_array().map(Vec::len), Some(0));
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
    for (at, (id, tree)) in scene.saved.iter().enumerate() {
        let may_be_gone = at < may_go;
        assert!(may_be_gone || listed.contains(id), "{id} is not listed");
        if listed.contains(id) {
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
    scene.project().run(["checkpoints", "gc"]).success();
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
    assert_same(
        &scene.present,
        &scene.project().tree(),
        "a save changes no file",
    );
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
        scene.run_again().success();
        scene.reset_to(&stash);
    }
}

/// The project is at one end, at the other, or known to be in between; then both ways are open.
fn check_restore(scene: &Scene, outcome: &Outcome, succeeded: bool, transaction: Transaction) {
    let (from, to) = ((transaction.from)(), (transaction.to)());
    let (end, other_end) = if transaction.is_taken_back {
        (&from, &to)
    } else {
        (&to, &from)
    };
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
        then(
            &[if transaction.is_taken_back {
                "undo"
            } else {
                transaction.other_way
            }],
            &from,
            "finished, then back",
        );
        scene.reset_to(&stash);
        then(&["undo"], &from, "reversed");
        then(&["redo"], &to, "reversed, then redone");
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
        scene.project().run(["drop", "--yes", id]).success();
        assert!(!scene.listed().contains(id), "dropped, but still there");
        assert_sound(&scene.env.repository());
    }
    let refs = scene.env.git(["for-each-ref", "--points-at", id]).success();
    assert_eq!(refs.text(), "", "no mark outlives its checkpoint");
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
