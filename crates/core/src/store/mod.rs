//! The store: one bare git repository that holds every project's checkpoints.
//!
//! * [`layout`], [`locks`], [`sweep`]: making and opening it, who may work on it, what a killed process
//!   left behind
//! * [`pack_write`]: one pack per checkpoint, durable before anything names it
//! * [`pack_merge`], [`delta_encode`]: many packs into one, most objects as deltas
//! * [`refs`], [`shallow`]: what is alive, and where history is cut
//! * [`objects`]: reading, out of packs and loose files, every object checked against its id
//! * [`object`], [`commit`]: the formats
//!
//! Nothing in a store is ever executed or trusted: no configuration is obeyed, every name and id is
//! validated.

pub mod base;
mod cache;
pub mod chain;
pub mod commit;
pub mod copy;
mod deflate;
mod deflate_stream;
pub mod delta;
pub mod delta_encode;
pub mod error;
pub(crate) mod git_config;
pub mod head;
pub(crate) mod id_table;
mod inflate;
pub mod layout;
pub(crate) mod learned_deflate;
pub(crate) mod lock_file;
pub mod locks;
pub mod loose;
pub mod object;
pub mod objects;
pub mod own_files;
mod pack_bytes;
pub mod pack_check;
mod pack_claims;
pub mod pack_files;
pub(crate) mod pack_finish;
pub mod pack_index;
mod pack_lengths;
mod pack_list;
pub mod pack_merge;
mod pack_parts;
pub mod pack_read;
pub mod pack_rebuild;
pub(crate) mod pack_recent;
pub mod pack_salvage;
pub(crate) mod pack_sign;
pub mod pack_write;
pub(crate) mod packed_refs;
pub mod prefix;
pub mod recover;
pub(crate) mod ref_name;
pub mod refs;
mod reserve;
pub(crate) mod roll;
pub mod set_aside;
pub mod shallow;
pub mod survey;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod transfer;
mod upkeep;

pub use error::StoreError;
pub use layout::StoreDirs;
pub use pack_finish::PackName;
pub use pack_write::Known;
pub use pack_write::PackWriter;
pub use refs::Refs;
pub use shallow::Shallow;
