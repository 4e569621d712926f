//! Linked worktrees, submodules and nested repositories with checkpoints of their own belong only to themselves.

use std::os::unix::fs::symlink;

use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::{RelPath, SaveOptions, State};
use herma_testkit::random::Random;
use herma_testkit::tree::Tree;
use herma_testkit::{Bounded, git};
use herma_worktree::reason::Reason;

use super::can_undo::ask;
use super::project::TestProject;

/// A repository with one commit.
fn repository() -> TestProject {
    let p = TestProject::new();
    p.write("src/main", "main\n");
    init(&p, "");
    p
}

fn init(p: &TestProject, directory: &str) {
    p.git_in(directory, &["init", "-q"]);
    p.git_in(directory, &["add", "."]);
    p.git_in(directory, &["commit", "-q", "-m", "one"]);
}

fn worktree(p: &TestProject, at: &str) {
    p.git_in("", &["worktree", "add", "-q", "--detach", at]);
}

/// Saves a directory of the project as a project of its own.
fn save_alone(p: &TestProject, directory: &str) {
    let project = p.engine.project(&p.path(directory)).unwrap();
    project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
}

fn path(path: &str) -> RelPath {
    RelPath::new(path.as_bytes()).unwrap()
}

/// The names of what a comparison of a checkpoint with the files shows.
fn differences(p: &TestProject, from: &str) -> Vec<String> {
    let from = State::Checkpoint(Box::new(p.find(from)));
    let compared = p.project().changes(&from, &State::Present, &[], false, &NoProgress);
    let changes = compared.unwrap().changes;
    changes.iter().map(|c| c.path.to_string()).collect()
}

/// What the outer project says of a directory that is not its own.
fn check_left_alone(p: &TestProject, directory: &str, reason: Reason) {
    let before = Tree::read(p.path(directory));
    p.write("src/main", "changed\n");
    p.save("before");
    assert_eq!(p.left_out().get(directory), Some(&reason), "{directory}");
    p.write("src/main", "changed again\n");
    p.save("after");
    p.restore("@-1");
    p.undo().unwrap();
    p.redo().unwrap();
    p.undo().unwrap();
    assert_eq!(Tree::read(p.path(directory)), before, "{directory}");
    assert!(!p.save("nothing").is_new);
}

#[test]
fn another_sessions_work_in_a_linked_worktree_is_no_longer_reset() {
    if !git::available() {
        return;
    }
    let p = repository();
    p.write(".claude/worktrees/.keep", "");
    p.save("without");
    worktree(&p, ".claude/worktrees/w1");
    p.write(".claude/worktrees/w1/theirs", "not committed\n");
    let saved = p.save("a worktree came");
    assert!(!saved.is_new, "nothing of the project has changed");
    check_left_alone(&p, ".claude/worktrees/w1", Reason::Worktree);
    // It is a project as any other for itself, and its `.git` is never captured.
    let alone = p.engine.project(&p.path(".claude/worktrees/w1")).unwrap();
    let saved = alone.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    assert_eq!(saved.receipt.summary.files, 2, "{:?}", saved.receipt);
    p.write(".claude/worktrees/w1/theirs", "more\n");
    alone.restore_with(&saved.checkpoint, &RestoreOptions::default(), &NoProgress).unwrap();
    assert_eq!(p.read(".claude/worktrees/w1/theirs"), "not committed\n");
    assert!(p.exists(".claude/worktrees/w1/.git"));
    p.git_in("", &["worktree", "remove", "--force", ".claude/worktrees/w1"]);
    assert_eq!(differences(&p, "@"), Vec::<String>::new());
}

/// The way it was saved before anybody asked whose a directory is: as part of the project around it.
#[test]
fn an_old_checkpoint_with_a_worktrees_files_is_not_written_into_the_worktree() {
    if !git::available() {
        return;
    }
    let p = repository();
    p.write("wt/src/main", "old\n");
    p.write("wt/gone", "old\n");
    p.write("wt/empty/.keep", "");
    p.chmod("wt", 0o700);
    let old = p.save("as it was").checkpoint.id.to_hex();
    p.remove("wt");
    worktree(&p, "wt");
    p.write("wt/theirs", "not committed\n");
    let before = Tree::read(p.path("wt"));
    p.write("src/main", "changed\n");
    let saved = p.save("not covered from here on");
    assert_eq!(saved.checkpoint.changes.unwrap().files, 1, "nothing was deleted");
    assert_eq!(differences(&p, &old), ["src/main"]);
    let restored = p.restore(&old);
    let kept: Vec<_> = restored.kept.iter().map(|k| (k.path.clone(), k.why)).collect();
    assert_eq!(kept, [(path("wt"), KeptWhy::NotSaved(Reason::Worktree))]);
    assert_eq!((p.read("src/main"), Tree::read(p.path("wt"))), ("main\n".into(), before.clone()));
    p.undo().unwrap();
    let restored = p.restore_paths(&old, &["wt/gone"]).unwrap();
    assert_eq!((restored.written, restored.kept.len()), (0, 1));
    // Neither where a rule leaves it out by now.
    p.write(".hermaignore", "wt/\n");
    p.save("ignored");
    assert_eq!(p.left_out()["wt"], Reason::Excluded);
    p.restore(&old);
    assert_eq!(Tree::read(p.path("wt")), before);
    let history = p.project().history(&path("wt/gone"), &NoProgress).unwrap();
    assert_eq!(history.versions.len(), 1, "it was never removed");
}

#[test]
fn a_worktree_whose_marker_is_gone_is_still_what_git_says_it_is() {
    if !git::available() {
        return;
    }
    let p = repository();
    worktree(&p, "wt");
    p.save("one");
    p.remove("wt/.git");
    check_left_alone(&p, "wt", Reason::Worktree);
    // Until git forgets it: then it is a directory of the project, which no checkpoint before vouches for.
    p.git_in("", &["worktree", "prune"]);
    let before = p.find("@").id.to_hex();
    p.save("ours by now");
    assert!(!p.left_out().contains_key("wt"));
    assert_eq!(differences(&p, &before), Vec::<String>::new());
    let restored = p.restore(&before);
    assert_eq!(p.read("wt/src/main"), "main\n");
    assert_eq!(restored.removed, 0);
    // And the other way: it is given to git with no file in it changing.
    std::fs::create_dir_all(p.path(".git/worktrees/w")).unwrap();
    let named = format!("{}\n", p.path("wt/.git").display());
    std::fs::write(p.path(".git/worktrees/w/gitdir"), named).unwrap();
    p.save("theirs again");
    assert_eq!(p.left_out()["wt"], Reason::Worktree);
}

#[test]
fn submodules_belong_to_themselves() {
    if !git::available() {
        return;
    }
    let p = repository();
    let library = p.base().join("library");
    std::fs::create_dir(&library).unwrap();
    std::fs::write(library.join("code"), "1\n").unwrap();
    let library = library.to_str().unwrap();
    p.git_in("", &["-C", library, "init", "-q"]);
    p.git_in("", &["-C", library, "add", "."]);
    p.git_in("", &["-C", library, "commit", "-q", "-m", "one"]);
    let allow = ["-c", "protocol.file.allow=always"];
    p.git_in("", &[&allow[..], &["submodule", "--quiet", "add", library, "libs/one"]].concat());
    p.write("libs/one/code", "not committed\n");
    check_left_alone(&p, "libs/one", Reason::Submodule);
    // One with its git directory in it, known only by the index.
    p.write("nested/code", "1\n");
    init(&p, "nested");
    p.save("a repository like any other directory");
    assert!(!p.left_out().contains_key("nested"));
    p.git_in("", &["add", "nested"]);
    check_left_alone(&p, "nested", Reason::Submodule);
    p.git_in("", &["rm", "-q", "-f", "--cached", "nested"]);
    p.save("no submodule any more");
    assert!(!p.left_out().contains_key("nested"));
}

#[test]
fn a_nested_repository_is_its_own_once_it_has_checkpoints() {
    if !git::available() {
        return;
    }
    let p = repository();
    p.write("nested/code", "1\n");
    init(&p, "nested");
    let with = p.save("part of the project");
    assert_eq!(with.receipt.summary.files, 2);
    assert!(!p.save("so that everything is settled").is_new);
    // No file of it changes.
    save_alone(&p, "nested");
    p.write("nested/code", "another session's\n");
    let saved = p.save("its own");
    assert_eq!(p.left_out()["nested"], Reason::Repository);
    assert_eq!(saved.checkpoint.changes.unwrap().files, 0);
    check_left_alone(&p, "nested", Reason::Repository);
    p.restore(&with.checkpoint.id.to_hex());
    assert_eq!(p.read("nested/code"), "another session's\n");
    // Without a repository it is a part of the project again.
    p.remove("nested/.git");
    p.save("a directory");
    assert!(!p.left_out().contains_key("nested"));
}

#[test]
fn one_save_in_a_plain_package_takes_nothing_away_from_its_root() {
    let p = TestProject::new();
    p.write("package.json", "{}");
    p.write("packages/one/package.json", "{}");
    p.write("packages/one/index", "1\n");
    p.save("root");
    save_alone(&p, "packages/one");
    p.write("packages/one/index", "2\n");
    let saved = p.save("root again");
    assert_eq!(saved.receipt.summary.files, 3);
    p.restore("@-1");
    assert_eq!(p.read("packages/one/index"), "1\n");
}

#[test]
fn a_hostile_marker_makes_nobody_wait_and_gives_nothing_away() {
    let p = TestProject::new();
    for name in ["fifo", "huge", "link", "cycle", "nul", "empty", "nonsense", "socket"] {
        p.write(&format!("{name}/file"), "ours\n");
    }
    let made = std::process::Command::new("mkfifo").arg(p.path("fifo/.git")).bounded_status();
    assert!(made.unwrap().success());
    let mut huge = b"gitdir: ".to_vec();
    huge.resize(70 << 10, b'x');
    huge.extend(b"/worktrees/w\n");
    p.write("huge/.git", huge);
    p.write("target", "gitdir: /p/.git/worktrees/w\n");
    symlink("../target", p.path("link/.git")).unwrap();
    symlink(".git", p.path("cycle/.git")).unwrap();
    p.write("nul/.git", b"gitdir: /p/worktrees/\0/w\n");
    p.write("empty/.git", "");
    p.write("nonsense/.git", "worktrees/w\n");
    let _socket = std::os::unix::net::UnixListener::bind(p.path("socket/.git")).unwrap();
    for _ in 0..2 {
        let saved = p.save("hostile");
        assert_eq!(saved.receipt.summary.files, 9);
    }
    p.write("nonsense/.git", "gitdir: ../x/worktrees/w\n");
    p.write("target", "2\n");
    p.save("one is a worktree by now");
    assert_eq!(p.left_out()["nonsense"], Reason::Worktree);
}

#[test]
fn a_command_that_changes_a_worktree_cannot_be_undone_by_the_project_around_it() {
    if !git::available() {
        return;
    }
    let p = repository();
    worktree(&p, "wt");
    let ask = |line: &str| ask(&p, line).uncovered.is_empty();
    assert!(ask("echo x > src/main"));
    assert!(!ask("echo x > wt/src/main"));
    assert!(!ask("echo x > wt/new"));
    assert!(!ask("rm -r wt"));
}

#[test]
fn random_restores_around_worktrees_change_no_byte_in_them() {
    if !git::available() {
        return;
    }
    let mut random = Random::new(0x776f_726b);
    let p = repository();
    let places = ["wt", "a/wt", "nested"];
    for place in places {
        p.write(&format!("{place}/src/main"), "ours\n");
    }
    p.save("when they were ours");
    p.git_in("", &["init", "-q", "nested"]);
    save_alone(&p, "nested");
    for place in &places[..2] {
        p.remove(place);
        worktree(&p, place);
    }
    for round in 0..40 {
        let place = places[random.below(places.len())];
        p.write(&format!("{place}/work"), format!("theirs {round}"));
        match random.below(4) {
            0 => p.write("src/main", round.to_string()),
            1 => p.write("a/beside", round.to_string()),
            2 if p.exists("a/beside") => p.remove("a/beside"),
            _ => p.write("top", round.to_string()),
        }
        let theirs = || places.map(|place| Tree::read(p.path(place)));
        let before = theirs();
        p.save("round");
        let count = p.list().len();
        p.restore(&(1 + random.below(count)).to_string());
        assert_eq!(theirs(), before, "round {round}");
        if random.below(2) == 0 {
            p.undo().unwrap();
            assert_eq!(theirs(), before, "undo in round {round}");
        }
    }
    p.fsck();
}
