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
use crate::pack::read::{EntryKind, Pack};

/// The most deltas that may build on each other. Git makes no more than 4095.
pub(crate) const MAX_DELTA_CHAIN: usize = 10_000;

/// Where the base of a delta was found.
pub enum Base {
    /// In a pack, at this offset.
    Packed(Arc<Pack>, u64),
    /// Somewhere else, already read.
    Whole(Arc<Object>),
}

/// Finds the bases of deltas, and remembers those already built.
pub trait Bases {
    /// The object with this id, wherever it is stored. The pack of the delta was searched before.
    fn locate(&self, id: &ObjectId) -> Result<Option<Base>, CopyError>;
    /// The object at this place, if it was built a short while ago.
    fn recall(&self, pack: &Pack, offset: u64) -> Option<Arc<Object>>;
    /// Offers the object at this place for later: other deltas may build on it.
    fn remember(&self, pack: &Pack, offset: u64, object: &Arc<Object>);
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

    /// Moves to the base; returns it at once if it is not in a pack.
    fn follow(
        &mut self,
        kind: EntryKind,
        bases: &dyn Bases,
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
        match bases.locate(&id)? {
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
    offset: u64,
    delta: Vec<u8>,
}

/// Reads the object at `offset`, whole or built from deltas. It is not checked against any id.
pub fn read(pack: &Arc<Pack>, offset: u64, bases: &dyn Bases) -> Result<Arc<Object>, CopyError> {
    let mut cursor = Cursor::new(pack, offset);
    let mut pending = Vec::new();
    let mut held = 0;
    let base = loop {
        if let Some(object) = bases.recall(&cursor.pack, cursor.offset) {
            break object;
        }
        let entry = cursor.pack.entry(cursor.offset)?;
        let (kind, size) = (entry.kind, entry.size);
        held = within_limit(held, size)?;
        let data = entry.read()?;
        if let EntryKind::Whole(kind) = kind {
            let object = Arc::new(Object { kind, data });
            if !pending.is_empty() {
                bases.remember(&cursor.pack, cursor.offset, &object);
            }
            break object;
        }
        let (pack, offset) = (Arc::clone(&cursor.pack), cursor.offset);
        pending.push(Pending { pack, offset, delta: data });
        if let Some(object) = cursor.follow(kind, bases)? {
            break object;
        }
    };
    build(base, pending, bases)
}

/// Applies the deltas, the deepest first.
fn build(
    mut object: Arc<Object>,
    mut pending: Vec<Pending>,
    bases: &dyn Bases,
) -> Result<Arc<Object>, CopyError> {
    let mut held: u64 = pending.iter().map(|step| step.delta.len() as u64).sum();
    while let Some(step) = pending.pop() {
        let bad = |e: delta::BadDelta| step.pack.damaged(e.0);
        let result = delta::sizes(&step.delta).map_err(bad)?.result;
        within_limit(held + object.data.len() as u64, result)?;
        let data = delta::apply(&object.data, &step.delta).map_err(bad)?;
        object = Arc::new(Object { kind: object.kind, data });
        bases.remember(&step.pack, step.offset, &object);
        held -= step.delta.len() as u64;
    }
    Ok(object)
}

/// The kind and the size of the object at `offset`, without building it.
pub fn header(pack: &Arc<Pack>, offset: u64, bases: &dyn Bases) -> Result<(Kind, u64), CopyError> {
    let mut cursor = Cursor::new(pack, offset);
    let mut result = None;
    loop {
        if let Some(object) = bases.recall(&cursor.pack, cursor.offset) {
            return Ok((object.kind, result.unwrap_or(object.data.len() as u64)));
        }
        let entry = cursor.pack.entry(cursor.offset)?;
        let (kind, size) = (entry.kind, entry.size);
        if let EntryKind::Whole(kind) = kind {
            return Ok((kind, result.unwrap_or(size)));
        }
        if result.is_none() {
            let mut start = [0; 20];
            let length = entry.read_start(&mut start)?;
            let sizes = delta::sizes(&start[..length]);
            result = Some(sizes.map_err(|e| cursor.pack.damaged(e.0))?.result);
        }
        if let Some(object) = cursor.follow(kind, bases)? {
            return Ok((object.kind, result.unwrap_or(object.data.len() as u64)));
        }
    }
}

fn within_limit(held: u64, more: u64) -> Result<u64, CopyError> {
    match held.checked_add(more) {
        Some(sum) if sum <= MEMORY_LIMIT => Ok(sum),
        _ => Err(CopyError::TooLarge { size: more }),
    }
}
