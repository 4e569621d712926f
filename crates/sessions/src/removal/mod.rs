//! Deletes sessions: rows and files, any number of them, beside writers.
//!
//! 1. The victims are chosen into a temporary table, so that no statement grows with their number; those
//!    whose files were written lately ([`activity`]) are not among them.
//! 2. Their ids are written down and synced ([`crate::pending`]).
//! 3. The rows go in short transactions: each looks again whether its sessions are still to go, makes
//!    orphans of their children, and gives others time to write before the next.
//! 4. One listing of the directory finds the files of all that have no row any more, and those go; so do
//!    the ends that were cut off their conversations and kept ([`crate::rewind`]).
//! 5. The gateway's index forgets them, and the list of step 2 goes.
//!
//! A crash anywhere leaves sessions that are whole, and a list from which the next deletion finishes
//! steps 4 and 5.

pub(crate) mod activity;
pub mod delete;
pub mod orphans;
pub mod prune;
mod rows;
pub(crate) mod sweep;

use herma_fs::Dir;
use rusqlite::types::ValueRef;

use crate::db::{Database, value};
use crate::error::Result;
use crate::filters::Filter;
use crate::pending::{Left, Workplace};
use crate::{db, index};

pub(crate) use self::rows::is_gone;

/// At most this many things that stayed are named.
pub(crate) const NAMED: usize = 1000;

/// What a deletion did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Sessions whose rows are gone.
    pub sessions: u64,
    /// Their messages.
    pub messages: u64,
    /// Their files.
    pub files: u64,
    /// The bytes of these files.
    pub bytes: u64,
    /// Sessions of an earlier, interrupted deletion whose files were looked for.
    pub finished: u64,
    /// Sessions that stay though they were to go.
    pub kept: Vec<Kept>,
    /// Files that could not be removed, the first thousand; the next deletion tries again.
    pub files_left: Vec<FileLeft>,
    /// How many more there are of these.
    pub more_files_left: u64,
    /// What else should be known.
    pub notes: Vec<String>,
}

/// A session that stays though it was to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its id, as far as it can be shown.
    pub id: String,
    /// Why.
    pub why: String,
}

/// A file that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLeft {
    /// Its name.
    pub name: Vec<u8>,
    /// Why.
    pub why: String,
}

/// Counts what [`remove`] would remove. Changes nothing.
pub(crate) fn plan(database: &Database, files: Option<&Dir>, filter: &Filter) -> Result<Removed> {
    let victims = Victims::new(database)?;
    let mut kept = Vec::new();
    let count = victims.choose(filter, files, &mut kept)?;
    let mut plan = Removed {
        sessions: count,
        messages: victims.count_messages()?,
        kept,
        ..Removed::default()
    };
    if let Some(dir) = files {
        sweep::find(database, dir, sweep::Gone::Chosen)?;
        let (files, ends) = (sweep::measure(database, dir)?, sweep::measure_ends(database, dir)?);
        (plan.files, plan.bytes) = (files.0 + ends.0, files.1 + ends.1);
    }
    Ok(plan)
}

/// Deletes the sessions `filter` means, and finishes an earlier deletion that was interrupted.
pub(crate) fn remove(
    database: &mut Database,
    files: Option<&Dir>,
    filter: &Filter,
) -> Result<Removed> {
    let mut removed = Removed::default();
    let place = files.map(Workplace::take).transpose()?;
    let victims = Victims::new(database)?;
    let mut old = false;
    if let Some(place) = &place {
        old = victims.take_up(place, &mut removed)?;
    }
    let first = victims.newest()?;
    let count = victims.choose(filter, files, &mut removed.kept)?;
    if count > 0 {
        if let Some(place) = &place {
            // ORDER: the ids are durable before the first row goes; from then on a crash is finished by
            // whoever comes next.
            victims.write_down(place)?;
        }
        rows::delete(database, filter, first, &mut removed)?;
    }
    if let (Some(dir), Some(place)) = (files, &place)
        && (old || count > 0)
    {
        finish(database, dir, place, &mut removed)?;
    }
    Ok(removed)
}

/// The files of all victims that have no row, the gateway's index, and then the list.
fn finish(database: &Database, dir: &Dir, place: &Workplace, removed: &mut Removed) -> Result<()> {
    sweep::find(database, dir, sweep::Gone::WithoutRow)?;
    sweep::remove(database, dir, removed)?;
    sweep::remove_ends(database, dir, removed)?;
    match index::forget(dir, place.dir(), |id| is_gone(database, id))? {
        index::Forgot::Nothing | index::Forgot::Entries(_) => {}
        index::Forgot::Unreadable(why) => {
            removed.notes.push(format!("{} was left as it is: {why}", crate::files::GATEWAY_INDEX));
        }
    }
    if removed.files_left.is_empty() {
        // ORDER: the files are durably gone before the list of them is.
        dir.sync()?;
        place.done()?;
    }
    Ok(())
}

/// The sessions to go, in a table of this connection.
pub(crate) struct Victims<'d> {
    database: &'d Database,
}

impl<'d> Victims<'d> {
    pub(crate) fn new(database: &'d Database) -> Result<Self> {
        database.connection().execute_batch(
            "CREATE TEMP TABLE IF NOT EXISTS victims (n INTEGER PRIMARY KEY, id TEXT UNIQUE);
             CREATE TEMP TABLE IF NOT EXISTS batch (id TEXT PRIMARY KEY) WITHOUT ROWID;
             CREATE TEMP TABLE IF NOT EXISTS doomed (n INTEGER PRIMARY KEY, name BLOB, owner TEXT);
             DELETE FROM temp.victims; DELETE FROM temp.batch; DELETE FROM temp.doomed;",
        )?;
        Ok(Self { database })
    }

    fn add(&self, id: &str) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO temp.victims (id) VALUES (?1)";
        let mut insert = self.database.connection().prepare_cached(sql)?;
        insert.execute([id])?;
        Ok(())
    }

    /// Takes up what an earlier deletion left: the sessions that have no row any more. Tells whether there
    /// was such a list.
    fn take_up(&self, place: &Workplace, removed: &mut Removed) -> Result<bool> {
        let connection = self.database.connection();
        let transaction = connection.unchecked_transaction()?;
        let left = place.read(|id| self.add(id))?;
        if let Left::Damaged(name) = left {
            connection.execute_batch("DELETE FROM temp.victims")?;
            removed.notes.push(format!(
                "the list of an interrupted deletion could not be read and was set aside as `{name}`; \
                 `herma doctor` finds the files it was about"
            ));
        }
        connection.execute_batch(
            "DELETE FROM temp.victims WHERE EXISTS
             (SELECT 1 FROM main.sessions s WHERE s.id = victims.id)",
        )?;
        transaction.commit()?;
        removed.finished = self.count()?;
        Ok(left == Left::Sessions)
    }

    fn count(&self) -> Result<u64> {
        db::count(self.database.connection(), "SELECT COUNT(*) FROM temp.victims", [])
    }

    fn newest(&self) -> Result<u64> {
        let sql = "SELECT COALESCE(MAX(n), 0) FROM temp.victims";
        db::count(self.database.connection(), sql, [])
    }

    /// Adds the sessions `filter` means, and tells how many. Those whose id is no text, and those whose
    /// files were written after the time the filter asks about, stay.
    pub(crate) fn choose(
        &self,
        filter: &Filter,
        files: Option<&Dir>,
        kept: &mut Vec<Kept>,
    ) -> Result<u64> {
        let first = self.newest()?;
        let connection = self.database.connection();
        let transaction = connection.unchecked_transaction()?;
        let (condition, values) = filter.condition(self.database.schema());
        let sql = format!("SELECT s.id FROM main.sessions s WHERE {condition}");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let id = row.get_ref(0)?;
            if let ValueRef::Text(bytes) = id
                && let Ok(id) = std::str::from_utf8(bytes)
            {
                self.add(id)?;
            } else if kept.len() < NAMED {
                kept.push(Kept {
                    id: value::shown(id),
                    why: "its id is no text, so its files cannot be told".to_owned(),
                });
            }
        }
        drop(rows);
        drop(statement);
        transaction.commit()?;
        self.spare_recent(filter, files, first, kept)?;
        let sql = "SELECT COUNT(*) FROM temp.victims WHERE n > ?1";
        db::count(connection, sql, [first as i64])
    }

    /// Takes out those of number `first` and later that have files written lately. What comes before has
    /// no row any more.
    fn spare_recent(
        &self,
        filter: &Filter,
        files: Option<&Dir>,
        first: u64,
        kept: &mut Vec<Kept>,
    ) -> Result<()> {
        let candidate = "SELECT 1 FROM temp.victims WHERE id = ?1";
        activity::find_recent(self.database, files, filter.idle_since, candidate)?;
        let connection = self.database.connection();
        let first = first as i64;
        let room = NAMED.saturating_sub(kept.len()) as i64;
        let sql = "SELECT v.id FROM temp.victims v JOIN temp.recent r ON r.id = v.id
                   WHERE v.n > ?1 ORDER BY v.n LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let ids = statement.query_map([first, room], |row| row.get(0))?;
        for id in ids {
            let (id, why) = (id?, activity::WHY.to_owned());
            kept.push(Kept { id, why });
        }
        let spare = "DELETE FROM temp.victims
                     WHERE n > ?1 AND id IN (SELECT id FROM temp.recent)";
        connection.execute(spare, [first])?;
        Ok(())
    }

    fn count_messages(&self) -> Result<u64> {
        let sql = "SELECT COUNT(*) FROM main.messages
                   WHERE session_id IN (SELECT id FROM temp.victims)";
        db::count(self.database.connection(), sql, [])
    }

    fn write_down(&self, place: &Workplace) -> Result<()> {
        let mut journal = place.start()?;
        let connection = self.database.connection();
        let mut statement = connection.prepare("SELECT id FROM temp.victims ORDER BY n")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            journal.add(&id)?;
        }
        journal.publish()
    }
}
