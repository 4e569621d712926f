//! The files of the victims, found by one listing of the directory.
//!
//! What the listing finds goes into a temporary table, so that a million names need no memory and nothing
//! is removed from a directory while it is being listed.

use std::ffi::{CStr, CString};

use herma_fs::Dir;

use super::{FileLeft, NAMED, Removed};
use crate::db::{Database, value};
use crate::error::Result;
use crate::files::{Claim, Form, Standing};
use crate::{files, rewind};

/// Which victims' files go?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// Those of all that were chosen: for a preview.
    Chosen,
    /// Those of the ones that have no row any more.
    WithoutRow,
}

/// Writes the names of the victims' files into the table `doomed`.
pub(crate) fn find(database: &Database, dir: &Dir, gone: Gone) -> Result<()> {
    let connection = database.connection();
    let transaction = connection.unchecked_transaction()?;
    files::for_each(dir, |name| judge(database, name.to_bytes(), gone))?;
    transaction.commit()?;
    Ok(())
}

fn judge(database: &Database, name: &[u8], gone: Gone) -> Result<()> {
    let claims = files::claims(name);
    let mut judged = Vec::with_capacity(claims.len());
    for claim in claims {
        judged.push((claim, standing(database, &claim, gone)?));
    }
    if let Some(owner) = files::deleted_owner(&judged) {
        let sql = "INSERT INTO temp.doomed (name, owner) VALUES (?1, ?2)";
        let mut insert = database.connection().prepare_cached(sql)?;
        insert.execute(rusqlite::params![name, value::from_name(owner.id)])?;
    }
    Ok(())
}

fn standing(database: &Database, claim: &Claim<'_>, gone: Gone) -> Result<Standing> {
    let sql = "SELECT EXISTS (SELECT 1 FROM temp.victims WHERE id = ?1),
                      EXISTS (SELECT 1 FROM main.sessions WHERE id = ?1)";
    let mut statement = database.connection().prepare_cached(sql)?;
    let known = statement.query_row([value::from_name(claim.id)], |row| {
        Ok((row.get::<_, bool>(0)?, row.get::<_, bool>(1)?))
    })?;
    Ok(match (known, gone) {
        ((true, false), _) | ((true, true), Gone::Chosen) => Standing::Deleted,
        ((_, true), _) => Standing::Stays,
        ((false, false), _) => Standing::Unknown,
    })
}

/// The names of the files of one session that were found.
pub(crate) fn files_of(database: &Database, id: &str) -> Result<Vec<CString>> {
    let sql = "SELECT name FROM temp.doomed WHERE owner = ?1 ORDER BY name";
    let mut statement = database.connection().prepare_cached(sql)?;
    let names = statement.query_map([id], |row| row.get::<_, Vec<u8>>(0))?;
    let names: Vec<_> = names.collect::<rusqlite::Result<_>>()?;
    Ok(names.into_iter().filter_map(|name| CString::new(name).ok()).collect())
}

/// How many files were found, and their bytes.
pub(super) fn measure(database: &Database, dir: &Dir) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for_each_found(database, |name| {
        if let Some(stat) = dir.stat_opt(name)? {
            files += 1;
            bytes += stat.size;
        }
        Ok(())
    })?;
    Ok((files, bytes))
}

/// Removes the files that were found.
pub(super) fn remove(database: &Database, dir: &Dir, removed: &mut Removed) -> Result<()> {
    for_each_found(database, |name| {
        remove_one(dir, name, removed);
        Ok(())
    })
}

pub(super) fn remove_one(dir: &Dir, name: &CStr, removed: &mut Removed) {
    let size = dir.stat_raw(name).map_or(0, |stat| stat.size);
    match dir.remove_file(name) {
        Ok(()) => {
            removed.files += 1;
            removed.bytes += size;
        }
        Err(error) if error.is_not_found() => {}
        Err(error) if removed.files_left.len() < NAMED => {
            removed
                .files_left
                .push(FileLeft { name: name.to_bytes().to_vec(), why: error.source.to_string() });
        }
        Err(_) => removed.more_files_left += 1,
    }
}

/// The ends that were cut off conversations and kept belong to the sessions they are of: calls `each` with
/// those of the victims.
fn for_each_end(
    database: &Database,
    dir: &Dir,
    gone: Gone,
    mut each: impl FnMut(&Dir, &CStr),
) -> Result<()> {
    rewind::for_each_end(dir, |ends, name, session| {
        let claim = Claim { id: session.as_bytes(), form: Form::Plain };
        if standing(database, &claim, gone)? == Standing::Deleted {
            each(ends, name);
        }
        Ok(())
    })
}

/// How many such ends there are, and their bytes.
pub(super) fn measure_ends(database: &Database, dir: &Dir) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for_each_end(database, dir, Gone::Chosen, |ends, name| {
        files += 1;
        bytes += ends.stat_raw(name).map_or(0, |stat| stat.size);
    })?;
    Ok((files, bytes))
}

/// Removes the ends of the victims that have no row any more.
pub(super) fn remove_ends(database: &Database, dir: &Dir, removed: &mut Removed) -> Result<()> {
    let mut touched = None;
    for_each_end(database, dir, Gone::WithoutRow, |ends, name| {
        remove_one(ends, name, removed);
        touched = touched.take().or_else(|| ends.try_clone().ok());
    })?;
    match touched {
        Some(ends) => Ok(ends.sync()?),
        None => Ok(()),
    }
}

fn for_each_found(database: &Database, mut each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
    let mut statement = database.connection().prepare("SELECT name FROM temp.doomed ORDER BY n")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // A name that was listed has no NUL in it.
        if let Ok(name) = CString::new(row.get::<_, Vec<u8>>(0)?) {
            each(&name)?;
        }
    }
    Ok(())
}
