//! The store keeps to its size, and leaves so much of the disk free.
//!
//! Both limits become one budget for the bytes that checkpoints hold. The checkpoints are put in the
//! order in which they deserve to stay: protected ones, then the newest across all projects, last what
//! thinning can spare. Each is charged with the bytes that none before it holds, and where the sum exceeds
//! the budget the list is cut. So one pass reaches the limit and the first checkpoint behind the cut is
//! one that does not fit. Bytes that no checkpoint holds, such as what a collection is going to free,
//! never cost a checkpoint.
//!
//! Protected checkpoints may exceed the budget alone. For the size of the store everything else goes then,
//! and the plan says by how much the limit is missed and because of what. Free space is different: what
//! fills the disk is mostly not Herma's, and history that is given up without reaching the floor is lost
//! for nothing. So a floor that is out of reach costs no checkpoint, and the plan says what is missing.

use super::draft::CheckpointDraft;
use super::draft::Draft;
use super::facts::Holdings;
use super::facts::StoreFacts;
use super::limits::Limits;
use super::notes::Held;
use super::notes::Over;
use super::notes::Protection;
use super::plan::Rule;
use super::thinning;
use crate::error::Error;
use crate::id::ObjectId;
use crate::id::ProjectId;

/// What the byte limits have to say.
#[derive(Default)]
pub(super) struct Outcome {
    /// A limit that cannot be reached.
    pub(super) over: Option<Over>,
    /// The size of the store when the plan is applied and collected.
    pub(super) bytes_after: Option<u64>,
}

/// Drops what does not fit. Asks `holdings` only if a limit is exceeded now.
pub(super) fn apply(
    draft: &mut Draft<'_>,
    facts: &StoreFacts,
    limits: &Limits,
    holdings: &mut dyn Holdings,
) -> Result<Outcome, Error> {
    let Some(budget) = Budget::exceeded(facts, limits) else {
        return Ok(Outcome::default());
    };
    let places = keep_order(draft);
    let keys: Vec<_> = places
        .iter()
        .map(|place| draft.projects[place.project].key(place.index))
        .collect();
    let mut added = holdings.added_bytes(&keys)?;
    // What has no number weighs nothing: it is never the reason for a cut.
    added.resize(places.len(), 0);
    let budget = budget.within_reach(protected_bytes(&places, &added));
    let mut cut = Cut::default();
    for (place, added) in places.iter().zip(added) {
        let checkpoint = &mut draft.projects[place.project].checkpoints[place.index];
        cut.weigh(checkpoint, added, &budget);
    }
    Ok(Outcome {
        bytes_after: Some(facts.fixed_bytes.saturating_add(cut.kept)),
        over: cut.over(facts, limits),
    })
}

/// What stays in any case.
fn protected_bytes(places: &[Place], added: &[u64]) -> u64 {
    let is_protected = |place: &Place| matches!(place.class, Class::Protected(_));
    let both = places.iter().zip(added);
    let protected = both.filter(|(place, _)| is_protected(place));
    protected.fold(0, |sum, (_, added)| sum.saturating_add(*added))
}

/// How many bytes checkpoints may hold, by each limit that is set.
struct Budget {
    total_size: Option<u64>,
    /// None as well if the disk would not have enough room without any checkpoint.
    free_disk: Option<u64>,
}

impl Budget {
    /// The budget, if the store is over one of its limits as it is.
    fn exceeded(facts: &StoreFacts, limits: &Limits) -> Option<Self> {
        let total = limits.max_total_bytes.filter(|limit| *limit > 0);
        let floor = limits.min_free_bytes.filter(|limit| *limit > 0);
        let size = facts.fixed_bytes.saturating_add(facts.object_bytes);
        let is_over = total.is_some_and(|total| size > total)
            || floor.is_some_and(|floor| facts.free_bytes < floor);
        // Whatever is not kept of the objects becomes free space.
        let room = facts.object_bytes.saturating_add(facts.free_bytes);
        is_over.then(|| Self {
            total_size: total.map(|total| total.saturating_sub(facts.fixed_bytes)),
            free_disk: floor.and_then(|floor| room.checked_sub(floor)),
        })
    }

    /// Without the floor, if that cannot be reached beside what must stay.
    fn within_reach(self, protected: u64) -> Self {
        Self {
            free_disk: self.free_disk.filter(|limit| protected <= *limit),
            ..self
        }
    }

    /// The limit that forbids to hold so many bytes.
    fn forbids(&self, bytes: u64) -> Option<Rule> {
        if self.total_size.is_some_and(|limit| bytes > limit) {
            Some(Rule::TotalSize)
        } else {
            let full = self.free_disk.is_some_and(|limit| bytes > limit);
            full.then_some(Rule::FreeDisk)
        }
    }
}

/// Where the list is cut.
#[derive(Default)]
struct Cut {
    /// Bytes of everything so far.
    sum: u64,
    /// Bytes of everything so far that stays.
    kept: u64,
    /// What protected checkpoints hold.
    held: Vec<Held>,
}

impl Cut {
    fn weigh(&mut self, checkpoint: &mut CheckpointDraft<'_>, added: u64, budget: &Budget) {
        self.sum = self.sum.saturating_add(added);
        if let Some(protection) = checkpoint.protection {
            self.kept = self.sum;
            match self
                .held
                .last_mut()
                .filter(|held| held.protection == protection)
            {
                Some(held) => {
                    held.checkpoints += 1;
                    held.bytes = held.bytes.saturating_add(added);
                }
                None => self.held.push(Held {
                    protection,
                    checkpoints: 1,
                    bytes: added,
                }),
            }
            return;
        }
        // The sum only grows: behind the first that does not fit, nothing fits.
        match budget.forbids(self.sum) {
            Some(rule) => checkpoint.dropped = Some(rule),
            None => self.kept = self.sum,
        }
    }

    /// The limit that is missed, by the store and the disk as they will be; of two the one missed by more.
    fn over(self, facts: &StoreFacts, limits: &Limits) -> Option<Over> {
        let size = facts.fixed_bytes.saturating_add(self.kept);
        let freed = facts.object_bytes.saturating_sub(self.kept);
        let free = facts.free_bytes.saturating_add(freed);
        let total = limits.max_total_bytes.filter(|limit| *limit > 0);
        let total = total.map(|limit| (size.saturating_sub(limit), Rule::TotalSize));
        let floor = limits.min_free_bytes.filter(|limit| *limit > 0);
        let floor = floor.map(|floor| (floor.saturating_sub(free), Rule::FreeDisk));
        let missed = floor.into_iter().chain(total);
        let (bytes, limit) = missed.max_by_key(|(bytes, _)| *bytes)?;
        let held = self.held.iter().map(|held| held.bytes);
        let held = held.fold(0, u64::saturating_add);
        (bytes > 0).then(|| Over {
            limit,
            bytes,
            could_free: self.kept.saturating_sub(held),
            held: self.held,
        })
    }
}

/// One checkpoint's claim to stay.
struct Place {
    project: usize,
    index: usize,
    class: Class,
    /// Seconds before now, or the number of newer ones in the project if the clock is not believed.
    age: f64,
    sequence: u64,
}

/// In the order in which they deserve to stay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Protected(Protection),
    Free,
    Spare,
}

/// Everything that is still there, what deserves most to stay first.
fn keep_order(draft: &Draft<'_>) -> Vec<Place> {
    let mut places = Vec::new();
    for (number, project) in draft.projects.iter().enumerate() {
        let spare = thinning::order(project, draft.now, draft.clock).spare;
        let staying = project.checkpoints.iter().enumerate().rev();
        let staying = staying.filter(|(_, checkpoint)| checkpoint.stays());
        for (rank, (index, checkpoint)) in staying.enumerate() {
            let class = match checkpoint.protection {
                Some(protection) => Class::Protected(protection),
                None if spare.binary_search(&index).is_ok() => Class::Spare,
                None => Class::Free,
            };
            places.push(Place {
                project: number,
                index,
                class,
                age: if draft.clock.is_trusted() {
                    draft.now - checkpoint.time
                } else {
                    rank as f64
                },
                sequence: checkpoint.facts.sequence,
            });
        }
    }
    let tie = |place: &Place| -> (ObjectId, &ProjectId) {
        let project = &draft.projects[place.project];
        (project.checkpoints[place.index].facts.id, &project.facts.id)
    };
    places.sort_by(|a, b| {
        a.class
            .cmp(&b.class)
            .then(a.age.total_cmp(&b.age))
            .then(b.sequence.cmp(&a.sequence))
            .then_with(|| tie(a).cmp(&tie(b)))
    });
    places
}

#[cfg(test)]
mod tests {
    use super::super::DAY;
    use super::super::testing::NOW;
    use super::super::testing::NOW_SECONDS;
    use super::super::testing::Store;
    use super::super::testing::days_ago;
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
        let store = Store::new()
            .live("a", &[10, 50, 5].map(minutes_ago))
            .own_bytes(10)
            .limit_size(20);
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
        assert_eq!(plan.drops.len(), 8);
        let over = plan.over.clone().unwrap();
        assert_eq!((over.limit, over.bytes), (Rule::TotalSize, 27 << 20));
        assert_eq!(over.held.len(), 1);
        assert_eq!(over.held[0].protection, Protection::Newest);
        assert_eq!(
            (over.held[0].checkpoints, over.held[0].bytes),
            (8, 32 << 20)
        );
        assert!(store.after(&plan).plan().drops.is_empty());
    }

    #[test]
    fn what_thinning_can_spare_goes_before_what_is_older() {
        let hour = minutes_ago(60 * 5) / 3600 * 3600;
        let store = Store::new()
            .live("a", &[hour + 60, hour + 120, minutes_ago(1)])
            .live("b", &[days_ago(3), days_ago(2)])
            .own_bytes(10)
            .limit_size(40);
        assert_eq!(store.dropped("a"), [1]);
        assert_eq!(store.dropped("b"), [0; 0]);
        assert_eq!(store.limit_size(30).dropped("b"), [1]);
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
        let store = Store::new()
            .live("a", &[50, 40, 30, 20, 10].map(minutes_ago))
            .own_bytes(10)
            .free_space(5);
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
        let store = Store::new()
            .live("a", &[20, 10].map(minutes_ago))
            .own_bytes(10)
            .fixed(100)
            .limit_size(30);
        let over = store.plan().over.unwrap();
        assert_eq!((over.limit, over.bytes), (Rule::TotalSize, 100 + 10 - 30));
        assert_eq!(over.could_free, 0);
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
        assert_eq!(rules, [Rule::TotalSize, Rule::FreeDisk, Rule::FreeDisk]);
    }

    #[test]
    fn with_a_doubtful_clock_every_project_gives_up_its_oldest_in_turn() {
        let store = Store::new()
            .live("a", &[90, 80, 70].map(days_ago))
            .live("b", &[3, 2, 1].map(days_ago))
            .own_bytes(10)
            .limit_size(40)
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
            .limit_size(15);
        let plan = store.plan();
        assert_eq!(store.dropped("old"), [1]);
        assert_eq!(plan.forgotten, []);
        assert_eq!(plan.over.unwrap().bytes, 5);
    }

    #[test]
    fn numbers_near_the_end_of_the_range_do_not_overflow() {
        let store = Store::new().live("a", &[2, 1].map(minutes_ago));
        let store = store
            .own_bytes(u64::MAX)
            .fixed(u64::MAX)
            .free_space(u64::MAX);
        let plan = store.limit_size(1).floor(u64::MAX).plan();
        assert_eq!(plan.bytes_after, Some(u64::MAX));
    }
}
