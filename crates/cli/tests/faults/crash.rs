//! The power fails at any moment of a command, and the disk keeps, loses or garbles what was not synced: what
//! was acknowledged is there, nothing is to be repaired, and the next command works.

use herma_core::steps::{StepChoice, StepEnd};

use super::crash_checks::{check, check_store};
use super::power_cut::{BY_ENGINE, Cut, cut_power, need};
use super::scene::Scene;
use super::step_scenes::engine;
use super::test_env;

#[track_caller]
fn in_the_middle_of(name: &str, scene: &Scene) {
    scene.reset();
    let engine = engine(&scene.env.home());
    let check = |cut: Cut| check(scene, &engine, cut);
    cut_power(name, &scene.faults(), scene.env.root(), BY_ENGINE, &check);
}

#[test]
fn the_first_save_on_a_new_machine() {
    in_the_middle_of("first save", &Scene::first_save());
}

#[test]
fn a_save_of_changes() {
    in_the_middle_of("save", &Scene::second_save());
}

#[test]
fn a_fast_save_may_be_lost_and_damages_nothing() {
    let scene = Scene::fast_save();
    scene.reset();
    let engine = engine(&scene.env.home());
    let check = |cut: Cut| {
        let unpromised = Cut { is_acknowledged: false, is_over: false, ..cut };
        check(&scene, &engine, unpromised)
    };
    let root = scene.env.root();
    cut_power("save --fast", &scene.faults(), root, BY_ENGINE, &check);
}

#[test]
fn a_save_that_finds_a_fast_one_makes_it_last() {
    let scene = Scene::fast_save();
    scene.reset();
    let engine = engine(&scene.env.home());
    let script = r#""$HERMA" --quiet save --fast && "$HERMA" save"#;
    let command = scene.env.script_faults(scene.project().path(), script);
    let check = |cut: Cut| check(&scene, &engine, cut);
    let root = scene.env.root();
    cut_power("save --fast, save", &command, root, BY_ENGINE, &check);
}

#[test]
fn a_restore_over_unsaved_changes() {
    in_the_middle_of("restore", &Scene::restore());
}

#[test]
fn an_undo() {
    in_the_middle_of("undo", &Scene::undo());
}

#[test]
fn a_redo() {
    in_the_middle_of("redo", &Scene::redo());
}

#[test]
fn the_end_of_a_restore_that_was_killed_before() {
    in_the_middle_of("continue", &Scene::finish());
}

#[test]
fn the_reversal_of_a_restore_that_was_killed_before() {
    in_the_middle_of("reverse", &Scene::reverse());
}

#[test]
fn an_undo_of_a_step_that_keeps_later_edits() {
    in_the_middle_of("undo step", &Scene::undo_step());
}

#[test]
fn a_purge() {
    let scene = Scene::purge();
    scene.reset();
    let engine = engine(&scene.env.home());
    let check = |_: Cut| {
        check_store(&engine)?;
        let project = scene.project();
        let open = engine.project(project.path()).expect("a project");
        let listed = open.timeline().expect("a list");
        need(listed.len() == scene.saved.len(), || format!("{} checkpoints", listed.len()))?;
        let marked = listed.iter().filter(|c| c.pinned || !c.names.is_empty());
        need(marked.count() == 2, || "a name or a pin is lost".to_owned())
    };
    cut_power("purge", &scene.faults(), scene.env.root(), BY_ENGINE, &check);
}

#[test]
fn the_beginning_of_a_step() {
    in_the_middle_of("step begin", &Scene::step_begin());
}

#[test]
fn the_end_of_a_step_that_is_remembered_once_it_was_said_to_be() {
    let scene = Scene::step_end();
    scene.reset();
    let engine = engine(&scene.env.home());
    let check = |cut: Cut| {
        let project = scene.project();
        let open = engine.project(project.path()).expect("a project");
        let steps = open.steps(&StepChoice::default()).expect("steps");
        let is_known = steps.iter().any(|listed| {
            listed.step.handle == 1 && matches!(listed.step.end, StepEnd::Changed(..))
        });
        need(is_known || !cut.is_acknowledged, || format!("the step is forgotten: {steps:?}"))?;
        check(&scene, &engine, cut)
    };
    cut_power("step end", &scene.faults(), scene.env.root(), BY_ENGINE, &check);
}

#[test]
fn a_run_whose_step_is_remembered_once_it_was_said_to_be() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let engine = engine(&env.home());
    let command = project.faults(["run", "--", "sh", "-c", "echo two > a.txt"]);
    let check = |cut: Cut| {
        check_store(&engine)?;
        let open = engine.project(project.path()).expect("a project");
        let steps = open.steps(&StepChoice::default()).expect("steps");
        let is_known = steps.iter().any(|listed| listed.undoable);
        need(is_known || !cut.is_acknowledged, || format!("the step is forgotten: {steps:?}"))
    };
    cut_power("run", &command, env.root(), BY_ENGINE, &check);
}

#[test]
fn a_repair() {
    in_the_middle_of("repair", &Scene::repair());
}

#[test]
fn a_drop_of_a_named_and_pinned_checkpoint() {
    in_the_middle_of("drop", &Scene::drop());
}

#[test]
fn a_collection() {
    in_the_middle_of("gc", &Scene::gc());
}

#[test]
fn a_cleaning() {
    in_the_middle_of("prune", &Scene::prune());
}

#[test]
fn a_cleaning_in_the_background() {
    in_the_middle_of("maintain", &Scene::maintain());
}

#[test]
fn a_name() {
    in_the_middle_of("name", &Scene::mark(&["name", "@-1", "good"]));
}

#[test]
fn a_pin() {
    in_the_middle_of("pin", &Scene::mark(&["pin", "@-1"]));
}
