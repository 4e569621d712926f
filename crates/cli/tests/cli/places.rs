//! Which project a directory belongs to, and where somebody is sent who looks in the wrong one.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use super::test_env;

#[test]
fn a_package_of_a_saved_monorepo_is_part_of_it() {
    let env = test_env();
    let mono = env.work_dir("mono").files([("package.json", "{}"), ("api/package.json", "{}")]);
    mono.run(["save", "-m", "all of it"]).success();
    let api = env.work_dir("mono/api");
    assert!(api.run(["list"]).success().text().contains("all of it"));
    api.write("a.ts", "one");
    api.run(["save", "-m", "from the package"]).success();
    assert!(mono.run(["list"]).success().text().contains("from the package"));
}

/// What is printed in a directory can be typed there; programs get paths from the root, as patches have them.
#[test]
fn paths_are_named_as_they_are_typed_in_the_present_directory() {
    let env = test_env();
    let files = [("package.json", "{}"), ("api/package.json", "{}"), ("api/x.py", "1\n")];
    let mono =
        env.work_dir("mono").files(files).files([("web/y.py", "1\n"), (".gitignore", "*.o")]);
    mono.run(["save"]).success();
    mono.write(
        "work",
        "echo 2 > api/x.py; rm web/y.py; echo o > api/a.o; echo '{ }' > package.json",
    );
    mono.run(["save"]).success();
    let ran = mono.run(["run", "--", "sh", "work"]).success();
    assert!(ran.error_text().contains("  api/x.py\n"), "{ran}");
    let api = env.work_dir("mono/api");
    let says = |args: &[&str], expected: &[&str]| {
        let output = api.run(args.iter().copied());
        let all = format!("{}{}", output.text(), output.error_text());
        let mut lines = all.lines();
        for wanted in expected {
            assert!(lines.any(|line| line.contains(wanted)), "{args:?}: {wanted}: {output}");
        }
        assert!(!all.contains(" api/x.py"), "{args:?}: {output}");
        output
    };
    let named = says(&["diff", "1", "--name-only"], &["x.py", "../package.json", "../web/y.py"]);
    says(&["diff", "1", "--stat"], &["x.py  ", "../web/y.py"]);
    says(&["history", "../web"], &["`herma restore 3^ ../web` brings back"]);
    says(&["undo", "3", "../web/y.py"], &["create ../web/y.py", "in ../web/y.py"]);
    says(&["restore", "3"], &["../web/y.py"]);
    says(&["restore", "1", "a.o"], &["a.o cannot be brought back"]);
    says(&["restore", "1", "nope"], &["Error: nope is neither"]);
    // A patch can be applied, and says so where its paths are typed.
    assert!(api.run(["diff", "1", "x.py"]).text().contains("--- a/api/x.py"));
    for path in named.text().lines() {
        api.run(["restore", "1", path]).success();
    }
    assert_eq!(mono.read("web/y.py") + &mono.read("package.json"), "1\n{}");
    says(&["restore", "1", "web/y.py"], &["here `web/y.py` is `../web/y.py`"]);
    api.write("x.py", "by hand\n");
    says(&["list"], &["now", "restored ../web/y.py to 1", "restored x.py to 1"]);
    assert!(api.run(["list", "--json"]).success().text().contains("api/x.py"));
    says(&["save"], &["Saved"]);
    says(&["steps"], &["restored ../web/y.py to 1"]);
    let json = super::json(&api.run(["restore", "1", "x.py", "--json"]).success());
    assert_eq!(json["actions"][0]["path"], "api/x.py");
    let outside = env.work_dir("elsewhere");
    outside.write("z", "");
    let root = mono.path().to_str().unwrap();
    let seen = outside.run(["--root", root, "diff", "3", "--name-only"]).success();
    assert!(seen.text().contains("../mono/api/x.py\n"), "{seen}");
}

#[test]
fn whoever_looks_around_or_below_a_project_is_told_where_it_is() {
    let env = test_env();
    let around = env.work_dir("shelf").files([("Makefile", ""), ("repo/.git/HEAD", "")]);
    around.run(["save"]).success();
    let repo = env.work_dir("shelf/repo");
    insta::assert_snapshot!(repo.run(["show", "1"]).code(10), @r"
    ------- stderr -------
    Error: no checkpoints for $ROOT/work/shelf/repo
    Hint: `herma -C .. list` shows the checkpoint of $ROOT/work/shelf, the project around this one.
    [exit status: 10]
    ");
    let above = env.work_dir("");
    insta::assert_snapshot!(above.run(["list"]).success(), @r"
    ------- stderr -------
    This project has no checkpoints.
    Hint: `herma -C shelf list` shows the checkpoint of $ROOT/work/shelf.
    ");
    let doctor = above.run(["doctor"]).success();
    assert!(doctor.text().contains("`herma -C shelf list`"), "{doctor}");
    let user = env.user_home();
    let mut command = env.command(&user);
    command.arg("list");
    insta::assert_snapshot!(env.finish(&mut command).code(1), @r"
    ------- stderr -------
    Error: $HOME is your home directory, not a project
    Nothing was saved or changed.
    Hint: Go into a project, or name one with `--root DIR`.
    [exit status: 1]
    ");
    // With `-C` a path that is relative to the present directory would lead elsewhere.
    let elsewhere = above.run(["-C", "shelf/repo", "undo"]).code(10);
    assert!(elsewhere.error_text().contains("`herma -C /"), "{elsewhere}");
}

#[test]
fn whoever_looks_in_a_project_that_was_moved_is_told_how_to_reconnect_it() {
    let env = test_env();
    let before = env.work_dir("before").files([("a.txt", "one"), ("Makefile", "")]);
    before.run(["save"]).success();
    let after = before.path().with_file_name("after");
    std::fs::rename(before.path(), &after).unwrap();
    let moved = env.work_dir("after");
    insta::assert_snapshot!(moved.run(["diff"]).code(10), @r"
    ------- stderr -------
    Error: no checkpoints for $ROOT/work/after
    Hint: `herma doctor --adopt` reconnects the checkpoint of $ROOT/work/before, which was probably moved here.
    [exit status: 10]
    ");
    moved.run(["doctor", "--adopt"]).success();
    moved.run(["diff"]).success();
}
