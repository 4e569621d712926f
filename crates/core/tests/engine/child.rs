//! Runs one test again in a process of its own: as somebody who is not root, or after a line of shell.
//!
//! ```ignore
//! if child::is_run_as_nobody("engine::defects_rollback::a_test") {
//!     return; // the child has passed
//! }
//! // from here on nobody is root
//! ```

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use herma_testkit::Bounded;

const IN_CHILD: &str = "HERMA_TEST_CHILD";
const MOUNT: &str = "HERMA_TEST_MOUNT";
const NOBODY: u32 = 65534;

/// For tests about permissions, which root does not notice. `true` when the child did the work.
#[track_caller]
pub fn is_run_as_nobody(test: &str) -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    let as_nobody = |command: &mut Command| {
        command.uid(NOBODY).gid(NOBODY);
    };
    is_root && is_run(test, "", as_nobody)
}

/// For tests about what a process inherits: `setup` is shell, run before the test. `true` when the
/// child did the work.
#[track_caller]
pub fn is_run_after(test: &str, setup: &str) -> bool {
    is_run(test, setup, |_| {})
}

/// For tests about full disks: below [`mount`] the child has a small tmpfs of its own. `true` when the
/// child did the work, or nothing can be mounted here.
#[track_caller]
pub fn is_run_on_small_disk(test: &str, options: &str) -> bool {
    if std::env::var_os(IN_CHILD).is_some() {
        return false;
    }
    let tried = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .bounded_output();
    if !tried.is_ok_and(|output| output.status.success()) {
        let reason = "no file systems can be mounted here (unshare -m, mount)";
        herma_testkit::skipped("mounts", reason);
        return true;
    }
    let place = tempfile::tempdir().unwrap();
    let setup = format!("set -e; mount -t tmpfs -o mode=0700,{options} none \"${MOUNT}\"");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh"]).env(MOUNT, place.path());
    is_run_by(command, test, &setup, |_| {})
}

/// For tests that mount something: in a namespace of its own, so that the mounts go away with the child. `true` when
/// the child did the work, or nothing can be mounted here.
#[track_caller]
pub fn is_run_with_mounts(test: &str) -> bool {
    if std::env::var_os(IN_CHILD).is_some() {
        return false;
    }
    let tried = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .bounded_output();
    if !tried.is_ok_and(|output| output.status.success()) {
        let reason = "no file systems can be mounted here (unshare -m, mount)";
        herma_testkit::skipped("mounts", reason);
        return true;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh"]);
    is_run_by(command, test, "", |_| {})
}

/// Where the small disk is.
pub fn mount() -> std::path::PathBuf {
    std::env::var_os(MOUNT).expect("a small disk").into()
}

#[track_caller]
fn is_run(test: &str, setup: &str, prepare: impl FnOnce(&mut Command)) -> bool {
    is_run_by(Command::new("sh"), test, setup, prepare)
}

#[track_caller]
fn is_run_by(
    mut command: Command,
    test: &str,
    setup: &str,
    prepare: impl FnOnce(&mut Command),
) -> bool {
    if std::env::var_os(IN_CHILD).is_some() {
        return false;
    }
    let program = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    command
        .args(["-c", &format!("{setup}\nexec /proc/self/fd/0 \"$@\""), "sh"])
        .args(["--exact", test, "--nocapture"])
        // By descriptor, because nobody may not be allowed on the path to it.
        .stdin(program)
        .env(IN_CHILD, "1");
    prepare(&mut command);
    let output = command.bounded_output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && words.contains("1 passed"),
        "{test} in a child:\n{words}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}
