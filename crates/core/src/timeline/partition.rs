//! The stretches of a timeline, sorted: what is undone, what stays, and whose it is.

use std::collections::BTreeSet;

use herma_records::timeline::Belongs;

use crate::timeline::Story;

/// The stretches since some point, by whose they are.
#[derive(Default)]
pub(crate) struct Sorted {
    /// What is undone: pairs of points, oldest first.
    pub(crate) runs: Vec<(usize, usize)>,
    /// What is not, and whose it is.
    pub(crate) others: Vec<(usize, Belongs)>,
    pub(crate) keeps_anything: bool,
    pub(crate) steps: BTreeSet<i64>,
    pub(crate) uncertain: BTreeSet<i64>,
}

impl Sorted {
    pub(crate) fn new(told: &Story, chosen: &BTreeSet<i64>, first: usize) -> Self {
        let line = &told.line;
        let mut sorted = Self::default();
        for stretch in first..line.stretches() {
            if !line.changes(stretch) {
                continue;
            }
            let belongs = line.belongs(stretch, chosen);
            if belongs != Belongs::Chosen {
                sorted.others.push((stretch, belongs));
                sorted.keeps_anything = true;
                continue;
            }
            sorted.steps.extend(line.steps_in(stretch));
            sorted.uncertain.extend(line.uncertain_in(stretch));
            match sorted.runs.last_mut() {
                // Nothing happened between the two.
                Some((_, to)) if (*to..stretch).all(|between| !line.changes(between)) => {
                    *to = stretch + 1;
                }
                _ => sorted.runs.push((stretch, stretch + 1)),
            }
        }
        sorted
    }
}
