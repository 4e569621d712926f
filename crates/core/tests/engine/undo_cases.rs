//! The table of what an undo must do, through the engine's own methods.

use std::sync::Arc;

use herma_core::Settings;
use herma_testkit::cases::{self, Case, read_files};

use super::project::engine_with_clock;
use super::undo_history::{Behind, marked, play, run};

/// What is wrong with what came of a case.
fn tried(case: &Case) -> Option<String> {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&root).unwrap();
    let clock = Behind::new();
    let home = temp.path().join("home");
    let engine = engine_with_clock(&home, None, Settings::default(), Arc::clone(&clock) as _);
    play(case, &engine, &clock, &root);
    let project = engine.project(&root).unwrap();
    let outcome = run(&project, &case.command);
    let (files, marks) = (read_files(&root), marked(&project));
    let is_right = outcome == case.outcome && files == case.files;
    let is_marked = case.marks.as_ref().is_none_or(|expected| *expected == marks);
    let differ = case.files.iter().filter(|(name, text)| files.get(*name) != Some(text));
    let differ: Vec<&String> = differ.map(|(name, _)| name).collect();
    (!is_right || !is_marked).then(|| {
        let text = &case.text;
        format!(
            "{}: {text}\n  came to {outcome}, marked {marks:?}, wrong {differ:?}: {files:#?}",
            case.line
        )
    })
}

#[test]
fn the_engine_does_what_the_table_says() {
    cases::try_all(tried);
}

#[test]
fn the_table_is_long_and_says_nothing_twice() {
    let cases = cases::all();
    assert!(cases.len() >= 130, "{}", cases.len());
    let row = |case: &Case| format!("{:?} {:?}", case.history, case.command);
    let rows: std::collections::BTreeSet<String> = cases.iter().map(row).collect();
    assert_eq!(rows.len(), cases.len());
}
