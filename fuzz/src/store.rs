//! Objects, packs and their indexes, as anybody may have written them.

use std::cell::OnceCell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use herma_core::ObjectId;
use herma_core::types::message::Message;
use herma_fs::Dir;
use herma_store::fuzzing;
use herma_store::object::commit::Commit;
use herma_store::object::delta_encode::DeltaIndex;
use herma_store::object::loose::Loose;
use herma_store::object::{EntryMode, compare_names, delta, parse_tree, push_tree_entry};
use herma_store::objects::Objects;
use herma_store::path::check_name;
use sha1::Digest;

/// No small delta may make more than this: the rest of the memory is for what the fuzzer needs itself.
const MAX_MADE_BYTES: u64 = 64 << 20;

/// A tree: what is read can be written, and reads the same.
pub fn tree(bytes: &[u8]) {
    let Ok(entries) = parse_tree(bytes) else {
        return;
    };
    let mut written = Vec::new();
    for entry in &entries {
        assert_eq!(check_name(&entry.name), Ok(()));
        push_tree_entry(&mut written, entry.mode, &entry.name, &entry.id);
    }
    assert_eq!(parse_tree(&written).as_ref(), Ok(&entries));
    assert!(written.len() <= bytes.len(), "only a mode may be shorter");
    let is_dir = |mode| mode == EntryMode::Directory;
    let in_order = entries.is_sorted_by(|a, b| {
        compare_names(&a.name, is_dir(a.mode), &b.name, is_dir(b.mode)).is_lt()
    });
    assert!(in_order);
}

/// A commit, and what its message says of a checkpoint.
pub fn commit(bytes: &[u8]) {
    message(bytes);
    let Ok(commit) = Commit::parse(bytes) else {
        return;
    };
    let written = Commit::parse(&commit.encode()).expect("what is read can be written");
    assert_eq!((written.tree, &written.parents), (commit.tree, &commit.parents));
    assert_eq!(written.message, commit.message);
    assert_eq!(written.author.seconds, commit.author.seconds);
    // A name may hold what cannot be written; what is written holds nothing like it.
    assert_eq!(Commit::parse(&written.encode()).as_ref(), Ok(&written));
    message(&commit.message);
}

fn message(bytes: &[u8]) {
    let message = Message::parse(bytes);
    let written = Message::parse(&message.encode());
    assert_eq!(written.reason, message.reason, "a reason comes back exactly");
    assert_eq!((&written.facts, written.extra), (&message.facts, message.extra));
    assert_eq!(written.changes, message.changes);
    assert_eq!(Message::parse(&written.encode()), written);
}

/// A delta somebody else made, and one of ours.
pub fn delta(bytes: &[u8]) {
    let [base, delta] = crate::parts(bytes);
    let sizes = delta::sizes(delta);
    if sizes.is_ok_and(|sizes| sizes.result > MAX_MADE_BYTES) {
        return;
    }
    if let Ok(made) = delta::apply(base, delta) {
        assert_eq!(sizes.map(|sizes| sizes.result), Ok(made.len() as u64));
    }
    let index = DeltaIndex::new(base).expect("the base is small");
    for limit in [usize::MAX, delta.len()] {
        if let Some(ours) = index.encode(delta, limit) {
            assert!(ours.len() <= limit);
            assert_eq!(delta::apply(base, &ours).as_deref(), Ok(delta));
        }
    }
}

/// A loose object: a file as it is, or one whose inflated bytes these are.
pub fn loose(bytes: &[u8]) {
    let Some((choice, content)) = bytes.split_first() else {
        return;
    };
    let file = match choice % 2 {
        0 => content.to_vec(),
        _ => deflated(content),
    };
    let id = ObjectId::EMPTY_TREE;
    let (fan, name) = id.to_hex().split_at(2).map_both();
    scratch(|directory| {
        fs::create_dir_all(directory.join(&fan)).expect("there is room");
        fs::write(directory.join(&fan).join(&name), &file).expect("there is room");
        let loose = Loose::new(Arc::new(Dir::open(directory).expect("it is there")));
        let whole = loose.read(&id);
        let mut streamed = Vec::new();
        if let Ok(Some(object)) = loose.open(&id) {
            let size = object.size;
            let done = object.stream(&mut |piece| {
                streamed.extend_from_slice(piece);
                Ok(())
            });
            assert_eq!(done.is_ok(), whole.is_ok());
            assert!(done.is_err() || streamed.len() as u64 == size);
        }
        if let Ok(Some(object)) = &whole {
            assert_eq!(object.data, streamed);
        }
        let objects = Objects::open(Dir::open(directory).expect("it is there"));
        if let Ok(object) = objects.read(&id) {
            assert!(object.data.is_empty(), "only the empty tree has its id");
        }
    });
}

/// Splits a pair into owned halves.
trait BothOwned {
    fn map_both(self) -> (String, String);
}

impl BothOwned for (&str, &str) {
    fn map_both(self) -> (String, String) {
        (self.0.to_owned(), self.1.to_owned())
    }
}

/// A pack without an index: every byte as it is but the checksum, or entries as the bytes describe them.
pub fn pack(bytes: &[u8]) {
    let Some((choice, content)) = bytes.split_first() else {
        return;
    };
    let mut pack = match choice % 2 {
        0 => content.to_vec(),
        _ => described_pack(content),
    };
    pack.extend_from_slice(&sha1::Sha1::digest(&pack));
    scratch(|directory| {
        let packs = directory.join("pack");
        fs::create_dir_all(&packs).expect("there is room");
        fs::write(packs.join("pack-a.pack"), &pack).expect("there is room");
        let _ = fs::remove_file(packs.join("pack-a.idx"));
        let index = fuzzing::pack(&Dir::open(&packs).expect("it is there"), "pack-a");
        if let Some(index) = index {
            fs::write(packs.join("pack-a.idx"), index).expect("there is room");
            let above = Dir::open(directory).expect("it is there");
            let (_, bad) = fuzzing::packed_objects(above, "pack");
            assert_eq!(bad, 0, "an index that was just made finds whole objects only");
        }
    });
}

/// Entries, each a byte for its kind, one for what it builds on, one for its length, and its content; then
/// everything that makes a pack of them.
fn described_pack(mut bytes: &[u8]) -> Vec<u8> {
    let mut pack = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
    let mut offsets = Vec::new();
    while let [kind, base, length, rest @ ..] = bytes {
        let (content, after) = rest.split_at(rest.len().min(usize::from(*length)));
        bytes = after;
        let offset = pack.len();
        let number = kind & 7;
        let mut size = content.len() + usize::from(kind >> 7);
        let mut byte = (number << 4) | (size & 15) as u8;
        size >>= 4;
        while size > 0 {
            pack.push(byte | 0x80);
            byte = (size & 0x7f) as u8;
            size >>= 7;
        }
        pack.push(byte);
        if number == 6 {
            let before: usize = offsets.iter().rev().nth(usize::from(*base)).copied().unwrap_or(12);
            push_distance(&mut pack, offset.saturating_sub(before));
        } else if number == 7 {
            pack.extend_from_slice(&[*base; 20]);
        }
        pack.extend_from_slice(&deflated(content));
        offsets.push(offset);
    }
    let count = offsets.len() as u32;
    pack[8..12].copy_from_slice(&count.to_be_bytes());
    pack
}

fn push_distance(pack: &mut Vec<u8>, mut distance: usize) {
    let mut digits = vec![(distance & 0x7f) as u8];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        digits.push((distance & 0x7f) as u8 | 0x80);
    }
    pack.extend(digits.into_iter().rev());
}

/// The index of a pack, beside a small pack that is whole.
pub fn pack_index(bytes: &[u8]) {
    let mut pack = described_pack(b"\x03\0\x05hello\x03\0\0\x01\0\x01x");
    pack.extend_from_slice(&sha1::Sha1::digest(&pack));
    scratch(|directory| {
        let packs = directory.join("pack");
        fs::create_dir_all(&packs).expect("there is room");
        fs::write(packs.join("pack-a.pack"), &pack).expect("there is room");
        fs::write(packs.join("pack-a.idx"), bytes).expect("there is room");
        let (good, _) = fuzzing::packed_objects(Dir::open(directory).expect("it is there"), "pack");
        assert!(good <= bytes.len() / 24, "an index names no more than it has room for");
    });
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

thread_local! {
    static SCRATCH: OnceCell<PathBuf> = const { OnceCell::new() };
}

/// Runs `work` with a directory that stays from one input to the next.
pub(crate) fn scratch(work: impl FnOnce(&Path)) {
    SCRATCH.with(|scratch| {
        let directory = scratch.get_or_init(|| {
            let name = format!("herma-fuzz-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            fs::create_dir_all(&directory).expect("there is room");
            directory
        });
        work(directory);
    });
}
