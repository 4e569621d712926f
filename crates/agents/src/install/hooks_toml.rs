//! The `[[hooks]]` tables that some agents have in a TOML file: ours put in, taken out, and looked at.
//!
//! ```toml
//! [[hooks]]
//! event = "PreToolUse"
//! command = "…"
//! timeout = 20
//! ```
//!
//! Ours are appended, each with one line end before it, which goes with it: so the text shows what there was before.
//! Agents write their configuration anew now and then, so ours are known by their command and taken out table by table.
//! Whatever is done, the result is read again: it must say the same as before besides ours. What cannot be done for
//! sure is refused.

use std::ops::Range;

use serde_json::{Map, Value as Data};
use toml_edit::{DocumentMut, Item, Value};

use super::command::{FoundCommand, HookCommand};
use super::error::InstallError;
use super::json;
use super::target::{Edited, Found, HookFile};
use crate::agent::Agent;

/// The hooks of one agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HooksToml {
    pub(crate) agent: Agent,
    /// What the agent calls the event of a hook.
    pub(crate) event: &'static str,
    /// The names of the events to be told of.
    pub(crate) events: &'static str,
    /// Must every hook have a name?
    pub(crate) has_names: bool,
}

/// In seconds.
const TIMEOUT: u64 = 20;

const HEADER: &str = "[[hooks]]";

type Values = Map<String, Data>;

fn refuse<T>(why: impl Into<String>) -> Result<T, InstallError> {
    Err(InstallError::Lines(why.into()))
}

impl HookFile for HooksToml {
    fn install(
        &self,
        before: Option<&[u8]>,
        command: &HookCommand,
    ) -> Result<Edited, InstallError> {
        let Some(before) = before else { return Ok(Edited::to(self.fresh(command))) };
        let text = json::text_of(before)?;
        let old = read(text)?;
        if self.is_as_wanted(&old, command) {
            return Ok(Edited::to(text.to_owned()));
        }
        if old.get("hooks").is_some_and(|_| !text.contains(HEADER)) {
            return refuse("its `hooks` are written as one value, to which nothing can be added");
        }
        let rest = self.without_ours_in(text);
        let text = match &rest {
            // It was made by us.
            None => self.fresh(command),
            Some(rest) if rest.trim().is_empty() => rest.clone() + self.fresh(command).trim_end(),
            Some(rest) => format!("{rest}\n{}", self.fresh(command)),
        };
        let new = read(&text)?;
        if !self.is_as_wanted(&new, command) || self.without_ours(&old) != self.without_ours(&new) {
            return Err(InstallError::Unsure);
        }
        Ok(Edited::to(text))
    }

    fn uninstall(&self, before: &[u8]) -> Result<Edited, InstallError> {
        let text = json::text_of(before)?;
        let old = read(text)?;
        if self.commands(&old).is_empty() {
            return Ok(Edited::to(text.to_owned()));
        }
        let Some(text) = self.without_ours_in(text) else { return Ok(Edited::removed()) };
        let new = read(&text)?;
        if !self.commands(&new).is_empty() || self.without_ours(&old) != self.without_ours(&new) {
            return Err(InstallError::Unsure);
        }
        Ok(Edited::to(text))
    }

    fn look(&self, bytes: &[u8]) -> Result<Found, InstallError> {
        let data = read(json::text_of(bytes)?)?;
        Ok(Found::of(self.commands(&data), self.events()))
    }
}

impl HooksToml {
    fn events(&self) -> impl Iterator<Item = &'static str> {
        self.events.split(' ')
    }

    /// A file with nothing but ours.
    fn fresh(&self, command: &HookCommand) -> String {
        let tables: Vec<_> = self.events().map(|event| self.table(event, command)).collect();
        tables.join("\n")
    }

    /// The table of an event.
    fn table(&self, event: &str, command: &HookCommand) -> String {
        let name =
            if self.has_names { format!("name = \"herma-{event}\"\n") } else { String::new() };
        let line = command.line(self.agent, None);
        // What JSON writes is a text of TOML as well, but for one character.
        let line = json::quoted(&line).replace('\u{7f}', "\\u007f");
        let key = self.event;
        format!("{HEADER}\n{name}{key} = \"{event}\"\ncommand = {line}\ntimeout = {TIMEOUT}\n")
    }

    /// The command of a hook, if it is ours.
    fn command(&self, hook: &Data) -> Option<(String, FoundCommand)> {
        let text = |key: &str| hook.get(key).and_then(Data::as_str);
        let found = HookCommand::recognise(text("command")?, self.agent)?;
        Some((text(self.event).unwrap_or_default().to_owned(), found))
    }

    fn commands(&self, data: &Values) -> Vec<(String, FoundCommand)> {
        hooks(data).iter().filter_map(|hook| self.command(hook)).collect()
    }

    fn is_as_wanted(&self, data: &Values, command: &HookCommand) -> bool {
        let ours = hooks(data).iter().filter(|hook| self.command(hook).is_some());
        let wanted = read(&self.fresh(command)).unwrap_or_default();
        ours.eq(hooks(&wanted))
    }

    /// The values without ours.
    fn without_ours(&self, data: &Values) -> Values {
        let mut rest = data.clone();
        if let Some(Data::Array(hooks)) = rest.get_mut("hooks") {
            hooks.retain(|hook| self.command(hook).is_none());
            if hooks.is_empty() {
                rest.remove("hooks");
            }
        }
        rest
    }

    /// The text without ours; `None` if it was made by us and has nothing else.
    fn without_ours_in(&self, text: &str) -> Option<String> {
        let tables = self.tables(text);
        let mut rest = text.to_owned();
        for table in tables.iter().rev() {
            // The one behind it may have taken its line end.
            let end = table.end.min(rest.len());
            let (before, is_last) = (&rest[..table.start], end == rest.len());
            let has_own_line_end = before.ends_with("\n\n") || is_last && before.ends_with('\n');
            let start = table.start - usize::from(has_own_line_end);
            rest.replace_range(start..end, "");
        }
        let first = tables.first().filter(|_| rest.trim().is_empty());
        match first {
            Some(_) if text.ends_with('\n') => None,
            Some(first) => Some(text[..first.start].to_owned()),
            None => Some(rest),
        }
    }

    /// Where ours are: each from its header to its last value.
    fn tables(&self, text: &str) -> Vec<Range<usize>> {
        let mut tables: Vec<Range<usize>> = Vec::new();
        let mut open = false;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let words = line.trim();
            if words == HEADER {
                tables.push(at + line.len() - line.trim_start().len()..end);
                open = true;
            } else if words.is_empty() || words.starts_with(['[', '#']) {
                open = false;
            } else if let Some(last) = tables.last_mut().filter(|_| open) {
                last.end = end;
            }
            at = end;
        }
        tables.retain(|table| {
            read(&text[table.clone()]).is_ok_and(|data| !self.commands(&data).is_empty())
        });
        tables
    }
}

fn hooks(data: &Values) -> &[Data] {
    data.get("hooks").and_then(Data::as_array).map_or(&[], Vec::as_slice)
}

/// The whole file as values.
fn read(text: &str) -> Result<Values, InstallError> {
    let document = text.parse::<DocumentMut>();
    let document = document.map_err(|error| {
        let error = error.to_string();
        InstallError::Lines(error.lines().next().unwrap_or_default().to_owned())
    })?;
    Ok(document.iter().map(|(key, item)| (key.to_owned(), values(item))).collect())
}

/// A value, so that it can be compared. Dates and numbers are their texts.
fn values(item: &Item) -> Data {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(key, item)| (key.to_owned(), values(item))).collect();
    }
    match item {
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter().map(|table| values(&Item::Table(table.clone())));
            tables.collect()
        }
        Item::Value(Value::Array(list)) => {
            list.iter().map(|value| values(&Item::Value(value.clone()))).collect()
        }
        Item::Value(Value::String(text)) => Data::String(text.value().clone()),
        Item::Value(Value::Boolean(flag)) => Data::Bool(*flag.value()),
        Item::Value(Value::Integer(number)) => (*number.value()).into(),
        Item::Value(Value::Float(number)) => Data::String(format!("{:?}", number.value())),
        Item::Value(Value::Datetime(date)) => Data::String(format!("{:?}", date.value())),
        _ => Data::Null,
    }
}
