//! Limits belong to projects: what one caller asks for its own costs no other project a checkpoint.

use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::types::settings::{AskedLimits, Keeping};
use herma_core::{Engine, SaveOptions, Settings};

use super::project::{TestProject, engine};

const PROJECTS: usize = 20;
const SAVES: usize = 12;

/// What the caller of a project asks for it: `None` for the command line and hooks, which go by the settings of
/// the store, and for a program that says nothing.
fn asked(number: usize) -> Option<usize> {
    number.is_multiple_of(3).then_some([1, 3, 5, 7, 9, 100, 0][number / 3])
}

fn caller(scene: &TestProject, configured: Option<usize>, asked: AskedLimits) -> Engine {
    let settings = Settings {
        keeping: Keeping { max_snapshots: configured, ..Keeping::default() },
        asked,
        ..Settings::default()
    };
    engine(&scene.home(), None, settings)
}

fn save(engine: &Engine, root: &Path, content: usize) -> bool {
    std::fs::create_dir_all(root).unwrap();
    std::fs::write(root.join("file"), content.to_string()).unwrap();
    let project = engine.project(root).unwrap();
    let saved = project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    saved.due.is_some()
}

/// Everybody saves in turn, and cleans up when it is due; then everybody cleans up.
fn crowd(configured: Option<usize>, most_of: impl Fn(Option<usize>) -> usize) {
    let scene = TestProject::new();
    let base = scene.temp.path().canonicalize().unwrap();
    let callers: Vec<(PathBuf, Engine, usize)> = (0..PROJECTS)
        .map(|number| {
            let asked = AskedLimits { max_snapshots: asked(number), max_total_size: None };
            let root = base.join(format!("project-{number}"));
            let most = most_of(asked.max_snapshots);
            (root, caller(&scene, configured, asked), most)
        })
        .collect();
    for round in 0..SAVES {
        for (root, engine, _) in &callers {
            if save(engine, root, round) {
                engine.maintain(&NoProgress).unwrap();
            }
        }
        for (root, engine, most) in &callers {
            let left = engine.project(root).unwrap().timeline().unwrap().len();
            let kept = if *most == 0 { SAVES } else { *most };
            assert!(left >= kept.min(round + 1), "{left} of {most} at {}", root.display());
        }
    }
    for (_, engine, _) in &callers {
        engine.maintain(&NoProgress).unwrap();
    }
    for (root, engine, most) in &callers {
        let left = engine.project(root).unwrap().timeline().unwrap().len();
        let kept = if *most == 0 { SAVES } else { *most };
        assert_eq!(left, kept.min(SAVES), "{}", root.display());
    }
}

#[test]
fn a_limit_of_one_caller_does_not_cut_twenty_other_projects() {
    crowd(Some(4), |asked| match asked {
        Some(0) => 0,
        Some(asked) => asked.max(4),
        None => 4,
    });
}

#[test]
fn without_settings_each_project_goes_by_what_was_asked_for_it() {
    crowd(None, |asked| asked.unwrap_or(0));
}

#[test]
fn the_size_of_the_store_is_what_the_settings_say_or_else_the_most_that_was_asked_for() {
    let scene = TestProject::new();
    let base = scene.temp.path().canonicalize().unwrap();
    let ask = |max_total_size| {
        let asked = AskedLimits { max_snapshots: None, max_total_size };
        caller(&scene, None, asked)
    };
    let silent = ask(None);
    save(&silent, &base.join("silent"), 0);
    assert_eq!(silent.size_limit().unwrap(), 500 << 20);
    save(&ask(Some(1 << 20)), &base.join("small"), 0);
    assert_eq!(silent.size_limit().unwrap(), 1 << 20);
    save(&ask(Some(9 << 30)), &base.join("large"), 0);
    assert_eq!(silent.size_limit().unwrap(), 9 << 30);
    let configured = Settings {
        keeping: Keeping { max_total_size: Some(2 << 20), ..Keeping::default() },
        ..Settings::default()
    };
    let configured = engine(&scene.home(), None, configured);
    assert_eq!(configured.size_limit().unwrap(), 2 << 20);
    save(&ask(Some(0)), &base.join("none"), 0);
    assert_eq!(silent.size_limit().unwrap(), 0);
}
