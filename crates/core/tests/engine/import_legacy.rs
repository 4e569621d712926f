//! Bringing the history of Hermes's version 1 into the store.

use std::path::PathBuf;

use herma_core::engine::NoProgress;
use herma_core::{ImportOptions, Imported};
use herma_testkit::Bounded;
use herma_testkit::hermes::v1::HermesV1;
use herma_testkit::hermes::{HermesStore, project_hash};

use super::project::TestProject;

fn base(p: &TestProject) -> PathBuf {
    p.home().join("checkpoints")
}

fn import(p: &TestProject) -> Vec<Imported> {
    let options = ImportOptions::default();
    p.engine.import_legacy(&options, &NoProgress).unwrap()
}

fn reasons(p: &TestProject) -> Vec<String> {
    p.list().iter().map(|c| c.reason.to_string()).collect()
}

/// Takes checkpoints of version 1; in the one with number `n` the file `a.txt` holds `n`.
fn take(p: &TestProject, old: &HermesV1, numbers: std::ops::Range<usize>) -> Vec<String> {
    let taken = numbers.map(|number| {
        p.write("a.txt", format!("{number}\n"));
        p.write("sub/deep/b.txt", format!("b{}\n", number / 2));
        old.take(&p.root, &format!("old {number}"))
    });
    taken.collect()
}

#[test]
fn old_checkpoints_come_before_the_projects_own_with_their_ids_and_can_be_restored() {
    let p = TestProject::new();
    let Some(old) = HermesV1::new(base(&p)) else {
        return;
    };
    let ids = take(&p, &old, 0..4);
    p.write("a.txt", "new");
    p.save("first of herma");
    p.write("a.txt", "newer");
    p.save("second of herma");
    let imported = import(&p);
    assert_eq!(imported.len(), 1);
    assert_eq!((imported[0].checkpoints, imported[0].skipped), (4, 0));
    assert_eq!((imported[0].lost, &imported[0].problem), (0, &None));
    assert_eq!(imported[0].workdir.as_deref(), Some(p.root.as_path()));
    assert!(imported[0].archive.is_some());
    let expected = ["second of herma", "first of herma", "old 3", "old 2", "old 1", "old 0"];
    assert_eq!(reasons(&p), expected);
    let listed: Vec<String> = p.list().iter().rev().take(4).map(|c| c.id.to_hex()).collect();
    assert_eq!(listed, ids);
    p.fsck();
    let restored = p.restore("@-4");
    assert_eq!(p.read("a.txt"), "1\n");
    assert_eq!(p.read("sub/deep/b.txt"), "b0\n");
    let again = import(&p);
    assert_eq!((again[0].checkpoints, again[0].skipped), (0, 4));
    let (newest, others) = (p.list().remove(0), reasons(&p).split_off(1));
    assert_eq!(
        (Some(newest.number), others),
        (restored.number, expected.map(str::to_owned).into())
    );
    p.fsck();
}

#[test]
fn a_project_that_is_only_in_old_repositories_gets_a_record_and_the_ref_hermes_reads() {
    let p = TestProject::new();
    let archive = base(&p).join("legacy-20260101-000000");
    let (Some(old), Some(newer)) = (HermesV1::new(&archive), HermesV1::new(base(&p))) else {
        return;
    };
    let first = take(&p, &old, 0..2);
    p.git_in("", &["init", "-q", "--bare", p.store().to_str().unwrap()]);
    let second = take(&p, &newer, 2..4);
    // Packed as `git gc` leaves it.
    assert!(newer.git(&p.root, &["gc", "-q"]).bounded_status().unwrap().success());
    let options = ImportOptions { pin: true };
    let imported = p.engine.import_legacy(&options, &NoProgress).unwrap();
    assert_eq!(imported.len(), 2);
    assert_eq!(imported[0].archive, None);
    assert_eq!(reasons(&p), ["old 3", "old 2", "old 1", "old 0"]);
    assert!(p.list().iter().all(|checkpoint| checkpoint.pinned));
    let listed: Vec<String> = p.list().iter().rev().map(|c| c.id.to_hex()).collect();
    assert_eq!(listed, [first, second.clone()].concat());
    let hash = project_hash(&p.root);
    let mirror = p.store().join(format!("refs/hermes/{hash}"));
    assert_eq!(std::fs::read_to_string(mirror).unwrap().trim(), second[1]);
    let known = p.engine.projects().unwrap();
    assert_eq!(known[0].workdir.as_deref(), Some(p.root.as_path()));
    assert!(known[0].last_touch.is_some());
    p.fsck();
}

#[test]
fn history_is_cut_where_objects_are_missing_and_the_rest_is_named() {
    let p = TestProject::new();
    let Some(old) = HermesV1::new(base(&p)) else {
        return;
    };
    let ids = take(&p, &old, 0..5);
    let repository = old.repository(&p.root);
    let loose = |id: &str| repository.join("objects").join(&id[..2]).join(&id[2..]);
    let blob = old.git(&p.root, &["rev-parse", &format!("{}:a.txt", ids[3])]);
    let blob = String::from_utf8({ blob }.bounded_output().unwrap().stdout).unwrap();
    std::fs::remove_file(loose(blob.trim())).unwrap();
    std::fs::remove_file(loose(&ids[1])).unwrap();
    let imported = &import(&p)[0];
    assert_eq!((imported.checkpoints, imported.lost), (2, 2));
    assert!(imported.problem.as_ref().unwrap().contains(blob.trim()));
    assert_eq!(reasons(&p), ["old 4", "old 2"]);
    p.fsck();
    p.restore("@-1");
    assert_eq!(p.read("a.txt"), "2\n");
}

/// A kill leaves the newest refs of the chain.
#[test]
fn an_import_that_was_killed_is_completed_in_the_right_order() {
    for made in 0..3 {
        let p = TestProject::new();
        let Some(old) = HermesV1::new(base(&p)) else {
            return;
        };
        take(&p, &old, 0..3);
        p.write("a.txt", "new");
        p.save("own");
        import(&p);
        let all = reasons(&p);
        let refs = p.store().join(format!("refs/herma/{}", project_hash(&p.root)));
        let numbers: Vec<u64> = p.list().iter().map(|checkpoint| checkpoint.number).collect();
        assert_eq!(numbers, [1, 4, 3, 2], "what was there keeps its number");
        for number in 2..=4 - made {
            std::fs::remove_file(refs.join(format!("{number:08}"))).unwrap();
        }
        // What it had not made yet was on no roll.
        let id = project_hash(&p.root);
        let roll = format!("herma/projects/{id}/roll");
        std::fs::remove_file(p.store().join(roll)).unwrap();
        import(&p);
        assert_eq!(reasons(&p), all, "{made}");
        p.fsck();
    }
}

#[test]
fn checkpoints_only_hermes_knows_stay_after_the_imported_ones() {
    let env = herma_testkit::TestEnv::new();
    let p = TestProject {
        temp: tempfile::tempdir().unwrap(),
        root: env.work_dir("project").path().canonicalize().unwrap(),
        engine: super::project::engine(&env.home(), None, herma_core::Settings::default()),
    };
    let Some(hermes) = HermesStore::new(&env) else {
        return;
    };
    let archive = env.home().join("checkpoints/legacy-20260101-000000");
    let old = HermesV1::new(archive).unwrap();
    take(&p, &old, 0..2);
    // The same files and the same words: still a checkpoint of its own.
    hermes.take(&p.root, "old 1").unwrap();
    import(&p);
    assert_eq!(reasons(&p), ["old 1", "old 1", "old 0"]);
    p.fsck();
}

#[test]
fn hostile_repositories_are_named_and_cost_nothing() {
    let p = TestProject::new();
    let archive = base(&p).join("legacy-20260101-000000");
    let make = |name: &str, head: &str| {
        let repository = archive.join(name);
        std::fs::create_dir_all(repository.join("objects/info")).unwrap();
        std::fs::write(repository.join("HEAD"), head).unwrap();
        std::fs::write(repository.join("HERMES_WORKDIR"), "/etc\n").unwrap();
        repository
    };
    p.write("a", "secret of another repository");
    p.git_in("", &["init", "-q"]);
    p.git_in("", &["add", "-A"]);
    p.git_in("", &["commit", "-q", "-m", "theirs"]);
    let tip = std::fs::read_dir(p.path(".git/refs/heads")).unwrap().next();
    let tip = std::fs::read_to_string(tip.unwrap().unwrap().path()).unwrap();
    let borrowed = make("00000000000000a1", &tip);
    let objects = p.path(".git/objects");
    let alternates = borrowed.join("objects/info/alternates");
    std::fs::write(alternates, format!("{}\n", objects.display())).unwrap();
    let linked = make("00000000000000a2", &tip);
    std::fs::remove_dir_all(linked.join("objects")).unwrap();
    std::os::unix::fs::symlink(&objects, linked.join("objects")).unwrap();
    make("00000000000000a3", "ref: ../../../../etc/passwd\n");
    make("00000000000000a4", "ref: refs/heads/unborn\n");
    let imported = import(&p);
    assert_eq!(imported.len(), 4);
    for one in &imported {
        assert_eq!((one.checkpoints, &one.workdir), (0, &None), "{one:?}");
    }
    let problems: Vec<bool> = imported.iter().map(|one| one.problem.is_some()).collect();
    assert_eq!(problems, [true, true, true, false]);
    assert_eq!(p.engine.projects().unwrap(), []);
}
