//! What differs between two states.

use std::ffi::OsString;

use herma_core::Comparison;
use herma_diff::stat::per_file;
use herma_diff::{Budget, Change as CoreChange, FileStat, PatchOptions, patch};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answers::{answer, plain};
use crate::paths::{AnyPath, name, shown};

answer! {
    /// One file that differs.
    pub(crate) struct Change [eq] {
        /// The path; for a rename the new one.
        path: OsString,
        /// `A`, `D`, `M`, `T` or `R`, as git has it.
        status: char,
        /// The old path of a file that moved.
        from_path: Option<OsString>,
        /// Lines added; `None` where lines are not counted.
        insertions: Option<u64>,
        /// Lines removed; `None` where lines are not counted.
        deletions: Option<u64>,
        /// Is one of the two no text?
        binary: bool,
        /// How many bytes the file had and has, 0 where there is none; `None` if its content is the same.
        sizes: Option<(u64, u64)>,
    }
    repr |this| format!("<Change {} {}>", this.status, shown(this.path.as_ref()))
}

impl Change {
    fn new(change: &CoreChange, stat: &FileStat) -> Self {
        let status = match (change.old, change.new) {
            (None, _) => 'A',
            (_, None) => 'D',
            _ if change.from.is_some() => 'R',
            _ if change.is_type_change() => 'T',
            _ => 'M',
        };
        Self {
            path: name(&change.path),
            status,
            from_path: change.from.as_ref().map(|from| name(&from.path)),
            insertions: stat.insertions,
            deletions: stat.deletions,
            binary: stat.binary,
            sizes: stat.sizes,
        }
    }
}

/// The differences between two states.
#[pyclass(frozen, module = "herma")]
pub(crate) struct Diff {
    /// The differences, sorted by path.
    #[pyo3(get)]
    pub(crate) changes: Vec<Change>,
    /// Do permissions or empty directories differ, which no patch can say?
    #[pyo3(get)]
    modes_differ: bool,
    patch: Vec<u8>,
}

impl Diff {
    /// Counts the lines, and writes the patch if it is asked for.
    pub(crate) fn new(
        comparison: &Comparison,
        options: Option<&PatchOptions>,
    ) -> Result<Self, herma_core::Error> {
        let (old, new) = (comparison.old_side(), comparison.new_side());
        let changes = &comparison.changes;
        let counted = per_file(changes, &*old, &*new, Budget::UNLIMITED)?;
        let pairs = changes.iter().zip(&counted);
        let patch = match options {
            Some(options) => patch::to_bytes(changes, &*old, &*new, options)?,
            None => Vec::new(),
        };
        Ok(Self {
            changes: pairs.map(|(change, stat)| Change::new(change, stat)).collect(),
            modes_differ: comparison.modes_differ,
            patch,
        })
    }
}

#[pymethods]
impl Diff {
    /// The patch, as `git apply` takes it.
    #[getter]
    fn patch<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.patch)
    }

    /// The patch as text; bytes that are no UTF-8 are replaced.
    #[getter]
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.patch).into_owned()
    }

    fn __bool__(&self) -> bool {
        !self.changes.is_empty() || self.modes_differ
    }

    fn __len__(&self) -> usize {
        self.changes.len()
    }

    fn __repr__(&self) -> String {
        format!("<Diff {} files>", self.changes.len())
    }
}

plain!(Diff { changes, modes_differ, patch });

/// A file name as git shows it: in double quotes, with escapes, if it is not plain ASCII.
#[pyfunction]
pub(crate) fn quoted(path: AnyPath) -> String {
    use std::os::unix::ffi::OsStrExt;
    let quoted = herma_diff::quote(path.0.as_os_str().as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}
