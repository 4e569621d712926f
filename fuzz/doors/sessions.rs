//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`: what is private to this crate, with what must
//! hold of it.

use std::path::Path;

use herma_fs::Dir;

use crate::rewind::Intent;
use crate::rewind::kept::Kept;
use crate::{index, pending};

/// What a command set out to do with a conversation, as its file says.
pub fn intent(bytes: &[u8]) {
    if let Some(intent) = Intent::parse(bytes) {
        let written = serde_json::to_vec(&intent).expect("strings and numbers always serialise");
        assert_eq!(Intent::parse(&written), Some(intent));
    }
}

/// The kept end of a conversation, in the file `name`. Returns whether it could be read.
pub fn kept(dir: &Dir, name: &str) -> bool {
    let Ok(Some(kept)) = Kept::read(dir, name) else { return false };
    let mut length = 0;
    let read = kept.for_each_piece(|piece| {
        length += piece.len() as u64;
        Ok(())
    });
    read.expect("it was just read");
    let announced = kept.cut.jsonl.map_or(0, |(start, end)| end - start);
    assert_eq!(length, announced, "what is put back is what was cut");
    assert_eq!(kept.place().session, kept.cut.session);
    true
}

/// The gateway's index: taking sessions out leaves the others, and everything else, as it was.
pub fn gateway_index(text: &str, choice: u64) {
    let Some(entries) = index::entries(text) else { return };
    let gone: Vec<bool> = (0..entries.len()).map(|at| choice >> (at % 64) & 1 == 1).collect();
    assert_eq!(index::without(text, &entries, &vec![false; entries.len()]), text);
    let shorter = index::without(text, &entries, &gone);
    let left = index::entries(&shorter).expect("what is left is an object");
    let kept = entries.iter().zip(&gone).filter(|(_, gone)| !**gone);
    assert!(kept.map(|(entry, _)| &entry.session).eq(left.iter().map(|entry| &entry.session)));
}

/// Ids in the list of deletions.
pub fn escapes(text: &str) {
    let escaped = pending::escape(text);
    assert!(escaped.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    assert_eq!(pending::unescape(&escaped).as_deref(), Some(text));
    let _ = pending::unescape(text);
}

/// The list of deletions: a whole one reads the same when it is written again, and nobody may act on another.
pub fn pending(bytes: &[u8]) {
    let read = |bytes: &[u8]| {
        let mut ids = Vec::new();
        let is_whole = pending::read_list(bytes, Path::new("pending"), |id| {
            ids.push(id.to_owned());
            Ok(())
        });
        (is_whole.expect("memory can be read"), ids)
    };
    let (is_whole, ids) = read(bytes);
    let lines: String = ids.iter().map(|id| format!("id {}\n", pending::escape(id))).collect();
    let written = format!("{}\n{lines}end {}\n", pending::HEADER, ids.len());
    assert_eq!(read(written.as_bytes()), (true, ids));
    // Every shorter one is not whole: the end is the last thing that is written.
    assert!(!read(&written.as_bytes()[..written.len() - 1]).0);
    if is_whole {
        assert!(bytes.starts_with(pending::HEADER.as_bytes()));
    }
}
