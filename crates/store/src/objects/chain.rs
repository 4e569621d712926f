//! Follows a delta to the object it is a change of, and builds the object back up.
//!
//! The walk down is a loop, not a recursion, and always ends: offsets only decrease, an id is followed
//! once, and there is a limit on the number of steps. What is held at one time, deltas and objects
//! together, stays under [`MEMORY_LIMIT`].

use std::collections::HashSet;
use std::sync::Arc;

use crate::ObjectId;
use crate::object::copy::{CopyError, MEMORY_LIMIT};
use crate::object::{Kind, Object, delta};
use crate::objects::Objects;
use crate::objects::cache::Key;
use crate::objects::search::find_in_packs;
use crate::pack::list::PackList;
use crate::pack::read::{EntryKind, Pack};

/// The most deltas that may build on each other. Git makes no more than 4095.
pub(crate) const MAX_DELTA_CHAIN: usize = 10_000;

/// Where the base of a delta was found.
enum Base {
    /// In a pack, at this offset.
    Packed(Arc<Pack>, u64),
    /// Somewhere else, already read.
    Whole(Arc<Object>),
}

/// A step down a chain.
struct Cursor {
    pack: Arc<Pack>,
    offset: u64,
    followed: HashSet<ObjectId>,
    steps: usize,
}

impl Cursor {
    fn new(pack: &Arc<Pack>, offset: u64) -> Self {
        Self { pack: Arc::clone(pack), offset, followed: HashSet::new(), steps: 0 }
    }

    fn key(&self) -> Key {
        Key::Place(self.pack.serial(), self.offset)
    }

    /// Moves to the base; returns it at once if it is not in a pack.
    fn follow(
        &mut self,
        kind: EntryKind,
        objects: &Objects,
        list: &PackList,
    ) -> Result<Option<Arc<Object>>, CopyError> {
        self.steps += 1;
        if self.steps > MAX_DELTA_CHAIN {
            return Err(self.pack.damaged("a chain of deltas does not end"));
        }
        let id = match kind {
            EntryKind::Whole(_) => return Ok(None),
            EntryKind::OffsetDelta { base } => {
                self.offset = base;
                return Ok(None);
            }
            EntryKind::IdDelta { base } => base,
        };
        if !self.followed.insert(id) {
            return Err(self.pack.damaged("a chain of deltas runs in a circle"));
        }
        if let Some(offset) = self.pack.index().find(&id)? {
            self.offset = offset;
            return Ok(None);
        }
        match objects.locate_base(&id, list)? {
            Some(Base::Packed(pack, offset)) => {
                self.pack = pack;
                self.offset = offset;
                Ok(None)
            }
            Some(Base::Whole(object)) => Ok(Some(object)),
            None => {
                let file = format!("{}.pack", self.pack.stem());
                Err(CopyError::MissingBase { file, base: id })
            }
        }
    }
}

/// A delta waiting for its base.
struct Pending {
    pack: Arc<Pack>,
    key: Key,
    delta: Vec<u8>,
}

impl Objects {
    /// Reads the object at `offset`, whole or built from deltas. It is not checked against any id.
    pub(super) fn read_chain(
        &self,
        pack: &Arc<Pack>,
        offset: u64,
        list: &PackList,
    ) -> Result<Arc<Object>, CopyError> {
        let mut cursor = Cursor::new(pack, offset);
        let mut pending = Vec::new();
        let mut held = 0;
        let base = loop {
            if let Some(object) = self.cache.get(&cursor.key()) {
                break object;
            }
            let entry = cursor.pack.entry(cursor.offset)?;
            let (kind, size) = (entry.kind, entry.size);
            held = within_limit(held, size)?;
            let data = entry.read()?;
            if let EntryKind::Whole(kind) = kind {
                let object = Arc::new(Object { kind, data });
                if !pending.is_empty() {
                    self.cache.insert(cursor.key(), &object);
                }
                break object;
            }
            let (pack, key) = (Arc::clone(&cursor.pack), cursor.key());
            pending.push(Pending { pack, key, delta: data });
            if let Some(object) = cursor.follow(kind, self, list)? {
                break object;
            }
        };
        self.build(base, pending)
    }

    /// Applies the deltas, the deepest first.
    fn build(
        &self,
        mut object: Arc<Object>,
        mut pending: Vec<Pending>,
    ) -> Result<Arc<Object>, CopyError> {
        let mut held: u64 = pending.iter().map(|step| step.delta.len() as u64).sum();
        while let Some(step) = pending.pop() {
            let bad = |e: delta::BadDelta| step.pack.damaged(e.0);
            let result = delta::sizes(&step.delta).map_err(bad)?.result;
            within_limit(held + object.data.len() as u64, result)?;
            let data = delta::apply(&object.data, &step.delta).map_err(bad)?;
            object = Arc::new(Object { kind: object.kind, data });
            self.cache.insert(step.key, &object);
            held -= step.delta.len() as u64;
        }
        Ok(object)
    }

    /// The kind and the size of the object at `offset`, without building it.
    pub(super) fn chain_header(
        &self,
        pack: &Arc<Pack>,
        offset: u64,
        list: &PackList,
    ) -> Result<(Kind, u64), CopyError> {
        let mut cursor = Cursor::new(pack, offset);
        let mut result = None;
        loop {
            if let Some(object) = self.cache.get(&cursor.key()) {
                return Ok((object.kind, result.unwrap_or(object.data.len() as u64)));
            }
            let entry = cursor.pack.entry(cursor.offset)?;
            let (kind, size) = (entry.kind, entry.size);
            if let EntryKind::Whole(kind) = kind {
                return Ok((kind, result.unwrap_or(size)));
            }
            if result.is_none() {
                result = Some(entry.delta_result()?);
            }
            if let Some(object) = cursor.follow(kind, self, list)? {
                return Ok((object.kind, result.unwrap_or(object.data.len() as u64)));
            }
        }
    }

    /// The object a delta builds on, wherever it is stored. The pack of the delta was searched before.
    fn locate_base(&self, id: &ObjectId, list: &PackList) -> Result<Option<Base>, CopyError> {
        if let Some(object) = self.cache.get(&Key::Checked(*id)) {
            return Ok(Some(Base::Whole(object)));
        }
        let (found, failures) = find_in_packs(list, id);
        if let Some((pack, offset)) = found {
            return Ok(Some(Base::Packed(Arc::clone(pack), offset)));
        }
        match self.loose.read(id)? {
            Some(object) => Ok(Some(Base::Whole(Arc::new(object)))),
            None => failures.any().map_or(Ok(None), Err),
        }
    }
}

fn within_limit(held: u64, more: u64) -> Result<u64, CopyError> {
    match held.checked_add(more) {
        Some(sum) if sum <= MEMORY_LIMIT => Ok(sum),
        _ => Err(CopyError::TooLarge { size: more }),
    }
}
