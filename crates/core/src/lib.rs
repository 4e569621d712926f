//! The Herma engine: saves a project, lists and compares what was saved, and brings it back exactly.
//!
//! The engine never prints, prompts, reads the environment or asks the clock: callers hand it paths,
//! [`Settings`] and a [`Clock`], and get values back. All file access goes through `herma-fs`.
//!
//! * [`engine`]: the doors the command line and the bindings use
//! * [`project`]: which directory is the project, and may it be saved at all
//! * [`snapshot`]: scan → hash → pack, with the stat cache, the excludes and the lists
//! * [`cleanup`]: what the limits allow to stay, and how the rest goes: facts → plan → execute
//! * [`collect`]: mark → merge → trash, beside any number of savers
//! * [`can_undo`]: could a command be taken back? asked before it runs
//! * [`restore`]: plan → apply → verify, with the journal and undo
//! * [`reversal`]: takes single steps back out of the present, keeping what came after
//! * [`purge`]: takes a file out of everything that was saved
//! * [`steps`]: what agents did, one tool call at a time, and what a person did in between
//! * [`checkpoint`], [`receipt`], [`message`]: what a checkpoint is and says

pub mod can_undo;
pub mod checkpoint;
pub mod cleanup;
pub mod clock;
pub mod collect;
pub mod engine;
pub mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod history;
pub mod message;
pub mod outside;
pub mod project;
pub mod purge;
pub mod receipt;
pub mod restore;
pub mod reversal;
pub mod settings;
mod side;
pub mod snapshot;
pub mod steps;

pub use checkpoint::Checkpoint;
pub use checkpoint::Spec;
pub use clock::Clock;
pub use engine::Engine;
pub use engine::EngineOptions;
pub use engine::Project;
pub use error::Error;
pub use herma_store::ObjectId;
pub use herma_store::ProjectId;
pub use herma_store::RelPath;
pub use settings::Settings;
