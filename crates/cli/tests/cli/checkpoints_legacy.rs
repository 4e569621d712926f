//! `herma checkpoints clear-legacy` and `import-legacy`.

use herma_testkit::TestEnv;
use herma_testkit::hermes::v1::HermesV1;

use super::{json, test_env, without_sizes};

/// A home in which version 1 took two checkpoints of a project, and the first save made an archive of it.
fn archived(env: &TestEnv) -> bool {
    let Some(hermes) = HermesV1::new(env.home().join("checkpoints")) else {
        return false;
    };
    let old = env.work_dir("old").files([("a.txt", "one\n")]);
    hermes.take(old.path(), "first");
    old.write("a.txt", "two\n");
    hermes.take(old.path(), "second");
    let new = env.work_dir("new").files([("b.txt", "one\n")]);
    new.run(["save"]).success();
    true
}

/// Archives are called after the time they were made.
fn without_stamp(text: &str) -> String {
    let mut parts = text.split("legacy-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let date = part.strip_prefix("[ID]").unwrap_or(part);
        let rest = date.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        out.push_str("legacy-");
        out.push_str(if rest == part { "" } else { "[STAMP]" });
        out.push_str(rest);
    }
    out
}

#[test]
fn archives_are_named_and_deleted_when_asked_for() {
    let env = test_env();
    if !archived(&env) {
        return;
    }
    let here = env.work_dir("new");
    let status = here.run(["checkpoints"]).success();
    assert!(
        without_stamp(status.text()).contains("\nLegacy archives (1):\n  legacy-[STAMP]  "),
        "{status}"
    );
    let clear = "\nClear with: herma checkpoints clear-legacy\n";
    assert!(status.text().contains(clear), "{status}");
    let doctor = here.run(["doctor"]).success();
    assert!(doctor.text().contains("1 archive of version 1"), "{doctor}");

    let mut terminal = here.in_terminal(["checkpoints", "clear-legacy"]);
    terminal.wait_for("Delete all legacy archives? [y/N]: ");
    terminal.answer("");
    terminal.finish().code(1);
    here.run(["checkpoints", "clear-legacy"]).code(2);

    let output = here.run(["checkpoints", "clear-legacy", "--yes"]).success();
    insta::assert_snapshot!(without_stamp(&without_sizes(&output)), @r"
    Found 1 legacy archive(s), total [SIZE]
    legacy-[STAMP] [SIZE]

    Legacy archives hold pre-v2 per-project shadow repos, moved aside
    during the single-store migration. Delete when you're confident
    you don't need the old /rollback history.
    Deleted 1 archive(s), reclaimed [SIZE]
    ");
    let nothing = here.run(["checkpoints", "clear-legacy"]).success();
    assert_eq!(nothing.text(), "No legacy archives to clear.\n");
    let json = json(&here.run(["checkpoints", "clear-legacy", "--json"]).success());
    assert_eq!(json["schema"], "herma.checkpoints-clear-legacy/1");
    assert_eq!(json["deleted"], 0);
    here.run(["restore", "@"]).success();
}

#[test]
fn history_from_before_the_single_store_can_be_brought_in() {
    let env = test_env();
    if !archived(&env) {
        return;
    }
    let old = env.work_dir("old");
    let output = old.run(["checkpoints", "import-legacy", "--pin"]).success();
    insta::assert_snapshot!(output, @r"
    $ROOT/work/old: 2 checkpoints imported, 0 already there
    ");
    let list = old.run(["list"]).success();
    assert!(list.text().contains("second"), "{list}");
    assert_eq!(list.text().matches("[pinned]").count(), 2, "{list}");
    old.run(["restore", "@-1"]).success();
    assert_eq!(old.read("a.txt"), "one\n");
    env.fsck();
    let json = json(&old.run(["checkpoints", "import-legacy", "--json"]).success());
    assert_eq!(json["schema"], "herma.checkpoints-import-legacy/1");
    assert_eq!(json["repositories"][0]["checkpoints"], 0);
    assert_eq!(json["repositories"][0]["skipped"], 2);
}

#[test]
#[allow(clippy::disallowed_methods)]
fn an_archive_past_its_time_goes_and_gives_back_what_is_no_repository() {
    let env = test_env();
    if !archived(&env) {
        return;
    }
    let base = env.home().join("checkpoints");
    let archive = || {
        let names = std::fs::read_dir(&base).unwrap().map(|entry| entry.unwrap().path());
        names.into_iter().find(|path| path.to_string_lossy().contains("/legacy-"))
    };
    let path = archive().expect("the first save made it");
    std::fs::write(path.join("session.yaml"), "id: session\n").unwrap();
    let here = env.work_dir("new");
    let fresh = here.run(["checkpoints", "prune"]).success();
    assert!(fresh.text().contains("\nDeleted stale:   0\n"), "{fresh}");

    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 86_400);
    let times = std::fs::FileTimes::new().set_modified(old);
    std::fs::File::open(&path).unwrap().set_times(times).unwrap();
    let dry = here.run(["checkpoints", "prune", "--dry-run"]).success();
    assert!(dry.text().contains("Legacy archives past their time:\n  legacy-"), "{dry}");
    assert!(archive().is_some());
    let pruned = here.run(["checkpoints", "prune"]).success();
    assert!(pruned.text().contains("\nDeleted stale:   1\n"), "{pruned}");
    assert!(archive().is_none() && base.join("session.yaml").exists());
}

/// A repository of version 1 beside the store, last used so many days ago, with 20,000 bytes in it.
#[allow(clippy::disallowed_methods)]
fn beside(env: &TestEnv, name: &str, workdir: &std::path::Path, days: u64) -> std::path::PathBuf {
    let repository = env.home().join("checkpoints").join(name);
    std::fs::create_dir_all(repository.join("objects/aa")).expect("a new directory");
    let files = [
        ("HEAD", b"ref: refs/heads/master\n".to_vec()),
        ("HERMES_WORKDIR", format!("{}\n", workdir.display()).into_bytes()),
        ("objects/aa/object", vec![b'x'; 20_000]),
    ];
    for (file, content) in files {
        std::fs::write(repository.join(file), content).expect("a new directory");
    }
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
    let times = std::fs::FileTimes::new().set_modified(then);
    for path in ["HEAD", "HERMES_WORKDIR", "objects/aa/object", "objects/aa", "objects", "."] {
        let file = std::fs::File::open(repository.join(path)).expect("a new directory");
        file.set_times(times).expect("a new directory");
    }
    repository
}

#[test]
fn repositories_of_version_1_beside_the_store_are_sized_swept_and_announced() {
    let env = test_env();
    let here = env.work_dir("here").files([("a.txt", "one\n")]);
    here.run(["save"]).success();
    let old = beside(&env, &"a".repeat(16), here.path(), 60);
    let young = beside(&env, &"b".repeat(16), &env.home().join("not/there"), 1);

    let status = json(&here.run(["checkpoints", "--json"]).success());
    assert!(status["pre_v2_size_bytes"].as_u64().unwrap() > 40_000);
    let (total, store) = (&status["total_size_bytes"], &status["store_size_bytes"]);
    assert!(total.as_u64().unwrap() > store.as_u64().unwrap() + 40_000);
    let shown = here.run(["checkpoints"]).success();
    assert!(shown.text().contains("\n  version 1      39."), "{shown}");

    let dry = here.run(["checkpoints", "prune", "--dry-run"]).success();
    assert!(dry.text().contains("Repositories of version 1 to delete:\n"), "{dry}");
    assert!(old.exists());
    let pruned = here.run(["checkpoints", "prune"]).success();
    assert!(pruned.text().contains("\nScanned:         3\n"), "{pruned}");
    assert!(pruned.text().contains("\nDeleted stale:   1\n"), "{pruned}");
    assert!(!old.exists() && young.exists(), "one that was used lately stays");

    let cleared = here.run(["checkpoints", "clear-legacy", "--force"]).success();
    assert!(cleared.text().contains("Found 1 legacy archive(s), total 19."), "{cleared}");
    assert!(cleared.text().contains("Deleted 1 archive(s)"), "{cleared}");
    assert!(!young.exists());

    let last = beside(&env, &"c".repeat(16), here.path(), 1);
    let cleared = here.run(["checkpoints", "clear", "--force"]).success();
    assert!(cleared.text().contains("\n  version 1:   1\n"), "{cleared}");
    assert!(!last.exists());
}

#[test]
#[allow(clippy::disallowed_methods)]
fn a_repository_of_version_1_goes_with_its_project_when_that_was_deleted_for_sure() {
    let env = test_env();
    let here = env.work_dir("here").files([("a.txt", "one\n")]);
    here.run(["save"]).success();
    let gone = env.work_dir("gone").files([("a.txt", "two\n")]);
    gone.run(["save"]).success();
    let list = json(&here.run(["checkpoints", "--json"]).success());
    let projects = list["projects"].as_array().unwrap();
    let ends = |project: &&serde_json::Value| project["workdir"].to_string().contains("gone");
    let id = projects.iter().find(ends).unwrap()["hash"].as_str().unwrap().to_owned();
    let known = beside(&env, &id, gone.path(), 1);
    let unknown = beside(&env, &"d".repeat(16), &gone.path().join("other"), 1);
    std::fs::remove_dir_all(gone.path()).unwrap();
    let pruned = here.run(["checkpoints", "prune", "--force"]).success();
    assert!(pruned.text().contains("\nDeleted orphan:  2\n"), "{pruned}");
    assert!(!known.exists() && unknown.exists(), "nobody knows where that one was");
}
