//! The stat cache: what is built is read back, and what is damaged is not believed.

use herma_fs::Stat;

use super::*;

fn stat(ino: u64) -> Stat {
    Stat {
        kind: herma_fs::FileKind::File,
        mode: 0o644,
        size: 7,
        disk: 0,
        mtime: 1,
        ctime: 2,
        dev: 3,
        ino,
        links: 1,
        uid: 0,
        mount: 0,
        gid: 0,
    }
}

fn encoded(entries: &[(&CStr, EntryRecord)]) -> EncodedEntries {
    EncodedEntries::new(entries.iter().copied())
}

fn builder_for(entries: &[&EncodedEntries]) -> CacheBuilder {
    let mut size = CacheSize::default();
    for entries in entries {
        size += CacheSize::of_dir(entries);
    }
    CacheBuilder::new(size).unwrap()
}

fn copy_of(cache: &StatCache) -> StatCache {
    let size = CacheSize::of_subtree(cache, StatCache::ROOT).unwrap();
    let mut builder = CacheBuilder::new(size).unwrap();
    builder.copy(cache, StatCache::ROOT).unwrap();
    builder.finish(cache.header()).unwrap()
}

fn sample() -> StatCache {
    let id = ObjectId::EMPTY_TREE;
    let entries = [
        (c"a", EntryRecord::new(EntryKind::File, Some(&stat(1)), id)),
        (c"d", EntryRecord::new(EntryKind::Directory, None, id)),
        (c"x", EntryRecord::new(EntryKind::LeftOut(Reason::Ignored), None, ObjectId::NULL)),
    ];
    let inner = [(c"b", EntryRecord::new(EntryKind::Symlink, Some(&stat(4)), id))];
    let (outer, inner) = (encoded(&entries), encoded(&inner));
    let mut builder = builder_for(&[&outer, &inner]);
    let record = DirRecord::new(&stat(2), false);
    let (_, first) = builder.push_dir(record, &outer).unwrap();
    let record = DirRecord::new(&stat(5), true);
    let (child, _) = builder.push_dir(record, &inner).unwrap();
    builder.set_child(first + 1, child);
    let header = CacheHeader { rules: 9, index_state: 8, ..CacheHeader::default() };
    builder.finish(&header).unwrap()
}

#[test]
fn a_cache_that_names_a_directory_twice_is_not_walked_for_ever() {
    let id = ObjectId::EMPTY_TREE;
    let entry = || EntryRecord::new(EntryKind::Directory, None, id);
    let entries = encoded(&[(c"a", entry()), (c"b", entry())]);
    let mut builder = builder_for(&[&entries; 200]);
    for number in 0..200 {
        let record = DirRecord::new(&stat(number), false);
        let (_, first) = builder.push_dir(record, &entries).unwrap();
        if number < 199 {
            builder.set_child(first, number as u32 + 1);
            builder.set_child(first + 1, number as u32 + 1);
        }
    }
    let cache = builder.finish(&CacheHeader::default()).unwrap();
    assert_eq!(cache.left_out().next(), None);
}

#[test]
fn a_cache_reads_back_as_written() {
    let bytes = sample().into_bytes(ObjectId::EMPTY_TREE);
    let cache = StatCache::parse(bytes).unwrap();
    assert_eq!(cache.header().rules, 9);
    assert_eq!(cache.header().checkpoint, Some(ObjectId::EMPTY_TREE));
    assert_eq!(cache.header().summary.files, 2);
    assert_eq!(cache.header().summary.left_out[&Reason::Ignored], 1);
    assert!(cache.entry_at(b"a").unwrap().is_clean(&stat(1)));
    assert!(!cache.entry_at(b"a").unwrap().is_clean(&stat(9)));
    assert_eq!(cache.entry_at(b"d/b").unwrap().kind, EntryKind::Symlink);
    assert!(cache.entry_at(b"d/c").is_none());
    let left: Vec<_> = cache.left_out().map(|item| (item.path, item.reason)).collect();
    assert_eq!(left, [("x".into(), Reason::Ignored)]);
}

#[test]
fn copying_a_cache_changes_nothing() {
    let cache = sample();
    let copy = copy_of(&cache);
    let id = ObjectId::EMPTY_TREE;
    assert_eq!(copy.into_bytes(id), cache.into_bytes(id));
}

#[test]
fn a_subtree_that_ends_in_an_empty_directory_is_copied_whole() {
    let dir = EntryRecord::new(EntryKind::Directory, None, ObjectId::NULL);
    let file = EntryRecord::new(EntryKind::File, Some(&stat(1)), ObjectId::EMPTY_TREE);
    let record = DirRecord::new(&stat(2), false);
    let (outer, inner) = (encoded(&[(c"a", file), (c"e", dir)]), encoded(&[]));
    let mut builder = builder_for(&[&outer, &inner]);
    let (_, first) = builder.push_dir(record, &outer).unwrap();
    let (child, _) = builder.push_dir(record, &inner).unwrap();
    builder.set_child(first + 1, child);
    let cache = builder.finish(&CacheHeader::default()).unwrap();
    let copy = copy_of(&cache);
    assert_eq!(copy.into_bytes(ObjectId::NULL), cache.into_bytes(ObjectId::NULL));
}

#[test]
fn what_is_more_or_less_than_was_said_makes_no_cache() {
    let file = EntryRecord::new(EntryKind::File, Some(&stat(1)), ObjectId::EMPTY_TREE);
    let (one, two) = (encoded(&[(c"a", file)]), encoded(&[(c"a", file), (c"b", file)]));
    let record = DirRecord::new(&stat(2), false);
    let mut builder = builder_for(&[&one]);
    assert!(builder.push_dir(record, &two).is_none());
    let mut builder = builder_for(&[&one, &two]);
    builder.push_dir(record, &one).unwrap();
    assert!(builder.finish(&CacheHeader::default()).is_none());
}

#[test]
fn a_damaged_cache_is_no_cache() {
    let bytes = sample().into_bytes(ObjectId::NULL);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        assert!(StatCache::parse(damaged).is_none(), "byte {at}");
    }
    for len in 0..bytes.len() {
        assert!(StatCache::parse(bytes[..len].to_vec()).is_none(), "length {len}");
    }
}

#[test]
fn a_file_of_which_anything_is_different_is_not_as_it_was_recorded() {
    let seen = stat(5);
    let record = EntryRecord::new(EntryKind::File, Some(&seen), ObjectId::NULL);
    assert!(record.same_state(&seen));
    let different = [
        Stat { ctime: 9, ..seen },
        Stat { mtime: 9, ..seen },
        Stat { size: 9, ..seen },
        Stat { ino: 9, ..seen },
        Stat { mode: 0o600, ..seen },
        Stat { links: 2, ..seen },
    ];
    for stat in different {
        assert!(!record.same_state(&stat), "{stat:?}");
    }
}
