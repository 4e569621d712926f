//! What every answer can do besides telling its fields: be copied, and be pickled for another process.
//!
//! An answer never changes, so a copy is the object itself. Pickled, it is the name of its class and its fields in
//! order, which [`_answer`] puts together again. A `Plan` belongs to the project as it was seen, and cannot be pickled.

pub(crate) mod change;
pub(crate) mod checkpoint;
pub(crate) mod plan;
pub(crate) mod status;
pub(crate) mod step;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use change::{Change, Diff};
use checkpoint::{Changes, Checkpoint, LeftOut, Receipt, Saved};
use plan::{Action, Kept, Restored};
use status::{Archive, Cleaned, OldRepository, ProjectStatus, Status};
use step::{Step, Turn};

/// Something whose fields can be handed to Python and taken from it again.
pub(crate) trait Answer: Sized {
    /// The fields, in order.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>>;
    /// The same again, out of its fields.
    fn from_fields(fields: &Bound<'_, PyTuple>) -> PyResult<Self>;
}

/// What Python's `pickle` stores of an answer: the function that puts it together, and what it needs for that.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (&'static str, Bound<'py, PyTuple>));

pub(crate) fn reduce<'py, A: Answer>(
    py: Python<'py>,
    class: &'static str,
    answer: &A,
) -> PyResult<Reduced<'py>> {
    let rebuild = py.import("herma._herma")?.getattr("_answer")?;
    Ok((rebuild, (class, answer.fields(py)?)))
}

/// The next field, as what it is to be.
pub(crate) fn next_field<'py, T>(
    fields: &mut impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let field =
        fields.next().ok_or_else(|| PyValueError::new_err("a pickled answer lacks a field"))?;
    field.extract().map_err(Into::into)
}

/// Declares an answer whose fields are plain values that Python reads; with `[eq]` one that is compared by them.
macro_rules! answer {
    (
        $(#[$meta:meta])*
        pub(crate) struct $class:ident [eq] {
            $($(#[$about:meta])* $vis:vis $field:ident: $type:ty,)*
        }
        $($repr:tt)*
    ) => {
        $(#[$meta])*
        #[pyclass(frozen, get_all, eq, from_py_object, module = "herma")]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $class { $($(#[$about])* $vis $field: $type,)* }
        crate::answers::plain!($class { $($field),* } $($repr)*);
    };
    (
        $(#[$meta:meta])*
        pub(crate) struct $class:ident {
            $($(#[$about:meta])* $vis:vis $field:ident: $type:ty,)*
        }
        $($repr:tt)*
    ) => {
        $(#[$meta])*
        #[pyclass(frozen, get_all, from_py_object, module = "herma")]
        #[derive(Clone, Debug)]
        pub(crate) struct $class { $($(#[$about])* $vis $field: $type,)* }
        crate::answers::plain!($class { $($field),* } $($repr)*);
    };
}

/// Makes a class whose fields are plain values an answer.
macro_rules! plain {
    ($class:ident { $($field:ident),* $(,)? } $(repr |$this:ident| $repr:expr)?) => {
        impl crate::answers::Answer for $class {
            fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
                use pyo3::IntoPyObjectExt;
                let fields = [$(self.$field.clone().into_bound_py_any(py)?),*];
                pyo3::types::PyTuple::new(py, fields)
            }

            fn from_fields(fields: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<Self> {
                let mut fields = fields.iter();
                Ok(Self { $($field: crate::answers::next_field(&mut fields)?),* })
            }
        }

        $(#[pymethods]
        impl $class {
            pub(crate) fn __repr__(&self) -> String {
                let $this = self;
                $repr
            }
        })?

        #[pymethods]
        impl $class {
            fn __copy__(this: Py<Self>) -> Py<Self> {
                this
            }

            fn __deepcopy__(this: Py<Self>, _memo: Bound<'_, PyAny>) -> Py<Self> {
                this
            }

            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::answers::Reduced<'py>> {
                crate::answers::reduce(py, stringify!($class), self)
            }
        }
    };
}

pub(crate) use {answer, plain};

/// Puts a pickled answer together again.
#[pyfunction]
#[pyo3(name = "_answer", signature = (class_, fields))]
pub(crate) fn rebuilt<'py>(
    py: Python<'py>,
    class_: &str,
    fields: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! one_of {
        ($($class:ident)*) => {
            match class_ {
                $(stringify!($class) => {
                    Ok(Bound::new(py, $class::from_fields(&fields)?)?.into_any())
                })*
                _ => Err(PyTypeError::new_err(format!("there is no answer {class_:?}"))),
            }
        };
    }
    one_of!(
        Action Archive Change Changes Checkpoint Cleaned Diff Kept LeftOut OldRepository ProjectStatus Receipt Restored
        Saved Status Step Turn
    )
}
