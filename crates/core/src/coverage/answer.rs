//! Collects what a command does to files, and gives the answer.

use std::collections::BTreeSet;

use bstr::BString;
use herma_store::RelPath;

use super::Answer;
use super::CanUndo;
use super::Uncovered;
use super::What;
use super::Why;
use super::order::Order;
use super::places::Found;
use super::places::Ground;
use super::places::Lost;
use crate::snapshot::excludes::Scope;
use crate::snapshot::reason::Reason;

/// More things than this are counted, not named.
const NAMED: usize = 1000;
/// Names all patterns and copies of a command line together may look at.
const NAMES_TO_MATCH: usize = 100_000;

/// Why a file or directory that acts for its owner does not come back whole.
pub(super) const IDENTITY_NOT_KEPT: &str = "checkpoints do not keep setuid and setgid bits";

/// Everything known so far about what a command line does.
pub(crate) struct Ledger<'g> {
    pub(crate) ground: &'g dyn Ground,
    uncovered: BTreeSet<Uncovered>,
    changes: BTreeSet<RelPath>,
    /// May any file change?
    pub(super) is_unknown: bool,
    /// Ignore files that change: they decide what the save before an undo finds.
    pub(super) rule_files: BTreeSet<BString>,
    /// Which command comes when, for links that one makes and another finds.
    pub(super) order: Order,
    /// Does something that prints without end feed the files written now?
    pub(super) is_endless: bool,
    /// Directories whose gaps are noted already.
    listed: BTreeSet<BString>,
    /// Directories below which it was looked for what would not come back whole.
    weighed: BTreeSet<BString>,
    pub(crate) names_to_match: usize,
}

impl<'g> Ledger<'g> {
    /// A command that does nothing yet.
    pub(crate) fn new(ground: &'g dyn Ground) -> Self {
        Self {
            ground,
            uncovered: BTreeSet::new(),
            changes: BTreeSet::new(),
            is_unknown: false,
            rule_files: BTreeSet::new(),
            order: Order::default(),
            is_endless: false,
            listed: BTreeSet::new(),
            weighed: BTreeSet::new(),
            names_to_match: NAMES_TO_MATCH,
        }
    }

    /// Has nothing been changed so far?
    pub(crate) fn is_empty(&self) -> bool {
        self.uncovered.is_empty() && self.changes.is_empty()
    }

    /// The answer.
    pub(crate) fn finish(mut self) -> CanUndo {
        for link in self.order.uncertain_links() {
            let why = "what is behind this link is known only when it runs";
            self.add(What::Path(link), Why::Unknown(why));
            self.is_unknown = true;
        }
        if self.is_unknown {
            self.left_out_below(b"");
        }
        if self.is_unknown || self.changes.len() > 1 {
            for path in std::mem::take(&mut self.rule_files) {
                let why = "it decides which files are saved, so an undo may leave others alone";
                self.add(What::Path(path), Why::Unknown(why));
            }
        }
        let answer = match () {
            () if self.uncovered.is_empty() => Answer::Exact,
            () if self.changes.is_empty() && !self.is_unknown => Answer::No,
            () => Answer::Partial,
        };
        let more = self.uncovered.len().saturating_sub(NAMED) as u64;
        CanUndo {
            answer,
            uncovered: self.uncovered.into_iter().take(NAMED).collect(),
            more,
            changes: self.changes.into_iter().collect(),
        }
    }

    /// Notes that something is not covered.
    pub(crate) fn add(&mut self, what: What, why: Why) {
        self.uncovered.insert(Uncovered { what, why });
    }

    /// Notes that what is at a path is not covered; for a `.git` that is the reason.
    pub(super) fn add_path(&mut self, path: &[u8], why: Why) {
        let mut end = 0;
        for name in path.split(|byte| *byte == b'/') {
            end += name.len();
            if name == b".git" {
                return self.add(What::Path(path[..end].into()), Why::GitDirectory);
            }
            end += 1;
        }
        self.add(What::Path(path.into()), why);
    }

    /// Notes that what is left out at or below a path changes.
    pub(super) fn left_out_below(&mut self, path: &[u8]) {
        if !self.listed.insert(path.into()) {
            return;
        }
        let ground = self.ground;
        ground.left_out_below(path, &mut |path, reason| {
            self.add_path(path, Why::LeftOut(reason));
        });
    }

    /// Notes that what is at a path, or comes to it, would not come back whole.
    pub(super) fn lose(&mut self, path: &[u8], lost: Lost) {
        if lost.other_names {
            self.add_path(path, Why::OtherNames);
        }
        if lost.identity {
            self.add_path(path, Why::NotKept(IDENTITY_NOT_KEPT));
        }
    }

    /// Notes what below a directory would not come back whole.
    pub(super) fn lose_below(&mut self, directory: &[u8]) {
        if !self.weighed.insert(directory.into()) {
            return;
        }
        let ground = self.ground;
        ground.lost_below(directory, &mut |path, lost| self.lose(path, lost));
    }

    /// Notes that the file or directory at a path changes.
    pub(super) fn change(&mut self, path: &[u8], found: &Found, is_dir: bool) {
        self.order.changes(path);
        let name = last_name(path);
        let left_out = match found {
            Found::LeftOut(reason) => Some(*reason),
            Found::Nothing => self.ground.rule(path, is_dir),
            // A rule may concern directories only.
            Found::File | Found::Link(_) if is_dir => self.ground.rule(path, is_dir),
            _ => None,
        };
        if let Some(reason) = left_out {
            return self.add_path(path, Why::LeftOut(reason));
        }
        // The root stands for what is in it; only `chmod` changes the root itself.
        let is_there = matches!(found, Found::File | Found::Link(_) | Found::Directory);
        if is_there && !path.is_empty() {
            self.lose(path, self.ground.lost(path));
        }
        if Scope::depends_on(name) {
            self.rule_files.insert(path.into());
        }
        match RelPath::new(path) {
            Ok(path) => {
                self.changes.insert(path);
            }
            Err(_) => self.add_path(path, Why::LeftOut(Reason::ReservedName)),
        }
    }

    /// One entry of a tree that is copied comes to a path. The tree stands for what is covered; only what
    /// is not is named. A tree that `is_new` meets nothing, and its ignore files concern nothing else.
    pub(super) fn lands_at(&mut self, path: &[u8], source: &Found, is_new: bool) {
        self.order.meets_link(path);
        if matches!(source, Found::Link(_)) {
            self.order.makes_link(path);
        }
        let found = if is_new {
            Found::Nothing
        } else {
            self.ground.look(path)
        };
        match found {
            Found::LeftOut(reason) => return self.add_path(path, Why::LeftOut(reason)),
            Found::Link(_) => {
                let why = "it is a link that may be written through";
                self.add_path(path, Why::Unknown(why));
            }
            Found::Nothing => {
                if let Some(reason) = self.ground.rule(path, *source == Found::Directory) {
                    return self.add_path(path, Why::LeftOut(reason));
                }
            }
            Found::File | Found::Directory => self.lose(path, self.ground.lost(path)),
        }
        if !is_new && Scope::depends_on(last_name(path)) {
            self.rule_files.insert(path.into());
        }
    }
}

/// The last component of a path.
pub(super) fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
