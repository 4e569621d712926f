//! Every kind of change by an agent, with every kind of change by somebody else before, between, after and
//! during its steps; and what is left when some of it is undone.
//!
//! What is expected comes from [`super::script`], which knows nothing of how undoing works. A fifth of
//! all rows runs each time; `HERMA_ALL_INTERLEAVINGS=1` runs all of them.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use herma_core::steps::{StepChoice, StepId};
use herma_core::{RelPath, Settings, UndoPlan, UndoSteps};
use herma_fs::publish::Durability;
use herma_testkit::tree::assert_same;

use super::project::TestProject;
use super::script::{Action, Asked, Expected, Line, Script};
use super::steps::of_steps;

/// A project whose saves need not survive a power cut.
pub fn quick_project() -> TestProject {
    TestProject::with(Settings { durability: Durability::Cache, ..Settings::default() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    Between,
    After,
    During,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Person,
    OtherAgent,
}

/// What the agent does, on the file the row is about.
const WORK: [Action; 7] = [
    Action::Edit { file: 0, slot: 0 },
    Action::Rewrite { file: 0 },
    Action::Format { slot: 3 },
    Action::Create { file: 3 },
    Action::Delete { file: 0 },
    Action::Rename { file: 0 },
    Action::Chmod { file: 0, mode: 0o755 },
];

/// What somebody else does: to another line, to the same line, to everything.
fn other_work(file: usize) -> [Action; 8] {
    [
        Action::Edit { file, slot: 5 },
        Action::Edit { file, slot: 0 },
        Action::Rewrite { file },
        Action::Format { slot: 4 },
        Action::Create { file: 4 },
        Action::Delete { file },
        Action::Rename { file },
        Action::Chmod { file, mode: 0o600 },
    ]
}

/// Two steps of one agent and one of another, and something else at some time.
fn lines(work: Action, other: Action, when: When, who: Who) -> Vec<Line> {
    let other = match (who, when) {
        (Who::Person, _) => vec![Line::Do(other)],
        // Its step goes on when the first one ends, so that what it does is nobody's.
        (Who::OtherAgent, When::During) => vec![Line::Begin("other"), Line::Do(other)],
        (Who::OtherAgent, _) => vec![Line::Begin("other"), Line::Do(other), Line::End("other")],
    };
    let at = |place: When| {
        if place == when { other.clone() } else { Vec::new() }
    };
    let mut lines = vec![Line::Save];
    lines.extend(at(When::Before));
    lines.extend([Line::Begin("claude"), Line::Do(work)]);
    lines.extend(at(When::During));
    lines.push(Line::End("claude"));
    if when == When::During && who == Who::OtherAgent {
        lines.push(Line::End("other"));
    }
    lines.extend(at(When::Between));
    let second = Action::Edit { file: 1, slot: 2 };
    lines.extend([Line::Begin("codex"), Line::Do(second), Line::End("codex")]);
    let third = Action::Format { slot: 1 };
    lines.extend([Line::Begin("claude"), Line::Do(third), Line::End("claude")]);
    lines.extend(at(When::After));
    lines
}

/// All scripts that make sense.
fn rows() -> Vec<(String, Vec<Line>)> {
    let mut rows = Vec::new();
    for work in WORK {
        for when in [When::Before, When::Between, When::After, When::During] {
            for who in [Who::Person, Who::OtherAgent] {
                let file = match work {
                    Action::Create { file } if when != When::Before => file,
                    _ => 0,
                };
                for other in other_work(file) {
                    let lines = lines(work, other, when, who);
                    if Script::new(&lines).is_some() {
                        rows.push((format!("{work:?}; {who:?} {when:?} {other:?}"), lines));
                    }
                }
            }
        }
    }
    rows
}

/// The question, as the engine takes it.
pub fn request(p: &TestProject, asked: &Asked) -> UndoSteps {
    let since = || {
        let oldest = p.oldest();
        Some(p.find(&oldest))
    };
    match asked {
        Asked::Steps(steps) => of_steps(&by_handle(steps)),
        Asked::Restore => UndoSteps { since: since(), ..UndoSteps::default() },
        Asked::OnlyAgent(agent) => UndoSteps {
            since: since(),
            steps: StepChoice { agent: Some((*agent).to_owned()), ..StepChoice::default() },
            ..UndoSteps::default()
        },
    }
}

fn names<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> BTreeSet<String> {
    paths.into_iter().map(ToString::to_string).collect()
}

/// The model counts steps as they begin.
pub fn by_handle(steps: &[u64]) -> Vec<StepId> {
    steps.iter().copied().map(|handle| StepId::Handle(handle as i64)).collect()
}

/// Asserts that a plan says what the model says.
pub fn assert_plan(p: &TestProject, plan: &UndoPlan, expected: &Expected, what: &str) {
    let conflicts = names(plan.reversed.conflicts.iter().map(|conflict| &conflict.path));
    assert_eq!(plan.exact.is_some(), expected.exact, "exact, {what}");
    let mut steps: Vec<StepId> =
        by_handle(&expected.steps).into_iter().map(|step| p.called(step)).collect();
    steps.sort_unstable();
    assert_eq!(plan.steps, steps, "steps, {what}");
    assert_eq!(names(&plan.by_hand), expected.by_hand, "by hand, {what}");
    assert_eq!(names(&plan.by_others), expected.by_others, "by others, {what}");
    let unattributed = names(&plan.unattributed);
    assert_eq!(unattributed, expected.unattributed, "unattributed, {what}");
    assert_eq!(conflicts, expected.conflicts, "conflicts, {what}");
    assert_eq!(plan.uncertain(), [], "uncertain, {what}");
}

/// Undoes, then forth and back again.
pub fn assert_undone(p: &TestProject, asked: &Asked, expected: &Expected, what: &str) {
    let before = p.tree();
    let taken = p.undo_steps(&request(p, asked));
    assert_same(&expected.tree, &p.tree(), what);
    p.fsck();
    if taken.restored.is_none() {
        assert_eq!(before, expected.tree, "nothing was to be done, {what}");
        return;
    }
    assert_eq!(taken.restored.unwrap().kept, [], "{what}");
    p.undo().unwrap();
    assert_same(&before, &p.tree(), &format!("undone, {what}"));
    p.redo().unwrap();
    assert_same(&expected.tree, &p.tree(), &format!("done again, {what}"));
    p.fsck();
}

fn check_row(number: usize, name: &str, lines: &[Line]) {
    let script = Script::new(lines).unwrap();
    let p = quick_project();
    script.perform(lines, &p);
    assert_same(&script.tree(), &p.tree(), name);
    let all: Vec<u64> = (1..=script.agents.len() as u64).collect();
    let of_claude = (1..).zip(&script.agents).find(|(_, agent)| **agent == "claude");
    let mut questions = vec![
        Asked::Steps(vec![of_claude.unwrap().0]),
        Asked::Restore,
        Asked::OnlyAgent("claude"),
        Asked::Steps(all.clone()),
        Asked::OnlyAgent("codex"),
    ];
    questions.extend(script.agents.contains(&"other").then_some(Asked::OnlyAgent("other")));
    for asked in &questions {
        let what = format!("{asked:?}: {name}");
        let expected = script.expected(asked);
        assert_plan(&p, &p.plan_undo_steps(&request(&p, asked)), &expected, &what);
    }
    let asked = &questions[number % questions.len()];
    let what = format!("{asked:?}: {name}");
    assert_undone(&p, asked, &script.expected(asked), &what);
}

/// Runs numbered checks on all cores; every failure is shown.
pub fn on_all_cores(count: usize, check: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let failures: Mutex<Vec<String>> = Mutex::default();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(number)));
            if let Err(panic) = checked {
                let words = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                failures.lock().unwrap().push(format!("{number}: {words}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let mut failures = failures.into_inner().unwrap();
    let failed = failures.len();
    failures.truncate(5);
    assert_eq!(failed, 0, "{failed} of {count} failed\n{}", failures.join("\n"));
}

#[test]
fn what_is_undone_goes_and_everything_else_stays() {
    // Five divides none of the numbers of choices, so every choice has its turn.
    check_every(5);
}

pub(super) fn check_every(step: usize) {
    let is_whole = std::env::var_os("HERMA_ALL_INTERLEAVINGS").is_some();
    let rows: Vec<_> = rows().into_iter().step_by(if is_whole { 1 } else { step }).collect();
    assert!(rows.len() >= 300 / step, "{} rows", rows.len());
    on_all_cores(rows.len(), |number| {
        let (name, lines) = &rows[number];
        check_row(number, name, lines);
    });
}
