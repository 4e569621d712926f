//! Which directory is the project, may it be saved at all, and what the store remembers about it.
//!
//! * [`root`]: from any path to the directory that is the project
//! * [`refuse`]: directories that are never a project
//! * [`identity`]: `projects/<id>.json`, read and written as Hermes does
//! * [`place`]: which directory it was, so that it can be known again

pub mod identity;
mod json;
mod place;
mod refuse;
mod root;

pub use identity::Identity;
pub(crate) use json::python_float;
pub use place::{Place, Places};
pub use refuse::{RootRefused, check_root};
pub use root::{RootError, find_root, has_marker};
