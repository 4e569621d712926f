//! An object of JSON the way Python reads and writes it.
//!
//! `serde_json` reads it, and what a member is stays as it was spelled: a file of Hermes must come out as Hermes would have
//! written it. Python puts a path that is not UTF-8 into a string as lone surrogates, which only [`string`] can see.

use std::fmt::{self, Write};

use serde::Deserializer as _;
use serde::de::{Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in the order of the file, each key once, each value as it is spelled.
pub(super) type Members = Vec<(String, String)>;

/// The members of the object in `bytes`, if it is one object and nothing else.
pub(super) fn parse(bytes: &[u8]) -> Option<Members> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Members;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
            let mut members = Members::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                set(&mut members, &key, value.get().to_owned());
            }
            Ok(members)
        }
    }
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let members = text.deserialize_map(Object).ok()?;
    text.end().is_ok().then_some(members)
}

/// What the string at the beginning of `text` says: UTF-8, and lone surrogates in its manner.
pub(super) fn string(text: &str) -> Option<Vec<u8>> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
    let is_string = text.trim_start().starts_with('"');
    let mut text = serde_json::Deserializer::from_str(text);
    is_string.then(|| text.deserialize_bytes(Text).ok()).flatten()
}

/// The text of the first member called `key` in what may be only half an object.
pub(super) fn member_of_half(bytes: &[u8], key: &str) -> Option<Vec<u8>> {
    let text = bytes.utf8_chunks().next()?.valid();
    let (_, rest) = text.split_once(&format!("\"{key}\""))?;
    string(rest.trim_start().strip_prefix(':')?)
}

/// Sets `key`, in its place if it is there and at the end if not.
pub(super) fn set(members: &mut Members, key: &str, value: String) {
    match members.iter_mut().find(|(name, _)| name == key) {
        Some((_, old)) => *old = value,
        None => members.push((key.to_owned(), value)),
    }
}

/// The object as Python spells it.
pub(super) fn render(members: &Members) -> String {
    let member = |(key, value): &(String, String)| format!("{}: {value}", quoted(key.as_bytes()));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
}

/// A text as Python spells it; a byte that is no part of UTF-8 becomes a lone surrogate.
pub(super) fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                ' '..='~' => out.push(c),
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\udc{byte:02x}");
        }
    }
    out + "\""
}

/// A float as Python spells it. What is no number becomes zero: no reader expects `NaN` for a time.
pub fn python_float(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:?}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    let mantissa = mantissa.strip_suffix(".0").unwrap_or(mantissa);
    format!("{mantissa}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> Option<String> {
        parse(text.as_bytes()).map(|members| render(&members))
    }

    #[test]
    fn values_come_out_as_they_were_spelled() {
        for (given, written) in [
            (r#"{"b":1,"a":[true, null, {}],"b":2.50}"#, r#"{"b": 2.50, "a": [true, null, {}]}"#),
            (
                r#" { "x" : "\udcff\ud800x" , "y" : -1e+5 } "#,
                r#"{"x": "\udcff\ud800x", "y": -1e+5}"#,
            ),
            ("{\"\u{e4}\u{1f600}\u{7f}\\/\\b\":0}", r#"{"\u00e4\ud83d\ude00\u007f/\b": 0}"#),
        ] {
            assert_eq!(again(given).as_deref(), Some(written), "{given}");
        }
    }

    #[test]
    fn what_is_no_object_is_nothing() {
        let inside =
            ["", "1", "\"a\":", "\"a\" 1", "\"a\":01", "\"a\":NaN", "\"a\":\"\\x\"", "a:1"];
        for text in inside {
            assert_eq!(again(&format!("{{{text}}}")).is_some(), text.is_empty(), "{text}");
        }
        for text in ["", "{", "[]", "1", "{} 2", "\u{feff}{}", "{\"\\ud800\":1}"] {
            assert_eq!(again(text), None, "{text}");
        }
        assert_eq!(parse(b"{\"\xff\":1}"), None);
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(parse(deep.as_bytes()), None);
    }

    #[test]
    fn floats_are_spelled_like_python() {
        for (value, spelled) in [
            (1_794_702_913.365_640_6, "1794702913.3656406"),
            (1_794_702_913.0, "1794702913.0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (f64::NAN, "0.0"),
        ] {
            assert_eq!(python_float(value), spelled);
        }
    }
}
