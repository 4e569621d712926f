//! The rules against real git: random trees with random ignore files at several levels.
#![allow(clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;

/// Files by path; the content matters only for ignore files.
type Tree = BTreeMap<String, Vec<u8>>;

fn rules() -> Rules {
    Rules::new(&ExcludeSettings {
        secrets: SecretRules::Off,
        builtin: false,
        ..ExcludeSettings::default()
    })
}

/// The names in `dir`, each with whether it is a directory.
fn children(tree: &Tree, dir: &str) -> BTreeMap<String, bool> {
    let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
    let below = tree.keys().filter_map(|path| path.strip_prefix(&prefix));
    below
        .map(|rest| match rest.split_once('/') {
            Some((name, _)) => (format!("{prefix}{name}"), true),
            None => (format!("{prefix}{rest}"), false),
        })
        .collect()
}

fn walk(tree: &Tree, outer: &Scope<'_>, dir: &str, judged: Verdict, kept: &mut BTreeSet<String>) {
    let ignore = |name: &str| {
        let path = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
        tree.get(&path).map(Vec::as_slice)
    };
    let scope = outer.enter(dir.as_bytes(), ignore(".gitignore"), ignore(".hermaignore"), judged);
    for (path, is_dir) in children(tree, dir) {
        match scope.judge(path.as_bytes(), is_dir, &NothingTracked) {
            Verdict::LeaveOut(_) => {}
            verdict if is_dir => walk(tree, &scope, &path, verdict, kept),
            _ => _ = kept.insert(path),
        }
    }
}

fn kept_by_rules(tree: &Tree, info_exclude: &[u8]) -> BTreeSet<String> {
    let rules = rules();
    let mut kept = BTreeSet::new();
    walk(tree, &Scope::root(&rules, Some(info_exclude)), "", Verdict::Keep, &mut kept);
    kept
}

fn kept_by_git(root: &Path, tree: &Tree, info_exclude: &[u8]) -> BTreeSet<String> {
    // The least git takes for a repository: `git init` would cost more than all the rest.
    for dir in [".git/objects", ".git/refs", ".git/info"] {
        std::fs::create_dir_all(root.join(dir)).unwrap();
    }
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(root.join(".git/info/exclude"), info_exclude).unwrap();
    for (path, content) in tree {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), content).unwrap();
    }
    let output = Command::new("git")
        .args(["ls-files", "-o", "--exclude-standard", "-z"])
        .current_dir(root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join(".git"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    listed.split_terminator('\0').map(str::to_owned).collect()
}

const NAMES: [&str; 12] =
    ["a", "b", "ab", "foo", "foo.o", "build", "b c", "x ", "#h", "!n", "a*", "back\\slash"];

#[rustfmt::skip]
const PARTS: [&str; 30] = [
    "a", "b", "foo", "build", "foo.o", "*", "**", "?", "*.o", "fo*", "f**", "[ab]", "[!a]", "[^b]",
    "[a-f]*", "*o*", "\\#h", "\\!n", "#h", "b\\ c", "x\\ ", "a\\*", "b c", "a**", "**b", "*[[:alpha:]]",
    "back\\\\slash", "[", "***", "a?",
];

fn line() -> impl Strategy<Value = String> {
    let part = prop::sample::select(PARTS.to_vec());
    let before = prop::sample::select(vec!["", "", "", "", "!", "!", "/", "!/", "**/", "#", " "]);
    let after =
        prop::sample::select(vec!["", "", "", "", "/", "/", "/**", "/*", " ", "\r", "\\", "//"]);
    (before, prop::collection::vec(part, 1..4), after)
        .prop_map(|(before, parts, after)| format!("{before}{}{after}", parts.join("/")))
}

fn ignore_file() -> impl Strategy<Value = Vec<u8>> {
    let start = prop::sample::select(vec!["", "", "", "\u{feff}"]);
    let end = prop::sample::select(vec!["", "\n", "\r\n", "\r"]);
    (start, prop::collection::vec(line(), 0..6), end)
        .prop_map(|(start, lines, end)| format!("{start}{}{end}", lines.join("\n")).into_bytes())
}

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(NAMES.to_vec());
    prop::collection::vec(name, 1..5).prop_map(|names| names.join("/"))
}

fn tree() -> impl Strategy<Value = Tree> {
    let ignores = prop::collection::vec((path(), ignore_file()), 0..4);
    (prop::collection::vec(path(), 4..20), ignore_file(), ignores).prop_map(
        |(paths, root_ignore, ignores)| {
            let mut tree = Tree::new();
            for path in paths {
                add(&mut tree, path, Vec::new());
            }
            for (dir, content) in ignores {
                add(&mut tree, format!("{dir}/.gitignore"), content);
            }
            add(&mut tree, ".gitignore".to_owned(), root_ignore);
            tree
        },
    )
}

/// Thousands of small files: in memory where the system offers it, or the disk is all this test measures.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Adds a file unless a file stands where a directory is needed, or the other way round.
fn add(tree: &mut Tree, path: String, content: Vec<u8>) {
    let under_file = path.match_indices('/').any(|(at, _)| tree.contains_key(&path[..at]));
    let below = format!("{path}/");
    if !under_file && !tree.keys().any(|other| other.starts_with(&below)) {
        tree.insert(path, content);
    }
}

proptest! {
    #![proptest_config(Config { cases: 320, ..Config::default() })]
    #[test]
    fn git_and_the_rules_agree_on_every_file(tree in tree(), info_exclude in ignore_file()) {
        let root = scratch();
        let expected = kept_by_git(root.path(), &tree, &info_exclude);
        prop_assert_eq!(kept_by_rules(&tree, &info_exclude), expected);
    }
}

proptest! {
    #[test]
    fn no_ignore_file_and_no_path_makes_the_rules_panic(
        content in prop::collection::vec(any::<u8>(), 0..200),
        path in prop::collection::vec(any::<u8>(), 0..40),
        is_dir: bool,
    ) {
        let rules = Rules::new(&ExcludeSettings::default());
        let scope = Scope::root(&rules, Some(&content));
        let scope = scope.enter(b"", Some(&content), Some(&content), Verdict::Keep);
        if let Verdict::Descend(reason) = scope.judge(&path, is_dir, &NothingTracked) {
            let below = scope.enter(&path, None, Some(&content), Verdict::Descend(reason));
            below.judge(&[&path[..], b"/x"].concat(), is_dir, &NothingTracked);
        }
    }
}
