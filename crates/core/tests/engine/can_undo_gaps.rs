//! Commands that look as if they could be undone, and cannot: each lost something when it was run.

use std::os::unix::fs::symlink;

use herma_core::can_undo::Answer;

use super::can_undo::{ask, run, scene, uncovered};
use super::project::TestProject;

/// A project with links to everywhere, and a directory that is ignored.
fn links() -> TestProject {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("src/main.rs", "fn main() {}\n");
    p.write("src/i", "saved\n");
    p.write("tree/file", "saved\n");
    p.write("ig/i", "ignored\n");
    p.write(".gitignore", "/ig/\n");
    p.write("../out/dir/file", "outside\n");
    std::fs::create_dir(p.path("d2")).unwrap();
    symlink("../out/dir", p.path("ld")).unwrap();
    symlink("ig", p.path("lig")).unwrap();
    symlink("src", p.path("ls")).unwrap();
    symlink("../../out", p.path("tree/link")).unwrap();
    p
}

#[test]
fn a_link_made_or_moved_by_an_earlier_part_may_lead_anywhere() {
    let p = links();
    for command in [
        "ln -s ../out n; rm -rf n/",
        "ln -s ../out n && cd n && rm file",
        "ln -s ../out n; rm n/*",
        "ln -s ../out n & rm -rf n/",
        "rm -rf n/ & ln -s ../out n",
        "ln -s ../out n | rm -rf n/",
        "while true; do ln -s ../out n; done",
        "sh -c 'ln -s ../out n'; rm -rf n/",
        "for i in 1 2; do sh -c 'rm -rf n/; ln -s ../out n'; done",
        "cp -R ld n; rm -rf n/",
        "ln ld n; rm -rf n/",
        "cp -R tree t2; rm -rf t2/link/dir",
        "mv tree t2; rm -rf t2/link/dir",
        "cp -R tree/. src/. new; echo x > new/link/dir/file",
        "mv ld d3; rm -r d3/",
        "rmdir d2; ln -s ../out d2; find d2/ -delete",
        "rm -rf d2; ln -s ig d2; rm -rf d2/",
        "ln -sfn ig ls; rm -f ls/i",
        "mv ls x; mv lig ls; rm ls/i",
        "rm -rf d2; ln -s ig d2; touch d2/x",
        "ln -s ig n; echo x > n/i",
        "rm ls; mkdir ls; touch ls/x",
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Partial, "{command}: {answer:?}");
        let found = uncovered(&answer);
        assert!(found.contains(&"ig: left-out".to_owned()), "{found:?}");
    }
}

#[test]
fn a_link_that_is_made_last_leads_nobody() {
    for command in [
        "ln -s ../out n",
        "mkdir -p bin && ln -s ../src/main.rs bin/tool",
        "rm ls 2>/dev/null; ln -s ig n",
        "echo x | tee a.txt >/dev/null; mv ld n",
        "ln -s ../out n; cat n/dir/file",
        "rm ls; rm a.txt",
    ] {
        let p = links();
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Exact, "{command}: {answer:?}");
        p.save("before");
        let before = p.tree();
        run(&p, command);
        p.save("after");
        p.restore("@-1");
        herma_testkit::tree::assert_same(&before, &p.tree(), command);
    }
}

#[test]
fn a_directory_made_where_a_link_was_is_judged_as_a_directory() {
    let p = links();
    p.write(".gitignore", "/ig/\n/ls/\n");
    let answer = ask(&p, "rm ls; mkdir ls");
    assert_eq!(uncovered(&answer), ["ls: left-out"]);
}

#[test]
fn a_file_that_becomes_too_large_is_named() {
    let p = scene();
    for command in [
        "truncate -s 20M a.txt",
        "truncate -s +1 a.txt",
        "truncate --size=%4096 a.txt",
        "truncate -r big.bin a.txt",
        "dd if=/dev/zero of=a.txt bs=1M count=12",
        "dd if=/dev/zero of=a.txt bs=12000000 count=1",
        "dd if=/dev/zero of=a.txt",
        "dd if=b.txt of=a.txt bs=1M seek=12",
        "dd if=b.txt of=a.txt oflag=append conv=notrunc",
        "cat b.txt | dd of=a.txt",
        "fallocate -l 20M a.txt",
        "fallocate -o 20M -l 1 a.txt",
        "head -c 12000000 /dev/zero > a.txt",
        "head -c 12000000 < /dev/zero > a.txt",
        "cat /dev/urandom | head -c 12M > a.txt",
        "yes > a.txt",
        "yes | head -c 12M > a.txt",
        "timeout 1 yes >> a.txt",
        "{ yes; } | tee a.txt",
        "sh -c 'yes | head -c 12M' > a.txt",
        "(head -c 12M) < /dev/zero > a.txt",
        "cp /dev/zero a.txt",
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Partial, "{command}: {answer:?}");
        assert_eq!(uncovered(&answer), ["a.txt: left-out"], "{command}");
    }
    for command in [
        "truncate -s 1M a.txt",
        "truncate -s -1 a.txt",
        "truncate -r b.txt a.txt",
        "dd if=/dev/zero of=a.txt bs=1M count=2 2>err.txt",
        "dd if=b.txt of=a.txt conv=notrunc",
        "fallocate -l 1M a.txt",
        "yes | rm -i a.txt",
        "echo yes > a.txt",
        "cp /dev/null a.txt",
        "head -c 12000000 /dev/zero > /dev/null; echo x > a.txt",
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Exact, "{command}: {answer:?}");
    }
}

#[test]
fn git_is_trusted_only_with_harmless_settings() {
    let reads =
        ["git diff", "git status", "git log", "git -C src show", "git grep x", "git branch -a"];
    let all = |p: &TestProject, expected: Answer, why: &str| {
        for command in reads {
            let answer = ask(p, command);
            assert_eq!(answer.answer, expected, "{why}: {command}: {answer:?}");
        }
    };
    let p = scene();
    p.git_in(".", &["config", "user.name", "x"]);
    p.git_in(".", &["remote", "add", "origin", "https://example.org/x"]);
    all(&p, Answer::Exact, "harmless");
    let settings = p.read(".git/config");
    for (name, value) in [
        ("diff.external", "./x"),
        ("core.fsmonitor", "./x"),
        ("core.pager", "./x"),
        ("core.hooksPath", "hooks"),
        ("diff.x.textconv", "./x"),
        ("filter.x.clean", "./x"),
        ("credential.helper", "./x"),
        ("alias.lg", "!./x"),
        ("include.path", "other"),
        ("includeIf.gitdir:/.path", "other"),
    ] {
        p.git_in(".", &["config", name, value]);
        all(&p, Answer::Partial, name);
        p.write(".git/config", &settings);
    }
    p.write(".git/config", vec![b'#'; 100_000]);
    all(&p, Answer::Partial, "long settings");
    p.write(".git/config", &settings);
    p.write(".git/hooks/post-index-change", "");
    all(&p, Answer::Partial, "a hook");
    p.remove(".git/hooks/post-index-change");
    p.write("docs/.git/config", "[core]\n\tfsmonitor = ./x\n");
    all(&p, Answer::Partial, "a repository inside");
    std::fs::remove_dir_all(p.path("docs/.git")).unwrap();
    all(&p, Answer::Exact, "harmless again");
    std::fs::rename(p.path(".git"), p.path("../moved.git")).unwrap();
    all(&p, Answer::Partial, "no repository");
    p.write(".git", "gitdir: ../moved.git\n");
    all(&p, Answer::Partial, "a repository elsewhere");
}

#[test]
fn options_that_make_git_run_or_write_are_seen() {
    let p = scene();
    for command in [
        "git -c core.pager='cat;./x' log",
        "git diff --outp=a.txt",
        "git diff --ext-d",
        "git ls-remote --upload-pack=./x .",
        "git ls-remote --exec=./x .",
        "git ls-remote ext::./x",
        "git fsck --lost-found",
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Partial, "{command}: {answer:?}");
    }
}

#[test]
fn setuid_and_setgid_bits_of_files_are_not_kept() {
    let p = TestProject::new();
    p.write("su", "x");
    p.write("sg/file", "x");
    p.write("deep/su", "x");
    p.write("plain/file", "x");
    p.chmod("su", 0o4755);
    p.chmod("sg", 0o2755);
    p.chmod("deep/su", 0o2755);
    for (command, name) in [
        ("rm su", "su"),
        ("chmod 755 su", "su"),
        ("echo x > su", "su"),
        ("mv su su2", "su"),
        ("cp plain/file su", "su"),
        ("rm -r deep", "deep/su"),
        ("find deep -delete", "deep/su"),
        ("cp -r deep/. sg/../deep", "deep/su"),
        ("rm -r ./*", "su"),
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Partial, "{command}: {answer:?}");
        let name = format!("{name}: not-kept");
        assert!(uncovered(&answer).contains(&name), "{command}: {answer:?}");
    }
    // Which group new files get in a directory is kept.
    for command in
        ["rm sg/file", "touch sg/new", "rm -r plain", "cp su new", "rm -r sg", "chmod 755 sg"]
    {
        assert_eq!(ask(&p, command).answer, Answer::Exact, "{command}");
    }
}

#[test]
fn the_mode_of_the_root_comes_back_with_such_bits() {
    let p = TestProject::new();
    p.write("file", "x");
    assert_eq!(ask(&p, "chmod 700 .").answer, Answer::Exact);
    p.chmod(".", 0o2755);
    for command in ["chmod 700 .", "chmod -R go-w ."] {
        assert_eq!(ask(&p, command).answer, Answer::Exact, "{command}");
    }
    assert_eq!(ask(&p, "find . -name x -delete").answer, Answer::Exact);
}

#[test]
fn names_that_are_one_file_do_not_become_one_again() {
    let p = TestProject::new();
    p.write("h1", "x\n");
    p.write("deep/h3", "x\n");
    p.write("other", "y\n");
    std::fs::hard_link(p.path("h1"), p.path("h2")).unwrap();
    std::fs::hard_link(p.path("deep/h3"), p.path("h4")).unwrap();
    for (command, name) in [
        ("rm h1", "h1"),
        ("mv h1 h5", "h1"),
        ("mv other h1", "h1"),
        ("sed -i s/x/y/ h1", "h1"),
        ("ln -f other h1", "h1"),
        ("echo x > h1", "h1"),
        ("rm -r deep", "deep/h3"),
        ("mv deep deeper", "deep/h3"),
        ("chmod -R go-w deep", "deep/h3"),
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Partial, "{command}: {answer:?}");
        assert_eq!(uncovered(&answer), [format!("{name}: other-names")], "{command}");
    }
    assert_eq!(ask(&p, "rm other; cat h1 > new").answer, Answer::Exact);
}
