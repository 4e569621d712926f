//! The mark of a state in which a check passed.

use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Ran, StepId, StepKind, StepStart};
use herma_core::{Checkpoint, Spec, WhichStep};

use super::project::TestProject;

fn begin(project: &TestProject) -> StepId {
    let begun = project.project().begin_step(StepKind::Run, StepStart::default(), &NoProgress);
    begun.unwrap().step.id()
}

fn end(project: &TestProject, step: StepId, passed: bool) {
    let end = CallEnd::Ran(Ran { passed, ..Ran::default() });
    project.project().end_call(&WhichStep::Id(step), end, &NoProgress).unwrap();
}

fn greens(project: &TestProject) -> Vec<u64> {
    let all = project.list().into_iter().filter(|checkpoint| checkpoint.green);
    all.map(|checkpoint: Checkpoint| checkpoint.number).collect()
}

#[test]
fn only_a_state_that_is_the_same_before_and_after_is_marked() {
    let project = TestProject::new();
    project.write("a", "1\n");
    project.save("first");
    let step = begin(&project);
    end(&project, step, false);
    assert_eq!(greens(&project), [0; 0]);
    let step = begin(&project);
    project.write("a", "2\n");
    end(&project, step, true);
    assert_eq!(greens(&project), [0; 0]);
    let step = begin(&project);
    end(&project, step, true);
    assert_eq!(greens(&project), [2]);
    // Once more says nothing new.
    let step = begin(&project);
    end(&project, step, true);
    assert_eq!(greens(&project), [2]);
    // The state is another one with other permissions.
    let step = begin(&project);
    project.chmod("a", 0o755);
    end(&project, step, true);
    assert_eq!(greens(&project), [2]);
    project.fsck();
}

/// A mark keeps nothing that would go, and is gone with its checkpoint.
#[test]
fn a_mark_goes_with_its_checkpoint_and_stays_with_a_project_that_moves() {
    let project = TestProject::new();
    for content in ["1\n", "2\n"] {
        project.write("a", content);
        project.save(content);
        let step = begin(&project);
        end(&project, step, true);
    }
    assert_eq!(greens(&project), [2, 1]);
    let first = project.project().find(&Spec::parse("1").unwrap()).unwrap();
    project.project().drop_checkpoint(&first).unwrap();
    assert_eq!(greens(&project), [2]);
    let refs = project.repository().git(["for-each-ref", "refs/herma-pins"]);
    assert_eq!(refs.text().lines().count(), 1, "{refs}");
    let elsewhere = project.base().join("elsewhere");
    std::fs::rename(&project.root, &elsewhere).unwrap();
    let moved = project.engine.project(&elsewhere).unwrap();
    let [from] = &moved.adoptable().unwrap()[..] else { panic!("one is gone") };
    moved.adopt(from).unwrap();
    let all = moved.timeline().unwrap();
    assert_eq!(all.iter().filter(|one| one.green).count(), 1);
    project.fsck_but_dangling();
}
