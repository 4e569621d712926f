//! Claude Code: `projects/<directory>/<session>.jsonl`.
//!
//! A line for each part of a message, with its own id, that of the line before it, and the session's. Lines without an id
//! are about the session: what was typed last, what it cost, which files can be rewound. Those belong to the old session and
//! stay there; Claude Code's own `--fork-session` leaves them, too. The conversation of a sub-agent is in a file of its own,
//! beside one that says which call started it. A result says whether its call was refused or stopped.

use std::path::PathBuf;

use herma_fs::{Dir, FileKind, IfThere};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::form::{Ends, Form, Found, Ids, Kept};
use crate::records::{Records, rename_field};
use crate::tree::{Node, Said, Tree};
use crate::{Call, CallEnd, Cut, Places};

const TITLE: &str = "Claude Code";

pub(super) static FORM: Form = Form {
    word: "claude",
    title: TITLE,
    ids: Ids::Random,
    find,
    keep,
    rename,
    name: |_, _, new| format!("{new}.jsonl"),
    directories: None,
    resume: &["claude", "--resume", "ID"],
    ends: Some(Ends { find: find_of_call, tells: end_of }),
};

/// No record about a sub-agent is longer.
const MAX_ABOUT: usize = 64 << 10;

fn find(places: Places<'_>, session: &str) -> Result<Found> {
    let projects = places.variable_or("CLAUDE_CONFIG_DIR", ".claude").join("projects");
    let Some(projects) = Dir::open(&projects).if_there()? else { return Ok(None) };
    let name = format!("{session}.jsonl");
    for entry in projects.entries()? {
        let Some(dir) = projects.open_dir(&*entry.name).if_there().ok().flatten() else { continue };
        if dir.stat_opt(name.as_str())?.is_some_and(|stat| stat.kind == FileKind::File) {
            return Ok(Some((dir, name)));
        }
    }
    Ok(None)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'l> {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    turn_origin: Option<String>,
    version: Option<String>,
    cwd: Option<PathBuf>,
    #[serde(borrow)]
    message: Option<Message<'l>>,
}

#[derive(Deserialize)]
struct Message<'l> {
    id: Option<String>,
    #[serde(borrow)]
    content: Option<&'l RawValue>,
}

#[derive(Clone, Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    tool_use_id: Option<String>,
}

fn keep(records: &Records, dir: &Dir, call: Call<'_>, cut: Cut) -> Result<Kept> {
    let (call, cut) = match call.sub_agent {
        None => (call.id.to_owned(), cut),
        // What it did is one call of the conversation, which is cut before that.
        Some(agent) => {
            let cut = if cut == Cut::AfterResult { Cut::BeforeMessage } else { cut };
            (started_by(dir, call.session, agent)?, cut)
        }
    };
    let mut tree = Tree::default();
    let mut directory = None;
    records.for_each(|line, bytes| {
        let unreadable = |_| Error::Unreadable { agent: TITLE, offset: line.offset };
        let entry: Entry<'_> = serde_json::from_slice(bytes).map_err(unreadable)?;
        if entry.is_sidechain {
            return Ok(());
        }
        let Some(id) = entry.uuid.clone() else { return Ok(()) };
        check(&entry)?;
        let parts = parts(&entry).map_err(unreadable)?;
        let of = |kind: &str, id: fn(Part) -> Option<String>| {
            parts.iter().filter(|part| part.kind == kind).cloned().filter_map(id).collect()
        };
        let calls: Vec<String> = of("tool_use", |part| part.id);
        let results: Vec<String> = of("tool_result", |part| part.tool_use_id);
        let said = match &*entry.kind {
            "assistant" => Said::Model,
            "user" if !results.is_empty() || entry.is_untyped() => Said::Program,
            "user" => Said::Prompt,
            _ => Said::Nothing,
        };
        let message = entry.message.and_then(|message| message.id);
        directory = directory.take().or(entry.cwd);
        tree.push(Node { line, id, parent: entry.parent_uuid, said, message, calls, results });
        Ok(())
    })?;
    Ok(Kept { directory, ..tree.keep(TITLE, &call, cut)? })
}

impl Entry<'_> {
    /// Did nobody type this? So it is when a task in the background is over.
    fn is_untyped(&self) -> bool {
        let is_notification = self.turn_origin.as_deref() == Some("task_notification");
        self.is_meta || self.is_compact_summary || is_notification
    }
}

/// Refuses what another version may mean otherwise.
fn check(entry: &Entry<'_>) -> Result<()> {
    let version = entry.version.as_deref().unwrap_or("without a version");
    if !version.starts_with("2.") {
        let version = version.chars().take(40).collect();
        return Err(Error::UnknownVersion { agent: TITLE, version });
    }
    if !matches!(&*entry.kind, "user" | "assistant" | "system" | "attachment" | "progress") {
        let what = entry.kind.chars().take(40).collect();
        return Err(Error::UnknownRecord { agent: TITLE, what });
    }
    Ok(())
}

/// The parts of a message that is more than a text.
fn parts(entry: &Entry<'_>) -> serde_json::Result<Vec<Part>> {
    let content = entry.message.as_ref().and_then(|message| message.content);
    match content.map(RawValue::get).filter(|content| content.starts_with('[')) {
        Some(content) => serde_json::from_str(content),
        None => Ok(Vec::new()),
    }
}

/// The call of the conversation that started a sub-agent.
fn started_by(dir: &Dir, session: &str, agent: &str) -> Result<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct About {
        tool_use_id: String,
    }
    let unknown = || Error::NoCall { agent: TITLE };
    if !agent.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(unknown());
    }
    let own = sub_agents(dir, session)?.ok_or_else(unknown)?;
    let mut bytes = vec![0; MAX_ABOUT];
    let name = format!("agent-{agent}.meta.json");
    let length = own.read_small(name.as_str(), &mut bytes)?.ok_or_else(unknown)?;
    let about: About = serde_json::from_slice(&bytes[..length]).map_err(|_| unknown())?;
    Ok(about.tool_use_id)
}

/// The record that the result of a call is in: of a sub-agent's call, one of its own.
fn find_of_call(places: Places<'_>, call: Call<'_>) -> Result<Found> {
    let Some((dir, name)) = find(places, call.session)? else { return Ok(None) };
    let Some(agent) = call.sub_agent else { return Ok(Some((dir, name))) };
    let is_plain = agent.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let Some(own) = sub_agents(&dir, call.session)?.filter(|_| is_plain) else { return Ok(None) };
    let name = format!("agent-{agent}.jsonl");
    let is_there = own.stat_opt(name.as_str())?.is_some_and(|stat| stat.kind == FileKind::File);
    Ok(is_there.then_some((own, name)))
}

/// Where the conversations of a session's sub-agents are.
fn sub_agents(dir: &Dir, session: &str) -> Result<Option<Dir>> {
    Ok(dir.open_dir(session).and_then(|own| own.open_dir("subagents")).if_there()?)
}

/// A line that may tell how a call ended.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'l> {
    #[serde(rename = "type")]
    kind: String,
    version: Option<String>,
    tool_denial_kind: Option<String>,
    #[serde(default)]
    tool_denial_after_run: bool,
    interrupted_message_id: Option<String>,
    #[serde(borrow)]
    message: Message<'l>,
}

/// The first version whose records were looked at for this.
const TELLS_ENDS: [u32; 3] = [2, 1, 325];

/// A result says why a call did not run. Of one that was refused in a dialog and one that was stopped while it ran it says the same; but
/// the mark that follows it names the message that was stopped, if the model's messages have ids as it knows them.
fn end_of(lines: &mut dyn Iterator<Item = &[u8]>, call: Call<'_>) -> Option<CallEnd> {
    const MARK: &str = "[Request interrupted by user";
    let call = call.id;
    let (mut stopped, mut is_rejected) = (None, false);
    for line in lines {
        let text = std::str::from_utf8(line).unwrap_or_default();
        let is_mark = text.contains(MARK);
        if !is_mark && !text.contains(call) {
            continue;
        }
        let Ok(answer) = serde_json::from_str::<Answer<'_>>(text) else { continue };
        let content = answer.message.content.map_or("", RawValue::get);
        let parts: Vec<Part> = serde_json::from_str(content).unwrap_or_default();
        if is_rejected {
            if answer.kind == "assistant" && parts.iter().any(|part| part.makes(call)) {
                let has_known_id = answer.message.id.is_some_and(|id| id.starts_with("msg_"));
                return has_known_id.then_some(CallEnd::Refused);
            }
            continue;
        }
        match &parts[..] {
            [only] if answer.kind == "user" && only.kind == "text" && is_mark => {
                stopped = Some(answer.interrupted_message_id.is_some());
            }
            [only] if answer.kind == "user" && only.answers(call) => match answer.end() {
                None => {
                    // It may not be written down yet what was stopped, if anything was.
                    if stopped? {
                        return Some(CallEnd::Stopped);
                    }
                    is_rejected = true;
                }
                end => return end,
            },
            _ => {}
        }
    }
    None
}

impl Answer<'_> {
    /// How its call ended; `None` if it was refused or stopped.
    fn end(&self) -> Option<CallEnd> {
        let is_known = self.version.as_deref().is_some_and(tells_ends);
        match self.tool_denial_kind.as_deref() {
            _ if self.tool_denial_after_run || !is_known => Some(CallEnd::Answered),
            Some("permission-rule" | "automode-blocked" | "automode-unavailable") => {
                Some(CallEnd::Refused)
            }
            Some("interrupted") => Some(CallEnd::Stopped),
            Some("user-rejected") => None,
            _ => Some(CallEnd::Answered),
        }
    }
}

impl Part {
    fn makes(&self, call: &str) -> bool {
        self.kind == "tool_use" && self.id.as_deref() == Some(call)
    }

    fn answers(&self, call: &str) -> bool {
        self.kind == "tool_result" && self.tool_use_id.as_deref() == Some(call)
    }
}

/// Does this version write down how calls ended in the way that is known?
fn tells_ends(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    let numbers = [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten);
    let [Some(major), Some(minor), Some(patch)] = numbers else { return false };
    major == TELLS_ENDS[0] && [major, minor, patch] >= TELLS_ENDS
}

/// The session's id stands in a field of its own; what was said stays as it is.
fn rename(line: &[u8], _: &str, new: &str, out: &mut Vec<u8>) -> Result<()> {
    rename_field(line, new, out)
}
