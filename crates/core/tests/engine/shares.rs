//! Whose a change is, where more is known than who was under way: what a tool edits, when it began, and that it must be over.

use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Doubt, Ran, Step, StepChoice, StepEnd, StepId, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Call, NextMove, UndoLast, WhichStep};
use herma_diff::Replacement;
use herma_fs::process::{BootMoment, TempName, file_clock};

use super::authorship::rel;
use super::project::TestProject;
use super::steps::of_steps;

const SECOND: i64 = 1_000_000_000;

fn start(call: &str, edits: Option<&[&str]>) -> StepStart {
    let facts = Facts {
        agent: Some("claude".to_owned()),
        session: Some("s".to_owned()),
        turn: Some("t".to_owned()),
        tool: Some("tool".to_owned()),
        ..Facts::default()
    };
    let edits = edits.map(|paths| paths.iter().map(|path| rel(path)).collect());
    StepStart { facts, call: Some(call.to_owned()), edits, ..StepStart::default() }
}

impl TestProject {
    fn edits(&self, call: &str, paths: &[&str]) {
        self.told(Call::new(start(call, Some(paths)), BootMoment::now()));
    }

    fn runs(&self, call: &str) {
        self.told(Call::new(start(call, None), BootMoment::now()));
    }

    fn told(&self, call: Call<'_>) -> Step {
        self.project().begin_call(call, &NoProgress).unwrap().step
    }

    fn answers(&self, call: &str) -> String {
        self.answers_with(call, CallEnd::Ran(Ran::default())).id().to_string()
    }

    fn answers_with(&self, call: &str, answer: CallEnd) -> Step {
        let which = WhichStep::Call { id: call.to_owned(), session: None };
        self.project().end_call(&which, answer, &NoProgress).unwrap().step
    }

    /// Another call of an agent that begins one when it has all answers.
    fn goes_on_with(&self, call: &str) {
        let is_over = |_: &Step, _: bool| true;
        let call = Call::new(start(call, None), BootMoment::now());
        self.told(Call { is_over: &is_over, ..call });
    }

    fn called_by(&self, call: &str) -> Step {
        let steps = self.project().steps(&StepChoice::default()).unwrap();
        let mut steps = steps.into_iter().map(|listed| listed.step);
        steps.find(|step| step.start.call.as_deref() == Some(call)).unwrap()
    }
}

fn number(text: &str) -> StepId {
    StepId::Number(text.parse().unwrap())
}

#[test]
fn a_tool_that_edits_files_did_nothing_to_others() {
    let p = TestProject::new();
    p.write("a", "a\n");
    p.write("b", "b\n");
    p.save("before");
    p.edits("1", &["a"]);
    p.write("a", "a\nagent\n");
    p.write("b", "b\nperson\n");
    p.write("new", "person\n");
    let step = p.answers("1");
    p.expect("a", &[("a\n", "-"), ("agent\n", &step)]);
    p.expect("b", &[("b\n", "-"), ("person\n", "hand")]);
    p.expect("new", &[("person\n", "hand")]);
    p.undo_steps(&of_steps(&[number(&step)]));
    assert_eq!((p.read("a"), p.read("b")), ("a\n".into(), "b\nperson\n".into()));
    assert!(p.exists("new"), "what a person made stays");
}

#[test]
fn a_call_that_was_told_of_late_begins_where_somebody_looked_before() {
    let p = TestProject::new();
    p.write("a", "a\n");
    let prompt = BootMoment::now();
    p.runs("1");
    p.write("a", "one\n");
    let one = p.answers("1");
    // It had run before anybody heard of it.
    p.write("b", "two\n");
    let step = p.told(Call::new(start("2", Some(&["b"])), prompt));
    p.write("c", "two\n");
    p.project().note_edits(step.handle, &[rel("c")]).unwrap();
    let two = p.answers("2");
    p.expect("a", &[("one\n", &one)]);
    p.expect("b", &[("two\n", &two)]);
    p.expect("c", &[("two\n", &two)]);
    let handles =
        || p.project().recent_steps().unwrap().iter().map(|s| s.handle).collect::<Vec<_>>();
    assert_eq!(handles(), [2, 1]);
    p.project().forget_call(2).unwrap();
    assert_eq!(handles(), [1]);
}

#[test]
fn two_edits_at_once_have_each_what_it_names() {
    let p = TestProject::new();
    p.write("a", "a\n");
    p.write("b", "b\n");
    p.save("before");
    p.edits("1", &["a"]);
    p.edits("2", &["b"]);
    p.write("a", "one\n");
    p.write("b", "two\n");
    let (one, two) = (p.answers("1"), p.answers("2"));
    assert_ne!(one, two);
    p.expect("a", &[("one\n", &one)]);
    p.expect("b", &[("two\n", &two)]);
    p.undo_steps(&of_steps(&[number(&one)]));
    assert_eq!((p.read("a"), p.read("b")), ("a\n".into(), "two\n".into()));
}

#[test]
fn an_edit_that_left_what_it_said_is_its_own_whoever_was_at_work() {
    let p = TestProject::new();
    p.write("a", "a\n");
    p.write("b", "b\n");
    p.save("before");
    let says = |path: &str, old: &str, new: &str| {
        let replacement = Replacement { old: Some(old.into()), new: new.into(), all: false };
        CallEnd::Ran(Ran { wrote: vec![(rel(path), replacement)], ..Ran::default() })
    };
    p.edits("1", &["a"]);
    p.edits("2", &["b"]);
    p.runs("command");
    p.write("a", "a\none\n");
    p.write("b", "b\ntwo\nby the command\n");
    let one = p.answers_with("1", says("a", "a\n", "a\none\n")).id().to_string();
    let two = p.answers_with("2", says("b", "b\n", "b\ntwo\n")).id().to_string();
    let command = p.answers("command");
    p.expect("a", &[("a\n", "-"), ("one\n", &one)]);
    let either = format!("?[{two}, {command}]");
    p.expect("b", &[("b\n", "-"), ("two\n", &either), ("by the command\n", &either)]);
    p.undo_steps(&of_steps(&[number(&one)]));
    assert_eq!((p.read("a"), p.read("b")), ("a\n".into(), "b\ntwo\nby the command\n".into()));
}

#[test]
fn a_call_that_was_refused_did_nothing_unless_its_agent_says_that_it_ran() {
    let p = TestProject::new();
    p.write("a", "a\n");
    p.save("before");
    p.runs("refused");
    p.write("a", "a\nperson\n");
    let step = p.answers_with("refused", CallEnd::Refused);
    assert!(step.is_idle() && step.inferred, "{step:?}");
    p.save("after");
    p.expect("a", &[("a\n", "-"), ("person\n", "hand")]);
    p.runs("allowed");
    p.write("a", "a\nperson\nagent\n");
    p.answers_with("allowed", CallEnd::Refused);
    let step = p.answers("allowed");
    p.expect("a", &[("a\n", "-"), ("person\n", "hand"), ("agent\n", &step)]);
}

#[test]
fn what_a_person_did_to_a_file_that_a_tool_edits_is_not_surely_the_tools() {
    let p = TestProject::new();
    p.write("a", "a\nb\n");
    p.save("before");
    let replacement = || Replacement { old: Some("a\n".into()), new: "one\n".into(), all: false };
    let ran = |failed| Ran { failed, wrote: vec![(rel("a"), replacement())], ..Ran::default() };
    p.edits("failed", &["a"]);
    p.write("a", "a\nb\nperson\n");
    assert!(p.answers_with("failed", CallEnd::Ran(ran(true))).is_idle());
    p.expect("a", &[("a\n", "-"), ("b\n", "-"), ("person\n", "hand")]);
    p.edits("both", &["a"]);
    p.write("a", "one\nb\nperson\nagain\n");
    let both = p.answers_with("both", CallEnd::Ran(ran(false))).id();
    let perhaps = format!("?[{both}]");
    let expected =
        [("one\n", &*perhaps), ("b\n", "-"), ("person\n", "hand"), ("again\n", &*perhaps)];
    p.expect("a", &expected);
    let undone = p.undo_steps(&of_steps(&[both]));
    assert_eq!(undone.plan.doubts, [(both, Doubt::Unclear)]);
}

#[test]
fn a_step_beside_which_only_others_changed_something_changed_nothing() {
    let p = TestProject::new();
    p.write("a", "a\n");
    p.save("before");
    p.edits("elsewhere", &["nested/f"]);
    p.write("a", "person\n");
    let step = p.answers_with("elsewhere", CallEnd::Ran(Ran::default()));
    assert!(step.is_idle() && step.number.is_none());
    p.expect("a", &[("person\n", "hand")]);
    p.edits("lost", &["b"]);
    p.write("a", "person\nagain\n");
    p.save("later");
    p.expect("a", &[("person\n", "hand"), ("again\n", "hand")]);
    p.goes_on_with("next");
    let undone = p.undo_steps(&of_steps(&[p.called_by("lost").id()]));
    assert_eq!(undone.plan.steps, [], "there is nothing of it");
    assert_eq!(p.read("a"), "person\nagain\n");
}

#[test]
fn a_command_beside_an_edit_may_have_changed_both_and_did_the_rest() {
    let p = TestProject::new();
    p.write("a", "a\n");
    p.write("b", "b\n");
    p.save("before");
    p.edits("1", &["a"]);
    p.runs("2");
    p.write("a", "one\n");
    p.write("b", "two\n");
    let (one, two) = (p.answers("1"), p.answers("2"));
    p.expect("a", &[("one\n", &format!("?[{one}, {two}]"))]);
    p.expect("b", &[("two\n", &two)]);
    p.undo_steps(&of_steps(&[number(&two)]));
    assert_eq!((p.read("a"), p.read("b")), ("one\n".into(), "b\n".into()));
}

#[test]
fn a_call_is_over_when_its_agent_begins_another() {
    let p = TestProject::new();
    p.write("f", "old\n");
    p.runs("lost");
    p.write("f", "old\nnobody knows\n");
    p.goes_on_with("next");
    p.write("g", "next\n");
    let next = p.answers("next");
    let lost = p.called_by("lost").id();
    p.expect("f", &[("old\n", "-"), ("nobody knows\n", &format!("?[{lost}]"))]);
    p.expect("g", &[("next\n", &next)]);
    p.undo_steps(&of_steps(&[number(&next)]));
    assert!(!p.exists("g"), "a step beside which nobody was can be undone");
    // It was inferred, and the agent knows better.
    p.write("h", "lost\n");
    let late = p.answers("lost");
    assert_eq!(p.called_by("lost").id().to_string(), late);
    assert!(matches!(p.called_by("lost").end, StepEnd::Changed(_)));
}

#[test]
fn a_call_that_left_everything_as_it_was_when_it_must_have_been_over_changed_nothing() {
    let p = TestProject::new();
    p.write("f", "old\n");
    p.edits("refused", &["f"]);
    p.goes_on_with("next");
    p.write("f", "next\n");
    let next = p.answers("next");
    assert!(p.called_by("refused").is_idle());
    p.expect("f", &[("next\n", &next)]);
    p.runs("refused too");
    p.project().end_turn("s").unwrap();
    p.write("f", "person\n");
    p.save("later");
    assert!(p.called_by("refused too").is_idle());
    p.expect("f", &[("person\n", "hand")]);
}

#[test]
fn what_changes_after_the_end_of_a_prompt_is_no_call_of_it() {
    let p = TestProject::new();
    p.write("f", "old\n");
    p.runs("lost");
    p.write("g", "in it\n");
    p.project().end_turn("s").unwrap();
    p.write("f", "person\n");
    p.save("later");
    let lost = p.called_by("lost").id();
    p.expect("g", &[("in it\n", &format!("?[{lost}]"))]);
    p.expect("f", &[("person\n", "hand")]);
}

#[test]
fn an_edit_that_was_not_answered_reaches_no_further_than_its_file() {
    let p = TestProject::new();
    p.write("f", "old\n");
    p.write("g", "old\n");
    p.edits("lost", &["f"]);
    p.write("f", "somebody\n");
    p.write("g", "person\n");
    p.goes_on_with("next");
    p.answers("next");
    let lost = p.called_by("lost").id();
    p.expect("f", &[("somebody\n", &format!("?[{lost}]"))]);
    p.expect("g", &[("person\n", "hand")]);
}

#[test]
fn what_changed_before_a_tool_began_a_person_did() {
    let p = TestProject::new();
    for path in ["edited", "d/kept", "d/gone", "e/gone", "made by tool"] {
        p.write(path, "old\n");
    }
    p.save("before");
    p.runs("1");
    p.write("edited", "person\n");
    p.remove("d/gone");
    // The tool begins later than the change times of these, and after the second in which the call did.
    let since = file_clock().max(p.called_by("1").started * SECOND + SECOND) + 1;
    while file_clock() <= since + 20_000_000 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    p.write("tool", "tool\n");
    p.remove("e/gone");
    let step = p
        .answers_with("1", CallEnd::Ran(Ran { since: Some(since), ..Ran::default() }))
        .id()
        .to_string();
    p.expect("edited", &[("person\n", "hand")]);
    p.expect("tool", &[("tool\n", &step)]);
    let plan = p.undo_steps(&of_steps(&[number(&step)])).plan;
    assert_eq!(p.read("edited"), "person\n");
    assert!(!p.exists("tool") && !p.exists("d/gone"), "who removed it before is not undone");
    assert_eq!(p.exists("e/gone"), plan.doubts.len() == 1, "and who may have is doubted");
}

/// It comes back and goes over nothing: a person need not be asked, or told.
#[test]
fn what_may_have_been_deleted_before_a_tool_began_is_its_own() {
    let p = TestProject::new();
    p.write("gone", "old\n");
    p.save("before");
    p.runs("1");
    let since = p.called_by("1").started * SECOND + SECOND + 1;
    while file_clock() <= since {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    p.remove("gone");
    p.answers_with("1", CallEnd::Ran(Ran { since: Some(since), ..Ran::default() }));
    let next = p.project().plan_undo(&UndoLast::default(), &NoProgress).unwrap();
    assert_eq!(next.doubt().map(|(_, doubt)| doubt), None);
    let NextMove::Steps(planned) = next else { panic!("{next:?}") };
    assert_eq!(planned.plan.doubts, []);
}

#[test]
fn a_call_is_over_when_its_agent_is_gone() {
    let p = TestProject::new();
    p.write("f", "old\n");
    let gone = "tmp-00000001-0-1-1-0";
    let owner = TempName::parse(gone.as_bytes());
    let call = Call::new(start("killed", None), BootMoment::now());
    let killed = p.told(Call { owner, ..call });
    assert!(!killed.is_under_way(killed.started), "its agent is gone");
    let other = StepStart { call: Some("other".to_owned()), ..StepStart::default() };
    let other = p.told(Call::new(other, BootMoment::now()));
    p.write("f", "other\n");
    let which = WhichStep::Id(other.id());
    let other = p.project().end_step(&which, &NoProgress).unwrap().step.id().to_string();
    p.expect("f", &[("other\n", &other)]);
}

#[test]
fn what_a_command_does_in_the_background_is_nobodys() {
    let p = TestProject::new();
    p.write("old", "old\n");
    p.runs("server");
    p.write("served", "started\n");
    let server = p.answers_with("server", CallEnd::GoesOn).id().to_string();
    p.write("by hand", "person or server\n");
    p.runs("next");
    p.write("made", "next or server\n");
    let next = p.answers("next");
    p.edits("edit", &["edited"]);
    p.write("edited", "agent\n");
    let edit = p.answers("edit");
    p.expect("served", &[("started\n", &server)]);
    p.expect("by hand", &[("person or server\n", &format!("?[{server}]"))]);
    p.expect("made", &[("next or server\n", &format!("?[{server}, {next}]"))]);
    p.expect("edited", &[("agent\n", &edit)]);
    let plan = p.undo_steps(&of_steps(&[number(&next)])).plan;
    assert!(!p.exists("made") && p.exists("by hand"), "what was at work is undone");
    assert_eq!(plan.doubts, [(number(&server), Doubt::InBackground)]);
    p.project().end_session("s").unwrap();
    p.write("later", "person\n");
    p.save("later");
    p.expect("later", &[("person\n", "hand")]);
}
