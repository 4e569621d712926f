//! Writing a file out of a store.
//!
//! The length of the pack is known, and the hash over everything can be made, only when the pack is written. So the file is made
//! beside its place, and gets its name when it is whole and on disk.

use std::io::Write;

use herma_fs::Dir;
use herma_fs::publish::{Temp, sweep};
use herma_store::ObjectId;
use herma_store::objects::Objects;

use crate::contents::Contents;
use crate::frame::{PACK, head, start, sum};
use crate::{ExchangeError, Result, pack};

/// Writes `name` in `directory`, a new file; `false` if the name is taken. `go_on` is told how many objects are done.
pub fn write_new(
    (directory, name): (&Dir, &str),
    contents: &Contents,
    objects: &Objects,
    ids: &[ObjectId],
    go_on: &dyn Fn(u64) -> bool,
) -> Result<bool> {
    // What an export left that was killed.
    sweep(directory);
    let mut temp = Temp::create_private(directory)?;
    temp.write(&start())?;
    let mut at = start().len() as u64;
    for (kind, bytes) in contents.records() {
        let record = head(kind, bytes.len() as u64);
        temp.write(&record)?;
        temp.write(&bytes)?;
        at += (record.len() + bytes.len()) as u64;
    }
    temp.write(&head(PACK, 0))?;
    let length = {
        let mut file = std::io::BufWriter::new(temp.file());
        let length = pack::write(&mut file, objects, ids, go_on)?;
        file.flush().map_err(ExchangeError::Read)?;
        length
    };
    let packed = head(PACK, length);
    temp.write_at(&packed, at)?;
    let end = at + packed.len() as u64 + length;
    let sum = sum(temp.file(), end, &|| go_on(ids.len() as u64))?;
    temp.write(&sum)?;
    // ORDER: content before name.
    temp.sync()?;
    let is_new = temp.publish_new(directory, name)?;
    directory.sync()?;
    Ok(is_new)
}
