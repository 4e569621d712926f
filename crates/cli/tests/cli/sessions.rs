//! `herma sessions`, with the words and prompts of the original.

use herma_testkit::TestEnv;
use herma_testkit::hermes::sessions::HermesSessions;

use super::{json, test_env};

/// Long ago, in seconds since 1970.
const OLD: f64 = 1_000_000_000.0;

fn now() -> f64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_secs_f64()
}

fn sessions(env: &TestEnv) -> HermesSessions {
    let home = HermesSessions::new(&env.home());
    home.add("20260101_120000_aaaaaa", OLD, Some(OLD), &[OLD, OLD + 1.0]);
    home.add("20260101_120000_bbbbbb", OLD, Some(OLD), &[]);
    home.add("recent", now() - 60.0, Some(now() - 60.0), &[now() - 60.0]);
    home.add("crashed", OLD, None, &[OLD]);
    home
}

#[test]
fn without_a_database_there_are_no_sessions() {
    let env = test_env();
    let project = env.work_dir("project");
    for command in ["list", "stats", "prune"] {
        let output = project.run(["sessions", command]).code(10);
        assert!(output.error_text().contains("no session database"), "{output}");
    }
    assert!(!env.home().join("state.db").exists(), "looking makes nothing");
}

#[test]
fn deleting_asks_and_says_what_the_original_says() {
    let env = test_env();
    let home = sessions(&env);
    let project = env.work_dir("project");
    home.add_files("recent");
    let refused = project.run(["sessions", "delete", "recent"]).code(2);
    assert!(refused.error_text().contains("no terminal"), "{refused}");
    let mut terminal = project.in_terminal(["sessions", "delete", "rec"]);
    terminal.wait_for("Delete session 'recent' and all its messages? [y/N] ");
    terminal.answer("n");
    let output = terminal.finish().code(1);
    assert!(output.text().contains("Cancelled."), "{output}");
    let mut terminal = project.in_terminal(["sessions", "delete", "rec"]);
    terminal.wait_for("[y/N] ");
    terminal.answer("yes");
    let output = terminal.finish().success();
    assert!(output.text().contains("Deleted session 'recent'."), "{output}");
    assert_eq!((home.ids().len(), home.files().len()), (3, 0));

    let gone = project.run(["sessions", "delete", "-y", "recent"]).code(10);
    assert!(gone.error_text().contains("Session 'recent' not found."), "{gone}");
    let several = project.run(["sessions", "delete", "-y", "2026"]).code(2);
    assert!(several.error_text().contains("20260101_120000_bbbbbb"), "{several}");
    let active = project.run(["sessions", "delete", "-y", "crashed"]).code(1);
    assert!(active.error_text().contains("is active"), "{active}");
    home.assert_sound();
}

#[test]
fn pruning_shows_asks_and_counts() {
    let env = test_env();
    let home = sessions(&env);
    let project = env.work_dir("project");
    let dry = project.run(["sessions", "prune", "--dry-run", "--reap"]).success();
    assert_eq!(dry.text(), "Would end 1 session(s).\nWould prune 2 session(s).\n");
    assert!(dry.error_text().contains("crashed"), "{dry}");
    let plan = json(&project.run(["sessions", "prune", "--dry-run", "--json"]).success());
    assert_eq!((&plan["dry_run"], &plan["sessions"]), (&true.into(), &2.into()));
    assert_eq!(home.ids().len(), 4);
    let mut terminal = project.in_terminal(["sessions", "prune", "--source", "cli"]);
    terminal.wait_for("Delete all ended sessions older than 90 days from 'cli'? [y/N] ");
    terminal.answer("");
    assert!(terminal.finish().code(1).text().contains("Cancelled."));
    let pruned = project.run(["sessions", "prune", "--yes", "--older-than", "30"]).success();
    assert_eq!(pruned.text(), "Pruned 2 session(s).\n");
    assert_eq!(home.ids(), ["crashed", "recent"]);
    let reaped = project.run(["sessions", "prune", "--yes", "--reap"]).success();
    assert_eq!(reaped.text(), "Ended 1 session(s).\nPruned 0 session(s).\n");
    assert_eq!(home.ids(), ["crashed", "recent"], "nobody was asked about it");
    let later = project.run(["sessions", "prune", "--yes"]).success();
    assert_eq!(later.text(), "Pruned 1 session(s).\n");
    assert_eq!(home.ids(), ["recent"]);
    home.assert_sound();
}

#[test]
fn sessions_are_listed_shown_searched_counted_exported_and_renamed() {
    let env = test_env();
    let home = sessions(&env);
    home.sql("INSERT INTO sessions (id, source, started_at) VALUES ('t\u{1b}[2J', 'tool', 5)");
    let project = env.work_dir("project");
    let list = project.run(["sessions"]).success();
    let first = list.text().lines().next().unwrap_or_default().to_owned();
    assert!(first.starts_with("recent "), "{list}");
    assert_eq!(list.text().lines().count(), 4, "tools are left out: {list}");
    let tools = project.run(["sessions", "list", "--source", "tool"]).success();
    assert!(!tools.text().contains('\u{1b}'), "{tools}");
    let ids = project.run(["sessions", "list", "-z", "--min-messages", "2"]).success();
    assert_eq!(ids.text(), "20260101_120000_aaaaaa\0");
    let all = json(&project.run(["sessions", "list", "--json"]).success());
    assert_eq!(all["schema"], "herma.sessions-list/1");
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(4));
    let shown = project.run(["sessions", "show", "rec"]).success();
    assert!(shown.text().contains("  message 0 of recent\n"), "{shown}");
    let found =
        json(&project.run(["sessions", "search", "--json", "message", "crashed"]).success());
    assert_eq!(found["found"][0]["session"], "crashed");
    let stats = project.run(["sessions", "stats"]).success();
    assert!(stats.text().starts_with("Total sessions: 5\nTotal messages: 4\n  cli: 4"), "{stats}");
    assert!(stats.text().contains("\nDatabase size: 0."), "{stats}");
    let exported = project.run(["sessions", "export", "-", "--session-id", "rec"]).success();
    let exported: serde_json::Value = serde_json::from_str(exported.text()).expect("one line");
    assert_eq!(exported["messages"][0]["content"], "message 0 of recent");
    project.run(["sessions", "export", "all.jsonl"]).success();
    assert_eq!(project.read("all.jsonl").lines().count(), 5);
    project.run(["sessions", "rename", "rec", "A", "title"]).success();
    let taken = project.run(["sessions", "rename", "crash", "A title"]).code(1);
    assert!(taken.error_text().contains("'recent' has the title"), "{taken}");
    let archived = project.run(["sessions", "archive", "--yes", "--older-than", "9"]).success();
    assert_eq!(archived.text(), "Archived 2 session(s).\n");
    home.assert_sound();
}

#[test]
fn a_newer_database_is_read_and_not_changed() {
    let env = test_env();
    let home = sessions(&env);
    home.sql("UPDATE schema_version SET version = 27");
    let project = env.work_dir("project");
    project.run(["sessions", "list"]).success();
    project.run(["sessions", "prune", "--dry-run"]).success();
    for args in [["prune", "--yes"], ["delete", "rec"]] {
        let args = [&["sessions"], args.as_slice()].concat();
        let output = project.run(args).code(1);
        assert!(output.error_text().contains("schema version 27"), "{output}");
    }
    assert_eq!(home.ids().len(), 4);
    let doctor = project.run(["doctor"]).code(3);
    assert!(doctor.text().contains("schema version 27"), "{doctor}");
}

#[test]
fn maintenance_prunes_sessions_only_if_asked_to() {
    let env = test_env();
    let home = sessions(&env);
    let project = env.work_dir("project");
    project.run(["maintain"]).success();
    assert_eq!(home.ids().len(), 4);
    project.run(["config", "set", "sessions.auto_prune", "on"]).success();
    let text = project.run(["config", "show"]).success();
    assert!(text.text().contains("sessions.auto_prune: true"), "{text}");
    let done = json(&project.run(["maintain", "--json"]).success());
    assert_eq!(done["sessions_pruned"], 2);
    assert_eq!(home.ids(), ["crashed", "recent"]);
    home.assert_sound();
}

#[test]
fn the_doctor_finds_files_without_a_session() {
    let env = test_env();
    let home = sessions(&env);
    let project = env.work_dir("project");
    let name = home.directory().join("session_20260101_120000_cccccc.json");
    home.write("session_20260101_120000_cccccc.json", "");
    std::fs::File::options()
        .write(true)
        .open(&name)
        .and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH))
        .expect("a file from long ago");
    let doctor = project.run(["doctor"]).code(3);
    assert!(doctor.text().contains("1 file (0 B) of sessions that are not"), "{doctor}");
    let pruned = project.run(["sessions", "prune", "--yes", "--orphan-files"]).success();
    assert!(pruned.text().contains("Removed 1 file(s) without a session."), "{pruned}");
    assert!(!name.exists());
    project.run(["doctor"]).success();
}
