//! How much there is.

use herma_fs::{Dir, FileKind};

use crate::db::{Database, value};
use crate::error::Result;
use crate::{db, files};

/// How much there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions.
    pub sessions: u64,
    /// Sessions that have not ended.
    pub active: u64,
    /// Messages.
    pub messages: u64,
    /// Sessions by where they were held, the most first.
    pub sources: Vec<(String, u64)>,
    /// The database in bytes.
    pub database_bytes: u64,
    /// What of it is empty.
    pub free_bytes: u64,
    /// Files in the directory of transcripts.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
}

/// Counts the rows, and the files if there is a directory of them.
pub fn stats(database: &Database, files: Option<&Dir>) -> Result<Stats> {
    let count = |sql| db::count(database.connection(), sql, []);
    let mut stats = Stats {
        sessions: count("SELECT COUNT(*) FROM main.sessions")?,
        active: count("SELECT COUNT(*) FROM main.sessions WHERE ended_at IS NULL")?,
        messages: count("SELECT COUNT(*) FROM main.messages")?,
        sources: sources(database)?,
        database_bytes: database.size()?,
        free_bytes: database
            .pragma_number("freelist_count")?
            .saturating_mul(database.pragma_number("page_size")?),
        ..Stats::default()
    };
    if let Some(dir) = files {
        measure(dir, &mut stats)?;
    }
    Ok(stats)
}

fn sources(database: &Database) -> Result<Vec<(String, u64)>> {
    let column = database.schema().session_column("source");
    let sql = format!(
        "SELECT {column}, COUNT(*) AS n FROM main.sessions s GROUP BY 1 ORDER BY n DESC, 1"
    );
    let mut statement = database.connection().prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        let source = value::text(row.get_ref(0)?).unwrap_or_default();
        let count = value::integer(row.get_ref(1)?);
        Ok((source, u64::try_from(count).unwrap_or(0)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn measure(dir: &Dir, stats: &mut Stats) -> Result<()> {
    files::for_each(dir, |name| {
        // A file that went away meanwhile has no size.
        if let Ok(stat) = dir.stat_raw(name)
            && stat.kind == FileKind::File
        {
            stats.files += 1;
            stats.file_bytes += stat.size;
        }
        Ok(())
    })
}
