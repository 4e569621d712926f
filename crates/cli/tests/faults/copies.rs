//! Copies of old states, whose making or removing is killed or meets an error: the project stays as it is, the store stays
//! whole, and cleaning removes what is left and nothing else.

use herma_testkit::TestEnv;
use herma_testkit::faults::{self, Outcome};
use herma_testkit::tree::assert_same;

use super::copy::copy;
use super::disturb::{Disturbed, succeeded};
use super::scene::{first, second, third};
use super::{assert_sound, json, test_env};

/// Prepares a world, disturbs a command in it, and checks. What is left is removed.
fn disturb(
    name: &str,
    stride: u64,
    prepare: &[&[&str]],
    args: &[&str],
    check: &dyn Fn(&TestEnv, &Outcome),
) {
    disturb_and_clean(name, (stride, &["open", "--clean"]), prepare, args, check);
}

fn disturb_and_clean(
    name: &str,
    (stride, clean): (u64, &[&str]),
    prepare: &[&[&str]],
    args: &[&str],
    check: &dyn Fn(&TestEnv, &Outcome),
) {
    if !faults::available() || !herma_testkit::git::available() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project");
    for state in [first(), second()] {
        state.write(project.path());
        project.run(["save"]).success();
    }
    third().write(project.path());
    let template = tempfile::tempdir().unwrap();
    for part in ["work", "hermes", "user"] {
        std::fs::create_dir(template.path().join(part)).unwrap();
        copy(&env.root().join(part), &template.path().join(part));
    }
    let present = project.tree();
    let disturbed = Disturbed {
        name,
        command: project.faults(args),
        reset: &|| {
            for part in ["work", "hermes", "user"] {
                copy(&template.path().join(part), &env.root().join(part));
            }
            // Made anew each time: another directory in the place of a copy is nobody's to remove.
            for args in prepare {
                project.run(*args).success();
            }
        },
        check: &|outcome| {
            assert_same(&present, &project.tree(), "the present stays as it is");
            assert_sound(&env.repository());
            check(&env, outcome);
            // Whatever happened, cleaning removes it, and there is nothing else.
            project.run(clean).success();
            let listed = json(&project.run(["open", "--list", "--json"]).success());
            assert_eq!(listed["copies"].as_array().unwrap().len(), 0, "{listed}");
            let cache = env.user_home().join(".cache/herma/open");
            let left: Vec<_> = std::fs::read_dir(cache).into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "left: {left:?}");
            assert!(!env.root().join("work/copy").exists());
            assert_same(&present, &project.tree(), "the present stays as it is");
            assert_sound(&env.repository());
            let refs = env.git(["for-each-ref", "--format=%(refname)", "refs/herma/"]).success();
            assert_eq!(refs.text().lines().count(), 4, "two checkpoints: {refs}");
            project.run(["save"]).success();
        },
    };
    disturbed.everywhere(stride);
}

#[test]
fn an_open_that_is_disturbed_leaves_what_cleaning_removes() {
    disturb("open", 2, &[], &["open", "1"], &|env, outcome| {
        let place = env.user_home().join(".cache/herma/open/project-1");
        if succeeded(outcome) {
            assert_same(&first(), &herma_testkit::Tree::read(&place), "all of it is there");
        }
    });
}

#[test]
fn a_removal_that_is_disturbed_is_finished_by_the_next() {
    let prepare: &[&[&str]] = &[&["open", "1"]];
    disturb("open --clean", 2, prepare, &["open", "--clean"], &|_, outcome| {
        succeeded(outcome);
    });
}

#[test]
fn a_try_that_is_disturbed_leaves_what_cleaning_removes() {
    let args = ["try", "-k", "2", "1", "--", "true"];
    let clean: &[&str] = &["try", "--clean"];
    disturb_and_clean("try", (4, clean), &[], &args, &|_, outcome| {
        succeeded(outcome);
    });
}

/// A promotion is done or not, or the next command finishes it or goes back.
#[test]
fn a_promotion_that_is_disturbed_is_done_or_not() {
    if !faults::available() || !herma_testkit::git::available() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project");
    first().write(project.path());
    project.run(["save"]).success();
    third().write(project.path());
    let template = tempfile::tempdir().unwrap();
    for part in ["work", "hermes", "user"] {
        std::fs::create_dir(template.path().join(part)).unwrap();
        copy(&env.root().join(part), &template.path().join(part));
    }
    let place = env.root().join("work/copy");
    let path = place.display().to_string();
    let reset = || {
        for part in ["work", "hermes", "user"] {
            copy(&template.path().join(part), &env.root().join(part));
        }
        project.run(["open", "1", &path]).success();
        std::fs::create_dir(place.join("made")).unwrap();
        for name in ["made/one", "made/two", "zz"] {
            std::fs::write(place.join(name), name).unwrap();
        }
    };
    let before = project.tree();
    reset();
    project.run(["promote", &path]).success();
    let after = project.tree();
    assert_ne!(before, after);
    let disturbed = Disturbed {
        name: "promote",
        command: project.faults(["promote", &path]),
        reset: &reset,
        check: &|outcome| {
            let is_done = succeeded(outcome);
            assert_sound(&env.repository());
            // What was interrupted is finished; where nothing was, this says so.
            let _ = project.run(["restore", "--continue"]);
            let now = project.tree();
            assert!(now == before || now == after, "half done: {now:?}");
            assert!(!is_done || now == after);
            if now == before {
                project.run(["promote", &path]).success();
                assert_same(&after, &project.tree(), "the next does it");
            }
            project.run(["undo"]).success();
            assert_same(&before, &project.tree(), "undone at once");
            assert_eq!(std::fs::read(place.join("zz")).unwrap(), b"zz", "the copy stays");
            project.run(["open", "--clean", &path]).success();
            assert_sound(&env.repository());
            assert!(!place.exists());
        },
    };
    disturbed.everywhere(2);
}
