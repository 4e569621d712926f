//! Conflicts, put into words.

use std::fmt;

use super::{ConflictWhy, Decided};

impl ConflictWhy {
    /// The word JSON uses.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Binary => "binary",
            Self::Link => "link",
            Self::NestedRepository => "nested-repository",
            Self::TypeChanged => "type-changed",
            Self::Mode => "mode",
            Self::ChangedLater => "changed-later",
            Self::DeletedLater => "deleted-later",
            Self::Reappeared => "reappeared",
            Self::MovedLater { .. } => "moved-later",
            Self::Occupied { .. } => "occupied",
            Self::InTheWay => "in-the-way",
        }
    }

    /// The same of a copy that is merged with the present: there the "step" leads from the copy back to its beginning.
    pub fn of_copy(&self) -> String {
        match self {
            Self::ChangedLater => "deleted in the copy, and changed here".to_owned(),
            Self::DeletedLater => "changed in the copy, and deleted here".to_owned(),
            Self::Reappeared => "made in the copy, and another one was made here".to_owned(),
            Self::MovedLater { from } => {
                format!("moved in the copy to {from}, and moved here, too")
            }
            Self::Text { .. }
            | Self::Binary
            | Self::Link
            | Self::NestedRepository
            | Self::TypeChanged
            | Self::Mode
            | Self::Occupied { .. }
            | Self::InTheWay => self.to_string().replace("changed since", "changed here, too"),
        }
    }
}

impl fmt::Display for ConflictWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { lines } => {
                let plural =
                    if matches!(lines[..], [(first, last)] if first == last) { "" } else { "s" };
                let places = lines.iter().map(|(first, last)| match last - first {
                    0 => first.to_string(),
                    _ => format!("{first}–{last}"),
                });
                let places = places.collect::<Vec<_>>().join(", ");
                write!(f, "the same or adjacent lines were changed since (line{plural} {places})")
            }
            Self::Binary => f.write_str("it is not text, and was changed since"),
            Self::Link => f.write_str("the link was changed since"),
            Self::NestedRepository => f.write_str("it is a repository of its own"),
            Self::TypeChanged => f.write_str("it was a link and is a file, or the reverse"),
            Self::Mode => f.write_str("its permissions were changed since"),
            Self::ChangedLater => f.write_str("the step made it, and it was changed since"),
            Self::DeletedLater => f.write_str("the step changed it, and it was deleted since"),
            Self::Reappeared => f.write_str("the step deleted it, and another one is there now"),
            Self::MovedLater { from } => {
                write!(f, "the step moved it from {from}, and it was moved on since")
            }
            Self::Occupied { by_now } => {
                write!(f, "{by_now} belongs here, where another one is by now")
            }
            Self::InTheWay => f.write_str("a directory or a file is in the way"),
        }
    }
}

impl Decided {
    /// The word JSON and `--conflicts` use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Ours => "ours",
            Self::Theirs => "theirs",
            Self::Markers => "markers",
        }
    }
}
