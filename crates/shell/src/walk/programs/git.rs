//! What git's commands change. Nearly all of them write to `.git`, which is never saved.

use super::{ANYTHING, ONLY_SHELL_KNOWS, texts};
use crate::effects::{Arrival, Effect};
use crate::options::Argument;
use crate::walk::process::Process;

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
    "replace", "rerere", "init",
];

/// Commands that may change any file of the project.
#[rustfmt::skip]
const WHOLE_TREE: &[&str] = &[
    "switch", "stash", "apply", "merge", "rebase", "pull", "cherry-pick", "revert", "am", "bisect", "read-tree", "checkout-index",
];

/// Notes what git changes; `None` if its arguments are not understood.
pub(super) fn git(process: &mut Process<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        match first.as_ref()?.as_slice() {
            b"--no-pager" | b"-P" | b"-p" | b"--no-optional-locks" | b"--literal-pathspecs" => {}
            // The paths that follow are relative to another directory.
            b"-C" => {
                let directory = rest.first()?.as_ref()?;
                let place = process.follows(directory);
                let files = process.walk.files;
                process.directory = place.and_then(|place| Some(place.absolute(files?)));
                rest = &rest[1..];
            }
            b"-c" => {
                if !rest.first().is_some_and(is_harmless_setting) {
                    process.unknown("it sets something that may change what git does");
                    return Some(());
                }
                rest = &rest[1..];
            }
            [b'-', ..] => return None,
            command => {
                let command = String::from_utf8_lossy(command).into_owned();
                process.program = format!("git {command}").into();
                return subcommand(process, &command, rest);
            }
        }
    }
    Some(())
}

fn is_harmless_setting(argument: &Argument) -> bool {
    let harmless: [&[u8]; 4] = [b"color.", b"user.", b"advice.", b"core.quotepath"];
    argument.as_ref().is_some_and(|text| {
        let text = text.to_ascii_lowercase();
        text == b"core.pager=cat" || harmless.iter().any(|start| text.starts_with(start))
    })
}

fn subcommand(process: &mut Process<'_, '_>, command: &str, rest: &[Argument]) -> Option<()> {
    if command == "push" || command == "send-email" {
        process.elsewhere("it changes something on another machine");
        return Some(());
    }
    let words = texts(rest);
    let reads = READERS.contains(&command)
        || words.as_ref().is_some_and(|words| only_lists(command, words));
    if !reads && !matches!(command, "grep" | "clean") {
        process.does(Effect::GitDirectory);
    }
    let Some(words) = &words else {
        process.unknown(ONLY_SHELL_KNOWS);
        return Some(());
    };
    match command {
        _ if reads => return reader(process, words),
        "grep" => {
            process.does(Effect::RunsGit);
            let opens = |word: &&[u8]| word.starts_with(b"-O") || word.starts_with(b"--open");
            (!words.iter().any(opens)).then_some(())?;
        }
        "clean" => {
            process.does(Effect::RunsGit);
            clean(process, words)?;
        }
        "checkout" => match words.iter().position(|word| *word == b"--") {
            Some(at) => changes(process, words[at + 1..].iter().copied()),
            // Without `--` a word may be a branch or a file.
            None => process.does(Effect::FillsRepository),
        },
        "restore" => restore(process, words),
        "reset" => {
            let has = |option: &[u8]| words.contains(&option);
            if has(b"--hard") || has(b"--merge") || has(b"--keep") {
                process.does(Effect::FillsRepository);
            }
        }
        "rm" if words.contains(&&b"--cached"[..]) => {}
        "rm" => changes(process, operands(words)),
        "mv" => moves(process, &operands(words).collect::<Vec<_>>()),
        _ if REPOSITORY_ONLY.contains(&command) => {}
        _ if WHOLE_TREE.contains(&command) => process.does(Effect::FillsRepository),
        _ => process.unknown(ANYTHING),
    }
    Some(())
}

/// The arguments that are no options.
fn operands<'a>(words: &[&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    let mut only_operands = false;
    words.iter().copied().filter(move |word| {
        let is_operand = only_operands || word.first() != Some(&b'-');
        only_operands |= *word == b"--";
        is_operand
    })
}

/// Commands that change something only if told what.
fn only_lists(command: &str, words: &[&[u8]]) -> bool {
    let options_only = |allowed: &str| {
        let is_allowed = |word: &&[u8]| allowed.split(' ').any(|one| one.as_bytes() == *word);
        words.iter().all(is_allowed)
    };
    match command {
        "branch" => options_only("-a -r -v -vv --list --all --show-current --remotes"),
        "tag" => match words {
            [b"-l" | b"--list", _] => true,
            // With `-n` the operands are patterns of tags to be listed.
            [[b'-', b'n', lines @ ..], rest @ ..] if lines.iter().all(u8::is_ascii_digit) => {
                rest.iter().all(|word| word.first() != Some(&b'-'))
            }
            _ => options_only("-l --list -n"),
        },
        "remote" => options_only("-v --verbose show") || matches!(words, [b"get-url", _]),
        "stash" => matches!(words, [b"list" | b"show", ..]),
        "config" => words.first().is_some_and(|first| {
            matches!(*first, b"--get" | b"--list" | b"-l" | b"--get-all" | b"get" | b"list")
        }),
        "worktree" | "notes" | "reflog" | "bundle" | "submodule" => {
            matches!(words, [b"list" | b"show" | b"status" | b"verify"])
                || (command == "reflog" && words.is_empty())
        }
        "symbolic-ref" => matches!(words, [name] if name.first() != Some(&b'-')),
        _ => false,
    }
}

fn reader(process: &mut Process<'_, '_>, words: &[&[u8]]) -> Option<()> {
    process.does(Effect::RunsGit);
    for word in words {
        match word.strip_prefix(b"--output=") {
            Some(file) => process.writes(file),
            None if may_run_or_write(word) => return None,
            None => {}
        }
    }
    Some(())
}

/// May this argument of a command that reads make it run another program, or write? Git takes long options
/// by their beginnings, and an address `helper::…` for one of a program.
fn may_run_or_write(word: &[u8]) -> bool {
    let risky: [&[u8]; 6] = [b"--ou", b"--ext", b"--exec", b"--up", b"--lo", b"-O"];
    let harmless: [&[u8]; 1] = [b"--long"];
    let is_risky = risky.iter().any(|start| word.starts_with(start));
    (is_risky && !harmless.contains(&word)) || word.windows(2).any(|pair| pair == b"::")
}

/// `restore` changes the paths it is given, unless it is only about the index.
fn restore(process: &mut Process<'_, '_>, words: &[&[u8]]) {
    let only_index = words.contains(&&b"--staged"[..]) && !words.contains(&&b"--worktree"[..]);
    let is_value = |at: usize| at > 0 && matches!(words[at - 1], b"-s" | b"--source");
    let is_path = |at: &usize| words[*at].first() != Some(&b'-') && !is_value(*at);
    match words.iter().position(|word| *word == b"--") {
        _ if only_index => {}
        Some(at) => changes(process, words[at + 1..].iter().copied()),
        None => changes(process, (0..words.len()).filter(is_path).map(|at| words[at])),
    }
}

/// It changes what is at these paths, as git takes them; patterns of git's own are not followed.
fn changes<'a>(process: &mut Process<'_, '_>, paths: impl Iterator<Item = &'a [u8]>) {
    for path in paths {
        if path.first() == Some(&b':') || path.iter().any(|byte| b"*?[".contains(byte)) {
            process.does(Effect::FillsRepository);
        } else {
            process.writes_below(path);
        }
    }
}

/// All but the last are moved to the last.
fn moves(process: &mut Process<'_, '_>, paths: &[&[u8]]) {
    let Some((target, sources)) = paths.split_last() else { return };
    for source in sources {
        process.replaces(source);
        process.does(Effect::Brings {
            source: (*source).into(),
            target: (*target).into(),
            arrival: Arrival { into_directory: true, with_tree: true, replaces: true },
        });
    }
}

fn clean(process: &mut Process<'_, '_>, words: &[&[u8]]) -> Option<()> {
    let mut letters = Vec::new();
    for word in words {
        match *word {
            b"--" | b"--force" | b"--quiet" => {}
            b"--dry-run" => letters.push(b'n'),
            [b'-', b'-', ..] => return None,
            [b'-', short @ ..] => letters.extend_from_slice(short),
            _ => {}
        }
    }
    letters.iter().all(|letter| b"fdxXqn".contains(letter)).then_some(())?;
    if letters.contains(&b'n') {
        return Some(());
    }
    let mut paths: Vec<&[u8]> = operands(words).collect();
    if paths.is_empty() {
        paths.push(b".");
    }
    for path in paths {
        process.does(Effect::Cleans {
            path: path.into(),
            with_ignored: letters.contains(&b'x') || letters.contains(&b'X'),
        });
    }
    Some(())
}
