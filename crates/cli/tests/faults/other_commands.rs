//! The other commands that write to the store, disturbed at their calls.

use herma_testkit::WorkDir;
use herma_testkit::faults::{Outcome, Status};
use herma_testkit::tree::assert_same;

use super::disturb::{Disturbed, succeeded};
use super::scene::{Scene, first, second};
use super::{json, sweep};

/// Disturbs the command of a scene. `check` looks before everything is tried that must work after any command, and
/// tells whether this one can be run again.
fn disturb(name: &str, scene: &Scene, stride: u64, check: &dyn Fn(&Outcome) -> bool) {
    if !herma_testkit::git::available() {
        return;
    }
    let disturbed = Disturbed {
        name,
        command: scene.faults(),
        reset: &|| scene.reset(),
        check: &|outcome| {
            let stash = scene.stash();
            let can_be_run_again = check(outcome);
            scene.reset_to(&stash);
            if can_be_run_again {
                sweep::check(scene, outcome);
            } else {
                sweep::check_usable(scene);
            }
        },
    };
    disturbed.everywhere(stride);
}

/// The states of all steps, by handle.
#[track_caller]
fn states(project: &WorkDir<'_>) -> Vec<(String, String)> {
    let listed = json(&project.run(["steps", "--all", "--json"]).success());
    let steps = listed["steps"].as_array().expect("a list").iter();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    steps.map(|step| (text(&step["handle"]), text(&step["state"]))).collect()
}

/// The numbers that checkpoints have.
#[track_caller]
fn numbers_given(project: &WorkDir<'_>) -> Vec<u64> {
    let listed = json(&project.run(["list", "--json"]).success());
    let listed = listed["checkpoints"].as_array().expect("a list").iter();
    listed.map(|checkpoint| checkpoint["number"].as_u64().expect("a number")).collect()
}

/// Ends a step that changed something, and returns its number.
#[track_caller]
fn end_step(project: &WorkDir<'_>, handle: &str) -> String {
    let ended = json(&project.run(["step", "end", handle, "--json"]).success());
    let number = ended["step"]["number"].as_u64().expect("it has a number by now");
    assert!(numbers_given(project).iter().all(|given| *given <= number), "the newest: {number}");
    number.to_string()
}

#[test]
fn the_beginning_of_a_step() {
    let scene = Scene::step_begin();
    disturb("step begin", &scene, 2, &|outcome| {
        let known = states(&scene.project());
        if succeeded(outcome) {
            let begun = ("s1".to_owned(), "open".to_owned());
            assert_eq!(known, [begun], "the step that was said to have begun");
        }
        assert!(known.len() < 2, "{known:?}");
        if !known.is_empty() {
            scene.project().run(["step", "end", "s1"]).success();
        }
        let again = json(&scene.run_again().success());
        let handle = again["step"]["handle"].as_str().expect("a handle").to_owned();
        assert!(known.iter().all(|(other, _)| *other != handle), "a handle of its own");
        scene.project().write("b.txt", "by the agent\n");
        let given = numbers_given(&scene.project());
        let number = end_step(&scene.project(), &handle);
        assert!(given.iter().all(|other| other.to_string() != number), "a number of its own");
        scene.project().run(["undo", &number]).success();
        assert_same(&second(), &scene.project().tree(), "only the step is undone");
        true
    });
}

#[test]
fn the_end_of_a_step() {
    let scene = Scene::step_end();
    disturb("step end", &scene, 2, &|outcome| {
        let known = states(&scene.project());
        let state = match &known[..] {
            [(handle, state)] if handle == "s1" => state.as_str(),
            other => panic!("not the one step there is: {other:?}"),
        };
        if succeeded(outcome) {
            assert_eq!(state, "changed", "ended, but nobody knows");
        }
        match state {
            "changed" => {}
            "open" => drop(scene.run_again().success()),
            // Nothing could be saved, so what the call did is not known, and it is over all the same.
            "unknown" => {
                assert_ne!(outcome.status, Status::Signaled(9), "who noted that?");
                let said = scene.run_again().code(1);
                assert!(said.to_string().contains("has ended already"), "{said}");
                return false;
            }
            other => panic!("an unforeseen state: {other}"),
        }
        let listed = json(&scene.project().run(["steps", "--json"]).success());
        let number = listed["steps"][0]["number"].as_u64().expect("it has a number by now");
        assert!(numbers_given(&scene.project()).contains(&number), "of a checkpoint: {number}");
        scene.project().run(["undo", &number.to_string()]).success();
        assert_same(&first(), &scene.project().tree(), "undone");
        true
    });
}

#[test]
fn a_repair() {
    let scene = Scene::repair();
    disturb("repair", &scene, 2, &|_| true);
}
