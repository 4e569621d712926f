//! The store keeps to its size, and leaves so much of the disk free.
//!
//! A store that comes within a twentieth of its size limit is brought down to nine tenths of it, so that there is
//! room for a while; that is one rule for every cleaning, whoever asks for it. Sizes are those of the objects as
//! they are stored, so merging can only gain: the plan is an upper bound, and nothing is planned again because of
//! what the cleaning itself wrote. Bytes that no checkpoint holds, such as what a collection is going to free, never
//! cost a checkpoint.
//!
//! What goes is what frees most bytes for each checkpoint lost. A project gives up its checkpoints in its own
//! order ([`giving_order`]), and the project whose next ones free most comes first; among projects that free about as
//! much, the one with something to spare, then the one with the oldest. Deleted projects come before all others.
//! At last everything is given back that turned out not to be needed, so each drop is one without which the
//! limit would be missed.
//!
//! Protected checkpoints may exceed the limit alone. Then it cannot be reached, the plan says so, and by how much and
//! because of what. Giving up all history for that would be giving it up for nothing, and giving up none would
//! let the store grow without end: so what may go is kept to the limit by itself. Free space is different: what
//! fills the disk is mostly not Herma's, so a floor that is out of reach costs no checkpoint.

pub(crate) mod holdings;

use std::collections::BTreeMap;

use super::facts::StoreFacts;
use super::notes::{Held, Over};
use super::plan::{Draft, Holdings, Limits, Rule};
use super::rules::giving_order;
use crate::error::Result;
use holdings::Shares;

/// Is a store of this size so near its limit that it is time to do something?
pub(super) fn is_near(bytes: u64, limit: u64) -> bool {
    limit > 0 && bytes > limit - limit / 20
}

/// Drops what does not fit; says what the size will be, and which limit cannot be reached. Asks `holdings` only if a limit is nearly exceeded now.
pub(super) fn apply(
    draft: &mut Draft<'_>,
    facts: &StoreFacts,
    limits: &Limits,
    holdings: Holdings<'_>,
) -> Result<(Option<u64>, Option<Over>)> {
    let limit = limits.max_total_bytes.unwrap_or(0);
    let floor = limits.min_free_bytes.unwrap_or(0);
    let size = facts.fixed_bytes.saturating_add(facts.object_bytes);
    if !is_near(size, limit) && facts.free_bytes >= floor {
        return Ok((None, None));
    }
    let mut weighed = Weighed::new(draft, holdings)?;
    let fixed = facts.fixed_bytes;
    if is_near(fixed.saturating_add(weighed.held), limit) {
        let most = aim(limit, fixed.saturating_add(weighed.protected));
        weighed.reduce(draft, most.saturating_sub(fixed), Rule::TotalSize);
    }
    // Whatever is not kept of the objects becomes free space.
    let room = facts.object_bytes.saturating_add(facts.free_bytes);
    let most = room.checked_sub(floor).filter(|most| weighed.protected <= *most);
    if let (true, Some(most)) = (floor > 0, most) {
        weighed.reduce(draft, most, Rule::FreeDisk);
    }
    let bytes_after = fixed.saturating_add(weighed.held);
    Ok((Some(bytes_after), weighed.over(facts, limit, floor)))
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
    fn new(draft: &Draft<'_>, holdings: Holdings<'_>) -> Result<Self> {
        let places = staying(draft);
        let id = |(project, index): &(usize, usize)| {
            draft.projects[*project].checkpoints[*index].facts.id
        };
        let ids: Vec<_> = places.iter().map(id).collect();
        let (shares, pieces) = holdings(&ids)?;
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
            None => self.by_protection.push(Held { protection, checkpoints: 1, bytes }),
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
                let of_project = givers.iter_mut().find(|giver| giver.project == place.project);
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
        let (bytes, limit) = floor.into_iter().chain(total).max_by_key(|(bytes, _)| *bytes)?;
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
    let mut best = Worth { count: 0, magnitude: 0 };
    let (mut freed, mut most) = (0_u64, 0.0);
    for (count, place) in (1..).zip(places.iter().rev()) {
        freed = freed.saturating_add(shares.let_go(place.piece));
        let each = freed as f64 / count as f64;
        if each > most {
            most = each;
            best = Worth { count, magnitude: (each as u64).max(1).ilog2() };
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
    places.into_iter().map(|(_, project, index)| (project, index)).collect()
}

/// What a project may give up, if anything.
fn giver(
    draft: &Draft<'_>,
    project: usize,
    pieces: &BTreeMap<(usize, usize), u32>,
) -> Option<Giver> {
    let of_project = &draft.projects[project];
    let order = giving_order(of_project, draft.now, draft.clock);
    let newer = |index: usize| of_project.checkpoints[index..].iter().filter(|c| c.stays()).count();
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
#[path = "../tests/bytes/limits.rs"]
mod bytes_tests;
