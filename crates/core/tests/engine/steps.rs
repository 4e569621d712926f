//! Steps, and taking them back.

use herma_core::engine::NoProgress;
use herma_core::steps::{Step, StepChoice, StepEnd, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{TakeBack, TakeBackPlan, TakenBack, WhichStep};

use super::project::TestProject;

impl TestProject {
    /// An agent begins a tool call.
    pub fn begin(&self, agent: &str, tool: &str) -> u64 {
        self.begin_as(StepStart {
            facts: Facts {
                agent: Some(agent.to_owned()),
                tool: Some(tool.to_owned()),
                ..Facts::default()
            },
            ..StepStart::default()
        })
    }

    pub fn begin_as(&self, start: StepStart) -> u64 {
        let project = self.project();
        let begun = project.begin_step(StepKind::Tool, start, &NoProgress);
        begun.unwrap().step.number
    }

    /// The call is over.
    pub fn end(&self, number: u64) -> Step {
        let project = self.project();
        let which = WhichStep::Number(number);
        project.end_step(&which, &NoProgress).unwrap().step
    }

    /// A whole step that does this.
    pub fn step(&self, agent: &str, work: impl FnOnce()) -> u64 {
        let number = self.begin(agent, "bash");
        work();
        self.end(number);
        number
    }

    pub fn plan_take_back(&self, asked: &TakeBack) -> TakeBackPlan {
        let project = self.project();
        project.plan_take_back(asked, &NoProgress).unwrap()
    }

    pub fn take_back(&self, asked: &TakeBack) -> TakenBack {
        let project = self.project();
        let plan = project.plan_take_back(asked, &NoProgress).unwrap();
        let taken = project.take_back(asked, &NoProgress).unwrap();
        assert_eq!(plan.reversed, taken.plan.reversed, "what is planned is done");
        assert_eq!(plan.exact, taken.plan.exact, "what is planned is done");
        taken
    }
}

pub fn of_steps(numbers: &[u64]) -> TakeBack {
    TakeBack {
        steps: StepChoice { numbers: numbers.to_vec(), ..StepChoice::default() },
        ..TakeBack::default()
    }
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
    assert_eq!((first, second), (1, 2));
    let taken = p.take_back(&of_steps(&[first]));
    assert_eq!(taken.plan.steps, [1]);
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
    p.end(beside);
    p.write("a.txt", "two\nby hand\n");
    let which = WhichStep::Number(reads);
    let ended = p.project().end_step_unchanged(&which).unwrap();
    assert!(matches!(ended.step.end, StepEnd::Unchanged(_)));
    assert!(ended.saved.is_none(), "nobody looked");
    p.save("later");
    p.expect("a.txt", &[("two\n", &beside.to_string()), ("by hand\n", "hand")]);
    assert!(p.project().end_step_unchanged(&which).is_err(), "it is over");
}
