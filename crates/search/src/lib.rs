//! What a project ever held: every name and every line of all its states.
//!
//! * [`spans`]: walks the states, oldest first, and notes what was at each path, from which state to which. States share most of
//!   their trees; only what differs between two neighbours is read.
//! * [`names`]: which paths somebody means who types a part of a name, or a glob.
//! * [`lines`]: which lines of a content match a regular expression.
//! * [`contents`]: searches many contents in parallel, each once, and tells what it found in their order.
//!
//! What cannot be read is named and costs nothing else. Nothing here knows of projects, people or agents: states are tree ids in
//! their order.

pub mod contents;
pub mod lines;
pub mod names;
mod paths;
pub mod spans;

pub use contents::search;
pub use lines::{BadPattern, FoundLine, FoundLines, LineOptions, LinePattern, LineSet, Wanted};
pub use names::NamePattern;
pub use paths::PathId;
pub use spans::{Past, Span, Unread, WalkError, What};
