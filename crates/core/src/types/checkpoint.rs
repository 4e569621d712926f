//! A checkpoint as callers see it, and the words that name one.

use bstr::BString;
use herma_store::{ObjectId, RelPath};
use serde::{Deserialize, Serialize};

use crate::types::clock::Timestamp;
use crate::types::message;

/// Who asked for a checkpoint, and while doing what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The agent's name.
    pub agent: Option<String>,
    /// The conversation.
    pub session: Option<String>,
    /// The user prompt within the conversation.
    pub turn: Option<String>,
    /// The tool about to run.
    pub tool: Option<String>,
    /// How far the conversation had come.
    #[serde(skip)]
    pub transcript: Option<Transcript>,
}

impl Facts {
    /// What everybody says who asks for one.
    pub fn of(
        agent: Option<String>,
        session: Option<String>,
        turn: Option<String>,
        tool: Option<String>,
    ) -> Self {
        Self { agent, session, turn, tool, transcript: None }
    }

    /// Those that are text, by the names that trailers and `herma show` give them.
    pub fn texts(&self) -> [(&'static str, Option<&String>); 4] {
        let Self { agent, session, turn, tool, transcript: _ } = self;
        let texts = [("Agent", agent), ("Session", session), ("Turn", turn), ("Tool", tool)];
        texts.map(|(name, text)| (name, text.as_ref()))
    }

    /// The same, to be written.
    pub(crate) fn texts_mut(&mut self) -> [(&'static str, &mut Option<String>); 4] {
        let Self { agent, session, turn, tool, transcript: _ } = self;
        [("Agent", agent), ("Session", session), ("Turn", turn), ("Tool", tool)]
    }
}

/// How far a conversation had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The number of its newest message; 0 if it had none.
    pub message: i64,
    /// How many messages it had.
    pub messages: u64,
    /// The length of its transcript file, if there was one.
    pub bytes: Option<u64>,
}

/// How a checkpoint came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody asked for it.
    Saved,
    /// Taken before a restore, undo or redo changed files.
    Safety,
    /// Put together by Herma, from what agents did and what a person did, for the project to be brought to.
    Merged,
    /// Taken while a restore was interrupted: part of it is as before the restore, part as after it.
    Interrupted,
    /// Written by Hermes.
    Hermes,
}

impl Origin {
    /// The word trailers and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Safety => "safety",
            Self::Merged => "merged",
            Self::Interrupted => "interrupted",
            Self::Hermes => "hermes",
        }
    }

    /// The origin with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Saved, Self::Safety, Self::Merged, Self::Interrupted, Self::Hermes];
        all.into_iter().find(|origin| origin.word() == word)
    }
}

/// What changed between a checkpoint and the one before it, counted once, at save.
pub use herma_diff::Stats as ChangeCount;

/// A saved state of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The commit that is the checkpoint.
    pub id: ObjectId,
    /// Its place in the list, 1 being the newest.
    pub number: usize,
    /// Its place in the order of saving; never changes.
    pub sequence: u64,
    /// The project's tree.
    pub tree: ObjectId,
    /// Full modes and empty directories, where they differ from what a tree can say.
    pub modes: Option<ObjectId>,
    /// The receipt and the modes, as one tree; Hermes checkpoints have none.
    pub extra: Option<ObjectId>,
    /// The receipt and the modes cannot be read; the files can.
    pub receipt_damaged: bool,
    /// When it was taken, by the clock of that moment.
    pub time: Timestamp,
    /// Why, exactly as given.
    pub reason: BString,
    /// How it came to be.
    pub origin: Origin,
    /// Who asked for it.
    pub facts: Facts,
    /// What changed since the checkpoint before it; `None` for the first one and for Hermes's.
    pub changes: Option<ChangeCount>,
    /// Names given to it.
    pub names: Vec<String>,
    /// Does it stay whatever cleaning does?
    pub pinned: bool,
    /// Files and directories that `herma purge` took out of it: it says nothing about them any more.
    pub purged: Vec<RelPath>,
}

impl Checkpoint {
    /// The reason as one line, as git and Hermes show it: its first paragraph, the lines joined by spaces.
    pub fn subject(&self) -> BString {
        message::subject(&self.reason)
    }

    /// Does it say of every path whether it was there, with its mode, or why that is not known?
    pub(crate) fn vouches_for_all(&self) -> bool {
        self.extra.is_some() && !self.receipt_damaged && self.purged.is_empty()
    }
}

/// A checkpoint that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedCheckpoint {
    /// The ref that names it.
    pub name: String,
    /// Its place in the list, if it has one.
    pub number: Option<usize>,
    /// What is wrong.
    pub what: String,
}

/// The newest checkpoints of a project, and what is damaged.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Those that can be read, newest first, as many as were asked for.
    pub checkpoints: Vec<Checkpoint>,
    /// Those that cannot be read, and refs that name nothing. An older one than was asked for is here if it is gone, and
    /// not if it is there but spoiled: its bytes were not looked at.
    pub damaged: Vec<DamagedCheckpoint>,
    /// How many checkpoints the project has.
    pub count: usize,
}

/// The way a person names a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// `3`: the third in the list, 1 being the newest.
    Number(usize),
    /// `@`, `@-2`: the newest, or so many before it.
    Back(usize),
    /// `7f2c…`, `1234567` or `id:1234`: the beginning of its id, lower-case.
    Id(String),
    /// A name given with `herma name`.
    Name(String),
}

/// A text that cannot name a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    /// Nothing was given.
    #[error("an empty text names no checkpoint")]
    Empty,
    /// Looks like an option.
    #[error("`{0}` begins with a dash")]
    Dash(String),
    /// `@` with something other than `-N` behind it, or a number out of reach.
    #[error("`{0}` is not a checkpoint: write a number, an id, a name or `@-2`")]
    Malformed(String),
}

impl Spec {
    /// Reads what a person typed. Digits are a list number, unless there are as many as `herma list` shows of an id.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let malformed = || BadSpec::Malformed(herma_store::path::escape(text.as_bytes()));
        if text.is_empty() {
            return Err(BadSpec::Empty);
        }
        if text.starts_with('-') {
            return Err(BadSpec::Dash(herma_store::path::escape(text.as_bytes())));
        }
        if let Some(id) = text.strip_prefix("id:") {
            return parse_id(id).map(Self::Id).ok_or_else(malformed);
        }
        if let Some(back) = text.strip_prefix('@') {
            return match back.strip_prefix('-') {
                None if back.is_empty() => Ok(Self::Back(0)),
                Some(digits) => digits.parse().map(Self::Back).map_err(|_| malformed()),
                None => Err(malformed()),
            };
        }
        if text.len() < SHORT_ID && text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(Self::Number).map_err(|_| malformed());
        }
        if let Some(id) = parse_id(text) {
            return Ok(Self::Id(id));
        }
        check_checkpoint_name(text).map_err(|_| malformed())?;
        Ok(Self::Name(text.to_owned()))
    }
}

/// How much of an id a list shows. One id in 27 begins with so many decimal digits, and no list is so long that one
/// of its numbers would have them.
const SHORT_ID: usize = 7;

/// 4 to 40 hexadecimal digits, as lower case.
fn parse_id(text: &str) -> Option<String> {
    let valid = (4..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    valid.then(|| text.to_ascii_lowercase())
}

/// Why a text cannot be given to a checkpoint as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCheckpointName {
    /// Empty, or longer than 100 bytes.
    #[error("a name has 1 to 100 bytes")]
    Length,
    /// A number or something that reads as an id.
    #[error("it would be taken for a number or an id")]
    LooksLikeNumber,
    /// A character that cannot be part of a name.
    #[error(
        "a name is made of letters, digits, `-`, `_`, `.` and `/`, and begins with a letter or digit"
    )]
    Character,
}

/// Checks a name before it is given to a checkpoint.
pub fn check_checkpoint_name(name: &str) -> Result<(), BadCheckpointName> {
    if name.is_empty() || name.len() > 100 {
        return Err(BadCheckpointName::Length);
    }
    if name.bytes().all(|b| b.is_ascii_digit()) || parse_id(name).is_some() {
        return Err(BadCheckpointName::LooksLikeNumber);
    }
    let first = name.chars().next().is_some_and(char::is_alphanumeric);
    let all = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    // Git's own rules for refs: no `..`, no empty or dot-led component, no `.lock` at the end of one.
    let parts = name.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && part.strip_suffix(".lock").is_none()
    });
    if first && all && parts && !name.contains("..") {
        Ok(())
    } else {
        Err(BadCheckpointName::Character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digit_id_prefix_is_not_taken_for_a_list_number() {
        assert_eq!(Spec::parse("123456"), Ok(Spec::Number(123_456)));
        assert_eq!(Spec::parse("id:123456"), Ok(Spec::Id("123456".into())));
        assert_eq!(Spec::parse("1234567"), Ok(Spec::Id("1234567".into())));
        assert_eq!(Spec::parse("0123456"), Ok(Spec::Id("0123456".into())));
        assert_eq!(Spec::parse("12ab"), Ok(Spec::Id("12ab".into())));
        assert_eq!(Spec::parse("DEADBEEF"), Ok(Spec::Id("deadbeef".into())));
    }

    #[test]
    fn the_other_ways_to_name_a_checkpoint() {
        assert_eq!(Spec::parse("@"), Ok(Spec::Back(0)));
        assert_eq!(Spec::parse("@-2"), Ok(Spec::Back(2)));
        assert_eq!(Spec::parse("before-refactor"), Ok(Spec::Name("before-refactor".into())));
        for bad in
            ["", "-p", "--patch", "@x", "@-", "a..b", "a b", "x\n", "id:", "id:xyz", "x.lock"]
        {
            assert!(Spec::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Spec::parse(&"9".repeat(41)).is_err());
    }

    #[test]
    fn names_never_read_as_something_else() {
        for bad in ["", "12", "beef", "@-1", "-x", ".hidden", "a//b", "a/.b", "x.lock", "a..b"] {
            assert!(check_checkpoint_name(bad).is_err(), "{bad:?}");
        }
        for good in ["before-refactor", "v1.2", "größer", "feature/login"] {
            assert_eq!(check_checkpoint_name(good), Ok(()), "{good:?}");
        }
    }
}
