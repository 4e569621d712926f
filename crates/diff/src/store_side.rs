//! A checkpoint as one side of a comparison.

use herma_store::error::StoreError;
use herma_store::object::{Kind, Object, TreeEntry, parse_tree};
use herma_store::objects::{ObjectError, Objects};
use herma_store::{ObjectId, RelPath};

use crate::{DiffError, Side};

/// A checkpoint, read from the store.
pub struct StoreSide<'s> {
    objects: &'s Objects,
    pending: Option<&'s Pending<'s>>,
}

/// Reads an object that is not published yet.
pub type Pending<'s> = dyn Fn(&ObjectId) -> Result<Option<Object>, StoreError> + Sync + 's;

impl<'s> StoreSide<'s> {
    /// What the store holds.
    pub fn new(objects: &'s Objects) -> Self {
        Self { objects, pending: None }
    }

    /// What the store will hold once what is pending is published.
    pub fn with_pending(objects: &'s Objects, pending: &'s Pending<'s>) -> Self {
        Self { objects, pending: Some(pending) }
    }

    fn pending(&self, id: &ObjectId) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(pending) = self.pending else { return Ok(None) };
        Ok(pending(id)?.map(|object| object.data))
    }
}

fn store_error(path: &RelPath, error: impl std::error::Error + Send + Sync + 'static) -> DiffError {
    DiffError::Store { path: path.clone(), source: Box::new(error) }
}

impl Side for StoreSide<'_> {
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        if *id == ObjectId::EMPTY_TREE {
            return Ok(Vec::new());
        }
        if let Some(data) = self.pending(id).map_err(|e| store_error(path, e))? {
            return parse_tree(&data).map_err(|e| store_error(path, e));
        }
        self.objects.read_tree(id).map_err(|e| store_error(path, e))
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        match self.pending(id) {
            // More than any limit: nobody reads so much to compare it.
            Err(StoreError::TooLarge { .. }) => return Ok(None),
            Err(e) => return Err(store_error(path, e)),
            Ok(Some(data)) => return Ok((data.len() as u64 <= limit).then_some(data)),
            Ok(None) => {}
        }
        let (kind, size) = self.objects.read_header(id).map_err(|e| store_error(path, e))?;
        if kind != Kind::Blob {
            let what = "it is not a file".to_owned();
            return Err(store_error(path, ObjectError::Damaged { id: *id, what }));
        }
        if size > limit {
            return Ok(None);
        }
        let object = self.objects.read(id).map_err(|e| store_error(path, e))?;
        Ok(Some(object.data))
    }
}
