//! What there is to say of an agent's conversations.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

use herma_fs::Dir;

use crate::records::{Line, Records};
use crate::{Call, CallEnd, Cut, Places, Result};

/// What there is to say of an agent's conversations.
#[derive(Debug)]
pub(crate) struct Form {
    /// The word step records know it by.
    pub(crate) word: &'static str,
    /// The name its makers use.
    pub(crate) title: &'static str,
    /// Which ids its sessions have.
    pub(crate) ids: Ids,
    /// The directory and the name of a session's record.
    pub(crate) find: fn(Places<'_>, &str) -> Result<Found>,
    /// Which lines stay.
    pub(crate) keep: fn(&Records, &Dir, Call<'_>, Cut) -> Result<Kept>,
    /// Writes a line with the new session's id in place of the old one's.
    pub(crate) rename: fn(&[u8], &str, &str, &mut Vec<u8>) -> Result<()>,
    /// What the new record is called: from the old one's name, the old session's id and the new one's.
    pub(crate) name: fn(&str, &str, &str) -> String,
    /// Where each session has a directory of its own for its record, if it has.
    pub(crate) directories: Option<fn(Places<'_>) -> PathBuf>,
    /// What continues a session, with `ID` for its id.
    pub(crate) resume: &'static [&'static str],
    /// How its records tell of the ends of calls that no hook tells of, if they do.
    pub(crate) ends: Option<Ends>,
}

/// How an agent's records tell of the ends of calls.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The directory and the name of the record in which the result of a call is.
    pub(crate) find: fn(Places<'_>, Call<'_>) -> Result<Found>,
    /// How this call ended, from the lines, the newest first. `None` where they do not say so.
    pub(crate) tells: fn(&mut dyn Iterator<Item = &[u8]>, Call<'_>) -> Option<CallEnd>,
}

/// The directory of a record and its name there, if there is one.
pub(crate) type Found = Option<(Dir, String)>;

/// What stays of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// How many messages are in them.
    pub(crate) messages: u64,
    /// How many there were.
    pub(crate) all_messages: u64,
    /// The directory the agent worked in.
    pub(crate) directory: Option<PathBuf>,
}

/// Which ids an agent's sessions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// UUIDs of version 4.
    Random,
    /// UUIDs of version 7, which begin with the time.
    Timed,
}

impl Ids {
    /// One for a session that begins now, in milliseconds since 1970.
    pub(crate) fn next(self, now_ms: u64) -> String {
        let random = |salt| RandomState::new().hash_one(salt);
        let (high, low) = match self {
            Self::Random => (random(0) & !0xf000 | 0x4000, random(1)),
            Self::Timed => (now_ms << 16 | 0x7000 | random(0) & 0xfff, random(1)),
        };
        let low = low & (u64::MAX >> 2) | 1 << 63;
        let hex = format!("{high:016x}{low:016x}");
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        parts.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_of_their_version() {
        let random = Ids::Random.next(0);
        assert_eq!((random.len(), &random[14..15]), (36, "4"), "{random}");
        assert!(matches!(&random[19..20], "8" | "9" | "a" | "b"), "{random}");
        let timed = Ids::Timed.next(0x0123_4567_89ab);
        assert_eq!(&timed[..15], "01234567-89ab-7");
        assert_ne!(Ids::Timed.next(0), Ids::Timed.next(0));
    }
}
