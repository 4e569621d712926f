//! A checkpoint as callers see it, and the words that name one.
//!
//! * [`message`]: what its commit says; [`receipt`]: what it says of itself besides its tree
//! * [`address`]: how a person names one

pub mod address;
pub mod message;
pub mod receipt;

use bstr::BString;
use herma_store::{ObjectId, RelPath};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

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
    /// Its number, which no other checkpoint of the project ever gets.
    pub number: u64,
    /// Its place in the order of saving: its number, but for what was taken over from elsewhere.
    pub place: i64,
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
    /// Did a check pass in this state?
    pub green: bool,
    /// Files and directories that `herma purge` took out of it: it says nothing about them any more.
    pub purged: Vec<RelPath>,
    /// The line it came in with, if it is none of the project's own.
    pub line: Option<String>,
}

impl Checkpoint {
    /// The reason of a checkpoint that nobody gave one.
    pub const UNSAID: &str = "manual";

    /// Did nobody say why it was saved?
    pub fn is_unsaid(&self) -> bool {
        self.reason.is_empty() || self.reason == Self::UNSAID.as_bytes()
    }

    /// The reason as one line, as git and Hermes show it: its first paragraph, the lines joined by spaces.
    pub fn subject(&self) -> BString {
        message::subject(&self.reason)
    }

    /// Does it say of every path whether it was there, with its mode, or why that is not known?
    pub fn vouches_for_all(&self) -> bool {
        self.extra.is_some() && !self.receipt_damaged && self.purged.is_empty()
    }
}

/// What part of a checkpoint to bring back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreOptions {
    /// Only these files and directories; empty means everything.
    pub paths: Vec<RelPath>,
    /// Leave these files and directories as they are.
    pub keep: Vec<RelPath>,
}

/// A checkpoint that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedCheckpoint {
    /// The ref that names it.
    pub name: String,
    /// Its number, if the ref tells it.
    pub number: Option<u64>,
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
