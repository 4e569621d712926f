//! Why a conversation could not be cut.

/// The result of something with a conversation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a conversation could not be cut. Nothing of it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody knows how this agent keeps its conversations.
    #[error("the conversations of `{0}` are not known here")]
    UnknownAgent(String),
    /// The session has an id that no agent gives.
    #[error("the session has an id that no agent gives")]
    StrangeSession,
    /// The record is gone, or elsewhere.
    #[error("{agent} has no record of this session")]
    NoRecord {
        /// The agent.
        agent: &'static str,
    },
    /// The call is not in the record.
    #[error("the record of {agent} does not have this change's tool call")]
    NoCall {
        /// The agent.
        agent: &'static str,
    },
    /// Several calls in the record could be the one.
    #[error("the record of {agent} has several calls that could be this change's")]
    SeveralCalls {
        /// The agent.
        agent: &'static str,
    },
    /// The prompt is not in the record any more.
    #[error("the record of {agent} does not have this change's prompt any more")]
    NoPrompt {
        /// The agent.
        agent: &'static str,
    },
    /// The record was written by a version that is not known.
    #[error("{agent} {version} wrote this record, in a format not known here")]
    UnknownVersion {
        /// The agent.
        agent: &'static str,
        /// Its version.
        version: String,
    },
    /// The record has something that is not known.
    #[error("the record of {agent} has something not known here: {what}")]
    UnknownRecord {
        /// The agent.
        agent: &'static str,
        /// What.
        what: String,
    },
    /// A line of the record is not what the agent writes.
    #[error("the record of {agent} cannot be read at byte {offset}")]
    Unreadable {
        /// The agent.
        agent: &'static str,
        /// Where.
        offset: u64,
    },
    /// The record is something else.
    #[error("the record is no text at byte {0}")]
    NotText(u64),
    /// The record is too large to be looked through.
    #[error("the record is too large: {0}")]
    TooLarge(&'static str),
    /// The record was changed after it was looked through.
    #[error("the record was changed meanwhile")]
    Changed,
    /// A session with the new id is there already.
    #[error("{agent} has a session with the new id already")]
    Taken {
        /// The agent.
        agent: &'static str,
    },
    /// The database cannot be used.
    #[error("the database of {agent} could not be used")]
    Sql {
        /// The agent.
        agent: &'static str,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// Something with a file.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}
