//! Undoing all of an agent's steps, in any order, leaves exactly what everybody else did, as long as no two of
//! them were about the same lines.

use herma_core::steps::StepId;
use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;

use super::interleavings::{assert_plan, assert_undone, on_all_cores, quick_project, request};
use super::model::number;
use super::script::{Action, Asked, FIRST_FILES, Line, SLOTS, Script};
use super::steps::of_steps;

const CASES: u64 = 60;

/// Everything that can be done without two of it being about the same thing, in any order.
fn separate_work(random: &mut Random) -> Vec<Action> {
    let mut work = Vec::new();
    // The last file is deleted or moved, the others are edited.
    for file in 0..FIRST_FILES - 1 {
        work.extend((0..SLOTS - 1).map(|slot| Action::Edit { file, slot }));
        work.push(Action::Chmod { file, mode: 0o700 });
    }
    work.push(match random.below(2) {
        0 => Action::Delete { file: FIRST_FILES - 1 },
        _ => Action::Rewrite { file: FIRST_FILES - 1 },
    });
    work.push(Action::Rename { file: 0 });
    work.extend((5..8).map(|file| Action::Create { file }));
    shuffle(random, &mut work);
    work
}

fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for at in (1..items.len()).rev() {
        items.swap(at, random.below(at + 1));
    }
}

/// A day's work of two agents and a person.
fn day(random: &mut Random) -> Vec<Line> {
    let mut lines = vec![Line::Save];
    let mut work = separate_work(random).into_iter();
    for turn in 0..4 + random.below(3) {
        let agent = match (turn, random.below(3)) {
            (0, _) | (_, 0) => Some("claude"),
            (_, 1) => Some("codex"),
            _ => None,
        };
        lines.extend(agent.map(Line::Begin));
        let count = 1 + random.below(2);
        lines.extend(work.by_ref().take(count).map(Line::Do));
        lines.extend(agent.map(Line::End));
        if agent.is_none() && random.one_in(3) {
            lines.push(Line::Save);
        }
    }
    lines
}

fn steps_of(script: &Script, wanted: &str) -> Vec<u64> {
    let numbered = (1..).zip(&script.agents);
    numbered.filter(|(_, agent)| **agent == wanted).map(|(step, _)| step).collect()
}

fn check_case(seed: u64) {
    let mut random = Random::new(seed);
    let lines = day(&mut random);
    let script = Script::new(&lines).unwrap();
    let p = quick_project();
    script.perform(&lines, &p);
    let what = format!("seed {seed}: {lines:?}");
    let mut steps = steps_of(&script, "claude");
    let asked = Asked::Steps(steps.clone());
    let expected = script.expected(&asked);
    assert!(expected.conflicts.is_empty(), "the model: {what}");
    let plan = p.plan_undo_steps(&request(&p, &asked));
    assert_plan(&p, &plan, &expected, &what);
    match seed % 4 {
        0 => assert_undone(&p, &asked, &expected, &what),
        1 => {
            let asked = Asked::Restore;
            let expected = script.expected(&asked);
            assert_plan(&p, &p.plan_undo_steps(&request(&p, &asked)), &expected, &what);
            assert_undone(&p, &asked, &expected, &what);
        }
        _ => {
            shuffle(&mut random, &mut steps);
            for step in &steps {
                let step = StepId::Handle(*step as i64);
                let taken = p.undo_steps(&of_steps(&[step]));
                assert_eq!(taken.plan.reversed.conflicts, [], "step {step}, {what}");
                assert_eq!(taken.plan.steps, [p.called(step)], "{what}");
            }
            assert_same(&expected.tree, &p.tree(), &format!("{steps:?}, {what}"));
            p.fsck();
            for _ in &steps {
                p.undo().unwrap();
            }
            assert_same(&script.tree(), &p.tree(), &format!("undone, {what}"));
        }
    }
}

#[test]
fn undoing_an_agents_steps_in_any_order_leaves_what_others_did() {
    let first = number("HERMA_STEPS_FIRST", 0);
    let count = number("HERMA_STEPS_CASES", CASES);
    on_all_cores(count as usize, |case| check_case(first + case as u64));
}
