//! From the text of a file to a value. The file may have been written by anybody.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::resolve::resolve;
use crate::value::{Entry, Line, Map, Value};

/// Deeper nesting is refused.
const MAX_NESTING: usize = 64;

/// What aliases may add to a file, in bytes: without a limit, a few lines can stand for gigabytes.
const MAX_ALIAS_BYTES: usize = 1 << 20;

const TOO_DEEP: &str = "nested more than 64 levels deep";
const TOO_MANY_COPIES: &str = "aliases repeat too much";
const COMPLEX_KEY: &str = "a key that is neither text nor a number";
/// How many lines are moved to the right: no record has that many.
const MAX_MOVED_LINES: usize = 10_000;

/// Why a text is no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// Is it well-formed, with something in it that is not read here?
    pub is_only_unknown: bool,
}

/// What may be read otherwise than `PyYAML` reads it.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What a word without quotes means.
    pub resolve: fn(&str) -> Value,
    /// Is a key that stands twice in a map an error? Else the last one counts.
    pub unique_keys: bool,
    /// Is a value with a tag that is not known read as if it had none? Else it is an error.
    pub ignore_tags: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { resolve, unique_keys: false, ignore_tags: false }
    }
}

/// Reads one document.
pub fn read(text: &str) -> Result<Value, YamlError> {
    read_by(text, Rules::default())
}

/// Reads one document by rules of its own.
pub fn read_by(text: &str, rules: Rules) -> Result<Value, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let indented = with_old_breaks_indented(text);
    let text = indented.as_ref();
    let mut builder = Builder {
        text,
        rules,
        open: Vec::new(),
        anchors: HashMap::new(),
        copied: 0,
        documents: 0,
        whole: None,
        line: 1,
    };
    let options = granit_parser::options! { emit_comments: false };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| YamlError {
            line: error.marker().line(),
            what: error.info(),
            is_only_unknown: false,
        })?;
        builder.line = span.start.line();
        builder.take(event, &span)?;
    }
    Ok(builder.whole.unwrap_or_default())
}

/// A list or a map whose end has not been read.
struct Open {
    content: Content,
    anchor: usize,
    line: usize,
}

enum Content {
    List(Vec<Value>),
    /// What is in the map, the key that waits for its value, and what is to be merged in.
    Map(Vec<Entry>, Option<Key>, Vec<Map>),
}

enum Key {
    Plain(Value),
    /// `<<`: what is in its value belongs to the map, where the map does not say otherwise.
    Merge,
}

struct Builder<'t> {
    text: &'t str,
    rules: Rules,
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    copied: usize,
    documents: usize,
    whole: Option<Value>,
    line: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.grammar("a second document"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_merge = style == ScalarStyle::Plain && text == "<<" && tag.is_none();
                if is_merge && let Some(Content::Map(_, key @ None, _)) = self.content() {
                    *key = Some(Key::Merge);
                    return Ok(());
                }
                let value = self.scalar(&text, style, tag.as_deref(), span)?;
                self.finish(value, anchor, self.line)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), "seq")?;
                self.begin(Content::List(Vec::new()), anchor)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_tag(tag.as_deref(), "map")?;
                self.begin(Content::Map(Vec::new(), None, Vec::new()), anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { content, anchor, line }) = self.open.pop() else {
                    return Err(self.grammar("an end without a beginning"));
                };
                let value = match content {
                    Content::List(values) => Value::List(values),
                    Content::Map(entries, _, merged) => {
                        self.check_keys(&entries)?;
                        Value::Map(merge(entries, &merged))
                    }
                };
                self.finish(value, anchor, line)?;
            }
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor) else {
                    return Err(self.grammar("an alias inside of what it stands for"));
                };
                self.copied += value.weight();
                if self.copied > MAX_ALIAS_BYTES {
                    return Err(self.grammar(TOO_MANY_COPIES));
                }
                let value = value.clone();
                self.finish(value, 0, self.line)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn grammar(&self, what: &str) -> YamlError {
        YamlError { line: self.line, what: what.to_owned(), is_only_unknown: false }
    }

    fn content(&mut self) -> Option<&mut Content> {
        self.open.last_mut().map(|open| &mut open.content)
    }

    fn begin(&mut self, content: Content, anchor: usize) -> Result<(), YamlError> {
        if self.open.len() >= MAX_NESTING {
            return Err(self.grammar(TOO_DEEP));
        }
        if let Some(Content::Map(_, None, _)) = self.content() {
            return Err(self.grammar(COMPLEX_KEY));
        }
        self.open.push(Open { content, anchor, line: self.line });
        Ok(())
    }

    /// Puts a complete value, which begins in `line`, where it belongs.
    fn finish(&mut self, value: Value, anchor: usize, line: usize) -> Result<(), YamlError> {
        if anchor != 0 {
            self.copied += value.weight();
            if self.copied > MAX_ALIAS_BYTES {
                return Err(self.grammar(TOO_MANY_COPIES));
            }
            self.anchors.insert(anchor, value.clone());
        }
        match self.content() {
            None => self.whole = Some(value),
            Some(Content::List(values)) => values.push(value),
            Some(Content::Map(entries, key, merged)) => match key.take() {
                None if matches!(value, Value::List(_) | Value::Map(_)) => {
                    return Err(self.grammar(COMPLEX_KEY));
                }
                None => *key = Some(Key::Plain(value)),
                Some(Key::Plain(key)) => {
                    let line = Line(Some(line as u64));
                    entries.push(Entry { key, value, line });
                }
                Some(Key::Merge) => match to_merge(value) {
                    Some(maps) => merged.extend(maps),
                    None => return Err(self.grammar("`<<` merges maps only")),
                },
            },
        }
        // An alias adds the depth of what it stands for.
        if self.open.is_empty() && self.whole.as_ref().is_some_and(|v| depth(v) > MAX_NESTING) {
            return Err(self.grammar(TOO_DEEP));
        }
        Ok(())
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<Value, YamlError> {
        let Some(tag) = tag else {
            return Ok(match style {
                ScalarStyle::Plain => (self.rules.resolve)(text),
                ScalarStyle::SingleQuoted => match span.slice(self.text) {
                    Some(source) if source.contains(OLD_BREAKS) => single_quoted(source).into(),
                    _ => text.into(),
                },
                _ => text.into(),
            });
        };
        let value = (self.rules.resolve)(text);
        let fits = match (tag.core_suffix(), &value) {
            (Some("str"), _) => return Ok(text.into()),
            (Some("null"), Value::Null)
            | (Some("bool"), Value::Bool(_))
            | (Some("int" | "float"), Value::Number(_))
            | (Some("timestamp"), Value::Time(_)) => true,
            (Some("null" | "bool" | "int" | "float" | "timestamp"), _) => false,
            // The tag `!` says that it is text.
            (None, _) if tag.parts() == ("!", "") || tag.parts() == ("", "!") => {
                return Ok(text.into());
            }
            _ if self.rules.ignore_tags => true,
            _ => return Err(self.unknown(tag)),
        };
        if fits { Ok(value) } else { Err(self.grammar("a tag that does not fit its value")) }
    }

    fn check_keys(&self, entries: &[Entry]) -> Result<(), YamlError> {
        let mut seen = HashSet::new();
        let mut entries = entries.iter().filter(|_| self.rules.unique_keys);
        match entries.find(|entry| !seen.insert(&entry.key)) {
            Some(Entry { key, line, .. }) => Err(YamlError {
                line: line.0.map_or(self.line, |line| line as usize),
                what: format!(
                    "the key `{}` stands there twice",
                    key.as_key().unwrap_or_default().escape_debug()
                ),
                is_only_unknown: false,
            }),
            None => Ok(()),
        }
    }

    fn check_tag(&self, tag: Option<&Tag>, expected: &str) -> Result<(), YamlError> {
        match tag {
            Some(tag) if tag.core_suffix() != Some(expected) && !self.rules.ignore_tags => {
                Err(self.unknown(tag))
            }
            _ => Ok(()),
        }
    }

    fn unknown(&self, tag: &Tag) -> YamlError {
        let what = format!("data of the kind {}", tag.original());
        YamlError { line: self.line, what, is_only_unknown: true }
    }
}

fn depth(value: &Value) -> usize {
    1 + match value {
        Value::List(values) => values.iter().map(depth).max().unwrap_or(0),
        Value::Map(map) => map.iter().map(|(_, v)| depth(v)).max().unwrap_or(0),
        _ => 0,
    }
}

fn to_merge(value: Value) -> Option<Vec<Map>> {
    match value {
        Value::Map(map) => Some(vec![map]),
        Value::List(values) => values
            .into_iter()
            .map(|value| match value {
                Value::Map(map) => Some(map),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// Merged keys come first; the map's own win, then those of the first map that has them.
fn merge(own: Vec<Entry>, merged: &[Map]) -> Map {
    let merged = merged.iter().rev().flat_map(Map::entries).cloned();
    Map::from_entries(merged.chain(own))
}

/// What ends a line in version 1.1 and no longer in 1.2.
const OLD_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r') || OLD_BREAKS.contains(&c)
}

/// The text with every old break at the beginning of a line moved to the right. `PyYAML` writes such lines
/// inside of quotes, where the space before a break means nothing, but where version 1.2 wants some.
fn with_old_breaks_indented(text: &str) -> Cow<'_, str> {
    if !text.contains(OLD_BREAKS) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut moved = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(OLD_BREAKS) && moved < MAX_MOVED_LINES {
            moved += 1;
            out.extend(std::iter::repeat_n(' ', 2 * MAX_NESTING + 2));
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

/// The text between single quotes, by version 1.1: `PyYAML` writes U+2028 and its like as ends of lines,
/// with the indentation of the next line behind them.
fn single_quoted(source: &str) -> String {
    let inner = source.trim().trim_start_matches('\'');
    let inner = inner.strip_suffix('\'').unwrap_or(inner);
    let inner = inner.replace("''", "'").replace("\r\n", "\n");
    let mut out = String::new();
    let mut rest = inner.as_str();
    while let Some(at) = rest.find(is_break) {
        out.push_str(rest[..at].trim_end_matches([' ', '\t']));
        let end = rest[at..].find(|c: char| !is_break(c) && c != ' ' && c != '\t');
        let gap = &rest[at..][..end.unwrap_or(rest.len() - at)];
        let mut breaks = gap.chars().filter(|c| is_break(*c)).map(|c| match c {
            '\u{2028}' | '\u{2029}' => c,
            _ => '\n',
        });
        let first = breaks.next().unwrap_or('\n');
        let others: String = breaks.collect();
        match (first, others.is_empty()) {
            ('\n', true) => out.push(' '),
            ('\n', false) => {}
            (first, _) => out.push(first),
        }
        out.push_str(&others);
        rest = &rest[at + gap.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn json(text: &str) -> String {
        let value = read(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        serde_json::to_string(&value).unwrap()
    }

    #[test]
    fn quoted_words_are_text_and_plain_ones_are_what_pyyaml_takes_them_for() {
        let text = "a: yes\nb: 'yes'\nc: 1:30\nd: \"1:30\"\ne: 2026-04-22\nf: ~\ng:\nh: !!str 12\n";
        let expected =
            r#"{"a":true,"b":"yes","c":90,"d":"1:30","e":"2026-04-22","f":null,"g":null,"h":"12"}"#;
        assert_eq!(json(text), expected);
    }

    #[test]
    fn anchors_aliases_and_merges_are_followed() {
        let text = "a: &x [1, 2]\nb: *x\nc: &m {k: 1, l: 2}\nd:\n  <<: *m\n  k: 3\n";
        assert_eq!(json(text), r#"{"a":[1,2],"b":[1,2],"c":{"k":1,"l":2},"d":{"k":3,"l":2}}"#);
    }

    #[test]
    fn old_ends_of_lines_are_read_as_pyyaml_reads_them() {
        assert_eq!(read("'a\u{2028}  b'").unwrap(), "a\u{2028}b".into());
        assert_eq!(read("'a\u{2028}\n  b'").unwrap(), "a\u{2028}\nb".into());
        assert_eq!(read("'a\n\n\u{2028}  b'").unwrap(), "a\n\u{2028}b".into());
        assert_eq!(read("'a\u{85}  b''c'").unwrap(), "a b'c".into());
    }

    #[test]
    fn values_have_their_lines_and_the_same_value_is_equal_wherever_it_stands() {
        let value = read("a: 1\n\nb:\n  - x\nc: {k:\n  2}\na: 4\n").unwrap();
        let lines = value.as_map().unwrap().entries().iter();
        let lines: Vec<_> = lines.map(|e| (e.key.as_text().unwrap(), e.line.0.unwrap())).collect();
        assert_eq!(lines, [("a", 7), ("b", 4), ("c", 5)]);
        assert_eq!(read("a: 1"), read("\n\na: 1"));
    }

    #[test]
    fn tags_that_are_not_known_can_be_ignored() {
        let rules = Rules { ignore_tags: true, ..Rules::default() };
        let text = "a: !x 1\nb: !!python/tuple [!y z]\nc: !!str 2\n";
        let value = read_by(text, rules).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"a":1,"b":["z"],"c":"2"}"#);
        assert!(read_by("a: !!int x", rules).is_err());
    }

    #[test]
    fn a_key_that_stands_twice_is_an_error_where_that_is_asked_for() {
        let rules = Rules { unique_keys: true, ..Rules::default() };
        let error = read_by("m:\n  a: 1\n  \"a\": 2\n", rules).unwrap_err();
        assert_eq!(error.to_string(), "line 3: the key `a` stands there twice");
        assert!(read_by("x: &x {a: 1}\ny: {<<: *x, a: 2}\n", rules).is_ok());
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_an_empty_file_is_nothing() {
        assert_eq!(json("a: 1\nb: 2\na: 3\n"), r#"{"a":3,"b":2}"#);
        for text in ["", "\n", "# x\n", "---\n", "\u{feff}"] {
            assert_eq!(read(text).unwrap(), Value::Null, "{text:?}");
        }
    }

    #[test]
    fn very_many_keys_take_no_more_than_a_moment() {
        let mut text = String::new();
        for key in 0..200_000 {
            let _ = writeln!(text, "k{key}: x");
        }
        let value = read(&text).unwrap();
        assert_eq!(value.as_map().map(Map::len), Some(200_000));
    }

    #[test]
    fn hostile_text_ends_in_an_error_not_in_a_crash() {
        let deep = format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&deep).is_err());
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{},", level - 1).repeat(10);
            let _ = writeln!(bomb, "a{level}: &a{level} [{alias}]");
        }
        assert!(matches!(read(&bomb), Err(e) if e.what == TOO_MANY_COPIES));
        let mut tower = "a0: &a0 [x]\n".to_owned();
        for level in 1..200 {
            let _ = writeln!(tower, "a{level}: &a{level} [*a{}]", level - 1);
        }
        assert!(matches!(read(&tower), Err(e) if e.what == TOO_DEEP));
        for text in [
            "&a [*a]",
            "a: b: c",
            "[1",
            "'x",
            "{[1]: 2}",
            "? {a: 1}\n: 2",
            "!!python/object:os.system x",
            "a: 1\n---\nb: 2\n",
            "!!int x",
            "\u{0}",
            "<<: 1",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
