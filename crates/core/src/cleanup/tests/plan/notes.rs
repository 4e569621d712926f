//! Tests of notes.

use std::path::Path;

use super::super::Cleaned;
use super::*;

#[test]
fn notes_are_sentences_a_person_understands() {
    let project = ProjectId::of(Path::new("/"));
    let said = [
        Note::ClockDistrusted(Trust::JumpedAhead),
        Note::FutureTouch { project: project.clone() },
        Note::OutOfReach {
            project: project.clone(),
            workdir: Some("/mnt/usb/app".into()),
            doubt: Doubt::EmptyParent,
        },
        Note::OrphanStays { project: project.clone(), checkpoints: 1 },
        Note::OverCount { project, checkpoints: 7, limit: 5 },
    ]
    .map(|note| note.to_string());
    assert_eq!(
        said,
        [
            "the clock is more than 30 days ahead of the last cleaning, so nothing is dropped \
             because of its age this time",
            "project 8a5edab282632443 is recorded as saved in the future; it counts as saved now",
            "/mnt/usb/app stays: the directory it was in is empty, perhaps a volume is not mounted",
            "project 8a5edab282632443 was deleted, but 1 checkpoint of it is protected",
            "project 8a5edab282632443 keeps 7 checkpoints, more than the limit of 5: the others \
             are protected",
        ]
    );
}

#[test]
fn over_says_by_how_much_and_what_must_stay() {
    let held = |protection, checkpoints, bytes| Held { protection, checkpoints, bytes };
    let over = Over {
        limit: Rule::TotalSize,
        bytes: 27 << 20,
        could_free: 0,
        held: vec![held(Protection::Newest, 8, 32 << 20), held(Protection::Pinned, 1, 700)],
    };
    assert_eq!(
        over.to_string(),
        "the store stays over its size limit, by 27.0 MB: 8 checkpoints (the newest of its \
         project) with 32.0 MB, 1 checkpoint (pinned) with 700 bytes must stay"
    );
    let some = Over { could_free: 2048, ..over.clone() };
    let said = some.to_string();
    assert!(
        said.ends_with(" must stay; what may go has 2.0 KB, kept to the limit by itself"),
        "{said}"
    );
    let disk = Over { limit: Rule::FreeDisk, could_free: 3 << 20, ..over };
    assert_eq!(
        disk.to_string(),
        "less disk is free than wanted, by 27.0 MB: checkpoints could free 3.0 MB at most, so none \
         is dropped for it"
    );
}

#[test]
fn sizes_of_any_magnitude_are_said() {
    assert_eq!(size(1023), "1023 bytes");
    assert_eq!(size(1024), "1.0 KB");
    assert_eq!(size(1536), "1.5 KB");
    assert_eq!(size(u64::MAX), "16777216.0 TB");
}

#[test]
fn only_a_store_that_is_larger_than_its_limit_is_over_it() {
    let over_by = |limit: u64| {
        let mut cleaned = Cleaned { bytes_after: 10, ..Cleaned::default() };
        cleaned.note_size(limit);
        cleaned.over.map(|over| over.bytes)
    };
    assert_eq!([9, 10, 0].map(over_by), [Some(1), None, None], "0 is no limit");
}
