//! What was typed, taken apart.
//!
//! The grammar is the one of Hermes, with quotes, several files, names and `@-2`, and with `undo`, `redo` and `timeline`. A
//! phone writes curly quotes and long dashes for the plain ones; they are taken for what was meant.

/// Longer input is not a command.
const MAX_COMMAND_BYTES: usize = 16 << 10;

/// What stands before the name of a command where an agent has one of that name.
pub const PREFIX: &str = "herma-";
/// The same, where an agent puts the name of a plugin before those of its commands.
const OF_PLUGIN: &str = "herma:";
/// How the rest of a command's file begins, which nobody typed.
pub(crate) const ASIDE: &str = "(Herma answers this from a hook";

/// How the commands are written.
pub const USAGE: &[&str] = &[
    "/rollback                 list the checkpoints",
    "/rollback <N>             restore to checkpoint N",
    "/rollback <N> <file>...   restore these files from checkpoint N",
    "/rollback <N> --all       undo edits made by hand, too",
    "/rollback diff <N>        preview changes since checkpoint N",
    "/rollback undo            undo the last restore",
    "/rollback redo            repeat what was undone",
    "/diff                     changes since the newest checkpoint",
    "/diff <N>                 changes since checkpoint N",
    "/diff session             what this session changed",
    "/undo                     undo the last prompt of this session",
    "/undo <N>                 undo change N",
    "/redo                     bring back what was undone",
    "/timeline                 what this session did",
    "",
    "N is a number of the list, the beginning of an id, a name, or @-2.",
    "A file with blanks in its name is written in quotes.",
];

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The list of checkpoints.
    List,
    /// To go back to a checkpoint.
    Restore {
        /// The checkpoint, as it was written.
        checkpoint: String,
        /// Only these files.
        files: Vec<String>,
        /// Edits made by hand, too.
        all: bool,
    },
    /// What changed since a checkpoint; `None`: since the newest one.
    Diff(Option<String>),
    /// `/rollback diff`, and it is not said since when.
    DiffWithoutCheckpoint,
    /// What the session changed.
    SessionDiff,
    /// The last restore undone.
    Undo,
    /// What was undone, again.
    Redo,
    /// The last prompt of the session undone, or the change with this number.
    UndoLast(Option<u64>),
    /// What was undone last, again.
    RedoLast,
    /// What the session did.
    Timeline,
    /// Something else: it is not understood.
    Unknown,
}

/// Takes apart what was typed.
pub fn parse(text: &str) -> Request {
    if text.len() > MAX_COMMAND_BYTES {
        return Request::Unknown;
    }
    let Some(words) = split(text) else { return Request::Unknown };
    let words: Vec<Word> = words;
    let Some((command, rest)) = words.split_first() else { return Request::Unknown };
    // In a group, a command says which program it is for: `/rollback@somebot`.
    let name = command.text.split('@').next().unwrap_or_default();
    match (without_prefix(name.trim_start_matches('/')), rest) {
        ("rollback", rest) => rollback(rest),
        ("diff", rest) => diff(rest),
        ("undo", []) => Request::UndoLast(None),
        ("undo", [change]) => {
            let change = change.text.trim_start_matches('#').parse().ok();
            change.map_or(Request::Unknown, |change| Request::UndoLast(Some(change)))
        }
        ("redo", []) => Request::RedoLast,
        ("timeline", []) => Request::Timeline,
        _ => Request::Unknown,
    }
}

/// Where an agent has a command of that name itself, ours has a longer one.
fn without_prefix(name: &str) -> &str {
    let mut prefixes = [PREFIX, OF_PLUGIN].into_iter();
    prefixes.find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// The command that a prompt is, if it is one of those that go back: as it was typed, or as the agent filled in a file of
/// `agents/command_file.rs`.
pub fn typed(prompt: &str) -> Option<&str> {
    let (line, rest) = prompt.trim().split_once('\n').unwrap_or((prompt.trim(), ""));
    let line = line.trim();
    let name = line.split_whitespace().next()?.strip_prefix('/')?;
    let goes_back = ["undo", "redo", "rollback", "timeline"].contains(&without_prefix(name));
    let is_filled_in = rest.trim_start().starts_with(ASIDE);
    // "/undo the button" may be meant for the model.
    let is_meant = without_prefix(name) != name || parse(line) != Request::Unknown;
    let is_all = rest.trim().is_empty() && is_meant;
    (goes_back && (is_filled_in || is_all)).then_some(line)
}

fn rollback(words: &[Word]) -> Request {
    let Some((first, rest)) = words.split_first() else { return Request::List };
    match first.bare() {
        "diff" => match rest {
            [] => Request::DiffWithoutCheckpoint,
            [checkpoint] => Request::Diff(Some(checkpoint.text.clone())),
            _ => Request::Unknown,
        },
        "undo" if rest.is_empty() => Request::Undo,
        "redo" if rest.is_empty() => Request::Redo,
        "list" if rest.is_empty() => Request::List,
        "help" if rest.is_empty() => Request::Unknown,
        _ => restore(words),
    }
}

/// The checkpoint is the first word that is no option; the others are files.
fn restore(words: &[Word]) -> Request {
    let mut named = Vec::new();
    let mut all = false;
    let mut only_files = false;
    for word in words {
        match word.bare() {
            "--" if !only_files => only_files = true,
            "--all" | "--force" if !only_files => all = true,
            option if option.starts_with("--") && !only_files => return Request::Unknown,
            _ => named.push(word.text.clone()),
        }
    }
    // A name that is empty, as of a variable nobody set, must not become the whole project.
    if named.is_empty() || named.iter().any(String::is_empty) {
        return Request::Unknown;
    }
    let checkpoint = named.remove(0);
    Request::Restore { checkpoint, files: named, all }
}

fn diff(words: &[Word]) -> Request {
    match words {
        [] => Request::Diff(None),
        [word] if word.bare() == "session" => Request::SessionDiff,
        [word] if !word.text.starts_with('-') || is_number(&word.text) => {
            Request::Diff(Some(word.text.clone()))
        }
        _ => Request::Unknown,
    }
}

/// A number as Hermes takes it: a sign, digits, and single underscores between them. `None` if it is none;
/// what does not fit is as good as any number that is too large.
pub fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let groups = digits.split('_');
    let is_group = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    if !groups.clone().all(is_group) {
        return None;
    }
    let digits: String = groups.collect();
    let value = digits.parse::<i64>().unwrap_or(i64::MAX);
    Some(if text.starts_with('-') { -value } else { value })
}

fn is_number(text: &str) -> bool {
    number(text).is_some()
}

/// One word, and whether any of it was quoted: then it is no keyword.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    text: String,
    is_quoted: bool,
}

impl Word {
    /// The word as a keyword; what was quoted is none.
    fn bare(&self) -> &str {
        if self.is_quoted { "" } else { &self.text }
    }
}

/// Splits as a shell does; `None` if a quote is not closed.
fn split(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        if next.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let current = word.get_or_insert_default();
        match next {
            '\'' => {
                current.is_quoted = true;
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => current.text.push(c),
                    }
                }
            }
            '"' | '“' | '”' | '„' => {
                current.is_quoted = true;
                loop {
                    match rest.next()? {
                        '"' | '“' | '”' => break,
                        '\\' if matches!(rest.peek(), Some('"' | '\\')) => {
                            current.text.push(rest.next()?);
                        }
                        c => current.text.push(c),
                    }
                }
            }
            '\\' => {
                current.is_quoted = true;
                current.text.push(rest.next()?);
            }
            '—' if current.text.is_empty() => current.text.push_str("--"),
            c => current.text.push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn restore_of(checkpoint: &str, files: &[&str], all: bool) -> Request {
        Request::Restore {
            checkpoint: checkpoint.to_owned(),
            files: files.iter().map(ToString::to_string).collect(),
            all,
        }
    }

    #[test]
    fn a_prompt_is_a_command_only_if_that_is_all_it_is() {
        for command in [
            "/undo",
            "/undo 13",
            "/herma-undo",
            "/rollback 2 a.txt",
            "/timeline",
            "/herma-undo x y",
        ] {
            assert_eq!(typed(command), Some(command));
            let filled_in = format!("{command} \n\n{ASIDE}, and so on.)\n");
            assert_eq!(typed(&filled_in), Some(command));
            assert_eq!(typed(&format!("{command}\nand then go on")), None);
        }
        for other in ["", "undo", "/undo the button", "/diff", "/undone", "please /undo", "/"] {
            assert_eq!(typed(other), None, "{other}");
        }
    }

    #[test]
    fn the_commands_of_hermes_and_ours_are_understood() {
        let since = |text: &str| Request::Diff(Some(text.to_owned()));
        for (text, expected) in [
            ("/rollback", Request::List),
            ("  /rollback  ", Request::List),
            ("rollback", Request::List),
            ("/rollback list", Request::List),
            ("/rollback@herma_bot 2", restore_of("2", &[], false)),
            ("/rollback 1", restore_of("1", &[], false)),
            ("/rollback 7f2c1ab", restore_of("7f2c1ab", &[], false)),
            ("/rollback @-2", restore_of("@-2", &[], false)),
            ("/rollback -1", restore_of("-1", &[], false)),
            ("/rollback before-refactor", restore_of("before-refactor", &[], false)),
            ("/rollback 2 src/a.rs", restore_of("2", &["src/a.rs"], false)),
            ("/rollback 2 a b", restore_of("2", &["a", "b"], false)),
            ("/rollback 2 --all", restore_of("2", &[], true)),
            ("/rollback --all 2 a", restore_of("2", &["a"], true)),
            ("/rollback 2 —all", restore_of("2", &[], true)),
            ("/rollback 2 -- --all", restore_of("2", &["--all"], false)),
            ("/rollback 2 '--all'", restore_of("2", &["--all"], false)),
            ("/rollback 'undo'", restore_of("undo", &[], false)),
            ("/rollback diff", Request::DiffWithoutCheckpoint),
            ("/rollback diff 2", since("2")),
            ("/rollback diff @-2", since("@-2")),
            ("/rollback undo", Request::Undo),
            ("/rollback redo", Request::Redo),
            ("/undo", Request::UndoLast(None)),
            ("/herma-undo 13", Request::UndoLast(Some(13))),
            ("/undo #13", Request::UndoLast(Some(13))),
            ("/undo a.txt", Request::Unknown),
            ("/redo", Request::RedoLast),
            ("/herma-timeline", Request::Timeline),
            ("/diff", Request::Diff(None)),
            ("/diff 3", since("3")),
            ("/diff -1", since("-1")),
            ("/diff session", Request::SessionDiff),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn other_forms_are_not_guessed_at() {
        for text in [
            "",
            "/",
            "/roll",
            "/rollback help",
            "/rollback --al 2",
            "/rollback --all",
            "/rollback diff 1 2",
            "/rollback 1 'a",
            "/rollback 1 ''",
            "/rollback 1 a \"\"",
            "/rollback ''",
            "/rollback 1 \"a",
            "/rollback 1 a\\",
            "/diff staged all",
            "/diff --all",
        ] {
            assert_eq!(parse(text), Request::Unknown, "{text}");
        }
        let long = format!("/rollback {}", "a".repeat(MAX_COMMAND_BYTES));
        assert_eq!(parse(&long), Request::Unknown);
    }

    #[test]
    fn quotes_are_those_of_a_shell_and_of_a_phone() {
        for (text, file) in [
            ("/rollback 1 \"a b\"", "a b"),
            ("/rollback 1 'a \"b'", "a \"b"),
            ("/rollback 1 a\\ b", "a b"),
            ("/rollback 1 \"a\\\"b\\\\c\\d\"", "a\"b\\c\\d"),
            ("/rollback 1 a' 'b", "a b"),
            ("/rollback 1 “a b”", "a b"),
            ("/rollback 1 it’s", "it’s"),
        ] {
            assert_eq!(parse(text), restore_of("1", &[file], false), "{text}");
        }
    }

    #[test]
    fn numbers_are_what_hermes_takes_for_them() {
        for (text, expected) in [
            ("1", Some(1)),
            ("+2", Some(2)),
            ("-3", Some(-3)),
            ("1_0", Some(10)),
            ("007", Some(7)),
            ("99999999999999999999", Some(i64::MAX)),
            ("", None),
            ("-", None),
            ("1_", None),
            ("1a", None),
            ("@-2", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_input_is_too_strange(text in any::<String>()) {
            parse(&text);
            parse(&format!("/rollback {text}"));
        }
    }
}
