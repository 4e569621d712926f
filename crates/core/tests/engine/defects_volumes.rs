//! Projects that are not there: deleted, or on a volume that is not mounted. One test per defect of the
//! original.

use std::path::{Path, PathBuf};

use herma_core::cleanup::{CleanRequest, Limits, Orphans};
use herma_core::engine::NoProgress;
use herma_core::types::settings::Keeping;
use herma_core::{SaveOptions, Settings};

use super::project::TestProject;
use super::upkeep::{DAY, HandClock, clean, maintain, make, save_at, with_clock};

/// A way in which a project is not where it was, and back.
struct Scene {
    name: &'static str,
    away: fn(&Path),
    back: fn(&Path),
}

fn rename(volume: &Path) {
    std::fs::rename(volume, volume.with_extension("away")).unwrap();
}

fn rename_back(volume: &Path) {
    // Whatever stood in its place.
    let _ = std::fs::remove_dir_all(volume);
    std::fs::rename(volume.with_extension("away"), volume).unwrap();
}

const SCENES: [Scene; 6] = [
    Scene { name: "the volume is gone with its mount point", away: rename, back: rename_back },
    Scene {
        name: "the mount point is empty",
        away: |volume| {
            rename(volume);
            std::fs::create_dir(volume).unwrap();
        },
        back: rename_back,
    },
    Scene {
        name: "another volume is in its place",
        away: |volume| {
            rename(volume);
            std::fs::create_dir_all(volume.join("photos")).unwrap();
        },
        back: rename_back,
    },
    Scene {
        name: "a file is in its place",
        away: |volume| {
            rename(volume);
            std::fs::write(volume, "").unwrap();
        },
        back: |volume| {
            std::fs::remove_file(volume).unwrap();
            rename_back(volume);
        },
    },
    Scene {
        name: "a link leads nowhere",
        away: |volume| {
            rename(volume);
            std::os::unix::fs::symlink("nowhere", volume).unwrap();
        },
        back: |volume| {
            std::fs::remove_file(volume).unwrap();
            rename_back(volume);
        },
    },
    Scene {
        name: "the volume itself is the same and empty",
        away: |volume| {
            std::fs::rename(volume.join("app"), volume.with_extension("app")).unwrap();
            std::fs::remove_dir(volume.join("other")).unwrap();
        },
        back: |volume| {
            std::fs::rename(volume.with_extension("app"), volume.join("app")).unwrap();
        },
    },
];

fn scene() -> (TestProject, std::sync::Arc<HandClock>, PathBuf) {
    let (p, clock) = with_clock(Settings {
        keeping: Keeping {
            // So that nothing but being gone can cost a checkpoint.
            retention_days: 0,
            ..Keeping::default()
        },
        ..Settings::default()
    });
    let volume = make(&p, "volume");
    std::fs::create_dir(volume.join("app")).unwrap();
    std::fs::create_dir(volume.join("other")).unwrap();
    for number in 0..3 {
        clock.advance(DAY);
        std::fs::write(volume.join("app/a"), number.to_string()).unwrap();
        save_at(&p, &volume.join("app"), &number.to_string());
    }
    (p, clock, volume)
}

/// Three weeks of somebody else's work, cleaned up every day.
fn three_weeks(p: &TestProject, clock: &HandClock) {
    for day in 0..21 {
        clock.advance(DAY);
        p.write("a", day.to_string());
        p.save("daily");
        maintain(p);
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

// HERMES defect 18: a volume that was not mounted at start-up cost its projects their whole history.
#[test]
fn a_volume_that_is_not_mounted_keeps_all_checkpoints_of_its_projects() {
    for Scene { name, away, back } in SCENES {
        let (p, clock, volume) = scene();
        let root = volume.join("app");
        away(&volume);
        three_weeks(&p, &clock);
        assert_eq!(checkpoints(&p, &root), 3, "{name}: left alone for weeks");
        let cleaned = clean(&p, all_orphans());
        assert_eq!(cleaned.dropped, [], "{name}: asked to remove all orphans");
        assert_eq!(checkpoints(&p, &root), 3, "{name}");
        back(&volume);
        let project = p.engine.project(&root).unwrap();
        assert_eq!(project.timeline().unwrap().len(), 3, "{name}: mounted again");
        let options = SaveOptions::default();
        assert!(!project.save_with(&options, &NoProgress).unwrap().is_new);
        p.fsck_but_dangling();
    }
}

// HERMES defect 18, the other side: what really was deleted goes, after a while or when asked for.
#[test]
fn a_deleted_project_is_cleaned_up_after_and_its_pinned_checkpoints_stay() {
    for pinned in [false, true] {
        for attended in [false, true] {
            let (p, clock, volume) = scene();
            let root = volume.join("app");
            if pinned {
                let project = p.engine.project(&root).unwrap();
                project.pin(&project.timeline().unwrap()[2]).unwrap();
            }
            std::fs::remove_dir_all(&root).unwrap();
            if attended {
                clean(&p, all_orphans());
            } else {
                maintain(&p);
                assert_eq!(checkpoints(&p, &root), 3, "not at once");
                three_weeks(&p, &clock);
            }
            assert_eq!(checkpoints(&p, &root), usize::from(pinned));
            let known = p.engine.projects().unwrap();
            let is_known = known.iter().any(|k| k.workdir.as_ref() == Some(&root));
            assert_eq!(is_known, pinned, "nothing else is remembered");
            p.fsck_but_dangling();
        }
    }
}

// HERMES defect 18: a deleted project whose last checkpoint was dropped is forgotten as well.
#[test]
fn a_deleted_project_without_checkpoints_is_forgotten() {
    let (p, _clock, volume) = scene();
    let root = volume.join("app");
    let project = p.engine.project(&root).unwrap();
    for checkpoint in project.timeline().unwrap() {
        project.drop_checkpoint(&checkpoint).unwrap();
    }
    std::fs::remove_dir_all(&root).unwrap();
    let request = CleanRequest { limits: all_orphans(), attended: true, clock_is_right: false };
    let (_, plan) = p.engine.plan_cleaning(&request, &NoProgress).unwrap();
    assert_eq!(plan.forgotten.len(), 1);
    let cleaned = clean(&p, all_orphans());
    assert_eq!(cleaned.forgotten.len(), 1, "what was planned is done");
    assert_eq!(p.engine.projects().unwrap().len(), 0);
}
