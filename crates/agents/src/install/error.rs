//! Why nothing was changed.

use std::path::PathBuf;

use super::json::JsonError;
use crate::agent::Agent;

/// Why a configuration is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A path that no configuration can hold.
    #[error("{} is not an absolute path in UTF-8, which configurations need", .0.display())]
    Path(PathBuf),
    /// It cannot be read.
    #[error("it cannot be read as JSON: {0}")]
    Json(#[from] JsonError),
    /// It can be read, but does not say what it should.
    #[error("it does not look as it should: {0}")]
    Shape(String),
    /// It is YAML or TOML that cannot be read, or not be edited for sure.
    #[error("it cannot be edited safely: {0}")]
    Lines(String),
    /// A file that should be ours, but somebody else wrote or changed it.
    #[error("it was written or changed by somebody else")]
    NotOurs,
    /// The edit would not have done exactly what it should.
    #[error("its layout is unusual, and the edit could not be made safely")]
    Unsure,
}

/// An agent that is not told per project.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is set up for the user, not per project: {why}", .agent.title())]
pub struct NoProjectLevel {
    /// The agent.
    pub agent: Agent,
    /// Why not.
    pub why: &'static str,
}
