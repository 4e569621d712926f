//! Codex CLI: `sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`.
//!
//! What happened in the order in which it happened. The model is sent the `response_item`s; all else says how they came about.
//! Going back is a line too, so the beginning of a record is a whole conversation. The session's id is in many places, always
//! as a value of its own.

use std::path::PathBuf;

use herma_fs::{Dir, FileKind, IfThere};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::form::{Ends, Form, Found, Ids, Kept};
use crate::records::{Line, Records};
use crate::{Call, CallEnd, Cut, Places};

const TITLE: &str = "Codex CLI";

pub(super) static FORM: Form = Form {
    word: "codex",
    title: TITLE,
    ids: Ids::Timed,
    find,
    keep,
    rename,
    name: |name, old, new| name.replace(old, new),
    directories: None,
    resume: &["codex", "resume", "ID"],
    ends: Some(Ends { find: find_of_call, tells: end_of }),
};

fn find(places: Places<'_>, session: &str) -> Result<Found> {
    let sessions = places.variable_or("CODEX_HOME", ".codex").join("sessions");
    let Some(sessions) = Dir::open(&sessions).if_there()? else { return Ok(None) };
    below(sessions, 3, &format!("-{session}.jsonl"))
}

/// The file with this end, so many directories deeper; what is newest is looked at first.
fn below(dir: Dir, levels: usize, end: &str) -> Result<Found> {
    for entry in dir.entries()?.into_iter().rev() {
        if levels == 0 {
            let name = entry.name.to_string_lossy().into_owned();
            let is_it = name.starts_with("rollout-") && name.ends_with(end);
            if is_it && dir.stat(&*entry.name)?.kind == FileKind::File {
                return Ok(Some((dir, name)));
            }
        } else if let Ok(inner) = dir.open_dir(&*entry.name)
            && let Some(found) = below(inner, levels - 1, end)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    payload: Payload,
}

#[derive(Default, Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    call_id: Option<String>,
    turn_id: Option<String>,
    cli_version: Option<String>,
    cwd: Option<PathBuf>,
    item: Option<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// What a line is to somebody who wants to cut before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// A turn begins.
    TurnBegins,
    /// Something the model is told.
    ToModel,
    /// Something it says.
    ByModel,
    /// What was typed, as people see it.
    Typed,
    /// Anything else.
    Nothing,
}

fn keep(records: &Records, _: &Dir, call: Call<'_>, cut: Cut) -> Result<Kept> {
    if call.sub_agent.is_some() {
        return Err(Error::NoCall { agent: TITLE });
    }
    let mut seen = Seen::default();
    records.for_each(|line, bytes| {
        let unreadable = |_| Error::Unreadable { agent: TITLE, offset: line.offset };
        let entry: Entry = serde_json::from_slice(bytes).map_err(unreadable)?;
        check(&entry, seen.lines.is_empty())?;
        seen.add(line, entry, call.id);
        Ok(())
    })?;
    let end = seen.end(cut)?;
    // Before its first turn a session has nothing but its heading.
    let end = if seen.begins[..end].contains(&Said::TurnBegins) { end } else { 0 };
    let count = |lines: &[Said]| {
        let is_message = |said: &&Said| matches!(said, Said::ToModel | Said::ByModel);
        lines.iter().filter(is_message).count() as u64
    };
    Ok(Kept {
        lines: seen.lines[..end].to_vec(),
        messages: count(&seen.begins[..end]),
        all_messages: count(&seen.begins),
        directory: seen.directory,
    })
}

/// Refuses what another version may mean otherwise.
fn check(entry: &Entry, is_first: bool) -> Result<()> {
    if is_first && entry.kind != "session_meta" {
        return Err(Error::Unreadable { agent: TITLE, offset: 0 });
    }
    if entry.kind == "session_meta" {
        let version = entry.payload.cli_version.as_deref().unwrap_or("without a version");
        if !version.starts_with("0.") {
            let version = version.chars().take(40).collect();
            return Err(Error::UnknownVersion { agent: TITLE, version });
        }
    }
    let known = "session_meta turn_context response_item event_msg compacted world_state token_usage_record";
    if !known.split(' ').any(|kind| kind == entry.kind) {
        let what = entry.kind.chars().take(40).collect();
        return Err(Error::UnknownRecord { agent: TITLE, what });
    }
    Ok(())
}

/// What was seen of a record.
#[derive(Default)]
struct Seen {
    lines: Vec<Line>,
    begins: Vec<Said>,
    /// The lines with the call and with its result.
    made: Option<usize>,
    result: Option<usize>,
    /// Calls that have no result yet; as of the result of the one that is asked for.
    open: Vec<String>,
    open_at_result: usize,
    directory: Option<PathBuf>,
}

impl Seen {
    fn add(&mut self, line: Line, entry: Entry, wanted: &str) {
        let Payload { kind, role, call_id, turn_id, cwd, item, .. } = entry.payload;
        let (kind, at) = (kind.unwrap_or_default(), self.lines.len());
        let item = item.and_then(|item| item.kind).unwrap_or_default();
        let said = match (&*entry.kind, &*kind) {
            ("response_item", "message") if role.as_deref() == Some("assistant") => Said::ByModel,
            ("response_item", "message") => Said::ToModel,
            ("response_item", kind) if kind.ends_with("_output") => Said::ToModel,
            ("response_item", _) => Said::ByModel,
            ("event_msg", "task_started" | "turn_started") if turn_id.is_some() => Said::TurnBegins,
            ("event_msg", "user_message") => Said::Typed,
            ("event_msg", "item_completed") if item == "UserMessage" => Said::Typed,
            _ => Said::Nothing,
        };
        if let Some(id) = call_id.filter(|_| entry.kind == "response_item") {
            if said == Said::ByModel {
                self.made = self.made.or_else(|| (id == wanted).then_some(at));
                self.open.push(id);
            } else {
                self.open.retain(|open| *open != id);
                if id == wanted && self.result.is_none() {
                    self.result = Some(at);
                    self.open_at_result = self.open.len();
                }
            }
        }
        self.directory = self.directory.take().or(cwd);
        self.lines.push(line);
        self.begins.push(said);
    }

    /// How many lines stay.
    fn end(&self, cut: Cut) -> Result<usize> {
        let made = self.made.ok_or(Error::NoCall { agent: TITLE })?;
        let last = |wanted: fn(&Said) -> bool| self.begins[..made].iter().rposition(wanted);
        match (cut, self.result) {
            (Cut::BeforePrompt, _) => {
                last(|said| *said == Said::TurnBegins).ok_or(Error::NoPrompt { agent: TITLE })
            }
            (Cut::AfterResult, Some(result)) if self.open_at_result == 0 => Ok(result + 1),
            _ => {
                // What the model said at once began after what it was told last.
                let told = last(|said| matches!(said, Said::ToModel | Said::Typed));
                Ok(told.map_or(0, |told| told + 1))
            }
        }
    }
}

/// What the model is sent stays as it is. Elsewhere the id is replaced where it is a value: a quote within a text has a
/// backslash before it.
fn rename(line: &[u8], old: &str, new: &str, out: &mut Vec<u8>) -> Result<()> {
    let entry: Entry = serde_json::from_slice(line).map_err(|_| Error::Changed)?;
    if entry.kind == "response_item" || entry.kind == "compacted" {
        out.extend_from_slice(line);
        return Ok(());
    }
    let text = std::str::from_utf8(line).map_err(|_| Error::Changed)?;
    out.extend_from_slice(text.replace(&format!("\"{old}\""), &format!("\"{new}\"")).as_bytes());
    Ok(())
}

fn find_of_call(places: Places<'_>, call: Call<'_>) -> Result<Found> {
    if call.sub_agent.is_some() { Ok(None) } else { find(places, call.session) }
}

/// A line that may tell how a call ended.
#[derive(Deserialize)]
struct Told<'l> {
    #[serde(rename = "type")]
    kind: &'l str,
    #[serde(borrow)]
    payload: Output<'l>,
}

#[derive(Deserialize)]
struct Output<'l> {
    #[serde(rename = "type")]
    kind: Option<String>,
    call_id: Option<String>,
    #[serde(borrow, rename = "output")]
    said: Option<&'l RawValue>,
}

/// Of a command that somebody refused and of one that was stopped while it ran the record says the same: that it was aborted,
/// and with it the turn. So it may have done something.
fn end_of(lines: &mut dyn Iterator<Item = &[u8]>, call: Call<'_>) -> Option<CallEnd> {
    let mut is_aborted = false;
    for line in lines {
        let Ok(Told { kind, payload }) = serde_json::from_slice(line) else { continue };
        let of_payload = payload.kind.unwrap_or_default();
        match (kind, &*of_payload) {
            ("event_msg", "turn_aborted") => is_aborted = true,
            // What was aborted was a later turn.
            ("event_msg", "task_started" | "turn_started") => is_aborted = false,
            ("response_item", kind) if kind.ends_with("_output") => {
                if payload.call_id.as_deref() != Some(call.id) {
                    continue;
                }
                let said = payload.said.map_or("", RawValue::get);
                let is_stopped = is_aborted && said.ends_with("aborted by user\"");
                return Some(if is_stopped { CallEnd::Stopped } else { CallEnd::Answered });
            }
            _ => {}
        }
    }
    None
}
