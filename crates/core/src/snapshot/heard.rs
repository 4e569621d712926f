//! What a watcher said before a scan, as the scan needs it.

use std::collections::HashSet;

use super::stat_cache::StatCache;
use crate::watch::Answer;
use crate::watch::Token;

/// What was heard before a scan.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The moment up to which everything was told.
    now: Option<Token>,
    /// The token of the cache, the number of its directories, and which of these something happened in.
    since: Option<(Token, u64, Vec<Vec<u8>>)>,
    /// The only directories to look at again, whatever is heard.
    only_in: Option<Vec<Vec<u8>>>,
}

impl Heard {
    /// The answer to a question about a cache with this token and number of its directories.
    pub fn new(answer: Answer, asked: Option<(Token, u64)>) -> Self {
        match (answer, asked) {
            (Answer::Since { now, dirty }, Some((token, structure))) => Self {
                now: Some(now),
                since: Some((token, structure, dirty)),
                only_in: None,
            },
            (Answer::From(now) | Answer::Since { now, .. }, _) => Self {
                now: Some(now),
                ..Self::default()
            },
            (Answer::Unknown(_), _) => Self::default(),
        }
    }

    /// For whoever has just looked at everything and since then changed something in these directories: only
    /// they are looked at again, and what cannot be believed without a look.
    pub(crate) fn only_in(directories: Vec<Vec<u8>>) -> Self {
        Self {
            only_in: Some(directories),
            ..Self::default()
        }
    }

    /// The moment a cache of the coming scan can be asked about.
    pub fn token(&self) -> Option<Token> {
        self.now
    }

    /// The directories something happened in; `None` if that is not known.
    pub fn dirty(&self) -> Option<&[Vec<u8>]> {
        self.since.as_ref().map(|(_, _, dirty)| &**dirty)
    }

    /// The directories a scan has to enter; `None` if all of them.
    pub(crate) fn directories(&self, cache: &StatCache) -> Option<HeardDirs> {
        if let Some(directories) = &self.only_in {
            return Some(HeardDirs::new(cache, directories));
        }
        let (token, structure, dirty) = self.since.as_ref()?;
        let is_about = cache.header().token == Some(*token)
            && cache.dir(StatCache::ROOT)?.structure == *structure;
        is_about.then(|| HeardDirs::new(cache, dirty))
    }
}

/// Directories of a cache that have to be entered: something happened in them, or below.
#[derive(Debug)]
pub(crate) struct HeardDirs {
    /// Those on the way, and those themselves.
    entered: HashSet<u32>,
    /// Those something happened in.
    changed: HashSet<u32>,
    /// Was everything looked at, and not only told?
    is_seen: bool,
}

impl HeardDirs {
    fn new(cache: &StatCache, dirty: &[Vec<u8>]) -> Self {
        let (mut entered, mut changed) = (HashSet::new(), HashSet::new());
        for path in dirty {
            let mut index = StatCache::ROOT;
            for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
                // What is not in the cache any more is below something that changed.
                let entry = cache.find_kind(index, name, true);
                let Some(child) = entry.and_then(|entry| entry.child()) else {
                    break;
                };
                entered.insert(child);
                index = child;
            }
            changed.insert(index);
        }
        Self {
            entered,
            changed,
            is_seen: false,
        }
    }

    /// For whoever has just looked at everything.
    pub(crate) fn seen(entered: HashSet<u32>, changed: HashSet<u32>) -> Self {
        Self {
            entered,
            changed,
            is_seen: true,
        }
    }

    /// Is everything else to be believed without another look?
    pub(crate) fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Is there nothing to enter?
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Did something happen to the entries of this directory themselves?
    pub(crate) fn has_changed(&self, index: u32) -> bool {
        self.changed.contains(&index)
    }

    /// Did something happen here, or below?
    pub(crate) fn leads_to_changes(&self, index: u32) -> bool {
        self.entered.contains(&index)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::id::ObjectId;
    use crate::snapshot::testing::scanned;

    /// Until the clock of the file system has moved on, a record says that it is not to be believed.
    fn settle() {
        std::thread::sleep(Duration::from_millis(30));
    }

    /// A project in which one file lies on the way to another, and the cache of a look at it.
    fn project(root: &Path) -> Arc<StatCache> {
        fs::create_dir_all(root.join("way/there")).unwrap();
        fs::create_dir_all(root.join("aside")).unwrap();
        for file in ["way/file", "way/there/file", "aside/file"] {
            fs::write(root.join(file), file).unwrap();
        }
        settle();
        scanned(root, None, Heard::default()).cache
    }

    fn tree_of(root: &Path) -> ObjectId {
        scanned(root, None, Heard::default()).tree
    }

    #[test]
    fn a_file_on_the_way_is_not_looked_at_and_seen_by_the_next_look() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let cache = project(root);
        fs::write(root.join("way/there/file"), "told").unwrap();
        let told = tree_of(root);
        fs::write(root.join("way/file"), "not told").unwrap();
        settle();
        let heard = Heard::only_in(vec![b"way/there".to_vec()]);
        let present = scanned(root, Some(cache), heard);
        assert_eq!(present.tree, told);
        let next = scanned(root, Some(present.cache), Heard::default());
        assert_eq!(next.tree, tree_of(root));
    }

    #[test]
    fn a_name_that_came_on_the_way_is_seen_although_nobody_told() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let cache = project(root);
        fs::write(root.join("way/there/file"), "told").unwrap();
        fs::write(root.join("way/new"), "not told").unwrap();
        settle();
        let heard = Heard::only_in(vec![b"way/there".to_vec()]);
        let present = scanned(root, Some(cache), heard);
        assert_eq!(present.tree, tree_of(root));
    }

    #[test]
    fn what_cannot_be_believed_on_the_way_is_looked_at() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let (file, outside) = (root.join("project/way/file"), root.join("second-name"));
        let root = &root.join("project");
        project(root);
        fs::hard_link(&file, &outside).unwrap();
        settle();
        let cache = scanned(root, None, Heard::default()).cache;
        fs::write(outside, "by its other name").unwrap();
        fs::write(root.join("way/there/file"), "told").unwrap();
        settle();
        let heard = Heard::only_in(vec![b"way/there".to_vec()]);
        let present = scanned(root, Some(cache), heard);
        assert_eq!(present.tree, tree_of(root));
    }

    #[test]
    fn only_what_was_named_has_changed() {
        let temp = tempfile::tempdir().unwrap();
        let cache = project(temp.path());
        let index = |path: &[u8]| cache.dir_at(path).unwrap();
        let heard = HeardDirs::new(&cache, &[b"way/there".to_vec(), b"aside/gone/too".to_vec()]);
        let (way, there, aside) = (index(b"way"), index(b"way/there"), index(b"aside"));
        assert!(heard.leads_to_changes(way) && !heard.has_changed(way));
        assert!(heard.leads_to_changes(there) && heard.has_changed(there));
        assert!(heard.has_changed(aside), "below it something is gone");
        assert!(!heard.has_changed(StatCache::ROOT));
    }
}
