//! A conversation goes back to where it was at a checkpoint, and forward again.
//!
//! A [`TranscriptMark`] says how far a conversation has come. [`rewind`] cuts the messages after it out of
//! the database and the tail off `<id>.jsonl`; what is cut is first written, synced, to a file the caller
//! names ([`kept`]), every column as it was. [`bring_back`] puts exactly that back. Both can be repeated: a
//! crash between the rows and the file is finished by calling the same again, and neither does anything
//! where the conversation went on in between.

mod kept;

use std::fs::File;

use herma_fs::Dir;
use herma_fs::FileKind;
use rusqlite::OptionalExtension;
use rusqlite::Transaction;
use rusqlite::types::ToSql;
use serde::Deserialize;
use serde::Serialize;

use self::kept::Cut;
use self::kept::Kept;
use crate::db::Database;
use crate::db::value;
use crate::error::Error;
use crate::error::Result;
use crate::search_index;

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
    let Some((message_id, messages)) = found.optional()? else {
        return Ok(None);
    };
    let jsonl = sessions_dir.map(|dir| jsonl_length(dir, session));
    Ok(Some(TranscriptMark {
        message_id,
        messages: u64::try_from(messages).unwrap_or(0),
        jsonl_bytes: jsonl.transpose()?.flatten(),
    }))
}

/// Can the conversation be taken back to this mark? Nothing is changed. It cannot if its rows or its
/// transcript were rewritten since, so that the mark points somewhere else.
pub fn check(
    database: &Database,
    sessions_dir: Option<&Dir>,
    session: &str,
    mark: TranscriptMark,
) -> Result<()> {
    let sql = "SELECT COUNT(*) FROM main.messages WHERE session_id = ?1 AND id <= ?2";
    let count = database.connection().query_row(
        sql,
        rusqlite::params![session, mark.message_id],
        |row| Ok(value::integer(row.get_ref(0)?)),
    )?;
    if u64::try_from(count).ok() != Some(mark.messages) {
        return Err(went_on(
            session,
            "messages from before the mark are gone or new",
        ));
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
    let kept = match Kept::read(keep_in, name)? {
        Some(kept) => kept,
        None => keep(database, sessions_dir, session, mark, keep_in, name)?,
    };
    if kept.cut.session != session || kept.cut.mark != mark {
        return Err(Error::BadFile {
            path: keep_in.path().join(name),
            what: "it keeps the end of another conversation",
        });
    }
    let jsonl = Jsonl::open(sessions_dir, &kept.cut)?;
    if let Some(jsonl) = &jsonl {
        jsonl.check(&kept)?;
    }
    let mut jsonl_bytes = 0;
    let messages = database.write(|transaction, schema| {
        check_rows(transaction, &kept)?;
        let which = "SELECT id FROM main.messages WHERE session_id = ?1 AND id > ?2";
        let parameters: [&dyn ToSql; 2] = [&session, &mark.message_id];
        search_index::prepare_deletion(transaction, schema, which, &parameters)?;
        let sql = "DELETE FROM main.messages WHERE session_id = ?1 AND id > ?2";
        let cut = transaction.execute(sql, rusqlite::params![session, mark.message_id])?;
        if cut > 0 {
            kept::set_counters(transaction, &kept.cut, &kept.cut.after)?;
        }
        // ORDER: the transcript is cut while the rows can still be taken back: if somebody has written
        // to it, nothing is cut. A crash in between is finished by calling again.
        if let Some(jsonl) = &jsonl {
            jsonl_bytes += jsonl.cut()?;
        }
        Ok(cut as u64)
    })?;
    Ok(Rewound {
        messages,
        jsonl_bytes,
    })
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
        return Err(Error::BadFile {
            path: keep_in.path().join(name),
            what: "it is not there",
        });
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
    Ok(Rewound {
        messages,
        jsonl_bytes,
    })
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
    let cut = Cut::describe(&view, session, mark, from)?;
    let tail = sessions_dir.filter(|_| from.is_some());
    // ORDER: what is cut is durable before it is cut.
    Kept::write(&view, &cut, tail, keep_in, name)?;
    drop(view);
    Kept::read(keep_in, name)?.ok_or(Error::BadFile {
        path: keep_in.path().join(name),
        what: "it does not read back",
    })
}

fn went_on(session: &str, what: &'static str) -> Error {
    Error::WentOn {
        session: session.to_owned(),
        what,
    }
}

/// What came before the mark must be as it was.
fn check_before(transaction: &Transaction<'_>, session: &str, mark: TranscriptMark) -> Result<()> {
    let exists = "SELECT EXISTS (SELECT 1 FROM main.sessions WHERE id = ?1)";
    if !transaction.query_row(exists, [session], |row| row.get(0))? {
        return Err(Error::NotFound(session.to_owned()));
    }
    let sql = "SELECT COUNT(*) FROM main.messages WHERE session_id = ?1 AND id <= ?2";
    let count: i64 =
        transaction.query_row(sql, rusqlite::params![session, mark.message_id], |row| {
            row.get(0)
        })?;
    if u64::try_from(count).ok() == Some(mark.messages) {
        return Ok(());
    }
    Err(went_on(session, "earlier messages are gone or new"))
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

fn jsonl_name(session: &str) -> Option<String> {
    let is_name = !session.is_empty() && !session.contains(['/', '\0']);
    is_name.then(|| format!("{session}.jsonl"))
}

fn jsonl_length(dir: &Dir, session: &str) -> Result<Option<u64>> {
    let Some(name) = jsonl_name(session).filter(|name| name.len() <= 255) else {
        return Ok(None);
    };
    let stat = dir.stat_opt(name.as_str())?;
    Ok(stat
        .filter(|stat| stat.kind == FileKind::File)
        .map(|stat| stat.size))
}

/// The transcript beside the database, of which a tail was or will be cut.
struct Jsonl<'k> {
    file: File,
    dir: &'k Dir,
    session: &'k str,
    start: u64,
    end: u64,
}

impl<'k> Jsonl<'k> {
    fn open(sessions_dir: Option<&'k Dir>, cut: &'k Cut) -> Result<Option<Self>> {
        let (Some(dir), Some((start, end))) = (sessions_dir, cut.jsonl) else {
            return Ok(None);
        };
        let Some(name) = jsonl_name(&cut.session) else {
            return Ok(None);
        };
        match dir.open_existing(name.as_str()) {
            Ok(file) => Ok(Some(Self {
                file,
                dir,
                session: &cut.session,
                start,
                end,
            })),
            Err(error) if error.is_not_found() => {
                Err(went_on(&cut.session, "its transcript is gone"))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn error(&self, verb: &'static str, source: std::io::Error) -> Error {
        let name = jsonl_name(self.session).unwrap_or_default();
        herma_fs::Error::on(verb, &self.dir.path().join(name), source).into()
    }

    fn length(&self) -> Result<u64> {
        let stat = herma_fs::file::stat_file(&self.file);
        Ok(stat.map_err(|e| self.error("look at", e))?.size)
    }

    /// What follows the mark must be the beginning of what was kept, or all of it.
    fn check(&self, kept: &Kept) -> Result<()> {
        let length = self.length()?;
        if length < self.start || length > self.end {
            return Err(went_on(self.session, "its transcript has another length"));
        }
        let mut at = self.start;
        let mut buffer = Vec::new();
        kept.for_each_piece(|piece| {
            let wanted = piece
                .len()
                .min(usize::try_from(length - at).unwrap_or(usize::MAX));
            buffer.resize(wanted, 0);
            let read = herma_fs::file::read_at(&self.file, &mut buffer, at);
            read.map_err(|e| self.error("read", e))?;
            if buffer != piece[..wanted] {
                return Err(went_on(self.session, "its transcript says something else"));
            }
            at += wanted as u64;
            Ok(())
        })
    }

    fn cut(&self) -> Result<u64> {
        let length = self.length()?;
        if length > self.end {
            return Err(went_on(self.session, "its transcript has another length"));
        }
        self.file
            .set_len(self.start)
            .and_then(|()| self.file.sync_all())
            .map_err(|e| self.error("shorten", e))?;
        Ok(length - self.start)
    }

    fn bring_back(&self, kept: &Kept) -> Result<u64> {
        use std::os::unix::fs::FileExt;
        let length = self.length()?;
        let mut at = self.start;
        kept.for_each_piece(|piece| {
            let written = self.file.write_all_at(piece, at);
            written.map_err(|e| self.error("write", e))?;
            at += piece.len() as u64;
            Ok(())
        })?;
        let synced = self.file.sync_all();
        synced.map_err(|e| self.error("sync", e))?;
        Ok(self.end - length)
    }
}
