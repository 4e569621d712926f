//! Tests of making and opening stores.

#![allow(clippy::disallowed_methods)]

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::testing::{Fresh, STAMP, git, git_output, names};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Every path below `top` with its mode.
fn modes(top: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = vec![(top.to_owned(), mode(top))];
    if top.is_dir() {
        for name in names(top) {
            found.extend(modes(&top.join(name)));
        }
    }
    found
}

/// A store as Hermes makes it: by git, and world-readable.
fn hermes_store(base: &Path) {
    let store = base.join("store");
    std::fs::create_dir_all(&store).unwrap();
    git(&store, &["init", "-q", "--bare", "--initial-branch=master", store.to_str().unwrap()]);
    git(&store, &["config", "user.name", "Hermes Checkpoint"]);
    set_mode(&store, 0o755);
}

#[test]
fn a_new_store_is_a_git_repository_with_everything_in_it() {
    let fresh = Fresh::new();
    fresh.assert_sound();
    assert_eq!(fresh.git(&["config", "extensions.preciousObjects"]), "true\n");
    assert_eq!(fresh.git(&["config", "--local", "user.name"]), "Hermes Checkpoint\n");
    assert_eq!(fresh.git(&["config", "gc.pruneExpire"]), "never\n");
    assert_eq!(fresh.git(&["rev-parse", "--is-bare-repository"]), "true\n");
    let unreachable = git_output(&fresh.store(), &["hash-object", "-w", "--stdin"], b"precious");
    let unreachable = String::from_utf8(unreachable.stdout).unwrap();
    fresh.git(&["gc", "-q", "--prune=now"]);
    let pruned = git_output(&fresh.store(), &["prune", "--expire=now"], b"");
    assert!(!pruned.status.success(), "git refuses to prune");
    assert_eq!(fresh.git(&["cat-file", "blob", unreachable.trim()]), "precious");
    let exclude = std::fs::read_to_string(fresh.store().join("info/exclude")).unwrap();
    assert_eq!(exclude.lines().count(), HERMES_EXCLUDES.len());
    assert!(exclude.starts_with("node_modules/\n") && exclude.ends_with("*.log\n"));
    assert!(fresh.temporary_files().is_empty());
    for path in ["herma/trash", "herma/projects", "refs/herma", "indexes", "projects"] {
        assert!(fresh.store().join(path).is_dir(), "{path}");
    }
}

#[test]
fn creation_killed_after_any_step_is_completed_by_the_next_run() {
    let whole = Fresh::new();
    let expected = names_below(&whole.store());
    for count in 0..=STEPS {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().join("home/checkpoints");
        std::fs::create_dir_all(base.join("store")).unwrap();
        let store = Dir::open(&base.join("store")).unwrap();
        // All steps done but the format not yet written is the last place to be killed.
        complete(&store, count.min(STEPS - 1)).unwrap();
        if count == STEPS {
            write_if_missing(&store, "HEAD", "ref: refs/heads/master\n").unwrap();
        }
        assert!(!base.join("store/herma/format").exists());
        let reader = open(&base).unwrap();
        assert_eq!(reader.is_some(), count == STEPS, "a store without HEAD is not one");
        create_or_open(&base, STAMP).unwrap();
        assert_eq!(names_below(&base.join("store")), expected, "after {count} steps");
        git(&base.join("store"), &["fsck"]);
        assert!(modes(&base.join("store")).iter().all(|(_, mode)| matches!(mode, 0o700 | 0o600)));
    }
}

fn names_below(store: &Path) -> Vec<PathBuf> {
    modes(store).into_iter().map(|(path, _)| path.strip_prefix(store).unwrap().into()).collect()
}

#[test]
fn what_was_removed_from_a_store_comes_back() {
    let fresh = Fresh::new();
    let base = fresh.directory.path().join("checkpoints");
    std::fs::remove_dir(fresh.store().join("herma/trash")).unwrap();
    std::fs::remove_file(fresh.store().join("herma/lock")).unwrap();
    create_or_open(&base, STAMP).unwrap();
    assert!(
        fresh.store().join("herma/trash").is_dir() && fresh.store().join("herma/lock").is_file()
    );
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    let expected: Vec<(String, u32)> = shown_modes("0077");
    assert!(expected.iter().all(|(_, mode)| matches!(mode, 0o700 | 0o600)), "{expected:?}");
    for umask in ["0000", "0022", "0177"] {
        assert_eq!(shown_modes(umask), expected, "umask {umask}");
    }
}

/// Makes a store in a process with this umask, because the umask belongs to the process.
fn shown_modes(umask: &str) -> Vec<(String, u32)> {
    let directory = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("sh")
        .args(["-c", "umask $0 && exec \"$@\"", umask])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "layout::tests::make_a_store_for_another_test"])
        .env("HERMA_TEST_BASE", directory.path().join("home/checkpoints"))
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let top = directory.path().join("home");
    let shown = |path: PathBuf| path.strip_prefix(&top).unwrap().display().to_string();
    modes(&top).into_iter().map(|(path, mode)| (shown(path), mode)).collect()
}

#[test]
#[ignore = "run by modes_do_not_depend_on_the_umask"]
fn make_a_store_for_another_test() {
    let base = std::env::var_os("HERMA_TEST_BASE").unwrap();
    create_or_open(Path::new(&base), STAMP).unwrap();
}

#[test]
fn the_environment_is_never_consulted() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("checkpoints");
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "layout::tests::make_a_store_for_another_test"])
        .env("HERMA_TEST_BASE", &base)
        .env("GIT_OBJECT_DIRECTORY", directory.path().join("elsewhere"))
        .env("GIT_DIR", directory.path().join("elsewhere"))
        .env("HOME", directory.path().join("elsewhere"))
        .status()
        .unwrap();
    assert!(status.success());
    git(&base.join("store"), &["fsck"]);
    assert!(!directory.path().join("elsewhere").exists());
}

#[test]
fn a_hermes_store_is_adopted_and_otherwise_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("checkpoints");
    hermes_store(&base);
    let config = base.join("store/config");
    std::fs::write(&config, std::fs::read_to_string(&config).unwrap().trim_end()).unwrap();
    let before = std::fs::read_to_string(&config).unwrap();

    let reader = open(&base).unwrap().unwrap();
    assert!(reader.herma().is_none() && reader.for_writing().is_err());
    assert!(!base.join("store/herma").exists(), "a reader writes nothing");
    assert_eq!(mode(&base.join("store")), 0o755);

    create_or_open(&base, STAMP).unwrap();
    let after = std::fs::read_to_string(&config).unwrap();
    let added = "[extensions]\n\tpreciousObjects = true\n[user]\n\temail = hermes@local\n";
    assert!(after.starts_with(&format!("{before}\n{added}")), "{after}");
    assert_eq!(mode(&base.join("store")), 0o700, "nobody else can read it any more");
    create_or_open(&base, STAMP).unwrap();
    assert_eq!(std::fs::read_to_string(&config).unwrap(), after, "once is enough");
    git(&base.join("store"), &["fsck"]);
    assert!(names(&base.join("store/herma/tmp")).is_empty());
}

#[test]
fn only_version_1_repositories_are_set_aside_and_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("checkpoints");
    let old = "0123456789abcdef";
    std::fs::create_dir_all(base.join(old)).unwrap();
    std::fs::write(base.join(old).join("HEAD"), "ref: x\n").unwrap();
    std::fs::create_dir_all(base.join("fedcba9876543210")).unwrap();
    std::fs::create_dir_all(base.join("0123456789ABCDEF/HEAD")).unwrap();
    std::fs::write(base.join("session.yaml"), "a: b\n").unwrap();
    std::fs::write(base.join("aaaaaaaaaaaaaaaa"), "a file\n").unwrap();
    symlink(old, base.join("bbbbbbbbbbbbbbbb")).unwrap();
    create_or_open(&base, STAMP).unwrap();
    let archive = format!("legacy-{STAMP}");
    assert_eq!(names(&base.join(&archive)), [old]);
    let mut stay = vec!["0123456789ABCDEF", "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"];
    stay.extend(["fedcba9876543210", &archive, "session.yaml", "store"]);
    assert_eq!(names(&base), stay);

    std::fs::create_dir_all(base.join(old)).unwrap();
    std::fs::write(base.join(old).join("HEAD"), "ref: x\n").unwrap();
    create_or_open(&base, "20270101-000000").unwrap();
    assert!(base.join(old).exists(), "the store exists, so nothing is moved");
}

#[test]
fn stores_that_are_not_ours_alone_are_refused() {
    let refused = |base: &Path| {
        let writer = create_or_open(base, STAMP);
        assert!(matches!(writer, Err(StoreError::Distrusted(_))), "{writer:?}");
        let reader = open(base);
        assert!(matches!(reader, Err(StoreError::Distrusted(_))), "{reader:?}");
    };
    let fresh = Fresh::new();
    let base = fresh.directory.path().join("checkpoints");
    for mode in [0o777, 0o1777, 0o770, 0o702] {
        set_mode(&fresh.store(), mode);
        refused(&base);
    }
    set_mode(&fresh.store(), 0o700);

    let link = fresh.directory.path().join("link");
    symlink(&base, &link).unwrap();
    refused(&link);
    refused(&link.join(""));
    let other = fresh.directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    symlink(fresh.store(), other.join("store")).unwrap();
    refused(&other);
    std::fs::remove_file(other.join("store")).unwrap();
    std::fs::write(other.join("store"), "").unwrap();
    refused(&other);
    refused(&other.join("store"));
}

#[test]
fn a_symlinked_home_is_fine() {
    let fresh = Fresh::new();
    let link = fresh.directory.path().join("link");
    symlink(fresh.directory.path(), &link).unwrap();
    assert!(open(&link.join("checkpoints")).unwrap().is_some());
}

#[test]
fn formats_that_are_newer_or_not_understood_are_refused() {
    let fresh = Fresh::new();
    let base = fresh.directory.path().join("checkpoints");
    for format in ["herma-store 0\n", "herma-store x", "", "something else"] {
        std::fs::write(fresh.store().join("herma/format"), format).unwrap();
        for refused in [create_or_open(&base, STAMP).map(Some), open(&base)] {
            let is_named = matches!(&refused, Err(StoreError::DamagedFile { file, .. }) if file == "herma/format");
            assert!(is_named, "{format:?}: {refused:?}");
        }
    }
    for format in ["herma-store 4\n", "herma-store 99999999999"] {
        std::fs::write(fresh.store().join("herma/format"), format).unwrap();
        let refused = create_or_open(&base, STAMP);
        assert!(matches!(refused, Err(StoreError::NewerFormat { known: 3, .. })), "{refused:?}");
        assert!(matches!(open(&base), Err(StoreError::NewerFormat { .. })), "{format:?}");
    }
}

#[test]
fn unknown_git_features_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("checkpoints");
    let store = base.join("store");
    std::fs::create_dir_all(&store).unwrap();
    git(&store, &["init", "-q", "--bare", "--object-format=sha256", store.to_str().unwrap()]);
    set_mode(&store, 0o700);
    for refused in [create_or_open(&base, STAMP).map(Some), open(&base)] {
        assert!(matches!(refused, Err(StoreError::UnknownGitFeature { .. })), "{refused:?}");
    }
    assert!(!store.join("herma").exists(), "a refused store is not written to");
}

#[test]
fn where_there_is_no_store_a_reader_finds_none_and_makes_none() {
    let directory = tempfile::tempdir().unwrap();
    assert!(open(&directory.path().join("a/b/checkpoints")).unwrap().is_none());
    assert!(open(directory.path()).unwrap().is_none());
    assert!(names(directory.path()).is_empty());
}

#[test]
fn two_processes_may_make_the_store_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("checkpoints");
    std::thread::scope(|scope| {
        let makers: Vec<_> =
            (0..4).map(|_| scope.spawn(|| create_or_open(&base, STAMP).map(drop))).collect();
        for maker in makers {
            maker.join().unwrap().unwrap();
        }
    });
    git(&base.join("store"), &["fsck"]);
    assert!(names(&base.join("store/herma/tmp")).is_empty());
}
