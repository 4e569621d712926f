//! The store keeps to its size, and leaves so much of the disk free.
//!
//! A store that comes within a twentieth of its size limit is brought down to nine tenths of it, so that there is
//! room for a while; that is one rule for every cleaning, whoever asks for it. Sizes are those of the objects as
//! they are stored, so merging can only gain: the plan is an upper bound, and nothing is planned again because of
//! what the cleaning itself wrote. Bytes that no checkpoint holds, such as what a collection is going to free, never
//! cost a checkpoint.
//!
//! What goes is what frees most bytes for each checkpoint lost. A project gives up its checkpoints in its own
//! order ([`thinning`]), and the project whose next ones free most comes first; among projects that free about as
//! much, the one with something to spare, then the one with the oldest. Deleted projects come before all others.
//! At last everything is given back that turned out not to be needed, so each drop is one without which the
//! limit would be missed.
//!
//! Protected checkpoints may exceed the limit alone. Then it cannot be reached, the plan says so, and by how much and
//! because of what. Giving up all history for that would be giving it up for nothing, and giving up none would
//! let the store grow without end: so what may go is kept to the limit by itself. Free space is different: what
//! fills the disk is mostly not Herma's, so a floor that is out of reach costs no checkpoint.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::facts::Holdings;
use super::facts::StoreFacts;
use super::limits::Limits;
use super::notes::Held;
use super::notes::Over;
use super::plan::Rule;
use super::shares::Shares;
use super::thinning;
use crate::error::Error;

/// What the byte limits have to say.
#[derive(Default)]
pub(super) struct Outcome {
    /// A limit that cannot be reached.
    pub(super) over: Option<Over>,
    /// The size of the store when the plan is applied and collected.
    pub(super) bytes_after: Option<u64>,
}

/// Is a store of this size so near its limit that it is time to do something?
pub fn is_near(bytes: u64, limit: u64) -> bool {
    limit > 0 && bytes > limit - limit / 20
}

/// Drops what does not fit. Asks `holdings` only if a limit is nearly exceeded now.
pub(super) fn apply(
    draft: &mut Draft<'_>,
    facts: &StoreFacts,
    limits: &Limits,
    holdings: &mut dyn Holdings,
) -> Result<Outcome, Error> {
    let limit = limits.max_total_bytes.unwrap_or(0);
    let floor = limits.min_free_bytes.unwrap_or(0);
    let size = facts.fixed_bytes.saturating_add(facts.object_bytes);
    if !is_near(size, limit) && facts.free_bytes >= floor {
        return Ok(Outcome::default());
    }
    let mut weighed = Weighed::new(draft, holdings)?;
    let fixed = facts.fixed_bytes;
    if is_near(fixed.saturating_add(weighed.held), limit) {
        let most = aim(limit, fixed.saturating_add(weighed.protected));
        weighed.reduce(draft, most.saturating_sub(fixed), Rule::TotalSize);
    }
    // Whatever is not kept of the objects becomes free space.
    let room = facts.object_bytes.saturating_add(facts.free_bytes);
    let most = room
        .checked_sub(floor)
        .filter(|most| weighed.protected <= *most);
    if let (true, Some(most)) = (floor > 0, most) {
        weighed.reduce(draft, most, Rule::FreeDisk);
    }
    Ok(Outcome {
        bytes_after: Some(fixed.saturating_add(weighed.held)),
        over: weighed.over(facts, limit, floor),
    })
}

/// The size a store is brought down to, if what must stay has so many bytes.
pub(super) fn aim(limit: u64, must_stay: u64) -> u64 {
    let tenth = limit / 10;
    if must_stay > limit {
        return must_stay.saturating_add(limit - tenth);
    }
    let wanted = limit - tenth;
    if must_stay <= wanted {
        wanted
    } else {
        // Half of the room there is.
        limit - (limit - must_stay) / 2
    }
}

/// The checkpoints that stay so far, with what they hold.
struct Weighed {
    shares: Shares,
    /// The bytes that are held.
    held: u64,
    /// The bytes of what must stay.
    protected: u64,
    /// What must stay, by its protection.
    by_protection: Vec<Held>,
    /// The piece of each checkpoint that stays, by its project and its place there.
    pieces: BTreeMap<(usize, usize), u32>,
}

/// A project that may give up checkpoints.
struct Giver {
    project: usize,
    is_deleted: bool,
    /// What it may give up, the last one first.
    places: Vec<Place>,
    /// What its next ones are worth, if that is known.
    worth: Option<Worth>,
}

#[derive(Clone, Copy)]
struct Place {
    project: usize,
    index: usize,
    piece: u32,
    is_spare: bool,
    /// Seconds before now, or the number of newer ones in the project if the clock is not believed.
    age: f64,
}

/// What is gained by the next so many checkpoints of a project.
#[derive(Clone, Copy)]
struct Worth {
    count: usize,
    /// The bytes each of them frees on average, as a power of two: what frees about as much is alike.
    magnitude: u32,
}

impl Weighed {
    fn new(draft: &Draft<'_>, holdings: &mut dyn Holdings) -> Result<Self, Error> {
        let places = staying(draft);
        let key = |(project, index): &(usize, usize)| draft.projects[*project].key(*index);
        let keys: Vec<_> = places.iter().map(key).collect();
        let (shares, pieces) = holdings.shares(&keys)?;
        let mut weighed = Self {
            shares,
            held: 0,
            protected: 0,
            by_protection: Vec::new(),
            pieces: BTreeMap::new(),
        };
        for ((project, index), piece) in places.into_iter().zip(pieces) {
            let bytes = weighed.shares.take_up(piece);
            weighed.held = weighed.held.saturating_add(bytes);
            weighed.count_protected(draft, project, index, bytes);
            weighed.pieces.insert((project, index), piece);
        }
        Ok(weighed)
    }

    fn count_protected(&mut self, draft: &Draft<'_>, project: usize, index: usize, bytes: u64) {
        let Some(protection) = draft.projects[project].checkpoints[index].protection else {
            return;
        };
        self.protected = self.protected.saturating_add(bytes);
        let last = self.by_protection.last_mut();
        match last.filter(|held| held.protection == protection) {
            Some(held) => {
                held.checkpoints += 1;
                held.bytes = held.bytes.saturating_add(bytes);
            }
            None => self.by_protection.push(Held {
                protection,
                checkpoints: 1,
                bytes,
            }),
        }
    }

    /// Drops until no more than `most` bytes are held, and nothing that is not needed for that.
    fn reduce(&mut self, draft: &mut Draft<'_>, most: u64, rule: Rule) {
        let numbers = 0..draft.projects.len();
        let givers = numbers.filter_map(|project| giver(draft, project, &self.pieces));
        let mut givers: Vec<Giver> = givers.collect();
        let mut gone: Vec<Place> = Vec::new();
        while self.held > most
            && let Some(next) = self.next(&mut givers)
        {
            for place in next {
                if self.held <= most {
                    break;
                }
                self.let_go(place);
                gone.push(place);
                let of_project = givers
                    .iter_mut()
                    .find(|giver| giver.project == place.project);
                if let Some(giver) = of_project {
                    giver.places.retain(|other| other.index != place.index);
                    giver.worth = None;
                }
            }
        }
        for place in gone.into_iter().rev() {
            self.held = self.held.saturating_add(self.shares.take_up(place.piece));
            if self.held > most {
                self.let_go(place);
                let project = &mut draft.projects[place.project];
                project.checkpoints[place.index].dropped = Some(rule);
            }
        }
    }

    fn let_go(&mut self, place: Place) {
        let freed = self.shares.let_go(place.piece);
        self.held = self.held.saturating_sub(freed);
    }

    /// What goes next: of the project that gains most by it. If no project by itself gains anything, what they
    /// hold they hold together: then all of it, the oldest first.
    fn next(&mut self, givers: &mut [Giver]) -> Option<Vec<Place>> {
        for giver in &mut *givers {
            if giver.worth.is_none() {
                giver.worth = Some(worth(&mut self.shares, &giver.places));
            }
        }
        let gains = |giver: &&Giver| giver.worth.is_some_and(|worth| worth.count > 0);
        let best = givers.iter().filter(gains).min_by(|a, b| before(a, b));
        if let Some(giver) = best {
            let count = giver.worth.map_or(0, |worth| worth.count);
            return Some(giver.places.iter().rev().take(count).copied().collect());
        }
        let all = givers.iter().flat_map(|giver| giver.places.iter().rev());
        let mut all: Vec<Place> = all.copied().collect();
        all.sort_by(|a, b| b.age.total_cmp(&a.age));
        (!all.is_empty()).then_some(all)
    }

    /// The limit that is missed, by the store and the disk as they will be; of two the one missed by more.
    fn over(self, facts: &StoreFacts, limit: u64, floor: u64) -> Option<Over> {
        let size = facts.fixed_bytes.saturating_add(self.held);
        let freed = facts.object_bytes.saturating_sub(self.held);
        let free = facts.free_bytes.saturating_add(freed);
        let total = (limit > 0).then(|| (size.saturating_sub(limit), Rule::TotalSize));
        let floor = (floor > 0).then(|| (floor.saturating_sub(free), Rule::FreeDisk));
        let (bytes, limit) = floor
            .into_iter()
            .chain(total)
            .max_by_key(|(bytes, _)| *bytes)?;
        (bytes > 0).then(|| Over {
            limit,
            bytes,
            could_free: self.held.saturating_sub(self.protected),
            held: self.by_protection,
        })
    }
}

/// Which of two projects gives up something first.
fn before(a: &Giver, b: &Giver) -> std::cmp::Ordering {
    let key = |giver: &Giver| (giver.is_deleted, giver.worth.map(|worth| worth.magnitude));
    let next = |giver: &Giver| giver.places.last().map(|place| (place.is_spare, place.age));
    let (of_a, of_b) = (next(a).unwrap_or_default(), next(b).unwrap_or_default());
    key(b)
        .cmp(&key(a))
        .then(of_b.0.cmp(&of_a.0))
        .then(of_b.1.total_cmp(&of_a.1))
        .then(a.project.cmp(&b.project))
}

/// How many of the next ones gain most for each of them.
fn worth(shares: &mut Shares, places: &[Place]) -> Worth {
    let mut best = Worth {
        count: 0,
        magnitude: 0,
    };
    let (mut freed, mut most) = (0_u64, 0.0);
    for (count, place) in (1..).zip(places.iter().rev()) {
        freed = freed.saturating_add(shares.let_go(place.piece));
        let each = freed as f64 / count as f64;
        if each > most {
            most = each;
            best = Worth {
                count,
                magnitude: (each as u64).max(1).ilog2(),
            };
        }
    }
    for place in places {
        shares.take_up(place.piece);
    }
    best
}

/// Everything that stays so far: what is protected first, by its protection, and the newest of that first.
fn staying(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (project, of_project) in draft.projects.iter().enumerate() {
        let checkpoints = of_project.checkpoints.iter().enumerate().rev();
        let staying = checkpoints.filter(|(_, checkpoint)| checkpoint.stays());
        places.extend(staying.map(|(index, checkpoint)| (checkpoint.protection, project, index)));
    }
    // What is not protected comes last.
    places.sort_by_key(|(protection, ..)| (protection.is_none(), *protection));
    places
        .into_iter()
        .map(|(_, project, index)| (project, index))
        .collect()
}

/// What a project may give up, if anything.
fn giver(
    draft: &Draft<'_>,
    project: usize,
    pieces: &BTreeMap<(usize, usize), u32>,
) -> Option<Giver> {
    let of_project = &draft.projects[project];
    let order = thinning::order(of_project, draft.now, draft.clock);
    let newer = |index: usize| {
        of_project.checkpoints[index..]
            .iter()
            .filter(|c| c.stays())
            .count()
    };
    let place = |index: usize| {
        Some(Place {
            project,
            index,
            piece: *pieces.get(&(project, index))?,
            is_spare: order.spare.binary_search(&index).is_ok(),
            age: if draft.clock.is_trusted() {
                draft.now - of_project.checkpoints[index].time
            } else {
                newer(index) as f64
            },
        })
    };
    let mut places: Vec<Place> = order.all().filter_map(place).collect();
    places.reverse();
    (!places.is_empty()).then(|| Giver {
        project,
        is_deleted: of_project.facts.presence.is_gone(),
        places,
        worth: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::DAY;
    use super::super::Protection;
    use super::super::testing::NOW;
    use super::super::testing::NOW_SECONDS;
    use super::super::testing::Store;
    use super::super::testing::days_ago;
    use super::super::testing::id;
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
            .limit_size(22);
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
        assert_eq!(
            plan.drops.len(),
            7,
            "what may go fits into the limit by itself"
        );
        let over = plan.over.clone().unwrap();
        assert_eq!((over.limit, over.bytes), (Rule::TotalSize, 31 << 20));
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
        for (name, sequences, piece, bytes) in pieces {
            let of_project = id(name);
            for key in store.keys() {
                if key.project == of_project && sequences.contains(&key.sequence) {
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
        let store = Store::new()
            .live("small", &[90; 13].map(days_ago))
            .live("large", &minutes(5));
        let pieces: Vec<_> = (1..=5).map(|n| ("large", [n], n as u32, 5000)).collect();
        let pieces: Vec<_> = pieces
            .iter()
            .map(|(p, s, n, b)| (*p, &s[..], *n, *b))
            .collect();
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
        let store = Store::new()
            .live("a", &minutes(9))
            .live("b", &[90, 80].map(days_ago));
        let store = with_pieces(store, &[("a", &[2, 3, 4], 1, 1000)]).limit_size(100);
        assert_eq!(store.dropped("a"), [2, 3, 4]);
        assert_eq!(store.dropped("b"), [0; 0]);
    }

    #[test]
    fn what_projects_hold_together_goes_when_nothing_else_helps() {
        let times = [30, 20].map(minutes_ago);
        let store = Store::new()
            .live("a", &times)
            .live("b", &times)
            .live("c", &times);
        let store = with_pieces(store, &[("a", &[1], 1, 1000), ("b", &[1], 1, 1000)]);
        let store = store.limit_size(100);
        assert_eq!((store.dropped("a"), store.dropped("b")), (vec![1], vec![1]));
        assert_eq!(store.dropped("c"), [0; 0]);
    }

    #[test]
    fn deleted_projects_give_up_their_history_before_any_that_lives() {
        let store = Store::new()
            .gone("gone", &[3, 2].map(days_ago))
            .live("alive", &[90, 80].map(days_ago));
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
        let store = store
            .own_bytes(u64::MAX)
            .fixed(u64::MAX)
            .free_space(u64::MAX);
        let plan = store.limit_size(1).floor(u64::MAX).plan();
        assert_eq!(plan.bytes_after, Some(u64::MAX));
    }
}
