//! Qwen Code: `projects/<directory>/chats/<session>.jsonl`.
//!
//! A line for each message, with its own id and that of the line before it; what the program noted is among them. Hooks give
//! calls ids of their own, so a call is known by what it does and when.

use std::path::PathBuf;

use herma_fs::{Dir, FileKind, IfThere};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::form::{Form, Found, Ids, Kept};
use crate::records::{Records, rename_field};
use crate::tree::{Node, Said, Tree};
use crate::unnamed::{Made, fits, only, seconds};
use crate::{Call, Cut, Places};

const TITLE: &str = "Qwen Code";

pub(super) static FORM: Form = Form {
    word: "qwen",
    title: TITLE,
    ids: Ids::Random,
    find,
    keep,
    rename: |line, _, new, out| rename_field(line, new, out),
    name: |_, _, new| format!("{new}.jsonl"),
    directories: None,
    resume: &["qwen", "--resume", "ID"],
    ends: None,
};

fn find(places: Places<'_>, session: &str) -> Result<Found> {
    let projects = places.home.join(".qwen/projects");
    let Some(projects) = Dir::open(&projects).if_there()? else { return Ok(None) };
    let name = format!("{session}.jsonl");
    for entry in projects.entries()? {
        let chats = projects.open_dir(&*entry.name).and_then(|project| project.open_dir("chats"));
        let Ok(chats) = chats else { continue };
        if chats.stat_opt(name.as_str())?.is_some_and(|stat| stat.kind == FileKind::File) {
            return Ok(Some((chats, name)));
        }
    }
    Ok(None)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'l> {
    #[serde(rename = "type")]
    kind: String,
    uuid: String,
    parent_uuid: Option<String>,
    timestamp: Option<String>,
    version: Option<String>,
    cwd: Option<PathBuf>,
    #[serde(borrow)]
    message: Option<Message<'l>>,
}

#[derive(Deserialize)]
struct Message<'l> {
    #[serde(borrow, default)]
    parts: Vec<Part<'l>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'l> {
    #[serde(borrow)]
    function_call: Option<Function<'l>>,
    #[serde(borrow)]
    function_response: Option<Function<'l>>,
}

#[derive(Deserialize)]
struct Function<'l> {
    id: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'l RawValue>,
}

fn keep(records: &Records, _: &Dir, call: Call<'_>, cut: Cut) -> Result<Kept> {
    if call.sub_agent.is_some() {
        return Err(Error::NoCall { agent: TITLE });
    }
    let mut tree = Tree::default();
    let mut fitting: Vec<Made> = Vec::new();
    let mut directory = None;
    records.for_each(|line, bytes| {
        let unreadable = |_| Error::Unreadable { agent: TITLE, offset: line.offset };
        let entry: Entry<'_> = serde_json::from_slice(bytes).map_err(unreadable)?;
        let said = said(&entry)?;
        let at = entry.timestamp.as_deref().and_then(seconds);
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for part in entry.message.map(|message| message.parts).unwrap_or_default() {
            if let Some(made) = part.function_call {
                if fits(call, &made.name, made.args) {
                    fitting.push(Made { id: made.id.clone(), began: at, ended: None });
                }
                calls.push(made.id);
            }
            if let Some(result) = part.function_response {
                let own = fitting.iter_mut().find(|made| made.id == result.id);
                if let Some(own) = own {
                    own.ended = at;
                }
                results.push(result.id);
            }
        }
        directory = directory.take().or(entry.cwd);
        let (id, parent) = (entry.uuid, entry.parent_uuid);
        tree.push(Node { line, id, parent, said, message: None, calls, results });
        Ok(())
    })?;
    let id = only(TITLE, call, &fitting)?;
    Ok(Kept { directory, ..tree.keep(TITLE, &id, cut)? })
}

/// Who says it; what another version may mean otherwise is refused.
fn said(entry: &Entry<'_>) -> Result<Said> {
    let version = entry.version.as_deref().unwrap_or("without a version");
    if !version.starts_with("0.") {
        let version = version.chars().take(40).collect();
        return Err(Error::UnknownVersion { agent: TITLE, version });
    }
    match &*entry.kind {
        "user" => Ok(Said::Prompt),
        "assistant" => Ok(Said::Model),
        "tool_result" => Ok(Said::Program),
        "system" => Ok(Said::Nothing),
        kind => {
            let what = kind.chars().take(40).collect();
            Err(Error::UnknownRecord { agent: TITLE, what })
        }
    }
}
