//! Keeping and cleaning: limits, collection, and what must never be lost to them.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use herma_core::cleanup::{CleanRequest, Cleaned, Due, Limits, Orphans, Rule};
use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::steps::StepChoice;
use herma_core::types::checkpoint::Facts;
use herma_core::types::settings::Keeping;
use herma_core::{SaveOptions, Settings};
use herma_fs::publish::Durability;
use herma_store::gc::Thoroughness;
use herma_testkit::random::Random;

use super::project::{TestProject, engine_with_clock};
use super::upkeep::{DAY, HOUR, HandClock, START, maintain, packs, with_clock};

/// What every store keeps for a full disk.
const RESERVE: u64 = 64 << 10;

fn clean(project: &TestProject, limits: Limits) -> Cleaned {
    let request = CleanRequest { limits, attended: true, clock_is_right: false };
    let cleaned = project.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(cleaned.errors, [""; 0], "{cleaned:?}");
    cleaned
}

pub fn gc(project: &TestProject) -> Cleaned {
    let full = Thoroughness::Full;
    let engine = &project.engine;
    engine.collect(full, true, &NoProgress).unwrap()
}

/// Text that does not compress to nothing, different for every seed.
pub fn text(seed: u64, lines: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for line in 0..lines {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        writeln!(text, "line {line}: {state:016x}").unwrap();
    }
    text
}

#[test]
fn collection_keeps_every_checkpoint_and_git_agrees() {
    let project = TestProject::new();
    let mut states = Vec::new();
    for step in 0..30 {
        project.write("a.txt", text(1, 200) + &text(step, 3));
        project.write("src/b.txt", text(step / 3, 50));
        project.save(&format!("step {step}"));
        states.push(project.tree());
    }
    let before = project.list();
    let cleaned = gc(&project);
    assert_eq!(cleaned.collected.packs_before, 30);
    assert_eq!(cleaned.collected.packs_after, 1);
    let freed = cleaned.collected.freed_bytes;
    assert!(freed * 3 > (cleaned.bytes_before - RESERVE) * 2, "{cleaned:?}");
    project.fsck();
    assert_eq!(project.list(), before, "no id, time or number changes");
    let again = gc(&project);
    assert_eq!(again.collected.merged, 0, "nothing is left to do");
    for (number, state) in (1..).zip(states.iter().rev()) {
        project.restore(&before[number - 1].id.to_hex());
        assert_eq!(project.tree(), *state, "checkpoint {number}");
    }
    let restored = project.list();
    assert!(restored.ends_with(&before) && restored.len() > before.len());
    gc(&project);
    assert_eq!(project.list(), restored, "where the restores led is kept as well");
    assert_eq!(gc(&project).collected.merged, 0, "nothing is left to do");
}

#[test]
fn what_was_dropped_leaves_nothing_behind() {
    let project = TestProject::new();
    project.write("keep.txt", text(1, 10));
    let small = project.save("small").checkpoint;
    for seed in 0..5 {
        project.write("big.bin", text(100 + seed, 40_000));
        let saved = project.save("big").checkpoint;
        project.remove("big.bin");
        project.project().drop_checkpoint(&saved).unwrap();
    }
    let cleaned = gc(&project);
    assert!(cleaned.bytes_before > 1_000_000);
    assert!(cleaned.bytes_after < RESERVE + 50_000, "{cleaned:?}");
    assert_eq!(project.list().len(), 1);
    assert_eq!(project.list()[0].id, small.id);
    project.fsck();
}

#[test]
fn what_gc_and_prune_take_out_of_use_waits_in_the_trash() {
    let age = Limits { retention_days: Some(7), ..Limits::default() };
    let collect = |p: &TestProject| p.engine.collect(Thoroughness::Full, false, &NoProgress);
    let by: [&dyn Fn(&TestProject) -> Cleaned; 2] =
        [&|p| collect(p).unwrap(), &|p| clean(p, age.clone())];
    for taken_by in by {
        let project = TestProject::new();
        project.write("keep.txt", text(1, 10));
        project.save("small");
        project.write("big.bin", text(100, 40_000));
        let big = project.save("big").checkpoint;
        project.project().drop_checkpoint(&big).unwrap();
        let cleaned = taken_by(&project);
        assert!(cleaned.trash_bytes > 100_000, "{cleaned:?}");
        assert_eq!(cleaned.bytes_freed(), 0, "nothing is free yet");
        let emptied = gc(&project);
        assert!(emptied.bytes_freed() > 100_000, "{emptied:?}");
        assert_eq!(emptied.trash_bytes, 0);
    }
}

#[test]
fn a_trash_that_would_fill_the_store_is_not_kept() {
    let keeping = Keeping { max_total_size: Some(1 << 20), ..Keeping::default() };
    let project = TestProject::with(Settings { keeping, ..Settings::default() });
    project.write("big.bin", text(100, 40_000));
    let big = project.save("big").checkpoint;
    project.remove("big.bin");
    project.project().drop_checkpoint(&big).unwrap();
    let cleaned = project.engine.collect(Thoroughness::Full, false, &NoProgress);
    assert_eq!(cleaned.unwrap().trash_bytes, 0);
}

#[test]
fn the_count_limit_keeps_the_newest_and_what_was_pinned_or_named() {
    let project = TestProject::new();
    for step in 0..12 {
        project.write("a", step.to_string());
        project.save(&format!("{step}"));
    }
    let first = project.find("@-11");
    project.project().pin(&first).unwrap();
    let second = project.find("@-10");
    project.project().name(&second, "good").unwrap();
    let cleaned = clean(&project, Limits { max_snapshots: Some(5), ..Limits::default() });
    assert_eq!(cleaned.dropped.len(), 7);
    assert_eq!([Rule::Count, Rule::Stale].map(|rule| cleaned.projects_by(rule)), [1, 0]);
    let reasons: Vec<String> =
        project.list().iter().map(|checkpoint| checkpoint.reason.to_string()).collect();
    assert_eq!(reasons, ["11", "10", "9", "1", "0"]);
    project.fsck();
    project.restore("good");
    assert_eq!(project.read("a"), "1");
}

#[test]
fn the_byte_limit_is_reached_in_one_pass_and_costs_no_more_than_needed() {
    let project = TestProject::new();
    for step in 0..20 {
        project.write("data.bin", text(step, 10_000));
        project.save(&format!("{step}"));
    }
    let one = gc(&project).bytes_after / 20;
    let limits = Limits { max_total_bytes: Some(one * 10 + one / 2), ..Limits::default() };
    let cleaned = clean(&project, limits.clone());
    assert!(cleaned.bytes_after <= one * 10 + one / 2, "{cleaned:?}");
    let left = project.list().len();
    assert!((9..=10).contains(&left), "{left} of about 10 are left");
    assert_eq!(clean(&project, limits).dropped.len(), 0, "once was enough");
    project.fsck();
}

#[test]
fn a_save_says_when_it_is_time_and_what_must_stay_does_not_call_for_more() {
    let keeping = Keeping { max_total_size: Some(1 << 20), ..Keeping::default() };
    let project = TestProject::with(Settings { keeping, ..Settings::default() });
    // The newest checkpoint alone is larger than the limit.
    project.write("huge.bin", text(1, 100_000));
    let saved = project.save("huge");
    assert!(saved.due.is_some());
    let cleaned = project.engine.maintain(&NoProgress).unwrap().unwrap();
    assert!(cleaned.over.is_some());
    assert_eq!(project.list().len(), 1);
    for step in 0..5 {
        project.write("small.txt", step.to_string());
        assert_eq!(project.save("small").due, None, "settled once");
    }
}

#[test]
fn deleted_projects_go_only_when_they_were_really_deleted() {
    let project = TestProject::new();
    project.write("a", "1");
    project.save("1");
    let other = project.temp.path().canonicalize().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("b"), "2").unwrap();
    let engine = &project.engine;
    let save = || {
        let other = engine.project(&other).unwrap();
        other.save_with(&SaveOptions::default(), &NoProgress).unwrap()
    };
    save();
    std::fs::remove_dir_all(&other).unwrap();
    let all = Limits { orphans: Orphans::All, ..Limits::default() };
    let cleaned = clean(&project, all);
    assert_eq!(cleaned.forgotten.len(), 1);
    assert_eq!(engine.projects().unwrap().len(), 1);
    project.fsck();
}

/// How many objects were written into a merged pack, whatever became of it.
#[derive(Default)]
struct Merging {
    is_now: AtomicBool,
    most: AtomicU64,
}

impl Progress for Merging {
    fn stage(&self, stage: Stage) {
        self.is_now.store(stage == Stage::Merging, Ordering::Relaxed);
    }

    fn files(&self, done: u64, _total: Option<u64>) {
        if self.is_now.load(Ordering::Relaxed) {
            self.most.fetch_max(done, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_collection_writes_nothing_that_it_throws_away() {
    let keeping = Keeping { max_total_size: Some(0), ..Keeping::default() };
    let project = TestProject::with(Settings { keeping, ..Settings::default() });
    for file in 0..20 {
        project.write(&format!("large/{file}"), Random::new(file).bytes(1 << 20));
    }
    project.write("a.txt", text(1, 200));
    project.save("much that is new");
    for step in 2..6 {
        project.write("a.txt", text(step, 200));
        project.save("a little");
    }
    // Twice the large pack would be more than half of the store.
    for (packs, merged) in [(2, 4..40), (2, 0..1)] {
        let merging = Merging::default();
        let cleaned = project.engine.collect(Thoroughness::Full, false, &merging).unwrap();
        assert_eq!(cleaned.collected.packs_after, packs);
        assert!(merged.contains(&cleaned.collected.merged), "{cleaned:?}");
        assert_eq!(merging.most.into_inner(), cleaned.collected.merged, "nothing is thrown away");
    }
    project.fsck();
}

#[test]
fn a_save_says_that_cleaning_is_due_once_a_quarter_more_are_kept_than_may_be() {
    let keeping = Keeping { max_snapshots: Some(4), auto_prune: false, ..Keeping::default() };
    for pinned in [0, 2] {
        let p = TestProject::with(Settings { keeping, ..Settings::default() });
        let dues: Vec<_> = (0..6)
            .map(|number| {
                p.write("a", number.to_string());
                let saved = p.save("one more");
                if number < pinned {
                    p.project().pin(&saved.checkpoint).unwrap();
                }
                saved.due
            })
            .collect();
        let last = (pinned == 0).then_some(Due::Count);
        assert_eq!(dues, [None, None, None, None, None, last], "what is pinned stays anyway");
    }
}

/// Two months of work on five days a week: a prompt each day, two edits for it, and a save by hand at night.
fn two_months_of_work() -> (TestProject, Arc<HandClock>) {
    let (p, clock) = with_clock(Settings { durability: Durability::Cache, ..Settings::default() });
    for day in (0..84).filter(|day| day % 7 < 5) {
        let facts = |tool: Option<&str>| {
            let [session, turn, tool] =
                [Some("s"), Some(&*day.to_string()), tool].map(|text| text.map(str::to_owned));
            Facts::of(None, session, turn, tool)
        };
        let saves = [
            ("prompt", facts(None)),
            ("edit", facts(Some("Edit"))),
            ("done", facts(Some("Edit"))),
            ("night", Facts::default()),
        ];
        for (hour, (reason, facts)) in (0..).zip(saves) {
            clock.set(START + day * DAY + hour * HOUR);
            p.write("a", format!("{reason} {day}"));
            let reason = format!("{reason} {day}").into();
            let options = SaveOptions { reason, facts, ..SaveOptions::default() };
            p.project().save_with(&options, &NoProgress).unwrap();
        }
    }
    (p, clock)
}

#[test]
fn after_two_months_of_work_the_last_thirty_days_are_whole_and_each_before_has_the_end_of_its_prompt()
 {
    let (p, clock) = two_months_of_work();
    let request = CleanRequest {
        limits: Limits::of(&Keeping::default(), None),
        attended: true,
        clock_is_right: false,
    };
    let (_, plan) = p.engine.plan_cleaning(&request, &NoProgress).unwrap();
    let cleaned = maintain(&p);
    assert_eq!(cleaned.dropped, plan.drops, "a dry run says the same");
    assert!(plan.drops.iter().all(|dropped| dropped.rule == Rule::Thinned));
    let mut left: Vec<String> = p.list().iter().map(|c| c.reason.to_string()).collect();
    let thinned = left.split_off(30 * 4);
    assert!(left.ends_with(&["prompt 42".to_owned()]), "six weeks of five days: {left:?}");
    assert!(thinned.iter().all(|reason| reason.starts_with("done ")), "{thinned:?}");
    assert_eq!(thinned.len(), 30);
    clock.advance(25 * HOUR);
    assert_eq!(maintain(&p).dropped, [], "nothing was saved since");
    clock.advance(28 * DAY);
    assert_eq!(maintain(&p).dropped, [], "away for four weeks");
    clock.advance(3 * DAY);
    assert_eq!(maintain(&p).dropped.len(), 149, "not saved for 30 days");
    p.fsck();
}

#[test]
fn nothing_goes_by_age_where_the_settings_say_so() {
    for keeping in [
        Keeping { retention_days: 0, ..Keeping::default() },
        Keeping { auto_prune: false, ..Keeping::default() },
    ] {
        let (mut p, clock) = two_months_of_work();
        let settings = Settings { keeping, ..Settings::default() };
        p.engine = engine_with_clock(&p.home(), None, settings, clock as _);
        assert_eq!(maintain(&p).dropped, []);
    }
}

#[test]
fn a_step_under_way_is_forgotten_with_its_checkpoint_once_nobody_can_end_it() {
    let (p, clock) = with_clock(Settings::default());
    p.write("a", "1");
    p.begin("claude", "bash");
    p.step("codex", || p.write("a", "2"));
    p.project().drop_checkpoint(&p.find("@-1")).unwrap();
    let known = || {
        clean(&p, Limits::default());
        p.project().steps(&StepChoice::default()).unwrap().len()
    };
    assert_eq!(known(), 2);
    clock.advance(30 * DAY);
    assert_eq!(known(), 1);
}

#[test]
fn archives_of_older_repositories_go_by_age() {
    let (p, clock) = with_clock(Settings::default());
    p.write("a", "1");
    p.save("first");
    let base = p.store().parent().unwrap().to_owned();
    let archives = [("legacy-20260101-000000", 8), ("legacy-20260102-000000", 6)];
    for (name, days) in archives {
        std::fs::create_dir_all(base.join(name).join("stray")).unwrap();
        let seconds = (clock.seconds() - days * DAY) as u64;
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        std::fs::File::open(base.join(name)).unwrap().set_modified(time).unwrap();
    }
    let limits = Limits { retention_days: Some(7), ..Limits::default() };
    let request = CleanRequest { limits, attended: true, clock_is_right: true };
    let cleaned = p.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(cleaned.archives, 1);
    assert_eq!(archives.map(|(name, _)| base.join(name).exists()), [false, true]);
}

#[test]
fn what_came_after_it_was_counted_is_not_cleared() {
    let p = TestProject::new();
    p.write("a", "1");
    p.save("first");
    let counted = p.engine.count_checkpoints().unwrap();
    assert_eq!(counted, [(p.project().id().clone(), 1)].into());
    p.write("a", "2");
    p.save("second");
    assert!(p.engine.clear(Some(&counted)).is_err());
    assert_eq!(p.list().len(), 2);
    let counted = p.engine.count_checkpoints().unwrap();
    assert!(p.engine.clear(Some(&counted)).unwrap().deleted);
    assert_eq!(p.list().len(), 0);
}

/// What is left of one that goes is written again: the smaller the packs, the less.
#[test]
fn a_store_that_may_not_be_large_has_packs_that_are_not_either() {
    let keeping = Keeping { max_total_size: Some(5 << 20), ..Keeping::default() };
    let p = TestProject::with(Settings { keeping, ..Settings::default() });
    for seed in 1..=4 {
        p.write("data.bin", Random::new(seed).bytes(200_000));
        p.save("one more");
    }
    gc(&p);
    let sizes = packs(&p).into_iter().map(|pack| pack.metadata().unwrap().len());
    assert!(sizes.clone().max().unwrap() < 300_000, "{:?}", sizes.collect::<Vec<_>>());
}
