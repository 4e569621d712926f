//! Errors as the kernel gives them, instead of a tracer: disks that are read-only, files that nobody may change,
//! too few descriptors, mounts inside a project, links in a circle, and names without end.

use std::fs;

use herma_testkit::tree::assert_same;
use herma_testkit::{Output, TestEnv, Tree, WorkDir};

use super::full_disk::can_mount;
use super::scene::{files_below, id_of};
use super::surroundings::{Marked, limited, mounted, nested, read_in, with_small_files, write_in};
use super::{assert_sound, has_program, json, test_env};

fn old() -> Tree {
    Tree::of_files([
        ("a.txt", "one\n"),
        ("gone.txt", "only then\n"),
        ("src/b.txt", "one\n"),
        ("src/deep/er/c.txt", "one\n"),
        ("z.txt", "one\n"),
    ])
}

fn new() -> Tree {
    Tree::of_files([
        ("a.txt", "two\n"),
        ("src/b.txt", "two\n"),
        ("src/deep/er/c.txt", "two\n"),
        ("src/new.txt", "only now\n"),
        ("z.txt", "two\n"),
    ])
}

/// A project with one checkpoint, named `old`, and changes since.
fn changed_project(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project");
    old().write(project.path());
    project.run(["save", "--name", "old"]).success();
    new().write(project.path());
    project
}

/// It failed with this error of the system, and says that nothing came of it.
#[track_caller]
fn assert_refused(output: Output, error: &str) {
    let output = output.code(1);
    let said = output.error_text();
    assert!(said.contains(error), "{output}");
    assert!(!said.contains("partly"), "{output}");
}

#[track_caller]
fn is_interrupted(project: &WorkDir<'_>) -> bool {
    let listed = json(&project.run(["list", "--json"]).success());
    listed["project"]["interrupted_restore"] == true
}

const READ_ONLY_STORE: &str =
    r#"mount --bind "$HERMES_HOME" "$HERMES_HOME"; mount -o remount,bind,ro "$HERMES_HOME""#;
const READ_ONLY_PROJECT: &str =
    r#"mount --bind "$PROJECT" "$PROJECT"; mount -o remount,bind,ro "$PROJECT""#;

#[test]
fn real_errors_on_a_read_only_store_it_can_be_read() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = changed_project(&env);
    let before = Tree::read(env.home());
    for args in [
        &["list"][..],
        &["show", "old"],
        &["diff"],
        &["history", "a.txt"],
        &["steps"],
        &["config"],
        &["doctor"],
        &["restore", "old", "--dry-run"],
        &["checkpoints", "status"],
        &["checkpoints", "verify", "--read-data"],
    ] {
        mounted(&env, READ_ONLY_STORE, args).success();
    }
    for args in [
        &["save"][..],
        &["restore", "old"],
        &["undo"],
        &["pin", "old"],
        &["drop", "--yes", "--pinned", "old"],
        &["step", "begin"],
        &["run", "--", "touch", "ran"],
        &["purge", "--yes", "a.txt"],
        &["checkpoints", "gc"],
        &["checkpoints", "repair"],
        &["config", "set", "checkpoints.max_snapshots", "3"],
        &["install", "hermes"],
    ] {
        assert_refused(mounted(&env, READ_ONLY_STORE, args), "Read-only file system");
    }
    assert_same(&before, &Tree::read(env.home()), "the store");
    assert_same(&new(), &project.tree(), "the project");
    project.run(["restore", "old"]).success();
    assert_same(&old(), &project.tree(), "writable again");
}

#[test]
fn real_errors_a_read_only_project_is_saved_and_never_half_restored() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = changed_project(&env);
    let saved = mounted(&env, READ_ONLY_PROJECT, &["save", "--json"]).success();
    let id = id_of(&json(&saved)["checkpoint"]);
    assert_eq!(env.archive_tree(&id), new().as_git());
    let refused = mounted(&env, READ_ONLY_PROJECT, &["restore", "old"]);
    assert!(refused.error_text().contains("Nothing was changed."), "{refused}");
    assert_refused(refused, "Read-only file system");
    assert!(!is_interrupted(&project), "there is nothing to finish");
    assert_same(&new(), &project.tree(), "nothing was changed");
    project.run(["restore", "old"]).success();
    assert_refused(mounted(&env, READ_ONLY_PROJECT, &["undo"]), "Read-only file system");
    assert_same(&old(), &project.tree(), "still restored");
    project.run(["undo"]).success();
    assert_same(&new(), &project.tree(), "writable again");
}

#[test]
fn real_errors_a_save_says_where_no_restore_could_work() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project");
    new().write(project.path());
    let first = mounted(&env, READ_ONLY_PROJECT, &["save", "--json"]).success();
    let notes = json(&first)["notes"].to_string();
    assert!(notes.contains("its file system is read-only"), "{first}");
    // It is said once, not at each save.
    old().write(project.path());
    let second = mounted(&env, READ_ONLY_PROJECT, &["save", "--json"]).success();
    assert_eq!(json(&second)["notes"], serde_json::json!([]), "{second}");
}

/// Enough directories for every thread to be busy, and files at the top and far below.
fn wide() -> Tree {
    let mut tree = Tree::new();
    for branch in 0..8 {
        for file in 0..3 {
            let text = format!("{branch} {file}\n");
            let node = || herma_testkit::Node::File { bytes: text.clone().into(), mode: 0o644 };
            tree.insert(format!("d{branch}/f{file}"), node());
            tree.insert(format!("d{branch}/e/f/g/h/f{file}"), node());
        }
    }
    tree
}

/// With fewer than this many descriptors the loader of programs gives up.
const MIN_DESCRIPTORS: u32 = 5;
const MANY: u32 = 48;

#[test]
fn real_errors_with_few_descriptors_no_file_is_skipped() {
    if !has_program("prlimit") {
        return;
    }
    let (mut worked, mut failed) = (0, 0);
    for limit in MIN_DESCRIPTORS..=MANY {
        let env = test_env();
        let project = env.work_dir("project");
        wide().write(project.path());
        let limit = format!("--nofile={limit}");
        let output = limited(&env, &limit, &["save", "--json"]);
        if output.status.success() {
            let said = json(&output);
            let left_out = said["left_out"].as_array().map(Vec::len);
            assert_eq!(left_out, Some(0), "{output}");
            let id = id_of(&said["checkpoint"]);
            assert_eq!(env.archive_tree(&id), wide().as_git(), "{limit}");
            worked += 1;
        } else {
            let output = output.code(1);
            let said = output.to_string();
            assert!(said.contains("Too many open files"), "{output}");
            failed += 1;
        }
        let again = project.run(["save", "--json"]).success();
        let id = id_of(&json(&again)["checkpoint"]);
        assert_eq!(env.archive_tree(&id), wide().as_git(), "after {limit}");
        let tmp = files_below(&env.store().join("herma/tmp"));
        assert!(tmp.is_empty(), "{limit}: left behind {tmp:?}");
    }
    assert!(worked > 0 && failed > 0, "{worked} worked, {failed} failed");
}

/// At some depth no descriptor is left for the file, or for the directory it is in.
#[test]
fn real_errors_with_few_descriptors_what_cannot_be_opened_is_named_and_not_left_out() {
    if !has_program("prlimit") {
        return;
    }
    let (mut whole, mut failed, mut named) = (0, 0, 0);
    let limit = format!("--nofile={}", MANY / 2);
    for depth in 1..MANY as usize / 2 {
        let env = test_env();
        let project = env.work_dir("project");
        // With this one the pack is open before the other is met.
        project.write("a/first", "first\n");
        project.write(format!("{}file", "d/".repeat(depth)), "deep\n");
        let output = limited(&env, &limit, &["save", "--json"]);
        if output.status.success() {
            let left_out = json(&output)["left_out"].as_array().map(Vec::len);
            assert_eq!(left_out, Some(0), "{depth} levels: {output}");
            whole += 1;
            continue;
        }
        let said = output.code(1).to_string();
        assert!(said.contains("Too many open files"), "{said}");
        failed += 1;
        named += usize::from(said.contains("could not open d/"));
    }
    // Where one was left out, the save only fails later, for want of the descriptors of the store.
    let seen =
        format!("{whole} whole, {failed} failed, {named} of these for what is in the project");
    assert!(whole > 0 && named > failed / 2, "{seen}");
}

#[test]
fn real_errors_with_few_descriptors_a_restore_is_whole_or_can_be_reversed() {
    if !has_program("prlimit") {
        return;
    }
    let env = test_env();
    let project = changed_project(&env);
    let (mut worked, mut failed) = (0, 0);
    for limit in MIN_DESCRIPTORS..=MANY {
        let limit = format!("--nofile={limit}");
        let output = limited(&env, &limit, &["restore", "old"]);
        if output.status.code() == Some(0) {
            worked += 1;
            assert_same(&old(), &project.tree(), &limit);
            project.run(["undo"]).success();
        } else {
            failed += 1;
            let said = output.error_text();
            let is_named =
                said.contains("Too many open files") || said.contains("could not be read");
            assert!(is_named, "{output}");
            if is_interrupted(&project) {
                project.run(["undo"]).success();
            }
        }
        assert_same(&new(), &project.tree(), &limit);
        assert!(!is_interrupted(&project), "{limit}");
    }
    assert!(worked > 0 && failed > 0, "{worked} worked, {failed} failed");
    assert_sound(&env.repository());
}

/// A restore meets something it may not change: it says what, and both ways are open.
fn meet_an_obstacle(project: &WorkDir<'_>, obstacle: Option<Marked>, named: &str) {
    let Some(obstacle) = obstacle else {
        return;
    };
    project.run(["save"]).success();
    let stopped = project.run(["restore", "old"]).code(1);
    let said = stopped.error_text();
    assert!(said.contains(named) && said.contains("Operation not permitted"), "{stopped}");
    assert!(is_interrupted(project), "{stopped}");
    // The file itself is as it was, whatever became of the others.
    assert_eq!(project.read("src/b.txt"), "two\n");
    drop(obstacle);
    project.run(["undo"]).success();
    assert_same(&new(), &project.tree(), "reversed");
    project.run(["restore", "old"]).success();
    assert_same(&old(), &project.tree(), "restored after all");
    assert!(!is_interrupted(project));
}

#[test]
fn real_errors_a_file_that_nobody_may_change_stops_a_restore_that_can_be_reversed() {
    let env = test_env();
    let project = changed_project(&env);
    let obstacle = Marked::new(&project.join("src/b.txt"), 'i');
    meet_an_obstacle(&project, obstacle, "src/b.txt");
}

#[test]
fn real_errors_a_directory_that_only_grows_stops_a_restore_that_can_be_reversed() {
    let env = test_env();
    let project = changed_project(&env);
    let obstacle = Marked::new(&project.join("src"), 'a');
    meet_an_obstacle(&project, obstacle, "src/b.txt");
}

#[test]
fn real_errors_a_reversal_needs_nothing_of_a_file_that_never_changed() {
    let env = test_env();
    let project = changed_project(&env);
    let Some(_obstacle) = Marked::new(&project.join("src/b.txt"), 'i') else {
        return;
    };
    project.run(["restore", "old"]).code(1);
    project.run(["undo"]).success();
    assert_same(&new(), &project.tree(), "reversed beside the file");
    project.run(["restore", "old", "a.txt", "z.txt"]).success();
    assert_eq!(project.read("a.txt"), "one\n", "the others can be had");
}

#[test]
fn real_errors_what_is_done_after_a_restore_was_stopped_stays_when_it_is_taken_up() {
    for take_up in [&["restore", "--continue"][..], &["undo"]] {
        let env = test_env();
        let project = changed_project(&env);
        project.run(["save"]).success();
        let Some(obstacle) = Marked::new(&project.join("src/b.txt"), 'i') else {
            return;
        };
        project.run(["restore", "old"]).code(1);
        drop(obstacle);
        project.write("a.txt", "one\n");
        project.write("src/b.txt", "mine\n");
        project.write("own.txt", "mine\n");
        let before = project.tree();
        let is_finished = take_up.len() > 1;
        let planned = project.run([take_up, &["--dry-run"]].concat()).code(3);
        let taken_up = project.run(take_up).code(3);
        for said in [planned.text(), taken_up.text()] {
            for kept in ["src/b.txt", "own.txt"] {
                let kept =
                    format!("keep   {kept} (it changed since the restore was interrupted)\n");
                assert!(said.contains(&kept), "{said}");
            }
        }
        assert!(!is_interrupted(&project));
        assert_eq!(project.read("a.txt"), if is_finished { "one\n" } else { "two\n" });
        let is_kept = || {
            assert_eq!(project.read("src/b.txt"), "mine\n", "{take_up:?}");
            assert_eq!(project.read("own.txt"), "mine\n", "{take_up:?}");
        };
        is_kept();
        let said = taken_up.error_text();
        let mut lines = said.lines().filter(|line| line.starts_with('`'));
        if is_finished {
            assert_eq!(lines.next(), Some("`herma undo` undoes the restore."), "{said}");
            project.run(["undo"]).code(3);
            is_kept();
            assert_eq!(project.read("a.txt"), "two\n", "as before the restore");
        }
        let way_back = lines.next().and_then(|line| line.split('`').nth(1)).unwrap();
        let args: Vec<&str> = way_back.split(' ').skip(1).collect();
        project.run(args).success();
        assert_same(&before, &project.tree(), way_back);
    }
}

#[test]
fn real_errors_a_store_directory_that_nobody_may_change_fails_a_save_and_harms_nothing() {
    for place in ["objects/pack", "herma/tmp", "refs"] {
        let env = test_env();
        let project = changed_project(&env);
        // Below it are the refs of the project.
        let directories = match place {
            "refs" => below(&env.store().join("refs")),
            _ => vec![env.store().join(place)],
        };
        for attribute in ['i', 'a'] {
            let marked: Option<Vec<_>> =
                directories.iter().map(|directory| Marked::new(directory, attribute)).collect();
            let Some(marked) = marked else {
                return;
            };
            let output = project.run(["save"]);
            let code = output.status.code();
            assert!(code == Some(1) || (attribute == 'a' && code == Some(0)), "{output}");
            project.run(["list"]).success();
            project.run(["diff"]).success();
            drop(marked);
            project.run(["save"]).success();
            let litter = files_below(&env.store().join("herma/tmp"));
            assert!(litter.is_empty(), "{place} +{attribute}: {litter:?}");
            assert_sound(&env.repository());
            project.write("a.txt", &format!("{place} {attribute}\n"));
        }
        project.run(["restore", "old"]).success();
        assert_same(&old(), &project.tree(), place);
    }
}

fn below(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut all = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(below(&path));
        }
    }
    all
}

#[test]
fn real_errors_a_pack_that_nobody_may_remove_is_collected_later() {
    let env = test_env();
    let project = changed_project(&env);
    let packs = || {
        let mut packs = files_below(&env.store().join("objects/pack"));
        packs.retain(|path| path.extension().is_some_and(|extension| extension == "pack"));
        packs
    };
    let Some(pack) = Marked::new(&packs()[0], 'i') else {
        return;
    };
    project.run(["save", "--name", "new"]).success();
    project.run(["drop", "--yes", "--pinned", "old"]).success();
    let collected = project.run(["checkpoints", "gc"]);
    let said = collected.to_string();
    assert!(matches!(collected.status.code(), Some(1 | 3)), "{collected}");
    assert!(said.contains("Operation not permitted"), "{collected}");
    assert_sound(&env.repository());
    project.run(["checkpoints", "verify", "--read-data"]).success();
    drop(pack);
    project.run(["checkpoints", "gc"]).success();
    project.run(["restore", "new"]).success();
    assert_same(&new(), &project.tree(), "kept");
    assert_sound(&env.repository());
}

#[test]
fn real_errors_a_directory_that_is_mounted_inside_is_neither_saved_nor_restored_into() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = changed_project(&env);
    let elsewhere = env.root().join("elsewhere");
    Tree::of_files([("b.txt", "mounted\n"), ("deep/er/c.txt", "mounted\n")]).write(&elsewhere);
    // On the same file system, so that nothing but the kernel's EXDEV tells it from an ordinary directory.
    let mount = r#"mount --bind "$PROJECT/../../elsewhere" "$PROJECT/src""#;
    let before = Tree::read(&elsewhere);
    let saved = mounted(&env, mount, &["save", "--json"]).code(3);
    let tree = env.archive_tree(&id_of(&json(&saved)["checkpoint"]));
    assert_eq!(tree.file("src/b.txt"), None);
    let restored = mounted(&env, mount, &["restore", "old"]).code(3);
    let said = restored.text();
    assert!(said.contains("src (") && said.contains("mount"), "{restored}");
    assert_eq!(project.read("a.txt"), "one\n");
    assert_same(&before, &Tree::read(&elsewhere), "restored");
    mounted(&env, mount, &["undo"]).success();
    assert_same(&before, &Tree::read(&elsewhere), "undone");
    assert_eq!(project.read("src/b.txt"), "two\n", "what it hides is not touched");
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn real_errors_a_file_that_is_mounted_over_another_is_left_alone_and_named() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = changed_project(&env);
    fs::write(env.root().join("elsewhere"), "mounted\n").unwrap();
    let mount = r#"mount --bind "$PROJECT/../../elsewhere" "$PROJECT/src/b.txt""#;
    let restored = mounted(&env, mount, &["restore", "old"]).code(3);
    let said = restored.text();
    assert!(said.contains("src/b.txt (") && said.contains("mount"), "{restored}");
    assert_eq!(project.read("a.txt"), "one\n");
    mounted(&env, mount, &["undo"]).success();
    assert_same(&new(), &project.tree(), "undone");
    assert!(!is_interrupted(&project));
    assert_eq!(fs::read(env.root().join("elsewhere")).unwrap(), b"mounted\n");
}

#[test]
fn real_errors_a_file_larger_than_one_may_be_is_said_and_the_rest_comes_back() {
    let env = test_env();
    let project = env.work_dir("project");
    let large = "0123456789abcdef".repeat(1 << 18);
    let hollow = vec![0; 4 << 20];
    let small = [("a.txt", "one\n"), ("src/b.txt", "one\n")];
    Tree::of_files(small).write(project.path());
    project.write("large", large.as_str());
    std::fs::write(project.join("hollow"), &hollow).unwrap();
    project.run(["save", "--name", "old"]).success();
    project.write("a.txt", "two\n");
    project.write("large", "short\n");
    std::fs::remove_file(project.join("hollow")).unwrap();
    project.run(["save"]).success();
    let before = project.tree();
    let restored = with_small_files(&env, 1024, &["restore", "old"]).code(3);
    for path in ["large", "hollow"] {
        let said = format!("{path} (it is larger than a file may be here)");
        assert!(restored.text().contains(&said), "{restored}");
    }
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(project.read("large"), "short\n", "it is as it was");
    assert!(!project.join("hollow").exists(), "no piece of it is left");
    project.run(["undo"]).success();
    assert_same(&before, &project.tree(), "undone");
    project.run(["restore", "old"]).success();
    assert!(project.read("large") == large, "where there is room for it");
    assert!(std::fs::read(project.join("hollow")).unwrap() == hollow);
}

#[test]
fn real_errors_links_in_a_circle_are_links() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.symlink("there", "here");
    project.symlink("here", "there");
    project.symlink("self", "self");
    let whole = project.tree();
    project.run(["save", "--name", "old"]).success();
    for name in ["here", "there", "self"] {
        project.remove(name);
    }
    project.run(["restore", "old"]).success();
    assert_same(&whole, &project.tree(), "circles and all");
    project.run(["-C", "self", "save"]).code(2);
    let mut elsewhere = project.command();
    elsewhere.args(["list"]).env("HERMES_HOME", project.join("self"));
    let refused = env.finish(&mut elsewhere);
    assert!(matches!(refused.status.code(), Some(1 | 10)), "{refused}");
    assert_same(&whole, &project.tree(), "nothing came of that");
}

#[test]
fn real_errors_names_and_paths_as_long_as_they_can_be_come_back() {
    let env = test_env();
    let project = env.work_dir("project");
    let longest = "n".repeat(255);
    // Longer than any path the kernel takes at once, so it is reached step by step.
    let step = "d".repeat(250);
    let bottom = nested(project.path(), &step, 20);
    let write = |text: &str| {
        write_in(&bottom, "f", text);
        project.write(&longest, text);
    };
    let says = |text: &str| {
        assert_eq!(project.read(&longest), text);
        assert_eq!(read_in(&bottom, "f"), text);
    };
    write("one\n");
    let saved = project.run(["save", "--json", "--name", "old"]).success();
    assert_eq!(json(&saved)["left_out"].as_array().map(Vec::len), Some(0));
    write("two\n");
    let restored = json(&project.run(["restore", "old", "--json"]).success());
    assert_eq!(restored["written"], 2, "{restored}");
    says("one\n");
    project.run(["undo"]).success();
    says("two\n");
    let far = format!("{}f", format!("{step}/").repeat(20));
    let restored = json(&project.run(["restore", "old", "--json", &far]).success());
    assert_eq!(restored["written"], 1, "{restored}");
    let too_long = "x".repeat(300);
    let refused = project.run(["restore", "old", &too_long]);
    assert!(matches!(refused.status.code(), Some(1 | 2 | 10)), "{refused}");
    assert_eq!(project.read(&longest), "two\n");
    project.run(["-C", &too_long, "save"]).code(2);
}
