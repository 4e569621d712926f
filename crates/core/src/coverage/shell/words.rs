//! Reads words: quotes, escapes, and what only the shell can know.

use super::End;
use super::Reader;
use crate::coverage::word::Word;

impl Reader<'_> {
    /// Reads one word; `None` when there is none or it is not understood.
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let start = self.at;
        if self.peek() == Some(b'~') {
            self.at += 1;
            match self.peek() {
                None | Some(b'/' | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') => {
                    word.from_home = true;
                }
                _ => word.is_unknown = true,
            }
        }
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\\' => self.escape(&mut word),
                b'\'' => self.single_quotes(&mut word)?,
                b'"' => self.double_quotes(&mut word)?,
                b'$' => self.dollar(&mut word, false)?,
                b'`' => return None,
                b'*' | b'?' | b'[' => {
                    word.active.push(word.text.len());
                    word.text.push(byte);
                    self.at += 1;
                }
                b'{' if !self.sees(b"{}") => {
                    word.is_unknown = true;
                    self.at += 1;
                }
                _ => {
                    word.text.push(byte);
                    self.at += 1;
                }
            }
        }
        // A bracket nobody closes is a bracket.
        let closing = word.text.iter().rposition(|byte| *byte == b']');
        let text = &word.text;
        word.active
            .retain(|at| text[*at] != b'[' || closing.is_some_and(|end| end > *at + 1));
        (self.at > start).then_some(word)
    }

    fn escape(&mut self, word: &mut Word) {
        self.at += 1;
        match self.peek() {
            Some(b'\n') => {}
            Some(byte) => {
                word.text.push(byte);
                word.is_quoted = true;
            }
            None => word.text.push(b'\\'),
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    fn single_quotes(&mut self, word: &mut Word) -> Option<()> {
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        word.text.extend_from_slice(&rest[..end]);
        word.is_quoted = true;
        self.at += end + 2;
        Some(())
    }

    fn double_quotes(&mut self, word: &mut Word) -> Option<()> {
        self.at += 1;
        word.is_quoted = true;
        loop {
            match self.peek()? {
                b'"' => break,
                b'$' => self.dollar(word, true)?,
                b'`' => return None,
                b'\\' => match self.text.get(self.at + 1)? {
                    b'\n' => self.at += 2,
                    byte @ (b'$' | b'`' | b'"' | b'\\') => {
                        word.text.push(*byte);
                        self.at += 2;
                    }
                    _ => {
                        word.text.push(b'\\');
                        self.at += 1;
                    }
                },
                byte => {
                    word.text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Some(())
    }

    /// Everything that begins with a dollar is known to the shell alone; what it runs is read.
    fn dollar(&mut self, word: &mut Word, is_quoted: bool) -> Option<()> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.sees(b"((") => return None,
            Some(b'(') => {
                self.at += 1;
                let outer = std::mem::take(&mut self.substitutions);
                let script = self.list(End::Parenthesis);
                self.substitutions = outer;
                self.substitutions.push(script);
            }
            Some(b'{') => self.braces()?,
            // Some shells read escapes in `$'…'`, others do not: they see its end in different places.
            Some(b'\'') if !is_quoted => return None,
            Some(b'"') if !is_quoted => {}
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                while self
                    .peek()
                    .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                {
                    self.at += 1;
                }
            }
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9') => self.at += 1,
            _ => {
                word.text.push(b'$');
                return Some(());
            }
        }
        word.is_unknown = true;
        Some(())
    }

    /// Skips `{name…}`; anything in it that could run a command is not understood.
    fn braces(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|byte| *byte == b'}')?;
        let plain = |byte: &u8| !matches!(byte, b'$' | b'`' | b'\'' | b'"' | b'\\' | b'\n');
        if !rest[1..end].iter().all(plain) {
            return None;
        }
        self.at += end + 1;
        Some(())
    }
}

/// The variable a word in front of a command sets, going by how the word is written.
pub(super) fn assigned_name(written: &[u8]) -> Option<Vec<u8>> {
    let equals = written.iter().position(|byte| *byte == b'=')?;
    let name = &written[..equals];
    let name = name.strip_suffix(b"+").unwrap_or(name);
    let first_fits = name
        .first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (first_fits && name.iter().all(fits)).then(|| name.to_vec())
}
