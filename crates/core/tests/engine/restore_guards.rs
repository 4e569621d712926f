//! Guards of restores (see `guards`): what others do meanwhile, what cannot be restored here, and what an interrupted one leaves.

use std::path::PathBuf;

use herma_core::engine::{NoProgress, Stage};
use herma_core::restore::{ActionKind, KeptWhy, Lack, RestoreError, RestoreOptions};
use herma_core::{Error, SaveOptions, Settings, Spec};
use herma_testkit::crash::{self, Disk};
use herma_testkit::faults::{self, Faults, Status};
use herma_worktree::present::ScanError;

use super::child;
use super::guards::interrupt;
use super::project::{TestProject, engine};
use super::reviewed::{When, restore_while};

#[test]
fn what_somebody_else_brought_back_meanwhile_is_theirs() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.save("first");
    p.write("a", "2\n");
    let kept = restore_while(&p, "@", || p.write("a", "1\n"));
    assert_eq!(kept, [("a".to_owned(), KeptWhy::ChangedMeanwhile)]);
}

#[test]
fn a_file_that_takes_the_place_of_a_directory_meanwhile_stays() {
    let p = TestProject::new();
    std::fs::create_dir(p.path("empty")).unwrap();
    p.write("other", "1\n");
    p.save("first");
    p.remove("empty");
    let kept = restore_while(&p, "@", || p.write("empty", "a file\n"));
    assert_eq!(kept, [("empty".to_owned(), KeptWhy::ChangedMeanwhile)]);
    assert_eq!(p.read("empty"), "a file\n");
}

#[test]
fn another_file_under_the_same_name_does_not_get_the_mode_of_the_first() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.chmod("a", 0o600);
    p.save("first");
    p.chmod("a", 0o644);
    let kept = restore_while(&p, "@", || {
        p.write("theirs", "2\n");
        p.chmod("theirs", 0o640);
        std::fs::rename(p.path("theirs"), p.path("a")).unwrap();
    });
    assert_eq!(kept, [("a".to_owned(), KeptWhy::ChangedMeanwhile)]);
    assert_eq!((p.read("a").as_str(), p.mode("a")), ("2\n", 0o640));
}

#[test]
fn a_plan_says_which_mode_a_file_has_and_gets_and_a_shared_directory_stays_shared() {
    let p = TestProject::new();
    p.write("tool", "1\n");
    p.write("shared/file", "1\n");
    p.chmod("shared", 0o2775);
    let first = p.save("first").checkpoint.id.to_hex();
    for (path, from, to) in [("tool", 0o755, 0o644), ("shared", 0o2700, 0o2775)] {
        p.chmod(path, from);
        let plan = p.restore(&first).plan;
        let kinds: Vec<ActionKind> = plan.actions.iter().map(|action| action.kind).collect();
        assert_eq!((kinds, plan.receipt_damaged), (vec![ActionKind::Mode { from, to }], false));
        assert_eq!(p.mode(path), to);
    }
}

#[test]
fn a_file_that_may_not_be_so_large_here_is_named_and_the_others_come_back() {
    const SETUP: &str = "BIG=$(mktemp); export BIG; head -c 3000000 /dev/zero | tr '\\0' x >\"$BIG\"; \
        trap '' XFSZ; ulimit -f 1000";
    if child::is_run_after(
        "engine::restore_guards::a_file_that_may_not_be_so_large_here_is_named_and_the_others_come_back",
        SETUP,
    ) {
        return;
    }
    let p = TestProject::new();
    p.write("small", "1\n");
    std::fs::rename(PathBuf::from(std::env::var_os("BIG").unwrap()), p.path("large")).unwrap();
    p.save("first");
    p.remove("large");
    p.remove("small");
    let restored = p.restore("@");
    let kept: Vec<_> = restored.kept.iter().map(|k| (k.path.to_string(), k.why)).collect();
    assert_eq!(kept, [("large".to_owned(), KeptWhy::NotHeld(Lack::Size))]);
    assert_eq!(p.read("small"), "1\n");
}

/// Only what was mounted there leaves the rest of a plan as it was.
#[test]
fn a_link_that_takes_the_place_of_a_directory_meanwhile_stops_the_restore() {
    let p = TestProject::new();
    p.write("other", "1\n");
    p.save("first");
    p.write("d/new", "1\n");
    let project = p.project();
    let target = project.find(&Spec::parse("@").unwrap()).unwrap();
    let swap = || {
        std::fs::rename(p.path("d"), p.base().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(p.base().join("elsewhere"), p.path("d")).unwrap();
    };
    let options = RestoreOptions::default();
    let stopped = project.restore_with(&target, &options, &When(Stage::Restoring, swap));
    assert!(matches!(stopped, Err(Error::Restore(RestoreError::Stopped { .. }))), "{stopped:?}");
    assert!(p.base().join("elsewhere/new").exists());
}

#[test]
fn what_cannot_be_seen_any_more_after_a_restore_is_named() {
    const NAME: &str =
        "engine::restore_guards::what_cannot_be_seen_any_more_after_a_restore_is_named";
    if child::is_run_as_nobody(NAME) {
        return;
    }
    let p = TestProject::new();
    p.write("debug.log", "left out\n");
    p.write("sub/a", "1\n");
    p.save("first");
    p.write("sub/a", "2\n");
    let project = p.project();
    let target = project.find(&Spec::parse("@").unwrap()).unwrap();
    let hide = When(Stage::Verifying, || p.chmod("sub", 0o000));
    let hidden = project.restore_with(&target, &RestoreOptions::default(), &hide);
    p.chmod("sub", 0o755);
    let named = p.path("sub");
    let is_named = matches!(&hidden, Err(Error::Scan(ScanError::Unreadable(at))) if *at == named);
    assert!(is_named, "{hidden:?}");
}

#[test]
fn an_interrupted_restore_is_told_of_unless_somebody_is_at_work() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.save("first");
    interrupt(&p);
    let is_told = || {
        let engine = p.another_engine();
        engine.project(&p.root).unwrap().interrupted().unwrap().is_some()
    };
    assert!(is_told());
    p.write("a", "2\n");
    let told = std::sync::Mutex::new(None);
    let at_work = When(Stage::Scanning, || *told.lock().unwrap() = Some(is_told()));
    p.project().save_with(&SaveOptions::default(), &at_work).unwrap();
    assert_eq!(told.into_inner().unwrap(), Some(false));
}

/// What a killed restore had moved aside may be the only copy.
#[test]
fn what_an_interrupted_restore_left_in_the_project_goes_unless_it_is_stored_nowhere() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.save("first");
    interrupt(&p);
    let [unfinished, stored, only_copy] =
        ["a0000001", "b0000002", "b0000003"].map(|rest| format!(".herma-00000001{rest}.tmp"));
    p.write(&unfinished, "hal");
    p.write(&stored, "1\n");
    p.write(&only_copy, "nowhere else\n");
    p.save("second");
    let there = [&unfinished, &stored, &only_copy].map(|name| p.exists(name));
    assert_eq!(there, [false, false, true]);
    p.project().continue_restore(&NoProgress).unwrap();
    assert_eq!(p.read(&only_copy), "nowhere else\n");
}

const HOME: &str = "HERMA_TEST_HOME";
const ROOT: &str = "HERMA_TEST_ROOT";

/// The restore that the next test records.
#[test]
#[ignore = "started by the next test"]
fn worker() {
    let path = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap());
    let project = engine(&path(HOME), None, Settings::default()).project(&path(ROOT)).unwrap();
    let target = project.find(&Spec::parse("@").unwrap()).unwrap();
    project.restore_with(&target, &RestoreOptions::default(), &NoProgress).unwrap();
}

#[test]
fn what_a_restore_changed_outlives_a_power_cut_once_it_is_over() {
    if !faults::available() {
        return;
    }
    let p = TestProject::new();
    p.write("sub/changed", "1\n");
    p.write("sub/gone", "1\n");
    p.save("first");
    p.write("sub/changed", "2\n");
    p.remove("sub/gone");
    p.write("more/new", "2\n");
    let command = Faults::new(std::env::current_exe().unwrap())
        .args(["--exact", "engine::restore_guards::worker", "--ignored"])
        .env(HOME, p.home())
        .env(ROOT, &p.root);
    let (outcome, journal) = crash::record(&command, p.base());
    assert_eq!(outcome.status, Status::Exited(0));
    let restored = p.tree();
    let mut disk = Disk::new(&journal);
    for _ in journal.steps() {
        disk.follow();
    }
    for seed in 0..32 {
        disk.after_power_cut(seed).write_to(p.base());
        assert_eq!(p.tree(), restored, "{seed}");
    }
}
