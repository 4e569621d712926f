//! Packs: each checkpoint's new objects in one file with its index, written as git writes them.
//!
//! * [`write`](mod@write): a new pack, durable before anything names it
//! * [`index`], [`read`], [`files`]: looking into one; `list` knows which there are
//! * [`sign`]: is one still the one somebody saw?

pub(crate) mod bytes;
pub mod files;
pub mod index;
pub(crate) mod lengths;
pub(crate) mod list;
pub mod read;
pub mod sign;
pub mod write;
