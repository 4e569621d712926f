//! One watched project: what happened in it, and the directories its stat cache names.
//!
//! The directories to watch are those of the stat cache, no others: what is excluded may change as it likes.
//! A directory that comes, goes or is replaced is taken out of the tree and its parent noted; it comes back
//! with the next stat cache that names it, as one of which nothing is known. Until then the numbers of the
//! cache and of the tree differ, so nobody gets an answer that does not cover it.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::collections::VecDeque;
use std::path::Path;
use std::path::PathBuf;

use herma_fs::Dir;
use herma_fs::watch::Event;
use herma_fs::watch::WatchId;
use herma_fs::watch::What;
use herma_fs::watch::held;

use super::Doubt;
use super::Question;
use super::Token;
use super::check::Found;
use super::tree::Place;
use super::tree::Tree;
use crate::snapshot::stat_cache::StatCache;
use crate::snapshot::stat_cache::Summit;

/// A project in which more files are open at once is not watched: their names would have to be remembered.
const MOST_OPEN: usize = 4096;
/// With so many directories to look at, a walk is as good.
const MOST_DIRTY: usize = 2000;

/// A directory and the watch it had.
pub(super) type Unneeded = Vec<(Place, WatchId)>;

/// One watched project.
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) place: (u64, u64),
    pub(super) instance: u64,
    pub(super) state: Dir,
    pub(super) tree: Tree,
    /// Directories that are not watched yet, parents first.
    pub(super) queue: VecDeque<Place>,
    /// Has every directory of one stat cache been watched?
    pub(super) is_ready: bool,
    /// May the stat cache name other directories than the tree has?
    pub(super) needs_sync: bool,
    /// Why it is not watched, if it cannot be.
    pub(super) refused: Option<Doubt>,
    /// When it was last asked about, in questions.
    pub(super) asked: u64,
    /// When somebody last looked at it, in looks.
    pub(super) looked: u64,
    /// Answers that spared a walk.
    pub(super) answers: u64,
    /// Answers that spared a walk since everything was last looked at.
    pub(super) unchecked: u64,
    /// Changes nobody told of, found by looking.
    pub(super) missed: u64,
    open: HashMap<(Place, Box<[u8]>), u32>,
    moving: HashMap<u32, u32>,
    /// Directories in which somebody may write without anybody hearing of it.
    held: HashSet<Vec<u8>>,
    doubtful: Doubtful,
    /// Has something become doubtful since that was last looked into?
    pub(super) is_newly_doubtful: bool,
}

/// Where somebody may hold a file by a name that is not watched, as long as nobody has looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubtful {
    /// Something came here, by the number of when: it may have been open before.
    pub(super) places: HashMap<Place, (Vec<u8>, u64)>,
    /// An open file lost its name: it may have another one anywhere.
    pub(super) everywhere: Option<u64>,
}

/// Opens the root of a project, if it is still that directory. It is not kept open: its file system could not be
/// unmounted.
pub(super) fn open_root(path: &Path, place: (u64, u64)) -> Option<Dir> {
    let dir = Dir::open_nofollow(path).ok()?;
    let stat = dir.stat_self().ok()?;
    ((stat.dev, stat.ino) == place).then_some(dir)
}

impl Root {
    /// A project that is to be watched.
    pub(super) fn open(question: &Question<'_>, instance: u64) -> Result<Self, Doubt> {
        let dir = Dir::open_nofollow(question.root).map_err(|_| Doubt::Unwatchable)?;
        let state = Dir::open_nofollow(question.state).map_err(|_| Doubt::Unwatchable)?;
        let stat = dir.stat_self().map_err(|_| Doubt::Unwatchable)?;
        let refused = !dir.keeps_directory_times();
        Ok(Self {
            path: question.root.to_owned(),
            place: (stat.dev, stat.ino),
            instance,
            state,
            tree: Tree::default(),
            queue: VecDeque::new(),
            is_ready: false,
            needs_sync: true,
            refused: refused.then_some(Doubt::Unwatchable),
            asked: 0,
            looked: 0,
            answers: 0,
            unchecked: 0,
            missed: 0,
            open: HashMap::new(),
            moving: HashMap::new(),
            held: HashSet::new(),
            doubtful: Doubtful::default(),
            is_newly_doubtful: false,
        })
    }

    /// Takes note of something that happened in a directory. Says whether the project is still watched.
    pub(super) fn apply(
        &mut self,
        place: Place,
        event: &Event<'_>,
        sequence: u64,
        unneeded: &mut Unneeded,
    ) -> bool {
        match event.what {
            What::Lost => {
                if place == Tree::ROOT {
                    return false;
                }
                self.drop_place(place, unneeded);
            }
            What::Came | What::Went if event.is_dir => {
                self.tree.touch(place, sequence);
                if let Some(child) = self.tree.find(place, event.name) {
                    self.drop_place(child, unneeded);
                }
            }
            What::Changed if event.is_dir => {
                self.tree.touch(place, sequence);
                if let Some(child) = self.tree.find(place, event.name) {
                    self.tree.touch(child, sequence);
                }
            }
            What::Opened | What::Closed { .. } if event.is_dir => {}
            What::Opened => self.opened(place, event.name),
            What::Closed { writable } => {
                self.closed(place, event.name);
                if writable {
                    self.tree.touch(place, sequence);
                }
            }
            What::Came => {
                self.tree.touch(place, sequence);
                self.moved(place, event);
                self.doubt(place, sequence);
            }
            What::Went => {
                self.tree.touch(place, sequence);
                if event.pair == 0 && self.open.contains_key(&(place, event.name.into())) {
                    self.doubtful.everywhere = Some(sequence);
                    self.is_newly_doubtful = true;
                }
                self.moved(place, event);
            }
            What::Changed => self.tree.touch(place, sequence),
        }
        self.open.len() <= MOST_OPEN && self.moving.len() <= MOST_OPEN
    }

    /// Notes that what is in a directory may be held by somebody of whom nothing is heard.
    pub(super) fn doubt(&mut self, place: Place, sequence: u64) {
        let path = self.tree.path(place);
        self.doubtful.places.insert(place, (path, sequence));
        self.is_newly_doubtful = true;
    }

    /// What is to be looked into.
    pub(super) fn doubtful(&mut self) -> Doubtful {
        self.is_newly_doubtful = false;
        self.doubtful.clone()
    }

    /// Is it not known where changes may go unheard?
    pub(super) fn is_doubtful_everywhere(&self) -> bool {
        self.doubtful.everywhere.is_some()
    }

    /// Takes note of who holds what. What became doubtful after the look began stays so.
    pub(super) fn looked_into(&mut self, looked: &Doubtful, found: &Found) {
        let Doubtful { places, everywhere } = &mut self.doubtful;
        places.retain(|place, doubt| {
            looked.places.get(place) != Some(doubt) || found.still.contains(place)
        });
        if let Some(held) = &found.held {
            self.held.clone_from(held);
            if *everywhere == looked.everywhere {
                *everywhere = None;
            }
        }
    }

    fn opened(&mut self, place: Place, name: &[u8]) {
        let count = self.open.entry((place, name.into())).or_insert(0);
        *count = count.saturating_add(1);
    }

    fn closed(&mut self, place: Place, name: &[u8]) {
        let key = (place, name.into());
        if let Some(count) = self.open.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&key);
            }
        }
    }

    /// An open file that gets another name is closed by that one.
    fn moved(&mut self, place: Place, event: &Event<'_>) {
        let key = (place, event.name.into());
        let replaced = self.open.remove(&key);
        if event.pair == 0 {
            return;
        }
        if event.what == What::Went {
            if let Some(count) = replaced {
                self.moving.insert(event.pair, count);
            }
        } else if let Some(count) = self.moving.remove(&event.pair) {
            self.open.insert(key, count);
        }
    }

    /// Takes a directory out of the tree. It comes back with the next stat cache that names it.
    pub(super) fn drop_place(&mut self, place: Place, unneeded: &mut Unneeded) {
        let removed = self.tree.remove(place);
        self.needs_sync = true;
        for (place, _) in &removed {
            self.doubtful.places.remove(place);
        }
        if !self.open.is_empty() {
            let places: HashSet<Place> = removed.iter().map(|(place, _)| *place).collect();
            self.open.retain(|(place, _), _| !places.contains(place));
        }
        unneeded.extend(removed);
    }

    /// Brings the tree in step with the stat cache. What is to be watched then is in the queue.
    pub(super) fn sync(&mut self, unneeded: &mut Unneeded) {
        self.needs_sync = false;
        if self.is_ready && self.queue.is_empty() && self.agrees() {
            return;
        }
        if let Some(cache) = StatCache::read(&self.state) {
            // A cache that does not hold together leads nowhere; the next one will.
            let _ = self.adopt(&cache, unneeded);
        }
    }

    /// Does the stat cache name the very directories that are watched?
    fn agrees(&self) -> bool {
        let summit = Summit::read(&self.state);
        summit.is_some_and(|summit| summit.root.structure == self.tree.structure())
    }

    fn adopt(&mut self, cache: &StatCache, unneeded: &mut Unneeded) -> Option<()> {
        let root = self.tree.child(None);
        let mut stack = vec![(StatCache::ROOT, root)];
        let mut unseen = cache.directories();
        self.queue.clear();
        while let Some((index, place)) = stack.pop() {
            // A directory has one place. A cache in which it has several could be walked for ever.
            unseen = unseen.checked_sub(1)?;
            if self.tree.watch(place).is_none() {
                self.queue.push_back(place);
            }
            let mut below = Vec::new();
            for entry in cache.entries(index)? {
                let entry = entry?;
                if let Some(child) = entry.child() {
                    below.push((cache.name(&entry)?.to_bytes(), child));
                }
            }
            let wanted: BTreeSet<&[u8]> = below.iter().map(|(name, _)| *name).collect();
            let names = self.tree.names(place);
            let gone: Vec<Place> = names
                .filter(|(name, _)| !wanted.contains(name))
                .map(|(_, place)| place)
                .collect();
            for place in gone {
                self.drop_place(place, unneeded);
            }
            for (name, child) in below {
                stack.push((child, self.tree.child(Some((place, name)))));
            }
        }
        self.needs_sync = false;
        Some(())
    }

    /// The answer for a save that looked last at this moment.
    pub(super) fn dirty_since(&self, token: Token) -> Option<Vec<Vec<u8>>> {
        if self.doubtful.everywhere.is_some() {
            return None;
        }
        let mut places: BTreeSet<Place> = self.doubtful.places.keys().copied().collect();
        if self.tree.newest() > token.sequence {
            places.extend(self.tree.changed_since(token.sequence));
        }
        places.extend(self.open.keys().map(|(place, _)| *place));
        places.extend(self.held.iter().filter_map(|path| self.tree.at(path)));
        let is_answer = places.len() <= MOST_DIRTY;
        is_answer.then(|| {
            places
                .into_iter()
                .map(|place| self.tree.path(place))
                .collect()
        })
    }

    /// Is this directory looked at by every save?
    pub(super) fn is_looked_at(&self, place: Place) -> bool {
        self.open.keys().any(|(open, _)| *open == place)
            || self.doubtful.places.contains_key(&place)
            || self.held.contains(&self.tree.path(place))
    }

    /// Everything is watched from now on. Files that were opened before may be anywhere, also where no stat cache has seen them
    /// yet: until somebody has looked, with one of a save that began after this, nothing is answered.
    pub(super) fn begin(&mut self, sequence: u64) {
        self.is_ready = true;
        self.doubtful.everywhere = Some(sequence);
        self.is_newly_doubtful = true;
        if !held::can_be_known() {
            self.refused = Some(Doubt::Unwatchable);
        }
    }
}
