//! A directory swapped for a link under Herma's hands.

use super::attacks;

#[test]
fn a_save_takes_in_nothing_through_a_swapped_directory() {
    attacks::save();
}

#[test]
fn a_restore_touches_nothing_through_a_swapped_directory() {
    attacks::restore();
}
