//! What a hostile review of steps and undoing found, and stays found.

use herma_core::LineAuthor;
use herma_core::engine::NoProgress;
use herma_core::error::Error;
use herma_core::steps::{Doubt, StepChoice, StepEnd, StepKind, StepStart, TurnChoice};
use herma_core::types::checkpoint::Facts;
use herma_core::{NextMove, UndoLast, UndoSteps, WhichStep};

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
fn a_project_that_goes_and_comes_back_loses_no_step() {
    let p = TestProject::new();
    p.write("f", "0\n");
    p.step("a", || p.write("f", "1\n"));
    let moved = p.base().join("moved");
    std::fs::rename(p.path(""), &moved).unwrap();
    let engine = p.another_engine();
    let there = engine.project(&moved).unwrap();
    there.adopt(&there.adoptable().unwrap().pop().unwrap()).unwrap();
    for (agent, text) in [("b", "2\n"), ("c", "3\n")] {
        let facts = Facts { agent: Some(agent.to_owned()), ..Facts::default() };
        let start = StepStart { facts, ..StepStart::default() };
        let begun = there.begin_step(StepKind::Tool, start, &NoProgress).unwrap();
        std::fs::write(moved.join("f"), text).unwrap();
        there.end_step(&WhichStep::Id(begun.step.id()), &NoProgress).unwrap();
    }
    drop(there);
    std::fs::rename(&moved, p.path("")).unwrap();
    // It is worked in before it gets its history back.
    for (agent, text) in [("d", "4\n"), ("e", "5\n"), ("f", "6\n")] {
        p.step(agent, || p.write("f", text));
    }
    let here = p.project();
    here.adopt(&here.adoptable().unwrap().pop().unwrap()).unwrap();
    let listed = here.steps(&StepChoice::default()).unwrap();
    let mut agents: Vec<&str> = listed.iter().map(|listed| listed.step.agent()).collect();
    agents.sort_unstable();
    assert_eq!(agents, ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn what_somebody_did_not_want_undone_is_not_marked_as_undone() {
    let p = TestProject::new();
    p.write("f", "0\n");
    p.save("start");
    p.step("a", || {
        p.write("f", "1\n");
        p.write("g", "1\n");
    });
    let project = p.project();
    let next = project.plan_undo(&UndoLast::default(), &NoProgress).unwrap();
    let NextMove::Steps(mut planned) = next else { panic!("there is a step") };
    planned.plan.leave(&super::authorship::rel("g"));
    project.carry_out(NextMove::Steps(planned), &NoProgress, false).unwrap();
    assert_eq!((p.read("f"), p.read("g")), ("0\n".to_owned(), "1\n".to_owned()));
    let rows = project.rows(&StepChoice::default(), 9, None).unwrap().rows;
    let call = rows.iter().flat_map(|row| &row.calls).find(|call| call.step.agent() == "a");
    assert!(call.is_some_and(|call| call.in_part && !call.undone));
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
