//! Reads the sections `checkpoints` and `sessions` out of the file, with the line of each value.

use std::path::PathBuf;

use herma_store::path::escape;
use herma_yaml as yaml;
use herma_yaml::value::Entry;

use super::keys::{CHECKPOINTS, Key, SESSIONS};
use super::{Loaded, Origin, Problem};

/// The settings of a file with this text.
pub fn parse(file: PathBuf, text: &str) -> Loaded {
    let mut loaded = Loaded::defaults(file);
    // The rest of the file may say what it likes.
    let rules = yaml::Rules { ignore_tags: true, ..yaml::Rules::default() };
    match yaml::read_by(text, rules) {
        Ok(yaml::Value::Null) => {}
        Ok(yaml::Value::Map(document)) => {
            for entry in document.entries() {
                match entry.key.as_text() {
                    Some(CHECKPOINTS) => read_section(&mut loaded, entry),
                    Some(SESSIONS) => read_sessions(&mut loaded, entry),
                    _ => {}
                }
            }
        }
        Ok(_) => loaded.problem(Some(1), "it does not consist of keys and values".to_owned()),
        Err(error) => {
            let what = escape(error.what.as_bytes());
            loaded.problem(Some(error.line as u64), format!("not readable as YAML: {what}"));
        }
    }
    loaded
}

fn read_section(loaded: &mut Loaded, section: &Entry) {
    // `checkpoints: true` is a shorthand for `enabled`.
    let enabled = Key::find_in(CHECKPOINTS, "enabled").and_then(|key| key.read(&json(section)));
    match (&section.value, enabled) {
        (yaml::Value::Null, _) => {}
        (yaml::Value::Map(keys), _) => {
            for entry in keys.entries() {
                read_key(loaded, entry);
            }
        }
        (_, Some(enabled)) => {
            let value = (enabled, Origin::File(section.line.0));
            loaded.values.insert((CHECKPOINTS, "enabled"), value);
        }
        _ => loaded.problem(
            section.line.0,
            "`checkpoints` must be `true`, `false`, or keys and values below it".to_owned(),
        ),
    }
}

/// The section is Hermes's before it is ours: what we know nothing about in it is its business.
fn read_sessions(loaded: &mut Loaded, section: &Entry) {
    match &section.value {
        yaml::Value::Null => {}
        yaml::Value::Map(keys) => {
            for entry in keys.entries() {
                let name = entry.key.as_text().unwrap_or_default();
                if let Some(key) = Key::find_in(SESSIONS, name) {
                    read_value(loaded, key, entry);
                }
            }
        }
        _ => loaded.warn(section.line.0, "`sessions` must be keys and values; it is ignored"),
    }
}

/// The value as [`Key::read`] takes it. What JSON cannot say no key accepts.
fn json(entry: &Entry) -> serde_json::Value {
    serde_json::to_value(&entry.value).unwrap_or_default()
}

fn read_key(loaded: &mut Loaded, entry: &Entry) {
    let line = entry.line.0;
    let name = entry.key.as_key().unwrap_or_default();
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
    read_value(loaded, key, entry);
}

fn read_value(loaded: &mut Loaded, key: &'static Key, entry: &Entry) {
    let line = entry.line.0;
    if entry.value == yaml::Value::Null {
        return;
    }
    let value = json(entry);
    match key.read(&value) {
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
                shortened(&value)
            ),
            key: Some(key),
        }),
    }
}

fn shortened(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
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
    fn values_mean_what_they_mean_to_hermes() {
        let text =
            "x: !custom {a: !b c}\ncheckpoints: {max_snapshots: 010, max_file_size_mb: 1_000}\n";
        assert_eq!(set_in_file(text), ["max_snapshots 8 Some(2)", "max_file_size_mb 1000 Some(2)"]);
        let merged = "a: &a {max_snapshots: 9}\ncheckpoints:\n  <<: *a\n  secrets: names\n";
        assert_eq!(set_in_file(merged), ["max_snapshots 9 Some(1)", "secrets names Some(4)"]);
        assert_eq!(set_in_file("checkpoints: {enabled: n}"), ["enabled false Some(1)"]);
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
