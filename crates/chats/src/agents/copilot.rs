//! Copilot CLI: `session-state/<session>/events.jsonl`.
//!
//! A line for each thing that happened, with its own id and that of the line before it. The model is sent the messages and the
//! results of calls. Hooks do not tell the ids of calls, so a call is known by what it does and when. A directory with nothing
//! but such a file is a session. Who was asked for permission, and said no, is among the lines.

use std::path::PathBuf;

use herma_fs::{Dir, FileKind, IfThere};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::form::{Ends, Form, Found, Ids, Kept};
use crate::records::Records;
use crate::tree::{Node, Said, Tree};
use crate::unnamed::{Made, fits, only, seconds};
use crate::{Call, CallEnd, Cut, Places};

const TITLE: &str = "Copilot CLI";
const NAME: &str = "events.jsonl";

pub(super) static FORM: Form = Form {
    word: "copilot",
    title: TITLE,
    ids: Ids::Random,
    find,
    keep,
    rename,
    name: |_, _, _| NAME.to_owned(),
    directories: Some(sessions),
    resume: &["copilot", "--resume=ID"],
    ends: Some(Ends { find: |places, call| find(places, call.session), tells: end_of }),
};

fn sessions(places: Places<'_>) -> PathBuf {
    places.variable_or("COPILOT_HOME", ".copilot").join("session-state")
}

fn find(places: Places<'_>, session: &str) -> Result<Found> {
    let own = Dir::open(&sessions(places)).and_then(|all| all.open_dir(session)).if_there()?;
    let Some(own) = own else { return Ok(None) };
    let is_there = own.stat_opt(NAME)?.is_some_and(|stat| stat.kind == FileKind::File);
    Ok(is_there.then(|| (own, NAME.to_owned())))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'l> {
    #[serde(rename = "type")]
    kind: String,
    id: String,
    parent_id: Option<String>,
    timestamp: Option<String>,
    /// The agent of an agent that it is about.
    agent_id: Option<String>,
    #[serde(borrow)]
    data: Data<'l>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'l> {
    version: Option<serde_json::Value>,
    copilot_version: Option<String>,
    message_id: Option<String>,
    tool_call_id: Option<String>,
    context: Option<Context>,
    #[serde(borrow, default)]
    tool_requests: Vec<Request<'l>>,
}

#[derive(Deserialize)]
struct Context {
    cwd: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'l> {
    tool_call_id: String,
    name: String,
    #[serde(borrow)]
    arguments: Option<&'l RawValue>,
}

fn keep(records: &Records, _: &Dir, call: Call<'_>, cut: Cut) -> Result<Kept> {
    let mut tree = Tree::default();
    let mut fitting: Vec<Made> = Vec::new();
    let mut directory = None;
    let mut is_first = true;
    records.for_each(|line, bytes| {
        let unreadable = |_| Error::Unreadable { agent: TITLE, offset: line.offset };
        let entry: Entry<'_> = serde_json::from_slice(bytes).map_err(unreadable)?;
        if std::mem::take(&mut is_first) {
            check(&entry)?;
        }
        let at = entry.timestamp.as_deref().and_then(seconds);
        let is_own = entry.agent_id.is_none();
        let said = match &*entry.kind {
            "user.message" if is_own => Said::Prompt,
            "assistant.message" if is_own => Said::Model,
            "tool.execution_complete" if is_own => Said::Program,
            _ => Said::Nothing,
        };
        let data = entry.data;
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        if said == Said::Model {
            for made in data.tool_requests {
                if fits(call, &made.name, made.arguments) {
                    let id = made.tool_call_id.clone();
                    fitting.push(Made { id, began: at, ended: None });
                }
                calls.push(made.tool_call_id);
            }
        }
        if let Some(id) = data.tool_call_id.filter(|_| said == Said::Program) {
            if let Some(own) = fitting.iter_mut().find(|made| made.id == id) {
                own.ended = at;
            }
            results.push(id);
        }
        directory = directory.take().or(data.context.and_then(|context| context.cwd));
        let message = data.message_id.filter(|_| said == Said::Model);
        let (id, parent) = (entry.id, entry.parent_id);
        tree.push(Node { line, id, parent, said, message, calls, results });
        Ok(())
    })?;
    let id = only(TITLE, call, &fitting)?;
    Ok(Kept { directory, ..tree.keep(TITLE, &id, cut)? })
}

/// Refuses what another version may mean otherwise: a record begins with what wrote it.
fn check(entry: &Entry<'_>) -> Result<()> {
    if entry.kind != "session.start" {
        return Err(Error::Unreadable { agent: TITLE, offset: 0 });
    }
    let version = entry.data.copilot_version.as_deref().unwrap_or("without a version");
    let is_known = entry.data.version == Some(1.into()) && version.starts_with("1.");
    if !is_known {
        let version = version.chars().take(40).collect();
        return Err(Error::UnknownVersion { agent: TITLE, version });
    }
    Ok(())
}

/// The id is replaced where it is a value: a quote within a text has a backslash before it.
fn rename(line: &[u8], old: &str, new: &str, out: &mut Vec<u8>) -> Result<()> {
    let text = std::str::from_utf8(line).map_err(|_| Error::Changed)?;
    out.extend_from_slice(text.replace(&format!("\"{old}\""), &format!("\"{new}\"")).as_bytes());
    Ok(())
}

/// A line that may tell how a call ended.
#[derive(Deserialize)]
struct Told<'l> {
    #[serde(rename = "type")]
    kind: &'l str,
    timestamp: Option<&'l str>,
    #[serde(borrow)]
    data: &'l RawValue,
}

/// What such a line says of the call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldOfCall<'l> {
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'l RawValue>,
    result: Option<Permission>,
}

#[derive(Deserialize)]
struct Permission {
    kind: Option<String>,
}

/// Between two calls that do the same there are more seconds, or they are not told apart.
const APART: i64 = 2;

/// A call that was announced but has no result, and for which permission was asked and not given, was refused. A person who
/// stops the agent where it asks says no, too.
fn end_of(lines: &mut dyn Iterator<Item = &[u8]>, call: Call<'_>) -> Option<CallEnd> {
    let mut answered: Vec<String> = Vec::new();
    let mut permissions: Vec<(String, String)> = Vec::new();
    let mut found: Option<(i64, Option<CallEnd>)> = None;
    for line in lines {
        let Ok(told) = serde_json::from_slice::<Told<'_>>(line) else { continue };
        if !matches!(
            told.kind,
            "permission.completed" | "tool.execution_complete" | "tool.execution_start"
        ) {
            continue;
        }
        let Ok(data) = serde_json::from_str::<ToldOfCall<'_>>(told.data.get()) else { continue };
        let Some(id) = data.tool_call_id else { continue };
        match told.kind {
            "permission.completed" => {
                let kind = data.result.and_then(|result| result.kind);
                permissions.push((id, kind.unwrap_or_default()));
            }
            "tool.execution_complete" => answered.push(id),
            _ => {
                let at = told.timestamp.and_then(seconds)?;
                let is_it = fits(call, &data.tool_name.unwrap_or_default(), data.arguments);
                if !is_it || at > call.began + 1 {
                    continue;
                }
                if let Some((newer, end)) = found {
                    return end.filter(|_| newer - at >= APART);
                }
                let permission = permissions.iter().find(|(asked, _)| *asked == id);
                let is_refused = permission.is_some_and(|(_, kind)| {
                    (kind == "cancelled" || kind.starts_with("denied")) && !answered.contains(&id)
                });
                found = Some((at, is_refused.then_some(CallEnd::Refused)));
            }
        }
    }
    found.and_then(|(_, end)| end)
}
