//! A checkpoint, what a save made of it, and what it holds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use herma_core::Saved as CoreSaved;
use herma_core::types::checkpoint::ChangeCount;
use herma_worktree::receipt::{LeftOut as CoreLeftOut, Receipt as CoreReceipt};
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyDelta, PyTzInfo};

use crate::answers::{answer, plain};
use crate::paths::shown;

/// How many characters of an id tell checkpoints apart for a person.
const SHORT_ID_DIGITS: usize = 8;

/// A saved state of one project.
#[pyclass(frozen, get_all, eq, hash, from_py_object, module = "herma")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    /// The commit that is the checkpoint, as 40 hexadecimal digits.
    pub(crate) id: String,
    /// Its tree, as 40 hexadecimal digits.
    tree: String,
    /// Its number, which no other checkpoint of the project ever gets.
    number: u64,
    /// When it was taken, in seconds since 1970.
    timestamp: f64,
    /// How far the clocks of the place where it was taken are from UTC.
    #[pyo3(name = "_offset_minutes")]
    offset_minutes: i32,
    /// Why it was taken, exactly as given.
    reason: String,
    /// The reason as one line: its first paragraph.
    subject: String,
    /// How it came to be: `saved`, `safety`, `merged`, `interrupted` or `hermes`.
    origin: String,
    /// The agent that asked for it.
    agent: Option<String>,
    /// The conversation it was taken in.
    session: Option<String>,
    /// The user prompt it was taken for.
    turn: Option<String>,
    /// The tool that was about to run.
    tool: Option<String>,
    /// What changed since the checkpoint before it, if that was counted.
    changes: Option<Changes>,
    /// The names given to it.
    names: Vec<String>,
    /// Does it stay whatever cleaning does?
    pinned: bool,
    /// The receipt cannot be read; the files can.
    receipt_damaged: bool,
}

plain!(Checkpoint {
    id,
    tree,
    number,
    timestamp,
    offset_minutes,
    reason,
    subject,
    origin,
    agent,
    session,
    turn,
    tool,
    changes,
    names,
    pinned,
    receipt_damaged
});

impl std::hash::Hash for Checkpoint {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl From<herma_core::Checkpoint> for Checkpoint {
    fn from(checkpoint: herma_core::Checkpoint) -> Self {
        Self {
            id: checkpoint.id.to_hex(),
            tree: checkpoint.tree.to_hex(),
            number: checkpoint.number,
            timestamp: checkpoint.time.as_float(),
            offset_minutes: checkpoint.time.offset_minutes,
            reason: String::from_utf8_lossy(&checkpoint.reason).into_owned(),
            subject: String::from_utf8_lossy(&checkpoint.subject()).into_owned(),
            origin: checkpoint.origin.word().to_owned(),
            agent: checkpoint.facts.agent,
            session: checkpoint.facts.session,
            turn: checkpoint.facts.turn,
            tool: checkpoint.facts.tool,
            changes: checkpoint.changes.map(Changes::from),
            names: checkpoint.names,
            pinned: checkpoint.pinned,
            receipt_damaged: checkpoint.receipt_damaged,
        }
    }
}

#[pymethods]
impl Checkpoint {
    /// The beginning of the id.
    #[getter]
    fn short_id(&self) -> &str {
        &self.id[..SHORT_ID_DIGITS]
    }

    /// When it was taken, with the offset of the place where it was taken.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDateTime>> {
        let offset = PyDelta::new(py, 0, self.offset_minutes * 60, 0, true)?;
        let zone = PyTzInfo::fixed_offset(py, offset)?;
        PyDateTime::from_timestamp(py, self.timestamp, Some(&zone))
    }

    fn __str__(&self) -> &str {
        self.short_id()
    }

    fn __repr__(&self) -> String {
        format!("<Checkpoint {} {} {:?}>", self.number, self.short_id(), self.subject)
    }
}

answer! {
    /// How much changed.
    pub(crate) struct Changes [eq] {
        /// Files added, removed or changed.
        pub(crate) files: u64,
        /// Lines added.
        pub(crate) insertions: u64,
        /// Lines removed.
        pub(crate) deletions: u64,
        /// Were the lines counted?
        pub(crate) lines_known: bool,
    }
    repr |this| {
            let Changes { files, insertions, deletions, .. } = this;
            format!("<Changes {files} files +{insertions}/-{deletions}>")
    }
}

impl From<ChangeCount> for Changes {
    fn from(count: ChangeCount) -> Self {
        Self {
            files: count.files,
            insertions: count.insertions,
            deletions: count.deletions,
            lines_known: count.lines_known,
        }
    }
}

answer! {
    /// Something that is not in a checkpoint, and why.
    pub(crate) struct LeftOut [eq] {
        /// Where it is; a directory stands for everything below it.
        pub(crate) path: OsString,
        /// Why, in a word: `excluded`, `ignored`, `too-large`, `unreadable`, …
        pub(crate) reason: String,
        /// The kind of secret its content looks like it holds, and the line.
        pub(crate) secret: Option<(String, u32)>,
    }
    repr |this| format!("<LeftOut {} {}>", shown(this.path.as_ref()), this.reason)
}

impl From<&CoreLeftOut> for LeftOut {
    fn from(left_out: &CoreLeftOut) -> Self {
        Self {
            path: OsString::from_vec(left_out.path.to_vec()),
            reason: left_out.reason.word().to_owned(),
            secret: left_out.secret.map(|found| (found.kind.word().to_owned(), found.line)),
        }
    }
}

answer! {
    /// What a checkpoint captured, and what it did not.
    pub(crate) struct Receipt {
        /// Files and symlinks captured.
        files: u64,
        /// Their bytes.
        bytes: u64,
        /// Directories they are in.
        directories: u64,
        /// How many entries were left out, by reason.
        counts: BTreeMap<String, u64>,
        /// What was left out, sorted by path.
        left_out: Vec<LeftOut>,
    }
    repr |this| {
            let left_out: u64 = this.counts.values().sum();
            format!("<Receipt {} files, {left_out} left out>", this.files)
    }
}

impl From<&CoreReceipt> for Receipt {
    fn from(receipt: &CoreReceipt) -> Self {
        let summary = &receipt.summary;
        let counts = summary.left_out.iter();
        Self {
            files: summary.files,
            bytes: summary.bytes,
            directories: summary.directories,
            counts: counts.map(|(reason, count)| (reason.word().to_owned(), *count)).collect(),
            left_out: receipt.left_out.iter().map(LeftOut::from).collect(),
        }
    }
}

answer! {
    /// What came of a save.
    #[expect(clippy::struct_field_names, reason = "the fields are named as in the JSON")]
    pub(crate) struct Saved {
        /// The checkpoint that holds the present state.
        checkpoint: Checkpoint,
        /// Was it made now? If not, nothing had changed since it was.
        is_new: bool,
        /// The counts, and what is missing that no rule leaves out.
        receipt: Receipt,
        /// Things worth telling that did not keep the checkpoint from being saved.
        notes: Vec<String>,
        /// So many files were missing in the store, or damaged there, and were saved again.
        saved_again: u64,
        /// Packs of the store that were there at the last save and are gone or not as they were.
        lost_packs: Vec<String>,
        /// Is it time to clean up?
        due: bool,
    }
    repr |this| {
            let word = if this.is_new { "new" } else { "unchanged" };
            format!("<Saved {word} {}>", this.checkpoint.__repr__())
    }
}

impl From<CoreSaved> for Saved {
    fn from(saved: CoreSaved) -> Self {
        Self {
            checkpoint: saved.checkpoint.into(),
            is_new: saved.is_new,
            receipt: Receipt::from(&saved.receipt),
            notes: saved.notes,
            saved_again: saved.lost.files,
            lost_packs: saved.lost.packs,
            due: saved.due.is_some(),
        }
    }
}
