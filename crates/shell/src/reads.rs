//! Does a command only read? Asked without a project, so every file a command names may be there.

use crate::Command;
use crate::programs::SETS_VARIABLE;
use crate::walk::Walk;

/// Longer names of programs are cut.
const MAX_PROGRAM_CHARS: usize = 64;

/// A command that may change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MayChange {
    /// The program that may, as far as one is to be named; cut to 64 characters.
    pub program: String,
    /// What about it.
    pub why: ChangeReason,
}

/// Why a command may change something. Of several reasons for one command the last in this order is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeReason {
    /// It acts on something that is no file of this machine, or as another user.
    ActsElsewhere,
    /// That is what the program is for.
    ChangesFiles,
    /// Its output goes to a file.
    WritesOutput,
    /// What the program does with these arguments is not known.
    NotKnown,
    /// It sets a variable that may change what programs do.
    SetsVariable,
    /// The text is not understood.
    NotUnderstood,
    /// The text is too long, or too nested, to be looked at.
    TooIntricate,
}

impl ChangeReason {
    /// The word JSON uses, and a sentence for a person.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ActsElsewhere => ("acts-elsewhere", "it acts on more than the files here"),
            Self::ChangesFiles => ("changes-files", "it changes files"),
            Self::WritesOutput => ("writes-output", "its output goes to a file"),
            Self::NotKnown => ("not-known", "what it does with these arguments is not known"),
            Self::SetsVariable => ("sets-variable", SETS_VARIABLE),
            Self::NotUnderstood => ("not-understood", "a part of it is not understood"),
            Self::TooIntricate => ("too-intricate", "it is too long or too nested to be looked at"),
        }
    }

    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        self.words().0
    }

    /// For a person.
    pub const fn text(self) -> &'static str {
        self.words().1
    }
}

/// The first of a command's programs that may change something; `None` if it certainly only reads. Git is taken for
/// a program that runs nothing but itself.
pub fn may_change(command: &Command) -> Option<MayChange> {
    let touches = Walk::over(command, None, None);
    let mut changes = touches.iter().filter(|touch| touch.changes());
    let first = changes.next()?;
    let others = changes.take_while(|touch| touch.when.command == first.when.command);
    let why = others.map(|touch| touch.reason).max();
    // `git push` is git, `./configure` is `configure`.
    let program = first.program.to_string();
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name.split(' ').next().unwrap_or_default();
    Some(MayChange {
        program: name.chars().take(MAX_PROGRAM_CHARS).collect(),
        why: why.map_or(first.reason, |why| why.max(first.reason)),
    })
}
