//! Every stream is read back by two libraries that are none of ours.

use proptest::prelude::*;

use super::codes::Codes;
use super::codes::Counts;
use super::finder::Finder;
use super::finder::Seen;
use super::*;

/// What libdeflate makes of a stream.
fn inflated(stream: &[u8], size: usize) -> Vec<u8> {
    crate::object::deflate::inflate(stream, size).expect("it can be read")
}

/// A stream of `data`, however long it becomes, which is read back.
fn checked(finder: &mut Finder, codes: &Codes, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(finder, codes, &mut bytes, data);
    assert!(inflated(&bytes, data.len()) == data);
    bytes
}

/// Codes that were made of other files.
fn learned_from(files: &[&[u8]]) -> Codes {
    let (mut finder, mut counts) = (Finder::default(), Counts::default());
    for file in files {
        finder.find(file, &mut counts);
    }
    Codes::suited_to(&counts)
}

/// Bytes nobody would call text, the same on every machine.
fn noise(length: usize, mut seed: u64) -> Vec<u8> {
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    (0..length).map(|_| next() as u8).collect()
}

fn text(number: usize) -> String {
    let line = |line| {
        let other = line * number % 97;
        format!("let value_{line} = compute({other}, name);\n")
    };
    (0..200).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn every_byte_length_and_distance_comes_back() {
    let codes = learned_from(&[b"fn main() {}"]);
    let mut finder = Finder::default();
    let all: Vec<u8> = (0..=255).collect();
    checked(&mut finder, &codes, &all);
    for length in 0..600 {
        checked(&mut finder, &codes, &vec![b'a'; length]);
    }
    // What is repeated, as far back as can be, one more, and all powers of two with their neighbours.
    let around = |n: usize| [n - 1, n, n + 1];
    for distance in (4..=15).flat_map(|power| around(1 << power)) {
        let mut data = noise(distance, 7);
        let again = data[..distance.min(300)].to_vec();
        data.extend(again);
        checked(&mut finder, &codes, &data);
    }
}

#[test]
fn every_symbol_is_written_as_deflate_wants_it() {
    every_symbol_comes_back(&learned_from(&[]));
    every_symbol_comes_back(&Codes::well_known());
}

/// Told one by one, so that none depends on what the finder finds.
fn every_symbol_comes_back(codes: &Codes) {
    let before = noise(32 << 10, 3);
    let distances = (1..=32 << 10).step_by(13).chain([1, 2, 3, 4, 32 << 10]);
    let lengths = (4..=258).cycle();
    let mut bytes = Vec::new();
    let mut stream = codes.begin(&mut bytes, 4 << 20);
    let mut expected = before.clone();
    stream.bytes(&before);
    for (distance, length) in distances.zip(lengths) {
        stream.repeat(length, distance);
        for _ in 0..length {
            expected.push(expected[expected.len() - distance]);
        }
    }
    stream.end();
    let checksum = zlib_rs::adler32::adler32(1, &expected);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    assert!(inflated(&bytes, expected.len()) == expected);
}

#[test]
fn a_small_file_is_written_without_telling_codes() {
    let mut learned = Learned::default();
    for number in 0..64 {
        learned.compress(&mut Vec::new(), text(number).as_bytes());
    }
    let mut bytes = Vec::new();
    let small = &text(70)[..WORTH_TELLING - 1];
    assert!(learned.compress(&mut bytes, small.as_bytes()));
    assert_eq!(bytes[2] & 0b111, 0b011, "one block, of well-known codes");
    assert!(inflated(&bytes, small.len()) == small.as_bytes());
    assert!(bytes.len() < small.len() / 2, "{}", bytes.len());
    let start = bytes.len();
    assert!(!learned.compress(&mut bytes, &noise(200, 5)));
    assert_eq!(bytes.len(), start, "nothing is left behind");
}

#[test]
fn what_another_file_left_in_the_table_is_never_a_match() {
    let codes = learned_from(&[]);
    let mut finder = Finder::default();
    let file = noise(500, 11);
    // Within one file the second half would be a repetition of the first.
    for _ in 0..3 {
        assert!(checked(&mut finder, &codes, &file).len() > file.len());
    }
}

#[test]
fn places_begin_anew_before_they_run_out() {
    let codes = learned_from(&[]);
    let file = text(3);
    let largest = vec![b'x'; *SIZES.end()];
    for before in [0, 1, 30_000, 262_144, 294_912, 294_913, 294_914, 500_000] {
        let mut finder = Finder::at_place(u32::MAX - before);
        checked(&mut finder, &codes, &largest);
        for _ in 0..4 {
            checked(&mut finder, &codes, file.as_bytes());
        }
    }
}

#[test]
fn only_a_save_of_many_files_learns() {
    let mut learned = Learned::default();
    let mut bytes = Vec::new();
    for number in 0..OTHERS_FIRST + COUNTED_FIRST - 1 {
        assert!(!learned.compress(&mut bytes, text(number as usize).as_bytes()));
        assert!(bytes.is_empty());
    }
    for number in 0..200 {
        let data = text(number);
        let mut bytes = b"before".to_vec();
        assert!(learned.compress(&mut bytes, data.as_bytes()));
        assert_eq!(&bytes[..6], b"before");
        assert!(inflated(&bytes[6..], data.len()) == data.as_bytes());
    }
}

#[test]
fn what_does_not_suit_the_codes_is_left_to_others() {
    let mut learned = Learned::default();
    let mut bytes = Vec::new();
    for number in 0..100 {
        learned.compress(&mut bytes, text(number).as_bytes());
    }
    let before = bytes.clone();
    assert!(!learned.compress(&mut bytes, &noise(5_000, 5)));
    assert!(!learned.compress(&mut bytes, &vec![b' '; SIZES.end() + 1]));
    assert!(!learned.compress(&mut bytes, b"short"));
    assert!(bytes == before);
}

#[test]
fn after_many_that_do_not_suit_text_is_met_again() {
    let mut learned = Learned::default();
    for number in 0..100 {
        learned.compress(&mut Vec::new(), text(number).as_bytes());
    }
    for seed in 1..100 {
        assert!(!learned.compress(&mut Vec::new(), &noise(2_000, seed)));
    }
    let tried = (0..2 * TRY_EVERY).position(|number| {
        let data = text(number as usize);
        learned.compress(&mut Vec::new(), data.as_bytes())
    });
    assert!(tried.is_some_and(|tried| tried < TRY_EVERY as usize));
    assert!(learned.compress(&mut Vec::new(), text(1).as_bytes()));
}

#[test]
fn nothing_is_learned_from_what_nothing_makes_shorter() {
    let mut learned = Learned::default();
    for seed in 1..200 {
        assert!(!learned.compress(&mut Vec::new(), &noise(2_000, seed)));
    }
    assert!(learned.codes.is_none());
    let lengths: Vec<usize> = [0, 1_000]
        .map(|noisy| {
            let mut learned = Learned::default();
            let mut bytes = Vec::new();
            for number in 0..noisy {
                learned.compress(&mut bytes, &noise(9_000, number + 1));
                learned.compress(&mut bytes, text(number as usize).as_bytes());
            }
            for number in 0..100 {
                bytes.clear();
                learned.compress(&mut bytes, text(number).as_bytes());
            }
            bytes.len()
        })
        .into();
    assert!(
        lengths[0] > 0 && lengths[1] < lengths[0] * 11 / 10,
        "{lengths:?}"
    );
}

#[test]
fn codes_follow_what_the_project_has() {
    let mut learned = Learned::default();
    let compressed = |learned: &mut Learned, data: &[u8]| {
        let mut bytes = Vec::new();
        learned.compress(&mut bytes, data);
        bytes.len()
    };
    for number in 0..300 {
        compressed(&mut learned, text(number).as_bytes());
    }
    // Another alphabet, which repeats itself little.
    let other = |seed: u64| -> Vec<u8> {
        let noise = noise(4_000, seed);
        noise.iter().map(|byte| 0xd0 | byte & 7).collect()
    };
    let first = compressed(&mut learned, &other(1));
    for seed in 2..3_000 {
        compressed(&mut learned, &other(seed));
    }
    let last = compressed(&mut learned, &other(1));
    assert!(last > 0 && (first == 0 || last < first), "{first} {last}");
}

/// Files of words, of few different bytes, of many, and of runs.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let word =
        prop::collection::vec("[a-z_ (){};\n]{1,12}", 0..400).prop_map(|w| w.concat().into());
    let few = prop::collection::vec(0..4_u8, 0..3_000);
    let many = prop::collection::vec(any::<u8>(), 0..3_000);
    let run = prop::collection::vec((any::<u8>(), 1..700_usize), 0..40);
    let runs = run.prop_map(|runs| runs.iter().flat_map(|(b, n)| vec![*b; *n]).collect());
    let parts = prop::collection::vec(prop_oneof![word, few, many, runs], 1..4);
    parts.prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn whatever_was_learned_everything_comes_back(
        known in prop::collection::vec(file(), 0..4),
        files in prop::collection::vec(file(), 1..4),
    ) {
        let known: Vec<&[u8]> = known.iter().map(Vec::as_slice).collect();
        for file in &files {
            comes_back(&known, file);
        }
    }
}
