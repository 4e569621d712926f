//! What a checkpoint captured, and what it did not, by name and reason.

use crate::reason::Reason;
use crate::secrets::Finding;

/// One thing that is not in a checkpoint, or is in it with a reservation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Where it is. Left out directories stand for everything below them.
    pub path: LeftOutPath,
    /// Why.
    pub reason: Reason,
    /// Which secret its content looks like it holds, and where.
    pub secret: Option<Finding>,
}

/// The path of something left out: unlike a [`RelPath`] it may be a name no restore would write.
pub type LeftOutPath = bstr::BString;

/// How much a checkpoint captured, and how much it left out for each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files and symlinks captured.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Directories they are in, the root included.
    pub directories: u64,
    /// Entries left out, by reason; reasons with none are absent.
    pub left_out: std::collections::BTreeMap<Reason, u64>,
}

impl Summary {
    /// Was anything left out that no rule leaves out?
    pub fn is_partial(&self) -> bool {
        self.left_out.keys().any(|reason| reason.is_gap())
    }

    /// Is there anything to be named at once?
    pub fn names_something(&self) -> bool {
        self.left_out.keys().any(|reason| !reason.is_rule())
    }
}

/// The receipt of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The counts.
    pub summary: Summary,
    /// Everything left out, sorted by path.
    pub left_out: Vec<LeftOut>,
}
