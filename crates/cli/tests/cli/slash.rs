//! `herma slash`: what people type in a chat, and what they are shown.

use herma_testkit::TestEnv;
use herma_testkit::env::WorkDir;

use super::undo_steps::step;
use super::{json, test_env};

fn ask(project: &WorkDir<'_>, text: &str) -> herma_testkit::Output {
    project.run(["slash", text])
}

fn ask_on(project: &WorkDir<'_>, platform: &str, text: &str) -> herma_testkit::Output {
    project.run(["slash", text, "--platform", platform])
}

/// Two checkpoints, `one` and `two`, and a file that is newer than both.
fn saved_twice(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("b c.txt", "one\n")]);
    project.run(["save", "-m", "one"]).success();
    project.write("a.txt", "two\n");
    project.write("b c.txt", "two\n");
    project.run(["save", "-m", "two"]).success();
    project.write("new.txt", "new\n");
    project
}

#[test]
fn without_checkpoints_it_is_said_whether_anybody_saves() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let nothing = ask(&project, "/rollback").success();
    assert!(
        nothing.text().trim_start().starts_with("No checkpoints found for "),
        "hooks save by default"
    );
    project.run(["config", "set", "enabled", "false"]).success();
    insta::assert_snapshot!(ask(&project, "/rollback").success(), @"
    Checkpoints are not enabled.
    Enable with: herma config set enabled true
    Or in config.yaml: checkpoints: { enabled: true }
    ");
    insta::assert_snapshot!(ask_on(&project, "telegram", "/rollback 1").success(), @"
    Checkpoints are not enabled.
    Enable in config.yaml:
    <pre>checkpoints:
      enabled: true</pre>
    ");
    project.run(["config", "set", "enabled", "true"]).success();
    insta::assert_snapshot!(ask(&project, "/rollback").success(), @"
      No checkpoints found for $ROOT/work/project
    ");
    insta::assert_snapshot!(ask_on(&project, "plain", "/rollback diff 1").success(), @"
    No checkpoints found for $ROOT/work/project
    ");
}

#[test]
fn the_list_is_the_one_of_hermes() {
    let env = test_env();
    let project = saved_twice(&env);
    insta::assert_snapshot!(ask(&project, "/rollback").success(), @"
    📸 Checkpoints for $ROOT/work/project:

      1. [ID]  [TIME]  two  (2 files, +2/-2)
      2. [ID]  [TIME]  one

      /rollback <N>             restore to checkpoint N
      /rollback diff <N>        preview changes since checkpoint N
      /rollback <N> <file>      restore a single file from checkpoint N
    ");
    insta::assert_snapshot!(ask_on(&project, "discord", "/rollback").success(), @"
    📸 Checkpoints for `$ROOT/work/project`:
    ```
      1. [ID]  [TIME]  two  (2 files, +2/-2)
      2. [ID]  [TIME]  one
    ```
    ```
      /rollback <N>             restore to checkpoint N
      /rollback diff <N>        preview changes since checkpoint N
      /rollback <N> <file>      restore a single file from checkpoint N
    ```
    ");
}

#[test]
fn a_preview_counts_and_shows_the_beginning() {
    let env = test_env();
    let project = saved_twice(&env);
    insta::assert_snapshot!(ask(&project, "/rollback diff").success(), @"
      Usage: /rollback diff <N>
    ");
    insta::assert_snapshot!(ask(&project, "/rollback diff 2").success(), @"
    a.txt | +1 -1
    b c.txt | +1 -1
    new.txt | +1 -0
      3 files changed, +3/-2
    diff --git a/a.txt b/a.txt
    index [ID]..f719efd 100644
    --- a/a.txt
    +++ b/a.txt
    @@ -1 +1 @@
    -one
    +two
    diff --git a/b c.txt b/b c.txt
    index [ID]..f719efd 100644
    --- a/b c.txt	
    +++ b/b c.txt	
    @@ -1 +1 @@
    -one
    +two
    diff --git a/new.txt b/new.txt
    new file mode 100644
    index [ID]..3e75765
    --- /dev/null
    +++ b/new.txt
    @@ -0,0 +1 @@
    +new
    ");
    project.remove("new.txt");
    let same = ask(&project, "/rollback diff 1").success();
    assert_eq!(same.text(), "  No changes since this checkpoint.\n");
    project.write("a.txt", &"line\n".repeat(200));
    let long = ask(&project, "/diff").success();
    // Five lines of headers, one that was removed, 200 that were added.
    assert!(long.text().ends_with("\n  ... (126 more lines, showing first 80)\n"), "{long}");
}

#[test]
fn a_restore_says_how_to_undo_it() {
    let env = test_env();
    let project = saved_twice(&env);
    let changed = project.tree();
    insta::assert_snapshot!(ask(&project, "/rollback 2").success(), @"
    ✅ Restored to checkpoint [ID]: one
    A pre-rollback snapshot was saved automatically.
    /rollback undo undoes it.
    ");
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(!project.exists("new.txt"));
    insta::assert_snapshot!(ask(&project, "/rollback undo").success(), @"
    ✅ Went back to checkpoint [ID]: pre-rollback snapshot (restoring to [ID])
    The state from before is checkpoint [ID].
    /rollback redo repeats what this undid.
    ");
    assert_eq!(project.tree(), changed);
    ask(&project, "/rollback redo").success();
    assert_eq!(project.read("a.txt"), "one\n");
    insta::assert_snapshot!(ask(&project, "/rollback @-5").success(), @"
    ✅ Restored to checkpoint [ID]: one
    Nothing had to be changed.
    ");
}

#[test]
fn checkpoints_go_by_number_id_name_and_place() {
    for named in ["2", "+2", "the id", "before-refactor", "@-1"] {
        let env = test_env();
        let project = saved_twice(&env);
        let list = json(&project.run(["list", "--json"]).success());
        let id = list["checkpoints"][1]["id"].as_str().unwrap().to_owned();
        project.run(["name", "@-1", "before-refactor"]).success();
        let named = named.replace("the id", &id);
        let output = ask(&project, &format!("/rollback {named} a.txt")).success();
        let said = format!("  ✅ Restored a.txt from checkpoint {}: one\n", &id[..8]);
        assert!(output.text().starts_with(&said), "{output}");
        assert_eq!(project.read("a.txt"), "one\n", "{named}");
    }
}

#[test]
fn files_are_restored_by_quoted_names() {
    let env = test_env();
    let project = saved_twice(&env);
    insta::assert_snapshot!(ask(&project, "/rollback 2 \"b c.txt\"").success(), @"
    ✅ Restored b c.txt from checkpoint [ID]: one
    A pre-rollback snapshot was saved automatically.
    /rollback undo undoes it.
    ");
    let contents = ["a.txt", "b c.txt", "new.txt"].map(|path| project.read(path));
    assert_eq!(contents, ["two\n", "one\n", "new\n"]);
    ask(&project, "/rollback 4 a.txt 'b c.txt'").success();
    let contents = ["a.txt", "b c.txt", "new.txt"].map(|path| project.read(path));
    assert_eq!(contents, ["one\n", "one\n", "new\n"]);
}

#[test]
fn what_fails_says_so_and_changes_nothing() {
    let env = test_env();
    let project = saved_twice(&env);
    let before = project.tree();
    for (text, said) in [
        ("/rollback 9", "  Invalid checkpoint number. Use 1-2.\n"),
        ("/rollback 0", "  Invalid checkpoint number. Use 1-2.\n"),
        ("/rollback -1", "  Invalid checkpoint number. Use 1-2.\n"),
        ("/rollback diff 9", "  Invalid checkpoint number. Use 1-2.\n"),
        ("/rollback nowhere", "  ❌ no checkpoint of this project is called `nowhere`\n"),
    ] {
        assert_eq!(ask(&project, text).code(1).text(), said, "{text}");
    }
    for text in [
        "/rollback 1 ../outside",
        "/rollback 1 /etc/passwd",
        "/rollback 1 not-there",
        "/rollback redo",
        "/rollback deadbeef",
    ] {
        let output = ask(&project, text).code(1);
        assert!(output.text().starts_with("  ❌ "), "{output}");
    }
    assert_eq!(project.tree(), before);
}

#[test]
fn other_forms_get_the_usage() {
    let env = test_env();
    let project = saved_twice(&env);
    for text in ["/rollback help", "/nonsense", "", "/rollback 1 'open", "/diff staged x"] {
        let output = ask(&project, text).success();
        assert!(output.text().starts_with("  Usage:\n  /rollback "), "{output}");
    }
    let output = project.run(["slash", "", "--json"]).success();
    assert_eq!(json(&output)["ok"], false);
    assert_eq!(json(&output)["action"], "usage");
}

#[test]
fn edits_made_by_hand_stay_unless_all_is_asked_for() {
    let env = test_env();
    let project = saved_twice(&env);
    project.run(["save", "-m", "start"]).success();
    step(&project, &["--session", "s-1"], &[("a.txt", "agent\n"), ("made.txt", "made\n")]);
    project.write("b c.txt", "by hand\n");
    let session = project.run(["slash", "/diff session", "--session", "s-1"]);
    let session = session.success();
    assert!(session.text().contains("+agent"), "{session}");
    assert!(!session.text().contains("by hand"), "{session}");
    let unknown = project.run(["slash", "/diff session", "--session", "s-9"]);
    assert_eq!(unknown.success().text(), "  No changes in this session.\n");
    let everything = ask(&project, "/diff session").success();
    assert!(everything.text().contains("+by hand"), "{everything}");

    insta::assert_snapshot!(ask(&project, "/rollback 2").success(), @"
    ✅ Restored to checkpoint [ID]: start
    The state from before is checkpoint [ID].
    /rollback undo undoes it.
    ↷ Kept your hand-edits: b c.txt
    ");
    assert_eq!(project.read("a.txt"), "two\n");
    assert_eq!(project.read("b c.txt"), "by hand\n");
    ask(&project, "/rollback undo").success();
    project.run(["name", "3", "start"]).success();
    ask(&project, "/rollback start --all").success();
    assert_eq!(project.read("b c.txt"), "two\n");
}

#[test]
fn what_is_left_out_is_named() {
    let env = test_env();
    let project = saved_twice(&env);
    project.write(".gitignore", "a.txt\n");
    project.write("a.txt", "ignored\n");
    project.run(["save"]).success();
    let output = project.run(["slash", "/rollback 3", "--json"]).code(3);
    assert_eq!(project.read("a.txt"), "ignored\n");
    let json = json(&output);
    let text = json["text"].as_str().unwrap();
    assert!(text.contains("\n  ⚠ Not restored: a.txt ("), "{text}");
    assert_eq!(json["ok"], true);
    assert_eq!(json["partial"], true);
    assert_eq!(json["kept"][0]["path"], "a.txt");
}

#[test]
fn the_directory_comes_from_the_front_end() {
    let mut env = test_env();
    let project = saved_twice(&env);
    let path = project.path().to_owned();
    let elsewhere = env.work_dir("elsewhere").path().to_owned();
    let run = |env: &TestEnv, arguments: &[&str]| {
        let mut command = env.command(&elsewhere);
        env.finish(command.args(arguments)).success().text().to_owned()
    };
    let name = path.to_str().unwrap();
    let list = run(&env, &["slash", "/rollback", "--cwd", name]);
    assert!(list.contains(". two") || list.contains("  two"), "{list}");
    assert_eq!(run(&env, &["-C", name, "slash", "/rollback"]), list);
    env.set("MESSAGING_CWD", &path);
    assert_eq!(run(&env, &["slash", "/rollback"]), list);
    env.set("TERMINAL_CWD", &elsewhere);
    assert!(!run(&env, &["slash", "/rollback"]).contains("  two"));
    let home = env.user_home();
    std::os::unix::fs::symlink(&path, home.join("here")).unwrap();
    env.set("TERMINAL_CWD", "~/here");
    assert_eq!(run(&env, &["slash", "/rollback"]), list);
}

#[test]
fn names_and_reasons_cannot_break_out_of_a_chat() {
    let env = test_env();
    let project = env.work_dir("project").files([("start.txt", "x\n")]);
    let reason = "``` @everyone <!channel> </pre><b>\nsecond line";
    project.run(["save", "-m", reason]).success();
    let name = "``` @here <!here> </code> \u{202e}&\n.txt";
    project.write(name, "``` @everyone\n</pre> <@U1>\n");
    let quoted = format!("/rollback 1 '{name}'");
    for platform in ["telegram", "discord", "slack"] {
        for text in ["/rollback", "/rollback diff 1", &quoted, "/rollback undo"] {
            let output = ask_on(&project, platform, text);
            let shown = output.text();
            assert!(!shown.contains('\u{202e}'), "{output}");
            if platform == "telegram" {
                let tags = ["<pre>", "</pre>", "<code>", "</code>"];
                let rest = tags.iter().fold(shown.to_owned(), |text, tag| text.replace(tag, ""));
                assert!(!rest.contains(['<', '>']), "{output}");
                let opened = shown.matches("<pre>").count() + shown.matches("<code>").count();
                let closed = shown.matches("</pre>").count() + shown.matches("</code>").count();
                assert_eq!(opened, closed, "{output}");
            } else {
                assert!(!shown.contains("@everyone") && !shown.contains("@here"), "{output}");
                let fences = shown.lines().filter(|line| *line == "```").count();
                assert_eq!(shown.matches("```").count(), fences, "{output}");
                assert_eq!(fences % 2, 0, "{output}");
            }
            if platform == "slack" {
                assert!(!shown.contains(['<', '>']), "{output}");
            }
        }
    }
}

#[test]
fn long_answers_fit_the_platform() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "x\n")]);
    project.run(["save"]).success();
    for number in 0..60 {
        let text = format!("{}\n", "😀 & <tag> ".repeat(30)).repeat(5);
        project.write(format!("a rather long name of a file {number}.txt"), &text);
    }
    for (platform, limit) in [("telegram", 4096), ("discord", 2000), ("slack", 3000)] {
        let output = ask_on(&project, platform, "/rollback diff 1").success();
        let text = output.text().trim_end_matches('\n');
        let length = text.encode_utf16().count();
        assert!(length <= limit && length > limit / 2, "{platform}: {length}");
        assert!(text.contains(" more lines, showing first "), "{text}");
        assert!(text.contains("60 files changed, "), "{text}");
    }
}

#[test]
fn programs_get_the_message_and_what_was_done() {
    let env = test_env();
    let project = saved_twice(&env);
    let arguments = ["slash", "/rollback 2 a.txt", "--json", "--platform", "slack"];
    let json = json(&project.run(arguments).success());
    assert_eq!(json["schema"], "herma.slash/2");
    assert_eq!(json["action"], "restore");
    assert_eq!(json["ok"], true);
    assert_eq!(json["markup"], "mrkdwn");
    assert_eq!(json["written"], 1);
    assert_eq!(json["checkpoint"]["reason"], "one");
    assert_eq!(json["safety"]["origin"], "safety");
    let text = json["text"].as_str().unwrap();
    assert!(text.starts_with("✅ Restored `a.txt` from checkpoint "), "{text}");
}

#[test]
fn a_restore_without_checkpoints_did_not_happen() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let asked = |text: &str| json(&project.run(["--json", "slash", text]).success())["ok"].clone();
    assert_eq!(asked("/rollback 1"), false);
    assert_eq!(asked("/rollback"), true, "an empty list is a list");
}

#[test]
fn an_empty_file_name_is_not_the_whole_project() {
    let env = test_env();
    let project = saved_twice(&env);
    for text in ["/rollback 2 ''", "/rollback 2 a.txt \"\"", "/rollback ''"] {
        let asked = json(&project.run(["--json", "slash", text]).success());
        assert_eq!((&asked["action"], &asked["ok"]), (&"usage".into(), &false.into()));
    }
    project.run(["restore", "2", ""]).code(2);
    assert_eq!(project.read("a.txt"), "two\n");
    assert_eq!(project.read("new.txt"), "new\n");
}

#[test]
fn a_directory_that_is_not_there_is_said_where_people_look() {
    let env = test_env();
    let project = saved_twice(&env);
    let told = project.run(["slash", "/rollback", "--cwd", "none"]).code(1);
    assert!(told.text().trim_start().starts_with("❌ there is no directory "), "{told}");
    let told = project.run(["--json", "slash", "/rollback 1", "--cwd", "none"]);
    let told = json(&told.code(1));
    assert_eq!(told["schema"], "herma.slash/2");
    assert_eq!((&told["ok"], &told["action"]), (&false.into(), &"restore".into()));
    assert!(told["text"].as_str().unwrap().trim_start().starts_with('❌'));
}

#[test]
fn a_relative_directory_is_relative_to_the_one_named_before() {
    let env = test_env();
    let project = saved_twice(&env);
    let elsewhere = env.work_dir("elsewhere");
    let above = project.path().parent().unwrap().to_str().unwrap();
    let listed = elsewhere.run(["-C", above, "slash", "/rollback", "--cwd", "project"]);
    assert!(listed.success().text().contains("work/project:"));
}
