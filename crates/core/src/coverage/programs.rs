//! What well-known programs do to files, going by their arguments.
//!
//! A program that is not known, and a known one with an option that is not, may change any file.
//!
//! * `files`, `modes`: programs whose arguments are the files they change; `archives`: those that bring many
//! * `sizes`: those that are told how large a file becomes
//! * `git`: what git's commands change, besides `.git`
//! * `readers`: programs that change nothing; `scripts`: the same for `sed` and `awk`, going by the script
//! * `elsewhere`: programs that change what is no file

mod archives;
mod elsewhere;
mod files;
mod git;
mod modes;
mod readers;
mod scripts;
mod sizes;

use bstr::BString;

use super::options::Argument;
use super::options::Options;
use super::run::run_text;
use super::scene::Scene;

const ANYTHING: &str = "it may change any file, also outside the project";
const ODD_OPTIONS: &str = "what it changes with these arguments is not known";
const ONLY_SHELL_KNOWS: &str = "what it changes is known only when it runs";

/// Notes what a program with these arguments can change.
pub(super) fn effects(scene: &mut Scene<'_, '_>, arguments: &[Argument]) {
    if arguments.is_empty() {
        return;
    }
    let Some(Some(first)) = arguments.first() else {
        scene.program = "sh".into();
        return scene.unknown("which program runs is known only when it runs");
    };
    let rest = &arguments[1..];
    scene.program = first.clone();
    scene.depth += 1;
    let Some(name) = program_name(first) else {
        return scene.unknown(ANYTHING);
    };
    let name = name.to_owned();
    scene.program = name.as_str().into();
    if scene.depth > 16 {
        return scene.unknown("it is started through too many others");
    }
    let known = readers::effects(scene, &name, rest)
        || files::effects(scene, &name, rest)
        || archives::effects(scene, &name, rest)
        || scripts::effects(scene, &name, rest)
        || git::effects(scene, &name, rest)
        || elsewhere::effects(scene, &name, rest)
        || wrapper(scene, &name, rest);
    if !known {
        scene.unknown(ANYTHING);
    }
}

/// The name of a program, if it is one of the system's: `rm` or `/bin/rm`, but not `./rm`.
fn program_name(path: &[u8]) -> Option<&str> {
    const PLACES: [&str; 5] = [
        "/bin/",
        "/usr/bin/",
        "/usr/local/bin/",
        "/sbin/",
        "/usr/sbin/",
    ];
    let path = std::str::from_utf8(path).ok()?;
    let in_place = PLACES.iter().find_map(|place| path.strip_prefix(place));
    let name = in_place.unwrap_or(path);
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// May this variable be set without changing what known programs do? Names in small letters are those
/// of scripts; programs read names in capitals.
pub(super) fn is_harmless_variable(name: &[u8]) -> bool {
    const HARMLESS: [&[u8]; 12] = [
        b"LANG",
        b"LANGUAGE",
        b"TZ",
        b"TERM",
        b"COLUMNS",
        b"LINES",
        b"NO_COLOR",
        b"CLICOLOR",
        b"FORCE_COLOR",
        b"CI",
        b"DEBIAN_FRONTEND",
        b"RUST_BACKTRACE",
    ];
    let is_small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    name.iter().all(is_small) || name.starts_with(b"LC_") || HARMLESS.contains(&name)
}

/// Programs that run another one, which is what counts.
fn wrapper(scene: &mut Scene<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    match name {
        "env" => environment(scene, arguments),
        "nice" | "ionice" | "chrt" | "stdbuf" | "time" | "nohup" | "setsid" | "builtin"
        | "command" | "exec" | "timeout" => {
            let asks = matches!(arguments, [Some(flag), ..] if flag == "-v" || flag == "-V");
            if name == "command" && asks {
                return true;
            }
            if name == "nohup" {
                scene.writes(b"nohup.out");
            }
            match skip_own_options(name, arguments) {
                Some(rest) => effects(scene, rest),
                None => scene.unknown(ODD_OPTIONS),
            }
        }
        "xargs" => xargs(scene, arguments),
        "sh" | "bash" | "dash" | "ash" | "ksh" => shell(scene, arguments),
        "export" | "declare" | "local" | "readonly" | "typeset" | "unset" => {
            if !arguments.iter().all(sets_harmlessly) {
                scene.unknown("it sets a variable that may change what programs do");
            }
        }
        "set" => {
            if !arguments.iter().all(is_harmless_shell_option) {
                scene.unknown(ODD_OPTIONS);
            }
        }
        _ => return false,
    }
    true
}

/// Is it an option, or does it set a variable that may be set?
fn sets_harmlessly(argument: &Argument) -> bool {
    argument.as_ref().is_some_and(|text| {
        let name = text.split(|byte| *byte == b'=').next().unwrap_or_default();
        text.first() == Some(&b'-') || is_harmless_variable(name)
    })
}

/// Is it one of the shell's options that only end a script earlier, or print more of it?
fn is_harmless_shell_option(argument: &Argument) -> bool {
    argument.as_ref().is_some_and(|text| match text.as_slice() {
        b"pipefail" | b"errexit" | b"nounset" | b"xtrace" => true,
        [b'-' | b'+', letters @ ..] => letters.iter().all(|letter| b"euxo".contains(letter)),
        _ => false,
    })
}

/// What follows the options of a program that runs another one.
fn skip_own_options<'a>(name: &str, arguments: &'a [Argument]) -> Option<&'a [Argument]> {
    let (plain, valued, operands): (&[&[u8]], &[&[u8]], usize) = match name {
        "nice" => (&[], &[b"-n"], 0),
        "ionice" => (&[b"-t"], &[b"-c", b"-n"], 0),
        "stdbuf" => (&[b"-oL", b"-o0", b"-eL", b"-e0", b"-i0", b"-iL"], &[], 0),
        "time" | "command" => (&[b"-p"], &[], 0),
        "setsid" => (&[b"-w", b"--wait", b"-f"], &[], 0),
        "timeout" => (
            &[b"--foreground", b"--preserve-status", b"-v"],
            &[b"-s", b"-k", b"--signal", b"--kill-after"],
            1,
        ),
        _ => (&[], &[], 0),
    };
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text: &[u8] = argument.as_ref()?;
        let has_value = text.starts_with(b"--signal=") || text.starts_with(b"--kill-after=");
        if plain.contains(&text) || (name == "timeout" && has_value) {
            at += 1;
        } else if valued.contains(&text) {
            at += 2;
        } else if text == b"--" {
            at += 1;
            break;
        } else if text.first() == Some(&b'-') {
            return None;
        } else {
            break;
        }
    }
    arguments.get(at + operands..)
}

fn environment(scene: &mut Scene<'_, '_>, arguments: &[Argument]) {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let Some(text) = argument else {
            return scene.unknown(ONLY_SHELL_KNOWS);
        };
        let equals = text.iter().position(|byte| *byte == b'=');
        match (text.as_slice(), equals) {
            (b"-i" | b"-" | b"--ignore-environment" | b"--", _) => at += 1,
            (b"-u", _) => at += 2,
            ([b'-', ..], _) => return scene.unknown(ODD_OPTIONS),
            (text, Some(equals)) => {
                if !is_harmless_variable(&text[..equals]) {
                    scene.unknown("it sets a variable that may change what programs do");
                }
                at += 1;
            }
            (_, None) => break,
        }
    }
    effects(scene, arguments.get(at..).unwrap_or_default());
}

/// `xargs` with a program that changes nothing changes nothing.
fn xargs(scene: &mut Scene<'_, '_>, arguments: &[Argument]) {
    let mut at = 0;
    while let Some(Some(text)) = arguments.get(at) {
        at += match text.as_slice() {
            b"-n" | b"-I" | b"-P" | b"-L" | b"-d" | b"-s" => 2,
            b"--null"
            | b"--no-run-if-empty"
            | [b'-', b'0' | b'r' | b't' | b'x']
            | [b'-', b'n' | b'I' | b'P' | b'L' | b'd' | b's', ..] => 1,
            _ => break,
        };
    }
    let program = arguments.get(at).cloned().flatten();
    let harmless = program
        .as_deref()
        .and_then(|path| program_name(path))
        .is_some_and(readers::takes_anything);
    if !harmless {
        scene.unknown(ONLY_SHELL_KNOWS);
    }
}

/// A shell with a text to run.
fn shell(scene: &mut Scene<'_, '_>, arguments: &[Argument]) {
    const SHELL: Options = Options {
        short: "ceuxl",
        short_valued: "",
        long: &["login", "norc", "noprofile", "posix"],
        long_valued: &[],
    };
    // What follows the text are its parameters, which may look like anything.
    let text_at = arguments.iter().position(|argument| {
        argument
            .as_ref()
            .is_some_and(|text| text.first() != Some(&b'-'))
    });
    let text_at = text_at.unwrap_or(arguments.len());
    let options = SHELL.parse(&arguments[..text_at]);
    let text: Option<&BString> = arguments.get(text_at).and_then(Option::as_ref);
    match (options, text) {
        (Some(options), Some(text)) if options.has(&["c"]) => {
            let directory = scene.directory.clone();
            run_text(text, directory, scene.depth, scene.ledger);
        }
        _ => scene.unknown(ANYTHING),
    }
}
