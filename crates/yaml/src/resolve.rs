//! What a word without quotes means: the rules of YAML 1.1 as `PyYAML` applies them.

use crate::numbers::{is_float, is_integer};
use crate::value::Value;

/// The value of a plain scalar.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        _ if is_integer(text) || is_float(text) => Value::Number(text.to_owned()),
        _ if is_timestamp(text) => Value::Time(text.to_owned()),
        _ => text.into(),
    }
}

/// A date, or a date and a time of day.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_number = |part: &[u8], most: usize| {
        !part.is_empty() && part.len() <= most && part.iter().all(u8::is_ascii_digit)
    };
    if bytes.len() < 8 || !text.is_ascii() || !is_number(&bytes[..4], 4) || bytes[4] != b'-' {
        return false;
    }
    let end = text[5..].find(|c: char| c != '-' && !c.is_ascii_digit());
    let (date, rest) = text[5..].split_at(end.unwrap_or(text.len() - 5));
    let Some((month, day)) = date.split_once('-') else { return false };
    if rest.is_empty() {
        return month.len() == 2 && day.len() == 2 && is_number(day.as_bytes(), 2);
    }
    if !is_number(month.as_bytes(), 2) || !is_number(day.as_bytes(), 2) {
        return false;
    }
    let clock = match rest.strip_prefix(['T', 't']) {
        Some(clock) => clock,
        None => rest.trim_start_matches([' ', '\t']),
    };
    clock.len() < rest.len() && is_clock(clock)
}

/// `H:MM:SS`, a fraction, and how far from UTC.
fn is_clock(text: &str) -> bool {
    let end = text.find(|c: char| c != ':' && !c.is_ascii_digit());
    let (clock, rest) = text.split_at(end.unwrap_or(text.len()));
    let parts: Vec<usize> = clock.split(':').map(str::len).collect();
    if !matches!(parts[..], [1 | 2, 2, 2]) {
        return false;
    }
    let rest = match rest.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let zone = rest.trim_start_matches([' ', '\t']);
    if zone.is_empty() {
        return rest.is_empty();
    }
    let Some(offset) = zone.strip_prefix(['-', '+']) else { return zone == "Z" };
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match offset.split_once(':') {
        Some((hours, minutes)) => {
            matches!(hours.len(), 1 | 2)
                && minutes.len() == 2
                && is_number(hours)
                && is_number(minutes)
        }
        None => matches!(offset.len(), 1 | 2) && is_number(offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_they_mean_to_pyyaml() {
        let numbers = [
            "0",
            "-1",
            "+12",
            "1_000",
            "012",
            "0b101",
            "0xfF",
            "1:30",
            "190:20:30",
            "1.5",
            "1.",
            "-1.5e+3",
            ".5",
            "1:30.5",
            ".inf",
            "-.INF",
            ".nan",
            "0_7",
            "1.0e-7",
        ];
        for text in numbers {
            assert_eq!(resolve(text), Value::Number(text.to_owned()), "{text}");
        }
        let times = [
            "2026-04-22",
            "2026-04-22T23:15:00",
            "2026-4-2 3:15:00.5 Z",
            "2026-04-22 23:15:00.123456+02:00",
            "2026-04-22t23:15:00 -5",
            "2026-13-45",
        ];
        for text in times {
            assert_eq!(resolve(text), Value::Time(text.to_owned()), "{text}");
        }
        let texts = [
            "1e3",
            "0o7",
            "089",
            "1:60",
            "-.5",
            "1.0e3",
            "y",
            "n",
            "nan",
            "inf",
            "=",
            "2026-4-2",
            "2026-04-22T23:15",
            "2026-04-22x",
            "2026-",
            "1 2",
            "0x",
            "-",
            "+",
            "_1",
            "--1",
            "é",
            "2026-04-22 ",
            "2026-04-2é",
        ];
        for text in texts {
            assert_eq!(resolve(text), Value::Text(text.to_owned()), "{text}");
        }
    }
}
