//! What Python hands over: parts of a project, names of checkpoints and steps, texts.

use std::path::PathBuf;

use herma_core::engine::Project as CoreProject;
use herma_core::steps::StepId;
use herma_core::types::checkpoint::Facts;
use herma_core::{RelPath, Spec};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use crate::answers::checkpoint::Checkpoint;
use crate::errors;
use crate::errors::{BadRequest, NoSuchStep, OutOfRange};
use crate::paths::AnyPath;

/// One path or several, each of them not empty: the empty path would mean the whole project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths(Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let given = several(object)?;
        if given.iter().any(|path| path.as_os_str().is_empty()) {
            let text = "a path is not empty; `.` is the whole project";
            return Err(BadRequest::new_err(text));
        }
        Ok(Self(given))
    }
}

/// One path or several, whatever they are.
fn several(object: Borrowed<'_, '_, PyAny>) -> PyResult<Vec<PathBuf>> {
    // A text is a path, not a row of letters.
    if let Ok(path) = object.extract::<AnyPath>() {
        return Ok(vec![path.0]);
    }
    items(object, "paths", |item| Ok(item.extract::<AnyPath>()?.0))
}

/// More of anything are not meant, and one after the other they would fill the memory.
const MAX_ITEMS: usize = 1 << 20;

/// The items of a collection, which are counted as they come: what it says of its length may be anything.
pub(crate) fn items<'py, T>(
    object: Borrowed<'_, 'py, PyAny>,
    what: &str,
    mut one: impl FnMut(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let mut found = Vec::new();
    for item in object.try_iter()? {
        if found.len() == MAX_ITEMS {
            let text = format!("`{what}` has more than {MAX_ITEMS} items");
            return Err(BadRequest::new_err(text));
        }
        found.push(one(item?)?);
    }
    Ok(found)
}

/// Is it one text, whose items are not meant?
pub(crate) fn is_text(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>()
}

/// Patterns of file names, any number of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(pub(crate) Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Patterns {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if is_text(object) {
            let text = "patterns are given as several texts, such as `[\"*.log\"]`";
            return Err(PyTypeError::new_err(text));
        }
        let pattern = |item: Bound<'py, PyAny>| item.extract::<String>();
        Ok(Self(items(object, "patterns", pattern)?))
    }
}

impl Paths {
    /// The same paths inside the project; relative ones are relative to its root.
    pub(crate) fn inside(&self, project: &CoreProject) -> Result<Vec<RelPath>, herma_core::Error> {
        let one = |path: &PathBuf| project.rel_path(&project.root().join(path));
        self.0.iter().map(one).collect()
    }

    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The part of a project that is meant. A choice of nothing is refused: whoever chose nothing must not get
/// everything.
#[derive(Clone, Debug)]
pub(crate) struct Scope(Paths);

impl<'py> FromPyObject<'_, 'py> for Scope {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let paths = object.extract::<Paths>()?;
        if paths.is_empty() {
            let text = "`paths` is not empty; leave it out if nothing is to be chosen";
            return Err(BadRequest::new_err(text));
        }
        Ok(Self(paths))
    }
}

/// The paths of what was chosen; none if nothing was.
pub(crate) fn chosen(scope: Option<Scope>) -> Paths {
    scope.map(|scope| scope.0).unwrap_or_default()
}

/// The files a tool names, as they are shown: labels, which may lie anywhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels(pub(crate) Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Labels {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let label = |path: PathBuf| path.to_string_lossy().into_owned();
        Ok(Self(several(object)?.into_iter().map(label).collect()))
    }
}

/// A step as a caller names it: by its number, or by its handle, such as `"s7"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedStep(pub(crate) StepId);

impl<'py> FromPyObject<'_, 'py> for NamedStep {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.extract::<String>() {
            let id = StepId::parse(&text).map(Self);
            return id.ok_or_else(|| BadRequest::new_err(format!("no step is called {text:?}")));
        }
        let what = "the number of a step";
        if is_beyond(object) {
            return Err(NoSuchStep::new_err(format!("there is no step {}", as_given(object))));
        }
        whole(object, what)?
            .filter(|number| *number > 0)
            .map(|number| Self(StepId::Number(number)))
            .ok_or_else(|| BadRequest::new_err("steps are numbered from 1"))
    }
}

/// The handle of a step that is under way, which has no number yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(pub(crate) i64);

impl<'py> FromPyObject<'_, 'py> for Handle {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.extract::<Words>()?.0;
        match StepId::parse(&text) {
            Some(StepId::Handle(handle)) => Ok(Self(handle)),
            _ => Err(BadRequest::new_err(format!("{text:?} is no handle of a step, such as 's7'"))),
        }
    }
}

/// What steps are called, at least one.
#[derive(Clone, Debug)]
pub(crate) struct NamedSteps(pub(crate) Vec<StepId>);

impl<'py> FromPyObject<'_, 'py> for NamedSteps {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if is_text(object) {
            return Err(PyTypeError::new_err("steps are given as several numbers"));
        }
        let name = |item: Bound<'py, PyAny>| Ok(item.extract::<NamedStep>()?.0);
        let names = items(object, "steps", name)?;
        if names.is_empty() {
            let text = "the steps that are meant are not empty; name at least one";
            return Err(BadRequest::new_err(text));
        }
        Ok(Self(names))
    }
}

/// A whole number of any size: `None` below 0, and the largest there is instead of a larger one.
pub(crate) fn whole(object: Borrowed<'_, '_, PyAny>, what: &str) -> PyResult<Option<u64>> {
    if !object.is_instance_of::<PyInt>() {
        return Err(PyTypeError::new_err(format!("{what} is an int")));
    }
    if object.lt(0)? {
        return Ok(None);
    }
    Ok(Some(object.extract().unwrap_or(u64::MAX)))
}

/// Is it a number that is larger than any the engine gives?
fn is_beyond(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>()
        && object.gt(0).unwrap_or(false)
        && object.extract::<u64>().is_err()
}

/// A number in the caller's digits, unless Python finds there are too many of them.
fn as_given(object: Borrowed<'_, '_, PyAny>) -> String {
    let digits = object.str().map(|text| text.to_string_lossy().into_owned());
    digits.unwrap_or_else(|_| "of so many digits".to_owned())
}

/// A way to name a checkpoint: one there is, a number, an id prefix, a name or `@-2`.
#[derive(Clone, Debug)]
pub(crate) struct Which(Spec);

impl<'py> FromPyObject<'_, 'py> for Which {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(known) = object.cast::<Checkpoint>() {
            return Ok(Self(Spec::Id(known.get().id.clone())));
        }
        if object.is_instance_of::<PyInt>() {
            if is_beyond(object) {
                return Err(OutOfRange::new_err(format!(
                    "there is no checkpoint number {}",
                    as_given(object)
                )));
            }
            let number = whole(object, "the number of a checkpoint")?
                .filter(|number| *number > 0)
                .ok_or_else(|| BadRequest::new_err("checkpoints are numbered from 1"))?;
            return Ok(Self(Spec::Number(number)));
        }
        let text = object.extract::<Words>().map_err(|_| {
            PyTypeError::new_err("a checkpoint is a Checkpoint, a number, or an id or name as str")
        })?;
        Spec::parse(&text.0).map(Self).map_err(|bad| errors::raise(bad.into()))
    }
}

impl Which {
    /// The newest one.
    pub(crate) const fn newest() -> Self {
        Self(Spec::Back(0))
    }

    /// Finds it.
    pub(crate) fn find(
        &self,
        project: &CoreProject,
    ) -> Result<herma_core::Checkpoint, herma_core::Error> {
        project.find(&self.0)
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

/// A `str`, in which a lone surrogate stands in the way of nothing.
#[derive(Clone, Debug)]
pub(crate) struct Words(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Words {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        Ok(Self(text.to_string_lossy().into_owned()))
    }
}

/// The text, if there is one.
pub(crate) fn said(words: Option<Words>) -> Option<String> {
    words.map(|words| words.0)
}

/// Who asks.
pub(crate) fn facts(
    agent: Option<Words>,
    session: Option<Words>,
    turn: Option<Words>,
    tool: Option<Words>,
) -> Facts {
    Facts::of(said(agent), said(session), said(turn), said(tool))
}
