//! Files of sessions that have no row: left by a crash of Hermes, or by a deletion that did not know them.
//!
//! Only names that cannot be anything else count, only files that nobody touched for a day, and none of a
//! session the gateway still lists. Where the database cannot be read, nothing is an orphan.

use std::collections::BTreeSet;
use std::ffi::CString;

use herma_fs::{Dir, FileKind};

use crate::db::{Database, value};
use crate::error::Result;
use crate::files::{Claim, Form};
use crate::pending::Workplace;
use crate::removal::{NAMED, Removed, sweep};
use crate::{files, index};

/// A file younger than this may belong to a session that is just being made.
const GRACE: f64 = 86_400.0;
/// Files removed after one listing: nothing is removed from a directory while it is being listed.
const AT_ONCE: usize = 1 << 16;

/// Files without a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// How many.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first names.
    pub names: Vec<Vec<u8>>,
}

/// The files of the directory that belong to no session.
pub fn find(database: &Database, dir: &Dir, now: f64) -> Result<Orphans> {
    let mut orphans = Orphans::default();
    for_each(database, dir, now, |name, size| {
        orphans.files += 1;
        orphans.bytes += size;
        if orphans.names.len() < NAMED {
            orphans.names.push(name.as_bytes().to_vec());
        }
    })?;
    Ok(orphans)
}

/// Removes the files of the directory that belong to no session.
pub fn remove(database: &Database, dir: &Dir, now: f64) -> Result<Removed> {
    let _place = Workplace::take(dir)?;
    let mut removed = Removed::default();
    loop {
        let mut names = Vec::new();
        for_each(database, dir, now, |name, _| {
            if names.len() < AT_ONCE {
                names.push(name);
            }
        })?;
        let (is_last, before) = (names.len() < AT_ONCE, removed.files);
        (removed.files_left, removed.more_files_left) = (Vec::new(), 0);
        for name in &names {
            sweep::remove_one(dir, name, &mut removed);
        }
        if is_last || removed.files == before {
            break;
        }
    }
    dir.sync()?;
    Ok(removed)
}

fn for_each(
    database: &Database,
    dir: &Dir,
    now: f64,
    mut each: impl FnMut(CString, u64),
) -> Result<()> {
    let listed: BTreeSet<String> = index::sessions(dir)?.into_iter().collect();
    files::for_each(dir, |name| {
        if is_orphan(database, name.to_bytes(), &listed)?
            // A file that went away meanwhile is none.
            && let Ok(stat) = dir.stat_raw(name)
            && stat.kind == FileKind::File
            && now - stat.mtime as f64 / 1e9 > GRACE
        {
            each(name.to_owned(), stat.size);
        }
        Ok(())
    })
}

fn is_orphan(database: &Database, name: &[u8], listed: &BTreeSet<String>) -> Result<bool> {
    let claims = files::claims(name);
    if !claims.iter().any(|claim| is_certain(name, claim)) {
        return Ok(false);
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM main.sessions WHERE id = ?1)";
    let mut statement = database.connection().prepare_cached(sql)?;
    for claim in &claims {
        let is_listed = std::str::from_utf8(claim.id).is_ok_and(|id| listed.contains(id));
        if is_listed || statement.query_row([value::from_name(claim.id)], |row| row.get(0))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Can the name be nothing but a session's? Any `.json` file could be somebody's notes.
fn is_certain(name: &[u8], claim: &Claim<'_>) -> bool {
    match claim.form {
        Form::StampedDump => true,
        Form::Plain => name.ends_with(b".jsonl") || looks_like_id(claim.id),
        Form::Snapshot | Form::Dump => looks_like_id(claim.id),
    }
}

/// `20260422_231500_1a2b3c`, `cron_…`, or a UUID.
fn looks_like_id(id: &[u8]) -> bool {
    let Ok(id) = std::str::from_utf8(id) else { return false };
    if id.starts_with("cron_") {
        return true;
    }
    let shape = |separator: char, lengths: &[usize]| {
        let parts: Vec<_> = id.split(separator).collect();
        parts.len() == lengths.len()
            && parts.iter().zip(lengths).all(|(part, length)| {
                part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
    };
    shape('_', &[8, 6, 6]) || shape('_', &[8, 6, 8]) || shape('-', &[8, 4, 4, 4, 12])
}
