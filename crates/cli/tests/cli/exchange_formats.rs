//! `herma export --format` and `herma report`: what other programs read, with git as the judge.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test does what a person does to files"
)]

use std::fs;

use herma_testkit::{Bounded, TestEnv, WorkDir, git};

use super::exchange::{asks, edits};
use super::{json, shell, test_env};

/// Runs git in the project as its user would.
#[track_caller]
fn run_git(env: &TestEnv, project: &WorkDir<'_>, line: &str) -> String {
    let mut command = shell(env, project);
    command.env("GIT_CONFIG_NOSYSTEM", "1").args(["-c", line]);
    let output = command.bounded_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{line}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A repository with a commit, and an identity.
fn repository(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("kept.log", "tracked\n")]);
    project.write(".gitignore", "*.tmp\n");
    project.write(".gitattributes", "*.txt text eol=lf\n");
    project.write(".hermaignore", "kept.log\n");
    let user = "git config user.name Me && git config user.email me@here";
    run_git(
        env,
        &project,
        &format!("git init -q -b main . && {user} && git add -A && git commit -qm first"),
    );
    project.run(["save", "-m", "before"]).code(0);
    project
}

fn number_of(project: &WorkDir<'_>, reason: &str) -> String {
    let saved = json(&project.run(["save", "-m", reason, "--json"]).success());
    saved["checkpoint"]["number"].to_string()
}

#[test]
fn a_commit_is_made_beside_everything_that_is_there() {
    if !git::available() {
        return;
    }
    let env = test_env();
    let project = repository(&env);
    project.write("a.txt", "one\ntwo\n");
    project.write("new/b.txt", "with\r\nends\r\n");
    project.write("scratch.tmp", "ignored by git\n");
    project.remove(".hermaignore");
    project.write(".hermaignore", "kept.log\n");
    let number = number_of(&project, "the work");
    // Dirty in every way: staged, changed, and hooks that would tell.
    project.write("a.txt", "staged\n");
    run_git(&env, &project, "git add a.txt");
    project.write("a.txt", "not staged\n");
    project.write("kept.log", "changed since\n");
    for hook in [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "reference-transaction",
        "post-index-change",
        "prepare-commit-msg",
    ] {
        let path = project.join(format!(".git/hooks/{hook}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\ntouch \"$HOME/hook-ran\"\nexit 1\n").unwrap();
        project.chmod(format!(".git/hooks/{hook}"), 0o755);
    }
    run_git(&env, &project, "git config commit.gpgSign true && git config gpg.program /bin/false");
    let index = fs::read(project.join(".git/index")).unwrap();
    let (head, before) = (fs::read(project.join(".git/HEAD")).unwrap(), project.tree());
    let made = json(&project.run(["export", &number, "--format=commit", "--json"]).success());
    assert_eq!(made["branch"], format!("herma/{number}"));
    assert_eq!(made["kept"], 1, "kept.log");
    assert!(!env.user_home().join("hook-ran").exists(), "no hook ran");
    assert_eq!(fs::read(project.join(".git/index")).unwrap(), index, "the index is as it was");
    assert_eq!(fs::read(project.join(".git/HEAD")).unwrap(), head);
    let files = |mut tree: herma_testkit::Tree| {
        tree.0.retain(|path, _| !path.starts_with(b".git/"));
        tree
    };
    herma_testkit::tree::assert_same(
        &files(before),
        &files(project.tree()),
        "the files are as they were",
    );
    let branch = format!("herma/{number}");
    assert_eq!(run_git(&env, &project, &format!("git show {branch}:a.txt")), "one\ntwo\n");
    assert_eq!(
        run_git(&env, &project, &format!("git show {branch}:new/b.txt")),
        "with\nends\n",
        "filters apply"
    );
    assert_eq!(
        run_git(&env, &project, &format!("git show {branch}:kept.log")),
        "tracked\n",
        "as in HEAD"
    );
    assert!(
        !run_git(&env, &project, &format!("git ls-tree -r --name-only {branch}"))
            .contains("scratch.tmp")
    );
    let said = run_git(&env, &project, &format!("git log -1 --format='%an %P %B' {branch}"));
    let onto = run_git(&env, &project, "git rev-parse main");
    assert!(
        said.starts_with(&format!("Me {}", onto.trim())) && said.contains("the work"),
        "{said}"
    );
    run_git(&env, &project, "git fsck --strict");
    // The same again is another branch or none.
    let said = project.run(["export", &number, "--format=commit"]).code(2).to_string();
    assert!(said.contains("already") && said.contains("--branch"), "{said}");
    // Signing is what somebody asked for, and fails here.
    let said =
        project.run(["export", &number, "--format=commit", "--sign", "--branch", "signed"]).code(1);
    assert!(said.to_string().contains("as they were"), "{said}");
    assert!(!run_git(&env, &project, "git branch --list").contains("signed"));
    let left = fs::read_dir(env.home().join("herma/scratch")).unwrap().count();
    assert_eq!(left, 0, "nothing is left behind");
}

#[test]
fn a_commit_needs_neither_a_branch_nor_a_commit_before_it_but_a_repository() {
    if !git::available() {
        return;
    }
    let env = test_env();
    let project = repository(&env);
    run_git(&env, &project, "git checkout -q --detach");
    project.write("a.txt", "detached\n");
    let number = number_of(&project, "detached");
    project.run(["export", &number, "--format=commit", "--branch", "work"]).success();
    assert_eq!(run_git(&env, &project, "git show work:a.txt"), "detached\n");
    assert_eq!(
        run_git(&env, &project, "git rev-parse work^"),
        run_git(&env, &project, "git rev-parse HEAD")
    );
    for (args, words) in [
        (vec!["--branch", "../x"], "cannot be the name of a branch"),
        (vec!["--branch", "ok", "--onto", "no-such"], "there is no commit `no-such`"),
        (vec!["--branch", "ok", "--onto=--output=x"], "there is no commit"),
    ] {
        let line: Vec<&str> =
            ["export", &number, "--format=commit"].into_iter().chain(args).collect();
        let said = project.run(&line).code(2).to_string();
        assert!(said.contains(words), "{line:?}: {said}");
    }
    let unborn = env.work_dir("unborn").files([("a.txt", "one\n")]);
    run_git(
        &env,
        &unborn,
        "git init -q . && git config user.name Me && git config user.email me@here",
    );
    unborn.run(["save"]).success();
    unborn.run(["export", "1", "--format=commit", "--branch", "first"]).success();
    assert_eq!(run_git(&env, &unborn, "git show first:a.txt"), "one\n");
    let plain = env.work_dir("plain").files([("a.txt", "one\n")]);
    plain.run(["save"]).success();
    let said = plain.run(["export", "1", "--format=commit"]).code(1).to_string();
    assert!(said.contains("--format=patch"), "{said}");
}

#[test]
fn a_series_is_what_git_am_takes() {
    if !git::available() {
        return;
    }
    let env = test_env();
    let project = repository(&env);
    let hostile = "fix it\n---\ndiff --git a/x b/x\nFrom: Mallory <m@x>\n-- >8 --\n\u{1b}[31m";
    asks(&project, hostile);
    for (name, content) in [("a.txt", "two\n"), ("b.txt", "b\n")] {
        edits(&project, name, content);
    }
    project.write_bytes("image.bin", b"\0\x01\xff\xfe\n\0");
    project.remove("b.txt");
    let last = number_of(&project, "by hand");
    let file = env.root().join("series.mbox");
    let file = file.to_str().unwrap();
    let range = format!("2-{last}");
    project.run(["export", &range, "--format=patch", file]).success();
    let series = fs::read_to_string(file);
    let series =
        series.unwrap_or_else(|_| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    assert_eq!(series.matches("Subject: [PATCH ").count(), 2, "{series}");
    assert!(!series.contains('\u{1b}'), "{series}");
    run_git(
        &env,
        &project,
        &format!(
            "git clone -q . ../clone && cd ../clone && git config user.name Me && git config user.email me@here && git am -q --keep-cr {file}"
        ),
    );
    let shown = json(&project.run(["show", &last, "--json"]).success());
    let tree = shown["checkpoint"]["tree"].as_str().unwrap();
    // The checkpoint leaves `kept.log` out, which the repository has.
    run_git(&env, &project, "cd ../clone && git rm -q --cached kept.log");
    assert_eq!(run_git(&env, &project, "cd ../clone && git write-tree").trim(), tree);
    let authors = run_git(&env, &project, "cd ../clone && git log -2 --format='%an|%s'");
    assert_eq!(authors, "Herma|by hand\nclaude|fix it\n");
    let said =
        project.run(["export", "2", &last, "--format=patch", "gap.mbox"]).code(2).to_string();
    assert!(said.contains("no gaps"), "{said}");
    assert!(!project.exists("gap.mbox"));
}

#[test]
fn an_archive_is_the_same_every_time_and_what_tar_unpacks() {
    let env = test_env();
    let long = format!("deep/{}/{}.txt", "d".repeat(90), "f".repeat(120));
    let project = env.work_dir("project").files([("a.txt", "one\n"), (&long, "long\n")]);
    project.write("run.sh", "#!/bin/sh\n");
    project.chmod("run.sh", 0o755);
    project.chmod("a.txt", 0o640);
    project.mkdir("empty");
    project.symlink("a.txt", "link");
    project.write_bytes("large.bin", &vec![7; 8 << 20]);
    project.run(["save"]).success();
    let [one, two] = ["one.tar", "two.tar"].map(|name| env.root().join(name));
    project.run(["export", "1", "--format=tar", one.to_str().unwrap()]).success();
    project.run(["export", "1", "--format=tar", two.to_str().unwrap()]).success();
    assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
    let unpacked = env.work_dir("unpacked");
    run_git(&env, &unpacked, &format!("tar -xpf {}", one.display()));
    herma_testkit::tree::assert_same(&project.tree(), &unpacked.tree(), "unpacked");
    let said = project.run(["export", "--all", "--format=tar", one.to_str().unwrap()]).code(2);
    assert!(said.to_string().contains("is there already"), "{said}");
}

#[test]
fn a_report_names_prompts_and_what_was_undone_and_nothing_in_it_is_active() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "first"]).success();
    let prompts =
        ["add `b` for @octocat <img src=x onerror=alert(1)> [click](http://x) #1", "and c"];
    for (prompt, name) in prompts.iter().zip(["b`c.txt", "c.txt"]) {
        asks(&project, prompt);
        edits(&project, name, "x\n");
    }
    project.run(["undo", "--yes"]).success();
    let report = project.run(["report", "--session", "s"]).success().to_string();
    assert!(
        report.contains(
            "### ``add `b` for @octocat <img src=x onerror=alert(1)> [click](http://x) #1``\n"
        ),
        "{report}"
    );
    assert!(report.contains("### `and c` (**undone**)"), "{report}");
    assert!(report.contains("`claude`: 2 changes"), "{report}");
    let one = project.run(["report", "--prompt", "2"]).success().to_string();
    assert!(one.contains("octocat") && !one.contains("and c"), "{one}");
    project.run(["report", "--prompt", "99"]).code(10);
    let all = json(&project.run(["report", "--json"]).success());
    assert_eq!(all["schema"], "herma.report/1");
}
