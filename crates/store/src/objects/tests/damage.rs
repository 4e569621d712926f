//! Damaged stores: an answer is right or an error, never wrong bytes and never a panic.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::*;
use super::Repo;

/// A store with one small pack that has whole objects and both kinds of delta on request.
fn small_pack(offsets: &str) -> (Repo, BTreeMap<ObjectId, Object>, PathBuf) {
    let repo = Repo::new();
    let mut text: Vec<String> = (0..12).map(|n| format!("line {n}")).collect();
    for edit in 0..3 {
        text[edit] = format!("edit {edit}");
        repo.write("dir/text", text.join("\n").as_bytes());
        repo.commit("edit");
    }
    let setting = format!("repack.useDeltaBaseOffset={offsets}");
    repo.git(&["-c", &setting, "repack", "-q", "-adf"]);
    repo.git(&["prune-packed"]);
    let pack = format!("{}.pack", repo.objects().packs().unwrap()[0].stem());
    let path = repo.objects_path().join("pack").join(pack);
    let expected = repo.all_as_git_reads_them();
    (repo, expected, path)
}

#[allow(clippy::disallowed_methods)]
fn put(path: &std::path::Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
}

/// Reads everything; returns how many objects came back. Each of them must be right.
fn count_readable(repo: &Repo, expected: &BTreeMap<ObjectId, Object>, what: &str) -> usize {
    let objects = repo.objects();
    let mut readable = 0;
    for (id, object) in expected {
        let _ = objects.read_header(id);
        let _ = objects.contains(id);
        if let Ok(read) = objects.read(id) {
            assert_eq!(&read, object, "{what}: wrong bytes for {id}");
            readable += 1;
        }
        let mut streamed = Vec::new();
        let result = objects.stream_blob(id, &mut |bytes| {
            streamed.extend_from_slice(bytes);
            Ok(())
        });
        assert!(result.is_err() || streamed == object.data, "{what}: wrong bytes for {id}");
    }
    let packs = objects.packs().unwrap_or_default();
    let _ = packs.iter().flat_map(|pack| pack.index().entries()).count();
    readable
}

fn flip_bytes(offsets: &str, extension: &str, step: usize) {
    let (repo, expected, path) = small_pack(offsets);
    let path = path.with_extension(extension);
    let good = std::fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(step) {
        let mut bad = good.clone();
        bad[at] ^= [0x01, 0x80, 0xff][at % 3];
        put(&path, &bad);
        count_readable(&repo, &expected, &format!("byte {at} of the {extension}"));
    }
    put(&path, &good);
    assert_eq!(count_readable(&repo, &expected, "repaired"), expected.len());
}

#[test]
fn a_flipped_byte_in_a_pack_never_yields_wrong_bytes() {
    flip_bytes("true", "pack", 1);
    flip_bytes("false", "pack", 1);
}

#[test]
fn a_flipped_byte_in_an_index_never_yields_wrong_bytes() {
    flip_bytes("true", "idx", 5);
}

#[test]
fn a_file_cut_at_any_length_never_yields_wrong_bytes() {
    let (repo, expected, pack) = small_pack("false");
    for extension in ["pack", "idx"] {
        let path = pack.with_extension(extension);
        let good = std::fs::read(&path).unwrap();
        for length in 0..good.len() {
            put(&path, &good[..length]);
            count_readable(&repo, &expected, &format!("{extension} cut at {length}"));
        }
        put(&path, &good);
    }
    assert_eq!(count_readable(&repo, &expected, "repaired"), expected.len());
}

#[test]
fn a_damaged_copy_is_replaced_by_an_intact_one() {
    let (repo, expected, pack) = small_pack("true");
    let good = std::fs::read(&pack).unwrap();
    put(&pack, &vec![0; good.len()]);
    let index_path = pack.with_extension("idx");
    let index = std::fs::read(&index_path).unwrap();
    // Without its index git does not see the pack, and stores everything again.
    put(&index_path, b"");
    for object in expected.values() {
        repo.write("content", &object.data);
        repo.git(&["hash-object", "-w", "-t", object.kind.name(), "content"]);
    }
    put(&index_path, &index);
    assert_eq!(count_readable(&repo, &expected, "with loose copies"), expected.len());
}

#[test]
fn an_unreadable_index_is_not_called_missing_objects() {
    let (repo, expected, pack) = small_pack("true");
    put(&pack.with_extension("idx"), b"not an index");
    let objects = repo.objects();
    let id = expected.keys().next().unwrap();
    assert!(matches!(objects.read(id), Err(ObjectError::Damaged { .. })));
    assert!(matches!(objects.contains(id), Err(ObjectError::Damaged { .. })));
    assert!(!objects.contains_listed(id).unwrap());
    assert_eq!(objects.unreadable_packs().unwrap().len(), 1);
}

#[test]
fn an_empty_or_broken_loose_file_counts_as_absent() {
    let repo = Repo::new();
    repo.write("file", b"some content\n");
    let hex = String::from_utf8(repo.git(&["hash-object", "-w", "file"])).unwrap();
    let id = ObjectId::from_hex(hex.trim().as_bytes()).unwrap();
    let path = repo.objects_path().join(&hex[..2]).join(hex[2..].trim());
    let good = std::fs::read(&path).unwrap();
    let objects = repo.objects();
    assert!(objects.contains(&id).unwrap());
    for bad in [&b""[..], b"x", &good[..2], b"blob 13\0some content\n"] {
        put(&path, bad);
        assert!(!objects.contains(&id).unwrap());
        assert!(matches!(objects.read(&id), Err(ObjectError::Damaged { .. })));
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        put(&path, &bad);
        if let Ok(object) = objects.read(&id) {
            assert_eq!(object.data, b"some content\n", "byte {at}");
        }
        put(&path, &good[..at]);
        assert!(objects.read(&id).is_err() || at + 4 >= good.len(), "cut at {at}");
    }
    put(&path, &good);
    assert!(objects.read(&id).is_ok());
}

/// Takes a large object and keeps nothing of it.
struct Nowhere;

impl stored::LargeSink for Nowhere {
    fn begin(&mut self, _kind: Kind, _size: u64, _compressed: bool) -> std::io::Result<()> {
        Ok(())
    }

    fn take(&mut self, _bytes: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_whole_object_under_the_id_of_another_is_damage() {
    let repo = Repo::new();
    let stored = |content: &[u8]| {
        repo.write("file", content);
        let hex = String::from_utf8(repo.git(&["hash-object", "-w", "file"])).unwrap();
        let id = ObjectId::from_hex(hex.trim().as_bytes()).unwrap();
        (id, repo.objects_path().join(&hex[..2]).join(hex[2..].trim()))
    };
    let (_, path) = stored(b"one\n");
    let (other, other_path) = stored(b"two\n");
    put(&other_path, &std::fs::read(path).unwrap());
    let objects = repo.objects();
    let read = objects.read(&other);
    assert!(matches!(read, Err(ObjectError::Damaged { .. })), "{read:?}");
    let streamed = objects.stream_blob(&other, &mut |_| Ok(()));
    assert!(matches!(streamed, Err(ObjectError::Damaged { .. })), "{streamed:?}");
    let merged = objects.stream_stored(&other, &mut Nowhere);
    assert!(matches!(merged, Err(ObjectError::Damaged { .. })), "{merged:?}");
}
