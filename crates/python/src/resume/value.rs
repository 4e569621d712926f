//! Between Python's data and the data of a resume record.
//!
//! Numbers of every size, infinities and keys that are no text go over as they are. What a record has no word
//! for (times, sets, paths) is turned into text by the caller.

use herma_sessions::resume::{Map, Value, yaml};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// No larger record is read back: data that is larger, or in which one list stands many times, is refused before it
/// is all in memory.
const MAX_RECORD_BYTES: usize = 4 << 20;

/// What everything that is neither text nor number takes of that, at least.
const MIN_VALUE_BYTES: usize = 2;

/// Deeper data is refused; a record could not be read back, and a loop has no end.
const MAX_NESTING: usize = 64;

/// The data of a record, from a `dict`; `as_text` is asked about what is no plain data.
pub(crate) fn map(data: &Bound<'_, PyAny>, as_text: &Bound<'_, PyAny>) -> PyResult<Map> {
    let mut reader = Reader { as_text, room: MAX_RECORD_BYTES };
    match reader.value(data, 0)? {
        Value::Map(map) => Ok(map),
        _ => Err(PyTypeError::new_err("a record has keys and values")),
    }
}

/// Reads data that may change while it is read: whoever turns something into text can do anything. So every `dict`
/// and every list is read from a copy.
struct Reader<'a, 'py> {
    as_text: &'a Bound<'py, PyAny>,
    /// How many bytes the record may still take.
    room: usize,
}

impl Reader<'_, '_> {
    fn value(&mut self, data: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
        if depth > MAX_NESTING {
            return Err(PyValueError::new_err("nested too deeply, or in itself"));
        }
        if let Some(scalar) = scalar(data)? {
            self.take(&scalar)?;
            return Ok(scalar);
        }
        if let Ok(dict) = data.cast::<PyDict>() {
            return self.dict(dict, depth);
        }
        if let Ok(list) = data.cast::<PyList>() {
            return self.list(&list.to_tuple(), depth);
        }
        if let Ok(tuple) = data.cast::<PyTuple>() {
            return self.list(tuple, depth);
        }
        let plain = self.as_text.call1((data,))?;
        self.value(&plain, depth + 1)
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<Value> {
        let mut pairs = Vec::new();
        for pair in dict.items() {
            let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            let found = scalar(&key)?;
            let key = found.ok_or_else(|| PyTypeError::new_err("a key is text or a number"))?;
            self.take(&key)?;
            pairs.push((key, self.value(&item, depth + 1)?));
        }
        self.take(&Value::Null)?;
        Ok(Value::Map(Map::from_pairs(pairs)))
    }

    fn list(&mut self, items: &Bound<'_, PyTuple>, depth: usize) -> PyResult<Value> {
        let mut values = Vec::new();
        for item in items {
            values.push(self.value(&item, depth + 1)?);
        }
        self.take(&Value::Null)?;
        Ok(Value::List(values))
    }

    fn take(&mut self, value: &Value) -> PyResult<()> {
        let size = match value {
            Value::Text(text) | Value::Number(text) => text.len() + MIN_VALUE_BYTES,
            _ => MIN_VALUE_BYTES,
        };
        let left = self.room.checked_sub(size);
        self.room =
            left.ok_or_else(|| PyValueError::new_err("a record of more than 4 MB is not read"))?;
        Ok(())
    }
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
