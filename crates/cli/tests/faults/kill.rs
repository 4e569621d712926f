//! Killed at every call that changes storage: the old state or the new one, nothing to repair, no lock
//! to remove.

use herma_testkit::faults::Fault;

use super::scene::Scene;
use super::sweep::sweep;

/// All ways to die, on one command that everybody runs.
fn die_everywhere(name: &str, scene: &Scene) {
    sweep(name, scene, Fault::Kill, 1);
    sweep(name, scene, Fault::KillAfter, 5);
    sweep(name, scene, Fault::ShortWrite, 4);
}

/// All ways to die, with every change at fewer places: long commands, and those that do what another one does, too.
fn die_here_and_there(name: &str, scene: &Scene) {
    sweep(name, scene, Fault::Kill, 4);
    sweep(name, scene, Fault::KillAfter, 9);
    sweep(name, scene, Fault::ShortWrite, 5);
}

#[test]
fn the_first_save_on_a_new_machine() {
    die_everywhere("first save", &Scene::first_save());
}

#[test]
fn a_save_of_changes() {
    die_everywhere("save", &Scene::second_save());
}

#[test]
fn a_restore_over_unsaved_changes() {
    die_everywhere("restore", &Scene::restore());
}

#[test]
fn a_restore_of_some_files() {
    let scene = Scene::restore_of_files();
    sweep("restore of files", &scene, Fault::Kill, 2);
    sweep("restore of files", &scene, Fault::KillAfter, 5);
}

#[test]
fn an_undo() {
    die_everywhere("undo", &Scene::undo());
}

#[test]
fn a_redo() {
    die_here_and_there("redo", &Scene::redo());
}

#[test]
fn the_end_of_a_restore_that_was_killed_before() {
    die_here_and_there("continue", &Scene::finish());
}

#[test]
fn the_reversal_of_a_restore_that_was_killed_before() {
    die_here_and_there("reverse", &Scene::reverse());
}

#[test]
fn an_undo_of_a_step_that_keeps_later_edits() {
    die_here_and_there("undo step", &Scene::undo_step());
}

#[test]
fn a_restore_that_keeps_edits() {
    let scene = Scene::restore_keeping_edits();
    sweep("restore keeping", &scene, Fault::Kill, 3);
    sweep("restore keeping", &scene, Fault::KillAfter, 5);
}

#[test]
fn a_restore_of_a_step_that_nobody_edited_after() {
    let scene = Scene::restore_of_a_step();
    sweep("restore of a step", &scene, Fault::Kill, 5);
}

#[test]
fn a_drop_of_a_named_and_pinned_checkpoint() {
    die_everywhere("drop", &Scene::drop());
}

#[test]
fn a_purge() {
    die_here_and_there("purge", &Scene::purge());
}

#[test]
fn a_collection() {
    die_everywhere("gc", &Scene::gc());
}

#[test]
fn a_cleaning() {
    die_everywhere("prune", &Scene::prune());
}

#[test]
fn a_cleaning_in_the_background() {
    die_here_and_there("maintain", &Scene::maintain());
}

#[test]
fn a_name() {
    die_everywhere("name", &Scene::mark(&["name", "@-1", "good"]));
}

#[test]
fn a_pin() {
    die_everywhere("pin", &Scene::mark(&["pin", "@-1"]));
}
