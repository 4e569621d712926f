//! What Herma's tests stand on.
//!
//! * [`cases`]: the table of what an undo must do
//! * [`mod@env`]: a world of its own for one test: home, store, projects, the program under test
//! * [`tree`]: a directory tree as a value, and random changes to it
//! * [`bounded`]: programs that tests start, each of which ends
//! * [`faults`]: crashes and errors at an exact system call of a whole process tree
//! * `foreign`: file systems unlike a local disk, through FUSE
//! * `plain`: a file system without links, exchange and the like, for one thread and its children
//! * [`crash`]: power cuts at any moment of what a command really did
//! * [`git`]: the real git as the oracle for everything Herma stores
//! * [`hermes`]: stores as the original writes them, and wrote them once; its session database, with its files
//! * [`names`]: ten thousand hostile file names
//! * [`power`]: power cuts of a mounted file system
//! * [`attack`]: directories swapped for links under the program's hands
//! * `schedules`: orders of what threads do, tried one by one (`cargo xtask interleavings`)
//! * [`skips`]: tests that cannot run here, counted
//! * [`terminal`]: a terminal with somebody at it who answers questions
//! * [`raw`]: what is in the bytes of files, for contents that must be gone
//! * [`output`]: what a command printed, the same from run to run
//!
//! The kit does not know the engine: what a test expects is stated in its own words.

pub mod attack;
pub mod bounded;
pub mod cases;
pub mod crash;
pub mod env;
pub mod faults;
#[cfg(all(target_os = "linux", not(shuttle)))]
pub mod foreign;
pub mod git;
pub mod hermes;
pub mod names;
pub mod output;
#[cfg(target_os = "linux")]
pub mod plain;
pub mod power;
pub mod random;
pub mod raw;
#[cfg(shuttle)]
pub mod schedules;
pub mod secrets;
pub mod skips;
pub mod terminal;
pub mod tree;

pub use bounded::Bounded;
pub use env::{TestEnv, WorkDir};
pub use output::Output;
pub use skips::skipped;
pub use tree::{Node, Tree};
