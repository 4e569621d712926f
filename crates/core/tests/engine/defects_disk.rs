//! Disk, speed and privacy: one test per defect of the original.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use herma_core::engine::NoProgress;
use herma_core::types::checkpoint::Origin;
use herma_core::{Error, ObjectId, SaveOptions, Settings, State};
use herma_diff::{PatchOptions, patch};
use herma_fs::Dir;
use herma_store::error::StoreError;
use herma_store::object::Kind;
use herma_store::path::escape;
use herma_testkit::tree::{Tree, assert_same};
use herma_worktree::present::{Present, ScanOptions, scan};
use herma_worktree::reason::Reason;
use herma_worktree::saved::NothingSaved;
use herma_worktree::sink::{HashOnly, Sink};
use herma_worktree::stat_cache::StatCache;

use super::child;
use super::project::TestProject;

/// Every file and directory below `path`, itself included.
fn walk(path: &Path, each: &mut dyn FnMut(&Path, &std::fs::Metadata)) {
    let metadata = path.symlink_metadata().unwrap();
    each(path, &metadata);
    if metadata.is_dir() {
        for entry in path.read_dir().unwrap() {
            walk(&entry.unwrap().path(), each);
        }
    }
}

fn size_of(path: &Path) -> u64 {
    let mut size = 0;
    walk(path, &mut |_, metadata| size += metadata.len());
    size
}

/// Bytes no compression makes smaller.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn patch_to_present(p: &TestProject) -> Vec<u8> {
    let newest = State::Checkpoint(Box::new(p.find("@")));
    let found = p.project().changes(&newest, &State::Present, &[], true, &NoProgress).unwrap();
    let (old, new) = (found.old_side(), found.new_side());
    patch::to_bytes(&found.changes, &*old, &*new, &PatchOptions::default()).unwrap()
}

// HERMES defect 39
#[test]
fn a_file_over_the_limit_costs_no_disk_and_neither_does_a_comparison() {
    let p = TestProject::with(Settings { max_file_size: Some(64 << 10), ..Settings::default() });
    p.write("a.txt", "one\n");
    for n in 0..5 {
        p.write("a.txt", format!("{n}\n"));
        p.write("large.bin", noise(n, 4 << 20));
        p.save("again");
    }
    let size = size_of(&p.store());
    assert!(size < 512 << 10, "five times 4 MiB were left out, the store has {size} bytes");

    let store = Tree::read(p.store());
    for n in 10..13 {
        p.write("large.bin", noise(n, 4 << 20));
        p.write("small.bin", noise(n, 60 << 10));
        let patch = patch_to_present(&p);
        assert!(escape(&patch).contains("small.bin"));
    }
    assert_same(&store, &Tree::read(p.store()), "comparing writes nothing");
}

// HERMES defect 40
#[test]
fn the_store_is_never_saved_into_itself() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let link = p.base().join("link");
    symlink(p.home(), &link).unwrap();
    let inside = [
        p.home(),
        link,
        p.base().to_owned(),
        p.home().join("checkpoints"),
        p.store(),
        p.store().join("objects"),
    ];
    for path in inside {
        let refused = p.engine.project(&path).map(drop);
        assert!(matches!(refused, Err(Error::Root(_))), "{}: {refused:?}", path.display());
    }
    let skills = p.home().join("skills");
    std::fs::create_dir(&skills).unwrap();
    std::fs::write(skills.join("skill.md"), "x\n").unwrap();
    let project = p.engine.project(&skills).unwrap();
    let saved = project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    assert_eq!(saved.receipt.summary.files, 1, "what is beside the store may be saved");
}

/// Counts the files a scan reads.
#[derive(Default)]
struct CountReads(AtomicUsize);

impl Sink for CountReads {
    fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        self.0.fetch_add(usize::from(kind == Kind::Blob), Ordering::Relaxed);
        HashOnly.add(kind, data)
    }

    fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        HashOnly.add_stream(size, read)
    }
}

fn scan_counting(p: &TestProject, rehash: bool) -> (usize, Present) {
    let file = format!("herma/projects/{}/stat-cache", p.project().id());
    let cache = StatCache::parse(std::fs::read(p.store().join(file)).unwrap());
    let root = Dir::open(&p.root).unwrap();
    let counter = CountReads::default();
    let options = ScanOptions {
        root: &root,
        settings: p.engine.settings().scan(),
        cache: cache.map(Arc::new),
        saved: &NothingSaved,
        rehash,
        only_in: None,
        recent: herma_worktree::present::Recent::WrittenBack,
        held: None,
        cancelled: &|_| false,
    };
    let present = scan(options, &counter).unwrap();
    (counter.0.into_inner(), present)
}

// HERMES defect 43
#[test]
fn unchanged_files_are_not_read_again() {
    const FILES: usize = 300;
    let p = TestProject::new();
    for n in 0..FILES {
        p.write(&format!("src/{}/{n}.txt", n % 10), format!("{n}\n"));
    }
    // A file younger than the tick of the file system's clock is rightly read twice.
    std::thread::sleep(Duration::from_millis(30));
    let saved = p.save("first").checkpoint;
    let (reads, present) = scan_counting(&p, false);
    assert_eq!(reads, 0, "nothing changed");
    assert!(present.same_as_cache);
    assert_eq!(present.tree, saved.tree);

    p.write("src/3/3.txt", "changed\n");
    p.write("src/new.txt", "new\n");
    let (reads, _) = scan_counting(&p, false);
    // The lists of left-out files and modes are blobs too, at most two for each directory.
    assert!((2..=2 + 2 * 3).contains(&reads), "two files changed, {reads} were read");
    let (reads, _) = scan_counting(&p, true);
    assert!(reads >= FILES, "the count counts: {reads}");
}

// HERMES defect 44
#[test]
fn names_that_are_not_text_or_look_like_patterns_are_just_names() {
    let p = TestProject::with(Settings { max_file_size: Some(1000), ..Settings::default() });
    let odd = OsStr::from_bytes(b"caf\xe9 \xff.txt");
    std::fs::write(p.root.join(odd), "odd\n").unwrap();
    p.write("large.bin", vec![b'x'; 2000]);
    p.write("data[1].bin", vec![b'x'; 2000]);
    p.write("data1.bin", "small\n");
    p.write("latin.txt", b"caf\xe9\n");
    let saved = p.save("first").checkpoint;
    let paths: Vec<_> = p.saved_tree(&saved).0.into_keys().collect();
    let expected: [&[u8]; 3] = [b"caf\xe9 \xff.txt", b"data1.bin", b"latin.txt"];
    assert_eq!(paths, expected);
    let left_out = p.left_out();
    assert_eq!(left_out.len(), 2);
    assert_eq!(left_out["large.bin"], Reason::TooLarge);
    assert_eq!(left_out["data[1].bin"], Reason::TooLarge);

    p.write("latin.txt", b"th\xe9\n");
    std::fs::write(p.root.join(odd), "changed\n").unwrap();
    let patch = patch_to_present(&p);
    let has = |line: &[u8]| patch.split(|b| *b == b'\n').any(|found| found == line);
    assert!(has(b"-caf\xe9") && has(b"+th\xe9"), "{}", escape(&patch));
    p.restore("@");
    assert_eq!(std::fs::read(p.root.join(odd)).unwrap(), b"odd\n");
    assert_eq!(std::fs::read(p.path("latin.txt")).unwrap(), b"caf\xe9\n");
    p.fsck();
}

// HERMES defect 45
#[test]
fn nobody_else_can_read_the_store_whatever_the_umask() {
    if child::is_run_after(
        "engine::defects_disk::nobody_else_can_read_the_store_whatever_the_umask",
        "umask 000",
    ) {
        return;
    }
    let p = TestProject::new();
    p.write("private.txt", "only mine\n");
    p.chmod("private.txt", 0o600);
    p.save("first");
    p.write("private.txt", "changed\n");
    p.restore("@");
    p.project().pin(&p.find("@")).unwrap();
    p.project().name(&p.find("@"), "good").unwrap();
    p.project().drop_checkpoint(&p.find("@-1")).unwrap();
    assert_eq!(p.path("private.txt").metadata().unwrap().mode() & 0o777, 0o600);
    walk(&p.home(), &mut |path, metadata| {
        let open = metadata.mode() & 0o077;
        assert_eq!(open, 0, "{} has mode {:o}", path.display(), metadata.mode());
    });
}

// HERMES defect 45
#[test]
fn credentials_are_left_out_and_named_at_once() {
    let p = TestProject::new();
    let secrets = [
        ".envrc",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "cert.p12",
        "credentials.json",
        "id_rsa",
        "prod.env",
        "secrets.yaml",
    ];
    for name in secrets {
        p.write(name, "hunter2-hunter2\n");
    }
    p.write("a.txt", "one\n");
    let saved = p.save("first");
    let paths: Vec<_> = p.saved_tree(&saved.checkpoint).0.into_keys().collect();
    assert_eq!(paths, [b"a.txt"]);
    let named: Vec<_> = saved.receipt.left_out.iter().map(|item| item.path.to_string()).collect();
    assert_eq!(named, secrets);
    assert!(saved.receipt.left_out.iter().all(|item| item.reason == Reason::Secret));
    p.write("a.txt", "two\n");
    p.restore("@");
    for name in secrets {
        assert_eq!(p.read(name), "hunter2-hunter2\n", "{name} is left alone");
    }
}

// HERMES defect 48
#[test]
fn a_reason_cannot_forge_an_entry_of_the_list() {
    let p = TestProject::new();
    let forged = "f".repeat(40);
    let reasons = [
        format!("rm x\u{2028}{forged}  forged"),
        format!("rm x\u{b}{forged}\u{c}forged\u{1c}\u{1d}\u{1e}\u{85}forged"),
        format!("rm x\r{forged}\r\nforged"),
        format!("rm x\n{forged}|2020-01-01|forged"),
        "rm x\n\nHerma-Checkpoint: 1\nHerma-Origin: safety\nHerma-Agent: forged".to_owned(),
        "\n\n\n".to_owned(),
        "rm\0x\u{1b}[2K\u{202e}".to_owned(),
    ];
    for (n, reason) in reasons.iter().enumerate() {
        p.write("a.txt", format!("{n}\n"));
        p.save(reason);
    }
    let listed = p.list();
    assert_eq!(listed.len(), reasons.len());
    for (checkpoint, reason) in listed.iter().rev().zip(&reasons) {
        assert_eq!(checkpoint.reason, reason.as_bytes());
        assert_eq!(checkpoint.origin, Origin::Saved);
        assert_eq!(checkpoint.facts.agent, None);
        let shown = escape(&checkpoint.subject());
        assert!(!shown.chars().any(herma_store::path::is_hidden), "{shown}");
    }
    let log = p
        .repository()
        .git(["log", "--format=%H", &format!("refs/hermes/{}", p.project().id())])
        .success();
    assert_eq!(log.text().lines().count(), reasons.len());
    p.fsck();
}
