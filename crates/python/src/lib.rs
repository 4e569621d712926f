//! The Herma engine for Python: the extension module `herma._herma`.
//!
//! Thin by intent. Arguments become values of the engine, the interpreter is let go while the engine works,
//! and its answers become frozen objects. What things mean is decided in `herma-core` and `herma-sessions`;
//! the face Hermes knows is Python, in `herma.hermes`.
//!
//! * `engine`, `project`: the doors, with `restoring`, `comparing` and `stepping` as parts of the
//!   second
//! * `checkpoint`, `plan`, `change`, `step`, `status`: the answers; `answer`: what all of them can do
//! * `arguments`, `errors`, `progress`, `clock`: what lies between the two languages
//! * `resume`, `resume_value`, `sessions`: resume records, and the session database as JSON

#![expect(
    clippy::needless_pass_by_value,
    reason = "what Python hands over is owned by the function it is handed to"
)]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of the engine's project fits one lifetime, the closure fits all"
)]

mod answer;
mod arguments;
mod change;
mod checkpoint;
mod clock;
mod comparing;
mod config;
mod engine;
mod errors;
mod plan;
mod progress;
mod project;
mod restoring;
mod resume;
mod resume_value;
mod running;
mod sessions;
mod status;
mod step;
mod stepping;

use pyo3::prelude::*;

/// The engine behind the package `herma`.
#[pymodule]
mod _herma {
    #[pymodule_export]
    use crate::answer::rebuilt;
    #[pymodule_export]
    use crate::change::Change;
    #[pymodule_export]
    use crate::change::Diff;
    #[pymodule_export]
    use crate::change::quoted;
    #[pymodule_export]
    use crate::checkpoint::Changes;
    #[pymodule_export]
    use crate::checkpoint::Checkpoint;
    #[pymodule_export]
    use crate::checkpoint::LeftOut;
    #[pymodule_export]
    use crate::checkpoint::Receipt;
    #[pymodule_export]
    use crate::checkpoint::Saved;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::plan::Action;
    #[pymodule_export]
    use crate::plan::Kept;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::plan::Restored;
    #[pymodule_export]
    use crate::project::Project;
    #[pymodule_export]
    use crate::resume::resume_delete;
    #[pymodule_export]
    use crate::resume::resume_gc;
    #[pymodule_export]
    use crate::resume::resume_list;
    #[pymodule_export]
    use crate::resume::resume_read;
    #[pymodule_export]
    use crate::resume::resume_write;
    #[pymodule_export]
    use crate::sessions::sessions_call;
    #[pymodule_export]
    use crate::status::Archive;
    #[pymodule_export]
    use crate::status::Cleaned;
    #[pymodule_export]
    use crate::status::OldRepository;
    #[pymodule_export]
    use crate::status::ProjectStatus;
    #[pymodule_export]
    use crate::status::Status;
    #[pymodule_export]
    use crate::step::RunningStep;
    #[pymodule_export]
    use crate::step::Step;
    #[pymodule_export]
    use crate::step::Turn;

    use pyo3::types::{PyModule, PyModuleMethods};
    use pyo3::{Bound, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::running::watch(module)?;
        crate::errors::add_to(module)
    }
}
