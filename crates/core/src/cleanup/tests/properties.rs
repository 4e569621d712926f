//! What holds for every store and every limit.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;

use super::testing::{CheckpointKey, NOW, NOW_SECONDS, Store, id};
use super::*;
use crate::types::settings::Thinning;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// A Monday comes round after this.
const WEEK: i64 = 7 * 86_400;

/// Times with every distance that matters, now and then wrong.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0_i64..3 * 3600,
        4 => 0_i64..3 * 86_400,
        4 => 0_i64..40 * 86_400,
        1 => -400 * 86_400_i64..400 * 86_400,
    ]
    .prop_map(|ago| NOW_SECONDS - ago)
}

fn presence() -> impl Strategy<Value = Presence> {
    prop_oneof![
        3 => Just(Presence::Live),
        2 => Just(Presence::Gone),
        1 => Just(Presence::OutOfReach(Doubt::EmptyParent)),
        1 => Just(Presence::Unknown),
    ]
}

/// A few kinds of protection, rarely, and a few pieces of data, often shared.
type Detail = (u8, BTreeMap<u32, u64>);

fn details() -> impl Strategy<Value = Detail> {
    let pieces = prop::collection::btree_set(0_u32..30, 0..6);
    // A piece has one size wherever it occurs.
    let pieces =
        pieces.prop_map(|set| set.into_iter().map(|p| (p, u64::from(p) * 7 + 1)).collect());
    (0_u8..20, pieces)
}

type Made = (Presence, Option<i64>, Vec<(i64, Detail)>, bool);

fn project() -> impl Strategy<Value = Made> {
    let checkpoints = prop::collection::vec((time(), details()), 0..14);
    (presence(), prop::option::of(time()), checkpoints, any::<bool>())
}

fn limits() -> impl Strategy<Value = Limits> {
    let orphans = prop_oneof![
        Just(Orphans::Keep),
        Just(Orphans::All),
        Just(Orphans::These(BTreeSet::from([id("a"), id("c")]))),
        (0_u32..40).prop_map(|days| Orphans::Untouched { days }),
    ];
    (
        prop::option::of(0_usize..8),
        prop::option::of(0_u32..30),
        prop::option::of((0_usize..4, 0_usize..4, 0_usize..3)),
        prop::option::of(0_u64..2500),
        prop::option::of(0_u64..2500),
        orphans,
    )
        .prop_map(|(max_snapshots, retention_days, thinning, total, free, orphans)| Limits {
            max_snapshots,
            project: None,
            retention_days,
            thinning: thinning.map(|(whole_days, daily, weekly)| Thinning {
                whole_days,
                daily,
                weekly,
            }),
            max_total_bytes: total,
            min_free_bytes: free,
            orphans,
        })
}

prop_compose! {
    fn store()(
        projects in prop::collection::vec(project(), 0..5),
        limits in limits(),
        last_run in prop_oneof![
            3 => Just(Some(NOW - DAY)),
            1 => prop::option::of(time().prop_map(|time| time as f64)),
        ],
        fixed in 0_u64..200,
        free in 0_u64..2000,
    ) -> Store {
        let mut store = Store::new();
        for (name, (presence, touch, made, in_order)) in NAMES.iter().zip(projects) {
            let mut times: Vec<_> = made.iter().map(|(time, _)| *time).collect();
            // Wrong dates may have days of work change places once the checkpoint that put one in its place is gone.
            if in_order || limits.thinning.is_some() {
                times.sort_unstable();
            }
            store = store.live(name, &times).change(name, |project| {
                project.presence = presence.clone();
                project.last_touch = touch.map(|touch| touch as f64);
                for (checkpoint, (_, (kind, _))) in project.checkpoints.iter_mut().zip(&made) {
                    checkpoint.pinned = *kind == 0;
                    checkpoint.named = *kind == 1;
                    checkpoint.in_use = *kind == 2;
                    checkpoint.readable = *kind < 12;
                    checkpoint.at_prompt = kind.is_multiple_of(3);
                }
            });
            let of_project = id(name);
            let keys = store.keys().into_iter().filter(|key| key.project == of_project);
            let pieces = made.into_iter().map(|(_, (_, pieces))| pieces);
            let pieces: Vec<_> = keys.zip(pieces).collect();
            store.pieces.extend(pieces);
        }
        store.limits = limits;
        store.own_bytes(5).fixed(fixed).free_space(free).last_run(last_run)
    }
}

/// Checkpoints with their project, and whether they are its newest or the newest that can be read.
fn every<'a>(store: &'a Store) -> Vec<(&'a ProjectFacts, &'a CheckpointFacts, bool)> {
    let projects = store.facts.projects.iter();
    let of = |project: &'a ProjectFacts| {
        let checkpoints = &project.checkpoints;
        let last = checkpoints.iter().map(|c| c.number).max();
        let readable = checkpoints.iter().filter(|c| c.readable);
        let readable = readable.map(|c| c.number).max();
        let newest = move |c: &CheckpointFacts| [last, readable].contains(&Some(c.number));
        checkpoints.iter().map(move |c| (project, c, newest(c)))
    };
    projects.flat_map(of).collect()
}

fn must_stay(project: &ProjectFacts, checkpoint: &CheckpointFacts, newest: bool) -> bool {
    let marked = checkpoint.pinned || checkpoint.named || checkpoint.in_use;
    marked || (newest && project.presence != Presence::Gone)
}

/// Was the project given up because it was deleted?
fn is_given_up(store: &Store, project: &ProjectFacts) -> bool {
    let mut only_orphans = store.clone();
    only_orphans.limits = Limits { orphans: store.limits.orphans.clone(), ..Limits::default() };
    let plan = only_orphans.plan();
    let is_its = |drop: &Dropped| drop.project == project.id;
    plan.drops.iter().any(is_its) || plan.forgotten.iter().any(|f| f.id == project.id)
}

fn is_dropped(plan: &Plan, project: &ProjectFacts, checkpoint: &CheckpointFacts) -> bool {
    let same = |d: &Dropped| d.project == project.id && d.number == checkpoint.number;
    plan.drops.iter().any(same)
}

fn clock_of(plan: &Plan) -> Trust {
    match plan.notes.first() {
        Some(Note::ClockDistrusted(trust)) => *trust,
        _ => Trust::Trusted,
    }
}

fn by_bytes(drop: &Dropped) -> bool {
    matches!(drop.rule, Rule::TotalSize | Rule::FreeDisk)
}

/// The bytes that checkpoints are brought down to for the size of the store, and for the disk.
fn budgets(store: &Store) -> (Option<u64>, Option<u64>) {
    let facts = &store.facts;
    let total = store.limits.max_total_bytes.filter(|limit| *limit > 0);
    let floor = store.limits.min_free_bytes.filter(|limit| *limit > 0);
    let must_stay = facts.fixed_bytes + protected(store);
    let total =
        total.map(|limit| super::bytes::aim(limit, must_stay).saturating_sub(facts.fixed_bytes));
    let room = facts.object_bytes + facts.free_bytes;
    let free = floor.and_then(|limit| room.checked_sub(limit));
    (total, free.filter(|limit| protected(store) <= *limit))
}

/// The bytes that stay in any case.
fn protected(store: &Store) -> u64 {
    let stays = |p: &ProjectFacts, c: &CheckpointFacts, newest: bool| {
        let marked = c.pinned || c.named || c.in_use;
        marked || (newest && !is_given_up(store, p))
    };
    let every = every(store).into_iter();
    let keys = every.filter(|(p, c, newest)| stays(p, c, *newest));
    let keys: Vec<_> = keys
        .map(|(p, c, _)| CheckpointKey { project: p.id.clone(), number: c.number, id: c.id })
        .collect();
    store.weigh(&keys).into_iter().sum()
}

fn held(store: &Store) -> u64 {
    store.weigh(&store.keys()).into_iter().sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_protected_goes_and_every_project_that_lives_keeps_its_newest(store in store()) {
        let plan = store.plan();
        for (project, checkpoint, newest) in every(&store) {
            if must_stay(project, checkpoint, newest) {
                prop_assert!(!is_dropped(&plan, project, checkpoint));
            }
        }
        // Not even a deleted project loses its newest to any rule but the one for deleted projects.
        for (project, checkpoint, newest) in every(&store) {
            let same = |d: &&Dropped| d.project == project.id && d.number == checkpoint.number;
            let dropped = plan.drops.iter().find(same);
            prop_assert!(!newest || dropped.is_none_or(|drop| drop.rule == Rule::Orphan));
        }
        for forgotten in &plan.forgotten {
            let kept = every(&store).into_iter().filter(|(p, c, _)| {
                p.id == forgotten.id && !is_dropped(&plan, p, c)
            });
            prop_assert_eq!(kept.count(), 0);
        }
    }

    #[test]
    fn the_count_limit_holds_wherever_something_may_go(store in store()) {
        let Some(limit) = store.limits.max_snapshots.filter(|limit| *limit > 0) else {
            return Ok(());
        };
        let plan = store.plan();
        for project in &store.facts.projects {
            let kept: Vec<_> = every(&store)
                .into_iter()
                .filter(|(p, c, _)| p.id == project.id && !is_dropped(&plan, p, c))
                .collect();
            let all_protected = kept.iter().all(|(p, c, newest)| {
                must_stay(p, c, *newest) || (*newest && !is_given_up(&store, p))
            });
            prop_assert!(kept.len() <= limit || all_protected);
        }
    }

    #[test]
    fn the_byte_limits_are_reached_or_named_and_each_drop_is_needed_for_that(store in store()) {
        let plan = store.plan();
        let after = store.after(&plan);
        let (size, limits) = (held(&after) + store.facts.fixed_bytes, &store.limits);
        if let Some(bytes) = plan.bytes_after {
            prop_assert_eq!(bytes, size);
            let limit = limits.max_total_bytes.filter(|limit| *limit > 0);
            prop_assert!(limit.is_none_or(|limit| size <= limit) || plan.over.is_some());
        }
        if let Some(over) = &plan.over {
            let missed = match over.limit {
                Rule::FreeDisk => limits.min_free_bytes.map(|f| f - after.facts.free_bytes),
                _ => limits.max_total_bytes.map(|limit| size - limit),
            };
            prop_assert_eq!(Some(over.bytes), missed);
            prop_assert_eq!(over.could_free, held(&after) - protected(&store));
            // A floor is missed only if it is out of reach, and then nothing goes for it.
            if over.limit == Rule::FreeDisk {
                prop_assert!(!plan.drops.iter().any(|drop| drop.rule == Rule::FreeDisk));
                prop_assert!(over.could_free < over.bytes);
            }
        }
        // Without any one of them, the limit for which they went would be missed.
        let (total, free) = budgets(&store);
        let last = plan.drops.iter().map(|drop| drop.rule).filter(|rule| *rule >= Rule::TotalSize).max();
        let budget = if last == Some(Rule::FreeDisk) { free } else { total };
        for drop in plan.drops.iter().filter(|drop| by_bytes(drop) && Some(drop.rule) == last) {
            let mut without = plan.clone();
            without.drops.retain(|other| other != drop);
            without.forgotten.retain(|forgotten| forgotten.id != drop.project);
            prop_assert!(Some(held(&store.after(&without))) > budget);
        }
    }

    #[test]
    fn planning_again_on_the_result_drops_nothing(store in store()) {
        let plan = store.plan();
        let after = store.after(&plan).last_run(Some(NOW));
        // The second cycle may believe a clock that the first did not.
        prop_assume!(clock_of(&plan).is_trusted() == clock_of(&after.plan()).is_trusted());
        prop_assert_eq!(after.plan().drops, vec![]);
        prop_assert_eq!(after.plan().forgotten, vec![]);
    }

    #[test]
    fn the_order_of_projects_does_not_matter(store in store(), turn in any::<Index>()) {
        let mut turned = store.clone();
        if !turned.facts.projects.is_empty() {
            let by = turn.index(turned.facts.projects.len());
            turned.facts.projects.rotate_left(by);
            turned.facts.projects.reverse();
        }
        prop_assert_eq!(turned.plan(), store.plan());
    }

    #[test]
    fn a_doubtful_clock_drops_nothing_by_age_and_times_do_not_matter(
        store in store(),
        other in prop::collection::vec(time(), 14),
    ) {
        let doubtful = store.last_run(Some(NOW - 60.0 * DAY));
        let plan = doubtful.plan();
        prop_assert_eq!(clock_of(&plan), Trust::JumpedAhead);
        let by_age = |drop: &Dropped| matches!(drop.rule, Rule::Stale | Rule::Thinned);
        prop_assert!(!plan.drops.iter().any(by_age));
        let mut retimed = doubtful.clone();
        for project in &mut retimed.facts.projects {
            for (checkpoint, time) in project.checkpoints.iter_mut().zip(&other) {
                checkpoint.time = *time;
            }
        }
        prop_assert_eq!(retimed.plan().drops, plan.drops);
    }

    #[test]
    fn only_the_distance_between_times_matters(store in store(), weeks in -1000_i64..1000) {
        // Whole weeks, so that hours, days and weeks of the calendar begin where they did.
        let seconds = weeks * WEEK;
        let mut shifted = store.clone();
        shifted.facts.now += seconds as f64;
        shifted.facts.last_run = shifted.facts.last_run.map(|time| time + seconds as f64);
        for project in &mut shifted.facts.projects {
            project.last_touch = project.last_touch.map(|time| time + seconds as f64);
            project.missing_since = project.missing_since.map(|time| time + seconds as f64);
            for checkpoint in &mut project.checkpoints {
                checkpoint.time += seconds;
            }
        }
        let (shifted, plan) = (shifted.plan(), store.plan());
        prop_assert_eq!(shifted.drops, plan.drops);
        prop_assert_eq!(shifted.forgotten, plan.forgotten);
        prop_assert_eq!((shifted.over, shifted.bytes_after), (plan.over, plan.bytes_after));
    }

    #[test]
    fn what_no_limit_requires_stays(store in store()) {
        let mut free = store.clone();
        free.limits = Limits::default();
        prop_assert_eq!(free.plan().drops, vec![]);
    }
}
