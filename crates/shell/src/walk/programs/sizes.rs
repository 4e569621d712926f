//! Programs that are told how large a file becomes. One that is too large to be saved is not put back by
//! itself: the save before an undo cannot take it in.

use crate::effects::Effect;
use crate::options::Parsed;
use crate::walk::process::Process;

pub(super) fn truncate(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let size = match (parsed.value("s size"), parsed.value("r reference")) {
        _ if parsed.has("o io-blocks") => None,
        (Some(size), None) => truncated_size(size),
        (None, Some(reference)) => process.source_size(reference),
        _ => None,
    };
    for file in &parsed.operands {
        process.does(Effect::Grows((*file).into(), size));
    }
    Some(())
}

/// How large `truncate -s` makes a file at most; `None` if that depends on the file.
fn truncated_size(text: &[u8]) -> Option<u64> {
    match text {
        [b'-' | b'/', ..] => Some(0),
        [b'<' | b'>', size @ ..] | size => number(size, 1),
    }
}

pub(super) fn fallocate(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let offset = parsed.value("o offset").unwrap_or(b"0");
    let length = number(parsed.value("l length")?, 1);
    let size = number(offset, 1).and_then(|offset| length?.checked_add(offset));
    for file in &parsed.operands {
        process.does(Effect::Grows((*file).into(), size));
    }
    Some(())
}

pub(super) fn dd(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    let mut words = Vec::new();
    for text in &parsed.operands {
        let equals = text.iter().position(|byte| *byte == b'=')?;
        words.push((&text[..equals], &text[equals + 1..]));
    }
    let value = |name: &[u8]| {
        let mut given = words.iter().rev();
        given.find(|(found, _)| *found == name).map(|(_, v)| *v)
    };
    if let Some(file) = value(b"of") {
        let source = value(b"if").and_then(|source| process.source_size(source));
        let is_known = words.iter().all(|(name, value)| is_sized(name, value));
        let size = is_known.then(|| written(&value, source)).flatten();
        process.does(Effect::Grows(file.into(), size));
    }
    Some(())
}

/// Does an operand of `dd` leave the size to be told from the others?
fn is_sized(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"if" | b"of" | b"bs" | b"ibs" | b"obs" | b"count" | b"seek" | b"skip" | b"status" => true,
        b"conv" => value
            .split(|byte| *byte == b',')
            .all(|how| matches!(how, b"notrunc" | b"fsync" | b"fdatasync" | b"noerror")),
        b"iflag" => value == b"fullblock",
        _ => false,
    }
}

/// How much `dd` writes at most, from a source of this size.
fn written<'a>(value: &impl Fn(&[u8]) -> Option<&'a [u8]>, source: Option<u64>) -> Option<u64> {
    let block = |name: &[u8]| number(value(b"bs").or(value(name)).unwrap_or(b"512"), 512);
    let start = number(value(b"seek").unwrap_or(b"0"), 512)?.checked_mul(block(b"obs")?)?;
    let length = match value(b"count") {
        Some(count) => number(count, 512)?.checked_mul(block(b"ibs")?)?,
        None => source?,
    };
    start.checked_add(length)
}

/// A number as these programs take it: `12`, `4K`, `3MB`, `2x512`. What a `b` at its end stands for
/// differs.
fn number(text: &[u8], block: u64) -> Option<u64> {
    let mut product: u64 = 1;
    for factor in text.split(|byte| *byte == b'x') {
        let digits = factor.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, unit) = factor.split_at(digits.count());
        let digits: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        product = product.checked_mul(digits)?.checked_mul(unit_size(unit, block)?)?;
    }
    Some(product)
}

fn unit_size(unit: &[u8], block: u64) -> Option<u64> {
    let power = match unit.first().map(u8::to_ascii_uppercase) {
        None => return Some(1),
        Some(b'C') if unit.len() == 1 => return Some(1),
        Some(b'W') if unit.len() == 1 => return Some(2),
        Some(b'B') if unit.len() == 1 => return Some(block),
        Some(b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        _ => return None,
    };
    match &unit[1..] {
        b"" | b"iB" => Some(1024_u64.pow(power)),
        b"B" => Some(1000_u64.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_programs_do() {
        for (text, expected) in [
            ("0", Some(0)),
            ("12", Some(12)),
            ("4K", Some(4096)),
            ("3MB", Some(3_000_000)),
            ("1MiB", Some(1 << 20)),
            ("2x512", Some(1024)),
            ("2b", Some(1024)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1Q", None),
            ("K", None),
            ("99999999999999999999", None),
            ("9999999P", None),
        ] {
            assert_eq!(number(text.as_bytes(), 512), expected, "{text}");
        }
    }

    #[test]
    fn a_size_that_depends_on_the_file_is_not_known() {
        for (text, expected) in [
            ("20M", Some(20 << 20)),
            ("-5", Some(0)),
            ("<1K", Some(1024)),
            (">1K", Some(1024)),
            ("+1", None),
            ("%4096", None),
        ] {
            assert_eq!(truncated_size(text.as_bytes()), expected, "{text}");
        }
    }
}
