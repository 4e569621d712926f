//! `chmod`: permissions come back, unless they are taken from those who would bring them back.

use crate::effects::{Effect, IDENTITY_NOT_KEPT};
use crate::options::Parsed;
use crate::paths::{PathEntry, ResolvedPath};
use crate::walk::process::Process;

/// Notes what `chmod` changes; `None` if that is not known.
pub(super) fn chmod(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let (mode, files) = parsed.operands.split_first()?;
    let recursive = parsed.has("R recursive");
    for file in files {
        if sets_identity(mode) {
            process.does(Effect::NotKept((*file).into(), IDENTITY_NOT_KEPT));
        }
        let mut is_directory = || {
            let place = process.follows(file);
            matches!(place, Some(ResolvedPath::Inside(_, PathEntry::Directory)))
        };
        if takes_rights(mode, recursive || is_directory()) {
            let why = "without these rights an undo cannot work on it";
            process.does(Effect::NotKept((*file).into(), why));
        }
        if recursive {
            process.writes_below(file);
        } else {
            process.writes(file);
        }
    }
    Some(())
}

/// Is it a mode that looks like an option, as in `chmod -x`?
pub(super) fn looks_like_option(argument: &[u8]) -> bool {
    let letters = argument.strip_prefix(b"-").unwrap_or_default();
    !letters.is_empty() && letters.iter().all(|byte| b"rwxXst".contains(byte))
}

fn is_octal(mode: &[u8]) -> bool {
    !mode.is_empty() && mode.iter().all(|digit| (b'0'..=b'7').contains(digit))
}

/// Does a mode set bits that make a program run as somebody else?
fn sets_identity(mode: &[u8]) -> bool {
    if is_octal(mode) {
        mode.len() > 3 && !matches!(mode[mode.len() - 4], b'0' | b'1')
    } else {
        mode.contains(&b's')
    }
}

/// Does a mode take from the owner what reading a file, or working in a directory, needs?
pub(super) fn takes_rights(mode: &[u8], is_dir: bool) -> bool {
    let needed: &[u8] = if is_dir { b"rwx" } else { b"r" };
    if is_octal(mode) {
        let owner = mode.len().checked_sub(3).map_or(0, |at| mode[at] - b'0');
        let needed = if is_dir { 7 } else { 4 };
        return owner & needed != needed;
    }
    mode.split(|byte| *byte == b',').any(|clause| {
        let who = clause.iter().take_while(|byte| b"ugoa".contains(byte)).count();
        let (who, changes) = clause.split_at(who);
        let concerns_owner = who.is_empty() || who.iter().any(|who| matches!(who, b'u' | b'a'));
        match changes.split_first() {
            _ if !concerns_owner => false,
            Some((b'+', _)) => changes[1..].iter().any(|byte| matches!(byte, b'-' | b'=')),
            Some((b'-', taken)) => needed.iter().any(|right| taken.contains(right)),
            Some((b'=', given)) => !needed.iter().all(|right| given.contains(right)),
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_lock_the_owner_out_are_told_from_others() {
        for (mode, is_dir) in [
            ("644", false),
            ("0600", false),
            ("444", false),
            ("755", true),
            ("+x", false),
            ("-x", false),
            ("a-w", false),
            ("go-rwx", true),
            ("u+x,g-w", true),
            ("u=rwx,go=", true),
            ("a+r", true),
        ] {
            assert!(!takes_rights(mode.as_bytes(), is_dir), "{mode}");
        }
        for (mode, is_dir) in [
            ("000", false),
            ("044", false),
            ("644", true),
            ("77", true),
            ("-r", false),
            ("a-w", true),
            ("u-x", true),
            ("=", false),
            ("u=w", false),
            ("go+r,u-r", false),
            ("", false),
            ("u+x-r", false),
            ("x", true),
        ] {
            assert!(takes_rights(mode.as_bytes(), is_dir), "{mode}");
        }
    }
}
