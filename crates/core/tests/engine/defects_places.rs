//! Where a project is, and where it is not: the rest of the defects about saves that did not happen.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use herma_core::engine::NoProgress;
use herma_core::error::ErrorKind;
use herma_core::{Error, RelPath, SaveOptions, Settings, Spec};
use herma_store::layout;

use super::child;
use super::project::{TestProject, engine};

// HERMES defect 32
#[test]
fn a_project_is_the_same_from_each_of_its_directories() {
    let p = TestProject::new();
    p.write("Cargo.toml", "");
    p.write("src/deep/mod.rs", "\n");
    p.save("first");
    for path in ["", "src", "src/deep", "src/deep/mod.rs", "src/not-there-yet.rs"] {
        assert_eq!(p.engine.find_root(&p.path(path)).unwrap(), p.root, "{path:?}");
    }
    let from_below = p.engine.project(&p.engine.find_root(&p.path("src")).unwrap());
    assert_eq!(from_below.unwrap().timeline().unwrap(), p.list());

    // Without a marker, what the store knows decides.
    p.remove("Cargo.toml");
    assert_eq!(p.engine.find_root(&p.path("src/deep")).unwrap(), p.root);
}

// HERMES defect 33
#[test]
fn a_stray_marker_in_the_home_directory_claims_nothing() {
    let p = TestProject::new();
    let base = p.base().canonicalize().unwrap();
    let (home, link) = (base.join("users/me"), base.join("me"));
    std::fs::create_dir_all(home.join("notes")).unwrap();
    std::fs::write(home.join("Makefile"), "").unwrap();
    std::fs::create_dir(home.join(".git")).unwrap(); // a dotfiles repository
    std::fs::write(home.join("notes/today.md"), "x\n").unwrap();
    std::fs::write(base.join("users/Makefile"), "").unwrap();
    symlink(&home, &link).unwrap();
    for given in [&home, &link] {
        let engine = engine(&p.home(), Some(given), Settings::default());
        let found = engine.find_root(&link.join("notes/today.md")).unwrap();
        assert_eq!(found, home.join("notes"), "home given as {}", given.display());
        let project = engine.project(&found).unwrap();
        let saved = project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
        assert_eq!(saved.receipt.summary.files, 1);
        let broad = [&home, &link, &base.join("users"), &base];
        let system = ["/", "/etc", "/home", "/tmp", "/usr", "/var"].map(Path::new);
        for path in broad.into_iter().map(AsRef::as_ref).chain(system) {
            let refused = engine.project(path).map(drop);
            if path.is_dir() {
                assert!(matches!(refused, Err(Error::Root(_))), "{}: {refused:?}", path.display());
            }
        }
    }
}

// HERMES defect 35
#[test]
fn a_store_that_was_made_only_in_part_is_completed() {
    let pieces = [
        "HEAD",
        "config",
        "info",
        "info/exclude",
        "indexes",
        "projects",
        "herma",
        "herma/lock",
        "herma/tmp",
        "refs/heads",
        "refs/hermes",
        "objects/info",
    ];
    for piece in pieces {
        let p = TestProject::new();
        p.write("a.txt", "one\n");
        p.write(".env", "SECRET=1\n");
        p.write("node_modules/x.js", "1\n");
        layout::create_or_open(&p.home().join("checkpoints"), "stamp").unwrap();
        // Written last: without it nothing is taken for complete.
        std::fs::remove_file(p.store().join("herma/format")).unwrap();
        let path = p.store().join(piece);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        let saved = p.try_save("first").unwrap_or_else(|e| panic!("without {piece}: {e}"));
        assert!(path.exists(), "{piece} is there again");
        let paths: Vec<_> = p.saved_tree(&saved.checkpoint).0.into_keys().collect();
        assert_eq!(paths, [b"a.txt"], "without {piece}");
        p.fsck();
    }
}

// HERMES defect 35
#[test]
fn a_store_of_a_killed_git_init_is_completed() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    std::fs::create_dir_all(p.store()).unwrap();
    let store = p.store();
    p.git_in(".", &["init", "-q", "--bare", store.to_str().unwrap()]);
    std::fs::remove_dir_all(store.join("info")).unwrap();
    assert!(p.save("first").is_new);
    let excludes = std::fs::read_to_string(store.join("info/exclude")).unwrap();
    assert!(excludes.lines().any(|line| line == ".env"), "Hermes reads them there");
    let identity = p.repository().git(["config", "--get", "user.email"]).success();
    assert!(!identity.line().is_empty(), "Hermes commits with it");
    p.fsck();
}

// HERMES defect 37
#[test]
fn odd_arguments_are_errors_not_panics() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let odd: [&[u8]; 6] =
        [b"", b"a\0b", b"~nosuchuser/x", b"\xff\0", b"/proc/self/mem/x", &[b'x'; 5000]];
    for bytes in odd {
        let path = Path::new(std::ffi::OsStr::from_bytes(bytes));
        assert!(p.engine.project(path).is_err(), "{}", bytes.escape_ascii());
        let _ = p.engine.find_root(path);
        let _ = p.project().rel_path(path);
    }
    for path in [Path::new("a\0b"), Path::new("~nosuchuser/x")] {
        assert!(p.engine.find_root(path).is_err(), "{}", path.display());
    }
    for text in [
        "",
        "-1",
        "@-",
        "@-99999999999999999999",
        "99999999999999999999999999999999999999999",
        "id:",
        "a\0b",
        "\u{2028}",
    ] {
        assert!(Spec::parse(text).is_err(), "{text:?}");
    }
    for text in ["0", "2", "@-1", "ffff", "id:0000", "no-such-name"] {
        let missing = p.project().find(&Spec::parse(text).unwrap()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NothingThere, "{text}: {missing}");
    }
    for path in ["/etc/passwd", "../x", "a/../../x", ".git/config", "a\0b"] {
        assert!(RelPath::new(path).is_err(), "{path:?}");
    }
}

// HERMES defect 38
#[test]
fn the_environment_of_git_does_not_leak_in() {
    let setup = "export GIT_OBJECT_DIRECTORY=/nowhere GIT_DIR=/nowhere GIT_WORK_TREE=/nowhere \
        GIT_INDEX_FILE=/nowhere GIT_COMMITTER_DATE='1 +0000' GIT_AUTHOR_DATE='1 +0000' \
        GIT_AUTHOR_NAME=Leak GIT_AUTHOR_EMAIL=leak GIT_COMMITTER_NAME=Leak GIT_COMMITTER_EMAIL=leak \
        GIT_NAMESPACE=leak GIT_ALTERNATE_OBJECT_DIRECTORIES=/nowhere HERMES_CHECKPOINT_TIMEOUT=30s";
    if child::is_run_after("engine::defects_places::the_environment_of_git_does_not_leak_in", setup)
    {
        return;
    }
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let saved = p.save("first").checkpoint;
    p.write("a.txt", "two\n");
    p.restore("@");
    assert_eq!(p.read("a.txt"), "one\n");
    p.fsck();
    let commit = p.repository().git(["cat-file", "commit", &saved.id.to_hex()]).success();
    let who = format!("Herma <herma@local> {} +0100", saved.time.seconds);
    for role in ["author", "committer"] {
        assert!(commit.text().contains(&format!("{role} {who}\n")), "{commit}");
    }
    assert!(p.store().join("objects/pack").is_dir());
    assert!(!p.exists("/nowhere"));
}
