//! What a caller asks for.

use herma_records::step::StepId;

/// Which step is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichStep {
    /// The one that is called so.
    Id(StepId),
    /// The newest open one with the agent's own id of the call, in this session if it is named.
    Call {
        /// The id.
        id: String,
        /// The session.
        session: Option<String>,
    },
}

/// Why it is time to clean up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A project has more checkpoints than it may.
    Count,
    /// There are many packs, or many loose objects.
    Packs,
    /// The store is nearly as large as it may be.
    Size,
    /// The disk is nearly full.
    Disk,
    /// The last cleaning was long ago.
    Interval,
}
