//! What is mounted inside a project is somebody else's: never captured, never written to, never seen as deleted.

use herma_core::engine::NoProgress;
use std::path::Path;
use std::process::Command;

use herma_core::State;
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_testkit::Bounded;
use herma_testkit::random::Random;
use herma_testkit::tree::Tree;
use herma_worktree::reason::Reason;

use super::child;
use super::outside::check_told;
use super::project::TestProject;

#[track_caller]
fn run(program: &str, args: &[&str], places: &[&Path]) {
    let done = Command::new(program).args(args).args(places).bounded_status();
    assert!(done.unwrap().success(), "{program} {args:?} {places:?}");
}

#[track_caller]
fn bind(from: &Path, to: &Path) {
    run("mount", &["--bind"], &[from, to]);
}

#[track_caller]
fn unmount(at: &Path) {
    run("umount", &[], &[at]);
}

/// The names of what a comparison of a checkpoint with the files shows.
fn differences(p: &TestProject, from: &str) -> Vec<String> {
    let from = State::Checkpoint(Box::new(p.find(from)));
    let compared = p.project().changes(&from, &State::Present, &[], false, &NoProgress);
    let changes = compared.unwrap().changes;
    changes.iter().map(|c| c.path.to_string()).collect()
}

#[test]
fn a_restore_no_longer_writes_into_what_is_mounted_on_a_saved_directory() {
    const NAME: &str =
        "engine::mounts::a_restore_no_longer_writes_into_what_is_mounted_on_a_saved_directory";
    if child::is_run_with_mounts(NAME) {
        return;
    }
    let p = TestProject::new();
    p.write("data/one", "1\n");
    p.write("data/sub/two", "2\n");
    p.write("other", "o\n");
    p.chmod("data", 0o700);
    let saved = p.save("with content");
    let with_content = &saved.checkpoint.id.to_hex();
    let data = p.path("data");
    run("mount", &["-t", "tmpfs", "-o", "mode=0755", "none"], &[&data]);
    p.write("data/theirs", "theirs\n");
    p.write("other", "changed\n");
    let before = Tree::read(&data);
    let saved = p.save("mounted");
    assert_eq!(p.left_out()["data"], Reason::OtherFileSystem);
    let counted = saved.checkpoint.changes.unwrap();
    assert_eq!(counted.files, 1, "nothing was deleted");
    let mounted = saved.checkpoint.id.to_hex();
    assert_eq!(differences(&p, with_content), ["other"]);
    for _ in 0..2 {
        let restored = p.restore(with_content);
        let kept: Vec<_> = restored.kept.iter().map(|k| (k.path.to_string(), k.why)).collect();
        let why = KeptWhy::NotSaved(Reason::OtherFileSystem);
        assert_eq!(kept, [("data".to_owned(), why)]);
        assert_eq!(p.read("other"), "o\n");
        assert_eq!((Tree::read(&data), p.mode("data")), (before.clone(), 0o755));
        p.undo().unwrap();
        assert_eq!(p.read("other"), "changed\n");
        assert_eq!(Tree::read(&data), before);
        p.redo().unwrap();
        assert_eq!(Tree::read(&data), before);
        p.undo().unwrap();
    }
    assert!(p.restore_paths(with_content, &["data/one"]).unwrap().written == 0);
    assert_eq!(Tree::read(&data), before);
    // What was hidden comes to light: no checkpoint that did not see it has it deleted.
    unmount(&data);
    assert_eq!(p.read("data/one"), "1\n");
    let saved = p.save("back again");
    assert_eq!(saved.receipt.summary.files, 3);
    let restored = p.restore(&mounted);
    assert_eq!(restored.removed, 0);
    assert_eq!((p.read("data/one"), p.read("data/sub/two")), ("1\n".into(), "2\n".into()));
}

#[test]
fn a_bind_mount_of_the_same_file_system_no_longer_loses_the_files_outside() {
    const NAME: &str =
        "engine::mounts::a_bind_mount_of_the_same_file_system_no_longer_loses_the_files_outside";
    if child::is_run_with_mounts(NAME) {
        return;
    }
    let p = TestProject::new();
    let outside = p.base().join("outside");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    std::fs::write(outside.join("deep/theirs"), "theirs\n").unwrap();
    p.write("a", "1\n");
    std::fs::create_dir(p.path("shared")).unwrap();
    p.save("before");
    p.save("once more, so that everything is settled");
    bind(&outside, &p.path("shared"));
    let before = Tree::read(&outside);
    // No time of any directory has moved.
    let saved = p.save("nothing but a mount");
    assert!(!saved.receipt.summary.left_out.contains_key(&Reason::OtherFileSystem));
    p.write("a", "2\n");
    p.save("mounted");
    assert_eq!(p.left_out()["shared"], Reason::Mount);
    assert!(!p.save("again").is_new);
    p.restore("@-1");
    p.undo().unwrap();
    assert_eq!(Tree::read(&outside), before);
    unmount(&p.path("shared"));
    p.save("unmounted");
    p.write("a", "3\n");
    p.save("without");
    assert!(p.left_out().is_empty());
}

#[test]
fn a_file_mounted_over_a_file_is_not_the_projects() {
    const NAME: &str = "engine::mounts::a_file_mounted_over_a_file_is_not_the_projects";
    if child::is_run_with_mounts(NAME) {
        return;
    }
    let p = TestProject::new();
    let outside = p.base().join("outside");
    std::fs::write(&outside, "theirs\n").unwrap();
    p.write("dir/config", "ours\n");
    p.write("dir/beside", "1\n");
    p.write("masked", "secret\n");
    p.save("before");
    // Itself over itself: nothing about it is different but the mount.
    for other in [&outside, &p.path("dir/config")] {
        bind(other, &p.path("dir/config"));
        bind(Path::new("/dev/null"), &p.path("masked"));
        p.write("dir/beside", "2\n");
        p.write("dir/config", "written through the mount\n");
        let through = std::fs::read(other).unwrap();
        p.save("mounted");
        let left_out = p.left_out();
        assert_eq!(left_out["dir/config"], Reason::Mount);
        assert_eq!(left_out["masked"], Reason::Mount);
        assert!(!p.save("again").is_new);
        let restored = p.restore("@-1");
        assert_eq!(p.read("dir/beside"), "1\n");
        assert_eq!(std::fs::read(other).unwrap(), through);
        assert_eq!(restored.kept.len(), 2, "{:?}", restored.kept);
        p.undo().unwrap();
        assert_eq!(std::fs::read(other).unwrap(), through);
        unmount(&p.path("dir/config"));
        unmount(&p.path("masked"));
        p.write("dir/config", "ours\n");
        p.write("dir/beside", "1\n");
        p.save("unmounted");
        assert!(p.left_out().is_empty());
        assert_eq!(p.read("masked"), "secret\n");
    }
}

/// Also where a rule leaves out the directory the mount is in, so that no save looks there.
#[test]
fn a_step_that_mounts_or_unmounts_does_not_change_nothing() {
    const NAME: &str = "engine::mounts::a_step_that_mounts_or_unmounts_does_not_change_nothing";
    if child::is_run_with_mounts(NAME) {
        return;
    }
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    p.write("a.txt", "two\n");
    std::fs::create_dir(p.path("empty")).unwrap();
    p.write("from/file", "f\n");
    p.save("second");
    for what in ["empty mounted", "empty unmounted"] {
        let step = p.begin("claude", "bash");
        match what {
            "empty mounted" => bind(&p.path("from"), &p.path("empty")),
            _ => unmount(&p.path("empty")),
        }
        let done = p.end(step);
        check_told(&p, &done, &[what]);
    }
}

#[test]
fn nothing_is_written_into_a_mount_inside_an_ignored_directory() {
    const NAME: &str =
        "engine::mounts::nothing_is_written_into_a_mount_inside_an_ignored_directory";
    if child::is_run_with_mounts(NAME) {
        return;
    }
    let p = TestProject::new();
    let outside = p.base().join("outside");
    std::fs::create_dir(&outside).unwrap();
    p.write("var/volume/one", "1\n");
    p.write("var/free/two", "2\n");
    p.save("before");
    p.remove("var");
    p.write("var/volume/.keep", "");
    p.write("var/free/.keep", "");
    p.write(".hermaignore", "var/\n");
    bind(&outside, &p.path("var/volume"));
    p.save("ignored");
    let restored = p.restore_paths("@-1", &["var"]).unwrap();
    assert_eq!(p.read("var/free/two"), "2\n");
    assert!(std::fs::read_dir(&outside).unwrap().next().is_none());
    let kept = restored.kept.iter().find(|k| k.path.to_string() == "var/volume");
    assert_eq!(kept.unwrap().why, KeptWhy::NotSaved(Reason::Mount));
}

#[test]
fn random_restores_around_mounts_change_no_byte_in_them() {
    const NAME: &str = "engine::mounts::random_restores_around_mounts_change_no_byte_in_them";
    if child::is_run_with_mounts(NAME) {
        return;
    }
    let mut random = Random::new(0x6d6f_756e);
    let p = TestProject::new();
    let outside = p.base().join("outside");
    std::fs::create_dir_all(outside.join("d")).unwrap();
    std::fs::write(outside.join("d/f"), "theirs\n").unwrap();
    let places = ["m", "a/m", "a/b"];
    for place in places {
        p.write(&format!("{place}/d/f"), "ours\n");
        p.write(&format!("{place}/g"), "ours\n");
    }
    p.save("first");
    let mut mounted: Vec<&str> = Vec::new();
    for round in 0..60 {
        let place = places[random.below(places.len())];
        let is_free = |place: &str| !mounted.contains(&place);
        match random.below(5) {
            0 if is_free(place) && p.path(place).is_dir() => {
                bind(&outside, &p.path(place));
                mounted.push(place);
            }
            1 if !is_free(place) => {
                unmount(&p.path(place));
                mounted.retain(|m| *m != place);
            }
            2 if is_free(place) => p.write(&format!("{place}/g"), round.to_string()),
            3 => p.write("a/free", round.to_string()),
            _ => p.write("top", round.to_string()),
        }
        let before = Tree::read(&outside);
        p.save("round");
        let count = p.list().len();
        let spec = (1 + random.below(count)).to_string();
        p.restore_with(&spec, &RestoreOptions::default()).unwrap();
        assert_eq!(Tree::read(&outside), before, "round {round}");
        if random.below(2) == 0 {
            p.undo().unwrap();
            assert_eq!(Tree::read(&outside), before, "undo in round {round}");
        }
    }
    for place in mounted {
        unmount(&p.path(place));
    }
    p.fsck();
}
