//! Tool calls as hooks tell of them: several at once, some of them twice.

use herma_core::engine::NoProgress;
use herma_core::steps::{Step, StepChoice, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{BegunCall, Call, SaveOptions, WhichStep};
use herma_fs::process::BootMoment;

use super::project::TestProject;

fn start(call: &str, tool: &str) -> StepStart {
    StepStart {
        facts: Facts {
            agent: Some("claude".to_owned()),
            session: Some("s".to_owned()),
            tool: Some(tool.to_owned()),
            ..Facts::default()
        },
        call: Some(call.to_owned()),
        ..StepStart::default()
    }
}

impl TestProject {
    fn call_since(&self, id: &str, received: &BootMoment) -> BegunCall {
        self.begin_call(start(id, "Bash"), received, None, &|_| false)
    }

    fn begin_call(
        &self,
        start: StepStart,
        received: &BootMoment,
        repeats_within: Option<i64>,
        is_outer: &dyn Fn(&Step) -> bool,
    ) -> BegunCall {
        let call = Call { repeats_within, is_outer, ..Call::new(start, received.clone()) };
        self.project().begin_call(call, &NoProgress).unwrap()
    }

    fn end_call(&self, id: &str) -> Step {
        let which = WhichStep::Call { id: id.to_owned(), session: None };
        self.project().end_step(&which, &NoProgress).unwrap().step
    }

    fn count_steps(&self) -> usize {
        self.project().steps(&StepChoice::default()).unwrap().len()
    }
}

#[test]
fn calls_that_waited_for_each_other_share_a_save() {
    let test = TestProject::new();
    test.write("a", "1");
    let [first, second, third] = [(); 3].map(|()| BootMoment::now());
    let begun = test.call_since("1", &first);
    let saved = begun.saved.unwrap();
    assert!(saved.is_new);
    // It had begun to look after they were called.
    for (id, received) in [("2", second), ("3", third)] {
        let begun = test.call_since(id, &received);
        assert!(begun.saved.is_none(), "{id} looked again");
        assert_eq!(begun.step.before.checkpoint, saved.checkpoint.id);
        assert!(!begun.repeated);
    }
    assert_eq!(test.count_steps(), 3);
}

#[test]
fn a_call_that_came_after_somebody_looked_looks_for_itself() {
    let test = TestProject::new();
    test.write("a", "1");
    test.call_since("1", &BootMoment::now());
    test.write("a", "2");
    let begun = test.call_since("2", &BootMoment::now());
    assert!(begun.saved.is_some_and(|saved| saved.is_new));
}

#[test]
fn what_a_call_that_ended_meanwhile_changed_is_not_part_of_the_next() {
    let test = TestProject::new();
    test.write("a", "1");
    let waiting = BootMoment::now();
    test.call_since("1", &waiting);
    test.write("a", "2");
    let ended = test.end_call("1");
    let begun = test.call_since("2", &waiting);
    assert_eq!(Some(begun.step.before.checkpoint), ended.after());
}

#[test]
fn nobody_shares_a_look_from_before_a_restore() {
    let test = TestProject::new();
    test.write("a", "1");
    test.save("first");
    test.write("a", "2");
    let waiting = BootMoment::now();
    test.call_since("1", &waiting);
    test.restore("@-1");
    let begun = test.call_since("2", &waiting);
    assert!(begun.saved.is_some(), "it shared the state before the restore");
}

#[test]
fn a_turn_shares_a_save_as_well() {
    let test = TestProject::new();
    test.write("a", "1");
    let waiting = BootMoment::now();
    test.call_since("1", &waiting);
    let options = SaveOptions::default();
    let project = test.project();
    let shared = project.save_since(&options, &waiting, &NoProgress).unwrap();
    assert!(shared.is_none());
    let own = project.save_since(&options, &BootMoment::now(), &NoProgress);
    assert!(own.unwrap().is_some());
}

#[test]
fn a_call_that_is_told_twice_is_one_step() {
    let test = TestProject::new();
    test.write("a", "1");
    let first = test.call_since("1", &BootMoment::now());
    let again = test.call_since("1", &BootMoment::now());
    assert!(again.repeated && again.saved.is_some_and(|saved| !saved.is_new));
    // What is there when it is told again may be gone in a moment.
    test.write("b", "precious");
    let again = test.call_since("1", &BootMoment::now());
    assert!(again.repeated && again.saved.is_some_and(|saved| saved.is_new));
    assert_eq!(again.step.handle, first.step.handle);
    test.end_call("1");
    // An agent that repeats an id after its call has ended means another call.
    assert!(!test.call_since("1", &BootMoment::now()).repeated);
    assert_eq!(test.count_steps(), 2);
}

#[test]
fn the_same_id_for_other_words_is_another_call() {
    let test = TestProject::new();
    test.write("a", "1");
    let call = |command: &str| {
        let start = StepStart { command: Some(command.to_owned()), ..start("1", "Bash") };
        test.begin_call(start, &BootMoment::now(), None, &|_| false)
    };
    let first = call("make");
    assert!(!call("make clean").repeated);
    assert_eq!(call("make").step.handle, first.step.handle);
    assert_eq!(test.count_steps(), 2);
}

#[test]
fn the_same_words_a_while_later_are_another_call() {
    let test = TestProject::new();
    test.write("a", "1");
    let call = || {
        let received = BootMoment::now();
        test.begin_call(start("~made-up", "bash"), &received, Some(20), &|_| false)
    };
    let first = call();
    assert!(call().repeated);
    // Every look at the clock of these tests takes a second.
    for number in 0..30 {
        test.write("a", number.to_string());
        test.save("a while");
    }
    let second = call();
    assert!(!second.repeated);
    assert_ne!(second.step.handle, first.step.handle);
    let open = test.project().open_steps().unwrap();
    assert_eq!(open.len(), 1, "the first one is over, however it ended");
}

#[test]
fn the_work_of_an_agent_of_an_agent_is_part_of_its_step() {
    let test = TestProject::new();
    test.write("a", "1");
    let now = BootMoment::now;
    let outer = test.begin_call(start("1", "Task"), &now(), None, &|_| false);
    let is_outer = |step: &Step| step.start.facts.tool.as_deref() == Some("Task");
    let inner = test.begin_call(start("2", "Bash"), &now(), None, &is_outer);
    assert_eq!(inner.step.start.within, Some(outer.step.handle));
}

#[test]
fn a_save_that_was_late_is_remembered() {
    let test = TestProject::new();
    test.write("a", "1");
    let begun = test.call_since("1", &BootMoment::now());
    test.project().note_late(begun.step.handle).unwrap();
    test.end_call("1");
    let steps = test.project().steps(&StepChoice::default()).unwrap();
    assert!(steps[0].step.late);
    // Nobody knows that step.
    test.project().note_late(99).unwrap();
}

#[test]
fn a_damaged_note_of_the_last_look_is_none() {
    let test = TestProject::new();
    test.write("a", "1");
    let waiting = BootMoment::now();
    test.call_since("1", &waiting);
    let id = test.project().id().to_string();
    let look = test.store().join(format!("herma/projects/{id}/look"));
    let good = std::fs::read_to_string(&look).unwrap();
    for bad in ["", "x", "00000000 99999999999999999999 zz", &good[9..]] {
        std::fs::write(&look, bad).unwrap();
        let begun = test.call_since(&format!("after {bad}"), &waiting);
        assert!(begun.saved.is_some(), "{bad:?} was believed");
    }
}

#[test]
fn a_project_nobody_has_heard_of_has_no_turn_and_nothing_open() {
    let test = TestProject::new();
    assert!(test.project().open_steps().unwrap().is_empty());
    assert!(test.project().turn("s").unwrap().is_none());
}

#[test]
fn an_end_is_that_of_the_call_of_its_own_session() {
    let test = TestProject::new();
    test.write("a", "1");
    let of = |session: &str| {
        let facts = Facts { session: Some(session.to_owned()), ..Facts::default() };
        StepStart { facts, ..start("1", "Bash") }
    };
    let now = BootMoment::now;
    let first = test.begin_call(of("first"), &now(), None, &|_| false).step;
    let second = test.begin_call(of("second"), &now(), None, &|_| false).step;
    let end = |session: &str| {
        let which = WhichStep::Call { id: "1".to_owned(), session: Some(session.to_owned()) };
        test.project().end_step(&which, &NoProgress).map(|ended| ended.step.handle)
    };
    assert_eq!(end("first").unwrap(), first.handle);
    assert!(end("third").is_err());
    assert_eq!(end("second").unwrap(), second.handle);
}
