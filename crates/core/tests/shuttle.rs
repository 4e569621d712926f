//! What threads of one process share, under schedules chosen one by one: the pack being written, the list of
//! packs, the cache of objects.
//!
//! Only with `--cfg shuttle`, by `cargo xtask shuttle`. `HERMA_SHUTTLE_SCHEDULES` says how many schedules each
//! test tries, half of them at random and half by probabilistic concurrency testing.
#![cfg(shuttle)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test"
)]

use std::path::PathBuf;
use std::sync::Arc;

use herma_core::ObjectId;
use herma_core::store::error::StoreError;
use herma_core::store::layout;
use herma_core::store::layout::StoreDirs;
use herma_core::store::object::Kind;
use herma_core::store::object::id_of;
use herma_core::store::objects::ObjectError;
use herma_core::store::objects::Objects;
use herma_core::store::pack_write::PackWriter;
use herma_fs::Dir;
use herma_fs::publish::Durability;
use shuttle::sync::atomic::AtomicBool;
use shuttle::sync::atomic::Ordering;
use shuttle::thread;

/// How deep the bugs are that the second half of the schedules looks for.
const DEPTH: usize = 3;

/// Runs `test` under many schedules.
fn explore(test: impl Fn() + Send + Sync + 'static) {
    let set = std::env::var("HERMA_SHUTTLE_SCHEDULES").ok();
    let schedules: usize = set.map_or(2000, |value| value.parse().unwrap());
    let test = Arc::new(test);
    let again = Arc::clone(&test);
    shuttle::check_random(move || test(), schedules.div_ceil(2));
    shuttle::check_pct(move || again(), schedules / 2, DEPTH);
    eprintln!("{schedules} schedules");
}

/// A store that lasts as long as the process.
struct Place {
    base: PathBuf,
    dirs: StoreDirs,
}

fn place() -> &'static Place {
    let base = tempfile::tempdir().unwrap().keep();
    let dirs = layout::create_or_open(&base.join("checkpoints"), "20260102-030405").unwrap();
    Box::leak(Box::new(Place { base, dirs }))
}

impl Place {
    fn packs(&self) -> PathBuf {
        self.base.join("checkpoints/store/objects/pack")
    }

    /// Writes a pack with this one blob, and returns its two files.
    fn pack(&'static self, content: &'static [u8]) -> [PathBuf; 2] {
        let name = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let to = Arc::clone(&name);
        let write = move || {
            let known = |_: &ObjectId| Ok(false);
            let writer = PackWriter::new(&self.dirs, &known).unwrap();
            writer.add(Kind::Blob, content).unwrap();
            let name = writer.finish(Durability::Cache).unwrap().unwrap();
            *to.lock().unwrap() = name.to_string();
        };
        // The writer's locks are the scheduler's, too.
        shuttle::check_random(write, 1);
        let name = name.lock().unwrap().clone();
        ["pack", "idx"].map(|kind| self.packs().join(format!("{name}.{kind}")))
    }

    fn objects(&self) -> Objects {
        let dir = Dir::open(&self.base.join("checkpoints/store/objects"));
        Objects::open(dir.unwrap())
    }
}

fn contents() -> Vec<Vec<u8>> {
    (0..4_u8).map(|number| vec![number; 40]).collect()
}

#[test]
fn what_several_threads_add_is_in_the_pack_once_and_readable() {
    let place = place();
    explore(move || {
        let known = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&place.dirs, &known).unwrap();
        thread::scope(|scope| {
            for first in 0..3 {
                let writer = &writer;
                scope.spawn(move || {
                    let mut contents = contents();
                    contents.rotate_left(first);
                    for content in contents {
                        let id = writer.add(Kind::Blob, &content).unwrap();
                        assert_eq!(Some(id), id_of(Kind::Blob, &content));
                    }
                });
            }
        });
        assert_eq!(writer.object_count(), 4, "each of them once");
        for content in contents() {
            let id = id_of(Kind::Blob, &content).unwrap();
            assert_eq!(writer.read(&id).unwrap().unwrap().data, content);
        }
    });
}

#[test]
fn a_pack_of_which_one_object_could_not_be_added_is_never_published() {
    let place = place();
    explore(move || {
        let has_failed = AtomicBool::new(false);
        let unlucky = id_of(Kind::Blob, &contents()[1]).unwrap();
        let known = |id: &ObjectId| {
            let fails = *id == unlucky && !has_failed.swap(true, Ordering::SeqCst);
            if fails {
                Err(StoreError::Collision)
            } else {
                Ok(false)
            }
        };
        let writer = PackWriter::new(&place.dirs, &known).unwrap();
        thread::scope(|scope| {
            for first in 0..3 {
                let writer = &writer;
                scope.spawn(move || {
                    let mut contents = contents();
                    contents.rotate_left(first);
                    for content in contents {
                        // Whoever is told that it is taken care of must not be wrong.
                        let _ = writer.add(Kind::Blob, &content);
                    }
                });
            }
        });
        let finished = writer.finish(Durability::Cache);
        assert!(matches!(finished, Err(StoreError::Abandoned)));
    });
}

#[test]
fn a_pack_that_was_published_is_found_by_whoever_looks_afterwards() {
    let place = place();
    place.pack(b"always there");
    let late = place.pack(b"published late");
    let aside = late.clone().map(|file| {
        let aside = place.base.join(file.file_name().unwrap());
        std::fs::rename(file, &aside).unwrap();
        aside
    });
    explore(move || {
        for file in &late {
            // There is none before the first time.
            let _ = std::fs::remove_file(file);
        }
        let objects = place.objects();
        let is_published = AtomicBool::new(false);
        let always = id_of(Kind::Blob, b"always there").unwrap();
        let wanted = id_of(Kind::Blob, b"published late").unwrap();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let must_be_there = is_published.load(Ordering::SeqCst);
                    match objects.read(&wanted) {
                        Ok(object) => assert_eq!(object.data, b"published late"),
                        Err(ObjectError::Missing { .. }) => assert!(!must_be_there),
                        Err(e) => panic!("{e}"),
                    }
                    assert_eq!(objects.read(&always).unwrap().data, b"always there");
                });
            }
            scope.spawn(|| {
                thread::yield_now();
                for (from, to) in aside.iter().zip(&late) {
                    std::fs::hard_link(from, to).unwrap();
                }
                is_published.store(true, Ordering::SeqCst);
            });
        });
        assert_eq!(objects.read(&wanted).unwrap().data, b"published late");
    });
}
