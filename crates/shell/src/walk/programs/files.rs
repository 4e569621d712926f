//! Programs whose arguments are the files they change.

use super::modes::takes_rights;
use super::texts;
use crate::effects::{Arrival, Effect};
use crate::options::{Argument, Parsed};
use crate::walk::process::Process;

/// Options of `cp` that copy directories and links as what they are.
const KEEP_SHAPE: &str = "r R a d P recursive archive no-dereference";

pub(super) fn mkdir(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    if parsed.value("m mode").is_some_and(|mode| takes_rights(mode, true)) {
        return None;
    }
    for operand in &parsed.operands {
        process.makes(operand, true);
    }
    Some(())
}

/// With `-p` the directories around go too, if that leaves them empty.
pub(super) fn rmdir(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    for operand in &parsed.operands {
        process.makes(operand, true);
        let slashes = operand.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (slash, _) in slashes.filter(|(at, _)| *at > 0 && parsed.has("p parents")) {
            process.makes(&operand[..slash], true);
        }
    }
    Some(())
}

pub(super) fn mv(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let (sources, _) = sources_and_target(parsed, None)?;
    for source in sources {
        process.replaces(source);
    }
    brings(process, parsed, true, true)
}

pub(super) fn cp(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    brings(process, parsed, parsed.has(KEEP_SHAPE), false)
}

pub(super) fn install(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    if parsed.has("d directory") {
        return mkdir(process, parsed);
    }
    let takes_rights = |mode: &[u8]| takes_rights(mode, false);
    (!parsed.value("m mode").is_some_and(takes_rights)).then_some(())?;
    brings(process, parsed, false, true)
}

/// It brings its sources to its target.
fn brings(
    process: &mut Process<'_, '_>,
    parsed: &Parsed<'_>,
    with_tree: bool,
    replaces: bool,
) -> Option<()> {
    let (sources, target) = sources_and_target(parsed, None)?;
    let arrival =
        Arrival { into_directory: !parsed.has("T no-target-directory"), with_tree, replaces };
    for source in sources {
        let (source, target) = ((*source).into(), target.into());
        process.does(Effect::Brings { source, target, arrival });
    }
    Some(())
}

pub(super) fn ln(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    // A link without a place goes into the present directory.
    let (sources, target) = sources_and_target(parsed, Some(b"."))?;
    for source in sources {
        process.does(Effect::Links {
            source: (*source).into(),
            target: target.into(),
            // A link to a directory is replaced, not entered.
            into_directory: !parsed.has("T no-target-directory n no-dereference"),
            is_symbolic: parsed.has("s symbolic"),
        });
    }
    Some(())
}

/// What is brought, and where; `alone` is where the only operand goes.
fn sources_and_target<'p, 'a>(
    parsed: &'p Parsed<'a>,
    alone: Option<&'a [u8]>,
) -> Option<(&'p [&'a [u8]], &'a [u8])> {
    let operands = parsed.operands.as_slice();
    let elsewhere = parsed.value("t target-directory");
    match elsewhere.or(alone.filter(|_| operands.len() == 1)) {
        Some(target) => Some((operands, target)),
        None => operands.split_last().map(|(target, sources)| (sources, *target)),
    }
}

/// Owners and access lists are in no checkpoint.
pub(super) fn owners(process: &mut Process<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let words = texts(arguments)?;
    let operands = words.iter().filter(|word| word.first() != Some(&b'-'));
    for file in operands.skip(1) {
        let why = "checkpoints do not keep owners, access lists and attributes";
        process.does(Effect::NotKept((*file).into(), why));
    }
    Some(())
}
