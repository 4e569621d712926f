//! Reads JSON, with or without comments, into a tree that knows where everything stands in the text.
//!
//! Whether a scalar is valid, and what it says, is asked of `serde_json`. JSON allows numbers that are too large
//! for any type and escapes that are no character; what nobody can hold is kept as it is written, because it is
//! only ever compared.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value as Data;

use super::JsonError;

/// As deep as `serde_json` goes.
const MAX_DEPTH: usize = 128;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// What a value is, as far as an edit needs it.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Object(Vec<Item>),
    Array(Vec<Item>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Other(Data),
}

/// A member of an object or an element of an array.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The name of a member.
    pub(crate) key: Option<String>,
    /// Where it begins: at the key of a member.
    pub(crate) start: usize,
    pub(crate) node: Node,
    /// Where the comma behind it is.
    pub(crate) comma: Option<usize>,
}

impl Node {
    /// The items of an object or array.
    pub(crate) fn items(&self) -> &[Item] {
        match &self.value {
            Value::Object(items) | Value::Array(items) => items,
            Value::Text(_) | Value::Other(_) => &[],
        }
    }

    /// The members of an object.
    pub(crate) fn members(&self) -> Option<&[Item]> {
        match &self.value {
            Value::Object(items) => Some(items),
            _ => None,
        }
    }

    /// The elements of an array.
    pub(crate) fn elements(&self) -> Option<&[Item]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// A member's value; the last one wins, as everywhere.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let found = self.members()?.iter().rev();
        let mut found = found.filter(|item| item.key.as_deref() == Some(key));
        found.next().map(|item| &item.node)
    }

    /// What it says; of members with the same name the last.
    pub(crate) fn data(&self) -> Data {
        match &self.value {
            Value::Object(items) => items
                .iter()
                .map(|item| (item.key.clone().unwrap_or_default(), item.node.data()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Array(items) => items.iter().map(|item| item.node.data()).collect(),
            Value::Text(text) => text.as_str().into(),
            Value::Other(other) => other.clone(),
        }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// What the parser found besides the values: places that strict JSON does not allow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) comments: Vec<Range<usize>>,
    pub(crate) trailing_commas: Vec<usize>,
}

/// Reads the whole text as one value.
pub(crate) fn parse(text: &str) -> Result<(Node, Extras), JsonError> {
    let mut parser = Parser { bytes: text.as_bytes(), text, at: 0, extras: Extras::default() };
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    parser.skip_trivia()?;
    let root = parser.value(0)?;
    parser.skip_trivia()?;
    if parser.at < parser.bytes.len() {
        return Err(parser.error("something follows the value"));
    }
    Ok((root, parser.extras))
}

/// The places of the comments between `from` and the next token.
pub(crate) fn comments_after(text: &str, from: usize) -> Vec<Range<usize>> {
    let mut parser = Parser { bytes: text.as_bytes(), text, at: from, extras: Extras::default() };
    // The text was parsed before: trivia cannot fail.
    let _ = parser.skip_trivia();
    parser.extras.comments
}

struct Parser<'t> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
    extras: Extras,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn error(&self, what: &'static str) -> JsonError {
        let before = self.bytes[..self.at.min(self.bytes.len())].split(|byte| *byte == b'\n');
        let line = before.count();
        JsonError::Broken { line, what: what.to_owned() }
    }

    fn skip_trivia(&mut self) -> Result<(), JsonError> {
        loop {
            let rest = &self.bytes[self.at..];
            match rest {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => self.at += 1,
                [b'/', b'/', ..] => {
                    let length = rest.iter().position(|byte| *byte == b'\n');
                    let mut end = self.at + length.unwrap_or(rest.len());
                    if self.bytes[self.at..end].ends_with(b"\r") {
                        end -= 1;
                    }
                    self.extras.comments.push(self.at..end);
                    self.at = end;
                }
                [b'/', b'*', ..] => {
                    let length = self.text[self.at + 2..].find("*/");
                    let length = length.ok_or_else(|| self.error("a comment is not closed"))?;
                    let end = self.at + 2 + length + 2;
                    self.extras.comments.push(self.at..end);
                    self.at = end;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonError> {
        if depth >= MAX_DEPTH {
            return Err(self.error("it is nested too deeply"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => Value::Object(self.items(b'}', depth)?),
            Some(b'[') => Value::Array(self.items(b']', depth)?),
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                let rest = &self.bytes[self.at..];
                let is_part =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let length = rest.iter().position(|byte| !is_part(byte));
                self.at += length.unwrap_or(rest.len());
                let word = &self.text[start..self.at];
                let scalar = serde_json::from_str(word).ok();
                let scalar = scalar.or_else(|| as_written(word).map(Data::String));
                Value::Other(scalar.ok_or_else(|| self.error("a value is not valid"))?)
            }
            _ => return Err(self.error("a value is missing")),
        };
        Ok(Node { span: start..self.at, value })
    }

    fn items(&mut self, close: u8, depth: usize) -> Result<Vec<Item>, JsonError> {
        let mut items: Vec<Item> = Vec::new();
        self.at += 1;
        loop {
            self.skip_trivia()?;
            if self.peek() == Some(close) {
                self.at += 1;
                let last = items.last().and_then(|item| item.comma);
                self.extras.trailing_commas.extend(last);
                return Ok(items);
            }
            if items.last().is_some_and(|item| item.comma.is_none()) {
                return Err(self.error("a comma is missing"));
            }
            let start = self.at;
            let key = if close == b'}' { Some(self.key()?) } else { None };
            let node = self.value(depth + 1)?;
            self.skip_trivia()?;
            let comma = (self.peek() == Some(b',')).then_some(self.at);
            self.at += usize::from(comma.is_some());
            items.push(Item { key, start, node, comma });
        }
    }

    fn key(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("a name in quotes is missing"));
        }
        let key = self.string()?;
        self.skip_trivia()?;
        if self.peek() != Some(b':') {
            return Err(self.error("a colon is missing"));
        }
        self.at += 1;
        self.skip_trivia()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(self.error("a text is not closed")),
            }
        }
        self.at += 1;
        let raw = &self.text[start..self.at];
        let text = serde_json::from_str(raw).ok();
        text.or_else(|| as_written(raw)).ok_or_else(|| self.error("a text is not valid"))
    }
}

/// A scalar that follows the grammar, though it cannot be held.
fn as_written(scalar: &str) -> Option<String> {
    let is_valid = serde_json::from_str::<IgnoredAny>(scalar).is_ok();
    is_valid.then(|| scalar.to_owned())
}
