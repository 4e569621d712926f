//! The same deaths in projects of other shapes: very wide, very deep, with hostile names, with a big file.
//!
//! With every change a few calls of saves and restores are visited. The other commands do here what they do elsewhere as well, and
//! run only with `--include-ignored`: `cargo xtask faults --full 2` visits every call of all of them.

use herma_testkit::faults::Fault;

use super::disturb::ENOSPC;
use super::scene::Scene;
use super::shapes;
use super::sweep::{sweep_at, sweep_end};

/// `per_cent` says where in the command, when only one call of it is visited.
fn die_everywhere(name: &str, scene: &Scene, per_cent: u64) {
    sweep_at(name, scene, Fault::Kill, per_cent);
    sweep_at(name, scene, Fault::KillAfter, 99 - per_cent);
    sweep_at(name, scene, Fault::ShortWrite, per_cent);
}

/// All commands in one shape, each a test of its own.
macro_rules! commands_in {
    ($module:ident, $shape:expr, $per_cent:expr) => {
        mod $module {
            use super::*;

            #[test]
            fn the_first_save() {
                die_everywhere("first save", &$shape.first_save(), $per_cent);
            }

            #[test]
            fn a_save_of_changes() {
                die_everywhere("save", &$shape.second_save(), $per_cent);
            }

            #[test]
            fn a_restore() {
                die_everywhere("restore", &$shape.restore(), $per_cent);
            }

            #[test]
            #[ignore = "in full: cargo xtask faults --full 2"]
            fn an_undo() {
                die_everywhere("undo", &$shape.undo(), $per_cent);
            }

            #[test]
            #[ignore = "in full: cargo xtask faults --full 2"]
            fn a_redo() {
                die_everywhere("redo", &$shape.redo(), $per_cent);
            }

            #[test]
            #[ignore = "in full: cargo xtask faults --full 2"]
            fn the_end_of_a_restore_that_was_killed_before() {
                die_everywhere("continue", &$shape.finish(), $per_cent);
            }

            #[test]
            #[ignore = "in full: cargo xtask faults --full 2"]
            fn the_reversal_of_a_restore_that_was_killed_before() {
                die_everywhere("reverse", &$shape.reverse(), $per_cent);
            }

            #[test]
            #[ignore = "in full: cargo xtask faults --full 2"]
            fn a_collection() {
                die_everywhere("gc", &$shape.gc(), $per_cent);
            }

            #[test]
            #[ignore = "in full: cargo xtask faults --full 2"]
            fn a_cleaning() {
                die_everywhere("prune", &$shape.prune(), $per_cent);
            }
        }
    };
}

commands_in!(wide, shapes::WIDE, 70);
commands_in!(deep, shapes::DEEP, 60);
commands_in!(hostile, shapes::HOSTILE, 80);
commands_in!(big, shapes::BIG, 40);

#[test]
#[ignore = "in full: cargo xtask faults --full 2"]
fn the_end_of_a_save_of_several_packs() {
    let scene = shapes::MUCH.first_save();
    for fault in [Fault::Kill, Fault::ErrorFrom(ENOSPC)] {
        sweep_end("first save", &scene, fault, 40);
    }
}
