//! Objects read a short while ago, up to a number of bytes; those not used for long go first.

use std::collections::HashMap;
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
    /// Those used since the others became old. With half the room full of them they become old themselves.
    young: HashMap<Key, Arc<Object>>,
    old: HashMap<Key, Arc<Object>>,
    /// Of the young ones.
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
        if let Some(object) = state.young.get(key) {
            return Some(Arc::clone(object));
        }
        let object = state.old.remove(key)?;
        state.keep(*key, &object, self.capacity);
        Some(object)
    }

    /// Keeps an object, unless it would fill more than an eighth of the cache.
    pub(crate) fn insert(&self, key: Key, object: &Arc<Object>) {
        if object.data.len() > self.capacity / 8 {
            return;
        }
        self.state().keep(key, object, self.capacity);
    }

    /// Forgets everything: what is here may have been built from damaged data.
    pub(crate) fn clear(&self) {
        *self.state() = State::default();
    }
}

impl State {
    fn keep(&mut self, key: Key, object: &Arc<Object>, capacity: usize) {
        self.old.remove(&key);
        if self.young.insert(key, Arc::clone(object)).is_none() {
            self.bytes += object.data.len() + OVERHEAD;
        }
        if self.bytes > capacity / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
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
    fn objects_not_used_for_long_go_first() {
        let cache = Cache::new(8 * (1000 + OVERHEAD));
        for n in 0..8 {
            cache.insert(Key::Place(0, n), &object(1000));
        }
        assert!(cache.get(&Key::Place(0, 0)).is_some());
        cache.insert(Key::Place(0, 8), &object(1000));
        assert!(cache.get(&Key::Place(0, 0)).is_some(), "used a moment ago");
        assert!(cache.get(&Key::Place(0, 1)).is_none(), "used longest ago");
        let state = cache.state();
        assert!((state.young.len() + state.old.len()) * (1000 + OVERHEAD) <= cache.capacity);
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
