//! One record: a map whose known keys have a place and a meaning, and whose others stay as they are.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::moment;
use herma_yaml::{Map, Value};

/// The known keys, in the order in which they are written.
const KEYS: [&str; 11] = [
    "session_id",
    "parent_session_id",
    "task",
    "status",
    "created",
    "updated",
    "progress",
    "state",
    "decisions",
    "blocked",
    "unresolved",
];

/// The status of a task that goes on.
pub const IN_PROGRESS: &str = "in_progress";

/// The status of a task that is done.
pub const COMPLETED: &str = "completed";

/// What a session was doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(Map);

impl Record {
    /// A record with this content.
    pub fn new(content: Map) -> Self {
        Self(content)
    }

    /// Everything in it, in order.
    pub fn content(&self) -> &Map {
        &self.0
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Gives a key a value. A known key that is not there yet gets its place among the others.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        let rank = KEYS.iter().position(|known| *known == key);
        if let (Some(rank), None) = (rank, self.0.place_of(key)) {
            let before = KEYS[..rank].iter().rev();
            let place = before.copied().find_map(|known| self.0.place_of(known));
            self.0.insert_at(place.map_or(0, |at| at + 1), key, value);
        } else {
            self.0.set(key, value);
        }
    }

    /// What is to be done.
    pub fn task(&self) -> Option<&str> {
        self.get("task").and_then(Value::as_text)
    }

    /// How far it is, as a word; a record that does not say is of a task that goes on.
    pub fn status(&self) -> &str {
        let status = self.get("status").and_then(Value::as_text);
        status.unwrap_or(IN_PROGRESS)
    }

    /// Is the task done?
    pub fn is_completed(&self) -> bool {
        self.status() == COMPLETED
    }

    /// When it was last written, if that can be told.
    pub fn updated(&self, zone: &TimeZone) -> Option<Timestamp> {
        moment::read(self.get("updated")?, zone)
    }

    /// The session this one went on from, if the record says so.
    pub fn parent_session_id(&self) -> Option<&str> {
        self.get("parent_session_id").and_then(Value::as_text)
    }

    /// The steps: how many are completed, and how many there are.
    pub fn steps(&self) -> (usize, usize) {
        let steps = self.get("progress").and_then(Value::as_list);
        let steps = steps.unwrap_or_default();
        let is_done = |step: &&Value| {
            let status = step.as_map().and_then(|step| step.get("status"));
            status.and_then(Value::as_text) == Some(COMPLETED)
        };
        (steps.iter().filter(is_done).count(), steps.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_get_their_place_and_unknown_ones_keep_theirs() {
        let mut content = Map::new();
        for key in ["mine", "task", "updated", "also mine"] {
            content.set(key, "x");
        }
        let mut record = Record::new(content);
        for key in ["status", "blocked", "session_id", "task"] {
            record.set(key, "y");
        }
        let keys: Vec<_> = record.content().iter().filter_map(|(key, _)| key.as_text()).collect();
        let expected = ["session_id", "mine", "task", "status", "updated", "blocked", "also mine"];
        assert_eq!(keys, expected);
    }

    #[test]
    fn a_record_that_says_little_is_of_a_task_that_goes_on() {
        let mut record = Record::default();
        assert_eq!((record.status(), record.steps()), (IN_PROGRESS, (0, 0)));
        record.set("status", Value::Bool(true));
        record.set("progress", "not a list");
        assert_eq!((record.status(), record.steps()), (IN_PROGRESS, (0, 0)));
        assert!(!record.is_completed());
    }
}
