//! The pack being written, the list of packs, and the objects read from them.

use std::sync::Arc;

use herma_core::ObjectId;
use herma_fs::publish::Durability;
use herma_store::error::StoreError;
use herma_store::object::Kind;
use herma_store::objects::ObjectError;
use herma_store::pack::write::PackWriter;
use herma_testkit::schedules::explore;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

use crate::place::{Place, blob};

const THREADS: usize = 3;

fn contents(first: usize) -> Vec<Vec<u8>> {
    let mut contents: Vec<Vec<u8>> = (0..4_u8).map(|number| vec![number; 40]).collect();
    contents.rotate_left(first);
    contents
}

/// Several threads add the same contents, each in an order of its own.
fn add_from_threads(
    writer: &PackWriter<'_>,
    check: impl Fn(Result<ObjectId, StoreError>, &[u8]) + Sync,
) {
    thread::scope(|scope| {
        for first in 0..THREADS {
            let check = &check;
            scope.spawn(move || {
                for content in contents(first) {
                    check(writer.add(Kind::Blob, &content), &content);
                }
            });
        }
    });
}

#[test]
fn what_several_threads_add_is_in_the_pack_once_and_readable() {
    let place = Place::new();
    explore(move || {
        let known = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&place.dirs, &known).unwrap();
        add_from_threads(&writer, |added, content| {
            assert_eq!(added.unwrap(), blob(content));
        });
        assert_eq!(writer.object_count(), 4, "each of them once");
        for content in contents(0) {
            let read = writer.read(&blob(&content)).unwrap();
            assert_eq!(read.unwrap().data, content);
        }
    });
}

#[test]
fn a_pack_of_which_one_object_could_not_be_added_is_never_published() {
    let place = Place::new();
    explore(move || {
        let has_failed = AtomicBool::new(false);
        let unlucky = blob(&contents(1)[0]);
        let known = |id: &ObjectId| {
            if *id == unlucky && !has_failed.swap(true, Ordering::SeqCst) {
                return Err(StoreError::Collision);
            }
            Ok(false)
        };
        let writer = PackWriter::new(&place.dirs, &known).unwrap();
        // Somebody was told that it is taken care of, which is why nobody may rely on the pack.
        add_from_threads(&writer, |_, _| {});
        let finished = writer.finish(Durability::Cache);
        assert!(matches!(finished, Err(StoreError::Abandoned)));
    });
}

#[test]
fn a_pack_that_was_published_is_found_by_whoever_looks_afterwards() {
    let place = Place::new();
    let always = place.pack_aside(&[b"always there"]);
    let late = place.pack_aside(&[b"published late"]);
    explore(move || {
        always.publish();
        late.remove();
        let objects = place.objects();
        let is_published = AtomicBool::new(false);
        let wanted = blob(b"published late");
        thread::scope(|scope| {
            for _ in 0..THREADS - 1 {
                scope.spawn(|| {
                    let must_be_there = is_published.load(Ordering::SeqCst);
                    match objects.read(&wanted) {
                        Ok(object) => assert_eq!(object.data, b"published late"),
                        Err(ObjectError::Missing { .. }) => assert!(!must_be_there),
                        Err(e) => panic!("{e}"),
                    }
                    let read = objects.read(&blob(b"always there"));
                    assert_eq!(read.unwrap().data, b"always there");
                });
            }
            scope.spawn(|| {
                late.publish();
                is_published.store(true, Ordering::SeqCst);
            });
        });
        assert!(objects.contains(&wanted).unwrap());
    });
}

#[test]
fn what_moves_from_two_packs_into_one_is_never_missing() {
    let place = Place::new();
    let apart = [place.pack_aside(&[b"one"]), place.pack_aside(&[b"two"])];
    let merged = place.pack_aside(&[b"one", b"two"]);
    explore(move || {
        apart.iter().for_each(|pack| pack.publish());
        merged.remove();
        let objects = Arc::new(place.objects());
        thread::scope(|scope| {
            for contents in [[b"one", b"two"], [b"two", b"one"]] {
                let objects = Arc::clone(&objects);
                scope.spawn(move || {
                    for content in contents {
                        assert_eq!(objects.read(&blob(content)).unwrap().data, content);
                        assert!(objects.contains(&blob(content)).unwrap());
                    }
                });
            }
            scope.spawn(|| {
                merged.publish();
                apart.iter().for_each(|pack| pack.remove());
            });
        });
    });
}
