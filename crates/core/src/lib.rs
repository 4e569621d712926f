//! The Herma engine: saves a project, lists and compares what was saved, and brings it back exactly.
//!
//! The engine never prints, prompts, reads the environment or asks the clock: callers hand it paths,
//! [`Settings`] and a [`Clock`], and get values back. All file access goes through `herma-fs`.
//!
//! * [`engine`]: what the command line and the bindings call; [`types`]: what they are given
//! * [`project`]: which directory is the project, and may it be saved at all
//! * [`worktree`]: one look at the project: scan → hash, with the stat cache, the rules and the lists
//! * `save`: the look becomes objects, durable before a ref names them
//! * [`restore`]: plan → prove → apply → verify, with the journal
//! * [`undo`]: back and forth along the states there were; single steps taken back, keeping what came after
//! * [`steps`]: what agents did, one tool call at a time, and what it did beside the checkpoints
//! * `timeline`: the states in their order, what led from one to the next, one file along them; `blame`: who wrote a line
//! * [`can_undo`]: could a command be taken back? asked before it runs
//! * [`cleanup`]: what the limits allow to stay, and how the rest goes: facts → plan → execute
//! * [`gc`]: mark → merge → trash, beside any number of savers
//! * [`purge`]: takes a file out of everything that was saved
//! * `repair`: what is damaged, and what of it can be put right

mod blame;
pub mod can_undo;
pub mod cleanup;
pub mod engine;
pub mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod gc;
mod history;
pub mod project;
pub mod purge;
mod repair;
pub mod restore;
mod save;
mod side;
pub mod steps;
mod timeline;
pub mod types;
pub mod undo;
pub mod worktree;

pub use crate::blame::AuthorshipError;
pub use crate::blame::Blame;
pub use crate::blame::BlameLine;
pub use crate::blame::LineAuthor;
pub use crate::blame::LineOrigin;
pub use crate::blame::SavedIn;
pub use crate::project::import_legacy::ImportOptions;
pub use crate::project::import_legacy::Imported;
pub use crate::project::legacy::ClearedLegacy;
pub use crate::project::legacy::LegacyArchive;
pub use crate::project::legacy::PreV2Project;
pub use crate::project::legacy::RemovedLegacy;
pub use crate::project::status::ProjectStatus;
pub use crate::project::status::StoreStatus;
pub use crate::purge::away::InterruptedPurge;
pub use crate::repair::RebuiltIndex;
pub use crate::repair::Repaired;
pub use crate::repair::RepairedFile;
pub use crate::repair::refs::RepairedRecord;
pub use crate::repair::refs::RepairedRef;
pub use crate::repair::verify::BrokenRef;
pub use crate::repair::verify::DamagedFinding;
pub use crate::repair::verify::DamagedRecord;
pub use crate::repair::verify::Verified;
pub use crate::repair::verify::VerifyOptions;
pub use crate::restore::interrupted::Interrupted;
pub use crate::restore::run::Restored;
pub use crate::save::Lost;
pub use crate::save::SaveOptions;
pub use crate::save::Saved;
pub use crate::save::Waited;
pub use crate::steps::calls::BegunCall;
pub use crate::steps::calls::Call;
pub use crate::steps::list::ListedStep;
pub use crate::steps::passed_over::OutsideOfStep;
pub use crate::steps::recording::BegunStep;
pub use crate::steps::recording::EndedStep;
pub use crate::steps::recording::WhichStep;
pub use crate::timeline::compare::Comparison;
pub use crate::timeline::compare::State;
pub use crate::timeline::file_history::FileHistory;
pub use crate::timeline::file_history::Version;
pub use crate::timeline::file_history::VersionChange;
pub use crate::timeline::session_changes::SessionChanges;
pub use crate::undo::Undone;
pub use crate::undo::plan::Extent;
pub use crate::undo::plan::StepOutcome;
pub use crate::undo::plan::TakeBack;
pub use crate::undo::plan::TakeBackPlan;
pub use crate::undo::plan::TakenBack;
pub use crate::undo::plan::WhyLeft;
pub use crate::undo::preview::Preview;
pub use engine::Engine;
pub use engine::EngineOptions;
pub use engine::Project;
pub use error::Error;
pub use herma_store::ObjectId;
pub use herma_store::ProjectId;
pub use herma_store::RelPath;
pub use herma_store::pack::check::DamagedPack;
pub use herma_store::pack::check::PackFault;
pub use herma_store::repair::salvage::SalvagedPack;
pub use herma_store::verify::Hurt;
pub use types::checkpoint::Checkpoint;
pub use types::checkpoint::Spec;
pub use types::clock::Clock;
pub use types::settings::Settings;
