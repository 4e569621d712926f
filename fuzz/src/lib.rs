//! What every fuzz target checks, besides that nothing panics.
//!
//! `cargo xtask fuzz` builds and runs the targets. A parser that is added to Herma gets a function in one of these
//! modules, a line in [`targets`], and a few small files in `corpus/` to begin with.
//!
//! * [`agents`]: what agents send, and what is in their configurations
//! * [`shell`]: command lines
//! * [`store`]: objects, packs and their indexes
//! * [`records`]: the small files a store and a project have beside them
//! * [`texts`]: ignore rules, comparisons, merges, YAML

pub mod agents;
pub mod records;
pub mod shell;
pub mod store;
pub mod targets;
pub mod texts;

pub use herma_core::fuzzing as core;
pub use herma_exchange::fuzzing as exchange;
pub use herma_program::fuzzing as program;
pub use herma_records::fuzzing as record_doors;
pub use herma_sessions::fuzzing as sessions;
pub use herma_store::fuzzing as store_doors;

/// The parts of an input, between bytes that no text has. Missing ones are empty.
fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut parts = bytes.splitn(N, |byte| *byte == 0xff);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
