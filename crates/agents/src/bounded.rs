//! A payload on its way to the JSON parser, with the limits the parser does not have.
//!
//! The parser reads a stream and stores nothing it is told to skip, but it would still hold one string of any
//! length, remember any depth, and give up over a single byte that is not UTF-8 or half an emoji. Agents cut
//! texts at any byte and put file contents into their payloads, so such bytes must not cost the whole event.
//! Hence this reader: it bounds the size of the whole, the depth and the length of one string, and hands on
//! only well-formed text. What it replaces or cuts lies inside of strings; the structure passes unchanged.

use std::io;
use std::io::Read;

/// Deeper nesting than this is refused. The parser skips unknown values without recursion, so this bounds
/// memory, not the stack.
const MAX_NESTING: usize = 1024;

/// The rest of a longer string is dropped.
pub(crate) const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// How much is read at once.
const CHUNK: usize = 32 * 1024;

const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Why reading stopped before the end.
#[derive(Debug)]
pub(crate) enum Stop {
    TooLarge,
    TooDeep,
    Unreadable(io::Error),
}

/// Where in the JSON text the next character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the very beginning, where a byte order mark may be.
    Beginning,
    /// Between strings.
    Outside,
    /// In a string.
    Text,
    /// After a backslash.
    Escape,
    /// After `\u` and some hexadecimal digits.
    Hex { digits: u8, value: u16 },
}

/// The reader.
pub(crate) struct Bounded<'a> {
    source: &'a mut dyn Read,
    largest: u64,
    size: u64,
    chunk: Box<[u8]>,
    /// So many bytes at the front of the chunk are the first of a character.
    carried: usize,
    ready: String,
    handed_on: usize,
    state: State,
    depth: usize,
    /// Bytes of the present string that were handed on.
    text_length: usize,
    /// The first half of a pair of `\u` escapes.
    high_surrogate: Option<u16>,
    stop: Option<Stop>,
}

impl<'a> Bounded<'a> {
    pub(crate) fn new(source: &'a mut dyn Read, largest: u64) -> Self {
        Self {
            source,
            largest,
            size: 0,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            carried: 0,
            ready: String::with_capacity(CHUNK),
            handed_on: 0,
            state: State::Beginning,
            depth: 0,
            text_length: 0,
            high_surrogate: None,
            stop: None,
        }
    }

    /// How much was read, and what stopped it, without reading on.
    pub(crate) fn so_far(self) -> (u64, Option<Stop>) {
        (self.size, self.stop)
    }

    /// Reads what is left, so that the agent does not write into a closed pipe, and says how much there was
    /// and why it stopped if it did.
    pub(crate) fn finish(mut self) -> (u64, Option<Stop>) {
        let may_go_on = matches!(self.stop, None | Some(Stop::TooDeep));
        while may_go_on && self.read_chunk().is_some_and(|count| count > 0) {}
        (self.size, self.stop)
    }

    /// Reads into the chunk. `None` when it cannot go on.
    fn read_chunk(&mut self) -> Option<usize> {
        loop {
            match self.source.read(&mut self.chunk[self.carried..]) {
                Ok(count) => {
                    // A reader that claims more than it was given room for is wrong, not a reason to panic.
                    let count = count.min(self.chunk.len() - self.carried);
                    self.size += count as u64;
                    if self.size > self.largest {
                        self.stop.get_or_insert(Stop::TooLarge);
                        return None;
                    }
                    return Some(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.stop.get_or_insert(Stop::Unreadable(error));
                    return None;
                }
            }
        }
    }

    /// Translates the chunk, into which `count` more bytes were read.
    fn translate(&mut self, count: usize) {
        let mut chunk = std::mem::take(&mut self.chunk);
        let filled = self.carried + count;
        let mut end = 0;
        self.carried = 0;
        for part in chunk[..filled].utf8_chunks() {
            self.take_text(part.valid());
            let wrong = part.invalid();
            end += part.valid().len() + wrong.len();
            let is_unfinished = |error: std::str::Utf8Error| error.error_len().is_none();
            if end == filled && std::str::from_utf8(wrong).is_err_and(is_unfinished) {
                self.carried = wrong.len();
            } else if !wrong.is_empty() {
                self.take(char::REPLACEMENT_CHARACTER);
            }
        }
        chunk.copy_within(filled - self.carried..filled, 0);
        self.chunk = chunk;
    }

    fn take_text(&mut self, mut rest: &str) {
        while let Some(next) = rest.chars().next() {
            let is_plain = self.state == State::Text && self.high_surrogate.is_none();
            let plain = if is_plain { rest.find(['"', '\\']).unwrap_or(rest.len()) } else { 0 };
            if plain > 0 {
                let room = MAX_TEXT_BYTES.saturating_sub(self.text_length);
                self.ready.push_str(&rest[..rest.floor_char_boundary(plain.min(room))]);
                self.text_length = self.text_length.saturating_add(plain);
                rest = &rest[plain..];
            } else {
                self.take(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }

    fn take(&mut self, next: char) {
        match self.state {
            State::Beginning => {
                self.state = State::Outside;
                if next != BYTE_ORDER_MARK {
                    self.take_outside(next);
                }
            }
            State::Outside => self.take_outside(next),
            State::Text => self.take_inside(next),
            State::Escape if next == 'u' => self.state = State::Hex { digits: 0, value: 0 },
            State::Escape => {
                self.state = State::Text;
                self.put(&format!("\\{next}"));
            }
            State::Hex { digits, value } => self.take_hex(digits, value, next),
        }
    }

    fn take_outside(&mut self, next: char) {
        match next {
            '"' => {
                self.state = State::Text;
                self.text_length = 0;
            }
            '{' | '[' => {
                self.depth += 1;
                if self.depth > MAX_NESTING && self.stop.is_none() {
                    self.stop = Some(Stop::TooDeep);
                }
            }
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.ready.push(next);
    }

    fn take_inside(&mut self, next: char) {
        match next {
            '"' => {
                self.drop_half_pair();
                self.ready.push(next);
                self.state = State::Outside;
            }
            '\\' => self.state = State::Escape,
            _ => self.put(next.encode_utf8(&mut [0; 4])),
        }
    }

    fn take_hex(&mut self, digits: u8, value: u16, next: char) {
        let Some(digit) = next.to_digit(16) else {
            // Not JSON: the parser shall see it as it is.
            self.state = State::Text;
            self.put("\\u");
            return self.take_inside(next);
        };
        let value = (value << 4) | digit as u16;
        if digits < 3 {
            self.state = State::Hex { digits: digits + 1, value };
            return;
        }
        self.state = State::Text;
        self.put_escaped(value);
    }

    /// A whole `\u` escape. Halves of pairs wait for the other half.
    fn put_escaped(&mut self, value: u16) {
        if let Some(high) = self.high_surrogate {
            if let Some(Ok(pair)) = char::decode_utf16([high, value]).next() {
                self.high_surrogate = None;
                return self.put(pair.encode_utf8(&mut [0; 4]));
            }
            self.drop_half_pair();
        }
        match value {
            0xD800..=0xDBFF => self.high_surrogate = Some(value),
            0xDC00..=0xDFFF => self.put("\u{FFFD}"),
            _ => self.put(&format!("\\u{value:04x}")),
        }
    }

    fn drop_half_pair(&mut self) {
        if self.high_surrogate.take().is_some() {
            self.put("\u{FFFD}");
        }
    }

    /// Hands on a unit of a string that must not be cut in two.
    fn put(&mut self, unit: &str) {
        self.drop_half_pair();
        let length = self.text_length.saturating_add(unit.len());
        self.text_length = length.min(MAX_TEXT_BYTES);
        if length <= MAX_TEXT_BYTES {
            self.ready.push_str(unit);
        }
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.handed_on == self.ready.len() {
            self.ready.clear();
            self.handed_on = 0;
            if self.stop.is_none() {
                match self.read_chunk() {
                    Some(0) => return Ok(0),
                    Some(count) => self.translate(count),
                    None => {}
                }
            }
            if self.stop.is_some() {
                return Err(io::Error::other("the payload was not read to its end"));
            }
        }
        let waiting = &self.ready.as_bytes()[self.handed_on..];
        let count = waiting.len().min(room.len());
        room[..count].copy_from_slice(&waiting[..count]);
        self.handed_on += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives its bytes in pieces, so that every state meets the end of a chunk.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(room.len()).min(self.0.len());
            room[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn translated(bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut source = Pieces(bytes, piece);
        let mut bounded = Bounded::new(&mut source, 1 << 20);
        let mut all = Vec::new();
        bounded.read_to_end(&mut all).expect("small and shallow");
        all
    }

    fn parsed(bytes: &[u8]) -> String {
        let whole = translated(bytes, 4096);
        assert_eq!(whole, translated(bytes, 1), "pieces make no difference");
        serde_json::from_slice(&whole).expect("a JSON string")
    }

    #[test]
    fn well_formed_json_passes_as_it_is() {
        let json = r#"{"a": ["\"\\\n", "é€🗿", {"b": -1.5e3}], "c": null}"#.as_bytes();
        assert_eq!(translated(json, 4096), json);
        assert_eq!(translated(json, 1), json);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_and_half_of_one_is_not() {
        assert_eq!(translated(b"\xEF\xBB\xBF{}", 1), b"{}");
        assert_eq!(translated(b"\xEF\xBB{}", 1), "\u{FFFD}{}".as_bytes());
    }

    #[test]
    fn bytes_that_are_not_utf8_cost_only_themselves() {
        assert_eq!(parsed(b"\"a\xFFb\""), "a\u{FFFD}b");
        assert_eq!(parsed(b"\"a\xE2\x82\""), "a\u{FFFD}");
        assert_eq!(parsed(b"\"\xE2\x82\xC3\xA9\""), "\u{FFFD}é");
        assert_eq!(parsed(b"\"\xF0\x9F\\u0041\""), "\u{FFFD}A");
    }

    #[test]
    fn half_an_emoji_costs_only_itself() {
        assert_eq!(parsed(br#""\ud83d""#), "\u{FFFD}");
        assert_eq!(parsed(br#""\ud83dx\ude00""#), "\u{FFFD}x\u{FFFD}");
        assert_eq!(parsed(br#""\ud83d\ud83d\ude00""#), "\u{FFFD}😀");
        assert_eq!(parsed(br#""\ud83d\n\u0022""#), "\u{FFFD}\n\"");
    }

    #[test]
    fn a_long_string_is_cut_between_characters() {
        let mut json = b"[\"".to_vec();
        json.extend("é".repeat(MAX_TEXT_BYTES).as_bytes());
        json.extend(b"\",1]");
        let mut source = json.as_slice();
        let mut bounded = Bounded::new(&mut source, u64::MAX);
        let mut all = Vec::new();
        bounded.read_to_end(&mut all).expect("shallow");
        let (text, one): (String, u8) = serde_json::from_slice(&all).expect("still JSON");
        assert_eq!((text.len(), one), (MAX_TEXT_BYTES, 1));
    }

    #[test]
    fn what_is_too_large_or_too_deep_stops() {
        let mut source: &[u8] = &[b' '; 11];
        let mut bounded = Bounded::new(&mut source, 10);
        assert!(bounded.read_to_end(&mut Vec::new()).is_err());
        assert!(matches!(bounded.finish(), (11, Some(Stop::TooLarge))));

        let deep = vec![b'['; MAX_NESTING + 1];
        let mut source = deep.as_slice();
        let mut bounded = Bounded::new(&mut source, u64::MAX);
        assert!(bounded.read_to_end(&mut Vec::new()).is_err());
        assert!(matches!(bounded.finish(), (_, Some(Stop::TooDeep))));
    }

    proptest! {
        #[test]
        fn whatever_bytes_are_in_a_string_it_stays_json(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut json = b"\"".to_vec();
            json.extend(bytes.iter().filter(|byte| **byte >= 0x20 && !matches!(**byte, b'"' | b'\\')));
            json.push(b'"');
            let text: String = serde_json::from_slice(&translated(&json, 3)).expect("a JSON string");
            prop_assert_eq!(text, String::from_utf8_lossy(&json[1..json.len() - 1]));
        }
    }
}
