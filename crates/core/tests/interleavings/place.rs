//! A store that all schedules of a test share, and how they are run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use herma_core::ObjectId;
use herma_fs::Dir;
use herma_fs::publish::Durability;
use herma_store::layout;
use herma_store::layout::StoreDirs;
use herma_store::object::{Kind, id_of};
use herma_store::objects::Objects;
use herma_store::pack::write::PackWriter;
use herma_testkit::schedules;

/// A store that lasts as long as the process.
pub(crate) struct Place {
    pub(crate) base: PathBuf,
    pub(crate) dirs: StoreDirs,
    // Its drop removes the directory; the process ends before that.
    _directory: tempfile::TempDir,
}

impl Place {
    /// A new store.
    pub(crate) fn new() -> Arc<Self> {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().to_owned();
        let made_at = base.join("checkpoints");
        let dirs = once(move || layout::create_or_open(&made_at, "20260102-030405").unwrap());
        Arc::new(Self { base, dirs, _directory: directory })
    }

    /// Where packs are.
    pub(crate) fn packs(&self) -> PathBuf {
        self.base.join("checkpoints/store/objects/pack")
    }

    /// Writes a pack with these blobs and returns its two files, the index last: a pack is there once it has one.
    pub(crate) fn write_pack(&self, contents: &[&[u8]]) -> [PathBuf; 2] {
        let known = |_: &ObjectId| Ok(false);
        let writer = PackWriter::new(&self.dirs, &known).unwrap();
        for content in contents {
            writer.add(Kind::Blob, content).unwrap();
        }
        let name = writer.finish(Durability::Cache).unwrap()[0];
        ["pack", "idx"].map(|kind| self.packs().join(format!("{name}.{kind}")))
    }

    /// Like [`Place::write_pack`], and takes the files out of the way; they are put back with a link.
    pub(crate) fn pack_aside(self: &Arc<Self>, contents: &'static [&'static [u8]]) -> Aside {
        let place = Arc::clone(self);
        let files = once(move || place.write_pack(contents));
        let aside = files.clone().map(|file| {
            let aside = self.base.join(file.file_name().unwrap());
            std::fs::rename(&file, &aside).unwrap();
            aside
        });
        Aside { aside, files }
    }

    /// The objects, as a process that has just been started sees them.
    pub(crate) fn objects(&self) -> Objects {
        let dir = Dir::open(&self.base.join("checkpoints/store/objects"));
        Objects::open(dir.unwrap())
    }
}

/// A pack that comes and goes.
pub(crate) struct Aside {
    aside: [PathBuf; 2],
    files: [PathBuf; 2],
}

impl Aside {
    /// Puts it into the store.
    pub(crate) fn publish(&self) {
        for (from, to) in self.aside.iter().zip(&self.files) {
            herma_fs::sync::point();
            // It may be there already.
            let _ = std::fs::hard_link(from, to);
        }
    }

    /// Takes it out of the store.
    pub(crate) fn remove(&self) {
        for file in self.files.iter().rev() {
            herma_fs::sync::point();
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Does something once, where the engine's locks are the scheduler's.
pub(crate) fn once<T: Send + 'static>(work: impl Fn() -> T + Send + Sync + 'static) -> T {
    let done = Arc::new(Mutex::new(None));
    let to = Arc::clone(&done);
    schedules::run(1, move || *to.lock().unwrap() = Some(work()));
    let mut done = done.lock().unwrap();
    done.take().unwrap()
}

/// The id of a blob.
pub(crate) fn blob(content: &[u8]) -> ObjectId {
    id_of(Kind::Blob, content).unwrap()
}
