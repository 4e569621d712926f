//! What a caller knows about a task: a new record is made of it, or an old one goes on with it.

use super::moment::Now;
use super::record::{COMPLETED, IN_PROGRESS, Record};
use super::store::SessionId;
use herma_yaml::{Map, Value};

/// How far a task can be.
pub const STATUSES: [&str; 4] = [IN_PROGRESS, COMPLETED, "blocked", "cancelled"];

/// How far a step can be.
pub const STEP_STATUSES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];

/// More of a status nobody knows is not shown.
const SHOWN_STATUS: usize = 40;

/// What is new about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// What is to be done.
    pub task: Option<String>,
    /// How far it is.
    pub status: Option<String>,
    /// The session this one went on from.
    pub parent: Option<String>,
    /// Steps to add.
    pub progress: Vec<Value>,
    /// Facts to add or to replace.
    pub state: Map,
    /// Decisions to add.
    pub decisions: Vec<Value>,
    /// What stands in the way now; `None` leaves it as it was.
    pub blocked: Option<Vec<Value>>,
    /// What is open now; `None` leaves it as it was.
    pub unresolved: Option<Vec<Value>>,
    /// Keys Herma does not know, to be set.
    pub other: Map,
}

/// Why data is no update.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// It is not an object.
    #[error("it is not an object")]
    NotAMap,
    /// A key has a value of the wrong kind.
    #[error("`{key}` must be {expected}")]
    WrongKind {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A status nobody knows.
    #[error("`{key}` is {given:?}; it must be one of {}", allowed.join(", "))]
    UnknownStatus {
        /// The key.
        key: &'static str,
        /// What it says.
        given: String,
        /// What it may say.
        allowed: [&'static str; 4],
    },
}

/// One step, as records have it.
pub fn step(step: &str, status: &str, result: Option<&str>) -> Value {
    let mut map = Map::new();
    map.set("step", step);
    map.set("status", status);
    if let Some(result) = result {
        map.set("result", result);
    }
    Value::Map(map)
}

impl Update {
    /// Reads an object with the keys of a record. What Herma keeps itself (the session and the times) is
    /// not taken from it.
    pub fn from_value(value: Value) -> Result<Self, UpdateError> {
        let Value::Map(mut map) = value else { return Err(UpdateError::NotAMap) };
        for key in ["session_id", "created", "updated"] {
            map.take(key);
        }
        let state = match map.take("state") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Map(state)) => state,
            Some(_) => {
                return Err(UpdateError::WrongKind { key: "state", expected: "an object" });
            }
        };
        let status = take_text(&mut map, "status")?;
        check_status("status", status.as_deref(), STATUSES)?;
        let progress = take_list(&mut map, "progress")?.unwrap_or_default();
        for step in &progress {
            let status = step.as_map().and_then(|step| step.get("status"));
            let status = status.and_then(Value::as_text);
            check_status("status of a step", status, STEP_STATUSES)?;
        }
        Ok(Self {
            task: take_text(&mut map, "task")?,
            status,
            parent: take_text(&mut map, "parent_session_id")?,
            progress,
            state,
            decisions: take_list(&mut map, "decisions")?.unwrap_or_default(),
            blocked: take_list(&mut map, "blocked")?,
            unresolved: take_list(&mut map, "unresolved")?,
            other: map,
        })
    }

    /// Is there nothing in it?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A new record.
    pub fn into_record(self, session: &SessionId, now: &Now) -> Record {
        let mut record = Record::default();
        record.set("session_id", session.as_str());
        record.set("task", "");
        record.set("status", IN_PROGRESS);
        record.set("created", now.iso());
        record.set("state", Value::Map(Map::new()));
        for key in ["progress", "decisions", "blocked", "unresolved"] {
            record.set(key, Value::List(Vec::new()));
        }
        self.apply(&mut record, now);
        record
    }

    /// Goes on with a record: steps and decisions are added, facts merged, the rest replaced if given.
    pub fn apply(self, record: &mut Record, now: &Now) {
        for (key, value) in
            [("task", self.task), ("status", self.status), ("parent_session_id", self.parent)]
        {
            if let Some(value) = value {
                record.set(key, value);
            }
        }
        append(record, "progress", self.progress);
        merge_state(record, &self.state);
        append(record, "decisions", self.decisions);
        for (key, values) in [("blocked", self.blocked), ("unresolved", self.unresolved)] {
            if let Some(values) = values {
                record.set(key, Value::List(values));
            }
        }
        set_all(record, &self.other);
        record.set("updated", now.iso());
    }
}

fn check_status(
    key: &'static str,
    given: Option<&str>,
    allowed: [&'static str; 4],
) -> Result<(), UpdateError> {
    match given {
        Some(given) if !allowed.contains(&given) => Err(UpdateError::UnknownStatus {
            key,
            given: given.chars().take(SHOWN_STATUS).collect(),
            allowed,
        }),
        _ => Ok(()),
    }
}

fn take_text(map: &mut Map, key: &'static str) -> Result<Option<String>, UpdateError> {
    match map.take(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(_) => Err(UpdateError::WrongKind { key, expected: "text" }),
    }
}

fn take_list(map: &mut Map, key: &'static str) -> Result<Option<Vec<Value>>, UpdateError> {
    match map.take(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::List(values)) => Ok(Some(values)),
        Some(_) => Err(UpdateError::WrongKind { key, expected: "a list" }),
    }
}

fn set_all(record: &mut Record, values: &Map) {
    for (key, value) in values.iter() {
        if let Some(key) = key.as_text() {
            record.set(key, value.clone());
        }
    }
}

/// Adds to a list. Something else that stands in its place becomes its first value: nothing is lost.
fn append(record: &mut Record, key: &str, values: Vec<Value>) {
    if values.is_empty() {
        return;
    }
    let mut list = match record.get(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::List(list)) => list.clone(),
        Some(other) => vec![other.clone()],
    };
    list.extend(values);
    record.set(key, Value::List(list));
}

fn merge_state(record: &mut Record, facts: &Map) {
    if facts.is_empty() {
        return;
    }
    let mut state = match record.get("state") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Map(state)) => state.clone(),
        Some(other) => {
            let mut state = Map::new();
            state.set("state", other.clone());
            state
        }
    };
    for (key, value) in facts.iter() {
        state.put(key.clone(), value.clone());
    }
    record.set("state", Value::Map(state));
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use herma_yaml as yaml;

    fn now(seconds: i64) -> Now {
        Now { time: Timestamp::from_second(seconds).unwrap(), zone: TimeZone::UTC }
    }

    fn update(json: &str) -> Update {
        Update::from_value(serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn a_new_record_has_hermes_keys_in_hermes_order() {
        let json = r#"{"state": {"b": 1}, "extra": true, "task": "t", "updated": "never"}"#;
        let session = SessionId::parse("s1").unwrap();
        let record = update(json).into_record(&session, &now(0));
        assert_eq!(
            yaml::write(record.content()),
            "session_id: s1\ntask: t\nstatus: in_progress\ncreated: '1970-01-01T00:00:00'\nupdated: '1970-01-01T00:00:00'\nprogress: []\nstate:\n  b: 1\ndecisions: []\nblocked: []\nunresolved: []\nextra: true\n"
        );
    }

    #[test]
    fn an_update_adds_merges_and_replaces() {
        let session = SessionId::parse("s1").unwrap();
        let first = r#"{"task": "t", "progress": [{"step": "a", "status": "completed"}],
            "state": {"x": 1, "y": 2}, "decisions": ["d"], "blocked": ["b"], "unresolved": ["u"]}"#;
        let mut record = update(first).into_record(&session, &now(0));
        let next = r#"{"progress": [{"step": "b", "status": "pending"}], "state": {"y": 3, "z": 4},
            "decisions": ["e"], "blocked": [], "status": "completed"}"#;
        update(next).apply(&mut record, &now(60));
        assert!(record.is_completed(), "defect 61: completed is reachable");
        assert_eq!(
            serde_json::to_string(record.content()).unwrap(),
            r#"{"session_id":"s1","task":"t","status":"completed","created":"1970-01-01T00:00:00","updated":"1970-01-01T00:01:00","progress":[{"step":"a","status":"completed"},{"step":"b","status":"pending"}],"state":{"x":1,"y":3,"z":4},"decisions":["d","e"],"blocked":[],"unresolved":["u"]}"#
        );
    }

    #[test]
    fn what_has_the_wrong_kind_is_kept_in_a_record_and_refused_in_an_update() {
        let mut record = Record::default();
        record.set("progress", "half of it");
        record.set("state", "fine");
        update(r#"{"progress": ["x"], "state": {"k": "v"}}"#).apply(&mut record, &now(0));
        assert_eq!(record.get("progress"), Some(&Value::texts(["half of it", "x"])));
        let state = record.get("state").and_then(Value::as_map).unwrap();
        assert_eq!(state.get("state"), Some(&"fine".into()));
        for bad in [
            "[]",
            "1",
            r#"{"task": 1}"#,
            r#"{"progress": {}}"#,
            r#"{"state": []}"#,
            r#"{"status": "done"}"#,
            r#"{"progress": [{"step": "a", "status": "done"}]}"#,
        ] {
            let value: Value = serde_json::from_str(bad).unwrap();
            assert!(Update::from_value(value).is_err(), "{bad}");
        }
        assert!(update("{}").is_empty());
    }
}
