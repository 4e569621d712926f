//! Why something is not in a checkpoint.

use serde::{Deserialize, Serialize};

/// Lists every reason in the order of receipts, with its number in the stat cache and the word receipts and JSON use.
macro_rules! reasons {
    ($($(#[$about:meta])* $reason:ident $number:literal $word:literal;)*) => {
        /// Why an entry was left out of a checkpoint, or taken in with a reservation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$about])* #[serde(rename = $word)] $reason = $number,)*
        }

        impl Reason {
            /// Every reason, in the order receipts list them.
            pub const ALL: &[Self] = &[$(Self::$reason,)*];

            /// The word receipts and JSON use.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$reason => $word,)* }
            }
        }
    };
}

reasons! {
    /// It could not be opened or read.
    Unreadable 4 "unreadable";
    /// It kept changing while it was read. It is in the checkpoint as last read.
    Unstable 5 "unstable";
    /// Larger than `max_file_size_mb`.
    TooLarge 3 "too-large";
    /// Its name says it holds a secret.
    Secret 7 "secret";
    /// Its content looks like it holds a secret.
    SecretContent 11 "secret-content";
    /// Its content looks like it holds a secret, but it was saved before, the user's git tracks it, or
    /// it is most likely made for a test. It is in the checkpoint.
    SavedSecret 12 "saved-secret";
    /// No restore could write this name (see `path::check_name`).
    ReservedName 8 "reserved-name";
    /// A pipe, socket or device.
    Special 6 "special";
    /// A mount point: what is below lives on another file system.
    OtherFileSystem 9 "other-file-system";
    /// Something of the same file system is mounted there.
    Mount 14 "mount";
    /// A linked worktree of a git repository: it is a project of its own.
    Worktree 15 "worktree";
    /// A submodule: it is a project of its own.
    Submodule 16 "submodule";
    /// A git repository with checkpoints of its own.
    Repository 17 "repository";
    /// Herma's own data: the store, the home, a restore's temporary file.
    Own 10 "own";
    /// The project's `.gitignore` or `.git/info/exclude` leaves it out.
    Ignored 2 "ignored";
    /// The built-in list, the settings or `.hermaignore` leave it out.
    Excluded 1 "excluded";
    /// It was in the checkpoint, and `herma purge` took it out of all of them.
    Purged 13 "purged";
    /// It has a setuid or setgid bit, which no checkpoint keeps. It is in the checkpoint.
    Identity 18 "identity";
}

impl Reason {
    /// The reason with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| *reason as u8 == number)
    }

    /// The reason with this word.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        let mut reasons = Self::ALL.iter().copied();
        reasons.find(|reason| reason.word().as_bytes() == word)
    }

    /// Is it in the checkpoint all the same?
    pub fn is_captured(self) -> bool {
        matches!(self, Self::Unstable | Self::SavedSecret | Self::Identity)
    }

    /// Is something missing that no rule leaves out, or not as it is on disk? Then the exit code says so.
    pub fn is_gap(self) -> bool {
        !self.is_rule() && self != Self::SavedSecret
    }

    /// Is it what is in the file, or how large it is, that leaves it out?
    pub fn is_of_state(self) -> bool {
        matches!(self, Self::TooLarge | Self::SecretContent)
    }

    /// Is it merely a rule that leaves this out? Everything else is named at once.
    pub fn is_rule(self) -> bool {
        matches!(self, Self::Excluded | Self::Ignored | Self::Own | Self::Purged | Self::Identity)
            || self.is_project()
    }

    /// Does it, with everything below it, belong to somebody else (`owner`)? Nothing is ever written,
    /// replaced or removed there, whatever a checkpoint holds, and that it is not in one says nothing about it.
    pub fn is_foreign(self) -> bool {
        self.is_mount() || self.is_project()
    }

    /// Is it mounted there?
    pub fn is_mount(self) -> bool {
        matches!(self, Self::OtherFileSystem | Self::Mount)
    }

    /// Is it a project of its own?
    pub fn is_project(self) -> bool {
        matches!(self, Self::Worktree | Self::Submodule | Self::Repository)
    }
}
