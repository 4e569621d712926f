//! Paths asked for by name of which a checkpoint holds nothing: named with the reason, never called restored.

use herma_core::engine::NoProgress;
use herma_core::restore::{Kept, KeptWhy, RestoreOptions, Then};
use herma_core::steps::{StepKind, StepStart};
use herma_core::{Error, RelPath, Settings, UndoPlan, UndoSteps};
use herma_worktree::reason::Reason;

use super::project::TestProject;

/// A project with a checkpoint that leaves something out for every reason a person meets.
fn project() -> TestProject {
    let p = TestProject::with(Settings { max_file_size: Some(1000), ..Settings::default() });
    p.write("a.txt", "one\n");
    p.write(".gitignore", "*.db\n");
    p.write("secrets.yaml", "key: 1\n");
    p.write("local.db", "rows\n");
    p.write("data.bin", vec![b'x'; 2000]);
    p.write("node_modules/x/index.js", "x\n");
    p.write("conf/secrets.yaml", "key: 2\n");
    p.write("conf/app.toml", "a = 1\n");
    p.save("first");
    p
}

fn left_out(path: &str, reason: Reason) -> Kept {
    Kept { path: RelPath::new(path).unwrap(), why: KeptWhy::LeftOut(reason) }
}

const NOT_HELD: [(&str, Reason); 5] = [
    ("secrets.yaml", Reason::Secret),
    ("local.db", Reason::Ignored),
    ("data.bin", Reason::TooLarge),
    ("node_modules", Reason::Excluded),
    ("node_modules/x/index.js", Reason::Excluded),
];

#[test]
fn a_file_the_checkpoint_left_out_is_not_called_restored() {
    let p = project();
    for is_gone in [false, true] {
        for (path, reason) in NOT_HELD {
            if is_gone && p.exists(path) {
                p.remove(path);
            }
            let refused = p.restore_paths("@", &[path]);
            let Err(Error::NotInCheckpoint { paths }) = refused else {
                panic!("{path}: {refused:?}");
            };
            assert_eq!(paths, [left_out(path, reason)]);
            let project = p.project();
            let options =
                RestoreOptions { paths: vec![RelPath::new(path).unwrap()], keep: Vec::new() };
            let planned = project.plan_restore(&p.find("@"), &options, &NoProgress);
            assert!(matches!(planned, Err(Error::NotInCheckpoint { .. })));
        }
    }
    assert_eq!(p.list().len(), 1, "nothing was saved for it either");
}

#[test]
fn paths_that_can_be_restored_are_and_the_others_are_named() {
    let p = project();
    p.write("a.txt", "two\n");
    p.write("new.txt", "new\n");
    let asked = ["a.txt", "new.txt", "secrets.yaml"];
    let restored = p.restore_paths("@", &asked).unwrap();
    let then: Vec<Then> = restored.plan.requested.iter().map(|one| one.then).collect();
    let secret = KeptWhy::LeftOut(Reason::Secret);
    assert_eq!(then, [Then::Held, Then::Absent, Then::NotHeld(secret)]);
    assert_eq!(restored.kept, [left_out("secrets.yaml", Reason::Secret)]);
    assert_eq!(p.read("a.txt"), "one\n");
    assert!(!p.exists("new.txt"), "the checkpoint vouches that it was not there");
    assert_eq!(p.read("secrets.yaml"), "key: 1\n");
    p.undo().unwrap();
    assert_eq!((p.read("a.txt"), p.read("new.txt")), ("two\n".into(), "new\n".into()));
}

#[test]
fn what_came_later_and_no_save_holds_is_not_called_removed() {
    let p = project();
    p.write("later.db", "rows\n");
    let refused = p.restore_paths("@", &["later.db"]);
    let Err(Error::NotInCheckpoint { paths }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(paths[0].why, KeptWhy::NotSaved(Reason::Ignored));
    assert_eq!(p.read("later.db"), "rows\n");
}

#[test]
fn a_directory_that_comes_back_without_its_secret_says_so() {
    let p = project();
    p.remove("conf");
    let restored = p.restore_paths("@", &["conf"]).unwrap();
    assert_eq!(p.read("conf/app.toml"), "a = 1\n");
    assert_eq!(restored.kept, [left_out("conf/secrets.yaml", Reason::Secret)]);

    // The same for everything; what rules leave out is made again by whoever made it.
    p.remove("node_modules");
    p.remove("data.bin");
    let first = p.list().last().unwrap().number.to_string();
    let restored = p.restore(&first);
    let missing =
        [left_out("conf/secrets.yaml", Reason::Secret), left_out("data.bin", Reason::TooLarge)];
    assert_eq!(restored.kept, missing);
}

fn plan(p: &TestProject, paths: &[&str]) -> Result<UndoPlan, Error> {
    let asked = UndoSteps {
        since: Some(p.find("@-2")),
        paths: paths.iter().map(|p| RelPath::new(*p).unwrap()).collect(),
        ..UndoSteps::default()
    };
    p.project().plan_undo_steps(&asked, &NoProgress)
}

#[test]
fn beside_steps_a_left_out_file_is_not_called_restored_either() {
    let p = project();
    let project = p.project();
    let step = project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress);
    p.write("a.txt", "two\n");
    let which = herma_core::WhichStep::Id(step.unwrap().step.id());
    project.end_step(&which, &NoProgress).unwrap();
    p.write("conf/app.toml", "by = \"hand\"\n");
    p.save("by hand");
    for (path, reason) in NOT_HELD {
        let Err(Error::NotInCheckpoint { paths }) = plan(&p, &[path]) else {
            panic!("{path}");
        };
        assert_eq!(paths, [left_out(path, reason)]);
    }
    let both = plan(&p, &["a.txt", "secrets.yaml"]).unwrap();
    let secret = RelPath::new("secrets.yaml").unwrap();
    assert_eq!(both.reversed.kept, [(secret, Reason::Secret)]);
    assert_eq!(both.reversed.changes.len(), 1);
    let unknown = plan(&p, &["nothing"]);
    assert!(matches!(unknown, Err(Error::PathUnknown { .. })), "{unknown:?}");
}
