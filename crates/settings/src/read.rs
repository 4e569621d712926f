//! Reads the sections `checkpoints` and `sessions` out of the file, with the line of each value.

use std::fmt;
use std::path::PathBuf;

use herma_store::path::escape;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::keys::{CHECKPOINTS, Key, SESSIONS};
use super::{Loaded, Origin, Problem, Value};

/// The file, reduced to the sections that are ours.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    checkpoints: Option<Spanned<Section>>,
    sessions: Option<Spanned<Section>>,
}

/// What stands under `checkpoints` or `sessions`.
enum Section {
    /// Nothing.
    Empty,
    /// `checkpoints: true`, the shorthand for `enabled`.
    Enabled(bool),
    /// Keys and their values, in the order of the file.
    Keys(Vec<(String, Spanned<serde_json::Value>)>),
    /// Something else.
    Wrong,
}

/// The settings of a file with this text.
pub fn parse(file: PathBuf, text: &str) -> Loaded {
    let mut loaded = Loaded::defaults(file);
    if is_blank(text) {
        return loaded;
    }
    match serde_saphyr::from_str_with_options::<Option<Document>>(text, options()) {
        Ok(document) => {
            let document = document.unwrap_or_default();
            if let Some(section) = document.checkpoints {
                read_section(&mut loaded, section);
            }
            if let Some(section) = document.sessions {
                read_sessions(&mut loaded, section);
            }
        }
        Err(error) => {
            let error = error.without_snippet();
            let line = error.location().map(|location| location.line());
            loaded.problem(line, format!("not readable as YAML: {}", first_line(error)));
        }
    }
    loaded
}

/// The limits of the parser hold for a file somebody else may have written, too.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        // As in Python, the last one counts.
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    }
}

fn first_line(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    escape(text.lines().next().unwrap_or_default().as_bytes())
}

/// Nothing but comments and white space is an empty file.
fn is_blank(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with('#') || line == "---")
}

fn read_section(loaded: &mut Loaded, section: Spanned<Section>) {
    let line = known_line(section.referenced.line());
    match section.value {
        Section::Empty => {}
        Section::Enabled(enabled) => {
            let value = (Value::Bool(enabled), Origin::File(line));
            loaded.values.insert((CHECKPOINTS, "enabled"), value);
        }
        Section::Keys(keys) => {
            for (name, value) in keys {
                read_key(loaded, &name, &value);
            }
        }
        Section::Wrong => loaded.problem(
            line,
            "`checkpoints` must be `true`, `false`, or keys and values below it".to_owned(),
        ),
    }
}

/// The section is Hermes's before it is ours: what we know nothing about in it is its business.
fn read_sessions(loaded: &mut Loaded, section: Spanned<Section>) {
    let line = known_line(section.referenced.line());
    match section.value {
        Section::Empty => {}
        Section::Keys(keys) => {
            for (name, value) in keys {
                if let Some(key) = Key::find_in(SESSIONS, &name) {
                    read_value(loaded, key, &value);
                }
            }
        }
        Section::Enabled(_) | Section::Wrong => {
            loaded.warn(line, "`sessions` must be keys and values; it is ignored");
        }
    }
}

fn read_key(loaded: &mut Loaded, name: &str, value: &Spanned<serde_json::Value>) {
    let line = known_line(value.referenced.line());
    if name == "watch" {
        let gone = "`checkpoints.watch` has no effect any more: a save always looks itself";
        loaded.warn(line, gone);
        return;
    }
    let Some(key) = Key::find_in(CHECKPOINTS, name) else {
        let advice = match Key::like(name) {
            Some(key) => format!("did you mean `{}`?", key.full_name()),
            None => "`herma config show` lists those there are".to_owned(),
        };
        let name = escape(name.as_bytes());
        loaded.warn(line, &format!("there is no setting `checkpoints.{name}`; {advice}"));
        return;
    };
    read_value(loaded, key, value);
}

fn read_value(loaded: &mut Loaded, key: &'static Key, value: &Spanned<serde_json::Value>) {
    let line = known_line(value.referenced.line());
    if value.value.is_null() {
        return;
    }
    match key.read(&value.value) {
        Some(value) => {
            let place = (key.section, key.name);
            loaded.values.insert(place, (value, Origin::File(line)));
        }
        None => loaded.problems.push(Problem {
            file: loaded.file.clone(),
            line,
            what: format!(
                "`{}` must be {}, not `{}`",
                key.full_name(),
                key.accepts(),
                shortened(&value.value)
            ),
            key: Some(key),
        }),
    }
}

/// The parser says 0 where it does not know.
fn known_line(line: u64) -> Option<u64> {
    (line > 0).then_some(line)
}

fn shortened(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl<'de> Deserialize<'de> for Section {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SectionVisitor)
    }
}

struct SectionVisitor;

impl<'de> Visitor<'de> for SectionVisitor {
    type Value = Section;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`true`, `false`, or keys and values")
    }

    fn visit_unit<E>(self) -> Result<Section, E> {
        Ok(Section::Empty)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Section, E> {
        Ok(Section::Enabled(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Section, E> {
        // `yes` and `off` are booleans to Hermes.
        let answer = Key::find("enabled").and_then(|key| key.read(&text.into()));
        Ok(match answer {
            Some(Value::Bool(value)) => Section::Enabled(value),
            _ => Section::Wrong,
        })
    }

    fn visit_i64<E>(self, _: i64) -> Result<Section, E> {
        Ok(Section::Wrong)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Section, E> {
        Ok(Section::Wrong)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Section, E> {
        Ok(Section::Wrong)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Section, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Section::Wrong)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Section, A::Error> {
        let mut keys = Vec::new();
        while let Some(entry) = map.next_entry()? {
            keys.push(entry);
        }
        Ok(Section::Keys(keys))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn load(text: &str) -> Loaded {
        parse("config.yaml".into(), text)
    }

    fn set_in_file(text: &str) -> Vec<String> {
        let loaded = load(text);
        assert_eq!(loaded.problems, [], "{text}");
        loaded
            .all()
            .filter_map(|(key, value, origin)| match origin {
                Origin::File(line) => Some(format!("{} {value} {line:?}", key.name)),
                Origin::Default | Origin::Session => None,
            })
            .collect()
    }

    fn problems(text: &str) -> Vec<String> {
        load(text).problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn empty_files_and_other_sections_change_nothing() {
        for text in ["", "\n", "# hi\n", "---\n", "\u{feff}", "checkpoints:\n", "checkpoints: ~\n"]
        {
            assert_eq!(set_in_file(text), [""; 0], "{text:?}");
        }
        let other = "model: x\nproviders:\n  - {a: [1, 2]}\nsessions:\n  nonsense: {}\n1: 2\n";
        assert_eq!(set_in_file(other), [""; 0]);
    }

    #[test]
    fn the_shorthand_turns_automatic_saves_on_and_off() {
        assert_eq!(set_in_file("checkpoints: true\n"), ["enabled true Some(1)"]);
        assert_eq!(set_in_file("\ncheckpoints: off\n"), ["enabled false Some(2)"]);
    }

    #[test]
    fn values_are_read_with_their_line() {
        let text = "checkpoints:\n  enabled: yes\n  max_snapshots: 50\n  auto_prune:\n  exclude:\n    - '*.bin'\n    - data/\n";
        assert_eq!(
            set_in_file(text),
            [
                "enabled true Some(2)",
                "max_snapshots 50 Some(3)",
                "exclude [\"*.bin\", \"data/\"] Some(6)",
            ]
        );
    }

    #[test]
    fn wrong_types_name_the_key_the_line_and_what_is_accepted() {
        assert_eq!(
            problems("checkpoints:\n  max_snapshots: many\n"),
            [
                "config.yaml:2: `checkpoints.max_snapshots` must be a whole number from 0 to 1000000000, not `\"many\"`"
            ]
        );
        assert_eq!(
            problems("checkpoints: [1]\n"),
            ["config.yaml:1: `checkpoints` must be `true`, `false`, or keys and values below it"]
        );
        assert_eq!(problems("checkpoints:\n  secrets: {a: b}\n").len(), 1);
        assert_eq!(problems("checkpoints: 7\n").len(), 1);
    }

    #[test]
    fn of_two_sections_or_keys_with_the_same_name_the_last_counts() {
        let twice = "checkpoints:\n  max_snapshots: 1\ncheckpoints:\n  max_snapshots: 2\n  max_snapshots: 3\n";
        assert_eq!(set_in_file(twice), ["max_snapshots 3 Some(5)"]);
    }

    #[test]
    fn a_wrong_value_leaves_the_others_alone() {
        let loaded = load("checkpoints:\n  max_snapshots: x\n  max_file_size_mb: 3\n");
        assert_eq!(loaded.number("max_snapshots"), 0);
        assert_eq!(loaded.number("max_file_size_mb"), 3);
    }

    #[test]
    fn the_section_about_sessions_is_read_and_the_rest_of_it_is_hermes_s_business() {
        let text = "sessions:\n  auto_prune: on\n  retention_days: 30\n  other: [1]\n";
        assert_eq!(set_in_file(text), ["auto_prune true Some(2)", "retention_days 30 Some(3)"]);
        let loaded = load(text);
        assert_eq!(loaded.warnings, [""; 0]);
        assert_eq!(loaded.sessions().map(|sessions| sessions.retention_days), Some(30));
        assert_eq!(load("").sessions(), None);
        let wrong = load("sessions:\n  retention_days: soon\n");
        assert!(wrong.problems[0].concerns_sessions() && !wrong.problems[0].concerns_saving());
        assert!(!wrong.problems[0].concerns_cleaning());
        let wrong = load("sessions: true\n");
        assert_eq!((wrong.problems.len(), wrong.warnings.len()), (0, 1));
    }

    #[test]
    fn unknown_keys_of_our_section_are_warned_about() {
        let loaded = load("checkpoints:\n  max_snapshot: 3\n");
        assert_eq!(loaded.problems, []);
        assert!(loaded.warnings[0].contains("`checkpoints.max_snapshot`"), "{:?}", loaded.warnings);
    }

    #[test]
    fn the_setting_of_the_watcher_there_was_is_accepted_and_said_to_do_nothing() {
        let loaded = load("checkpoints:\n  watch: on\n");
        assert_eq!(loaded.problems, []);
        assert!(loaded.warnings[0].contains("no effect"), "{loaded:?}");
    }

    #[test]
    fn text_that_is_not_yaml_is_a_problem_with_its_line() {
        for text in ["a: [1\n", "a: b: c\n", "a: \"x\n", "- 1\n", "just text\n"] {
            assert_eq!(problems(text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn hostile_yaml_ends_in_a_problem_not_in_a_crash() {
        let deep = format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(problems(&deep).len(), 1);
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{},", level - 1).repeat(10);
            let _ = writeln!(bomb, "a{level}: &a{level} [{alias}]");
        }
        assert_eq!(problems(&bomb).len(), 1);
    }
}
