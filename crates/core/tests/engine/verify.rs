//! Checking a store: what is damaged is named, and what is not stays usable.

use std::path::PathBuf;

use herma_core::engine::NoProgress;
use herma_core::{PackFault, Spec, Verified, VerifyOptions};

use super::project::TestProject;

fn verify(p: &TestProject, read_data: bool) -> Verified {
    let options = VerifyOptions { read_data, project: None };
    p.engine.verify(&options, &NoProgress).unwrap()
}

/// The packs of a store, the newest last.
fn packs(p: &TestProject) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(p.store().join("objects/pack")).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
        .collect();
    found.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    found
}

fn change(path: &PathBuf, change: impl FnOnce(&mut Vec<u8>)) {
    use std::os::unix::fs::PermissionsExt;
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Three checkpoints; in number `n` from the oldest, `only-<n>` holds bytes nothing compresses.
fn three() -> TestProject {
    let p = TestProject::new();
    for number in 0..3_u64 {
        let mut state = number + 1;
        let noise: Vec<u8> = (0..4000)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 24) as u8
            })
            .collect();
        p.write(&format!("dir/only-{number}"), noise);
        p.write("same", "shared by all");
        p.save(&format!("save {number}"));
        p.remove(&format!("dir/only-{number}"));
    }
    p
}

#[test]
fn a_whole_store_has_nothing_to_say_and_every_object_is_looked_at_once() {
    let p = three();
    for read_data in [false, true] {
        let verified = verify(&p, read_data);
        assert!(verified.is_whole(), "{verified:?}");
        assert_eq!(verified.checkpoints, 3);
        let count =
            p.repository().git(["cat-file", "--batch-all-objects", "--batch-check"]).success();
        assert_eq!(verified.objects, count.text().lines().count() as u64);
    }
    assert!(verify(&p, true).bytes > 12_000);
}

#[test]
fn flipped_bytes_are_named_by_file_and_other_checkpoints_can_be_restored() {
    let p = three();
    // The middle checkpoint's pack: most of it is the one large file.
    let victim = &packs(&p)[1];
    change(victim, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
    });
    assert!(verify(&p, false).is_whole(), "only reading finds this");
    let verified = verify(&p, true);
    assert_eq!(verified.damaged.len(), 1, "{verified:?}");
    let found = &verified.damaged[0];
    assert_eq!((found.number, found.is_lost, found.receipt), (2, false, false));
    assert_eq!(found.paths.paths, ["dir/only-1"]);
    assert_eq!(found.workdir.as_deref(), Some(p.root.as_path()));
    assert_eq!(verified.packs.len(), 1);
    assert_eq!(verified.packs[0].fault, PackFault::Pack);
    p.restore("@-2");
    assert!(p.exists("dir/only-0"));
    let damaged = p.project().find(&Spec::parse(&found.id.to_hex()).unwrap());
    assert_eq!(damaged.unwrap().id, found.id);
}

#[test]
fn a_lost_pack_costs_the_checkpoints_that_need_it() {
    let p = three();
    let victim = packs(&p).remove(0);
    std::fs::remove_file(victim.with_extension("idx")).unwrap();
    std::fs::remove_file(&victim).unwrap();
    let verified = verify(&p, false);
    // The oldest is gone; the file all share was in its pack.
    let lost: Vec<_> = verified.damaged.iter().map(|found| (found.number, found.is_lost)).collect();
    assert_eq!(lost, [(3, false), (2, false), (1, true)]);
    for found in &verified.damaged[..2] {
        assert_eq!(found.paths.paths, ["same"]);
    }
}

#[test]
fn indexes_refs_and_records_that_cannot_be_read_are_named() {
    let p = three();
    change(&packs(&p)[2].with_extension("idx"), |bytes| {
        bytes.truncate(900);
    });
    std::fs::remove_file(packs(&p)[1].with_extension("idx")).unwrap();
    let id = p.project().id().to_string();
    std::fs::write(p.store().join(format!("refs/herma/{id}/00000001")), "torn").unwrap();
    let record = p.store().join(format!("projects/{id}.json"));
    std::fs::write(record, r#"{"workdir": "/x", "last_touch": "yesterday"}"#).unwrap();
    let verified = verify(&p, false);
    assert_eq!(verified.packs.len(), 2, "{:?}", verified.packs);
    assert_eq!(verified.packs[0].fault, PackFault::Index);
    assert_eq!(verified.packs[1].fault, PackFault::NoIndex);
    assert_eq!(verified.refs.len(), 1);
    assert_eq!(verified.refs[0].name, format!("refs/herma/{id}/00000001"));
    assert_eq!(verified.metadata.len(), 1);
    assert_eq!(verified.metadata[0].what, "`last_touch` is no time");
    assert_eq!(verified.damaged.len(), 2);
}

#[test]
fn no_store_is_a_whole_store() {
    let p = TestProject::new();
    let verified = verify(&p, true);
    assert!(verified.is_whole());
    assert_eq!(verified.checkpoints, 0);
    assert!(!p.home().exists());
}
