//! `herma restore --with-transcript`: files and conversation go back together, and forward again.

use herma_testkit::hermes::sessions::HermesSessions;
use herma_testkit::{TestEnv, WorkDir};

use super::{json, test_env};

const NOW: f64 = 1_760_000_000.0;

#[test]
fn files_and_conversation_go_back_together_and_forward_again() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW, NOW + 1.0]);
    home.add("s-2", NOW, None, &[NOW]);
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let saved = project.run(["save", "--session", "s-1", "--json"]).success();
    let facts = &json(&saved)["checkpoint"]["facts"];
    assert_eq!(facts["transcript"]["messages"], 2);
    home.write("s-1.jsonl", "{\"role\":\"user\"}\n");
    for at in [2, 3, 4] {
        home.sql(&format!(
            "INSERT INTO messages (session_id, role, content, timestamp)
             VALUES ('s-1', 'user', 'later {at}', {NOW} + {at})"
        ));
    }
    project.write("a.txt", "two\n");
    // What tells rows apart: how many, which, and when.
    let rows = |session: &str| {
        ["count(*)", "sum(id)", "sum(timestamp * 10)"].map(|what| {
            home.number(&format!(
                "SELECT CAST({what} AS INTEGER) FROM messages WHERE session_id = '{session}'"
            ))
        })
    };
    let before = (rows("s-1"), rows("s-2"));
    assert_eq!(before.0[0], 5);

    let output = project.run(["restore", "@", "--with-transcript"]).success();
    assert!(output.error_text().contains("by 3 messages"), "{output}");
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(rows("s-1")[0], 2);
    assert_eq!(rows("s-2"), before.1, "others are not touched");

    let output = project.run(["undo"]).success();
    assert!(output.error_text().contains("Brought back 3 messages"), "{output}");
    assert_eq!(project.read("a.txt"), "two\n");
    assert_eq!(rows("s-1"), before.0, "row for row");
    home.assert_sound();
}

#[test]
fn a_checkpoint_of_no_conversation_is_refused_and_nothing_changes() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    let output = project.run(["restore", "@", "--with-transcript"]).code(2);
    assert!(output.error_text().contains("not taken for a session"));
    assert_eq!(project.read("a.txt"), "two\n");
    project.run(["save", "--session", "nobody-knows", "-m", "x"]).success();
    project.write("a.txt", "three\n");
    let output = project.run(["restore", "@", "--with-transcript"]).code(2);
    assert!(output.error_text().contains("how far its conversation"));
    assert_eq!(project.read("a.txt"), "three\n");
    assert!(!env.home().join("state.db").exists());
}

#[test]
fn a_rewind_beside_which_no_file_changes_is_undone_as_well() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW]);
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "older"]).success();
    project.write("a.txt", "two\n");
    project.run(["save", "--session", "s-1"]).success();
    let rows = || home.number("SELECT count(*) FROM messages");
    for round in 0..2 {
        home.sql(&format!(
            "INSERT INTO messages (session_id, role, content, timestamp)
             VALUES ('s-1', 'user', 'later {round}', {NOW} + 1)"
        ));
        let before = rows();
        project.run(["restore", "@", "--with-transcript"]).success();
        assert_eq!(rows(), 1, "round {round}");
        project.run(["undo"]).success();
        assert_eq!(rows(), before, "round {round}");
        assert_eq!(project.read("a.txt"), "two\n", "no file goes further back");
    }
    home.assert_sound();
}

#[test]
fn a_transcript_that_was_rewritten_since_is_not_cut_in_the_middle_of_a_line() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW]);
    home.write("s-1.jsonl", "{\"role\":\"user\"}\n");
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "--session", "s-1"]).success();
    project.write("a.txt", "two\n");
    home.write("s-1.jsonl", "{\"role\":\"session_meta\"}\n{\"role\":\"user\"}\n");
    let output = project.run(["restore", "@", "--with-transcript"]).code(1);
    assert!(output.error_text().contains("rewritten"), "{output}");
    assert_eq!(project.read("a.txt"), "two\n", "nothing was changed");
}

/// A conversation of which a checkpoint was taken after two of five messages, with its transcript.
fn conversation(env: &TestEnv) -> (HermesSessions, WorkDir<'_>) {
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW, NOW + 1.0]);
    home.write("s-1.jsonl", "one\ntwo\n");
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "--session", "s-1", "--name", "start"]).success();
    say(&home, 3);
    home.write("s-1.jsonl", "one\ntwo\nthree\nfour\nfive\n");
    project.write("a.txt", "two\n");
    (home, project)
}

fn say(home: &HermesSessions, messages: usize) {
    for at in 0..messages {
        home.sql(&format!(
            "INSERT INTO messages (session_id, role, content, timestamp)
             VALUES ('s-1', 'user', 'later {at}', {NOW} + {at})"
        ));
    }
}

/// How many messages there are, how long the transcript is, and what the file says.
fn state(home: &HermesSessions, project: &WorkDir<'_>) -> (i64, u64, String) {
    let rows = home.number("SELECT count(*) FROM messages WHERE session_id = 's-1'");
    let jsonl = std::fs::metadata(home.directory().join("s-1.jsonl")).expect("a transcript");
    (rows, jsonl.len(), project.read("a.txt"))
}

const REWIND: [&str; 3] = ["restore", "start", "--with-transcript"];

#[test]
fn undo_and_redo_take_the_conversation_along_as_often_as_one_likes() {
    let env = test_env();
    let (home, project) = conversation(&env);
    let before = (5, 24, "two\n".to_owned());
    let after = (2, 8, "one\n".to_owned());
    assert_eq!(state(&home, &project), before);
    let cut = json(&project.run([&REWIND[..], &["--json"]].concat()).success());
    assert_eq!(cut["transcript"]["messages_cut"], 3, "{cut}");
    assert_eq!(cut["transcript"]["jsonl_bytes_cut"], 16, "{cut}");
    assert_eq!(state(&home, &project), after);
    for round in 0..2 {
        let back = json(&project.run(["undo", "--json"]).success());
        assert_eq!(back["transcript"]["messages_brought_back"], 3, "{back}");
        assert_eq!(state(&home, &project), before, "round {round}");
        let again = json(&project.run(["redo", "--json"]).success());
        assert_eq!(again["transcript"]["messages_cut"], 3, "{again}");
        assert_eq!(state(&home, &project), after, "round {round}");
    }
    home.assert_sound();
}

#[test]
fn redo_does_not_rewind_what_a_later_restore_left_alone() {
    let env = test_env();
    let (home, project) = conversation(&env);
    project.run(REWIND).success();
    project.run(["undo"]).success();
    project.run(["restore", "start"]).success();
    project.run(["undo"]).success();
    let redone = json(&project.run(["redo", "--json"]).success());
    assert_eq!(redone["transcript"], serde_json::Value::Null);
    assert_eq!(state(&home, &project), (5, 24, "one\n".to_owned()));
}

#[test]
fn a_rewind_without_files_is_redone_too() {
    let env = test_env();
    let (home, project) = conversation(&env);
    project.write("a.txt", "one\n");
    let (before, after) = ((5, 24, "one\n".to_owned()), (2, 8, "one\n".to_owned()));
    project.run(REWIND).success();
    assert_eq!(state(&home, &project), after);
    for round in 0..2 {
        project.run(["undo"]).success();
        assert_eq!(state(&home, &project), before, "round {round}");
        let again = json(&project.run(["redo", "--json"]).success());
        assert_eq!(again["transcript"]["messages_cut"], 3, "{again}");
        assert_eq!(state(&home, &project), after, "round {round}");
    }
    home.assert_sound();
}

#[test]
fn a_dry_run_says_how_many_messages_would_be_cut_and_cuts_none() {
    let env = test_env();
    let (home, project) = conversation(&env);
    let planned = project.run([&REWIND[..], &["--dry-run"]].concat()).success();
    assert!(planned.error_text().contains("would be rewound by 3 messages"), "{planned}");
    let planned = project.run([&REWIND[..], &["--dry-run", "--json"]].concat());
    assert_eq!(json(&planned.success())["transcript"]["messages_cut"], 3);
    assert_eq!(state(&home, &project), (5, 24, "two\n".to_owned()));
    assert!(!home.directory().join("rewound").exists());
}

#[test]
fn what_is_not_rewound_is_named() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW]);
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    std::os::unix::fs::symlink("elsewhere", home.directory().join("s-1.jsonl")).unwrap();
    home.write("session_s-1.json", "{}");
    project.run(["save", "--session", "s-1", "--name", "start"]).success();
    say(&home, 1);
    let output = project.run([&REWIND[..], &["--json"]].concat()).code(3);
    let answer = json(&output);
    let left = answer["transcript"]["not_rewound"].as_array().unwrap();
    let names: Vec<_> = left.iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["s-1.jsonl", "session_s-1.json"]);
    assert!(output.error_text().contains("s-1.jsonl is not rewound"));
    assert_eq!(home.number("SELECT count(*) FROM messages"), 1);
}

#[test]
fn kept_ends_go_with_their_session() {
    let env = test_env();
    let (home, project) = conversation(&env);
    home.add("s-2", NOW, None, &[NOW]);
    project.run(["save", "--session", "s-2", "--name", "other"]).success();
    home.sql(&format!(
        "INSERT INTO messages (session_id, role, content, timestamp)
         VALUES ('s-2', 'user', 'stays kept', {NOW})"
    ));
    project.write("a.txt", "three\n");
    project.run(["restore", "other", "--with-transcript"]).success();
    project.run(REWIND).success();
    let kept = || {
        let entries = std::fs::read_dir(home.directory().join("rewound")).unwrap();
        let texts = entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
        texts.collect::<String>()
    };
    assert!(kept().contains("later 1") && kept().contains("stays kept"));
    home.sql("UPDATE sessions SET ended_at = started_at WHERE id = 's-1'");
    let deleted = project.run(["sessions", "delete", "s-1", "--yes", "--json"]);
    assert_eq!(json(&deleted.success())["files"], 2, "the transcript and the end");
    assert!(!kept().contains("later 1"), "its messages are gone");
    assert!(kept().contains("stays kept"), "others keep theirs");
}

#[test]
fn a_conversation_that_went_on_is_not_brought_back_over_what_was_said() {
    let env = test_env();
    let (home, project) = conversation(&env);
    project.run(REWIND).success();
    say(&home, 1);
    let output = project.run(["undo"]).code(1);
    let text = output.error_text();
    assert!(text.contains("went on"), "{output}");
    assert!(text.contains("its end is kept in"), "{output}");
    assert_eq!(state(&home, &project), (3, 8, "two\n".to_owned()));
    // It is not in the way of anything else.
    project.run(["redo"]).success();
    assert_eq!(state(&home, &project), (3, 8, "one\n".to_owned()));
    let doctor = project.run(["doctor"]).success();
    assert!(!doctor.text().contains("not finished"), "{doctor}");
}

#[test]
fn what_was_edited_by_hand_stays_when_the_conversation_goes_back() {
    let env = test_env();
    let (home, project) = conversation(&env);
    let begun = project.run(["step", "begin", "--json"]).success();
    project.write("by-agent.txt", "agent\n");
    let handle = json(&begun)["step"]["handle"].clone();
    project.run(["step", "end", handle.as_str().unwrap()]).success();
    project.write("a.txt", "by hand\n");
    let back = json(&project.run([&REWIND[..], &["--json"]].concat()).success());
    assert_eq!(back["schema"], "herma.undo/3", "{back}");
    assert_eq!(back["transcript"]["messages_cut"], 3, "{back}");
    assert!(!project.path().join("by-agent.txt").exists());
    // Nothing is left to undo; the conversation goes back alone, and comes back alone.
    say(&home, 1);
    let again = json(&project.run([&REWIND[..], &["--json"]].concat()).success());
    assert_eq!(again["transcript"]["messages_cut"], 1, "{again}");
    let undone = json(&project.run(["undo", "--json"]).success());
    assert_eq!(undone["transcript"]["messages_brought_back"], 1, "{undone}");
    assert!(!project.path().join("by-agent.txt").exists());
    home.sql("DELETE FROM messages WHERE id = (SELECT MAX(id) FROM messages)");
    let undone = json(&project.run(["undo", "--json"]).success());
    assert_eq!(undone["transcript"]["messages_brought_back"], 3, "{undone}");
    assert_eq!(project.read("by-agent.txt"), "agent\n");
    assert_eq!(state(&home, &project), (5, 24, "by hand\n".to_owned()));
    home.assert_sound();
}
