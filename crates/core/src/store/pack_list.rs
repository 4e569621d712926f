//! The packs of a store, as last listed.
//!
//! Other processes publish and merge packs at any time. The list is made when first needed and again
//! before an object is said to be missing; packs whose index is still the same file are carried over.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use herma_fs::sync::Mutex;
use herma_fs::sync::RwLock;
use herma_fs::sync::atomic::AtomicU64;

use super::copy::CopyError;
use super::pack_files::Listed;
use super::pack_files::PackFiles;
use super::pack_read::Pack;

/// How often the directory is listed again because packs vanish while they are being opened.
const ATTEMPTS: usize = 4;

/// A pack whose index cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadablePack {
    /// Its name without an extension.
    pub pack: String,
    /// What is wrong.
    pub what: String,
}

/// One listing of the packs.
#[derive(Debug, Default)]
pub(crate) struct PackList {
    /// The packs that can be used, the newest first.
    pub(crate) packs: Vec<Arc<Pack>>,
    /// The others.
    pub(crate) unreadable: Vec<UnreadablePack>,
    /// Which listing of this process it is.
    number: u64,
}

/// The packs of a store, listed when needed.
#[derive(Debug)]
pub(crate) struct Packs {
    files: Arc<PackFiles>,
    current: RwLock<Option<Arc<PackList>>>,
    /// Held while listing, so that threads in need of a new list do not all make one at once.
    listing: Mutex<()>,
    /// How many listings were begun.
    listings: AtomicU64,
    next_serial: AtomicU64,
}

impl Packs {
    pub(crate) fn new(files: PackFiles) -> Self {
        Self {
            files: Arc::new(files),
            current: RwLock::default(),
            listing: Mutex::default(),
            listings: AtomicU64::new(0),
            next_serial: AtomicU64::new(0),
        }
    }

    fn known(&self) -> Option<Arc<PackList>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The packs as last listed; lists them if that never happened.
    pub(crate) fn list(&self) -> Result<Arc<PackList>, herma_fs::Error> {
        match self.known() {
            Some(list) => Ok(list),
            None => self.list_again(),
        }
    }

    /// Lists the packs, and sees every pack that was published before this call.
    pub(crate) fn list_again(&self) -> Result<Arc<PackList>, herma_fs::Error> {
        let begun_before = self.listings.load(Ordering::SeqCst);
        let _one_at_a_time = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known();
        // While this thread waited, another one may have begun a listing and finished it.
        if let Some(list) = known.as_ref().filter(|list| list.number > begun_before) {
            return Ok(Arc::clone(list));
        }
        let number = self.listings.fetch_add(1, Ordering::SeqCst) + 1;
        let list = self.read_directory(known.as_deref())?;
        let list = Arc::new(PackList { number, ..list });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&list));
        Ok(list)
    }

    fn read_directory(&self, known: Option<&PackList>) -> Result<PackList, herma_fs::Error> {
        let known: HashMap<&str, &Arc<Pack>> = known
            .iter()
            .flat_map(|list| &list.packs)
            .map(|pack| (pack.stem(), pack))
            .collect();
        let mut list = PackList::default();
        for _ in 0..ATTEMPTS {
            let listed = self.files.list()?;
            let carried: HashMap<&str, &Arc<Pack>> = listed
                .iter()
                .filter_map(|pack| known.get_key_value(pack.stem.as_str()).zip(Some(pack)))
                .filter(|((_, before), pack)| *before.index().stat() == pack.index)
                .map(|((stem, before), _)| (*stem, *before))
                .collect();
            self.files.close_all_but(|name| {
                let name = name.to_str().unwrap_or_default();
                let stem = name
                    .strip_suffix(".idx")
                    .or_else(|| name.strip_suffix(".pack"));
                stem.is_some_and(|stem| carried.contains_key(stem))
            });
            let vanished;
            (list, vanished) = self.open_listed(&listed, &carried);
            if !vanished {
                break;
            }
        }
        Ok(list)
    }

    /// Opens the packs that are new; also says whether one was gone when it was opened.
    fn open_listed(
        &self,
        listed: &[Listed],
        carried: &HashMap<&str, &Arc<Pack>>,
    ) -> (PackList, bool) {
        let mut list = PackList::default();
        let mut vanished = false;
        for pack in listed {
            if let Some(before) = carried.get(pack.stem.as_str()) {
                list.packs.push(Arc::clone(before));
                continue;
            }
            let serial = self.next_serial.fetch_add(1, Ordering::Relaxed);
            match Pack::open(&self.files, &pack.stem, serial) {
                Ok(pack) => list.packs.push(Arc::new(pack)),
                Err(e) if e.is_vanished() => vanished = true,
                Err(e) => list.unreadable.push(unreadable(&pack.stem, &e)),
            }
        }
        (list, vanished)
    }
}

fn unreadable(stem: &str, error: &CopyError) -> UnreadablePack {
    let what = match error {
        CopyError::Fs(e) => format!("{e}: {}", e.source),
        other => other.to_string(),
    };
    UnreadablePack {
        pack: stem.to_owned(),
        what,
    }
}
