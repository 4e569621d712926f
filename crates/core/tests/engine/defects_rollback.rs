//! What used to break when rolling back: one test per defect of the original.

use std::os::unix::fs::{MetadataExt, symlink};

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::{Error, Settings};
use herma_testkit::Bounded;
use herma_testkit::tree::{Tree, assert_same};
use herma_worktree::reason::Reason;

use super::child;
use super::project::TestProject;

// HERMES defect 1
#[test]
fn rollback_works_at_the_snapshot_limit() {
    const LIMIT: usize = 16;
    let p = TestProject::new();
    for turn in 1..=LIMIT {
        p.write("a.txt", format!("{turn}\n"));
        p.save(&format!("turn {turn}"));
    }
    let listed = p.list();
    // The oldest one there is, each time.
    for (turn, target) in (1..).zip(listed.iter().rev()).step_by(2) {
        p.write("unsaved.txt", format!("before going to {turn}\n"));
        let restored = p.restore(&target.id.to_hex());
        assert_eq!(p.read("a.txt"), format!("{turn}\n"));
        assert!(!p.exists("unsaved.txt"), "number {turn} is exact");
        let unsaved = p.saved_tree(restored.safety.as_ref().unwrap());
        let before = format!("before going to {turn}\n");
        assert_eq!(unsaved.file("unsaved.txt"), Some(before.as_bytes()));
        // The limit at work: two came, so the oldest ones go.
        let all = p.list();
        assert_eq!(all.len(), LIMIT + 2);
        for oldest in &all[LIMIT..] {
            p.project().drop_checkpoint(oldest).unwrap();
        }
    }
    p.fsck_but_dangling();
}

// HERMES defect 5
#[test]
fn files_created_after_the_checkpoint_are_removed() {
    let p = TestProject::new();
    p.write("old-name.rs", "fn main() {}\n");
    p.write("src/kept.rs", "\n");
    p.save("first");
    let before = p.tree();
    std::fs::rename(p.path("old-name.rs"), p.path("new-name.rs")).unwrap();
    p.write("junk/deep/report.md", "agent's notes\n");
    p.write("src/added.rs", "\n");
    symlink("src", p.path("link")).unwrap();
    std::fs::create_dir_all(p.path("empty/inner")).unwrap();
    let after = p.tree();
    let restored = p.restore("@");
    assert_same(&before, &p.tree(), "exactly the checkpoint");
    assert_eq!(restored.kept, []);
    p.undo().unwrap();
    assert_same(&after, &p.tree(), "what was removed is not lost");
}

// HERMES defect 7
#[test]
fn gitattributes_do_not_change_bytes() {
    let p = TestProject::new();
    p.write(
        ".gitattributes",
        "* text=auto eol=crlf ident\n*.u16 working-tree-encoding=UTF-16\n*.bin filter=lfs\n",
    );
    p.write("dos.txt", "one\r\ntwo\r\n");
    p.write("unix.txt", "one\ntwo\n");
    p.write("mixed.txt", "one\r\ntwo\n$Id$ $Id: x $\n");
    p.write("wide.u16", b"\xff\xfeo\0n\0e\0");
    p.write("large.bin", "version https://git-lfs.github.com/spec/v1\n");
    let saved = p.save("first");
    let before = p.tree();
    assert_same(
        &before.as_git(),
        &p.saved_tree(&saved.checkpoint),
        "git finds the bytes of the files",
    );
    for name in ["dos.txt", "unix.txt", "mixed.txt", "wide.u16", "large.bin"] {
        p.write(name, "changed\n");
    }
    p.restore("@");
    assert_same(&before, &p.tree(), "the bytes are back");
}

// HERMES defect 8
#[test]
fn private_modes_and_empty_directories_come_back() {
    let p = TestProject::new();
    p.write("deploy-notes", "s");
    p.chmod("deploy-notes", 0o600);
    p.write("vault/golden.txt", "read-only\n");
    p.chmod("vault/golden.txt", 0o444);
    p.chmod("vault", 0o700);
    p.write("shared.sh", "#!/bin/sh\n");
    p.chmod("shared.sh", 0o775);
    std::fs::create_dir_all(p.path("empty/inner")).unwrap();
    p.chmod("empty/inner", 0o750);
    p.write("same.txt", "not touched\n");
    let status = std::process::Command::new("mkfifo").arg(p.path("pipe")).bounded_status();
    assert!(status.unwrap().success());
    p.save("first");
    assert_eq!(p.left_out()["pipe"], Reason::Special);
    let before = p.tree();
    let stat = |path| {
        let stat = p.path(path).metadata().unwrap();
        (stat.ino(), stat.mtime(), stat.mtime_nsec())
    };
    let (same, pipe) = (stat("same.txt"), stat("pipe"));

    for path in ["deploy-notes", "vault", "empty"] {
        p.remove(path);
    }
    p.chmod("shared.sh", 0o644);
    let restored = p.restore("@");
    assert_same(&before, &p.tree(), "content, modes and directories");
    assert_eq!(restored.kept, []);
    assert_eq!(stat("same.txt"), same, "an unchanged file keeps inode and time");
    assert_eq!(stat("pipe"), pipe, "a pipe is left alone");
}

// HERMES defect 9
#[test]
fn a_read_only_directory_does_not_stop_the_restore() {
    if child::is_run_as_nobody(
        "engine::defects_rollback::a_read_only_directory_does_not_stop_the_restore",
    ) {
        return;
    }
    let p = TestProject::new();
    for path in ["a", "m/f", "m/sub/g", "z"] {
        p.write(path, "old\n");
    }
    p.chmod("m/sub", 0o555);
    p.chmod("m", 0o555);
    p.save("first");
    let before = p.tree();
    for path in ["a", "m/f", "m/sub/g", "z"] {
        p.write(path, "new\n");
    }
    p.chmod("m", 0o755);
    p.write("m/added", "new\n");
    p.chmod("m", 0o555);
    let after = p.tree();
    let restored = p.restore("@");
    assert_same(&before, &p.tree(), "all of it is restored");
    assert_eq!((restored.written, restored.removed), (4, 1));
    assert_eq!(restored.kept, []);
    p.undo().unwrap();
    assert_same(&after, &p.tree(), "and back again");
    for path in ["m", "m/sub"] {
        p.chmod(path, 0o755); // so that it can be deleted
    }
}

#[test]
fn a_directory_that_may_be_listed_and_not_entered_does_not_stop_the_restore() {
    if child::is_run_as_nobody(
        "engine::defects_rollback::a_directory_that_may_be_listed_and_not_entered_does_not_stop_the_restore",
    ) {
        return;
    }
    let p = TestProject::new();
    for path in ["a", "m/f"] {
        p.write(path, "old\n");
    }
    p.save("first");
    p.write("a", "new\n");
    p.chmod("m", 0o644);
    let restored = p.restore("@");
    let kept = restored.kept.iter().map(|kept| kept.path.to_string());
    assert_eq!(kept.collect::<Vec<_>>(), ["m/f"]);
    assert_eq!(p.read("a"), "old\n");
    p.chmod("m", 0o755); // so that it can be deleted
    assert_eq!(p.read("m/f"), "old\n");
}

// HERMES defect 10
#[test]
fn a_path_argument_is_never_a_pattern() {
    let names = [
        "*",
        ":!a.txt",
        "-rf",
        "a.txt",
        "my file.txt",
        "report1.txt",
        "report[1].txt",
        "src/*.rs",
        "src/a.rs",
        "\\*",
    ];
    let p = TestProject::new();
    for name in names {
        p.write(name, "old\n");
    }
    let old = p.save("old").checkpoint.id.to_hex();
    for name in names {
        p.write(name, "new\n");
    }
    p.save("new");
    for name in names {
        p.restore_paths(&old, &[name]).unwrap();
        for other in names {
            let expected = if other == name { "old\n" } else { "new\n" };
            assert_eq!(p.read(other), expected, "{other:?} after restoring {name:?}");
        }
        p.undo().unwrap();
    }
    for pattern in ["?.txt", "[ab].txt", "**", ":(glob)*", "report*"] {
        let unknown = p.restore_paths(&old, &[pattern]);
        assert!(
            matches!(unknown, Err(Error::PathUnknown { .. })),
            "{pattern:?} is no file: {unknown:?}"
        );
    }
}

// HERMES defect 11
#[test]
fn a_failed_restore_does_not_shift_the_numbers() {
    let p = TestProject::new();
    for content in ["one\n", "two\n", "three\n"] {
        p.write("a.txt", content);
        p.save(content);
    }
    p.write("a.txt", "unsaved\n");
    let listed = p.list();
    p.restore_paths("@", &["no such file"]).unwrap_err();
    p.restore_with("99", &RestoreOptions::default()).unwrap_err();
    let mut damaged = listed[2].clone();
    damaged.tree = herma_core::ObjectId::from_bytes([7; 20]);
    let options = RestoreOptions::default();
    let result = p.project().restore_with(&damaged, &options, &NoProgress);
    assert!(result.is_err(), "a tree that is not there");
    assert_eq!(p.list(), listed, "nothing was added");
    assert_eq!(p.read("a.txt"), "unsaved\n");
    p.restore("@-1");
    assert_eq!(p.read("a.txt"), "two\n", "2 is still the second");
}

// HERMES defect 13
#[test]
fn an_id_of_digits_only_can_be_written() {
    let p = TestProject::new();
    let is_number = |id: &str| id[..4].bytes().all(|b| b.is_ascii_digit());
    let (id, content) = (0..200)
        .find_map(|n| {
            p.write("a.txt", format!("{n}\n"));
            let id = p.save("x").checkpoint.id.to_hex();
            is_number(&id).then_some((id, format!("{n}\n")))
        })
        .expect("about one id in seven begins with four digits");
    let digits = &id[..4];
    p.write("a.txt", "later\n");
    let options = RestoreOptions::default();
    let number = p.restore_with(digits, &options);
    assert!(matches!(number, Err(Error::NoSuchNumber { .. })), "{number:?}");
    p.restore(&format!("id:{digits}"));
    assert_eq!(p.read("a.txt"), content);
}

// HERMES defect 14
#[test]
fn a_checkpoint_without_files_and_a_link_out_of_the_project_can_be_restored() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    symlink("/etc/hostname", p.path("out")).unwrap();
    let full = p.tree();
    let first = p.save("full");
    p.remove("a.txt");
    p.remove("out");
    let empty = p.save("everything deleted");
    assert!(empty.is_new);
    p.write("b/c.txt", "later\n");
    p.restore("@");
    assert_same(&Tree::new(), &p.tree(), "nothing is left");

    symlink("elsewhere", p.path("out")).unwrap();
    p.restore_paths(&first.checkpoint.id.to_hex(), &["out"]).unwrap();
    let target = std::fs::read_link(p.path("out")).unwrap();
    assert_eq!(target.to_str(), Some("/etc/hostname"));
    assert!(!p.exists("a.txt"), "only the link was asked for");
    p.restore(&first.checkpoint.id.to_hex());
    assert_same(&full, &p.tree(), "and all of it is back");
}

// HERMES defect 12: every rollback undid one user turn, whatever the checkpoint, because a checkpoint
// did not say which turn it belongs to. What is undone of a conversation is the host's business; which
// turn a restore led to is ours.
#[test]
fn a_restore_says_which_turn_it_went_back_to() {
    let p = TestProject::new();
    for turn in ["1", "1", "2", "3"] {
        p.write("a.txt", format!("{turn} {}\n", p.list().len()));
        let options = herma_core::SaveOptions {
            reason: "before write_file".into(),
            facts: herma_core::types::checkpoint::Facts {
                session: Some("s".into()),
                turn: Some(turn.into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let saved = p.project().save_with(&options, &herma_core::engine::NoProgress);
        assert!(saved.unwrap().is_new);
    }
    let turns: Vec<_> = p.list().into_iter().map(|c| c.facts.turn).collect();
    assert_eq!(turns, ["3", "2", "1", "1"].map(|t| Some(t.to_owned())));
    let whole = p.restore("@-2");
    assert_eq!(whole.target.facts.turn.as_deref(), Some("1"));
    let one_file = p.restore_paths("@-2", &["a.txt"]).unwrap();
    assert_eq!(one_file.target.facts.turn.as_deref(), Some("2"));
    assert_eq!(one_file.plan.actions.len(), 1, "a single file is no turn");
}

#[test]
fn a_restore_that_changes_nothing_leaves_the_list_and_undo_as_they_were() {
    let p = TestProject::with(Settings { max_file_size: Some(1000), ..Settings::default() });
    p.write("a.txt", "one\n");
    p.write("d.csv", "small\n");
    p.save("first");
    p.write("a.txt", "two\n");
    p.save("second");
    p.restore("@-1");
    let numbers = |p: &TestProject| p.list().iter().map(|c| c.id).collect::<Vec<_>>();
    let listed = numbers(&p);
    let record = p.project().undo_record().unwrap();
    p.write("d.csv", vec![b'x'; 2000]);
    for _ in 0..2 {
        let restored = p.restore(&p.oldest());
        assert_eq!(restored.plan.actions, []);
        assert_eq!(restored.number, None, "nothing happened that could have one");
        assert_eq!(restored.kept.len(), 1, "{:?}", restored.kept);
        assert!(restored.safety.is_none() && !restored.safety_is_new);
    }
    assert_eq!(numbers(&p), listed);
    assert!(!p.project().is_half_way().unwrap());
    let after = p.project().undo_record().unwrap();
    assert_eq!(after.moves, record.moves + 2, "they came to their end");
    assert_eq!((after.past, after.position), (record.past, record.position));
    p.fsck();
}
