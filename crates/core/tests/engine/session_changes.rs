//! What a session changed, and nothing else.

use herma_core::engine::NoProgress;
use herma_core::steps::{StepChoice, StepId, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Error, RelPath, SessionChanges, WhichStep};
use herma_diff::{PatchOptions, patch};

use super::authorship::rel;
use super::project::TestProject;

impl TestProject {
    fn session_changes(&self, choice: &StepChoice) -> SessionChanges {
        let project = self.project();
        project.session_changes(choice, &[], true, &NoProgress).unwrap()
    }

    fn in_session(&self, session: &str, work: impl FnOnce()) -> StepId {
        let begun = self.begin_as(StepStart {
            facts: Facts { session: Some(session.to_owned()), ..Facts::default() },
            ..StepStart::default()
        });
        work();
        self.end(begun).id()
    }
}

fn of_session(session: &str) -> StepChoice {
    StepChoice { session: Some(session.to_owned()), ..StepChoice::default() }
}

fn patch_of(changes: &SessionChanges) -> String {
    let comparison = &changes.comparison;
    let mut text = Vec::new();
    let (old, new) = (comparison.old_side(), comparison.new_side());
    let options = PatchOptions::default();
    patch::render(&comparison.changes, &*old, &*new, &options, &mut |line| {
        text.extend_from_slice(line.bytes);
        text.push(b'\n');
        Ok(())
    })
    .unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_session_that_did_everything_is_the_difference_git_shows() {
    let p = TestProject::new();
    p.write("a", "1\n2\n3\n");
    p.write("gone", "x\n");
    p.write("moved", "1\n2\n3\n4\n5\n6\n7\n");
    let first = p.in_session("s", || p.write("a", "1\n2\n3\n4\n"));
    p.in_session("s", || {
        p.remove("gone");
        p.remove("moved");
        p.write("dir/new", "1\n2\n3\n4\n5\n6\n7\n8\n");
        p.write("a", "0\n1\n2\n3\n4\n");
        p.chmod("a", 0o755);
    });
    let changes = p.session_changes(&of_session("s"));
    assert_eq!(changes.steps.len(), 2);
    assert!(changes.unattributed.is_empty() && changes.uncertain.is_empty());
    let before = changes.steps[0].before.checkpoint.to_hex();
    let after = p.find("@").id.to_hex();
    let args = ["diff", "--no-color", "-M", "--full-index", &before, &after];
    let git = p.repository().git(args).success();
    assert_eq!(patch_without_ids(&patch_of(&changes)), patch_without_ids(git.text()));
    assert_eq!(first, StepId::Number(2));
}

/// Ids may be written shorter or longer.
fn patch_without_ids(patch: &str) -> String {
    let lines = patch.lines().map(|line| match line.strip_prefix("index ") {
        Some(rest) => rest.split_once(' ').map_or("", |(_, mode)| mode),
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_others_did_in_between_is_not_the_sessions() {
    let p = TestProject::new();
    p.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    p.write("mine", "x\n");
    p.in_session("s", || p.write("a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    p.write("a", "one\n2\n3\n4\nperson\n6\n7\n8\n9\n");
    p.write("mine", "y\n");
    p.write("by-hand", "1\n2\n3\n");
    p.step("other", || p.write("other", "z\n"));
    p.in_session("s", || {
        p.write("a", "one\n2\n3\n4\nperson\n6\n7\n8\nnine\n");
        p.write("by-hand", "1\n2\n3\n4\n");
    });
    let patch = patch_of(&p.session_changes(&of_session("s")));
    let changed: Vec<&str> = patch
        .lines()
        .filter(|l| l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---"))
        .collect();
    assert_eq!(changed, ["-1", "+one", "-9", "+nine", "+4"], "{patch}");
    let paths: Vec<String> = p
        .session_changes(&of_session("s"))
        .comparison
        .changes
        .iter()
        .map(|change| change.path.to_string())
        .collect();
    assert_eq!(paths, ["a", "by-hand"]);
}

#[test]
fn what_a_session_shares_with_others_is_named_and_not_shown() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.in_session("s", || p.write("a", "2\n"));
    let own = p.begin_as(StepStart {
        facts: Facts { session: Some("s".to_owned()), ..Facts::default() },
        ..StepStart::default()
    });
    let other = p.begin("other", "bash");
    p.write("shared", "whose?\n");
    p.end(other);
    p.end(own);
    let changes = p.session_changes(&of_session("s"));
    assert_eq!(changes.unattributed, [rel("shared")].into());
    let paths: Vec<&RelPath> = changes.comparison.changes.iter().map(|c| &c.path).collect();
    assert_eq!(paths, [&rel("a")]);
}

#[test]
fn a_step_that_is_under_way_shows_what_is_there_already() {
    let p = TestProject::new();
    p.write("a", "1\n");
    let step = p.begin("claude", "bash");
    p.write("a", "1\n2\n");
    p.write("new", "unsaved\n");
    let choice = StepChoice { ids: vec![step], ..StepChoice::default() };
    let changes = p.session_changes(&choice);
    assert_eq!(changes.uncertain, [step]);
    let patch = patch_of(&changes);
    assert!(patch.contains("+2\n") && patch.contains("+unsaved\n"), "{patch}");
    let project = p.project();
    project.end_step_unknown(&WhichStep::Id(step)).unwrap();
    p.expect("a", &[("1\n", "-"), ("2\n", &format!("?[{step}]"))]);
    let nobody = project.session_changes(&of_session("none"), &[], true, &NoProgress);
    assert!(matches!(nobody, Err(Error::NoSteps)));
}

#[test]
fn what_is_not_kept_any_more_is_said_to_be_missing() {
    let p = TestProject::new();
    p.write("f", "old\n");
    let one = p.in_session("s", || p.write("f", "old\none\n"));
    let two = p.in_session("s", || p.write("f", "old\none\ntwo\n"));
    p.project().drop_checkpoint(&p.find("@-2")).unwrap();
    p.expect("f", &[("old\n", "-"), ("one\n", "-"), ("two\n", &two.to_string())]);
    let changes = p.session_changes(&of_session("s"));
    assert_eq!(changes.forgotten, [one]);
    let patch = patch_of(&changes);
    assert!(patch.contains("\n+two\n") && !patch.contains("\n+one\n"), "{patch}");
}
