//! Processes killed while they hold locks, or wait for them: nobody who comes next has to wait.
//!
//! `--wait 0` gives up at once, so a lock that outlives its holder shows as "busy" and not as a matter of seconds.

use std::fs::File;

use herma_testkit::faults;
use herma_testkit::faults::{Fault, Outcome};

use super::disturb::{Disturbed, spread, words};
use super::scene::{Scene, files_below};

/// Every command that takes a lock works, whoever was killed; each from where the dead left things.
fn nobody_waits(scene: &Scene, outcome: &Outcome) {
    assert!(outcome.hit.is_some(), "it was not killed: {}", words(outcome));
    let stash = scene.stash();
    let project = scene.project();
    for next in [
        &["save", "--wait", "0"][..],
        &["restore", "--continue"],
        &["pin", "@"],
        &["step", "begin"],
        &["checkpoints", "gc"],
        &["checkpoints", "prune", "--force"],
        &["purge", "--yes", "a.txt"],
    ] {
        scene.reset_to(&stash);
        let output = project.run(next);
        let said = output.error_text();
        // These are no matter of locks: a restore waits for somebody's word, and what a purge that never came to
        // its checkpoints wanted to be rid of is named by the next one.
        if next[0] == "purge"
            && (said.contains("a restore is not finished") || said.contains("still in the store"))
        {
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{next:?}: {output}");
    }
    scene.reset_to(&stash);
    project.run(["save", "--wait", "0"]).success();
    let litter = scene.litter();
    assert!(litter.is_empty(), "left behind: {litter:?}");
}

/// Kills the command of a scene at its calls, and lets everybody else come at once.
fn die_with_locks(name: &str, scene: &Scene, stride: u64) {
    if !faults::available() {
        return;
    }
    let disturbed = Disturbed {
        name: &format!("{name}, then others at once"),
        command: scene.faults(),
        reset: &|| scene.reset(),
        check: &|outcome| nobody_waits(scene, outcome),
    };
    let count = disturbed.plain().count;
    disturbed.visit(Fault::Kill, count, &spread(count, stride, 0));
    disturbed.visit(Fault::KillAfter, count, &spread(count, stride * 2, 1));
}

#[test]
fn killed_holders_of_a_save() {
    die_with_locks("save", &Scene::second_save(), 6);
}

#[test]
fn killed_holders_of_a_restore() {
    die_with_locks("restore", &Scene::restore(), 12);
}

#[test]
fn killed_holders_of_a_collection() {
    die_with_locks("gc", &Scene::gc(), 6);
}

#[test]
fn killed_holders_of_a_purge() {
    die_with_locks("purge", &Scene::purge(), 18);
}

/// Those who stand in line for a lock that somebody holds are killed there, and are in nobody's way.
#[test]
fn killed_holders_of_a_place_in_the_line() {
    if !faults::available() {
        return;
    }
    let scene = Scene::second_save();
    let mut locks = files_below(&scene.env.store().join("herma/projects"));
    locks.retain(|path| path.ends_with("lock"));
    assert_eq!(locks.len(), 1, "the lock of the one project there is");
    let waiting = scene.project().faults(["save", "--wait", "1"]);
    let held = File::open(&locks[0]).unwrap();
    held.lock().unwrap();
    let plain = waiting.run(Fault::Count, 0);
    assert!(words(&plain).contains("Exited(11)"), "{}", words(&plain));
    drop(held);
    for n in spread(plain.count, 1, 0) {
        scene.reset();
        let held = File::open(&locks[0]).unwrap();
        held.lock().unwrap();
        let killed = waiting.run(Fault::Kill, n);
        assert!(killed.hit.is_some(), "at {n}: {}", words(&killed));
        drop(held);
        nobody_waits(&scene, &killed);
    }
    eprintln!("save that waits: {} calls", plain.count);
}
