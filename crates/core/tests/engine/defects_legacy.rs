//! What Hermes left beside its store, and giving everything up: one test per defect of the original.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herma_core::error::ErrorKind;
use herma_core::{Error, Settings};
use herma_fs::process::TempName;
use herma_testkit::Bounded;
use herma_testkit::hermes::project_hash;
use herma_testkit::hermes::v1::HermesV1;

use super::project::TestProject;

const RESUME: &str = "20260101_120000_abcdef.yaml";

fn base(p: &TestProject) -> PathBuf {
    p.home().join("checkpoints")
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A base in which Hermes has swept resume records into the archive of an old repository.
fn with_archive(p: &TestProject) -> Option<PathBuf> {
    let archive = base(p).join("legacy-20260101-000000");
    let old = HermesV1::new(&archive)?;
    p.write("a.txt", "old");
    old.take(&p.root, "before write_file");
    std::fs::write(archive.join(RESUME), "goal: swept").unwrap();
    std::fs::write(archive.join("notes.txt"), "mine").unwrap();
    Some(archive)
}

/// Defect 22: the first store swept resume records into an archive.
#[test]
fn a_first_store_moves_old_repositories_and_leaves_resume_records() {
    let p = TestProject::new();
    let Some(old) = HermesV1::new(base(&p)) else {
        return;
    };
    p.write("a.txt", "old");
    old.take(&p.root, "before write_file");
    std::fs::write(base(&p).join(RESUME), "goal: x").unwrap();
    assert_eq!(p.engine.pre_v2_projects().unwrap()[0].workdir, Some(p.root.clone()));
    p.save("first");
    assert!(base(&p).join(RESUME).exists());
    assert_eq!(p.engine.pre_v2_projects().unwrap(), []);
    let archives = p.engine.legacy().unwrap();
    assert_eq!(archives.len(), 1);
    assert_eq!((archives[0].repositories, archives[0].other.len()), (1, 0));
    assert!(archives[0].size_bytes > 500);
}

/// Defect 22: with the archive went the resume records in it.
#[test]
fn removing_an_archive_brings_resume_records_back() {
    let p = TestProject::new();
    let Some(archive) = with_archive(&p) else {
        return;
    };
    let listed = p.engine.legacy().unwrap();
    assert_eq!(listed[0].other, [RESUME, "notes.txt"]);
    assert_eq!(listed[0].repositories, 1);
    let far = listed[0].mtime + 10.0;
    assert_eq!(p.engine.stale_legacy(listed[0].mtime - 10.0).unwrap(), []);
    assert_eq!(p.engine.stale_legacy(far).unwrap(), listed);
    let cleared = p.engine.clear_legacy().unwrap();
    assert_eq!(cleared.deleted, 1);
    assert!(cleared.bytes_freed > 500);
    assert!(!archive.exists());
    let record = std::fs::read_to_string(base(&p).join(RESUME)).unwrap();
    assert_eq!(record, "goal: swept");
    assert_eq!(names(&base(&p)), [RESUME]);
}

/// Defect 22: a newer record of the same session is not overwritten, and the older one is not lost.
#[test]
fn a_resume_record_whose_name_is_taken_stays_in_the_archive() {
    let p = TestProject::new();
    let Some(archive) = with_archive(&p) else {
        return;
    };
    std::fs::write(base(&p).join(RESUME), "goal: newer").unwrap();
    let name = OsString::from("legacy-20260101-000000");
    let removed = p.engine.remove_legacy(&name).unwrap();
    assert!(!removed.deleted);
    assert_eq!(removed.kept, [RESUME]);
    assert_eq!(removed.moved_back, Vec::<OsString>::new());
    assert_eq!(names(&archive), [RESUME]);
    let newer = std::fs::read_to_string(base(&p).join(RESUME)).unwrap();
    assert_eq!(newer, "goal: newer");
    for bad in ["store", "..", "legacy-x/../store", "legacy-missing"] {
        assert!(p.engine.remove_legacy(&OsString::from(bad)).is_err(), "{bad}");
    }
}

/// An archive of loose files only is an archive: it goes, and they are not left behind and called deleted.
#[test]
fn an_archive_without_repositories_is_removed_whole_but_for_its_records() {
    let p = TestProject::new();
    for name in ["legacy-20260101-000000", "legacy-20260102-000000"] {
        let archive = base(&p).join(name);
        std::fs::create_dir_all(archive.join("stray/deeper")).unwrap();
        std::fs::write(archive.join("stray/deeper/x"), "12345").unwrap();
        std::fs::write(archive.join("notes.txt"), "12345").unwrap();
        std::os::unix::fs::symlink("/nowhere", archive.join("link.yaml")).unwrap();
        std::fs::create_dir_all(archive.join("set-aside")).unwrap();
        std::fs::write(archive.join("set-aside/torn"), "torn").unwrap();
        std::fs::write(archive.join(RESUME), name).unwrap();
    }
    let cleared = p.engine.clear_legacy().unwrap();
    assert_eq!((cleared.deleted, cleared.bytes_freed), (1, 20));
    assert_eq!(cleared.kept, ["legacy-20260102-000000"]);
    assert_eq!(cleared.failed, []);
    let left = base(&p).join("legacy-20260102-000000");
    assert_eq!(names(&left), [RESUME, "set-aside"]);
    assert_eq!(names(&base(&p)), [RESUME, "legacy-20260102-000000", "set-aside"]);
    let record = std::fs::read_to_string(base(&p).join(RESUME)).unwrap();
    assert_eq!(record, "legacy-20260101-000000");
    let again = p.engine.clear(None).unwrap();
    assert!(!again.deleted && left.exists(), "nothing could be removed");
}

/// Defect 22: clearing deleted the resume records.
#[test]
fn clearing_everything_leaves_what_is_no_checkpoint() {
    let p = TestProject::new();
    let Some(archive) = with_archive(&p) else {
        return;
    };
    p.save("first");
    std::fs::write(base(&p).join(".last_prune"), "1794702913.3").unwrap();
    std::fs::create_dir(base(&p).join("mine")).unwrap();
    let hash = project_hash(&p.root);
    let repository = archive.join(&hash);
    std::process::Command::new("cp")
        .arg("-r")
        .arg(&repository)
        .arg(base(&p).join(&hash))
        .bounded_status()
        .unwrap();
    let cleared = p.engine.clear(None).unwrap();
    assert!(cleared.deleted && cleared.bytes_freed > 2000);
    assert_eq!(cleared.kept, [RESUME, "mine"]);
    assert_eq!(names(&base(&p)), [RESUME, "mine"]);
    assert_eq!(p.list(), []);
    p.save("a new store");
    assert_eq!(p.list().len(), 1);
    p.fsck();
}

#[test]
fn clearing_finishes_what_a_killed_one_began_and_removes_an_empty_base() {
    let p = TestProject::new();
    assert_eq!(p.engine.clear(None).unwrap(), herma_core::cleanup::Cleared::default());
    p.write("a", "a");
    p.save("first");
    let dead = base(&p).join("tmp-00000001-1-1-1-1");
    std::fs::create_dir_all(dead.join("objects")).unwrap();
    std::fs::write(dead.join("objects/x"), "left").unwrap();
    let cleared = p.engine.clear(None).unwrap();
    assert_eq!(cleared.kept, Vec::<OsString>::new());
    assert!(!base(&p).exists());
    let again = p.engine.clear(None).unwrap();
    assert!(!again.deleted);
}

#[test]
fn clearing_waits_for_those_who_work_in_the_store_and_says_so() {
    let settings = Settings { lock_wait: Duration::from_millis(500), ..Settings::default() };
    let p = TestProject::with(settings);
    p.write("a", "a");
    p.save("first");
    let herma = herma_fs::Dir::open(&p.store().join("herma")).unwrap();
    for name in ["lock", "collect"] {
        let mode = herma_fs::lock::Mode::Shared;
        let held = herma_fs::lock::acquire(&herma, name, mode, Duration::ZERO).unwrap();
        assert_eq!(p.engine.clear(None).unwrap_err().kind(), ErrorKind::Busy);
        drop(held);
    }
    assert_eq!(p.list().len(), 1);
    assert!(p.engine.clear(None).unwrap().deleted);
}

#[test]
fn clearing_never_follows_a_link_and_leaves_what_another_process_removes() {
    let p = TestProject::new();
    p.write("a", "a");
    p.save("first");
    let elsewhere = p.base().join("elsewhere");
    std::fs::rename(p.store(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, p.store()).unwrap();
    assert!(matches!(p.engine.clear(None), Err(Error::Store(_))));
    assert!(elsewhere.join("HEAD").exists());
    std::fs::remove_file(p.store()).unwrap();
    let live = base(&p).join(TempName::next().to_string());
    std::fs::create_dir(&live).unwrap();
    assert!(!p.engine.clear(None).unwrap().deleted);
    assert!(live.exists());
}

/// A save that waits for the store while it is cleared is a save into the next one.
#[test]
fn a_save_that_waited_while_the_store_was_cleared_makes_a_new_one() {
    let p = TestProject::new();
    p.write("a", "a");
    p.save("first");
    let herma = herma_fs::Dir::open(&p.store().join("herma")).unwrap();
    let mode = herma_fs::lock::Mode::Exclusive;
    let held = herma_fs::lock::acquire(&herma, "lock", mode, Duration::ZERO).unwrap();
    let engine = p.another_engine();
    let saved = std::thread::scope(|scope| {
        let save = scope.spawn(|| {
            let options = herma_core::SaveOptions { reason: "waited".into(), ..Default::default() };
            let project = engine.project(&p.root).unwrap();
            project.save_with(&options, &herma_core::engine::NoProgress)
        });
        std::thread::sleep(Duration::from_millis(100));
        let leaving = base(&p).join(TempName::next().to_string());
        std::fs::rename(p.store(), &leaving).unwrap();
        std::fs::remove_dir_all(&leaving).unwrap();
        drop(held);
        save.join().unwrap()
    });
    saved.unwrap();
    assert_eq!(p.list()[0].reason, "waited");
    p.fsck();
}
