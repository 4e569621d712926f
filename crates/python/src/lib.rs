//! The Herma engine for Python: the extension module `herma._herma`.
//!
//! Thin by intent. Arguments become values of the engine, the interpreter is let go while the engine works,
//! and its answers become frozen objects. What things mean is decided in `herma-core` and `herma-sessions`;
//! the face Hermes knows is Python, in `herma.hermes`.
//!
//! * `engine`, `project`: the doors
//! * `answers`: what they answer with
//! * `arguments`, `paths`, `errors`, `progress`, `running`, `clock`: what lies between the two languages
//! * `resume`, `sessions`: resume records, and the session database as JSON

#![expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "what Python hands over is owned by the function it is handed to"
)]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of the engine's project fits one lifetime, the closure fits all"
)]

mod answers;
mod arguments;
mod clock;
mod config;
mod engine;
mod errors;
mod paths;
mod progress;
mod project;
mod resume;
mod running;
mod sessions;

use pyo3::prelude::*;

/// The engine behind the package `herma`.
#[pymodule]
mod _herma {
    #[pymodule_export]
    use crate::answers::change::{Change, Diff, quoted};
    #[pymodule_export]
    use crate::answers::checkpoint::{Changes, Checkpoint, LeftOut, Receipt, Saved};
    #[pymodule_export]
    use crate::answers::plan::{Action, Kept, Plan, Restored};
    #[pymodule_export]
    use crate::answers::rebuilt;
    #[pymodule_export]
    use crate::answers::status::{Archive, Cleaned, OldRepository, ProjectStatus, Status};
    #[pymodule_export]
    use crate::answers::step::{Step, Turn};
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::project::Project;
    #[pymodule_export]
    use crate::project::running_step::RunningStep;
    #[pymodule_export]
    use crate::resume::{resume_delete, resume_gc, resume_list, resume_read, resume_write};
    #[pymodule_export]
    use crate::sessions::sessions_call;

    use pyo3::types::{PyModule, PyModuleMethods};
    use pyo3::{Bound, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::running::watch(module)?;
        crate::errors::add_to(module)
    }
}
