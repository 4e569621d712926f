//! What used to disappear from the history: one test per defect of the original.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use herma_core::engine::NoProgress;
use herma_core::{Checkpoint, Error, ObjectId, SaveOptions, Settings, Spec};
use herma_testkit::tree::assert_same;

use super::project::TestProject;

fn ids(list: &[Checkpoint]) -> Vec<ObjectId> {
    list.iter().map(|checkpoint| checkpoint.id).collect()
}

fn patient() -> TestProject {
    TestProject::with(Settings { lock_wait: Duration::from_secs(60), ..Settings::default() })
}

// HERMES defect 17
#[test]
fn a_checkpoint_saved_while_others_are_dropped_is_not_lost() {
    const SAVERS: usize = 3;
    const SAVES: usize = 8;
    let p = patient();
    let old: Vec<Checkpoint> = (0..SAVES)
        .map(|n| {
            p.write("a.txt", format!("{n}\n"));
            p.save("old").checkpoint
        })
        .collect();
    let acknowledged = Mutex::new(HashSet::new());
    std::thread::scope(|scope| {
        for saver in 0..SAVERS {
            let (p, acknowledged) = (&p, &acknowledged);
            scope.spawn(move || {
                let engine = p.another_engine();
                let project = engine.project(&p.root).unwrap();
                for n in 0..SAVES {
                    p.write(&format!("saver-{saver}.txt"), format!("{n}\n"));
                    let saved = project.save_with(&SaveOptions::default(), &NoProgress);
                    acknowledged.lock().unwrap().insert(saved.unwrap().checkpoint.id);
                }
            });
        }
        scope.spawn(|| {
            let engine = p.another_engine();
            let project = engine.project(&p.root).unwrap();
            for checkpoint in &old {
                project.drop_checkpoint(checkpoint).unwrap();
            }
        });
    });
    let listed: HashSet<ObjectId> = ids(&p.list()).into_iter().collect();
    assert_eq!(listed, acknowledged.into_inner().unwrap());
    let tip = format!("refs/hermes/{}", p.project().id());
    let tip = p.repository().git(["rev-parse", &tip]).success();
    assert_eq!(tip.line(), p.find("@").id.to_hex());
    p.fsck_but_dangling();
}

// HERMES defect 19
#[test]
fn dropping_a_checkpoint_changes_no_other() {
    let p = TestProject::new();
    for n in 1..=8 {
        p.write("a.txt", format!("{n}\n"));
        p.save(&format!("turn {n}\n\nwhy: because of {n}\n\nand more"));
    }
    let mut expected = p.list();
    for index in [7, 4, 2, 0] {
        let dropped = expected.remove(index);
        p.project().drop_checkpoint(&dropped).unwrap();
    }
    assert_eq!(p.list(), expected, "numbers, ids, times, order, reasons with their bodies");
    let times: HashSet<i64> = expected.iter().map(|c| c.time.seconds).collect();
    assert_eq!(times.len(), expected.len(), "each keeps a time of its own");
    let tip = format!("refs/hermes/{}", p.project().id());
    let seen = p.repository().git(["log", "-1", "--format=%H %at", &tip]).success();
    let newest = &expected[0];
    assert_eq!(seen.line(), format!("{} {}", newest.id, newest.time.seconds));
    p.fsck_but_dangling();
    for (checkpoint, turn) in expected.iter().zip([7, 5, 3, 2]) {
        p.restore(&checkpoint.id.to_hex());
        assert_eq!(p.read("a.txt"), format!("{turn}\n"));
    }
}

// HERMES defect 19
#[test]
fn a_dropped_checkpoint_does_not_come_back_as_a_copy_hermes_made() {
    let p = TestProject::new();
    for n in 1..=4 {
        p.write("a.txt", format!("{n}\n"));
        p.save(&format!("turn {n}"));
    }
    // Hermes writes the whole chain anew when it prunes.
    let git = |args: &[&str]| p.repository().git(args).success().line().to_owned();
    let mut copy: Option<String> = None;
    for checkpoint in p.list().iter().rev() {
        let tree = checkpoint.tree.to_hex();
        let subject = checkpoint.subject().to_string();
        let mut args = vec!["commit-tree", &tree, "-m", &subject];
        args.extend(copy.iter().flat_map(|parent| ["-p", parent]));
        copy = Some(git(&args));
    }
    let mirror = format!("refs/hermes/{}", p.project().id());
    git(&["update-ref", &mirror, &copy.unwrap()]);
    let mut expected = ids(&p.list());
    assert_eq!(expected.len(), 4, "copies are not listed twice");

    for index in [2, 0] {
        let dropped = p.list().swap_remove(index);
        p.project().drop_checkpoint(&dropped).unwrap();
        expected.remove(index);
        assert_eq!(ids(&p.list()), expected);
    }
    p.write("a.txt", "5\n");
    expected.insert(0, p.save("turn 5").checkpoint.id);
    assert_eq!(ids(&p.list()), expected);
    p.fsck_but_dangling();
}

// HERMES defect 20
#[test]
fn a_moved_project_gets_its_history_back() {
    let mut p = TestProject::new();
    for content in ["one\n", "two\n", "three\n"] {
        p.write("src/a.txt", content);
        p.write("README", content);
        p.save(content);
    }
    p.project().pin(&p.find("@-2")).unwrap();
    p.project().name(&p.find("@-1"), "good").unwrap();
    let before = p.list();
    let tree = p.tree();
    let old = p.project().id().clone();
    let moved = p.base().canonicalize().unwrap().join("renamed");
    std::fs::rename(&p.root, &moved).unwrap();
    p.root = moved;

    assert_eq!(p.list(), []);
    let found = p.project().adoptable().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].id, found[0].checkpoints), (&old, 3));
    p.write("src/a.txt", "saved here before anybody remembered\n");
    let here = p.save("here").checkpoint;
    assert_eq!(p.project().adopt(&found[0]).unwrap().numbers, [2, 3, 4]);

    let list = p.list();
    assert_eq!(list[0].id, here.id, "what was saved here is newer");
    let numbers = || p.list().iter().map(|one| one.number).collect::<Vec<_>>();
    assert_eq!(numbers(), [1, 4, 3, 2], "and keeps its number");
    let facts = |c: &Checkpoint| (c.id, c.time, c.reason.clone(), c.names.clone(), c.pinned);
    let adopted: Vec<_> = list[1..].iter().map(facts).collect();
    assert_eq!(adopted, before.iter().map(facts).collect::<Vec<_>>());
    assert_eq!(p.project().adoptable().unwrap(), []);
    p.restore("@-1");
    assert_same(&tree, &p.tree(), "the newest state of before the move");
    p.write("src/a.txt", "later\n");
    p.save("later");
    assert_eq!(numbers()[..4], [6, 5, 1, 4], "the restore has a number of its own");
    p.restore("@-1");
    assert_same(&tree, &p.tree(), "the order is that of saving, whatever the numbers");
    p.fsck();
}

#[test]
fn a_moved_project_keeps_its_numbers_where_none_was_given_yet() {
    let mut p = TestProject::new();
    for content in ["one\n", "two\n", "three\n", "four\n"] {
        p.write("a.txt", content);
        p.save(content);
    }
    p.project().drop_named(&Spec::Number(4)).unwrap();
    p.project().drop_named(&Spec::Number(2)).unwrap();
    let before = p.list();
    let moved = p.base().canonicalize().unwrap().join("renamed");
    std::fs::rename(&p.root, &moved).unwrap();
    p.root = moved;
    let found = p.project().adoptable().unwrap().remove(0);
    assert_eq!(p.project().adopt(&found).unwrap().numbers, [1, 3]);
    assert_eq!(p.list(), before);
    for (number, nearest) in [(2, [1, 3].as_slice()), (4, &[3])] {
        let gone = p.project().find(&Spec::Number(number)).unwrap_err();
        assert!(
            matches!(&gone, Error::NoSuchNumber { nearest: near, .. } if near == nearest),
            "{gone:?}"
        );
    }
    p.write("a.txt", "five\n");
    assert_eq!(p.save("five").checkpoint.number, 5, "a number is given once");
}

// HERMES defect 20
#[test]
fn a_project_that_is_still_there_is_not_taken_over() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let copy = p.base().join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(p.path("a.txt"), copy.join("a.txt")).unwrap();
    let adoptable = p.engine.project(&copy).unwrap().adoptable().unwrap();
    assert_eq!(adoptable, [], "a copy is another project");
}
