//! Looking for a change from good to bad among states, the first of which is good and the last bad.
//!
//! Each look halves what is left. Where a state cannot be told, the one next to it is tried; if all that are left cannot, what is
//! found is the range of them. A history in which somebody went back has several such changes: one of them is found.

/// What a check says of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Bad,
    /// Nobody can tell.
    Skipped,
}

/// The last state that is good, and the first that is bad. Nothing that lies between them can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) good: usize,
    pub(super) bad: usize,
}

/// Searches the states from 0, which is good, to `last`, which is bad.
pub(super) fn search<E>(
    last: usize,
    mut check: impl FnMut(usize) -> Result<Verdict, E>,
) -> Result<Found, E> {
    let mut found = Found { good: 0, bad: last };
    let mut skipped = vec![false; last + 1];
    while let Some(next) = next(found, &skipped) {
        match check(next)? {
            Verdict::Good => found.good = next,
            Verdict::Bad => found.bad = next,
            Verdict::Skipped => skipped[next] = true,
        }
    }
    Ok(found)
}

/// How many looks it takes at most among so many changes, if every state can be told.
pub(super) const fn most(changes: usize) -> u32 {
    match changes {
        0 | 1 => 0,
        many => (many - 1).ilog2() + 1,
    }
}

/// The state in the middle that can be told, as far as is known.
fn next(Found { good, bad }: Found, skipped: &[bool]) -> Option<usize> {
    let middle = good + (bad - good) / 2;
    let left = (good + 1..bad).filter(|state| !skipped[*state]);
    left.min_by_key(|state| state.abs_diff(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(states: &[Verdict]) -> (Found, u32) {
        let mut looks = 0;
        let found = search(states.len() - 1, |state| {
            looks += 1;
            Ok::<_, ()>(states[state])
        });
        (found.unwrap(), looks)
    }

    /// Numbers that look random and are the same each time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) as usize % limit
        }
    }

    #[test]
    fn one_change_is_found_in_as_many_looks_as_halving_takes() {
        for changes in 1..70 {
            for bad_from in 1..=changes {
                let state = |at| if at < bad_from { Verdict::Good } else { Verdict::Bad };
                let states: Vec<_> = (0..=changes).map(state).collect();
                let (found, looks) = searched(&states);
                assert_eq!(found, Found { good: bad_from - 1, bad: bad_from });
                assert!(looks <= most(changes), "{looks} for {changes}");
            }
        }
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 200].map(most), [0, 1, 2, 2, 3, 3, 4, 8]);
    }

    #[test]
    fn what_is_found_is_a_change_from_good_to_bad_whatever_the_history() {
        let mut random = Random(29);
        for _ in 0..2000 {
            let last = 1 + random.below(60);
            let kinds = [Verdict::Good, Verdict::Bad, Verdict::Skipped];
            let mut states: Vec<_> = (0..=last).map(|_| kinds[random.below(3)]).collect();
            (states[0], states[last]) = (Verdict::Good, Verdict::Bad);
            let (Found { good, bad }, looks) = searched(&states);
            assert_eq!((states[good], states[bad]), (Verdict::Good, Verdict::Bad));
            let between = &states[good + 1..bad];
            assert!(between.iter().all(|state| *state == Verdict::Skipped), "{states:?}");
            assert!(looks as usize <= last, "no state twice");
        }
    }
}
