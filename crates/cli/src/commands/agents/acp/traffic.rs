//! Which messages of the Agent Client Protocol announce that files may change, and of which project.
//!
//! The editor opens a session in a directory (`session/new`, `session/load`), which stays the directory of that
//! session. From a message only the few fields needed are read; a message that is not understood is none of our
//! business. What the editor sends that cannot be read may be a prompt all the same, if the agent reads it
//! otherwise: then every project is saved that a session is known to work in. Nothing of what is read here is printed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use herma_agents::ToolUse;
use serde_json::value::RawValue;

use super::calls::{Calls, edit_by_editor};

/// More sessions, or open requests, than this are not remembered.
const MAX_REMEMBERED_SESSIONS: usize = 1000;
/// Ids are cut to this many characters, titles and commands to fewer.
const MAX_REQUEST_ID_BYTES: usize = 256;
pub(super) const MAX_TITLE_CHARACTERS: usize = 60;
const MAX_PROMPT_BYTES: usize = 4096;
/// So many projects are saved before a line that cannot be read.
const MAX_PROJECTS_SAVED: usize = 4;

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Editor,
    Agent,
}

/// Something to be noted before a message is passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) session: Option<String>,
    /// Where the session works.
    pub(crate) directory: PathBuf,
    pub(crate) what: What,
}

/// What is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The agent is going to work on a prompt.
    TurnBegins { prompt: Option<String> },
    /// It is done with the prompt.
    TurnEnds,
    /// It wants something that may change files.
    Change { tool: &'static str, reason: String },
    /// A tool call begins, or began. Is it held back until we are ready?
    CallBegins { tool: ToolUse, held: bool },
    /// The call was permitted, or not: its tool has not run before.
    CallAnswered { call: String },
    /// It is over.
    CallEnds { tool: ToolUse },
}

impl What {
    /// Does the other side wait for us?
    pub(crate) fn waits(&self) -> bool {
        matches!(
            self,
            Self::TurnBegins { .. } | Self::Change { .. } | Self::CallBegins { held: true, .. }
        )
    }
}

/// What is known of the conversation so far.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Where the agent was started.
    directory: PathBuf,
    sessions: BTreeMap<String, PathBuf>,
    /// Requests to open a session, by their id as it is written.
    opening: BTreeMap<String, PathBuf>,
    /// Prompts the agent works on, by the id of the request.
    prompts: BTreeMap<String, String>,
    /// The calls of the sessions that work on a prompt.
    calls: BTreeMap<String, Calls>,
    /// What the editor's answers to the agent's requests mean.
    asked: BTreeMap<String, Happening>,
}

/// The fields of an object. If a name is there twice, the last one counts, as it does for everybody.
pub(super) type Fields<'a> = BTreeMap<String, &'a RawValue>;

impl Traffic {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, ..Self::default() }
    }

    /// Reads a line; several messages may be in it. `None`: it cannot be read.
    pub(crate) fn read(&mut self, side: Side, line: &[u8]) -> Option<Vec<Happening>> {
        if line.trim_ascii().is_empty() {
            return Some(Vec::new());
        }
        let text = std::str::from_utf8(line).ok()?;
        if text.trim_start().starts_with('[') {
            let messages = serde_json::from_str::<Vec<Fields<'_>>>(text).ok()?;
            let found = messages.iter().flat_map(|one| self.message(side, one));
            return Some(found.collect());
        }
        let message: Fields<'_> = serde_json::from_str(text).ok()?;
        Some(self.message(side, &message))
    }

    /// What to note before a line of the editor's that cannot be read: it may be a prompt of any session.
    pub(crate) fn unreadable(&self, side: Side) -> Vec<Happening> {
        if side == Side::Agent {
            return Vec::new();
        }
        let mut directories: Vec<_> = self.sessions.values().chain(self.opening.values()).collect();
        directories.sort_unstable();
        directories.dedup();
        if directories.is_empty() {
            directories.push(&self.directory);
        }
        let happening = |directory: &PathBuf| Happening {
            session: None,
            directory: directory.clone(),
            what: What::TurnBegins { prompt: None },
        };
        let saved = directories.into_iter().take(MAX_PROJECTS_SAVED);
        saved.map(happening).collect()
    }

    fn message(&mut self, side: Side, message: &Fields<'_>) -> Vec<Happening> {
        let id = message.get("id").map(|id| id.get());
        let id = id.filter(|id| id.len() <= MAX_REQUEST_ID_BYTES && *id != "null");
        let Some(method) = text_of(message, "method") else {
            let answer = id.and_then(|id| self.answer(side, id, message));
            return answer.into_iter().collect();
        };
        let params = object(message, "params").unwrap_or_default();
        let session = text_of(&params, "sessionId").map(|id| cut(&id, MAX_REQUEST_ID_BYTES));
        match side {
            Side::Editor => self.editor_asks(&method, id, session, &params).into_iter().collect(),
            Side::Agent => self.agent_says(&method, id, session.as_ref(), &params),
        }
    }

    fn agent_says(
        &mut self,
        method: &str,
        id: Option<&str>,
        session: Option<&String>,
        params: &Fields<'_>,
    ) -> Vec<Happening> {
        let calls = session.and_then(|session| self.calls.get_mut(session));
        let (found, answered) = match (method, id, calls) {
            ("session/update", _, Some(calls)) => {
                let update = object(params, "update").unwrap_or_default();
                (calls.told(&update), None)
            }
            ("session/request_permission", Some(_), Some(calls)) => {
                let call = object(params, "toolCall").unwrap_or_default();
                let (found, call) = calls.asked(&call);
                (found, call.map(|call| What::CallAnswered { call }))
            }
            ("fs/write_text_file", Some(id), Some(calls)) if !calls.any_open() => {
                let tool = edit_by_editor(id, text_of(params, "path"));
                let begins = What::CallBegins { tool: tool.clone(), held: true };
                (vec![begins], Some(What::CallEnds { tool }))
            }
            _ => (Vec::new(), None),
        };
        if let (Some(id), Some(what)) = (id, answered) {
            let happening = self.happening(session.cloned(), what);
            remember(&mut self.asked, id, happening);
        }
        let is_held = found.iter().any(What::waits);
        let change = id.filter(|_| !is_held).and_then(|_| change(method, params));
        let all = found.into_iter().chain(change);
        all.map(|what| self.happening(session.cloned(), what)).collect()
    }

    fn editor_asks(
        &mut self,
        method: &str,
        id: Option<&str>,
        session: Option<String>,
        params: &Fields<'_>,
    ) -> Option<Happening> {
        if let Some(directory) = text_of(params, "cwd").map(|cwd| self.directory.join(cwd)) {
            match (&session, id) {
                // A branch of a session gets an id of its own, which the answer tells.
                (Some(session), _) if method != "session/fork" => {
                    remember(&mut self.sessions, session, directory);
                }
                (_, Some(id)) => remember(&mut self.opening, id, directory),
                _ => {}
            }
        }
        let begins = method == "session/prompt" || params.contains_key("prompt");
        if !begins {
            return None;
        }
        if let (Some(id), Some(session)) = (id, &session) {
            remember(&mut self.prompts, id, session.clone());
            remember(&mut self.calls, session, Calls::default());
        }
        let prompt = prompt(params);
        Some(self.happening(session, What::TurnBegins { prompt }))
    }

    /// An answer may say which session was opened, or that a prompt is done with.
    fn answer(&mut self, side: Side, id: &str, message: &Fields<'_>) -> Option<Happening> {
        if side == Side::Editor {
            return self.asked.remove(id);
        }
        if let Some(directory) = self.opening.remove(id) {
            let result = object(message, "result")?;
            let session = cut(&text_of(&result, "sessionId")?, MAX_REQUEST_ID_BYTES);
            remember(&mut self.sessions, &session, directory);
            return None;
        }
        let session = self.prompts.remove(id)?;
        self.calls.remove(&session);
        Some(self.happening(Some(session), What::TurnEnds))
    }

    fn happening(&self, session: Option<String>, what: What) -> Happening {
        let directory = session.as_ref().and_then(|id| self.sessions.get(id));
        Happening { directory: directory.unwrap_or(&self.directory).clone(), session, what }
    }
}

/// Does a request of the agent mean that files may change?
fn change(method: &str, params: &Fields<'_>) -> Option<What> {
    let (tool, detail) = match method {
        "fs/write_text_file" => ("write_text_file", None),
        "terminal/create" => ("terminal", command(params)),
        "session/request_permission" => {
            let call = object(params, "toolCall").unwrap_or_default();
            ("permission", text_of(&call, "title"))
        }
        _ => return None,
    };
    let reason = match detail {
        Some(detail) => format!("before {tool}: {}", cut(&detail, MAX_TITLE_CHARACTERS)),
        None => format!("before {tool}"),
    };
    Some(What::Change { tool, reason })
}

/// The command line of a terminal.
fn command(params: &Fields<'_>) -> Option<String> {
    let program = text_of(params, "command")?;
    let arguments = params.get("args").map(|args| args.get());
    let arguments = arguments.and_then(|args| serde_json::from_str::<Vec<String>>(args).ok());
    let words = [program].into_iter().chain(arguments.unwrap_or_default());
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The first text of a prompt.
fn prompt(params: &Fields<'_>) -> Option<String> {
    let blocks: Vec<&RawValue> = serde_json::from_str(params.get("prompt")?.get()).ok()?;
    blocks.iter().find_map(|block| {
        let block: Fields<'_> = serde_json::from_str(block.get()).ok()?;
        text_of(&block, "text").map(|text| cut(&text, MAX_PROMPT_BYTES))
    })
}

pub(super) fn text_of(fields: &Fields<'_>, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

pub(super) fn object<'a>(fields: &Fields<'a>, name: &str) -> Option<Fields<'a>> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

fn remember<V>(known: &mut BTreeMap<String, V>, id: &str, value: V) {
    if known.len() < MAX_REMEMBERED_SESSIONS || known.contains_key(id) {
        known.insert(id.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic() -> Traffic {
        Traffic::new("/start".into())
    }

    /// What a line announces, and where.
    fn read(traffic: &mut Traffic, side: Side, line: &str) -> Option<(String, What)> {
        let found = traffic.read(side, line.as_bytes()).unwrap_or_default();
        let one = found.into_iter().next()?;
        Some((one.directory.to_string_lossy().into_owned(), one.what))
    }

    fn begins(prompt: Option<&str>) -> What {
        let prompt = prompt.map(ToOwned::to_owned);
        What::TurnBegins { prompt }
    }

    const PROMPT: &str = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"image"},{"type":"text","text":"do it"}]}}"#;

    #[test]
    fn a_session_stays_in_the_directory_it_was_opened_in() {
        let mut traffic = traffic();
        let new = r#"{"id":2,"method":"session/new","params":{"cwd":"/one","mcpServers":[]}}"#;
        assert_eq!(read(&mut traffic, Side::Editor, new), None);
        let opened = r#"{"id":2,"result":{"sessionId":"s1"}}"#;
        assert_eq!(read(&mut traffic, Side::Agent, opened), None);
        let load = r#"{"id":4,"method":"session/load","params":{"cwd":"/two","sessionId":"s2"}}"#;
        assert_eq!(read(&mut traffic, Side::Editor, load), None);
        let expected = Some(("/one".to_owned(), begins(Some("do it"))));
        assert_eq!(read(&mut traffic, Side::Editor, PROMPT), expected);
        let second = PROMPT.replace("s1", "s2").replace("\"id\":3", "\"id\":\"x\"");
        let expected = Some(("/two".to_owned(), begins(Some("do it"))));
        assert_eq!(read(&mut traffic, Side::Editor, &second), expected);
        let done = r#"{"id":"x","result":{"stopReason":"end_turn"}}"#;
        let expected = Some(("/two".to_owned(), What::TurnEnds));
        assert_eq!(read(&mut traffic, Side::Agent, done), expected);
        assert_eq!(read(&mut traffic, Side::Agent, done), None, "only once");
    }

    #[test]
    fn a_session_nobody_opened_works_where_the_agent_was_started() {
        let expected = Some(("/start".to_owned(), begins(Some("do it"))));
        assert_eq!(read(&mut traffic(), Side::Editor, PROMPT), expected);
        let strange = r#"{"method":"session/prompt","params":7}"#;
        let expected = Some(("/start".to_owned(), begins(None)));
        assert_eq!(read(&mut traffic(), Side::Editor, strange), expected);
    }

    #[test]
    fn requests_of_the_agent_that_may_change_files_are_known() {
        let change = |tool, reason: &str| {
            let reason = reason.to_owned();
            Some(("/start".to_owned(), What::Change { tool, reason }))
        };
        for (line, expected) in [
            (
                r#"{"id":1,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":"x"}}"#,
                change("write_text_file", "before write_text_file"),
            ),
            (
                r#"{"id":1,"method":"terminal/create","params":{"command":"rm","args":["-rf","a"]}}"#,
                change("terminal", "before terminal: rm -rf a"),
            ),
            (
                r#"{"id":1,"method":"session/request_permission","params":{"toolCall":{"title":"Edit a"}}}"#,
                change("permission", "before permission: Edit a"),
            ),
            (
                r#"{"id":1,"method":"x","method":"fs\/write_text_file"}"#,
                change("write_text_file", "before write_text_file"),
            ),
            (r#"{"id":1,"method":"fs/read_text_file","params":{}}"#, None),
            (r#"{"method":"session/update","params":{"sessionId":"s"}}"#, None),
            (r#"{"method":"fs/write_text_file","params":{}}"#, None),
            ("not json", None),
            ("", None),
            ("{}", None),
            ("[]", None),
        ] {
            assert_eq!(read(&mut traffic(), Side::Agent, line), expected, "{line}");
            if line.contains("write_text_file") {
                let by_editor = read(&mut traffic(), Side::Editor, line);
                assert_eq!(by_editor, None, "the editor has its own requests");
            }
        }
        let batch = format!("[{PROMPT},{PROMPT}]");
        let found = traffic().read(Side::Editor, batch.as_bytes());
        assert_eq!(found.map(|found| found.len()), Some(2));
    }

    /// Who says what of a call, and what that amounts to.
    fn calls(lines: &[(Side, &str)]) -> Vec<String> {
        let mut traffic = traffic();
        traffic.read(Side::Editor, PROMPT.as_bytes());
        let mut found = Vec::new();
        for (side, line) in lines {
            let text = match side {
                Side::Editor => format!(r#"{{"id":7,"result":{line}}}"#),
                Side::Agent if line.contains("path\":\"w") => format!(
                    r#"{{"id":7,"method":"fs/write_text_file","params":{{"sessionId":"s1",{line}}}}}"#
                ),
                Side::Agent if line.starts_with('?') => format!(
                    r#"{{"id":7,"method":"session/request_permission","params":{{"sessionId":"s1","toolCall":{{{}}}}}}}"#,
                    &line[1..]
                ),
                Side::Agent => format!(
                    r#"{{"method":"session/update","params":{{"sessionId":"s1","update":{{{line}}}}}}}"#
                ),
            };
            for one in traffic.read(*side, text.as_bytes()).unwrap() {
                let waits = if one.what.waits() { "wait " } else { "" };
                found.push(match one.what {
                    What::CallBegins { tool, .. } => {
                        let about = tool.command.unwrap_or_else(|| format!("{:?}", tool.paths));
                        format!("{waits}begin {} {about}", tool.name)
                    }
                    What::CallAnswered { call } => format!("{waits}answer {call}"),
                    What::CallEnds { tool } => format!("{waits}end {:?}", tool.paths),
                    other => format!("{waits}{other:?}").chars().take(11).collect(),
                });
            }
        }
        found
    }

    #[test]
    fn a_call_is_put_together_from_what_is_told_of_it() {
        use Side::{Agent, Editor};
        let found = calls(&[
            (Agent, r#""toolCallId":"a","kind":"edit","status":"pending""#),
            (Agent, r#""toolCallId":"a","locations":[{"path":"/x"}]"#),
            (Agent, r#""toolCallId":"a","status":"in_progress""#),
            (
                Agent,
                r#""toolCallId":"a","status":"completed","content":[{"type":"diff","path":"/y"}]"#,
            ),
            (Agent, r#""toolCallId":"a","status":"completed""#),
        ]);
        let expected = ["begin edit [\"/x\"]", "end [\"/x\", \"/y\"]"];
        assert_eq!(found, expected, "an edit of nothing has not begun");
        let found = calls(&[
            (Agent, r#"?"toolCallId":"a","kind":"execute","title":"`ls`""#),
            (Agent, r#""path":"w""#),
            (Editor, r#"{"outcome":{}}"#),
            (Agent, r#"?"toolCallId":"a","rawInput":{"command":["a","b"]}"#),
            (Editor, "{}"),
            (Agent, r#""toolCallId":"a","status":"failed""#),
        ]);
        let expected =
            ["wait begin execute ls", "wait Change", "answer a", "wait Change", "end []"];
        assert_eq!(found, expected, "what it asks once more, it asks while it runs");
        let found = calls(&[
            (Agent, r#""path":"w""#),
            (Editor, "null"),
            (Agent, r#""toolCallId":"r","kind":"read","status":"completed""#),
            (Agent, r#"?"toolCallId":"t","kind":"think""#),
            (Editor, "{}"),
            (Agent, r#""toolCallId":"o","status":"completed""#),
        ]);
        let expected = [
            "wait begin write_text_file [\"w\"]",
            "end [\"w\"]",
            "wait Change",
            "answer t",
            "begin other []",
            "end []",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_of_the_past_are_none() {
        let mut traffic = traffic();
        let told = r#"{"method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"a","kind":"edit","status":"completed"}}}"#;
        assert_eq!(traffic.read(Side::Agent, told.as_bytes()), Some(vec![]), "a session is loaded");
        traffic.read(Side::Editor, PROMPT.as_bytes());
        assert_eq!(traffic.read(Side::Agent, told.as_bytes()).map(|found| found.len()), Some(2));
        traffic.read(Side::Agent, br#"{"id":3,"result":{}}"#);
        assert_eq!(traffic.read(Side::Agent, told.as_bytes()), Some(vec![]));
    }

    #[test]
    fn a_directory_that_is_not_absolute_is_below_where_the_agent_was_started() {
        let mut traffic = traffic();
        let load = r#"{"id":1,"method":"session/load","params":{"cwd":"sub","sessionId":"s1"}}"#;
        assert_eq!(read(&mut traffic, Side::Editor, load), None);
        let place = read(&mut traffic, Side::Editor, PROMPT).map(|(place, _)| place);
        assert_eq!(place.as_deref(), Some("/start/sub"));
    }

    #[test]
    fn before_a_line_that_cannot_be_read_every_known_project_is_saved() {
        let mut traffic = traffic();
        let places = |traffic: &Traffic| -> Vec<_> {
            let found = traffic.unreadable(Side::Editor).into_iter();
            found.map(|one| one.directory).collect()
        };
        assert_eq!(places(&traffic), [PathBuf::from("/start")]);
        for (session, directory) in [("a", "/two"), ("b", "/one"), ("c", "/one")] {
            let load = format!(
                r#"{{"id":1,"method":"session/load","params":{{"cwd":"{directory}","sessionId":"{session}"}}}}"#
            );
            assert_eq!(traffic.read(Side::Editor, load.as_bytes()), Some(vec![]));
        }
        assert_eq!(places(&traffic), ["/one", "/two"].map(PathBuf::from));
        assert_eq!(traffic.unreadable(Side::Agent), []);
        for line in [&b"{\"id\":NaN}"[..], b"{\"a\":\"\xff\"}", b"[{]", b"not json"] {
            assert_eq!(traffic.read(Side::Editor, line), None, "{line:?}");
        }
        for line in [&b"\r\n"[..], b"{}", b"[]"] {
            assert_eq!(traffic.read(Side::Editor, line), Some(vec![]), "{line:?}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut traffic = traffic();
        for number in 0..3 * MAX_REMEMBERED_SESSIONS {
            let load = format!(
                r#"{{"id":{number},"method":"session/load","params":{{"cwd":"/a","sessionId":"s{number}"}}}}"#
            );
            traffic.read(Side::Editor, load.as_bytes());
            let new =
                format!(r#"{{"id":{number},"method":"session/new","params":{{"cwd":"/a"}}}}"#);
            traffic.read(Side::Editor, new.as_bytes());
            let prompt = PROMPT.replace("\"id\":3", &format!("\"id\":{number}"));
            traffic.read(Side::Editor, prompt.as_bytes());
        }
        assert_eq!(traffic.sessions.len(), MAX_REMEMBERED_SESSIONS);
        assert_eq!(traffic.opening.len(), MAX_REMEMBERED_SESSIONS);
        assert_eq!(traffic.prompts.len(), MAX_REMEMBERED_SESSIONS);
        let deep = "[".repeat(1 << 20);
        assert_eq!(traffic.read(Side::Agent, deep.as_bytes()), None);
    }
}
