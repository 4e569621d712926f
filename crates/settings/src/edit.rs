//! Sets or removes one value in the text of `config.yaml` and nothing else: order, comments and layout stay.
//!
//! The edit is made on lines, and then checked: read as YAML, the new text must differ from the old one
//! in exactly the value that was asked for. What this cannot do safely it refuses.

use herma_agents::yaml;
use herma_agents::yaml::Lines;
use serde_json::{Map, Value as Json};

use super::keys::{CHECKPOINTS, Key, Value};

/// Why the file is left for the user to edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings file cannot be changed safely: {0}")]
pub struct CannotEdit(pub(crate) String);

fn refuse<T>(why: &str) -> Result<T, CannotEdit> {
    Err(CannotEdit(why.to_owned()))
}

/// The text with `<section>.<key>` set to `value`.
pub fn set(text: &str, key: &Key, value: &Value) -> Result<String, CannotEdit> {
    let before = read(text)?;
    let mut lines = Lines::of(text);
    match lines.key_at(0..lines.len(), 0, key.section) {
        None => {
            let section = [format!("{}:", key.section), format!("  {}: {value}", key.name)];
            lines.replace(lines.len()..lines.len(), section);
        }
        Some(header) => {
            set_in_section(&mut lines, header, key, value, before.get(key.section))?;
        }
    }
    let edited = lines.text();
    let after = read(&edited)?;
    if after == expected(before, key, value) { Ok(edited) } else { refuse("its layout is unusual") }
}

/// The text without `<section>.<key>`; `None` if it does not say anything about it.
pub fn unset(text: &str, key: &Key) -> Result<Option<String>, CannotEdit> {
    let before = read(text)?;
    let is_set = match before.get(key.section) {
        Some(Json::Object(section)) => section.contains_key(key.name),
        None | Some(Json::Null) => false,
        Some(_) => key.section == CHECKPOINTS && key.name == "enabled",
    };
    if !is_set {
        return Ok(None);
    }
    let mut lines = Lines::of(text);
    let Some(header) = lines.key_at(0..lines.len(), 0, key.section) else {
        return refuse("its layout is unusual");
    };
    remove(&mut lines, header, key)?;
    let edited = lines.text();
    let after = read(&edited).ok().map(|after| without_empty(after, key));
    if after == Some(expected_without(before, key)) {
        Ok(Some(edited))
    } else {
        refuse("its layout is unusual")
    }
}

/// What the file must say once the key is gone; a section without anything in it may be there or not.
fn expected_without(mut before: Map<String, Json>, key: &Key) -> Map<String, Json> {
    match before.get_mut(key.section) {
        Some(Json::Object(section)) => drop(section.remove(key.name)),
        // It stood for the key alone.
        _ => drop(before.remove(key.section)),
    }
    without_empty(before, key)
}

fn without_empty(mut values: Map<String, Json>, key: &Key) -> Map<String, Json> {
    let is_empty = |section: &Json| section.as_object().map_or(section.is_null(), Map::is_empty);
    if values.get(key.section).is_some_and(is_empty) {
        values.remove(key.section);
    }
    values
}

/// Removes the lines of a key, and those of its section if nothing else was written there.
fn remove(lines: &mut Lines, header: usize, key: &Key) -> Result<(), CannotEdit> {
    let rest = lines.value_at(header, key.section).unwrap_or_default();
    let (written, comment) = split_comment(rest);
    let bare = format!("{}:{comment}", key.section);
    if !written.is_empty() {
        // All that stands on the line goes; if that is more than this key, the check notices.
        lines.replace(header..header + 1, (!comment.is_empty()).then_some(bare));
        return Ok(());
    }
    let Some(at) = key_in_block(lines, header, key) else { return refuse("its layout is unusual") };
    let end = value_end(lines, header, at)?;
    let is_all = at == header + 1 && end == lines.block_end(at, 0);
    let has_comment = !comment.is_empty() || lines.is_indented_comment(end);
    let from = if is_all && !has_comment { header } else { at };
    lines.replace(from..end, []);
    Ok(())
}

/// The whole file as values, to compare before and after.
fn read(text: &str) -> Result<Map<String, Json>, CannotEdit> {
    yaml::values(text).map_err(CannotEdit)
}

/// What the file must say after the edit.
fn expected(mut before: Map<String, Json>, key: &Key, value: &Value) -> Map<String, Json> {
    let mut section = match before.remove(key.section) {
        Some(Json::Object(section)) => section,
        Some(Json::Null) | None => Map::new(),
        Some(enabled) => Map::from_iter([("enabled".to_owned(), enabled)]),
    };
    section.insert(key.name.to_owned(), value.to_json());
    before.insert(key.section.to_owned(), Json::Object(section));
    before
}

fn set_in_section(
    lines: &mut Lines,
    header: usize,
    key: &Key,
    value: &Value,
    present: Option<&Json>,
) -> Result<(), CannotEdit> {
    let rest = lines.value_at(header, key.section).unwrap_or_default();
    let (written, comment) = split_comment(rest);
    match (written, present) {
        ("", _) => set_in_block(lines, header, key, value),
        (_, Some(Json::Bool(_) | Json::Null | Json::String(_))) if key.section == CHECKPOINTS => {
            // The shorthand becomes the section it stands for.
            let mut section = vec![format!("checkpoints:{comment}")];
            if key.name != "enabled" && !present.is_some_and(Json::is_null) {
                section.push(format!("  enabled: {written}"));
            }
            section.push(format!("  {}: {value}", key.name));
            lines.replace(header..header + 1, section);
            Ok(())
        }
        _ => refuse("the section is written on one line"),
    }
}

fn set_in_block(
    lines: &mut Lines,
    header: usize,
    key: &Key,
    value: &Value,
) -> Result<(), CannotEdit> {
    let name = format!("{}{}", " ".repeat(lines.child_indent(header)), key.name);
    let Some(at) = key_in_block(lines, header, key) else {
        let end = lines.block_end(header + 1, 0);
        lines.replace(end..end, [format!("{name}: {value}")]);
        return Ok(());
    };
    let rest = lines.value_at(at, key.name).unwrap_or_default();
    let (written, comment) = split_comment(rest);
    if written.starts_with(['&', '*', '!', '|', '>']) {
        return refuse("the present value uses anchors, tags or a block of text");
    }
    let end = value_end(lines, header, at)?;
    let line = format!("{name}: {value}{comment}");
    lines.replace(at..end, [line]);
    Ok(())
}

/// The line of a key in a section that is written line by line.
fn key_in_block(lines: &Lines, header: usize, key: &Key) -> Option<usize> {
    let end = lines.block_end(header + 1, 0);
    lines.key_at(header + 1..end, lines.child_indent(header), key.name)
}

/// Where the value ends whose key is in line `at`.
fn value_end(lines: &Lines, header: usize, at: usize) -> Result<usize, CannotEdit> {
    let end = lines.block_end(at + 1, lines.child_indent(header));
    if lines.have_comment(at + 1..end) {
        return refuse("there may be comments inside the present value");
    }
    Ok(end)
}

/// The value, and the comment behind it with the space before it.
fn split_comment(rest: &str) -> (&str, &str) {
    let quote = rest.trim_start().chars().next().filter(|c| matches!(c, '"' | '\''));
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
        assert_eq!(edit("", "secrets", &["no"]).unwrap(), "checkpoints:\n  secrets: false\n");
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
    fn a_last_line_without_an_end_stays_so_unless_something_follows_it() {
        assert_eq!(
            edit("checkpoints:\n  enabled: true\nz: 1", "enabled", &["false"]).unwrap(),
            "checkpoints:\n  enabled: false\nz: 1"
        );
        assert_eq!(
            edit("checkpoints:\n  enabled: true", "secrets", &["no"]).unwrap(),
            "checkpoints:\n  enabled: true\n  secrets: false\n"
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
    fn a_key_is_removed_and_everything_else_stays_byte_for_byte() {
        for (before, key, after) in [
            (
                "# mine\ncheckpoints:\n    # how many\n    max_snapshots: 20  # plenty\n    enabled: true\n\n# end\n",
                "max_snapshots",
                "# mine\ncheckpoints:\n    # how many\n    enabled: true\n\n# end\n",
            ),
            (
                "checkpoints:\r\n  enabled: no\r\n  secrets: on\r\n",
                "secrets",
                "checkpoints:\r\n  enabled: no\r\n",
            ),
            (
                "checkpoints:\n  exclude:\n  - a\n  - b\n  secrets: on",
                "exclude",
                "checkpoints:\n  secrets: on",
            ),
            (
                "checkpoints:\n  secrets: on\n  enabled: no",
                "enabled",
                "checkpoints:\n  secrets: on\n",
            ),
            // The section goes with the last thing in it, but not with a comment.
            ("a: 1\ncheckpoints:\n  enabled: no\n\nb: 2\n", "enabled", "a: 1\n\nb: 2\n"),
            ("checkpoints: # ours\n  enabled: no\n", "enabled", "checkpoints: # ours\n"),
            ("checkpoints:\n  # why\n  enabled: no\n", "enabled", "checkpoints:\n  # why\n"),
            (
                "checkpoints:\n  enabled: no\n  # why\nb: 2\n",
                "enabled",
                "checkpoints:\n  # why\nb: 2\n",
            ),
            ("checkpoints: false # off\nb: 1\n", "enabled", "checkpoints: # off\nb: 1\n"),
            ("a: 1\ncheckpoints: false\n", "enabled", "a: 1\n"),
            ("checkpoints: {enabled: false} # off\n", "enabled", "checkpoints: # off\n"),
        ] {
            let key = Key::find(key).unwrap();
            assert_eq!(unset(before, key), Ok(Some(after.to_owned())), "{before}");
            assert_eq!(unset(after, key), Ok(None), "{before}, once more");
        }
    }

    #[test]
    fn what_was_set_in_an_empty_file_leaves_none_of_it_behind() {
        let key = Key::find("exclude").unwrap();
        let text = edit("", "exclude", &["a", "b"]).unwrap();
        assert_eq!(unset(&text, key), Ok(Some(String::new())));
        assert_eq!(unset("model: x\n", key), Ok(None));
        assert_eq!(unset("checkpoints: true\n", key), Ok(None));
    }

    #[test]
    fn what_cannot_be_removed_safely_is_refused() {
        for text in [
            "checkpoints: {max_snapshots: 1, enabled: true}\n",
            "checkpoints: {max_snapshots: 1,\n  enabled: true}\n",
            "{checkpoints: {max_snapshots: 1}}\n",
            "\"checkpoints\": {max_snapshots: 1}\n",
            "checkpoints:\n  \"max_snapshots\": 1\n",
            "checkpoints:\n  max_snapshots: 1\n  max_snapshots: 2\n",
            "checkpoints:\n  max_snapshots: &n 3\nb: *n\n",
            "checkpoints:\n  max_snapshots:\n    # why\n    3\n",
            "a: [1\n",
        ] {
            assert!(unset(text, Key::find("max_snapshots").unwrap()).is_err(), "{text:?}");
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
