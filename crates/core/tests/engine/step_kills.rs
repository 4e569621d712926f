//! Beginning and ending a step, killed at every n-th call that changes storage: what was acknowledged before
//! stays known, and the step can be begun or ended after all.

use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::steps::{StepId, StepKind, StepStart};
use herma_core::{Engine, Error, Settings, WhichStep};
use herma_testkit::faults::{Fault, Faults};
use herma_testkit::git::Repository;
use herma_testkit::{Bounded, faults};

use super::project::{TestProject, engine};
use super::steps::of_steps;

const HOME: &str = "HERMA_TEST_HOME";
const ROOT: &str = "HERMA_TEST_ROOT";
const WORK: &str = "HERMA_TEST_WORK";

fn work(engine: &Engine, root: &Path, name: &str) -> Result<StepId, Error> {
    let project = engine.project(root)?;
    let step = match name {
        "begin" => {
            let begun = project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress);
            begun?.step
        }
        "end" => project.end_step(&WhichStep::Id(StepId::Handle(2)), &NoProgress)?.step,
        other => panic!("{other}"),
    };
    Ok(step.id())
}

/// What the killed process does.
#[test]
#[ignore = "run by the others"]
fn worker() {
    let path = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap());
    let engine = engine(&path(HOME), None, Settings::default());
    work(&engine, &path(ROOT), &std::env::var(WORK).unwrap()).unwrap();
}

/// A project in which one step is over and something was edited by hand since.
fn scene() -> TestProject {
    let p = TestProject::new();
    p.write("a.txt", "old\n");
    p.write("b.txt", "old\n");
    p.save("first");
    p.step("claude", || p.write("a.txt", "first step\n"));
    p.write("b.txt", "by hand\n");
    p
}

fn copy_of(home: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").args([home, to]).bounded_status();
    assert!(copied.unwrap().success());
}

fn assert_sound(home: &Path) {
    let store = Repository::at(home.join("checkpoints/store"));
    let checks = ["fsck", "--strict", "--full", "--no-progress", "--no-dangling"];
    let output = store.git(checks).success();
    let mut words = output.text().lines().chain(output.error_text().lines());
    assert!(words.all(|line| line.starts_with("notice:")), "{output}");
}

fn kill_everywhere(p: &TestProject, name: &str, check: impl Fn(&Engine, StepId)) {
    if !faults::available() {
        return;
    }
    let homes = tempfile::tempdir().unwrap();
    let run = |fault: Fault, n: u64| {
        let home = homes.path().join(format!("{fault:?}-{n}"));
        copy_of(&p.home(), &home);
        let outcome = Faults::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine::step_kills::worker", "--ignored"])
            .env(HOME, &home)
            .env(ROOT, &p.root)
            .env(WORK, name)
            .run(fault, n);
        if fault != Fault::Count {
            assert!(outcome.hit.is_some(), "{name} {n}");
            assert_sound(&home);
            let engine = engine(&home, None, Settings::default());
            let project = engine.project(&p.root).unwrap();
            let first = StepId::Number(2);
            let plan = project.plan_undo_steps(&of_steps(&[first]), &NoProgress).unwrap();
            assert_eq!((plan.steps.clone(), plan.uncertain()), (vec![first], Vec::new()));
            let step = match work(&engine, &p.root, name) {
                // The record was written before the process died, and it may have got a number.
                Err(Error::StepIsOver(_)) => project.recent_steps().unwrap()[0].id(),
                step => step.unwrap(),
            };
            check(&engine, step);
            assert_sound(&home);
        }
        std::fs::remove_dir_all(&home).unwrap();
        outcome.count
    };
    let count = run(Fault::Count, 0);
    assert!(count > 10, "{name} does something");
    for n in Faults::positions(count) {
        run(Fault::Kill, n);
        run(Fault::KillAfter, n);
    }
}

#[test]
fn a_step_whose_end_was_killed_can_be_ended() {
    let p = scene();
    let step = p.begin("claude", "edit");
    p.write("a.txt", "second step\n");
    kill_everywhere(&p, "end", |engine, ended| {
        let project = engine.project(&p.root).unwrap();
        let plan = project.plan_undo_steps(&of_steps(&[step]), &NoProgress);
        let plan = plan.unwrap();
        assert_eq!((plan.steps.clone(), plan.uncertain()), (vec![ended], Vec::new()));
        let newest = project.timeline().unwrap().remove(0);
        assert_eq!(ended, StepId::Number(newest.number), "it has a checkpoint of its own");
        assert_eq!(plan.reversed.changes.len(), 1);
        assert_eq!(plan.reversed.conflicts, []);
    });
}

#[test]
fn a_step_whose_beginning_was_killed_can_be_begun() {
    let p = scene();
    kill_everywhere(&p, "begin", |engine, step| {
        assert!([2, 3].map(StepId::Handle).contains(&step), "{step}");
        let project = engine.project(&p.root).unwrap();
        let which = WhichStep::Id(step);
        project.end_step(&which, &NoProgress).unwrap();
    });
}
