//! Could a command be undone? The answers, and whether they are true.

use herma_core::RelPath;
use herma_core::can_undo::{Answer, CanUndo, Command, What};
use herma_core::engine::NoProgress;
use herma_testkit::Bounded;
use herma_testkit::tree::assert_same;
use proptest::prelude::*;

use super::project::TestProject;

/// A project with something of everything: tracked, ignored, excluded, secret, large, linked.
pub(super) fn scene() -> TestProject {
    let p = TestProject::new();
    p.write("a.txt", "one\ntwo\n");
    p.write("b.txt", "bee\n");
    p.write("src/main.rs", "fn main() {}\n");
    p.write("src/lib.rs", "pub fn f() {}\n");
    p.write("docs/guide.md", "# Guide\n");
    p.write("mixed/kept.txt", "kept\n");
    p.write("mixed/run.log", "excluded\n");
    p.write("node_modules/m/index.js", "excluded\n");
    p.write("notes.private", "ignored\n");
    p.write(".gitignore", "*.private\n/only-here/\n");
    p.write("id_rsa", "secret\n");
    p.write("big.bin", vec![7; 11 << 20]);
    p.write("twin.txt", "two names\n");
    p.write("../elsewhere/file", "outside\n");
    std::fs::hard_link(p.path("twin.txt"), p.path("../elsewhere/twin")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", p.path("out")).unwrap();
    std::os::unix::fs::symlink("src", p.path("code")).unwrap();
    std::fs::create_dir(p.path("linked")).unwrap();
    std::os::unix::fs::symlink("../../elsewhere/file", p.path("linked/lib.rs")).unwrap();
    p.git_in(".", &["init", "-q"]);
    p
}

pub(super) fn ask(p: &TestProject, command: &str) -> CanUndo {
    ask_in(p, command, "")
}

fn ask_in(p: &TestProject, command: &str, directory: &str) -> CanUndo {
    let directory = RelPath::new(directory).unwrap();
    let command = Command::Text(command.into());
    p.project().can_undo(&command, &directory, &NoProgress).unwrap()
}

/// Everything not covered, as `what: word`.
pub(super) fn uncovered(answer: &CanUndo) -> Vec<String> {
    let show = |what: &What| match what {
        What::Path(path) => path.to_string(),
        What::Program(name) => format!("`{name}`"),
    };
    let all = answer.uncovered.iter();
    all.map(|item| format!("{}: {}", show(&item.what), item.why.word())).collect()
}

#[test]
fn commands_that_change_what_is_saved_or_nothing_are_exact() {
    let p = scene();
    for command in [
        "ls -la",
        "cat a.txt | grep one | sort | head -3",
        "grep -rn main src/",
        "rg main; find . -name '*.rs'; wc -l src/*.rs",
        "find src -name '*.rs' -exec cat {} +",
        "find . -type f | xargs grep main",
        "git status && git diff && git log --oneline -5",
        "git --no-pager show HEAD; git branch -a; git stash list",
        "git -C src log",
        "echo hello",
        "echo hello > new.txt",
        "echo hello >> a.txt 2>/dev/null",
        "cat <<EOF > src/new.rs\nfn x() {}\nEOF",
        "rm a.txt",
        "rm -rf src docs",
        "rm -f no-such-file",
        "rm [ab]*.txt *.nothing",
        "rm 'src'/main.rs \"docs\"/guide.md a\\.txt",
        "rm code/main.rs",
        "rm out",
        "rm -r src/../docs",
        "/bin/rm a.txt",
        "mkdir -p new/deep && touch new/deep/file",
        "mkdir new && cd new && touch x && cd .. && rm a.txt",
        "cd src && rm main.rs",
        "cd src; rm main.rs",
        "(cd src; rm main.rs); rm b.txt",
        "mv a.txt c.txt",
        "mv a.txt b.txt src/",
        "mv src lib",
        "cp a.txt docs",
        "cp -r src src2",
        "cp -a src/. docs/",
        "ln -s a.txt link",
        "touch a.txt new.md",
        "truncate -s 0 a.txt",
        "chmod +x a.txt; chmod -x b.txt; chmod 644 src/main.rs",
        "chmod -R go-w src",
        "sed -i 's/one/1/g' a.txt",
        "sed -i.bak -e 's/one/1/' a.txt",
        "sed -n '1,20p' src/main.rs",
        "awk '{print $1}' a.txt",
        "printf x | tee a.txt b.txt >/dev/null",
        "dd if=/dev/zero of=zeros bs=1 count=10",
        "sort -o a.txt a.txt",
        "install -m 755 a.txt src/run",
        "tar -tf x.tar",
        "bash -c 'rm a.txt && echo done'",
        "sh -ec \"cd src; rm main.rs\"",
        "env LC_ALL=C rm a.txt",
        "nice -n 5 timeout 10 rm a.txt",
        "time rm a.txt",
        "x=1; rm a.txt",
        "if test -f a.txt; then rm a.txt; else touch b.txt; fi",
        "for i in 1 2 3; do touch a.txt; done",
        "echo $(cat a.txt) > b.txt",
        "echo \"$HOME\"",
        "rm -rf mixed/kept.txt",
        "[[ -f a.txt ]] && cat a.txt",
        "[[ -f a.txt ]] && rm a.txt",
        "eval 'rm a.txt'",
        "echo `rm a.txt`",
        "case x in x) rm a.txt;; esac",
        "diff <(ls src) <(ls docs) > new.txt",
        "echo $((1 + 1)) > a.txt",
        "show() { cat \"$1\"; }; show a.txt",
        "sudo -n ls; gzip -l x.gz",
        "curl -s https://example.org",
        "curl -so page.html https://example.org",
        "docker ps; gh pr list; kubectl get pods",
        "cargo --version; command -v cargo",
        "",
        "# only a comment",
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Exact, "{command}: {answer:?}");
        assert!(answer.uncovered.is_empty(), "{command}: {answer:?}");
    }
}

#[test]
fn what_is_not_covered_is_named_with_the_reason() {
    let p = scene();
    let cases: &[(&str, Answer, &[&str])] = &[
        ("rm -rf node_modules", Answer::No, &["node_modules: left-out"]),
        ("rm node_modules/m/*", Answer::No, &["node_modules/m/*: left-out"]),
        ("rm a.txt notes.private", Answer::Partial, &["notes.private: left-out"]),
        ("rm big.bin", Answer::No, &["big.bin: left-out"]),
        ("cp big.bin c.bin", Answer::No, &["c.bin: left-out"]),
        ("echo x > id_rsa", Answer::No, &["id_rsa: left-out"]),
        ("rm -rf mixed", Answer::Partial, &["mixed/run.log: left-out"]),
        (
            "mv mixed moved",
            Answer::Partial,
            &["mixed/run.log: left-out", "moved/run.log: left-out"],
        ),
        (
            "cp -r src only-here",
            Answer::No,
            &["only-here: left-out", "only-here/lib.rs: left-out", "only-here/main.rs: left-out"],
        ),
        ("mv a.txt node_modules/", Answer::Partial, &["node_modules: left-out"]),
        ("touch build.log", Answer::No, &["build.log: left-out"]),
        ("mkdir -p target/x", Answer::No, &["target/x: left-out"]),
        ("rm -rf .git", Answer::No, &[".git: git-directory"]),
        ("echo x > .git/config", Answer::No, &[".git: git-directory"]),
        ("echo x > twin.txt", Answer::Partial, &["twin.txt: other-names"]),
        ("rm out/file", Answer::No, &["$OUT/elsewhere/file: outside"]),
        ("mv a.txt out", Answer::Partial, &["$OUT/elsewhere: outside"]),
        ("cp -r src/. linked", Answer::Partial, &["linked/lib.rs: unknown"]),
        ("cp a.txt out", Answer::No, &["$OUT/elsewhere: outside"]),
        ("ln -s a.txt out", Answer::No, &["$OUT/elsewhere: outside"]),
        ("cd .. && rm x", Answer::No, &["$OUT/x: outside"]),
        ("rm /etc/passwd", Answer::No, &["/etc/passwd: outside"]),
        ("echo x > /tmp/x; echo y > a.txt", Answer::Partial, &["/tmp/x: outside"]),
        ("rm ~/x", Answer::Partial, &["`rm`: unknown"]),
        ("chown me a.txt", Answer::No, &["a.txt: not-kept"]),
        ("chmod u+s a.txt", Answer::Partial, &["a.txt: not-kept"]),
        ("chmod 000 a.txt", Answer::Partial, &["a.txt: not-kept"]),
        ("chmod -R 644 src", Answer::Partial, &["src: not-kept"]),
        (
            "find -delete -name x",
            Answer::Partial,
            &[
                ".git: git-directory",
                "big.bin: left-out",
                "id_rsa: left-out",
                "mixed/run.log: left-out",
                "node_modules: left-out",
                "notes.private: left-out",
                "twin.txt: other-names",
            ],
        ),
        ("git -C ../elsewhere commit", Answer::No, &["$OUT/elsewhere/.git: outside"]),
        ("git push", Answer::No, &["`git push`: outside-files"]),
        ("git commit -m x", Answer::No, &[".git: git-directory"]),
        (
            "git add -A && git push",
            Answer::No,
            &["`git push`: outside-files", ".git: git-directory"],
        ),
        ("git checkout -- a.txt", Answer::Partial, &[".git: git-directory"]),
        ("git restore a.txt", Answer::Partial, &[".git: git-directory"]),
        (
            "git clean -fd",
            Answer::Partial,
            &[
                "big.bin: left-out",
                "id_rsa: left-out",
                "mixed/run.log: left-out",
                "node_modules: left-out",
                "twin.txt: other-names",
            ],
        ),
        ("sudo rm a.txt", Answer::No, &["`sudo`: outside-files"]),
        ("ssh host rm x", Answer::No, &["`ssh`: outside-files"]),
        ("curl -X POST https://example.org", Answer::No, &["`curl`: outside-files"]),
        ("curl -d @a.txt https://example.org", Answer::No, &["`curl`: outside-files"]),
        ("npm publish", Answer::No, &["`npm publish`: outside-files"]),
        ("cargo publish", Answer::No, &["`cargo publish`: outside-files"]),
        ("kill -9 1", Answer::No, &["`kill`: outside-files"]),
        ("psql -c 'drop table x'", Answer::No, &["`psql`: outside-files"]),
        ("rsync -a src/ host:src", Answer::No, &["`rsync`: outside-files"]),
        ("rm a.txt && git push", Answer::Partial, &["`git push`: outside-files"]),
        ("tar xf x.tar -C docs", Answer::Partial, &["`tar`: unknown"]),
        ("unzip x.zip -d docs", Answer::Partial, &["`unzip`: unknown"]),
        ("patch -d docs -p1 < fix.patch", Answer::Partial, &["`patch`: unknown"]),
    ];
    let outside = p.root.parent().unwrap().display().to_string();
    for (command, expected, names) in cases {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, *expected, "{command}: {answer:?}");
        let names: Vec<String> = names.iter().map(|name| name.replace("$OUT", &outside)).collect();
        let mut found = uncovered(&answer);
        if command.starts_with("rm ~") {
            found.truncate(1);
        }
        assert_eq!(found, names, "{command}");
    }
}

#[test]
fn what_cannot_be_known_lists_everything_that_is_left_out() {
    let p = scene();
    for command in [
        "make",
        "cargo fmt",
        "python3 script.py",
        "./rm a.txt",
        "rm $FILE",
        "rm \"$DIR\"/x",
        "rm {a,b}.txt",
        "rm **/x",
        "rm --unheard-of a.txt",
        "$PROGRAM a.txt",
        "source setup.sh",
        ". setup.sh",
        "ls | xargs rm",
        "cat list | sh",
        "PATH=. ls",
        "env PATH=. ls",
        "export LD_PRELOAD=x; ls",
        "alias ls=rm; ls a.txt",
        "f() { rm a.txt; }; f",
        "eval \"$COMMAND\"",
        "case $(make) in x) rm a.txt;; esac",
        "cd $DIR && rm a.txt",
        "cd; rm a.txt",
        "cd code && rm main.rs",
        "ln -s /etc link && echo x > link/hosts",
        "while true; do echo x > l/y; ln -s /etc l; done",
        "ln -s /etc link; mv a.txt link",
        "while true; do cp a.txt l; ln -s /etc l; done",
        "ln -s /etc l; ln -s x l",
        "find . -exec sh -c 'rm {}' \\;",
        "sed -i 's/a/b/w other' a.txt",
        "sed 'e' a.txt",
        "awk '{print > \"out\"}' a.txt",
        "git -c alias.x=y x",
        "git frobnicate",
        "rg --pre ./x main",
        "find src -exec rm -rf /etc ';'",
        "find -O3 /etc -delete",
        "git clean -fd -e x",
        "umask 777; touch a",
        "trap 'rm a.txt' EXIT",
        "perl -pi -e s/a/b/ a.txt",
    ] {
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Partial, "{command}: {answer:?}");
        let found = uncovered(&answer);
        for name in ["node_modules: left-out", "notes.private: left-out", "big.bin: left-out"] {
            assert!(found.iter().any(|item| item == name), "{command}: {found:?}");
        }
        let unknown = found.iter().filter(|item| item.ends_with(": unknown"));
        assert!(unknown.count() >= 1, "{command}: {found:?}");
    }
}

#[test]
fn removing_everything_names_every_gap() {
    let p = scene();
    let gaps = [
        ".git: git-directory",
        "big.bin: left-out",
        "id_rsa: left-out",
        "mixed/run.log: left-out",
        "node_modules: left-out",
        "notes.private: left-out",
        "twin.txt: other-names",
    ];
    assert_eq!(uncovered(&ask(&p, "rm -rf .")), gaps);
    assert_eq!(uncovered(&ask(&p, "rm -rf ./* ")), gaps[1..]);
    assert_eq!(uncovered(&ask(&p, "find . -delete")), gaps);
    let root = p.root.display();
    let whole = uncovered(&ask(&p, &format!("rm -rf {root}")));
    assert!(whole.contains(&format!("{root}: not-kept")), "{whole:?}");
    assert!(gaps.iter().all(|gap| whole.contains(&(*gap).to_owned())), "{whole:?}");
}

#[test]
fn a_file_named_like_an_option_makes_a_pattern_unknown() {
    let p = scene();
    p.write("-rf", "");
    assert_eq!(ask(&p, "rm ./?.txt").answer, Answer::Exact);
    assert_eq!(ask(&p, "rm *").answer, Answer::Partial);
    assert!(uncovered(&ask(&p, "rm *"))[0].contains("`rm`: unknown"));
}

#[test]
fn changing_the_rules_and_files_at_once_is_not_exact() {
    let p = scene();
    assert_eq!(ask(&p, "echo '*.tmp' >> .gitignore").answer, Answer::Exact);
    let both = ask(&p, "echo '*.txt' >> .gitignore; echo x > a.txt");
    assert_eq!(uncovered(&both), [".gitignore: unknown"]);
}

#[test]
fn the_directory_it_starts_in_counts() {
    let p = scene();
    assert_eq!(ask_in(&p, "rm main.rs", "src").changes, [RelPath::new("src/main.rs").unwrap()]);
    assert_eq!(ask_in(&p, "rm ../a.txt", "src").answer, Answer::Exact);
    assert_eq!(ask_in(&p, "rm ../../x", "src").answer, Answer::No);
    assert_eq!(ask_in(&p, "rm file", "out").answer, Answer::No);
    assert_eq!(ask_in(&p, "rm main.rs", "code").changes, ask(&p, "rm src/main.rs").changes);
}

#[test]
fn after_a_cd_that_may_fail_both_directories_are_meant() {
    let p = scene();
    p.write("sub/keep", "");
    p.write("sub/node_modules/x", "");
    let answer = ask(&p, "rm -rf docs; cd docs; rm -rf node_modules");
    assert_eq!(uncovered(&answer), ["node_modules: left-out"]);
    let sure = ask(&p, "cd sub && rm -rf node_modules");
    assert_eq!(uncovered(&sure), ["sub/node_modules: left-out"]);
    let both = ["node_modules: left-out", "sub/node_modules: left-out"];
    for command in [
        "test -f x && cd sub; rm -rf node_modules",
        "ls || cd sub; rm -rf node_modules",
        "ls || cd sub && rm -rf node_modules",
    ] {
        let found = uncovered(&ask(&p, command));
        assert!(found.contains(&both[0].to_owned()), "{command}: {found:?}");
    }
    let loops = ask(&p, "for i in 1 2; do rm -rf node_modules; cd sub; done");
    let found = uncovered(&loops);
    assert!(both.iter().all(|gap| found.contains(&(*gap).to_owned())), "{found:?}");
}

#[test]
fn arguments_are_taken_literally_without_a_shell() {
    let p = scene();
    p.write("$FILE", "");
    let command = Command::Arguments(vec!["rm".into(), "$FILE".into(), "*".into()]);
    let answer = p.project().can_undo(&command, &RelPath::root(), &NoProgress).unwrap();
    assert_eq!(answer.answer, Answer::Exact);
    assert_eq!(answer.changes, [RelPath::new("$FILE").unwrap()]);
}

#[test]
fn asking_writes_nothing() {
    let p = scene();
    let before = p.tree();
    assert_eq!(ask(&p, "rm a.txt").answer, Answer::Exact);
    assert!(!p.home().exists());
    assert_same(&before, &p.tree(), "asked");
}

/// Runs a command in the project, as an agent would.
pub(super) fn run(p: &TestProject, command: &str) {
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", command]).current_dir(&p.root).bounded_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {words}");
}

#[test]
fn what_is_said_to_be_exact_comes_back_exactly() {
    for command in [
        "rm a.txt",
        "rm -r src docs",
        "rm ?.txt",
        "mv a.txt c.txt",
        "mv src lib",
        "mv a.txt b.txt src",
        "cp -r src src2 && rm -r src",
        "cp a.txt b.txt",
        "cp -a src/. docs/",
        "sed -i 's/one/1/' a.txt",
        "truncate -s 3 a.txt",
        "chmod 600 a.txt; chmod 700 src",
        "chmod -R go-rwx docs; chmod a-w a.txt",
        "find docs -name '*.md' -exec rm {} +",
        "echo x | tee a.txt new/../b.txt > out.txt || echo y > out.txt",
        "sh -c 'cd src && rm main.rs && echo x > other.rs'",
        "ln a.txt hard; echo x > a.txt; ln -s a.txt link",
        "mkdir -p x/y/z && touch x/y/z/file && rm out",
        "rm code && mkdir code",
        "echo '*.md' >> .gitignore",
        "dd if=/dev/zero of=b.txt bs=1 count=9 2>/dev/null",
        "sort -r -o a.txt a.txt",
        "find src -name '*.rs' -delete",
    ] {
        let p = scene();
        let answer = ask(&p, command);
        assert_eq!(answer.answer, Answer::Exact, "{command}: {answer:?}");
        p.save("before");
        let before = p.tree();
        run(&p, command);
        p.save("after");
        p.restore("@-1");
        assert_same(&before, &p.tree(), command);
    }
}

#[test]
fn long_command_lines_are_answered() {
    let p = scene();
    for number in 0..200 {
        p.write(&format!("many/{number}/file"), "");
    }
    // What grew with the square of the length took hours here.
    for part in ["rm -rf . ; ", "cp -r many x; ", "rm */* ", "cd many; cd ..; ", "rm a/../"] {
        ask(&p, &part.repeat((30 << 10) / part.len()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_command_is_too_strange(
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        text in "(rm|cp|mv|sed|find|git|cd|tar|sh -c|env|ln) [-a-z*./$(){};&|<>'\" ]{0,40}",
    ) {
        let p = TestProject::new();
        p.write("a/b", "");
        for command in [bytes, text.into_bytes()] {
            let command = Command::Text(command.into());
            p.project().can_undo(&command, &RelPath::root(), &NoProgress).unwrap();
        }
    }
}
