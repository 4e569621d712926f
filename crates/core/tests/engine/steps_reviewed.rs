//! What a hostile review of steps and undoing found, and stays found.

use herma_core::LineAuthor;
use herma_core::engine::NoProgress;
use herma_core::error::Error;
use herma_core::steps::{Doubt, StepChoice, StepEnd, StepKind, StepStart, TurnChoice};
use herma_core::types::checkpoint::Facts;
use herma_core::{UndoSteps, WhichStep};

use super::project::TestProject;
use super::steps::of_steps;

fn in_session(turn: &str) -> StepStart {
    StepStart {
        facts: Facts {
            agent: Some("a".into()),
            session: Some("s".into()),
            turn: Some(turn.into()),
            tool: Some("Edit".into()),
            ..Facts::default()
        },
        ..StepStart::default()
    }
}

#[test]
fn a_call_whose_end_nobody_told_does_not_reach_over_the_next_step() {
    let p = TestProject::new();
    p.write("f", "1\n2\n3\n");
    p.save("start");
    let silent = p.begin_as(in_session("1"));
    p.project().begin_turn("s", &Facts::default(), None).unwrap();
    let step = p.begin_as(in_session("2"));
    p.write("f", "1\ntwo\n3\n");
    let step = p.end(step).id();
    let taken = p.undo_steps(&of_steps(&[step]));
    assert_eq!(taken.plan.steps, [step]);
    assert_eq!(taken.plan.uncertain(), []);
    assert_eq!(p.read("f"), "1\n2\n3\n");
    assert_ne!(silent, step);
}

#[test]
fn a_run_that_was_killed_ends_when_the_next_step_begins() {
    let p = TestProject::new();
    p.write("f", "1\n2\n3\n");
    let begun = p.project().begin_step(StepKind::Run, StepStart::default(), &NoProgress).unwrap();
    // As another process of this boot that is gone by now.
    let record =
        p.store().join("herma/projects").join(p.project().id().as_str()).join("steps/00000001");
    let text = std::fs::read_to_string(&record).unwrap();
    let owner = begun.step.owner.unwrap();
    let mut parts: Vec<&str> = owner.split('-').collect();
    parts[3] = "4194304";
    std::fs::write(&record, text.replace(&owner, &parts.join("-"))).unwrap();
    let step = p.step("a", || p.write("f", "1\ntwo\n3\n"));
    p.write("g", "by hand\n");
    let listed = p.project().steps(&StepChoice::default()).unwrap();
    let killed = listed.iter().find(|listed| listed.step.handle == 1);
    assert!(matches!(killed.unwrap().step.end, StepEnd::Unknown(_)));
    p.undo_steps(&of_steps(&[step]));
    assert_eq!(p.read("f"), "1\n2\n3\n");
    assert_eq!(p.read("g"), "by hand\n");
}

#[test]
fn a_project_that_moved_takes_its_steps_along() {
    let p = TestProject::new();
    p.write("f", "1\n2\n3\n4\n5\n6\n");
    p.save("start");
    p.save("again");
    let step = p.step("a", || p.write("f", "1\ntwo\n3\n4\n5\n6\n"));
    p.write("f", "1\ntwo\n3\n4\n5\nsix\n");
    p.save("by hand");
    let moved = p.base().join("moved");
    std::fs::rename(p.path(""), &moved).unwrap();
    let engine = p.another_engine();
    let project = engine.project(&moved).unwrap();
    let from = project.adoptable().unwrap().pop().unwrap();
    project.adopt(&from).unwrap();
    let plan = project.plan_undo_steps(&of_steps(&[step]), &NoProgress).unwrap();
    assert_eq!((plan.steps.clone(), plan.uncertain()), (vec![step], vec![]));
    project.undo_as_planned(plan, &NoProgress).unwrap();
    let text = std::fs::read_to_string(moved.join("f")).unwrap();
    assert_eq!(text, "1\n2\n3\n4\n5\nsix\n");
    let next = project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress).unwrap();
    assert!(next.step.handle > 1, "no handle is given twice");
}

#[test]
fn the_last_turn_is_the_last_one_whatever_numbers_are_asked_for() {
    let p = TestProject::new();
    p.write("f", "0\n");
    let mut steps = Vec::new();
    for (turn, text) in [("1", "1\n"), ("2", "2\n")] {
        let step = p.begin_as(in_session(turn));
        p.write(&format!("f{turn}"), text);
        steps.push(p.end(step).id());
    }
    let asked = UndoSteps {
        steps: StepChoice {
            ids: vec![steps[0]],
            turn: Some(TurnChoice::Last),
            ..StepChoice::default()
        },
        ..UndoSteps::default()
    };
    let refused = p.project().plan_undo_steps(&asked, &NoProgress);
    assert!(matches!(refused, Err(Error::NoSteps)), "{refused:?}");
}

#[test]
fn a_step_that_changed_nothing_is_nothing_to_undo() {
    let p = TestProject::new();
    p.write("f", "1\n");
    let step = p.step("a", || {});
    let taken = p.undo_steps(&of_steps(&[step]));
    assert!(taken.restored.is_none() && taken.plan.is_empty());
    let which = WhichStep::Id(step);
    let again = p.project().end_step(&which, &NoProgress);
    assert!(matches!(again, Err(Error::StepIsOver(_))));
}

#[test]
fn what_is_in_doubt_says_why() {
    let p = TestProject::new();
    p.write("f", "1\n");
    p.save("start");
    let first = p.step("a", || p.write("f", "2\n"));
    let second = p.step("a", || p.write("g", "2\n"));
    let open = p.begin("a", "Bash");
    p.write("h", "3\n");
    let gone = p.find("@-1");
    p.project().drop_checkpoint(&gone).unwrap();
    let doubt = |step| p.plan_undo_steps(&of_steps(&[step])).doubts;
    assert_eq!(doubt(open), [(open, Doubt::StillOpen)]);
    let both = p.plan_undo_steps(&of_steps(&[first, second])).doubts;
    assert_eq!(both, [(first, Doubt::CheckpointGone), (second, Doubt::CheckpointGone)]);
    assert_ne!(LineAuthor::Hand, LineAuthor::Step(first));
}
