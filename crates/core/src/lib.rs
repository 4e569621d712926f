//! The Herma engine: saves a project, lists and compares what was saved, and brings it back exactly.
//!
//! The engine never prints, prompts, reads the environment or asks the clock: callers hand it paths,
//! [`Settings`] and a [`Clock`], and get values back. All file access goes through `herma-fs`.
//!
//! * [`engine`]: what the command line and the bindings call; [`types`]: what they are given
//! * [`project`]: which directory is the project, and may it be saved at all; `projects`: all of a store
//! * [`records`]: the small files that are kept for each project
//! * `save`: the look becomes objects, durable before a ref names them
//! * [`restore`]: plan → prove → apply → verify, with the journal
//! * [`undo`]: back and forth along the states there were; single steps taken back, keeping what came after
//! * [`steps`]: what agents did, one tool call at a time, and what it did beside the checkpoints
//! * `timeline`: the states in their order, what led from one to the next, one file along them; `blame`: who wrote a line
//! * [`can_undo`]: could a command be taken back? asked before it runs
//! * [`cleanup`]: what the limits allow to stay, and how the rest goes: facts → plan → execute
//! * [`purge`]: takes a file out of everything that was saved
//! * `repair`: what is damaged, and what of it can be put right

mod blame;
pub mod can_undo;
pub mod cleanup;
pub mod engine;
pub mod error;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/core.rs"]
pub mod fuzzing;
mod history;
pub mod project;
mod projects;
pub mod purge;
pub mod records;
mod repair;
pub mod restore;
mod save;
pub mod steps;
mod timeline;
pub mod types;
pub mod undo;

pub use engine::{Engine, EngineOptions, Project};
pub use error::Error;
pub use herma_store::repair::salvage::SalvagedPack;
pub use herma_store::verify::Hurt;
pub use herma_store::verify::packs::{DamagedPack, PackFault};
pub use herma_store::{ObjectId, ProjectId, RelPath};
pub use types::checkpoint::{Checkpoint, Spec};
pub use types::clock::Clock;
pub use types::settings::Settings;

pub use crate::blame::{Blame, BlameLine, LineOrigin, SavedIn};
pub use crate::error::AuthorshipError;
pub use crate::projects::import_legacy::{ImportOptions, Imported};
pub use crate::projects::legacy::{ClearedLegacy, LegacyArchive, PreV2Project, RemovedLegacy};
pub use crate::projects::status::{ProjectStatus, StoreStatus};
pub use crate::purge::away::InterruptedPurge;
pub use crate::records::step::{LineAuthor, OutsideOfStep};
pub use crate::repair::refs::{RepairedRecord, RepairedRef};
pub use crate::repair::verify::{
    BrokenRef, DamagedFinding, DamagedRecord, Verified, VerifyOptions,
};
pub use crate::repair::{RebuiltIndex, Repaired, RepairedFile};
pub use crate::restore::interrupted::Interrupted;
pub use crate::restore::run::Restored;
pub use crate::save::{Lost, SaveOptions, Saved, Waited};
pub use crate::steps::calls::{BegunCall, Call};
pub use crate::steps::list::ListedStep;
pub use crate::steps::recording::{BegunStep, EndedStep};
pub use crate::timeline::compare::{Comparison, State};
pub use crate::timeline::file_history::{FileHistory, Version, VersionChange};
pub use crate::timeline::session_changes::SessionChanges;
pub use crate::types::asked::WhichStep;
pub use crate::undo::Undone;
pub use crate::undo::plan::{Extent, StepOutcome, TakeBack, TakeBackPlan, TakenBack, WhyLeft};
pub use crate::undo::preview::Preview;
