//! Paths of every kind, as Python hands them over and as it gets them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use herma_core::RelPath;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::{BadRequest, FileSystemFailed};

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

/// A place in the file system: a home, a project. A leading `~` or `~name` is a user's home directory, as in a shell.
#[derive(Clone, Debug)]
pub(crate) struct Place(PathBuf);

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let AnyPath(path) = object.extract()?;
        if !path.as_os_str().as_encoded_bytes().starts_with(b"~") {
            return Ok(Self(path));
        }
        let os_path = object.py().import("os.path")?;
        let expanded = os_path.call_method1("expanduser", (path.into_os_string(),))?;
        let AnyPath(path) = expanded.extract()?;
        if path.as_os_str().as_encoded_bytes().starts_with(b"~") {
            let text = format!(
                "nobody knows whose home directory {} is; `./~` is a directory called `~`",
                shown(&path)
            );
            return Err(BadRequest::new_err(text));
        }
        Ok(Self(path))
    }
}

impl Place {
    /// The path, if it can be one. `what` is how the caller calls it.
    pub(crate) fn checked(self, what: &str) -> PyResult<PathBuf> {
        let bytes = self.0.as_os_str().as_bytes();
        if bytes.is_empty() {
            return Err(BadRequest::new_err(format!("`{what}` is an empty path")));
        }
        if bytes.contains(&0) {
            let text = format!("`{what}` contains a NUL byte, which no path can");
            return Err(BadRequest::new_err(text));
        }
        Ok(self.0)
    }

    /// The same place whatever directory the process works in later.
    pub(crate) fn absolute(self, what: &str) -> PyResult<PathBuf> {
        let path = self.checked(what)?;
        std::path::absolute(&path).map_err(|error| {
            let text = format!("`{what}` is relative, and the working directory is gone: {error}");
            FileSystemFailed::new_err(text)
        })
    }
}

/// A path of the project as Python has file names: `os.fsencode` gives the bytes back.
pub(crate) fn name(path: &RelPath) -> OsString {
    OsString::from_vec(path.as_bytes().to_vec())
}

/// A path as it is shown in `repr`.
pub(crate) fn shown(path: &Path) -> String {
    herma_store::path::escape(path.as_os_str().as_bytes())
}
