//! What was acknowledged, and so must be there after a power cut.
//!
//! Kept outside the disk that loses its power. A checkpoint with a name must stay for ever. One without may be
//! pruned, so it only counts as long as no prune was under way since it was acknowledged: a prune that was cut
//! short may have dropped it or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use herma_testkit::Tree;

/// A checkpoint somebody was told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// What the project had in it.
    pub tree: Arc<Tree>,
    /// Does it have a name, which keeps it for ever?
    pub is_named: bool,
    /// May it be gone, because something was pruned since?
    pub may_be_gone: bool,
}

/// Everything that was acknowledged, by project and id.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<(usize, String), Acknowledged>,
    prunes_under_way: usize,
    /// Answers so far, also those about a checkpoint that was known already.
    answers: usize,
}

impl Ledger {
    /// Notes an answer: this checkpoint of a project holds this tree.
    pub fn acknowledge(&mut self, project: usize, id: &str, tree: &Arc<Tree>, is_named: bool) {
        self.answers += 1;
        let may_be_gone = self.prunes_under_way > 0;
        let entry = self.entries.entry((project, id.to_owned())).or_insert_with(|| Acknowledged {
            tree: Arc::clone(tree),
            is_named,
            may_be_gone,
        });
        entry.is_named |= is_named;
        // Told about once more, it was there just now.
        entry.may_be_gone = may_be_gone;
    }

    /// Notes that a prune is about to begin.
    pub fn prune_begins(&mut self) {
        self.prunes_under_way += 1;
        for entry in self.entries.values_mut() {
            entry.may_be_gone = true;
        }
    }

    /// Notes that a prune is over.
    pub fn prune_ends(&mut self) {
        self.prunes_under_way -= 1;
    }

    /// Notes that the power was cut: whatever was under way is over.
    pub fn power_is_cut(&mut self) {
        self.prunes_under_way = 0;
    }

    /// How many answers there were.
    pub const fn answers(&self) -> usize {
        self.answers
    }

    /// The checkpoints of a project that must be there, in the order of their ids.
    pub fn required(&self, project: usize) -> impl Iterator<Item = (&str, &Arc<Tree>)> {
        self.entries
            .iter()
            .filter(move |((of, _), entry)| {
                *of == project && (entry.is_named || !entry.may_be_gone)
            })
            .map(|((_, id), entry)| (id.as_str(), &entry.tree))
    }

    /// The checkpoints of a project that no prune can take away.
    pub fn named(&self, project: usize) -> Vec<(String, Arc<Tree>)> {
        self.entries
            .iter()
            .filter(|((of, _), entry)| *of == project && entry.is_named)
            .map(|((_, id), entry)| (id.clone(), Arc::clone(&entry.tree)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Arc<Tree> {
        Arc::new(Tree::of_files([("a", text)]))
    }

    fn required(ledger: &Ledger) -> Vec<&str> {
        ledger.required(0).map(|(id, _)| id).collect()
    }

    #[test]
    fn what_was_acknowledged_is_required_in_its_project_only() {
        let mut ledger = Ledger::default();
        ledger.acknowledge(0, "a", &tree("one"), false);
        ledger.acknowledge(1, "b", &tree("two"), true);
        assert_eq!(required(&ledger), ["a"]);
        assert_eq!(ledger.named(1), [("b".to_owned(), tree("two"))]);
        assert_eq!(ledger.answers(), 2);
    }

    #[test]
    fn a_prune_frees_what_has_no_name_until_it_is_told_again() {
        let mut ledger = Ledger::default();
        ledger.acknowledge(0, "a", &tree("one"), false);
        ledger.acknowledge(0, "b", &tree("two"), true);
        ledger.prune_begins();
        assert_eq!(required(&ledger), ["b"]);
        ledger.acknowledge(0, "c", &tree("three"), false);
        assert_eq!(required(&ledger), ["b"], "the prune may see it, too");
        ledger.prune_ends();
        ledger.acknowledge(0, "a", &tree("one"), false);
        ledger.acknowledge(0, "d", &tree("four"), false);
        assert_eq!(required(&ledger), ["a", "b", "d"]);
    }

    #[test]
    fn a_cut_ends_a_prune_but_does_not_say_how_far_it_came() {
        let mut ledger = Ledger::default();
        ledger.acknowledge(0, "a", &tree("one"), false);
        ledger.prune_begins();
        ledger.power_is_cut();
        ledger.acknowledge(0, "b", &tree("two"), false);
        assert_eq!(required(&ledger), ["b"]);
    }

    #[test]
    fn a_name_given_later_counts() {
        let mut ledger = Ledger::default();
        ledger.acknowledge(0, "a", &tree("one"), false);
        ledger.acknowledge(0, "a", &tree("one"), true);
        ledger.prune_begins();
        assert_eq!(required(&ledger), ["a"]);
    }
}
