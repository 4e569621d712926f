//! What is ours in the lines: put in, and taken out again.

use std::ops::Range;

use serde_json::Value as Data;

use super::config::{HOOKS, TIMEOUT};
use crate::agent::Agent;
use crate::install::HookCommand;
use crate::install::json::quoted;
use crate::yaml::{END, Lines, indent_of, is_blank, is_item, value_after};

/// Around everything we write.
const BEGIN: &str = "# >>> herma";

/// Behind the first mark: the text before had no line end.
pub(super) const LINE_END_ADDED: &str = " (line end added)";
/// Behind the first mark: there was no file.
pub(super) const NEW_FILE: &str = " (new file)";

/// In front of a value that we had to take out of force.
const WAS: &str = "# herma-was: ";

impl Lines {
    /// Is there a mark behind which the document is over? It is one wherever it stands at the margin.
    pub(super) fn has_document_end(&self) -> bool {
        let is_end = |line: &String| {
            let rest = line.strip_prefix("...");
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        self.lines.iter().any(is_end)
    }

    /// Appends a section with everything of ours.
    pub(super) fn append_section(&mut self, command: &HookCommand, mark: &str) {
        let mut new = vec![format!("{BEGIN}{mark}"), "hooks:".to_owned()];
        for event in HOOKS.events() {
            new.extend(event_lines("  ", event, command));
        }
        new.push(END.to_owned());
        self.replace(self.len()..self.len(), new);
    }

    /// Inserts events into a section.
    pub(super) fn insert_events(
        &mut self,
        at: usize,
        indent: usize,
        events: &[&str],
        command: &HookCommand,
    ) {
        let indent = " ".repeat(indent);
        let lines = events.iter().flat_map(|event| event_lines(&indent, event, command));
        self.insert_marked(at, &indent, lines.collect());
    }

    /// Inserts an entry behind the others of the event in line `at`.
    pub(super) fn insert_item(&mut self, at: usize, indent: usize, command: &HookCommand) {
        let end = self.block_end(at + 1, indent);
        let first = (at + 1..end).find(|at| !is_blank(&self.lines[*at]));
        let place = first.map_or(indent + 2, |first| indent_of(&self.lines[first]));
        let place = " ".repeat(place);
        self.insert_marked(end, &place, item_lines(&place, command));
    }

    fn insert_marked(&mut self, at: usize, indent: &str, lines: Vec<String>) {
        let is_open = at == self.len() && self.ends_open();
        let mark = if is_open { LINE_END_ADDED } else { "" };
        let mut new = vec![format!("{indent}{BEGIN}{mark}")];
        new.extend(lines);
        new.push(format!("{indent}{END}"));
        self.replace(at..at, new);
    }

    /// Makes sure that the value of a key can stand on the lines below it: there is none, or an empty one
    /// (`empty`), which becomes a comment.
    pub(super) fn open_up(&mut self, at: usize, key: &str, empty: &str) -> bool {
        let line = &self.lines[at];
        let Some(rest) = value_after(line.trim_start(), key) else { return false };
        let value = rest.trim();
        if value.is_empty() || value.starts_with('#') {
            return true;
        }
        let behind = value.strip_prefix(empty).map(str::trim_start);
        if !behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('#')) {
            return false;
        }
        let place = line.len() - rest.trim_start().len();
        self.lines[at].insert_str(place, WAS);
        true
    }

    /// Takes out everything of ours; tells whether the file was made by us.
    pub(super) fn remove_ours(&mut self) -> bool {
        let mut new_file = false;
        while let Some(range) = self.marked() {
            let begin = self.lines[range.start].clone();
            self.lines.drain(range.clone());
            new_file |= begin.trim_end().ends_with(NEW_FILE);
            if begin.trim_end().ends_with(LINE_END_ADDED) && range.start == self.lines.len() {
                self.open_last_line(&begin);
            }
        }
        for line in &mut self.lines {
            if let Some(at) = line.find(WAS)
                && line[..at].trim_end().ends_with(':')
            {
                line.replace_range(at..at + WAS.len(), "");
            }
        }
        self.remove_unmarked();
        // Ours may have made a line end of what was half of one.
        *self = Self::of(&self.text());
        new_file
    }

    /// Takes the line end away that was added with the line `ours`, and so is the one that has. A text may end
    /// with a `\r` of its own.
    fn open_last_line(&mut self, ours: &str) {
        let ends = if ours.ends_with("\r\n") { ["\r\n", "\n"] } else { ["\n", "\r\n"] };
        if let Some(last) = self.lines.last_mut()
            && let Some(text) = ends.iter().find_map(|end| last.strip_suffix(end))
        {
            last.truncate(text.len());
        }
    }

    /// The last lines that are marked as ours. The last ones go first, so that each step finds the text as it
    /// left it.
    fn marked(&self) -> Option<Range<usize>> {
        let trimmed = |at: &usize| self.lines[*at].trim();
        let begin = (0..self.lines.len()).rev().find(|at| {
            let rest = trimmed(at).strip_prefix(BEGIN);
            rest.is_some_and(|rest| ["", LINE_END_ADDED, NEW_FILE].contains(&rest))
        })?;
        let end = (begin..self.lines.len()).find(|at| trimmed(at) == END)?;
        Some(begin..end + 1)
    }

    /// Takes out entries of ours that lost their marks, with the keys that have nothing left.
    fn remove_unmarked(&mut self) {
        let Some(header) = self.key_at(0..self.len(), 0, "hooks") else { return };
        let indent = self.child_indent(header);
        let mut at = header + 1;
        let mut removed = false;
        while at < self.block_end(header + 1, 0) {
            let end = self.block_end(at + 1, indent);
            let taken = self.remove_items(at + 1..end);
            removed |= taken > 0;
            if taken > 0 && taken == end - at - 1 {
                self.lines.remove(at);
            } else {
                at = end - taken;
            }
        }
        if removed && self.block_end(header + 1, 0) == header + 1 {
            self.lines.remove(header);
        }
    }

    /// Takes our items out of a list; tells how many lines they were.
    fn remove_items(&mut self, range: Range<usize>) -> usize {
        let Some(first) = range.clone().find(|at| is_item(&self.lines[*at])) else { return 0 };
        let indent = indent_of(&self.lines[first]);
        let mut end = range.end;
        let mut taken = 0;
        for at in range.rev() {
            if indent_of(&self.lines[at]) != indent || !is_item(&self.lines[at]) {
                continue;
            }
            let item = self.lines[at..end].concat();
            let items =
                herma_yaml::read(&item).ok().and_then(|item| serde_json::to_value(item).ok());
            let items = items.as_ref().and_then(Data::as_array);
            if items.is_some_and(|items| matches!(&items[..], [only] if is_ours(only))) {
                self.lines.drain(at..end);
                taken += end - at;
            }
            end = at;
        }
        taken
    }
}

/// Is an entry of a list ours?
pub(super) fn is_ours(entry: &Data) -> bool {
    let line = entry.get("command").and_then(Data::as_str);
    line.is_some_and(|line| HookCommand::recognise(line, Agent::Hermes).is_some())
}

fn event_lines(indent: &str, event: &str, command: &HookCommand) -> Vec<String> {
    let mut lines = vec![format!("{indent}{}:", event)];
    lines.extend(item_lines(&format!("{indent}  "), command));
    lines
}

fn item_lines(indent: &str, command: &HookCommand) -> Vec<String> {
    // A text as JSON has it is one as YAML has it in double quotes.
    let line = quoted(&command.line(Agent::Hermes, None));
    vec![format!("{indent}- command: {line}"), format!("{indent}  timeout: {TIMEOUT}")]
}
