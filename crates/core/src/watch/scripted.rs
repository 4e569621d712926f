//! A source of changes that says what a test wants to hear.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use herma_fs::Dir;
use herma_fs::watch::CannotWatch;
use herma_fs::watch::ChangeSource;
use herma_fs::watch::Event;
use herma_fs::watch::Missed;
use herma_fs::watch::WatchId;
use herma_fs::watch::What;

/// What is about to be told, and what is watched.
#[derive(Default)]
pub(super) struct Script {
    watched: HashMap<(u64, u64), WatchId>,
    last: i32,
    events: Vec<(WatchId, What, Vec<u8>, bool, u32)>,
    pub(super) missed: Option<Missed>,
    pub(super) room: Option<usize>,
}

/// A source that tells what is in its script.
#[derive(Clone, Default)]
pub(super) struct Scripted(pub(super) Rc<RefCell<Script>>);

impl Scripted {
    /// Something happens to `name` in the directory at `path`.
    pub(super) fn tell(&self, path: &std::path::Path, what: What, name: &str) {
        self.tell_all(path, what, name, false, 0);
    }

    /// The same, of a directory.
    pub(super) fn tell_of_dir(&self, path: &std::path::Path, what: What, name: &str) {
        self.tell_all(path, what, name, true, 0);
    }

    pub(super) fn tell_all(
        &self,
        path: &std::path::Path,
        what: What,
        name: &str,
        is_dir: bool,
        pair: u32,
    ) {
        let stat = Dir::open(path).unwrap().stat_self().unwrap();
        let mut script = self.0.borrow_mut();
        let watch = script.watched[&(stat.dev, stat.ino)];
        script.events.push((watch, what, name.into(), is_dir, pair));
    }

    /// How many directories are watched.
    pub(super) fn watched(&self) -> usize {
        self.0.borrow().watched.len()
    }
}

impl ChangeSource for Scripted {
    fn watch(&mut self, dir: &Dir) -> Result<WatchId, CannotWatch> {
        let stat = dir.stat_self().unwrap();
        let mut script = self.0.borrow_mut();
        if let Some(known) = script.watched.get(&(stat.dev, stat.ino)) {
            return Ok(*known);
        }
        if script.room.is_some_and(|room| script.watched.len() >= room) {
            return Err(CannotWatch::Full);
        }
        script.last += 1;
        let watch = WatchId(script.last);
        script.watched.insert((stat.dev, stat.ino), watch);
        Ok(watch)
    }

    fn forget(&mut self, watch: WatchId) {
        let mut script = self.0.borrow_mut();
        script.watched.retain(|_, known| *known != watch);
    }

    fn drain(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), Missed> {
        let events = std::mem::take(&mut self.0.borrow_mut().events);
        for (watch, what, name, is_dir, pair) in events {
            each(Event {
                watch,
                what,
                name: &name,
                is_dir,
                pair,
            });
        }
        self.0.borrow_mut().missed.take().map_or(Ok(()), Err)
    }

    fn catch_up(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), Missed> {
        self.drain(each)
    }
}
