//! Limits and collection: one test per defect of the original.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use herma_core::engine::NoProgress;
use herma_core::error::ErrorKind;
use herma_core::types::settings::Keeping;
use herma_core::{ObjectId, Settings, VerifyOptions};
use herma_store::gc::Thoroughness;

use super::cleaning::text;
use super::project::TestProject;
use super::upkeep::{
    DAY, collect, keeping_twenty, maintain, make, names_below, reasons_at, save_at, with_clock,
};

fn capped(max_total_size: u64) -> Settings {
    let keeping = Keeping { max_total_size: Some(max_total_size), ..Keeping::default() };
    Settings { keeping, ..Settings::default() }
}

fn bytes(p: &TestProject) -> u64 {
    p.engine.status(false, &NoProgress).unwrap().store_bytes
}

// HERMES defects 15 and 39: a large file that is in no checkpoint emptied every project's history.
#[test]
fn an_excluded_file_of_60_mb_flattens_nothing_and_five_rewrites_of_it_leave_nothing() {
    const LARGE: u64 = 60 << 20;
    let (p, clock) = with_clock(capped(50 << 20));
    let roots: Vec<PathBuf> = (0..3).map(|n| make(&p, &format!("project-{n}"))).collect();
    for round in 0..15 {
        for root in &roots {
            std::fs::write(root.join("a.txt"), text(round, 20)).unwrap();
            clock.advance(60);
            save_at(&p, root, &round.to_string());
        }
    }
    let before = bytes(&p);
    for rewrite in 0..5_u8 {
        let file = std::fs::File::create(roots[0].join("large.bin")).unwrap();
        std::io::Write::write_all(&mut &file, &[rewrite; 4096]).unwrap();
        file.set_len(LARGE).unwrap();
        clock.advance(60);
        save_at(&p, &roots[0], "with a large file");
        let cleaned = maintain(&p);
        assert_eq!(cleaned.dropped, []);
        for root in &roots {
            assert!(reasons_at(&p, root).len() >= 15);
        }
    }
    let gained = bytes(&p).saturating_sub(before);
    assert!(gained < 64 << 10, "five times 60 MB left {gained} bytes");
    p.fsck_but_dangling();
}

// HERMES defect 16: a clean-up in one session destroyed what others were just saving.
#[test]
fn cleaning_beside_three_writers_costs_no_acknowledged_checkpoint() {
    let p = TestProject::with(capped(600 << 10));
    let acknowledged: Mutex<BTreeSet<ObjectId>> = Mutex::default();
    let dropped: Mutex<BTreeSet<ObjectId>> = Mutex::default();
    let writing = AtomicUsize::new(3);
    let roots: Vec<PathBuf> = (0..3).map(|n| make(&p, &format!("project-{n}"))).collect();
    std::thread::scope(|scope| {
        let (acknowledged, dropped, writing) = (&acknowledged, &dropped, &writing);
        for root in &roots {
            let p = &p;
            scope.spawn(move || {
                for round in 0..15 {
                    std::fs::write(root.join("a.bin"), text(round, 1500)).unwrap();
                    let saved = save_at(p, root, &round.to_string());
                    acknowledged.lock().unwrap().insert(saved.checkpoint.id);
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for _ in 0..2 {
            let engine = p.another_engine();
            scope.spawn(move || {
                while writing.load(Ordering::SeqCst) > 0 {
                    if let Some(cleaned) = engine.maintain(&NoProgress).unwrap() {
                        let ids = cleaned.dropped.iter().map(|dropped| dropped.id);
                        dropped.lock().unwrap().extend(ids);
                    }
                    match engine.collect(Thoroughness::Full, false, &NoProgress) {
                        Err(e) => assert_eq!(e.kind(), ErrorKind::Busy, "{e}"),
                        Ok(cleaned) => assert_eq!(cleaned.collected.damaged, [""; 0]),
                    }
                }
            });
        }
    });
    let dropped = dropped.into_inner().unwrap();
    let mut listed = BTreeSet::new();
    for root in &roots {
        let list = p.engine.project(root).unwrap().timeline().unwrap();
        listed.extend(list.iter().map(|checkpoint| checkpoint.id));
    }
    let lost: Vec<_> = acknowledged
        .into_inner()
        .unwrap()
        .into_iter()
        .filter(|id| !dropped.contains(id) && !listed.contains(id))
        .collect();
    assert_eq!(lost, []);
    let options = VerifyOptions { read_data: true, project: None };
    let verified = p.engine.verify(&options, &NoProgress).unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    p.fsck_but_dangling();
}

// HERMES defect 21: a project that was not used for eight days lost its newest checkpoint as well.
#[test]
fn an_idle_project_keeps_its_newest_checkpoint_and_what_was_pinned_or_named() {
    let (p, clock) = with_clock(keeping_twenty());
    let idle = make(&p, "idle");
    for number in 0..6 {
        std::fs::write(idle.join("a"), number.to_string()).unwrap();
        clock.advance(DAY);
        save_at(&p, &idle, &number.to_string());
        maintain(&p);
    }
    let project = p.engine.project(&idle).unwrap();
    let list = project.timeline().unwrap();
    project.pin(&list[4]).unwrap();
    project.name(&list[3], "good").unwrap();
    for day in 0..60 {
        clock.advance(DAY);
        p.write("a", day.to_string());
        p.save(&day.to_string());
        maintain(&p);
        let expected: &[&str] = match day {
            0..30 => &["0", "1", "2", "3", "4", "5"],
            _ => &["1", "2", "5"],
        };
        assert_eq!(reasons_at(&p, &idle), expected, "day {day}");
    }
    // The busy one keeps some of every week besides the last days.
    let days: Vec<i64> = p.list().iter().map(|c| c.time.seconds / DAY).collect();
    assert_eq!(days.len(), 20);
    assert!(days[0] - days[19] > 28, "{days:?}");
}

// HERMES defect 41: the cap was no cap, and every later save paid for it.
#[test]
fn eight_projects_over_the_cap_settle_once_and_later_saves_pay_nothing() {
    let (p, clock) = with_clock(capped(2 << 20));
    let roots: Vec<PathBuf> = (0..8).map(|n| make(&p, &format!("project-{n}"))).collect();
    for round in 0..2_u64 {
        for (number, root) in (1..).zip(&roots) {
            clock.advance(60);
            std::fs::write(root.join("data.bin"), text(round * 10 + number, 20_000)).unwrap();
            save_at(&p, root, &format!("{round}"));
        }
    }
    let cleaned = maintain(&p);
    assert!(cleaned.over.is_some(), "the newest of each must stay");
    let older = roots.iter().map(|root| {
        let reasons = reasons_at(&p, root);
        assert!(reasons.contains(&"1".to_owned()));
        reasons.len() - 1
    });
    let older: usize = older.sum();
    assert!(older < 8, "what may go fits into the cap by itself: {older}");
    let packs = |p: &TestProject| {
        let files = names_below(&p.store().join("objects/pack")).into_iter();
        let inode = |path: PathBuf| (path.metadata().unwrap().ino(), path);
        files.map(inode).collect::<BTreeSet<_>>()
    };
    let settled = packs(&p);
    for round in 0..3 {
        for root in &roots {
            clock.advance(60);
            std::fs::write(root.join("small"), round.to_string()).unwrap();
            let saved = save_at(&p, root, "small");
            assert_eq!(saved.due, None, "settled once");
        }
    }
    assert!(packs(&p).is_superset(&settled), "no save touched a pack");
    let again = maintain(&p);
    assert!(again.dropped.len() <= 24, "at most the small ones go");
    for root in &roots {
        assert!(!reasons_at(&p, root).is_empty());
    }
    p.fsck_but_dangling();
}

/// Everything in the store that a save wrote, by the kind of place.
fn written(p: &TestProject, save: impl FnOnce()) -> BTreeMap<String, usize> {
    let look = || -> BTreeMap<PathBuf, (u64, i64, i64, u64)> {
        let files = names_below(&p.store()).into_iter();
        let files = files.filter(|path| path.is_file());
        files
            .map(|path| {
                let stat = path.metadata().unwrap();
                let facts = (stat.ino(), stat.mtime(), stat.mtime_nsec(), stat.len());
                (path, facts)
            })
            .collect()
    };
    let before = look();
    save();
    let after = look();
    assert!(before.keys().all(|path| after.contains_key(path)), "a save removes nothing");
    let mut places = BTreeMap::new();
    for (path, facts) in &after {
        if before.get(path) != Some(facts) {
            let place = path.strip_prefix(p.store()).unwrap().to_str().unwrap();
            let place: Vec<&str> = place.split('/').take(2).collect();
            *places.entry(place.join("/")).or_default() += 1;
        }
    }
    places
}

// HERMES defect 42: a save took eight times as long at the cap.
#[test]
fn a_save_at_the_cap_writes_exactly_what_one_below_it_writes() {
    let (p, clock) = with_clock(Settings {
        keeping: Keeping {
            max_snapshots: Some(5),
            max_total_size: Some(512 << 10),
            ..Keeping::default()
        },
        ..Settings::default()
    });
    let one = |number: u64| {
        clock.advance(60);
        p.write("data.bin", text(number, 2000));
        p.save(&number.to_string());
    };
    one(0);
    let below = written(&p, || one(1));
    for number in 2..30 {
        one(number);
    }
    assert_eq!(p.list().len(), 30, "no save waits for cleaning");
    assert_eq!(written(&p, || one(30)), below, "over all limits");
    maintain(&p);
    assert_eq!(written(&p, || one(31)), below, "after cleaning");
    collect(&p);
    assert_eq!(written(&p, || one(32)), below, "after collection");
    let packs = below.get("objects/pack").copied();
    assert_eq!(packs, Some(2), "one pack and its index: {below:?}");
}
