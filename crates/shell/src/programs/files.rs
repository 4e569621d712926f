//! Programs whose arguments are the files they change.

use super::modes::takes_rights;
use super::texts;
use crate::effects::Arrival;
use crate::effects::Effect;
use crate::options::Argument;
use crate::options::Parsed;
use crate::process::Process;

/// Options of `cp` that copy directories and links as what they are.
const KEEP_SHAPE: &str = "r R a d P recursive archive no-dereference";

pub(super) fn mkdir(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    if parsed
        .value("m mode")
        .is_some_and(|mode| takes_rights(mode, true))
    {
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
        let slashes = operand
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/');
        for (slash, _) in slashes.filter(|(at, _)| *at > 0 && parsed.has("p parents")) {
            process.makes(&operand[..slash], true);
        }
    }
    Some(())
}

pub(super) fn mv(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let (sources, target) = sources_and_target(parsed, None)?;
    for source in sources {
        process.replaces(source);
        brings(process, source, target, parsed, true, true);
    }
    Some(())
}

pub(super) fn cp(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let (sources, target) = sources_and_target(parsed, None)?;
    for source in sources {
        brings(
            process,
            source,
            target,
            parsed,
            parsed.has(KEEP_SHAPE),
            false,
        );
    }
    Some(())
}

pub(super) fn install(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    if parsed.has("d directory") {
        return mkdir(process, parsed);
    }
    if parsed
        .value("m mode")
        .is_some_and(|mode| takes_rights(mode, false))
    {
        return None;
    }
    let (sources, target) = sources_and_target(parsed, None)?;
    for source in sources {
        brings(process, source, target, parsed, false, true);
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
        None => operands
            .split_last()
            .map(|(target, sources)| (sources, *target)),
    }
}

fn brings(
    process: &mut Process<'_, '_>,
    source: &[u8],
    target: &[u8],
    parsed: &Parsed<'_>,
    with_tree: bool,
    replaces: bool,
) {
    process.does(Effect::Brings {
        source: source.into(),
        target: target.into(),
        arrival: Arrival {
            into_directory: !parsed.has("T no-target-directory"),
            with_tree,
            replaces,
        },
    });
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
