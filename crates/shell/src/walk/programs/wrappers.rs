//! Programs that run another one, which is what counts, and what a shell does itself.

use super::elsewhere::OTHER_USER;
use super::{ANYTHING, ODD_OPTIONS, ONLY_SHELL_KNOWS, program_name, readers};
use crate::effects::{ChangeReason, Effect};
use crate::options::{Argument, Options};
use crate::walk::process::Process;

const SHELL: Options = Options("-ceuxl login norc noprofile posix", "");

/// Options of programs that run another one, and how many operands stand before its name.
#[rustfmt::skip]
const OWN_OPTIONS: &[(&str, Options, usize)] = &[
    ("nice", Options("", "-n"), 0),
    ("ionice", Options("-t", "-cn"), 0),
    ("stdbuf", Options("", "-oei"), 0),
    ("time", Options("-p", ""), 0),
    ("command", Options("-p", ""), 0),
    ("setsid", Options("-wf wait", ""), 0),
    ("timeout", Options("-v foreground preserve-status", "-sk signal kill-after"), 1),
    ("sudo", Options("-nEHS", "-ug"), 0),
    ("doas", Options("-n", "-u"), 0),
    ("xargs", Options("-0rtx null no-run-if-empty", "-nIPLds"), 0),
    ("chrt", Options("", ""), 0),
    ("nohup", Options("", ""), 0),
    ("builtin", Options("", ""), 0),
    ("exec", Options("", ""), 0),
];

/// Notes what one of these programs changes; `false` if it is none of them.
pub(super) fn effects(process: &mut Process<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    match name {
        "env" => environment(process, arguments),
        "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" => shell(process, name, arguments),
        "export" | "declare" | "local" | "readonly" | "typeset" | "unset" => {
            if !arguments.iter().all(sets_harmlessly) {
                process.unknown(ChangeReason::SetsVariable.text());
            }
        }
        "set" => {
            if !arguments.iter().all(is_harmless_shell_option) {
                process.unknown(ODD_OPTIONS);
            }
        }
        "command" if matches!(arguments, [Some(flag), ..] if flag == "-v" || flag == "-V") => {}
        _ => {
            let Some((_, options, operands)) = OWN_OPTIONS.iter().find(|own| own.0 == name) else {
                return false;
            };
            let command = options.behind(arguments);
            let command = command.and_then(|command| command.get(*operands..));
            wrapped(process, name, command);
        }
    }
    true
}

/// Notes what a program does by running a command, if that is known.
fn wrapped(process: &mut Process<'_, '_>, name: &str, command: Option<&[Argument]>) {
    match (name, command) {
        ("sudo" | "doas", command) => as_other_user(process, command),
        (_, None) => process.unknown(ODD_OPTIONS),
        ("xargs", Some(command)) => {
            let program = command.first().cloned().flatten();
            let name = program.as_ref().and_then(|path| program_name(path));
            if !name.is_some_and(readers::takes_anything) {
                process.unknown(ONLY_SHELL_KNOWS);
            }
        }
        (_, Some(command)) => {
            if name == "nohup" {
                process.writes(b"nohup.out");
            }
            process.runs(command);
        }
    }
}

/// Whoever runs it, what only reads only reads; the rest is out of our hands.
fn as_other_user(process: &mut Process<'_, '_>, command: Option<&[Argument]>) {
    let sets = |argument: &Argument| argument.as_ref().is_none_or(|text| text.contains(&b'='));
    let Some(command) = command.filter(|command| !command.first().is_none_or(sets)) else {
        return process.elsewhere(OTHER_USER);
    };
    let count = process.walk.touches.len();
    process.runs(command);
    let mut inner = process.walk.touches[count..].iter();
    if let Some(reason) = inner.find(|touch| touch.changes()).map(|touch| touch.reason) {
        process.walk.touches.truncate(count);
        let (program, directory) = (process.program.clone(), process.directory.clone());
        let effect = Effect::Elsewhere(OTHER_USER);
        process.walk.touch(effect, reason, program, directory);
    }
}

fn environment(process: &mut Process<'_, '_>, arguments: &[Argument]) {
    let mut rest = arguments;
    while let [argument, others @ ..] = rest {
        let Some(text) = argument else { return process.unknown(ONLY_SHELL_KNOWS) };
        let equals = text.iter().position(|byte| *byte == b'=');
        rest = match (text.as_slice(), equals) {
            (b"-i" | b"-" | b"--ignore-environment" | b"--", _) => others,
            (b"-u", _) => others.get(1..).unwrap_or_default(),
            ([b'-', ..], _) => return process.unknown(ODD_OPTIONS),
            (text, Some(equals)) => {
                if !is_harmless_variable(&text[..equals]) {
                    process.unknown(ChangeReason::SetsVariable.text());
                }
                others
            }
            (_, None) => return process.runs(rest),
        }
    }
}

/// A shell with a text to run.
fn shell(process: &mut Process<'_, '_>, name: &str, arguments: &[Argument]) {
    // What follows the text are its parameters, which may look like anything.
    let is_text =
        |argument: &Argument| argument.as_ref().is_some_and(|text| text.first() != Some(&b'-'));
    let at = arguments.iter().position(is_text).unwrap_or(arguments.len());
    let options = SHELL.parse(&arguments[..at]);
    match (options, arguments.get(at)) {
        (Some(options), Some(Some(text))) if options.has("c") => {
            let count = process.walk.touches.len();
            process.walk.shell(text, process.directory.clone());
            if name == "zsh" && process.walk.has_changed_since(count) {
                process.unknown("zsh takes some words for others than bash does");
            }
        }
        _ => process.unknown(ANYTHING),
    }
}

/// May this variable be set without changing what known programs do? Names in small letters are those
/// of scripts; programs read names in capitals.
pub(crate) fn is_harmless_variable(name: &[u8]) -> bool {
    #[rustfmt::skip]
    const HARMLESS: [&str; 12] = [
        "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "CI",
        "DEBIAN_FRONTEND", "RUST_BACKTRACE",
    ];
    let is_small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_listed = HARMLESS.iter().any(|harmless| harmless.as_bytes() == name);
    name.iter().all(is_small) || name.starts_with(b"LC_") || is_listed
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
