//! Resume records under faults: the old record or the new one, whole, and nothing left behind.

use std::path::PathBuf;

use herma_testkit::faults::{Fault, Status};
use herma_testkit::{TestEnv, faults};

use super::disturb::FAULTS;
use super::scene::files_below;
use super::test_env;

pub(super) const SAVE: [&str; 6] = ["resume", "save", "s1", "--task", "new", "--no-facts"];

fn base(env: &TestEnv) -> PathBuf {
    env.home().join("checkpoints")
}

/// The task in the record of a session, read by the program; `None` if there is no record.
#[track_caller]
pub(super) fn task(env: &TestEnv, session: &str) -> Option<String> {
    let output = env.work_dir("w").run(["resume", "show", session, "--json"]);
    if output.status.code() == Some(10) {
        return None;
    }
    let json = super::json(&output.success());
    Some(json["record"]["task"].as_str().expect("a task").to_owned())
}

/// Runs a command with a fault at each of its calls, which are few; `reset` prepares, `check` gets told whether it
/// succeeded.
fn at_every_call(env: &TestEnv, args: &[&str], reset: impl Fn(), check: impl Fn(bool, &str)) {
    if !faults::available() {
        return;
    }
    reset();
    let count = env.work_dir("w").faults(args).run(Fault::Count, 0).count;
    assert!(count > 2, "there is something to disturb");
    for fault in FAULTS {
        for n in 1..=count {
            reset();
            let outcome = env.work_dir("w").faults(args).run(fault, n);
            let call = outcome.hit.map_or("-", |call| call.name);
            let what = format!("{fault:?} at {n} of {count} ({call})");
            assert!(!outcome.timed_out, "{what}: it hung");
            let is_expected = match outcome.status {
                Status::Exited(code) => [0, 1].contains(&code),
                Status::Signaled(signal) => signal == 9,
                Status::Unsupported => false,
            };
            assert!(is_expected, "{what}: {:?}", outcome.status);
            check(outcome.status == Status::Exited(0), &what);
        }
    }
}

/// The next save leaves the records and nothing else.
#[track_caller]
pub(super) fn assert_tidy(env: &TestEnv, what: &str) {
    env.work_dir("w").run(SAVE).success();
    let records = files_below(&base(env));
    let odd: Vec<_> = records
        .iter()
        .filter(|path| path.extension().is_none_or(|extension| extension != "yaml"))
        .collect();
    assert!(odd.is_empty(), "{what}: left behind {odd:?}");
}

fn empty(env: &TestEnv) {
    // There may be none yet.
    let _ = std::fs::remove_dir_all(env.home());
}

pub(super) fn with_old_record(env: &TestEnv) {
    empty(env);
    std::fs::create_dir_all(base(env)).unwrap();
    let old = "session_id: s1\ntask: old\nupdated: '2020-01-01T00:00:00'\n";
    std::fs::write(base(env).join("s1.yaml"), old).unwrap();
}

#[test]
fn defect_61_a_disturbed_save_leaves_the_old_record_or_the_new_one() {
    let env = test_env();
    let check = |succeeded: bool, what: &str| {
        let task = task(&env, "s1").expect("a record was there before");
        assert!(task == "new" || (task == "old" && !succeeded), "{what}: {task}");
        assert_tidy(&env, what);
    };
    at_every_call(&env, &SAVE, || with_old_record(&env), check);
}

#[test]
fn a_disturbed_first_save_leaves_a_whole_record_or_none() {
    let env = test_env();
    let check = |succeeded: bool, what: &str| {
        let task = task(&env, "s1");
        assert!(
            task.as_deref() == Some("new") || (task.is_none() && !succeeded),
            "{what}: {task:?}"
        );
        assert_tidy(&env, what);
    };
    at_every_call(&env, &SAVE, || empty(&env), check);
}

#[test]
fn a_disturbed_update_leaves_the_old_record_or_the_new_one() {
    let env = test_env();
    let args = ["resume", "update", "s1", "--task", "new", "--no-facts"];
    let check = |succeeded: bool, what: &str| {
        let task = task(&env, "s1").expect("a record was there before");
        assert!(task == "new" || (task == "old" && !succeeded), "{what}: {task}");
        assert_tidy(&env, what);
    };
    at_every_call(&env, &args, || with_old_record(&env), check);
}

#[test]
fn a_disturbed_collection_loses_no_damaged_file() {
    let env = test_env();
    let reset = || {
        with_old_record(&env);
        std::fs::write(base(&env).join("torn.yaml"), "task: 'half").unwrap();
        std::fs::write(base(&env).join("kept.yaml"), "task: kept\n").unwrap();
    };
    let check = |succeeded: bool, what: &str| {
        let torn = files_below(&base(&env));
        let torn = torn.iter().filter(|path| path.to_string_lossy().contains("torn"));
        let torn: Vec<_> = torn.map(|path| std::fs::read(path).unwrap()).collect();
        assert_eq!(torn, [b"task: 'half"], "{what}");
        let is_in_place = base(&env).join("torn.yaml").exists();
        assert!(!(succeeded && is_in_place), "{what}: not set aside");
        let old = task(&env, "s1");
        assert!(old.is_none() || !succeeded, "{what}: not removed");
        assert_eq!(task(&env, "kept").as_deref(), Some("kept"), "{what}");
    };
    at_every_call(&env, &["resume", "gc"], reset, check);
}
