//! Mending a store: what is lost comes back where anything of it is left, and nothing is thrown away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herma_core::engine::NoProgress;
use herma_core::error::ErrorKind;
use herma_core::{Error, Lost, ObjectId, PackFault, Repaired, SaveOptions, Spec, VerifyOptions};
use herma_store::gc::Thoroughness;
use herma_store::object::{Kind, id_of};

use super::lost_receipts::rot;
use super::project::TestProject;

fn repair(p: &TestProject) -> Repaired {
    p.engine.repair(&NoProgress).unwrap()
}

/// Three checkpoints; in the one with number `n` from the oldest, `a` holds `n`.
fn three() -> TestProject {
    let p = TestProject::new();
    for number in 0..3 {
        p.write("a", format!("{number}"));
        p.save(&format!("save {number}"));
    }
    p
}

fn reasons(p: &TestProject) -> Vec<String> {
    p.list().iter().map(|c| c.reason.to_string()).collect()
}

fn packs(p: &TestProject) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(p.store().join("objects/pack")).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
        .collect();
    found.sort();
    found
}

fn overwrite(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn checkpoint_ref(p: &TestProject, number: u64) -> PathBuf {
    let id = p.project().id().to_string();
    p.store().join(format!("refs/herma/{id}/{number:08}"))
}

fn record(p: &TestProject) -> PathBuf {
    p.store().join(format!("projects/{}.json", p.project().id()))
}

fn set_aside(p: &TestProject) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(p.store().join("herma/set-aside")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn indexes_are_made_again_and_a_second_repair_has_nothing_to_do() {
    let p = three();
    let packs = packs(&p);
    std::fs::remove_file(packs[0].with_extension("idx")).unwrap();
    overwrite(&packs[1].with_extension("idx"), b"torn");
    let repaired = repair(&p);
    assert_eq!(repaired.indexes.len(), 2);
    assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    assert_eq!(std::fs::read(&set_aside(&p)[0]).unwrap(), b"torn");
    p.fsck();
    p.restore("@-2");
    assert_eq!(p.read("a"), "0");
    let again = repair(&p);
    assert!(!again.has_changed(), "{again:?}");
    assert_eq!(set_aside(&p).len(), 1);
}

#[test]
fn an_index_with_wrong_bytes_is_noticed_without_reading_the_pack_and_made_again() {
    let p = three();
    p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    let [pack] = &packs(&p)[..] else {
        panic!("one pack is left");
    };
    let index = pack.with_extension("idx");
    let whole = std::fs::read(&index).unwrap();
    // In the ids, in the checksums of entries, in the pack's checksum, in its own.
    let last = whole.len();
    for at in [1100, last - 60, last - 30, last - 5] {
        let mut bytes = whole.clone();
        for byte in &mut bytes[at..at + 4] {
            *byte ^= 0x3c;
        }
        overwrite(&index, &bytes);
        let quick = VerifyOptions::default();
        let verified = p.engine.verify(&quick, &NoProgress).unwrap();
        assert!(!verified.is_whole(), "{at}");
        assert_eq!(verified.packs[0].fault, PackFault::Index, "{at}");
        let repaired = repair(&p);
        assert_eq!(repaired.indexes.len(), 1, "{at}: {repaired:?}");
        assert!(repaired.after.is_whole(), "{at}: {:?}", repaired.after);
        assert_eq!(std::fs::read(&index).unwrap(), whole, "{at}");
    }
    p.fsck();
}

/// A kind of damage, and what it does to a pack.
type Ends = (&'static str, fn(&mut Vec<u8>));
/// The same for an index, which may be gone afterwards.
type Index = (&'static str, fn(Vec<u8>) -> Option<Vec<u8>>);

const ENDS: [Ends; 9] = [
    ("nothing", |_| ()),
    ("another beginning", |pack| pack[1] ^= 0x40),
    ("another version", |pack| pack[7] ^= 0x40),
    ("another number of objects", |pack| pack[10] ^= 0x40),
    ("another checksum", |pack| *pack.last_mut().unwrap() ^= 0x40),
    ("both ends", |pack| {
        pack[0] = 0;
        pack[11] ^= 1;
        *pack.last_mut().unwrap() ^= 0x40;
    }),
    ("cut within its checksum", |pack| {
        pack.truncate(pack.len() - 7);
    }),
    ("cut before its checksum", |pack| {
        pack.truncate(pack.len() - 20);
    }),
    ("bytes behind it", |pack| {
        pack.extend_from_slice(b"something else");
    }),
];
const INDEXES: [Index; 7] = [
    ("nothing", Some),
    ("gone", |_| None),
    ("empty", |_| Some(Vec::new())),
    ("torn", |index| Some(index[..index.len() / 2].to_vec())),
    ("another id", |index| Some(changed(index, 8 + 1024 + 5))),
    ("another checksum of the pack", |index| {
        let at = index.len() - 25;
        Some(changed(index, at))
    }),
    ("another checksum", |index| {
        let at = index.len() - 5;
        Some(changed(index, at))
    }),
];

fn changed(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 0x10;
    bytes
}

/// Every object is whole, but git reads none of them.
#[test]
fn a_pack_with_damaged_ends_and_index_is_whole_again_after_a_repair() {
    for is_merged in [false, true] {
        let p = three();
        if is_merged {
            p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
        }
        let pack = packs(&p).remove(0);
        let index = pack.with_extension("idx");
        let (whole, whole_index) = (std::fs::read(&pack).unwrap(), std::fs::read(&index).unwrap());
        let names = packs(&p).into_iter();
        let names = names.flat_map(|pack| [pack.with_extension("idx"), pack]);
        let all: Vec<_> = names.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        for (ends, damage) in ENDS {
            for (wrong, damage_index) in INDEXES {
                let mut bytes = whole.clone();
                damage(&mut bytes);
                overwrite(&pack, &bytes);
                std::fs::remove_file(&index).unwrap();
                if let Some(bytes) = damage_index(whole_index.clone()) {
                    std::fs::write(&index, bytes).unwrap();
                }
                let repaired = repair(&p);
                let what = format!("{ends}, index: {wrong}");
                assert!(repaired.after.is_whole(), "{what}: {:?}", repaired.after);
                assert_eq!(repaired.stored_again, 0, "{what}");
                assert!(!repair(&p).has_changed(), "{what}");
                // What a merged pack had as deltas is in another pack now.
                for path in packs(&p) {
                    std::fs::remove_file(path.with_extension("idx")).unwrap();
                    std::fs::remove_file(path).unwrap();
                }
                for (path, bytes) in &all {
                    std::fs::write(path, bytes).unwrap();
                }
            }
        }
        p.fsck();
        p.restore("@-2");
        assert_eq!(p.read("a"), "0");
    }
}

/// It stayed where it was, and everybody went on relying on it.
#[test]
fn a_damaged_pack_is_set_aside_and_what_the_project_still_has_is_stored_again() {
    for at in [12, 20, 60, 90] {
        let p = TestProject::new();
        for number in 0..20 {
            p.write(&format!("sub/file-{number}"), format!("{number}\n"));
        }
        p.save("first");
        let pack = packs(&p).remove(0);
        let mut bytes = std::fs::read(&pack).unwrap();
        bytes[at] ^= 0x40;
        overwrite(&pack, &bytes);
        let repaired = repair(&p);
        assert!(repaired.after.is_whole(), "{at}: {:?}", repaired.after);
        let [salvaged] = &repaired.salvaged[..] else {
            panic!("{at}: {repaired:?}");
        };
        assert_eq!(repaired.stored_again, 1, "{at}");
        let aside = p.store().join(&salvaged.set_aside);
        assert_eq!(std::fs::read(aside).unwrap(), bytes);
        assert!(!pack.exists() && !repair(&p).has_changed());
        p.fsck();
        let saved = p.try_save("nothing is missed").unwrap();
        assert!(!saved.is_new && saved.lost == Lost::default(), "{saved:?}");
    }
}

/// Below a directory that is lost, too, nobody knows what is lost.
#[test]
fn a_lost_pack_is_stored_again_with_all_that_was_below_its_directories() {
    let p = TestProject::new();
    p.write("a/b/c/file", "deep");
    p.write("a/other", "less deep");
    p.save("first");
    let before = p.find("@").id;
    p.write("a/b/c/file", "changed");
    let second = p.save("second").checkpoint.id;
    let oldest = pack_with(&p, &before);
    std::fs::remove_file(oldest.with_extension("idx")).unwrap();
    overwrite(&oldest, &vec![0; 400]);
    p.write("a/b/c/file", "deep");
    let repaired = repair(&p);
    let lost: Vec<_> = repaired.after.damaged.iter().map(|one| one.id).collect();
    assert_eq!(lost, [before], "only the commit: {:?}", repaired.after);
    p.restore(&format!("id:{second}"));
    assert_eq!((p.read("a/other"), p.read("a/b/c/file")), ("less deep".into(), "changed".into()));
}

fn pack_with(p: &TestProject, id: &ObjectId) -> PathBuf {
    let has = |pack: &PathBuf| {
        let listed = p.repository().git(["verify-pack", "-v", pack.to_str().unwrap()]);
        listed.success().text().contains(&id.to_hex())
    };
    packs(p).into_iter().find(has).unwrap()
}

fn rot_content(p: &TestProject, content: &str) {
    rot(p, &id_of(Kind::Blob, content.as_bytes()).unwrap());
}

#[test]
fn what_one_project_lost_comes_back_from_another_that_has_the_same_file() {
    let p = three();
    let other = p.root.parent().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("copy"), "0").unwrap();
    let second = p.engine.project(&other).unwrap();
    let saved = second.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    assert!(saved.is_new);
    rot_content(&p, "0");
    let repaired = repair(&p);
    assert_eq!(repaired.stored_again, 1);
    assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    p.restore("@-2");
    assert_eq!(p.read("a"), "0");
}

#[test]
fn what_is_really_lost_is_named_and_stored_again_once_somebody_has_it() {
    let p = three();
    rot_content(&p, "0");
    let repaired = repair(&p);
    let [damaged] = &repaired.after.damaged[..] else {
        panic!("{repaired:?}");
    };
    assert_eq!((damaged.number, repaired.after.packs.len()), (1, 0));
    assert_eq!(damaged.paths.paths, ["a"]);
    // No index says any more that the store has it.
    p.write("a", "0");
    p.save("it is back");
    assert!(repair(&p).after.is_whole());
    p.fsck();
}

#[test]
fn damage_to_what_no_checkpoint_needs_is_set_aside() {
    let p = three();
    p.project().drop_named(&Spec::parse("@-2").unwrap()).unwrap();
    rot_content(&p, "0");
    assert!(repair(&p).after.is_whole());
    assert!(!repair(&p).has_changed());
    p.fsck_but_dangling();
}

#[test]
fn a_pack_that_is_empty_or_no_file_is_set_aside() {
    for is_directory in [false, true] {
        let p = three();
        for pack in packs(&p) {
            std::fs::remove_file(&pack).unwrap();
            if is_directory {
                std::fs::create_dir(&pack).unwrap();
            } else {
                std::fs::write(&pack, "").unwrap();
            }
        }
        let repaired = repair(&p);
        assert_eq!(repaired.salvaged.len(), 3, "{repaired:?}");
        assert_eq!(repaired.after.packs, [], "{is_directory}");
        p.save("all of it again");
        p.write("a", "later");
        p.restore("@");
        assert_eq!(p.read("a"), "2");
    }
}

/// Hermes's git may have written it.
#[test]
fn a_damaged_file_of_one_object_is_set_aside_and_stored_again() {
    let p = three();
    let file = p.base().join("content");
    std::fs::write(&file, "2").unwrap();
    let id = id_of(Kind::Blob, b"2").unwrap().to_hex();
    rot_content(&p, "2");
    let loose = p.store().join("objects").join(&id[..2]);
    std::fs::create_dir_all(&loose).unwrap();
    std::fs::write(loose.join(&id[2..]), "no object").unwrap();
    let repaired = repair(&p);
    assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    assert!(!loose.join(&id[2..]).exists());
    p.fsck();
}

/// What an index with a wrong byte hides is found in the pack, however damaged that is elsewhere.
#[test]
fn what_only_a_wrong_byte_of_the_index_hides_in_a_damaged_pack_is_saved() {
    let p = TestProject::new();
    for number in 0..40 {
        p.write(&format!("file-{number}"), format!("{number}\n").repeat(50));
    }
    p.save("first");
    let pack = packs(&p).remove(0);
    let index = pack.with_extension("idx");
    let mut bytes = std::fs::read(&index).unwrap();
    // All offsets, which follow the ids and the checksums of the entries.
    let count = u32::from_be_bytes(bytes[1028..1032].try_into().unwrap()) as usize;
    let offsets = 8 + 1024 + count * 24;
    for at in (offsets..offsets + count * 4).step_by(4) {
        bytes[at + 2] ^= 1;
    }
    overwrite(&index, &bytes);
    let mut bytes = std::fs::read(&pack).unwrap();
    bytes[14..20].fill(0);
    overwrite(&pack, &bytes);
    let repaired = repair(&p);
    let [salvaged] = &repaired.salvaged[..] else {
        panic!("{repaired:?}");
    };
    assert!(salvaged.saved as usize >= count - 2, "{salvaged:?}");
    assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    assert!(!repair(&p).has_changed());
}

/// A merged pack that was cut off or has rotted, and whose index is gone, too.
#[test]
fn what_is_whole_in_a_damaged_pack_without_an_index_is_saved() {
    for damage in ["cut", "rot", "rot behind the first entry"] {
        let p = TestProject::new();
        for number in 0..40 {
            p.write(&format!("dir/file-{number}"), format!("{number}\n").repeat(50));
        }
        p.save("first");
        p.write("a", "second");
        p.save("second");
        p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
        let pack = packs(&p).remove(0);
        let mut bytes = std::fs::read(&pack).unwrap();
        match damage {
            "cut" => bytes.truncate(bytes.len() * 3 / 4),
            "rot" => {
                let middle = bytes.len() / 2;
                bytes[middle..middle + 40].fill(0x78);
            }
            _ => bytes[14..50].fill(0),
        }
        overwrite(&pack, &bytes);
        std::fs::remove_file(pack.with_extension("idx")).unwrap();
        let repaired = repair(&p);
        let [salvaged] = &repaired.salvaged[..] else {
            panic!("{damage}: {repaired:?}");
        };
        assert!(salvaged.saved >= 20, "{damage}: {salvaged:?}");
        let aside = std::fs::read(p.store().join(&salvaged.set_aside)).unwrap();
        assert_eq!(aside, bytes, "{damage}");
        assert!(!pack.exists());
        let again = repair(&p);
        assert!(!again.has_changed(), "{damage}: {again:?}");
        if damage == "cut" {
            // The newest comes first in a merged pack.
            assert_eq!(reasons(&p)[0], "second");
        }
    }
}

#[test]
fn packs_in_the_trash_come_back_if_they_are_needed_and_only_then() {
    let p = three();
    let trash = p.store().join("herma/trash/20260101-000000");
    std::fs::create_dir(&trash).unwrap();
    let packs = packs(&p);
    let name = |path: &Path| path.file_name().unwrap().to_owned();
    // One is only there, the other is there whole while the one in use is damaged.
    for path in [packs[0].clone(), packs[0].with_extension("idx")] {
        std::fs::rename(&path, trash.join(name(&path))).unwrap();
    }
    for path in [packs[1].clone(), packs[1].with_extension("idx")] {
        std::fs::copy(&path, trash.join(name(&path))).unwrap();
    }
    let mut bytes = std::fs::read(&packs[1]).unwrap();
    for byte in &mut bytes[12..60] {
        *byte ^= 0xff;
    }
    overwrite(&packs[1], &bytes);
    let herma = herma_fs::Dir::open(&p.store().join("herma")).unwrap();
    let mode = herma_fs::lock::Mode::Exclusive;
    let held = herma_fs::lock::acquire(&herma, "collect", mode, Duration::ZERO).unwrap();
    let busy = p.engine.repair(&NoProgress).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    drop(held);
    let repaired = repair(&p);
    assert_eq!(repaired.packs.len(), 2, "{repaired:?}");
    assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 0);
    let kept = set_aside(&p);
    assert!(kept.iter().any(|path| std::fs::read(path).unwrap() == bytes));
    p.fsck();
    p.restore("@-2");
    assert_eq!(p.read("a"), "0");
    // Nobody needs these.
    std::fs::write(trash.join("pack-x.pack"), "").unwrap();
    assert!(!repair(&p).has_changed());
}

/// Defect 46: wrong or torn metadata stopped all maintenance, crashed `status` or leaked refs for ever.
/// Defect 36: a file that is no object stopped all saves of the project.
#[test]
fn damaged_records_are_set_aside_and_written_again_from_the_checkpoints() {
    let p = three();
    let good = std::fs::read_to_string(record(&p)).unwrap();
    let workdir = format!("{:?}", p.root);
    let half = &good[..good.len() / 2];
    assert!(half.contains(&workdir));
    for (text, keeps_workdir) in [
        (format!("{{\"workdir\": {workdir}, \"last_touch\": \"yesterday\", \"x\": 1}}"), true),
        ("{\"workdir\": 5, \"created_at\": 1.5, \"x\": 1}".to_owned(), false),
        (half.to_owned(), true),
        ("[1, 2]".to_owned(), false),
        ("{\"workdir\": \"/some/where/else".to_owned(), false),
        (String::new(), false),
    ] {
        overwrite(&record(&p), text.as_bytes());
        let repaired = repair(&p);
        assert_eq!(repaired.records.len(), 1, "{text}");
        assert!(repaired.after.is_whole());
        let aside = p.store().join(&repaired.records[0].set_aside);
        assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
        let known = p.engine.projects().unwrap().remove(0);
        assert_eq!(known.workdir.is_some(), keeps_workdir, "{text}");
        let newest = p.find("@").time.seconds as f64;
        assert_eq!(known.last_touch, Some(newest), "{text}");
        let written = std::fs::read_to_string(record(&p)).unwrap();
        assert_eq!(written.contains("\"x\": 1"), text.contains("\"x\": 1"));
        assert!(!repair(&p).has_changed(), "{text}");
    }
    std::fs::remove_file(record(&p)).unwrap();
    std::fs::create_dir(record(&p)).unwrap();
    assert_eq!(repair(&p).records.len(), 1);
    assert!(record(&p).is_file());
    p.write("a", "again");
    p.save("the next save");
    assert_eq!(p.engine.projects().unwrap()[0].workdir, Some(p.root.clone()));
}

/// Defect 46: the record of a project without checkpoints is no project.
#[test]
fn a_damaged_record_that_nothing_belongs_to_is_only_set_aside() {
    let p = three();
    let stray = p.store().join("projects/00000000000000aa.json");
    std::fs::write(&stray, "{").unwrap();
    let repaired = repair(&p);
    assert_eq!(repaired.records.len(), 1);
    assert!(!stray.exists());
    assert_eq!(p.engine.projects().unwrap().len(), 1);
}

#[test]
fn torn_refs_are_made_again_if_anything_tells_what_they_named() {
    for number in 1..=3 {
        let p = three();
        let expected = p.list();
        overwrite(&checkpoint_ref(&p, number), b"");
        let repaired = repair(&p);
        assert_eq!(repaired.refs.len(), 1, "{number}");
        assert_eq!(repaired.refs[0].number, Some(number));
        let lost = &expected[3 - number as usize];
        assert_eq!(repaired.refs[0].recovered, Some(lost.id));
        assert_eq!(p.list(), expected);
        assert!(repaired.after.is_whole());
        p.fsck();
    }
}

#[test]
fn a_receipt_that_lost_its_ref_outlives_a_collection() {
    let damage: [fn(&Path, &[u8]); 3] = [
        |extra, _| std::fs::remove_file(extra).unwrap(),
        |extra, other| overwrite(extra, other),
        |extra, _| overwrite(extra, b""),
    ];
    for damage in damage {
        let p = TestProject::new();
        for number in 0..3 {
            p.write(&format!("{number}"), "one more file: another receipt");
            p.save(&format!("save {number}"));
        }
        let extra = |number| checkpoint_ref(&p, number).with_extension("extra");
        let other = std::fs::read(extra(1)).unwrap();
        assert_ne!(std::fs::read(extra(2)).unwrap(), other);
        damage(&extra(2), &other);
        p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
        let repaired = repair(&p);
        assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    }
}

#[test]
fn a_ref_that_does_not_name_the_receipt_of_its_checkpoint_is_noticed_and_made_again() {
    let p = three();
    let extra = checkpoint_ref(&p, 2).with_extension("extra");
    let whole = std::fs::read_to_string(&extra).unwrap();
    let other_digit = if whole.starts_with('0') { "1" } else { "0" };
    let wrong = [
        format!("{other_digit}{}", &whole[1..]),
        std::fs::read_to_string(checkpoint_ref(&p, 1)).unwrap(),
        "no id\n".to_owned(),
    ];
    for (number, wrong) in wrong.iter().enumerate() {
        overwrite(&extra, wrong.as_bytes());
        let verify = || p.engine.verify(&VerifyOptions::default(), &NoProgress);
        assert_eq!(verify().unwrap().refs.len(), 1, "{wrong}");
        let repaired = repair(&p);
        assert_eq!(repaired.refs.len(), 1, "{wrong}");
        assert_eq!(std::fs::read_to_string(&extra).unwrap(), whole);
        assert_eq!(set_aside(&p).len(), number + 1);
        assert!(repaired.after.is_whole() && verify().unwrap().is_whole());
    }
    assert!(!repair(&p).has_changed());
    p.fsck();
    assert_eq!(p.list().len(), 3);
}

/// One digit of an id is another: `verify` did not look at names and pins, and `repair` left all three as they were.
#[test]
fn a_ref_that_names_what_is_not_there_is_noticed_and_made_again_from_the_roll() {
    let p = three();
    p.project().name(&p.find("@-1"), "good").unwrap();
    p.project().pin(&p.find("@-1")).unwrap();
    let id = p.project().id().to_string();
    let names = [
        format!("refs/hermes/{id}"),
        format!("refs/herma/{id}/00000002"),
        format!("refs/herma-names/{id}/good"),
        format!("refs/herma-pins/{id}/00000002"),
    ];
    for name in names {
        let file = p.store().join(&name);
        let whole = std::fs::read_to_string(&file).unwrap();
        let other_digit = if whole.starts_with('0') { "1" } else { "0" };
        overwrite(&file, format!("{other_digit}{}", &whole[1..]).as_bytes());
        let found = p.engine.verify(&VerifyOptions::default(), &NoProgress);
        let found = found.unwrap();
        assert!(found.refs.iter().any(|one| one.name == name), "{found:?}");
        // A collection wrote down the wrong one as the right one.
        let refused = p.engine.collect(Thoroughness::Full, false, &NoProgress);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Damaged, "{name}");
        let repaired = repair(&p);
        assert_eq!(repaired.refs.len(), 1, "{name}: {repaired:?}");
        assert!(repaired.after.is_whole(), "{name}: {:?}", repaired.after);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    }
    assert!(!repair(&p).has_changed());
}

#[test]
fn an_empty_directory_in_the_place_of_a_ref_keeps_no_repair_from_making_it_again() {
    let p = three();
    let before = p.list();
    for file in [checkpoint_ref(&p, 2), checkpoint_ref(&p, 3).with_extension("extra")] {
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let repaired = repair(&p);
        assert!(repaired.after.is_whole(), "{:?}", repaired.after);
        assert_eq!(p.list(), before);
    }
}

/// It was said to be gone, because the save noted it while its index was empty.
#[test]
fn a_save_does_not_miss_a_pack_whose_index_was_made_again() {
    let p = three();
    let index = packs(&p).remove(0).with_extension("idx");
    overwrite(&index, b"");
    let saved = p.save("with a torn index");
    assert!(!saved.lost.packs.is_empty());
    assert_eq!(repair(&p).indexes.len(), 1);
    assert_eq!(p.save("whole again").lost, Lost::default());
}

#[test]
fn an_undo_does_not_pass_over_a_checkpoint_that_cannot_be_read() {
    let p = three();
    let left = p.restore("@-1").safety.unwrap();
    rot(&p, &left.id);
    let refused = p.undo().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Damaged);
    assert_eq!(p.read("a"), "1");
}

#[test]
fn a_ref_nobody_remembers_is_set_aside_by_its_number() {
    let p = three();
    // Without the roll and the receipt's ref nothing tells which commit it was.
    let state = p.store().join("herma/projects").join(p.project().id().as_str());
    std::fs::remove_file(state.join("roll")).unwrap();
    let torn = checkpoint_ref(&p, 2);
    std::fs::remove_file(torn.with_extension("extra")).unwrap();
    overwrite(&torn, b"torn");
    let name = format!("refs/herma-names/{}/mine", p.project().id());
    std::fs::create_dir_all(p.store().join(&name).parent().unwrap()).unwrap();
    std::fs::write(p.store().join(&name), "also torn").unwrap();
    let repaired = repair(&p);
    assert_eq!(repaired.refs.len(), 2);
    let checkpoint = &repaired.refs[0];
    assert_eq!((checkpoint.number, checkpoint.recovered), (Some(2), None));
    assert_eq!(repaired.refs[1].name, name);
    for repaired in &repaired.refs {
        let aside = repaired.set_aside.as_ref().unwrap();
        assert!(p.store().join(aside).exists());
    }
    assert_eq!(reasons(&p), ["save 2", "save 0"]);
    assert_eq!(p.project().damaged().unwrap(), []);
    assert!(repair(&p).after.is_whole());
}

#[test]
fn what_stays_damaged_is_named_and_can_be_dropped() {
    let p = three();
    let id = p.find("@-1").id;
    let victim = pack_with(&p, &id);
    let mut bytes = std::fs::read(&victim).unwrap();
    for byte in &mut bytes[13..] {
        *byte ^= 0x5a;
    }
    overwrite(&victim, &bytes);
    let repaired = repair(&p);
    assert_eq!(repaired.after.damaged.len(), 1, "{repaired:?}");
    assert_eq!((repaired.after.damaged[0].id, repaired.after.damaged[0].number), (id, 2));
    let aside = p.store().join(&repaired.salvaged[0].set_aside);
    assert_eq!(std::fs::read(aside).unwrap(), bytes);
    let spec = Spec::parse(&id.to_hex()).unwrap();
    p.project().drop_named(&spec).unwrap();
    assert!(repair(&p).after.damaged.is_empty());
    assert_eq!(reasons(&p), ["save 2", "save 0"]);
    p.restore("@-1");
    assert_eq!(p.read("a"), "0");
}

/// Defect 35: a store that lacks what Hermes needs gets it.
#[test]
fn a_repair_completes_what_hermes_needs_and_finishes_a_killed_clearing() {
    let p = three();
    overwrite(&p.store().join("info/exclude"), b"mine/\n");
    overwrite(&p.store().join("config"), b"[core]\n\tbare = true\n");
    std::fs::remove_dir(p.store().join("refs/heads")).unwrap();
    let left = p.home().join("checkpoints/tmp-00000001-1-1-1-1");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("x"), "1234").unwrap();
    let repaired = repair(&p);
    assert!(repaired.settings && repaired.excludes);
    assert_eq!(repaired.bytes_freed, 4);
    assert!(!left.exists() && p.store().join("refs/heads").exists());
    let exclude = std::fs::read_to_string(p.store().join("info/exclude")).unwrap();
    assert!(exclude.contains("\n.env\n") && exclude.ends_with("\nmine/\n"));
    assert!(!repair(&p).has_changed());
    p.fsck();
}

#[test]
fn without_a_store_there_is_nothing_to_repair() {
    let p = TestProject::new();
    let refused = p.engine.repair(&NoProgress);
    assert!(matches!(refused, Err(Error::NoStore(_))));
    assert!(!p.home().exists());
}
