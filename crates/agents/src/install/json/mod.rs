//! Edits JSON text and leaves everything that is not edited as it is, to the byte.
//!
//! People keep comments, order and layout in their configurations. An edit here is a splice: the text is
//! parsed to find the place, and characters are inserted or removed there.
//!
//! Every insertion can be undone exactly, without remembering anything, because the text itself shows what
//! there was before:
//!
//! * what is appended to a list that has items stands right behind the last item and its comments;
//! * a list that was empty gets one space in front of its closing bracket, and what stood between the brackets
//!   before comes after that space: so it is told from a list that was made together with its first item.

mod edit;
mod parse;
mod render;

pub(crate) use edit::{append, node_at, remove, replace, root_was_empty};
pub(crate) use parse::{Item, Node};
pub(crate) use render::{Json, Layout, quoted};

/// A file larger than this is not a configuration.
pub(crate) const MAX_BYTES: usize = 8 << 20;

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotText,
    /// It is too large to be a configuration.
    #[error("it is larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// It is not JSON.
    #[error("line {line}: {what}")]
    Broken {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// It has comments or commas that the agent itself cannot read.
    #[error("line {line}: {what}, which the agent itself cannot read")]
    NotStrict {
        /// The line, counted from 1.
        line: usize,
        /// What is there.
        what: &'static str,
    },
}

/// What an agent reads besides plain JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Nothing.
    Strict,
    /// Comments.
    Comments,
    /// Comments, and a comma behind the last item.
    Relaxed,
}

/// A text that was read: where everything stands, and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) root: Node,
    pub(crate) data: serde_json::Value,
}

impl Document {
    /// Reads a text in this dialect.
    pub(crate) fn read(text: String, dialect: Dialect) -> Result<Self, JsonError> {
        let (root, extras) = parse::parse(&text)?;
        let line_of = |at: usize| text[..at].matches('\n').count() + 1;
        if let (Dialect::Strict, Some(comment)) = (dialect, extras.comments.first()) {
            return Err(JsonError::NotStrict {
                line: line_of(comment.start),
                what: "there is a comment",
            });
        }
        let is_relaxed = dialect == Dialect::Relaxed;
        if let (false, Some(comma)) = (is_relaxed, extras.trailing_commas.first()) {
            return Err(JsonError::NotStrict {
                line: line_of(*comma),
                what: "there is a comma behind the last item",
            });
        }
        let data = root.data();
        Ok(Self { text, root, data })
    }
}

/// The text of a file, if it can be a configuration at all.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, JsonError> {
    if bytes.len() > MAX_BYTES {
        return Err(JsonError::TooLarge);
    }
    std::str::from_utf8(bytes).map_err(|_| JsonError::NotText)
}
