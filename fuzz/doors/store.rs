//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`.
//!
//! What the store reads back from a disk is often private to it. Each door also says what must hold of the answer.

use std::ffi::CString;

use herma_fs::Dir;

use crate::ObjectId;
use crate::layout::git_config;
use crate::objects::Objects;
use crate::pack::write::finish;
use crate::refs::head::Head;
use crate::refs::packed::PackedRefs;
use crate::refs::{head, name, shallow};
use crate::repair::{rebuild, salvage};

/// `packed-refs`: every ref is found under its name, and taking one out leaves all the others.
pub fn packed_refs(bytes: &[u8]) {
    let Ok(refs) = PackedRefs::parse(bytes.to_vec()) else {
        return;
    };
    assert_eq!(refs.without(&[]), bytes);
    let all: Vec<(Vec<u8>, ObjectId)> = refs.iter().map(|(name, id)| (name.to_vec(), id)).collect();
    for (name, _) in all.iter().take(8) {
        assert!(name::is_valid(name));
        let Ok(text) = std::str::from_utf8(name) else {
            continue;
        };
        assert!(refs.get(text).is_some());
        let rest =
            PackedRefs::parse(refs.without(&[text])).expect("only whole lines were taken out");
        let kept = all.iter().filter(|(other, _)| other != name);
        assert!(rest.iter().eq(kept.map(|(name, id)| (name.as_slice(), *id))));
    }
}

/// A name of a ref: one that is allowed is a path that stays below `refs`.
pub fn ref_name(name: &[u8]) {
    if !name::is_valid(name) {
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
        let _ = scan.contains("extensions.preciousobjects");
        // An unknown extension behind it is never overlooked.
        let tail = [bytes, b"\n[extensions]\n\tunheard = 1\n"].concat();
        assert!(git_config::scan(&tail).is_err());
    }
}

/// The pack `<stem>.pack` in a directory that has no index for it: an index is made from it, which then finds
/// every object; and what can be read of it without its checksum is read. Returns the new index.
pub fn pack(directory: &Dir, stem: &str) -> Option<Vec<u8>> {
    let salvaged = salvage::read_what_can_be_read(directory, stem);
    let (entries, trailer) = rebuild::read_pack(directory, stem).ok()?;
    let scan = salvaged.expect("a whole pack can be salvaged, too");
    let known: Vec<ObjectId> = scan.items.iter().filter_map(|item| Some(item.object?.1)).collect();
    for entry in &entries {
        assert!(known.contains(&entry.id), "what an index can find, salvage finds");
    }
    Some(finish::index(entries.iter().copied(), trailer))
}

/// Reads every object of the packs that lie in the directory `packs` of `above`, and returns how many could be
/// read and how many not.
pub fn packed_objects(above: Dir, packs: &str) -> (usize, usize) {
    let objects = Objects::in_packs(above, CString::new(packs).expect("a plain name"));
    let (mut good, mut bad) = (0, 0);
    let packs = objects.packs().unwrap_or_default();
    for entry in packs.iter().flat_map(|pack| pack.index().entries()).take(2000) {
        let Ok((id, _)) = entry else {
            bad += 1;
            continue;
        };
        let header = objects.read_header(&id);
        match objects.read(&id) {
            Ok(object) => {
                good += 1;
                assert_eq!(crate::object::id_of(object.kind, &object.data), Some(id));
                assert!(objects.contains_listed(&id).is_ok_and(|is| is));
                let _ = header;
            }
            Err(_) => bad += 1,
        }
        let _ = (objects.read_tree(&id), objects.read_commit(&id), objects.is_whole(&id));
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
