//! Our ignore rules against `git check-ignore`, on patterns that nobody would write.
//!
//! Every pattern set is the `.gitignore` of a directory of its own in one repository, so that one process of git
//! judges thousands of them.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_testkit::git;
use herma_testkit::random::Random;
use herma_worktree::rules::{ExcludeSettings, NothingTracked, Rules, Scope, SecretRules, Verdict};

use super::differential::answer;

/// `HERMA_IGNORE_SETS` tries more.
const SETS: u64 = 2500;

/// What there is in every directory: files, and directories with something in them.
const FILES: [&[u8]; 20] = [
    b"a",
    b"b.o",
    b"ab",
    b"-",
    b"]",
    b"back\\slash",
    b"star*",
    b"d/a",
    b"d/b.o",
    b"d/e/ab",
    b"d/e/^",
    b"[x]",
    b"\xc3\xa9\xff",
    b"sp ace ",
    b"#h",
    b"d/!a",
    b"$a",
    b"\t",
    b"d/a\r",
    b"\xff\xfea",
];

/// What patterns are made of: everything that means something to git, and a few names.
#[rustfmt::skip]
const PARTS: [&[u8]; 44] = [
    b"a", b"b", b"ab", b"d", b"e", b".o", b"*", b"**", b"?", b"/", b"/", b"/**/", b"**/", b"[", b"]", b"[ab]", b"[!a]",
    b"[^a]", b"[a-e]", b"[e-a]", b"[]]", b"[!]a]", b"[]-a]", b"[a-]", b"[\\]]", b"[\\a-\\e]", b"[[:alpha:]]",
    b"[[:punct:]]", b"[[:nothing:]]", b"[[:alpha:", b"[[:", b"\\", b"\\\\", b"\\*", b"!", b"-", b"^", b" ", b"\\ ", b"\t",
    b"\xc3\xa9", b"\xff", b"***", b"{a,b}",
];

const STARTS: [&[u8]; 12] =
    [b"", b"", b"", b"!", b"/", b"!/", b"#", b"\\#", b"\\!", b"\\$", b"$", b" "];
const ENDS: [&[u8]; 13] =
    [b"", b"", b"", b"", b"/", b"/*", b"/**", b" ", b"\r", b"\\", b"\0x", b"\r\0x", b"\r\r"];
const BREAKS: [&[u8]; 5] = [b"\n", b"\n", b"\n", b"\r\n", b"\n\n"];
const MARKS: [&[u8]; 5] = [b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"];

fn pattern(random: &mut Random) -> Vec<u8> {
    let mut line = random.pick(&STARTS).to_vec();
    for _ in 0..=random.below(4) {
        line.extend(*random.pick(&PARTS));
    }
    line.extend(*random.pick(&ENDS));
    line
}

fn ignore_file(random: &mut Random) -> Vec<u8> {
    let mut content = random.pick(&MARKS).to_vec();
    for _ in 0..=random.below(5) {
        content.extend_from_slice(&pattern(random));
        content.extend(*random.pick(&BREAKS));
    }
    if random.one_in(3) {
        content.pop();
    }
    content
}

/// The paths from the outermost directory to the file, without the directory of the set.
fn steps(path: &[u8]) -> Vec<(&[u8], bool)> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut steps: Vec<(&[u8], bool)> = slashes.map(|(at, _)| (&path[..at], true)).collect();
    steps.push((path, false));
    steps
}

/// Is it left out? One that lies in a directory that is left out is, too.
fn left_out(rules: &Rules, directory: &str, content: &[u8], path: &[u8]) -> bool {
    let root = Scope::root(rules, None);
    let root = root.enter(b"", None, None, Verdict::Keep);
    let scope = root.enter(directory.as_bytes(), Some(content), None, Verdict::Keep);
    steps(path).into_iter().any(|(step, is_dir)| {
        let whole = [directory.as_bytes(), b"/", step].concat();
        scope.judge(&whole, is_dir, &NothingTracked) != Verdict::Keep
    })
}

fn prepare(root: &Path, sets: &[Vec<u8>]) -> Vec<u8> {
    for dir in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(root.join(dir)).unwrap();
    }
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let mut request = Vec::new();
    for (number, content) in sets.iter().enumerate() {
        let directory = root.join(format!("s{number}"));
        std::fs::create_dir_all(directory.join("d/e")).unwrap();
        std::fs::write(directory.join(".gitignore"), content).unwrap();
        for file in FILES {
            std::fs::write(directory.join(std::ffi::OsStr::from_bytes(file)), "").unwrap();
            request.extend_from_slice(format!("s{number}/").as_bytes());
            request.extend_from_slice(file);
            request.push(0);
        }
    }
    request
}

/// For each path that was asked about, whether git ignores it.
fn judged_by_git(root: &Path, request: &[u8]) -> Vec<bool> {
    let mut command = git::command();
    command.current_dir(root);
    command.args(["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"]);
    let output = answer(&mut command, request);
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let answers = fields.chunks_exact(4);
    answers.map(|fields| !fields[2].is_empty() && !fields[2].starts_with(b"!")).collect()
}

#[test]
fn git_and_we_agree_on_patterns_nobody_would_write() {
    if !git::available() {
        return;
    }
    let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let count = super::model::number("HERMA_IGNORE_SETS", SETS);
    let sets: Vec<Vec<u8>> = (0..count).map(|seed| ignore_file(&mut Random::new(seed))).collect();
    let by_git = judged_by_git(scratch.path(), &prepare(scratch.path(), &sets));
    assert_eq!(by_git.len(), sets.len() * FILES.len(), "git answers every question");
    let rules = Rules::new(&ExcludeSettings {
        secrets: SecretRules::Off,
        builtin: false,
        ..ExcludeSettings::default()
    });
    let (mut differences, mut shown) = (0, String::new());
    for (number, content) in sets.iter().enumerate() {
        for (file, by_git) in FILES.iter().zip(&by_git[number * FILES.len()..]) {
            let ours = left_out(&rules, &format!("s{number}"), content, file);
            if ours != *by_git {
                differences += 1;
                if differences <= 20 {
                    let (file, content) = (file.escape_ascii(), content.escape_ascii());
                    let _ = writeln!(
                        shown,
                        "seed {number}: {file} by \"{content}\": git says {by_git}"
                    );
                }
            }
        }
    }
    assert_eq!(differences, 0, "\n{shown}");
    let ignored = by_git.iter().filter(|ignored| **ignored).count();
    assert!(ignored > by_git.len() / 30, "only {ignored} of {} are ignored", by_git.len());
}
