//! `herma/set-aside`: what a repair has replaced, kept for whoever wants to look at it.

use herma_fs::Dir;
use herma_fs::publish::free_name;

use crate::error::StoreError;
use crate::layout::StoreDirs;

const MAX_NAME_BYTES: usize = 200;

/// The directory for what was replaced.
#[derive(Debug)]
pub struct SetAside {
    dir: Dir,
    stamp: String,
}

impl SetAside {
    /// Opens the directory, making it if need be. `stamp` begins the names of what is put there.
    pub fn open(dirs: &StoreDirs, stamp: String) -> Result<Self, StoreError> {
        Self::at(&dirs.for_writing()?.dir, stamp)
    }

    /// The same in Herma's own directory of a store that cannot be opened as it is.
    pub(crate) fn at(herma: &Dir, stamp: String) -> Result<Self, StoreError> {
        let dir = herma.ensure_private("set-aside")?;
        Ok(Self { dir, stamp })
    }

    /// Moves `name` out of `from`; returns where it is now, relative to the store.
    pub fn take(&self, from: &Dir, name: &str) -> Result<String, StoreError> {
        self.take_as(from, name, name)
    }

    /// Like [`SetAside::take`], under a name that says more.
    pub fn take_as(&self, from: &Dir, name: &str, label: &str) -> Result<String, StoreError> {
        let new = free_name(&self.stamp, cut(label), |new| from.rename_new(name, &self.dir, new))?;
        // ORDER: it is here for certain before its absence there is.
        self.dir.sync()?;
        from.sync()?;
        Ok(place(&new))
    }

    /// Keeps a second name of a file that is about to be replaced.
    pub fn keep(&self, from: &Dir, name: &str) -> Result<String, StoreError> {
        self.keep_as(from, name, name)
    }

    /// Like [`SetAside::keep`], under a name that says more.
    pub fn keep_as(&self, from: &Dir, name: &str, label: &str) -> Result<String, StoreError> {
        match free_name(&self.stamp, cut(label), |new| from.link(name, &self.dir, new)) {
            // A file system without second names.
            Err(e) if e.is_without_links() => self.take_as(from, name, label),
            Err(e) => Err(e.into()),
            Ok(new) => {
                self.dir.sync()?;
                Ok(place(&new))
            }
        }
    }
}

fn place(name: &str) -> String {
    format!("herma/set-aside/{name}")
}

/// Longer names are cut, so that the stamp fits in front.
fn cut(name: &str) -> &str {
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= MAX_NAME_BYTES).last();
    &name[..end.unwrap_or(0)]
}
