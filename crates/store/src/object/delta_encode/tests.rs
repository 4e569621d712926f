//! Tests of making deltas, with our own and git's way of applying them as the judges.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::object::{Kind, delta};
use crate::testing::{Fresh, git_output};
use crate::{ObjectId, object};

fn delta_of(base: &[u8], target: &[u8]) -> Vec<u8> {
    let index = DeltaIndex::new(base).unwrap();
    let delta = index.encode(target, usize::MAX).unwrap();
    assert!(delta::apply(base, &delta).unwrap() == target);
    delta
}

/// How many bytes are compared to make the delta.
fn work(base: &[u8], target: &[u8]) -> u64 {
    let index = DeltaIndex::new(base).unwrap();
    let mut encoder = Encoder {
        index: &index,
        target,
        delta: Vec::new(),
        limit: usize::MAX,
        done: 0,
        compared: 0,
    };
    encoder.run().unwrap();
    encoder.compared
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

fn text(lines: usize) -> Vec<u8> {
    (0..lines).fold(Vec::new(), |mut text, n| {
        text.extend_from_slice(format!("this is line {n} of the text\n").as_bytes());
        text
    })
}

/// Git builds the same object out of a pack with the base and the delta.
fn assert_git_agrees(base: &[u8], target: &[u8]) {
    use sha1::Digest;
    let fresh = Fresh::new();
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x02".to_vec();
    pack.extend(crate::object::deflate::entry(Kind::Blob, base));
    let made = delta_of(base, target);
    let blob = crate::object::deflate::entry(Kind::Blob, &made);
    let header = crate::object::deflate::entry_header(Kind::Blob, made.len() as u64);
    pack.push((blob[0] & 0x8f) | (7 << 4));
    pack.extend_from_slice(&header[1..]);
    pack.extend_from_slice(object::id_of(Kind::Blob, base).unwrap().as_bytes());
    pack.extend_from_slice(&blob[header.len()..]);
    let checksum = sha1::Sha1::digest(&pack);
    pack.extend_from_slice(&checksum);
    let unpacked = git_output(&fresh.store(), &["unpack-objects", "-q"], &pack);
    assert!(unpacked.status.success(), "{unpacked:?}");
    let id: ObjectId = object::id_of(Kind::Blob, target).unwrap();
    let shown = git_output(&fresh.store(), &["cat-file", "blob", &id.to_hex()], b"");
    assert!(shown.stdout == target);
}

#[test]
fn a_small_edit_makes_a_small_delta() {
    let base = text(2000);
    let mut target = base.clone();
    target.splice(30_000..30_010, *b"changed here");
    let delta = delta_of(&base, &target);
    assert!(delta.len() < 64, "{} bytes", delta.len());
    assert_git_agrees(&base, &target);
}

#[test]
fn moved_and_repeated_parts_are_copied() {
    let base = noise(200_000, 1);
    let target = [&base[100_000..], &base[..100_000], &base[50_000..150_000]].concat();
    let delta = delta_of(&base, &target);
    assert!(delta.len() < 64, "{} bytes", delta.len());
    assert_git_agrees(&base, &target);
}

#[test]
fn a_delta_above_the_limit_is_not_made() {
    let base = noise(1000, 1);
    let other = noise(1000, 2);
    let index = DeltaIndex::new(&base).unwrap();
    assert_eq!(index.encode(&other, 500), None);
    let exact = index.encode(&other, usize::MAX).unwrap().len();
    assert_eq!(index.encode(&other, exact).unwrap().len(), exact);
    assert_eq!(index.encode(&other, exact - 1), None);
}

#[test]
fn empty_and_tiny_objects_are_encoded() {
    for base in [&b""[..], b"x", b"fifteen bytes!!", b"sixteen bytes!!!"] {
        for target in [&b""[..], b"y", b"sixteen bytes!!!", b"1sixteen bytes!!!2"] {
            delta_of(base, target);
        }
    }
}

#[test]
fn every_copy_size_around_the_limits_is_encoded() {
    let base = noise(0x200_0010, 3);
    let index = DeltaIndex::new(&base).unwrap();
    for length in [
        0xff, 0x100, 0xffff, 0x1_0000, 0x1_0001, 0x2_0000, 0xff_0000, 0xff_ffff, 0x100_0000,
        0x100_ffff, 0x1ff_fffe, 0x1ff_ffff,
    ] {
        let target = &base[16..16 + length];
        let delta = index.encode(target, 48).unwrap();
        assert!(delta::apply(&base, &delta).unwrap() == target, "{length:#x}");
    }
}

#[test]
fn offsets_of_four_bytes_reach_the_end_of_a_large_base() {
    let base = noise(20 << 20, 4);
    let target = [&base[17 << 20..], b"between", &base[..1000]].concat();
    assert!(delta_of(&base, &target).len() < 48);
    assert_git_agrees(&base, &target);
}

#[test]
fn megabytes_of_the_same_take_one_pass() {
    const SIZE: usize = 16 << 20;
    let zeros = vec![0; SIZE];
    let lines = b"the same line again and again\n".repeat(SIZE / 30);
    assert!(work(&zeros, &zeros) <= 2 * SIZE as u64);
    assert!(work(&lines, &lines) <= 2 * SIZE as u64);
    assert!(delta_of(&zeros, &zeros[1000..]).len() < 32);
    assert!(delta_of(&lines, &lines[30..]).len() < 32);
}

#[test]
fn the_worst_input_takes_work_in_proportion_to_its_length() {
    const SIZE: usize = 256 << 10;
    let zeros = vec![0; SIZE];
    let mut speckled = zeros.clone();
    for at in (0..SIZE).step_by(5000) {
        speckled[at] = 1;
    }
    // Every few bytes a match ends, and all matches begin with the same block.
    let broken: Vec<u8> =
        (0..SIZE as u32 / 24).flat_map(|n| [&[0; 20][..], &n.to_le_bytes()].concat()).collect();
    let inputs = [&zeros, &speckled, &broken];
    for base in inputs {
        for target in inputs {
            let most = CANDIDATES as u64 * 3 * target.len() as u64;
            assert!(work(base, target) <= most);
        }
    }
}

/// An edit: what part of the target is replaced, and by what.
fn edits() -> impl Strategy<Value = Vec<(usize, usize, Vec<u8>)>> {
    let edit = (any::<usize>(), 0_usize..200, prop::collection::vec(0_u8..4, 0..100));
    prop::collection::vec(edit, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn edited_text_comes_back(lines in 0_usize..400, edits in edits()) {
        let base = text(lines);
        let target = edited(&base, &edits);
        delta_of(&base, &target);
        delta_of(&target, &base);
    }

    #[test]
    fn any_bytes_come_back(
        base in prop::collection::vec(0_u8..3, 0..600),
        target in prop::collection::vec(0_u8..3, 0..600),
    ) {
        delta_of(&base, &target);
    }
}

fn edited(base: &[u8], edits: &[(usize, usize, Vec<u8>)]) -> Vec<u8> {
    let mut target = base.to_vec();
    for (at, removed, inserted) in edits {
        let from = at % (target.len() + 1);
        let until = (from + removed).min(target.len());
        target.splice(from..until, inserted.iter().copied());
    }
    target
}

#[test]
fn git_builds_what_we_meant_from_many_edits() {
    let mut rows = String::new();
    for n in 0..3000 {
        let _ = writeln!(rows, "row {n}: {}", n * 7919 % 104_729);
    }
    let base = rows.into_bytes();
    let edits: Vec<_> =
        (0..40_usize).map(|n| (n * 1_234_577, n * 5 % 90, noise(n * 3, n as u64))).collect();
    assert_git_agrees(&base, &edited(&base, &edits));
}
