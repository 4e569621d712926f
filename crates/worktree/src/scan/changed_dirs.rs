//! The directories of a cache that a walk has to enter, where somebody knows that nothing happened in the others.

use std::collections::HashSet;

use crate::stat_cache::StatCache;

/// Directories of a cache that have to be entered: something happened in them, or below.
#[derive(Debug, Default)]
pub(crate) struct ChangedDirs {
    /// Those on the way, and those themselves.
    pub(crate) entered: HashSet<u32>,
    /// Those something happened to the entries of.
    pub(crate) changed: HashSet<u32>,
    /// Was everything looked at, and not only what was named? Then all else is believed without another look.
    pub(crate) is_seen: bool,
}

impl ChangedDirs {
    /// For whoever has just looked at everything and since then changed something in these directories: only
    /// they are looked at again, and what cannot be believed without a look.
    pub(crate) fn only_in(cache: &StatCache, directories: &[Vec<u8>]) -> Self {
        let (mut entered, mut changed) = (HashSet::new(), HashSet::new());
        for path in directories {
            let mut index = StatCache::ROOT;
            for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
                // What is not in the cache any more is below something that changed.
                let entry = cache.find_kind(index, name, true);
                let Some(child) = entry.and_then(|entry| entry.child()) else { break };
                entered.insert(child);
                index = child;
            }
            changed.insert(index);
        }
        Self { entered, changed, is_seen: false }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use herma_store::ObjectId;

    use super::*;
    use crate::testing::scanned;

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
        scanned(root, None, None).cache
    }

    fn tree_of(root: &Path) -> ObjectId {
        scanned(root, None, None).tree
    }

    #[test]
    fn a_file_on_the_way_is_not_looked_at_and_seen_by_the_next_look() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let cache = project(root);
        fs::write(root.join("way/there/file"), "named").unwrap();
        let named = tree_of(root);
        fs::write(root.join("way/file"), "not named").unwrap();
        settle();
        let only_in = vec![b"way/there".to_vec()];
        let present = scanned(root, Some(cache), Some(only_in));
        assert_eq!(present.tree, named);
        let next = scanned(root, Some(present.cache), None);
        assert_eq!(next.tree, tree_of(root));
    }

    #[test]
    fn a_name_that_came_on_the_way_is_seen_although_nobody_named_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let cache = project(root);
        fs::write(root.join("way/there/file"), "named").unwrap();
        fs::write(root.join("way/new"), "not named").unwrap();
        settle();
        let only_in = vec![b"way/there".to_vec()];
        let present = scanned(root, Some(cache), Some(only_in));
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
        let cache = scanned(root, None, None).cache;
        fs::write(outside, "by its other name").unwrap();
        fs::write(root.join("way/there/file"), "named").unwrap();
        settle();
        let only_in = vec![b"way/there".to_vec()];
        let present = scanned(root, Some(cache), Some(only_in));
        assert_eq!(present.tree, tree_of(root));
    }

    #[test]
    fn only_what_was_named_has_changed() {
        let temp = tempfile::tempdir().unwrap();
        let cache = project(temp.path());
        let index = |path: &[u8]| cache.dir_at(path).unwrap();
        let changed =
            ChangedDirs::only_in(&cache, &[b"way/there".to_vec(), b"aside/gone/too".to_vec()]);
        let (way, there, aside) = (index(b"way"), index(b"way/there"), index(b"aside"));
        assert!(changed.entered.contains(&way) && !changed.changed.contains(&way));
        assert!(changed.entered.contains(&there) && changed.changed.contains(&there));
        assert!(changed.changed.contains(&aside), "below it something is gone");
        assert!(!changed.changed.contains(&StatCache::ROOT));
    }
}
