//! The session database and the files beside it.

use herma_fs::Dir;
use herma_sessions::{Access, Database, Error, orphans, pending};
use herma_view::listing::counted;

use super::findings::{Findings, Level};
use crate::command_env::{CommandEnv, Result};
use crate::conversations;
use crate::terminal::size;

const ABOUT: &str = "sessions";

/// Looks at them. A home without a database has no sessions, which is fine and not worth a line.
pub(super) fn look(findings: &mut Findings, env: &CommandEnv) {
    let database = match Database::open(&env.home.join("state.db"), Access::Read) {
        Ok(database) => database,
        Err(Error::NoDatabase(_)) => return,
        Err(error) => return findings.add_error(ABOUT, error),
    };
    let looked = conversations::directory(&env.home).and_then(|dir| {
        look_at_database(findings, &database)?;
        match dir {
            Some(dir) => look_at_files(findings, env, &database, &dir),
            None => Ok(()),
        }
    });
    findings.known(ABOUT, looked);
}

fn look_at_database(findings: &mut Findings, database: &Database) -> Result<()> {
    let count = herma_sessions::list::count(database, &herma_sessions::Filter::default())?;
    let count = counted(count, "session");
    let text = format!("{count} in a database of {}", size(database.size()?));
    match database.only_read() {
        Some(why) => findings.add(ABOUT, Level::Attention, format!("{text}; {why}"), ""),
        None => findings.fine(ABOUT, text),
    }
    Ok(())
}

fn look_at_files(
    findings: &mut Findings,
    env: &CommandEnv,
    database: &Database,
    dir: &Dir,
) -> Result<()> {
    if pending::is_pending(dir)? {
        findings.add(
            ABOUT,
            Level::Attention,
            "a deletion was interrupted, or is under way",
            "The next `herma sessions prune` or `delete` finishes it.",
        );
    }
    let found = orphans::find(database, dir, env.now().as_float())?;
    if found.files > 0 {
        let count = counted(found.files, "file");
        findings.add(
            ABOUT,
            Level::Attention,
            format!("{count} ({}) of sessions that are not in the database", size(found.bytes)),
            "`herma sessions prune --orphan-files` removes them, after asking.",
        );
    }
    Ok(())
}
