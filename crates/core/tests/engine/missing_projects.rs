//! Projects that are not where they were: kept although deleted, renamed, on another volume; and projects
//! whose newest checkpoint is damaged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use herma_core::cleanup::{CleanRequest, Doubt, Limits, Note, Orphans, Rule};
use herma_core::engine::NoProgress;
use herma_core::{SaveOptions, Settings};

use super::project::TestProject;
use super::upkeep::{DAY, HandClock, clean, make, pack_with, reasons_at, save_at, with_clock};

/// `work/app` with four checkpoints, and a neighbour.
fn scene() -> (TestProject, Arc<HandClock>, PathBuf) {
    let (p, clock) = with_clock(Settings::default());
    let work = make(&p, "work");
    std::fs::create_dir(work.join("neighbour")).unwrap();
    let app = work.join("app");
    save_four(&p, &app);
    (p, clock, app)
}

fn save_four(p: &TestProject, root: &Path) {
    std::fs::create_dir_all(root).unwrap();
    for number in 1..=4 {
        let content = format!("{} {number}", root.display());
        std::fs::write(root.join("a"), content).unwrap();
        save_at(p, root, &number.to_string());
    }
}

fn checkpoints(p: &TestProject, root: &Path) -> usize {
    let known = p.engine.projects().unwrap();
    let found = known.iter().find(|k| k.workdir.as_deref() == Some(root));
    found.map_or(0, |known| known.checkpoints)
}

fn all_orphans() -> Limits {
    Limits { orphans: Orphans::All, ..Limits::default() }
}

/// What is recorded about the project at `root`, changed.
fn change_record(p: &TestProject, root: &Path, change: impl Fn(String) -> String) {
    let id = p.engine.project(root).unwrap().id().to_string();
    let file = p.store().join(format!("projects/{id}.json"));
    let text = change(std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, text).unwrap();
}

#[test]
fn a_deleted_project_that_is_kept_keeps_its_newest_checkpoint_whatever_the_limit() {
    let everything = [
        Limits { retention_days: Some(7), ..Limits::default() },
        Limits { max_snapshots: Some(1), ..Limits::default() },
        Limits { max_total_bytes: Some(1), ..Limits::default() },
    ];
    for limits in everything {
        let (p, clock, app) = scene();
        std::fs::remove_dir_all(&app).unwrap();
        clock.advance(20 * DAY);
        let cleaned = clean(&p, limits.clone());
        assert_eq!(checkpoints(&p, &app), 1, "{limits:?}");
        assert_eq!(cleaned.dropped.len(), 3, "{limits:?}");
        std::fs::create_dir(&app).unwrap();
        assert_eq!(reasons_at(&p, &app), ["4"], "{limits:?}");
        p.fsck_but_dangling();
    }
}

#[test]
fn a_project_deleted_after_the_plan_was_made_keeps_its_newest() {
    let (p, clock, app) = scene();
    clock.advance(20 * DAY);
    let limits = Limits { retention_days: Some(7), ..Limits::default() };
    let request = CleanRequest { limits: limits.clone(), attended: true, clock_is_right: false };
    let (_, plan) = p.engine.plan_cleaning(&request, &NoProgress).unwrap();
    std::fs::remove_dir_all(&app).unwrap();
    let cleaned = clean(&p, limits);
    assert_eq!(cleaned.dropped, plan.drops, "being gone costs no more");
    assert!(cleaned.dropped.iter().all(|d| d.rule == Rule::Stale));
    assert_eq!(checkpoints(&p, &app), 1);
}

#[test]
fn a_renamed_project_is_no_orphan_and_its_new_place_is_named() {
    let (p, _clock, app) = scene();
    let to = app.with_file_name("app-2");
    std::fs::rename(&app, &to).unwrap();
    let cleaned = clean(&p, all_orphans());
    assert_eq!(cleaned.dropped, []);
    let doubts: Vec<_> = cleaned.notes.iter().filter_map(doubt).collect();
    assert_eq!(doubts, [&Doubt::Moved { to: to.clone() }]);

    let project = p.engine.project(&to).unwrap();
    let found = project.adoptable().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(project.adopt(&found[0]).unwrap().numbers.len(), 4);
    assert_eq!(reasons_at(&p, &to), ["1", "2", "3", "4"]);
    // It is known again at its new place, and gone when that is.
    std::fs::remove_dir_all(&to).unwrap();
    assert_eq!(clean(&p, all_orphans()).dropped.len(), 4);
}

fn doubt(note: &Note) -> Option<&Doubt> {
    match note {
        Note::OutOfReach { doubt, .. } => Some(doubt),
        _ => None,
    }
}

#[test]
fn a_renamed_project_is_offered_its_own_checkpoints_and_no_others() {
    let (p, _clock, app) = scene();
    // Another project with the same file names is gone too, and its id may come first.
    for other in ["one", "two", "three"] {
        let other = app.with_file_name(other);
        save_four(&p, &other);
        std::fs::remove_dir_all(&other).unwrap();
    }
    let own = p.engine.project(&app).unwrap().id().clone();
    let to = app.with_file_name("app-2");
    std::fs::rename(&app, &to).unwrap();
    // Even if nothing in it has its name any more.
    for name in ["a", "other-name"] {
        let found = p.engine.project(&to).unwrap().adoptable().unwrap();
        let ids: Vec<_> = found.iter().map(|known| &known.id).collect();
        assert_eq!(ids, [&own], "{name}");
        let _ = std::fs::rename(to.join("a"), to.join("other-name"));
    }
}

#[test]
fn a_copy_is_not_offered_the_checkpoints_of_a_project_that_was_renamed() {
    let (p, _clock, app) = scene();
    std::fs::rename(&app, app.with_file_name("app-2")).unwrap();
    let copy = app.with_file_name("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::write(copy.join("a"), "another project").unwrap();
    let found = p.engine.project(&copy).unwrap().adoptable().unwrap();
    assert_eq!(found, []);
    // Where it was moved is not known once it is elsewhere: then what looks like it may be it.
    let away = make(&p, "elsewhere").join("app");
    std::fs::rename(app.with_file_name("app-2"), away).unwrap();
    let found = p.engine.project(&copy).unwrap().adoptable().unwrap();
    assert_eq!(found.len(), 1);
}

#[test]
fn another_volume_with_the_numbers_of_the_first_is_no_proof_of_deletion() {
    for key in ["workdir_parent_born", "workdir_parent_fsid"] {
        let (p, _clock, app) = scene();
        change_record(&p, &app, |text| {
            let other = format!("\"{key}\": 1");
            let start = text.find(&format!("\"{key}\": ")).unwrap();
            let end = start + text[start..].find([',', '}']).unwrap();
            format!("{}{other}{}", &text[..start], &text[end..])
        });
        std::fs::remove_dir_all(&app).unwrap();
        let cleaned = clean(&p, all_orphans());
        assert_eq!(cleaned.dropped, [], "{key}");
        let doubts: Vec<_> = cleaned.notes.iter().filter_map(doubt).collect();
        assert_eq!(doubts, [&Doubt::ParentReplaced], "{key}");
    }
}

#[test]
fn the_newest_checkpoint_that_can_be_read_outlives_a_damaged_one() {
    let (p, clock, app) = scene();
    let newest = p.engine.project(&app).unwrap().timeline().unwrap()[0].clone();
    let pack = pack_with(&p, &newest.id.to_hex());
    std::fs::remove_file(pack.with_extension("idx")).unwrap();
    std::fs::remove_file(&pack).unwrap();
    clock.advance(20 * DAY);
    for limits in [
        Limits { retention_days: Some(7), ..Limits::default() },
        Limits { max_snapshots: Some(1), ..Limits::default() },
    ] {
        let request = CleanRequest { limits, attended: true, clock_is_right: true };
        p.engine.clean(&request, &NoProgress).unwrap();
        assert_eq!(reasons_at(&p, &app), ["3"], "the newest cannot be listed");
        assert_eq!(checkpoints(&p, &app), 2);
    }
}

#[test]
fn a_floor_that_cannot_be_reached_costs_no_checkpoint() {
    let (p, _clock, app) = scene();
    let limits = Limits { min_free_bytes: Some(u64::MAX / 2), ..Limits::default() };
    let cleaned = clean(&p, limits);
    assert_eq!(cleaned.dropped, []);
    assert_eq!(checkpoints(&p, &app), 4);
    let over = cleaned.over.unwrap();
    assert_eq!(over.limit, Rule::FreeDisk);
    assert!(over.bytes > 1 << 60, "{over:?}");
    assert!((1..1 << 20).contains(&over.could_free), "{over:?}");
}

#[test]
fn a_project_that_was_moved_far_away_is_not_given_up_the_day_it_is_missed() {
    let p = TestProject::new();
    let base = p.temp.path().canonicalize().unwrap();
    let (old, new) = (base.join("here/app"), base.join("there"));
    std::fs::create_dir_all(&old).unwrap();
    std::fs::create_dir_all(&new).unwrap();
    std::fs::write(base.join("here/sibling"), "").unwrap();
    std::fs::write(old.join("a"), "1").unwrap();
    let project = p.engine.project(&old).unwrap();
    project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
    let record = p.store().join(format!("projects/{}.json", project.id()));
    std::fs::rename(&old, new.join("app")).unwrap();
    p.engine.maintain(&NoProgress).unwrap().unwrap();
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(text.contains("workdir_missing_since"), "{text}");
    assert_eq!(p.engine.projects().unwrap().len(), 1, "still there");
}
