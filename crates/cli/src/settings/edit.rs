//! Changes one value in the text of `config.yaml` and nothing else: order, comments and layout stay.
//!
//! The edit is made on lines, and then checked: read as YAML, the new text must differ from the old one
//! in exactly the value that was asked for. What this cannot do safely it refuses.

use serde_json::Map;
use serde_json::Value as Json;

use super::keys::CHECKPOINTS;
use super::keys::Key;
use super::keys::Value;

/// Why the file is left for the user to edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings file cannot be changed safely: {0}")]
pub(crate) struct CannotEdit(pub(super) String);

fn refuse<T>(why: &str) -> Result<T, CannotEdit> {
    Err(CannotEdit(why.to_owned()))
}

/// The text with `<section>.<key>` set to `value`.
pub(crate) fn set(text: &str, key: &Key, value: &Value) -> Result<String, CannotEdit> {
    let before = read(text)?;
    let mut lines = Lines::of(text);
    match lines.section(key.section) {
        None => lines.append_section(key, value),
        Some(header) => lines.set_in_section(header, key, value, before.get(key.section))?,
    }
    let edited = lines.text();
    let after = read(&edited)?;
    if after == expected(before, key, value) {
        Ok(edited)
    } else {
        refuse("its layout is unusual")
    }
}

/// The whole file as values, to compare before and after.
fn read(text: &str) -> Result<Map<String, Json>, CannotEdit> {
    herma_hosts::install::yaml_values(text).map_err(CannotEdit)
}

/// What the file must say after the edit.
fn expected(mut before: Map<String, Json>, key: &Key, value: &Value) -> Map<String, Json> {
    let mut section = match before.remove(key.section) {
        Some(Json::Object(section)) => section,
        Some(Json::Null) | None => Map::new(),
        Some(enabled) => Map::from_iter([("enabled".to_owned(), enabled)]),
    };
    let json = match value {
        Value::Bool(value) => Json::from(*value),
        Value::Number(value) => Json::from(*value),
        Value::Word(word) => Json::from(*word),
        Value::List(items) => Json::from(items.clone()),
    };
    section.insert(key.name.to_owned(), json);
    before.insert(key.section.to_owned(), Json::Object(section));
    before
}

/// The file line by line, without line ends.
struct Lines {
    lines: Vec<String>,
    line_end: &'static str,
}

impl Lines {
    fn of(text: &str) -> Self {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            line_end,
        }
    }

    fn text(&self) -> String {
        self.lines
            .iter()
            .fold(String::new(), |text, line| text + line + self.line_end)
    }

    /// The line with the section's key.
    fn section(&self, name: &str) -> Option<usize> {
        self.lines
            .iter()
            .position(|line| value_after(line, name).is_some())
    }

    fn append_section(&mut self, key: &Key, value: &Value) {
        self.lines.push(format!("{}:", key.section));
        self.lines.push(format!("  {}: {value}", key.name));
    }

    fn set_in_section(
        &mut self,
        header: usize,
        key: &Key,
        value: &Value,
        present: Option<&Json>,
    ) -> Result<(), CannotEdit> {
        let rest = value_after(&self.lines[header], key.section).unwrap_or_default();
        let (written, comment) = split_comment(rest);
        match (written, present) {
            ("", _) => self.set_in_block(header, key, value),
            (_, Some(Json::Bool(_) | Json::Null | Json::String(_)))
                if key.section == CHECKPOINTS =>
            {
                // The shorthand becomes the section it stands for.
                let mut section = vec![format!("checkpoints:{comment}")];
                if key.name != "enabled" && !present.is_some_and(Json::is_null) {
                    section.push(format!("  enabled: {written}"));
                }
                section.push(format!("  {}: {value}", key.name));
                self.lines.splice(header..=header, section);
                Ok(())
            }
            _ => refuse("the section is written on one line"),
        }
    }

    fn set_in_block(&mut self, header: usize, key: &Key, value: &Value) -> Result<(), CannotEdit> {
        let end = self.block_end(header + 1, 0);
        let first = (header + 1..end).find(|at| !is_blank(&self.lines[*at]));
        let indent = first.map_or(2, |first| indent_of(&self.lines[first]));
        let found = (header + 1..end).find(|at| {
            let line = &self.lines[*at];
            indent_of(line) == indent && value_after(line.trim_start(), key.name).is_some()
        });
        let Some(at) = found else {
            let line = format!("{}{}: {value}", " ".repeat(indent), key.name);
            self.lines.insert(end, line);
            return Ok(());
        };
        let line = &self.lines[at];
        let rest = value_after(line.trim_start(), key.name).unwrap_or_default();
        let (written, comment) = split_comment(rest);
        if written.starts_with(['&', '*', '!', '|', '>']) {
            return refuse("the present value uses anchors, tags or a block of text");
        }
        let value_end = self.block_end(at + 1, indent);
        let continued = &self.lines[at + 1..value_end];
        if continued.iter().any(|line| line.contains('#')) {
            return refuse("there may be comments inside the present value");
        }
        let line = format!("{}{}: {value}{comment}", " ".repeat(indent), key.name);
        self.lines.splice(at..value_end, [line]);
        Ok(())
    }

    /// The end of what belongs to a key indented by `indent`, which stands right before `start`.
    /// Blank lines and comments at the end belong to what follows.
    fn block_end(&self, start: usize, indent: usize) -> usize {
        let mut end = start;
        for at in start..self.lines.len() {
            let line = &self.lines[at];
            if is_blank(line) {
                continue;
            }
            let is_item = indent_of(line) == indent && line.trim_start().starts_with("- ");
            if indent_of(line) <= indent && !is_item {
                break;
            }
            end = at + 1;
        }
        end
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// What stands behind `key:` at the very beginning of the line.
fn value_after<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let rest = line
        .strip_prefix(key)?
        .trim_start_matches(' ')
        .strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

/// The value, and the comment behind it with the space before it.
fn split_comment(rest: &str) -> (&str, &str) {
    let quote = rest
        .trim_start()
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''));
    // In a quoted value `#` is text up to the closing quote; the last one on the line closes it or
    // stands in the comment, and then the check after the edit notices.
    let from = quote.and_then(|quote| rest.rfind(quote)).unwrap_or(0);
    let comment = rest[from..]
        .char_indices()
        .map(|(at, _)| at + from)
        .find(|at| rest[*at..].starts_with('#') && rest[..*at].ends_with([' ', '\t']));
    match comment {
        Some(at) => {
            let value_end = rest[..at].trim_end().len();
            (rest[..value_end].trim_start(), &rest[value_end..])
        }
        None => (rest.trim(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, key: &str, words: &[&str]) -> Result<String, CannotEdit> {
        let key = Key::find(key).unwrap();
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        set(text, key, &key.parse_words(&words).unwrap())
    }

    #[test]
    fn a_value_is_replaced_and_everything_else_stays() {
        let text = "# mine\nmodel: x   # fast\n\ncheckpoints:\n    # how many\n    max_snapshots: 20  # plenty\n    enabled: true\n\n# end\nz: [1,  2]\n";
        let expected = text.replace("max_snapshots: 20", "max_snapshots: 50");
        assert_eq!(edit(text, "max_snapshots", &["50"]), Ok(expected));
    }

    #[test]
    fn a_key_is_added_at_the_end_of_its_section() {
        let text = "checkpoints:\n  enabled: true\n\n# next\nmodel: x\n";
        assert_eq!(
            edit(text, "secrets", &["on"]).unwrap(),
            "checkpoints:\n  enabled: true\n  secrets: true\n\n# next\nmodel: x\n"
        );
        assert_eq!(
            edit("", "secrets", &["no"]).unwrap(),
            "checkpoints:\n  secrets: false\n"
        );
        assert_eq!(
            edit("model: x", "secrets", &["no"]).unwrap(),
            "model: x\ncheckpoints:\n  secrets: false\n"
        );
        assert_eq!(
            edit("checkpoints:\nmodel: x\n", "secrets", &["no"]).unwrap(),
            "checkpoints:\n  secrets: false\nmodel: x\n"
        );
    }

    #[test]
    fn the_shorthand_grows_into_a_section() {
        assert_eq!(
            edit("checkpoints: true # on\nb: 1\n", "max_snapshots", &["5"]).unwrap(),
            "checkpoints: # on\n  enabled: true\n  max_snapshots: 5\nb: 1\n"
        );
        assert_eq!(
            edit("checkpoints: true\n", "enabled", &["false"]).unwrap(),
            "checkpoints:\n  enabled: false\n"
        );
    }

    #[test]
    fn lists_are_replaced_as_a_whole() {
        let text = "checkpoints:\n  exclude:\n  - a\n  - b\n  secrets: true\n";
        assert_eq!(
            edit(text, "exclude", &["*.bin", "x #y"]).unwrap(),
            "checkpoints:\n  exclude: [\"*.bin\", \"x #y\"]\n  secrets: true\n"
        );
        assert_eq!(
            edit(text, "exclude", &[]).unwrap(),
            "checkpoints:\n  exclude: []\n  secrets: true\n"
        );
    }

    #[test]
    fn windows_line_ends_stay() {
        assert_eq!(
            edit("checkpoints:\r\n  enabled: true\r\n", "enabled", &["false"]).unwrap(),
            "checkpoints:\r\n  enabled: false\r\n"
        );
    }

    #[test]
    fn what_cannot_be_edited_safely_is_refused() {
        for text in [
            "checkpoints: {enabled: true}\n",
            "{checkpoints: {enabled: true}}\n",
            "\"checkpoints\": {max_snapshots: 1}\n",
            "a: [1\n",
            "- 1\n",
            "checkpoints:\n  max_snapshots: &n 3\nb: *n\n",
            "checkpoints:\n  max_snapshots:\n    # why\n    3\n",
            "text: |\n  x\n  checkpoints:\n...\n",
            "a: 1\n...\n---\nb: 2\n",
        ] {
            assert!(edit(text, "max_snapshots", &["5"]).is_err(), "{text:?}");
        }
    }

    #[test]
    fn text_that_only_looks_like_our_section_is_not_touched() {
        let text = "note: |\n  checkpoints:\n    max_snapshots: 1\nb: 2\n";
        assert_eq!(
            edit(text, "max_snapshots", &["5"]).unwrap(),
            format!("{text}checkpoints:\n  max_snapshots: 5\n")
        );
    }
}
