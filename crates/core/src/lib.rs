//! The Herma engine: saves a project, lists and compares what was saved, and brings it back exactly.
//!
//! ```no_run
//! # fn main() -> Result<(), herma_core::Error> {
//! let project = herma_core::Project::open(".")?;
//! let before = project.save("before the refactoring")?;
//! // … an agent changes files …
//! project.restore(&before.checkpoint)?;
//! project.undo()?; // and undoes the restore
//! # Ok(())
//! # }
//! ```
//!
//! # Words
//!
//! * A **project** is a directory whose files are saved together; [`Project`] has all that can be done with one.
//! * A **store** keeps what was saved of all projects of a user: a bare git repository below Herma's home. [`Engine`] knows where.
//! * A **checkpoint** is a stored state of a project: every file, mode and link, and what was left out and why.
//! * A **scan** looks at the project; the **stat cache** remembers how every file looked, so that only changed ones are read.
//! * A **step** is one call of an agent's tool, between the checkpoint before it and the one after it; a **turn** is a person's
//!   prompt and all steps that followed.
//! * The **timeline** is a project's states in their order, and what led from one to the next.
//! * To **restore** is to bring a state back; to **undo** is to remove what changes did. Both save the current state first.
//! * **Cleanup** decides which checkpoints go; **gc** frees what nothing refers to any more; a **purge** removes a file from everything saved.
//!
//! # Rooms
//!
//! The engine never prints or prompts. What it needs to know about the world is in [`EngineOptions`]; only the simple
//! [`Project::open`] asks the environment for it. All file access goes through `herma-fs`; what tool calls, prompts and moves
//! were is kept by `herma-records`.
//!
//! * [`engine`]: opening the store for one operation; [`types`]: what callers give and get; [`project`]: every public method of [`Project`]
//! * [`directory`]: which directory is the project, and may it be saved at all; `projects`: all of a store
//! * `save`: the scan becomes objects, durable before a ref names them
//! * [`restore`]: plan → prove → apply → verify, with the journal
//! * [`undo`]: back and forth along the states there were; single steps undone, keeping what came after
//! * [`steps`]: what agents did, one tool call at a time, and what it did beside the checkpoints
//! * `lines`: rows for another machine, and those that came from one
//! * `timeline`: the states in their order, what led from one to the next, one file along them; `blame`: who wrote a line
//! * `past`: names and lines of all times, one state as it was
//! * [`can_undo`]: could a command be undone? asked before it runs
//! * [`copies`]: directories made of old states, in which the past can be tried without touching the present
//! * [`cleanup`]: what the limits allow to stay, and how the rest goes: facts → plan → execute
//! * [`purge`]: removes a file from everything that was saved
//! * `repair`: what is damaged, and what of it can be put right

mod blame;
pub mod can_undo;
pub mod cleanup;
pub mod copies;
pub mod directory;
pub mod engine;
pub mod error;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/core.rs"]
pub mod fuzzing;
mod lines;
mod past;
pub mod project;
mod projects;
pub mod purge;
mod repair;
pub mod restore;
mod rows;
mod save;
pub mod steps;
mod timeline;
pub mod types;
pub mod undo;

pub use engine::{Engine, EngineOptions, Project};
pub use error::{Error, Result};
pub use herma_records::checkpoint::Checkpoint;
pub use herma_records::checkpoint::address::Spec;
pub use herma_records::clock::Clock;
pub use herma_records::step::{LineAuthor, OutsideOfStep};
pub use herma_records::undo::{Move, UndoRecord};
pub use herma_search::{BadPattern, FoundLine, LineOptions, LinePattern, NamePattern};
pub use herma_store::repair::salvage::SalvagedPack;
pub use herma_store::verify::Hurt;
pub use herma_store::verify::packs::{DamagedPack, PackFault};
pub use herma_store::{ObjectId, ProjectId, RelPath};
pub use types::settings::Settings;

pub use crate::blame::{Blame, BlameLine, LineOrigin, SavedIn};
pub use crate::error::AuthorshipError;
pub use crate::lines::Line;
pub use crate::lines::export::Exported;
pub use crate::lines::files::{SavedEntry, SavedFiles};
pub use crate::lines::import::ImportedLine;
pub use crate::past::find::{FoundPath, FoundPaths, NamesAsked};
pub use crate::past::grep::{FoundContent, FoundPrompt, LinesAsked};
pub use crate::past::look::{PastEntry, Whereabouts};
pub use crate::past::{PastChange, Stay, UnreadPast};
pub use crate::projects::adopt::Adopted;
pub use crate::projects::import_legacy::{ImportOptions, Imported};
pub use crate::projects::legacy::{ClearedLegacy, LegacyArchive, PreV2Project, RemovedLegacy};
pub use crate::projects::nearby::Nearby;
pub use crate::projects::status::{ProjectStatus, StoreStatus};
pub use crate::purge::away::InterruptedPurge;
pub use crate::repair::refs::{RepairedRecord, RepairedRef};
pub use crate::repair::verify::{
    BrokenRef, DamagedFinding, DamagedRecord, Verified, VerifyOptions,
};
pub use crate::repair::{RebuiltIndex, Repaired, RepairedFile};
pub use crate::restore::interrupted::Interrupted;
pub use crate::restore::run::{Restored, Settled};
pub use crate::rows::{Row, RowCall, RowChanges, RowKind, Rows};
pub use crate::save::{Lost, SaveOptions, Saved, Waited};
pub use crate::steps::calls::{BegunCall, Call};
pub use crate::steps::list::ListedStep;
pub use crate::steps::recording::{BegunStep, EndedStep};
pub use crate::timeline::compare::{Comparison, State};
pub use crate::timeline::contents::NamedEntry;
pub use crate::timeline::file_history::{FileHistory, Version, VersionChange};
pub use crate::timeline::session_changes::SessionChanges;
pub use crate::types::asked::WhichStep;
pub use crate::undo::Undone;
pub use crate::undo::last::{JustMoved, NextMove, PlannedUndo, UndoDoubt, UndoLast};
pub use crate::undo::notice::{FileNow, HowNow, Notice};
pub use crate::undo::plan::{Extent, StepOutcome, StepsUndone, UndoPlan, UndoSteps, WhyLeft};
pub use crate::undo::preview::Preview;
pub use crate::undo::units::Unit;
