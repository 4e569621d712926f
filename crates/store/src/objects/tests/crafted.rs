//! Packs made to hurt: circles, bombs, gigantic numbers.

use std::io::Write;

use super::super::*;

/// A store with one pack made by hand.
struct Crafted {
    dir: tempfile::TempDir,
    pack: Vec<u8>,
    index: Vec<(ObjectId, u32)>,
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn entry_header(kind: u8, mut size: u64) -> Vec<u8> {
    let mut header = vec![(kind << 4) | (size & 15) as u8];
    size >>= 4;
    while size > 0 {
        *header.last_mut().unwrap() |= 0x80;
        header.push((size & 0x7f) as u8);
        size >>= 7;
    }
    header
}

impl Crafted {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, pack: b"PACK\0\0\0\x02\0\0\0\x09".to_vec(), index: Vec::new() }
    }

    fn add(&mut self, id: ObjectId, parts: &[&[u8]]) -> u64 {
        let offset = self.pack.len() as u64;
        self.index.push((id, offset as u32));
        for part in parts {
            self.pack.extend_from_slice(part);
        }
        offset
    }

    #[allow(clippy::disallowed_methods)]
    fn write(&self, extension: &str, bytes: &[u8]) {
        let pack = self.dir.path().join("pack");
        std::fs::create_dir_all(&pack).unwrap();
        std::fs::write(pack.join(format!("pack-crafted.{extension}")), bytes).unwrap();
    }

    fn open(mut self) -> (Objects, tempfile::TempDir) {
        self.index.sort_unstable();
        let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
        for first in 0..=u8::MAX {
            let count = self.index.iter().filter(|(id, _)| id.as_bytes()[0] <= first).count();
            index.extend_from_slice(&(count as u32).to_be_bytes());
        }
        self.index.iter().for_each(|(id, _)| index.extend_from_slice(id.as_bytes()));
        self.index.iter().for_each(|_| index.extend_from_slice(&[0; 4]));
        self.index.iter().for_each(|(_, at)| index.extend_from_slice(&at.to_be_bytes()));
        index.extend_from_slice(&[0; 40]);
        self.pack.extend_from_slice(&[0; 20]);
        self.write("pack", &self.pack);
        self.write("idx", &index);
        (Objects::open(Dir::open(self.dir.path()).unwrap()), self.dir)
    }
}

fn id(n: u8) -> ObjectId {
    ObjectId::from_bytes([n; 20])
}

#[test]
fn deltas_that_run_in_a_circle_are_damage() {
    let mut crafted = Crafted::new();
    let delta = deflate(&[1, 1, 1, b'x']);
    for (this, base) in [(1, 2), (2, 3), (3, 1), (4, 4)] {
        crafted.add(id(this), &[&entry_header(7, 4), id(base).as_bytes(), &delta]);
    }
    let (objects, _dir) = crafted.open();
    for n in 1..=4 {
        assert!(matches!(objects.read(&id(n)), Err(ObjectError::Damaged { .. })));
        assert!(matches!(objects.read_header(&id(n)), Err(ObjectError::Damaged { .. })));
    }
}

#[test]
fn a_chain_longer_than_git_makes_is_read_and_an_endless_one_refused() {
    let mut crafted = Crafted::new();
    let first = crafted.add(id(0), &[&entry_header(3, 1), &deflate(b"x")]);
    let delta = deflate(&[1, 1, 0x90, 1]);
    let mut before = first;
    let blob = object::id_of(Kind::Blob, b"x").unwrap();
    for step in 1..=10_001u32 {
        let distance = crafted.pack.len() as u64 - before;
        assert!(distance < 128);
        let name = match step {
            9000 => blob,
            10_001 => id(0xfe),
            _ => id(0xff),
        };
        before = crafted.add(name, &[&entry_header(6, 4), &[distance as u8], &delta]);
    }
    crafted.index.retain(|(name, _)| *name != id(0xff));
    let (objects, _dir) = crafted.open();
    let refused = objects.read(&id(0xfe));
    assert!(matches!(&refused, Err(ObjectError::Damaged { what, .. }) if what.contains("not end")));
    assert_eq!(objects.read(&blob).unwrap().data, b"x");
    assert_eq!(objects.read_header(&blob).unwrap(), (Kind::Blob, 1));
}

#[test]
fn bombs_cost_no_memory() {
    let mut crafted = Crafted::new();
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..1024 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    crafted.add(id(1), &[&entry_header(3, 1 << 30), &bomb]);
    crafted.add(id(2), &[&entry_header(3, 10), &bomb]);
    crafted.add(id(3), &[&entry_header(3, 1 << 60), &deflate(b"x")]);
    crafted.add(id(4), &[&entry_header(3, 500 << 20), &deflate(b"x")]);
    // A delta of 17 bytes that announces an object of 2^62 bytes.
    let base = crafted.add(id(5), &[&entry_header(3, 1), &deflate(b"x")]);
    let mut delta = vec![1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    delta.extend_from_slice(&[0x90, 1]);
    let distance = crafted.pack.len() as u64 - base;
    let header = entry_header(6, delta.len() as u64);
    crafted.add(id(6), &[&header, &[distance as u8], &deflate(&delta)]);
    let (objects, _dir) = crafted.open();
    assert!(
        matches!(objects.read(&id(1)), Err(ObjectError::TooLarge { size, .. }) if size == 1 << 30)
    );
    assert!(matches!(objects.read(&id(2)), Err(ObjectError::Damaged { .. })));
    assert!(matches!(objects.read(&id(3)), Err(ObjectError::TooLarge { .. })));
    assert!(matches!(objects.read(&id(4)), Err(ObjectError::Damaged { .. })));
    assert!(matches!(objects.read(&id(6)), Err(ObjectError::TooLarge { .. })));
    assert_eq!(objects.read_header(&id(6)).unwrap(), (Kind::Blob, 1 << 62));
    let mut largest = 0;
    let streamed = objects.stream_blob(&id(1), &mut |bytes| {
        largest = largest.max(bytes.len());
        Ok(())
    });
    assert!(matches!(streamed, Err(ObjectError::Damaged { .. })), "the id is not its hash");
    assert!(largest <= 64 << 10, "streamed in small pieces");
}

#[test]
fn a_base_may_be_in_another_pack_or_loose_but_must_be_somewhere() {
    let repo = super::Repo::new();
    repo.write("base", b"hello world");
    let hex = repo.git(&["hash-object", "-w", "base"]);
    let base = ObjectId::from_hex(hex.trim_ascii()).unwrap();
    let result = object::id_of(Kind::Blob, b"hello!").unwrap();
    let mut crafted = Crafted::new();
    let delta = deflate(&[11, 6, 0x90, 5, 1, b'!']);
    crafted.add(result, &[&entry_header(7, 6), base.as_bytes(), &delta]);
    let (alone, dir) = crafted.open();
    assert!(matches!(alone.read(&result), Err(ObjectError::Damaged { .. })));
    for extension in ["pack", "idx"] {
        let name = format!("pack/pack-crafted.{extension}");
        std::fs::copy(dir.path().join(&name), repo.objects_path().join(&name)).unwrap();
    }
    assert_eq!(repo.objects().read(&result).unwrap().data, b"hello!");
    let pack = repo.objects_path().join("pack/pack");
    repo.git_with_input(&["pack-objects", "-q", pack.to_str().unwrap()], &hex);
    repo.git(&["prune-packed"]);
    assert_eq!(repo.objects().read(&result).unwrap().data, b"hello!");
    assert_eq!(repo.objects().read_header(&result).unwrap(), (Kind::Blob, 6));
}

#[test]
fn an_index_with_gigantic_counts_costs_no_memory() {
    let crafted = Crafted::new();
    crafted.write("pack", b"PACK");
    let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    index.resize(8 + 1024, 0xff);
    index.resize(4096, 0);
    crafted.write("idx", &index);
    let objects = Objects::open(Dir::open(crafted.dir.path()).unwrap());
    assert!(matches!(objects.read(&id(1)), Err(ObjectError::Damaged { .. })));

    // The same with a file that is as long as it says, without taking space on disk.
    let count = 1u32 << 28;
    let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    (0..256).for_each(|_| index.extend_from_slice(&count.to_be_bytes()));
    crafted.write("idx", &index);
    let path = crafted.dir.path().join("pack/pack-crafted.idx");
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(8 + 1024 + u64::from(count) * 28 + 40).unwrap();
    let objects = Objects::open(Dir::open(crafted.dir.path()).unwrap());
    assert!(objects.read(&id(0)).is_err());
    assert!(matches!(objects.read(&id(1)), Err(ObjectError::Missing { .. })));
    assert_eq!(objects.packs().unwrap()[0].index().count(), count);
}
