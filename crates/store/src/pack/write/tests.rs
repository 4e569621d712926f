//! Tests of writing packs, with git as the judge.

#![allow(clippy::disallowed_methods)]

use std::os::unix::fs::PermissionsExt;

use rayon::prelude::*;

use super::*;
use crate::testing::{Fresh, names};

#[allow(clippy::unnecessary_wraps)] // the signature is that of `Known`
fn nothing_known(_: &ObjectId) -> Result<bool, StoreError> {
    Ok(false)
}

/// Bytes that do not compress, different for every seed.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(next).take(length / 8 + 1).flatten().collect();
    bytes.truncate(length);
    bytes
}

fn object_content(number: u64) -> Vec<u8> {
    noise(600 + (number % 7) as usize, number)
}

fn packs(fresh: &Fresh) -> Vec<String> {
    names(&fresh.store().join("objects/pack"))
}

/// Publishes the pack, which is the only one, and has git check every byte of it.
fn finish(fresh: &Fresh, writer: PackWriter<'_>) -> PackName {
    let [name] = finish_all(fresh, writer)[..] else { panic!("one pack") };
    name
}

/// Publishes the packs and has git check every byte of them.
fn finish_all(fresh: &Fresh, writer: PackWriter<'_>) -> Vec<PackName> {
    let names = writer.finish(Durability::Synced).unwrap();
    let directory = fresh.store().join("objects/pack");
    for name in &names {
        for file in [name.pack_file(), name.index_file()] {
            let mode = std::fs::metadata(directory.join(&file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o400, "{file}");
        }
        let pack = directory.join(name.pack_file());
        fresh.git(&["verify-pack", pack.to_str().unwrap()]);
        let rebuilt = fresh.directory.path().join("rebuilt.idx");
        fresh.git(&["index-pack", "-o", rebuilt.to_str().unwrap(), pack.to_str().unwrap()]);
        let ours = std::fs::read(directory.join(name.index_file())).unwrap();
        assert_eq!(ours, std::fs::read(&rebuilt).unwrap(), "the index is the one git makes");
        std::fs::remove_file(rebuilt).unwrap();
    }
    fresh.assert_sound();
    assert!(fresh.temporary_files().is_empty());
    names
}

#[test]
fn one_object_makes_a_pack_git_can_read() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let id = writer.add(Kind::Blob, b"hello\n").unwrap();
    assert_eq!(writer.object_count(), 1);
    let length = writer.bytes();
    let name = finish(&fresh, writer);
    assert_eq!(fresh.git(&["cat-file", "blob", &id.to_hex()]), "hello\n");
    let pack = fresh.store().join("objects/pack").join(name.pack_file());
    assert_eq!(std::fs::metadata(pack).unwrap().len(), length + 20);
}

#[test]
fn an_empty_pack_is_not_written() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    assert!(writer.object_count() == 0);
    assert_eq!(writer.finish(Durability::Synced).unwrap(), []);
    assert!(packs(&fresh).is_empty());
}

#[test]
fn ten_thousand_objects_from_many_threads_share_one_pack() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    // Half are doubles, and together they are too much to be kept in memory.
    let ids: Vec<ObjectId> = (0..20_000_u64)
        .into_par_iter()
        .map(|i| writer.add(Kind::Blob, &object_content(i / 2)).unwrap())
        .collect();
    assert_eq!(writer.object_count(), 10_000);
    assert_eq!(fresh.temporary_files().len(), 1, "a large pack grows on disk");
    let first = writer.read(&ids[0]).unwrap().unwrap();
    assert_eq!(first.data, object_content(0));
    let last = writer.read(&ids[19_999]).unwrap().unwrap();
    assert_eq!(last.data, object_content(9_999));
    finish(&fresh, writer);
    assert_eq!(packs(&fresh).len(), 2);
}

#[test]
fn many_objects_from_many_threads_fill_several_packs_each_once() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let writer = writer.full_with(200 << 10);
    let ids: Vec<ObjectId> = (0..4_000_u64)
        .into_par_iter()
        .map(|i| writer.add(Kind::Blob, &object_content(i / 2)).unwrap())
        .collect();
    assert_eq!(writer.object_count(), 2_000);
    let packed = writer.bytes();
    (0..).zip(ids.iter().step_by(2)).for_each(|(i, id)| {
        let read = writer.read(id).unwrap().unwrap();
        assert_eq!(read.data, object_content(i), "from whichever pack");
    });
    let names = finish_all(&fresh, writer);
    // 1.24 MB: six full ones and what was left.
    assert_eq!((names.len(), packs(&fresh).len()), (7, 14));
    let shown = names.iter().map(|name| {
        let index = std::fs::read(fresh.store().join("objects/pack").join(name.index_file()));
        let shown = crate::testing::git_output(&fresh.store(), &["show-index"], &index.unwrap());
        String::from_utf8(shown.stdout).unwrap().lines().count()
    });
    assert_eq!(shown.sum::<usize>(), 2_000, "no object is in two packs");
    let sizes = names.iter().map(|name| {
        let pack = fresh.store().join("objects/pack").join(name.pack_file());
        std::fs::metadata(pack).unwrap().len() - 20
    });
    assert_eq!(sizes.sum::<u64>(), packed);
    for id in ids.iter().step_by(97) {
        fresh.git(&["cat-file", "-e", &id.to_hex()]);
    }
}

#[test]
fn a_pack_grows_with_those_before_it() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let writer = writer.full_with(600);
    for number in 0..1_000 {
        writer.add(Kind::Blob, &object_content(number)).unwrap();
    }
    let names = writer.finish(Durability::Cache).unwrap();
    // One for each of the first sixteen, then each is a sixteenth of all before it.
    assert!((40..100).contains(&names.len()), "{}", names.len());
    fresh.assert_sound();
}

#[test]
fn when_a_later_pack_cannot_be_published_the_earlier_ones_are_whole() {
    let fresh = Fresh::new();
    let write = || {
        let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
        let writer = writer.full_with(2_000);
        for number in 0..8 {
            writer.add(Kind::Blob, &object_content(number)).unwrap();
        }
        writer.finish(Durability::Synced)
    };
    let names = write().unwrap();
    assert_eq!(names.len(), 2);
    let directory = fresh.store().join("objects/pack");
    for file in packs(&fresh) {
        std::fs::remove_file(directory.join(file)).unwrap();
    }
    // A directory in the place of the second index makes the last rename fail.
    std::fs::create_dir(directory.join(names[1].index_file())).unwrap();
    assert!(write().is_err());
    assert!(fresh.temporary_files().is_empty());
    std::fs::remove_dir(directory.join(names[1].index_file())).unwrap();
    let mut left = [names[0].pack_file(), names[0].index_file()];
    left.sort();
    assert_eq!(packs(&fresh), left, "somebody may rely on what they saw");
    fresh.assert_sound();
    assert_eq!(write().unwrap(), names);
}

#[test]
fn several_packs_that_are_not_finished_leave_nothing_behind() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let writer = writer.full_with(2_000);
    for number in 0..8 {
        writer.add(Kind::Blob, &object_content(number)).unwrap();
    }
    assert_eq!(fresh.temporary_files().len(), 2, "both are full");
    drop(writer);
    assert!(fresh.temporary_files().is_empty() && packs(&fresh).is_empty());
}

#[test]
fn what_was_added_reads_back_whether_there_was_room_to_keep_it_or_not() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let writer = writer.remembering(8);
    let contents: [&[u8]; 4] = [b"kept", b"no room", b"fits", b"x"];
    let ids = contents.map(|content| writer.add(Kind::Blob, content).unwrap());
    let tree = writer.add(Kind::Tree, b"").unwrap();
    for (id, content) in ids.iter().zip(contents) {
        let read = writer.read(id).unwrap().unwrap();
        assert_eq!((read.kind, &read.data[..]), (Kind::Blob, content));
    }
    assert_eq!(writer.read(&tree).unwrap().unwrap().kind, Kind::Tree);
    finish(&fresh, writer);
}

#[test]
fn a_big_file_is_streamed() {
    const SIZE: usize = 40 << 20;
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    writer.add(Kind::Blob, b"before").unwrap();
    let data = noise(SIZE, 7);
    let id = writer.add_stream(SIZE as u64, &mut data.as_slice()).unwrap();
    assert_eq!(Some(id), object::id_of(Kind::Blob, &data));
    assert_eq!(writer.add_stream(SIZE as u64, &mut data.as_slice()).unwrap(), id);
    assert_eq!(writer.add(Kind::Blob, &data).unwrap(), id, "large data in memory is the same");
    writer.add(Kind::Blob, b"after").unwrap();
    assert_eq!(writer.object_count(), 3);
    assert!(writer.read(&id).unwrap().unwrap().data == data);
    let most = SIZE as u64 + SIZE as u64 / 1000;
    assert!(writer.bytes() < most, "what cannot be compressed stays");
    finish(&fresh, writer);
    assert_eq!(fresh.git(&["cat-file", "-s", &id.to_hex()]), format!("{SIZE}\n"));
}

#[test]
fn empty_and_small_files_can_be_streamed_and_read_back() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let empty = writer.add(Kind::Blob, b"").unwrap();
    assert_eq!(writer.add_stream(0, &mut &b""[..]).unwrap(), empty);
    let small = writer.add_stream(3, &mut &b"abc"[..]).unwrap();
    let tree = writer.add(Kind::Tree, b"").unwrap();
    for (id, kind, data) in
        [(empty, Kind::Blob, &b""[..]), (small, Kind::Blob, b"abc"), (tree, Kind::Tree, b"")]
    {
        assert_eq!(writer.read(&id).unwrap(), Some(Object { kind, data: data.to_vec() }));
    }
    assert_eq!(writer.read(&ObjectId::NULL).unwrap(), None);
    finish(&fresh, writer);
}

#[test]
fn a_file_that_changes_size_costs_only_itself() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::PermissionDenied.into())
        }
    }
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let shrunk = writer.add_stream(10, &mut &b"abc"[..]);
    assert!(matches!(shrunk, Err(StoreError::Changed { expected: 10, read: 3 })), "{shrunk:?}");
    let grown = writer.add_stream(2, &mut &b"abc"[..]);
    assert!(matches!(grown, Err(StoreError::Changed { expected: 2, read: 3 })), "{grown:?}");
    assert!(matches!(writer.add_stream(2, &mut Broken), Err(StoreError::Source(_))));
    assert!(fresh.temporary_files().is_empty() && writer.object_count() == 0);
    writer.add(Kind::Blob, b"still works").unwrap();
    finish(&fresh, writer);
}

#[test]
fn known_objects_are_not_written_again() {
    let fresh = Fresh::new();
    let known_id = object::id_of(Kind::Blob, b"known").unwrap();
    let known = |id: &ObjectId| Ok(*id == known_id);
    let writer = PackWriter::new(&fresh.dirs, &known).unwrap();
    assert_eq!(writer.add(Kind::Blob, b"known").unwrap(), known_id);
    assert_eq!(writer.add_stream(5, &mut &b"known"[..]).unwrap(), known_id);
    assert!(writer.object_count() == 0);
    assert_eq!(writer.finish(Durability::Cache).unwrap(), []);
}

#[test]
fn after_a_failed_addition_nothing_is_published() {
    let fresh = Fresh::new();
    let failing = |_: &ObjectId| Err(StoreError::NoLocks);
    let writer = PackWriter::new(&fresh.dirs, &failing).unwrap();
    assert!(matches!(writer.add(Kind::Blob, b"a"), Err(StoreError::NoLocks)));
    assert!(matches!(writer.add(Kind::Blob, b"a"), Err(StoreError::Abandoned)));
    assert!(matches!(writer.finish(Durability::Synced), Err(StoreError::Abandoned)));
    assert!(packs(&fresh).is_empty());
}

#[test]
fn a_dropped_writer_leaves_nothing_behind() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    writer.add(Kind::Blob, &noise(6 << 20, 1)).unwrap();
    assert_eq!(fresh.temporary_files().len(), 1);
    drop(writer);
    assert!(fresh.temporary_files().is_empty() && packs(&fresh).is_empty());
}

#[test]
fn a_pack_that_cannot_be_published_leaves_nothing_behind() {
    let fresh = Fresh::new();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    writer.add(Kind::Blob, b"a").unwrap();
    let name = writer.finish(Durability::Synced).unwrap()[0];
    let directory = fresh.store().join("objects/pack");
    std::fs::remove_file(directory.join(name.pack_file())).unwrap();
    std::fs::remove_file(directory.join(name.index_file())).unwrap();
    // A directory in the place of the index makes the second rename fail.
    std::fs::create_dir(directory.join(name.index_file())).unwrap();
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    writer.add(Kind::Blob, b"a").unwrap();
    assert!(writer.finish(Durability::Synced).is_err());
    assert!(fresh.temporary_files().is_empty());
    assert_eq!(packs(&fresh), [name.index_file()], "only what was there before");
}

#[test]
fn writing_the_same_pack_twice_is_fine() {
    let fresh = Fresh::new();
    let names: Vec<PackName> = (0..2)
        .map(|_| {
            let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
            writer.add(Kind::Blob, b"same").unwrap();
            finish(&fresh, writer)
        })
        .collect();
    assert_eq!(names[0], names[1]);
    assert_eq!(packs(&fresh).len(), 2);
}

#[test]
fn a_tree_is_looked_for_only_if_everything_it_names_was_there() {
    let fresh = Fresh::new();
    let old = object::id_of(Kind::Blob, b"old").unwrap();
    let asked = std::sync::Mutex::new(Vec::new());
    let known = |id: &ObjectId| {
        asked.lock().unwrap().push(*id);
        Ok(*id == old)
    };
    let writer = PackWriter::new(&fresh.dirs, &known).unwrap();
    let tree_of = |ids: &[ObjectId]| {
        let mut tree = Vec::new();
        for (name, id) in ["a", "b", "c"].iter().zip(ids) {
            object::push_tree_entry(&mut tree, object::EntryMode::File, name.as_bytes(), id);
        }
        writer.add(Kind::Tree, &tree).unwrap()
    };
    writer.add(Kind::Blob, b"old").unwrap();
    let new = writer.add(Kind::Blob, b"new").unwrap();
    let of_old = tree_of(&[old, old]);
    let of_both = tree_of(&[old, new]);
    let above = tree_of(&[of_both]);
    assert_eq!(*asked.lock().unwrap(), [old, new, of_old]);
    for id in [new, of_old, of_both, above] {
        assert!(writer.read(&id).unwrap().is_some());
    }
    assert!(writer.read(&old).unwrap().is_none());
}
