//! Which directory is the project, may it be saved at all, and what the store remembers about it.
//!
//! * [`root`]: from any path to the directory that is the project
//! * [`refuse`]: directories that are never a project
//! * [`identity`]: `projects/<id>.json`, read and written as Hermes does

pub mod identity;
mod json;
pub mod refuse;
pub mod root;

pub use identity::Identity;
pub use identity::Parent;
pub use refuse::RootRefused;
pub use refuse::check_root;
pub use root::RootError;
pub use root::find_root;
pub use root::has_marker;
