//! What git's commands change. Nearly all of them write to `.git`, which is never saved.

use super::ANYTHING;
use super::ODD_OPTIONS;
use super::ONLY_SHELL_KNOWS;
use crate::coverage::options::Argument;
use crate::coverage::places::LastLink;
use crate::coverage::places::Place;
use crate::coverage::places::absolute;
use crate::coverage::places::resolve;
use crate::coverage::repository;
use crate::coverage::scene::Landing;
use crate::coverage::scene::Scene;

/// Commands that change nothing, unless they are told to write their output to a file.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "status", "log", "diff", "show", "blame", "annotate", "shortlog", "describe", "rev-parse", "rev-list", "ls-files",
    "ls-tree", "ls-remote", "cat-file", "merge-base", "name-rev", "for-each-ref", "show-ref", "show-branch", "count-objects",
    "check-ignore", "check-attr", "diff-tree", "diff-index", "diff-files", "range-diff", "whatchanged", "cherry", "var",
    "version", "help", "verify-commit", "verify-tag", "fsck",
];

/// Commands that write to `.git` and nowhere else.
#[rustfmt::skip]
const REPOSITORY_ONLY: &[&str] = &[
    "add", "stage", "commit", "tag", "branch", "fetch", "config", "remote", "gc", "prune", "repack", "notes", "reflog",
    "update-index", "update-ref", "symbolic-ref", "write-tree", "commit-tree", "hash-object", "pack-refs", "maintenance",
    "replace", "rerere",
];

/// Commands that may change any file of the project.
#[rustfmt::skip]
const WHOLE_TREE: &[&str] = &[
    "switch", "merge", "rebase", "pull", "cherry-pick", "revert", "am", "bisect", "read-tree", "checkout-index",
];

/// Notes what git changes; `false` if it is another program.
pub(super) fn effects(scene: &mut Scene<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    if name != "git" {
        return false;
    }
    let mut rest = arguments;
    loop {
        let [first, others @ ..] = rest else {
            return true;
        };
        let Some(first) = first else {
            scene.unknown(ONLY_SHELL_KNOWS);
            return true;
        };
        rest = others;
        match first.as_slice() {
            b"--no-pager" | b"-P" | b"-p" | b"--no-optional-locks" | b"--literal-pathspecs" => {}
            b"-C" => {
                let Some(Some(directory)) = rest.first() else {
                    scene.unknown(ODD_OPTIONS);
                    return true;
                };
                enter(scene, directory);
                rest = &rest[1..];
            }
            b"-c" => {
                if !rest.first().is_some_and(is_harmless_setting) {
                    scene.unknown("it sets something that may change what git does");
                    return true;
                }
                rest = &rest[1..];
            }
            [b'-', ..] => {
                scene.unknown(ODD_OPTIONS);
                return true;
            }
            command => {
                let command = String::from_utf8_lossy(command).into_owned();
                scene.program = format!("git {command}").into();
                subcommand(scene, &command, rest);
                return true;
            }
        }
    }
}

/// `-C DIR`: the paths that follow are relative to another directory.
fn enter(scene: &mut Scene<'_, '_>, directory: &[u8]) {
    let place = scene.place(directory, LastLink::Followed);
    let ground = scene.ledger.ground;
    scene.directory = place.map(|place| match place {
        Place::Inside { path, .. } => absolute(ground, &path),
        Place::Outside(path) => path,
    });
}

fn is_harmless_setting(argument: &Argument) -> bool {
    let harmless: [&[u8]; 4] = [b"color.", b"user.", b"advice.", b"core.quotepath"];
    argument.as_ref().is_some_and(|text| {
        let text = text.to_ascii_lowercase();
        text == b"core.pager=cat" || harmless.iter().any(|start| text.starts_with(start))
    })
}

fn subcommand(scene: &mut Scene<'_, '_>, command: &str, arguments: &[Argument]) {
    let words: Option<Vec<&[u8]>> = arguments
        .iter()
        .map(|argument| argument.as_ref().map(|text| text.as_slice()))
        .collect();
    if command == "push" || command == "send-email" {
        return scene.elsewhere("it changes something on another machine");
    }
    let Some(words) = words else {
        if READERS.contains(&command) {
            return scene.unknown(ONLY_SHELL_KNOWS);
        }
        scene.git_directory();
        return scene.unknown(ONLY_SHELL_KNOWS);
    };
    if READERS.contains(&command) || only_lists(command, &words) {
        scene.runs_only_git();
        return reader(scene, &words);
    }
    if REPOSITORY_ONLY.contains(&command) {
        return scene.git_directory();
    }
    match command {
        "grep" => {
            scene.runs_only_git();
            if words
                .iter()
                .any(|word| word.starts_with(b"-O") || word.starts_with(b"--open"))
            {
                scene.unknown(ANYTHING);
            }
        }
        "checkout" | "restore" => paths_or_tree(scene, command, &words),
        "reset" => reset(scene, &words),
        "stash" | "apply" => {
            scene.git_directory();
            scene.fills_repository();
        }
        "clean" => {
            scene.runs_only_git();
            clean(scene, &words);
        }
        "rm" => {
            scene.git_directory();
            if !words.contains(&&b"--cached"[..]) {
                for path in operands(&words) {
                    scene.replaces_pathspec(path);
                }
            }
        }
        "mv" => {
            scene.git_directory();
            scene.moves(&operands(&words).collect::<Vec<_>>());
        }
        "init" => scene.git_directory(),
        _ if WHOLE_TREE.contains(&command) => {
            scene.git_directory();
            scene.fills_repository();
        }
        _ => {
            scene.git_directory();
            scene.unknown(ANYTHING);
        }
    }
}

/// The arguments that are no options.
fn operands<'a>(words: &[&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    let dashes = words
        .iter()
        .position(|word| *word == b"--")
        .unwrap_or(words.len());
    let is_operand =
        move |(at, word): &(usize, &'a [u8])| *at > dashes || word.first() != Some(&b'-');
    words
        .iter()
        .copied()
        .enumerate()
        .filter(is_operand)
        .map(|(_, word)| word)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Commands that change something only if told what.
fn only_lists(command: &str, words: &[&[u8]]) -> bool {
    let options_only = |allowed: &[&[u8]]| words.iter().all(|word| allowed.contains(word));
    match command {
        "branch" => options_only(&[
            b"-a",
            b"-r",
            b"-v",
            b"-vv",
            b"--list",
            b"--all",
            b"--show-current",
            b"--remotes",
        ]),
        "tag" => {
            options_only(&[b"-l", b"--list", b"-n"]) || matches!(words, [b"-l" | b"--list", _])
        }
        "remote" => {
            options_only(&[b"-v", b"--verbose", b"show"]) || matches!(words, [b"get-url", _])
        }
        "stash" => matches!(words, [b"list" | b"show", ..]),
        "config" => matches!(
            words,
            [
                b"--get" | b"--list" | b"-l" | b"--get-all" | b"get" | b"list",
                ..
            ]
        ),
        "worktree" | "notes" | "reflog" | "bundle" | "submodule" => {
            matches!(words, [b"list" | b"show" | b"status" | b"verify"])
                || (command == "reflog" && words.is_empty())
        }
        "symbolic-ref" => matches!(words, [name] if name.first() != Some(&b'-')),
        _ => false,
    }
}

fn reader(scene: &mut Scene<'_, '_>, words: &[&[u8]]) {
    for word in words {
        if let Some(file) = word.strip_prefix(b"--output=") {
            scene.writes(file);
        } else if may_run_or_write(word) {
            scene.unknown(ODD_OPTIONS);
        }
    }
}

/// May this argument of a command that reads make it run another program, or write? Git takes long options
/// by their beginnings, and an address `helper::…` for one of a program.
fn may_run_or_write(word: &[u8]) -> bool {
    let risky: [&[u8]; 6] = [b"--ou", b"--ext", b"--exec", b"--up", b"--lo", b"-O"];
    let harmless: [&[u8]; 1] = [b"--long"];
    let is_risky = risky.iter().any(|start| word.starts_with(start));
    (is_risky && !harmless.contains(&word)) || word.windows(2).any(|pair| pair == b"::")
}

/// `checkout` and `restore` with paths change these; a checkout without changes the whole tree.
fn paths_or_tree(scene: &mut Scene<'_, '_>, command: &str, words: &[&[u8]]) {
    scene.git_directory();
    let dashes = words.iter().position(|word| *word == b"--");
    let paths: Vec<&[u8]> = match (command, dashes) {
        (_, Some(at)) => words[at + 1..].to_vec(),
        ("restore", None) => {
            let mut paths = Vec::new();
            let mut rest = words.iter();
            while let Some(word) = rest.next() {
                match *word {
                    b"-s" | b"--source" => {
                        rest.next();
                    }
                    word if word.first() == Some(&b'-') => {}
                    word => paths.push(word),
                }
            }
            paths
        }
        // Without `--` a word may be a branch or a file.
        (_, None) => return scene.fills_repository(),
    };
    let only_index = words.contains(&&b"--staged"[..]) && !words.contains(&&b"--worktree"[..]);
    if !(command == "restore" && only_index) {
        for path in paths {
            scene.replaces_pathspec(path);
        }
    }
}

fn reset(scene: &mut Scene<'_, '_>, words: &[&[u8]]) {
    scene.git_directory();
    let touches_files = words
        .iter()
        .any(|word| matches!(*word, b"--hard" | b"--merge" | b"--keep"));
    if touches_files {
        scene.fills_repository();
    }
}

fn clean(scene: &mut Scene<'_, '_>, words: &[&[u8]]) {
    let has = |letter: u8| {
        words.iter().any(|word| {
            matches!(word, [b'-', letters @ ..] if letters.first() != Some(&b'-') && letters.contains(&letter))
        })
    };
    let is_known = |word: &&[u8]| match word {
        [b'-', b'-', ..] => matches!(*word, b"--" | b"--dry-run" | b"--force" | b"--quiet"),
        [b'-', letters @ ..] => letters.iter().all(|letter| b"fdxXqn".contains(letter)),
        _ => true,
    };
    if !words.iter().all(is_known) {
        return scene.unknown(ODD_OPTIONS);
    }
    if has(b'n') || words.contains(&&b"--dry-run"[..]) {
        return;
    }
    let ignored = has(b'x') || has(b'X');
    let paths: Vec<&[u8]> = operands(words).collect();
    if paths.is_empty() {
        return scene.cleans(b".", ignored);
    }
    for path in paths {
        scene.cleans(path, ignored);
    }
}

impl Scene<'_, '_> {
    /// Notes that git may run other programs, unless its repository shows that it does not.
    fn runs_only_git(&mut self) {
        let ground = self.ledger.ground;
        let directory = self.directory.as_ref();
        let place = directory.map(|directory| resolve(ground, directory, b".", LastLink::Followed));
        let is_plain = match place.map(|resolved| resolved.place) {
            Some(Place::Inside { path, .. }) => repository::is_plain(ground, &path),
            _ => false,
        };
        if !is_plain {
            self.unknown("the settings of its repository may make git run other programs");
        }
    }

    /// A path as git takes it; patterns of git's own are not followed.
    fn replaces_pathspec(&mut self, path: &[u8]) {
        let is_pattern = path.first() == Some(&b':')
            || path.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        if is_pattern {
            self.fills_repository();
        } else {
            self.writes_below(path);
        }
    }

    /// `git mv`: all but the last are moved to the last.
    fn moves(&mut self, paths: &[&[u8]]) {
        let Some((target, sources)) = paths.split_last() else {
            return;
        };
        for source in sources {
            self.replaces(source);
            let how = Landing {
                into_directory: true,
                with_tree: true,
                replaces: true,
            };
            self.lands(source, target, how);
        }
    }
}
