//! Stores of other versions: those of every format so far are read, and one of a later format is refused and
//! left exactly as it is.
//!
//! `fixtures/store-1.tar.gz` was made by `fixtures/make-store.sh`, which says what is in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use herma_core::engine::NoProgress;
use herma_core::steps::StepChoice;
use herma_core::{Error, Project, Spec, VerifyOptions};
use herma_store::error::StoreError;
use herma_store::gc::Thoroughness;
use herma_testkit::tree::{Node, Tree, assert_same, names_below};
use herma_testkit::{Bounded, git};

use crate::engine::project::TestProject;

/// Every format there has been.
const FORMATS: [&str; 1] = ["store-1.tar.gz"];
/// What `make-steps.sh` made: steps from before they had numbers.
const WITHOUT_NUMBERS: &str = "store-1-steps.tar.gz";

/// A new project beside a store of this format.
fn unpacked(archive: &str) -> TestProject {
    let p = TestProject::new();
    std::fs::create_dir(p.home()).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut tar = Command::new("tar");
    tar.arg("-xzpf").arg(fixtures.join(archive));
    tar.arg("--no-same-owner").arg("-C").arg(p.home());
    assert!(tar.bounded_status().unwrap().success());
    p
}

/// Every file and directory with its bytes and its time.
fn everything(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let names = names_below(directory).into_iter();
    names
        .map(|path| {
            let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            let time = path.symlink_metadata().unwrap().modified().unwrap();
            (path, (bytes, time))
        })
        .collect()
}

/// What `make-store.sh` had in the project when it saved this.
fn expected(reason: &str) -> Tree {
    let text = |content: &str, mode| Node::File { bytes: content.into(), mode };
    let numbers = || {
        let lines = (1..=2000).map(|line| match line {
            1000 => "changed\n".to_owned(),
            _ => format!("{line}\n"),
        });
        lines.collect::<String>()
    };
    let mut tree = Tree::new();
    tree.insert("empty", Node::Dir { mode: 0o755 });
    tree.insert("link", Node::Link(b"src/a.txt".to_vec()));
    tree.insert("run.sh", text("#!/bin/sh\n", 0o755));
    let first = match reason {
        "first" => "one\n",
        "fifth" => "three\n",
        _ => "two\n",
    };
    tree.insert("src/a.txt", text(first, 0o644));
    match reason {
        "first" => {}
        "fourth" | "fifth" => tree.insert("numbers", text(&numbers(), 0o644)),
        _ => tree.insert("src/b.txt", text("new\n", 0o600)),
    }
    tree
}

#[test]
fn a_store_of_every_format_so_far_is_read_and_gives_back_what_was_saved() {
    for archive in FORMATS {
        let p = unpacked(archive);
        let before = everything(&p.store().join("objects"));
        let options = VerifyOptions { read_data: true, project: None };
        let verified = p.engine.verify(&options, &NoProgress).unwrap();
        assert!(verified.is_whole() && verified.checkpoints == 4, "{verified:?}");
        let known = p.engine.projects().unwrap();
        assert_eq!(known[0].workdir.as_deref(), Some(Path::new("/srv/project")));
        let former = p.engine.former_project(Path::new("/srv/project"));
        let steps = former.steps(&StepChoice::default()).unwrap();
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert_eq!(p.project().adopt(&known[0]).unwrap().numbers.len(), 4);
        let list = p.list();
        let marks: Vec<_> = list.iter().map(|c| (c.names.len(), c.pinned)).collect();
        assert_eq!(marks, [(0, false), (0, false), (0, true), (1, false)]);
        assert_eq!(p.find("start").id, list[3].id);
        for checkpoint in &list {
            p.restore(&format!("id:{}", checkpoint.id));
            let reason = checkpoint.reason.to_string();
            assert_same(&expected(&reason), &p.tree(), &reason);
        }
        let after = everything(&p.store().join("objects"));
        for (path, file) in before.iter().filter(|(path, _)| path.is_file()) {
            assert_eq!(after.get(path), Some(file), "nothing stored is written anew");
        }
        if git::available() {
            p.fsck_but_dangling();
        }
    }
}

#[test]
fn steps_of_before_get_numbers_once_and_nothing_else_moves() {
    let p = unpacked(WITHOUT_NUMBERS);
    let known = p.engine.projects().unwrap();
    let former = p.engine.former_project(Path::new("/srv/project"));
    let called = |project: &Project| -> Vec<String> {
        let steps = project.steps(&StepChoice::default()).unwrap();
        steps.iter().rev().map(|one| one.step.id().to_string()).collect()
    };
    assert_eq!(called(&former), ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"]);
    p.project().adopt(&known[0]).unwrap();
    // The part of the first step was there first; what changed nothing and what never ended has none.
    let expected = ["6", "2", "s3", "4", "7", "8", "9", "s8"];
    assert_eq!(called(&p.project()), expected);
    let format = std::fs::read_to_string(p.store().join("herma/format")).unwrap();
    assert_eq!(format, "herma-store 2\n");
    let find = |spec: &str| p.project().find(&Spec::parse(spec).unwrap()).unwrap();
    assert_eq!(find("6").number, 2, "the state that both of them reached");
    assert_eq!(find("4^").number, 3, "the state the step began in");
    p.restore("6");
    let newest: Vec<u64> = p.list()[..2].iter().map(|checkpoint| checkpoint.number).collect();
    assert_eq!(newest, [11, 10], "numbers of steps are not given again");
    assert_eq!(called(&p.project())[..8], expected);
}

#[test]
fn a_store_of_a_later_format_is_refused_by_its_number_and_not_touched() {
    let p = unpacked(FORMATS[0]);
    std::fs::write(p.store().join("herma/format"), "herma-store 4\n").unwrap();
    p.write("a.txt", "one\n");
    let before = everything(&p.home());
    let options = VerifyOptions { read_data: true, project: None };
    let answers = [
        ("save", p.try_save("x").err()),
        ("list", p.project().timeline().err()),
        ("undo", p.undo().err()),
        ("verify", p.engine.verify(&options, &NoProgress).err()),
        ("collect", p.engine.collect(Thoroughness::Full, false, &NoProgress).err()),
        ("maintain", p.engine.maintain(&NoProgress).err()),
        ("repair", p.engine.repair(&NoProgress).err()),
        ("status", p.engine.status(true, &NoProgress).err()),
        ("projects", p.engine.projects().err()),
    ];
    for (what, answer) in answers {
        let answer = answer.unwrap_or_else(|| panic!("{what} is not refused"));
        let is_refusal = matches!(&answer, Error::Store(StoreError::NewerFormat { known: 3, .. }));
        assert!(is_refusal, "{what}: {answer:?}");
        assert!(answer.to_string().contains("herma-store 4"), "{what}: {answer}");
    }
    assert_eq!(everything(&p.home()), before, "nothing is touched");
}
