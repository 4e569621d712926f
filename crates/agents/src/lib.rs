//! The agents Herma works with: what they say before they change files, and where they want to be told whom
//! to say it to.
//!
//! Everything here is a pure function. A payload, the arguments and a few variables become an [`Event`]; a
//! configuration file's bytes become other bytes. Reading, writing, saving and logging are for the caller.
//!
//! * [`agent`]: the agents by name; `agents` has a file or folder for each, with all that is particular about it;
//! * [`event`]: what an agent can say, in one form for all of them;
//! * [`incoming`]: a call of a hook, read;
//! * [`install`]: how an agent is told whom to call, and how that is undone;
//! * [`patches`]: the files a patch names;
//! * [`slash`]: `/rollback` and `/diff`, as typed in a chat;
//! * [`yaml`]: YAML files, edited by lines.
//!
//! Inside, `reply` has what a prompt is answered, `bounded` limits what the JSON parser gets to see, `payload` keeps the known fields of it, and `rules` makes
//! the event with the table of the agent that sent it.

pub mod agent;
mod agents;
mod bounded;
pub mod event;
pub mod incoming;
pub mod install;
pub mod patches;
pub mod payload;
mod reply;
mod rules;
pub mod yaml;

pub use agent::Agent;
pub use agents::hermes::slash;
pub use agents::{judge, packages, place_variables, variables};
pub use event::{Event, EventKind, Surroundings, ToolClass, ToolUse, Writes};
pub use incoming::{Incoming, PayloadProblem, read};
pub use reply::Reply;
