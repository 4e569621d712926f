//! `herma export` and `herma import`: between two homes, and with files somebody crafted.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test does what a person does to files"
)]

use std::fs;
use std::path::PathBuf;

use herma_testkit::{TestEnv, WorkDir};
use sha2::{Digest, Sha256};

use super::{json, test_env};

/// A project with three checkpoints, the second with a name, a mode and an empty directory, the third an agent's work.
fn worked(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("src/b.txt", "b\n")]);
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    project.mkdir("empty");
    project.chmod("src/b.txt", 0o600);
    project.run(["save", "-m", "second", "--name", "works"]).success();
    asks(&project, "make it three");
    edits(&project, "a.txt", "two\nthree\n");
    project
}

/// A person asks an agent for something.
pub(super) fn asks(project: &WorkDir<'_>, prompt: &str) {
    let asked = ["turn", "begin", "--agent", "claude", "--session", "s", "--prompt", prompt];
    project.run(asked).success();
}

/// The agent edits a file, in a step.
pub(super) fn edits(project: &WorkDir<'_>, name: &str, content: &str) {
    let args = ["--agent", "claude", "--session", "s", "--tool", "Edit", "--json"];
    let begun = json(&project.run(["step", "begin"].iter().chain(&args)).success());
    project.write(name, content);
    project.run(["step", "end", begun["step"]["handle"].as_str().unwrap()]).success();
}

fn file_of(env: &TestEnv, name: &str) -> PathBuf {
    env.root().join(name)
}

/// Everything in the store's refs, the lines' records and `shallow`, to see that nothing changed.
fn state_of(env: &TestEnv) -> Vec<(PathBuf, Vec<u8>)> {
    let mut pending = vec![env.store()];
    let mut found = Vec::new();
    while let Some(directory) = pending.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The file with the hash at its end made again.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 32;
    let sum = Sha256::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum);
    bytes
}

#[test]
fn rows_go_to_another_home_with_all_that_belongs_to_them() {
    let (one, two) = (test_env(), test_env());
    let from = worked(&one);
    let file = file_of(&one, "laptop.herma");
    let file = file.to_str().unwrap();
    let said = from.run(["export", "--all", file]).success();
    assert!(said.to_string().contains("3 checkpoints with 1 step"), "{said}");
    let again = from.run(["export", "--all", file]).code(2);
    assert!(again.to_string().contains("is there already"), "{again}");

    let to = two.work_dir("elsewhere").files([("mine.txt", "mine\n")]);
    to.run(["save", "-m", "mine"]).success();
    let imported = json(&to.run(["import", file, "--json"]).success());
    assert_eq!(imported["lines"][0]["name"], "laptop");
    assert_eq!(imported["lines"][0]["numbers"], serde_json::json!([1, 2, 3]));
    two.fsck();

    let shown = to.run(["show", "3@laptop"]).success().to_string();
    assert!(shown.contains("Checkpoint 3@laptop") && shown.contains("make it three"), "{shown}");
    assert!(shown.contains("+three"), "{shown}");
    let named = json(&to.run(["show", "works@laptop", "--json"]).success());
    assert_eq!(
        (&named["checkpoint"]["number"], &named["checkpoint"]["line"]),
        (&2.into(), &"laptop".into())
    );
    let diff = to.run(["diff", "1@laptop", "3@laptop"]).success().to_string();
    assert!(diff.contains("-one") && diff.contains("+three"), "{diff}");

    let before = to.tree();
    to.run(["restore", "3@laptop"]).success();
    herma_testkit::tree::assert_same(&from.tree(), &to.tree(), "as it was there");
    let blame = to.run(["blame", "a.txt", "--line", "laptop"]).success().to_string();
    assert!(blame.contains("claude"), "{blame}");
    let history = to.run(["history", "a.txt", "--line", "laptop"]).success().to_string();
    assert!(history.contains("claude"), "{history}");
    to.run(["undo"]).success();
    herma_testkit::tree::assert_same(&before, &to.tree(), "and back");
    // Its own numbers went on as if nothing had come in.
    let own = json(&to.run(["list", "--json"]).success());
    let numbers =
        own["checkpoints"].as_array().unwrap().iter().map(|one| one["number"].as_u64().unwrap());
    assert_eq!(numbers.max(), Some(3));
    two.fsck();

    for refused in
        [vec!["undo", "3@laptop"], vec!["drop", "3@laptop", "--yes"], vec!["name", "3@laptop", "x"]]
    {
        let said = to.run(&refused).code(2).to_string();
        assert!(said.contains("herma restore 3@laptop"), "{refused:?}: {said}");
    }
    let none = to.run(["show", "3@desk"]).code(10).to_string();
    assert!(none.contains("there is no line `desk`") && none.contains("laptop"), "{none}");
}

#[test]
fn a_line_is_imported_once_and_stays_until_it_is_removed() {
    let (one, two) = (test_env(), test_env());
    let from = worked(&one);
    let file = file_of(&one, "laptop.herma");
    let file = file.to_str().unwrap();
    from.run(["export", "2-3", file]).success();
    // Into a directory that nothing was saved of.
    let to = two.work_dir("empty");
    to.run(["import", file]).success();
    let again = json(&to.run(["import", file, "--json"]).success());
    assert_eq!(again["was_there"], true);
    to.run(["import", file, "--name", "desk"]).success();
    let taken = from.run(["export", "1", file_of(&one, "other.herma").to_str().unwrap()]);
    taken.success();
    let said = to.run(["import", file_of(&one, "other.herma").to_str().unwrap(), "--name", "desk"]);
    assert!(said.code(2).to_string().contains("another line `desk`"));
    let listed = json(&to.run(["import", "--list", "--json"]).success());
    assert_eq!(listed["lines"].as_array().unwrap().len(), 2);
    to.run(["restore", "@@desk"]).success();
    herma_testkit::tree::assert_same(&from.tree(), &to.tree(), "in an empty directory");

    // Cleaning as hard as can be drops none of it.
    to.run(["config", "set", "checkpoints.max_snapshots", "1"]).success();
    to.run(["checkpoints", "prune", "--yes"]).success();
    to.run(["checkpoints", "gc"]).success();
    let listed = json(&to.run(["import", "--list", "--json"]).success());
    assert_eq!(listed["lines"][0]["numbers"], serde_json::json!([2, 3]));
    to.run(["show", "2@laptop"]).success();
    to.run(["checkpoints", "verify"]).success();
    two.fsck();

    to.run(["import", "--remove", "laptop"]).success();
    to.run(["import", "--remove", "desk"]).success();
    to.run(["show", "2@laptop"]).code(10);
    to.run(["checkpoints", "gc"]).success();
    to.run(["checkpoints", "verify"]).success();
    two.fsck();
    // And it comes in again after that.
    to.run(["import", file]).success();
    to.run(["show", "2@laptop"]).success();
    two.fsck();
}

#[test]
fn a_store_that_was_pruned_and_purged_is_exported_as_it_is() {
    let (one, two) = (test_env(), test_env());
    let from = worked(&one);
    from.write("key.txt", "a secret to be purged\n");
    from.run(["save", "-m", "leaked"]).success();
    from.remove("key.txt");
    from.write("a.txt", "four\n");
    from.run(["save", "-m", "fifth"]).success();
    from.run(["purge", "--yes", "key.txt"]).success();
    from.run(["drop", "2", "--yes", "--pinned"]).success();
    from.run(["checkpoints", "gc"]).success();
    let file = file_of(&one, "cut.herma");
    let file = file.to_str().unwrap();
    from.run(["export", "--all", file]).success();
    let to = two.work_dir("project");
    to.run(["import", file]).success();
    two.fsck();
    to.run(["checkpoints", "verify"]).success();
    let shown = json(&to.run(["show", "4@cut", "--json"]).success());
    let purged = shown["left_out"].as_array().unwrap().iter();
    let purged: Vec<_> = purged.filter(|one| one["reason"] == "purged").collect();
    assert_eq!(purged[0]["path"], "key.txt");
    to.run(["show", "2@cut"]).code(10);
    to.run(["restore", "5@cut"]).success();
    herma_testkit::tree::assert_same(&from.tree(), &to.tree(), "the newest state");
    // The same store, the same project: what is there keeps its history.
    from.run(["import", file]).success();
    from.run(["checkpoints", "gc"]).success();
    from.run(["checkpoints", "verify"]).success();
    one.fsck();
}

#[test]
fn a_purge_reaches_what_came_in() {
    let (one, two) = (test_env(), test_env());
    let from = worked(&one);
    from.write("key.txt", "a secret to be purged\n");
    from.run(["save", "-m", "leaked"]).success();
    let file = file_of(&one, "laptop.herma");
    from.run(["export", "--all", file.to_str().unwrap()]).success();
    let to = two.work_dir("project").files([("mine.txt", "mine\n")]);
    to.run(["save", "-m", "mine"]).success();
    to.run(["import", file.to_str().unwrap()]).success();
    to.run(["purge", "--yes", "key.txt"]).success();
    let shown = json(&to.run(["show", "4@laptop", "--json"]).success());
    let purged = shown["left_out"].as_array().unwrap().iter();
    let purged: Vec<_> = purged.filter(|one| one["reason"] == "purged").collect();
    assert_eq!(purged[0]["path"], "key.txt");
    for (path, bytes) in state_of(&two) {
        let is_there = bytes.windows(20).any(|part| part == b"a secret to be purge");
        assert!(!is_there, "{}", path.display());
    }
    two.fsck();
    // The same file is the same line: it does not bring the secret back.
    let again = json(&to.run(["import", file.to_str().unwrap(), "--json"]).success());
    assert_eq!(again["was_there"], true);
}

#[test]
fn every_byte_that_is_flipped_or_cut_is_noticed_and_nothing_changes() {
    let (one, two) = (test_env(), test_env());
    let from = one.work_dir("project").files([("a.txt", "one\n")]);
    from.run(["save", "-m", "first"]).success();
    let file = file_of(&one, "small.herma");
    from.run(["export", "--all", file.to_str().unwrap()]).success();
    let whole = fs::read(&file).unwrap();
    let to = two.work_dir("project").files([("mine.txt", "mine\n")]);
    to.run(["save", "-m", "mine"]).success();
    let before = state_of(&two);
    let broken = file_of(&two, "broken.herma");
    // The program is started for some; `herma-exchange` tries them all.
    let step = whole.len() / 24;
    for at in (0..whole.len()).step_by(step.max(1)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        for bytes in [bytes, whole[..at].to_vec()] {
            fs::write(&broken, bytes).unwrap();
            let said = to.run(["import", broken.to_str().unwrap()]).code(2).to_string();
            assert!(said.contains("Nothing was changed"), "{at}: {said}");
        }
    }
    assert_eq!(state_of(&two), before, "nothing was changed");
    let mut newer = whole.clone();
    newer[8] = 9;
    fs::write(&broken, sealed(newer)).unwrap();
    let said = to.run(["import", broken.to_str().unwrap()]).code(2).to_string();
    assert!(said.contains("format 9") && said.contains("newest herma"), "{said}");
    fs::write(&broken, whole).unwrap();
    to.run(["import", broken.to_str().unwrap()]).success();
}

#[test]
fn an_older_program_refuses_a_store_with_lines_and_no_other() {
    let (one, two) = (test_env(), test_env());
    let from = worked(&one);
    let format = |env: &TestEnv| fs::read_to_string(env.store().join("herma/format")).unwrap();
    let file = file_of(&one, "laptop.herma");
    from.run(["export", "--all", file.to_str().unwrap()]).success();
    assert_eq!(format(&one), "herma-store 2\n", "an export changes nothing");
    let to = two.work_dir("project");
    to.run(["import", file.to_str().unwrap()]).success();
    assert_eq!(format(&two), "herma-store 3\n");
    to.write("a.txt", "more\n");
    to.run(["save", "-m", "more"]).success();
    assert_eq!(format(&two), "herma-store 3\n", "and stays so");
}

#[test]
fn a_wrong_line_is_answered_with_what_to_type() {
    let env = test_env();
    let project = worked(&env);
    for (args, code, words) in [
        (vec!["export"], 2, "needs CHECKPOINT|FILE"),
        (vec!["export", "3"], 2, "needs the checkpoints and then the file"),
        (vec!["export", "--all", "3", "x.herma"], 2, "every checkpoint"),
        (vec!["export", "99", "x.herma"], 10, "there is no checkpoint 99"),
        (vec!["export", "3", "no/such/x.herma"], 1, "no/such"),
        (vec!["import", "no-such.herma"], 1, "no-such.herma"),
        (vec!["import", "a.txt"], 2, "not a file that `herma export` wrote"),
        (vec!["import", "src"], 2, "ordinary file"),
        (vec!["import", "a.txt", "--name", "a/b"], 2, "cannot be the name of a line"),
        (vec!["import", "--remove", "x"], 10, "there is no line `x`"),
    ] {
        let said = project.run(&args).code(code).to_string();
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!project.exists("x.herma"));
    }
}
