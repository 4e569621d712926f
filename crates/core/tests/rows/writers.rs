//! Files that somebody writes while they are saved: each is stored in some state it had, or named as unstable.
//!
//! Every content describes itself. It is a row of records, and a record is the number of its generation over
//! and over; so a state the file can have had is told from one that was put together from two readings.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use herma_core::Settings;
use herma_fs::publish::Durability;
use herma_testkit::tree::Tree;
use herma_testkit::{Bounded, faults};
use herma_worktree::reason::Reason;

use crate::engine::project::TestProject;
use crate::rows::places;

/// Bytes of a record.
const RECORD: usize = 512;
/// Records of a file that is written as a whole.
const RECORDS: usize = 100;
/// Records of the file that is written through a mapping: one to a page.
const PAGES: usize = 16;
const PAGE: usize = 4096;

/// A record of this generation.
fn record(generation: u64) -> Vec<u8> {
    generation.to_le_bytes().repeat(RECORD / 8)
}

fn content(generation: u64) -> Vec<u8> {
    record(generation).repeat(RECORDS)
}

/// The generations of the records of `bytes`; `None` if a record is torn or cut.
fn generations(bytes: &[u8]) -> Option<Vec<u64>> {
    let generation = |chunk: &[u8]| {
        let (first, _) = chunk.split_first_chunk::<8>()?;
        let generation = u64::from_le_bytes(*first);
        (chunk == record(generation)).then_some(generation)
    };
    bytes.chunks(RECORD).map(generation).collect()
}

/// Was the file ever so, if it is only appended to?
fn was_appended(bytes: &[u8]) -> bool {
    generations(bytes).is_some_and(|found| found.iter().copied().eq(0..found.len() as u64))
}

/// Was the file ever so, if it is emptied and written again from its beginning?
fn was_begun(bytes: &[u8]) -> bool {
    // A write grows the file page by page, whatever a record is.
    let whole = bytes.len() - bytes.len() % RECORD;
    let found = generations(&bytes[..whole]);
    found.is_some_and(|found| found.iter().all(|g| *g == found[0]))
}

/// Was the file ever so, if it is written over from its beginning to its end?
fn was_overwritten(bytes: &[u8]) -> bool {
    // Where a write has come to need not be the end of a record.
    let words: Vec<u64> =
        bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let one_or_two = words.iter().all(|word| *word == words[0] || *word + 1 == words[0]);
    one_or_two && words.is_sorted_by(|one, next| one >= next)
}

/// Was the file ever so, if it is replaced as a whole?
fn was_whole(bytes: &[u8]) -> bool {
    bytes.len() == RECORD * RECORDS && was_begun(bytes)
}

/// Was the file ever so, if its pages are stored to one after the other?
fn was_mapped(bytes: &[u8]) -> bool {
    let words: Vec<u8> = bytes.chunks(PAGE).flat_map(|page| page[..8].to_vec()).collect();
    bytes.len() == PAGE * PAGES && was_overwritten(&words)
}

/// A file, and what it can have been.
type Rule = (&'static str, fn(&[u8]) -> bool);

const RULES: [Rule; 8] = [
    ("appended", was_appended),
    ("truncated", was_begun),
    ("overwritten", was_overwritten),
    ("replaced", was_whole),
    ("deleted", was_begun),
    ("here/moved", was_whole),
    ("there/moved", was_whole),
    ("mapped", was_mapped),
];

/// Writes until it is told to stop, each writer in its own way.
fn write_all(root: &Path, running: &(dyn Fn() -> bool + Sync)) {
    let path = |name: &str| root.join(name);
    // A moment's rest leaves the saves a part of the processor.
    let rest = |_: &u64| {
        std::thread::sleep(Duration::from_micros(200));
        running()
    };
    let generations = || (0_u64..).take_while(rest);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::create(path("appended")).unwrap();
            let mut next = 0;
            for _ in generations() {
                if next == 1000 {
                    file = File::create(path("appended")).unwrap();
                    next = 0;
                }
                file.write_all(&record(next)).unwrap();
                next += 1;
            }
        });
        scope.spawn(|| {
            for generation in generations() {
                let mut file = File::create(path("truncated")).unwrap();
                file.write_all(&content(generation)).unwrap();
            }
        });
        scope.spawn(|| {
            let open = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .open(path("overwritten"));
            let file = open.unwrap();
            for generation in generations() {
                file.write_all_at(&content(generation), 0).unwrap();
            }
        });
        scope.spawn(|| {
            for generation in generations() {
                std::fs::write(path(".new"), content(generation)).unwrap();
                std::fs::rename(path(".new"), path("replaced")).unwrap();
            }
        });
        scope.spawn(|| {
            for generation in generations() {
                std::fs::write(path("deleted"), content(generation)).unwrap();
                std::fs::remove_file(path("deleted")).unwrap();
            }
        });
        scope.spawn(|| {
            for _ in generations() {
                std::fs::rename(path("here"), path("there")).unwrap();
                std::fs::rename(path("there"), path("here")).unwrap();
            }
        });
    });
}

/// A process that ends with the test.
struct Mapping(Child);

impl Drop for Mapping {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that stores to the pages of `mapped`, each word at once (`struct.pack_into` clears it first); `None` where there is no Python.
fn start_mapping(root: &Path) -> Option<Mapping> {
    let script = "
import mmap, sys, time
with open(sys.argv[1], 'r+b') as file:
    words = memoryview(mmap.mmap(file.fileno(), 0)).cast('Q')
    generation = 1
    while True:
        for at in range(0, len(words), 512):
            words[at] = generation
        generation += 1
        time.sleep(0.0002)
";
    std::fs::write(root.join("mapped"), vec![0; PAGE * PAGES]).unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(root.join("mapped"));
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .bounded_spawn()
        .ok();
    if child.is_none() {
        herma_testkit::skipped("python3", "nobody writes through a mapping");
    }
    child.map(Mapping)
}

/// What a checkpoint stored is what the files were; how many of them were named as unstable.
fn check(p: &TestProject, tree: &Tree, number: usize, ignored: &str) -> usize {
    let receipt = p.project().receipt(&p.find("@")).unwrap();
    let unstable: Vec<String> = receipt
        .left_out
        .iter()
        .filter(|item| item.reason == Reason::Unstable)
        .map(|item| item.path.to_string())
        .collect();
    assert_eq!(tree.file("steady"), Some(&b"steady\n"[..]), "save {number}");
    for (path, was) in RULES {
        let Some(bytes) = tree.file(path) else {
            continue;
        };
        let is_named = unstable.iter().any(|name| name == path) || path == ignored;
        assert!(
            is_named || was(bytes),
            "save {number}: {path} is torn and not named: {}",
            told(bytes)
        );
    }
    unstable.len()
}

/// How the generations follow each other in a torn file.
fn told(bytes: &[u8]) -> String {
    let mut runs: Vec<(u64, usize)> = Vec::new();
    for word in bytes.chunks(8) {
        let mut whole = [0; 8];
        whole[..word.len()].copy_from_slice(word);
        let value = u64::from_le_bytes(whole);
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    runs.truncate(20);
    format!("{} bytes, (generation, words): {runs:?}", bytes.len())
}

fn save_while_written(p: &TestProject, ignored: &str) {
    let saves = if faults::is_full() { 1000 } else { 60 };
    p.write("steady", "steady\n");
    p.write("here/moved", content(1));
    let mapping = start_mapping(&p.root);
    let stop = AtomicBool::new(false);
    let running = || !stop.load(Ordering::Relaxed);
    let mut named = 0;
    std::thread::scope(|scope| {
        let writers = scope.spawn(|| write_all(&p.root, &running));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for number in 0..saves {
                p.write("tick", number.to_string());
                let made = p.save("while others write");
                let tree = p.saved_tree(&made.checkpoint);
                named += check(p, &tree, number, ignored);
            }
        }));
        stop.store(true, Ordering::Relaxed);
        writers.join().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    drop(mapping);
    eprintln!("{saves} saves while others wrote, {named} files named as unstable");
    p.fsck_but_dangling();
}

fn settings() -> Settings {
    Settings { durability: Durability::Cache, ..Settings::default() }
}

#[test]
fn files_written_during_saves_are_stored_in_a_state_they_had_or_named() {
    // Where memory is the disk, stores through a mapping leave no trace: they may tear what is saved.
    let p = TestProject::with(settings());
    let ignored = if places::is_in_memory(&p.root) { "mapped" } else { "" };
    save_while_written(&p, ignored);
}

#[test]
fn files_on_a_disk_written_during_saves_are_stored_in_a_state_they_had_or_named() {
    if let Some(p) = places::project_on_disk(settings()) {
        save_while_written(&p, "");
    }
}
