//! Gemini CLI: `tmp/<project>/chats/session-<time>-<beginning of the session>.jsonl`.
//!
//! A heading, then messages in the order in which they were made; one that is there again replaces the one before it. Lines
//! with a `$` change what was before them, so the beginning of a record is a whole conversation. Hooks give calls no id, so a
//! call is known by what it does and when.

use herma_fs::{Dir, FileKind, IfThere};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::form::{Form, Found, Ids, Kept};
use crate::records::{Line, Records, rename_field};
use crate::unnamed::{Made, fits, only, seconds};
use crate::{Call, Cut, Places};

const TITLE: &str = "Gemini CLI";
/// So much of a session's id is in the name of its record.
const IN_NAME: usize = 8;

pub(super) static FORM: Form = Form {
    word: "gemini",
    title: TITLE,
    ids: Ids::Random,
    find,
    keep,
    rename: |line, _, new, out| rename_field(line, new, out),
    name: |name, old, new| {
        let end = |session: &str| format!("-{}.jsonl", session.get(..IN_NAME).unwrap_or(session));
        name.replace(&end(old), &end(new))
    },
    directories: None,
    resume: &["gemini", "--resume", "ID"],
    ends: None,
};

fn find(places: Places<'_>, session: &str) -> Result<Found> {
    let home = places.variable_or("GEMINI_CLI_HOME", "");
    let Some(projects) = Dir::open(&home.join(".gemini/tmp")).if_there()? else { return Ok(None) };
    let end = format!("-{}.jsonl", session.get(..IN_NAME).unwrap_or(session));
    for entry in projects.entries()? {
        let chats = projects.open_dir(&*entry.name).and_then(|project| project.open_dir("chats"));
        let Ok(chats) = chats else { continue };
        for entry in chats.entries()? {
            let name = entry.name.to_string_lossy().into_owned();
            let is_named = name.starts_with("session-") && name.ends_with(&end);
            if is_named
                && chats.stat(&*entry.name)?.kind == FileKind::File
                && is_of(&chats, &name, session)?
            {
                return Ok(Some((chats, name)));
            }
        }
    }
    Ok(None)
}

/// Does the heading name this session?
fn is_of(chats: &Dir, name: &str, session: &str) -> Result<bool> {
    let mut heading = None;
    let read = Records::open(chats, name)?.for_each(|_, bytes| {
        let entry: Option<Entry<'_>> = serde_json::from_slice(bytes).ok();
        heading = entry.and_then(|entry| entry.session_id);
        // Nothing but the first line is asked for.
        Err(Error::Changed)
    });
    match read {
        Ok(()) | Err(Error::Changed) => Ok(heading.as_deref() == Some(session)),
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'l> {
    session_id: Option<String>,
    #[serde(rename = "$set", borrow)]
    set: Option<&'l RawValue>,
    #[serde(rename = "$rewindTo", borrow)]
    rewind_to: Option<&'l RawValue>,
    id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    timestamp: Option<String>,
    #[serde(borrow)]
    content: Option<&'l RawValue>,
    #[serde(default, borrow)]
    tool_calls: Vec<ToolCall<'l>>,
}

#[derive(Deserialize)]
struct ToolCall<'l> {
    id: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'l RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    function_response: Option<Response>,
}

#[derive(Deserialize)]
struct Response {
    id: Option<String>,
}

/// A message, or a line that is none.
#[derive(Default)]
struct Said {
    line: Option<Line>,
    /// The message.
    id: Option<String>,
    is_prompt: bool,
    calls: Vec<String>,
    results: Vec<String>,
}

fn keep(records: &Records, _: &Dir, call: Call<'_>, cut: Cut) -> Result<Kept> {
    if call.sub_agent.is_some() {
        return Err(Error::NoCall { agent: TITLE });
    }
    let mut said: Vec<Said> = Vec::new();
    let mut fitting: Vec<Made> = Vec::new();
    records.for_each(|line, bytes| {
        let unreadable = |_| Error::Unreadable { agent: TITLE, offset: line.offset };
        let entry: Entry<'_> = serde_json::from_slice(bytes).map_err(unreadable)?;
        check(&entry, said.is_empty())?;
        let at = entry.timestamp.as_deref().and_then(seconds);
        let parts = entry.content.map(RawValue::get).filter(|content| content.starts_with('['));
        let parts: Vec<Part> = match parts {
            Some(parts) => serde_json::from_str(parts).map_err(unreadable)?,
            None => Vec::new(),
        };
        let results = parts.into_iter().filter_map(|part| part.function_response?.id);
        let results: Vec<String> = results.collect();
        for made in fitting.iter_mut().filter(|made| results.contains(&made.id)) {
            made.ended = at;
        }
        for made in &entry.tool_calls {
            let is_new = fitting.iter().all(|known| known.id != made.id);
            if is_new && fits(call, &made.name, made.args) {
                fitting.push(Made { id: made.id.clone(), began: at, ended: None });
            }
        }
        let calls = entry.tool_calls.into_iter().map(|made| made.id).collect();
        let is_prompt = entry.kind.as_deref() == Some("user") && results.is_empty();
        said.push(Said { line: Some(line), id: entry.id, is_prompt, calls, results });
        Ok(())
    })?;
    let id = only(TITLE, call, &fitting)?;
    let end = end(&said, &id, cut)?;
    let is_message = |said: &&Said| said.id.is_some() && said.calls.is_empty();
    let count = |said: &[Said]| said.iter().filter(is_message).count() as u64;
    Ok(Kept {
        lines: said[..end].iter().filter_map(|said| said.line).collect(),
        messages: count(&said[..end]),
        all_messages: count(&said),
        directory: None,
    })
}

/// How many lines stay.
fn end(said: &[Said], call: &str, cut: Cut) -> Result<usize> {
    let none = Error::NoCall { agent: TITLE };
    let made = said.iter().find(|said| said.calls.iter().any(|one| one == call)).ok_or(none)?;
    // A message is written once without its calls.
    let begins = said.iter().position(|said| said.id == made.id).unwrap_or_default();
    let result = said.iter().position(|said| said.results.iter().any(|one| one == call));
    match (cut, result) {
        (Cut::BeforePrompt, _) => {
            let prompt = said[..begins].iter().rposition(|said| said.is_prompt);
            prompt.ok_or(Error::NoPrompt { agent: TITLE })
        }
        // Results of calls made at once come at once.
        (Cut::AfterResult, Some(result)) if made.calls.len() == 1 => Ok(result + 1),
        _ => Ok(begins),
    }
}

/// Refuses what another version may mean otherwise.
fn check(entry: &Entry<'_>, is_first: bool) -> Result<()> {
    let known = match entry.kind.as_deref() {
        Some(kind) => matches!(kind, "user" | "gemini" | "info" | "error" | "warning"),
        None if is_first => entry.session_id.is_some(),
        None => entry.set.is_some() || entry.rewind_to.is_some(),
    };
    if known {
        return Ok(());
    }
    let what = entry.kind.as_deref().unwrap_or("a line without a type").chars().take(40).collect();
    Err(Error::UnknownRecord { agent: TITLE, what })
}
