//! Commands that work in copies of old states: the present stays as it is.

pub(crate) mod attempts;
pub(crate) mod bisect;
pub(crate) mod in_copy;
pub(crate) mod known;
pub(crate) mod open;
pub(crate) mod promote;
mod repository;
mod search;
