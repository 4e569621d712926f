//! Which directory is the project, and may it be saved at all?
//!
//! * `root`: from any path to the directory that is the project
//! * `refuse`: directories that are never a project

mod refuse;
mod root;

pub use herma_fs::place::Place;
pub(crate) use refuse::check_place;
pub use refuse::{RootRefused, check_root};
pub use root::{RootError, find_root, has_marker};
