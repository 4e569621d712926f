//! The terminal: what is printed and asked, and what is shown while something lasts.
//!
//! * [`ui`]: where everything goes that a command says; [`answer`]: the same, for somebody who asked from within the program
//! * [`pager`], [`progress`]: long texts, how far it is

pub(crate) mod answer;
pub(crate) mod pager;
pub(crate) mod progress;
pub(crate) mod ui;

pub(crate) use herma_store::path::escape;
pub(crate) use herma_view::here::{quote, shown};
pub(crate) use herma_view::style::{Label, SHOWN_NAMES};
pub(crate) use herma_view::time;
pub(crate) use herma_view::units::{short_age, size};

pub(crate) use self::ui::Ui;
