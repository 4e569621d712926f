//! The table of what an undo must do, `cases/undo.txt`, as values. The file says how to read it.
//!
//! A case is a history, a command, and what must come of it. Who plays the history and gives the command is up to each door: the engine,
//! the command line, MCP, and Python, which has a reader of its own (`test_undo_cases.py`).

use std::collections::BTreeMap;
use std::path::Path;

/// The files of a project by their names, each with its text.
pub type Files = BTreeMap<String, String>;

const TABLE: &str = include_str!("../cases/undo.txt");
/// Every file begins with so many lines.
const LINES: usize = 9;
/// So many cases are tried at once.
const AT_ONCE: usize = 4;

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub line: usize,
    /// As it is written there.
    pub text: String,
    /// What happened before.
    pub history: Vec<Act>,
    /// What is asked for, as it is typed.
    pub command: Vec<String>,
    /// The files that must be there afterwards.
    pub files: Files,
    /// The word for what came of it.
    pub outcome: String,
    /// The numbers that must be marked as undone afterwards, if that is said.
    pub marks: Option<Marks>,
}

/// Numbers that are marked, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// As undone.
    pub undone: Vec<u64>,
    /// As undone in part.
    pub in_part: Vec<u64>,
}

impl Marks {
    fn read(text: &str) -> Self {
        let words = text.split_whitespace().filter(|word| *word != "-");
        let (in_part, undone): (Vec<&str>, Vec<&str>) = words.partition(|word| word.ends_with('?'));
        let numbers = |words: Vec<&str>| {
            let number = |word: &str| word.trim_end_matches('?').parse().expect("a number");
            words.into_iter().map(number).collect()
        };
        Self { undone: numbers(undone), in_part: numbers(in_part) }
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Act {
    /// Somebody saves.
    Save,
    /// A day and two hours go by.
    Day,
    /// Somebody edits files by hand.
    Hand(Vec<Edit>),
    /// A prompt, or a call without one.
    Work(Work),
    /// Somebody undoes, redoes, restores or drops something.
    Command(Vec<String>),
}

/// What an agent does in answer to a prompt.
#[derive(Clone, Debug)]
pub struct Work {
    /// The conversation; none for a call without a prompt.
    pub session: Option<String>,
    /// What it begins with.
    pub begins: Begins,
    /// Its tool calls.
    pub calls: Vec<ToolCall>,
    /// What is over with it.
    pub ends: Ends,
}

/// What an agent's work begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// A new prompt.
    Prompt,
    /// Another call for the prompt before.
    Call,
    /// More of the call that is under way.
    InCall,
}

/// What is over after an agent's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The prompt.
    Prompt,
    /// All of its calls.
    Call,
    /// The last call is still under way.
    InCall,
}

/// A tool call.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// What it edits.
    pub edits: Vec<Edit>,
    /// Does an agent of the agent make it?
    pub is_of_sub_agent: bool,
}

/// An edit of one file.
#[derive(Clone, Debug)]
pub struct Edit {
    what: String,
    /// Which edit of this place it is, from 1.
    nth: usize,
}

impl Work {
    /// Who works: `claude2` is another conversation of `claude`.
    pub fn agent(&self) -> Option<&str> {
        Some(self.session.as_deref()?.trim_end_matches(|c: char| c.is_ascii_digit()))
    }
}

impl Case {
    /// A case as a line of the table would tell it.
    pub fn read(text: &str) -> Self {
        Reader::default().case(0, text)
    }

    /// So many days have to go by before the present.
    pub fn days(&self) -> usize {
        self.history.iter().filter(|act| matches!(act, Act::Day)).count()
    }
}

/// The files as every history begins.
pub fn first_files() -> Files {
    ["a", "b", "c"].map(|name| (name.to_owned(), first_text(name))).into()
}

fn first_text(name: &str) -> String {
    (1..=LINES).map(|line| first_line(name, line)).collect()
}

fn first_line(name: &str, line: usize) -> String {
    format!("{name} {line}\n")
}

impl Edit {
    /// Makes the edit.
    pub fn apply(&self, files: &mut Files) {
        let (what, mark) = (&*self.what, self.mark());
        if let Some(name) = what.strip_prefix('-') {
            files.remove(name);
        } else if let Some(name) = what.strip_prefix('+') {
            files.insert(name.to_owned(), first_text(name));
        } else if let Some((from, to)) = what.split_once('>') {
            let text = files.remove(from).unwrap_or_default();
            files.insert(to.to_owned(), text);
        } else if let Some(name) = what.strip_suffix('*') {
            let lines = (1..=LINES).map(|line| format!("{line}: {mark}"));
            files.insert(name.to_owned(), lines.collect());
        } else {
            self.set_line(files, mark);
        }
    }

    fn mark(&self) -> String {
        format!("{}.{}\n", self.what, self.nth)
    }

    fn set_line(&self, files: &mut Files, text: String) {
        let (name, line) = self.what.split_at(1);
        let line: usize = line.parse().unwrap_or_else(|_| panic!("{} is no edit", self.what));
        let file = files.entry(name.to_owned()).or_default();
        let mut lines: Vec<String> = file.split_inclusive('\n').map(str::to_owned).collect();
        lines[line - 1] = text;
        *file = lines.concat();
    }

    /// Puts both versions of its line between markers.
    fn dispute(&self, files: &mut Files) {
        let (name, line) = self.what.split_at(1);
        let before = first_line(name, line.parse().unwrap_or(0));
        let now = self.mark();
        self.set_line(files, format!("<<<<<<< now\n{now}=======\n{before}>>>>>>> undone\n"));
    }
}

/// Tries all cases, several at once, and fails with what `tried` finds wrong.
#[track_caller]
pub fn try_all(tried: impl Fn(&Case) -> Option<String> + Sync) {
    let cases = all();
    let parts = cases.chunks(cases.len().div_ceil(AT_ONCE));
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let tried = &tried;
        let threads = parts.map(|part| {
            scope.spawn(move || part.iter().filter_map(tried).collect::<Vec<String>>())
        });
        let threads: Vec<_> = threads.collect();
        let wrong = threads.into_iter().map(|thread| thread.join().expect("no case panics"));
        wrong.flatten().collect()
    });
    assert!(wrong.is_empty(), "{} cases of undo.txt\n{}", wrong.len(), wrong.join("\n"));
}

/// All cases, in their order.
pub fn all() -> Vec<Case> {
    let lines = TABLE.lines().enumerate();
    let rows = lines.filter(|(_, text)| text.contains('|') && !text.starts_with('#'));
    rows.map(|(index, text)| Reader::default().case(index + 1, text)).collect()
}

/// The files there are in a directory.
pub fn read_files(root: &Path) -> Files {
    let entries = std::fs::read_dir(root).expect("the project is there");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("it can be listed");
        let text = std::fs::read_to_string(entry.path()).expect("it is text");
        (entry.file_name().into_string().expect("a short name"), text)
    };
    entries.map(read).collect()
}

/// Makes a directory hold these files and no others.
pub fn write_files(root: &Path, files: &Files) {
    let before = read_files(root);
    for name in before.keys().filter(|name| !files.contains_key(*name)) {
        std::fs::remove_file(root.join(name)).expect("it was there");
    }
    for (name, text) in files.iter().filter(|(name, text)| before.get(*name) != Some(text)) {
        std::fs::write(root.join(name), text).expect("it can be written");
    }
}

/// Edits the files in a directory.
pub fn edit(root: &Path, edits: &[Edit]) {
    let mut files = read_files(root);
    for edit in edits {
        edit.apply(&mut files);
    }
    write_files(root, &files);
}

/// Reads one line, and counts the edits of each place in it.
#[derive(Default)]
struct Reader {
    edits: Vec<Edit>,
}

impl Reader {
    fn case(mut self, line: usize, text: &str) -> Case {
        let columns: Vec<&str> = text.split('|').map(str::trim).collect();
        let [history, command, left, outcome, rest @ ..] = &columns[..] else {
            panic!("line {line}: {text:?} has too few columns");
        };
        let history = acts(history).into_iter().map(|act| self.act(&act)).collect();
        let marks = rest.first().map(|text| Marks::read(text));
        Case {
            line,
            text: text.to_owned(),
            history,
            command: command.split_whitespace().map(str::to_owned).collect(),
            files: self.left(left),
            outcome: (*outcome).to_owned(),
            marks,
        }
    }

    fn act(&mut self, text: &str) -> Act {
        if let Some(command) = text.strip_prefix('<') {
            let command = command.trim_end_matches('>').split_whitespace();
            return Act::Command(command.map(str::to_owned).collect());
        }
        let Some((who, rest)) = text.split_once('[') else {
            return match text {
                "save" => Act::Save,
                "day" => Act::Day,
                "undo" | "redo" => Act::Command(vec![text.to_owned()]),
                _ => panic!("{text:?} is no act"),
            };
        };
        let inner = rest.trim_end_matches(']').trim();
        if who == "hand" {
            return Act::Hand(self.edits(inner));
        }
        let (begins, inner) = begins(inner);
        let (ends, inner) = ends(inner);
        let calls = inner.split(';').map(|call| {
            let call = call.trim();
            let own = call.trim_matches(['(', ')']);
            ToolCall { edits: self.edits(own), is_of_sub_agent: own != call }
        });
        let calls = calls.collect();
        let session = (who != "step").then(|| who.to_owned());
        Act::Work(Work { session, begins, calls, ends })
    }

    fn edits(&mut self, text: &str) -> Vec<Edit> {
        let edit = |what: &str| {
            let before = self.edits.iter().filter(|edit| edit.what == what).count();
            let edit = Edit { what: what.to_owned(), nth: before + 1 };
            self.edits.push(edit.clone());
            edit
        };
        text.split_whitespace().filter(|word| *word != "nothing").map(edit).collect()
    }

    /// The files with those edits that are left.
    fn left(&self, text: &str) -> Files {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut files = first_files();
        for edit in &self.edits {
            let of_place = self.edits.iter().filter(|other| other.what == edit.what).count();
            let is_named = |word: &&&str| match word.split_once('.') {
                Some((what, nth)) => what == edit.what && nth == edit.nth.to_string(),
                None => word.trim_end_matches('?') == edit.what && edit.nth == of_place,
            };
            match words.iter().find(is_named) {
                Some(word) if word.ends_with('?') => edit.dispute(&mut files),
                Some(_) => edit.apply(&mut files),
                None if words == ["all"] => edit.apply(&mut files),
                None => {}
            }
        }
        let is_known = |word: &&str| {
            let place = word.split_once('.').map_or(*word, |(place, _)| place);
            matches!(place, "all" | "none")
                || self.edits.iter().any(|edit| edit.what == place.trim_end_matches('?'))
        };
        assert!(!words.is_empty() && words.iter().all(is_known), "{text:?}");
        files
    }
}

fn begins(text: &str) -> (Begins, &str) {
    match (text.strip_prefix("..."), text.strip_prefix(';')) {
        (Some(rest), _) => (Begins::InCall, rest),
        (None, Some(rest)) => (Begins::Call, rest),
        (None, None) => (Begins::Prompt, text),
    }
}

fn ends(text: &str) -> (Ends, &str) {
    match (text.strip_suffix("..."), text.strip_suffix(';')) {
        (Some(rest), _) => (Ends::InCall, rest),
        (None, Some(rest)) => (Ends::Call, rest),
        (None, None) => (Ends::Prompt, text),
    }
}

/// The words of a history: what is in brackets is one word.
fn acts(text: &str) -> Vec<String> {
    let (mut acts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '[' | '<' => depth += 1,
            ']' | '>' if depth > 0 => depth -= i32::from(c == ']' || acts_is_command(&acts)),
            ' ' if depth == 0 => {
                acts.push(String::new());
                continue;
            }
            _ => {}
        }
        acts.last_mut().expect("there is one").push(c);
    }
    acts.retain(|act| !act.is_empty());
    acts
}

/// In the brackets of an agent, `a>d` is a file that moves.
fn acts_is_command(acts: &[String]) -> bool {
    acts.last().is_some_and(|act| act.starts_with('<'))
}
