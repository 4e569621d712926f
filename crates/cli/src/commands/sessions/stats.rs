//! `herma sessions stats`

use std::io::Write;

use herma_sessions::{Access, stats};
use serde::Serialize;

use super::shown;
use crate::command_env::{CommandEnv, Outcome};
use crate::command_error::CommandError;
use crate::conversations;
use crate::terminal::units::size;

#[derive(Serialize)]
struct StatsJson {
    schema: &'static str,
    schema_version: Option<i64>,
    sessions: u64,
    active: u64,
    messages: u64,
    sources: serde_json::Map<String, serde_json::Value>,
    database_bytes: u64,
    free_bytes: u64,
    files: u64,
    file_bytes: u64,
}

pub(super) fn cmd_stats(env: &CommandEnv) -> Result<Outcome, CommandError> {
    let database = conversations::open(&env.home, Access::Read)?;
    let dir = conversations::directory(&env.home)?;
    let stats = stats::stats(&database, dir.as_ref())?;
    if env.ui.json {
        let sources = stats.sources.into_iter();
        env.ui.write_json(&StatsJson {
            schema: "herma.sessions-stats/1",
            schema_version: database.version(),
            sessions: stats.sessions,
            active: stats.active,
            messages: stats.messages,
            sources: sources.map(|(name, count)| (name, count.into())).collect(),
            database_bytes: stats.database_bytes,
            free_bytes: stats.free_bytes,
            files: stats.files,
            file_bytes: stats.file_bytes,
        })?;
        return Ok(Outcome::Done);
    }
    let mut out = env.ui.data();
    writeln!(out, "Total sessions: {}", stats.sessions)?;
    writeln!(out, "Total messages: {}", stats.messages)?;
    for (source, count) in &stats.sources {
        writeln!(out, "  {}: {count} sessions", shown(source))?;
    }
    let megabytes = stats.database_bytes as f64 / f64::from(1 << 20);
    writeln!(out, "Database size: {megabytes:.1} MB")?;
    writeln!(out, "Active sessions: {}", stats.active)?;
    writeln!(out, "Files: {}, {}", stats.files, size(stats.file_bytes))?;
    out.finish()?;
    Ok(Outcome::Done)
}
