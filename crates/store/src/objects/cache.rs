//! Objects read a short while ago, up to a number of bytes; the one not used for longest goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};

use herma_fs::sync::{Mutex, MutexGuard};

use crate::ObjectId;
use crate::object::Object;

/// What an object is remembered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Its id: its hash has been checked.
    Checked(ObjectId),
    /// Its place, a pack's serial number and an offset: its hash has not been checked.
    Place(u64, u64),
}

/// The objects, shared by all threads.
pub(crate) struct Cache {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: HashMap<Key, (Arc<Object>, u64)>,
    by_use: BTreeMap<u64, Key>,
    uses: u64,
    bytes: usize,
}

/// What an entry costs beside its data.
const OVERHEAD: usize = 160;

impl Cache {
    /// A cache for this many bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object, if it is still here.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let mut state = self.state();
        state.uses += 1;
        let now = state.uses;
        let (object, used) = state.objects.get_mut(key)?;
        let object = Arc::clone(object);
        let before = std::mem::replace(used, now);
        state.by_use.remove(&before);
        state.by_use.insert(now, *key);
        Some(object)
    }

    /// Keeps an object, unless it would fill more than an eighth of the cache.
    pub(crate) fn insert(&self, key: Key, object: &Arc<Object>) {
        if object.data.len() > self.capacity / 8 {
            return;
        }
        let mut state = self.state();
        state.remove(&key);
        state.uses += 1;
        let now = state.uses;
        state.bytes += object.data.len() + OVERHEAD;
        state.objects.insert(key, (Arc::clone(object), now));
        state.by_use.insert(now, key);
        while state.bytes > self.capacity {
            let Some((_, oldest)) = state.by_use.pop_first() else { break };
            state.remove(&oldest);
        }
    }

    /// Forgets everything: what is here may have been built from damaged data.
    pub(crate) fn clear(&self) {
        *self.state() = State::default();
    }
}

impl State {
    fn remove(&mut self, key: &Key) {
        if let Some((object, used)) = self.objects.remove(key) {
            self.by_use.remove(&used);
            self.bytes -= object.data.len() + OVERHEAD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Kind;

    fn object(size: usize) -> Arc<Object> {
        Arc::new(Object { kind: Kind::Blob, data: vec![0; size] })
    }

    #[test]
    fn the_object_not_used_for_longest_goes_first() {
        let cache = Cache::new(8 * (1000 + OVERHEAD));
        for n in 0..8 {
            cache.insert(Key::Place(0, n), &object(1000));
        }
        assert!(cache.get(&Key::Place(0, 0)).is_some());
        cache.insert(Key::Place(0, 8), &object(1000));
        assert!(cache.get(&Key::Place(0, 0)).is_some(), "used a moment ago");
        assert!(cache.get(&Key::Place(0, 1)).is_none(), "used longest ago");
        assert!(cache.state().bytes <= cache.capacity);
    }

    #[test]
    fn large_objects_do_not_push_out_the_small_ones() {
        let cache = Cache::new(8000);
        cache.insert(Key::Place(0, 0), &object(10));
        cache.insert(Key::Place(0, 1), &object(1001));
        assert!(cache.get(&Key::Place(0, 0)).is_some());
        assert!(cache.get(&Key::Place(0, 1)).is_none());
    }

    #[test]
    fn inserting_twice_counts_once() {
        let cache = Cache::new(8000);
        for _ in 0..100 {
            cache.insert(Key::Checked(ObjectId::NULL), &object(10));
        }
        assert_eq!(cache.state().bytes, 10 + OVERHEAD);
    }
}
