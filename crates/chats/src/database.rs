//! Databases of agents, which others may write to at the same time.

use std::path::Path;
use std::time::Duration;

use herma_fs::FileKind;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// No value that is read is longer.
const MAX_VALUE: i32 = 64 << 20;
/// No session that is copied has more messages.
pub(crate) const MAX_MESSAGES: usize = 100_000;
/// How long to wait for another process that writes.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Opens the database of an agent, if it is there.
pub(crate) fn open(agent: &'static str, path: &Path, mode: OpenFlags) -> Result<Connection> {
    let found = herma_fs::stat_path(path)?;
    if found.is_none_or(|stat| stat.kind != FileKind::File) {
        return Err(Error::NoRecord { agent });
    }
    let open = || {
        let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY_WAIT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
        Ok(connection)
    };
    open().map_err(of_sql(agent))
}

/// Makes an error of the database one of ours.
pub(crate) fn of_sql(agent: &'static str) -> impl Fn(rusqlite::Error) -> Error + Copy {
    move |source| Error::Sql { agent, source }
}
