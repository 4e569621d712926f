//! Marks: which turn of each session is under way.
//!
//! An agent's hooks are separate processes. The one that hears the prompt notes the turn here; those that
//! hear the tool calls find it. One small file holds the sessions that were last heard of.

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Result};
use serde::{Deserialize, Serialize};

use super::record::{cut_name, cut_prompt};
use crate::read_record;

/// Where they are, in a project's own directory.
pub const FILE: &str = "turns";
const VERSION: u32 = 1;
const MAX_FILE: u64 = 1 << 20;
/// Sessions that were heard of less recently are forgotten.
const MAX_SESSIONS: usize = 100;
/// So many names of a turn are remembered besides its own.
const MAX_OTHER_NAMES: usize = 16;

/// A turn of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The conversation.
    pub session: String,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The turn's name: what the agent calls it, or its number.
    pub turn: String,
    /// What else the agent calls it, since it went on with it by itself; the newest at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// How many turns of this session were marked.
    pub count: u64,
    /// The beginning of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// Is it over?
    #[serde(default)]
    pub over: bool,
    /// How many of Herma's own moves the session was told of; absent if nobody has told it anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<u64>,
}

/// The turns under way, the one heard of last at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    turns: Vec<Turn>,
}

impl Turn {
    /// Does the agent call it so?
    pub fn is_called(&self, name: &str) -> bool {
        self.turn == name || self.also.iter().any(|other| other == name)
    }
}

#[derive(Serialize, Deserialize)]
struct Form {
    version: u32,
    turns: Vec<Turn>,
}

impl Marks {
    /// Reads the marks of a project; missing or damaged ones are none.
    pub fn read(state: &Dir) -> Result<Self> {
        let bytes = read_record(state, FILE, MAX_FILE)?;
        let marks = bytes.and_then(|bytes| Self::parse(&bytes));
        Ok(marks.unwrap_or_default())
    }

    /// The marks in these bytes, if they are any.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let form: Form = serde_json::from_slice(bytes).ok()?;
        (form.version == VERSION).then_some(Self { turns: form.turns })
    }

    /// Writes them. Losing them to a power cut costs the name of a turn.
    pub fn write(&self, tmp: &Dir, state: &Dir) -> Result<()> {
        write_file(tmp, state, FILE, &self.encode(), Durability::Cache)
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let form = Form { version: VERSION, turns: self.turns.clone() };
        serde_json::to_vec(&form).expect("strings and numbers always serialise")
    }

    /// These after older ones of another project.
    #[must_use]
    pub fn after(mut self, mut older: Self) -> Self {
        older.turns.retain(|turn| self.of_session(&turn.session).is_none());
        // Moves are counted anew in each project.
        older.turns.iter_mut().for_each(|turn| turn.told = None);
        self.turns.splice(..0, older.turns);
        self
    }

    /// Those of some sessions, for somewhere else.
    #[must_use]
    pub fn of_sessions(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let wanted = self.turns.iter().filter(|turn| is_wanted(&turn.session));
        Self { turns: wanted.map(|turn| Turn { told: None, ..turn.clone() }).collect() }
    }

    /// The last turn of a session.
    pub fn of_session(&self, session: &str) -> Option<&Turn> {
        let session = cut_name(session);
        self.turns.iter().find(|turn| turn.session == session)
    }

    /// The turn that began last.
    pub fn last(&self) -> Option<&Turn> {
        self.turns.last()
    }

    /// A new turn begins. Without a name it is called by its number.
    pub fn begin(
        &mut self,
        session: &str,
        agent: Option<&str>,
        name: Option<&str>,
        prompt: Option<&str>,
        now: i64,
    ) -> Turn {
        let session = cut_name(session);
        let before = self.turns.iter().position(|turn| turn.session == session);
        let before = before.map(|index| self.turns.remove(index));
        let count = before.as_ref().map_or(1, |turn| turn.count.saturating_add(1));
        let turn = Turn {
            session,
            told: before.as_ref().and_then(|turn| turn.told),
            agent: agent.map(cut_name).or_else(|| before.and_then(|turn| turn.agent)),
            turn: name.map_or_else(|| count.to_string(), cut_name),
            also: Vec::new(),
            count,
            prompt: prompt.map(cut_prompt),
            started: now,
            over: false,
        };
        self.turns.push(turn.clone());
        let surplus = self.turns.len().saturating_sub(MAX_SESSIONS);
        self.turns.drain(..surplus);
        turn
    }

    /// Notes how many moves a session was told of. `false` if it is unknown.
    pub fn note_told(&mut self, session: &str, moves: u64) -> bool {
        let session = cut_name(session);
        let turn = self.turns.iter_mut().find(|turn| turn.session == session);
        turn.map(|turn| turn.told = Some(moves)).is_some()
    }

    /// The agent goes on with the turn of a session by itself, and may call it otherwise now.
    pub fn resume(&mut self, session: &str, name: Option<&str>) -> Option<Turn> {
        let session = cut_name(session);
        let turn = self.turns.iter_mut().find(|turn| turn.session == session)?;
        turn.over = false;
        if let Some(name) = name.map(cut_name).filter(|name| !turn.is_called(name)) {
            turn.also.push(name);
            let surplus = turn.also.len().saturating_sub(MAX_OTHER_NAMES);
            turn.also.drain(..surplus);
        }
        Some(turn.clone())
    }

    /// The turn of a session is over.
    pub fn end(&mut self, session: &str) -> Option<Turn> {
        let session = cut_name(session);
        let turn = self.turns.iter_mut().find(|turn| turn.session == session)?;
        turn.over = true;
        Some(turn.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_processes_agree_on_the_turn() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let mut first = Marks::read(&dir).unwrap();
        first.begin("s", Some("claude"), None, Some("do it"), 5);
        first.write(&dir, &dir).unwrap();
        let mut second = Marks::read(&dir).unwrap();
        assert_eq!(second.of_session("s").unwrap().turn, "1");
        assert_eq!(second.begin("s", None, None, None, 6).turn, "2");
        assert_eq!(second.begin("t", None, Some("t-9"), None, 6).turn, "t-9");
        second.end("s").unwrap();
        second.write(&dir, &dir).unwrap();
        let third = Marks::read(&dir).unwrap();
        let turn = third.of_session("s").unwrap();
        assert_eq!((turn.agent.as_deref(), turn.over), (Some("claude"), true));
        assert_eq!(third.of_session("t").unwrap().turn, "t-9");
    }

    #[test]
    fn a_turn_that_goes_on_keeps_its_name() {
        let mut marks = Marks::default();
        assert_eq!(marks.resume("s", Some("p-2")), None);
        marks.begin("s", None, Some("p-1"), Some("do it"), 5);
        marks.end("s").unwrap();
        let turn = marks.resume("s", Some("p-2")).unwrap();
        assert_eq!((&*turn.turn, turn.prompt.as_deref(), turn.over), ("p-1", Some("do it"), false));
        assert!(turn.is_called("p-1") && turn.is_called("p-2") && !turn.is_called("p-3"));
        for number in 0..50 {
            marks.resume("s", Some(&number.to_string()));
        }
        let turn = marks.resume("s", Some("p-1")).unwrap();
        assert_eq!(turn.also.len(), MAX_OTHER_NAMES);
        assert!(turn.is_called("49") && !turn.is_called("0"));
        assert!(!marks.begin("s", None, Some("p-9"), None, 6).is_called("49"));
    }

    #[test]
    fn only_the_sessions_heard_of_last_are_remembered() {
        let mut marks = Marks::default();
        for number in 0..MAX_SESSIONS + 5 {
            marks.begin(&number.to_string(), None, None, None, 0);
        }
        assert_eq!(marks.turns.len(), MAX_SESSIONS);
        assert!(marks.of_session("4").is_none());
        assert!(marks.of_session("5").is_some());
    }

    #[test]
    fn damaged_marks_are_none() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        for bytes in ["", "{", "{\"version\":2,\"turns\":[]}", "[]"] {
            write_file(&dir, &dir, FILE, bytes.as_bytes(), Durability::Cache).unwrap();
            assert_eq!(Marks::read(&dir).unwrap(), Marks::default());
        }
    }
}
