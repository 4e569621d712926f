//! Killed in the middle of changing files, where there are no hard links and renames can do nothing but replace.
//!
//! Without exchange there is a moment in which nothing has the name of a file that is replaced. Whoever is killed then must find
//! everything as it was, or as it was to be, after `restore --continue` and after `undo`.

use herma_testkit::faults::Fault;
use herma_testkit::plain::without_links;

use super::scene::Scene;
use super::sweep::sweep;

/// Kills a command at every so many calls, before and after they take effect.
fn killed_without_links(name: &str, make: fn() -> Scene, stride: usize) {
    without_links(|| {
        let scene = make();
        sweep(name, &scene, Fault::Kill, stride);
        sweep(name, &scene, Fault::KillAfter, stride + 1);
    });
}

#[test]
fn plain_a_save_of_changes() {
    killed_without_links("save", Scene::second_save, 2);
}

#[test]
fn plain_a_restore_over_unsaved_changes() {
    killed_without_links("restore", Scene::restore, 1);
}

#[test]
fn plain_an_undo() {
    killed_without_links("undo", Scene::undo, 2);
}

#[test]
fn plain_a_redo() {
    killed_without_links("redo", Scene::redo, 4);
}

#[test]
fn plain_the_end_of_a_restore_that_was_killed_before() {
    killed_without_links("continue", Scene::finish, 3);
}

#[test]
fn plain_the_reversal_of_a_restore_that_was_killed_before() {
    killed_without_links("reverse", Scene::reverse, 3);
}

#[test]
fn plain_an_undo_of_a_step_that_keeps_later_edits() {
    killed_without_links("undo step", Scene::undo_step, 4);
}

#[test]
fn plain_a_collection() {
    killed_without_links("gc", Scene::gc, 4);
}

#[test]
fn plain_a_restore_with_calls_that_fail() {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    without_links(|| {
        let scene = Scene::restore();
        sweep("restore", &scene, Fault::Error(EIO), 2);
        sweep("restore", &scene, Fault::ErrorFrom(ENOSPC), 4);
    });
}
