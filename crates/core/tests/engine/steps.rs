//! Steps, and undoing them.

use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Step, StepChoice, StepEnd, StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{StepsUndone, UndoPlan, UndoSteps, WhichStep};
use herma_diff::Side;

use super::project::TestProject;

impl TestProject {
    /// An agent begins a tool call. Returns what it is called until it ends.
    pub fn begin(&self, agent: &str, tool: &str) -> StepId {
        self.begin_as(StepStart {
            facts: Facts {
                agent: Some(agent.to_owned()),
                tool: Some(tool.to_owned()),
                ..Facts::default()
            },
            ..StepStart::default()
        })
    }

    pub fn begin_as(&self, start: StepStart) -> StepId {
        let project = self.project();
        let begun = project.begin_step(StepKind::Tool, start, &NoProgress);
        begun.unwrap().step.id()
    }

    /// The call is over.
    pub fn end(&self, step: StepId) -> Step {
        let project = self.project();
        let which = WhichStep::Id(step);
        project.end_step(&which, &NoProgress).unwrap().step
    }

    /// A whole step that does this.
    pub fn step(&self, agent: &str, work: impl FnOnce()) -> StepId {
        let begun = self.begin(agent, "bash");
        work();
        self.end(begun).id()
    }

    /// What a step is called by now.
    pub fn called(&self, step: StepId) -> StepId {
        let choice = StepChoice { ids: vec![step], ..StepChoice::default() };
        let steps = self.project().steps(&choice).unwrap();
        steps.iter().find(|listed| listed.step.is(step)).unwrap().step.id()
    }

    pub fn plan_undo_steps(&self, asked: &UndoSteps) -> UndoPlan {
        let project = self.project();
        project.plan_undo_steps(asked, &NoProgress).unwrap()
    }

    pub fn undo_steps(&self, asked: &UndoSteps) -> StepsUndone {
        let project = self.project();
        let plan = project.plan_undo_steps(asked, &NoProgress).unwrap();
        let taken = project.undo_steps(asked, &NoProgress).unwrap();
        assert_eq!(plan.reversed, taken.plan.reversed, "what is planned is done");
        assert_eq!(plan.exact, taken.plan.exact, "what is planned is done");
        taken
    }
}

/// The handle of a step that has no number yet.
pub fn handle(step: StepId) -> i64 {
    match step {
        StepId::Handle(handle) => handle,
        StepId::Number(number) => panic!("step {number} has ended"),
    }
}

pub fn of_steps(ids: &[StepId]) -> UndoSteps {
    UndoSteps {
        steps: StepChoice { ids: ids.to_vec(), ..StepChoice::default() },
        ..UndoSteps::default()
    }
}

#[test]
fn a_step_has_the_turn_and_the_prompt_of_its_session_unless_it_says_otherwise() {
    let p = TestProject::new();
    let door = p.project();
    let turn = door.begin_turn("s", &Facts::default(), Some("go")).unwrap();
    assert_eq!(door.turn("s").unwrap().as_ref(), Some(&turn));
    let begin = |turn: Option<&str>, prompt: Option<&str>| {
        let facts = Facts {
            session: Some("s".to_owned()),
            turn: turn.map(str::to_owned),
            ..Facts::default()
        };
        let start = StepStart { facts, prompt: prompt.map(str::to_owned), ..StepStart::default() };
        let start = door.begin_step(StepKind::Tool, start, &NoProgress).unwrap().step.start;
        (start.facts.turn.unwrap(), start.prompt)
    };
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(begin(None, None), (turn.turn.clone(), said("go")));
    assert_eq!(begin(None, Some("mine")), (turn.turn.clone(), said("mine")));
    assert_eq!(begin(Some("another"), None), ("another".to_owned(), None));
    assert_eq!(begin(Some("another"), Some("mine")), ("another".to_owned(), said("mine")));
}

#[test]
fn a_step_that_ends_where_it_began_changed_nothing_although_others_saved_meanwhile() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let number = p.begin("claude", "bash");
    p.write("a.txt", "two\n");
    p.save("meanwhile");
    p.write("a.txt", "one\n");
    assert!(matches!(p.end(number).end, StepEnd::Unchanged(_)));
}

#[test]
fn checkpoints_around_a_step_and_its_undo_say_what_they_are_of() {
    let p = TestProject::new();
    let lines = |first: &str, last: &str| format!("{first}\nb\nc\nd\ne\n{last}\n");
    p.write("a.txt", lines("a", "f"));
    let number = p.step("claude", || p.write("a.txt", lines("A", "f")));
    p.write("a.txt", lines("A", "F"));
    let plan = p.plan_undo_steps(&of_steps(&[number]));
    let preview = p.project().preview(&plan).unwrap();
    let change = preview.changes[0].clone();
    let [old, new] = [change.old, change.new].map(|side| side.unwrap().id);
    let content = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
    let was = preview.old_side().content(&change.path, &old, 1000).unwrap();
    let will_be = preview.new_side().content(&change.path, &new, 1000).unwrap();
    assert_eq!((content(was), content(will_be)), (lines("A", "F"), lines("a", "F")));
    assert_eq!((preview.changes.len(), preview.modes.len()), (1, 0));
    p.undo_steps(&of_steps(&[number]));
    assert_eq!(p.read("a.txt"), lines("a", "F"));
    let reasons: Vec<String> = p.list().iter().map(|c| c.reason.to_string()).collect();
    let undo = format!("undo of step {number}");
    for expected in ["before bash", "after bash", &undo] {
        assert!(reasons.iter().any(|reason| reason == expected), "{expected}: {reasons:?}");
    }
    let newest = p.project().steps(&StepChoice::default()).unwrap().swap_remove(0).step;
    assert_eq!(newest.start.command.as_deref(), Some(&*undo));
    p.restore(&p.oldest());
    let newest = p.project().steps(&StepChoice::default()).unwrap().swap_remove(0).step;
    assert_eq!((newest.kind, newest.start.command), (StepKind::Restore, None));
}

#[test]
fn a_step_in_the_middle_goes_and_everything_else_stays() {
    let p = TestProject::new();
    let lines = |words: [&str; 9]| words.join("\n") + "\n";
    let text = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    p.write("code.txt", lines(text));
    p.write("other.txt", "x\n");
    let first = p.step("claude", || {
        p.write("code.txt", lines(["A", "b", "c", "d", "e", "f", "g", "h", "i"]));
        p.write("made.txt", "by the first\n");
    });
    let second = p.step("codex", || {
        p.write("code.txt", lines(["A", "b", "c", "d", "E", "f", "g", "h", "i"]));
    });
    p.write("code.txt", lines(["A", "b", "c", "d", "E", "f", "g", "h", "by hand"]));
    assert_eq!([first, second], [2, 3].map(StepId::Number));
    let taken = p.undo_steps(&of_steps(&[first]));
    assert_eq!(taken.plan.steps, [first]);
    assert_eq!(p.read("code.txt"), lines(["a", "b", "c", "d", "E", "f", "g", "h", "by hand"]));
    assert!(!p.path("made.txt").exists());
    p.fsck();
    p.undo().unwrap();
    assert_eq!(p.read("code.txt"), lines(["A", "b", "c", "d", "E", "f", "g", "h", "by hand"]));
    assert!(p.path("made.txt").exists());
    p.fsck();
}

#[test]
fn a_step_that_changed_nothing_makes_no_checkpoint() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let number = p.begin("claude", "grep");
    let count = p.list().len();
    let step = p.end(number);
    assert!(matches!(step.end, StepEnd::Unchanged(_)));
    assert_eq!(p.list().len(), count);
}

#[test]
fn what_is_edited_beside_a_command_that_only_reads_is_nobody_elses() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let reads = p.begin("claude", "bash");
    let beside = p.begin("codex", "bash");
    p.write("a.txt", "two\n");
    let beside = p.end(beside).id();
    p.write("a.txt", "two\nby hand\n");
    let which = WhichStep::Id(reads);
    let ended = p.project().end_call(&which, CallEnd::OnlyRead, &NoProgress).unwrap();
    assert!(matches!(ended.step.end, StepEnd::Unchanged(_)));
    assert!(ended.saved.is_none(), "nobody looked");
    p.save("later");
    p.expect("a.txt", &[("two\n", &beside.to_string()), ("by hand\n", "hand")]);
    assert!(p.project().end_call(&which, CallEnd::OnlyRead, &NoProgress).is_err(), "it is over");
}
