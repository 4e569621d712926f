//! What a command may do, one value for each thing.

use bstr::BString;

/// Why a file or directory that acts for its owner does not come back whole.
pub const IDENTITY_NOT_KEPT: &str = "checkpoints do not keep setuid and setgid bits";

/// One thing a command may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// What it does.
    pub effect: Effect,
    /// The program that does it; the shell itself is `sh`.
    pub program: BString,
    /// Where it runs, absolute and without links; `None` if that is not known.
    pub directory: Option<BString>,
    /// When it does it.
    pub when: When,
    pub(crate) reason: ChangeReason,
}

/// When a command runs, among those of its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Its number, in the order they are written.
    pub command: usize,
    /// Commands with a higher number may run beside it: they are in its pipeline.
    pub beside: Option<usize>,
    /// May it run again, or not at all?
    pub in_loop: bool,
    /// May it run at any later time?
    pub in_background: bool,
}

/// What a program does to a path, which is as it was written, relative to where the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It may change any file.
    Anything(&'static str),
    /// It changes something that is no file here.
    Elsewhere(&'static str),
    /// It is git, which changes nothing itself, but runs what the settings of its repository name.
    RunsGit,
    /// It is led by what is at a path, and changes nothing there.
    Follows(BString),
    /// It writes into the file at a path, or makes it.
    Writes(BString),
    /// What it, or the pipeline it is in, prints goes to the file at a path.
    Prints(BString),
    /// It writes a file that becomes this large at most; `None` if that is not known.
    Grows(BString, Option<u64>),
    /// It makes a file, link or directory at a path, in place of what is there.
    Makes {
        /// Where.
        path: BString,
        /// Is it a directory?
        is_directory: bool,
    },
    /// It removes or replaces what is at a path, with everything below it.
    Replaces(BString),
    /// It changes what is at or below a path in place.
    WritesBelow(BString),
    /// It writes files below a directory whose names are not known.
    Fills(BString),
    /// It removes what git does not track below a directory.
    Cleans {
        /// The directory.
        path: BString,
        /// What git ignores, too?
        with_ignored: bool,
    },
    /// It changes something about a file that no checkpoint keeps.
    NotKept(BString, &'static str),
    /// It copies or moves a file or directory.
    Brings {
        /// What.
        source: BString,
        /// Where to.
        target: BString,
        /// How it comes there.
        arrival: Arrival,
    },
    /// It makes a link.
    Links {
        /// What the link leads to.
        source: BString,
        /// Where the link comes to.
        target: BString,
        /// Into the target, if that is a directory?
        into_directory: bool,
        /// A symbolic link, or another name of the same file?
        is_symbolic: bool,
    },
    /// It changes the repository it runs in.
    GitDirectory,
    /// It may write any file of the repository it runs in, also one that is ignored.
    FillsRepository,
}

/// How files come to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Into the target, if that is a directory?
    pub into_directory: bool,
    /// Directories with everything below them?
    pub with_tree: bool,
    /// Taking the place of a link instead of writing where it leads?
    pub replaces: bool,
}

impl Touch {
    /// Does it change anything by itself?
    pub(crate) fn changes(&self) -> bool {
        !matches!(self.effect, Effect::RunsGit | Effect::Follows(_))
    }
}

impl Effect {
    pub(crate) fn reason(&self) -> ChangeReason {
        match self {
            Self::Anything(_) => ChangeReason::NotKnown,
            Self::Elsewhere(_) => ChangeReason::ActsElsewhere,
            _ => ChangeReason::ChangesFiles,
        }
    }
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
            Self::SetsVariable => {
                ("sets-variable", "it sets a variable that may change what programs do")
            }
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
