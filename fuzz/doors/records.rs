//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`.
//!
//! What is read back from the small files of a project is often private to this crate. The targets in `fuzz/` come in here. Each door
//! also says what must hold of the answer, because "it did not panic" is the least of it.

use crate::checkpoint::receipt as checkpoint_receipt;
use crate::encode;
use crate::journal::Journal;
use crate::purge as purge_record;
use crate::step::marks::Marks;
use crate::step::{log, record};
use crate::undo::UndoRecord;

/// The journal of a restore, and where undo and redo stand.
pub fn journal(bytes: &[u8]) {
    if let Some(journal) = Journal::parse(bytes) {
        let written = Journal::parse(&encode(&journal)).expect("it was just written");
        assert_eq!(written, journal);
    }
    if let Some(undo) = UndoRecord::parse(bytes) {
        let written = UndoRecord::parse(&encode(&undo)).expect("it was just written");
        assert_eq!(written, undo);
    }
}

/// The record of a step, and the marks of turns.
pub fn step(bytes: &[u8]) {
    if let Some(step) = record::decode(bytes) {
        assert_eq!(record::decode(&record::encode(&step)), Some(step));
    }
    if let Some(mut marks) = Marks::parse(bytes) {
        assert_eq!(Marks::parse(&marks.encode()).as_ref(), Some(&marks));
        marks.begin("session", None, None, Some("prompt"), 1);
        assert!(marks.of_session("session").is_some_and(|turn| !turn.over));
        assert_eq!(Marks::parse(&marks.encode()).as_ref(), Some(&marks));
    }
}

/// The counts of a receipt.
pub fn receipt(bytes: &[u8]) {
    let summary = checkpoint_receipt::parse_summary(bytes);
    let written = checkpoint_receipt::encode_summary(&summary);
    assert_eq!(checkpoint_receipt::parse_summary(written.as_bytes()), summary);
}

/// The name of a step's file: it is that of one number, or of none.
pub fn step_name(name: &[u8]) {
    if let Some(number) = log::number_of(name) {
        assert_eq!(log::name_of(number).as_bytes(), name);
        assert!(number.checked_add(1).is_some() && number > 0);
    }
}

/// What a purge is about to do, and which ids became which.
pub fn purge(bytes: &[u8]) {
    if let Some(record) = purge_record::PurgeRecord::parse(bytes) {
        assert_eq!(purge_record::PurgeRecord::parse(&record.encode()), Some(record));
    }
    let pairs = purge_record::parse_rewritten(bytes);
    let written = purge_record::render_rewritten(&pairs);
    assert_eq!(purge_record::parse_rewritten(written.as_bytes()), pairs);
}
