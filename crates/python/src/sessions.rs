//! The session database for Python: one call, one JSON answer.
//!
//! Called in a process of its own. Python has its own SQLite, and two of them in one process that have the
//! same database open drop each other's locks when one of them closes it.

use std::path::PathBuf;

use herma_fs::{Dir, IfThere};
use herma_sessions::auto::AutoSettings;
use herma_sessions::{Access, Database, Error, Filter, Result, auto, delete, prune};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::running::without_interpreter;
use crate::{clock, errors};

const DAY: f64 = 86_400.0;

/// What is to be done, and where.
#[derive(Deserialize)]
struct Call {
    database: PathBuf,
    sessions: Option<PathBuf>,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
enum What {
    Delete { id: String },
    Prune { older_than_days: f64, source: Option<String> },
    Auto { retention_days: u32, min_interval_hours: u32, vacuum: bool },
}

/// Carries out a call given as JSON, and answers in JSON.
#[pyfunction]
pub(crate) fn sessions_call(py: Python<'_>, json: &str) -> PyResult<String> {
    let call: Call =
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let answer = without_interpreter(py, || carry_out(call))?;
    answer
        .map(|answer| answer.to_string())
        .map_err(|error| PyRuntimeError::new_err(errors::in_words(&error)))
}

fn carry_out(call: Call) -> Result<Value> {
    let files = call.sessions.map(|path| Dir::open(&path).if_there()).transpose()?.flatten();
    let mut database = Database::open(&call.database, Access::Write)?;
    match call.what {
        What::Delete { id } => match delete::delete(&mut database, files.as_ref(), &id) {
            Ok(removed) => Ok(json!({"deleted": removed.sessions > 0})),
            Err(Error::NotFound(_)) => Ok(json!({"deleted": false})),
            Err(Error::Active(_)) => Ok(json!({"deleted": false, "active": true})),
            Err(error) => Err(error),
        },
        What::Prune { older_than_days, source } => {
            let filter = Filter {
                source,
                idle_since: Some(clock::seconds() - older_than_days * DAY),
                ..Filter::default()
            };
            let removed = prune::prune(&mut database, files.as_ref(), &filter)?;
            Ok(json!({"pruned": removed.sessions}))
        }
        What::Auto { retention_days, min_interval_hours, vacuum } => {
            let settings = AutoSettings {
                retention_days,
                min_interval_hours,
                vacuum,
                ..AutoSettings::default()
            };
            let now = clock::seconds();
            let done = auto::prune_and_vacuum(&mut database, files.as_ref(), &settings, now)?;
            Ok(json!({
                "skipped": done.skipped,
                "pruned": done.removed.sessions,
                "vacuumed": done.vacuumed,
                "notes": done.notes,
            }))
        }
    }
}
