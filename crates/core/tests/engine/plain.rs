//! The same work on a file system without hard links, and whose renames can neither exchange nor refuse a taken name.
//!
//! Such is exFAT. What the tests called here say of a local disk has to hold there as well.

use herma_core::restore::KeptWhy;
use herma_testkit::plain::without_links;

use super::project::TestProject;
use super::reviewed::restore_while;

#[test]
fn every_file_system_a_save_accepts_can_be_restored_on() {
    without_links(super::round_trip::a_saved_project_comes_back_exactly);
}

#[test]
fn without_links_random_work_ends_in_the_state_the_model_predicts() {
    without_links(super::model::random_work_always_ends_in_the_state_the_model_predicts);
}

#[test]
fn without_links_what_is_undone_goes_and_everything_else_stays() {
    without_links(|| super::interleavings::check_every(13));
}

#[test]
fn without_links_an_edit_made_while_a_restore_runs_survives_it() {
    without_links(super::reviewed::an_edit_whose_time_was_put_back_survives_a_restore);
    without_links(super::reviewed::a_mode_set_while_a_restore_runs_survives_it);
}

#[test]
fn without_links_a_file_that_appears_while_a_restore_runs_stays() {
    without_links(|| {
        let p = TestProject::new();
        p.write("gone", "saved\n");
        p.save("first");
        p.remove("gone");
        p.save("second");
        let kept = restore_while(&p, "@-1", || p.write("gone", "theirs\n"));
        assert_eq!(kept, [("gone".to_owned(), KeptWhy::ChangedMeanwhile)]);
        assert_eq!(p.read("gone"), "theirs\n");
    });
}
