//! Steps: what agents did, one tool call at a time.
//!
//! A step is the state before a tool call and the state after it; their difference is what the call did,
//! whatever it used to do it. Restores, undos and redos are steps of Herma's own. Steps are recorded while
//! they happen, in processes that know nothing of each other (`recording`, `calls`), as small files
//! ([`herma_records::step`]).
//!
//! What lies between two states belongs to the step that was under way. If none was, a person did it. If
//! several were, nobody can tell which: it is unattributed (`timeline`).

pub(crate) mod calls;
pub(crate) mod choose;
pub(crate) mod list;
mod numbering;
pub(crate) mod passed_over;
pub(crate) mod recording;
mod share;

pub use choose::{StepChoice, TurnChoice};
pub use share::{CallEnd, Ran};

pub use herma_records::step::marks::Turn;
pub use herma_records::step::{
    Doubt, Moment, Step, StepEnd, StepId, StepKind, StepRules, StepStart, Undid, UndoneAs, outside,
};
