//! Changes that leave little trace between two saves: the same size, the time put back, another file under
//! the name, a store through a mapping. Each of them is in the next checkpoint.

use std::fs::{File, FileTimes, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use herma_core::{ObjectId, Settings};
use herma_fs::publish::Durability;
use herma_store::object::{Kind, id_of};
use herma_testkit::{Bounded, faults};

use crate::engine::project::TestProject;
use crate::rows::places;

/// Files changed between two saves.
const FILES: u64 = 20;

fn rounds() -> u64 {
    let changes = if faults::is_full() { 10_000 } else { 200 };
    changes / FILES
}

fn name(file: u64) -> String {
    format!("file-{file:02}")
}

fn content(file: u64, generation: u64) -> Vec<u8> {
    let words = [file.to_le_bytes(), generation.to_le_bytes()].concat();
    words.repeat(8)
}

/// The tree of a project with only these files.
fn expected(generation: u64) -> ObjectId {
    let entries = (0..FILES).flat_map(|file| {
        let blob = id_of(Kind::Blob, &content(file, generation)).unwrap();
        let head = format!("100644 {}\0", name(file));
        [head.as_bytes(), blob.as_bytes()].concat()
    });
    id_of(Kind::Tree, &entries.collect::<Vec<u8>>()).unwrap()
}

fn settings() -> Settings {
    Settings { durability: Durability::Cache, ..Settings::default() }
}

fn open(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

fn rewrite(path: &Path, bytes: &[u8]) {
    open(path).write_all_at(bytes, 0).unwrap();
}

fn put_time_back(path: &Path, bytes: &[u8]) {
    let before = path.metadata().unwrap().modified().unwrap();
    let file = open(path);
    file.write_all_at(bytes, 0).unwrap();
    let times = FileTimes::new().set_modified(before);
    file.set_times(times).unwrap();
}

fn replace(path: &Path, bytes: &[u8]) {
    let before = path.metadata().unwrap().modified().unwrap();
    // Outside of the project, so that its directory is changed by the rename alone.
    let beside = path.parent().unwrap().with_file_name("beside");
    std::fs::write(&beside, bytes).unwrap();
    let times = FileTimes::new().set_modified(before);
    open(&beside).set_times(times).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

/// Changes every file and saves, again and again. The number of changes that were missed is none.
fn change_and_save(p: &TestProject, mut change: impl FnMut(u64)) {
    for file in 0..FILES {
        p.write(&name(file), content(file, 0));
    }
    assert_eq!(p.save("first").checkpoint.tree, expected(0));
    for generation in 1..=rounds() {
        change(generation);
        let saved = p.save("after the change");
        assert_eq!(saved.checkpoint.tree, expected(generation), "round {generation}");
    }
    eprintln!("{} changes, each in the next checkpoint", rounds() * FILES);
    p.fsck();
}

fn none_is_missed(change: fn(&Path, &[u8])) {
    let on_disk = places::project_on_disk(settings());
    for p in [Some(TestProject::with(settings())), on_disk].iter().flatten() {
        change_and_save(p, |generation| {
            for file in 0..FILES {
                change(&p.path(&name(file)), &content(file, generation));
            }
        });
    }
}

#[test]
fn a_file_written_over_with_as_many_bytes_is_saved() {
    none_is_missed(rewrite);
}

#[test]
fn a_file_whose_time_was_put_back_is_saved() {
    none_is_missed(put_time_back);
}

#[test]
fn a_file_of_the_same_size_and_time_moved_into_the_place_is_saved() {
    none_is_missed(replace);
}

/// A process that has all files mapped; it ends with the test.
struct Mapper {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Mapper {
    fn start(root: &Path) -> Option<Self> {
        let script = "
import mmap, os, struct, sys
files = []
for name in sorted(os.listdir(sys.argv[1])):
    with open(os.path.join(sys.argv[1], name), 'r+b') as file:
        files.append(mmap.mmap(file.fileno(), 0))
for line in sys.stdin:
    for pages in files:
        for at in range(8, len(pages), 16):
            struct.pack_into('<Q', pages, at, int(line))
    print(flush=True)
";
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(root);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).bounded_spawn();
        let mut child = spawned.ok()?;
        let answers = BufReader::new(child.stdout.take()?);
        Some(Self { child, answers })
    }

    fn store(&mut self, generation: u64) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{generation}").unwrap();
        self.answers.read_line(&mut String::new()).unwrap();
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Only on a disk: where memory is the disk, such a store leaves no trace at all.
#[test]
fn a_store_through_a_mapping_is_saved() {
    let Some(p) = places::project_on_disk(settings()) else {
        return;
    };
    let mut mapper = None;
    change_and_save(&p, |generation| {
        if generation == 1 {
            mapper = Mapper::start(&p.root);
        }
        if let Some(mapper) = &mut mapper {
            mapper.store(generation);
            return;
        }
        if generation == 1 {
            herma_testkit::skipped("python3", "the files are written instead of mapped");
        }
        for file in 0..FILES {
            rewrite(&p.path(&name(file)), &content(file, generation));
        }
    });
}

/// What the save before a restore noted about a file that is mapped is not believed: nobody waited for its pages.
#[test]
fn a_store_through_a_mapping_after_a_restore_is_saved() {
    let Some(p) = places::project_on_disk(settings()) else {
        return;
    };
    let mut mapper = None;
    change_and_save(&p, |generation| {
        if generation == 1 {
            mapper = Mapper::start(&p.root);
        }
        let mut store = |generation| match &mut mapper {
            Some(mapper) => mapper.store(generation),
            None => (0..FILES).for_each(|file| {
                rewrite(&p.path(&name(file)), &content(file, generation));
            }),
        };
        store(1_000_000 + generation);
        p.write("surplus", "to be removed\n");
        // Whatever is settled by the clock is settled then.
        std::thread::sleep(std::time::Duration::from_millis(20));
        p.restore_paths("@", &["surplus"]).unwrap();
        store(generation);
    });
}
