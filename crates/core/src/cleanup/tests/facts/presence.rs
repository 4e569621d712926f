//! Projects that are missing, on a real disk.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

use super::*;

/// `<place>/volume/app` and a neighbour, with what was recorded while it lived.
struct Scene {
    dir: tempfile::TempDir,
    recorded: Places,
}

fn look(path: &Path) -> Place {
    Place::of(&Dir::open(path).unwrap()).unwrap()
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("volume/app")).unwrap();
        std::fs::create_dir_all(dir.path().join("volume/neighbour")).unwrap();
        let own = Place { file_system: None, ..look(&dir.path().join("volume/app")) };
        let recorded = Places {
            parent: Some(look(&dir.path().join("volume"))),
            own: Some(own),
            own_dev: Some(own.dev),
        };
        Self { dir, recorded }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn remove(&self, name: &str) {
        std::fs::remove_dir_all(self.path(name)).unwrap();
    }

    fn presence(&self) -> Presence {
        presence(Some(&self.path("volume/app")), &self.recorded)
    }

    /// What was recorded about the directory above the project, changed.
    fn recorded(mut self, change: impl Fn(&mut Place)) -> Self {
        change(self.recorded.parent.as_mut().unwrap());
        self
    }

    /// As Hermes would have recorded it.
    fn by_hermes(mut self) -> Self {
        (self.recorded.own, self.recorded.own_dev) = (None, None);
        self.recorded(|parent| (parent.born, parent.file_system) = (None, None))
    }

    #[track_caller]
    fn expect(&self, doubt: Doubt) {
        assert_eq!(self.presence(), Presence::OutOfReach(doubt));
    }
}

#[test]
fn what_is_there_is_live_whatever_it_is() {
    let scene = Scene::new();
    assert_eq!(scene.presence(), Presence::Live);
    scene.remove("volume/app");
    std::os::unix::fs::symlink("nowhere", scene.path("volume/app")).unwrap();
    assert_eq!(scene.presence(), Presence::Live);
    let nothing = Places::default();
    let found = presence(Some(&scene.path("volume")), &nothing);
    assert_eq!(found, Presence::Live);
}

#[test]
fn a_project_missing_from_its_own_directory_was_deleted() {
    let scene = Scene::new();
    scene.remove("volume/app");
    assert_eq!(scene.presence(), Presence::Gone);
    assert_eq!(scene.by_hermes().presence(), Presence::Gone);
}

#[test]
fn an_empty_directory_is_no_witness() {
    let scene = Scene::new();
    scene.remove("volume/app");
    scene.remove("volume/neighbour");
    scene.expect(Doubt::EmptyParent);
}

#[test]
fn a_missing_or_replaced_directory_is_no_witness() {
    let scene = Scene::new();
    std::fs::rename(scene.path("volume"), scene.path("away")).unwrap();
    let to = scene.path("away/app");
    scene.expect(Doubt::Moved { to });
    // What lies under a mount point while the volume is away.
    std::fs::create_dir_all(scene.path("volume/underlay")).unwrap();
    scene.expect(Doubt::ParentReplaced);
    scene.remove("volume");
    std::fs::write(scene.path("volume"), "a file").unwrap();
    scene.expect(Doubt::ParentReplaced);
}

#[test]
fn gone_with_all_parents_is_gone_if_the_file_system_it_was_on_is_there() {
    let scene = Scene::new();
    scene.remove("volume");
    let deep = scene.path("volume/deep/er/app");
    let found = presence(Some(&deep), &scene.recorded);
    if scene.recorded.parent.unwrap().file_system.is_none() {
        return assert_eq!(found, Presence::OutOfReach(Doubt::ParentGone));
    }
    assert_eq!(found, Presence::GoneWithParents);
    assert_eq!(scene.presence(), Presence::GoneWithParents);
    // What is left of the path is what a volume was mounted on.
    for change in [
        |parent: &mut Place| parent.file_system = Some(1),
        |parent: &mut Place| parent.dev += 1,
        // An older record, or one by Hermes.
        |parent: &mut Place| parent.file_system = None,
    ] {
        let other = Scene::new().recorded(change);
        let project = other.path("volume/app");
        other.remove("volume");
        let found = presence(Some(&project), &other.recorded);
        // The project itself must not be what differs.
        let expected = if other.recorded.own_dev == other.recorded.parent.map(|p| p.dev) {
            Doubt::ParentGone
        } else {
            Doubt::WasMountPoint
        };
        assert_eq!(found, Presence::OutOfReach(expected));
    }
}

#[test]
fn the_same_inode_on_another_device_is_another_directory() {
    let scene = Scene::new().by_hermes().recorded(|parent| parent.dev += 1);
    scene.remove("volume/app");
    scene.expect(Doubt::ParentReplaced);
}

#[test]
fn another_volume_with_the_same_numbers_is_no_witness() {
    // What a second stick in the same socket looks like: device and inode are those of the first.
    let later = Scene::new().recorded(|parent| parent.born = Some(1));
    later.remove("volume/app");
    later.expect(Doubt::ParentReplaced);
    let other = Scene::new().recorded(|parent| parent.file_system = Some(1));
    other.remove("volume/app");
    other.expect(Doubt::ParentReplaced);
}

#[test]
fn numbers_that_every_volume_has_are_no_evidence() {
    // The root of a volume, which is always there; the project would be `/proc/app`.
    let Ok(Some(_)) = stat_path(Path::new("/proc")) else { return };
    let root = Place { born: None, file_system: None, ..look(Path::new("/proc")) };
    let recorded = Places { parent: Some(root), ..Places::default() };
    let found = presence(Some(Path::new("/proc/no-such-project")), &recorded);
    assert_eq!(found, Presence::OutOfReach(Doubt::AnyVolume));
}

#[test]
fn a_renamed_project_is_not_deleted() {
    let scene = Scene::new();
    std::fs::rename(scene.path("volume/app"), scene.path("volume/app2")).unwrap();
    let to = scene.path("volume/app2");
    scene.expect(Doubt::Moved { to: to.clone() });
    let said = Doubt::Moved { to: to.clone() }.to_string();
    assert!(said.contains(&to.display().to_string()), "{said}");
    assert!(said.contains("`herma doctor --adopt`"), "{said}");
    scene.remove("volume/app2");
    assert_eq!(scene.presence(), Presence::Gone);
}

#[test]
fn a_directory_that_got_the_inode_of_a_deleted_project_is_another_one() {
    let mut scene = Scene::new();
    scene.remove("volume/app");
    let neighbour = look(&scene.path("volume/neighbour"));
    let Some(born) = neighbour.born else { return };
    let earlier = |born| Some(Place { born, file_system: None, ..neighbour });
    scene.recorded.own = earlier(Some(born - 1));
    assert_eq!(scene.presence(), Presence::Gone);
    // Without the time it cannot be told, and doubt keeps checkpoints.
    scene.recorded.own = earlier(None);
    let to = scene.path("volume/neighbour");
    scene.expect(Doubt::Moved { to });
}

#[test]
fn a_volume_of_its_own_is_never_taken_for_deleted() {
    let mut scene = Scene::new();
    scene.remove("volume/app");
    scene.recorded.own_dev = scene.recorded.own_dev.map(|dev| dev + 1);
    scene.expect(Doubt::WasMountPoint);
}

#[test]
fn without_a_record_nothing_is_known_to_be_deleted() {
    let scene = Scene::new();
    scene.remove("volume/app");
    assert_eq!(
        presence(Some(&scene.path("volume/app")), &Places::default()),
        Presence::OutOfReach(Doubt::NoRecord)
    );
    for path in [None, Some(Path::new("")), Some(Path::new("relative/app"))] {
        assert_eq!(presence(path, &scene.recorded), Presence::Unknown);
    }
    let above = scene.path("missing/..");
    assert_eq!(presence(Some(&above), &scene.recorded), Presence::Unknown);
}

#[test]
fn what_the_system_will_not_say_is_doubt() {
    let scene = Scene::new();
    let long = scene.path(&"x".repeat(300));
    let found = presence(Some(&long), &scene.recorded);
    let Presence::OutOfReach(Doubt::Unreadable(answer)) = found else {
        panic!("{found:?}");
    };
    assert!(answer.contains("name too long"), "{answer}");
    std::os::unix::fs::symlink("loop", scene.path("loop")).unwrap();
    let found = presence(Some(&scene.path("loop/app")), &scene.recorded);
    assert!(matches!(found, Presence::OutOfReach(Doubt::Unreadable(_))));
}

#[test]
fn a_mount_point_is_told_by_its_device() {
    let asked = |path: &Path| is_mount_point(path, &Dir::open(path).unwrap());
    if let Ok(Some(_)) = stat_path(Path::new("/proc")) {
        assert_eq!(asked(Path::new("/proc")), Ok(true));
    }
    let scene = Scene::new();
    assert_eq!(asked(&scene.path("volume")), Ok(false));
    assert_eq!(asked(Path::new("/")), Ok(true));
}
