//! `herma open`: a directory with an old state, while the present stays as it is.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test does what a person does to files"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use super::{json, test_env};
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, TestEnv, Tree, WorkDir, git};

/// A project with two states, and things that checkpoints leave out.
fn project(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([
        ("a.txt", "one\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/er/x", "x\n"),
        ("locked/in", "kept\n"),
        ("node_modules/lib/index.js", "dependency\n"),
        ("node_modules/lib/.git/config", "theirs\n"),
    ]);
    project.chmod("src/main.rs", 0o755);
    project.chmod("a.txt", 0o600);
    project.chmod("locked", 0o555);
    project.mkdir("empty");
    project.chmod("empty", 0o750);
    project.symlink("../outside", "link");
    project.write_bytes(b"odd \xff name", b"\0bytes");
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    project.write("new.txt", "new\n");
    project.remove("src/deep");
    project.run(["save", "-m", "second"]).success();
    project
}

/// Everything that can be seen of a directory from outside: which inodes there are, and when they changed.
fn seen(directory: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(path) = left.pop() {
        let now = std::fs::symlink_metadata(&path).unwrap();
        if now.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(path, (now.ino(), now.mtime(), now.ctime(), now.ctime_nsec()));
    }
    found
}

fn cached(env: &TestEnv, name: &str) -> PathBuf {
    env.user_home().join(".cache/herma/open").join(name)
}

#[test]
fn a_copy_has_the_state_and_the_present_stays_as_it_is() {
    let env = test_env();
    let project = project(&env);
    let before = seen(project.path());
    let opened = project.run(["open", "1"]).success();
    let place = cached(&env, "project-1");
    assert_eq!(opened.text(), format!("{}\n", place.display()));
    assert_eq!(seen(project.path()), before, "nothing of the present changed");
    let copy = Tree::read(&place);
    // A restore of all is what it is compared with.
    let now = project.tree();
    project.run(["restore", "1", "--all"]).success();
    project.remove("node_modules");
    assert_same(&project.tree(), &copy, "as a restore makes it");
    assert_ne!(now.0.len(), copy.0.len());
    env.fsck();
}

#[test]
fn a_copy_is_a_project_that_begins_with_the_same_checkpoint() {
    let env = test_env();
    let project = project(&env);
    // Also inside another project that is saved, which it is no part of.
    let around = env.work_dir("around").files([("around.txt", "x\n")]);
    around.run(["save"]).success();
    let place = around.join("copy");
    let opened = project.run(["open", "1", &place.display().to_string(), "--json"]).success();
    let opened = json(&opened);
    let first = json(&project.run(["show", "1", "--json"]).success());
    let copy = env.work_dir("around/copy");
    let listed = json(&copy.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 1);
    assert_eq!(listed["checkpoints"][0]["id"], first["checkpoint"]["id"]);
    assert_eq!(listed["project"]["id"], opened["copy"]["id"]);
    assert_eq!(opened["of"], 1);
    let deep = env.work_dir("around/copy/src");
    deep.write("main.rs", "edited\n");
    deep.run(["save", "-m", "in the copy"]).success();
    let listed = json(&copy.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 2);
    copy.run(["undo"]).success();
    assert_eq!(copy.read("src/main.rs"), "fn main() {}\n");
    let listed = json(&project.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 2, "the original knows nothing");
    env.fsck();
}

#[test]
fn where_no_copy_can_be_nothing_is_made() {
    let env = test_env();
    let project = project(&env);
    let other = env.work_dir("other").files([("file", "x\n")]);
    let saved = env.work_dir("saved").files([("file", "x\n")]);
    saved.run(["save"]).success();
    saved.remove("file");
    symlink(other.path(), env.root().join("work/link")).unwrap();
    let store = env.store().join("refs");
    let before = (seen(&env.root().join("work")), seen(&store));
    for (place, why) in [
        ("inside", "is inside the project"),
        ("../project", "is inside the project"),
        ("../other", "is not an empty directory"),
        ("../saved", "has checkpoints of its own"),
        ("../link", "is not an empty directory"),
        ("../other/file", "is not an empty directory"),
        ("../none/copy", "No such file"),
        ("../../hermes/checkpoints/store/copy", "inside the checkpoint store"),
        ("../.git/copy", ".git"),
    ] {
        let refused = project.run(["open", "1", place]);
        assert!(!refused.status.success(), "{place}");
        let said = refused.error_text();
        assert!(said.contains(why) && said.contains("Nothing was "), "{place}: {said}");
    }
    project.run(["open", "7"]).code(10);
    project.run(["open", "1", "--with-ignored", "none"]).code(2);
    project.run(["open", "1", "--with-ignored", "."]).code(2);
    assert_eq!((seen(&env.root().join("work")), seen(&store)), before);
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
}

#[test]
fn what_is_left_out_comes_from_the_present_if_it_is_named() {
    let env = test_env();
    let project = project(&env);
    let source = project.join("node_modules/lib/index.js");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(&source).unwrap().set_modified(long_ago).unwrap();
    let opened = project.run(["open", "1", "--with-ignored", "node_modules", "--json"]).code(3);
    let opened = json(&opened);
    assert_eq!((&opened["ignored"], &opened["written"]), (&1.into(), &6.into()));
    assert_eq!(opened["passed_over"][0]["path"], "node_modules/lib/.git");
    let copied = cached(&env, "project-1").join("node_modules/lib/index.js");
    assert_eq!(std::fs::read_to_string(&copied).unwrap(), "dependency\n");
    assert_eq!(copied.metadata().unwrap().modified().unwrap(), long_ago, "it keeps its time");
    assert_ne!(copied.metadata().unwrap().ino(), source.metadata().unwrap().ino());
}

#[test]
fn a_command_runs_in_a_copy_that_goes_afterwards() {
    let env = test_env();
    let project = project(&env);
    // A repository around the cache is not the one the command works in.
    std::fs::create_dir_all(env.user_home().join(".git")).unwrap();
    let script =
        "pwd; cat a.txt; echo $GIT_CEILING_DIRECTORIES; echo ${GIT_DIR-none}; touch made; exit 7";
    let mut command = project.command();
    command.args(["open", "1", "--run", script]).env("GIT_DIR", project.join(".git"));
    let ran = env.finish(&mut command).code(7);
    let (place, above) = (cached(&env, "project-1"), cached(&env, ""));
    let above = above.display().to_string();
    let above = above.trim_end_matches('/');
    assert_eq!(ran.text(), format!("{}\none\n{above}\nnone\n", place.display()));
    assert!(!place.exists());
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
    assert_eq!(project.run(["list", "-z"]).success().text().matches('\0').count(), 2);
}

#[test]
fn cleaning_keeps_what_is_nowhere_else() {
    let env = test_env();
    let project = project(&env);
    for _ in 0..4 {
        project.run(["open", "1"]).success();
    }
    let chosen = env.root().join("work/chosen");
    project.run(["open", "2", &chosen.display().to_string()]).success();
    let edited = cached(&env, "project-1-2");
    std::fs::write(edited.join("a.txt"), "worked on\n").unwrap();
    env.work_dir(cached(&env, "")).remove("project-1-3");
    // Another directory in the place of a copy is nobody's to remove.
    let replaced = cached(&env, "project-1-4");
    std::fs::rename(&replaced, env.root().join("work/moved")).unwrap();
    std::fs::create_dir(&replaced).unwrap();
    std::fs::write(replaced.join("mine"), "mine\n").unwrap();
    let listed = json(&project.run(["open", "--list", "--json"]).success());
    let states: Vec<_> = listed["copies"].as_array().unwrap().iter().collect();
    let states: Vec<_> = states.iter().map(|copy| copy["state"].as_str().unwrap()).collect();
    assert_eq!(states.iter().filter(|state| **state == "gone").count(), 2, "{states:?}");
    let cleaned = project.run(["open", "--clean"]).code(3);
    assert!(cleaned.error_text().contains("stays: it was changed"), "{cleaned}");
    assert!(!cached(&env, "project-1").exists());
    assert!(edited.exists() && chosen.exists() && replaced.join("mine").exists());
    project.run(["open", "--clean", "elsewhere"]).code(2);
    for place in [&edited, &chosen] {
        project.run(["open", "--clean", &place.display().to_string()]).success();
        assert!(!place.exists());
    }
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
    project.run(["checkpoints", "gc"]).success();
    env.fsck();
    // The place can be used again.
    project.run(["open", "1", &chosen.display().to_string()]).success();
}

#[test]
fn a_copy_keeps_its_state_when_the_original_drops_it() {
    let env = test_env();
    let project = project(&env);
    project.write("a.txt", "three\n");
    project.run(["save", "-m", "third"]).success();
    let chosen = env.root().join("work/chosen");
    project.run(["open", "2", &chosen.display().to_string()]).success();
    project.run(["drop", "--yes", "1-2"]).success();
    project.run(["checkpoints", "gc", "--empty-trash"]).success();
    env.fsck();
    let copy = env.work_dir("chosen");
    copy.write("a.txt", "x\n");
    copy.run(["restore", "1", "--all"]).success();
    assert_eq!(copy.read("a.txt"), "two\n");
    project.run(["open", "--clean", &chosen.display().to_string()]).success();
    project.run(["checkpoints", "gc", "--empty-trash"]).success();
    env.fsck();
}

#[test]
fn a_project_that_is_gone_can_still_be_opened() {
    let env = test_env();
    let project = project(&env);
    env.work_dir("").remove("project");
    let root = project.path().display().to_string();
    let elsewhere = env.work_dir("elsewhere");
    elsewhere.run(["--root", &root, "open", "2", "../copy"]).success();
    assert_eq!(env.work_dir("copy").read("new.txt"), "new\n");
}

/// A repository of its own: the same history, nothing shared, nothing of the user's repository touched.
#[test]
fn a_copy_gets_a_repository_that_shares_nothing_if_that_is_asked_for() {
    if !git::available() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("b.txt", "b\n")]);
    let run = |directory: &Path, line: &str| {
        let mut command = git::command();
        command.args(["-c", "user.name=Me", "-c", "user.email=me@here"]);
        let command = command.args(line.split(' ')).current_dir(directory);
        let output = command.bounded_output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let here = |line: &str| run(project.path(), line);
    project.run(["save"]).success();
    let refused = project.run(["open", "1", "--git"]).code(1);
    assert!(refused.error_text().contains("not a git repository"), "{refused}");
    here("init -q -b main .");
    assert!(project.run(["open", "1", "--git"]).code(2).error_text().contains("ever committed"));
    here("add -A");
    here("commit -qm first");
    here("tag v1");
    here("branch other");
    project.write("a.txt", "two\n");
    here("commit -qam second");
    // Hooks of the user's, and of a template.
    let ran = env.root().join("ran");
    let hook = format!("#!/bin/sh\ntouch {}\n", ran.display());
    project.write(".git/hooks/post-checkout", &hook);
    project.chmod(".git/hooks/post-checkout", 0o755);
    let before = seen(&project.join(".git"));
    let opened = project.run(["open", "1", "--git"]).success();
    assert!(opened.error_text().contains("at your present HEAD"), "{opened}");
    assert_eq!(seen(&project.join(".git")), before, "the user's repository is only read");
    let place = cached(&env, "project-1");
    let there = |line: &str| run(&place, line);
    assert_eq!(there("rev-parse HEAD"), here("rev-parse HEAD"));
    assert_eq!(there("symbolic-ref HEAD"), "refs/heads/main");
    assert_eq!(there("rev-parse v1 origin/other"), here("rev-parse v1 other"));
    // The files are those of the checkpoint, the index is that of HEAD.
    assert_eq!(there("status --porcelain"), "M a.txt");
    assert_eq!(there("for-each-ref refs/herma"), "");
    there("fsck --strict");
    assert!(!place.join(".git/objects/info/alternates").exists());
    assert!(!place.join(".git/hooks").exists() && !ran.exists());
    // What is committed there is nowhere else.
    there("commit -qam there");
    let kept = project.run(["open", "--clean"]).code(3);
    assert!(kept.error_text().contains("stays: it was changed"), "{kept}");
    project.run(["promote", &place.display().to_string()]).success();
    project.run(["open", "--clean", &place.display().to_string()]).success();
    assert!(!place.exists());
    project.remove(".git/hooks/post-checkout");
    here("checkout -q --detach");
    let opened = json(&project.run(["open", "1", "--git", "--json"]).success());
    assert_eq!(opened["head"], here("rev-parse HEAD"));
    assert_eq!(there("rev-parse --abbrev-ref HEAD"), "HEAD");
}
