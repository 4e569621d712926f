//! Refs, packs and records of a store that nobody wrote properly: commands go on, or say clearly why not.

use std::path::PathBuf;

use herma_core::error::ErrorKind;
use herma_core::{Error, Spec};
use herma_testkit::hermes::project_hash;
use herma_testkit::tree::{Tree, assert_same};
use rustix::fs::{CWD, FileType, Mode};

use super::craft::Crafted;
use super::project::TestProject;

/// Bytes that are none of the store's formats.
fn garbage() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("nothing", Vec::new()),
        ("a newline", b"\n".to_vec()),
        ("text", b"ref: ../../../etc/passwd\n".to_vec()),
        ("zeros", vec![0; 4096]),
        ("bits", (0..=255).cycle().take(100_000).collect()),
        ("an object", b"{}".to_vec()),
        ("deep nesting", vec![b'['; 100_000]),
        ("a huge file", vec![b'9'; 17 << 20]),
    ]
}

/// Two checkpoints, of `one` and `two`, and a third state, `three`, in the project.
fn project() -> TestProject {
    let p = TestProject::new();
    for text in ["one\n", "two\n"] {
        p.write("a.txt", text);
        p.write("sub/b.txt", "b\n");
        p.save(text.trim());
    }
    p.write("a.txt", "three\n");
    p
}

/// The project's own state in the store.
fn state_file(p: &TestProject, name: &str) -> PathBuf {
    p.store().join("herma/projects").join(p.project().id().as_str()).join(name)
}

/// Saving, listing, comparing, restoring and undoing work as if nothing had happened.
#[track_caller]
fn assert_everything_works(p: &TestProject, what: &str) {
    let checkpoints = p.list().len();
    let saved = p.try_save("still").unwrap_or_else(|e| panic!("save, {what}: {e}"));
    assert!(saved.is_new, "{what}");
    assert_eq!(p.list().len(), checkpoints + 1, "{what}");
    let tree = Tree::read(&p.root).as_git();
    let stored = p.repository().tree(&saved.checkpoint.id.to_hex());
    assert_same(&tree, &stored, what);
    p.restore("@-1");
    assert_eq!(p.read("a.txt"), "two\n", "restore, {what}");
    p.undo().unwrap_or_else(|e| panic!("undo, {what}: {e}"));
    assert_eq!(p.read("a.txt"), "three\n", "undo, {what}");
    p.fsck();
}

#[test]
fn a_damaged_stat_cache_journal_or_undo_record_never_breaks_a_save() {
    for name in ["stat-cache", "journal", "undo"] {
        for (what, bytes) in garbage() {
            let p = project();
            std::fs::write(state_file(&p, name), bytes).unwrap();
            assert_everything_works(&p, &format!("{name} is {what}"));
        }
    }
}

#[test]
fn a_link_or_pipe_in_place_of_a_record_is_not_followed() {
    for name in ["stat-cache", "journal", "undo"] {
        let p = project();
        let outside = p.base().join("outside");
        std::fs::write(&outside, "mine").unwrap();
        let file = state_file(&p, name);
        let _ = std::fs::remove_file(&file);
        std::os::unix::fs::symlink(&outside, &file).unwrap();
        assert_everything_works(&p, &format!("{name} is a link"));
        assert_eq!(std::fs::read(&outside).unwrap(), b"mine", "{name}");

        let p = project();
        let file = state_file(&p, name);
        let _ = std::fs::remove_file(&file);
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, &file, FileType::Fifo, mode, 0).unwrap();
        assert_everything_works(&p, &format!("{name} is a pipe"));
    }
}

/// Every byte of the cache decides something; its checksum notices each one.
#[test]
fn a_flipped_bit_in_the_stat_cache_is_never_believed() {
    let p = project();
    p.save("three");
    let file = state_file(&p, "stat-cache");
    let whole = std::fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&file, bytes).unwrap();
        p.write("a.txt", format!("{at}\n"));
        let saved = p.save("flipped");
        let stored = p.repository().tree(&saved.checkpoint.id.to_hex());
        assert_same(&p.tree().as_git(), &stored, "the cache was wrong");
    }
}

/// A cache with a good checksum and a name that leads out: nothing out there is read or stored.
#[test]
fn a_crafted_stat_cache_does_not_lead_out_of_the_project() {
    let p = TestProject::new();
    p.write("aaaaaaaaaaaaaaaaa", "inside");
    p.write("bb/secret.txt", "inside");
    std::fs::create_dir(p.base().join("outside")).unwrap();
    std::fs::write(p.base().join("outside/txt"), "stolen").unwrap();
    std::fs::write(p.base().join("secret.txt"), "stolen").unwrap();
    // Only a settled cache is believed.
    std::thread::sleep(std::time::Duration::from_millis(30));
    p.save("first");
    let file = state_file(&p, "stat-cache");
    let bytes = std::fs::read(&file).unwrap();
    for (from, to) in [
        (&b"aaaaaaaaaaaaaaaaa\0"[..], &b"../../outside/txt\0"[..]),
        (b"aaaaaaaaaaaaaaaaa\0", b"/etc/./././passwd\0"),
        (b"bb\0", b"..\0"),
    ] {
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        let mut crafted = bytes.clone();
        crafted[at..at + to.len()].copy_from_slice(to);
        let sum = xxhash_rust::xxh3::xxh3_64(&crafted[16..]);
        crafted[8..16].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&file, crafted).unwrap();
        let saved = p.save("crafted");
        let stored = p.repository().tree(&saved.checkpoint.id.to_hex());
        assert_same(&p.tree().as_git(), &stored, "only what is inside");
    }
    p.fsck();
}

#[test]
fn unreadable_project_records_never_cost_a_checkpoint() {
    for (what, bytes) in garbage() {
        let p = project();
        let file = format!("projects/{}.json", project_hash(&p.root));
        std::fs::write(p.store().join(file), bytes).unwrap();
        p.engine.projects().unwrap();
        assert_everything_works(&p, &format!("the project's json is {what}"));
    }
}

#[test]
fn garbage_in_place_of_one_ref_leaves_the_others() {
    for (what, bytes) in garbage() {
        let p = Crafted::new();
        std::fs::write(p.ref_path("00000007"), bytes).unwrap();
        let p = p.p;
        assert_eq!(p.list().len(), 1, "{what}");
        assert!(p.save("new").is_new);
        p.restore("@-1");
        assert_eq!(p.read("a.txt"), "one\n", "{what}");
        assert!(
            p.list().iter().all(|c| c.number != 7),
            "a broken ref's number is not given away: {what}"
        );
    }
}

#[test]
fn a_linked_ref_is_not_followed() {
    let p = Crafted::new();
    let outside = p.outside().join("file");
    let commit = p.commit(p.tree(&[]));
    std::fs::write(&outside, format!("{commit}\n")).unwrap();
    std::os::unix::fs::symlink(&outside, p.ref_path("00000007")).unwrap();
    std::os::unix::fs::symlink(p.outside(), p.ref_path("00000008")).unwrap();
    assert_eq!(p.p.list().len(), 1, "what it points to is no checkpoint");
    assert!(p.p.save("new").is_new);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), format!("{commit}\n"));
}

#[test]
fn numbers_no_checkpoint_ever_had_are_not_counted_on() {
    let p = Crafted::new();
    let commit = p.commit(p.tree(&[]));
    for leaf in [
        "18446744073709551615",
        "99999999999999999999999",
        "+0000005",
        "5",
        "000000005",
        "-1",
        "00000005.extra.extra",
        "00000005/6",
    ] {
        let at = p.ref_path(leaf);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, format!("{commit}\n")).unwrap();
    }
    assert_eq!(p.p.list().len(), 1);
    let saved = p.p.save("new");
    assert!(saved.is_new && saved.checkpoint.number < 10);
    assert_eq!(p.p.list().len(), 2);
}

/// The ref of one project names a commit of another: it is what the ref says, inside this project.
#[test]
fn a_ref_to_another_projects_commit_stays_inside() {
    let p = Crafted::new();
    let other = p.p.base().join("home/../canary");
    let saved =
        p.p.engine
            .project(&other)
            .unwrap()
            .save_with(&herma_core::SaveOptions::default(), &herma_core::engine::NoProgress)
            .unwrap();
    let commit = p.point(saved.checkpoint.id);
    p.attack(commit);
    assert_eq!(p.p.read("file"), "outside\n");
    p.assert_usable();
}

#[test]
fn crafted_packed_refs_are_an_error_that_names_the_file() {
    for (what, bytes) in garbage().into_iter().skip(1) {
        let p = project();
        std::fs::write(p.store().join("packed-refs"), bytes).unwrap();
        let before = p.tree();
        match p.project().timeline() {
            Err(e @ Error::Store(_)) => assert!(e.to_string().contains("packed-refs"), "{e}"),
            other => panic!("{what}: {other:?}"),
        }
        let error = p.try_save("x").unwrap_err();
        assert!(error.to_string().contains("packed-refs"), "{error}");
        assert_same(&before, &p.tree(), what);
        std::fs::remove_file(p.store().join("packed-refs")).unwrap();
        assert_everything_works(&p, "without packed-refs");
    }
}

#[test]
fn packs_that_are_none_do_not_hide_the_others() {
    for (what, bytes) in garbage() {
        let p = project();
        let name = "objects/pack/pack-1111111111111111111111111111111111111111";
        std::fs::write(p.store().join(format!("{name}.pack")), &bytes).unwrap();
        std::fs::write(p.store().join(format!("{name}.idx")), &bytes).unwrap();
        std::fs::write(p.store().join("objects/pack/multi-pack-index"), &bytes).unwrap();
        std::fs::write(p.store().join("objects/info/alternates"), &bytes).unwrap();
        assert_eq!(p.list().len(), 2, "{what}");
        assert!(p.save("new").is_new, "{what}");
        p.restore("@-1");
        assert_eq!(p.read("a.txt"), "two\n", "{what}");
        let missing = Spec::parse("id:ffffffffff").unwrap();
        let error = p.project().find(&missing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NothingThere, "{what}");
    }
}

/// The ref Hermes writes may name anything; no command of ours depends on it.
#[test]
fn a_crafted_ref_of_hermes_never_breaks_a_save() {
    let p = Crafted::new();
    let blob = p.blob(b"no commit");
    let broken = p.object_with_header(p.blob(b"x"), b"commit 9999\0", b"tree nonsense");
    let missing = herma_core::ObjectId::EMPTY_TREE;
    let mirror = p.p.store().join("refs/hermes").join(project_hash(&p.p.root));
    for (number, id) in [blob, broken, missing].into_iter().enumerate() {
        std::fs::write(&mirror, format!("{id}\n")).unwrap();
        assert_eq!(p.p.list().len(), number + 1);
        p.p.write("a.txt", format!("{number}\n"));
        let saved = p.p.save("new");
        assert!(saved.is_new);
        let now = std::fs::read_to_string(&mirror).unwrap();
        assert_eq!(now.trim(), saved.checkpoint.id.to_hex(), "it is healed");
    }
}
