//! Power cuts, simulated from what a command really did.
//!
//! [`record`] runs a command under the tracer of [`crate::faults`] and writes down every call that changes
//! the disk below a root: bytes that were written, names that were given and taken, modes, syncs, and words
//! said to the caller. The result is a [`Journal`]. A [`Disk`] follows it call by call and knows what is
//! durable and what is only in memory; [`Disk::after_power_cut`] draws one of the states a disk may be in when
//! the power fails at that moment, the way `SQLite`'s crash tests do:
//!
//! * of a file that was not synced since it was written, every 512-byte sector is old, new or garbage, and its
//!   length is any it had since; syncing a file does not make its name durable;
//! * names that were changed since their directory was synced are old or new, each by itself, but never half:
//!   a rename takes place at both ends or at neither, and a change of a name rests on earlier ones of the same;
//! * in half of the draws names are kept in order instead, up to some point, as journalling file systems do.
//!
//! [`State::write_to`] puts such a state where the command ran, and the test looks whether everything that was
//! promised is there. [`Disk::skip`] forgets a call instead of following it: a sync that is left out must lead
//! to a state in which something is missing, or nobody needs it.
//!
//! # Limits
//!
//! Those of [`crate::faults`]; besides, stores through memory maps are not seen, and the state before the command
//! counts as durable.

use std::path::Path;

use crate::faults::{Faults, Outcome};

mod disk;
mod state;

pub use crate::faults::{Change, Journal, NodeId, Op, Step};
pub use disk::Disk;
pub use state::{Rest, State};

/// Runs a command without any fault and writes down what it did to everything below `root`.
///
/// The journal is empty where commands cannot be traced; see [`crate::faults::available`].
pub fn record(command: &Faults, root: &Path) -> (Outcome, Journal) {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    return command.run_recorded(Journal::of(root));
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
    {
        let _ = command;
        (Outcome::unsupported(), Journal::of(root))
    }
}

#[cfg(test)]
mod tests;
