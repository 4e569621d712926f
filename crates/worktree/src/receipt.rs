//! What a checkpoint captured, and what it did not, by name and reason.

use std::collections::BTreeMap;

use herma_store::RelPath;

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
    pub left_out: BTreeMap<Reason, u64>,
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

/// Why a state that left this out says nothing about a path: it, or a directory above it, was left out.
pub fn why_left_out(left_out: &BTreeMap<Vec<u8>, Reason>, path: &RelPath) -> Option<Reason> {
    left_out_at(left_out, path).map(|(_, reason)| reason)
}

/// The same, with the length of the path that was left out: its own, or that of a directory above it.
pub fn left_out_at(
    left_out: &BTreeMap<Vec<u8>, Reason>,
    path: &RelPath,
) -> Option<(usize, Reason)> {
    if left_out.is_empty() {
        return None;
    }
    let bytes = path.as_bytes();
    let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut ends = slashes.map(|(at, _)| at).chain([bytes.len()]);
    ends.find_map(|end| Some((end, *left_out.get(&bytes[..end])?)))
}
