//! `herma checkpoints`: status, clear and gc.

use std::process::Command;

use herma_testkit::Bounded;

use super::{json, random_text, test_env, without_sizes};

/// Three checkpoints of one project, one of another that is deleted afterwards.
fn two_projects(env: &herma_testkit::TestEnv) {
    let shop = env.work_dir("shop");
    for step in 0..3 {
        shop.write("cart.txt", &random_text(step, 200));
        shop.run(["save"]).success();
    }
    let gone = env.work_dir("gone").files([("a.txt", "one\n")]);
    gone.run(["save"]).success();
    env.work_dir("").remove("gone");
}

#[test]
fn status_has_hermess_lines_and_what_costs_the_disk() {
    let env = test_env();
    two_projects(&env);
    let status = env.work_dir("").run(["checkpoints"]).success();
    insta::assert_snapshot!(without_sizes(&status), @r"
    Kept: everything of the last 30 days of work, then one checkpoint a day for 30 days and one a week for 26 weeks, at most [SIZE] in all; a project not saved for 30 days keeps only its newest, pinned and named ones
    Checkpoint base: $ROOT/hermes/checkpoints
    Total size: [SIZE]
    store/ [SIZE]
    legacy-* [SIZE]
    Projects: 2

    WORKDIR COMMITS LAST TOUCH STATE SIZE
    $ROOT/work/gone 1 [AGE] orphan [SIZE]
    $ROOT/work/shop 3 [AGE] live [SIZE]

    Biggest files:
    SIZE VERSIONS FILE
    [SIZE] 3 cart.txt ($ROOT/work/shop)
    [SIZE] 1 a.txt ($ROOT/work/gone)
    Leave files out of later checkpoints with a line in the project's .hermaignore,
    or in all projects with: herma config set exclude PATTERN...

    On disk: [SIZE]
    Packs: 4
    Trash: [SIZE]
    Last cleaning: never
    ");
    let table = status.text().lines().find(|line| line.contains("WORKDIR"));
    let heading = format!("  {:<60}  COMMITS    LAST TOUCH  STATE          SIZE", "WORKDIR");
    assert_eq!(table, Some(heading.as_str()));

    let list = env.work_dir("").run(["checkpoints", "list"]).success();
    assert_eq!(without_sizes(&list), without_sizes(&status));
}

#[test]
fn status_shows_as_many_projects_as_asked_for() {
    let env = test_env();
    two_projects(&env);
    let here = env.work_dir("");
    let one = here.run(["checkpoints", "status", "--limit", "1"]).success();
    assert!(one.text().contains("\n  and 1 more: --limit 2\n"), "{one}");
    let default = here.run(["checkpoints", "status", "--limit", "0"]).success();
    assert!(!default.text().contains(" more:"), "{default}");
}

#[test]
fn status_tells_programs_the_same() {
    let env = test_env();
    two_projects(&env);
    let output = env.work_dir("").run(["checkpoints", "--json"]).success();
    let json = json(&output);
    assert_eq!(json["schema"], "herma.checkpoints-status/1");
    assert_eq!(json["project_count"], 2);
    let projects = json["projects"].as_array().unwrap();
    let of = |state: &str| projects.iter().find(|p| p["state"] == state).unwrap();
    assert_eq!(of("live")["commits"], 3);
    assert_eq!(of("orphan")["commits"], 1);
    assert_eq!(of("orphan")["exists"], false);
    assert!(of("live")["own_bytes"].as_u64() > of("orphan")["own_bytes"].as_u64());
    assert_eq!(of("live")["biggest_files"][0]["path"], "cart.txt");
    assert_eq!(of("live")["biggest_files"][0]["versions"], 3);
    assert_eq!(json["limits"]["max_snapshots"], 0);
    assert_eq!(json["limits"]["thinning"]["whole_days"], 30);
    assert_eq!(json["packs"], 4);
    assert_eq!(json["last_cleaning"], serde_json::Value::Null);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it asks du")]
fn status_says_what_du_says() {
    let env = test_env();
    let project = env.work_dir("shop");
    for version in 0..20 {
        project.write("cart.txt", &version.to_string());
        project.run(["save"]).success();
    }
    let status = json(&project.run(["checkpoints", "--json"]).success());
    let store = env.home().join("checkpoints/store");
    let du = Command::new("du").arg("-sk").arg(store).bounded_output().unwrap();
    let du = String::from_utf8(du.stdout).unwrap();
    let du = du.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024;
    let told = status["store_disk_bytes"].as_u64().unwrap();
    assert!(told * 2 <= du * 3 && du * 2 <= told * 3, "{told} is told, {du} is taken");
}

#[test]
fn without_a_store_the_status_is_empty_and_there_is_nothing_to_work_on() {
    let env = test_env();
    let here = env.work_dir("project");
    let status = here.run(["checkpoints"]).success();
    insta::assert_snapshot!(status, @r"
    Kept:            everything of the last 30 days of work, then one checkpoint a day for 30 days and one a week for 26 weeks, at most 500.0 MB in all; a project not saved for 30 days keeps only its newest, pinned and named ones
    Checkpoint base: $ROOT/hermes/checkpoints
    Total size:      0 B
      store/         0 B
      legacy-*       0 B
    Projects:        0
    ");
    for command in ["gc", "verify", "repair"] {
        here.run(["checkpoints", command]).code(10);
    }
    let prune = here.run(["checkpoints", "prune"]).success();
    assert!(prune.text().contains("\nScanned:         0\n"), "{prune}");
    assert!(!env.home().exists(), "looking makes nothing");
}

#[test]
fn gc_merges_packs_and_drops_no_checkpoint() {
    let env = test_env();
    two_projects(&env);
    let shop = env.work_dir("shop");
    let before = shop.run(["list"]).success();
    let output = shop.run(["checkpoints", "gc"]).success();
    insta::assert_snapshot!(without_sizes(&output), @r"
    Packs: 4 → 1
    Store size: [SIZE] → [SIZE]
    Bytes reclaimed: [SIZE]
    In the trash: [SIZE] for at least an hour; to delete it now: herma checkpoints gc --empty-trash
    ");
    assert_eq!(shop.run(["list"]).success().stdout, before.stdout);
    env.fsck();
    let json = json(&shop.run(["checkpoints", "gc", "--json"]).success());
    assert_eq!(json["schema"], "herma.checkpoints-gc/1");
    assert_eq!(json["packs_after"], 1);
    assert_eq!(json["merged_objects"], 0);
}

#[test]
#[allow(clippy::disallowed_methods)]
fn clear_asks_and_keeps_what_is_no_checkpoint() {
    let env = test_env();
    two_projects(&env);
    let shop = env.work_dir("shop");
    let base = env.home().join("checkpoints");
    std::fs::write(base.join("session.yaml"), "id: session\n").unwrap();
    let before = shop.run(["list"]).success().stdout;

    let refused = shop.run(["checkpoints", "clear"]).code(2);
    insta::assert_snapshot!(without_sizes(&refused), @r"
    This will delete the ENTIRE checkpoint base at $ROOT/hermes/checkpoints
    size: [SIZE]
    projects: 2
    legacy dirs: 0

    All /rollback history for every working directory will be lost.
    ------- stderr -------
    Error: all checkpoints of all projects would be deleted
    Nothing was removed: there is no terminal to ask on.
    Hint: `herma checkpoints clear --force`
    [exit status: 2]
    ");

    let mut terminal = shop.in_terminal(["checkpoints", "clear"]);
    terminal.wait_for("Proceed? [y/N]: ");
    terminal.answer("n");
    let aborted = terminal.finish().code(1);
    assert!(aborted.text().ends_with("Proceed? [y/N]: n\nAborted.\n"), "{aborted}");
    let mut terminal = shop.in_terminal(["checkpoints", "clear"]);
    terminal.wait_for("Proceed? [y/N]: ");
    terminal.end_input();
    let aborted = terminal.finish().code(1);
    assert!(aborted.text().ends_with("Aborted.\n"), "{aborted}");
    assert_eq!(shop.run(["list"]).success().stdout, before);

    let mut terminal = shop.in_terminal(["checkpoints", "clear"]);
    terminal.wait_for("Proceed? [y/N]: ");
    terminal.answer("YES");
    let cleared = terminal.finish().success();
    assert!(cleared.text().contains("\nCleared. Reclaimed "), "{cleared}");
    assert!(cleared.text().ends_with("\n  session.yaml\n"), "{cleared}");
    assert!(base.join("session.yaml").exists() && !env.store().exists());
    assert!(shop.exists("cart.txt"), "the project itself is not touched");
}

#[test]
fn clear_without_questions_and_twice() {
    let env = test_env();
    two_projects(&env);
    let shop = env.work_dir("shop");
    let json = json(&shop.run(["checkpoints", "clear", "-f", "--json"]).success());
    assert_eq!(json["schema"], "herma.checkpoints-clear/1");
    assert_eq!(json["deleted"], true);
    assert!(json["bytes_freed"].as_u64() > Some(1000));
    let again = shop.run(["checkpoints", "clear"]).success();
    assert_eq!(again.text(), "Nothing to clear — checkpoint base does not exist.\n");
    shop.run(["save"]).success();
}
