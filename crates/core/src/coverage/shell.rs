//! Splits a command line into the simple commands it is made of, as a POSIX shell would.
//!
//! The splitter never guesses. A word that only the shell can know is kept as unknown; commands in
//! `$(…)` are split like the rest; and where the syntax goes beyond what is read here (functions,
//! `case`, `[[`, process substitution, backquotes) the script is marked as opaque, with what was
//! understood up to there. Conditions and loops are read as lists of commands any of which may run.
//!
//! One pass, no look back; the text and the depth are capped.

mod words;

use super::word::Word;
use words::assigned_name;

/// Longer scripts are not read.
const LONGEST: usize = 128 << 10;
/// Nested deeper than this is not read either.
const DEEPEST: usize = 24;

/// A list of pipelines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
    /// Is there something in it, or after it, that was not understood?
    pub(crate) is_opaque: bool,
}

/// One pipeline and how the next one follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) pipeline: Vec<Node>,
    pub(crate) joint: Joint,
}

/// What stands between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// `&&`
    And,
    /// `||`, `;`, a newline or the end.
    Then,
    /// `&`
    Background,
}

/// A member of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Simple(Simple),
    Group {
        kind: GroupKind,
        script: Script,
        redirects: Vec<Word>,
        inputs: Vec<Word>,
    },
}

/// What holds several commands together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// `( … )`: has a present directory of its own.
    Subshell,
    /// `{ …; }`
    Braces,
    /// `if`, `while`, `until`, `for`: its commands run some number of times.
    Conditional,
}

/// A program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Names of the variables set in front.
    pub(crate) assignments: Vec<Vec<u8>>,
    pub(crate) words: Vec<Word>,
    /// Files opened for writing by `>`, `>>`, `>|`, `&>`, `<>`.
    pub(crate) redirects: Vec<Word>,
    /// Files opened for reading by `<`.
    pub(crate) inputs: Vec<Word>,
    /// What runs to make its words.
    pub(crate) substitutions: Vec<Script>,
}

/// Splits a command line.
pub(crate) fn split(text: &[u8]) -> Script {
    if text.len() > LONGEST || text.contains(&0) {
        return Script {
            items: Vec::new(),
            is_opaque: true,
        };
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        is_opaque: false,
        here_documents: Vec::new(),
        substitutions: Vec::new(),
    };
    let mut script = reader.list(End::Text);
    script.is_opaque |= reader.is_opaque || reader.at < text.len();
    script
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Parenthesis,
    Word(&'static [u8]),
}

struct HereDocument {
    delimiter: Vec<u8>,
    strips_tabs: bool,
    is_quoted: bool,
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
    is_opaque: bool,
    here_documents: Vec<HereDocument>,
    substitutions: Vec<Script>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn sees(&self, text: &[u8]) -> bool {
        self.text[self.at..].starts_with(text)
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let found = self.sees(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Gives up: what follows is not understood.
    fn give_up(&mut self) {
        self.is_opaque = true;
        self.at = self.text.len();
    }

    /// Skips blanks, continued lines and comments.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.text.get(self.at + 1) == Some(&b'\n') => self.at += 2,
                Some(b'#') => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and line ends, with the here-documents that begin after them.
    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.newline(),
                _ => return,
            }
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        for document in std::mem::take(&mut self.here_documents) {
            self.skip_here_document(&document);
        }
    }

    fn skip_here_document(&mut self, document: &HereDocument) {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            self.at += end.map_or(rest.len(), |end| end + 1);
            let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
            let line = &line[if document.strips_tabs { tabs } else { 0 }..];
            if line == document.delimiter {
                return;
            }
            let runs = line.contains(&b'`') || line.windows(2).any(|pair| pair == b"$(");
            if runs && !document.is_quoted {
                self.is_opaque = true;
            }
        }
    }

    /// Reads a list up to its end, which is consumed.
    fn list(&mut self, end: End) -> Script {
        let mut script = Script::default();
        if self.depth >= DEEPEST {
            self.give_up();
            return script;
        }
        self.depth += 1;
        loop {
            self.skip_lines();
            if self.at_end_of(end) {
                break;
            }
            let Some(mut item) = self.pipeline() else {
                self.give_up();
                break;
            };
            self.skip_blanks();
            item.joint = self.joint();
            script.items.push(item);
        }
        self.depth -= 1;
        script
    }

    /// Consumes the end of a list if it is here. The end of the text ends every list.
    fn at_end_of(&mut self, end: End) -> bool {
        if self.peek().is_none() {
            self.is_opaque |= end != End::Text;
            return true;
        }
        match end {
            End::Text => false,
            End::Parenthesis => self.take(b")"),
            End::Word(word) => self.take_reserved(word),
        }
    }

    /// Consumes a reserved word if it stands here on its own.
    fn take_reserved(&mut self, word: &[u8]) -> bool {
        let ends = matches!(
            self.text.get(self.at + word.len()),
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
        );
        ends && self.take(word)
    }

    fn joint(&mut self) -> Joint {
        if self.take(b"&&") {
            Joint::And
        } else if self.take(b"||") || self.take(b";") {
            Joint::Then
        } else if self.take(b"&") {
            Joint::Background
        } else {
            Joint::Then
        }
    }

    fn pipeline(&mut self) -> Option<Item> {
        let mut pipeline = Vec::new();
        loop {
            self.skip_lines();
            while self.take_reserved(b"!") {
                self.skip_blanks();
            }
            while self.take_separator() {
                self.skip_lines();
            }
            pipeline.push(self.command()?);
            self.skip_blanks();
            if self.sees(b"||") || !self.take(b"|") {
                break;
            }
            self.take(b"&");
        }
        Some(Item {
            pipeline,
            joint: Joint::Then,
        })
    }

    /// Consumes a word that only separates the parts of a condition or loop.
    fn take_separator(&mut self) -> bool {
        const SEPARATORS: [&[u8]; 4] = [b"then", b"elif", b"else", b"do"];
        SEPARATORS.iter().any(|word| self.take_reserved(word))
    }

    /// Reads one command; `None` when the syntax is not understood.
    fn command(&mut self) -> Option<Node> {
        const UNREAD: [&[u8]; 5] = [b"case", b"select", b"function", b"[[", b"coproc"];
        if UNREAD.iter().any(|word| self.sees_reserved(word)) || self.sees(b"((") {
            return None;
        }
        let group = if self.take(b"(") {
            Some((GroupKind::Subshell, End::Parenthesis))
        } else if self.take_reserved(b"{") {
            Some((GroupKind::Braces, End::Word(b"}")))
        } else if self.take_reserved(b"if") {
            Some((GroupKind::Conditional, End::Word(b"fi")))
        } else if self.take_reserved(b"while") || self.take_reserved(b"until") {
            Some((GroupKind::Conditional, End::Word(b"done")))
        } else {
            None
        };
        if let Some((kind, end)) = group {
            let script = self.list(end);
            return self.group(kind, script);
        }
        if self.take_reserved(b"for") {
            let mut header = self.loop_header()?;
            let mut script = self.list(End::Word(b"done"));
            header.append(&mut script.items);
            script.items = header;
            return self.group(GroupKind::Conditional, script);
        }
        self.simple().map(Node::Simple)
    }

    fn sees_reserved(&mut self, word: &[u8]) -> bool {
        let start = self.at;
        let found = self.take_reserved(word);
        self.at = start;
        found
    }

    /// `NAME in WORDS` of a loop, as a command that sets the variable.
    fn loop_header(&mut self) -> Option<Vec<Item>> {
        self.skip_blanks();
        let outer = std::mem::take(&mut self.substitutions);
        let name = self.word()?;
        let mut header = Simple {
            assignments: vec![name.as_literal()?.to_vec()],
            ..Simple::default()
        };
        self.skip_lines();
        if self.take_reserved(b"in") {
            loop {
                self.skip_blanks();
                match self.peek() {
                    None | Some(b';' | b'\n') => break,
                    _ => self.word()?,
                };
            }
        }
        header.substitutions = std::mem::replace(&mut self.substitutions, outer);
        self.take(b";");
        Some(vec![Item {
            pipeline: vec![Node::Simple(header)],
            joint: Joint::Then,
        }])
    }

    /// A group with the redirections behind it.
    fn group(&mut self, kind: GroupKind, script: Script) -> Option<Node> {
        let mut behind = Simple::default();
        let outer = std::mem::take(&mut self.substitutions);
        loop {
            self.skip_blanks();
            if !self.redirect(&mut behind)? {
                break;
            }
        }
        let inner = std::mem::replace(&mut self.substitutions, outer);
        self.is_opaque |= !inner.is_empty();
        Some(Node::Group {
            kind,
            script,
            redirects: behind.redirects,
            inputs: behind.inputs,
        })
    }

    fn simple(&mut self) -> Option<Simple> {
        let outer = std::mem::take(&mut self.substitutions);
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') if !self.sees(b"&>") => break,
                // A function, or a pattern only some shells know.
                Some(b'(') => return None,
                _ => {}
            }
            if self.redirect(&mut simple)? {
                continue;
            }
            let start = self.at;
            let word = self.word()?;
            match assigned_name(&self.text[start..self.at]) {
                Some(name) if simple.words.is_empty() => simple.assignments.push(name),
                _ => simple.words.push(word),
            }
        }
        simple.substitutions = std::mem::replace(&mut self.substitutions, outer);
        let is_empty = simple.words.is_empty()
            && simple.assignments.is_empty()
            && simple.redirects.is_empty()
            && simple.substitutions.is_empty();
        // An operator where a command belongs.
        let stuck = is_empty && self.peek().is_some_and(|byte| byte != b'\n');
        (!stuck).then_some(simple)
    }

    /// Reads a redirection if one is here; `None` when it is not understood.
    fn redirect(&mut self, simple: &mut Simple) -> Option<bool> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let has_number = self.at > start;
        if !has_number && (self.take(b"&>>") || self.take(b"&>")) {
            self.written(simple)?;
            return Some(true);
        }
        // `<(` and `>(` run commands.
        if self.sees(b"<(") || self.sees(b">(") {
            return None;
        }
        if self.take(b"<<<") {
            self.skip_blanks();
            self.word()?;
        } else if self.take(b"<<") {
            self.here_document()?;
        } else if self.take(b">&") || self.take(b"<&") {
            self.skip_blanks();
            let word = self.word()?;
            let is_descriptor = word.as_literal().is_some_and(|text| {
                let digits = text.strip_suffix(b"-").unwrap_or(text);
                !text.is_empty() && digits.iter().all(u8::is_ascii_digit)
            });
            if !is_descriptor {
                simple.redirects.push(word);
            }
        } else if self.take(b">>") || self.take(b">|") || self.take(b"<>") || self.take(b">") {
            self.written(simple)?;
        } else if self.take(b"<") {
            self.skip_blanks();
            let word = self.word()?;
            simple.inputs.push(word);
        } else {
            self.at = start;
            return Some(false);
        }
        Some(true)
    }

    fn written(&mut self, simple: &mut Simple) -> Option<()> {
        self.skip_blanks();
        let word = self.word()?;
        simple.redirects.push(word);
        Some(())
    }

    fn here_document(&mut self) -> Option<()> {
        let strips_tabs = self.take(b"-");
        self.skip_blanks();
        let word = self.word()?;
        // The delimiter is never expanded, so an unknown one cannot be compared with lines.
        if word.is_unknown {
            return None;
        }
        self.here_documents.push(HereDocument {
            delimiter: word.text.to_vec(),
            strips_tabs,
            is_quoted: word.is_quoted,
        });
        Some(())
    }
}

#[cfg(test)]
mod tests;
