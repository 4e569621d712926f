//! Beginning to watch: the directories a stat cache names, some at a time, within the limits.

use herma_fs::Dir;
use herma_fs::watch::CannotWatch;
use herma_fs::watch::ChangeSource;
use herma_fs::watch::WatchId;

use super::Use;
use super::Watching;
use crate::watch::Doubt;
use crate::watch::Question;
use crate::watch::root::Root;
use crate::watch::root::open_root;
use crate::watch::tree::Place;
use crate::watch::tree::Tree;

/// Directories that are watched between two looks at who asks.
const SLICE: usize = 256;

impl<S: ChangeSource> Watching<S> {
    /// Begins to watch a project.
    pub(super) fn begin(&mut self, question: &Question<'_>) -> Doubt {
        while self.roots.len() >= self.limits.projects.max(1) {
            self.forget_stalest(None);
        }
        self.next_instance = self.next_instance.wrapping_add(1).max(1);
        let mut root = match Root::open(question, self.next_instance) {
            Ok(root) => root,
            Err(doubt) => return doubt,
        };
        if root.place != question.place {
            return Doubt::Unwatchable;
        }
        root.asked = self.questions;
        if root.refused.is_none() {
            match self.source.watch(&root.state) {
                Ok(watch) => self.note_use(watch, Use::State(root.instance)),
                Err(CannotWatch::Full) => root.refused = Some(Doubt::TooMany),
                Err(CannotWatch::Failed(_)) => return Doubt::Unwatchable,
            }
        }
        let doubt = root.refused.unwrap_or(Doubt::NotYet);
        self.roots.push(root);
        doubt
    }

    /// Does some of what is left to be done while nobody asks. Says whether there is more.
    pub fn work(&mut self) -> bool {
        let unsynced = self
            .roots
            .iter()
            .find(|root| root.refused.is_none() && root.queue.is_empty() && root.needs_sync);
        if let Some(instance) = unsynced.map(|root| root.instance) {
            self.sync(instance);
            return true;
        }
        let queued = self.roots.iter().find(|root| !root.queue.is_empty());
        match queued.map(|root| root.instance) {
            Some(instance) => {
                self.watch_some(instance);
                true
            }
            None => false,
        }
    }

    pub(super) fn sync(&mut self, instance: u64) {
        let mut unneeded = Vec::new();
        if let Some(root) = self.root_mut(instance) {
            root.sync(&mut unneeded);
        }
        self.release(instance, unneeded);
    }

    /// Watches some directories of the queue. Says whether there are more.
    pub(super) fn watch_some(&mut self, instance: u64) -> bool {
        for _ in 0..SLICE {
            let queue = self.root_mut(instance).map(|root| &mut root.queue);
            let Some(place) = queue.and_then(std::collections::VecDeque::pop_front) else {
                break;
            };
            if !self.watch_place(instance, place) {
                return false;
            }
        }
        self.finish_if_done(instance);
        self.root(instance)
            .is_some_and(|root| !root.queue.is_empty())
    }

    fn finish_if_done(&mut self, instance: u64) {
        let sequence = self.sequence;
        if let Some(root) = self.root_mut(instance)
            && root.queue.is_empty()
            && !root.is_ready
            && root.tree.watched() > 0
        {
            // ORDER: after everything is watched: what is opened later is told.
            root.begin(sequence);
        }
    }

    /// Watches one directory. Says whether the project is still one to be watched.
    fn watch_place(&mut self, instance: u64, place: Place) -> bool {
        let Some(root) = self.roots.iter_mut().find(|r| r.instance == instance) else {
            return false;
        };
        // Given up meanwhile together with the one above it, or watched already.
        if root.tree.changed(place).is_none() || root.tree.watch(place).is_some() {
            return true;
        }
        let path = root.tree.path(place);
        let dir = open_root(&root.path, root.place).and_then(|dir| dir.open_beneath(&path).ok());
        let is_here = |dir: &Dir| dir.stat_self().is_ok_and(|stat| stat.dev == root.place.0);
        let watched = match dir {
            Some(dir) if is_here(&dir) => self.source.watch(&dir),
            // It is gone again, or not for us: a stat cache that names it will not be answered for.
            _ => Err(CannotWatch::Failed(herma_fs::Errno::NOENT)),
        };
        match watched {
            Ok(watch) => {
                self.sequence += 1;
                root.tree.set_watch(place, watch, self.sequence);
                // What is in it may be open already. At the beginning all that is found out at once.
                if root.is_ready {
                    root.doubt(place, self.sequence);
                }
                self.note_use(watch, Use::Directory(instance, place));
                self.drop_older_uses(instance, watch, place);
                self.make_room(instance)
            }
            Err(CannotWatch::Full) => {
                self.refuse(instance);
                false
            }
            Err(CannotWatch::Failed(_)) => {
                self.give_up(instance, place);
                true
            }
        }
    }

    /// A directory that is watched at one place cannot be at another one any more.
    fn drop_older_uses(&mut self, instance: u64, watch: WatchId, place: Place) {
        let uses = self.uses.get(&watch).cloned().unwrap_or_default();
        for other in uses {
            if let Use::Directory(of, older) = other
                && of == instance
                && older != place
            {
                self.give_up(instance, older);
            }
        }
    }

    /// Takes a directory out of the tree, and does not try again before there is another stat cache.
    fn give_up(&mut self, instance: u64, place: Place) {
        let mut unneeded = Vec::new();
        if let Some(root) = self.root_mut(instance) {
            let needed_sync = root.needs_sync;
            root.drop_place(place, &mut unneeded);
            root.needs_sync = needed_sync;
        }
        self.release(instance, unneeded);
    }

    /// Keeps to the limit. Says whether the project is still one to be watched.
    fn make_room(&mut self, instance: u64) -> bool {
        while self.uses.len() > self.limits.directories {
            if !self.forget_stalest(Some(instance)) {
                self.refuse(instance);
                return false;
            }
        }
        true
    }

    /// Notes that a project is too large to be watched, and watches nothing of it.
    fn refuse(&mut self, instance: u64) {
        let mut unneeded = Vec::new();
        if let Some(root) = self.root_mut(instance) {
            root.queue.clear();
            root.drop_place(Tree::ROOT, &mut unneeded);
            root.refused = Some(Doubt::TooMany);
            root.is_ready = false;
        }
        self.release(instance, unneeded);
    }
}
