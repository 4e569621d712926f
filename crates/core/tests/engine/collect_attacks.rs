//! Collection under attack: hostile trash, cancelling, a store that cannot be written, a disk without room,
//! others at the same time.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herma_core::cleanup::{CleanRequest, Limits};
use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::error::ErrorKind;
use herma_core::types::settings::Keeping;
use herma_core::{Engine, Settings};
use herma_store::gc::Thoroughness;
use herma_testkit::Bounded;
use herma_testkit::git::Repository;
use herma_testkit::tree::{Tree, assert_same};

use super::child;
use super::cleaning::text;
use super::project::{TestProject, engine};
use super::upkeep::{Saves, collect, names_below};

#[test]
fn a_hostile_trash_is_emptied_and_nothing_outside_is_touched() {
    let p = TestProject::new();
    let saves = Saves::make(&p, 3);
    let outside = p.base().join("outside");
    std::fs::create_dir_all(outside.join("sub")).unwrap();
    std::fs::write(outside.join("sub/mine"), "mine").unwrap();
    let before = Tree::read(&outside);
    let trash = p.store().join("herma/trash");
    let numbered = trash.join("00000003");
    std::fs::create_dir_all(numbered.join("a/b/c")).unwrap();
    std::fs::write(numbered.join("a/b/c/file"), "x").unwrap();
    std::fs::create_dir(numbered.join("pack-dir.idx")).unwrap();
    std::fs::write(numbered.join("pack-short.idx"), "x").unwrap();
    std::fs::write(numbered.join("pack-short.pack"), "x").unwrap();
    for name in ["18446744073709551615", "99999999999999999999999", "-1", "x"] {
        std::fs::create_dir(trash.join(name)).unwrap();
    }
    std::fs::write(trash.join("00000009"), "a file").unwrap();
    let link = |name: &Path| std::os::unix::fs::symlink(&outside, name).unwrap();
    link(&trash.join("00000008"));
    link(&numbered.join("link"));
    link(&numbered.join("pack-link.idx"));
    link(&numbered.join(saves.0[0].0.to_hex()));
    for name in ["pack-fifo.idx", "pack-fifo.pack", "fifo"] {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        let at = rustix::fs::CWD;
        rustix::fs::mknodat(at, numbered.join(name), kind, mode, 0).unwrap();
    }
    // Something is missing, so that the trash is searched; then all is there, so that it is emptied.
    let pack = super::upkeep::pack_with(&p, &saves.0[0].0.to_hex());
    let index = pack.with_extension("idx");
    std::fs::rename(&index, p.base().join("index")).unwrap();
    let cleaned = collect(&p);
    assert_ne!(cleaned.collected.damaged, [""; 0]);
    assert!(numbered.join("a/b/c/file").exists(), "nothing is removed");
    std::fs::rename(p.base().join("index"), &index).unwrap();
    let full = Thoroughness::Full;
    p.engine.collect(full, true, &NoProgress).unwrap();
    assert!(!numbered.exists());
    assert_same(&before, &Tree::read(&outside), "what links lead to");
    p.engine.status(true, &NoProgress).unwrap();
    saves.check(&p);
    p.fsck();
}

/// Stops at the n-th word it hears.
struct StopAt {
    left: AtomicU64,
}

impl StopAt {
    fn new(n: u64) -> Self {
        Self { left: AtomicU64::new(n) }
    }

    fn heard(&self, most: u64) -> u64 {
        most - self.left.load(Ordering::SeqCst)
    }
}

impl Progress for StopAt {
    fn stage(&self, _stage: Stage) {}

    fn files(&self, _done: u64, _total: Option<u64>) {
        let less = |left: u64| left.checked_sub(1);
        let _ = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    fn is_cancelled(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-a").args([from, to]).bounded_status();
    assert!(done.unwrap().success());
}

#[test]
fn stopped_at_any_moment_it_leaves_a_whole_store_and_no_litter() {
    let p = TestProject::new();
    for number in 0..300 {
        p.write(&format!("many/{number}"), number.to_string());
    }
    let saves = Saves::make(&p, 2);
    p.write("a.txt", "dropped");
    let dropped = p.save("dropped").checkpoint;
    p.project().drop_checkpoint(&dropped).unwrap();
    let most = 1 << 40;
    let count = |home: &Path, n: u64| {
        let engine = engine(home, None, Settings::default());
        let stop = StopAt::new(n);
        let result = engine.collect(Thoroughness::Full, false, &stop);
        if let Err(e) = &result {
            assert_eq!(e.kind(), ErrorKind::Cancelled, "{e}");
        }
        (result.is_ok(), stop.heard(n))
    };
    let whole = p.base().join("whole");
    copy(&p.home(), &whole);
    let (is_done, calls) = count(&whole, most);
    assert!(is_done && calls > 3, "{calls}");
    let mut stopped = 0;
    for n in 1..=calls {
        // A word is said for every few objects; the first and the last are of most interest.
        if n > 4 && n + 4 < calls && n % (1 + calls / 8) != 0 {
            continue;
        }
        let home = p.base().join(format!("home-{n}"));
        copy(&p.home(), &home);
        stopped += u64::from(!count(&home, n).0);
        let store = home.join("checkpoints/store");
        let tmp = names_below(&store.join("herma/tmp"));
        assert_eq!(tmp.len(), 1, "stopped at {n}: {tmp:?}");
        let again = TestProject {
            temp: tempfile::tempdir().unwrap(),
            root: p.root.clone(),
            engine: engine(&home, None, Settings::default()),
        };
        if n % 5 == 0 {
            again.fsck_but_dangling();
        }
        collect(&again);
        Repository::at(store).fsck();
        saves.check(&again);
    }
    assert!(stopped > 1);
}

#[test]
fn a_store_that_cannot_be_written_is_an_error_and_stays_as_it_is() {
    let test =
        "engine::collect_attacks::a_store_that_cannot_be_written_is_an_error_and_stays_as_it_is";
    if child::is_run_as_nobody(test) {
        return;
    }
    let p = TestProject::new();
    let saves = Saves::make(&p, 3);
    let chmod = |mode: &str| {
        let done =
            std::process::Command::new("chmod").args(["-R", mode]).arg(p.store()).bounded_status();
        assert!(done.unwrap().success());
    };
    let before = Tree::read(p.store().join("objects"));
    chmod("a-w");
    let failed = p.engine.collect(Thoroughness::Full, false, &NoProgress);
    let failed = failed.expect_err("there is nothing it could do");
    assert_eq!(failed.kind(), ErrorKind::Failed, "{failed}");
    assert!(p.engine.maintain(&NoProgress).is_err());
    chmod("u+w");
    let after = Tree::read(p.store().join("objects"));
    assert_eq!(before.0.len(), after.0.len());
    collect(&p);
    saves.check(&p);
}

/// Starts another collection while one is at work.
struct Rival<'e> {
    engine: &'e Engine,
    found: Mutex<Vec<ErrorKind>>,
    maintained: AtomicU64,
}

impl Progress for Rival<'_> {
    fn stage(&self, _stage: Stage) {
        let result = self.engine.collect(Thoroughness::Full, false, &NoProgress);
        let kind = result.expect_err("one is at work").kind();
        self.found.lock().unwrap().push(kind);
        let maintained = self.engine.maintain(&NoProgress).unwrap();
        let is_done = u64::from(maintained.is_some());
        self.maintained.fetch_add(is_done, Ordering::SeqCst);
    }

    fn files(&self, _done: u64, _total: Option<u64>) {}
}

#[test]
fn of_two_collections_at_once_one_is_told_to_wait() {
    let settings =
        Settings { lock_wait: Duration::from_millis(10), threads: 1, ..Settings::default() };
    let p = TestProject::with(settings);
    let saves = Saves::make(&p, 3);
    let other = p.another_engine();
    let rival = Rival { engine: &other, found: Mutex::default(), maintained: AtomicU64::new(0) };
    p.engine.collect(Thoroughness::Full, false, &rival).unwrap();
    let found = rival.found.into_inner().unwrap();
    assert!(!found.is_empty());
    assert!(found.iter().all(|kind| *kind == ErrorKind::Busy));
    assert_eq!(rival.maintained.into_inner(), 0, "maintenance goes away");
    saves.check(&p);
    p.fsck();
}

/// A full disk: what is dropped frees room although there is none to write in.
#[test]
fn dropping_and_collecting_frees_room_on_a_disk_without_any() {
    let test = "engine::collect_attacks::dropping_and_collecting_frees_room_on_a_disk_without_any";
    if child::is_run_on_small_disk(test, "size=4m") {
        return;
    }
    let mut p = TestProject::new();
    let keeping = Keeping { max_total_size: Some(0), ..Keeping::default() };
    let settings = Settings { keeping, ..Settings::default() };
    let home = child::mount().join("home");
    std::fs::create_dir(&home).unwrap();
    p.engine = engine(&home, None, settings);
    let mut states = Vec::new();
    for number in 0..6 {
        p.write("a.bin", text(number, 15_000));
        states.push((p.save(&format!("{number}")).checkpoint.id, p.tree()));
    }
    let filler = child::mount().join("filler");
    let zeros = vec![1_u8; 4096];
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &zeros).is_ok() {}
    drop(file);
    // Three of six must be enough to see that room comes back.
    let request = CleanRequest {
        limits: Limits { max_snapshots: Some(3), ..Limits::default() },
        attended: true,
        clock_is_right: false,
    };
    let free = || herma_fs::Dir::open(&home).unwrap().free_bytes().unwrap();
    let before = free();
    assert!(before < 4096, "{before} bytes are left");
    let cleaned = p.engine.clean(&request, &NoProgress);
    assert!(free() > before + 300_000, "{} of {cleaned:?}", free());
    p.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(p.list().len(), 3);
    Saves(states.split_off(3)).check(&p);
    p.fsck_but_dangling();
}

/// Not one second of the store's own time is needed: many engines, one after the other, on threads.
#[test]
fn collectors_that_take_turns_lose_nothing() {
    let p = TestProject::new();
    let saves = Saves::make(&p, 6);
    let engines: Vec<Arc<Engine>> = (0..3).map(|_| Arc::new(p.another_engine())).collect();
    std::thread::scope(|scope| {
        for engine in &engines {
            scope.spawn(move || {
                for _ in 0..3 {
                    engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
                }
            });
        }
    });
    saves.check(&p);
    p.fsck();
}
