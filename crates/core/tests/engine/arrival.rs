//! After a restore only the directories it changed are looked at again. What it notes about the result is what
//! a look at everything finds, and what others do meanwhile is not lost.

use std::os::unix::fs::symlink;
use std::time::Duration;

use herma_core::SaveOptions;
use herma_core::engine::{NoProgress, Stage};
use herma_core::restore::KeptWhy;

use super::project::TestProject;
use super::reviewed::{restore_when, restore_while};

/// The state the last restore noted is the one that is found by whoever reads everything anew.
#[track_caller]
fn assert_noted_state_is_the_present(p: &TestProject) {
    let noted = p.project().undo_record().unwrap();
    p.forget_cache();
    let options = SaveOptions { rehash: true, ..SaveOptions::default() };
    let saved = p.project().save_with(&options, &NoProgress).unwrap();
    let found = (Some(saved.checkpoint.tree), saved.checkpoint.modes);
    assert_eq!((noted.tree, noted.modes), found);
}

/// Directories of which a restore changes some and leaves others alone.
fn project_with_directories() -> TestProject {
    let p = TestProject::new();
    for directory in ["a", "a/b", "a/b/c", "d", "d/e", "f/g"] {
        for file in ["one", "two.txt", "run"] {
            p.write(&format!("{directory}/{file}"), format!("{directory}\n"));
        }
        p.chmod(&format!("{directory}/run"), 0o755);
    }
    p.save("first");
    p
}

#[test]
fn every_kind_of_change_is_seen_where_it_was_made() {
    let p = project_with_directories();
    p.write("a/b/one", "changed\n");
    p.chmod("a/run", 0o600);
    p.chmod("d/e", 0o700);
    p.write("a/b/new/deep/file", "new\n");
    p.remove("d/e/one");
    p.remove("f/g");
    symlink("../a", p.path("f/g")).unwrap();
    std::fs::create_dir(p.path("d/empty")).unwrap();
    p.remove("a/one");
    p.write("a/one/inside", "a directory by now\n");
    let restored = p.restore("@");
    assert!(restored.kept.is_empty(), "{:?}", restored.kept);
    assert_noted_state_is_the_present(&p);
    p.undo().unwrap();
    assert_noted_state_is_the_present(&p);
}

#[test]
fn a_part_of_a_checkpoint_leads_to_a_state_of_its_own() {
    let p = project_with_directories();
    p.write("a/b/one", "changed\n");
    p.write("d/one", "changed\n");
    p.write("d/new/file", "new\n");
    p.restore_paths("@", &["a"]).unwrap();
    assert_eq!((p.read("a/b/one"), p.read("d/one")), ("a/b\n".into(), "changed\n".into()));
    assert_noted_state_is_the_present(&p);
}

#[test]
fn an_ignore_file_that_comes_back_counts_below_directories_nothing_was_changed_in() {
    let p = project_with_directories();
    p.write(".gitignore", "*.txt\n");
    p.save("with rules");
    p.remove(".gitignore");
    p.save("without rules");
    p.restore("@-1");
    // What the rules leave out again was there before, and undo still knows it.
    let restored = p.tree();
    p.undo().unwrap();
    assert_noted_state_is_the_present(&p);
    p.redo().unwrap();
    herma_testkit::tree::assert_same(&restored, &p.tree(), "done again");
    p.restore(&p.oldest());
    assert_noted_state_is_the_present(&p);
}

#[test]
fn many_files_at_once_are_noted_as_they_are() {
    let p = TestProject::new();
    let name = |number: usize| format!("dir-{}/file-{number}", number % 7);
    for number in 0..200 {
        p.write(&name(number), format!("{number}\n"));
    }
    p.save("first");
    for number in 0..200 {
        p.write(&name(number), format!("{number} changed\n"));
    }
    assert_eq!(p.restore("@").written, 200);
    assert_noted_state_is_the_present(&p);
}

/// All files are replaced when it happens, and none was looked at.
fn after_only_files_were_replaced(happens: impl Fn(&TestProject) + Sync) -> (TestProject, bool) {
    let p = project_with_directories();
    for path in ["a/one", "a/b/one", "d/e/two.txt"] {
        p.write(path, "changed\n");
    }
    let kept = restore_when(&p, "@", Stage::Verifying, || happens(&p));
    let is_named = kept == [("a/b/one".to_owned(), KeptWhy::ChangedMeanwhile)];
    assert!(is_named || kept.is_empty(), "{kept:?}");
    (p, is_named)
}

#[test]
fn a_replaced_file_that_changes_before_it_is_looked_at_is_named() {
    let edits: [&(dyn Fn(&TestProject) + Sync); 6] = [
        &|p| p.write("a/b/one", "edi\n"),
        &|p| p.write("a/b/one", "a/b\nand more\n"),
        &|p| p.write("a/b/one", ""),
        &|p| p.chmod("a/b/one", 0o600),
        &|p| p.remove("a/b/one"),
        &|p| {
            p.remove("a/b/one");
            symlink("two.txt", p.path("a/b/one")).unwrap();
        },
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let (p, is_named) = after_only_files_were_replaced(edit);
        assert!(is_named, "edit {number}");
        assert_noted_state_is_the_present(&p);
    }
}

#[test]
fn where_nobody_interferes_replaced_files_are_the_state_they_were_to_be() {
    let (p, is_named) = after_only_files_were_replaced(|_| ());
    assert!(!is_named);
    assert_noted_state_is_the_present(&p);
}

#[test]
fn a_directory_whose_mode_changes_meanwhile_is_not_called_restored() {
    let p = project_with_directories();
    p.write("a/b/one", "changed\n");
    let kept = restore_when(&p, "@", Stage::Verifying, || p.chmod("a/b", 0o700));
    assert_eq!(kept, [("a/b".to_owned(), KeptWhy::ChangedMeanwhile)]);
    assert_noted_state_is_the_present(&p);
}

#[test]
fn what_an_ignore_file_that_comes_back_lets_in_is_part_of_the_state() {
    let p = project_with_directories();
    p.write(".gitignore", "nothing\n");
    p.save("rules for nothing");
    p.write(".gitignore", "*.dat\n");
    let kept = restore_while(&p, "@", || p.write("new.dat", "theirs\n"));
    assert_eq!(kept, [("new.dat".to_owned(), KeptWhy::ChangedMeanwhile)]);
    assert_noted_state_is_the_present(&p);
}

#[test]
fn what_others_write_beside_restored_files_is_named_and_elsewhere_it_is_saved_next() {
    let p = project_with_directories();
    // What was written within the tick of the clock is looked at twice anyway.
    std::thread::sleep(Duration::from_millis(30));
    p.write("a/one", "changed\n");
    p.save("second");
    let kept = restore_while(&p, "@-1", || {
        p.write("a/new", "theirs\n");
        p.write("d/e/one", "theirs\n");
    });
    assert_eq!(kept, [("a/new".to_owned(), KeptWhy::ChangedMeanwhile)]);
    assert_eq!((p.read("a/new"), p.read("d/e/one")), ("theirs\n".into(), "theirs\n".into()));
    let saved = p.save("next");
    assert!(saved.is_new);
    assert_eq!(p.saved_tree(&saved.checkpoint), p.tree().as_git());
}

#[test]
fn what_others_wrote_while_a_restore_ran_is_not_lost_by_undo_and_redo() {
    let p = project_with_directories();
    p.write("a/one", "changed\n");
    p.save("second");
    restore_while(&p, "@-1", || p.write("d/e/one", "theirs\n"));
    p.undo().unwrap();
    p.redo().unwrap();
    let saved = p.list();
    let theirs = |checkpoint| p.saved_tree(checkpoint).file("d/e/one") == Some(b"theirs\n");
    assert!(saved.iter().any(theirs), "an undo saves what it undoes");
}
