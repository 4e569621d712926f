//! The database of sessions: opening it, and writing to it beside others.
//!
//! `state.db` belongs to Hermes as much as to us, and may be open in any number of processes. So it is
//! only ever reached through SQLite: opening and closing the file by other means would drop SQLite's locks
//! on it. Writers take the write lock at once (`BEGIN IMMEDIATE`), for a short time, and try again a
//! bounded number of times when somebody else has it.
//!
//! Nothing in the file is trusted. Its triggers may not call what could do harm (`trusted_schema` is off),
//! its own tables cannot be used to damage it further (`DEFENSIVE`), and every value may have any type.

mod schema;
pub(crate) mod search_index;
pub mod vacuum;
pub(crate) mod value;

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herma_fs::FileKind;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Transaction, TransactionBehavior,
};

pub use self::schema::KNOWN_VERSION;
pub(crate) use self::schema::Schema;
use crate::error::{Error, Result};

/// How long SQLite itself waits for a lock before it says that the database is busy.
const BUSY_WAIT: Duration = Duration::from_secs(1);
/// How often a writer tries.
const ATTEMPTS: u32 = 15;
/// No text or blob that is read may be longer.
const MAX_VALUE_BYTES: i32 = 256 << 20;

/// What the database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing is changed, not even the journal mode.
    Read,
    /// Rows are changed; refused if the schema is newer than [`KNOWN_VERSION`].
    Write,
}

/// An open database of sessions.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    schema: Schema,
    path: PathBuf,
    access: Access,
}

impl Database {
    /// Opens `path`, which must exist.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        if herma_fs::stat_path(path)?.is_none() {
            return Err(Error::NoDatabase(path.to_owned()));
        }
        refuse_special(path)?;
        let connection = connect(path, access)?;
        let schema = Schema::read(&connection).map_err(|error| at(path, error))?;
        if let Some(what) = schema.missing() {
            return Err(Error::NotSessions { path: path.to_owned(), what });
        }
        let database = Self { connection, schema, path: path.to_owned(), access };
        if access == Access::Write {
            database.refuse_writing()?;
            database.prepare_writing()?;
        }
        Ok(database)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long each of the tries to write waits for another writer; one second unless this is called.
    pub fn set_busy_timeout(&mut self, wait: Duration) -> Result<()> {
        Ok(self.connection.busy_timeout(wait)?)
    }

    /// The schema version it names, if it names one.
    pub fn version(&self) -> Option<i64> {
        self.schema.version
    }

    /// Why it can only be read, if it can.
    pub fn only_read(&self) -> Option<Error> {
        self.refuse_writing().err()
    }

    fn refuse_writing(&self) -> Result<()> {
        match self.schema.version {
            Some(version) if version > KNOWN_VERSION => {
                return Err(Error::Newer { version, known: KNOWN_VERSION });
            }
            _ => {}
        }
        match self.schema.foreign_index() {
            Some(index) => Err(Error::ForeignIndex(index)),
            None => Ok(()),
        }
    }

    fn prepare_writing(&self) -> Result<()> {
        // A file system without shared memory has no WAL; the journal it has then will do.
        let _: Option<String> = self
            .connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .optional()
            .or_else(|error| match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Ok(None),
                _ => Err(error),
            })?;
        // ORDER: files are removed after the rows are; a commit that a power cut could undo would
        // leave rows without their files.
        self.connection.execute_batch("PRAGMA synchronous = FULL")?;
        // Search indexes are spread over many pages; with SQLite's 2 MiB each would be read again and
        // again. What is temporary needs no journal on the disk.
        self.connection
            .execute_batch("PRAGMA main.cache_size = -16384; PRAGMA temp.journal_mode = MEMORY;")?;
        Ok(())
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Does `work` in one transaction that has the write lock from its beginning. `work` may run again
    /// when the commit meets another writer, so it must not change anything but the database.
    pub(crate) fn write<T>(
        &mut self,
        mut work: impl FnMut(&Transaction<'_>, &Schema) -> Result<T>,
    ) -> Result<T> {
        if self.access == Access::Read {
            return Err(Error::ReadOnly);
        }
        let started = Instant::now();
        for attempt in 1.. {
            match self.write_once(&mut work) {
                Err(Error::Busy { .. }) if attempt < ATTEMPTS => std::thread::sleep(pause()),
                Err(Error::Busy { .. }) => break,
                other => return other,
            }
        }
        Err(Error::Busy { waited: started.elapsed() })
    }

    fn write_once<T>(
        &mut self,
        work: &mut impl FnMut(&Transaction<'_>, &Schema) -> Result<T>,
    ) -> Result<T> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let done = work(&transaction, &self.schema)?;
        transaction.commit()?;
        Ok(done)
    }

    /// A value of `state_meta`.
    pub(crate) fn meta(&self, key: &str) -> Result<Option<String>> {
        if !self.schema.has_table("state_meta") {
            return Ok(None);
        }
        let sql = "SELECT value FROM main.state_meta WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| Ok(value::text(row.get_ref(0)?)));
        Ok(found.optional()?.flatten())
    }

    /// Sets a value of `state_meta`.
    pub(crate) fn set_meta(&mut self, key: &str, value: &str) -> Result<()> {
        self.write(|transaction, _| {
            transaction.execute_batch(
                "CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT)",
            )?;
            let sql = "INSERT INTO main.state_meta (key, value) VALUES (?1, ?2)
                       ON CONFLICT (key) DO UPDATE SET value = excluded.value";
            transaction.execute(sql, [key, value])?;
            Ok(())
        })
    }

    /// A number the database keeps about itself, such as `page_count`.
    pub(crate) fn pragma_number(&self, name: &str) -> Result<u64> {
        count(&self.connection, &format!("PRAGMA main.{name}"), [])
    }

    /// The size of the database in bytes, as SQLite knows it.
    pub fn size(&self) -> Result<u64> {
        let pages = self.pragma_number("page_count")?;
        Ok(pages.saturating_mul(self.pragma_number("page_size")?))
    }
}

/// The number a query finds; 0 if it is negative.
pub(crate) fn count(connection: &Connection, sql: &str, params: impl Params) -> Result<u64> {
    let number: i64 = connection.query_row(sql, params, |row| row.get(0))?;
    Ok(u64::try_from(number).unwrap_or(0))
}

/// SQLite would wait for ever for somebody to write to a FIFO, and reads devices as if they were files.
fn refuse_special(path: &Path) -> Result<()> {
    // SQLite keeps what it writes beside a database beside the real one.
    for file in files_of(&herma_fs::dir::canonicalize(path)?) {
        if herma_fs::stat_path(&file)?.is_none() {
            continue;
        }
        let real = herma_fs::stat_path(&herma_fs::dir::canonicalize(&file)?)?;
        if real.is_some_and(|stat| stat.kind != FileKind::File) {
            return Err(Error::NotAFile(file));
        }
    }
    Ok(())
}

/// The files SQLite keeps a database in: itself, and what it writes beside it.
pub fn files_of(path: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

/// Says which file it is that is no database.
fn at(path: &Path, error: Error) -> Error {
    match error {
        Error::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Error::NotADatabase(path.to_owned())
        }
        other => other,
    }
}

fn connect(path: &Path, access: Access) -> Result<Connection> {
    let mode = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // No URI: a name with a question mark is a name.
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    if access == Access::Read {
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    }
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A random time, so that two writers who met do not meet again.
fn pause() -> Duration {
    Duration::from_millis(20 + RandomState::new().hash_one(0) % 131)
}
