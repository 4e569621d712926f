//! The keys of the sections `checkpoints` and `sessions`, with their defaults: those of Hermes, and ours
//! beside them.

use std::fmt;

use herma_yaml as yaml;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// One of a few words.
    Word(&'static str),
    /// Texts.
    List(Vec<String>),
}

impl Value {
    /// The value as a file and programs have it.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Word(word) => (*word).into(),
            Self::List(items) => items.clone().into(),
        }
    }
}

/// As YAML, on one line. JSON's strings are YAML's double-quoted ones.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Word(word) => word.fmt(f),
            Self::List(items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| serde_json::Value::from(item.as_str()).to_string())
                    .collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

/// A default that can stand in a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Default {
    Bool(bool),
    /// Yes, no, or this word for something in between.
    BoolOr(bool, &'static str),
    Number(i64),
    /// A number of days, where less than one turns the rule off.
    Days(i64),
    EmptyList,
}

/// A key of one of our sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The section it stands in.
    pub section: &'static str,
    /// Its name inside the section.
    pub name: &'static str,
    default: Default,
    /// What it does, for `herma config show`.
    pub about: &'static str,
    /// Does it only say what stays, and nothing about what is saved?
    pub is_about_cleaning: bool,
}

impl Key {
    /// The key a person means; without a section before it, one of `checkpoints`.
    pub fn find(text: &str) -> Option<&'static Self> {
        let (section, name) = text.split_once('.').unwrap_or((CHECKPOINTS, text));
        Self::find_in(section, name)
    }

    /// The key a person probably meant who wrote something else.
    pub fn like(text: &str) -> Option<&'static Self> {
        let likeness = |key: &&Self| {
            let full = strsim::jaro_winkler(&key.full_name(), text);
            full.max(strsim::jaro_winkler(key.name, text))
        };
        let alike = KEYS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        alike.filter(|key| likeness(key) >= ALIKE)
    }

    /// The key with this name in this section.
    pub fn find_in(section: &str, name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// The name with its section: `checkpoints.enabled`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Does it say anything about which files are saved?
    pub fn is_about_saving(&self) -> bool {
        self.section == CHECKPOINTS
            && !self.is_about_cleaning
            && ![NOTICE, CHECKS, OPEN_WITH].contains(&self.name)
    }

    /// The value when nobody set one.
    pub fn default(&self) -> Value {
        match self.default {
            Default::Bool(value) | Default::BoolOr(value, _) => Value::Bool(value),
            Default::Number(value) | Default::Days(value) => Value::Number(value),
            Default::EmptyList => Value::List(Vec::new()),
        }
    }

    /// What it accepts, to follow "must be".
    pub fn accepts(&self) -> &'static str {
        match self.default {
            Default::Bool(_) => "`true` or `false`",
            Default::BoolOr(..) => "`true`, `false` or `names`",
            Default::Number(_) => "a whole number from 0 to 1000000000",
            Default::Days(_) => "a whole number from 0 (off) to 36500",
            Default::EmptyList => "a list of texts, such as `[\"*.bin\", \"data/\"]`",
        }
    }

    /// The value written in the file, if it is one this key accepts. Hermes reads YAML 1.1, so `yes`
    /// and `off` are answers too.
    pub fn read(&self, value: &serde_json::Value) -> Option<Value> {
        match self.default {
            Default::Bool(_) | Default::BoolOr(..) => match (value, self.default) {
                (serde_json::Value::Bool(value), _) => Some(Value::Bool(*value)),
                (serde_json::Value::String(word), Default::BoolOr(_, between))
                    if word.eq_ignore_ascii_case(between) =>
                {
                    Some(Value::Word(between))
                }
                (serde_json::Value::String(word), _) => yes_or_no(word).map(Value::Bool),
                _ => None,
            },
            Default::Number(_) => whole_number(value).filter(|n| *n >= 0).map(Value::Number),
            Default::Days(_) => whole_number(value).map(Value::Number),
            Default::EmptyList => {
                let texts = value.as_array()?.iter();
                let texts: Option<_> = texts.map(|v| v.as_str().map(str::to_owned)).collect();
                Some(Value::List(texts?))
            }
        }
    }

    /// The value given on the command line, if it is one this key accepts. A list takes any number of
    /// texts, everything else exactly one. A file may have stranger numbers than are taken from a person, who errs.
    pub fn parse_words(&self, words: &[String]) -> Option<Value> {
        match (self.default, words) {
            (Default::EmptyList, words) => {
                flow_list(words).or_else(|| Some(words.to_vec())).map(Value::List)
            }
            (_, [word]) => {
                let number = word.parse::<i64>().map(serde_json::Value::from);
                let value = self.read(&number.unwrap_or_else(|_| word.as_str().into()));
                // Of days, a hundred years.
                let is_days = matches!(self.default, Default::Days(_));
                let sensible = 0..=if is_days { 36_500 } else { 1_000_000_000 };
                value.filter(|v| !matches!(v, Value::Number(n) if !sensible.contains(n)))
            }
            _ => None,
        }
    }
}

/// The items of a list that is written as in the file: `[a, "b"]`, or `[]` for none.
fn flow_list(words: &[String]) -> Option<Vec<String>> {
    let [text] = words else { return None };
    if !(text.starts_with('[') && text.ends_with(']')) {
        return None;
    }
    // Every word is a text here, whatever it is in a file.
    let rules = yaml::Rules { resolve: |word| word.into(), ..yaml::Rules::default() };
    let list = yaml::read_by(text, rules).ok()?;
    list.as_list()?.iter().map(|item| item.as_text().map(str::to_owned)).collect()
}

fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => Some(true),
        "false" | "no" | "off" | "n" => Some(false),
        _ => None,
    }
}

/// A whole number, also when it is written as `7.0`.
fn whole_number(value: &serde_json::Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        let is_whole = number.fract() == 0.0 && (-9e15..=9e15).contains(&number);
        is_whole.then_some(number as i64)
    })
}

/// Texts as alike as this are probably the same word; 1 is equal.
const ALIKE: f64 = 0.85;

/// The section about checkpoints.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// The key that says whether agents are told of what was undone.
pub(crate) const NOTICE: &str = "notice";
pub(crate) const CHECKS: &str = "checks";
pub(crate) const OPEN_WITH: &str = "open_with_ignored";
/// The section about sessions.
pub(crate) const SESSIONS: &str = "sessions";

const fn key(name: &'static str, default: Default, about: &'static str) -> Key {
    Key { section: CHECKPOINTS, name, default, about, is_about_cleaning: false }
}

/// One that no save looks at.
const fn cleaning_key(name: &'static str, default: Default, about: &'static str) -> Key {
    Key { is_about_cleaning: true, ..key(name, default, about) }
}

const fn session_key(name: &'static str, default: Default, about: &'static str) -> Key {
    Key { section: SESSIONS, ..key(name, default, about) }
}

/// Every key, in the order they are shown.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("enabled", Default::Bool(true), "save automatically when an agent asks; `herma save` always works"),
    cleaning_key("max_snapshots", Default::Number(0), "checkpoints kept per project; 0 is no limit"),
    cleaning_key("max_total_size_mb", Default::Number(500), "size of the store; 0 is no limit"),
    cleaning_key("min_free_disk_mb", Default::Number(0), "room left free on the disk; 0 is no limit"),
    key("max_file_size_mb", Default::Number(10), "larger files are left out; 0 is no limit"),
    cleaning_key("auto_prune", Default::Bool(true), "thin out old history and clean up untouched and deleted projects from time to time; the limits of count, size and free disk hold without it, too"),
    cleaning_key("retention_days", Default::Days(30), "days without a save after which a project keeps only its newest checkpoint; with 0 nothing goes by age"),
    cleaning_key("delete_orphans", Default::Bool(true), "clean up after projects that were deleted"),
    cleaning_key("min_interval_hours", Default::Number(24), "hours between two cleanings"),
    key("exclude", Default::EmptyList, "patterns left out, written as in `.gitignore`"),
    key("include", Default::EmptyList, "patterns taken in whatever else leaves them out"),
    key("secrets", Default::BoolOr(true, "names"), "leave out files whose name or, if they are new, content looks like a secret; `names` looks at names only"),
    key(NOTICE, Default::Bool(true), "tell an agent with its next prompt what was undone of its work"),
    key(CHECKS, Default::EmptyList, "commands that say that a state is good, such as `cargo test*`: one in which they exit 0 is marked green"),
    key(OPEN_WITH, Default::EmptyList, "files and directories that checkpoints leave out and `open`, `try` and `bisect` copy from the present"),
    session_key("auto_prune", Default::Bool(false), "delete ended sessions nobody used for long, from time to time"),
    session_key("retention_days", Default::Days(90), "days without activity after which an ended session goes; 0 is never"),
    session_key("min_interval_hours", Default::Number(24), "hours between two of these cleanings"),
    session_key("vacuum_after_prune", Default::Bool(true), "make the database smaller afterwards, if it pays"),
    session_key("min_vacuum_interval_days", Default::Number(30), "days between two times it is made smaller"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(name: &str) -> &'static Key {
        Key::find(name).unwrap()
    }

    #[test]
    fn wrong_types_are_refused_not_guessed_at() {
        assert_eq!(key("enabled").read(&json!("yes")), Some(Value::Bool(true)));
        assert_eq!(key("enabled").read(&json!(1)), None);
        assert_eq!(key("max_snapshots").read(&json!(7.0)), Some(Value::Number(7)));
        for bad in [json!(-1), json!("7"), json!(1.5), json!(true), json!([1]), json!(1e300)] {
            assert_eq!(key("max_snapshots").read(&bad), None, "{bad}");
        }
        for bad in [json!("*.bin"), json!([1]), json!([["a"]])] {
            assert_eq!(key("exclude").read(&bad), None, "{bad}");
        }
    }

    #[test]
    fn a_list_is_set_by_words_or_as_the_file_has_it() {
        let exclude = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            key("exclude").parse_words(&words)
        };
        let list = |items: &[&str]| {
            let items = items.iter().map(ToString::to_string);
            Some(Value::List(items.collect()))
        };
        assert_eq!(exclude(&["[a, \"b c\"]"]), list(&["a", "b c"]));
        assert_eq!(exclude(&["[]"]), list(&[]));
        assert_eq!(exclude(&[]), list(&[]));
        for pattern in ["[ab]*.o", "*.[oa]", "[ab][cd]", "[a, b"] {
            assert_eq!(exclude(&[pattern]), list(&[pattern]), "a pattern");
        }
        assert_eq!(exclude(&["[a, b]", "c"]), list(&["[a, b]", "c"]));
    }

    #[test]
    fn secrets_are_looked_for_by_name_and_content_by_name_or_not() {
        let secrets = key("secrets");
        for (word, value) in [
            ("on", Value::Bool(true)),
            ("Names", Value::Word("names")),
            ("off", Value::Bool(false)),
        ] {
            assert_eq!(secrets.read(&json!(word)), Some(value.clone()));
            assert_eq!(secrets.parse_words(&[word.into()]), Some(value));
        }
        assert_eq!(secrets.read(&json!("content")), None);
        assert_eq!(key("enabled").read(&json!("names")), None);
    }

    #[test]
    fn days_below_one_turn_the_rule_off_but_only_zero_is_taken_from_a_person() {
        let days = key("retention_days");
        assert_eq!(days.read(&json!(-1)), Some(Value::Number(-1)));
        for (word, number) in
            [("0", Some(0)), ("36500", Some(36_500)), ("-1", None), ("36501", None)]
        {
            assert_eq!(days.parse_words(&[word.into()]), number.map(Value::Number), "{word}");
        }
        assert_eq!(key("max_total_size_mb").parse_words(&["1000000001".into()]), None);
        assert_eq!(days.read(&json!("never")), None);
        assert_eq!(key("max_snapshots").parse_words(&["-1".into()]), None);
    }

    #[test]
    fn a_key_that_was_misspelt_is_recognised() {
        for (text, meant) in [
            ("max_snapshot", Some("checkpoints.max_snapshots")),
            ("checkpoints.max_snapshot", Some("checkpoints.max_snapshots")),
            ("exlcude", Some("checkpoints.exclude")),
            ("sessions.auto_purne", Some("sessions.auto_prune")),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(Key::like(text).map(Key::full_name).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn what_a_save_looks_at() {
        let others: Vec<_> = KEYS.iter().filter(|key| key.is_about_saving()).collect();
        let others: Vec<_> = others.iter().map(|key| key.name).collect();
        let expected = ["enabled", "max_file_size_mb", "exclude", "include", "secrets"];
        assert_eq!(others, expected);
    }

    #[test]
    fn keys_are_found_with_and_without_their_section() {
        assert_eq!(key("checkpoints.exclude").name, key("exclude").name);
        assert_eq!(key("sessions.auto_prune").default(), Value::Bool(false));
        assert_eq!(key("auto_prune").default(), Value::Bool(true));
        assert!(Key::find("sessions.enabled").is_none());
    }

    #[test]
    fn lists_are_written_so_that_yaml_reads_them_back() {
        let value = Value::List(vec!["*.bin".into(), "a \"b\": #\n".into()]);
        let text = value.to_string();
        let read = yaml::read(&text).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), value.to_json());
    }
}
