//! Does a command line only read, or may it change files? A label, for reasons and reports.
//!
//! Nothing depends on the label being right: hooks save before every tool that may change files, whatever the
//! command looks like. It errs to one side only. A command is said to read if it is understood as a whole and
//! every program in it is known not to change anything with these arguments; everything else may change files.
//!
//! The text is parsed as bash (`rable`), and what the programs do is asked of the table behind `herma can-undo`
//! ([`herma_core::coverage`]). Words that only the shell can know are unknown to the table, too.
//!
//! # Limits
//!
//! * The parser follows nesting on its stack, and substitutions within substitutions take it long. Text that is
//!   long, or could be nested deeply going by its characters, is not parsed and may change files.
//! * A variable that comes from outside, or is put together from single characters, may hold a subscript that runs
//!   a command where the variable is used as a number.
//! * Aliases, functions of the user's own shell and settings of git are not seen.

mod particular;
mod walk;
mod words;

use bstr::BString;

use walk::Walk;

/// Longer text is not parsed.
const LONGEST: usize = 64 << 10;
/// More places than this where something may be nested are not parsed.
const MOST_NESTING: usize = 48;
/// More operators than this are not parsed: the parser nests lists and sums.
const MOST_OPERATORS: usize = 384;

/// What a command line may do to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    ReadsOnly,
    /// It may change files.
    MayChangeFiles(Destructive),
}

/// Why a command may change files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destructive {
    /// The program, as far as one is to be named; cut to 64 characters.
    pub program: String,
    /// What about it.
    pub why: Why,
}

/// Why a command may change files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// That is what the program is for.
    ChangesFiles,
    /// Its output goes to a file.
    WritesOutput,
    /// What the program does with these arguments is not known.
    NotKnown,
    /// It acts on something that is no file of this machine, or as another user.
    ActsElsewhere,
    /// It sets a variable that may change what programs do.
    SetsVariable,
    /// The text is not understood.
    NotUnderstood,
    /// The text is too long, or too nested, to be looked at.
    TooIntricate,
}

impl Effect {
    /// `reads-only` or `may-change`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::ReadsOnly => "reads-only",
            Self::MayChangeFiles(_) => "may-change",
        }
    }

    /// May it change files?
    pub const fn is_destructive(&self) -> bool {
        matches!(self, Self::MayChangeFiles(_))
    }
}

impl Why {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ChangesFiles => "changes-files",
            Self::WritesOutput => "writes-output",
            Self::NotKnown => "not-known",
            Self::ActsElsewhere => "acts-elsewhere",
            Self::SetsVariable => "sets-variable",
            Self::NotUnderstood => "not-understood",
            Self::TooIntricate => "too-intricate",
        }
    }
}

/// For a person.
impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ChangesFiles => "it changes files",
            Self::WritesOutput => "its output goes to a file",
            Self::NotKnown => "what it does with these arguments is not known",
            Self::ActsElsewhere => "it acts on more than the files here",
            Self::SetsVariable => "it sets a variable that may change what programs do",
            Self::NotUnderstood => "a part of it is not understood",
            Self::TooIntricate => "it is too long or too nested to be looked at",
        })
    }
}

impl Destructive {
    fn new(program: &str, why: Why) -> Self {
        Self {
            program: program.chars().take(64).collect(),
            why,
        }
    }
}

/// What text for a shell may do to files.
pub fn classify(text: &str) -> Effect {
    effect(Walk::default().text(text))
}

/// What a program with its arguments may do to files; no shell is involved.
pub fn classify_arguments(arguments: &[BString]) -> Effect {
    let arguments: Vec<_> = arguments.iter().cloned().map(Some).collect();
    effect(Walk::default().program(&arguments))
}

fn effect(found: Result<(), Destructive>) -> Effect {
    match found {
        Ok(()) => Effect::ReadsOnly,
        Err(destructive) => Effect::MayChangeFiles(destructive),
    }
}

/// May this text be given to the parser? Quotes are not regarded: what is in them may be parsed, too.
fn is_parsable(text: &str) -> bool {
    #[rustfmt::skip]
    const NESTING_WORDS: [&str; 12] = [
        "if", "elif", "while", "until", "for", "case", "select", "function", "coproc", "time", "do", "then",
    ];
    if text.len() > LONGEST || text.contains('\0') {
        return false;
    }
    let nesting = text
        .bytes()
        .filter(|byte| matches!(byte, b'(' | b'{' | b'`' | b'['));
    let is_word_end = |character: char| !character.is_ascii_alphanumeric();
    let words = text
        .split(is_word_end)
        .filter(|word| NESTING_WORDS.contains(word));
    // The signs of arithmetic nest where there is any.
    let signs: &[u8] = if text.contains("((") {
        b";&|\n!+-*/%^<>=?:,~"
    } else {
        b";&|\n!"
    };
    let operators = text.bytes().filter(|byte| signs.contains(byte));
    nesting.count() + words.count() <= MOST_NESTING && operators.count() <= MOST_OPERATORS
}

/// Does a line end within what looks like a subscript? The parser reads on to its bracket, and takes the commands of the next
/// lines along as part of the word.
fn has_open_subscript(text: &str) -> bool {
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let open = line.rfind(']').map_or(line, |closed| &line[closed..]);
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_open = open
            .match_indices('[')
            .any(|(at, _)| open[..at].ends_with(is_name));
        if is_open && lines.peek().is_some() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod probes;
#[cfg(test)]
mod tests;
