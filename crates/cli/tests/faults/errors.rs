//! Calls that fail: an error that names it, or a right result; never wrong bytes, nothing left behind.

use herma_testkit::faults::Fault;

use super::scene::Scene;
use super::sweep::{sweep, sweep_at};

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

const EACCES: i32 = 13;
const EMFILE: i32 = 24;
const EROFS: i32 = 30;
const EDQUOT: i32 = 122;

/// All errors, on one command.
fn fail_everywhere(name: &str, scene: &Scene) {
    sweep(name, scene, Fault::Error(ENOSPC), 8);
    sweep(name, scene, Fault::Error(EIO), 8);
    sweep(name, scene, Fault::ErrorFrom(ENOSPC), 8);
    for (at, errno) in (1..).zip([EACCES, EMFILE, EROFS, EDQUOT]) {
        sweep_at(name, scene, Fault::Error(errno), 20 * at);
        sweep_at(name, scene, Fault::ErrorFrom(errno), 100 - 20 * at);
    }
}

#[test]
fn the_first_save_on_a_new_machine() {
    fail_everywhere("first save", &Scene::first_save());
}

#[test]
fn a_save_of_changes() {
    fail_everywhere("save", &Scene::second_save());
}

#[test]
fn a_restore_over_unsaved_changes() {
    fail_everywhere("restore", &Scene::restore());
}

#[test]
fn an_undo() {
    fail_everywhere("undo", &Scene::undo());
}

#[test]
fn a_redo() {
    fail_everywhere("redo", &Scene::redo());
}

#[test]
fn the_end_of_a_restore_that_was_killed_before() {
    fail_everywhere("continue", &Scene::finish());
}

#[test]
fn the_reversal_of_a_restore_that_was_killed_before() {
    fail_everywhere("reverse", &Scene::reverse());
}

#[test]
fn an_undo_of_a_step_that_keeps_later_edits() {
    fail_everywhere("undo step", &Scene::undo_step());
}

#[test]
fn a_restore_that_keeps_edits() {
    let scene = Scene::restore_keeping_edits();
    sweep("restore keeping", &scene, Fault::Error(EIO), 4);
    sweep("restore keeping", &scene, Fault::ErrorFrom(ENOSPC), 4);
}

#[test]
fn a_drop_of_a_named_and_pinned_checkpoint() {
    fail_everywhere("drop", &Scene::drop());
}

#[test]
fn a_purge() {
    fail_everywhere("purge", &Scene::purge());
}

#[test]
fn a_collection() {
    fail_everywhere("gc", &Scene::gc());
}

#[test]
fn a_cleaning() {
    fail_everywhere("prune", &Scene::prune());
}

#[test]
fn a_name() {
    fail_everywhere("name", &Scene::mark(&["name", "@-1", "good"]));
}

#[test]
fn a_pin() {
    fail_everywhere("pin", &Scene::mark(&["pin", "@-1"]));
}
