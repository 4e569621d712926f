//! `herma restore --with-transcript`: files and conversation go back together, and forward again.

use herma_testkit::hermes_sessions::HermesSessions;

use super::json;
use super::test_env;

const NOW: f64 = 1_760_000_000.0;

#[test]
fn files_and_conversation_go_back_together_and_forward_again() {
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW, NOW + 1.0]);
    home.add("s-2", NOW, None, &[NOW]);
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let saved = project
        .run(["save", "--session", "s-1", "--json"])
        .success();
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

    let output = project.run(["restore", "1", "--with-transcript"]).success();
    assert!(output.error_text().contains("by 3 messages"), "{output}");
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(rows("s-1")[0], 2);
    assert_eq!(rows("s-2"), before.1, "others are not touched");

    let output = project.run(["undo"]).success();
    assert!(
        output.error_text().contains("Brought back 3 messages"),
        "{output}"
    );
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
    let output = project.run(["restore", "1", "--with-transcript"]).code(2);
    assert!(output.error_text().contains("not taken for a session"));
    assert_eq!(project.read("a.txt"), "two\n");
    project
        .run(["save", "--session", "nobody-knows", "-m", "x"])
        .success();
    project.write("a.txt", "three\n");
    let output = project.run(["restore", "1", "--with-transcript"]).code(2);
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
        project.run(["restore", "1", "--with-transcript"]).success();
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
    home.write(
        "s-1.jsonl",
        "{\"role\":\"session_meta\"}\n{\"role\":\"user\"}\n",
    );
    let output = project.run(["restore", "1", "--with-transcript"]).code(1);
    assert!(output.error_text().contains("rewritten"), "{output}");
    assert_eq!(project.read("a.txt"), "two\n", "nothing was changed");
}
