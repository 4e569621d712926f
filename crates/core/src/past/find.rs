//! Files and directories of all times, by their names.

use std::collections::BTreeMap;

use herma_search::{NamePattern, PathId, Span, What};
use herma_store::RelPath;

use super::{Ages, Stay, UnreadPast};
use crate::engine::operation::Operation;
use crate::error::Result;

/// Which names are looked for.
#[derive(Clone, Debug)]
pub struct NamesAsked {
    /// A part of a name, or a glob.
    pub pattern: NamePattern,
    /// Only below these; everywhere if there are none.
    pub paths: Vec<RelPath>,
    /// Only what a checkpoint had that was saved from then on, in seconds since 1970.
    pub since: Option<i64>,
    /// Only what one had that was saved until then.
    pub until: Option<i64>,
    /// Only what is not there now.
    pub only_gone: bool,
}

/// A file or directory of some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPath {
    /// From when to when it was there, whatever happened in between.
    pub stay: Stay,
    /// Was it a directory when it was last there?
    pub is_directory: bool,
    /// Of a file: how many contents it had, counted each time it got another one.
    pub versions: usize,
    /// Is something at this path now?
    pub is_there: bool,
}

/// What was found, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPaths {
    /// What is gone first, the newest loss first; then what is there.
    pub found: Vec<FoundPath>,
    /// What could not be read.
    pub unread: Vec<UnreadPast>,
}

impl Operation<'_> {
    pub(crate) fn find_names(&self, asked: &NamesAsked) -> Result<FoundPaths> {
        let Some(ages) = self.ages()? else { return Ok(FoundPaths::default()) };
        let mut found = Vec::new();
        for spans in ages.named(asked).into_values() {
            self.progress.check()?;
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else { continue };
            let one = FoundPath {
                stay: ages.stay(first, last),
                is_directory: last.what == What::Directory,
                versions: spans.iter().filter(|span| span.what != What::Directory).count(),
                is_there: self.is_on_disk(&ages.past.path(last.path)),
            };
            if !(asked.only_gone && one.is_there) {
                found.push((last.last, one));
            }
        }
        found.sort_by(|(last, one), (other_last, other)| {
            let order = one.is_there.cmp(&other.is_there).then(other_last.cmp(last));
            order.then_with(|| one.stay.path.cmp(&other.stay.path))
        });
        let found = found.into_iter().map(|(_, one)| one).collect();
        Ok(FoundPaths { found, unread: ages.unread() })
    }
}

impl Ages {
    /// What was at each path that is meant, in the order of the states.
    fn named(&self, asked: &NamesAsked) -> BTreeMap<PathId, Vec<Span>> {
        let mut named: BTreeMap<PathId, Vec<Span>> = BTreeMap::new();
        let Some((since, until)) = self.states_in(asked.since, asked.until) else { return named };
        let is_within = self.paths_within(&asked.paths);
        for span in self.past.spans() {
            let is_meant = || {
                let path = self.past.path(span.path);
                asked.pattern.fits(path.as_bytes(), span.what == What::Directory)
            };
            if asked.pattern.may_fit(self.past.name(span.path)) && is_meant() && is_within(span) {
                named.entry(span.path).or_default().push(*span);
            }
        }
        named.retain(|_, spans| {
            spans.sort_unstable_by_key(|span| span.first);
            spans.iter().any(|span| span.first <= until && span.last >= since)
        });
        named
    }
}
