//! Tests of bytes.

use super::super::testing::{NOW, NOW_SECONDS, Store, days_ago, id};
use super::super::{DAY, Protection};
use super::*;

fn minutes_ago(minutes: i64) -> i64 {
    NOW_SECONDS - 60 * minutes
}

#[test]
fn a_store_below_its_limits_is_never_weighed() {
    let store = Store::new().live("p", &[2, 1].map(days_ago)).objects(100);
    let store = store.limit_size(1000).floor(500).free_space(500);
    let plan = store.plan();
    assert_eq!((plan.drops.len(), plan.bytes_after), (0, None));
    assert_eq!(store.questions(), 0);
}

#[test]
fn the_oldest_across_projects_go_and_no_more_than_needed() {
    // Each checkpoint holds 10 bytes of its own.
    let store = Store::new()
        .live("a", &[50, 30, 10].map(minutes_ago))
        .live("b", &[40, 20, 5].map(minutes_ago))
        .own_bytes(10)
        .fixed(7)
        .limit_size(7 + 45);
    let plan = store.plan();
    assert_eq!(store.questions(), 1);
    assert_eq!(plan.bytes_after, Some(7 + 40));
    assert!(plan.drops.iter().all(|drop| drop.rule == Rule::TotalSize));
    assert_eq!(plan.over, None);
    assert_eq!(store.dropped("a"), [1]);
    assert_eq!(store.dropped("b"), [1]);
}

#[test]
fn within_a_project_the_older_goes_first_whatever_their_times_say() {
    let store = Store::new().live("a", &[10, 50, 5].map(minutes_ago)).own_bytes(10).limit_size(22);
    assert_eq!(store.dropped("a"), [1]);
}

#[test]
fn a_large_file_that_is_in_no_checkpoint_flattens_nothing() {
    // Defect 15: 60 MB that the next collection frees anyway.
    let store = Store::new()
        .live("a", &[50, 30, 10].map(minutes_ago))
        .live("b", &[40, 20, 5].map(minutes_ago))
        .own_bytes(10)
        .objects(60 + 60_000_000)
        .limit_size(50_000_000);
    let plan = store.plan();
    assert!(plan.drops.is_empty() && plan.over.is_none());
    assert_eq!(plan.bytes_after, Some(60));
}

#[test]
fn eight_projects_over_the_cap_settle_at_once_and_say_so() {
    // Defect 41: one checkpoint of 4 MB for each of eight projects, cap 5 MB.
    let mut store = Store::new().own_bytes(4 << 20).limit_size(5 << 20);
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        store = store.live(name, &[2, 1].map(minutes_ago));
    }
    let plan = store.plan();
    assert_eq!(plan.drops.len(), 7, "what may go fits into the limit by itself");
    let over = plan.over.clone().unwrap();
    assert_eq!((over.limit, over.bytes), (Rule::TotalSize, 31 << 20));
    assert_eq!(over.held.len(), 1);
    assert_eq!(over.held[0].protection, Protection::Newest);
    assert_eq!((over.held[0].checkpoints, over.held[0].bytes), (8, 32 << 20));
    assert!(store.after(&plan).plan().drops.is_empty());
}

#[test]
fn what_thinning_can_spare_goes_before_what_is_older() {
    let hour = minutes_ago(60 * 5) / 3600 * 3600;
    let store = Store::new()
        .live("a", &[hour + 60, hour + 120, minutes_ago(1)])
        .live("b", &[days_ago(3), days_ago(2)])
        .own_bytes(10)
        .limit_size(45);
    assert_eq!(store.dropped("a"), [1]);
    assert_eq!(store.dropped("b"), [0; 0]);
    assert_eq!(store.limit_size(34).dropped("b"), [1]);
}

#[test]
fn a_nearly_full_disk_is_relieved_up_to_the_floor() {
    let store = Store::new()
        .live("a", &[50, 40, 30, 20, 10].map(minutes_ago))
        .own_bytes(10)
        .free_space(5)
        .floor(25);
    let plan = store.plan();
    assert_eq!(store.dropped("a"), [1, 2]);
    assert!(plan.drops.iter().all(|drop| drop.rule == Rule::FreeDisk));
    assert_eq!(plan.over, None);
    assert_eq!(store.clone().floor(45).dropped("a"), [1, 2, 3, 4]);
}

#[test]
fn a_floor_that_checkpoints_cannot_reach_costs_none_of_them() {
    let store =
        Store::new().live("a", &[50, 40, 30, 20, 10].map(minutes_ago)).own_bytes(10).free_space(5);
    // The last can be reached only without the newest.
    for floor in [1000, 56, 46] {
        let plan = store.clone().floor(floor).plan();
        assert_eq!(plan.drops, [], "{floor}");
        let over = plan.over.unwrap();
        assert_eq!((over.limit, over.bytes), (Rule::FreeDisk, floor - 5));
        assert_eq!(over.could_free, 40, "all but the newest");
        assert_eq!(plan.bytes_after, Some(50));
    }
}

#[test]
fn a_floor_out_of_reach_does_not_stand_in_the_way_of_the_size_limit() {
    let store = Store::new()
        .live("a", &[50, 40, 30, 20, 10].map(minutes_ago))
        .own_bytes(10)
        .free_space(5)
        .floor(1000)
        .limit_size(35);
    let plan = store.plan();
    assert_eq!(store.dropped("a"), [1, 2]);
    assert!(plan.drops.iter().all(|drop| drop.rule == Rule::TotalSize));
    let over = plan.over.unwrap();
    // Two checkpoints less, and so much more of the disk is free.
    assert_eq!((over.limit, over.bytes), (Rule::FreeDisk, 1000 - 25));
    assert_eq!(over.could_free, 20);
}

#[test]
fn a_missed_size_limit_is_named_by_all_that_exceeds_it() {
    let store =
        Store::new().live("a", &[20, 10].map(minutes_ago)).own_bytes(10).fixed(100).limit_size(30);
    let over = store.plan().over.unwrap();
    assert_eq!((over.limit, over.bytes), (Rule::TotalSize, 100 + 20 - 30));
    assert_eq!(over.could_free, 10, "it would be given up for nothing");
    let empty = Store::new().fixed(100).limit_size(30).plan();
    assert_eq!(empty.over.unwrap().bytes, 70, "it is no checkpoint's fault");
}

#[test]
fn each_drop_names_the_limit_that_demanded_it() {
    let store = Store::new()
        .live("a", &[50, 40, 30, 20, 10].map(minutes_ago))
        .own_bytes(10)
        .free_space(0)
        .floor(30)
        .limit_size(40);
    let rules: Vec<_> = store.plan().drops.iter().map(|d| d.rule).collect();
    assert_eq!(rules, [Rule::TotalSize, Rule::TotalSize, Rule::FreeDisk]);
}

#[test]
fn with_a_doubtful_clock_every_project_gives_up_its_oldest_in_turn() {
    let store = Store::new()
        .live("a", &[90, 80, 70].map(days_ago))
        .live("b", &[3, 2, 1].map(days_ago))
        .own_bytes(10)
        .limit_size(44)
        .last_run(Some(NOW - 60.0 * DAY));
    assert_eq!(store.dropped("a"), [1]);
    assert_eq!(store.dropped("b"), [1]);
    let steady = store.last_run(Some(NOW));
    assert_eq!(steady.dropped("a"), [1, 2]);
}

#[test]
fn a_deleted_project_that_is_kept_does_not_lose_its_newest_to_the_cap() {
    let store = Store::new()
        .gone("old", &[3, 2].map(days_ago))
        .live("new", &[days_ago(1)])
        .own_bytes(10)
        .limit_size(25);
    let plan = store.plan();
    assert_eq!(store.dropped("old"), [1]);
    assert_eq!((plan.forgotten.len(), plan.over), (0, None));
}

/// Every checkpoint holds one byte of its own; these hold pieces besides.
fn with_pieces(mut store: Store, pieces: &[(&str, &[u64], u32, u64)]) -> Store {
    for (name, numbers, piece, bytes) in pieces {
        let of_project = id(name);
        for key in store.keys() {
            if key.project == of_project && numbers.contains(&key.number) {
                store.pieces.entry(key).or_default().insert(*piece, *bytes);
            }
        }
    }
    store.own_bytes(1)
}

fn minutes(count: i64) -> Vec<i64> {
    (0..count).map(|n| minutes_ago(count - n)).collect()
}

#[test]
fn what_frees_most_goes_first_and_small_history_stays() {
    let store = Store::new().live("small", &[90; 13].map(days_ago)).live("large", &minutes(5));
    let pieces: Vec<_> = (1..=5).map(|n| ("large", [n], n as u32, 5000)).collect();
    let pieces: Vec<_> = pieces.iter().map(|(p, s, n, b)| (*p, &s[..], *n, *b)).collect();
    let store = with_pieces(store, &pieces).limit_size(20_000);
    assert_eq!(store.dropped("large"), [1, 2]);
    assert_eq!(store.dropped("small"), [0; 0]);
}

#[test]
fn live_projects_are_not_squeezed_for_leftovers_that_must_stay() {
    let mut store = Store::new().live("alive", &minutes(13));
    for name in ["1", "2", "3", "4"] {
        store = store.gone(name, &[days_ago(1)]);
    }
    let pieces = ["1", "2", "3", "4"].map(|name| (name, &[1][..], name.parse().unwrap(), 5000));
    let store = with_pieces(store, &pieces).limit_size(10_000);
    let plan = store.plan();
    assert_eq!(plan.drops, []);
    assert_eq!(plan.over.unwrap().could_free, 12);
}

#[test]
fn a_large_version_goes_alone_and_not_with_all_that_is_older() {
    let store = Store::new().live("a", &minutes(9));
    let store = with_pieces(store, &[("a", &[5], 1, 1000), ("a", &[9], 2, 500)]);
    assert_eq!(store.limit_size(600).dropped("a"), [5]);
}

#[test]
fn what_several_hold_together_is_given_up_together_and_by_nobody_else() {
    let store = Store::new().live("a", &minutes(9)).live("b", &[90, 80].map(days_ago));
    let store = with_pieces(store, &[("a", &[2, 3, 4], 1, 1000)]).limit_size(100);
    assert_eq!(store.dropped("a"), [2, 3, 4]);
    assert_eq!(store.dropped("b"), [0; 0]);
}

#[test]
fn what_projects_hold_together_goes_when_nothing_else_helps() {
    let times = [30, 20].map(minutes_ago);
    let store = Store::new().live("a", &times).live("b", &times).live("c", &times);
    let store = with_pieces(store, &[("a", &[1], 1, 1000), ("b", &[1], 1, 1000)]);
    let store = store.limit_size(100);
    assert_eq!((store.dropped("a"), store.dropped("b")), (vec![1], vec![1]));
    assert_eq!(store.dropped("c"), [0; 0]);
}

#[test]
fn deleted_projects_give_up_their_history_before_any_that_lives() {
    let store =
        Store::new().gone("gone", &[3, 2].map(days_ago)).live("alive", &[90, 80].map(days_ago));
    let pieces = [("gone", &[1][..], 1, 100), ("alive", &[1][..], 2, 900)];
    let store = with_pieces(store, &pieces);
    assert_eq!(store.clone().limit_size(1040).dropped("gone"), [1]);
    assert_eq!(store.clone().limit_size(1040).dropped("alive"), [0; 0]);
}

#[test]
fn a_store_is_brought_down_to_nine_tenths_or_as_near_as_it_can_be() {
    assert_eq!(aim(1000, 0), 900);
    assert_eq!(aim(1000, 900), 900);
    assert_eq!(aim(1000, 960), 980, "half of the room there is");
    assert_eq!(aim(1000, 1000), 1000);
    assert_eq!(aim(1000, 1001), 1901, "out of reach");
    assert!(is_near(951, 1000) && !is_near(950, 1000) && !is_near(u64::MAX, 0));
}

#[test]
fn numbers_near_the_end_of_the_range_do_not_overflow() {
    let store = Store::new().live("a", &[2, 1].map(minutes_ago));
    let store = store.own_bytes(u64::MAX).fixed(u64::MAX).free_space(u64::MAX);
    let plan = store.limit_size(1).floor(u64::MAX).plan();
    assert_eq!(plan.bytes_after, Some(u64::MAX));
}
