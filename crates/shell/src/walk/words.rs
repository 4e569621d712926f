//! Reads a word: its text as far as it is known, and what runs to make it.

use bstr::ByteVec;
use rable::{Node, NodeKind};

use crate::walk::Walk;
use crate::walk::patterns::Word;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// A word that is being read, part by part.
struct Reader<'w, 'f> {
    walk: &'w mut Walk<'f>,
    word: Word,
    quotes: Quotes,
}

impl Walk<'_> {
    /// Reads a word, and follows what runs to make it.
    pub(crate) fn word(&mut self, node: &Node) -> Word {
        let NodeKind::Word { value, parts, .. } = &node.kind else {
            self.not_understood();
            return Word::default();
        };
        let mut reader = Reader { walk: self, word: Word::default(), quotes: Quotes::None };
        for part in parts {
            reader.part(part, value);
        }
        // The parser took quotes for closed that are not.
        let is_open = reader.quotes != Quotes::None;
        let mut word = reader.word;
        if is_open {
            self.not_understood();
        }
        self.subscripts(value, &word.text.to_string());
        // A bracket nobody closes is a bracket.
        let closing = word.text.iter().rposition(|byte| *byte == b']');
        let text = &word.text;
        word.active.retain(|at| text[*at] != b'[' || closing.is_some_and(|end| end > *at + 1));
        word.has_tilde = value.starts_with('~');
        word
    }

    /// Gives up once there is both a bracket and quoted text that would run something if it was expanded.
    ///
    /// Wherever the shell takes a text for the name of a variable or for a sum, it expands what is in the
    /// subscript, quoted or not: `[[ -v 'a[$(rm f)]' ]]` removes a file. The text may be put together from
    /// variables on the way, so it does not matter where the two stand.
    pub(crate) fn subscripts(&mut self, written: &str, quoted: &str) {
        self.has_bracket |= written.contains('[') || quoted.contains('[');
        self.has_dormant |= runs_something(quoted);
        if self.has_bracket && self.has_dormant {
            self.not_understood();
        }
    }

    /// Text that is expanded as if between double quotes must not run anything.
    pub(crate) fn expanded(&mut self, text: &str) {
        if runs_something(text) {
            self.not_understood();
        }
    }
}

impl Reader<'_, '_> {
    fn part(&mut self, part: &Node, whole: &str) {
        match &part.kind {
            NodeKind::WordLiteral { value } => return self.literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => {
                return self.word.text.extend_from_slice(decoded.as_bytes());
            }
            NodeKind::CommandSubstitution { command, .. } => {
                self.walk.apart(|walk| walk.item(command));
            }
            NodeKind::ProcessSubstitution { command, .. } => {
                self.walk.in_background(|walk| walk.item(command));
            }
            NodeKind::ParamExpansion { param, op, arg }
            | NodeKind::ParamIndirect { param, op, arg } => {
                // `${x@P}` runs what is in the variable.
                if op.as_deref().is_some_and(|op| op.contains('@')) {
                    self.walk.not_understood();
                }
                self.walk.expanded(param);
                self.walk.expanded(arg.as_deref().unwrap_or_default());
            }
            NodeKind::ParamLength { param: text }
            | NodeKind::LocaleString { inner: text, .. }
            | NodeKind::BraceExpansion { content: text } => self.walk.expanded(text),
            NodeKind::ArithmeticExpansion { .. } => self.walk.expanded(&whole.replace("$((", "")),
            _ => self.walk.not_understood(),
        }
        self.word.is_unknown = true;
    }

    fn literal(&mut self, value: &str) {
        let mut rest = value;
        while let Some(next) = rest.chars().next() {
            rest = &rest[next.len_utf8()..];
            match (self.quotes, next) {
                (Quotes::None, '\'') => self.quotes = Quotes::Single,
                (Quotes::Single, '\'') | (Quotes::Double, '"') => self.quotes = Quotes::None,
                (Quotes::None, '"') => self.quotes = Quotes::Double,
                (Quotes::None | Quotes::Double, '\\') => rest = self.escaped(rest),
                (Quotes::None | Quotes::Double, '$') => return self.dollar(rest),
                (Quotes::None | Quotes::Double, '`') => return self.walk.not_understood(),
                (Quotes::None, '<' | '>') => return self.unparsed(rest),
                (quotes, _) => {
                    if matches!(next, '*' | '?' | '[') && quotes == Quotes::None {
                        self.word.active.push(self.word.text.len());
                    }
                    self.word.text.push_char(next);
                }
            }
        }
    }

    /// Reads what follows a backslash.
    fn escaped<'r>(&mut self, rest: &'r str) -> &'r str {
        let Some(next) = rest.chars().next() else {
            self.word.text.push_char('\\');
            return rest;
        };
        let is_special = matches!(next, '$' | '`' | '"' | '\\' | '\n');
        if self.quotes == Quotes::Double && !is_special {
            self.word.text.push_char('\\');
        }
        if next != '\n' {
            self.word.text.push_char(next);
        }
        &rest[next.len_utf8()..]
    }

    /// A dollar in a literal is one, unless the parser gave up on what follows.
    fn dollar(&mut self, rest: &str) {
        self.word.text.push_char('$');
        match rest.chars().next() {
            Some('(') => self.unparsed(rest),
            Some('[' | '{') => self.walk.not_understood(),
            _ => self.literal(rest),
        }
    }

    /// A substitution within substitutions, which the parser leaves as it is written.
    fn unparsed(&mut self, rest: &str) {
        let inner = rest.strip_prefix('(');
        self.word.is_unknown = true;
        match inner.and_then(|inner| inner.strip_suffix(')')) {
            Some(inner) => self.walk.in_background(|walk| walk.text(inner.as_bytes())),
            None => self.walk.not_understood(),
        }
    }
}

/// May expanding this text run a command?
fn runs_something(text: &str) -> bool {
    ["$(", "`", "<(", ">(", "${", "$["].iter().any(|start| text.contains(start))
}
