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

const IN_CHILD: &str = "HERMA_TEST_CHILD";
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

#[track_caller]
fn is_run(test: &str, setup: &str, prepare: impl FnOnce(&mut Command)) -> bool {
    if std::env::var_os(IN_CHILD).is_some() {
        return false;
    }
    let program = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{setup}\nexec /proc/self/fd/0 \"$@\""), "sh"])
        .args(["--exact", test, "--nocapture"])
        // By descriptor, because nobody may not be allowed on the path to it.
        .stdin(program)
        .env(IN_CHILD, "1");
    prepare(&mut command);
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && words.contains("1 passed"),
        "{test} in a child:\n{words}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}
