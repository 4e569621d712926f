//! What was purged is in no file of the store, whoever was killed before: looked for in the bytes of the files,
//! not by what git lists.

use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::purge::Copies;
use herma_testkit::raw::files_holding;

use super::project::TestProject;
use super::purge::{plan, purge, request};
use super::upkeep::{collect, packs};

const SECRET: &str = "the secret nobody may ever read again\n";
const ORPHAN: &str = "pack-00112233445566778899aabbccddeeff00112233.pack";

/// Every file below the store in which the secret is.
fn holding_secret(p: &TestProject) -> Vec<PathBuf> {
    files_holding(&p.store(), SECRET.as_bytes())
}

fn pack_dir(p: &TestProject) -> PathBuf {
    p.store().join("objects/pack")
}

/// The one pack that holds the secret.
fn secret_pack(p: &TestProject) -> PathBuf {
    let held = holding_secret(p);
    assert_eq!(held.len(), 1, "the look finds the secret: {held:?}");
    held[0].clone()
}

/// A project of which one checkpoint has the secret.
fn leaky() -> TestProject {
    let p = TestProject::new();
    p.write("keep.txt", "stays\n");
    p.save("before");
    p.write("leak", SECRET);
    p.save("leaked");
    p.remove("leak");
    p.save("after");
    p
}

/// Nobody finds the secret, also not a repair.
#[track_caller]
fn assert_gone(p: &TestProject) {
    assert_eq!(holding_secret(p), Vec::<PathBuf>::new());
    p.engine.repair(&NoProgress).unwrap();
    assert_eq!(holding_secret(p), Vec::<PathBuf>::new());
    assert!(plan(p, &["leak"]).is_empty());
}

#[test]
fn a_pack_without_an_index_that_a_kill_left_goes_with_a_purge() {
    let p = leaky();
    std::fs::copy(secret_pack(&p), pack_dir(&p).join(ORPHAN)).unwrap();
    assert_eq!(holding_secret(&p).len(), 2);
    let purged = purge(&p, &["leak"]);
    assert_eq!((purged.gone, purged.litter_removed), (1, 1));
    assert_gone(&p);
}

#[test]
fn a_purge_that_finds_the_path_nowhere_still_removes_what_kills_left() {
    let p = leaky();
    let pack = std::fs::read(secret_pack(&p)).unwrap();
    p.project().drop_checkpoint(&p.find("@-1")).unwrap();
    purge(&p, &["leak"]);
    assert_gone(&p);
    let index = ORPHAN.replace("pack-00", "pack-11").replace(".pack", ".idx");
    std::fs::write(pack_dir(&p).join(ORPHAN), &pack).unwrap();
    std::fs::write(pack_dir(&p).join(index), "half of a pack").unwrap();
    let trash = p.store().join("herma/trash/00000042");
    std::fs::create_dir(&trash).unwrap();
    std::fs::write(trash.join(ORPHAN), &pack).unwrap();
    std::fs::write(p.store().join("herma/tmp/tmp-00000001-1-1-1-1"), &pack).unwrap();
    assert_eq!(holding_secret(&p).len(), 3);

    let purged = purge(&p, &["leak"]);
    assert!(purged.plan.is_empty());
    assert_eq!((purged.litter_removed, purged.left_over.len()), (3, 0));
    assert_gone(&p);
}

#[test]
fn packs_and_objects_that_a_repair_set_aside_go_with_a_purge() {
    let p = leaky();
    let aside = p.store().join("herma/set-aside");
    std::fs::create_dir_all(&aside).unwrap();
    let copy = aside.join(format!("20260102-030405-{ORPHAN}"));
    std::fs::copy(secret_pack(&p), copy).unwrap();
    std::fs::write(aside.join("20260102-030405-refs-torn"), "torn").unwrap();
    let purged = purge(&p, &["leak"]);
    assert_eq!((purged.gone, purged.litter_removed), (1, 1));
    let rest = Path::new("store/herma/set-aside").to_owned();
    assert_eq!(purged.plan.not_searched, [rest], "what else is there stays");
    assert_gone(&p);
}

#[test]
fn a_pack_without_an_index_stays_and_is_named_while_it_may_be_the_only_copy() {
    let p = leaky();
    let noise: Vec<u8> =
        (0..20_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let before = packs(&p);
    p.write("noise", &noise);
    p.save("noise");
    let new = packs(&p).into_iter().find(|pack| !before.contains(pack));
    let new = pack_dir(&p).join(new.unwrap()).with_extension("pack");
    let orphan = pack_dir(&p).join(ORPHAN);
    std::fs::copy(&new, &orphan).unwrap();
    let mut bytes = std::fs::read(&new).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::remove_file(&new).unwrap();
    std::fs::write(&new, bytes).unwrap();

    let request = request(&["leak"], Copies::Stay);
    let purged = p.project().purge(&request, &NoProgress).unwrap();
    let named = Path::new("store/objects/pack").join(ORPHAN);
    assert_eq!(purged.left_over, [named]);
    let damaged = format!("refs/herma/{}/00000004", p.project().id());
    assert!(purged.damaged.contains(&damaged), "{:?}", purged.damaged);
    assert!(orphan.exists());
    assert!(p.engine.interrupted_purge().unwrap().is_some(), "it may hold the secret");
}

#[test]
fn a_usual_collection_leaves_a_young_pack_without_an_index_alone() {
    let p = leaky();
    std::fs::copy(secret_pack(&p), pack_dir(&p).join(ORPHAN)).unwrap();
    collect(&p);
    assert!(pack_dir(&p).join(ORPHAN).exists());
}
