//! Programs that change nothing.

use super::{ANYTHING, ODD_OPTIONS, texts};
use crate::options::Argument;
use crate::walk::process::Process;

/// Change nothing, whatever their arguments are.
#[rustfmt::skip]
const READERS: &[&str] = &[
    ":", "[", "arch", "b2sum", "basename", "break", "cat", "cksum", "cloc", "cmp", "column",
    "comm", "continue", "cut", "df", "diff", "dirname", "dirs", "du", "echo", "egrep", "exa", "exit", "expand", "expr",
    "eza", "false", "fgrep", "fold", "free", "getconf", "getopts", "grep", "groups", "head", "hexdump",
    "id", "jobs", "join", "jq", "locale", "ls", "lsblk", "lscpu", "md5sum", "nl", "nproc", "od",
    "paste", "pgrep", "printenv", "printf", "ps", "pwd", "read", "readlink", "realpath", "return", "rev", "seq",
    "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shift", "sleep", "stat", "strings", "sum",
    "tac", "tail", "test", "tokei", "tput", "tr", "true", "tty", "type", "ulimit",
    "unexpand", "uname", "uptime", "users", "wait", "wc", "whereis", "which", "who", "whoami", "yes",
    "zcat", "zgrep",
];

/// Change nothing unless one of these options is among their arguments.
#[rustfmt::skip]
const READERS_UNLESS: &[(&str, &[&str])] = &[
    ("ag", &["--pager"]),
    ("bat", &["--pager", "cache"]),
    // Of macOS and the BSDs.
    ("base64", &["-o", "--o"]),
    ("date", &["-s", "--s"]),
    ("file", &["-C", "--compile"]),
    ("fd", &["-x", "-X", "--exec"]),
    ("fdfind", &["-x", "-X", "--exec"]),
    ("less", &["-o", "-O", "--log-file", "--LOG-FILE", "+"]),
    ("lsof", &["-D"]),
    ("more", &[]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("tree", &["-o"]),
];

/// Programs that only say what they are when asked.
#[rustfmt::skip]
const SAY_VERSION: &[&str] = &[
    "bun", "cargo", "clang", "cmake", "deno", "docker", "gcc", "git", "go", "java", "make", "node", "npm", "npx",
    "pip", "pip3", "pnpm", "python", "python3", "ruby", "rustc", "rustup", "uv", "yarn",
];

/// Does it change nothing, whatever its arguments are?
pub(super) fn takes_anything(name: &str) -> bool {
    READERS.contains(&name)
}

/// Notes what a program that mostly reads changes; `false` if it is no such program.
pub(super) fn effects(process: &mut Process<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    if takes_anything(name) || only_says(name, arguments) {
        return true;
    }
    if let Some((_, unless)) = READERS_UNLESS.iter().find(|(reader, _)| *reader == name) {
        let sets = name == "date" && sets_clock(arguments);
        let is_harmless = |text: &[u8]| {
            let is_named = |option: &&str| names_option(text, option.as_bytes());
            !unless.iter().any(is_named)
        };
        let all = texts(arguments).map(|all| all.into_iter().all(is_harmless));
        if sets || !(unless.is_empty() || all == Some(true)) {
            process.unknown(ODD_OPTIONS);
        }
        return true;
    }
    if name == "find" {
        find(process, arguments);
    }
    name == "find"
}

/// Does a program that may do much only say something with exactly these arguments?
fn only_says(name: &str, arguments: &[Argument]) -> bool {
    let are_operands = |words: &[&[u8]]| words.iter().all(|word| word.first() != Some(&b'-'));
    match (name, texts(arguments).as_deref()) {
        // With an operand it sets the name.
        ("hostname", Some([])) | ("go", Some([b"version"])) | ("java", Some([b"-version"])) => true,
        ("gzip", Some([b"-l" | b"-t" | b"-dc" | b"-cd", rest @ ..])) => are_operands(rest),
        (_, Some([b"--version" | b"-V" | b"--help"])) => SAY_VERSION.contains(&name),
        _ => false,
    }
}

/// `date` shows the time in a format, which begins with `+`; any other operand is a time to be set.
fn sets_clock(arguments: &[Argument]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_ref().map(|text| text.as_slice()) {
            Some(b"--date" | b"--reference" | b"--file") => drop(arguments.next()),
            Some([b'-', letters @ .., b'd' | b'r' | b'f']) if !letters.starts_with(b"-") => {
                arguments.next();
            }
            Some([b'-' | b'+', ..]) => {}
            _ => return true,
        }
    }
    false
}

/// Does an argument name this option? Letters may stand together: `-ao`.
fn names_option(text: &[u8], option: &[u8]) -> bool {
    match (text, option) {
        ([b'-', b'-', ..], _) | (_, [b'-', b'-', ..]) => text.starts_with(option),
        ([b'-', letters @ ..], [b'-', letter]) => letters.contains(letter),
        _ => text.starts_with(option),
    }
}

/// `find` changes files by some of its actions only.
fn find(process: &mut Process<'_, '_>, arguments: &[Argument]) {
    let Some(words) = texts(arguments) else { return process.unknown(ODD_OPTIONS) };
    let flags = words.iter().take_while(|word| matches!(**word, b"-H" | b"-L" | b"-P")).count();
    let follows = words[..flags].iter().any(|flag| *flag != b"-P");
    let is_start = |word: &&&[u8]| !matches!(word.first(), Some(b'-' | b'(' | b'!'));
    let starts = words[flags..].iter().take_while(is_start).count();
    let (starts, tests) = words[flags..].split_at(starts);
    let Some(removes) = actions(process, tests) else { return process.unknown(ANYTHING) };
    if removes && follows {
        return process.unknown("it follows links, also out of the project");
    }
    let here: [&[u8]; 1] = [b"."];
    let starts = if starts.is_empty() { &here } else { starts };
    for start in starts.iter().filter(|_| removes) {
        process.writes_below(start);
    }
}

/// Do the actions of `find` remove files? `None` if they may do anything.
fn actions(process: &mut Process<'_, '_>, tests: &[&[u8]]) -> Option<bool> {
    let mut removes = false;
    for (at, word) in tests.iter().enumerate() {
        match *word {
            b"-delete" => removes = true,
            b"-exec" | b"-execdir" | b"-ok" | b"-okdir" => {
                let command = &tests[at + 1..];
                let end = command.iter().position(|word| matches!(*word, b";" | b"+"))?;
                let (program, arguments) = command[..end].split_first()?;
                let is_found = |word: &&[u8]| *word == b"{}" || word.first() == Some(&b'-');
                match *program {
                    b"rm" | b"rmdir" if arguments.iter().all(is_found) => removes = true,
                    program if std::str::from_utf8(program).is_ok_and(takes_anything) => {}
                    _ => return None,
                }
            }
            b"-fprint" | b"-fprint0" | b"-fls" | b"-fprintf" => process.writes(tests.get(at + 1)?),
            b"-files0-from" | b"-D" => return None,
            // Its starts come after it.
            word if word.starts_with(b"-O") => return None,
            _ => {}
        }
    }
    Some(removes)
}
