//! Could Herma undo this command? The answer, before the command runs.
//!
//! What a command does to which path is read from the command line (`herma_shell`), and every such path is looked up
//! by the rules a save would apply (`present`, `effects`, `answer`). Nothing is run and nothing is written. What cannot
//! be known is said to be unknown:
//!
//! * [`Answer::Exact`]: every file the command can change is saved by a checkpoint taken now, or it changes
//!   nothing.
//! * [`Answer::Partial`]: something it names or may change is not covered. It is named, with the reason.
//! * [`Answer::No`]: nothing of what it would change is covered.
//!
//! # Limits, besides those of `herma_shell`
//!
//! * The answer is about the state before the command. If the command makes a file larger than
//!   `max_file_size`, undo leaves that file alone and names it. That is foreseen for the programs that are
//!   told a size (`truncate`, `dd`, `fallocate`) and for what prints without end, not for others.
//! * A link that a part of the line makes may lead a later part anywhere, so the two together are never
//!   exact (`links`).
//! * Git is taken for a program that only runs itself if the settings of the repository show it (`repository`). The
//!   settings of the user and of the system, which may name programs too, are not looked at.
//! * File times and owners are not kept by any checkpoint: changing a time counts as no change, changing an
//!   owner as one that is not covered.

mod answer;
mod effects;
mod links;
mod present;
mod repository;

use answer::AnswerBuilder;
use bstr::BString;
pub use herma_shell::Command;
use herma_shell::Touch;
use herma_store::RelPath;
use herma_worktree::reason::Reason;
pub use present::PresentFiles;

/// Can the command be undone?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Everything it can change is covered.
    Exact,
    /// Something is not covered.
    Partial,
    /// Nothing is.
    No,
}

impl Answer {
    /// The word the command line and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Partial => "partial",
            Self::No => "no",
        }
    }
}

/// The answer, with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanUndo {
    /// The answer.
    pub answer: Answer,
    /// What would not come back, sorted.
    pub uncovered: Vec<Uncovered>,
    /// How many more there are than `uncovered` names.
    pub more: u64,
    /// What the command names and a checkpoint taken now would cover, sorted. A directory stands for
    /// everything below it that is not in `uncovered`; the root is the empty path.
    pub changes: Vec<RelPath>,
}

/// Something a checkpoint taken now would not bring back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncovered {
    /// What it is.
    pub what: What,
    /// Why it would not come back.
    pub why: Why,
}

/// What is not covered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The effects of a program.
    Program(BString),
    /// A file or directory, relative to the root if it is inside.
    Path(BString),
}

/// Why something is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The effect is not one on files.
    OutsideFiles(&'static str),
    /// What it changes is known only when it runs.
    Unknown(&'static str),
    /// It is not in the project.
    Outside,
    /// It is or belongs to a `.git`, which is never saved.
    GitDirectory,
    /// The file has other names, which change with it and would not change back.
    OtherNames,
    /// No checkpoint keeps this.
    NotKept(&'static str),
    /// The rules of a save leave it out, or it could not be saved.
    LeftOut(Reason),
}

impl Why {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OutsideFiles(_) => "outside-files",
            Self::Unknown(_) => "unknown",
            Self::Outside => "outside",
            Self::GitDirectory => "git-directory",
            Self::OtherNames => "other-names",
            Self::NotKept(_) => "not-kept",
            Self::LeftOut(_) => "left-out",
        }
    }
}

/// For a person.
impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OutsideFiles(why) | Self::Unknown(why) | Self::NotKept(why) => f.write_str(why),
            Self::Outside => f.write_str("it is not in the project"),
            Self::GitDirectory => f.write_str("a `.git` is never saved"),
            Self::OtherNames => {
                f.write_str("it has other names (hard links), which would not change back")
            }
            Self::LeftOut(Reason::Unstable) => f.write_str("it is being changed (unstable)"),
            Self::LeftOut(reason) => write!(f, "checkpoints leave it out ({})", reason.word()),
        }
    }
}

/// Could a command that does this be undone?
pub fn answer<'a>(files: &'a PresentFiles<'a>, touches: &'a [Touch]) -> CanUndo {
    let mut builder = AnswerBuilder::new(files);
    for touch in touches {
        effects::TouchJudge::new(&mut builder, touch).judge();
    }
    builder.answer()
}
