//! What well-known programs do to files, going by their arguments.
//!
//! A program that is not known, and a known one with an option that is not, may change any file.
//!
//! * `readers`: programs that change nothing; `scripts`: the same for `sed` and `awk`, going by the script
//! * `table`: programs that go by options and operands. `files`: those whose operands are the files they change;
//!   `modes`: `chmod`; `archives`: those that bring many files; `sizes`: those that are told how large a file becomes
//! * `git`: what git's commands change, besides `.git`
//! * `elsewhere`: programs that change what is no file
//! * `wrappers`: programs that run another one

// What a program of the table does has one shape, also where it is always known.
#![allow(clippy::unnecessary_wraps)]

mod archives;
mod elsewhere;
mod files;
mod git;
mod modes;
mod readers;
mod scripts;
mod sizes;
mod table;
mod wrappers;

use bstr::BString;

use crate::options::Argument;
use crate::walk::process::Process;

pub(crate) use wrappers::is_harmless_variable;

const ANYTHING: &str = "it may change any file, also outside the project";
const ODD_OPTIONS: &str = "what it changes with these arguments is not known";
const ONLY_SHELL_KNOWS: &str = "what it changes is known only when it runs";

/// Notes what a program with these arguments can change.
pub(crate) fn effects(process: &mut Process<'_, '_>, arguments: &[Argument]) {
    let Some((first, rest)) = arguments.split_first() else { return };
    let Some(first) = first else {
        return process.unknown("which program runs is known only when it runs");
    };
    process.program = first.clone();
    let Some(name) = program_name(first) else { return process.unknown(ANYTHING) };
    process.program = name.into();
    process.walk.is_endless |= prints_without_end(name, rest);
    let is_known = readers::effects(process, name, rest)
        || by_operands(process, name, rest)
        || wrappers::effects(process, name, rest)
        || elsewhere::effects(process, name, rest);
    if !is_known {
        process.unknown(ANYTHING);
    }
}

/// Notes what a program does that goes by its options and operands; `false` if it is none of those.
fn by_operands(process: &mut Process<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    let understood = match name {
        "git" => git::git(process, arguments),
        "sed" | "gsed" => scripts::sed(process, arguments),
        "chown" | "chgrp" | "setfacl" | "setfattr" | "chattr" | "xattr" => {
            files::owners(process, arguments)
        }
        _ => {
            let mut programs = table::PROGRAMS.iter();
            let Some((_, options, does)) = programs.find(|(names, ..)| names.contains(&name))
            else {
                return false;
            };
            let arguments = with_dashes_as_meant(name, arguments);
            let parsed = options.parse(&arguments);
            parsed.and_then(|parsed| does(process, &parsed))
        }
    };
    if understood.is_none() {
        process.unknown(ODD_OPTIONS);
    }
    true
}

/// The first argument of `tar` may do without its dash, and a mode of `chmod` may have one without being an option.
fn with_dashes_as_meant(name: &str, arguments: &[Argument]) -> Vec<Argument> {
    let mut arguments = arguments.to_vec();
    if name.ends_with("tar")
        && let Some(Some(first)) = arguments.first_mut()
        && first.first() != Some(&b'-')
    {
        first.insert(0, b'-');
    }
    let is_mode = |text: &BString| modes::looks_like_option(text);
    let is_mode = |argument: &Argument| argument.as_ref().is_some_and(is_mode);
    if name == "chmod"
        && let Some(at) = arguments.iter().position(is_mode)
    {
        // `-x` takes from the owner what `a-x` does.
        let mode = arguments.remove(at).unwrap_or_default();
        arguments.insert(0, Some([b"a", mode.as_slice()].concat().into()));
    }
    arguments
}

/// The name of a program, if it is one of the system's: `rm` or `/bin/rm`, but not `./rm`.
fn program_name(path: &[u8]) -> Option<&str> {
    const PLACES: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];
    let path = std::str::from_utf8(path).ok()?;
    let in_place = PLACES.iter().find_map(|place| path.strip_prefix(place));
    let name = in_place.unwrap_or(path);
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// All arguments as text; `None` if only the shell knows one of them.
fn texts(arguments: &[Argument]) -> Option<Vec<&[u8]>> {
    let texts = arguments.iter().map(|argument| argument.as_ref().map(|text| text.as_slice()));
    texts.collect()
}

/// Does a program print without end? What it prints into a file may become too large to be saved.
fn prints_without_end(name: &str, arguments: &[Argument]) -> bool {
    let mut texts = arguments.iter().flatten();
    // It prints nothing: how much it writes is known from its arguments.
    let is_silent = name == "dd" && texts.clone().any(|text| text.starts_with(b"of="));
    name == "yes" || (!is_silent && texts.any(|text| is_endless_device(text)))
}

/// Is one of the devices in this text that give bytes without end?
pub(crate) fn is_endless_device(text: &[u8]) -> bool {
    const DEVICES: [&str; 4] = ["/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"];
    let holds = |device: &str| text.windows(device.len()).any(|part| part == device.as_bytes());
    DEVICES.into_iter().any(holds)
}
