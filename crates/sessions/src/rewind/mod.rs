//! A conversation goes back to where it was at a checkpoint, and forward again.
//!
//! A [`TranscriptMark`] says how far a conversation has come. [`rewind`] cuts the messages after it out of
//! the database and the tail off `<id>.jsonl`; what is cut is first written, synced, to a file the caller
//! names (`kept`), every column as it was. [`bring_back`] puts exactly that back. Both can be repeated: a
//! crash between the rows and the file is finished by calling the same again, and neither does anything
//! where the conversation went on in between. [`Ends`] keeps what was cut beside the project whose files
//! moved with it, and makes a crash between files and conversation known to the next command.

mod ends;
mod intent;
mod jsonl;
pub(crate) mod kept;
mod of_sessions;

use herma_fs::Dir;
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};

pub use self::ends::{DIRECTORY, Ends, Followed};
pub use self::intent::{Aim, Arrival, Due, Intent, Place};
use self::jsonl::{Jsonl, jsonl_length, jsonl_name};
pub use self::jsonl::{LeftAlone, left_alone};
use self::kept::{Cut, Kept};
pub(crate) use self::of_sessions::for_each_end;
use crate::db;
use crate::db::{Database, search_index, value};
use crate::error::{Error, Result};

/// How far a conversation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptMark {
    /// The number of its newest message; 0 if it has none.
    pub message_id: i64,
    /// How many messages it has.
    pub messages: u64,
    /// The length of `<id>.jsonl`, if there is one.
    pub jsonl_bytes: Option<u64>,
}

/// What [`rewind`] cut, or [`bring_back`] put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewound {
    /// Messages.
    pub messages: u64,
    /// Bytes of `<id>.jsonl`.
    pub jsonl_bytes: u64,
}

/// What [`rewind`] would cut. Nothing is changed.
pub fn plan(
    database: &Database,
    sessions_dir: Option<&Dir>,
    session: &str,
    mark: TranscriptMark,
) -> Result<Rewound> {
    check(database, sessions_dir, session, mark)?;
    let sql = "SELECT COUNT(*) FROM main.messages WHERE session_id = ?1 AND id > ?2";
    let params = rusqlite::params![session, mark.message_id];
    let messages = db::count(database.connection(), sql, params)?;
    let length = sessions_dir.map(|dir| jsonl_length(dir, session));
    let length = length.transpose()?.flatten().unwrap_or(0);
    Ok(Rewound { messages, jsonl_bytes: length.saturating_sub(mark.jsonl_bytes.unwrap_or(0)) })
}

/// How far the conversation of this session has come; `None` if there is no such session.
pub fn mark(
    database: &Database,
    sessions_dir: Option<&Dir>,
    session: &str,
) -> Result<Option<TranscriptMark>> {
    let sql =
        "SELECT (SELECT COALESCE(MAX(m.id), 0) FROM main.messages m WHERE m.session_id = s.id),
                      (SELECT COUNT(*) FROM main.messages m WHERE m.session_id = s.id)
               FROM main.sessions s WHERE s.id = ?1";
    let found = database.connection().query_row(sql, [session], |row| {
        let id = value::integer(row.get_ref(0)?);
        Ok((id, value::integer(row.get_ref(1)?)))
    });
    let Some((message_id, messages)) = found.optional()? else { return Ok(None) };
    let jsonl = sessions_dir.map(|dir| jsonl_length(dir, session));
    Ok(Some(TranscriptMark {
        message_id,
        messages: u64::try_from(messages).unwrap_or(0),
        jsonl_bytes: jsonl.transpose()?.flatten(),
    }))
}

/// Can the conversation be undone to this mark? Nothing is changed. It cannot if its rows or its
/// transcript were rewritten since, so that the mark points somewhere else.
pub fn check(
    database: &Database,
    sessions_dir: Option<&Dir>,
    session: &str,
    mark: TranscriptMark,
) -> Result<()> {
    if count_before(database.connection(), session, mark)? != mark.messages {
        return Err(went_on(session, "messages from before the mark are gone or new"));
    }
    let (Some(dir), Some(bytes), Some(name)) =
        (sessions_dir, mark.jsonl_bytes, jsonl_name(session))
    else {
        return Ok(());
    };
    let file = match dir.open_file(name.as_str()) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => {
            return Err(went_on(session, "its transcript is gone"));
        }
        Err(_) if left_alone(sessions_dir, session)?.iter().any(|left| left.matters) => {
            return Err(went_on(session, "its transcript is no file any more"));
        }
        Err(error) => return Err(error.into()),
    };
    let at = |e| herma_fs::Error::on("read", &dir.path().join(&name), e);
    let mut last = [b'\n'];
    let before = bytes.saturating_sub(1);
    let read = herma_fs::file::read_at(&file, &mut last, before).map_err(at)?;
    if bytes > 0 && (read == 0 || last != [b'\n']) {
        return Err(went_on(session, "its transcript was rewritten"));
    }
    Ok(())
}

/// Takes the conversation back to `mark`. What is cut is kept in the file `name` of `keep_in`; if that
/// file is there already, an interrupted rewind is finished from it.
pub fn rewind(
    database: &mut Database,
    sessions_dir: Option<&Dir>,
    session: &str,
    mark: TranscriptMark,
    keep_in: &Dir,
    name: &str,
) -> Result<Rewound> {
    // What was kept and never cut may not be all by now.
    let kept = match Kept::read(keep_in, name)? {
        Some(kept) if !is_uncut(database, sessions_dir, &kept)? => Some(kept),
        _ => None,
    };
    let is_new = kept.is_none();
    let kept = match kept {
        Some(kept) => kept,
        None => keep(database, sessions_dir, session, mark, keep_in, name)?,
    };
    let done = cut(database, sessions_dir, session, mark, &kept);
    if is_new && matches!(done, Err(Error::WentOn { .. })) {
        // Nothing was cut, and what is kept is not what a later rewind would cut.
        keep_in.remove_file(name)?;
    }
    done
}

/// Is everything that is kept still in its place as well?
fn is_uncut(database: &Database, sessions_dir: Option<&Dir>, kept: &Kept) -> Result<bool> {
    let Cut { session, jsonl, .. } = &kept.cut;
    let length = match (sessions_dir, jsonl) {
        (Some(dir), Some(_)) => jsonl_length(dir, session)?,
        _ => None,
    };
    let is_whole = jsonl.is_none_or(|(_, end)| length >= Some(end));
    let view = database.connection().unchecked_transaction()?;
    Ok(is_whole && kept.all_kept_are_present(&view)?)
}

/// Cuts what is kept.
fn cut(
    database: &mut Database,
    sessions_dir: Option<&Dir>,
    session: &str,
    mark: TranscriptMark,
    kept: &Kept,
) -> Result<Rewound> {
    if kept.cut.session != session || kept.cut.mark != mark {
        return Err(Error::BadFile {
            path: kept.path().to_owned(),
            what: "it keeps the end of another conversation",
        });
    }
    let jsonl = Jsonl::open(sessions_dir, &kept.cut)?;
    if let Some(jsonl) = &jsonl {
        jsonl.check(kept)?;
    }
    let mut jsonl_bytes = 0;
    let messages = database.write(|transaction, schema| {
        check_rows(transaction, kept)?;
        let which = "SELECT id FROM main.messages WHERE session_id = ?1 AND id > ?2";
        let parameters: [&dyn ToSql; 2] = [&session, &mark.message_id];
        search_index::prepare_deletion(transaction, schema, which, &parameters)?;
        let sql = "DELETE FROM main.messages WHERE session_id = ?1 AND id > ?2";
        let cut = transaction.execute(sql, rusqlite::params![session, mark.message_id])?;
        if cut > 0 {
            kept::set_counters(transaction, &kept.cut, &kept.cut.after)?;
        }
        // ORDER: the transcript is cut while the rows can still be undone: if somebody has written
        // to it, nothing is cut. A crash in between is finished by calling again.
        if let Some(jsonl) = &jsonl {
            jsonl_bytes += jsonl.cut()?;
        }
        Ok(cut as u64)
    })?;
    Ok(Rewound { messages, jsonl_bytes })
}

/// Puts back what [`rewind`] cut and keeps in the file `name` of `keep_in`. The file stays; it may be
/// removed when this has succeeded.
pub fn bring_back(
    database: &mut Database,
    sessions_dir: Option<&Dir>,
    keep_in: &Dir,
    name: &str,
) -> Result<Rewound> {
    let Some(kept) = Kept::read(keep_in, name)? else {
        return Err(Error::BadFile { path: keep_in.path().join(name), what: "it is not there" });
    };
    let jsonl = Jsonl::open(sessions_dir, &kept.cut)?;
    if let Some(jsonl) = &jsonl {
        jsonl.check(&kept)?;
    }
    let messages = database.write(|transaction, _| {
        check_rows(transaction, &kept)?;
        let added = kept.insert_missing(transaction)?;
        if added > 0 {
            kept::set_counters(transaction, &kept.cut, &kept.cut.before)?;
        }
        Ok(added)
    })?;
    let jsonl_bytes = match jsonl {
        Some(jsonl) => jsonl.bring_back(&kept)?,
        None => 0,
    };
    Ok(Rewound { messages, jsonl_bytes })
}

/// Writes down what will be cut, before anything is.
fn keep(
    database: &mut Database,
    sessions_dir: Option<&Dir>,
    session: &str,
    mark: TranscriptMark,
    keep_in: &Dir,
    name: &str,
) -> Result<Kept> {
    let length = match sessions_dir {
        Some(dir) => jsonl_length(dir, session)?,
        None => None,
    };
    // A transcript that began after the mark is cut as a whole.
    let from = length.map(|length| (mark.jsonl_bytes.unwrap_or(0), length));
    if from.is_some_and(|(start, length)| start > length) {
        return Err(went_on(session, "its transcript is shorter than it was"));
    }
    // One view of the rows; they are compared again before they are cut.
    let view = database.connection().unchecked_transaction()?;
    check_before(&view, session, mark)?;
    let cut = Cut::describe((&view, database.schema()), session, mark, from)?;
    let tail = sessions_dir.filter(|_| from.is_some());
    // ORDER: what is cut is durable before it is cut.
    Kept::write(&view, &cut, tail, keep_in, name)?;
    drop(view);
    Kept::read(keep_in, name)?
        .ok_or(Error::BadFile { path: keep_in.path().join(name), what: "it does not read back" })
}

fn went_on(session: &str, what: &'static str) -> Error {
    Error::WentOn { session: session.to_owned(), what }
}

/// What came before the mark must be as it was.
fn check_before(transaction: &Transaction<'_>, session: &str, mark: TranscriptMark) -> Result<()> {
    let exists = "SELECT EXISTS (SELECT 1 FROM main.sessions WHERE id = ?1)";
    if !transaction.query_row(exists, [session], |row| row.get(0))? {
        return Err(Error::NotFound(session.to_owned()));
    }
    if count_before(transaction, session, mark)? == mark.messages {
        return Ok(());
    }
    Err(went_on(session, "earlier messages are gone or new"))
}

fn count_before(connection: &Connection, session: &str, mark: TranscriptMark) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM main.messages WHERE session_id = ?1 AND id <= ?2";
    db::count(connection, sql, rusqlite::params![session, mark.message_id])
}

/// After the mark there must be nothing but what was kept.
fn check_rows(transaction: &Transaction<'_>, kept: &Kept) -> Result<()> {
    let Cut { session, mark, .. } = &kept.cut;
    check_before(transaction, session, *mark)?;
    if kept.all_present_are_kept(transaction)? {
        return Ok(());
    }
    Err(went_on(session, "there are messages that were not there"))
}
