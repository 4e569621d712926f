//! What a command did to the disk, in the order it did it: what must come before what, seen in one run without a power cut.

use herma_testkit::crash::{Journal, Op};
use herma_testkit::faults::Status;
use herma_testkit::{crash, faults};

use super::scene::Scene;
use super::shapes;

/// What the command of a scene did; `None` where commands cannot be traced.
fn recorded(scene: &Scene) -> Option<Journal> {
    if !faults::available() {
        return None;
    }
    scene.reset();
    let (outcome, journal) = crash::record(&scene.faults(), scene.env.root());
    assert_eq!(outcome.status, Status::Exited(0), "{outcome:?}");
    Some(journal)
}

/// The places of the steps about which this is so.
fn places(journal: &Journal, is_meant: impl Fn(&Op, &str) -> bool) -> Vec<usize> {
    let steps = journal.steps().iter().enumerate();
    let meant = steps.filter(|(at, step)| is_meant(&step.op, &journal.about(*at)));
    meant.map(|(at, _)| at).collect()
}

/// More files than are synced one by one. Their contents and names must be on disk before nobody knows any more that they
/// were on their way.
#[test]
fn a_restore_of_many_files_is_on_disk_before_its_journal_closes() {
    let scene = shapes::WIDE.restore();
    let Some(journal) = recorded(&scene) else {
        return;
    };
    let changed = places(&journal, |op, about| {
        !op.is_sync() && !matches!(op, Op::Said(_)) && about.contains("/work/project/")
    });
    assert!(changed.len() > 200, "only {} changes", changed.len());
    let last = changed.into_iter().max().unwrap();
    let closed = places(&journal, |_, about| about.starts_with('-') && about.ends_with("/journal"));
    let closed = closed.into_iter().max().expect("the journal was closed");
    assert!(last < closed, "all is done before the journal closes");
    let synced = places(&journal, |op, _| *op == Op::SyncAll);
    let is_between = synced.iter().any(|at| (last..closed).contains(at));
    assert!(is_between, "last change {last}, closed {closed}, synced at {synced:?}");
}

/// The ref of a checkpoint is what makes it exist: whoever sees it finds its receipt.
#[test]
fn the_ref_of_a_checkpoint_comes_after_that_of_its_receipt() {
    for scene in [Scene::first_save(), Scene::second_save()] {
        let Some(journal) = recorded(&scene) else {
            return;
        };
        let named = |is_receipt: bool| {
            let found = places(&journal, |op, about| {
                let name = about.split(' ').next_back().unwrap_or_default();
                let is_ref = matches!(op, Op::Names(_)) && name.contains("/refs/herma/");
                let file = name.rsplit('/').next().unwrap_or_default();
                let number = file.trim_end_matches(".extra");
                let is_number = number.len() == 8 && number.bytes().all(|b| b.is_ascii_digit());
                is_ref && is_number && !name.starts_with('-') && (number != file) == is_receipt
            });
            found.into_iter().max().expect("a ref was made")
        };
        assert!(named(true) < named(false), "the checkpoint came first");
    }
}
