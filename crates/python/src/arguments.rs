//! What Python hands over: paths of every kind, names of checkpoints, texts.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use herma_core::RelPath;
use herma_core::Spec;
use herma_core::checkpoint::Facts;
use herma_core::engine::Project as CoreProject;
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::types::PyString;

use crate::checkpoint::Checkpoint;
use crate::errors;

/// A path given as `str`, `bytes` or anything with `__fspath__`.
#[derive(Clone, Debug)]
pub(crate) struct AnyPath(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for AnyPath {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let plain = if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            object.to_owned()
        } else {
            py.import("os")?.call_method1("fspath", (object,))?
        };
        let text = match plain.cast::<PyBytes>() {
            Ok(bytes) => OsString::from_vec(bytes.as_bytes().to_vec()),
            Err(_) => plain.extract::<OsString>()?,
        };
        Ok(Self(PathBuf::from(text)))
    }
}

/// One path or several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths(Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // A text is a path, not a row of letters.
        if let Ok(path) = object.extract::<AnyPath>() {
            return Ok(Self(vec![path.0]));
        }
        let mut paths = Vec::new();
        for item in object.try_iter()? {
            paths.push(item?.extract::<AnyPath>()?.0);
        }
        Ok(Self(paths))
    }
}

impl Paths {
    /// Is none given?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same paths inside the project; relative ones are relative to its root.
    pub(crate) fn inside(
        &self,
        project: &CoreProject<'_>,
    ) -> Result<Vec<RelPath>, herma_core::Error> {
        let one = |path: &PathBuf| project.rel_path(&project.root().join(path));
        self.0.iter().map(one).collect()
    }
}

/// A checkpoint, or a way to name one.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// This one.
    Known(Box<herma_core::Checkpoint>),
    /// A list number, an id prefix, a name or `@-2`.
    Named(Spec),
}

impl<'py> FromPyObject<'_, 'py> for Which {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(known) = object.cast::<Checkpoint>() {
            return Ok(Self::Known(Box::new(known.get().inner.clone())));
        }
        if let Ok(number) = object.extract::<i64>() {
            let number = usize::try_from(number)
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| PyValueError::new_err("checkpoints are numbered from 1"))?;
            return Ok(Self::Named(Spec::Number(number)));
        }
        let text = object.extract::<String>().map_err(|_| {
            PyTypeError::new_err("a checkpoint is a Checkpoint, a number, or an id or name as str")
        })?;
        let spec = Spec::parse(&text).map_err(|bad| errors::raise(bad.into()))?;
        Ok(Self::Named(spec))
    }
}

impl Which {
    /// The newest one.
    pub(crate) const fn newest() -> Self {
        Self::Named(Spec::Back(0))
    }

    /// Finds it.
    pub(crate) fn find(
        &self,
        project: &CoreProject<'_>,
    ) -> Result<herma_core::Checkpoint, herma_core::Error> {
        match self {
            Self::Known(checkpoint) => Ok(checkpoint.as_ref().clone()),
            Self::Named(spec) => project.find(spec),
        }
    }
}

/// Text of any kind: bytes as they are, and a lone surrogate does not stand in the way of a save.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self(bytes.as_bytes().to_vec()));
        }
        let text = object.cast::<PyString>()?;
        Ok(Self(text.to_string_lossy().as_bytes().to_vec()))
    }
}

/// Who asks.
pub(crate) fn facts(
    agent: Option<String>,
    session: Option<String>,
    turn: Option<String>,
    tool: Option<String>,
) -> Facts {
    Facts {
        agent,
        session,
        turn,
        tool,
        transcript: None,
    }
}

/// A path of the project as Python has file names: `os.fsencode` gives the bytes back.
pub(crate) fn name(path: &RelPath) -> OsString {
    OsString::from_vec(path.as_bytes().to_vec())
}

/// A path as it is shown in `repr`.
pub(crate) fn shown(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    herma_core::path::escape(path.as_os_str().as_bytes())
}
