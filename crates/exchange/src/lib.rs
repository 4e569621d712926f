//! One file with everything that belongs to rows of a timeline, for another machine.
//!
//! * [`contents`]: what is said of the rows, and what must hold of it
//! * [`frame`]: how a file is divided into records, and the hash at its end
//! * [`pack`]: the objects, as one git pack without deltas; [`source`]: the bytes of a file, wherever they are
//! * [`write`]: out of a store; [`read`]: a file is checked whole before anything of it is given to anybody
//!
//! A git bundle would not do: a checkpoint's receipt is not reachable from its commit, a history that is cut verifies and then
//! cannot be fetched, and step records are no objects. `docs/STORE-FORMAT.md` describes every byte.
//!
//! Nothing in a file is believed. What is read is bounded: no size is allocated before its bytes have arrived, no object is held
//! whole but those that are parsed or small, and what was not understood and may not be skipped is refused.

pub mod contents;
pub mod frame;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/exchange.rs"]
pub mod fuzzing;
pub mod pack;
pub mod read;
pub mod source;
#[cfg(any(test, fuzzing))]
mod testing;
pub mod write;

use herma_store::ObjectId;
use herma_store::StoreError;
use herma_store::objects::ObjectError;

/// Why a file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// It is no export at all.
    #[error("it is not a file that `herma export` wrote")]
    Foreign,
    /// It was written by a newer version.
    #[error("it has format {found}, and this version reads up to {}", frame::VERSION)]
    Newer {
        /// Its format.
        found: u32,
    },
    /// It ends early, or was changed since it was written.
    #[error("it was cut short or changed since it was written: {0}")]
    Torn(&'static str),
    /// It says what cannot be.
    #[error("it is damaged or crafted: {0}")]
    Bad(String),
    /// Somebody who waits does not want it any more.
    #[error("stopped")]
    Cancelled,
    /// An object of it became another one while it was read.
    #[error("it was changed while it was read: object {0} is another one now")]
    Moved(ObjectId),
    /// The bytes could not be read.
    #[error("it could not be read")]
    Read(#[source] std::io::Error),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object of the store cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}

impl ExchangeError {
    /// Something the file says cannot be so.
    pub(crate) fn bad(what: impl Into<String>) -> Self {
        Self::Bad(what.into())
    }

    /// Is the file to blame, and neither the store nor the system?
    pub fn is_of_file(&self) -> bool {
        !matches!(
            self,
            Self::Cancelled | Self::Read(_) | Self::Store(_) | Self::Object(_) | Self::Fs(_)
        )
    }
}

/// What may go wrong here.
pub type Result<T, E = ExchangeError> = std::result::Result<T, E>;
