//! Guards of saves (see `guards`): the numbers they give, and what they say was left out.

use std::sync::Mutex;

use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::{Checkpoint, SaveOptions};

use super::authorship::rel;
use super::changed_rules::set;
use super::project::TestProject;

/// Does something once, when the files are looked at: the refs were listed by then.
struct Meanwhile<F>(Mutex<Option<F>>);

impl<F: FnOnce() + Send> Progress for Meanwhile<F> {
    fn stage(&self, stage: Stage) {
        if stage == Stage::Scanning
            && let Some(work) = self.0.lock().unwrap().take()
        {
            work();
        }
    }

    fn files(&self, _: u64, _: Option<u64>) {}
}

/// Two checkpoints whose refs are lost, and a third. While a fourth is saved, somebody who cannot be locked out gives the
/// first number to the first checkpoint again, or to another one. Who has which number in the end?
fn numbers_after(is_another: bool) -> Vec<(u64, String)> {
    let p = TestProject::new();
    let refs = p.store().join("refs/herma").join(p.project().id().as_str());
    for text in ["one", "two", "three"] {
        p.write("a.txt", text);
        assert_eq!(p.save(text).notes, [""; 0]);
    }
    let reference = |c: &Checkpoint| refs.join(format!("{:08}", c.number));
    let [third, second, first] = p.list().try_into().unwrap();
    for lost in [&first, &second] {
        std::fs::remove_file(reference(lost)).unwrap();
    }
    p.write("a.txt", "four");
    let taken = if is_another { &third } else { &first };
    let take = || std::fs::write(reference(&first), format!("{}\n", taken.id)).unwrap();
    let options = SaveOptions { reason: "four".into(), ..SaveOptions::default() };
    p.project().save_with(&options, &Meanwhile(Mutex::new(Some(take)))).unwrap();
    p.list().into_iter().rev().map(|c| (c.number, c.reason.to_string())).collect()
}

#[test]
fn a_number_that_somebody_took_meanwhile_is_not_given_again() {
    let expected = |numbers: &[(u64, &str)]| -> Vec<(u64, String)> {
        numbers.iter().map(|(number, reason)| (*number, (*reason).to_owned())).collect()
    };
    let same = expected(&[(1, "one"), (2, "two"), (3, "three"), (4, "four")]);
    assert_eq!(numbers_after(false), same);
    // The list goes by the roll, which says nothing of what was done behind its back.
    let moved = expected(&[(1, "one"), (2, "one"), (3, "three"), (4, "two"), (5, "four")]);
    assert_eq!(numbers_after(true), moved);
}

/// It was called removed, and added again.
#[test]
fn a_file_that_a_checkpoint_left_out_was_not_removed_then() {
    let mut p = TestProject::new();
    p.write("sub/x", "x\n");
    p.write("a", "1\n");
    p.save("with x");
    set(&mut p, |settings| settings.excludes.exclude = vec!["/sub/x".to_owned()]);
    p.write("a", "2\n");
    p.save("without x");
    set(&mut p, |settings| settings.excludes.exclude.clear());
    p.write("a", "3\n");
    p.save("with x again");
    let history = p.project().history(&rel("sub/x"), &NoProgress).unwrap();
    assert_eq!(history.versions.len(), 1, "{:?}", history.versions);
}

#[test]
fn a_name_goes_to_the_checkpoint_that_has_the_state_already() {
    let p = TestProject::new();
    p.write("a", "1\n");
    let first = p.save("first").checkpoint;
    let options = SaveOptions { name: Some("good".to_owned()), ..SaveOptions::default() };
    let again = p.project().save_with(&options, &NoProgress).unwrap();
    assert!(!again.is_new);
    assert_eq!((p.find("good").id, again.checkpoint.names), (first.id, vec!["good".to_owned()]));
}
