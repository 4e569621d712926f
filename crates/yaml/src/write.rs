//! From a value to text that readers of YAML 1.1 and 1.2 understand alike.

use std::fmt::Write;

use crate::value::{Map, Value};

/// Longer keys are written `? key`: readers look only so far for the colon of a simple one.
const MAX_SIMPLE_KEY_CHARACTERS: usize = 120;

/// Words that some reader takes for something else than text, in lower case.
const WORDS: [&str; 13] =
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity", "none"];

/// The text of a map, one key per line, in the layout `PyYAML` has.
pub fn write(map: &Map) -> String {
    let mut out = String::new();
    if map.is_empty() {
        return "{}\n".to_owned();
    }
    write_map(&mut out, map, 0);
    out
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n(' ', depth));
}

fn write_map(out: &mut String, map: &Map, depth: usize) {
    for (key, value) in map.iter() {
        indent(out, depth);
        write_entry(out, key, value, depth);
    }
}

/// A key and its value, behind the indentation.
fn write_entry(out: &mut String, key: &Value, value: &Value, depth: usize) {
    let key = scalar(key, Place::Key);
    let is_simple = key.len() <= MAX_SIMPLE_KEY_CHARACTERS;
    if !is_simple {
        out.push_str("? ");
    }
    out.push_str(&key);
    if !is_simple {
        out.push('\n');
        indent(out, depth);
    }
    out.push(':');
    match value {
        Value::List(values) if !values.is_empty() => {
            out.push('\n');
            write_list(out, values, if is_simple { depth } else { depth + 2 });
        }
        Value::Map(map) if !map.is_empty() => {
            out.push('\n');
            write_map(out, map, depth + 2);
        }
        value => {
            out.push(' ');
            out.push_str(&scalar(value, Place::Value));
            out.push('\n');
        }
    }
}

fn write_list(out: &mut String, values: &[Value], depth: usize) {
    for value in values {
        indent(out, depth);
        write_item(out, value, depth);
    }
}

/// One value of a list, behind the indentation. Lists and maps in it begin on the same line.
fn write_item(out: &mut String, value: &Value, depth: usize) {
    out.push_str("- ");
    match value {
        Value::List(values) => {
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    indent(out, depth + 2);
                }
                write_item(out, value, depth + 2);
            }
            if values.is_empty() {
                out.push_str("[]\n");
            }
        }
        Value::Map(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    indent(out, depth + 2);
                }
                write_entry(out, key, value, depth + 2);
            }
        }
        value => {
            out.push_str(&scalar(value, Place::Value));
            out.push('\n');
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    Value,
}

/// A scalar, or an empty list or map.
fn scalar(value: &Value, place: Place) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(true) => "true".to_owned(),
        Value::Bool(false) => "false".to_owned(),
        Value::Number(text) | Value::Time(text) => text.clone(),
        Value::List(_) => "[]".to_owned(),
        Value::Map(_) => "{}".to_owned(),
        Value::Text(text) if is_plain(text, place) => text.clone(),
        Value::Text(text) if text.chars().any(needs_escape) => double_quoted(text),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Is the text nothing but text to every reader, without quotes? In doubt it is not.
fn is_plain(text: &str, place: Place) -> bool {
    let begins_well = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '_'));
    let is_safe = |(at, c): (usize, char)| match c {
        '#' => false,
        ':' => {
            let next = text[at + 1..].chars().next();
            place == Place::Value && next.is_some_and(char::is_alphanumeric)
        }
        _ => !needs_escape(c),
    };
    begins_well
        && !text.ends_with(char::is_whitespace)
        && text.char_indices().all(is_safe)
        && !WORDS.contains(&text.to_lowercase().as_str())
}

/// Characters that a reader refuses, takes for the end of a line, or drops.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
        || (u32::from(c) & 0xfffe) == 0xfffe
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !needs_escape(c) => out.push(c),
            c => {
                // Writing to a string cannot fail.
                let _ = match u32::from(c) {
                    code @ 0..=0xff => write!(out, "\\x{code:02X}"),
                    code @ 0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    code => write!(out, "\\U{code:08X}"),
                };
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn map(entries: &[(&str, Value)]) -> Map {
        let mut map = Map::new();
        for (key, value) in entries {
            map.set(key, value.clone());
        }
        map
    }

    #[test]
    fn the_layout_is_the_one_pyyaml_has() {
        let step = map(&[("step", "read: all".into()), ("status", "completed".into())]);
        let record = map(&[
            ("task", "port the parser".into()),
            ("progress", Value::List(vec![Value::Map(step)])),
            ("state", Value::Map(map(&[("count", Value::Number("1".into()))]))),
            ("nested", Value::List(vec![Value::texts(["a", "b"])])),
            ("blocked", Value::List(Vec::new())),
        ]);
        let expected = "task: port the parser\nprogress:\n- step: 'read: all'\n  status: completed\nstate:\n  count: 1\nnested:\n- - a\n  - b\nblocked: []\n";
        assert_eq!(write(&record), expected);
    }

    #[test]
    fn text_that_looks_like_something_else_is_quoted() {
        let quoted = [
            "",
            " ",
            "yes",
            "No",
            "ON",
            "off",
            "1:30",
            "0o7",
            "012",
            "1_000",
            "2026-04-22",
            "~",
            "null",
            "NULL",
            "=",
            "<<",
            "1e3",
            "inf",
            ".inf",
            "nan",
            "-",
            "- a",
            "a: b",
            "a #b",
            "a:",
            "#",
            "'",
            "*a",
            "&a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "?",
            "[a",
            "{a",
            "a ",
            " a",
            "---",
            "...",
            "true",
            "y",
            "N",
            "\"",
            ",",
            "a:#",
        ];
        for text in quoted {
            let out = scalar(&text.into(), Place::Value);
            assert!(out.starts_with('\''), "{text:?} as {out}");
        }
        for text in ["a", "port the parser", "/tmp/x", "src/a.rs:12", "ä ö", "don't, [or]"] {
            assert_eq!(scalar(&text.into(), Place::Value), text);
        }
        let out = scalar(&"a\n\t\u{0}\u{85}\u{2028}\u{7f}\"\\\u{1fffe}".into(), Place::Value);
        assert_eq!(out, r#""a\n\t\x00\x85\u2028\x7F\"\\\U0001FFFE""#);
    }

    #[test]
    fn long_and_odd_keys_come_back() {
        let long = "k".repeat(3000);
        let record = map(&[
            (&long, Value::texts(["x"])),
            ("a: b", "c".into()),
            ("two\nlines", Value::Map(map(&[(&long, Value::Null)]))),
            ("", Value::Map(Map::new())),
        ]);
        assert_eq!(read(&write(&record)), Ok(Value::Map(record)));
    }
}
