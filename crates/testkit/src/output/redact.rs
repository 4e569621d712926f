//! Makes output comparable: what differs from run to run becomes a word in brackets.
//!
//! Paths of the test's own directories become `$HOME` and `$ROOT`, object ids `[ID]`, dates, times of
//! day and durations `[TIME]`, and ages such as `3m ago` `[AGE]`. The rules look at whole words, so a
//! file called `deadbeef.txt` turns into `[ID].txt` and `v1.2.3` stays as it is.

/// Replaces what differs between runs. `paths` are pairs of a path and the word for it, longest first.
pub fn redact(text: &str, paths: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (path, word) in paths {
        text = text.replace(path, word);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut inside_word = false;
    while let Some(c) = rest.chars().next() {
        let found = if inside_word { None } else { variable_part(rest) };
        if let Some((length, word)) = found {
            out.push_str(word);
            rest = &rest[length..];
            inside_word = true;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            inside_word = c.is_alphanumeric() || c == '_' || (inside_word && c == '.');
        }
    }
    out
}

/// The length of the variable text at the start of `text`, and the word for it.
fn variable_part(text: &str) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    let ends_well = |length: &usize| {
        !text[*length..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    let age = age(bytes).filter(ends_well).map(|length| (length, "[AGE]"));
    let time = || {
        date_time(bytes)
            .or_else(|| clock(bytes))
            .or_else(|| duration(bytes))
            .filter(ends_well)
            .map(|length| (length, "[TIME]"))
    };
    let id = || id(bytes).filter(ends_well).map(|length| (length, "[ID]"));
    age.or_else(time).or_else(id)
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Matches `pattern`, where `0` stands for any digit; returns its length.
fn matches(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    let head = bytes.get(..pattern.len())?;
    let equal = |(b, p): (&u8, &u8)| {
        if *p == b'0' { b.is_ascii_digit() } else { b == p }
    };
    head.iter().zip(pattern).all(equal).then_some(pattern.len())
}

/// Lowercase hexadecimal of the length of an id, short or whole.
fn id(bytes: &[u8]) -> Option<usize> {
    let hex = |b: &&u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let length = bytes.iter().take_while(hex).count();
    (7..=64).contains(&length).then_some(length)
}

/// `2026-05-06`, optionally with a time of day and a zone.
fn date_time(bytes: &[u8]) -> Option<usize> {
    let date = matches(bytes, b"0000-00-00")?;
    let separated = matches!(bytes.get(date), Some(b'T' | b' '));
    match separated.then(|| clock(&bytes[date + 1..])).flatten() {
        Some(length) => {
            let end = date + 1 + length;
            Some(end + zone(&bytes[end..]))
        }
        None => Some(date),
    }
}

/// `02:28`, `02:28:43`, `02:28:43.125`.
fn clock(bytes: &[u8]) -> Option<usize> {
    let Some(whole) = matches(bytes, b"00:00:00") else {
        return matches(bytes, b"00:00");
    };
    match bytes.get(whole) {
        Some(b'.') => match digits(&bytes[whole + 1..]) {
            0 => Some(whole),
            fraction => Some(whole + 1 + fraction),
        },
        _ => Some(whole),
    }
}

fn zone(bytes: &[u8]) -> usize {
    let space = usize::from(bytes.first() == Some(&b' '));
    let rest = &bytes[space..];
    let named =
        [&b"Z"[..], b"UTC"].into_iter().find(|name| rest.starts_with(name)).map(<[u8]>::len);
    let offset = [&b"+00:00"[..], b"-00:00", b"+0000", b"-0000"];
    named
        .or_else(|| offset.iter().find_map(|pattern| matches(rest, pattern)))
        .map_or(0, |length| length + space)
}

/// `12 ms`, `0.4s`, `3 µs`.
fn duration(bytes: &[u8]) -> Option<usize> {
    let number = number(bytes)?;
    let space = usize::from(bytes.get(number) == Some(&b' '));
    let rest = &bytes[number + space..];
    let units: [&[u8]; 6] = ["µs".as_bytes(), b"us", b"ms", b"seconds", b"second", b"s"];
    let unit = units.into_iter().find(|unit| {
        rest.starts_with(unit) && !rest.get(unit.len()).is_some_and(u8::is_ascii_alphanumeric)
    })?;
    Some(number + space + unit.len())
}

fn number(bytes: &[u8]) -> Option<usize> {
    let whole = digits(bytes);
    if whole == 0 {
        return None;
    }
    match (bytes.get(whole), digits(bytes.get(whole + 1..).unwrap_or_default())) {
        (Some(b'.'), fraction) if fraction > 0 => Some(whole + 1 + fraction),
        _ => Some(whole),
    }
}

/// `just now`, `3m ago`, `2 hours ago`, `a minute ago`.
fn age(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"just now") {
        return Some(b"just now".len());
    }
    let units: [&[u8]; 15] = [
        b"seconds", b"second", b"minutes", b"minute", b"hours", b"hour", b"days", b"day", b"weeks",
        b"week", b"months", b"month", b"years", b"year", b"moment",
    ];
    let short: [&[u8]; 8] = [b"mo", b"min", b"s", b"m", b"h", b"d", b"w", b"y"];
    let articles = [&b"a"[..], b"an", b"one"];
    let amounts = match digits(bytes) {
        0 => articles.iter().filter(|a| bytes.starts_with(a)).map(|a| a.len()).max()?,
        count => count,
    };
    let space = usize::from(bytes.get(amounts) == Some(&b' '));
    let rest = &bytes[amounts + space..];
    units.iter().chain(&short).find_map(|unit| {
        let after = rest.strip_prefix(*unit)?;
        after.starts_with(b" ago").then_some(amounts + space + unit.len() + b" ago".len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_runs_becomes_a_word() {
        for (text, expected) in [
            ("saved 3f2a9c1b04 in 12 ms", "saved [ID] in [TIME]"),
            ("commit 0123456789012345678901234567890123456789\n", "commit [ID]\n"),
            ("id:1234567", "id:[ID]"),
            ("2026-11-15T02:28:43Z x", "[TIME] x"),
            ("2026-11-15T02:28:43.123+01:00", "[TIME]"),
            ("2026-11-15 02:28  reason", "[TIME]  reason"),
            ("at 02:28 UTC", "at [TIME] UTC"),
            ("3m ago, 2 hours ago, just now, a minute ago", "[AGE], [AGE], [AGE], [AGE]"),
            ("took 0.41s.", "took [TIME]."),
            ("[2026-11-15] ok", "[[TIME]] ok"),
        ] {
            assert_eq!(redact(text, &[]), expected);
        }
    }

    #[test]
    fn what_does_not_differ_stays() {
        for text in [
            "3 files, +12/-4",
            "version 0.1.0",
            "a.txt b2.rs 1.5 MB",
            "0600 12345",
            "decade feed",
            "x3f2a9c1b04",
            "5 seconds_left",
            "é 100:7",
        ] {
            assert_eq!(redact(text, &[]), text);
        }
    }

    #[test]
    fn paths_of_the_test_are_named() {
        let paths = [("/tmp/x1/user", "$HOME"), ("/tmp/x1", "$ROOT")];
        assert_eq!(redact("/tmp/x1/user/.a in /tmp/x1/work", &paths), "$HOME/.a in $ROOT/work");
    }
}
