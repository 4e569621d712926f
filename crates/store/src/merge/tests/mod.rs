//! Tests of merging packs, with git as the judge.

#![allow(clippy::disallowed_methods)]

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;

use herma_fs::Dir;

use super::*;
use crate::object::{EntryMode, deflate};
use crate::pack::read::EntryKind;
use crate::testing::{Fresh, git_output, names};
use crate::{PackWriter, object};

const QUIET: MergeOptions<'static> = MergeOptions {
    max_bytes: u64::MAX,
    threads: 2,
    durability: Durability::Synced,
    progress: &|_| true,
};

fn objects(fresh: &Fresh) -> Objects {
    Objects::open(Dir::open(&fresh.store().join("objects")).unwrap())
}

fn pack_directory(fresh: &Fresh) -> PathBuf {
    fresh.store().join("objects/pack")
}

/// Publishes one pack, in which everything is stored even if another pack has it.
fn write_pack(fresh: &Fresh, contents: &[(Kind, &[u8])]) -> (PackName, Vec<ObjectId>) {
    let nothing_known = |_: &ObjectId| Ok(false);
    let writer = PackWriter::new(&fresh.dirs, &nothing_known).unwrap();
    let added = contents.iter().map(|(kind, data)| writer.add(*kind, data));
    let ids = added.collect::<Result<_, _>>().unwrap();
    let name = writer.finish(Durability::Cache).unwrap()[0];
    (name, ids)
}

fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Versions of one text, each with one more line changed.
fn versions(count: usize) -> Vec<Vec<u8>> {
    let mut lines: Vec<String> = (0..200).map(|n| format!("line {n}: {}", n * 7919)).collect();
    let edit = |n: usize| {
        lines[n * 37 % 200] = format!("line changed in version {n}");
        lines.join("\n").into_bytes()
    };
    (0..count).map(edit).collect()
}

/// Each is like the one before it.
fn in_a_row(ids: &[ObjectId]) -> Vec<Wanted> {
    let before = std::iter::once(None).chain(ids.iter().copied().map(Some));
    let wanted = ids.iter().zip(before);
    wanted.map(|(id, like)| Wanted { id: *id, like }).collect()
}

/// None is like another.
fn unlike(ids: &[ObjectId]) -> Vec<Wanted> {
    let wanted = ids.iter();
    wanted.map(|id| Wanted { id: *id, like: None }).collect()
}

fn merged(fresh: &Fresh, wanted: &[Wanted]) -> Merged {
    let done = merge(&fresh.dirs, &objects(fresh), wanted, &QUIET);
    done.unwrap().unwrap()
}

/// Has git check every byte of the pack, then leaves it as the only one.
fn keep_only(fresh: &Fresh, merged: &Merged) {
    let directory = pack_directory(fresh);
    let pack = directory.join(merged.name.pack_file());
    let index = directory.join(merged.name.index_file());
    let mut bytes = 0;
    for file in [&pack, &index] {
        let metadata = std::fs::metadata(file).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o400);
        bytes += metadata.len();
    }
    assert_eq!(bytes, merged.bytes);
    fresh.git(&["verify-pack", pack.to_str().unwrap()]);
    let rebuilt = fresh.directory.path().join("rebuilt.idx");
    let paths = [rebuilt.to_str().unwrap(), pack.to_str().unwrap()];
    fresh.git(&["index-pack", "--strict", "-o", paths[0], paths[1]]);
    let ours = std::fs::read(&index).unwrap();
    assert!(ours == std::fs::read(&rebuilt).unwrap(), "git's own index");
    for name in names(&directory) {
        if !name.starts_with(&merged.name.to_string()) {
            std::fs::remove_file(directory.join(name)).unwrap();
        }
    }
    assert!(fresh.temporary_files().is_empty());
    fresh.assert_sound();
}

/// The depth of every delta in a store with one pack.
fn depths(fresh: &Fresh) -> HashMap<ObjectId, u32> {
    let packs = objects(fresh).packs().unwrap();
    let mut depth_at = HashMap::new();
    let mut entries: Vec<_> = packs[0].index().entries().map(Result::unwrap).collect();
    entries.sort_unstable_by_key(|(_, offset)| *offset);
    let mut depths = HashMap::new();
    for (id, offset) in entries {
        let depth = match packs[0].entry(offset).unwrap().kind {
            EntryKind::Whole(_) => 0,
            EntryKind::OffsetDelta { base } => depth_at[&base] + 1,
            EntryKind::IdDelta { .. } => panic!("deltas are written by offset"),
        };
        depth_at.insert(offset, depth);
        depths.insert(id, depth);
    }
    depths
}

fn assert_nothing_published(fresh: &Fresh, before: &[String]) {
    assert_eq!(names(&pack_directory(fresh)), before);
    assert!(fresh.temporary_files().is_empty());
}

#[test]
fn nothing_wanted_makes_no_pack() {
    let fresh = Fresh::new();
    let done = merge(&fresh.dirs, &objects(&fresh), &[], &QUIET).unwrap();
    assert_eq!(done, None);
    assert_nothing_published(&fresh, &[]);
}

#[test]
fn versions_of_a_file_become_deltas_and_read_back() {
    let fresh = Fresh::new();
    let versions = versions(120);
    let mut ids = Vec::new();
    for version in &versions {
        ids.extend(write_pack(&fresh, &[(Kind::Blob, version)]).1);
    }
    let done = merged(&fresh, &in_a_row(&ids));
    assert_eq!((done.objects, done.deltas), (120, 119));
    keep_only(&fresh, &done);
    let read = objects(&fresh);
    for (id, version) in ids.iter().zip(&versions) {
        assert!(read.read(id).unwrap().data == *version);
        let shown = git_output(&fresh.store(), &["cat-file", "blob", &id.to_hex()], b"");
        assert!(shown.stdout == *version);
    }
    let depths = depths(&fresh);
    assert_eq!(depths.values().max(), Some(&MAX_WRITTEN_CHAIN));
    assert_eq!(depths[&ids[MAX_WRITTEN_CHAIN as usize + 1]], TAKEN_UP + 1);
}

#[test]
fn merging_again_keeps_every_entry() {
    let fresh = Fresh::new();
    let versions = versions(60);
    let contents: Vec<_> = versions.iter().map(|v| (Kind::Blob, v.as_slice())).collect();
    let (_, ids) = write_pack(&fresh, &contents);
    let wanted = in_a_row(&ids);
    let first = merged(&fresh, &wanted);
    keep_only(&fresh, &first);
    let again = merged(&fresh, &wanted);
    assert_eq!(again, first, "the same entries make the same pack");
    for threads in [1, 5] {
        let options = MergeOptions { threads, ..QUIET };
        let done = merge(&fresh.dirs, &objects(&fresh), &wanted, &options);
        assert_eq!(done.unwrap(), Some(first));
    }
}

#[test]
fn a_history_made_by_git_is_merged_whatever_its_form() {
    let fresh = Fresh::new();
    let mut tree = Vec::new();
    let texts = versions(30);
    let blobs: Vec<ObjectId> =
        texts.iter().map(|t| object::id_of(Kind::Blob, t).unwrap()).collect();
    for text in &texts {
        git_output(&fresh.store(), &["hash-object", "-w", "--stdin"], text);
    }
    object::push_tree_entry(&mut tree, EntryMode::File, b"text", &blobs[0]);
    let shown = git_output(&fresh.store(), &["hash-object", "-t", "tree", "-w", "--stdin"], &tree);
    let tree = String::from_utf8(shown.stdout).unwrap().trim().to_owned();
    let commit = fresh.git(&["commit-tree", &tree, "-m", "first"]);
    fresh.git(&["tag", "-a", "v1", "-m", "a tag", commit.trim()]);
    fresh.git(&["repack", "-fq"]);
    let (_, more) = write_pack(&fresh, &[(Kind::Blob, b""), (Kind::Blob, &noise(9000, 1))]);
    let before = git_output(&fresh.store(), &["cat-file", "--batch", "--batch-all-objects"], b"");
    let mut wanted = in_a_row(&blobs);
    let packs = objects(&fresh).packs().unwrap();
    let entries = packs.iter().flat_map(|pack| pack.index().entries());
    let others: Vec<ObjectId> = entries.map(|entry| entry.unwrap().0).collect();
    assert!(others.contains(&more[0]));
    // Wanted twice, and like an object of another kind.
    wanted.extend(others.iter().map(|id| Wanted { id: *id, like: Some(blobs[0]) }));
    let done = merged(&fresh, &wanted);
    assert!(done.deltas >= 29);
    keep_only(&fresh, &done);
    for file in names(&fresh.store().join("objects")) {
        if file.len() == 2 {
            std::fs::remove_dir_all(fresh.store().join("objects").join(file)).unwrap();
        }
    }
    let after = git_output(&fresh.store(), &["cat-file", "--batch", "--batch-all-objects"], b"");
    assert!(before.stdout == after.stdout);
    for id in others {
        objects(&fresh).read(&id).unwrap();
    }
}

#[test]
fn a_like_that_comes_later_or_is_unknown_or_of_another_kind_is_not_used() {
    let fresh = Fresh::new();
    let texts = versions(3);
    let contents = [(Kind::Blob, &*texts[0]), (Kind::Blob, &*texts[1]), (Kind::Tag, &*texts[2])];
    let (_, ids) = write_pack(&fresh, &contents);
    let like = [Some(ids[1]), Some(ObjectId::NULL), Some(ids[0])];
    let wanted: Vec<Wanted> =
        ids.iter().zip(like).map(|(id, like)| Wanted { id: *id, like }).collect();
    let done = merged(&fresh, &wanted);
    assert_eq!((done.objects, done.deltas), (3, 0));
}

/// Damages the content of an object.
fn damage(fresh: &Fresh, name: PackName, at: u64) {
    overwrite(fresh, name, at, b"\xde\xad\xbe\xef");
}

fn overwrite(fresh: &Fresh, name: PackName, at: u64, bytes: &[u8]) {
    let path = pack_directory(fresh).join(name.pack_file());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

#[test]
fn an_intact_copy_is_written_instead_of_a_damaged_one() {
    let fresh = Fresh::new();
    let text = &versions(1)[0];
    let (bad, ids) = write_pack(&fresh, &[(Kind::Blob, text)]);
    let (other, more) = write_pack(&fresh, &[(Kind::Blob, text), (Kind::Blob, b"more")]);
    for (damaged, intact) in [(bad, other), (other, bad)] {
        let path = pack_directory(&fresh).join(damaged.pack_file());
        let saved = std::fs::read(&path).unwrap();
        damage(&fresh, damaged, 200);
        let done = merged(&fresh, &in_a_row(&ids));
        let pack = std::fs::read(pack_directory(&fresh).join(done.name.pack_file())).unwrap();
        let header = 12 + deflate::entry_header(Kind::Blob, text.len() as u64).len();
        let written = deflate::inflate(&pack[header..pack.len() - 20], text.len());
        assert!(written.unwrap() == *text, "read from {intact}");
        std::fs::write(&path, saved).unwrap();
        for file in [done.name.pack_file(), done.name.index_file()] {
            std::fs::remove_file(pack_directory(&fresh).join(file)).unwrap();
        }
    }
    assert_eq!(more[0], ids[0]);
}

#[test]
fn a_header_that_lies_about_its_size_costs_no_memory() {
    let huge = b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\x0f";
    let fresh = Fresh::new();
    let text = &versions(1)[0];
    let (first, ids) = write_pack(&fresh, &[(Kind::Blob, text)]);
    let (second, more) = write_pack(&fresh, &[(Kind::Blob, text), (Kind::Blob, b"more")]);
    overwrite(&fresh, first, 12, huge);
    let done = merged(&fresh, &in_a_row(&[more[1], ids[0]]));
    keep_only(&fresh, &done);
    assert!(objects(&fresh).read(&ids[0]).unwrap().data == *text);
    let fresh = Fresh::new();
    write_pack(&fresh, &[(Kind::Blob, text)]);
    write_pack(&fresh, &[(Kind::Blob, text), (Kind::Blob, b"more")]);
    overwrite(&fresh, first, 12, huge);
    overwrite(&fresh, second, 12, huge);
    let wanted = in_a_row(&[more[1], ids[0]]);
    let failed = merge(&fresh.dirs, &objects(&fresh), &wanted, &QUIET).unwrap_err();
    assert!(matches!(failed, GcError::Object(_)), "{failed:?}");
    assert!(fresh.temporary_files().is_empty());
}

#[test]
fn an_object_without_an_intact_copy_fails_the_merge() {
    let fresh = Fresh::new();
    let text = &versions(1)[0];
    let (first, ids) = write_pack(&fresh, &[(Kind::Blob, text)]);
    let (second, more) = write_pack(&fresh, &[(Kind::Blob, text), (Kind::Blob, b"more")]);
    damage(&fresh, first, 200);
    damage(&fresh, second, 200);
    let before = names(&pack_directory(&fresh));
    let wanted = in_a_row(&[more[1], ids[0]]);
    let failed = merge(&fresh.dirs, &objects(&fresh), &wanted, &QUIET).unwrap_err();
    assert!(
        matches!(&failed, GcError::Object(ObjectError::Damaged { id, .. }) if *id == ids[0]),
        "{failed:?}"
    );
    assert_nothing_published(&fresh, &before);
    let wanted = in_a_row(&[more[1], ObjectId::NULL]);
    let failed = merge(&fresh.dirs, &objects(&fresh), &wanted, &QUIET).unwrap_err();
    assert!(matches!(failed, GcError::Object(ObjectError::Missing { .. })));
    assert_nothing_published(&fresh, &before);
}

#[test]
fn a_pack_that_would_be_too_large_is_not_published() {
    let fresh = Fresh::new();
    let contents: Vec<Vec<u8>> = (0..12).map(|n| noise(1 << 20, n)).collect();
    let contents: Vec<_> = contents.iter().map(|c| (Kind::Blob, c.as_slice())).collect();
    let (_, ids) = write_pack(&fresh, &contents);
    let before = names(&pack_directory(&fresh));
    let wanted = unlike(&ids);
    let with_limit = |max_bytes| {
        let options = MergeOptions { max_bytes, ..QUIET };
        merge(&fresh.dirs, &objects(&fresh), &wanted, &options)
    };
    for limit in [0, 1000, 6 << 20] {
        assert!(matches!(with_limit(limit), Err(GcError::TooLarge)));
        assert_nothing_published(&fresh, &before);
    }
    let bytes = with_limit(u64::MAX).unwrap().unwrap().bytes;
    assert!(matches!(with_limit(bytes - 1), Err(GcError::TooLarge)));
    assert_eq!(with_limit(bytes).unwrap().unwrap().bytes, bytes);
}

#[test]
fn a_merge_stops_when_the_caller_says_so() {
    let fresh = Fresh::new();
    let texts = versions(40);
    let contents: Vec<_> = texts.iter().map(|t| (Kind::Blob, t.as_slice())).collect();
    let (_, ids) = write_pack(&fresh, &contents);
    let before = names(&pack_directory(&fresh));
    for stop_at in [0, 1, 20, 40] {
        let progress = |done: u64| done < stop_at;
        let options = MergeOptions { progress: &progress, ..QUIET };
        let stopped = merge(&fresh.dirs, &objects(&fresh), &in_a_row(&ids), &options);
        assert!(matches!(stopped, Err(GcError::Cancelled)));
        assert_nothing_published(&fresh, &before);
    }
}

mod large_objects;
