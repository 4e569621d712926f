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

use std::ffi::OsStr;

pub(crate) use herma_store::path::escape;

pub(crate) use self::theme::Label;
pub(crate) use self::ui::{SHOWN_NAMES, Ui};
pub(crate) use self::units::{short_age, size};

/// A path or a name as a terminal may see it.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    escape(name.as_ref().as_encoded_bytes())
}

/// A word as a shell takes it.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,:=+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
