//! What a command that moves files and a conversation set out to do, so that a crash between the two is
//! known to the next command.
//!
//! The intent is durable before the first file changes. Once the files have arrived, what is due to the
//! conversation is worked out and written down as well, then done, and only then the intent goes. Every
//! [`Due`] can be carried out again from any point at which it was interrupted.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TranscriptMark;

const SCHEMA: &str = "herma.rewind-intent/1";

/// A place in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The session.
    pub session: String,
    /// How far it had come.
    pub mark: TranscriptMark,
}

/// What a command set out to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// A restore that takes a conversation along.
    Rewind(Place),
    /// A restore of files alone: what undo had left for redo is void.
    Restore,
    /// An undo: the conversation follows if it went along the other way.
    Undo,
    /// A redo, likewise.
    Redo,
}

/// What is to be done to the conversation when the files are where they should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Due {
    /// Its end is cut.
    Cut {
        /// Where.
        place: Place,
        /// The file that keeps it.
        keep_as: String,
        /// Notes for redo that are void afterwards.
        forget: Vec<String>,
    },
    /// Its end comes back.
    BringBack {
        /// The file that keeps it.
        kept: String,
        /// The note that lets redo cut it again.
        note: Option<String>,
    },
    /// It stays as it is; redo can cut it.
    Note {
        /// The name of the note.
        name: String,
        /// Where.
        place: Place,
    },
    /// It stays as it is, and redo does nothing to it.
    Forget(Vec<String>),
}

impl Due {
    /// Do messages go or come back?
    pub fn is_about_messages(&self) -> bool {
        matches!(self, Self::Cut { .. } | Self::BringBack { .. })
    }
}

/// What a command set out to do, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    schema: String,
    /// What it set out to do.
    pub aim: Aim,
    /// How many moves of the project's files had come to their end before it.
    pub moves: u64,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// Part of the names of what it keeps.
    pub stamp: String,
    /// Is it being undone?
    pub reversing: bool,
    /// What is due to the conversation, once that is known.
    pub due: Option<Due>,
}

impl Intent {
    /// What a command that begins now sets out to do. `nanos` tells it from others at the same move.
    pub fn new(aim: Aim, moves: u64, started: i64, nanos: i64) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            aim,
            moves,
            started,
            stamp: format!("{moves:010}-{nanos}"),
            reversing: false,
            due: None,
        }
    }

    /// The intent in these bytes, if it is one whose names are ours.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let intent: Self = serde_json::from_slice(bytes).ok()?;
        let names = match &intent.due {
            None => Vec::new(),
            Some(Due::Cut { keep_as, forget, .. }) => {
                [vec![keep_as], forget.iter().collect()].concat()
            }
            Some(Due::BringBack { kept, note }) => {
                std::iter::once(kept).chain(note.as_ref()).collect()
            }
            Some(Due::Note { name, .. }) => vec![name],
            Some(Due::Forget(names)) => names.iter().collect(),
        };
        let are_ours = names.into_iter().all(|name| EndName::parse(name).is_some());
        (intent.schema == SCHEMA && are_ours && is_stamp(&intent.stamp)).then_some(intent)
    }
}

/// Where the files of a project have arrived, in checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The checkpoint they were brought to.
    pub at: Option<String>,
    /// The checkpoint that holds what they were before.
    pub left: Option<String>,
    /// Were they like that already?
    pub alone: bool,
}

/// The name of a file that keeps the end of a conversation, or of a note for redo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EndName<'n> {
    pub(super) project: &'n str,
    pub(super) checkpoint: &'n str,
    pub(super) stamp: &'n str,
    /// No file changed beside it.
    pub(super) alone: bool,
    /// It is a note for redo.
    pub(super) is_note: bool,
}

impl<'n> EndName<'n> {
    pub(super) fn parse(name: &'n str) -> Option<Self> {
        let (rest, is_note) = strip(name, ".redo");
        let (rest, alone) = strip(rest, ".alone");
        let (place, stamp) = rest.split_once('.')?;
        let (project, checkpoint) = place.split_once('-')?;
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        (is_hex(project, 16) && is_hex(checkpoint, 40) && is_stamp(stamp)).then_some(Self {
            project,
            checkpoint,
            stamp,
            alone,
            is_note,
        })
    }
}

impl fmt::Display for EndName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = if self.alone { ".alone" } else { "" };
        let note = if self.is_note { ".redo" } else { "" };
        let Self { project, checkpoint, stamp, .. } = self;
        write!(f, "{project}-{checkpoint}.{stamp}{alone}{note}")
    }
}

fn strip<'n>(name: &'n str, suffix: &str) -> (&'n str, bool) {
    match name.strip_suffix(suffix) {
        Some(rest) => (rest, true),
        None => (name, false),
    }
}

fn is_stamp(text: &str) -> bool {
    let is_mark = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_nothing_else_is_taken_for_one() {
        let (project, checkpoint) =
            ("0123456789abcdef", "0123456789012345678901234567890123456789");
        for (alone, is_note) in [(false, false), (true, false), (false, true), (true, true)] {
            let name = EndName { project, checkpoint, stamp: "0000000007-123", alone, is_note };
            let text = name.to_string();
            assert_eq!(EndName::parse(&text), Some(name), "{text}");
        }
        for bad in [
            "",
            "0123456789abcdef.intent",
            "0123456789abcdef-01.7",
            "../x",
            "0123456789abcdef-0123456789012345678901234567890123456789.",
            "0123456789abcdef-0123456789012345678901234567890123456789.1/../x",
        ] {
            assert_eq!(EndName::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_intent_that_names_files_of_others_is_no_intent() {
        let mut intent = Intent::new(Aim::Undo, 3, 0, 5);
        let text = serde_json::to_vec(&intent).unwrap();
        assert_eq!(Intent::parse(&text), Some(intent.clone()));
        intent.due = Some(Due::Forget(vec!["../../state.db".to_owned()]));
        let text = serde_json::to_vec(&intent).unwrap();
        assert_eq!(Intent::parse(&text), None);
    }
}
