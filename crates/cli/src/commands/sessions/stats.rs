//! `herma sessions stats`

use std::io::Write;

use herma_sessions::{Access, stats};
use herma_view::json::lazy_object;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::conversations;
use crate::terminal::{shown, size};

pub(super) fn cmd_stats(env: &CommandEnv) -> Result<Outcome> {
    let database = conversations::open(&env.home, Access::Read)?;
    let dir = conversations::directory(&env.home)?;
    let stats = stats::stats(&database, dir.as_ref())?;
    let sources = stats.sources.iter().map(|(name, count)| (name.clone(), (*count).into()));
    let json = lazy_object! {
        schema: "herma.sessions-stats/1",
        schema_version: database.version(),
        sessions: stats.sessions,
        active: stats.active,
        messages: stats.messages,
        sources: sources.collect::<serde_json::Map<_, _>>(),
        database_bytes: stats.database_bytes,
        free_bytes: stats.free_bytes,
        files: stats.files,
        file_bytes: stats.file_bytes,
    };
    env.ui.answer(json, |out| {
        writeln!(out, "Total sessions: {}", stats.sessions)?;
        writeln!(out, "Total messages: {}", stats.messages)?;
        for (source, count) in &stats.sources {
            writeln!(out, "  {}: {count} sessions", shown(source))?;
        }
        let megabytes = stats.database_bytes as f64 / f64::from(1 << 20);
        writeln!(out, "Database size: {megabytes:.1} MB")?;
        writeln!(out, "Active sessions: {}", stats.active)?;
        writeln!(out, "Files: {}, {}", stats.files, size(stats.file_bytes))
    })?;
    Ok(Outcome::Done)
}
