//! Collection in a store that is damaged: nothing is removed, the damage is named, and what is whole stays
//! whole.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use herma_core::cleanup::{CleanRequest, Limits};
use herma_core::engine::NoProgress;
use herma_core::{ObjectId, Spec};
use herma_store::gc::Thoroughness;
use herma_testkit::{Bounded, git};

use super::child;
use super::project::TestProject;
use super::upkeep::{Saves, clean, collect, git_line, names_below, overwrite, pack_with, packs};

/// One more pack, with everything that is in the store.
fn pack_all(p: &TestProject) -> PathBuf {
    let script = "git rev-list --objects --all | git pack-objects -q objects/pack/pack";
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(p.store())
        .env("GIT_DIR", p.store())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .bounded_output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let name = String::from_utf8(output.stdout).unwrap();
    p.store().join(format!("objects/pack/pack-{}.pack", name.trim()))
}

/// Turns a pack into loose objects.
pub fn explode(p: &TestProject, pack: &PathBuf) {
    let aside = p.base().join("aside.pack");
    std::fs::rename(pack, &aside).unwrap();
    std::fs::remove_file(pack.with_extension("idx")).unwrap();
    let mut command = p.repository().command();
    command.args(["unpack-objects", "-q"]);
    command.stdin(Stdio::from(std::fs::File::open(&aside).unwrap()));
    assert!(command.bounded_status().unwrap().success());
}

/// What runs by itself says what is wrong, and fails no save.
#[track_caller]
fn upkeep_goes_on(p: &TestProject, scene: &str) {
    let limits = Limits { max_snapshots: Some(20), max_total_bytes: Some(1), ..Limits::default() };
    let request = CleanRequest { limits, attended: false, clock_is_right: false };
    let planned = p.engine.plan_cleaning(&request, &NoProgress);
    planned.unwrap_or_else(|e| panic!("{scene}: {e}"));
    let cleaned = p.engine.maintain(&NoProgress);
    let cleaned = cleaned.unwrap_or_else(|e| panic!("{scene}: {e}")).unwrap();
    assert!(!cleaned.collected.damaged.is_empty(), "{scene}");
    let status = p.engine.status(true, &NoProgress);
    let status = status.unwrap_or_else(|e| panic!("{scene}: {e}"));
    assert_eq!(status.projects[0].checkpoints, 4, "{scene}");
    let problem = status.last_cleaning.and_then(|record| record.problem);
    assert!(problem.is_some(), "{scene}");
}

/// Damages the first objects of a pack.
fn damage(pack: &PathBuf) {
    let mut bytes = std::fs::read(pack).unwrap();
    for byte in &mut bytes[20..60] {
        *byte ^= 0xff;
    }
    overwrite(pack, &bytes);
}

/// What was not seen would be taken for dead.
#[test]
fn a_pack_that_may_not_be_read_ends_a_collection() {
    if child::is_run_as_nobody(
        "engine::collect_damage::a_pack_that_may_not_be_read_ends_a_collection",
    ) {
        return;
    }
    let p = TestProject::new();
    let saves = Saves::make(&p, 2);
    let pack = pack_with(&p, &saves.0[0].0.to_hex());
    let set = |mode| std::fs::set_permissions(&pack, std::fs::Permissions::from_mode(mode));
    set(0o000).unwrap();
    let ended = p.engine.collect(Thoroughness::Full, false, &NoProgress);
    set(0o400).unwrap();
    assert!(ended.is_err(), "{ended:?}");
    saves.check(&p);
}

#[test]
fn a_whole_copy_survives_a_damaged_one_in_whichever_pack_it_is() {
    if !git::available() {
        return;
    }
    for damaged in 0..5 {
        let p = TestProject::new();
        let saves = Saves::make(&p, 4);
        let mut all = packs(&p);
        all.push(pack_all(&p));
        damage(&all[damaged]);
        let cleaned = collect(&p);
        assert_eq!(cleaned.collected.damaged, [""; 0], "{damaged}");
        if damaged < 4 {
            assert_eq!(packs(&p).len(), 1);
        }
        saves.check(&p);
        if damaged < 4 {
            p.fsck();
        }
        // The large one is still there, because most of it is whole. Repair takes it out of use.
        p.engine.repair(&NoProgress).unwrap();
        collect(&p);
        saves.check(&p);
    }
}

/// Has an index say that an object is behind the end of its pack.
fn misplace(index: &std::path::Path, id: &ObjectId) {
    let mut bytes = std::fs::read(index).unwrap();
    let count = u32::from_be_bytes(bytes[1028..1032].try_into().unwrap()) as usize;
    let mut ids = bytes[1032..1032 + count * 20].chunks(20);
    let number = ids.position(|one| one == id.as_bytes()).unwrap();
    let at = 1032 + count * 24 + number * 4;
    bytes[at..at + 4].copy_from_slice(&0x7fff_0000_u32.to_be_bytes());
    overwrite(index, &bytes);
}

#[test]
fn what_an_index_has_behind_the_end_of_its_pack_is_missed() {
    let p = TestProject::new();
    let saves = Saves::make(&p, 3);
    let file = super::purge::blob(&p, &saves.find(&p, 1), "a.txt");
    let index = pack_with(&p, &file).with_extension("idx");
    misplace(&index, &ObjectId::from_hex(file.as_bytes()).unwrap());
    let before = names_below(&p.store().join("objects"));
    let cleaned = collect(&p);
    let name = format!("refs/herma/{}/00000002", p.project().id());
    assert!(cleaned.collected.damaged.contains(&name), "{cleaned:?}");
    assert_eq!(names_below(&p.store().join("objects")), before);
    p.engine.repair(&NoProgress).unwrap();
    assert_eq!(collect(&p).collected.damaged, [""; 0]);
    saves.check(&p);
}

#[test]
fn an_index_that_cannot_be_read_stops_removal_and_only_that() {
    let p = TestProject::new();
    let saves = Saves::make(&p, 4);
    let pack = pack_with(&p, &saves.0[1].0.to_hex());
    overwrite(&pack.with_extension("idx"), b"torn");
    let before = names_below(&p.store().join("objects"));
    let cleaned = collect(&p);
    let name = format!("refs/herma/{}/00000002", p.project().id());
    assert!(cleaned.collected.damaged.contains(&name), "{cleaned:?}");
    assert_eq!(names_below(&p.store().join("objects")), before);
    upkeep_goes_on(&p, "a torn index");
    saves.check_but(&p, 1);
    let spec = format!("id:{}", saves.0[1].0);
    p.project().drop_named(&Spec::parse(&spec).unwrap()).unwrap();
    let cleaned = collect(&p);
    assert_eq!(cleaned.collected.damaged, [""; 0]);
    assert!(cleaned.collected.merged > 0);
    saves.check_but(&p, 1);
}

#[test]
fn damage_does_not_make_the_store_grow_without_end() {
    let p = TestProject::new();
    let saves = Saves::make(&p, 6);
    let pack = pack_with(&p, &saves.0[3].0.to_hex());
    overwrite(&pack.with_extension("idx"), b"torn");
    let cleaned = clean(&p, Limits::default());
    assert_eq!(cleaned.collected.freed_bytes, 0, "below the limit nothing goes");
    let limits = Limits { max_total_bytes: Some(1), ..Limits::default() };
    let cleaned = clean(&p, limits);
    assert!(cleaned.collected.freed_bytes > 0, "{cleaned:?}");
    assert!(pack.exists(), "the damaged pack is carried along");
    let newest = &saves.0[5];
    p.restore(&newest.0.to_hex());
    assert_eq!(p.tree(), newest.1);
}

/// The objects of the second checkpoint, by what they are.
fn parts(p: &TestProject, commit: &str) -> Vec<(&'static str, String)> {
    let extra = format!("refs/herma/{}/00000002.extra", p.project().id());
    vec![
        ("blob", git_line(p, &["rev-parse", &format!("{commit}:a.txt")])),
        ("blob below", git_line(p, &["rev-parse", &format!("{commit}:sub/b.txt")])),
        ("tree", git_line(p, &["rev-parse", &format!("{commit}^{{tree}}")])),
        ("tree below", git_line(p, &["rev-parse", &format!("{commit}:sub")])),
        ("commit", commit.to_owned()),
        ("extra", git_line(p, &["rev-parse", &extra])),
    ]
}

#[test]
fn a_lost_or_damaged_object_is_named_and_nothing_is_removed_until_its_checkpoint_is_dropped() {
    if !git::available() {
        return;
    }
    for part in 0..6 {
        for is_missing in [true, false] {
            let p = TestProject::new();
            let saves = Saves::make(&p, 4);
            // Something to remove.
            p.write("a.txt", "dropped\n");
            let dropped = p.save("dropped").checkpoint;
            p.project().drop_checkpoint(&dropped).unwrap();
            let commit = saves.0[1].0.to_hex();
            let (what, id) = parts(&p, &commit).swap_remove(part);
            explode(&p, &pack_with(&p, &commit));
            let file = p.store().join("objects").join(&id[..2]).join(&id[2..]);
            std::fs::remove_file(&file).unwrap();
            if !is_missing {
                std::fs::write(&file, "torn").unwrap();
            }
            let scene = format!("{what}, missing: {is_missing}");
            let before = names_below(&p.store().join("objects"));
            let cleaned = p.engine.collect(Thoroughness::Full, false, &NoProgress);
            let cleaned = cleaned.unwrap_or_else(|e| panic!("{scene}: {e}"));
            let name = format!("refs/herma/{}/00000002", p.project().id());
            let damaged = &cleaned.collected.damaged;
            assert!(damaged.iter().any(|found| found.starts_with(&name)), "{scene}: {damaged:?}");
            assert_eq!(
                names_below(&p.store().join("objects")),
                before,
                "{scene}: nothing is removed"
            );
            upkeep_goes_on(&p, &scene);
            saves.check_but(&p, 1);
            let spec = Spec::parse(&format!("id:{commit}")).unwrap();
            p.project().drop_named(&spec).unwrap();
            let cleaned = collect(&p);
            assert_eq!(cleaned.collected.damaged, [""; 0], "{scene}");
            assert!(cleaned.collected.merged > 0, "{scene}");
            saves.check_but(&p, 1);
            // A torn loose object that nobody needs stays until its time is over.
            if is_missing {
                p.fsck_but_dangling();
            }
        }
    }
}

#[test]
fn a_truncated_pack_does_not_stop_cleaning() {
    let p = TestProject::new();
    let saves = Saves::make(&p, 5);
    let pack = pack_with(&p, &saves.0[0].0.to_hex());
    let whole = std::fs::read(&pack).unwrap();
    overwrite(&pack, &whole[..60]);
    p.engine.status(true, &NoProgress).unwrap();
    let limits = Limits { max_snapshots: Some(3), max_total_bytes: Some(1), ..Limits::default() };
    let cleaned = clean(&p, limits);
    assert!(cleaned.collected.freed_bytes > 0, "{cleaned:?}");
    let newest = &saves.0[4];
    p.restore(&newest.0.to_hex());
    assert_eq!(p.tree(), newest.1);
}

#[test]
fn a_newest_checkpoint_with_a_damaged_file_is_not_all_that_is_left() {
    let p = TestProject::new();
    for step in 0..4_u64 {
        p.write("big.txt", super::cleaning::text(step + 1, 3_000));
        p.save(&format!("{step}"));
    }
    let newest = p.find("@");
    let blob = git_line(&p, &["rev-parse", &format!("{}:big.txt", newest.id)]);
    let pack = pack_with(&p, &blob);
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    overwrite(&pack, &bytes);
    let limits = Limits { max_snapshots: Some(1), ..Limits::default() };
    clean(&p, limits);
    assert_eq!(p.list().len(), 2, "the newest, and the newest that is whole");
    p.restore("@-1");
    assert_eq!(p.read("big.txt"), super::cleaning::text(3, 3_000));
}
