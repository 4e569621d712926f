//! Herma's answers as values for people and for programs: rows, words and JSON documents.
//!
//! Nothing is printed or asked here, and nobody is asked what the terminal is like: who shows an answer says in a [`Style`] how it
//! is to look. What the engine and the records call a thing becomes here what people call it.
//!
//! * [`json`]: objects as programs get them
//! * [`timeline`], [`listing`], [`steps`], [`authors`]: rows of the timeline, checkpoints, tool calls, and who wrote what
//! * [`outside`]: what no checkpoint holds; [`notice`]: what an agent is told of its work that was undone
//! * [`patch_lines`], [`hunk_choices`]: a patch line by line, and what was answered about its hunks
//! * [`style`], [`time`], [`units`], [`here`]: colours and widths, times, sizes, and paths as somebody types them

pub mod authors;
pub mod here;
pub mod hunk_choices;
pub mod json;
pub mod listing;
pub mod notice;
pub mod outside;
pub mod patch_lines;
pub mod steps;
pub mod style;
pub mod time;
pub mod timeline;
pub mod units;

pub use style::Style;
