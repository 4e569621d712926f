//! Objects that go into the pack piece by piece, and those just small enough for a delta.

use super::*;

const LARGE: usize = WHOLE_ENTRY + 70_000;

fn lines(length: usize) -> Vec<u8> {
    let mut text = b"a line that repeats itself, number 1234567\n".repeat(length / 43 + 1);
    text.truncate(length);
    text
}

fn assert_reads_back(fresh: &Fresh, id: &ObjectId, data: &[u8]) {
    let mut streamed = Vec::new();
    let size = objects(fresh).stream_blob(id, &mut |bytes| {
        streamed.extend_from_slice(bytes);
        Ok(())
    });
    assert_eq!(size.unwrap(), data.len() as u64);
    assert!(streamed == data);
}

#[test]
fn large_objects_are_streamed_between_small_ones() {
    let fresh = Fresh::new();
    let (text, film) = (lines(LARGE), noise(LARGE, 5));
    let contents: [(Kind, &[u8]); 4] =
        [(Kind::Blob, b"before"), (Kind::Blob, &text), (Kind::Blob, &film), (Kind::Blob, b"after")];
    let (_, ids) = write_pack(&fresh, &contents);
    let wanted = unlike(&ids);
    let done = merged(&fresh, &wanted);
    assert_eq!((done.objects, done.deltas), (4, 0));
    keep_only(&fresh, &done);
    for (id, (_, data)) in ids.iter().zip(contents) {
        assert_reads_back(&fresh, id, data);
    }
    let again = merged(&fresh, &wanted);
    assert_eq!(again, done, "well compressed entries are copied");
}

#[test]
fn a_large_object_like_another_becomes_a_delta() {
    let fresh = Fresh::new();
    let first = noise(LARGE, 6);
    let mut second = first.clone();
    second[1_000_000..1_000_004].copy_from_slice(b"edit");
    let mut small = first[..WHOLE_ENTRY - 5].to_vec();
    small[77] ^= 1;
    let contents: [(Kind, &[u8]); 3] =
        [(Kind::Blob, &first), (Kind::Blob, &second), (Kind::Blob, &small)];
    let (_, ids) = write_pack(&fresh, &contents);
    let done = merged(&fresh, &in_a_row(&ids));
    assert_eq!(done.deltas, 2);
    assert!(done.bytes < LARGE as u64 + 100_000);
    keep_only(&fresh, &done);
    for (id, (_, data)) in ids.iter().zip(contents) {
        assert_reads_back(&fresh, id, data);
    }
}

#[test]
fn a_damaged_copy_of_a_large_object_is_undone() {
    let fresh = Fresh::new();
    let film = noise(LARGE, 7);
    let (first, _) = write_pack(&fresh, &[(Kind::Blob, &film)]);
    let (second, ids) = write_pack(&fresh, &[(Kind::Blob, &film), (Kind::Blob, b"after")]);
    let wanted = unlike(&ids);
    for (damaged, intact) in [(first, second), (second, first)] {
        let path = pack_directory(&fresh).join(damaged.pack_file());
        let saved = std::fs::read(&path).unwrap();
        damage(&fresh, damaged, LARGE as u64 - 1000);
        let done = merged(&fresh, &wanted);
        assert!(done.bytes < LARGE as u64 + 100_000, "read from {intact}");
        let pack = pack_directory(&fresh).join(done.name.pack_file());
        fresh.git(&["verify-pack", pack.to_str().unwrap()]);
        std::fs::write(&path, saved).unwrap();
        std::fs::remove_file(pack).unwrap();
        std::fs::remove_file(pack_directory(&fresh).join(done.name.index_file())).unwrap();
    }
    damage(&fresh, first, LARGE as u64 - 1000);
    damage(&fresh, second, LARGE as u64 - 1000);
    let before = names(&pack_directory(&fresh));
    let failed = merge(&fresh.dirs, &objects(&fresh), &wanted, &QUIET).unwrap_err();
    assert!(matches!(failed, GcError::Object(ObjectError::Damaged { .. })));
    assert_nothing_published(&fresh, &before);
}

#[test]
fn a_large_object_stops_at_the_limit_and_on_request() {
    let fresh = Fresh::new();
    let film = noise(LARGE, 8);
    let (_, ids) = write_pack(&fresh, &[(Kind::Blob, &film)]);
    let before = names(&pack_directory(&fresh));
    let max_bytes = 9 << 20;
    let options = MergeOptions { max_bytes, ..QUIET };
    let stopped = merge(&fresh.dirs, &objects(&fresh), &in_a_row(&ids), &options);
    assert!(matches!(stopped, Err(GcError::TooLarge)));
    assert_nothing_published(&fresh, &before);
    let asked = AtomicU64::new(0);
    let progress = |_| asked.fetch_add(1, Ordering::Relaxed) < 3;
    let options = MergeOptions { progress: &progress, ..QUIET };
    let stopped = merge(&fresh.dirs, &objects(&fresh), &in_a_row(&ids), &options);
    assert!(matches!(stopped, Err(GcError::Cancelled)));
    assert_nothing_published(&fresh, &before);
}
