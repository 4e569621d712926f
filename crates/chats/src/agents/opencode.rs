//! OpenCode, and Kilo, a fork of it: a database among the user's data.
//!
//! A session has messages, and these have parts; a call is a part with its result. What is kept is copied as rows with ids of
//! their own, in one transaction; no row that is there is changed. Ids begin with a time that orders them, which copies keep.

use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use serde::Deserialize;

use crate::database::{MAX_MESSAGES, of_sql, open};
use crate::error::{Error, Result};
use crate::form::Ids;
use crate::{Call, Cut, Places, Written};

/// One of those that keep their conversations so.
#[derive(Debug)]
pub(crate) struct Fork {
    /// The word step records know it by, which is its program.
    word: &'static str,
    pub(crate) title: &'static str,
    /// The database among the user's data.
    database: &'static str,
    /// How the versions begin that were looked at.
    versions: &'static str,
    /// The newest change of the schema that was looked at.
    newest: &'static str,
}

static FORKS: [Fork; 2] = [
    Fork {
        word: "opencode",
        title: "OpenCode",
        database: "opencode/opencode.db",
        versions: "1.",
        newest: "20260622202450_simplify_session_input",
    },
    Fork {
        word: "kilo",
        title: "Kilo CLI",
        database: "kilo/kilo.db",
        versions: "7.",
        newest: "20260907102000_kilocode_model_usage_index",
    },
];

/// The one that step records call so.
pub(crate) fn fork_of(word: &str) -> Option<&'static Fork> {
    FORKS.iter().find(|fork| fork.word == word)
}

/// What of an id is the time it was made, with what it is the id of.
const TIMED: usize = 16;
/// What a copy has from the old session: not what it cost, whether it is shared, and what of it was reverted.
const COLUMNS: &str = "project_id, workspace_id, directory, path, title, version, summary_additions, summary_deletions, summary_files, \
    metadata, permission, agent, model, time_created";

/// A session to be copied, and what of it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) fork: &'static Fork,
    path: PathBuf,
    session: String,
    messages: Vec<Message>,
    pub(crate) all: u64,
    directory: PathBuf,
}

#[derive(Debug)]
struct Message {
    id: String,
    /// Its parts that stay.
    parts: Vec<String>,
}

#[derive(Deserialize)]
struct About {
    role: String,
    #[serde(rename = "parentID")]
    parent: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "callID")]
    call: Option<String>,
    state: Option<State>,
}

#[derive(Deserialize)]
struct State {
    status: String,
}

impl Fork {
    fn of_sql(&self) -> impl Fn(rusqlite::Error) -> Error + Copy + use<> {
        of_sql(self.title)
    }
}

pub(crate) fn plan(
    fork: &'static Fork,
    places: Places<'_>,
    call: Call<'_>,
    cut: Cut,
) -> Result<Planned> {
    let data = places.variable_or("XDG_DATA_HOME", ".local/share");
    let path = data.join(fork.database);
    let database = open(fork.title, &path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    check(fork, &database, call.session)?;
    let of_sql = fork.of_sql();
    let directory: String = database
        .query_row("SELECT directory FROM main.session WHERE id = ?1", [call.session], |row| {
            row.get(0)
        })
        .map_err(of_sql)?;
    let mut messages = read(fork, &database, call.session)?;
    let all = messages.len() as u64;
    let left = keep(fork, &mut messages, call.id, cut)?;
    messages.truncate(left);
    let messages = messages.into_iter().map(|(id, _, parts)| {
        let parts = parts.into_iter().map(|(id, _)| id).collect();
        Message { id, parts }
    });
    let (session, directory) = (call.session.to_owned(), directory.into());
    Ok(Planned { fork, path, session, messages: messages.collect(), all, directory })
}

/// Refuses what another version may mean otherwise.
fn check(fork: &Fork, database: &Connection, session: &str) -> Result<()> {
    let (agent, of_sql) = (fork.title, fork.of_sql());
    let version = "SELECT version FROM main.session WHERE id = ?1";
    let version = database.query_row(version, [session], |row| row.get::<_, String>(0)).optional();
    let version = version.map_err(of_sql)?.ok_or(Error::NoRecord { agent })?;
    let newest = "SELECT max(id) FROM main.migration";
    let newest: Option<String> =
        database.query_row(newest, [], |row| row.get(0)).map_err(of_sql)?;
    if version.starts_with(fork.versions) && newest.is_some_and(|newest| *newest <= *fork.newest) {
        return Ok(());
    }
    Err(Error::UnknownVersion { agent, version: version.chars().take(40).collect() })
}

type Read = Vec<(String, About, Vec<(String, Part)>)>;

fn read(fork: &Fork, database: &Connection, session: &str) -> Result<Read> {
    let agent = fork.title;
    let of_sql = fork.of_sql();
    let unreadable = |_| Error::UnknownRecord { agent, what: "a message".to_owned() };
    let rows = |sql: &str, id: &str| -> Result<Vec<(String, String)>> {
        let mut statement = database.prepare_cached(sql).map_err(of_sql)?;
        let rows = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows = rows.map_err(of_sql)?.take(MAX_MESSAGES + 1).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(of_sql)?;
        if rows.len() > MAX_MESSAGES {
            return Err(Error::TooLarge("more than 100,000 messages"));
        }
        Ok(rows)
    };
    let sql = "SELECT id, data FROM main.message WHERE session_id = ?1 ORDER BY time_created, id";
    let parts = "SELECT id, data FROM main.part WHERE message_id = ?1 ORDER BY id";
    let mut read = Vec::new();
    for (id, data) in rows(sql, session)? {
        let about: About = serde_json::from_str(&data).map_err(unreadable)?;
        let mut own = Vec::new();
        for (id, data) in rows(parts, &id)? {
            own.push((id, serde_json::from_str(&data).map_err(unreadable)?));
        }
        read.push((id, about, own));
    }
    Ok(read)
}

/// How many messages stay; of the last one only what led to the result, if it is cut there.
fn keep(fork: &Fork, messages: &mut Read, call: &str, cut: Cut) -> Result<usize> {
    let agent = fork.title;
    let is_it = |part: &(String, Part)| part.1.call.as_deref() == Some(call);
    let made = messages.iter().position(|(_, _, parts)| parts.iter().any(is_it));
    let made = made.ok_or(Error::NoCall { agent })?;
    match cut {
        Cut::BeforeMessage => Ok(made),
        Cut::BeforePrompt => {
            let prompt = messages[made].1.parent.clone();
            let is_prompt = |(id, about, _): &(String, About, _)| {
                about.role == "user" && Some(id) == prompt.as_ref()
            };
            let prompt = messages[..made].iter().position(is_prompt);
            prompt.ok_or(Error::NoPrompt { agent })
        }
        Cut::AfterResult => {
            let parts = &mut messages[made].2;
            let end = parts.iter().position(is_it).map_or(parts.len(), |at| at + 1);
            let is_over = |(_, part): &(String, Part)| {
                let status = part.state.as_ref().map(|state| &*state.status);
                part.kind != "tool" || matches!(status, Some("completed" | "error"))
            };
            if !parts[..end].iter().all(is_over) {
                return Ok(made);
            }
            parts.truncate(end);
            Ok(made + 1)
        }
    }
}

impl Planned {
    pub(crate) fn kept(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Copies what stays, in one transaction.
    pub(crate) fn write(&self, now_ms: u64) -> Result<Written> {
        let mut database = open(self.fork.title, &self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        check(self.fork, &database, &self.session)?;
        let of_sql = self.fork.of_sql();
        let new = copy_id(&self.session)?;
        let mut ids = Vec::new();
        for message in &self.messages {
            ids.push((&message.id, copy_id(&message.id)?));
        }
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(of_sql)?;
        let sql = format!(
            "INSERT INTO main.session (id, slug, time_updated, {COLUMNS})
             SELECT ?2, slug, ?3, {COLUMNS} FROM main.session WHERE id = ?1"
        );
        let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
        let copied = transaction.execute(&sql, (&self.session, &new, now)).map_err(of_sql)?;
        let mut expected = 1;
        let mut done = copied;
        for (message, (old, id)) in self.messages.iter().zip(&ids) {
            // A message names the prompt that it answers.
            let sql = "SELECT data FROM main.message WHERE id = ?1 AND session_id = ?2";
            let data =
                transaction.query_row(sql, (old, &self.session), |row| row.get::<_, String>(0));
            let mut data = data.optional().map_err(of_sql)?.ok_or(Error::Changed)?;
            let about: About = serde_json::from_str(&data).map_err(|_| Error::Changed)?;
            let parent = about
                .parent
                .as_ref()
                .and_then(|parent| ids.iter().rev().find(|(old, _)| *old == parent));
            if let Some((old, new)) = parent {
                data = data.replacen(&format!("\"{old}\""), &format!("\"{new}\""), 1);
            }
            let sql = "INSERT INTO main.message (id, session_id, time_created, time_updated, data)
                       SELECT ?2, ?3, time_created, time_updated, ?4 FROM main.message WHERE id = ?1";
            done += transaction.execute(sql, (old, id, &new, &data)).map_err(of_sql)?;
            expected += 1 + message.parts.len();
            for part in &message.parts {
                let sql = "INSERT INTO main.part (id, message_id, session_id, time_created, time_updated, data)
                           SELECT ?2, ?3, ?4, time_created, time_updated, data FROM main.part
                           WHERE id = ?1 AND message_id = ?5";
                let values = (part, copy_id(part)?, id, &new, old);
                done += transaction.execute(sql, values).map_err(of_sql)?;
            }
        }
        // Dropped, the transaction leaves nothing.
        if done != expected {
            return Err(Error::Changed);
        }
        transaction.commit().map_err(of_sql)?;
        let command = [self.fork.word, "--session", &new].map(str::to_owned).to_vec();
        Ok(Written { session: new, command, directory: Some(self.directory.clone()) })
    }
}

/// An id for a copy: of the same kind and the same time.
fn copy_id(id: &str) -> Result<String> {
    let random: String = Ids::Random.next(0).replace('-', "");
    let timed = id.get(..TIMED).filter(|timed| timed.is_ascii() && id.len() == TIMED + 14);
    let timed = timed.ok_or(Error::StrangeSession)?;
    Ok(format!("{timed}{}", &random[18..]))
}
