//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`.
//!
//! What the engine reads back from a disk is often private to it. The targets in `fuzz/` come in here. Each door
//! also says what must hold of the answer, because "it did not panic" is the least of it.

use std::ffi::CString;

use bstr::ByteSlice;
use herma_fs::Dir;

use crate::cleanup::CleaningRecord;
use crate::cleanup::clock;
use crate::coverage::Answer;
use crate::coverage::can_undo;
use crate::engine::calls;
use crate::engine::receipts;
use crate::id::ObjectId;
use crate::purge::record as purge_record;
use crate::restore::journal::Journal;
use crate::restore::undo::UndoRecord;
use crate::snapshot::secrets;
use crate::steps::log;
use crate::steps::marks::Marks;
use crate::steps::record;
use crate::store::git_config;
use crate::store::head;
use crate::store::head::Head;
use crate::store::learned_deflate;
use crate::store::objects::Objects;
use crate::store::pack_finish;
use crate::store::pack_rebuild;
use crate::store::pack_salvage;
use crate::store::packed_refs::PackedRefs;
use crate::store::ref_name;
use crate::store::shallow;

/// A merge whose exact comparison has only so much time.
pub fn merge_within<'a>(
    base: &'a [u8],
    ours: &'a [u8],
    theirs: &'a [u8],
    work: u64,
) -> crate::diff::merge::Merge<'a> {
    crate::diff::merge::merge_within(base, ours, theirs, work)
}

/// What codes learned from `known` compress comes back.
pub fn learned_deflate(known: &[u8], data: &[u8]) {
    learned_deflate::comes_back(&[known], data);
}

/// `packed-refs`: every ref is found under its name, and taking one out leaves all the others.
pub fn packed_refs(bytes: &[u8]) {
    let Ok(refs) = PackedRefs::parse(bytes.to_vec()) else {
        return;
    };
    assert_eq!(refs.without(&[]), bytes);
    let all: Vec<(Vec<u8>, ObjectId)> = refs.iter().map(|(name, id)| (name.to_vec(), id)).collect();
    for (name, _) in all.iter().take(8) {
        assert!(ref_name::is_valid(name));
        let Ok(text) = std::str::from_utf8(name) else {
            continue;
        };
        assert!(refs.get(text).is_some());
        let rest =
            PackedRefs::parse(refs.without(&[text])).expect("only whole lines were taken out");
        let kept = all.iter().filter(|(other, _)| other != name);
        assert!(
            rest.iter()
                .eq(kept.map(|(name, id)| (name.as_slice(), *id)))
        );
    }
}

/// A name of a ref: one that is allowed is a path that stays below `refs`.
pub fn ref_name(name: &[u8]) {
    if !ref_name::is_valid(name) {
        return;
    }
    assert!(name.starts_with(b"refs/") && !name.contains(&0));
    for component in name.split(|byte| *byte == b'/') {
        assert!(!component.is_empty() && !component.starts_with(b".") && component.len() <= 250);
    }
}

/// The `config` of a store. Returns the keys that were looked for and found.
pub fn git_config(bytes: &[u8]) {
    if let Ok(scan) = git_config::scan(bytes) {
        let _ = scan.has("extensions.preciousobjects");
        // An unknown extension behind it is never overlooked.
        let tail = [bytes, b"\n[extensions]\n\tunheard = 1\n"].concat();
        assert!(git_config::scan(&tail).is_err());
    }
}

/// The journal of a restore, and where undo and redo stand.
pub fn journal(bytes: &[u8]) {
    if let Some(journal) = Journal::parse(bytes) {
        let written = Journal::parse(&journal.encode()).expect("it was just written");
        // Of a long past only the end is written.
        assert_eq!(Journal::parse(&written.encode()).as_ref(), Some(&written));
        assert_eq!(
            (written.token, written.safety),
            (journal.token, journal.safety)
        );
        assert_eq!(written.options, journal.options);
    }
    if let Some(undo) = UndoRecord::parse(bytes) {
        let written = UndoRecord::parse(&undo.encode()).expect("it was just written");
        assert!(undo.past.ends_with(&written.past) && undo.future.ends_with(&written.future));
        assert_eq!(UndoRecord::parse(&written.encode()), Some(written));
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
    let summary = receipts::parse_summary(bytes);
    let written = receipts::encode_summary(&summary);
    assert_eq!(receipts::parse_summary(written.as_bytes()), summary);
}

/// The pack `<stem>.pack` in a directory that has no index for it: an index is made from it, which then finds
/// every object; and what can be read of it without its checksum is read. Returns the new index.
pub fn pack(directory: &Dir, stem: &str) -> Option<Vec<u8>> {
    let salvaged = pack_salvage::read_what_can_be_read(directory, stem);
    let (entries, trailer) = pack_rebuild::read_pack(directory, stem).ok()?;
    let scan = salvaged.expect("a whole pack can be salvaged, too");
    let known: Vec<ObjectId> = scan
        .items
        .iter()
        .filter_map(|item| Some(item.object?.1))
        .collect();
    for entry in &entries {
        assert!(
            known.contains(&entry.id),
            "what an index can find, salvage finds"
        );
    }
    Some(pack_finish::index(entries.iter().copied(), trailer))
}

/// Reads every object of the packs that lie in the directory `packs` of `above`, and returns how many could be
/// read and how many not.
pub fn packed_objects(above: Dir, packs: &str) -> (usize, usize) {
    let objects = Objects::in_packs(above, CString::new(packs).expect("a plain name"));
    let (mut good, mut bad) = (0, 0);
    let ids: Vec<_> = objects
        .all_ids()
        .map(|ids| ids.take(2000).collect())
        .unwrap_or_default();
    for id in ids {
        let Ok(id) = id else {
            bad += 1;
            continue;
        };
        let header = objects.read_header(&id);
        match objects.read(&id) {
            Ok(object) => {
                good += 1;
                assert_eq!(
                    crate::store::object::id_of(object.kind, &object.data),
                    Some(id)
                );
                let found = objects.find_prefix(&id.to_hex().as_bytes()[..8]);
                assert!(found.is_ok_and(|found| found.contains(&id)));
                let _ = header;
            }
            Err(_) => bad += 1,
        }
        let _ = (
            objects.read_tree(&id),
            objects.read_commit(&id),
            objects.is_whole(&id),
        );
    }
    (good, bad)
}

/// `shallow`: what is read is written so that it reads the same, and one wrong line is not overlooked.
pub fn shallow(bytes: &[u8]) {
    let Ok(ids) = shallow::parse(bytes) else {
        return;
    };
    assert!(ids.len() <= bytes.len() / 40);
    let written = shallow::render(&ids);
    assert_eq!(shallow::parse(written.as_bytes()).ok(), Some(ids));
    assert!(shallow::parse(&[written.as_bytes(), b"x\n"].concat()).is_err());
}

/// `HEAD` of a repository: it names a commit, or a ref that is one.
pub fn head(bytes: &[u8]) {
    let found = head::parse(bytes);
    let written = match &found {
        None => return,
        Some(Head::Commit(id)) => format!("{id}\n"),
        Some(Head::Ref(name)) => {
            ref_name(name.as_bytes());
            format!("ref: {name}\n")
        }
    };
    assert_eq!(head::parse(written.as_bytes()), found);
}

/// What the last cleaning left, when it was, and when somebody looked last.
pub fn cleaning(bytes: &[u8]) {
    if let Some(record) = CleaningRecord::parse(bytes) {
        assert_eq!(CleaningRecord::parse(&record.encode()), Some(record));
    }
    let now = 1_794_702_913.5;
    if let Some(last) = clock::parse_marker(bytes, now) {
        assert!((0.0..=now).contains(&last), "never in the future");
        assert_eq!(
            clock::parse_marker(clock::render_marker(last).as_bytes(), now),
            Some(last)
        );
        assert_eq!(clock::is_due(now, Some(last), 0), true);
    }
    if let Some((moment, id)) = calls::parse_look(bytes) {
        let _ = moment.elapsed();
        let written = format!("{moment} {id}\n");
        assert_eq!(calls::parse_look(written.as_bytes()), Some((moment, id)));
    }
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
        assert_eq!(
            purge_record::PurgeRecord::parse(&record.encode()),
            Some(record)
        );
    }
    let pairs = purge_record::parse_rewritten(bytes);
    let written = purge_record::render_rewritten(&pairs);
    assert_eq!(purge_record::parse_rewritten(written.as_bytes()), pairs);
}

/// The content of a file, in which a secret may be: it is found again one line further down, its place can be
/// noted, and looking takes no longer than the file is long.
pub fn secrets(content: &[u8], looks_long: bool) {
    let found = secrets::find(content);
    if let Some(found) = found {
        let lines = content.iter().filter(|byte| **byte == b'\n').count() + 1;
        assert!((1..=lines).contains(&(found.line as usize)));
        assert_eq!(
            secrets::Finding::from_number(found.to_number()),
            Some(found)
        );
        assert_eq!(
            secrets::Finding::from_word(found.to_word().as_bytes()),
            Some(found)
        );
        let _ = secrets::is_fixture(content, found.kind);
    }
    let is_marked = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
    if !is_marked && content.len() < 7000 {
        let moved = secrets::find(&[b"\n", content].concat());
        let expected = found.map(|found| secrets::Finding {
            line: found.line + 1,
            ..found
        });
        assert_eq!(moved, expected, "it moves with its line");
    }
    let _ = secrets::is_secret_name(content);
    if looks_long && !content.is_empty() {
        let _ = secrets::find(&content.repeat(secrets::MOST / 4 / content.len()));
    }
}

/// A command line somebody asks about: an unheard-of program behind it is never covered.
pub fn command_line(text: &[u8]) {
    let answer = can_undo(text);
    assert!(answer.answer == Answer::Exact || !answer.uncovered.is_empty());
    let continues = text.contains_str("<<") || text.ends_with(b"\\");
    if !continues {
        let longer = [text, b"\nunheard-of-program x\n"].concat();
        assert_ne!(can_undo(&longer).answer, Answer::Exact);
    }
}
