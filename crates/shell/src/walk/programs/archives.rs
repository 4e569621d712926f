//! Programs that bring many files from elsewhere: archives, patches, downloads, mirrors.

use crate::options::Parsed;
use crate::walk::process::Process;

const OTHER_MACHINE: &str = "it changes something on another machine";

pub(super) fn tar(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    if parsed.has("t list") {
        return Some(());
    }
    if parsed.has("x extract get") {
        if !parsed.has("O to-stdout") {
            process.fills(parsed.value("C directory").unwrap_or(b"."));
        }
        return Some(());
    }
    parsed.has("c create").then_some(())?;
    let file = parsed.value("f file")?;
    if file.contains(&b':') {
        process.elsewhere(OTHER_MACHINE);
    } else if file != b"-" {
        process.writes(file);
    }
    Some(())
}

/// It writes into the directory it is given, unless one of these options is.
pub(super) fn unpacks(
    process: &mut Process<'_, '_>,
    parsed: &Parsed<'_>,
    unless: &str,
) -> Option<()> {
    if !parsed.has(unless) {
        process.fills(parsed.value("d directory").unwrap_or(b"."));
    }
    Some(())
}

pub(super) fn rsync(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let (target, sources) = parsed.operands.split_last()?;
    (!sources.is_empty()).then_some(())?;
    let host = target.split(|byte| *byte == b'/').next().unwrap_or_default();
    if parsed.has("n dry-run") {
        return Some(());
    }
    if host.contains(&b':') {
        process.elsewhere(OTHER_MACHINE);
    } else {
        process.fills(target);
    }
    Some(())
}

pub(super) fn curl(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    const SENDS: &str = "d T F data data-raw data-binary data-urlencode json form upload-file";
    // `%output{file}` in what it is to print at the end makes a file.
    let format = parsed.value("w write-out").unwrap_or_default();
    if format.first() == Some(&b'@') || format.windows(6).any(|part| part == b"output") {
        return None;
    }
    let method = parsed.value("X request").unwrap_or(b"GET");
    let reads = matches!(method, b"GET" | b"HEAD" | b"OPTIONS");
    if !reads || (parsed.has(SENDS) && !parsed.has("G get")) {
        process.elsewhere(OTHER_MACHINE);
    }
    if let Some(file) = parsed.value("o output").filter(|file| *file != b"-") {
        process.writes(file);
    }
    Some(())
}

pub(super) fn wget(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    if parsed.has("post-data post-file method body-data body-file") {
        process.elsewhere(OTHER_MACHINE);
    }
    match parsed.value("O output-document") {
        Some(b"-") => {}
        Some(file) => process.writes(file),
        None if parsed.has("spider") => {}
        None => process.fills(parsed.value("P directory-prefix").unwrap_or(b".")),
    }
    Some(())
}
