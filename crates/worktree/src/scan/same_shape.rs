//! Brings a stat cache up to date after a walk that met the names it knows, and no others.
//!
//! What the walk found to be different is then known without asking anybody else: whoever wants to know what changed since
//! the state the cache described need not compare trees.

use herma_diff::Change;
use herma_store::{ObjectId, RelPath};

use crate::scan::Walked;
use crate::stat_cache::StatCache;

/// The files that are others than in the state a cache described.
#[derive(Clone, Debug)]
pub struct Edits {
    /// The tree of that state.
    pub base: ObjectId,
    /// What changed since, sorted by path.
    pub changes: Vec<Change>,
}

impl Edits {
    /// The way back: from what there is to what there was.
    pub fn reversed(&self) -> Vec<Change> {
        let reverse =
            |change: &Change| Change { old: change.new, new: change.old, ..change.clone() };
        self.changes.iter().map(reverse).collect()
    }
}

/// Has a walked project the directories and names of the cache it was walked with?
pub(crate) fn has_same_shape(cache: &StatCache, walked: &Walked) -> bool {
    let mut stack = vec![(StatCache::ROOT, walked)];
    while let Some((index, walked)) = stack.pop() {
        let dir = match walked {
            Walked::Same(same) if *same == index => continue,
            Walked::New(dir) => dir,
            _ => return false,
        };
        let places = dir.below.iter().map(|(place, _)| *place);
        let Some(children) = cache.same_shape(index, &dir.entries, places) else { return false };
        let below = dir.below.iter().map(|(_, walked)| walked);
        stack.extend(children.into_iter().zip(below));
    }
    true
}

/// Writes what changed in a walked project over the cache of the same shape, and says what that was. `None` if it does not
/// hold together.
pub(crate) fn update(cache: &mut StatCache, walked: Walked) -> Option<Edits> {
    let base = cache.dir(StatCache::ROOT)?.tree;
    let mut changes = Vec::new();
    let mut stack = vec![(StatCache::ROOT, RelPath::root(), walked)];
    while let Some((index, path, walked)) = stack.pop() {
        let Walked::New(dir) = walked else { continue };
        let places = dir.below.iter().map(|(place, _)| *place);
        let children = cache.same_shape(index, &dir.entries, places)?;
        for file in cache.edited(index, &dir.entries)? {
            changes.push(Change {
                path: path.join(file.name),
                old: file.old,
                new: file.new,
                from: None,
            });
        }
        cache.replace(index, dir.record, &dir.entries)?;
        for (child, (place, walked)) in children.into_iter().zip(dir.below) {
            if matches!(walked, Walked::New(_)) {
                let name = dir.entries.name(place as usize)?;
                stack.push((child, path.join(name), walked));
            }
        }
    }
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Some(Edits { base, changes })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use herma_fs::Dir;

    use super::*;
    use crate::present::Present;
    use crate::side::PresentSide;
    use crate::testing;

    fn scanned(root: &Path, cache: Option<Arc<StatCache>>) -> Present {
        testing::scanned(root, cache, None)
    }

    fn bytes(present: Present) -> Vec<u8> {
        let cache = Arc::into_inner(present.cache).unwrap();
        cache.into_bytes(ObjectId::EMPTY_TREE)
    }

    /// What the walk says changed is what comparing both states says.
    fn check_edits(root: &Path, was: Arc<StatCache>, now: &Present) -> bool {
        let Some(edits) = &now.edits else { return false };
        let root = || Dir::open(root).unwrap();
        let base = was.dir(StatCache::ROOT).unwrap().tree;
        let was = PresentSide::new(root(), was);
        let is = PresentSide::new(root(), Arc::clone(&now.cache));
        let expected =
            herma_diff::compare(Some((&&was, base)), Some((&&is, now.tree)), &[]).unwrap();
        assert_eq!((edits.base, &edits.changes), (base, &expected));
        let back = herma_diff::compare(Some((&&is, now.tree)), Some((&&was, base)), &[]).unwrap();
        assert_eq!(edits.reversed(), back);
        !expected.is_empty()
    }

    /// A project with directories in each other, empty ones, links, and what is left out.
    fn project(root: &Path) {
        for directory in ["a/b/c", "a/empty", "z", "left/target"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["top", "a/one", "a/b/two", "a/b/c/three", "z/four", "z/x.log"] {
            fs::write(root.join(file), file).unwrap();
        }
        fs::write(root.join(".gitignore"), "*.log\ntarget/\n").unwrap();
        fs::write(root.join("left/target/big"), "left out").unwrap();
        std::os::unix::fs::symlink("top", root.join("a/link")).unwrap();
    }

    /// One change after the other, most of which keep all names.
    fn changes(root: &Path) -> Vec<Box<dyn Fn() + '_>> {
        let write = |name: &'static str, content: &'static str| {
            move || fs::write(root.join(name), content).unwrap()
        };
        let mode = |name: &'static str, mode: u32| {
            move || fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap()
        };
        vec![
            Box::new(write("a/b/two", "another")),
            Box::new(write("top", "longer than it was before")),
            Box::new(mode("a/one", 0o755)),
            Box::new(mode("a/b", 0o700)),
            Box::new(|| {
                fs::remove_file(root.join("a/link")).unwrap();
                fs::write(root.join("a/link"), "a file now").unwrap();
            }),
            Box::new(write("z/new", "a name more")),
            Box::new(write("z/four", "4")),
            Box::new(|| fs::remove_file(root.join("z/new")).unwrap()),
            Box::new(|| {
                fs::remove_file(root.join("a/b/c/three")).unwrap();
                fs::create_dir(root.join("a/b/c/three")).unwrap();
            }),
            Box::new(write(".gitignore", "*.txt\n")),
            Box::new(write("a/empty/first", "1")),
            Box::new(|| {
                fs::rename(root.join("a/b"), root.join("a/moved")).unwrap();
            }),
            Box::new(write("a/moved/c/three/deep", "deep")),
            Box::new(write("a/moved/c/three/deep", "deeper")),
        ]
    }

    #[test]
    fn a_cache_brought_up_to_date_in_place_is_the_one_made_anew() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        project(root);
        let mut cache = bytes(scanned(root, None));
        let mut told = 0;
        for (number, change) in changes(root).iter().enumerate() {
            change();
            // Until the clock of the file system has moved on, a record says that it is not to be believed.
            std::thread::sleep(Duration::from_millis(30));
            let shared = Arc::new(StatCache::parse(cache.clone()).unwrap());
            let anew = scanned(root, Some(Arc::clone(&shared)));
            drop(shared);
            let was = Arc::new(StatCache::parse(cache.clone()).unwrap());
            let ours = StatCache::parse(cache).unwrap();
            let updated = scanned(root, Some(Arc::new(ours)));
            told += usize::from(check_edits(root, was, &updated));
            assert_eq!(updated.tree, anew.tree, "change {number}");
            assert!(!updated.same_as_cache, "change {number}");
            cache = bytes(updated);
            assert!(cache == bytes(anew), "change {number}");
            assert!(StatCache::parse(cache.clone()).is_some(), "change {number}");
        }
        assert!(told >= 4, "{told}");
    }

    #[test]
    fn only_the_blocks_of_what_changed_are_written() {
        let temp = tempfile::tempdir().unwrap();
        let (root, state) = (temp.path().join("project"), temp.path().join("state"));
        fs::create_dir_all(&state).unwrap();
        for number in 0..2000 {
            let directory = root.join(format!("directory-{}", number / 10));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(format!("file-{number}")), "one").unwrap();
        }
        let state = Dir::open(&state).unwrap();
        let save = |present: Present| {
            let cache = Arc::into_inner(present.cache).unwrap();
            cache.write(&state, &state, ObjectId::EMPTY_TREE).unwrap();
        };
        std::thread::sleep(Duration::from_millis(30));
        save(scanned(&root, None));
        let path = state.path().join("stat-cache");
        let inode = || Dir::open(state.path()).unwrap().stat("stat-cache").unwrap().ino;
        let before = fs::read(&path).unwrap();
        fs::write(root.join("directory-150/file-1500"), "two!").unwrap();
        std::thread::sleep(Duration::from_millis(30));
        // What is not written is not read back either: a byte that is wrong in the file stays wrong, and is noticed.
        let read = StatCache::read(&state).unwrap();
        let mut wrong = before.clone();
        let header_and_directories = 256 + read.directories() as usize * 104;
        let wrong_at = header_and_directories + 2150 * 72 + 45;
        wrong[wrong_at] ^= 1;
        fs::write(path.with_extension("new"), wrong).unwrap();
        fs::rename(path.with_extension("new"), &path).unwrap();
        let was = inode();
        save(scanned(&root, Some(Arc::new(read))));
        assert!(StatCache::read(&state).is_none());
        let mut after = fs::read(&path).unwrap();
        after[wrong_at] ^= 1;
        fs::write(&path, &after).unwrap();
        let cache = StatCache::read(&state).expect("everything else was written");
        let entry = cache.entry_at(b"directory-150/file-1500").unwrap();
        assert_eq!((entry.size, inode()), (4, was));
        let differing = before.chunks(4 << 10).zip(after.chunks(4 << 10));
        let differing = differing.filter(|(before, after)| before != after).count();
        assert!(differing <= 4, "{differing} blocks");
    }
}
