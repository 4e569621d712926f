//! Tests of execute.

#![allow(clippy::disallowed_methods)]

use std::sync::Arc;

use herma_records::clock::{FixedClock, Timestamp};

use super::*;
use crate::cleanup::{CleanRequest, Limits};
use crate::engine::NoProgress;
use crate::save::SaveOptions;
use crate::{EngineOptions, Settings};

#[test]
fn what_was_pinned_after_the_plan_was_made_stays() {
    let place = tempfile::tempdir().unwrap();
    let time = Timestamp { seconds: 1_700_000_000, nanos: 0, offset_minutes: 0 };
    let engine = Engine::new(EngineOptions {
        home: place.path().join("home"),
        user_home: None,
        clock: Arc::new(FixedClock(time)),
        settings: Settings::default(),
    });
    let root = place.path().join("work/project");
    std::fs::create_dir_all(&root).unwrap();
    let project = engine.project(&root).unwrap();
    for number in 0..4 {
        std::fs::write(root.join("a"), number.to_string()).unwrap();
        project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    }
    let request = CleanRequest {
        limits: Limits { max_snapshots: Some(1), ..Limits::default() },
        attended: true,
        clock_is_right: true,
    };
    let (_, plan) = engine.plan_cleaning(&request, &NoProgress).unwrap();
    assert_eq!(plan.drops.len(), 3);
    let pinned = project.timeline().unwrap().remove(2);
    project.pin(&pinned).unwrap();
    let store = engine.open_for_writing().unwrap();
    let mut cleaned = Cleaned::default();
    engine.apply(&store, &plan, true, &mut cleaned);
    assert_eq!((cleaned.dropped.len(), cleaned.errors.len()), (2, 0));
    assert!(project.timeline().unwrap().iter().any(|c| c.id == pinned.id));
}
