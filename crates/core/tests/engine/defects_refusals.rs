//! What a rollback must not touch or accept: one test per defect of the original.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, RestoreError, RestoreOptions};
use herma_core::{Error, Restored, Settings, Spec};
use herma_testkit::bounded::Done;
use herma_testkit::tree::{Tree, assert_same};
use herma_worktree::reason::Reason;

use super::child;
use super::project::TestProject;

fn kept(restored: &Restored) -> Vec<(String, KeptWhy)> {
    let kept = restored.kept.iter();
    kept.map(|kept| (kept.path.to_string(), kept.why)).collect()
}

fn with_max_file_size(bytes: u64) -> TestProject {
    TestProject::with(Settings { max_file_size: Some(bytes), ..Settings::default() })
}

// HERMES defect 2
#[test]
fn restore_refuses_when_the_present_cannot_be_saved() {
    if child::is_run_as_nobody(
        "engine::defects_refusals::restore_refuses_when_the_present_cannot_be_saved",
    ) {
        return;
    }
    let p = TestProject::new();
    p.write("a.txt", "old\n");
    p.save("first");
    p.write("a.txt", "an hour of unsaved work\n");
    p.write("new.txt", "more of it\n");
    let before = p.tree();
    let pack = p.store().join("objects/pack");
    let set_mode = |mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&pack, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o500);
    let refused = p.restore_with("@", &RestoreOptions::default());
    set_mode(0o700);
    assert!(refused.is_err(), "{refused:?}");
    assert_same(&before, &p.tree(), "nothing was changed");
    assert_eq!(p.list().len(), 1, "and nothing was added");
}

// HERMES defect 2
#[test]
fn restore_refuses_when_the_safety_checkpoint_cannot_hold_a_file() {
    let p = TestProject::new();
    p.write("busy.bin", "old\n");
    p.write("other.txt", "old\n");
    let first = p.save("first").checkpoint.id.to_hex();
    let done = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        // Somebody who never stops writing: the file cannot be read whole and at rest.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let file = std::fs::File::options().write(true).open(p.path("busy.bin"));
                file.and_then(|file| file.write_all_at(b"x", 0)).unwrap();
            }
        });
        let _done = Done(&done);
        // On a crowded machine the writer may get no turn during an attempt.
        let refused = (0..10).find_map(|attempt| {
            p.write("busy.bin", vec![attempt; 8 << 20]);
            p.write("other.txt", "new\n");
            let listed = p.list().len();
            match p.restore_with(&first, &RestoreOptions::default()) {
                Err(Error::Restore(RestoreError::Unsafe { paths })) => {
                    (p.list().len() == listed).then_some(paths)
                }
                Err(e) => panic!("{e}"),
                Ok(_) => None,
            }
        });
        refused.expect("a file under change is noticed before anything is added")
    });
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].as_bytes(), b"busy.bin");
    assert_eq!(p.read("other.txt"), "new\n", "nothing else was changed either");
    assert_eq!(p.path("busy.bin").metadata().unwrap().len(), 8 << 20);
}

// HERMES defect 3
#[test]
fn a_file_that_outgrew_the_limit_is_not_overwritten() {
    let p = with_max_file_size(1000);
    p.write("data.csv", "a,b,c\n");
    p.write("shrinks.csv", vec![b'x'; 2000]);
    p.save("first");
    p.write("data.csv", vec![b'x'; 2000]);
    p.write("shrinks.csv", "small by now\n");
    p.write("a.txt", "after\n");
    let restored = p.restore("@");
    let too_large = KeptWhy::NotSaved(Reason::TooLarge);
    let expected = [("data.csv".to_owned(), too_large), ("shrinks.csv".to_owned(), too_large)];
    assert_eq!(kept(&restored), expected);
    assert_eq!(p.read("data.csv").len(), 2000, "the only copy stays");
    assert_eq!(p.read("shrinks.csv"), "small by now\n", "it was never saved small");
    assert!(!p.exists("a.txt"), "the rest is restored");
}

// HERMES defect 4
#[test]
fn an_ignored_directory_in_the_way_is_not_deleted() {
    let p = TestProject::new();
    p.write("cache", "a file then\n");
    p.write("lib", "a file then, too\n");
    p.write(".gitignore", "/cache/\n");
    p.save("first");
    p.remove("cache");
    p.write("cache/only-copy.db", "never saved\n");
    p.remove("lib");
    p.write("lib/own.js", "saved\n");
    p.write("lib/node_modules/x.js", "never saved\n");
    p.write("a.txt", "after\n");
    let restored = p.restore("@");
    let expected = [
        ("cache".to_owned(), KeptWhy::InTheWay(Reason::Ignored)),
        ("lib".to_owned(), KeptWhy::InTheWay(Reason::Excluded)),
    ];
    assert_eq!(kept(&restored), expected);
    assert_eq!(p.read("cache/only-copy.db"), "never saved\n");
    assert_eq!(p.read("lib/node_modules/x.js"), "never saved\n");
    assert!(!p.exists("a.txt"), "the rest is restored");
}

// HERMES defect 4
#[test]
fn what_an_ignore_file_left_out_stays_when_the_ignore_file_goes() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    p.write(".gitignore", "/cache/\n*.db\n");
    p.write("cache/deep/only-copy", "never saved\n");
    p.write("local.db", "never saved\n");
    let after = p.tree();
    let restored = p.restore("@");
    assert!(!p.exists(".gitignore"));
    assert_eq!(p.read("cache/deep/only-copy"), "never saved\n");
    assert_eq!(p.read("local.db"), "never saved\n");
    let ignored = KeptWhy::NotSaved(Reason::Ignored);
    let expected = [("cache".to_owned(), ignored), ("local.db".to_owned(), ignored)];
    assert_eq!(kept(&restored), expected, "nobody changed them meanwhile");
    p.undo().unwrap();
    assert_same(&after, &p.tree(), "undone");
}

// HERMES defect 6
#[test]
fn objects_of_another_project_are_not_accepted() {
    let p = TestProject::new();
    p.write("alpha.txt", "alpha\n");
    let alpha = p.save("alpha").checkpoint;
    let beta_root = p.base().join("beta");
    std::fs::create_dir(&beta_root).unwrap();
    std::fs::write(beta_root.join("beta.txt"), "beta\n").unwrap();
    let beta = p.engine.project(&beta_root).unwrap();
    beta.save_with(&herma_core::SaveOptions::default(), &NoProgress).unwrap();
    let before = Tree::read(&beta_root);

    for id in [alpha.id, alpha.tree] {
        let found = beta.find(&Spec::parse(&id.to_hex()).unwrap());
        assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
    }
    let options = RestoreOptions::default();
    let is_refused = |result: Result<(), Error>| matches!(result, Err(Error::NotFound { .. }));
    assert!(is_refused(beta.restore_with(&alpha, &options, &NoProgress).map(drop)));
    assert!(is_refused(beta.plan_restore(&alpha, &options, &NoProgress).map(drop)));
    assert!(is_refused(beta.pin(&alpha)));
    assert!(is_refused(beta.name(&alpha, "mine")));
    assert!(is_refused(beta.drop_checkpoint(&alpha)));
    assert_same(&before, &Tree::read(&beta_root), "beta is as it was");
    assert_eq!(beta.timeline().unwrap().len(), 1);
    assert_eq!(p.list().len(), 1);
}
