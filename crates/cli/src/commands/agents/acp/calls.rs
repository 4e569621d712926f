//! What messages say of the tool calls of an agent, put together.
//!
//! A call is told of in pieces: what kind it is, which files, that it runs, that it is over. It counts as begun with the first
//! piece from which it can be told what it may change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use herma_agents::payload::MAX_ID_BYTES;
use herma_agents::{ToolClass, ToolUse};
use serde_json::value::RawValue;

use super::traffic::{Fields, MAX_TITLE_CHARACTERS, What, cut, object, text_of};

/// So many calls of one session are remembered until its prompt is done with.
const MAX_CALLS: usize = 1000;
const MAX_COMMAND_CHARACTERS: usize = 4096;
const MAX_PATHS: usize = 100;

/// The calls of the prompt that a session works on.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<String, KnownCall>);

#[derive(Debug)]
struct KnownCall {
    tool: ToolUse,
    begun: bool,
    /// Did its tool certainly begin to run?
    runs: bool,
    over: bool,
}

impl Calls {
    /// A notification tells of a call.
    pub(super) fn told(&mut self, call: &Fields<'_>) -> Vec<What> {
        self.piece(call, false)
    }

    /// The agent asks whether a call may run, and waits. Also returns the call, if the answer says when its tool began at the
    /// earliest.
    pub(super) fn asked(&mut self, call: &Fields<'_>) -> (Vec<What>, Option<String>) {
        let found = self.piece(call, true);
        let id = text_of(call, "toolCallId").map(|id| cut(&id, MAX_ID_BYTES));
        let known = id.as_ref().and_then(|id| self.0.get_mut(id));
        let waits = known.is_some_and(|known| !std::mem::replace(&mut known.runs, true));
        (found, id.filter(|_| waits))
    }

    /// Is any under way?
    pub(super) fn any_open(&self) -> bool {
        self.0.values().any(|call| call.begun && !call.over)
    }

    fn piece(&mut self, call: &Fields<'_>, is_asked: bool) -> Vec<What> {
        let Some(id) = text_of(call, "toolCallId") else { return Vec::new() };
        let id = cut(&id, MAX_ID_BYTES);
        if self.0.len() >= MAX_CALLS && !self.0.contains_key(&id) {
            return Vec::new();
        }
        let known = self.0.entry(id).or_insert_with_key(|id| KnownCall::new(id));
        let status = text_of(call, "status").unwrap_or_default();
        known.learn(call);
        known.runs |= status == "in_progress";
        let ends = matches!(&*status, "completed" | "failed");
        let mut found = Vec::new();
        if known.over || !known.tool.class.may_change_files() {
            return found;
        }
        let is_vague = known.tool.class == ToolClass::Edit && known.tool.paths.is_empty();
        if !known.begun && (!is_vague || known.runs || ends || is_asked) {
            known.begun = true;
            found.push(What::CallBegins { tool: known.tool.clone(), held: is_asked });
        }
        if ends {
            known.over = true;
            found.push(What::CallEnds { tool: known.tool.clone() });
        }
        found
    }
}

impl KnownCall {
    fn new(id: &str) -> Self {
        let tool = ToolUse {
            name: "other".to_owned(),
            class: ToolClass::Unknown,
            call: Some(id.to_owned()),
            command: None,
            paths: Vec::new(),
            writes: Vec::new(),
            directory: None,
            in_background: false,
            failed: false,
            exit_code: None,
            duration: None,
        };
        Self { tool, begun: false, runs: false, over: false }
    }

    fn learn(&mut self, call: &Fields<'_>) {
        let tool = &mut self.tool;
        if let Some(kind) = text_of(call, "kind") {
            tool.class = class(&kind);
            tool.name = cut(&kind, MAX_TITLE_CHARACTERS);
        }
        let input = object(call, "rawInput").unwrap_or_default();
        if tool.class == ToolClass::Shell {
            let title = || text_of(call, "title").map(|title| title.trim_matches('`').to_owned());
            let said = command_line(&input).or_else(|| title().filter(|_| tool.command.is_none()));
            tool.command =
                said.map(|line| cut(&line, MAX_COMMAND_CHARACTERS)).or(tool.command.take());
        }
        let in_background = |name| input.get(name).is_some_and(|value| value.get() == "true");
        tool.in_background |= ["run_in_background", "is_background"].into_iter().any(in_background);
        for list in ["locations", "content"] {
            for path in paths(call, list) {
                if tool.paths.len() < MAX_PATHS && !tool.paths.contains(&path) {
                    tool.paths.push(path);
                }
            }
        }
    }
}

/// What a kind of tool may do. One that thinks may let others work, whose calls are told of like its own.
fn class(kind: &str) -> ToolClass {
    match kind {
        "read" | "search" | "think" | "fetch" | "switch_mode" => ToolClass::Read,
        "edit" => ToolClass::Edit,
        "execute" => ToolClass::Shell,
        _ => ToolClass::Unknown,
    }
}

/// The command that the input of a tool has, as one text or as words.
fn command_line(input: &Fields<'_>) -> Option<String> {
    let words = || serde_json::from_str::<Vec<String>>(input.get("command")?.get()).ok();
    text_of(input, "command").or_else(|| Some(words()?.join(" ")))
}

/// The files that a list of locations or of contents names.
fn paths(call: &Fields<'_>, list: &str) -> Vec<PathBuf> {
    let items =
        call.get(list).and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list.get()).ok());
    let path = |item: &RawValue| {
        let fields = serde_json::from_str::<Fields<'_>>(item.get()).ok()?;
        text_of(&fields, "path").map(PathBuf::from)
    };
    items.unwrap_or_default().into_iter().take(MAX_PATHS).filter_map(path).collect()
}

/// The edit of a file that an agent has the editor make, where it tells of no call for it.
pub(super) fn edit_by_editor(request: &str, path: Option<String>) -> ToolUse {
    ToolUse {
        name: "write_text_file".to_owned(),
        class: ToolClass::Edit,
        paths: path.map(PathBuf::from).into_iter().collect(),
        ..KnownCall::new(&format!("request {request}")).tool
    }
}
