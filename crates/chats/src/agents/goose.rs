//! Goose: a database among the user's data.
//!
//! A session has messages; a message has parts, among them calls and results, whose ids are those the hooks tell. What is kept
//! is copied as rows of a new session, in one transaction; no row that is there is changed. A session's id is the day and a
//! number, given as Goose itself does.

use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use serde::Deserialize;

use crate::database::{MAX_MESSAGES, of_sql, open};
use crate::error::{Error, Result};
use crate::{Call, Cut, Places, Written};

/// The word step records know it by.
pub(crate) const WORD: &str = "goose";
pub(crate) const TITLE: &str = "Goose";

/// The version of the schema that was looked at.
const SCHEMA: u32 = 16;
/// What a copy has from the old session: not what it cost, whose it is and whether it was put away.
const COLUMNS: &str = "name, description, user_set_name, session_type, working_dir, created_at, extension_data, recipe_json, \
    user_recipe_values_json, provider_name, model_config_json, goose_mode, project_id";
/// What a copy has from a message.
const MESSAGE: &str =
    "message_id, role, content_json, created_timestamp, timestamp, tokens, metadata_json";

/// A session to be copied, and what of it.
#[derive(Debug)]
pub(crate) struct Planned {
    path: PathBuf,
    session: String,
    /// The rows of the messages that stay.
    rows: Vec<i64>,
    pub(crate) all: u64,
    directory: PathBuf,
}

#[derive(Debug)]
struct Message {
    row: i64,
    /// Its id, which several rows may share.
    id: Option<String>,
    role: String,
    parts: Vec<Part>,
    about: About,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    #[serde(default = "yes")]
    user_visible: bool,
}

const fn yes() -> bool {
    true
}

impl Part {
    fn makes(&self, call: &str) -> bool {
        self.kind == "toolRequest" && self.id.as_deref() == Some(call)
    }

    fn answers(&self, call: &str) -> bool {
        self.is_answer() && self.id.as_deref() == Some(call)
    }

    fn is_answer(&self) -> bool {
        self.kind == "toolResponse"
    }
}

impl Message {
    /// Did a person type it? What Goose adds is not shown to people.
    fn is_prompt(&self) -> bool {
        self.role == "user" && self.about.user_visible && !self.parts.iter().any(Part::is_answer)
    }
}

pub(crate) fn plan(places: Places<'_>, call: Call<'_>, cut: Cut) -> Result<Planned> {
    let data = places.variable_or("XDG_DATA_HOME", ".local/share");
    let path = data.join("goose/sessions/sessions.db");
    let database = open(TITLE, &path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    check(&database)?;
    let sql = "SELECT working_dir FROM main.sessions WHERE id = ?1";
    let directory = database.query_row(sql, [call.session], |row| row.get::<_, String>(0));
    let directory = directory.optional().map_err(of_sql(TITLE))?;
    let directory = directory.ok_or(Error::NoRecord { agent: TITLE })?.into();
    let messages = read(&database, call.session)?;
    let left = keep(&messages, call.id, cut)?;
    let rows = messages[..left].iter().map(|message| message.row).collect();
    let all = messages.len() as u64;
    Ok(Planned { path, session: call.session.to_owned(), rows, all, directory })
}

/// Refuses what another version may mean otherwise.
fn check(database: &Connection) -> Result<()> {
    let sql = "SELECT max(version) FROM main.schema_version";
    let schema: Option<u32> =
        database.query_row(sql, [], |row| row.get(0)).map_err(of_sql(TITLE))?;
    match schema {
        Some(SCHEMA) => Ok(()),
        schema => {
            let version = format!("with schema {}", schema.unwrap_or_default());
            Err(Error::UnknownVersion { agent: TITLE, version })
        }
    }
}

fn read(database: &Connection, session: &str) -> Result<Vec<Message>> {
    let unreadable = |_| Error::UnknownRecord { agent: TITLE, what: "a message".to_owned() };
    let sql = "SELECT id, message_id, role, content_json, metadata_json FROM main.messages
               WHERE session_id = ?1 ORDER BY created_timestamp, id";
    let of_sql = of_sql(TITLE);
    let mut statement = database.prepare(sql).map_err(of_sql)?;
    let mut rows = statement.query([session]).map_err(of_sql)?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next().map_err(of_sql)? {
        if messages.len() >= MAX_MESSAGES {
            return Err(Error::TooLarge("more than 100,000 messages"));
        }
        let parts: String = row.get(3).map_err(of_sql)?;
        let about: Option<String> = row.get(4).map_err(of_sql)?;
        messages.push(Message {
            row: row.get(0).map_err(of_sql)?,
            id: row.get(1).map_err(of_sql)?,
            role: row.get(2).map_err(of_sql)?,
            parts: serde_json::from_str(&parts).map_err(unreadable)?,
            about: serde_json::from_str(about.as_deref().unwrap_or("{}")).map_err(unreadable)?,
        });
    }
    Ok(messages)
}

/// How many messages stay.
fn keep(messages: &[Message], call: &str, cut: Cut) -> Result<usize> {
    let makes = |message: &Message| message.parts.iter().any(|part| part.makes(call));
    let made = messages.iter().position(makes).ok_or(Error::NoCall { agent: TITLE })?;
    // What the model says at once may be several rows with one id.
    let id = &messages[made].id;
    let is_part = |message: &&Message| id.is_some() && message.id == *id;
    let first = made - messages[..made].iter().rev().take_while(is_part).count();
    match cut {
        Cut::BeforePrompt => {
            let prompt = messages[..made].iter().rposition(Message::is_prompt);
            prompt.ok_or(Error::NoPrompt { agent: TITLE })
        }
        Cut::BeforeMessage => Ok(first),
        Cut::AfterResult => {
            let answers = |message: &Message| message.parts.iter().any(|part| part.answers(call));
            let result = messages.iter().position(answers);
            Ok(result.filter(|at| is_all_answered(&messages[..=*at])).map_or(first, |at| at + 1))
        }
    }
}

/// Do the last of these messages answer one call, and has every call an answer?
fn is_all_answered(messages: &[Message]) -> bool {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    let is_answered = |call: &Part| {
        let id = call.id.as_deref().unwrap_or_default();
        parts().any(|part| part.answers(id))
    };
    let last = messages.last().map(|message| message.parts.iter().filter(|part| part.is_answer()));
    let answers_one = last.is_some_and(|answers| answers.count() == 1);
    answers_one && parts().filter(|part| part.kind == "toolRequest").all(is_answered)
}

impl Planned {
    pub(crate) fn kept(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Copies what stays, in one transaction.
    pub(crate) fn write(&self, now_ms: u64) -> Result<Written> {
        let of_sql = of_sql(TITLE);
        let mut database = open(TITLE, &self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(of_sql)?;
        check(&transaction)?;
        let now = i64::try_from(now_ms / 1000).unwrap_or(i64::MAX);
        let sql = "SELECT day || '_' || (1 + coalesce((SELECT max(CAST(substr(id, 10) AS INTEGER)) FROM main.sessions
                       WHERE id GLOB day || '_*'), 0))
                   FROM (SELECT strftime('%Y%m%d', ?1, 'unixepoch') AS day)";
        let new: String = transaction.query_row(sql, [now], |row| row.get(0)).map_err(of_sql)?;
        let sql = format!(
            "INSERT INTO main.sessions (id, updated_at, {COLUMNS})
             SELECT ?2, datetime(?3, 'unixepoch'), {COLUMNS} FROM main.sessions WHERE id = ?1"
        );
        let values = (&self.session, &new, now);
        let mut done = transaction.execute(&sql, values).map_err(of_sql)?;
        let sql = format!(
            "INSERT INTO main.messages (session_id, {MESSAGE})
             SELECT ?3, {MESSAGE} FROM main.messages WHERE id = ?1 AND session_id = ?2"
        );
        for row in &self.rows {
            let values = (row, &self.session, &new);
            done += transaction.execute(&sql, values).map_err(of_sql)?;
        }
        // Dropped, the transaction leaves nothing.
        if done != 1 + self.rows.len() {
            return Err(Error::Changed);
        }
        transaction.commit().map_err(of_sql)?;
        let command = ["goose", "session", "--resume", "--session-id", &new];
        let command = command.map(str::to_owned).to_vec();
        Ok(Written { session: new, command, directory: Some(self.directory.clone()) })
    }
}
