//! What `herma sessions` must not do: more than it said, anything while it cannot know, or to the wrong file.

use std::os::unix::fs::symlink;
use std::process::Command;

use herma_testkit::Bounded;
use herma_testkit::hermes::sessions::HermesSessions;

use super::{json, test_env};

/// Long ago, in seconds since 1970.
const OLD: f64 = 1_000_000_000.0;
const DAY: f64 = 86_400.0;

fn now() -> f64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_secs_f64()
}

#[test]
fn the_dry_run_the_question_and_the_result_of_reaping_agree() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("ended", OLD, Some(OLD), &[OLD]);
    home.add("crashed", OLD, None, &[OLD]);
    home.add("chat", OLD, None, &[OLD]);
    home.write("chat.jsonl", "");
    home.touch("chat.jsonl", now());
    let project = env.work_dir("project");
    let dry = project.run(["sessions", "prune", "--reap", "--dry-run", "--json"]).success();
    let plan = json(&dry);
    assert_eq!((&plan["sessions"], &plan["reaped"]), (&1.into(), &1.into()));
    assert_eq!(plan["kept"][0]["id"], "chat");
    let refused = project.run(["sessions", "prune", "--reap"]).code(2);
    let text = "1 session would be deleted, and 1 session ended";
    assert!(refused.error_text().contains(text), "{refused}");
    let mut terminal = project.in_terminal(["sessions", "prune", "--reap"]);
    terminal.wait_for("End 1 session, and delete all ended sessions older than 90 days? [y/N] ");
    terminal.answer("y");
    let done = terminal.finish().code(3);
    assert!(done.text().contains("deleted by a later run"), "{done}");
    assert!(done.text().contains("Ended 1 session(s)."), "{done}");
    assert!(done.text().contains("Pruned 1 session(s)."), "{done}");
    assert!(done.text().contains("session 'chat' stays"), "{done}");
    assert_eq!(home.ids(), ["chat", "crashed"]);
    home.assert_sound();
}

#[test]
fn an_unreadable_list_of_the_gateway_stops_reaping_before_anything_is_changed() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("ended", OLD, Some(OLD), &[OLD]);
    home.add("crashed", OLD, None, &[OLD]);
    home.write("sessions.json", "{\"a\": {\"session_id\": \"cra");
    let project = env.work_dir("project");
    for option in ["--yes", "--dry-run"] {
        let output = project.run(["sessions", "prune", "--reap", option]);
        assert_eq!(output.status.code(), Some(12), "{output}");
        assert!(output.error_text().contains("sessions.json"), "{output}");
        assert!(output.error_text().contains("Nothing was changed."), "{output}");
    }
    assert_eq!(home.ids(), ["crashed", "ended"]);
    let active = "SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL";
    assert_eq!(home.number(active), 1);
}

#[test]
fn an_export_never_replaces_the_database() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("one", OLD, Some(OLD), &[OLD]);
    let project = env.work_dir("project");
    let database = home.database();
    std::fs::hard_link(&database, project.path().join("hard")).expect("a link");
    symlink(&database, project.path().join("soft")).expect("a link");
    symlink(env.home(), project.path().join("home")).expect("a link");
    for suffix in ["", "-wal", "-shm", "-journal"] {
        for target in [format!("{}{suffix}", database.display()), format!("home/state.db{suffix}")]
        {
            let output = project.run(["sessions", "export", &target]).code(2);
            assert!(output.error_text().contains("session database"), "{output}");
        }
    }
    for target in ["hard", "soft"] {
        let output = project.run(["sessions", "export", target]).code(2);
        assert!(output.error_text().contains("session database"), "{output}");
    }
    let output = project.run(["sessions", "export", "home"]).code(2);
    assert!(output.error_text().contains("regular file"), "{output}");
    assert_eq!(home.ids(), ["one"]);
    home.assert_sound();
}

#[test]
fn an_export_that_fails_leaves_the_file_as_it_was() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("one", OLD, Some(OLD), &[OLD]);
    let project = env.work_dir("project");
    project.run(["sessions", "export", "all.jsonl"]).success();
    let good = project.read("all.jsonl");
    home.sql(
        "INSERT INTO sessions (id, source, started_at) VALUES (CAST(x'ff' AS TEXT), 'cli', 2e9)",
    );
    project.run(["sessions", "export", "all.jsonl"]).code(1);
    assert_eq!(project.read("all.jsonl"), good);
    let names = std::fs::read_dir(project.path()).expect("a directory");
    assert_eq!(names.count(), 1, "nothing is left beside it");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test prepares the file it is about")]
fn a_database_that_is_no_file_is_refused_at_once() {
    let env = test_env();
    std::fs::create_dir_all(env.home()).expect("a home");
    let path = env.home().join("state.db");
    let made = Command::new("mkfifo").arg(&path).bounded_status();
    assert!(made.expect("mkfifo runs").success());
    let project = env.work_dir("project");
    for command in ["list", "stats", "prune"] {
        let output = project.run(["sessions", command]);
        assert_eq!(output.status.code(), Some(12), "{output}");
        assert!(output.error_text().contains("not a regular file"), "{output}");
    }
}

#[test]
fn ninety_days_hold_only_where_no_other_age_is_asked_for() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    for (id, days) in [("today", 0.1), ("month", 30.0), ("year", 365.0)] {
        let time = now() - days * DAY;
        home.add(id, time, Some(time), &[]);
    }
    let project = env.work_dir("project");
    let count = |args: &[&str]| {
        let args = [&["sessions", "prune", "--dry-run", "--json"], args].concat();
        json(&project.run(args).success())["sessions"].clone()
    };
    assert_eq!(count(&[]), 1);
    assert_eq!(count(&["--source", "cli"]), 1);
    assert_eq!(count(&["--before", "2999-01-01"]), 3);
    assert_eq!(count(&["--after", "2001-01-01"]), 3);
    assert_eq!(count(&["--newer-than", "60"]), 2);
    assert_eq!(count(&["--newer-than", "60", "--older-than", "7"]), 1);
    assert_eq!(count(&["--older-than", "7"]), 2);
    let help = project.run(["sessions", "prune", "--help"]).success();
    assert!(help.text().contains("90 days"), "{help}");
    let mut terminal = project.in_terminal(["sessions", "prune", "--newer-than", "60"]);
    terminal.wait_for("Delete all ended sessions that the filters mean? [y/N] ");
    terminal.answer("n");
    terminal.finish().code(1);
    assert_eq!(home.ids().len(), 3);
}

#[test]
fn sessions_whose_id_is_no_text_are_named_before_and_after() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("old", OLD, Some(OLD), &[]);
    home.sql(&format!(
        "INSERT INTO sessions (id, source, started_at, ended_at) VALUES
         (NULL, 'cli', {OLD}, {OLD}), (x'00ff', 'cli', {OLD}, {OLD})"
    ));
    let project = env.work_dir("project");
    let kept = |args: &[&str], at: &str, code: i32| {
        let output = project.run([args, &["--json"]].concat()).code(code);
        let answer = json(&output);
        let kept = answer.pointer(at).and_then(|kept| kept.as_array().cloned());
        let mut ids: Vec<String> = kept
            .unwrap_or_default()
            .iter()
            .map(|kept| kept["id"].as_str().unwrap_or_default().to_owned())
            .collect();
        ids.sort();
        assert!(output.error_text().contains("its id is no text"), "{output}");
        ids
    };
    let expected = ["NULL", "x'00ff'"];
    let dry = ["sessions", "prune", "--dry-run"];
    assert_eq!(kept(&dry, "/kept", 0), expected);
    let dry = ["sessions", "archive", "--dry-run"];
    assert_eq!(kept(&dry, "/removed/kept", 0), expected);
    let archive = ["sessions", "archive", "--yes"];
    assert_eq!(kept(&archive, "/removed/kept", 3), expected);
    assert_eq!(home.number("SELECT COUNT(*) FROM sessions"), 2);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it moves a directory about")]
fn a_linked_directory_of_transcripts_is_followed_to_ones_own_and_nowhere_else() {
    use std::os::unix::fs::PermissionsExt;
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    let project = env.work_dir("project");
    let linked = env.root().join("transcripts");
    let inside = env.home().join("elsewhere");
    let place = home.directory();
    let allow = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    for (target, mode) in [(&linked, 0o700), (&inside, 0o775)] {
        std::fs::rename(&place, target).expect("a move");
        allow(target, mode);
        symlink(target, &place).expect("a link");
        home.add("old", OLD, Some(OLD), &[]);
        home.write("old.jsonl", "");
        project.run(["sessions", "prune", "--yes"]).success();
        assert!(!target.join("old.jsonl").exists(), "{}", target.display());
        std::fs::remove_file(&place).expect("no link");
        std::fs::rename(target, &place).expect("a move");
    }
    std::fs::rename(&place, &linked).expect("a move");
    allow(&linked, 0o777);
    home.add("old", OLD, Some(OLD), &[]);
    for (target, why) in [
        (linked.as_path(), "can be written by other users"),
        (std::path::Path::new("nowhere"), "it leads to no directory"),
    ] {
        symlink(target, &place).expect("a link");
        let refused = project.run(["sessions", "prune", "--yes"]).code(1);
        assert!(refused.error_text().contains(why), "{refused}");
        assert_eq!(home.ids(), ["old"]);
        // Files can be restored all the same.
        project.write("a.txt", "one\n");
        project.run(["save"]).success();
        project.write("a.txt", "two\n");
        project.run(["restore", "@"]).success();
        std::fs::remove_file(&place).expect("no link");
    }
}
