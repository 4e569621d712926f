//! Listing steps, and forgetting those that nothing can be done about any more.

use std::collections::BTreeSet;
use std::fs;

use herma_core::cleanup::{CleanRequest, Limits, Orphans};
use herma_core::engine::NoProgress;
use herma_core::steps::{StepChoice, StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{ListedStep, WhichStep};

use super::project::TestProject;
use super::steps::handle;

fn begin(project: &TestProject, agent: &str, within: Option<StepId>) -> StepId {
    let start = StepStart {
        facts: Facts {
            agent: Some(agent.to_owned()),
            session: Some(format!("{agent}'s")),
            ..Facts::default()
        },
        within: within.map(handle),
        ..StepStart::default()
    };
    let begun = project.project().begin_step(StepKind::Tool, start, &NoProgress);
    begun.unwrap().step.id()
}

fn end(project: &TestProject, step: StepId) -> StepId {
    project.end(step).id()
}

/// One whole step that writes a file.
fn step(project: &TestProject, file: &str, content: &str) -> StepId {
    let begun = begin(project, "one", None);
    project.write(file, content);
    end(project, begun)
}

fn list(project: &TestProject) -> Vec<ListedStep> {
    project.project().steps(&StepChoice::default()).unwrap()
}

fn keep_only(project: &TestProject, max_snapshots: usize) {
    let request = CleanRequest {
        limits: Limits { max_snapshots: Some(max_snapshots), ..Limits::default() },
        attended: true,
        clock_is_right: false,
    };
    let cleaned = project.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(cleaned.errors, [""; 0], "{cleaned:?}");
}

#[test]
fn steps_are_listed_with_what_they_changed_newest_first() {
    let project = TestProject::new();
    assert!(list(&project).is_empty(), "no store, no steps");
    project.write("a.txt", "1\n2\n");
    let first = step(&project, "a.txt", "1\nzwei\ndrei\n");
    assert_eq!(first, StepId::Number(2));
    let idle = begin(&project, "two", None);
    end(&project, idle);
    let lost = begin(&project, "two", None);
    project.write("b.txt", "b\n");
    let which = WhichStep::Id(lost);
    project.project().end_step_unknown(&which).unwrap();
    let open = begin(&project, "two", None);

    let listed = list(&project);
    let names: Vec<_> = listed.iter().map(|listed| listed.step.id()).collect();
    assert_eq!(names, [open, lost, idle, first]);
    let words: Vec<_> = listed.iter().map(|listed| listed.step.end.word()).collect();
    assert_eq!(words, ["open", "unknown", "unchanged", "changed"]);
    let undoable: Vec<_> = listed.iter().map(|listed| listed.undoable).collect();
    assert_eq!(undoable, [false, false, true, true]);
    assert!(listed[0].changes.is_none() && listed[1].changes.is_none());
    assert_eq!(listed[2].changes.unwrap().files, 0);
    let first = listed[3].changes.unwrap();
    assert_eq!((first.files, first.insertions, first.deletions), (1, 2, 1));
    assert_eq!(listed[3].files[0].as_bytes(), b"a.txt");
    assert!(listed.iter().all(|listed| listed.shared.is_empty()));

    let choice = StepChoice { agent: Some("two".to_owned()), ..StepChoice::default() };
    assert_eq!(project.project().steps(&choice).unwrap().len(), 3);
}

#[test]
fn steps_that_were_under_way_at_once_name_each_other_but_not_their_own_parts() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    let outer = begin(&project, "one", None);
    let inner = begin(&project, "one", Some(outer));
    let stranger = begin(&project, "two", None);
    end(&project, inner);
    let late = begin(&project, "one", Some(outer));
    end(&project, late);
    end(&project, stranger);
    end(&project, outer);
    let after = begin(&project, "two", None);
    end(&project, after);
    let shared: Vec<_> =
        list(&project).into_iter().rev().map(|listed| (listed.step.id(), listed.shared)).collect();
    let expected = [
        (outer, vec![stranger]),
        (inner, vec![stranger]),
        (stranger, vec![outer, inner, late]),
        (late, vec![stranger]),
        (after, vec![]),
    ];
    assert_eq!(shared, expected);
}

#[test]
fn herma_s_own_moves_are_listed_within_the_part_they_were_about() {
    let project = TestProject::new();
    project.write("a.txt", "1\n");
    project.write("b.txt", "1\n");
    let saved = project.save("first");
    project.write("a.txt", "2\n");
    project.write("b.txt", "2\n");
    let only = herma_core::restore::RestoreOptions {
        paths: vec![herma_core::RelPath::new(*b"a.txt").unwrap()],
        ..herma_core::restore::RestoreOptions::default()
    };
    let door = project.project();
    door.restore_with(&saved.checkpoint, &only, &NoProgress).unwrap();
    let listed = list(&project);
    assert_eq!(listed[0].step.kind, StepKind::Restore);
    assert_eq!(listed[0].changes.unwrap().files, 1);
    assert_eq!(listed[0].files[0].as_bytes(), b"a.txt");
}

#[test]
fn a_step_is_no_part_of_one_that_is_over() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    let outer = begin(&project, "one", None);
    end(&project, outer);
    let later = begin(&project, "one", Some(outer));
    assert_eq!(list(&project)[0].step.id(), later);
    assert_eq!(list(&project)[0].step.start.within, None);
    let unheard_of = begin(&project, "one", Some(StepId::Handle(1 << 40)));
    assert_eq!(list(&project)[0].step.id(), unheard_of);
    assert_eq!(list(&project)[0].step.start.within, None);
}

#[test]
fn cleaning_forgets_steps_whose_checkpoints_are_gone_and_keeps_the_numbers_going() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    let steps: Vec<StepId> =
        (0..12).map(|round| step(&project, "a.txt", &format!("{round}\n"))).collect();
    assert_eq!(list(&project).len(), 12);
    keep_only(&project, 4);
    let listed = list(&project);
    // Four checkpoints are the ends of three steps; the one before it has only its end left.
    let left: Vec<_> = listed.iter().map(|listed| (listed.step.id(), listed.undoable)).collect();
    let undoable = [(11, true), (10, true), (9, true), (8, false)];
    assert_eq!(left, undoable.map(|(step, undoable)| (steps[step], undoable)));
    assert!(listed[3].changes.is_none());
    assert_eq!(steps[11], StepId::Number(13));
    assert_eq!(step(&project, "a.txt", "after\n"), StepId::Number(14));
    assert_eq!(list(&project)[0].step.handle, 13);
}

#[test]
fn cleaning_keeps_what_a_step_under_way_began_with() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    let session = begin(&project, "one", None);
    for round in 0..8 {
        project.write("a.txt", format!("{round}\n"));
        project.save("by hand");
    }
    keep_only(&project, 2);
    end(&project, session);
    let listed = &list(&project)[0];
    assert!(listed.undoable, "{listed:?}");
    assert_eq!(listed.files[0].as_bytes(), b"a.txt");
}

#[test]
fn a_deleted_project_s_steps_and_turns_go_with_its_checkpoints() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    let door = project.project();
    door.begin_turn("s", &Facts::default(), Some("go")).unwrap();
    step(&project, "a.txt", "1\n");
    let own = project.home().join("checkpoints/store/herma/projects").join(door.id().as_str());
    assert!(own.join("steps/00000001").exists() && own.join("turns").exists());
    // Something must be beside it, or its volume may just not be there.
    fs::write(project.root.with_file_name("neighbour"), "").unwrap();
    fs::remove_dir_all(&project.root).unwrap();
    let request = CleanRequest {
        limits: Limits { orphans: Orphans::All, ..Limits::default() },
        attended: true,
        clock_is_right: false,
    };
    let cleaned = project.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(cleaned.forgotten.len(), 1, "{cleaned:?}");
    let left = |dir: &str| {
        let names = fs::read_dir(own.join(dir)).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<BTreeSet<_>>()
    };
    // The next number stays, in case the directory is made again.
    assert_eq!(left("steps"), ["next-checkpoint".into()].into());
    assert_eq!(left(""), ["lock".into(), "steps".into()].into());
}

#[test]
fn an_older_step_is_found_by_its_number() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    let steps = ["1\n", "2\n", "3\n"].map(|text| step(&project, "a.txt", text));
    for (handle, step) in (1..).zip(steps) {
        for called in [step, StepId::Handle(handle)] {
            let choice = StepChoice { ids: vec![called], ..StepChoice::default() };
            let listed = project.project().steps(&choice).unwrap();
            assert_eq!(listed.iter().map(|one| one.step.id()).collect::<Vec<_>>(), [step]);
        }
    }
}

#[test]
fn clearing_everything_clears_the_steps() {
    let project = TestProject::new();
    project.write("a.txt", "0");
    step(&project, "a.txt", "1\n");
    project.engine.clear(None).unwrap();
    assert!(list(&project).is_empty());
    assert_eq!(step(&project, "a.txt", "2\n"), StepId::Number(2));
    assert_eq!(list(&project)[0].step.handle, 1);
}

#[test]
fn a_list_with_a_limit_knows_what_was_under_way_before_it() {
    let project = TestProject::new();
    project.write("a.txt", "0\n");
    let long = begin(&project, "two", None);
    for number in 0..5 {
        step(&project, "a.txt", &format!("{number}\n"));
    }
    let long = end(&project, long);
    let idle = begin(&project, "one", None);
    end(&project, idle);
    let (newest, hidden) =
        project.project().newest_steps(&StepChoice::default(), 1, false).unwrap();
    assert_eq!(newest[0].step.handle, handle(idle) - 1);
    assert_eq!((newest[0].shared.as_slice(), hidden), (&[long][..], 1));
}

#[test]
fn lines_that_a_checkpoint_has_counted_are_listed_without_reading_the_files_again() {
    let project = TestProject::new();
    project.write("a.txt", "1\n2\n");
    project.write("b.txt", "1\n");
    project.save("first");
    let packs = fs::read_dir(project.store().join("objects/pack")).unwrap();
    let first: Vec<_> = packs.map(|entry| entry.unwrap().path()).collect();
    step(&project, "b.txt", "2\n");
    step(&project, "a.txt", "1\nzwei\ndrei\n");
    let newest = || {
        let (mut steps, _) =
            project.project().newest_steps(&StepChoice::default(), 1, false).unwrap();
        steps.remove(0)
    };
    let counted = newest().changes.unwrap();
    assert_eq!((counted.files, counted.insertions, counted.deletions), (1, 2, 1));
    // Nothing else has what was in a.txt before.
    for file in &first {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(newest().changes, Some(counted));
    assert!(newest().undoable);
}
