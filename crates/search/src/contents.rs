//! Searches many contents in parallel, each once.
//!
//! What is read for it is compared with its id only if something in it was found: that takes several times as long as the search,
//! and a damaged stream is noticed by its own checksum. So whatever is told was in a content that is whole.

use std::ops::ControlFlow;

use herma_store::ObjectId;
use herma_store::object::{Kind, id_of};
use herma_store::objects::{ObjectError, Objects};
use herma_store::threads::shared_out;

use crate::lines::{FoundLines, LinePattern, Search, Wanted};

/// So many are shared out at once: what was found in them is held until all are done, to be told in order.
const BATCH: usize = 512;

/// What was found in a content.
pub type Found = Result<Option<FoundLines>, ObjectError>;

/// Searches these contents and tells of each, in their order, what was found in it, until `tell` breaks off.
pub fn search(
    objects: &Objects,
    contents: &[ObjectId],
    (pattern, wanted): (&LinePattern, Wanted<'_>),
    goes_on: &(dyn Fn() -> bool + Sync),
    mut tell: impl FnMut(usize, Found) -> ControlFlow<()>,
) {
    for (batch, part) in contents.chunks(BATCH).enumerate() {
        let found =
            shared_out(part, |id| goes_on().then(|| search_one(objects, id, pattern, wanted)));
        for (at, found) in found.into_iter().enumerate() {
            // Somebody stopped it.
            let Some(found) = found else { return };
            if tell(batch * BATCH + at, found).is_break() {
                return;
            }
        }
    }
}

/// What matches in one content.
fn search_one(
    objects: &Objects,
    id: &ObjectId,
    pattern: &LinePattern,
    wanted: Wanted<'_>,
) -> Found {
    if let Some(blob) = objects.read_unchecked(id)? {
        let found = pattern.search(&blob.data, wanted);
        if found.is_none() || id_of(Kind::Blob, &blob.data) == Some(*id) {
            return Ok(found);
        }
    }
    // It is large, or this copy of it is damaged and there may be another.
    let mut search = Search::new(pattern, wanted);
    objects.stream_blob(id, &mut |piece| search.take(piece))?;
    Ok(search.end())
}
