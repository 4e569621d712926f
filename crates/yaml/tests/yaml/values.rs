//! Records to try: strings that have confused some reader, and random ones.

use herma_yaml::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;

/// Texts that mean something else without quotes, or that are hard to write.
pub(super) const NASTY: [&str; 96] = [
    "",
    " ",
    "  ",
    "yes",
    "Yes",
    "no",
    "NO",
    "on",
    "off",
    "y",
    "n",
    "Y",
    "true",
    "False",
    "null",
    "Null",
    "~",
    "=",
    "<<",
    "1",
    "-1",
    "+1",
    "0",
    "012",
    "0o7",
    "0x1F",
    "0b1",
    "1_000",
    "1:30",
    "1:30:00",
    "1.5",
    "1e3",
    "1.0e+3",
    "1E5",
    ".5",
    "-.5",
    ".inf",
    "-.Inf",
    ".nan",
    "inf",
    "nan",
    "Infinity",
    "2026-04-22",
    "2026-04-22T23:15:00",
    "2026-04-22 23:15:00Z",
    "12:30:45",
    "- a",
    "-",
    "--",
    "---",
    "...",
    "? a",
    "?",
    ": a",
    ":",
    "a: b",
    "a:",
    "a:b",
    "a #b",
    "#a",
    "a#b",
    "[a]",
    "{a: b}",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!a",
    "!!str a",
    "|",
    ">",
    "%a",
    "@a",
    "`a`",
    "'",
    "''",
    "it's",
    "\"",
    "\"a\"",
    "\\",
    "\\n",
    "a\nb",
    "\n",
    "a\n",
    "\na",
    " a",
    "a ",
    "a\t",
    "\ta",
    "a\r\nb",
    "line one\n  line two\n\nline four\n",
    "\u{0}\u{7}\u{1b}[2J",
    "ä 日本語 🙂 \u{feff}\u{200b}\u{202e}\u{fffd}",
];

/// More of them, too long or too odd for a line above.
pub(super) fn nasty() -> Vec<String> {
    let mut all: Vec<String> = NASTY.iter().map(|text| (*text).to_owned()).collect();
    all.extend(
        [
            "a\u{2028}b",
            "a\u{2029}\nb",
            "a\n\u{2028}b",
            "\u{2028}",
            "a \u{2028} b",
            "\u{7f}\u{80}\u{9f}\u{a0}",
            "\u{fffe}\u{ffff}\u{1fffe}\u{10ffff}",
            "a b\n\n\n c",
        ]
        .map(str::to_owned),
    );
    all.push("word ".repeat(60));
    all.push("long words, 'quoted' and: more ".repeat(20));
    all.push(format!("x{}", "y".repeat(2000)));
    all
}

/// A record with every nasty text as a value, in a list, and as a key.
pub(super) fn nasty_record() -> Map {
    let mut record = Map::new();
    let mut state = Map::new();
    for text in nasty() {
        state.set(&text, text.clone());
    }
    record.set("task", "nasty");
    record.set("decisions", Value::texts(nasty()));
    record.set("state", Value::Map(state));
    record.set("empty", Value::List(vec![Value::Map(Map::new()), Value::List(Vec::new())]));
    record
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(nasty()),
        2 => ".{0,20}",
        2 => "[-a-z0-9:.,_ '\"#\\[\\]{}&*!|>%@`\\\\\n\t]{0,30}",
        1 => vec(any::<char>(), 0..30).prop_map(String::from_iter),
        1 => "([a-z]{1,12}[ ,:\n]){0,40}",
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(|number| Value::Number(number.to_string())),
        1 => (-1e9..1e9f64).prop_map(|number| {
            serde_json::from_value(number.into()).expect("a number is a value")
        }),
    ]
}

fn map_of(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    vec((text(), values), 0..6).prop_map(|entries| {
        let mut map = Map::new();
        for (key, value) in entries {
            map.set(&key, value);
        }
        map
    })
}

/// Any record.
pub(super) fn record() -> impl Strategy<Value = Map> {
    let value = scalar().prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::List),
            map_of(inner).prop_map(Value::Map),
        ]
    });
    map_of(value)
}
