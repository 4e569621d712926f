//! `/rollback`, `/undo` and the like as people type them in a chat or at an agent's prompt.
//!
//! * [`grammar`]: what was typed becomes a [`Request`];
//! * [`message`]: an answer becomes text that fits the place it is shown in and cannot break out of it.
//!
//! What the commands do is for the caller.

pub mod grammar;
pub mod message;

pub use grammar::{Request, USAGE, parse, typed};
pub use message::{Message, Platform};
