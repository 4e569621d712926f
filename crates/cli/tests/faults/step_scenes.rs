//! Scenes with steps: what an agent did is undone, and what a person did meanwhile stays.

use std::path::Path;
use std::sync::Arc;

use herma_core::engine::NoProgress;
use herma_core::error::Error;
use herma_core::steps::{StepChoice, StepId, StepKind, StepStart};
use herma_core::types::clock::{FixedClock, Timestamp};
use herma_core::{
    Clock, Engine, EngineOptions, Project, RelPath, Settings, Spec, UndoSteps, WhichStep,
};
use herma_testkit::tree::assert_same;
use herma_testkit::{Node, Tree, WorkDir};

use super::scene::{Action, Scene, Transaction, first, second};

/// What a person did, on top of a state.
fn with_edits(mut tree: Tree) -> Tree {
    let file = |text: &str| Node::File { bytes: text.into(), mode: 0o644 };
    tree.insert("b.txt", file("edited by hand\n"));
    tree.insert("by-hand.txt", file("made by hand\n"));
    tree
}

/// The project after an agent's step and a person's edits.
fn worked() -> Tree {
    with_edits(second())
}

/// The person's edits without the agent's step.
fn kept() -> Tree {
    with_edits(first())
}

pub(super) fn engine(home: &Path) -> Engine {
    let time = Timestamp { seconds: 1_700_000_000, nanos: 0, offset_minutes: 0 };
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(time));
    Engine::new(EngineOptions {
        home: home.to_owned(),
        user_home: None,
        clock,
        settings: Settings::default(),
    })
}

/// An agent's step that leads from the first state to the second, and then what a person did.
fn work(home: &Path, project: &WorkDir<'_>, after: &Tree) {
    project.run(["name", "@", "start"]).success();
    let engine = engine(home);
    let open = engine.project(project.path()).expect("a project");
    let begun = open.begin_step(StepKind::Tool, StepStart::default(), &NoProgress);
    let step = begun.expect("a step begins").step.id();
    second().write(project.path());
    let ended = open.end_step(&WhichStep::Id(step), &NoProgress);
    assert_eq!(ended.expect("a step ends").step.number, Some(2));
    after.write(project.path());
}

impl Scene {
    fn with_step(args: &[&str], from: fn() -> Tree, to: fn() -> Tree) -> Self {
        let transaction = Transaction { from, to, is_undone: false, other_way: "undo" };
        let action = Action::Restore(transaction);
        let prepare = |project: &WorkDir<'_>, home: &Path| work(home, project, &from());
        let mut scene = Self::prepared(&[first()], &first(), prepare, args, action);
        scene.has_step = true;
        scene
    }

    /// The beginning of a step, over changes nobody saved.
    pub(super) fn step_begin() -> Self {
        let args = ["step", "begin", "--json"];
        Self::prepared(&[first()], &second(), |_, _| (), &args, Action::Save)
    }

    /// The end of a step that changed files.
    pub(super) fn step_end() -> Self {
        let prepare = |project: &WorkDir<'_>, _: &Path| {
            project.run(["step", "begin"]).success();
            second().write(project.path());
        };
        let args = ["step", "end", "s1", "--json"];
        Self::prepared(&[first()], &first(), prepare, &args, Action::Save)
    }

    /// An undo of a step, after a person edited files.
    pub(super) fn undo_step() -> Self {
        Self::with_step(&["undo", "2"], worked, kept)
    }

    /// A restore that keeps a person's edits.
    pub(super) fn restore_keeping_edits() -> Self {
        Self::with_step(&["restore", "start"], worked, kept)
    }

    /// A restore that finds nothing to keep.
    pub(super) fn restore_of_a_step() -> Self {
        Self::with_step(&["restore", "start"], second, first)
    }
}

/// The step that was acknowledged is known as it was, and the command does what it would have done.
pub(super) fn check_step(scene: &Scene) {
    let Action::Restore(transaction) = scene.action else {
        return;
    };
    let project = scene.project();
    let asked = UndoSteps {
        steps: StepChoice { ids: vec![StepId::Number(2)], ..StepChoice::default() },
        ..UndoSteps::default()
    };
    let engine = engine(&scene.env.home());
    let open = engine.project(project.path()).expect("a project");
    let plan = || open.plan_undo_steps(&asked, &NoProgress);
    let stash = scene.stash();
    if scene.is_interrupted() {
        let refused = plan();
        assert!(
            matches!(refused, Err(Error::RestoreUnfinished)),
            "nothing is worked out from half-restored files: {refused:?}"
        );
        for command in [&["undo"][..], &["restore", "--continue"]] {
            scene.reset_to(&stash);
            project.run(command).success();
            assert_no_move_is_a_persons(scene, &open);
        }
        scene.reset_to(&stash);
        project.run(["undo"]).success();
    }
    let plan = plan().expect("the step is remembered");
    assert_eq!((plan.steps.clone(), plan.uncertain()), (vec![StepId::Number(2)], Vec::new()));
    scene.run_again().success();
    let to = (transaction.to)();
    assert_same(&to, &project.tree(), "undone, then done after all");
    scene.reset_to(&stash);
}

/// What a restore did, or undid, is never taken for what a person did.
fn assert_no_move_is_a_persons(scene: &Scene, open: &Project) {
    let start = Spec::parse("start").expect("a name");
    let asked = UndoSteps {
        since: Some(open.find(&start).expect("the first checkpoint")),
        ..UndoSteps::default()
    };
    let plan = open.plan_undo_steps(&asked, &NoProgress);
    let by_hand = plan.expect("a plan").by_hand;
    let edited = ["b.txt", "by-hand.txt"];
    let is_edit = |path: &RelPath| edited.contains(&path.to_string().as_str());
    assert!(by_hand.iter().all(is_edit), "{by_hand:?}");
    assert!(!scene.is_interrupted());
}
