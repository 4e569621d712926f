//! Which sessions are meant.
//!
//! The age of a session is its last activity: when it began, when it ended, when its last message came, or
//! what a newer Hermes notes as such, whichever is latest. A time that is no number counts as the future, so
//! that such a session is never taken for an old one.

use rusqlite::types::Value;

use crate::db::Schema;

/// The last activity of a row of `sessions s`.
pub(crate) fn last_active(schema: &Schema) -> String {
    format!(
        "MAX(COALESCE(s.started_at, 0), COALESCE(s.ended_at, 0), COALESCE({}, 0),
         COALESCE((SELECT MAX(m.timestamp) FROM main.messages m WHERE m.session_id = s.id), 0))",
        schema.session_column("last_activity_at")
    )
}

/// The number of messages of a row of `sessions s`.
pub(crate) const MESSAGES: &str =
    "(SELECT COUNT(*) FROM main.messages m WHERE m.session_id = s.id)";

/// Sessions that have ended, or that have not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// Both.
    #[default]
    Either,
    /// Those that have ended.
    Yes,
    /// Those that have not.
    No,
}

/// Sessions an operation has listed in a table of its connection.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Within {
    /// No such table.
    #[default]
    All,
    /// Those in the table `archived`, if they are still as they were then.
    Archived,
    /// Those that are not in the table `gateway`, of sessions that are in use.
    NotInGateway,
}

/// Which sessions are meant; the default means all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Held there.
    pub source: Option<String>,
    /// Not held there.
    pub not_source: Option<String>,
    /// Nothing happened in it at this time or later.
    pub idle_since: Option<f64>,
    /// Something happened in it at this time or later.
    pub active_since: Option<f64>,
    /// The title contains this, in any case.
    pub title: Option<String>,
    /// The name of the model contains this, in any case.
    pub model: Option<String>,
    /// At least as many messages.
    pub min_messages: Option<u64>,
    /// At most as many messages.
    pub max_messages: Option<u64>,
    /// Ended or not.
    pub ended: Ended,
    /// Only those that nobody pinned, which a newer Hermes lets people do.
    pub unpinned: bool,
    /// Only this one.
    pub id: Option<String>,
    /// What an operation of this crate adds.
    #[doc(hidden)]
    pub within: Within,
}

impl Filter {
    /// Exactly this session.
    pub fn one(id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..Self::default() }
    }

    /// The condition on a row of `sessions s`, and its parameters in order.
    pub(crate) fn condition(&self, schema: &Schema) -> (String, Vec<Value>) {
        let last_active = last_active(schema);
        let column = |name| schema.session_column(name);
        let text = |part, wanted: &Option<String>| Some((part, Value::Text(wanted.clone()?)));
        let alike = |name| format!("instr(lower(COALESCE({}, '')), lower(?)) > 0", column(name));
        let messages =
            |sign, wanted: Option<u64>| Some((format!("{MESSAGES} {sign} ?"), number(wanted?)));
        let active = |sign, wanted: Option<f64>| {
            Some((format!("{last_active} {sign} ?"), Value::Real(wanted?)))
        };
        let wanted = [
            text("s.id = ?".to_owned(), &self.id),
            text(format!("{} = ?", column("source")), &self.source),
            text(format!("{} IS NOT ?", column("source")), &self.not_source),
            text(alike("title"), &self.title),
            text(alike("model"), &self.model),
            messages(">=", self.min_messages),
            messages("<=", self.max_messages),
            active("<", self.idle_since),
            active(">=", self.active_since),
        ];
        let (mut parts, values): (Vec<String>, Vec<_>) = wanted.into_iter().flatten().unzip();
        parts.push("1".to_owned());
        match self.within {
            Within::All => {}
            Within::Archived => parts.push(format!(
                "EXISTS (SELECT 1 FROM temp.archived a WHERE a.id = s.id
                 AND a.messages = {MESSAGES} AND a.last_active = {last_active})"
            )),
            Within::NotInGateway => {
                parts.push("s.id NOT IN (SELECT id FROM temp.gateway)".to_owned());
            }
        }
        if self.unpinned {
            parts.push(format!("COALESCE({}, 0) = 0", column("pinned")));
        }
        match self.ended {
            Ended::Either => {}
            Ended::Yes => parts.push("s.ended_at IS NOT NULL".to_owned()),
            Ended::No => parts.push("s.ended_at IS NULL".to_owned()),
        }
        (parts.join(" AND "), values)
    }
}

fn number(count: u64) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}
