//! Moves sessions out of the database into files of their own.
//!
//! Where the table has a column `archived`, a session is only marked. Elsewhere each goes to
//! `<home>/sessions/archive/<id>.jsonl.gz`: the first line is the session with its messages, as an export
//! has it; then come its files, and the ends that were cut off it and kept, in pieces of base64. The archive
//! is read back and compared before the session is deleted, and a session that changed meanwhile stays. An
//! archive that a killed run has written already is found by its content, and not written twice.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use herma_fs::publish::Temp;
use herma_fs::{Dir, IfThere};
use sha2::{Digest, Sha256};

use crate::db::Database;
use crate::error::{Error, Result};
use crate::filters::{Filter, MESSAGES, Within, last_active};
use crate::pending::Workplace;
use crate::removal::{Kept, Removed, Victims, prune, sweep};
use crate::{export, pending, removal, rewind};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;

/// Where the archives are, in the directory of the transcripts.
pub const DIRECTORY: &str = "archive";
/// The longest name an archive gets.
const MAX_NAME_BYTES: usize = 200;
/// A piece of a file in one line.
const PIECE: usize = 192 << 10;

/// What an archive says, in short: a session is deleted on the strength of it.
type Content = [u8; 32];

/// What [`archive`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// How many sessions are archived.
    pub sessions: u64,
    /// Were they only marked, and stay in the database?
    pub marked: bool,
    /// The bytes of the archives.
    pub bytes: u64,
    /// What was removed from the database and the directory.
    pub removed: Removed,
}

/// Archives the sessions `filter` means that have ended.
pub fn archive(database: &mut Database, files: &Dir, filter: &Filter) -> Result<Archived> {
    let filter = prune::ended(filter);
    if database.schema().has_session_column("archived") {
        return mark(database, &filter);
    }
    let directory = files.ensure_dir(DIRECTORY, 0o700)?;
    let mut done = Archived::default();
    let mut kept = Vec::new();
    {
        // ORDER: this also makes the archive's own name durable, before anything is only there.
        let _place = Workplace::take(files)?;
        herma_fs::publish::sweep(&directory);
        let victims = Victims::new(database)?;
        victims.choose(&filter, Some(files), &mut kept)?;
        database.connection().execute_batch(
            "CREATE INDEX IF NOT EXISTS temp.doomed_by_owner ON doomed (owner);
             CREATE TEMP TABLE IF NOT EXISTS archived
               (id TEXT PRIMARY KEY, messages, last_active, name TEXT);
             DELETE FROM temp.archived;",
        )?;
        sweep::find(database, files, sweep::Gone::Chosen)?;
        let ends = ends_by_session(files)?;
        for_each_victim(database, |id| {
            let ends = ends.get(id).map_or(&[][..], Vec::as_slice);
            match write(database, files, ends, &directory, id) {
                Ok(bytes) => done.bytes += bytes,
                Err(Error::ArchiveUnverified(id)) => kept.push(Kept {
                    id,
                    why: "its archive does not read back as it was written".to_owned(),
                }),
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        directory.sync()?;
    }
    let unchanged = Filter { within: Within::Archived, ..filter };
    done.removed = removal::remove(database, Some(files), &unchanged)?;
    done.sessions = done.removed.sessions;
    drop_needless(database, &directory, &mut kept)?;
    done.removed.kept.extend(kept);
    Ok(done)
}

fn mark(database: &mut Database, filter: &Filter) -> Result<Archived> {
    let sessions = database.write(|transaction, schema| {
        let (condition, values) = filter.condition(schema);
        let sql = format!(
            "UPDATE main.sessions AS s SET archived = 1 WHERE COALESCE(s.archived, 0) = 0
             AND {condition}"
        );
        Ok(transaction.execute(&sql, rusqlite::params_from_iter(values))? as u64)
    })?;
    Ok(Archived { sessions, marked: true, ..Archived::default() })
}

fn for_each_victim(database: &Database, mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let mut after = 0i64;
    let sql = "SELECT n, id FROM temp.victims WHERE n > ?1 ORDER BY n LIMIT 1";
    loop {
        let mut statement = database.connection().prepare_cached(sql)?;
        let mut rows = statement.query([after])?;
        let Some(row) = rows.next()? else { return Ok(()) };
        after = row.get(0)?;
        let id: String = row.get(1)?;
        drop(rows);
        each(&id)?;
    }
}

/// An end that was cut off a conversation and kept.
struct End {
    dir: Dir,
    name: CString,
}

fn ends_by_session(files: &Dir) -> Result<BTreeMap<String, Vec<End>>> {
    let mut ends: BTreeMap<String, Vec<End>> = BTreeMap::new();
    rewind::for_each_end(files, |dir, name, session| {
        let end = End { dir: dir.try_clone()?, name: name.to_owned() };
        ends.entry(session.to_owned()).or_default().push(end);
        Ok(())
    })?;
    for ends in ends.values_mut() {
        ends.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(ends)
}

/// Writes one archive, reads it back, and remembers what the session was like; returns its size.
fn write(database: &Database, files: &Dir, ends: &[End], directory: &Dir, id: &str) -> Result<u64> {
    let remember = format!(
        "INSERT INTO temp.archived SELECT s.id, {MESSAGES}, {}, NULL
         FROM main.sessions s WHERE s.id = ?1",
        last_active(database.schema())
    );
    // What is remembered is from before the export: a message that comes in between is a difference.
    database.connection().execute(&remember, [id])?;
    let temp = Temp::create(directory)?;
    let written = compress(database, files, ends, id, temp.file())?;
    temp.sync()?;
    if !says(directory, temp.name(), written) {
        let forget = "DELETE FROM temp.archived WHERE id = ?1";
        database.connection().execute(forget, [id])?;
        return Err(Error::ArchiveUnverified(id.to_owned()));
    }
    let size = directory.stat(temp.name())?.size;
    let name = publish(temp, directory, id, written)?;
    let set = "UPDATE temp.archived SET name = ?2 WHERE id = ?1";
    database.connection().execute(set, [id, name.as_str()])?;
    Ok(size)
}

/// Writes the session and its files; returns what was written, in short.
fn compress(
    database: &Database,
    files: &Dir,
    ends: &[End],
    id: &str,
    to: &File,
) -> Result<Content> {
    let mut tee = Tee { out: GzEncoder::new(to, Compression::default()), seen: Sha256::new() };
    export::export(database, &Filter::one(id), &mut tee)?;
    for name in sweep::files_of(database, id)? {
        write_file(files, &name, &name.to_string_lossy(), &mut tee)?;
    }
    for End { dir, name } in ends {
        let label = format!("{}/{}", rewind::DIRECTORY, name.to_string_lossy());
        write_file(dir, name, &label, &mut tee)?;
    }
    tee.out.finish()?;
    Ok(tee.seen.finalize().into())
}

/// Gives the archive the first free name, unless it is there already.
fn publish(temp: Temp<'_>, directory: &Dir, id: &str, content: Content) -> Result<String> {
    let mut stem = pending::escape(id).replace('/', "%2f");
    if stem.starts_with('.') {
        stem.replace_range(..1, "%2e");
    }
    stem.truncate(MAX_NAME_BYTES);
    let mut name = format!("{stem}.jsonl.gz");
    let mut number = 1;
    // Only this process gives names here: it has the lock.
    while directory.stat_opt(name.as_str())?.is_some() {
        if says(directory, &name, content) {
            return Ok(name);
        }
        number += 1;
        name = format!("{stem}.{number}.jsonl.gz");
    }
    temp.publish(directory, &name)?;
    Ok(name)
}

fn write_file(files: &Dir, name: &CStr, label: &str, out: &mut impl Write) -> Result<()> {
    let Some(mut file) = files.open_file(name).if_there()? else { return Ok(()) };
    let label = serde_json::Value::from(label);
    let mut piece = Vec::with_capacity(PIECE);
    let mut offset = 0;
    loop {
        piece.clear();
        let length = (&mut file)
            .take(PIECE as u64)
            .read_to_end(&mut piece)
            .map_err(|e| herma_fs::Error::on("read", files.path(), e))?;
        let data = BASE64.encode(&piece);
        writeln!(out, "{{\"file\": {label}, \"offset\": {offset}, \"base64\": \"{data}\"}}")?;
        offset += length;
        if length < PIECE {
            return Ok(());
        }
    }
}

/// Does an archive say this? One that cannot be read says something else.
fn says(directory: &Dir, name: &str, content: Content) -> bool {
    let Ok(file) = directory.open_file(name) else { return false };
    let mut read = Tee { out: std::io::sink(), seen: Sha256::new() };
    std::io::copy(&mut GzDecoder::new(file), &mut read).is_ok()
        && Content::from(read.seen.finalize()) == content
}

/// Archives of sessions that are still there, because they changed or are still needed, go again.
fn drop_needless(database: &Database, directory: &Dir, kept: &mut Vec<Kept>) -> Result<()> {
    let sql = "SELECT id, name FROM temp.archived a WHERE name IS NOT NULL
               AND EXISTS (SELECT 1 FROM main.sessions s WHERE s.id = a.id)";
    let mut statement = database.connection().prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, name): (String, String) = (row.get(0)?, row.get(1)?);
        directory.remove_file(name.as_str())?;
        kept.push(Kept {
            id,
            why: "it changed while it was archived, or is still needed".to_owned(),
        });
    }
    Ok(())
}

/// Writes, and remembers what was written.
struct Tee<W> {
    out: W,
    seen: Sha256,
}

impl<W: Write> Write for Tee<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = self.out.write(bytes)?;
        self.seen.update(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
