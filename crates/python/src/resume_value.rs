//! Between Python's data and the data of a resume record.
//!
//! Numbers of every size, infinities and keys that are no text go over as they are. What a record has no word
//! for (times, sets, paths) is turned into text by the caller.

use herma_sessions::resume::Map;
use herma_sessions::resume::Value;
use herma_sessions::resume::yaml;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use pyo3::types::PyDict;
use pyo3::types::PyFloat;
use pyo3::types::PyInt;
use pyo3::types::PyList;
use pyo3::types::PyString;
use pyo3::types::PyTuple;

/// Deeper data is refused; a record could not be read back, and a loop has no end.
const DEEPEST: usize = 64;

/// The data of a record, from a `dict`; `as_text` is asked about what is no plain data.
pub(crate) fn map(data: &Bound<'_, PyAny>, as_text: &Bound<'_, PyAny>) -> PyResult<Map> {
    match value(data, as_text, 0)? {
        Value::Map(map) => Ok(map),
        _ => Err(PyTypeError::new_err("a record has keys and values")),
    }
}

fn value(data: &Bound<'_, PyAny>, as_text: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err("nested too deeply, or in itself"));
    }
    if let Some(scalar) = scalar(data)? {
        return Ok(scalar);
    }
    let below = |item: &Bound<'_, PyAny>| value(item, as_text, depth + 1);
    if let Ok(dict) = data.cast::<PyDict>() {
        let pair = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let found = scalar(&key)?;
            let key = found.ok_or_else(|| PyTypeError::new_err("a key is text or a number"))?;
            Ok((key, below(&item)?))
        };
        let pairs: PyResult<Vec<_>> = dict.iter().map(pair).collect();
        return Ok(Value::Map(Map::from_pairs(pairs?)));
    }
    if data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>() {
        let values: PyResult<_> = data.try_iter()?.map(|item| below(&item?)).collect();
        return Ok(Value::List(values?));
    }
    below(&as_text.call1((data,))?)
}

/// Nothing, yes or no, a number, or text; `None` if it is something else.
fn scalar(data: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if data.is_none() {
        return Ok(Some(Value::Null));
    }
    // Yes and no are numbers too, to Python.
    if let Ok(value) = data.cast::<PyBool>() {
        return Ok(Some(Value::Bool(value.is_true())));
    }
    if data.is_instance_of::<PyInt>() {
        // What is derived from a number may have a text of its own.
        let number = data.py().get_type::<PyInt>().call1((data,))?;
        return Ok(Some(Value::Number(number.str()?.extract()?)));
    }
    if let Ok(number) = data.cast::<PyFloat>() {
        return Ok(Some(number.value().into()));
    }
    match data.cast::<PyString>() {
        Ok(text) => Ok(Some(Value::Text(text.extract()?))),
        Err(_) => Ok(None),
    }
}

/// A value of a record, for Python.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(text) => number(py, text),
        Value::Time(text) | Value::Text(text) => text.into_bound_py_any(py),
        Value::List(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(to_python(py, value)?)?;
            }
            Ok(list.into_any())
        }
        Value::Map(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map.iter() {
                dict.set_item(to_python(py, key)?, to_python(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// A number of YAML 1.1; one that Python cannot hold stays text.
fn number<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Some(number) = yaml::whole(text) {
        return number.into_bound_py_any(py);
    }
    if let Some(number) = yaml::fraction(text) {
        return number.into_bound_py_any(py);
    }
    // Of any size, with the base that its beginning says.
    let large = py.get_type::<PyInt>().call1((text.replace('_', ""), 0_i32));
    large.or_else(|_| text.into_bound_py_any(py))
}
