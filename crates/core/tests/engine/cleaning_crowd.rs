//! Cleaning beside savers and restorers, and the promise about the disk.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::types::settings::Keeping;
use herma_core::{Engine, ObjectId, SaveOptions, Saved, Settings};
use herma_store::gc::Thoroughness;
use herma_testkit::bounded::Done;
use herma_testkit::faults;
use herma_testkit::tree::bytes_below;

use super::cleaning::text;
use super::project::{TestProject, engine};

fn save(engine: &Engine, root: &Path) -> Saved {
    let project = engine.project(root).unwrap();
    project.save_with(&SaveOptions::default(), &NoProgress).unwrap()
}

#[test]
fn no_acknowledged_checkpoint_is_lost_to_a_collector_that_never_rests() {
    const SAVERS: u64 = 6;
    const ROUNDS: u64 = 12;
    let scene = TestProject::new();
    let base = scene.temp.path().canonicalize().unwrap();
    let acknowledged: Mutex<Vec<(PathBuf, ObjectId, String, String)>> = Mutex::default();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let savers: Vec<_> = (0..SAVERS)
            .map(|saver| {
                let (base, acknowledged) = (&base, &acknowledged);
                let engine = scene.another_engine();
                scope.spawn(move || {
                    let root = base.join(format!("project-{}", saver % 3));
                    std::fs::create_dir_all(&root).unwrap();
                    for round in 0..ROUNDS {
                        // Content comes back after it was dropped: what is dead comes to life again.
                        let name = format!("by-{saver}");
                        let content = text(round % 4, 50);
                        std::fs::write(root.join(&name), &content).unwrap();
                        let saved = save(&engine, &root);
                        // If it is not new it is another saver's, who may be about to drop it.
                        if saved.is_new && round % 3 == 2 {
                            let project = engine.project(&root).unwrap();
                            project.drop_checkpoint(&saved.checkpoint).unwrap();
                        } else if saved.is_new {
                            let entry = (root.clone(), saved.checkpoint.id, name, content);
                            acknowledged.lock().unwrap().push(entry);
                        }
                    }
                })
            })
            .collect();
        let collector = scene.another_engine();
        let done = &done;
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                collector.collect(Thoroughness::Full, false, &NoProgress).unwrap();
            }
        });
        let _done = Done(done);
        for saver in savers {
            saver.join().unwrap();
        }
    });
    scene.fsck_but_dangling();
    let acknowledged = acknowledged.into_inner().unwrap();
    for (root, id, name, content) in acknowledged {
        let project = scene.engine.project(&root).unwrap();
        let all = project.timeline().unwrap();
        let checkpoint = all.iter().find(|c| c.id == id).expect("kept");
        let options = RestoreOptions::default();
        project.restore_with(checkpoint, &options, &NoProgress).unwrap();
        assert_eq!(std::fs::read_to_string(root.join(name)).unwrap(), content);
    }
    scene.fsck_but_dangling();
}

#[test]
fn the_store_stays_within_its_limit_at_every_moment() {
    const LIMIT: u64 = 4 << 20;
    const PROJECTS: u64 = 10;
    let scene = TestProject::new();
    let keeping = Keeping { max_total_size: Some(LIMIT), ..Keeping::default() };
    let settings = Settings { keeping, ..Settings::default() };
    let engine = engine(&scene.home(), None, settings);
    let base = scene.temp.path().canonicalize().unwrap();
    let store = scene.store();
    let most = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let mut largest = 0;
    std::thread::scope(|scope| {
        let (most, done, store) = (&most, &done, &store);
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                // A file that is moved while they are counted is counted twice, or not at all.
                let bytes = bytes_below(store);
                if bytes_below(store) == bytes {
                    most.fetch_max(bytes, Ordering::SeqCst);
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        let _done = Done(done);
        for step in 0..if faults::is_full() { 300 } else { 120 } {
            let root = base.join(format!("project-{}", step % PROJECTS));
            std::fs::create_dir_all(&root).unwrap();
            // What deltas cannot help with.
            std::fs::write(root.join("data.bin"), text(step + 1, 2_000)).unwrap();
            std::fs::write(root.join("a.txt"), step.to_string()).unwrap();
            let before = bytes_below(store);
            let saved = save(&engine, &root);
            largest = largest.max(bytes_below(store).saturating_sub(before));
            if saved.due.is_some() {
                engine.maintain(&NoProgress).unwrap();
            }
        }
    });
    let most = most.into_inner();
    assert!(most > LIMIT / 2, "the limit was not put to the test: {most}");
    assert!(most <= LIMIT + largest, "{most} of {LIMIT} + {largest}");
    for project in 0..PROJECTS {
        let root = base.join(format!("project-{project}"));
        let list = engine.project(&root).unwrap().timeline().unwrap();
        assert!(list.len() > 1, "history was flattened: {}", list.len());
    }
    scene.fsck_but_dangling();
}
