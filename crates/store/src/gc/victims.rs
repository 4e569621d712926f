//! Which packs to merge, as a pure choice over what each of them holds.
//!
//! Packs that hold nothing alive of their own go without a byte being written. Of the others, small ones
//! are rolled up into one, and one that is mostly dead is written again without what is dead. A large
//! pack that is mostly alive stays as it is, so cleaning costs in proportion to what changed and never
//! needs room for a second copy of the store.

/// What a pack holds, where an object that is in several packs counts for one of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackFacts {
    /// The size of its entries.
    pub bytes: u64,
    /// How many of these bytes are live objects it holds alone.
    pub live_bytes: u64,
    /// How many live objects it holds alone.
    pub live: u64,
    /// Must it stay as it is?
    pub keep: bool,
    /// Does it hold something that must not be readable any more?
    pub is_doomed: bool,
}

impl PackFacts {
    /// Is so much of it dead, or something in it doomed?
    pub(crate) fn is_worth_writing_again(&self, thoroughness: Thoroughness) -> bool {
        let dead = self.bytes.saturating_sub(self.live_bytes);
        let enough = self.bytes.saturating_mul(thoroughness.dead_percent()) / 100;
        self.is_doomed || dead > 0 && dead >= enough
    }
}

/// How thorough to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// What can be removed without writing anything.
    Quick,
    /// What pays: small packs, and packs of which half is dead.
    Usual,
    /// Whatever makes the store smaller.
    Full,
}

impl Thoroughness {
    /// Of a hundred bytes, how many must be dead for a pack to be written again?
    const fn dead_percent(self) -> u64 {
        match self {
            Self::Quick => 100,
            Self::Usual => 50,
            Self::Full => 5,
        }
    }
}

/// What to do with the packs, as indexes into the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Nothing in them is needed.
    pub remove: Vec<usize>,
    /// What is alive in the packs of a group goes into one new pack. Within a group the smallest pack comes
    /// first.
    pub groups: Vec<Vec<usize>>,
}

/// A pack is rolled up if it is smaller than this share of what is rolled up with it: so there are never
/// more packs than the logarithm of the store's size, and a byte is rewritten as often at most.
const GROWTH: u64 = 2;

/// Chooses. `loose` says whether live objects outside packs wait to be taken in. A pack of more than half of
/// `max_pack` bytes is full-grown: it is written again only for what is dead in it.
pub fn choose(
    packs: &[PackFacts],
    loose: bool,
    thoroughness: Thoroughness,
    max_pack: u64,
) -> Choice {
    let mut choice = Choice::default();
    let mut growing = Vec::new();
    let mut large = Vec::new();
    let mut doomed = Vec::new();
    let dead = |pack: &PackFacts| pack.is_worth_writing_again(thoroughness);
    for (at, pack) in packs.iter().enumerate() {
        match pack {
            pack if pack.keep => {}
            pack if pack.live == 0 => choice.remove.push(at),
            pack if pack.is_doomed => doomed.push(at),
            pack if pack.live_bytes <= max_pack / 2 => growing.push(at),
            pack if dead(pack) => large.push(at),
            _ => {}
        }
    }
    doomed.sort_by_key(|at| packs[*at].live_bytes);
    choice.groups = apart(packs, &doomed, max_pack);
    if thoroughness == Thoroughness::Quick {
        return choice;
    }
    growing.sort_by_key(|at| packs[*at].live_bytes);
    let rolled = match thoroughness {
        Thoroughness::Full => growing.len(),
        _ => rolled_up(packs, &growing),
    };
    let (rolled, rest) = growing.split_at(rolled);
    // One pack by itself gains nothing, unless something in it is dead or loose objects join it.
    let pays = rolled.len() > 1 || loose || rolled.iter().any(|at| dead(&packs[*at]));
    if pays && !rolled.is_empty() {
        choice.groups.extend(apart(packs, rolled, max_pack));
    }
    large.extend(rest.iter().filter(|at| dead(&packs[**at])));
    choice.groups.extend(large.into_iter().map(|at| vec![at]));
    choice
}

/// Cuts packs that would hardly fit into one new pack into several groups, the smallest first.
fn apart(packs: &[PackFacts], sorted: &[usize], max_pack: u64) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut sum: u64 = 0;
    for at in sorted {
        let bytes = packs[*at].live_bytes;
        // Deltas make a merged pack a good deal smaller than what goes into it.
        match groups.last_mut() {
            Some(last) if sum.saturating_add(bytes) <= max_pack.saturating_mul(4) => last.push(*at),
            _ => {
                groups.push(vec![*at]);
                sum = 0;
            }
        }
        sum = sum.saturating_add(bytes);
    }
    // A pack that is left over by itself would only be copied.
    if let [.., before, last] = &mut groups[..]
        && last.len() == 1
    {
        before.append(last);
        groups.pop();
    }
    groups
}

/// How many of the packs, which are sorted by size, are small beside each other.
fn rolled_up(packs: &[PackFacts], sorted: &[usize]) -> usize {
    let mut sum = 0;
    let mut rolled = 0;
    for (count, at) in (1..).zip(sorted) {
        let bytes = packs[*at].live_bytes;
        if count == 1 || bytes < sum * GROWTH {
            rolled = count;
        }
        sum += bytes;
    }
    rolled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack(bytes: u64, live_bytes: u64) -> PackFacts {
        PackFacts {
            bytes,
            live_bytes,
            live: u64::from(live_bytes > 0),
            keep: false,
            is_doomed: false,
        }
    }

    #[test]
    fn a_pack_with_something_doomed_is_written_again_however_little_that_is() {
        let mut packs = [pack(1000, 1000), pack(1000, 999), pack(10, 10)];
        packs[1].is_doomed = true;
        for thoroughness in [Thoroughness::Quick, Thoroughness::Usual] {
            let choice = choose(&packs, false, thoroughness, 100);
            assert_eq!(choice.groups, [[1]], "{thoroughness:?}");
        }
        packs[1].keep = true;
        let choice = choose(&packs, false, Thoroughness::Quick, 100);
        assert_eq!(choice, Choice::default());
    }

    fn usual(packs: &[PackFacts]) -> Choice {
        choose(packs, false, Thoroughness::Usual, u64::MAX)
    }

    fn full(packs: &[PackFacts], loose: bool) -> Choice {
        choose(packs, loose, Thoroughness::Full, u64::MAX)
    }

    #[test]
    fn small_packs_are_merged_and_a_large_one_stays() {
        let packs = [pack(1000, 1000), pack(10, 10), pack(12, 12), pack(9, 9)];
        assert_eq!(usual(&packs).groups, [[3, 1, 2]]);
        assert_eq!(full(&packs, false).groups, [[3, 1, 2, 0]]);
    }

    #[test]
    fn what_is_dead_goes_and_what_is_mostly_dead_is_written_again() {
        let packs = [pack(100_000, 99_000), pack(10_000, 4000), pack(500, 0)];
        let choice = usual(&packs);
        assert_eq!(choice.remove, [2]);
        assert_eq!(choice.groups, [[1]]);
    }

    #[test]
    fn a_merged_store_is_left_alone() {
        assert_eq!(usual(&[pack(1000, 980)]), Choice::default());
        assert_eq!(full(&[pack(1000, 980)], false), Choice::default());
        assert_eq!(full(&[pack(1000, 980)], true).groups, [[0]]);
        assert_eq!(full(&[pack(1000, 900)], false).groups, [[0]]);
    }

    #[test]
    fn a_full_grown_pack_is_written_again_only_for_what_is_dead_in_it() {
        let packs = [pack(60, 60), pack(70, 30), pack(90, 88), pack(1, 1)];
        let choice = choose(&packs, false, Thoroughness::Full, 100);
        assert_eq!(choice.groups, [[3, 1]], "the others have more than half of 100");
        let packs = [pack(60, 60), pack(200, 80), pack(90, 60), pack(1, 1), pack(2, 2)];
        let choice = choose(&packs, false, Thoroughness::Full, 100);
        assert_eq!(choice.groups, [vec![3, 4], vec![1], vec![2]], "each by itself");
    }

    #[test]
    fn a_pack_that_must_stay_is_never_chosen() {
        let mut packs = [pack(10, 0), pack(10, 10), pack(10, 10)];
        for pack in &mut packs {
            pack.keep = true;
        }
        assert_eq!(usual(&packs), Choice::default());
        assert_eq!(full(&packs, true), Choice::default());
    }

    proptest! {
        #[test]
        fn few_packs_stay_and_what_stays_is_not_mostly_dead(
            sizes in prop::collection::vec((1_u64..1 << 40, 0_u64..=100), 0..200),
        ) {
            let packs: Vec<_> = sizes
                .iter()
                .map(|(bytes, percent)| pack(*bytes, bytes * percent / 100))
                .collect();
            let choice = usual(&packs);
            let staying: Vec<_> = (0..packs.len())
                .filter(|at| !choice.remove.contains(at) && !choice.groups.concat().contains(at))
                .collect();
            // Each is at least as large as twice all smaller ones: 2⁴⁰ has room for that 41 times.
            prop_assert!(staying.len() <= 42);
            for at in staying {
                prop_assert!(packs[at].live_bytes * 2 >= packs[at].bytes);
            }
        }
    }
}
