//! What a purge finds beside the paths it was asked for: copies, other projects, Hermes's checkpoints, dropped
//! ones, and savers at work.

use herma_core::engine::NoProgress;
use herma_core::purge::Copies;
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::types::checkpoint::Origin;
use herma_core::{Checkpoint, Settings};
use herma_testkit::TestEnv;
use herma_testkit::hermes::{HermesStore, project_hash};
use herma_testkit::tree::Tree;
use herma_worktree::reason::Reason;

use super::collect_damage::explode;
use super::project::{TestProject, engine};
use super::purge::{all_trees, blob, is_stored, path, plan, purge, purge_with, request};
use super::upkeep::{collect, make, pack_with, packs, save_at};

#[test]
fn the_same_content_at_another_path_is_named_and_goes_only_on_request() {
    let p = TestProject::new();
    p.write("key", "secret\n");
    p.write("nothing", "");
    p.save("one");
    p.write("backup/key.old", "secret\n");
    p.write("empty-too", "");
    p.save("two");
    let id = blob(&p, &p.find("@"), "key");
    let planned = plan(&p, &["key", "nothing"]);
    assert_eq!(planned.contents.len(), 1, "an empty file tells nothing");
    let copies: Vec<_> =
        planned.copies.iter().map(|c| (c.path.to_string(), c.checkpoints, c.goes)).collect();
    assert_eq!(copies, [("backup/key.old".to_owned(), 1, false)]);

    let first = purge_with(&p, &["key", "nothing"], Copies::Stay);
    assert_eq!((first.gone, first.remaining.len()), (0, 1));
    let newest = format!("refs/herma/{}/00000002", p.project().id());
    assert_eq!(first.needed_by, [newest]);
    assert!(p.engine.interrupted_purge().unwrap().is_none(), "what is needed is not to go");
    assert!(is_stored(&p, &id));

    // The path alone finds the content no more; the copy is a path of its own by now.
    let second = purge(&p, &["backup/key.old"]);
    assert_eq!(second.gone, 1);
    assert!(!is_stored(&p, &id));
    let trees = all_trees(&p);
    let paths = |tree: &Tree| {
        tree.0.keys().map(|path| String::from_utf8(path.clone()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&trees[0]), [""; 0]);
    assert_eq!(paths(&trees[1]), ["backup", "empty-too"]);
}

#[test]
fn copies_go_with_the_rest_if_asked_for() {
    let p = TestProject::new();
    p.write("key", "secret\n");
    p.write("a/b/copy", "secret\n");
    p.write("a/other", "other\n");
    p.save("one");
    let id = blob(&p, &p.find("@"), "key");
    let purged = purge_with(&p, &["key"], Copies::GoFromProject);
    assert_eq!((purged.gone, purged.remaining.len()), (1, 0));
    assert!(!is_stored(&p, &id));
    assert_eq!(p.find("@").purged, [path("a/b/copy"), path("key")]);
    assert_eq!(purged.plan.still_present, [path("a/b/copy"), path("key")]);
    let expected = {
        let mut tree = p.tree();
        tree.remove(b"key");
        tree.remove(b"a/b/copy");
        tree
    };
    assert_eq!(all_trees(&p), [expected]);
}

#[test]
fn other_projects_are_named_and_purged_only_on_request() {
    let p = TestProject::new();
    p.write("key", "secret\n");
    p.save("one");
    let other = make(&p, "other");
    std::fs::write(other.join("theirs"), "secret\n").unwrap();
    std::fs::write(other.join("key"), "another file of that name\n").unwrap();
    let theirs = save_at(&p, &other, "theirs").checkpoint;
    let id = blob(&p, &p.find("@"), "key");
    let first = purge_with(&p, &["key"], Copies::GoFromProject);
    assert_eq!(first.remaining.len(), 1);
    let copy = &first.plan.copies[0];
    assert_eq!(
        (copy.workdir.as_deref(), copy.path.to_string(), copy.goes),
        (Some(other.as_path()), "theirs".into(), false)
    );
    assert_eq!(p.engine.project(&other).unwrap().timeline().unwrap()[0].id, theirs.id);

    p.save("again");
    let all = purge_with(&p, &["key"], Copies::GoFromEverywhere);
    assert_eq!((all.gone, all.remaining.len()), (1, 0));
    assert!(!is_stored(&p, &id));
    let project = p.engine.project(&other).unwrap();
    let list = project.timeline().unwrap();
    assert_eq!(list[0].purged, [path("theirs")]);
    std::fs::remove_file(other.join("key")).unwrap();
    project.restore_with(&list[0], &RestoreOptions::default(), &NoProgress).unwrap();
    assert!(other.join("key").exists(), "a path is a path of the project it was asked for in");
    assert!(other.join("theirs").exists(), "a restore leaves it alone there, too");
}

#[test]
fn what_dropped_checkpoints_left_in_packs_and_in_the_trash_goes() {
    let p = TestProject::new();
    p.write("big.txt", "x".repeat(5000));
    p.write("key", "one secret\n");
    p.save("one");
    let in_pack = blob(&p, &p.find("@"), "key");
    p.write("key", "two secrets\n");
    p.save("two");
    let in_trash = blob(&p, &p.find("@"), "key");
    p.remove("key");
    p.save("three");
    for _ in 0..2 {
        p.project().drop_checkpoint(&p.find("@-1")).unwrap();
    }
    // As an unattended collection would have left it.
    let trash = p.store().join("herma/trash/00000001");
    std::fs::create_dir_all(&trash).unwrap();
    let pack = pack_with(&p, &in_trash);
    for part in ["pack", "idx"] {
        let file = pack.with_extension(part);
        std::fs::rename(&file, trash.join(file.file_name().unwrap())).unwrap();
    }
    assert!(is_stored(&p, &in_pack) && !is_stored(&p, &in_trash));
    let purged = purge(&p, &["key"]);
    assert_eq!((purged.plan.checkpoints, purged.plan.dropped, purged.gone), (0, 1, 1));
    assert!(!is_stored(&p, &in_pack));
    assert_eq!(std::fs::read_dir(p.store().join("herma/trash")).unwrap().count(), 0);
    assert_eq!(all_trees(&p), [p.tree()]);
}

#[test]
fn what_dropped_checkpoints_left_in_loose_objects_goes() {
    let p = TestProject::new();
    p.write("key", "one secret\n");
    p.save("one");
    let id = blob(&p, &p.find("@"), "key");
    let pack = pack_with(&p, &id);
    p.remove("key");
    p.save("two");
    p.project().drop_checkpoint(&p.find("@-1")).unwrap();
    explode(&p, &pack);
    assert!(is_stored(&p, &id));
    let purged = purge(&p, &["key"]);
    assert_eq!((purged.plan.checkpoints, purged.plan.dropped, purged.gone), (0, 1, 1));
    assert!(!is_stored(&p, &id));
}

/// Hermes's own checkpoints are loose objects; those of Herma may follow.
#[test]
fn checkpoints_of_hermes_are_rewritten_and_hermes_goes_on() {
    let env = TestEnv::new();
    let Some(hermes) = HermesStore::new(&env) else {
        return;
    };
    let p = TestProject {
        temp: tempfile::tempdir().unwrap(),
        root: env.work_dir("project").path().canonicalize().unwrap(),
        engine: engine(&env.home(), None, Settings::default()),
    };
    for number in 1..=3 {
        p.write("a.txt", format!("{number}\n"));
        p.write("vault/key.txt", format!("secret {number}\n"));
        hermes.take(&p.root, &format!("turn {number}")).unwrap();
    }
    let ids: Vec<String> = p.list().iter().map(|c| blob(&p, c, "vault/key.txt")).collect();
    let reasons = |p: &TestProject| -> Vec<String> {
        p.list().iter().map(|c| c.reason.to_string()).collect()
    };
    let times = |p: &TestProject| -> Vec<i64> { p.list().iter().map(|c| c.time.seconds).collect() };
    let before = (reasons(&p), times(&p));
    let purged = purge(&p, &["vault/key.txt"]);
    assert_eq!((purged.gone, purged.rewritten.len()), (3, 3));
    assert!(!ids.iter().any(|id| is_stored(&p, id)));
    assert_eq!((reasons(&p), times(&p)), before);
    assert!(p.list().iter().all(|c| c.origin == Origin::Hermes && c.extra.is_none()));
    let mirror = format!("refs/hermes/{}", project_hash(&p.root));
    let log = p.repository().git(["log", "--format=%s", &mirror]).success();
    assert_eq!(log.text(), "turn 3\nturn 2\nturn 1\n");

    let restored = p.restore("@-2");
    assert_eq!((p.read("a.txt"), p.read("vault/key.txt")), ("1\n".into(), "secret 3\n".into()));
    assert_eq!(restored.kept[0].why, KeptWhy::NotSaved(Reason::Purged));
    p.write("a.txt", "4\n");
    hermes.take(&p.root, "turn 4").unwrap();
    assert!(is_stored(&p, &ids[0]), "Hermes saves it again");
    p.fsck_but_dangling();
    p.remove("vault/key.txt");
    p.write("a.txt", "5\n");
    p.save("turn 5");
    let listed = reasons(&p);
    assert_eq!(listed[..2], ["turn 5", "turn 4"]);
    assert_eq!(listed[listed.len() - 3..], ["turn 3", "turn 2", "turn 1"]);
    hermes.prune(3);
    assert_eq!(reasons(&p), listed, "copies that Hermes makes are known as such");
}

#[test]
fn a_damaged_checkpoint_is_named_and_nothing_is_taken_away() {
    let p = TestProject::new();
    p.write("key", "secret\n");
    p.write("a.txt", "a\n");
    p.save("one");
    let id = blob(&p, &p.find("@"), "key");
    p.write("a.txt", "another\n");
    p.save("two");
    let pack = pack_with(&p, &p.find("@").id.to_hex());
    for part in ["pack", "idx"] {
        std::fs::remove_file(pack.with_extension(part)).unwrap();
    }
    let purged = p.project().purge(&request(&["key"], Copies::Stay), &NoProgress).unwrap();
    let newest = format!("refs/herma/{}/00000002", p.project().id());
    assert_eq!(purged.plan.unreadable, [newest]);
    assert_eq!(purged.rewritten.len(), 1);
    assert!(!purged.damaged.is_empty() && purged.remaining.len() == 1, "{purged:?}");
    assert!(is_stored(&p, &id), "what a damaged one needs is not known");
    // The damage is dropped: the next collection of any kind finishes the purge.
    let spec = herma_core::Spec::Back(0);
    p.project().drop_named(&spec).unwrap();
    p.engine.maintain(&NoProgress).unwrap();
    assert!(!is_stored(&p, &id));
    p.fsck_but_dangling();
}

/// Somebody saves the same content all the time, in another project: it may stay for that, but no
/// checkpoint is ever without it.
#[test]
fn savers_at_work_are_not_harmed() {
    let p = TestProject::new();
    p.write("key", "secret\n");
    p.save("one");
    let other = make(&p, "other");
    let saved: Vec<Checkpoint> = std::thread::scope(|scope| {
        let saver = scope.spawn(|| {
            let engine = p.another_engine();
            let saves = (0..40).map(|number| {
                std::fs::write(other.join("theirs"), "secret\n").unwrap();
                std::fs::write(other.join("n"), format!("{number}\n")).unwrap();
                if number % 3 == 0 {
                    std::fs::remove_file(other.join("theirs")).unwrap();
                }
                let project = engine.project(&other).unwrap();
                let options = herma_core::SaveOptions::default();
                project.save_with(&options, &NoProgress).unwrap().checkpoint
            });
            saves.collect()
        });
        for number in 0..6 {
            p.write("n", format!("{number}\n"));
            p.save("again");
            let asked = request(&["key"], Copies::Stay);
            p.project().purge(&asked, &NoProgress).unwrap();
        }
        saver.join().unwrap()
    });
    p.fsck_but_dangling();
    let project = p.engine.project(&other).unwrap();
    assert_eq!(project.timeline().unwrap().len(), 40);
    for checkpoint in saved {
        let has_key = p.saved_tree(&checkpoint).file("theirs").map(<[u8]>::to_vec);
        let number: u32 = String::from_utf8(p.saved_tree(&checkpoint).file("n").unwrap().to_vec())
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let expected = (!number.is_multiple_of(3)).then(|| b"secret\n".to_vec());
        assert_eq!(has_key, expected, "save {number}");
    }
    assert!(!packs(&p).is_empty());
    collect(&p);
    p.fsck();
}
