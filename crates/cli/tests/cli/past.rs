//! Looking into old states, and finding what is gone.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::mcp_client::Piped;
use super::{json, test_env};

/// A name with everything a terminal would obey, and no UTF-8.
const HOSTILE: &[u8] = b"odd\n\x1b[31mname\xff.txt";

#[test]
fn an_old_state_is_listed_and_printed_byte_for_byte() {
    let env = test_env();
    let project = env.work_dir("project").files([("src/cart.py", "one\n"), ("README.md", "hi\n")]);
    std::fs::write(project.join("logo.bin"), b"\0\x01\xff\r\n").unwrap();
    project.run(["save"]).success();
    project.write("src/cart.py", "two\n");
    project.remove("logo.bin");
    project.run(["save"]).success();
    assert_eq!(project.run(["ls", "1"]).success().text(), "README.md\nlogo.bin\nsrc/\n");
    assert_eq!(project.run(["ls", "2"]).success().text(), "README.md\nsrc/\n");
    assert_eq!(project.run(["ls", "1", "src"]).success().text(), "cart.py\n");
    assert_eq!(project.run(["ls", "1:src"]).success().text(), "cart.py\n");
    assert_eq!(project.run(["ls", "--at", "now", "src"]).code(2).text(), "");
    let long = project.run(["ls", "-l", "1"]).success();
    assert!(long.text().contains("100644  5 B  logo.bin\n"), "{long}");
    assert_eq!(project.run(["cat", "1:logo.bin"]).success().stdout, b"\0\x01\xff\r\n");
    assert_eq!(
        project.run(["cat", "1:src/cart.py", "2:src/cart.py"]).success().text(),
        "one\ntwo\n"
    );
    let src = env.work_dir("project/src");
    assert_eq!(src.run(["cat", "1:cart.py"]).success().text(), "one\n");
    assert_eq!(src.run(["cat", "@-1:../README.md"]).success().text(), "hi\n");
    let answer = json(&project.run(["cat", "1:logo.bin", "--json"]).success());
    assert_eq!((&answer["content_bytes"], &answer["size"]), (&json!("AAH/DQo="), &json!(5)));
    let answer = json(&project.run(["ls", "1", "--json"]).success());
    assert_eq!(answer["entries"][2]["kind"], "directory");
    // What happened to one path, and between two.
    let shown = project.run(["show", "2:src"]).success();
    assert!(shown.text().contains("+two") && !shown.text().contains("logo"), "{shown}");
    let shown = project.run(["show", "2:README.md"]).success();
    assert!(shown.error_text().contains("`herma cat 2:README.md` prints it"), "{shown}");
    let diff = project.run(["diff", "1:src", "2:src"]).success();
    assert!(diff.text().contains("-one\n+two\n") && !diff.text().contains("logo"), "{diff}");
    let diff = project.run(["diff", "1:logo.bin"]).success();
    assert!(diff.text().contains("logo.bin") && !diff.text().contains("cart"), "{diff}");
    let diff = project.run(["diff", "1:README.md", "2:src/cart.py"]).success();
    assert!(diff.text().contains("-hi\n+two\n"), "{diff}");
}

#[test]
fn what_names_no_file_of_a_state_is_refused_with_what_to_type() {
    let env = test_env();
    let project = env.work_dir("project").files([("src/cart.py", "one\n"), ("30", "thirty\n")]);
    project.run(["save"]).success();
    for (arguments, code, says) in [
        (&["cat", "src/cart.py"][..], 2, "herma cat 13:PATH"),
        (&["cat", "1:src"], 2, "`herma ls 1:src` lists it"),
        (&["cat", "1:nope.py"], 10, "`herma find nope.py`"),
        (&["cat", "7:src/cart.py"], 10, "7"),
        (&["cat", "1h:src/cart.py"], 2, "`--at 1h PATH`"),
        (&["cat", "yesterday 18:00:src"], 2, "`--at 'yesterday 18:00' PATH`"),
        (&["cat", "15:30"], 2, "`15:./30`"),
        (&["diff", "1h:src"], 2, "`--at 1h PATH`"),
        (&["ls", "1", "nope"], 10, "nope is not in checkpoint 1"),
        (&["ls", "1:src", "src"], 2, "two paths"),
        (&["grep", "("], 2, "no regular expression"),
        (&["grep", "\u{1b}[31m("], 2, "\\u{1b}"),
        (&["find", ""], 2, "empty"),
        (&["find", "nope"], 10, "No checkpoint has anything called nope"),
        (&["grep", "nope"], 10, "No line of any time matches"),
        (&["grep", "one", "--path", "nope"], 2, "nope"),
        (&["has", "nope"], 2, "nope cannot be read"),
        (&["has", "src"], 2, "no file"),
        (&["restore", "--last", "src"], 2, "src is not gone"),
        (&["restore", "--last", "nope"], 10, "no checkpoint has nope"),
    ] {
        let output = project.run(arguments).code(code);
        assert!(output.error_text().contains(says), "{arguments:?}: {output}");
        assert!(!output.error_text().contains('\u{1b}'), "{output}");
    }
    assert_eq!(project.run(["cat", "1:./30"]).success().text(), "thirty\n");
}

#[test]
fn a_deleted_folder_is_found_by_half_its_name_and_comes_back() {
    let env = test_env();
    let project = env.work_dir("project").files([
        ("design-notes/a.md", "alpha\n"),
        ("design-notes/deep/b.md", "beta\n"),
        ("main.py", "x\n"),
    ]);
    project.run(["save"]).success();
    project.run(["run", "--agent", "claude", "--", "rm", "-r", "design-notes"]).success();
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("export HERMA_PAGER=cat; herma() { \"$PROGRAM\" \"$@\"; }; echo rea''dy");
    shell.wait_for_next("ready");
    shell.wait_for_next("> ");
    shell.answer("herma find notes");
    shell.wait_for_next("design-notes/");
    shell.wait_for_next("today by 2 claude");
    shell.wait_for_next("`herma restore --last design-notes` brings it back.");
    shell.answer("herma restore --last design-notes; echo do''ne");
    shell.wait_for_next("done");
    shell.answer("herma grep --gone x; echo co''de $?");
    shell.wait_for_next("No line that is gone matches.");
    shell.wait_for_next("code 10");
    shell.answer("exit 0");
    let _ = shell.finish();
    assert_eq!(project.read("design-notes/deep/b.md"), "beta\n");
    let found = json(&project.run(["find", "notes", "--json"]).success());
    assert_eq!(
        (&found["found"][0]["is_there"], &found["found"][0]["back"]),
        (&json!(true), &json!(null))
    );
}

#[test]
fn a_line_that_is_gone_is_found_with_who_removed_it() {
    let env = test_env();
    let project = env.work_dir("project").files([("cart.py", "def total():\n    return 1\n")]);
    project.run(["save"]).success();
    project.write("cart.py", "def total():\n    return 1\n# more\n");
    project.run(["save"]).success();
    project.write("work", "echo '# nothing' > cart.py");
    project.run(["save"]).success();
    project.run(["run", "--agent", "codex", "--", "sh", "work"]).success();
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("export HERMA_PAGER=cat; herma() { \"$PROGRAM\" \"$@\"; }; echo rea''dy");
    shell.wait_for_next("ready");
    shell.wait_for_next("> ");
    shell.answer("herma grep --gone 'def tot'");
    shell.wait_for_next("cart.py");
    shell.wait_for_next("gone since 4 codex");
    shell.wait_for_next("1: def total():");
    shell.wait_for_next("1 older content with the same lines not shown");
    shell.answer("exit 0");
    let _ = shell.finish();
    let found = json(&project.run(["grep", "--gone", "return", "--json"]).success());
    let stays = &found["found"][0]["stays"][0];
    assert_eq!((&stays["first"]["number"], &stays["last"]), (&json!(2), &json!(3)));
    assert_eq!((&stays["gone"]["number"], &stays["gone"]["agent"]), (&json!(4), &json!("codex")));
    assert_eq!(found["found"].as_array().unwrap().len(), 2);
    assert_eq!(json(&project.run(["grep", "-n", "1", "return", "--json"]))["is_more"], true);
    // What was run is found as well.
    let asked = project.run(["grep", "--prompts", "sh w.rk"]).success();
    assert!(asked.text().contains("codex ran: sh work"), "{asked}");
}

#[test]
fn no_terminal_obeys_a_name_or_a_content() {
    let env = test_env();
    let project = env.work_dir("project").files([("esc.txt", "a\tb\n\u{1b}[31mred\u{7}\nend")]);
    std::fs::write(project.join("nul.bin"), b"text\0more\n").unwrap();
    let hostile = project.path().join(OsStr::from_bytes(HOSTILE));
    std::fs::write(&hostile, "\u{1b}]0;title\u{7} findme\n").unwrap();
    project.run(["save"]).success();
    std::fs::remove_file(&hostile).unwrap();
    project.run(["save"]).success();
    let escaped = "odd\\n\\u{1b}[31mname\\xff.txt";
    for arguments in
        [&["ls", "1"][..], &["find", "odd"], &["grep", "findme"], &["grep", "--gone", "findme"]]
    {
        let output = project.run(arguments).success();
        let all = format!("{}{}", output.text(), output.error_text());
        assert!(all.contains(escaped), "{arguments:?}: {output}");
        assert!(!all.contains('\u{1b}') && !all.contains('\u{7}'), "{arguments:?}");
    }
    assert_eq!(project.run(["find", "odd", "-z"]).success().stdout, [HOSTILE, b"\0"].concat());
    let answer = json(&project.run(["find", "odd", "--json"]).success());
    assert!(answer["found"][0]["path_bytes"].is_string());
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("\"$PROGRAM\" cat 1:nul.bin; echo co''de $?");
    shell.wait_for_next("nul.bin is binary");
    shell.wait_for_next("`herma cat 1:nul.bin > FILE` writes it to a file.");
    shell.wait_for_next("code 2");
    shell.answer("\"$PROGRAM\" cat 1:esc.txt; echo co''de $?");
    shell.wait_for_next("\\u{1b}[31mred");
    shell.wait_for_next("end");
    shell.wait_for_next("code 0");
    shell.answer("exit 0");
    let _ = shell.finish();
    // To a file it is what it was.
    assert_eq!(project.run(["cat", "1:esc.txt"]).success().text(), "a\tb\n\u{1b}[31mred\u{7}\nend");
}

#[test]
fn whether_a_content_was_ever_here_is_told_by_the_exit_code() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "mine\n")]);
    project.run(["save"]).success();
    project.remove("a.txt");
    project.write("b.txt", "other\n");
    project.run(["save"]).success();
    project.write("copy.txt", "mine\n");
    let said = project.run(["has", "copy.txt"]).code(0);
    assert!(said.text().starts_with("a.txt  1  gone since 2"), "{said}");
    project.write("copy.txt", "nobody's\n");
    project.run(["has", "copy.txt"]).code(1);
    let answer = json(&project.run(["has", "b.txt", "--json"]).success());
    assert_eq!(
        (&answer["stays"][0]["path"], &answer["stays"][0]["is_in_newest"]),
        (&json!("b.txt"), &json!(true))
    );
}

#[test]
fn an_agent_finds_and_greps() {
    let env = test_env();
    let project = env.work_dir("project").files([("docs/a.md", "alpha\n"), ("Makefile", "")]);
    project.run(["save"]).success();
    project.remove("docs/a.md");
    project.run(["save"]).success();
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
    });
    server.client.call("initialize", hello);
    let mut tool = |name: &str, arguments: serde_json::Value| {
        server.client.call("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let found = tool("herma_find", json!({"name": "a.md"}));
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("docs/a.md (file), 1 to 1, removed by 2"), "{text}");
    assert!(text.contains("`herma restore --last docs/a.md`"), "{text}");
    assert_eq!(found["structuredContent"]["found"][0]["path"], "docs/a.md");
    let found = tool("herma_grep", json!({"regex": "alph", "gone": true}));
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("docs/a.md, 1 to 1") && text.contains("1: alpha"), "{text}");
    let none = tool("herma_grep", json!({"regex": "nothing like it"}));
    assert_eq!(none["content"][0]["text"], "No line matches, now or at any time.");
    assert_eq!(none["isError"], false);
}
