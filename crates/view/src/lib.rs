//! Herma's answers as values for people and for programs: rows, words and JSON documents.
//!
//! Nothing is printed or asked here, and nobody is asked what the terminal is like: who shows an answer says in a [`Style`] how it
//! is to look. What the engine and the records call a thing becomes here what people call it.
//!
//! * [`json`]: objects as programs get them
//! * [`timeline`], [`listing`], [`steps`], [`authors`]: rows of the timeline, checkpoints, tool calls, and who wrote what
//! * [`detail`]: one change in full; [`changes`]: what is different between two states; [`summary`]: rows for a pull request
//! * [`past`]: what was where and when, found in all states; [`going_back`]: what a restore, an undo or a purge does
//! * [`store`]: what is kept, cleaned, damaged and repaired
//! * [`outside`]: what no checkpoint holds; [`notice`]: what an agent is told of its work that was undone
//! * [`style`], [`time`], [`units`], [`here`]: colours and widths, times, sizes, and paths as somebody types them

pub mod authors;
pub mod changes;
pub mod detail;
pub mod going_back;
pub mod here;
pub mod json;
pub mod listing;
pub mod notice;
pub mod outside;
pub mod past;
pub mod steps;
pub mod store;
pub mod style;
pub mod summary;
pub mod time;
pub mod timeline;
pub mod units;

pub use style::Style;
