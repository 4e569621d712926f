//! Something in the project swapped for a link under Herma's hands.

use super::attacks;

#[test]
fn a_save_takes_in_nothing_through_a_swapped_directory() {
    attacks::save(attacks::Victim::Directory);
}

#[test]
fn a_restore_touches_nothing_through_a_swapped_directory() {
    attacks::restore(attacks::Victim::Directory);
}

#[test]
fn a_removal_reaches_nothing_through_a_swapped_directory() {
    attacks::remove(attacks::Victim::Directory);
}

#[test]
fn a_save_takes_in_nothing_through_a_swapped_file() {
    attacks::save(attacks::Victim::File);
}

#[test]
fn a_restore_touches_nothing_through_a_swapped_file() {
    attacks::restore(attacks::Victim::File);
}
