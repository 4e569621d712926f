//! Where a scan puts the objects it makes: into a pack, or nowhere.

use std::io::Read;

use herma_store::ObjectId;
use herma_store::error::StoreError;
use herma_store::object::{Hasher, Kind, id_of};
use herma_store::pack::write::PackWriter;

/// Takes objects from many threads at once.
pub trait Sink: Sync {
    /// Takes an object; returns its id.
    fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError>;

    /// Takes a blob of exactly `size` bytes without holding it in memory.
    fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError>;
}

impl Sink for PackWriter<'_> {
    fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        PackWriter::add(self, kind, data)
    }

    fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
        PackWriter::add_stream(self, size, read)
    }
}

/// Only computes ids: for comparing the present with a checkpoint, which writes nothing.
pub struct HashOnly;

impl Sink for HashOnly {
    fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        id_of(kind, data).ok_or(StoreError::Collision)
    }

    fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
        let mut hasher = Hasher::new(Kind::Blob, size);
        let mut buffer = vec![0; 128 << 10];
        let mut done = 0;
        loop {
            let n = match read.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(StoreError::Source(e)),
            };
            done += n as u64;
            hasher.update(&buffer[..n]);
        }
        if done != size {
            return Err(StoreError::Changed { expected: size, read: done });
        }
        hasher.finish().ok_or(StoreError::Collision)
    }
}
