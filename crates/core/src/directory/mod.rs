//! Which directory is the project, may it be saved at all, and what the store remembers about it.
//!
//! * [`root`]: from any path to the directory that is the project
//! * [`refuse`]: directories that are never a project
//! * [`identity`]: `projects/<id>.json`, read and written as Hermes does

pub mod identity;
mod json;
mod refuse;
mod root;

pub use herma_fs::place::Place;
pub use identity::{Identity, Places};
pub(crate) use json::python_float;
pub use refuse::{RootRefused, check_root};
pub use root::{RootError, find_root, has_marker};
