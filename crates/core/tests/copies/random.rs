//! Promoting beside git's own merge: random edits of both sides, file by file.

use herma_core::Settings;
use herma_core::copies::{CopyPlace, OpenCopy, Promote};
use herma_core::engine::NoProgress;
use herma_fs::publish::Durability;
use herma_reversal::Conflicts;
use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, git};
use herma_worktree::rules::SecretRules;

use crate::engine::project::TestProject;

const FILES: [&str; 5] = ["a", "b", "dir/c", "dir/d", "e"];

/// Some lines of a file are other ones; lines that both sides may change are never next to each other.
fn edited(random: &mut Random, text: &str, side: &str) -> String {
    let change = |(at, line): (usize, &str)| {
        if at % 4 == 1 && random.below(4) == 0 { format!("{side} {at}") } else { line.to_owned() }
    };
    let lines: Vec<String> = text.lines().enumerate().map(change).collect();
    lines.join("\n") + "\n"
}

#[test]
fn what_git_merges_without_a_conflict_is_merged_alike() {
    if !git::available() {
        return;
    }
    let mut random = Random::new(29);
    let mut settings = Settings { durability: Durability::Cache, ..Settings::default() };
    settings.excludes.secrets = SecretRules::Off;
    let (mut merged, mut left) = (0, 0);
    for round in 0..25 {
        let project = TestProject::with(settings.clone());
        let lines: Vec<String> = (0..24).map(|line| format!("line {line}")).collect();
        let text = lines.join("\n");
        for file in FILES {
            project.write(file, format!("{file}\n{text}\n"));
        }
        project.save("first");
        let copy = OpenCopy {
            target: project.find("@"),
            at: CopyPlace::Chosen(project.base().join("copy")),
            with_ignored: Vec::new(),
            attempt: None,
        };
        let copy = project.project().open_copy(&copy, &NoProgress).unwrap();
        let mut expected = Vec::new();
        for file in FILES {
            let base = project.read(file);
            let (here, there) =
                (edited(&mut random, &base, "here"), edited(&mut random, &base, "there"));
            project.write(file, &here);
            std::fs::write(copy.project.root().join(file), &there).unwrap();
            expected.push((file, here.clone(), by_git(&project, &base, &here, &there)));
        }
        let before = project.tree();
        let asked =
            Promote { copy: copy.record.clone(), paths: Vec::new(), conflicts: Conflicts::Leave };
        let promoted = project.project().promote(&asked, &NoProgress).unwrap();
        for (file, here, by_git) in expected {
            let is_left =
                promoted.plan.reversed.conflicts.iter().any(|one| one.path.to_string() == file);
            assert_eq!(is_left, by_git.is_none(), "round {round}, {file}");
            merged += usize::from(!is_left);
            left += usize::from(is_left);
            assert_eq!(project.read(file), by_git.unwrap_or(here), "round {round}, {file}");
        }
        if promoted.restored.is_some() {
            project.undo().unwrap();
            assert_same(&before, &project.tree(), "undone");
        }
        project.fsck();
    }
    assert!(merged > 40 && left > 10, "{merged} merged, {left} left");
}

/// What git makes of three texts; `None` where it finds a conflict.
fn by_git(project: &TestProject, base: &str, here: &str, there: &str) -> Option<String> {
    let at = |name: &str, text: &str| {
        let path = project.base().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = [at("here", here), at("base", base), at("there", there)];
    let output = git::command().args(["merge-file", "-p"]).args(files).bounded_output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}
