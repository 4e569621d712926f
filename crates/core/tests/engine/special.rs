//! Files that are no files, files that never stand still, and trees beyond all measure.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

use herma_core::Settings;
use herma_testkit::Bounded;
use herma_testkit::bounded::Done;
use herma_testkit::tree::assert_same;
use herma_worktree::reason::Reason;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::child;
use super::project::TestProject;

/// What the newest checkpoint left out for this reason.
fn left_out(p: &TestProject, reason: Reason) -> Vec<String> {
    let project = p.project();
    let receipt = project.receipt(&p.find("@")).unwrap();
    receipt
        .left_out
        .iter()
        .filter(|item| item.reason == reason)
        .map(|item| item.path.to_string())
        .collect()
}

#[test]
fn pipes_sockets_and_devices_are_named_and_never_opened() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let mode = Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(CWD, p.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(p.path("socket")).unwrap();
    let mut expected = vec!["pipe", "socket"];
    // A terminal: opening it could block, reading it would.
    let device = rustix::fs::makedev(5, 0);
    match rustix::fs::mknodat(CWD, p.path("device"), FileType::CharacterDevice, mode, device) {
        Ok(()) => expected.insert(0, "device"),
        Err(e) => herma_testkit::skipped("devices", e),
    }
    let saved = p.save("special");
    assert_eq!(saved.receipt.summary.files, 1);
    assert_eq!(left_out(&p, Reason::Special), expected);
    assert!(saved.receipt.summary.is_partial(), "and at once");

    p.write("a.txt", "two\n");
    p.restore("@");
    for name in expected {
        assert!(p.exists(name), "a restore leaves {name} alone");
    }
    assert_eq!(p.read("a.txt"), "one\n");
}

/// A file of the checkpoint stands where a pipe is now: the pipe is not in any save, so it stays.
#[test]
fn a_pipe_in_the_way_of_a_file_stays_and_is_named() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    p.remove("a.txt");
    let mode = Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(CWD, p.path("a.txt"), FileType::Fifo, mode, 0).unwrap();
    let restored = p.restore("@");
    let kept: Vec<String> = restored.kept.iter().map(|k| k.path.to_string()).collect();
    assert_eq!(kept, ["a.txt"]);
}

#[test]
fn a_sparse_file_of_200_megabytes_is_streamed_there_and_back() {
    let settings = Settings { max_file_size: None, ..Settings::default() };
    let p = TestProject::with(settings);
    let size = 200 << 20;
    let file = File::create(p.path("sparse")).unwrap();
    file.set_len(size).unwrap();
    file.write_all_at(b"in the middle", size / 2).unwrap();
    drop(file);
    let saved = p.save("sparse");
    assert_eq!(saved.receipt.summary.bytes, size);
    let object = format!("{}:sparse", saved.checkpoint.id);
    let stored = p.repository().git(["cat-file", "-s", &object]).success();
    assert_eq!(stored.line(), size.to_string());
    p.remove("sparse");
    p.restore("@");
    let file = File::open(p.path("sparse")).unwrap();
    assert_eq!(file.metadata().unwrap().len(), size);
    let mut middle = [0; 15];
    file.read_exact_at(&mut middle, size / 2 - 1).unwrap();
    assert_eq!(&middle, b"\0in the middle\0");
}

#[test]
fn hard_links_are_two_files_and_a_restore_changes_only_the_project() {
    let p = TestProject::new();
    let outside = p.base().join("outside");
    std::fs::write(&outside, "one\n").unwrap();
    std::fs::hard_link(&outside, p.path("a.txt")).unwrap();
    p.write("b.txt", "same\n");
    std::fs::hard_link(p.path("b.txt"), p.path("c.txt")).unwrap();
    p.save("first");
    let before = p.tree();
    // Through the link, as an editor that writes in place does.
    std::fs::write(p.path("a.txt"), "two\n").unwrap();
    std::fs::write(p.path("b.txt"), "changed\n").unwrap();
    p.restore("@");
    assert_same(&before, &p.tree(), "both names have their bytes back");
    let text = std::fs::read_to_string(&outside).unwrap();
    assert_eq!(text, "two\n", "the name outside is not written through");
}

#[test]
fn setuid_is_saved_as_an_ordinary_mode_and_never_brought_back() {
    let p = TestProject::new();
    p.write("tool", "#!/bin/sh\n");
    p.chmod("tool", 0o6755);
    p.save("first");
    p.remove("tool");
    p.restore("@");
    assert_eq!(p.mode("tool"), 0o755);
    p.save("brought back");
    p.chmod("tool", 0o4755);
    assert!(!p.save("again").is_new, "it is no change either");
}

/// Root reads everything, so this runs as nobody.
#[test]
fn unreadable_files_and_directories_are_named_and_stay_untouched() {
    if child::is_run_as_nobody(
        "engine::special::unreadable_files_and_directories_are_named_and_stay_untouched",
    ) {
        return;
    }
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("locked.txt", "secret");
    p.write("locked/file", "secret");
    p.write("listable/file", "secret");
    p.chmod("locked.txt", 0);
    p.chmod("locked", 0);
    p.chmod("listable", 0o400);
    let saved = p.save("first");
    assert_eq!(saved.receipt.summary.files, 1);
    let named = left_out(&p, Reason::Unreadable);
    assert!(
        ["locked", "locked.txt"].iter().all(|n| named.iter().any(|m| m == n))
            && named.iter().any(|n| n.starts_with("listable")),
        "{named:?}"
    );
    p.write("a.txt", "two\n");
    p.restore("@");
    assert_eq!(p.read("a.txt"), "one\n");
    for (name, mode) in [("locked.txt", 0), ("locked", 0), ("listable", 0o400)] {
        assert_eq!(p.mode(name), mode, "{name}");
        p.chmod(name, 0o700);
    }
    assert_eq!(p.read("locked/file"), "secret");
    assert_eq!(p.read("listable/file"), "secret");
}

/// Something mounted in the project is not the project's.
#[test]
fn a_mount_point_is_named_and_not_entered() {
    const NAME: &str = "engine::special::a_mount_point_is_named_and_not_entered";
    let unshare = "command -v unshare >/dev/null && unshare -m true";
    let can_mount = std::process::Command::new("sh")
        .args(["-c", unshare])
        .bounded_output()
        .is_ok_and(|o| o.status.success());
    if !can_mount {
        return herma_testkit::skipped("mounts", "no mount namespace can be made here");
    }
    // In a namespace of its own: the mounts go away with it.
    let setup = "exec unshare -m /proc/self/fd/0 \"$@\"";
    if child::is_run_after(NAME, setup) {
        return;
    }
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    std::fs::create_dir(p.path("mount")).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(p.path("mount"))
        .bounded_status();
    assert!(mounted.unwrap().success());
    p.write("mount/other.txt", "not ours\n");
    let saved = p.save("first");
    assert_eq!(saved.receipt.summary.files, 1);
    assert_eq!(left_out(&p, Reason::OtherFileSystem), ["mount"]);
    p.write("mount/other.txt", "still not ours\n");
    p.write("b.txt", "new\n");
    p.restore("@");
    assert_eq!(p.read("mount/other.txt"), "still not ours\n");
    assert!(!p.exists("b.txt"));
    let unmounted = std::process::Command::new("umount").arg(p.path("mount")).bounded_status();
    assert!(unmounted.unwrap().success());
}

/// Files that grow, shrink, are replaced and vanish during saves: each checkpoint holds some state each
/// had, or says that the file was not steady.
#[test]
fn files_that_do_not_stand_still_are_whole_or_named() {
    let p = TestProject::new();
    p.write("steady.txt", "steady\n");
    let stop = AtomicBool::new(false);
    let running = || !stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while running() {
                let mut file = File::create(p.path("growing")).unwrap();
                for _ in 0..200 {
                    file.write_all(&[b'g'; 4096]).unwrap();
                }
            }
        });
        scope.spawn(|| {
            while running() {
                p.write("vanishing", "v\n");
                p.write("directory/inner/file", "v\n");
                p.remove("vanishing");
                p.remove("directory");
            }
        });
        scope.spawn(|| {
            for number in (0_u8..=255).cycle().take_while(|_| running()) {
                let whole = vec![number; 100_000];
                std::fs::write(p.path("replaced.new"), whole).unwrap();
                std::fs::rename(p.path("replaced.new"), p.path("replaced")).unwrap();
            }
        });
        let _done = Done(&stop);
        for number in 0..30 {
            p.write("tick", number.to_string());
            let saved = p.save("moving");
            check_whole(&p, &saved.checkpoint.id.to_hex(), &left_out(&p, Reason::Unstable));
        }
    });
    // What was read and then read again stays behind, and is nobody's; that is not damage.
    let fsck = ["fsck", "--strict", "--no-dangling", "--no-progress"];
    p.repository().git(fsck).success();
}

fn check_whole(p: &TestProject, id: &str, unstable: &[String]) {
    let tree = p.repository().tree(id);
    assert_eq!(tree.file("steady.txt"), Some(&b"steady\n"[..]));
    if let Some(bytes) = tree.file("growing") {
        assert!(bytes.iter().all(|b| *b == b'g'), "nothing is made up");
        let named = unstable.iter().any(|name| name == "growing");
        assert!(named || bytes.len() % 4096 == 0, "a state it had, or named");
    }
    for (path, whole) in [("vanishing", &b"v\n"[..]), ("directory/inner/file", b"v\n")] {
        if let Some(bytes) = tree.file(path) {
            let named = unstable.iter().any(|name| name == path);
            assert!(bytes == whole || bytes.is_empty() || named, "{path}");
        }
    }
    if let Some(bytes) = tree.file("replaced") {
        let one_state = bytes.len() == 100_000 && bytes.iter().all(|b| *b == bytes[0]);
        assert!(one_state, "a file replaced by renaming is never torn");
    }
}

/// Makes directories `name/name/…` below `from`, so deep that no path leads there.
fn make_deep(from: &std::path::Path, name: &str, levels: usize) {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut dir = rustix::fs::openat(CWD, from, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o755)).unwrap();
        dir = rustix::fs::openat(&dir, name, flags, Mode::empty()).unwrap();
    }
    let create = OFlags::WRONLY | OFlags::CREATE;
    let file = rustix::fs::openat(&dir, "bottom", create, Mode::from_raw_mode(0o644)).unwrap();
    rustix::io::write(&file, b"deep\n").unwrap();
}

#[test]
fn paths_longer_than_the_kernel_takes_are_saved_and_brought_back() {
    // What is worked out per directory takes longer the deeper it is: too long without optimisation.
    const LEVELS: usize = if cfg!(debug_assertions) { 800 } else { 2000 };
    herma_fs::process::raise_open_file_limit();
    if herma_fs::process::descriptor_limit().is_some_and(|limit| limit < 3 * LEVELS as u64) {
        let reason = "too few files may be open at once for so deep a tree";
        return herma_testkit::skipped("descriptors", reason);
    }
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    // Longer than any path the kernel takes.
    assert!("level-".len() * LEVELS > 4096);
    make_deep(&p.root, "level-", LEVELS);
    let saved = p.save("deep");
    assert_eq!(saved.receipt.summary.files, 2);
    assert_eq!(saved.receipt.summary.directories, LEVELS as u64 + 1);
    assert!(saved.receipt.left_out.is_empty());

    p.remove("level-");
    p.write("a.txt", "two\n");
    let restored = p.restore("@");
    assert!(restored.kept.is_empty(), "{:?}", restored.kept.first());
    let again = p.save("again");
    assert_eq!(again.checkpoint.tree, saved.checkpoint.tree);
    assert_eq!(again.checkpoint.modes, saved.checkpoint.modes);

    p.undo().unwrap();
    assert!(!p.exists("level-"), "and it can be taken away again");
}

#[test]
fn twenty_thousand_files_in_one_directory_come_back() {
    let p = TestProject::new();
    std::fs::create_dir(p.path("many")).unwrap();
    for number in 0..20_000 {
        std::fs::write(p.path("many").join(format!("{number:05}")), b"").unwrap();
    }
    let saved = p.save("many");
    assert_eq!(saved.receipt.summary.files, 20_000);
    let id = format!("id:{}", saved.checkpoint.id);
    p.remove("many");
    p.restore(&id);
    assert_eq!(std::fs::read_dir(p.path("many")).unwrap().count(), 20_000);
    let inode = |name| p.path(name).metadata().unwrap().ino();
    let before = inode("many/00000");
    p.write("many/19999", "changed");
    p.restore(&id);
    assert_eq!(inode("many/00000"), before, "only what changed is written");
}
