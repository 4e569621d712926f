//! What lies in a project and in no checkpoint, watched while a step is under way.
//!
//! A step can destroy what checkpoints leave out, and nobody could bring it back; so nobody may say that it changed
//! nothing. When a step begins, its record notes what is there (`sighting`): of files that are left out their kind,
//! size and time, of directories that are left out as a whole, or belong to somebody else, that they are there and how
//! many names are in them, of git repositories where `HEAD` and the branches are (`repository`). When it ends, that is
//! looked at again, and what is gone or different stays in the record ([`Outside`]). Nothing here is ever opened for its content but git's own
//! small files, nothing is followed out of the project, and everything is bounded.
//!
//! What tools make again by themselves and nobody misses is not watched, a log may grow, what comes new is no loss, and
//! of whole directories only that they are gone or empty is told: else every step would have something to tell. What is
//! deeper in them is never looked at; a step that is not known to have changed anything says how many there are.
//!
//! What was there and left out need not have changed to be at stake: a save that finds no file different makes no new checkpoint, so
//! the one before the step may not say that it was there, and once a step has made it part of the project it looks as if the step
//! had made it. So the record also says that (`LeftOutThen`), and undo leaves it alone.

mod elsewhere;
mod noise;
mod repository;
mod sighting;
mod text;

use std::fmt;

use bstr::BString;
use herma_store::path::escape;
use herma_worktree::reason::Reason;
use serde::{Deserialize, Serialize};
pub use sighting::Sighting;

/// So many changes are remembered one by one.
const REMEMBERED: usize = 100;

/// What a step changed that no checkpoint holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    /// The first changes: files by path, then repositories.
    pub changes: Vec<OutsideChange>,
    /// How many more files there are.
    #[serde(default)]
    pub more: u64,
    /// Where nothing is known to have changed, in checkpoints or outside: how many directories were not looked into.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u64,
    /// What was there, left out, when the step began, though the checkpoint before it does not say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaid: Vec<LeftOutThen>,
}

/// A file or directory that was there and left out when a step began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutThen {
    /// Where.
    #[serde(with = "text")]
    pub path: BString,
    /// Why it was left out.
    pub reason: Reason,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One change outside checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OutsideChange {
    /// Where: a file or directory that is left out, or the `.git` of a repository.
    #[serde(with = "text")]
    pub path: BString,
    /// What happened.
    pub what: OutsideWhat,
}

/// What happened to something no checkpoint holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsideWhat {
    /// It is gone.
    Removed(Reason),
    /// It has another size or time, or is something else.
    Changed(Reason),
    /// The directory is there, and nothing is in it any more.
    Emptied(Reason),
    /// It came: somebody else's directory, which no undo removes.
    Added(Reason),
    /// A repository of git, in words.
    Git(String),
    /// A file that the call named and that is not in the project: whether it was made, changed or removed. The path is absolute.
    Elsewhere(String),
}

impl LeftOutThen {
    fn new(path: &[u8], reason: Reason) -> Self {
        Self { path: path.into(), reason }
    }
}

impl OutsideWhat {
    /// The word JSON uses.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Removed(_) => "removed",
            Self::Changed(_) => "changed",
            Self::Emptied(_) => "emptied",
            Self::Added(_) => "added",
            Self::Git(_) => "git",
            Self::Elsewhere(_) => "elsewhere",
        }
    }

    /// Why no checkpoint holds it.
    pub const fn reason(&self) -> Option<Reason> {
        match self {
            Self::Removed(reason)
            | Self::Changed(reason)
            | Self::Emptied(reason)
            | Self::Added(reason) => Some(*reason),
            Self::Git(_) | Self::Elsewhere(_) => None,
        }
    }
}

impl Outside {
    /// The files and directories that are known to have been there, left out, when the step began.
    pub(crate) fn were_there(&self) -> impl Iterator<Item = (Vec<u8>, Reason)> + '_ {
        let changes = self.changes.iter();
        let were_there = changes.filter(|change| !matches!(change.what, OutsideWhat::Added(_)));
        let unsaid = self.unsaid.iter();
        were_there
            .filter_map(|change| Some((change.path.to_vec(), change.what.reason()?)))
            .chain(unsaid.map(|then| (then.path.to_vec(), then.reason)))
    }
}

impl fmt::Display for OutsideChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let OutsideWhat::Elsewhere(fate) = &self.what {
            let path = escape(&self.path);
            return write!(f, "outside the project: {path} {fate}, not covered");
        }
        let OutsideWhat::Git(words) = &self.what else {
            let whose = self.what.reason().filter(|reason| reason.is_project());
            if let Some(whose) = whose {
                write!(f, "{} ", whose.word())?;
            }
            let what = match &self.what {
                OutsideWhat::Removed(reason) if reason.is_mount() => "unmounted",
                OutsideWhat::Added(reason) if reason.is_mount() => "mounted",
                what => what.word(),
            };
            return write!(f, "{} {what}", escape(&self.path));
        };
        match self.path.strip_suffix(b"/.git") {
            Some(directory) => write!(f, "git in {}: {words}, not covered", escape(directory)),
            None => write!(f, "git: {words}, not covered"),
        }
    }
}

impl Outside {
    /// Was nothing noticed?
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.more == 0
    }

    /// The files and directories that changed.
    pub fn files(&self) -> impl Iterator<Item = &OutsideChange> {
        let is_file = |change: &&OutsideChange| change.what.reason().is_some();
        self.changes.iter().filter(is_file)
    }

    /// What happened to repositories of git, and outside the project.
    pub fn others(&self) -> impl Iterator<Item = &OutsideChange> {
        let is_other = |change: &&OutsideChange| change.what.reason().is_none();
        self.changes.iter().filter(is_other)
    }

    fn of(mut files: Vec<OutsideChange>, others: Vec<OutsideChange>) -> Self {
        files.sort_unstable();
        let more = files.len().saturating_sub(REMEMBERED);
        files.truncate(REMEMBERED);
        files.extend(others.into_iter().take(REMEMBERED));
        Self { changes: files, more: more as u64, unseen: 0, unsaid: Vec::new() }
    }
}
