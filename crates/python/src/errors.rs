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

/// Declares the classes, adds them to the module, and says which error of the engine is which.
macro_rules! exceptions {
    ($($name:ident : $base:ty = $doc:literal $(for $error:pat)?),+ $(,)?) => {
        $(create_exception!(herma, $name, $base, $doc);)+

        /// Adds the classes to the module.
        pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($name), module.py().get_type::<$name>())?;)+
            be_value_errors(module.py())
        }

        /// The exception for an error of the engine that has no kind of its own.
        fn of_class(error: &CoreError, text: String) -> PyErr {
            match error {
                $($($error => $name::new_err(text),)?)+
                _ => Error::new_err(text),
            }
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
    NoStore: NothingThere = "There is no store yet: nothing was ever saved." for CoreError::NoStore(_),
    NoCheckpoints: NothingThere = "The project has no checkpoints." for CoreError::NoCheckpoints { .. },
    NotFound: NothingThere = "Nothing in this project goes by that name." for CoreError::NotFound { .. },
    OutOfRange: NothingThere = "No checkpoint has this number." for CoreError::NoSuchNumber { .. } | CoreError::TooFarBack { .. },
    NotInCheckpoint: NothingThere = "The checkpoint holds none of the paths that were asked for." for CoreError::NotInCheckpoint { .. },
    NoSuchArchive: NothingThere = "There is no such archive of version 1." for CoreError::NoSuchArchive { .. },
    NoSuchStep: NothingThere = "No such step is remembered." for CoreError::NoSuchStep(_),
    NoSteps: NothingThere = "None of the steps that were asked for is remembered, or none changed anything." for CoreError::NoSteps | CoreError::StepsForgotten(_),
    Ambiguous: Error = "An id prefix fits several checkpoints, or a turn or the beginning of an id several sessions." for CoreError::Ambiguous { .. } | CoreError::TurnOfSeveral { .. } | CoreError::SessionUnclear { .. },
    BadSpec: BadRequest = "A text that cannot name a checkpoint." for CoreError::BadSpec(_),
    BadName: BadRequest = "A name that cannot be given." for CoreError::BadName { .. },
    BadPath: BadRequest = "A path no project can contain." for CoreError::BadPath { .. },
    NameTaken: Error = "The name is in use." for CoreError::NameTaken { .. },
    RootNotFound: Error = "The project could not be found." for CoreError::Root(Refusal::Missing(_)) | CoreError::FindRoot(_) | CoreError::RootGone { .. },
    RootRefused: Error = "This directory cannot be a project." for CoreError::Root(_),
    PathOutside: Error = "A path outside the project." for CoreError::PathOutside { .. },
    PathUnknown: Error = "A path that is neither in the checkpoint nor in the project." for CoreError::PathUnknown { .. },
    StoreFailed: Error = "The store could not be used." for CoreError::Store(_) | CoreError::Object(_),
    ScanFailed: Error = "The project could not be scanned." for CoreError::Scan(_),
    DiffFailed: Error = "Two states could not be compared." for CoreError::Diff(_),
    RestoreFailed: Error = "A restore could not be planned or applied." for CoreError::Restore(_),
    StepIsOver: Error = "The step has ended already." for CoreError::StepIsOver(_),
    RestoreUnfinished: Error = "A restore was interrupted, or is under way." for CoreError::RestoreUnfinished,
    ChangedSincePlan: Error = "Files changed between planning and carrying out." for CoreError::ChangedSincePlan,
    UnderWay: Error = "What would be undone is still under way." for CoreError::UnderWay(..),
    NotRecent: Error = "What would be undone is older than a save by hand or than a day, or edits by hand would go with it.",
    NothingToUndo: Error = "There is nothing older to go back to." for CoreError::NothingToUndo,
    NotSoMany: Error = "So many prompts cannot be undone at once." for CoreError::FewerToUndo(_) | CoreError::UndoneAlone(..) | CoreError::NoPrompts,
    NothingToRedo: Error = "Nothing was undone, or the undone state is gone." for CoreError::NothingToRedo,
    ChangedSinceUndo: Error = "Files changed after the undo, so there is no straight way forward." for CoreError::ChangedSinceUndo,
    NeededByInterrupted: Error = "An interrupted restore needs this checkpoint." for CoreError::NeededByInterrupted { .. },
    NothingToContinue: Error = "No restore was interrupted." for CoreError::NothingToContinue,
    ChangedSinceShown: Error = "Checkpoints came or went since somebody was shown what would be removed." for CoreError::ChangedSinceShown,
    AuthorUnknown: Error = "It cannot be said who wrote a file." for CoreError::Authorship(_),
    FileSystemFailed: Error = "The file system refused." for CoreError::Fs(_) | CoreError::HomeNotMade { .. },
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
        ErrorKind::Busy => Busy::new_err(text),
        ErrorKind::Damaged => Damaged::new_err(text),
        ErrorKind::Cancelled => Cancelled::new_err(text),
        ErrorKind::Failed | ErrorKind::Usage | ErrorKind::NothingThere => of_class(&error, text),
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
