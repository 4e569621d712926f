//! The `hooks` of Hermes' `config.yaml`: the text is edited by lines, between marks, and the rest stays as it is.
//!
//! ```yaml
//! hooks:
//!   # >>> herma
//!   pre_tool_call:
//!     - command: "/bin/sh -c '…'"
//!       timeout: 20
//!   # <<< herma
//! ```
//!
//! Hermes writes its configuration anew now and then, and drops comments with it. Then ours are known by their
//! command, and taken out item by item. Whatever is done, the result is read again: it must say the same as
//! before besides ours. What cannot be done for sure is refused.

use serde_json::{Map, Value as Data};

use super::lines;
use super::lines::is_ours;
use crate::agent::Agent;
use crate::install::hooks_json::{HooksJson, Shape};
use crate::install::target::HookFile;
use crate::install::{Edited, Found, HookCommand, InstallError, json};
use crate::yaml::Lines;

/// `on_session_end` comes after every turn; the end of the session is `on_session_finalize`.
pub(super) static HOOKS: HooksJson = HooksJson {
    shape: Shape::Flat { name: None },
    events: "on_session_start pre_llm_call pre_tool_call post_tool_call on_session_end on_session_finalize",
    timeout: |_| TIMEOUT,
    ..HooksJson::like_claude(Agent::Hermes)
};

/// In seconds.
pub(super) const TIMEOUT: u64 = 20;

/// The configuration of Hermes.
#[derive(Debug)]
pub(super) struct Config;

fn refuse<T>(why: &str) -> Result<T, InstallError> {
    Err(InstallError::Lines(why.to_owned()))
}

impl HookFile for Config {
    fn install(
        &self,
        before: Option<&[u8]>,
        command: &HookCommand,
    ) -> Result<Edited, InstallError> {
        let Some(before) = before else {
            let mut lines = Lines::of("");
            lines.append_section(command, lines::NEW_FILE);
            return Ok(Edited::to(lines.text()));
        };
        let text = json::text_of(before)?;
        if is_json(text) {
            return HOOKS.install(Some(before), command);
        }
        let old = read(text)?;
        if is_as_wanted(&old, command) {
            return Ok(Edited::to(text.to_owned()));
        }
        let mut lines = Lines::of(text);
        if lines.has_document_end() {
            return refuse("it has a line `...`, which ends it, so that nothing can be added");
        }
        let was_made_by_us = lines.remove_ours() && lines.is_empty();
        if was_made_by_us {
            lines.append_section(command, lines::NEW_FILE);
        } else {
            let rest = read(&lines.text())?;
            insert(&mut lines, &rest, command)?;
        }
        let text = lines.text();
        let new = read(&text)?;
        if !is_as_wanted(&new, command) || without_ours(&old) != without_ours(&new) {
            return Err(InstallError::Unsure);
        }
        Ok(Edited::to(text))
    }

    fn uninstall(&self, before: &[u8]) -> Result<Edited, InstallError> {
        let text = json::text_of(before)?;
        if is_json(text) {
            return HOOKS.uninstall(before);
        }
        let old = read(text)?;
        let mut lines = Lines::of(text);
        let was_made_by_us = lines.remove_ours();
        let text = lines.text();
        let new = read(&text)?;
        if !commands(&new).is_empty() || without_ours(&old) != without_ours(&new) {
            return Err(InstallError::Unsure);
        }
        if was_made_by_us && text.is_empty() {
            return Ok(Edited::removed());
        }
        Ok(Edited::to(text))
    }

    fn look(&self, bytes: &[u8]) -> Result<Found, InstallError> {
        let data = read(json::text_of(bytes)?)?;
        let found = commands(&data);
        let found = found.into_iter().filter_map(|(event, line)| {
            Some((event, HookCommand::recognise(&line, Agent::Hermes)?))
        });
        Ok(Found::of(found.collect(), HOOKS.events()))
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// The whole file as values.
fn read(text: &str) -> Result<Map<String, Data>, InstallError> {
    crate::yaml::values(text).map_err(InstallError::Lines)
}

/// Our command lines by event.
fn commands(data: &Map<String, Data>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let hooks = data.get("hooks").and_then(Data::as_object);
    for (event, entries) in hooks.into_iter().flatten() {
        let entries = entries.as_array().into_iter().flatten();
        for entry in entries.filter(|entry| is_ours(entry)) {
            let line = entry.get("command").and_then(Data::as_str);
            found.push((event.clone(), line.unwrap_or_default().to_owned()));
        }
    }
    found
}

fn is_as_wanted(data: &Map<String, Data>, command: &HookCommand) -> bool {
    let line = command.line(Agent::Hermes, None);
    let mut found = commands(data);
    let wanted = HOOKS.events().map(|event| (event.to_owned(), line.clone()));
    let mut wanted: Vec<_> = wanted.collect();
    found.sort();
    wanted.sort();
    found == wanted
}

/// What the file says besides ours. Lists that hold nothing say nothing.
fn without_ours(data: &Map<String, Data>) -> Map<String, Data> {
    let mut data = data.clone();
    if let Some(Data::Object(hooks)) = data.get_mut("hooks") {
        for entries in hooks.values_mut().filter_map(Data::as_array_mut) {
            entries.retain(|entry| !is_ours(entry));
        }
        let says_something = |entries: &Data| match entries {
            Data::Array(entries) => !entries.is_empty(),
            other => !other.is_null(),
        };
        hooks.retain(|_, entries| says_something(entries));
    }
    let says_nothing = match data.get("hooks") {
        Some(Data::Object(hooks)) => hooks.is_empty(),
        Some(Data::Null) => true,
        _ => false,
    };
    if says_nothing {
        data.remove("hooks");
    }
    data
}

/// Puts ours in, where the text says that the section is, and appends one if there is none.
fn insert(
    lines: &mut Lines,
    data: &Map<String, Data>,
    command: &HookCommand,
) -> Result<(), InstallError> {
    match data.get("hooks") {
        Some(Data::Object(_) | Data::Null) | None => {}
        Some(_) => return Err(InstallError::Shape("`hooks` is no mapping".to_owned())),
    }
    let Some(header) = lines.key_at(0..lines.len(), 0, "hooks") else {
        if data.contains_key("hooks") {
            return refuse(
                "its `hooks` are not written as a section of their own: a line `hooks:`, without quotes",
            );
        }
        let mark = if lines.ends_open() { lines::LINE_END_ADDED } else { "" };
        lines.append_section(command, mark);
        return Ok(());
    };
    if !lines.open_up(header, "hooks", "{}") {
        return refuse(
            "its `hooks` are written on one line; write `hooks:` and each event on lines of their own",
        );
    }
    let indent = lines.child_indent(header);
    let mut absent: Vec<&str> = Vec::new();
    for event in HOOKS.events() {
        let end = lines.block_end(header + 1, 0);
        let Some(at) = lines.key_at(header + 1..end, indent, event) else {
            let hooks = data.get("hooks").and_then(Data::as_object);
            if hooks.is_some_and(|hooks| hooks.contains_key(event)) {
                return refuse(&format!(
                    "`hooks.{event}` is not written as a section of its own: a line `{event}:`, without quotes"
                ));
            }
            absent.push(event);
            continue;
        };
        if !lines.open_up(at, event, "[]") {
            return refuse(&format!(
                "`hooks.{event}` is written on one line; write each of its entries on a line of its own"
            ));
        }
        lines.insert_item(at, indent, command);
    }
    if !absent.is_empty() {
        let end = lines.block_end(header + 1, 0);
        lines.insert_events(end, indent, &absent, command);
    }
    Ok(())
}
