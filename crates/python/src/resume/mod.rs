//! Resume records for Python: a record is data, and so it stays.

mod value;

use std::path::Path;

use herma_sessions::resume::{Record, ResumeError, ResumeStore, SessionId, Value, gc};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::paths::AnyPath;
use crate::running::without_interpreter;
use crate::{clock, errors};

fn failed(error: &ResumeError) -> PyErr {
    PyOSError::new_err(errors::in_words(error))
}

fn session(text: &str) -> PyResult<SessionId> {
    SessionId::parse(text).map_err(|bad| PyValueError::new_err(bad.to_string()))
}

/// The directory above, and the name in it.
fn place(directory: &Path) -> PyResult<(&Path, &str)> {
    let name = directory.file_name().and_then(|name| name.to_str());
    directory
        .parent()
        .zip(name)
        .ok_or_else(|| PyValueError::new_err("a directory for records has a name"))
}

fn open(directory: &Path) -> PyResult<Option<ResumeStore>> {
    let (parent, name) = place(directory)?;
    ResumeStore::open_in(parent, name).map_err(|error| failed(&error))
}

/// Writes a record, given as a `dict`. `as_text` turns what is no plain data into some that is.
#[pyfunction]
pub(crate) fn resume_write(
    py: Python<'_>,
    directory: AnyPath,
    session_id: &str,
    data: &Bound<'_, PyAny>,
    as_text: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let session = session(session_id)?;
    let map = value::map(data, as_text)?;
    let (parent, name) = place(&directory.0)?;
    without_interpreter(py, || {
        let store = ResumeStore::create_in(parent, name)?;
        store.save(&session, &Record::new(map), &clock::now())
    })?
    .map(drop)
    .map_err(|error| failed(&error))
}

/// The record of a session as a `dict`; `None` if there is none that can be used.
#[pyfunction]
pub(crate) fn resume_read<'py>(
    py: Python<'py>,
    directory: AnyPath,
    session_id: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let session = session(session_id)?;
    let store = open(&directory.0)?;
    let found = without_interpreter(py, || store.and_then(|store| store.look(&session)))?;
    let Some(Ok(record)) = found else { return Ok(None) };
    let content = Value::Map(record.content().clone());
    value::to_python(py, &content).map(Some)
}

/// Removes the record of a session; tells whether there was one.
#[pyfunction]
pub(crate) fn resume_delete(
    py: Python<'_>,
    directory: AnyPath,
    session_id: &str,
) -> PyResult<bool> {
    let session = session(session_id)?;
    match open(&directory.0)? {
        Some(store) => {
            without_interpreter(py, || store.delete(&session))?.map_err(|error| failed(&error))
        }
        None => Ok(false),
    }
}

/// The names of the files that are called like records, sorted, without their ending.
#[pyfunction]
pub(crate) fn resume_list(py: Python<'_>, directory: AnyPath) -> PyResult<Vec<String>> {
    let Some(store) = open(&directory.0)? else { return Ok(Vec::new()) };
    let listed = without_interpreter(py, || store.list())?.map_err(|error| failed(&error))?;
    let stem = |file: &str| file.strip_suffix(".yaml").unwrap_or(file).to_owned();
    Ok(listed.iter().map(|listed| stem(&listed.file)).collect())
}

/// Removes what has served its time, and sets aside what is no record; returns the names of both.
#[pyfunction]
pub(crate) fn resume_gc(
    py: Python<'_>,
    directory: AnyPath,
    max_age_days: u32,
) -> PyResult<Vec<String>> {
    let Some(store) = open(&directory.0)? else { return Ok(Vec::new()) };
    let collected = without_interpreter(py, || {
        let now = clock::now();
        let plan = gc::plan(&store, &now, max_age_days)?;
        Ok(plan.apply(&store, &now))
    })?;
    let collected = collected.map_err(|error: ResumeError| failed(&error))?;
    let removed = collected.removed.iter().map(ToString::to_string);
    let set_aside = collected
        .set_aside
        .iter()
        .map(|(file, _)| file.strip_suffix(".yaml").unwrap_or(file).to_owned());
    Ok(removed.chain(set_aside).collect())
}
