//! `herma checkpoints prune`.

use herma_core::types::clock::{FixedClock, Timestamp};
use herma_testkit::{TestEnv, Tree};

use super::{json, random_text, test_env, without_sizes};

/// A project with six checkpoints, and two more that were deleted, with one each.
fn with_orphans(env: &TestEnv) {
    for name in ["gone-a", "gone-b"] {
        let gone = env.work_dir(name).files([("a.txt", name)]);
        gone.run(["save"]).success();
        env.work_dir("").remove(name);
    }
    let shop = env.work_dir("shop");
    for step in 0..6 {
        shop.write("cart.txt", &random_text(step, 100));
        shop.run(["save"]).success();
    }
}

fn states(env: &TestEnv) -> Vec<(String, u64)> {
    let json = json(&env.work_dir("").run(["checkpoints", "--json"]).success());
    let projects = json["projects"].as_array().expect("the test made it").iter();
    let mut states: Vec<_> = projects
        .map(|p| (p["state"].to_string(), p["commits"].as_u64().expect("the test made it")))
        .collect();
    states.sort();
    states
}

fn counts(env: &TestEnv) -> Vec<u64> {
    states(env).into_iter().map(|(_, count)| count).collect()
}

const LIMIT: [&str; 4] = ["checkpoints", "prune", "--max-snapshots", "2"];

#[allow(clippy::disallowed_methods)]
fn write_config(env: &TestEnv, text: &str) {
    std::fs::create_dir_all(env.home()).expect("the test made it");
    std::fs::write(env.home().join("config.yaml"), text).expect("the test made it");
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let env = test_env();
    with_orphans(&env);
    let before = Tree::read(env.store());
    let here = env.work_dir("");
    let output = here.run(LIMIT.iter().chain(&["--dry-run"])).success();
    insta::assert_snapshot!(output, @r"
    What `herma checkpoints prune` would remove with these limits:
      retention_days:    30
      delete_orphans:    True
      max_total_size_mb: 500
      max_snapshots:     2

    Checkpoints to remove:
      $ROOT/work/shop: 4 checkpoints (1–4): the project has more than `max_snapshots`
    Projects whose directory was deleted (2), to remove altogether:
      $ROOT/work/gone-a: 1 checkpoint, last used [AGE]
      $ROOT/work/gone-b: 1 checkpoint, last used [AGE]

    Dry run: nothing was removed. Without `--dry-run` it removes 6 checkpoints, 2 whole projects.
    ------- stderr -------
    Hint: Deleted projects go only with `--force`, or when you confirm it on a terminal.
    ");
    let flags = ["--dry-run", "--json", "--force"];
    let json = json(&here.run(LIMIT.iter().chain(&flags)).success());
    assert_eq!(json["schema"], "herma.checkpoints-prune/2");
    assert_eq!(json["dry_run"], true);
    assert_eq!(json["deleted_orphan"], 2);
    assert_eq!(json["dropped"].as_array().unwrap().len(), 6);
    assert_eq!(Tree::read(env.store()), before);
}

#[test]
fn without_a_terminal_orphans_are_kept_and_named() {
    let env = test_env();
    with_orphans(&env);
    let output = env.work_dir("").run(LIMIT).code(3);
    insta::assert_snapshot!(without_sizes(&output), @r"
    Pruning checkpoint store…
    retention_days: 30
    delete_orphans: True
    max_total_size_mb: 500
    max_snapshots: 2

    Checkpoints to remove:
    $ROOT/work/shop: 4 checkpoints (1–4): the project has more than `max_snapshots`
    Projects whose directory was deleted (2), to remove altogether:
    $ROOT/work/gone-a: 1 checkpoint, last used [AGE]
    $ROOT/work/gone-b: 1 checkpoint, last used [AGE]

    Scanned: 3
    Deleted orphan: 0
    Deleted stale: 0
    Errors: 0
    Bytes reclaimed: [SIZE]
    Dropped: 4 checkpoints
    In the trash: [SIZE] for at least an hour; to delete it now: herma checkpoints gc --empty-trash
    ------- stderr -------
    Warning: 2 deleted projects kept: there is no terminal to ask on, and no `--force`.
    [exit status: 3]
    ");
    assert_eq!(counts(&env), [2, 1, 1], "the rest is done");
    env.fsck();
}

#[test]
fn force_deletes_orphans_and_keep_orphans_does_not() {
    let env = test_env();
    with_orphans(&env);
    let here = env.work_dir("");
    let keep = ["checkpoints", "prune", "-f", "--keep-orphans"];
    let kept = here.run(keep).success();
    assert!(kept.text().contains("\n  delete_orphans:    False\n"), "{kept}");
    assert_eq!(counts(&env), [6, 1, 1]);
    let json = json(&here.run(["checkpoints", "prune", "-y", "--json"]).success());
    assert_eq!(json["deleted_orphan"], 2);
    assert_eq!(json["errors"], 0);
    assert_eq!(counts(&env), [6]);
    let status = env.work_dir("shop").run(["checkpoints"]).success();
    assert!(status.text().contains("2 checkpoints dropped"), "{status}");
    assert!(!env.home().join("checkpoints/.last_prune").exists());
}

#[test]
fn a_no_keeps_the_orphans_and_does_the_rest() {
    let env = test_env();
    with_orphans(&env);
    let mut terminal = env.work_dir("").in_terminal(LIMIT);
    terminal.wait_for("Remove all that is stored of these deleted projects? [y/N]: ");
    terminal.end_input();
    let output = terminal.finish().success();
    assert!(output.text().contains("\nDeleted orphan:  0\n"), "{output}");
    assert_eq!(counts(&env), [2, 1, 1]);
}

#[test]
fn a_yes_is_about_what_was_shown_and_nothing_else() {
    let env = test_env();
    with_orphans(&env);
    let late = env.work_dir("late").files([("a.txt", "late\n")]);
    late.run(["save"]).success();
    let mut terminal = env.work_dir("shop").in_terminal(LIMIT);
    terminal.wait_for("Remove all that is stored of these deleted projects? [y/N]: ");
    env.work_dir("").remove("late");
    env.work_dir("gone-a").write("back.txt", "again\n");
    terminal.answer("y");
    let output = terminal.finish().success();
    assert!(output.text().contains("\nDeleted orphan:  1\n"), "{output}");
    let word = |state: &str, count| (format!("\"{state}\""), count);
    assert_eq!(states(&env), [word("live", 1), word("live", 2), word("orphan", 1)]);
}

#[test]
fn a_limit_that_cannot_be_reached_is_named() {
    let env = test_env();
    let shop = env.work_dir("shop");
    shop.write("big.txt", &random_text(1, 200_000));
    shop.run(["save"]).success();
    let flags = ["checkpoints", "prune", "--max-size-mb", "1"];
    let output = shop.run(flags).code(3);
    assert!(output.error_text().contains("the store stays over its size limit"), "{output}");
    shop.run(["restore", "@"]).success();
    write_config(&env, "checkpoints: {max_total_size_mb: 1}\n");
    let doctor = shop.run(["doctor"]).code(3);
    assert!(doctor.text().contains("over the limit of 1.0 MB"), "{doctor}");
}

#[test]
fn a_dry_run_and_a_run_say_alike_which_protected_checkpoints_exceed_the_limit() {
    let env = test_env();
    let shop = env.work_dir("shop");
    for number in 1..=6 {
        shop.write("big.txt", &random_text(number, 60_000));
        shop.run(["save"]).success();
        match number {
            2 => shop.run(["pin", "@"]).success(),
            4 => shop.run(["name", "@", "four"]).success(),
            _ => continue,
        };
    }
    let prune = ["checkpoints", "prune", "--max-size-mb", "1", "--json"];
    let planned = json(&shop.run(prune.iter().chain(&["--dry-run"])).code(3));
    let done = json(&shop.run(prune).code(3));
    assert_eq!(planned["dropped"], done["dropped"]);
    assert_eq!(planned["over"], done["over"]);
    assert!(!done["dropped"].as_array().unwrap().is_empty(), "{done}");
    let said = done["over"].as_str().unwrap();
    for part in ["(the newest of its project)", "(named)", "(pinned)", "must stay; what may go has"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    shop.run(["show", "four"]).success();
    let again = json(&shop.run(prune).code(3));
    assert_eq!(again["dropped"], serde_json::json!([]), "nothing for nothing");
}

/// Says that the last cleaning was forty days ago, which a clock that jumped would look like.
#[allow(clippy::disallowed_methods)]
fn make_clock_doubtful(env: &TestEnv) {
    let marker = env.home().join("checkpoints/.last_prune");
    std::fs::write(marker, days_ago(40.0).to_string()).expect("the test made it");
}

#[allow(clippy::disallowed_methods)]
fn days_ago(days: f64) -> f64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs_f64() - days * 86_400.0
}

/// Writes what the last cleaning left, so many days ago.
#[allow(clippy::disallowed_methods)]
fn write_record(env: &TestEnv, days: f64, problem: &str) {
    let at = days_ago(days);
    let record = format!(
        "{{\"version\":1,\"at\":{at},\"store_bytes\":0,\"fixed_bytes\":0,\"packs\":0,\"dropped\":0,\
         \"freed_bytes\":0,\"problem\":{problem}}}"
    );
    std::fs::write(env.store().join("herma/cleaning"), record).expect("the test made it");
}

#[test]
fn a_clock_that_jumped_is_believed_only_when_somebody_says_so() {
    let env = test_env();
    let shop = env.work_dir("shop").files([("a.txt", "one\n")]);
    shop.run(["save"]).success();
    make_clock_doubtful(&env);
    let prune = ["checkpoints", "prune"];
    let planned = shop.run(["checkpoints", "prune", "--dry-run"]).code(3);
    let said = planned.error_text();
    assert!(said.contains("whether the clock is right"), "{planned}");
    let output = shop.run(prune).code(3);
    assert!(output.text().contains("Note: the clock is more than 30 days ahead"), "{output}");
    shop.run(["maintain"]).success();
    shop.run(prune).success();

    make_clock_doubtful(&env);
    shop.run(["checkpoints", "prune", "--retention-days", "-1"]).success();

    make_clock_doubtful(&env);
    let mut terminal = shop.in_terminal(prune);
    terminal.wait_for(" now? [y/N]: ");
    terminal.answer("y");
    let output = terminal.finish().success();
    assert!(output.text().contains("\nNo checkpoint has to go.\n"), "{output}");
}

#[test]
fn a_dry_run_and_a_run_thin_out_the_same_and_say_by_which_rule() {
    let env = test_env();
    let shop = env.work_dir("shop");
    let noon = (days_ago(0.0) / 86_400.0) as i64 * 86_400 - 12 * 3600;
    // Forty days of work, and two saves on the oldest of them.
    for save in std::iter::once(39).chain((0..40).rev()) {
        shop.write("cart.txt", &format!("{save} {}", shop.exists("cart.txt")));
        let engine = herma_core::Engine::new(herma_core::EngineOptions {
            home: env.home(),
            user_home: None,
            clock: std::sync::Arc::new(FixedClock(Timestamp {
                seconds: noon - save * 86_400,
                nanos: 0,
                offset_minutes: 0,
            })),
            settings: herma_core::Settings::default(),
        });
        engine.project(shop.path()).unwrap().save("a day").unwrap();
    }
    let dry = shop.run(["checkpoints", "prune", "--dry-run"]).success();
    let line = ": the older history is thinned out\n";
    assert!(dry.text().contains(line), "{dry}");
    let planned = json(&shop.run(["checkpoints", "prune", "--dry-run", "--json"]).success());
    assert_eq!(planned["dropped"][0]["rule"], "thinned");
    let done = json(&shop.run(["checkpoints", "prune", "--json"]).success());
    assert_eq!(done["dropped"], planned["dropped"]);
    assert_eq!(counts(&env), [40]);
}

#[test]
fn negative_days_turn_the_age_rule_off() {
    let env = test_env();
    let shop = env.work_dir("shop").files([("a.txt", "one\n")]);
    shop.run(["save"]).success();
    write_config(&env, "checkpoints:\n  retention_days: -1\n");
    let json = json(&shop.run(["checkpoints", "prune", "--json"]).success());
    assert_eq!(json["limits"]["retention_days"], 0);
    assert_eq!(json["limits"]["thinning"], serde_json::Value::Null);
    let text = shop.run(["checkpoints", "prune", "--retention-days", "-5"]);
    assert!(text.success().text().contains("\n  retention_days:    -5\n"));
    let status = shop.run(["checkpoints"]).success();
    assert!(!status.text().contains("without use"), "{status}");
}

#[test]
fn with_settings_that_cannot_be_read_nothing_is_dropped() {
    let env = test_env();
    with_orphans(&env);
    write_config(&env, "checkpoints:\n  max_snapshots: many\n");
    let output = env.work_dir("").run(["checkpoints", "prune", "-f"]).code(1);
    assert!(output.error_text().contains("Nothing was removed."), "{output}");
    env.work_dir("").run(["maintain"]).code(1);
    assert_eq!(counts(&env), [6, 1, 1]);
}

#[test]
fn control_c_at_the_question_drops_nothing() {
    let env = test_env();
    with_orphans(&env);
    let mut terminal = env.work_dir("").in_terminal(LIMIT);
    terminal.wait_for("Remove all that is stored of these deleted projects? [y/N]: ");
    terminal.interrupt();
    let output = terminal.finish().code(130);
    assert!(!output.text().contains("Scanned"), "{output}");
    assert_eq!(counts(&env), [6, 1, 1]);
}

#[test]
fn what_a_cleaning_could_not_do_is_shown_until_one_can() {
    let env = test_env();
    let shop = env.work_dir("shop").files([("a.txt", "one\n")]);
    shop.run(["save"]).success();
    write_record(&env, 1.0, "\"no room\\u001b\"");
    let status = shop.run(["checkpoints"]).success();
    let line = "\n  problem:       no room\\u{1b}\n";
    assert!(status.text().contains(line), "{status}");
    let doctor = shop.run(["doctor"]).code(1);
    assert!(doctor.text().contains("last 1d ago: no room"), "{doctor}");
    shop.run(["checkpoints", "prune"]).success();
    shop.run(["doctor"]).success();
}

#[test]
fn a_project_that_was_given_up_gives_no_number_twice() {
    let env = test_env();
    // What is alone in a directory may be on a volume that is away.
    env.work_dir("other").write("a.txt", "");
    for (text, number) in [("one\n", 1), ("two\n", 2)] {
        let shop = env.work_dir("shop").files([("a.txt", text)]);
        let saved = shop.run(["save"]).success();
        assert!(saved.error_text().contains(&format!("checkpoint {number} ")), "{saved}");
        env.work_dir("").remove("shop");
        let here = env.work_dir("");
        here.run(["checkpoints", "prune", "--force"]).success();
        assert_eq!(counts(&env), [0; 0]);
        here.run(["checkpoints", "gc"]).success();
    }
}
