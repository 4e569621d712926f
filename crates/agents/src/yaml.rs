//! The text of a YAML file, edited by lines: order, comments and layout stay.
//!
//! What lines look like does not say for sure what they mean. So whoever edits reads the text before and after it with
//! [`values`], and refuses an edit that changes anything but what it was to change.

use std::ops::Range;

use herma_yaml::{Rules, Value};
use serde_json::{Map, Value as Data};

/// The last line of what the installers write; it belongs to what it marks.
pub(crate) const END: &str = "# <<< herma";

/// The text line by line, each with its own line end.
#[derive(Debug)]
pub struct Lines {
    pub(crate) lines: Vec<String>,
    line_end: &'static str,
}

impl Lines {
    /// The lines of a text.
    pub fn of(text: &str) -> Self {
        Self {
            lines: text.split_inclusive('\n').map(str::to_owned).collect(),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    /// All of it.
    pub fn text(&self) -> String {
        self.lines.concat()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Does the last line have no end?
    pub fn ends_open(&self) -> bool {
        self.lines.last().is_some_and(|line| !line.ends_with('\n'))
    }

    /// Puts new lines, which come without ends, in the place of others.
    pub fn replace(&mut self, range: Range<usize>, new: impl IntoIterator<Item = String>) {
        let line_end = self.line_end;
        if let Some(before) = self.lines.get_mut(range.start.wrapping_sub(1))
            && !before.ends_with('\n')
        {
            before.push_str(line_end);
        }
        let new = new.into_iter().map(|line| line + line_end);
        self.lines.splice(range, new);
    }

    /// What stands behind `key:` in a line, without the line's end.
    pub fn value_at(&self, at: usize, key: &str) -> Option<&str> {
        let rest = value_after(self.lines.get(at)?.trim_start(), key)?;
        Some(rest.trim_end_matches(['\r', '\n']))
    }

    /// Do these lines hold a comment, or what looks like one?
    pub fn have_comment(&self, range: Range<usize>) -> bool {
        self.lines[range].iter().any(|line| line.contains('#'))
    }

    /// Is this line an indented comment?
    pub fn is_indented_comment(&self, at: usize) -> bool {
        let line = self.lines.get(at).filter(|line| line.starts_with([' ', '\t']));
        line.is_some_and(|line| line.trim_start().starts_with('#'))
    }

    /// The line with this key and indentation.
    pub fn key_at(&self, range: Range<usize>, indent: usize, key: &str) -> Option<usize> {
        range.into_iter().find(|at| {
            let line = &self.lines[*at];
            indent_of(line) == indent && value_after(line.trim_start(), key).is_some()
        })
    }

    /// What the keys of a section are indented by.
    pub fn child_indent(&self, header: usize) -> usize {
        let end = self.block_end(header + 1, 0);
        let first = (header + 1..end).find(|at| !is_blank(&self.lines[*at]));
        first.map_or(2, |first| indent_of(&self.lines[first]))
    }

    /// The end of what belongs to a key indented by `indent`, which stands right before `start`. Blank lines
    /// and comments at the end belong to what follows.
    pub fn block_end(&self, start: usize, indent: usize) -> usize {
        let mut end = start;
        for at in start..self.lines.len() {
            let line = &self.lines[at];
            if is_blank(line) {
                // Our own marks belong to what they mark.
                if line.trim_start().starts_with(END) && indent_of(line) >= indent && end > start {
                    end = at + 1;
                }
                continue;
            }
            let is_item = indent > 0 && indent_of(line) == indent && is_item(line);
            if indent_of(line) <= indent && !is_item {
                break;
            }
            end = at + 1;
        }
        end
    }
}

/// How many spaces a line begins with.
pub fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Does it say nothing?
pub(crate) fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Is it an entry of a list?
pub(crate) fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("- ") || line.trim_end() == "-"
}

/// What follows `key:` at the beginning of a line.
pub(crate) fn value_after<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    let rest = line.strip_prefix(key)?.trim_start_matches(' ').strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])).then_some(rest)
}

/// A YAML configuration as values, to compare before and after an edit. The error says what it is instead.
pub fn values(text: &str) -> Result<Map<String, Data>, String> {
    let rules = Rules { unique_keys: true, ignore_tags: true, ..Rules::default() };
    match herma_yaml::read_by(text, rules) {
        Ok(Value::Null) => Ok(Map::new()),
        Ok(value) => match serde_json::to_value(value) {
            Ok(Data::Object(map)) => Ok(map),
            _ => Err("it does not consist of keys and values".to_owned()),
        },
        Err(error) => Err(format!("it is not readable as YAML: {error}")),
    }
}
