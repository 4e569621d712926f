//! Taking rows in and removing them again, disturbed at their calls: the store is whole, what was there is as it was, and the next
//! run of the same command finishes what was begun.

use std::fs;

use herma_testkit::tree::assert_same;

use super::copy::copy;
use super::disturb::{Disturbed, succeeded};
use super::{assert_sound, json, test_env};

/// What an import would put into the store, and where to.
const FILE: &str = "../laptop.herma";

#[track_caller]
fn disturb_import(prepare: &[&str], command: &[&str], at_end: &[&str]) {
    if !herma_testkit::git::available() {
        return;
    }
    let elsewhere = test_env();
    let from = elsewhere.work_dir("project").files([("a.txt", "one\n"), ("src/b.txt", "b\n")]);
    from.run(["save", "-m", "first", "--name", "works"]).success();
    from.write("a.txt", "two\n");
    from.run(["save", "-m", "second"]).success();
    from.run(["pin", "2"]).success();
    let file = elsewhere.root().join("laptop.herma");
    from.run(["export", "2", file.to_str().unwrap()]).success();
    let env = test_env();
    let project = env.work_dir("project").files([("mine.txt", "mine\n")]);
    project.run(["save", "-m", "mine"]).success();
    fs::copy(&file, project.join(FILE)).unwrap();
    if !prepare.is_empty() {
        project.run(prepare).success();
    }
    let before = project.tree();
    let listed = |words: &[&str]| json(&project.run(words).success())["checkpoints"].clone();
    let own = listed(&["list", "--json"]);
    let template = tempfile::tempdir().unwrap();
    copy(env.root(), template.path());
    let disturbed = Disturbed {
        name: &command.join(" "),
        command: project.faults(command),
        reset: &|| copy(template.path(), env.root()),
        check: &|outcome| {
            let done = succeeded(outcome);
            assert_sound(&env.repository());
            assert_same(&before, &project.tree(), "the files are as they were");
            assert_eq!(listed(&["list", "--json"]), own, "and so are the checkpoints");
            project.run(["checkpoints", "verify"]).success();
            // A gc neither stops at what was begun nor takes what it needs.
            project.run(["checkpoints", "gc"]).success();
            assert_sound(&env.repository());
            if !done {
                let again = project.run(command);
                // A removal may be over but for telling.
                assert!(again.status.success() || command.contains(&"--remove"), "{again}");
            }
            project.run(at_end).success();
            project.run(["show", "2@laptop"]).success();
            project.run(["restore", "2@laptop"]).success();
            assert_eq!(project.read("a.txt"), "two\n");
            project.run(["checkpoints", "verify"]).success();
            assert_sound(&env.repository());
        },
    };
    disturbed.everywhere(1);
}

#[test]
fn an_import() {
    disturb_import(&[], &["import", FILE], &["import", FILE]);
}

#[test]
fn the_removal_of_a_line() {
    disturb_import(&["import", FILE], &["import", "--remove", "laptop"], &["import", FILE]);
}
