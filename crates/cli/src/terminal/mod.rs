//! The terminal: what is printed, asked and shown while it lasts, and how times and sizes are spelled.
//!
//! * [`ui`]: where everything goes that a command says; [`answer`]: the same, for somebody who asked from within the program
//! * [`theme`], [`pager`], [`progress`]: colours, long texts, how far it is
//! * [`time`], [`units`]: times, ages and sizes in words

pub(crate) mod answer;
pub(crate) mod pager;
pub(crate) mod progress;
pub(crate) mod theme;
pub(crate) mod time;
pub(crate) mod ui;
pub(crate) mod units;
