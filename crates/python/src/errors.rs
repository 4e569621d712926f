//! The engine's errors as Python exceptions, one class for each.
//!
//! All come from `herma.Error`. Those that have a kind in common have a class in common: `except
//! herma.NothingThere` catches every way in which there is nothing to go back to.

use herma_core::Error as CoreError;
use herma_core::directory::RootRefused as Refusal;
use herma_core::error::ErrorKind;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

/// Declares the classes, and adds them to the module.
macro_rules! exceptions {
    ($($name:ident : $base:ty = $doc:literal),+ $(,)?) => {
        $(create_exception!(herma, $name, $base, $doc);)+

        /// Adds the classes to the module.
        pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($name), module.py().get_type::<$name>())?;)+
            be_value_errors(module.py())
        }
    };
}

exceptions! {
    Error: PyException = "Herma could not do what it was asked for.",
    NothingThere: Error = "There is no store, or no such checkpoint.",
    BadRequest: Error = "It was asked for in a way that cannot be meant.",
    Busy: Error = "Somebody else is working on it.",
    Damaged: Error = "Saved data is missing or damaged.",
    Cancelled: Error = "The caller stopped it.",
    NoStore: NothingThere = "There is no store yet: nothing was ever saved.",
    NoCheckpoints: NothingThere = "The project has no checkpoints.",
    NotFound: NothingThere = "Nothing in this project goes by that name.",
    OutOfRange: NothingThere = "A list number beyond the list.",
    NotInCheckpoint: NothingThere = "The checkpoint holds none of the paths that were asked for.",
    NoSuchArchive: NothingThere = "There is no such archive of version 1.",
    NoSuchStep: NothingThere = "No such step is remembered.",
    NoSteps: NothingThere = "None of the steps that were asked for is remembered, or none changed anything.",
    Ambiguous: Error = "An id prefix fits several checkpoints.",
    BadSpec: BadRequest = "A text that cannot name a checkpoint.",
    BadName: BadRequest = "A name that cannot be given.",
    BadPath: BadRequest = "A path no project can contain.",
    NameTaken: Error = "The name is in use.",
    RootRefused: Error = "This directory cannot be a project.",
    RootNotFound: Error = "The project could not be found.",
    PathOutside: Error = "A path outside the project.",
    PathUnknown: Error = "A path that is neither in the checkpoint nor in the project.",
    StoreFailed: Error = "The store could not be used.",
    ScanFailed: Error = "The project could not be scanned.",
    DiffFailed: Error = "Two states could not be compared.",
    RestoreFailed: Error = "A restore could not be planned or applied.",
    StepIsOver: Error = "The step has ended already.",
    RestoreUnfinished: Error = "A restore was interrupted, or is under way.",
    ChangedSincePlan: Error = "Files changed between planning and carrying out.",
    NothingToUndo: Error = "There is nothing older to go back to.",
    NothingToRedo: Error = "Nothing was undone, or the undone state is gone.",
    ChangedSinceUndo: Error = "Files changed after the undo, so there is no straight way forward.",
    NeededByInterrupted: Error = "An interrupted restore needs this checkpoint.",
    NothingToContinue: Error = "No restore was interrupted.",
    ChangedSinceShown: Error = "Checkpoints came or went since somebody was shown what would be removed.",
    AuthorUnknown: Error = "It cannot be said who wrote a file.",
    FileSystemFailed: Error = "The file system refused.",
}

/// Arguments that cannot be meant are what Python calls a `ValueError`, and callers may catch them as one. The
/// macro gives a class one base.
fn be_value_errors(py: Python<'_>) -> PyResult<()> {
    let bases = (py.get_type::<Error>(), py.get_type::<PyValueError>());
    py.get_type::<BadRequest>().setattr("__bases__", bases)
}

/// Adds a line to what is shown of an exception. Before Python 3.11 only its `__notes__` have it.
pub(crate) fn note(exception: &Bound<'_, PyAny>, text: &str) {
    let noted = match exception.getattr_opt("add_note") {
        Ok(Some(add)) => add.call1((text,)).map(drop),
        Ok(None) => note_by_hand(exception, text),
        Err(error) => Err(error),
    };
    if let Err(error) = noted {
        error.write_unraisable(exception.py(), Some(exception));
    }
}

fn note_by_hand(exception: &Bound<'_, PyAny>, text: &str) -> PyResult<()> {
    match exception.getattr_opt("__notes__")? {
        Some(notes) => notes.call_method1("append", (text,)).map(drop),
        None => exception.setattr("__notes__", vec![text]),
    }
}

/// The exception for an error of the engine.
pub(crate) fn raise(error: CoreError) -> PyErr {
    let text = in_words(&error);
    match error.kind() {
        ErrorKind::Busy => return Busy::new_err(text),
        ErrorKind::Damaged => return Damaged::new_err(text),
        ErrorKind::Cancelled => return Cancelled::new_err(text),
        ErrorKind::Failed | ErrorKind::Usage | ErrorKind::NothingThere => {}
    }
    match error {
        CoreError::NoStore(_) => NoStore::new_err(text),
        CoreError::NoCheckpoints { .. } => NoCheckpoints::new_err(text),
        CoreError::NotFound { .. } => NotFound::new_err(text),
        CoreError::Ambiguous { .. } => Ambiguous::new_err(text),
        CoreError::OutOfRange { .. } => OutOfRange::new_err(text),
        CoreError::BadSpec(_) => BadSpec::new_err(text),
        CoreError::BadName { .. } => BadName::new_err(text),
        CoreError::NameTaken { .. } => NameTaken::new_err(text),
        CoreError::Root(Refusal::Missing(_))
        | CoreError::FindRoot(_)
        | CoreError::RootGone { .. } => RootNotFound::new_err(text),
        CoreError::Root(_) => RootRefused::new_err(text),
        CoreError::PathOutside { .. } => PathOutside::new_err(text),
        CoreError::BadPath { .. } => BadPath::new_err(text),
        CoreError::PathUnknown { .. } => PathUnknown::new_err(text),
        CoreError::NotInCheckpoint { .. } => NotInCheckpoint::new_err(text),
        CoreError::Store(_) | CoreError::Object(_) => StoreFailed::new_err(text),
        CoreError::Scan(_) => ScanFailed::new_err(text),
        CoreError::Diff(_) => DiffFailed::new_err(text),
        CoreError::Restore(_) => RestoreFailed::new_err(text),
        CoreError::NoSuchStep(_) => NoSuchStep::new_err(text),
        CoreError::StepIsOver(_) => StepIsOver::new_err(text),
        CoreError::NoSteps | CoreError::StepsForgotten(_) => NoSteps::new_err(text),
        CoreError::RestoreUnfinished => RestoreUnfinished::new_err(text),
        CoreError::ChangedSincePlan => ChangedSincePlan::new_err(text),
        CoreError::NothingToUndo => NothingToUndo::new_err(text),
        CoreError::NothingToRedo => NothingToRedo::new_err(text),
        CoreError::ChangedSinceUndo => ChangedSinceUndo::new_err(text),
        CoreError::NeededByInterrupted { .. } => NeededByInterrupted::new_err(text),
        CoreError::NothingToContinue => NothingToContinue::new_err(text),
        CoreError::ChangedSinceShown => ChangedSinceShown::new_err(text),
        CoreError::NoSuchArchive { .. } => NoSuchArchive::new_err(text),
        CoreError::Authorship(_) => AuthorUnknown::new_err(text),
        CoreError::Fs(_) => FileSystemFailed::new_err(text),
        _ => Error::new_err(text),
    }
}

/// The error with everything that led to it.
pub(crate) fn in_words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        // A transparent error says the same as what is behind it.
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}
