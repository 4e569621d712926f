//! JSON the way Python reads and writes it.
//!
//! `serde_json` cannot do this: Python puts a path that is not UTF-8 into a string as lone surrogates,
//! keeps the order of keys and the spelling of numbers, and knows `NaN`. A file of Hermes must come out
//! as Hermes would have written it.

use std::fmt::Write;

/// Deeper nesting is taken for damage.
const MAX_NESTING: usize = 64;

/// A Python string: code points, lone surrogates included.
pub(super) type Text = Vec<u32>;

/// Any JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it was spelled.
    Number(String),
    String(Text),
    Array(Vec<Value>),
    /// In the order of the file, each key once.
    Object(Vec<(Text, Value)>),
}

/// The value in `bytes`, if it is one value and nothing else.
pub(super) fn parse(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut parser = Parser { rest: text };
    let value = parser.value(0)?;
    parser.skip_space();
    parser.rest.is_empty().then_some(value)
}

/// The text of the first member called `key` in what may be only half an object.
pub(super) fn member_of_half(bytes: &[u8], key: &str) -> Option<Text> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&bytes[..e.valid_up_to()]).ok()?,
    };
    let quoted = format!("\"{key}\"");
    let (_, rest) = text.split_once(&quoted)?;
    let mut parser = Parser { rest };
    parser.skip_space();
    if !parser.accept(":") {
        return None;
    }
    parser.skip_space();
    parser.string()
}

/// The code points of a text.
pub(super) fn text(text: &str) -> Text {
    text.chars().map(u32::from).collect()
}

/// Sets `key`, in its place if it is there and at the end if not.
pub(super) fn set(members: &mut Vec<(Text, Value)>, key: Text, value: Value) {
    match members.iter_mut().find(|(name, _)| *name == key) {
        Some((_, old)) => *old = value,
        None => members.push((key, value)),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn accept(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_NESTING {
            return None;
        }
        self.skip_space();
        match self.rest.as_bytes().first()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Value::String),
            b'n' => self.accept("null").then_some(Value::Null),
            b't' => self.accept("true").then_some(Value::Bool(true)),
            b'f' => self.accept("false").then_some(Value::Bool(false)),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Vec::new();
        self.accept("{");
        self.skip_space();
        if self.accept("}") {
            return Some(Value::Object(members));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            if !self.accept(":") {
                return None;
            }
            let value = self.value(depth + 1)?;
            set(&mut members, key, value);
            self.skip_space();
            if self.accept("}") {
                return Some(Value::Object(members));
            }
            if !self.accept(",") {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        self.accept("[");
        self.skip_space();
        if self.accept("]") {
            return Some(Value::Array(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.skip_space();
            if self.accept("]") {
                return Some(Value::Array(values));
            }
            if !self.accept(",") {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<Text> {
        if !self.accept("\"") {
            return None;
        }
        let mut text = Text::new();
        loop {
            let c = self.next()?;
            match c {
                '"' => return Some(text),
                '\\' => self.escape(&mut text)?,
                '\0'..='\u{1f}' => return None,
                _ => text.push(u32::from(c)),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn escape(&mut self, text: &mut Text) -> Option<()> {
        let c = match self.next()? {
            c @ ('"' | '\\' | '/') => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.hex()?;
                text.push(self.join_surrogates(unit));
                return Some(());
            }
            _ => return None,
        };
        text.push(u32::from(c));
        Some(())
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.rest = &self.rest[4..];
        u32::from_str_radix(digits, 16).ok()
    }

    /// A high surrogate with a low one behind it is one code point; any other stays alone.
    fn join_surrogates(&mut self, high: u32) -> u32 {
        if !(0xd800..0xdc00).contains(&high) {
            return high;
        }
        let before = self.rest;
        if self.accept("\\u")
            && let Some(low @ 0xdc00..0xe000) = self.hex()
        {
            return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        }
        self.rest = before;
        high
    }

    fn number(&mut self) -> Option<Value> {
        for word in ["NaN", "Infinity", "-Infinity"] {
            if self.accept(word) {
                return Some(Value::Number(word.to_owned()));
            }
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if !is_number(number) {
            return None;
        }
        self.rest = rest;
        Some(Value::Number(number.to_owned()))
    }
}

/// Is this the spelling of a JSON number?
fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

/// Writes a value as `json.dumps` does.
pub(super) fn render(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(number),
        Value::String(text) => render_text(text, out),
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                render(value, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                render_text(key, out);
                out.push_str(": ");
                render(value, out);
            }
            out.push('}');
        }
    }
}

fn render_text(text: &[u32], out: &mut String) {
    out.push('"');
    for code in text {
        match char::from_u32(*code) {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(c @ ' '..='~') => out.push(c),
            Some(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            None => {
                let _ = write!(out, "\\u{code:04x}");
            }
        }
    }
    out.push('"');
}

/// A float as Python spells it.
pub(super) fn float(value: f64) -> Value {
    Value::Number(python_float(value))
}

/// A float as Python spells it. What is no number becomes zero: no reader expects `NaN` for a time.
pub(crate) fn python_float(value: f64) -> String {
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
        let mut out = String::new();
        render(&parse(text.as_bytes())?, &mut out);
        Some(out)
    }

    #[test]
    fn values_come_out_as_python_writes_them() {
        for (given, written) in [
            (r#"{"b":1,"a":[true,null,{}],"b":2.50}"#, r#"{"b": 2.50, "a": [true, null, {}]}"#),
            ("\"\u{e4}\u{1f600}\u{7f}\\/\\b\"", r#""\u00e4\ud83d\ude00\u007f/\b""#),
            (r#""\udcff\ud83d\ude00\ud800x\ud800\u0041""#, r#""\udcff\ud83d\ude00\ud800x\ud800A""#),
            (" [ NaN , -Infinity , -1e+5 , 0 ] ", "[NaN, -Infinity, -1e+5, 0]"),
        ] {
            assert_eq!(again(given).as_deref(), Some(written), "{given}");
        }
    }

    #[test]
    fn what_is_not_json_is_nothing() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":}",
            "{\"a\" 1}",
            "01",
            "1.",
            "-",
            "1e",
            "nul",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"a\nb\"",
            "1 2",
            "{a:1}",
            "\"",
            "\u{feff}1",
        ] {
            assert_eq!(again(text), None, "{text}");
        }
        assert_eq!(parse(b"\"\xff\""), None);
        assert_eq!(parse("[".repeat(100_000).as_bytes()), None);
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
            assert_eq!(float(value), Value::Number(spelled.to_owned()));
        }
    }
}
