//! The search for an object: every copy of it, in every pack and among the loose files.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{ObjectError, Objects, RELISTINGS, SMALL_BLOB};
use crate::object::copy::CopyError;
use crate::object::loose::{Loose, LooseObject};
use crate::object::{Hasher, Kind, Object};
use crate::pack::list::{PackList, UnreadablePack};
use crate::pack::read::{EntryKind, Pack};
use crate::{ObjectId, object};

/// One place where an object is kept.
pub(super) enum Copy<'a> {
    Packed(&'a Arc<Pack>, u64),
    Loose(LooseObject),
}

/// What went wrong with the copies tried so far.
#[derive(Default)]
pub(super) struct Failures {
    first: Option<CopyError>,
    vanished: Option<CopyError>,
}

impl Failures {
    fn note(&mut self, error: CopyError) {
        let slot = if error.is_vanished() { &mut self.vanished } else { &mut self.first };
        slot.get_or_insert(error);
    }

    pub(super) fn any(self) -> Option<CopyError> {
        self.first.or(self.vanished)
    }
}

impl Objects {
    /// Calls `take` with one copy of the object after the other, until it succeeds.
    pub(super) fn search<T>(
        &self,
        id: &ObjectId,
        mut take: impl FnMut(Copy<'_>, &PackList) -> Result<T, CopyError>,
    ) -> Result<T, ObjectError> {
        if let Some(noted) = self.packs.noted()
            && let Some(found) = self.try_packs(noted, id, &mut take, &mut Failures::default())
        {
            return Ok(found);
        }
        let mut list = self.packs.list()?;
        let mut failures = Failures::default();
        for round in 0..=RELISTINGS {
            if round > 0 {
                list = self.packs.list_again()?;
                failures = Failures::default();
            }
            if let Some(found) = self.try_copies(&list, id, &mut take, &mut failures) {
                return Ok(found);
            }
            if round > 0 && failures.vanished.is_none() {
                break;
            }
        }
        match failures.any() {
            Some(error) => Err(ObjectError::of(id, error)),
            None => Err(lost(id, &list)),
        }
    }

    fn try_copies<T>(
        &self,
        list: &PackList,
        id: &ObjectId,
        take: &mut impl FnMut(Copy<'_>, &PackList) -> Result<T, CopyError>,
        failures: &mut Failures,
    ) -> Option<T> {
        if let Some(found) = self.try_packs(list, id, take, failures) {
            return Some(found);
        }
        let taken = match self.loose.open(id) {
            Ok(None) => return None,
            Ok(Some(object)) => take(Copy::Loose(object), list),
            Err(e) => Err(e),
        };
        taken.map_err(|e| failures.note(e)).ok()
    }

    fn try_packs<T>(
        &self,
        list: &PackList,
        id: &ObjectId,
        take: &mut impl FnMut(Copy<'_>, &PackList) -> Result<T, CopyError>,
        failures: &mut Failures,
    ) -> Option<T> {
        for at in outwards(self.last_hit.load(Ordering::Relaxed), list.len()) {
            let pack = match list.open(at) {
                Ok(Some(pack)) => pack,
                Ok(None) => continue,
                // Who noted packs of which one is gone by now tells nothing.
                Err(_) if list.is_noted() => return None,
                Err(e) => {
                    failures.note(e);
                    continue;
                }
            };
            let taken = match pack.index().find(id) {
                Ok(None) => continue,
                Ok(Some(offset)) => take(Copy::Packed(pack, offset), list),
                Err(e) => Err(e),
            };
            match taken {
                Ok(found) => {
                    self.last_hit.store(at, Ordering::Relaxed);
                    return Some(found);
                }
                Err(e) => failures.note(e),
            }
        }
        None
    }

    pub(super) fn read_copy(
        &self,
        copy: Copy<'_>,
        list: &PackList,
        id: &ObjectId,
    ) -> Result<Arc<Object>, CopyError> {
        let (object, place) = match copy {
            Copy::Packed(pack, offset) => {
                (self.read_chain(pack, offset, list)?, format!("{}.pack", pack.stem()))
            }
            Copy::Loose(object) => (Arc::new(object.read()?), "the loose file".to_owned()),
        };
        self.check(id, &object, place)?;
        Ok(object)
    }

    /// Reads a blob of up to 1 MiB without comparing it with its id, for whoever looks through many and compares those in which
    /// something was found; `None` for a larger one, which is to be streamed. Damage to a compressed stream is noticed here too.
    pub fn read_unchecked(&self, id: &ObjectId) -> Result<Option<Arc<Object>>, ObjectError> {
        let object = self.search(id, |copy, list| {
            let object = match copy {
                Copy::Packed(pack, offset) => {
                    let entry = pack.entry(offset)?;
                    match entry.kind {
                        EntryKind::Whole(_) if entry.size > SMALL_BLOB => return Ok(None),
                        EntryKind::Whole(kind) => Arc::new(Object { kind, data: entry.read()? }),
                        _ => self.read_chain(pack, offset, list)?,
                    }
                }
                Copy::Loose(object) if object.size > SMALL_BLOB => return Ok(None),
                Copy::Loose(object) => Arc::new(object.read()?),
            };
            Ok(Some(object))
        })?;
        match object {
            Some(object) if object.kind != Kind::Blob => {
                Err(ObjectError::wrong_kind(id, object.kind, Kind::Blob))
            }
            object => Ok(object),
        }
    }

    /// Is the copy of this object in this very pack whole?
    pub fn is_whole_in(&self, stem: &str, id: &ObjectId) -> Result<bool, ObjectError> {
        let list = self.packs.list()?;
        let pack = list.packs().find(|pack| pack.stem() == stem);
        let Some(pack) = pack else { return Ok(false) };
        let checked = match pack.index().find(id) {
            Ok(None) => return Ok(false),
            Ok(Some(offset)) => self.check_copy(pack, offset, &list, id),
            Err(e) => Err(e),
        };
        match checked {
            Ok(()) => Ok(true),
            Err(CopyError::Fs(e)) => Err(e.into()),
            Err(_) => Ok(false),
        }
    }

    fn check_copy(
        &self,
        pack: &Arc<Pack>,
        offset: u64,
        list: &PackList,
        id: &ObjectId,
    ) -> Result<(), CopyError> {
        let entry = pack.entry(offset)?;
        if entry.kind != EntryKind::Whole(Kind::Blob) || entry.size <= SMALL_BLOB {
            return self.read_copy(Copy::Packed(pack, offset), list, id).map(drop);
        }
        let streamed = stream_large(id, entry.size, &mut |_| Ok(()), |sink| entry.stream(sink))?;
        streamed.map(drop).map_err(|_| pack.damaged("its content does not match the id"))
    }

    pub(super) fn check(
        &self,
        id: &ObjectId,
        object: &Object,
        file: String,
    ) -> Result<(), CopyError> {
        if object::id_of(object.kind, &object.data) == Some(*id) {
            return Ok(());
        }
        // Some of what it was built from may be remembered, and wrong.
        self.cache.clear();
        Err(CopyError::Damaged { file, what: "its content does not match the id" })
    }

    /// Passes one copy on. The outer error means that `sink` has seen nothing and another copy may be
    /// tried; the inner one is final.
    pub(super) fn stream_copy(
        &self,
        copy: Copy<'_>,
        list: &PackList,
        id: &ObjectId,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Result<u64, ObjectError>, CopyError> {
        let object = match copy {
            Copy::Packed(pack, offset) => {
                let entry = pack.entry(offset)?;
                if entry.kind == EntryKind::Whole(Kind::Blob) && entry.size > SMALL_BLOB {
                    // Once `sink` has seen something, no other copy can be tried.
                    if self.has_other_copy(pack, list, id) {
                        self.check_copy(pack, offset, list, id)?;
                    }
                    return stream_large(id, entry.size, sink, |sink| entry.stream(sink));
                }
                self.read_copy(Copy::Packed(pack, offset), list, id)?
            }
            Copy::Loose(object) if object.kind == Kind::Blob && object.size > SMALL_BLOB => {
                return stream_large(id, object.size, sink, |sink| object.stream(sink));
            }
            loose @ Copy::Loose(_) => self.read_copy(loose, list, id)?,
        };
        if object.kind != Kind::Blob {
            return Ok(Err(ObjectError::wrong_kind(id, object.kind, Kind::Blob)));
        }
        Ok(sink(&object.data).map(|()| object.data.len() as u64).map_err(ObjectError::Sink))
    }

    /// Is there a copy of the object beside the one in this pack?
    fn has_other_copy(&self, pack: &Pack, list: &PackList, id: &ObjectId) -> bool {
        let mut others = list.packs().filter(|other| other.serial() != pack.serial());
        let is_packed = others.any(|other| matches!(other.index().find(id), Ok(Some(_))));
        is_packed || matches!(self.loose.contains_listed(id), Ok(true))
    }

    /// Is the object in one of these packs, or loose as `is_loose` says?
    pub(super) fn has(
        &self,
        list: &PackList,
        id: &ObjectId,
        is_loose: impl FnOnce(&Loose) -> Result<bool, CopyError>,
    ) -> Result<bool, CopyError> {
        let (found, failures) = find_in_packs(list, id);
        if found.is_some() || is_loose(&self.loose)? {
            return Ok(true);
        }
        failures.any().map_or(Ok(false), Err)
    }
}

/// All places of a list of so many, those around one of them first: what is asked for is mostly near what was.
fn outwards(from: usize, count: usize) -> impl Iterator<Item = usize> {
    let from = from.min(count);
    let (mut before, mut after) = ((0..from).rev(), from..count);
    std::iter::repeat_with(move || [after.next(), before.next()]).take(count).flatten().flatten()
}

/// Where the object is among these packs, and what went wrong before it was found.
pub(super) fn find_in_packs<'l>(
    list: &'l PackList,
    id: &ObjectId,
) -> (Option<(&'l Arc<Pack>, u64)>, Failures) {
    let mut failures = Failures::default();
    for at in 0..list.len() {
        let found = list.open(at).and_then(|pack| {
            let Some(pack) = pack else { return Ok(None) };
            Ok(pack.index().find(id)?.map(|offset| (pack, offset)))
        });
        match found {
            Ok(Some(found)) => return (Some(found), failures),
            Ok(None) => {}
            Err(e) => failures.note(e),
        }
    }
    (None, failures)
}

/// What to say of an object that was found nowhere.
pub(super) fn lost(id: &ObjectId, list: &PackList) -> ObjectError {
    match list.unreadable().next() {
        None => ObjectError::Missing { id: *id },
        Some(UnreadablePack { pack, what }) => {
            let what = format!("it may be in {pack}.pack, whose index cannot be read: {what}");
            ObjectError::Damaged { id: *id, what }
        }
    }
}

/// Streams a large blob and hashes it on the way.
fn stream_large(
    id: &ObjectId,
    size: u64,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    stream: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), CopyError>,
) -> Result<Result<u64, ObjectError>, CopyError> {
    let mut hasher = Hasher::new(Kind::Blob, size);
    let mut started = false;
    let streamed = stream(&mut |bytes| {
        started = true;
        hasher.update(bytes);
        sink(bytes)
    });
    match streamed {
        Ok(()) if hasher.finish() == Some(*id) => Ok(Ok(size)),
        Ok(()) => {
            let what = "its content does not match the id".to_owned();
            Ok(Err(ObjectError::Damaged { id: *id, what }))
        }
        Err(e) if started => Ok(Err(ObjectError::of(id, e))),
        Err(e) => Err(e),
    }
}
