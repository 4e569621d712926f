//! `herma save`, `list`, `show`, and the marks.

use super::{json, test_env};

#[test]
fn a_save_is_listed_with_its_reason_and_can_be_named() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let saved = project.run(["save", "-m", "first", "--agent", "tester"]).success();
    assert!(saved.stdout.is_empty(), "words belong on stderr");
    assert!(saved.error_text().starts_with("Saved checkpoint 1 ("), "{saved}");

    let list = json(&project.run(["list", "--json"]).success());
    assert_eq!(list["schema"], "herma.list/2");
    let checkpoint = &list["checkpoints"][0];
    assert_eq!(checkpoint["number"], 1);
    assert_eq!(checkpoint["reason"], "first");
    assert_eq!(checkpoint["facts"]["agent"], "tester");

    project.run(["name", "@", "before-refactor"]).success();
    project.run(["pin", "before-refactor"]).success();
    let list = project.run(["list"]).success();
    assert!(list.text().contains("[before-refactor] [pinned]"), "{list}");
    project.run(["unname", "before-refactor"]).success();
    project.run(["show", "before-refactor"]).code(10);
}

#[test]
fn saving_twice_without_a_change_makes_one_checkpoint() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let again = project.run(["save"]).success();
    assert!(again.error_text().starts_with("Nothing changed since checkpoint 1 ("), "{again}");
    assert_eq!(json(&project.run(["save", "--json"]).success())["is_new"], false);
}

#[test]
fn the_first_save_of_a_project_tells_a_person_what_to_type_when_something_breaks() {
    let env = test_env();
    let advice = "`herma undo` undoes the last change";
    let save = |project: &str, options: &[&str]| {
        let project = env.work_dir(project);
        project.write("a.txt", &format!("{options:?} {:?}", std::time::Instant::now()));
        project.in_terminal([&["save"], options].concat()).finish().success()
    };
    let first = save("first", &[]);
    assert_eq!(first.text().lines().count(), 2, "{first}");
    assert!(first.text().lines().all(|line| line.len() <= 80), "{first}");
    assert!(first.text().contains(advice), "{first}");
    assert!(!save("first", &[]).text().contains(advice));
    env.work_dir("first").run(["drop", "1-2", "--yes"]).success();
    assert!(!save("first", &[]).text().contains(advice), "once is enough");
    // Programs and those who want it quiet are told nothing.
    assert!(!save("quiet", &["--quiet"]).text().contains(advice));
    assert!(!save("json", &["--json"]).text().contains(advice));
    let script = env.work_dir("script").files([("a.txt", "one\n")]).run(["save"]).success();
    assert!(!script.error_text().contains(advice), "{script}");
}

#[test]
fn what_a_save_leaves_out_is_named_and_the_exit_code_says_so() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.write("big.dat", &"x".repeat(11 << 20));
    let saved = project.run(["save"]).code(3);
    assert!(saved.error_text().contains("  big.dat (too-large)\n"), "{saved}");
    let records = project.run(["show", "@", "-z"]).success();
    assert!(records.text().contains("too-large\tbig.dat\0"), "{records}");
}

#[test]
fn reasons_cannot_act_on_the_terminal_but_reach_programs_exactly() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "\u{1b}[2Jgone"]).success();
    let list = project.run(["list"]).success();
    assert!(list.text().contains("\\u{1b}[2Jgone"), "{list}");
    let records = project.run(["list", "-z"]).success();
    assert!(records.text().ends_with("\t\u{1b}[2Jgone\0"), "{records}");
}

#[test]
fn a_project_without_checkpoints_says_what_to_type() {
    let env = test_env();
    let project = env.work_dir("project");
    let status = project.run([""; 0]).success();
    assert!(status.error_text().contains("makes the first checkpoint"), "{status}");
    let restore = project.run(["restore", "@"]).code(10);
    assert!(restore.error_text().contains("Hint: "), "{restore}");
}

#[test]
fn dropping_without_a_terminal_needs_yes() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let refused = project.run(["drop", "@"]).code(2);
    assert!(refused.error_text().contains("Nothing was removed"), "{refused}");
    project.run(["drop", "@", "--yes"]).success();
    project.run(["show", "@"]).code(10);
}

#[test]
#[allow(clippy::disallowed_methods)]
fn one_damaged_checkpoint_is_named_and_the_others_stay_usable() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    project.run(["save", "-m", "second"]).success();
    let refs = env.store().join("refs/herma");
    let of_project = std::fs::read_dir(refs).unwrap().next().unwrap().unwrap();
    let newest = of_project.path().join("00000002");
    std::fs::write(newest, "0123456789012345678901234567890123456789\n").unwrap();
    project.run(["list"]).success();
    project.run(["checkpoints", "verify"]).code(12);
    // The roll knew better.
    let own = env.store().join("herma/projects").join(of_project.file_name());
    std::fs::remove_file(own.join("roll")).unwrap();

    let listed = project.run(["list"]).code(12);
    assert!(listed.text().contains("first"), "{listed}");
    assert!(listed.error_text().contains("00000002 is damaged"), "{listed}");
    let doctor = project.run(["doctor"]).code(1);
    assert!(doctor.text().contains("00000002 is damaged"), "{doctor}");
    project.run(["restore", "@-1"]).code(12);
    project.run(["restore", "@-2"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn what_looks_like_a_secret_is_left_out_and_named_but_never_shown() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("old.txt", "clean\n")]);
    project.run(["save"]).success();
    let secret = herma_testkit::secrets::planted(1).remove(0).1;
    project.write("old.txt", &format!("clean\n{secret}\n"));
    project.write("new.txt", &format!("\n\n{secret}\n"));
    let saved = project.run(["save"]);
    insta::assert_snapshot!(saved, @"
    ------- stderr -------
    Saved checkpoint 2 ([ID]): 1 file, +1/-0 changed.
    Warning: 1 file was not saved as on disk:
      new.txt (a GitHub token in line 3)
      To save it anyway, add a line `!path` to `.hermaignore`.
    Warning: 1 saved file looks like it holds a secret:
      old.txt (a GitHub token in line 2)
      `herma purge PATH` removes one from all checkpoints; a line `!path` in `.hermaignore` ends this warning.
    [exit status: 3]
    ");
    let shown = project.run(["show", "@"]).success();
    let json_text = project.run(["show", "@", "--json"]).success();
    for output in [&saved, &shown, &json_text] {
        assert!(!output.to_string().contains(&secret[12..]), "{output}");
    }
    let text = shown.text();
    assert!(text.contains("    new.txt (a GitHub token in line 3)\n"), "{text}");
    assert!(text.contains("    old.txt (a GitHub token in line 2)\n"), "{text}");
    assert!(text.contains("old.txt changed; it looks like a secret and is not shown."), "{text}");
    let left_out = &json(&json_text)["left_out"];
    assert_eq!(left_out[0]["reason"], "secret-content");
    assert_eq!(left_out[0]["secret"]["kind"], "github-token");
    assert_eq!(left_out[0]["secret"]["line"], 3);
    assert_eq!(left_out[1]["reason"], "saved-secret");

    // Nor when it goes again.
    project.write("old.txt", "clean\n");
    project.run(["save"]).code(3);
    let shown = project.run(["show"]).success();
    assert!(!shown.to_string().contains(&secret[12..]), "{shown}");
    project.write("old.txt", &format!("clean\n{secret}\n"));

    project.write(".hermaignore", "!new.txt\n!old.txt\n");
    project.run(["save"]).success();
    project.run(["config", "set", "secrets", "names"]).success();
    project.write("other.txt", &secret);
    project.run(["save"]).success();
}

#[test]
fn a_save_of_nothing_names_the_rule_that_leaves_everything_out() {
    let env = test_env();
    let project = env.work_dir("project").files([(".gitignore", "/*\n"), ("a.c", "int a;\n")]);
    insta::assert_snapshot!(project.run(["save"]).success(), @r"
    ------- stderr -------
    Saved checkpoint 1 ([ID]): 0 files.
    Warning: every file here is left out, by `/*` in `.gitignore`: a line `!/*` in `.hermaignore` saves what it leaves out.
    ");
    project.write(".hermaignore", "!/*\n");
    let saved = project.run(["save"]).success();
    assert!(saved.error_text().contains("3 files"), "{saved}");
    assert!(!saved.error_text().contains("left out"), "{saved}");

    let said = |rule: &str, files: &[(&str, &str)]| {
        let project = env.work_dir(rule);
        for (name, text) in files {
            project.write(name, text);
        }
        project.run(["save"]).success().error_text().to_owned()
    };
    let built_in = said("built-in", &[("node_modules/a.js", "1\n")]);
    assert!(built_in.contains("by `node_modules` in Herma's built-in list: "), "{built_in}");
    let own = said("own", &[(".hermaignore", "# mine\n*\n"), ("a", "1\n")]);
    assert!(own.contains("by `*` in `.hermaignore`: change that line."), "{own}");
    let excluded = said("info", &[(".git/HEAD", ""), (".git/info/exclude", "/a\n"), ("a", "1\n")]);
    assert!(excluded.contains("by `/a` in `.git/info/exclude`: "), "{excluded}");
    // Where nothing is, no rule is to blame.
    assert!(!said("empty", &[]).contains("left out"));

    project.run(["config", "set", "exclude", "*"]).success();
    let set = said("setting", &[("a", "1\n")]);
    assert!(
        set.contains("by `*` in `checkpoints.exclude`: `herma config edit` opens it."),
        "{set}"
    );
}

#[test]
fn what_somebody_pinned_or_named_is_not_dropped_by_the_way() {
    let env = test_env();
    let project = env.work_dir("project");
    for text in ["1", "2", "3", "4"] {
        project.write("a.txt", text);
        project.run(["save", "-m", text]).success();
    }
    project.run(["pin", "1"]).success();
    project.run(["name", "2", "good"]).success();
    let refused = project.run(["drop", "--yes", "1-3"]).code(2);
    let said = refused.error_text();
    assert!(said.contains("2 (`good`) and 1 (pinned) are pinned or named"), "{said}");
    assert!(said.contains("`herma drop --yes --pinned 1-3`"), "{said}");
    let mut asked = project.in_terminal(["drop", "--yes", "2"]);
    asked.wait_for("2 (`good`) is pinned or named, to be kept. Remove that, too? [y/N]");
    asked.answer("n");
    asked.finish().code(130);
    project.run(["drop", "--yes", "3"]).success();
    project.run(["drop", "--yes", "--pinned", "1-2"]).success();
    let list = project.run(["list"]).success();
    let said = list.error_text();
    assert!(said.contains("Oldest: checkpoint 4, "), "{list}");
    assert!(said.contains("; 3 checkpoints were dropped or cleaned up."), "{list}");
    project.run(["drop", "--yes", "4"]).success();
    let list = project.run(["list"]).success();
    let nothing = "Nothing is left; 4 checkpoints were dropped or cleaned up.";
    assert!(list.error_text().contains(nothing), "{list}");
}

#[test]
fn what_is_not_saved_is_part_of_the_time_up_to_now() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "1")]);
    project.run(["save"]).success();
    let shows_now = |args: &[&str]| {
        let list = [&["list", "--since", "1h"][..], args].concat();
        project.run(list).success().text().starts_with("now")
    };
    assert!(!shows_now(&[]), "nothing is new");
    project.write("a.txt", "2");
    assert!(shows_now(&[]));
    assert!(!shows_now(&["--agent", "claude"]) && !shows_now(&["--until", "1m"]));
}

#[test]
fn a_message_that_nothing_was_saved_for_is_not_lost_without_a_word() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "1")]);
    project.run(["save", "-m", "first"]).success();
    let again = project.run(["save", "-m", "works now"]).success();
    let said = "The message was not stored: `herma name 1 NAME` names that checkpoint.";
    assert!(again.error_text().contains(said), "{again}");
    assert!(!project.run(["save"]).success().error_text().contains("message"));
}
