//! Why something with sessions did not work. One enum: every operation meets the same database and the
//! same directory.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::ErrorCode;

/// The result of an operation on sessions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something with sessions did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody has made a database yet.
    #[error("there is no session database at {}", .0.display())]
    NoDatabase(PathBuf),
    /// The file is something else.
    #[error("{} is not an SQLite database", .0.display())]
    NotADatabase(PathBuf),
    /// A FIFO, a device, a directory.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// A database, but not one of sessions.
    #[error("{} is not a session database: {what}", path.display())]
    NotSessions {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// A newer Hermes made it: it is read, and not written.
    #[error(
        "the session database has schema version {version}, and this Herma knows {known}: it can be read, not changed"
    )]
    Newer {
        /// The version in the database.
        version: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// Hermes keeps an index of the messages that nobody else can keep: it is read, and not written.
    #[error(
        "the session database has a search index, `{0}`, that only Hermes can write: it can be read, not changed"
    )]
    ForeignIndex(&'static str),
    /// It was opened for reading, or the file system does not let it be written.
    #[error("the session database can only be read")]
    ReadOnly,
    /// Another process kept writing for the whole wait.
    #[error("the session database was busy for {:.1} s", waited.as_secs_f64())]
    Busy {
        /// How long this one tried.
        waited: Duration,
    },
    /// Another process is deleting sessions.
    #[error("another process{} is deleting sessions", process_words(*holder))]
    OtherCleaner {
        /// Its process id, if it said so.
        holder: Option<u32>,
    },
    /// Another process moves the files of the project, and a conversation with them.
    #[error("another process{} is restoring this project and its conversation", process_words(*holder))]
    OtherMove {
        /// Its process id, if it said so.
        holder: Option<u32>,
    },
    /// The file system has no locks, so two cleanings could not be kept apart.
    #[error("the file system of {} has no locks", .0.display())]
    NoLocks(PathBuf),
    /// What SQLite found in the file makes no sense.
    #[error("the session database is damaged")]
    Damaged(#[source] rusqlite::Error),
    /// Anything else SQLite says.
    #[error("the session database could not be used")]
    Sql(#[source] rusqlite::Error),
    /// Something with a file.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
    /// Output that could not be written.
    #[error("could not write the output")]
    Write(#[from] std::io::Error),
    /// No session has this id, and none begins with it.
    #[error("Session '{0}' not found.")]
    NotFound(String),
    /// Several sessions begin with it.
    #[error("several sessions begin with '{prefix}'")]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some of them.
        ids: Vec<String>,
    },
    /// The session has not ended.
    #[error("session '{0}' is active: it has not ended")]
    Active(String),
    /// Two sessions cannot have one title.
    #[error("session '{by}' has the title '{title}' already")]
    TitleTaken {
        /// The title.
        title: String,
        /// Who has it.
        by: String,
    },
    /// Not a title.
    #[error("a title is one line of 1 to {max} characters")]
    BadTitle {
        /// How long it may be.
        max: usize,
    },
    /// The conversation went on, so that it cannot be cut or continued there.
    #[error("the conversation of session '{session}' went on: {what}")]
    WentOn {
        /// The session.
        session: String,
        /// What is not as it was.
        what: &'static str,
    },
    /// A file of ours does not say what it should.
    #[error("{} is damaged: {what}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An archive did not read back as it was written; the session stays.
    #[error("the archive of session '{0}' does not read back as it was written")]
    ArchiveUnverified(String),
}

fn process_words(holder: Option<u32>) -> String {
    holder.map(|id| format!(" (process {id})")).unwrap_or_default()
}

impl Error {
    /// Is another writer in the way?
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::OtherCleaner { .. } | Self::OtherMove { .. })
    }

    /// Does a table we know nothing about still point to the row?
    pub(crate) fn is_foreign_key(&self) -> bool {
        matches!(self, Self::Sql(error) if extended_code(error) == Some(FOREIGN_KEY))
    }

    /// Is it a search index that makes no sense, not the database itself?
    pub(crate) fn is_damaged_index(&self) -> bool {
        matches!(self, Self::Damaged(error) if extended_code(error) == Some(DAMAGED_INDEX))
    }
}

const FOREIGN_KEY: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY;
const DAMAGED_INDEX: i32 = rusqlite::ffi::SQLITE_CORRUPT_VTAB;

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code),
        _ => None,
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { waited: Duration::ZERO }
            }
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error),
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            _ => Self::Sql(error),
        }
    }
}
