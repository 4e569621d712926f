//! The rules in force inside one directory, and the verdict on each of its entries.

use std::sync::Arc;

use herma_store::path::{check_name, is_reserved_link};

use super::pattern::{Entry, Pattern};
use super::{Reason, Rules, SecretRules, Tracked, Verdict, builtin, is_own_temporary, pattern};
use crate::secrets::names;

/// The rules in force inside one directory. Cheap to clone: ignore files are shared.
#[derive(Clone, Debug)]
pub struct Scope<'r> {
    rules: &'r Rules,
    /// `.git/info/exclude` and the `.gitignore` files, innermost first.
    git: Option<Arc<IgnoreFile>>,
    /// The `.hermaignore` files, innermost first.
    herma: Option<Arc<IgnoreFile>>,
    /// Set when the directory itself is left out and only some entries of it are wanted.
    left_out: Option<LeftOut>,
}

/// Why the directory of a scope is left out.
#[derive(Clone, Copy, Debug)]
struct LeftOut {
    reason: Reason,
    /// The rule that did it: only later ones can take something in again.
    rank: Rank,
    /// Does being tracked win over that rule?
    tracked_wins: bool,
}

impl LeftOut {
    /// By a rule that wins even over what the user's git tracks.
    fn firmly(reason: Reason, rank: Rank) -> Self {
        Self { reason, rank, tracked_wins: false }
    }

    /// The user's git knows nothing of Herma's rules, so what it tracks wins only over the others.
    fn by(reason: Reason, rank: Rank) -> Self {
        Self { reason, rank, tracked_wins: matches!(rank.0, Layer::Builtin | Layer::Git) }
    }
}

/// One ignore file and, through `outer`, those of the directories around it.
#[derive(Debug)]
struct IgnoreFile {
    /// Length of the path of its directory, with the slash.
    base: usize,
    depth: u32,
    patterns: Vec<Pattern>,
    outer: Option<Arc<IgnoreFile>>,
}

impl Drop for IgnoreFile {
    // A hostile tree can be deeper than the stack: let go of the chain in a loop.
    fn drop(&mut self) {
        let mut outer = self.outer.take();
        while let Some(mut file) = outer.and_then(Arc::into_inner) {
            outer = file.outer.take();
        }
    }
}

/// The layers of rules; a later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Lowest,
    Builtin,
    Git,
    Herma,
    SettingExclude,
    SettingInclude,
    Highest,
}

/// The place of a rule in the order in which rules win: layer, depth of its file, line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(Layer, u32, usize);

impl Rank {
    const LOWEST: Self = Self(Layer::Lowest, 0, 0);
    const HIGHEST: Self = Self(Layer::Highest, 0, 0);

    fn reason(self) -> Reason {
        if self.0 == Layer::Git { Reason::Ignored } else { Reason::Excluded }
    }
}

/// A rule somebody may look up and change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As it is written; of the built-in list, the name it leaves out.
    pub written: String,
    /// Where it is.
    pub place: RulePlace,
}

/// Where a rule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePlace {
    /// Nowhere: it is part of Herma.
    BuiltIn,
    /// In `.git/info/exclude`.
    InfoExclude,
    /// In a `.gitignore`.
    GitIgnore,
    /// In a `.hermaignore`.
    HermaIgnore,
    /// In the setting `exclude`.
    Setting,
}

/// The rule that decides about an entry, and whether it takes it in.
type Decision = (Rank, bool);

impl<'r> Scope<'r> {
    /// The scope around the project root; [`Scope::enter`] the root (`""`) next.
    pub fn root(rules: &'r Rules, info_exclude: Option<&[u8]>) -> Self {
        let git = info_exclude.and_then(|content| IgnoreFile::read(content, b"", None));
        Self { rules, git, herma: None, left_out: None }
    }

    /// The scope of directory `dir` (relative to the root, no trailing slash, `""` is the root), given
    /// the content of the ignore files in it and how the directory itself was judged by this scope.
    #[must_use]
    pub fn enter(
        &self,
        dir: &[u8],
        gitignore: Option<&[u8]>,
        hermaignore: Option<&[u8]>,
        judged: Verdict,
    ) -> Self {
        let add = |content: Option<&[u8]>, outer: &Option<Arc<IgnoreFile>>| match content {
            Some(content) => IgnoreFile::read(content, dir, outer.clone()),
            None => outer.clone(),
        };
        let left_out = match judged {
            Verdict::Keep => None,
            Verdict::Descend(reason) => Some(self.why_left_out(dir, reason)),
            Verdict::LeaveOut(reason) => Some(LeftOut::firmly(reason, Rank::HIGHEST)),
        };
        Self {
            rules: self.rules,
            git: add(gitignore, &self.git),
            herma: add(hermaignore, &self.herma),
            left_out,
        }
    }

    /// Does the content of a file of this name change what a scope says?
    pub fn depends_on(name: &[u8]) -> bool {
        matches!(name, b".gitignore" | b".hermaignore")
    }

    /// Does the entry at `path` (relative to the root, in the directory of this scope) belong to the
    /// project?
    pub fn judge(&self, path: &[u8], is_dir: bool, tracked: &dyn Tracked) -> Verdict {
        let entry = Entry::new(path, is_dir);
        if let Some(reason) = never_saved(entry) {
            return Verdict::LeaveOut(reason);
        }
        match self.left_out {
            None => self.judge_entry(entry, tracked),
            Some(around) => self.judge_left_out(entry, around, tracked),
        }
    }

    /// The verdict in a directory that belongs to the project.
    fn judge_entry(&self, entry: Entry<'_>, tracked: &dyn Tracked) -> Verdict {
        match self.decision(entry) {
            Some((rank, false)) => {
                self.leave_out_untracked(entry, LeftOut::by(rank.reason(), rank), tracked)
            }
            _ => self.keep_unless_secret(entry),
        }
    }

    /// The verdict in a directory that is left out: only what a later rule takes in or git tracks stays.
    fn judge_left_out(&self, entry: Entry<'_>, around: LeftOut, tracked: &dyn Tracked) -> Verdict {
        match self.user_decision(entry) {
            Some((rank, false)) => self.leave_out(entry, Reason::Excluded, rank.max(around.rank)),
            Some(_) if self.takes_in_again(entry, around) => self.keep_unless_secret(entry),
            _ => self.leave_out_untracked(entry, around, tracked),
        }
    }

    /// Does a rule later than the one around it take this entry in? A secret place needs one that names it.
    fn takes_in_again(&self, entry: Entry<'_>, around: LeftOut) -> bool {
        let mut wishes = self.user_matches(entry).take_while(|(_, pattern)| pattern.is_negative());
        wishes.any(|(rank, pattern)| {
            rank > around.rank && (around.reason != Reason::Secret || pattern.is_explicit())
        })
    }

    /// The rule that leaves an entry out of a directory that belongs to the project; `around` is the scope around the root.
    pub fn rule_against(&self, path: &[u8], is_dir: bool, around: &Self) -> Option<Rule> {
        let entry = Entry::new(path, is_dir);
        let matching = |(_, pattern, base): &(Rank, &Pattern, usize)| pattern.matches(entry, *base);
        let of_git = IgnoreFile::chain(self.git.as_ref(), Layer::Git);
        let Some((rank, pattern, _)) = self.user_patterns().chain(of_git).find(matching) else {
            let (rank, is_kept) = self.decision(entry)?;
            let written = String::from_utf8_lossy(entry.name).into_owned();
            return (rank.0 == Layer::Builtin && !is_kept)
                .then_some(Rule { written, place: RulePlace::BuiltIn });
        };
        let place = match rank.0 {
            Layer::Git if rank.1 == 0 && around.git.is_some() => RulePlace::InfoExclude,
            Layer::Git => RulePlace::GitIgnore,
            Layer::Herma => RulePlace::HermaIgnore,
            _ => RulePlace::Setting,
        };
        (!pattern.is_negative()).then(|| Rule { written: pattern.written(), place })
    }

    fn keep_unless_secret(&self, entry: Entry<'_>) -> Verdict {
        if self.is_secret(entry) {
            self.leave_out(entry, Reason::Secret, Rank::LOWEST)
        } else {
            Verdict::Keep
        }
    }

    /// Leaves an entry out unless the user's git tracks it and that wins.
    fn leave_out_untracked(
        &self,
        entry: Entry<'_>,
        rule: LeftOut,
        tracked: &dyn Tracked,
    ) -> Verdict {
        if rule.tracked_wins {
            // A tracked directory is a submodule.
            if tracked.contains(entry.path) {
                return self.keep_unless_secret(entry);
            }
            if entry.is_dir && tracked.any_below(entry.path) {
                return if self.is_secret(entry) {
                    self.leave_out(entry, Reason::Secret, Rank::LOWEST)
                } else {
                    Verdict::Descend(rule.reason)
                };
            }
        }
        self.leave_out(entry, rule.reason, rule.rank)
    }

    fn leave_out(&self, entry: Entry<'_>, reason: Reason, rank: Rank) -> Verdict {
        if entry.is_dir && self.wants_below(entry.path, reason, rank) {
            Verdict::Descend(reason)
        } else {
            Verdict::LeaveOut(reason)
        }
    }

    /// Does a rule later than `rank` take in a path below this directory?
    fn wants_below(&self, dir: &[u8], reason: Reason, rank: Rank) -> bool {
        self.user_patterns().any(|(found, pattern, base)| {
            found > rank
                && pattern.is_negative()
                && (reason != Reason::Secret || pattern.is_explicit())
                && dir.get(base..).is_some_and(|dir| pattern.reaches_below(dir))
        })
    }

    /// Recalls which rule left out a directory this scope answered [`Verdict::Descend`] for.
    fn why_left_out(&self, dir: &[u8], reason: Reason) -> LeftOut {
        let entry = Entry::new(dir, true);
        if reason == Reason::Secret {
            return LeftOut::firmly(reason, Rank::LOWEST);
        }
        let Some(around) = self.left_out else {
            let found = self.decision(entry);
            let rank = found.map_or(Rank::LOWEST, |(rank, _)| rank);
            return LeftOut::by(reason, rank);
        };
        match self.user_decision(entry) {
            Some((rank, false)) => LeftOut::firmly(reason, rank.max(around.rank)),
            _ => LeftOut { reason, ..around },
        }
    }

    /// Is it a secret that no rule of the user names?
    fn is_secret(&self, entry: Entry<'_>) -> bool {
        self.rules.secrets != SecretRules::Off
            && names::is_secret(entry.path, entry.is_dir)
            && !self.is_named(entry)
    }

    /// Does a rule of the user take in the file at `path` by its name, so that nothing about secrets
    /// applies to it?
    pub fn names(&self, path: &[u8]) -> bool {
        self.is_named(Entry::new(path, false))
    }

    fn is_named(&self, entry: Entry<'_>) -> bool {
        self.user_matches(entry)
            .take_while(|(_, pattern)| pattern.is_negative())
            .any(|(_, pattern)| pattern.is_explicit())
    }

    /// The last rule of all that matches.
    fn decision(&self, entry: Entry<'_>) -> Option<Decision> {
        self.user_decision(entry).or_else(|| self.git_decision(entry)).or_else(|| {
            let leaves_out = self.rules.builtin && builtin::leaves_out(entry.name, entry.is_dir);
            leaves_out.then_some((Rank(Layer::Builtin, 0, 0), false))
        })
    }

    fn user_decision(&self, entry: Entry<'_>) -> Option<Decision> {
        let (rank, pattern) = self.user_matches(entry).next()?;
        Some((rank, pattern.is_negative()))
    }

    fn git_decision(&self, entry: Entry<'_>) -> Option<Decision> {
        let mut patterns = IgnoreFile::chain(self.git.as_ref(), Layer::Git);
        let (rank, pattern, _) = patterns.find(|(_, p, base)| p.matches(entry, *base))?;
        Some((rank, pattern.is_negative()))
    }

    /// The rules of `.hermaignore` and the settings that match, the winning one first.
    fn user_matches(&self, entry: Entry<'_>) -> impl Iterator<Item = (Rank, &Pattern)> {
        self.user_patterns()
            .filter(move |(_, pattern, base)| pattern.matches(entry, *base))
            .map(|(rank, pattern, _)| (rank, pattern))
    }

    fn user_patterns(&self) -> impl Iterator<Item = (Rank, &Pattern, usize)> {
        let setting = |layer| move |(line, pattern)| (Rank(layer, 0, line), pattern, 0);
        let include = self.rules.include.iter().enumerate().rev();
        let exclude = self.rules.exclude.iter().enumerate().rev();
        include
            .map(setting(Layer::SettingInclude))
            .chain(exclude.map(setting(Layer::SettingExclude)))
            .chain(IgnoreFile::chain(self.herma.as_ref(), Layer::Herma))
    }
}

impl IgnoreFile {
    /// A file without patterns is no file.
    fn read(content: &[u8], dir: &[u8], outer: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let patterns = pattern::parse_file(content);
        if patterns.is_empty() {
            return outer;
        }
        let base = if dir.is_empty() { 0 } else { dir.len() + 1 };
        let depth = outer.as_ref().map_or(0, |outer| outer.depth + 1);
        Some(Arc::new(Self { base, depth, patterns, outer }))
    }

    /// All patterns of a file and those around it, the winning one first.
    fn chain(
        innermost: Option<&Arc<Self>>,
        layer: Layer,
    ) -> impl Iterator<Item = (Rank, &Pattern, usize)> {
        std::iter::successors(innermost, |file| file.outer.as_ref()).flat_map(move |file| {
            let patterns = file.patterns.iter().enumerate().rev();
            patterns.map(move |(line, p)| (Rank(layer, file.depth, line), p, file.base))
        })
    }
}

/// What no rule can take in.
fn never_saved(entry: Entry<'_>) -> Option<Reason> {
    if entry.name == b".git" {
        return Some(Reason::Excluded);
    }
    if check_name(entry.name).is_err() || (entry.is_dir && is_reserved_link(entry.name)) {
        return Some(Reason::ReservedName);
    }
    is_own_temporary(entry.name).then_some(Reason::Own)
}

#[cfg(test)]
mod tests;
