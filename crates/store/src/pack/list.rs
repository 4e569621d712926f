//! The packs of a store, as last listed.
//!
//! Other processes publish and merge packs at any time. The list is made when first needed and again
//! before an object is said to be missing; packs whose index is still the same file are carried over.
//!
//! A store has one pack per checkpoint until they are merged, and most of what is asked for is in the newest: an index is
//! opened when the search comes to it.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};

use herma_fs::sync::atomic::AtomicU64;
use herma_fs::sync::{Mutex, RwLock};
use herma_fs::{FileKind, Stat};

use crate::error::in_full;
use crate::object::copy::CopyError;
use crate::pack::files::{Listed, PackFiles};
use crate::pack::read::Pack;
use crate::pack::sign::SignedPack;

/// How often the directory is listed again because packs vanish while they are being opened.
const ATTEMPTS: usize = 4;

/// The number of no listing.
const NOTED: u64 = 0;

/// A pack whose index cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadablePack {
    /// Its name without an extension.
    pub pack: String,
    /// What is wrong.
    pub what: String,
}

/// One listing of the packs, the newest first.
#[derive(Debug)]
pub(crate) struct PackList {
    slots: Vec<Slot>,
    files: Arc<PackFiles>,
    next_serial: Arc<AtomicU64>,
    /// Which listing of this process it is.
    number: u64,
}

/// A pack that was listed, and what came of opening it.
#[derive(Debug)]
struct Slot {
    stem: String,
    /// How long pack and index were when they were listed; `None` if one of them is no ordinary file.
    sizes: Option<(u64, u64)>,
    opened: OnceLock<Result<Arc<Pack>, UnreadablePack>>,
}

impl PackList {
    /// How many packs there are, those that cannot be used among them.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Did somebody note them, who may be wrong by now?
    pub(crate) fn is_noted(&self) -> bool {
        self.number == NOTED
    }

    /// The pack at a place of the list; `None` if its index cannot be used. An error if it is gone by now, or if this process
    /// cannot open any more files.
    pub(crate) fn open(&self, at: usize) -> Result<Option<&Arc<Pack>>, CopyError> {
        let slot = &self.slots[at];
        if let Some(opened) = slot.opened.get() {
            return Ok(opened.as_ref().ok());
        }
        let serial = self.next_serial.fetch_add(1, Ordering::Relaxed);
        let opened = match Pack::open(&self.files, &slot.stem, serial) {
            Ok(pack) => Ok(Arc::new(pack)),
            Err(e) if e.is_vanished() || e.is_want_of_resources() => return Err(e),
            Err(e) => Err(UnreadablePack { pack: slot.stem.clone(), what: in_full(&e) }),
        };
        // Of two threads that open it at once, one is heard.
        Ok(slot.opened.get_or_init(|| opened).as_ref().ok())
    }

    /// The packs that can be used and are still there.
    pub(crate) fn packs(&self) -> impl Iterator<Item = &Arc<Pack>> {
        (0..self.len()).filter_map(|at| self.open(at).ok().flatten())
    }

    /// The others.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &UnreadablePack> {
        (0..self.len()).filter_map(|at| {
            self.open(at).ok()?;
            self.slots[at].opened.get()?.as_ref().err()
        })
    }

    /// All of them, by their files.
    pub(crate) fn signed(&self) -> Vec<SignedPack> {
        let signed = |slot: &Slot| SignedPack { stem: slot.stem.clone(), sizes: slot.sizes };
        self.slots.iter().map(signed).collect()
    }

    /// Opens all of them, unless one is gone by now.
    fn open_all(&self) -> bool {
        (0..self.len()).all(|at| self.open(at).is_ok())
    }

    /// Those that were opened and can be used.
    fn opened(&self) -> HashMap<&str, &Arc<Pack>> {
        let slots = self.slots.iter();
        slots
            .filter_map(|slot| Some((slot.stem.as_str(), slot.opened.get()?.as_ref().ok()?)))
            .collect()
    }
}

/// The packs of a store, listed when needed.
#[derive(Debug)]
pub(crate) struct Packs {
    files: Arc<PackFiles>,
    current: RwLock<Option<Arc<PackList>>>,
    /// Packs that somebody noted, to be searched before the directory is listed.
    noted: OnceLock<PackList>,
    /// Held while listing, so that threads in need of a new list do not all make one at once.
    listing: Mutex<()>,
    /// How many listings were begun.
    listings: AtomicU64,
    next_serial: Arc<AtomicU64>,
}

impl Packs {
    pub(crate) fn new(files: PackFiles) -> Self {
        Self {
            files: Arc::new(files),
            current: RwLock::default(),
            noted: OnceLock::new(),
            listing: Mutex::default(),
            listings: AtomicU64::new(0),
            next_serial: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Notes packs to be searched first, the newest first. Until the directory is listed, what is found in them is found without
    /// that; what is not, or whose pack went meanwhile, says nothing.
    pub(crate) fn note(&self, stems: Vec<String>) {
        let is_name = |stem: &String| stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let stems = stems.into_iter().filter(is_name);
        let slots = stems.map(|stem| Slot { stem, sizes: None, opened: OnceLock::new() }).collect();
        let _ = self.noted.set(PackList {
            slots,
            files: Arc::clone(&self.files),
            next_serial: Arc::clone(&self.next_serial),
            number: NOTED,
        });
    }

    /// The packs that were noted, as long as nobody needed a list of all.
    pub(crate) fn noted(&self) -> Option<&PackList> {
        self.noted.get().filter(|_| self.known().is_none())
    }

    fn known(&self) -> Option<Arc<PackList>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The packs as last listed; lists them if that never happened.
    pub(crate) fn list(&self) -> Result<Arc<PackList>, herma_fs::Error> {
        match self.known() {
            Some(list) => Ok(list),
            None => self.list_after(0),
        }
    }

    /// Lists the packs, and sees every pack that was published before this call.
    pub(crate) fn list_again(&self) -> Result<Arc<PackList>, herma_fs::Error> {
        self.list_after(self.listings.load(Ordering::SeqCst))
    }

    /// Lists the packs, unless a list is there that was begun after so many.
    fn list_after(&self, begun_before: u64) -> Result<Arc<PackList>, herma_fs::Error> {
        let _one_at_a_time = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known();
        // While this thread waited, another one may have begun a listing and finished it.
        if let Some(list) = known.as_ref().filter(|list| list.number > begun_before) {
            return Ok(Arc::clone(list));
        }
        let number = self.listings.fetch_add(1, Ordering::SeqCst) + 1;
        let list = Arc::new(self.read_directory(known.as_deref(), number)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&list));
        Ok(list)
    }

    /// Lists the packs again and opens all of them.
    pub(crate) fn open_all(&self) -> Result<Arc<PackList>, herma_fs::Error> {
        let mut list = self.list_again()?;
        for _ in 1..ATTEMPTS {
            if list.open_all() {
                break;
            }
            list = self.list_again()?;
        }
        Ok(list)
    }

    fn read_directory(
        &self,
        known: Option<&PackList>,
        number: u64,
    ) -> Result<PackList, herma_fs::Error> {
        let known = known.map(PackList::opened).unwrap_or_default();
        let listed = self.files.list()?;
        let carried = |listed: &Listed| {
            let before = known.get(listed.stem.as_str());
            before.filter(|before| *before.index().stat() == listed.index)
        };
        let slots: Vec<Slot> = listed
            .iter()
            .map(|pack| Slot {
                stem: pack.stem.clone(),
                sizes: sizes_of(pack),
                opened: carried(pack)
                    .map(|before| Ok(Arc::clone(before)).into())
                    .unwrap_or_default(),
            })
            .collect();
        let list = PackList {
            slots,
            files: Arc::clone(&self.files),
            next_serial: Arc::clone(&self.next_serial),
            number,
        };
        let carried = list.opened();
        self.files.close_all_but(|name| {
            let name = name.to_str().unwrap_or_default();
            let stem = name.strip_suffix(".idx").or_else(|| name.strip_suffix(".pack"));
            stem.is_some_and(|stem| carried.contains_key(stem))
        });
        Ok(list)
    }
}

fn sizes_of(listed: &Listed) -> Option<(u64, u64)> {
    let is_plain = |stat: &Stat| stat.kind == FileKind::File;
    let are_plain = is_plain(&listed.pack) && is_plain(&listed.index);
    are_plain.then_some((listed.pack.size, listed.index.size))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use herma_fs::publish::Durability;

    use super::*;
    use crate::ObjectId;
    use crate::error::StoreError;
    use crate::object::Kind;
    use crate::pack::write::PackWriter;
    use crate::testing::Fresh;

    fn save(fresh: &Fresh, content: &[u8]) {
        let nothing = |_: &ObjectId| Ok::<_, StoreError>(false);
        let writer = PackWriter::new(&fresh.dirs, &nothing).unwrap();
        writer.add(Kind::Blob, content).unwrap();
        writer.finish(Durability::Synced).unwrap();
    }

    fn packs(fresh: &Fresh) -> Packs {
        let objects = Arc::new(fresh.dirs.objects().try_clone().unwrap());
        Packs::new(PackFiles::new(objects, c"pack".to_owned()))
    }

    fn path_of(fresh: &Fresh, stem: &str, extension: &str) -> std::path::PathBuf {
        let name = format!("objects/pack/{stem}.{extension}");
        fresh.store().join(name)
    }

    #[test]
    fn an_index_is_opened_once_when_it_is_first_needed() {
        let fresh = Fresh::new();
        save(&fresh, b"one");
        save(&fresh, b"two");
        let packs = packs(&fresh);
        let list = packs.list().unwrap();
        assert_eq!((list.len(), list.opened().len()), (2, 0));
        let first = Arc::clone(list.open(0).unwrap().unwrap());
        assert_eq!(list.opened().len(), 1);
        save(&fresh, b"three");
        let again = packs.list_again().unwrap();
        assert_eq!((again.len(), again.opened().len()), (3, 1));
        assert!(Arc::ptr_eq(again.opened()[first.stem()], &first));
        assert_eq!(packs.open_all().unwrap().packs().count(), 3);
    }

    #[test]
    fn noted_packs_are_searched_until_all_are_listed() {
        let fresh = Fresh::new();
        save(&fresh, b"one");
        let packs = packs(&fresh);
        assert!(packs.noted().is_none());
        let stem = packs.files.list().unwrap().remove(0).stem;
        packs.note(vec!["../../pack-x".to_owned(), stem.clone(), "pack-gone".to_owned()]);
        let noted = packs.noted().unwrap();
        assert!(noted.is_noted() && noted.len() == 2);
        assert_eq!(noted.open(0).unwrap().unwrap().stem(), stem);
        assert!(noted.open(1).unwrap_err().is_vanished());
        assert!(!packs.list().unwrap().is_noted());
        assert!(packs.noted().is_none());
    }

    #[test]
    fn an_index_that_is_another_file_now_is_read_again() {
        let fresh = Fresh::new();
        save(&fresh, b"one");
        let packs = packs(&fresh);
        let list = packs.open_all().unwrap();
        let before = list.packs().next().unwrap();
        let index = path_of(&fresh, before.stem(), "idx");
        let copy = index.with_extension("other");
        std::fs::copy(&index, &copy).unwrap();
        std::fs::rename(&copy, &index).unwrap();
        let again = packs.open_all().unwrap();
        assert!(!Arc::ptr_eq(again.packs().next().unwrap(), before));
        std::fs::write(&index, "broken").unwrap();
        let broken = packs.list_again().unwrap();
        assert_eq!(broken.packs().count(), 0);
        assert_eq!(broken.unreadable().next().unwrap().pack, before.stem());
    }

    #[test]
    fn a_pack_that_vanishes_before_it_is_opened_is_an_answer_and_not_kept() {
        let fresh = Fresh::new();
        save(&fresh, b"one");
        let packs = packs(&fresh);
        let list = packs.list().unwrap();
        let stem = list.slots[0].stem.clone();
        std::fs::remove_file(path_of(&fresh, &stem, "idx")).unwrap();
        assert!(list.open(0).unwrap_err().is_vanished());
        assert_eq!((list.packs().count(), list.unreadable().count()), (0, 0));
        assert_eq!(packs.open_all().unwrap().len(), 0);
    }
}
