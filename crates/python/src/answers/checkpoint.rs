//! A checkpoint, what a save made of it, and what it holds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use herma_core::Saved as CoreSaved;
use herma_core::types::checkpoint::{ChangeCount, Origin, Transcript};
use herma_worktree::receipt::{LeftOut as CoreLeftOut, Receipt as CoreReceipt};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDelta, PyTuple, PyTzInfo};

use crate::answers::{Answer, answer, copies, next_field};
use crate::paths::{name, shown};

/// How many characters of an id tell checkpoints apart for a person.
const SHORT_ID_DIGITS: usize = 8;

/// A saved state of one project.
#[pyclass(frozen, module = "herma", eq, hash, from_py_object)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) inner: herma_core::Checkpoint,
}

impl std::hash::Hash for Checkpoint {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.id.as_bytes().hash(state);
    }
}

impl From<herma_core::Checkpoint> for Checkpoint {
    fn from(inner: herma_core::Checkpoint) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Checkpoint {
    /// The commit that is the checkpoint, as 40 hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.inner.id.to_hex()
    }

    /// The beginning of the id.
    #[getter]
    fn short_id(&self) -> String {
        self.inner.id.to_hex()[..SHORT_ID_DIGITS].to_owned()
    }

    /// Its tree, as 40 hexadecimal digits.
    #[getter]
    fn tree(&self) -> String {
        self.inner.tree.to_hex()
    }

    /// Its place in the list, 1 being the newest.
    #[getter]
    fn number(&self) -> usize {
        self.inner.number
    }

    /// Its place in the order of saving; never changes.
    #[getter]
    fn sequence(&self) -> u64 {
        self.inner.sequence
    }

    /// When it was taken, in seconds since 1970.
    #[getter]
    fn timestamp(&self) -> f64 {
        self.inner.time.as_float()
    }

    /// When it was taken, with the offset of the place where it was taken.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDateTime>> {
        let seconds = self.inner.time.offset_minutes * 60;
        let offset = PyDelta::new(py, 0, seconds, 0, true)?;
        let zone = PyTzInfo::fixed_offset(py, offset)?;
        PyDateTime::from_timestamp(py, self.inner.time.as_float(), Some(&zone))
    }

    /// Why it was taken, exactly as given.
    #[getter]
    fn reason(&self) -> String {
        String::from_utf8_lossy(&self.inner.reason).into_owned()
    }

    /// The reason as one line: its first paragraph.
    #[getter]
    fn subject(&self) -> String {
        String::from_utf8_lossy(&self.inner.subject()).into_owned()
    }

    /// How it came to be: `saved`, `safety`, `merged`, `interrupted` or `hermes`.
    #[getter]
    fn origin(&self) -> &'static str {
        self.inner.origin.word()
    }

    /// The agent that asked for it.
    #[getter]
    fn agent(&self) -> Option<&str> {
        self.inner.facts.agent.as_deref()
    }

    /// The conversation it was taken in.
    #[getter]
    fn session(&self) -> Option<&str> {
        self.inner.facts.session.as_deref()
    }

    /// The user prompt it was taken for.
    #[getter]
    fn turn(&self) -> Option<&str> {
        self.inner.facts.turn.as_deref()
    }

    /// The tool that was about to run.
    #[getter]
    fn tool(&self) -> Option<&str> {
        self.inner.facts.tool.as_deref()
    }

    /// What changed since the checkpoint before it, if that was counted.
    #[getter]
    fn changes(&self) -> Option<Changes> {
        self.inner.changes.map(Changes::from)
    }

    /// The names given to it.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names.clone()
    }

    /// Does it stay whatever cleaning does?
    #[getter]
    fn pinned(&self) -> bool {
        self.inner.pinned
    }

    /// The receipt cannot be read; the files can.
    #[getter]
    fn receipt_damaged(&self) -> bool {
        self.inner.receipt_damaged
    }

    fn __str__(&self) -> String {
        self.short_id()
    }

    fn __repr__(&self) -> String {
        let inner = &self.inner;
        let subject = inner.subject().to_string();
        format!("<Checkpoint {} {} {subject:?}>", inner.number, self.short_id())
    }
}

copies!(Checkpoint);

/// A checkpoint is pickled as what it says of itself, so that another process finds the same one.
impl Answer for Checkpoint {
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let inner = &self.inner;
        let hex = |id: herma_core::ObjectId| id.to_hex();
        let ids = (hex(inner.id), hex(inner.tree), inner.modes.map(hex), inner.extra.map(hex));
        let time = &inner.time;
        let time = (time.seconds, time.nanos, time.offset_minutes);
        let facts = &inner.facts;
        let who = (&facts.agent, &facts.session, &facts.turn, &facts.tool);
        let transcript = facts.transcript.map(|at| (at.message, at.messages, at.bytes));
        let purged: Vec<_> = inner.purged.iter().map(name).collect();
        let state = (inner.receipt_damaged, inner.pinned, &inner.names, purged);
        let place = (inner.number, inner.sequence, inner.origin.word());
        let reason = PyBytes::new(py, &inner.reason);
        (ids, place, time, reason, who, transcript, self.changes(), state).into_pyobject(py)
    }

    fn from_fields(fields: &Bound<'_, PyTuple>) -> PyResult<Self> {
        type Who = (Option<String>, Option<String>, Option<String>, Option<String>);
        let wrong = || PyValueError::new_err("what was pickled is no checkpoint");
        let id = |hex: String| herma_core::ObjectId::from_hex(hex.as_bytes()).ok_or_else(wrong);
        let mut fields = fields.iter();
        let (own, tree, modes, extra): (String, String, Option<String>, Option<String>) =
            next_field(&mut fields)?;
        let (number, sequence, origin): (usize, u64, String) = next_field(&mut fields)?;
        let (seconds, nanos, offset_minutes) = next_field(&mut fields)?;
        let reason: Vec<u8> = next_field(&mut fields)?;
        let (agent, session, turn, tool): Who = next_field(&mut fields)?;
        let transcript: Option<(i64, u64, Option<u64>)> = next_field(&mut fields)?;
        let changes: Option<Changes> = next_field(&mut fields)?;
        let (receipt_damaged, pinned, names, purged): (bool, bool, Vec<String>, Vec<OsString>) =
            next_field(&mut fields)?;
        let purged = purged
            .into_iter()
            .map(|path| herma_core::RelPath::new(path.into_vec()).map_err(|_| wrong()));
        Ok(Self::from(herma_core::Checkpoint {
            id: id(own)?,
            number,
            sequence,
            tree: id(tree)?,
            modes: modes.map(id).transpose()?,
            extra: extra.map(id).transpose()?,
            receipt_damaged,
            time: herma_core::types::clock::Timestamp { seconds, nanos, offset_minutes },
            reason: reason.into(),
            origin: Origin::from_word(&origin).ok_or_else(wrong)?,
            facts: herma_core::types::checkpoint::Facts {
                agent,
                session,
                turn,
                tool,
                transcript: transcript.map(|(message, messages, bytes)| Transcript {
                    message,
                    messages,
                    bytes,
                }),
            },
            changes: changes.map(|count| ChangeCount {
                files: count.files,
                insertions: count.insertions,
                deletions: count.deletions,
                lines_known: count.lines_known,
            }),
            names,
            pinned,
            purged: purged.collect::<PyResult<_>>()?,
        }))
    }
}

/// How much changed.
#[pyclass(frozen, get_all, eq, from_py_object, module = "herma")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Files added, removed or changed.
    pub(crate) files: u64,
    /// Lines added.
    pub(crate) insertions: u64,
    /// Lines removed.
    pub(crate) deletions: u64,
    /// Were the lines counted?
    pub(crate) lines_known: bool,
}

impl From<herma_core::types::checkpoint::ChangeCount> for Changes {
    fn from(count: herma_core::types::checkpoint::ChangeCount) -> Self {
        Self {
            files: count.files,
            insertions: count.insertions,
            deletions: count.deletions,
            lines_known: count.lines_known,
        }
    }
}

#[pymethods]
impl Changes {
    fn __repr__(&self) -> String {
        let Self { files, insertions, deletions, .. } = self;
        format!("<Changes {files} files +{insertions}/-{deletions}>")
    }
}

answer!(Changes { files, insertions, deletions, lines_known });

/// Something that is not in a checkpoint, and why.
#[pyclass(frozen, get_all, eq, from_py_object, module = "herma")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Where it is; a directory stands for everything below it.
    pub(crate) path: OsString,
    /// Why, in a word: `excluded`, `ignored`, `too-large`, `unreadable`, …
    pub(crate) reason: String,
    /// The kind of secret its content looks like it holds, and the line.
    pub(crate) secret: Option<(String, u32)>,
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

#[pymethods]
impl LeftOut {
    fn __repr__(&self) -> String {
        format!("<LeftOut {} {}>", shown(self.path.as_ref()), self.reason)
    }
}

answer!(LeftOut { path, reason, secret });

/// What a checkpoint captured, and what it did not.
#[pyclass(frozen, get_all, from_py_object, module = "herma")]
#[derive(Clone, Debug)]
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

#[pymethods]
impl Receipt {
    fn __repr__(&self) -> String {
        let left_out: u64 = self.counts.values().sum();
        format!("<Receipt {} files, {left_out} left out>", self.files)
    }
}

answer!(Receipt { files, bytes, directories, counts, left_out });

/// What came of a save.
#[pyclass(frozen, get_all, from_py_object, module = "herma")]
#[expect(clippy::struct_field_names, reason = "the fields are named as in the JSON")]
#[derive(Clone, Debug)]
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

#[pymethods]
impl Saved {
    fn __repr__(&self) -> String {
        let word = if self.is_new { "new" } else { "unchanged" };
        format!("<Saved {word} {}>", self.checkpoint.__repr__())
    }
}

answer!(Saved { checkpoint, is_new, receipt, notes, saved_again, lost_packs, due });
