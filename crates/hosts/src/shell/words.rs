//! A word of a command line: its text as far as it is known, and what runs to make it.

use bstr::BString;
use rable::Node;
use rable::NodeKind;

use super::Destructive;
use super::Why;
use super::walk::Walk;

/// What a word stands for; `None` if only the shell knows.
pub(super) type Argument = Option<BString>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// A word that is being read, part by part.
struct Reader<'w> {
    walk: &'w mut Walk,
    text: Vec<u8>,
    is_known: bool,
    quotes: Quotes,
}

impl Walk {
    /// Reads a word, and follows what runs to make it.
    pub(super) fn word(&mut self, word: &Node) -> Result<Argument, Destructive> {
        let NodeKind::Word { value, parts, .. } = &word.kind else {
            return Err(not_understood());
        };
        let mut reader = Reader {
            walk: self,
            text: Vec::new(),
            is_known: true,
            quotes: Quotes::None,
        };
        for part in parts {
            reader.part(part, value)?;
        }
        // The parser took quotes for closed that are not.
        if reader.quotes != Quotes::None {
            return Err(not_understood());
        }
        let (text, is_known) = (reader.text, reader.is_known);
        self.subscripts(value, &String::from_utf8_lossy(&text))?;
        Ok(is_known.then(|| text.into()))
    }

    /// Fails once there is both a bracket and quoted text that would run something if it was expanded.
    ///
    /// Wherever the shell takes a text for the name of a variable or for a sum, it expands what is in the
    /// subscript, quoted or not: `[[ -v 'a[$(rm f)]' ]]` removes a file. The text may be put together from
    /// variables on the way, so it does not matter where the two stand.
    pub(super) fn subscripts(&mut self, written: &str, quoted: &str) -> Result<(), Destructive> {
        self.has_bracket |= written.contains('[') || quoted.contains('[');
        self.has_dormant |= runs_something(quoted);
        if self.has_bracket && self.has_dormant {
            return Err(not_understood());
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn part(&mut self, part: &Node, whole: &str) -> Result<(), Destructive> {
        match &part.kind {
            NodeKind::WordLiteral { value } => return self.literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => {
                self.text.extend_from_slice(decoded.as_bytes());
                return Ok(());
            }
            NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } => self.walk.node(command)?,
            NodeKind::ParamExpansion { param, op, arg }
            | NodeKind::ParamIndirect { param, op, arg } => {
                // `${x@P}` runs what is in the variable.
                if op.as_deref().is_some_and(|op| op.contains('@')) {
                    return Err(not_understood());
                }
                expanded(param)?;
                expanded(arg.as_deref().unwrap_or_default())?;
            }
            NodeKind::ParamLength { param } => expanded(param)?,
            NodeKind::LocaleString { inner, .. } => expanded(inner)?,
            NodeKind::BraceExpansion { content } => expanded(content)?,
            NodeKind::ArithmeticExpansion { .. } => {
                expanded(&whole.replace("$((", ""))?;
            }
            _ => return Err(not_understood()),
        }
        self.is_known = false;
        Ok(())
    }

    fn literal(&mut self, value: &str) -> Result<(), Destructive> {
        let mut rest = value;
        while let Some(next) = rest.chars().next() {
            rest = &rest[next.len_utf8()..];
            match (self.quotes, next) {
                (Quotes::None, '\'') => self.quotes = Quotes::Single,
                (Quotes::Single, '\'') | (Quotes::Double, '"') => self.quotes = Quotes::None,
                (Quotes::None, '"') => self.quotes = Quotes::Double,
                (Quotes::None | Quotes::Double, '\\') => rest = self.escaped(rest),
                (Quotes::None | Quotes::Double, '$') => return self.dollar(rest),
                (Quotes::None | Quotes::Double, '`') => return Err(not_understood()),
                (Quotes::None, '<' | '>') => return self.unparsed(rest),
                (quotes, _) => {
                    // A name that a wildcard stands for may look like an option.
                    let is_wild = matches!(next, '*' | '?' | '[') && quotes == Quotes::None;
                    self.is_known &= !(is_wild && self.text.is_empty());
                    self.push(next);
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, character: char) {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).as_bytes();
        self.text.extend_from_slice(bytes);
    }

    /// Reads what follows a backslash.
    fn escaped<'r>(&mut self, rest: &'r str) -> &'r str {
        let Some(next) = rest.chars().next() else {
            self.push('\\');
            return rest;
        };
        let is_special = matches!(next, '$' | '`' | '"' | '\\' | '\n');
        if self.quotes == Quotes::Double && !is_special {
            self.push('\\');
        }
        if next != '\n' {
            self.push(next);
        }
        &rest[next.len_utf8()..]
    }

    /// A dollar in a literal is one, unless the parser gave up on what follows.
    fn dollar(&mut self, rest: &str) -> Result<(), Destructive> {
        self.push('$');
        match rest.chars().next() {
            Some('(') => self.unparsed(rest),
            Some('[' | '{') => Err(not_understood()),
            _ => self.literal(rest),
        }
    }

    /// A substitution within substitutions, which the parser leaves as it is written.
    fn unparsed(&mut self, rest: &str) -> Result<(), Destructive> {
        let inner = rest
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'));
        let inner = inner.ok_or_else(not_understood)?;
        self.is_known = false;
        self.walk.deeper(inner)
    }
}

/// Text that is expanded as if between double quotes must not run anything.
pub(super) fn expanded(text: &str) -> Result<(), Destructive> {
    if runs_something(text) {
        return Err(not_understood());
    }
    Ok(())
}

/// May expanding this text run a command?
fn runs_something(text: &str) -> bool {
    ["$(", "`", "<(", ">(", "${", "$["]
        .iter()
        .any(|start| text.contains(start))
}

pub(super) fn not_understood() -> Destructive {
    Destructive::new("sh", Why::NotUnderstood)
}
