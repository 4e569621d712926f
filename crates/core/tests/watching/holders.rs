//! Files that somebody holds by a name that is not watched, or by none.
//!
//! Writing through a descriptor is told to the directory of the name it was opened by, and storing through a mapping to
//! nobody. In every case a save must see the change, before the watcher looked into who holds what and after.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::mapping::Mapping;
use super::scene::Scene;

fn scene() -> Scene {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        fs::create_dir(scene.root.join(name)).unwrap();
        fs::write(scene.root.join(name).join("file"), "a file of its own\n").unwrap();
    }
    scene.settle();
    scene
}

fn writer(path: &Path) -> File {
    File::options().read(true).append(true).open(path).unwrap()
}

/// Changes a file again and again, between which the watcher does what it does by itself.
#[track_caller]
fn sees_all(scene: &Scene, mut change: impl FnMut(u8)) {
    for number in 0..5 {
        change(b'0' + number);
        assert!(scene.save().is_new, "change {number} was not seen");
        assert!(!scene.rehash().is_new, "change {number} was seen in part");
        scene.settle();
        scene.look_into_doubts();
        scene.settle();
    }
}

#[test]
fn a_descriptor_whose_name_is_removed_is_known_by_the_other_name() {
    let scene = scene();
    let (one, two) = (scene.root.join("a/file"), scene.root.join("b/link"));
    fs::hard_link(&one, &two).unwrap();
    scene.settle();
    scene.look_into_doubts();
    let mut held = writer(&two);
    scene.settle();
    fs::remove_file(&two).unwrap();
    scene.settle();
    sees_all(&scene, |byte| held.write_all(&[byte]).unwrap());
}

#[test]
fn a_file_that_is_moved_by_a_link_while_it_is_open_is_seen() {
    let scene = scene();
    let mut held = writer(&scene.root.join("a/file"));
    scene.settle();
    fs::hard_link(scene.root.join("a/file"), scene.root.join("b/link")).unwrap();
    fs::remove_file(scene.root.join("a/file")).unwrap();
    scene.settle();
    sees_all(&scene, |byte| held.write_all(&[byte]).unwrap());
}

#[test]
fn a_file_without_a_name_that_gets_one_is_seen() {
    let scene = scene();
    let mut held = File::options()
        .write(true)
        .custom_flags(rustix::fs::OFlags::TMPFILE.bits() as i32)
        .open(scene.root.join("a"))
        .unwrap();
    let unnamed = format!("/proc/self/fd/{}", held.as_raw_fd());
    rustix::fs::linkat(
        rustix::fs::CWD,
        unnamed,
        rustix::fs::CWD,
        scene.root.join("b/named"),
        rustix::fs::AtFlags::SYMLINK_FOLLOW,
    )
    .unwrap();
    scene.settle();
    sees_all(&scene, |byte| held.write_all(&[byte]).unwrap());
}

#[test]
fn a_mapping_that_comes_in_by_a_move_is_seen() {
    let scene = scene();
    let outside = scene.outside().join("mapped");
    fs::write(&outside, vec![b'x'; 5000]).unwrap();
    let mut mapping = Mapping::of(&outside);
    fs::rename(&outside, scene.root.join("b/mapped")).unwrap();
    scene.settle();
    sees_all(&scene, |byte| mapping.store(byte));
    mapping.close();
}

#[test]
fn a_mapping_in_a_directory_that_is_moved_is_seen() {
    let scene = scene();
    let mut mapping = Mapping::of(&scene.root.join("a/file"));
    scene.settle();
    fs::rename(scene.root.join("a"), scene.root.join("b/moved")).unwrap();
    scene.settle();
    sees_all(&scene, |byte| mapping.store(byte));
    mapping.close();
}

#[test]
fn what_nobody_holds_is_not_doubtful_for_long() {
    let scene = scene();
    assert!(!scene.look_into_doubts(), "nothing happened");
    fs::write(scene.root.join("a/new"), "made here").unwrap();
    scene.save();
    assert!(scene.look_into_doubts());
    assert!(!scene.look_into_doubts(), "that is settled");
    scene.settle();
    scene.deafen();
    // The proof that nobody looks there any more: what is not told is not seen.
    fs::write(scene.root.join("a/new"), "changed").unwrap();
    assert!(!scene.save().is_new);
}
