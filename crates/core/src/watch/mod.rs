//! What changed since the last save, as somebody who watches tells it.
//!
//! A watcher never says what is in a directory now; it says in which directories something happened, and the
//! save looks at those itself. Whatever the watcher is not certain of it does not answer, and the save walks
//! the project as it does without one. So a watcher can make a save quicker, and nothing else.
//!
//! A save asks *before* it looks. The stat cache it writes carries the [`Token`] of that answer, so everything
//! that happens while it looks or afterwards is newer than the token and will be told next time. The cache and
//! the watcher agree on which directories are meant by a number made of all their paths ([`structure_of`]): a
//! directory the watcher does not watch makes the numbers differ, and then there is no answer.
//!
//! * [`tree`]: the watched directories of one project
//! * [`root`]: one project: what happened in it, and the directories its stat cache names
//! * [`watching`]: all projects of one watcher, and its answers
//! * [`check`]: a look at everything now and then, for what no system tells

pub mod check;
mod root;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;
mod tree;
pub mod watching;

use std::path::Path;

use sha2::Digest;

/// A moment in the life of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Which watch over which project; never 0.
    pub instance: u64,
    /// How much had happened by then.
    pub sequence: u64,
}

impl Token {
    /// As it stands in a stat cache; zeros for none.
    pub(crate) fn encode(token: Option<Self>) -> [u8; 16] {
        let (instance, sequence) = token.map_or((0, 0), |t| (t.instance, t.sequence));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&instance.to_le_bytes());
        bytes[8..].copy_from_slice(&sequence.to_le_bytes());
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (instance, sequence) = (number(0)?, number(8)?);
        (instance != 0).then_some(Self { instance, sequence })
    }
}

/// What a save wants to know.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// The project root.
    pub root: &'q Path,
    /// The device and inode of the directory that was opened there.
    pub place: (u64, u64),
    /// The directory with the project's stat cache.
    pub state: &'q Path,
    /// How many files the project had when it was last saved.
    pub files: u64,
    /// The token of the stat cache and the [`structure_of`] all its directories; `None` if it has no token.
    pub since: Option<(Token, u64)>,
}

/// Why a watcher does not know what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// There is none, or it did not answer in time.
    NoAnswer,
    /// It has just begun to watch this project.
    NotYet,
    /// More happened than the system keeps, or it stopped telling.
    Missed,
    /// The project has more directories than may be watched.
    TooMany,
    /// The project is on a file system that does not tell, or cannot be opened.
    Unwatchable,
    /// The watcher is of another version, or sees other mounts.
    OtherWorld,
}

/// What a watcher says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does not know.
    Unknown(Doubt),
    /// It knows everything from this moment on, but not what happened since the last save.
    From(Token),
    /// Since the last save something happened in these directories at most.
    Since {
        /// The present moment.
        now: Token,
        /// Paths from the root, which is empty itself.
        dirty: Vec<Vec<u8>>,
    },
}

/// Somebody who watches.
pub trait Watcher: Send + Sync {
    /// What changed? Answers soon or not at all.
    fn changes(&self, question: &Question<'_>) -> Answer;
}

/// The number of one directory. Those of a set of directories, added up, say whether two sets are the same.
pub fn structure_of(path: &[u8]) -> u64 {
    let hash = sha2::Sha256::digest(path);
    u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes"))
}
