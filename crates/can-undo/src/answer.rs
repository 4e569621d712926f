//! Collects what a command does to files, and gives the answer.

use std::collections::BTreeSet;

use bstr::BString;
use herma_shell::{IDENTITY_NOT_KEPT, PathEntry, When, last_name};
use herma_store::RelPath;
use herma_worktree::reason::Reason;
use herma_worktree::rules::Scope;

use super::links::LinkOrder;
use super::present::Lost;
use super::{Answer, CanUndo, PresentFiles, Uncovered, What, Why};

/// More things than this are counted, not named.
const MAX_NAMED: usize = 1000;
/// Names all copies of a command line together may look at.
const MAX_NAMES_TO_COPY: usize = 100_000;

/// Everything known so far about what a command line does.
pub(crate) struct AnswerBuilder<'a> {
    pub(crate) files: &'a PresentFiles<'a>,
    uncovered: BTreeSet<Uncovered>,
    changes: BTreeSet<RelPath>,
    /// May any file change?
    pub(crate) is_unknown: bool,
    /// Ignore files that change: they decide what the save before an undo finds.
    rule_files: BTreeSet<BString>,
    /// Links that one command makes and another finds.
    pub(crate) links: LinkOrder,
    /// Directories whose gaps are noted already.
    listed: BTreeSet<BString>,
    /// Directories below which it was looked for what would not come back whole.
    weighed: BTreeSet<BString>,
    pub(crate) names_to_copy: usize,
}

impl<'a> AnswerBuilder<'a> {
    /// A command that does nothing yet.
    pub(crate) fn new(files: &'a PresentFiles<'a>) -> Self {
        Self {
            files,
            uncovered: BTreeSet::new(),
            changes: BTreeSet::new(),
            is_unknown: false,
            rule_files: BTreeSet::new(),
            links: LinkOrder::default(),
            listed: BTreeSet::new(),
            weighed: BTreeSet::new(),
            names_to_copy: MAX_NAMES_TO_COPY,
        }
    }

    /// The answer, once all that the command does is noted.
    pub(crate) fn answer(mut self) -> CanUndo {
        for link in self.links.uncertain_links() {
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
        let more = self.uncovered.len().saturating_sub(MAX_NAMED) as u64;
        CanUndo {
            answer,
            uncovered: self.uncovered.into_iter().take(MAX_NAMED).collect(),
            more,
            changes: self.changes.into_iter().collect(),
        }
    }

    /// Notes that something is not covered.
    pub(crate) fn add(&mut self, what: What, why: Why) {
        self.uncovered.insert(Uncovered { what, why });
    }

    /// Notes that what is at a path is not covered; for a `.git` that is the reason.
    pub(crate) fn add_path(&mut self, path: &[u8], why: Why) {
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
    pub(crate) fn left_out_below(&mut self, path: &[u8]) {
        if !self.listed.insert(path.into()) {
            return;
        }
        let files = self.files;
        files.left_out_below(path, |path, reason| {
            self.add_path(path, Why::LeftOut(reason));
        });
    }

    /// Notes that what is at a path, or comes to it, would not come back whole.
    pub(crate) fn lose(&mut self, path: &[u8], lost: Lost) {
        if lost.other_names {
            self.add_path(path, Why::OtherNames);
        }
        if lost.identity {
            self.add_path(path, Why::NotKept(IDENTITY_NOT_KEPT));
        }
    }

    /// Notes what below a directory would not come back whole.
    pub(crate) fn lose_below(&mut self, directory: &[u8]) {
        if !self.weighed.insert(directory.into()) {
            return;
        }
        let files = self.files;
        files.lost_below(directory, |path, lost| self.lose(path, lost));
    }

    /// Notes that the file or directory at a path changes.
    pub(crate) fn change(&mut self, when: When, path: &[u8], entry: &PathEntry, is_dir: bool) {
        self.links.changes(when, path);
        let left_out = match entry {
            PathEntry::LeftOut => self.files.look(path).err(),
            PathEntry::Nothing => self.files.judge.left_out(path, is_dir),
            // A rule may concern directories only.
            PathEntry::File | PathEntry::Link(_) if is_dir => {
                self.files.judge.left_out(path, is_dir)
            }
            _ => None,
        };
        if let Some(reason) = left_out {
            return self.add_path(path, Why::LeftOut(reason));
        }
        // The root stands for what is in it.
        if *entry != PathEntry::Nothing && !path.is_empty() {
            self.lose(path, self.files.lost(path));
        }
        if Scope::depends_on(last_name(path)) {
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
    pub(crate) fn arrives_at(&mut self, when: When, path: &[u8], source: &PathEntry, is_new: bool) {
        self.links.meets_link(path);
        if matches!(source, PathEntry::Link(_)) {
            self.links.makes_link(when, path);
        }
        let is_dir = *source == PathEntry::Directory;
        let left_out = match self.files.look(path) {
            Ok(PathEntry::Nothing) => self.files.judge.left_out(path, is_dir),
            Ok(PathEntry::Link(_)) => {
                let why = "it is a link that may be written through";
                self.add_path(path, Why::Unknown(why));
                None
            }
            Ok(_) => {
                self.lose(path, self.files.lost(path));
                None
            }
            Err(reason) => Some(reason),
        };
        if let Some(reason) = left_out {
            return self.add_path(path, Why::LeftOut(reason));
        }
        if !is_new && Scope::depends_on(last_name(path)) {
            self.rule_files.insert(path.into());
        }
    }
}
