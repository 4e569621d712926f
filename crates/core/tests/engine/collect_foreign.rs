//! Collection in a store that Hermes and other programs also work on: their files, their habits.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use herma_core::Settings;
use herma_testkit::hermes::{HermesStore, project_hash};
use herma_testkit::{Bounded, TestEnv, git};

use super::project::{TestProject, engine};
use super::upkeep::{Saves, collect, git_line, move_to, overwrite, pack_with, packs};

/// A store that Hermes made, with four checkpoints of its own.
fn made_by_hermes() -> Option<(TestEnv, HermesStore, TestProject, Vec<String>)> {
    let env = TestEnv::new();
    let hermes = HermesStore::new(&env)?;
    let p = TestProject {
        temp: tempfile::tempdir().unwrap(),
        root: env.work_dir("project").path().canonicalize().unwrap(),
        engine: engine(&env.home(), None, Settings::default()),
    };
    let ids = (0..4).map(|number| {
        p.write("a.txt", super::cleaning::text(number, 30));
        hermes.take(&p.root, &format!("{number}")).unwrap()
    });
    let ids = ids.collect();
    Some((env, hermes, p, ids))
}

fn log(p: &TestProject) -> usize {
    let name = format!("refs/hermes/{}", project_hash(&p.root));
    let log = p.repository().git(["log", "--format=%s", &name]).success();
    log.text().lines().count()
}

fn set_age(path: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    let file = std::fs::File::open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn is_there(p: &TestProject, id: &str) -> bool {
    p.repository().git(["cat-file", "-e", id]).status.success()
}

fn loose(p: &TestProject, id: &str) -> PathBuf {
    p.store().join("objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn what_git_derives_from_packs_goes_with_them_and_git_stays_content() {
    let git_ways: [&[&[&str]]; 6] = [
        &[&["repack", "-q", "-d"], &["multi-pack-index", "write"]],
        &[&["repack", "-q", "-d"], &["multi-pack-index", "write", "--bitmap"]],
        &[&["repack", "-q", "-d"], &["commit-graph", "write", "--reachable"]],
        &[&["commit-graph", "write", "--reachable", "--split"]],
        &[&["gc", "-q", "--prune=now"]],
        &[&["-c", "repack.writeBitmaps=true", "repack", "-q", "-a", "-d"]],
    ];
    for way in git_ways {
        let Some((_env, _hermes, p, ids)) = made_by_hermes() else {
            return;
        };
        for args in way {
            p.repository().git(*args).success();
        }
        // Packs of Herma besides, one of which is dead.
        let saves = Saves::make(&p, 3);
        p.write("a.txt", "dropped");
        let dropped = p.save("dropped").checkpoint;
        p.project().drop_checkpoint(&dropped).unwrap();
        for args in way {
            // A second time, git finds things as it left them, or refuses; both are its right.
            let _ = p.repository().git(*args);
        }
        for _ in 0..2 {
            let cleaned = collect(&p);
            assert_eq!(cleaned.collected.damaged, [""; 0], "{way:?}");
            p.fsck_but_dangling();
            assert_eq!(log(&p), 7, "{way:?}");
        }
        assert_eq!(packs(&p).len(), 1, "{way:?}");
        assert_eq!(p.list().len(), 7);
        assert!(ids.iter().all(|id| is_there(&p, id)));
        saves.check(&p);
    }
}

#[test]
fn files_that_are_no_packs_harm_nothing_and_a_kept_pack_is_kept() {
    let Some((_env, _hermes, p, _)) = made_by_hermes() else {
        return;
    };
    let saves = Saves::make(&p, 3);
    let kept = pack_with(&p, &saves.0[0].0.to_hex());
    std::fs::write(kept.with_extension("keep"), "").unwrap();
    let dir = p.store().join("objects/pack");
    let odd = [
        "tmp_pack_abcdef",
        "tmp_idx_abcdef",
        "pack-0123.pack",
        "pack-4567.idx",
        "pack-4567.rev",
        "pack-89ab.bitmap",
        ".tmp-123-pack-cdef.pack",
        "note.txt",
    ];
    for name in odd {
        std::fs::write(dir.join(name), "not what it seems").unwrap();
        set_age(&dir.join(name), 3 * 24 * 3600);
    }
    let fresh = dir.join("tmp_pack_fresh");
    std::fs::write(&fresh, "being written").unwrap();
    std::fs::create_dir(dir.join("pack-dir.pack")).unwrap();
    std::fs::create_dir(dir.join("multi-pack-index.d")).unwrap();
    std::fs::write(dir.join("multi-pack-index.d/chain"), "x").unwrap();
    for _ in 0..3 {
        collect(&p);
        p.fsck_but_dangling();
        assert_eq!(log(&p), 7);
    }
    assert!(kept.exists(), "a kept pack stays");
    assert!(fresh.exists(), "somebody may be writing it");
    assert!(dir.join("note.txt").exists(), "nobody knows whose it is");
    assert!(!dir.join("tmp_pack_abcdef").exists(), "left long ago");
    saves.check(&p);
}

#[test]
fn a_kept_pack_stays_though_nothing_in_it_is_needed_and_it_is_damaged() {
    for is_damaged in [false, true] {
        let p = TestProject::new();
        p.write("a.txt", super::cleaning::text(1, 30));
        let dropped = p.save("dropped").checkpoint;
        let kept = pack_with(&p, &dropped.id.to_hex());
        std::fs::write(kept.with_extension("keep"), "").unwrap();
        let saves = Saves::make(&p, 2);
        p.project().drop_checkpoint(&dropped).unwrap();
        if is_damaged {
            let bytes = std::fs::read(&kept).unwrap();
            overwrite(&kept, &bytes[..bytes.len() / 2]);
        }
        assert_eq!(collect(&p).collected.damaged, [""; 0]);
        assert!(kept.exists(), "damaged: {is_damaged}");
        saves.check(&p);
    }
}

#[test]
fn what_is_missing_of_an_older_checkpoint_of_hermes_hurts_its_ref() {
    let Some((_env, _hermes, p, ids)) = made_by_hermes() else { return };
    let blob = git_line(&p, &["rev-parse", &format!("{}:a.txt", ids[0])]);
    std::fs::remove_file(loose(&p, &blob)).unwrap();
    let damaged = collect(&p).collected.damaged;
    assert_eq!(damaged, [format!("refs/hermes/{}", project_hash(&p.root))]);
}

/// Names that are the same elsewhere tell what a content may be like.
#[test]
fn a_file_that_moved_and_changed_a_little_takes_little_room() {
    let p = TestProject::new();
    let mut data = herma_testkit::random::Random::new(1).bytes(100_000);
    p.write("old/place/data.bin", &data);
    for number in 0..1000 {
        p.write(&format!("many/{number}"), format!("{number}"));
    }
    p.save("first");
    p.remove("old");
    p.write("many/1", "one more directory");
    data[50_000] ^= 1;
    p.write("new/data.bin", &data);
    p.save("second");
    collect(&p);
    let total: u64 = packs(&p).iter().map(|pack| pack.metadata().unwrap().len()).sum();
    assert!(total < 150_000, "{total}");
}

/// Git puts a pack into place before its index, and does not know our locks.
#[test]
fn a_pack_that_git_is_just_putting_into_place_is_left_there() {
    if !git::available() {
        return;
    }
    let p = TestProject::new();
    let saves = Saves::make(&p, 2);
    let pack = pack_with(&p, &saves.0[1].0.to_hex());
    let (index, aside) = (pack.with_extension("idx"), p.base().join("index"));
    std::fs::rename(&index, &aside).unwrap();
    // All that is in it is there a second time.
    let whole = p.base().join("whole.pack");
    std::fs::copy(&pack, &whole).unwrap();
    let output = p
        .repository()
        .command()
        .args(["unpack-objects", "-q"])
        .stdin(std::fs::File::open(&whole).unwrap())
        .bounded_status();
    assert!(output.unwrap().success());
    collect(&p);
    assert!(pack.exists(), "its index is on its way");
    saves.check(&p);
}

#[test]
fn loose_objects_of_hermes_are_packed_if_needed_and_stay_a_while_if_not() {
    let Some((_env, _hermes, p, ids)) = made_by_hermes() else {
        return;
    };
    let unneeded = |content: &str| {
        let path = p.base().join("content");
        std::fs::write(&path, content).unwrap();
        git_line(&p, &["hash-object", "-w", path.to_str().unwrap()])
    };
    let (fresh, old) = (unneeded("fresh"), unneeded("old"));
    // Age is judged by the later of two times, one of which nobody can set.
    set_age(&loose(&p, &old), 3 * 3600);
    let saves = Saves::make(&p, 2);
    collect(&p);
    assert!(is_there(&p, &fresh), "a git may be about to need it");
    assert!(loose(&p, &fresh).exists());
    for id in &ids {
        assert!(is_there(&p, id));
        assert!(!loose(&p, id).exists(), "what is needed is in a pack");
    }
    p.fsck_but_dangling();
    saves.check(&p);
}

#[test]
fn what_git_came_to_need_after_all_comes_back_out_of_the_trash() {
    if !git::available() {
        return;
    }
    for is_loose in [false, true] {
        let p = TestProject::new();
        let saves = Saves::make(&p, 3);
        let id = saves.0[2].0.to_hex();
        let checkpoint = saves.find(&p, 2);
        let pack = pack_with(&p, &id);
        p.project().drop_checkpoint(&checkpoint).unwrap();
        let trash = p.store().join("herma/trash/00000007");
        if is_loose {
            let aside = p.base().join("aside.pack");
            std::fs::rename(&pack, &aside).unwrap();
            std::fs::remove_file(pack.with_extension("idx")).unwrap();
            let mut unpack = p.repository().command();
            unpack.args(["unpack-objects", "-q"]);
            unpack.stdin(std::fs::File::open(&aside).unwrap());
            assert!(unpack.bounded_status().unwrap().success());
            trash_loose(&p, &trash);
            // One was torn since.
            overwrite(&loose(&p, &id), b"torn");
        } else {
            for path in [pack.with_extension("idx"), pack] {
                move_to(&path, &trash);
            }
        }
        let name = format!("refs/herma/{}/00000003", p.project().id());
        let path = p.store().join(&name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{id}\n")).unwrap();
        let cleaned = collect(&p);
        assert!(cleaned.collected.brought_back > 0, "{cleaned:?}");
        assert_eq!(cleaned.collected.damaged, [""; 0]);
        saves.check(&p);
        p.fsck_but_dangling();
    }
}

/// Moves all loose objects to the trash, as a collection does.
fn trash_loose(p: &TestProject, trash: &Path) {
    std::fs::create_dir_all(trash).unwrap();
    for fan in std::fs::read_dir(p.store().join("objects")).unwrap() {
        let fan = fan.unwrap();
        let name = fan.file_name().into_string().unwrap();
        if name.len() != 2 {
            continue;
        }
        for entry in std::fs::read_dir(fan.path()).unwrap() {
            let entry = entry.unwrap();
            let rest = entry.file_name().into_string().unwrap();
            std::fs::rename(entry.path(), trash.join(format!("{name}{rest}"))).unwrap();
        }
    }
}

#[test]
fn very_many_refs_of_others_are_walked_once() {
    if !git::available() {
        return;
    }
    let p = TestProject::new();
    let saves = Saves::make(&p, 3);
    let id = saves.0[2].0.to_hex();
    let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for number in 0..30_000 {
        use std::fmt::Write;
        writeln!(text, "{id} refs/foreign/{number:06}").unwrap();
    }
    std::fs::write(p.store().join("packed-refs"), text).unwrap();
    p.project().drop_checkpoint(&saves.find(&p, 2)).unwrap();
    let cleaned = collect(&p);
    assert_eq!(cleaned.collected.damaged, [""; 0]);
    assert!(is_there(&p, &id), "a ref of somebody else needs it");
    p.fsck_but_dangling();
    saves.check_but(&p, 2);
}

#[test]
fn a_tree_of_three_thousand_levels_is_walked_without_going_deep() {
    if !git::available() {
        return;
    }
    let p = TestProject::new();
    let saves = Saves::make(&p, 2);
    let path = "d/".repeat(3000);
    let script = format!(
        "commit refs/foreign/deep\ncommitter T <t@example.com> 1700000000 +0000\ndata 4\ndeep\n\
         M 100644 inline {path}f\ndata 1\nx\n\n"
    );
    let input = p.base().join("script");
    std::fs::write(&input, script).unwrap();
    let mut import = p.repository().command();
    import.args(["fast-import", "--quiet"]);
    import.stdin(std::fs::File::open(&input).unwrap());
    assert!(import.bounded_status().unwrap().success());
    let cleaned = collect(&p);
    assert_eq!(cleaned.collected.damaged, [""; 0]);
    assert!(cleaned.collected.live > 3000);
    let status = p.engine.status(true, &herma_core::engine::NoProgress);
    assert_eq!(status.unwrap().projects.len(), 1);
    p.fsck_but_dangling();
    saves.check(&p);
}
