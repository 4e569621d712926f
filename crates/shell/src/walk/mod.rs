//! Goes through a parsed command line as a shell would, without running anything.
//!
//! Any of its commands may run or not, so what the line can change is what all of them together can change. Only the
//! present directory depends on the order: after `cd a; …` the rest runs in `a`, or, if the `cd` failed, where it was.
//! Both are followed.
//!
//! `words` reads a word, `patterns` what its wildcards stand for, `process` is a program at work, and `programs` knows what
//! each does. They stand here together because a shell runs programs, and programs run shells.

mod patterns;
mod process;
pub(crate) mod programs;
mod words;

use std::collections::BTreeSet;

use bstr::BString;
use rable::{ListItem, ListOperator, Node, NodeKind};

use crate::Command;
use crate::effects::{ChangeReason, Effect, Touch, When};
use crate::options::Argument;
use crate::paths::{LastLink, PathEntry, ProjectFiles, ResolvedPath, resolve};
use crate::walk::patterns::Word;
use crate::walk::process::Process;

/// Longer text is not parsed.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// More places than this where something may be nested are not parsed.
const MAX_NESTING: usize = 48;
/// More operators than this are not parsed: the parser nests lists and sums.
const MAX_OPERATORS: usize = 384;
/// A program that starts a program that starts a shell is not followed further.
const MAX_DEPTH: usize = 12;
/// No text is begun after so many commands: directories and shells within shells multiply.
const MAX_COMMANDS: usize = 20_000;
/// More possible directories than this are not followed.
const MAX_DIRECTORIES: usize = 8;
/// Names all patterns of a command line together may look at.
const MAX_NAMES_TO_MATCH: usize = 100_000;

const NO_FILES: [&[u8]; 5] =
    [b"/dev/null", b"/dev/stdout", b"/dev/stderr", b"/dev/tty", b"/dev/zero"];
const WRITES_WHERE: &str = "the file it writes to is known only when it runs";
const RUNS_WHERE: &str = "the directory it runs in is known only when it runs";

/// What is known on the way.
#[derive(Default)]
pub(crate) struct Walk<'f> {
    /// `None` if no project is looked at.
    pub(crate) files: Option<&'f dyn ProjectFiles>,
    pub(crate) touches: Vec<Touch>,
    /// The directories it may be in now; `None` if they are not known.
    directories: Option<Vec<BString>>,
    /// The directories it is still in if a `cd` since the last `;` failed.
    left: Vec<BString>,
    /// Functions that are surely defined here. What they do was looked at where they are defined.
    functions: BTreeSet<BString>,
    when: When,
    /// May what is followed now be passed over by `&&` or `||`?
    is_optional: bool,
    /// How many conditions, loops and functions are around, and how many of them around this shell.
    conditions: usize,
    conditions_outside: usize,
    depth: usize,
    /// Is something printed without end?
    pub(crate) is_endless: bool,
    /// Is there a bracket that may become the one of a subscript?
    pub(crate) has_bracket: bool,
    /// Is there quoted text that would run something if it was expanded?
    pub(crate) has_dormant: bool,
    pub(crate) names_to_match: usize,
}

impl<'f> Walk<'f> {
    /// Everything a command may do.
    pub(crate) fn over(
        command: &Command,
        directory: Option<BString>,
        files: Option<&'f dyn ProjectFiles>,
    ) -> Vec<Touch> {
        let mut walk = Self {
            files,
            directories: directory.map(|directory| vec![directory]),
            names_to_match: MAX_NAMES_TO_MATCH,
            ..Self::default()
        };
        match command {
            Command::Text(text) => walk.text(text),
            Command::Arguments(words) => {
                let words: Vec<Argument> = words.iter().cloned().map(Some).collect();
                walk.program(|_, _| words.clone());
            }
        }
        walk.touches
    }

    /// Notes something that may happen; writing to the terminal or to nowhere is nothing.
    pub(crate) fn touch(
        &mut self,
        effect: Effect,
        reason: ChangeReason,
        program: BString,
        directory: Option<BString>,
    ) {
        if matches!(&effect, Effect::Writes(path) | Effect::Prints(path) if is_no_file(path)) {
            return;
        }
        self.touches.push(Touch { effect, program, directory, when: self.when, reason });
    }

    fn anything(&mut self, program: &[u8], why: &'static str, reason: ChangeReason) {
        self.touch(Effect::Anything(why), reason, program.into(), None);
    }

    pub(crate) fn not_understood(&mut self) {
        let why = "a part of this command line is not understood";
        self.anything(b"sh", why, ChangeReason::NotUnderstood);
    }

    fn too_intricate(&mut self) {
        let why = ChangeReason::TooIntricate.text();
        self.anything(b"sh", why, ChangeReason::TooIntricate);
    }

    /// Was anything changed since there were so many touches?
    pub(crate) fn has_changed_since(&self, count: usize) -> bool {
        self.touches[count..].iter().any(Touch::changes)
    }

    /// Follows text of the present shell.
    pub(crate) fn text(&mut self, text: &[u8]) {
        let Ok(text) = std::str::from_utf8(text) else { return self.not_understood() };
        if !is_parsable(text) || self.when.command > MAX_COMMANDS {
            return self.too_intricate();
        }
        match rable::parse(text, false) {
            Ok(nodes) if !has_open_subscript(text) => self.deeper(|walk| {
                for node in &nodes {
                    walk.item(node);
                    walk.settle();
                }
            }),
            _ => self.not_understood(),
        }
    }

    /// Follows text for a shell of its own.
    pub(crate) fn shell(&mut self, text: &[u8], directory: Option<BString>) {
        self.apart(|walk| {
            walk.directories = directory.map(|directory| vec![directory]);
            walk.functions.clear();
            let outside = std::mem::replace(&mut walk.conditions_outside, walk.conditions);
            walk.text(text);
            walk.conditions_outside = outside;
        });
    }

    /// Follows what is within something else.
    pub(crate) fn deeper(&mut self, follow: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            return self.too_intricate();
        }
        self.depth += 1;
        follow(self);
        self.depth -= 1;
    }

    /// Follows something in a shell of its own: what it does to the present directory ends with it.
    pub(crate) fn apart(&mut self, follow: impl FnOnce(&mut Self)) {
        let directories = self.directories.clone();
        let functions = self.functions.clone();
        let left = std::mem::take(&mut self.left);
        let was_optional = std::mem::take(&mut self.is_optional);
        follow(self);
        self.is_optional = was_optional;
        self.directories = directories;
        self.functions = functions;
        self.left = left;
    }

    /// Follows something that goes on beside what comes after it.
    pub(crate) fn in_background(&mut self, follow: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.when.in_background, true);
        self.apart(follow);
        self.when.in_background = before;
    }

    /// Follows something that may run or not, or several times.
    fn conditional(&mut self, follow: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.when.in_loop, true);
        let functions = self.functions.clone();
        self.conditions += 1;
        follow(self);
        self.conditions -= 1;
        self.functions = functions;
        self.when.in_loop = before;
    }

    /// What a loop does the second time depends on where the first time led.
    fn repeated(&mut self, follow: impl FnOnce(&mut Self)) {
        let (was_known, count) = (self.directories.is_some(), self.touches.len());
        self.conditional(follow);
        if was_known && self.directories.is_none() && self.has_changed_since(count) {
            self.when.command += 1;
            self.anything(b"sh", RUNS_WHERE, ChangeReason::NotKnown);
        }
    }

    /// Follows one command of a list. If something in it prints without end, so may what it writes.
    pub(crate) fn item(&mut self, node: &Node) {
        if let NodeKind::List { items } = &node.kind {
            return self.list(items);
        }
        let count = self.touches.len();
        let was_endless = std::mem::take(&mut self.is_endless);
        self.node(node);
        if self.is_endless {
            for touch in &mut self.touches[count..] {
                if let Effect::Prints(path) = &touch.effect {
                    touch.effect = Effect::Grows(path.clone(), None);
                }
            }
        }
        self.is_endless |= was_endless;
    }

    /// What follows `&&` or `||` may be passed over: the directory and the functions are then as they were.
    fn list(&mut self, items: &[ListItem]) {
        let was_optional = self.is_optional;
        let mut before = None;
        for item in items {
            let follows = matches!(before, Some(ListOperator::And | ListOperator::Or));
            let functions = follows.then(|| self.functions.clone());
            self.is_optional = was_optional || follows;
            if item.operator == Some(ListOperator::Background) {
                self.in_background(|walk| walk.item(&item.command));
            } else {
                self.item(&item.command);
            }
            self.functions = functions.unwrap_or_else(|| std::mem::take(&mut self.functions));
            let goes_on = matches!(item.operator, Some(ListOperator::And) | None);
            if !goes_on || before == Some(ListOperator::Or) {
                self.settle();
            }
            before = item.operator;
        }
        self.is_optional = was_optional;
    }

    /// From here on a `cd` may have failed without keeping the rest from running.
    fn settle(&mut self) {
        let left = std::mem::take(&mut self.left);
        if let Some(directories) = &mut self.directories {
            directories.extend(left);
            directories.sort_unstable();
            directories.dedup();
            if directories.len() > MAX_DIRECTORIES {
                self.directories = None;
            }
        }
    }

    fn node(&mut self, node: &Node) {
        self.redirects(redirects_of(&node.kind));
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.simple(assignments, words, redirects);
            }
            NodeKind::Pipeline { commands, .. } => {
                let beside = self.when.beside;
                self.when.beside = beside.or(Some(self.when.command));
                for command in commands {
                    self.apart(|walk| walk.node(command));
                }
                self.when.beside = beside;
            }
            NodeKind::List { items } => self.list(items),
            NodeKind::Time { pipeline, .. } => self.node(pipeline),
            NodeKind::Negation { pipeline } => {
                self.node(pipeline);
                self.settle();
            }
            NodeKind::Coproc { command, .. } => self.in_background(|walk| walk.node(command)),
            NodeKind::Function { name, body } => self.function(name, body),
            NodeKind::Subshell { body, .. } => self.apart(|walk| walk.item(body)),
            NodeKind::BraceGroup { body, .. } => self.item(body),
            NodeKind::ConditionalExpr { body, .. } => self.condition(body),
            NodeKind::ArithmeticCommand { raw_content, .. } => self.expanded(raw_content),
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.compound(node),
        }
    }

    /// Follows a command whose parts may run or not.
    fn compound(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::If { condition, then_body, else_body, .. } => self.conditional(|walk| {
                walk.item(condition);
                walk.item(then_body);
                if let Some(body) = else_body {
                    walk.item(body);
                }
            }),
            NodeKind::While { condition, body, .. } | NodeKind::Until { condition, body, .. } => {
                self.repeated(|walk| {
                    walk.item(condition);
                    walk.item(body);
                });
            }
            NodeKind::For { var, words, body, .. } | NodeKind::Select { var, words, body, .. } => {
                self.sets(var);
                for word in words.iter().flatten() {
                    self.word(word);
                }
                self.repeated(|walk| walk.item(body));
            }
            NodeKind::ForArith { init, cond, incr, body, .. } => {
                for text in [init, cond, incr] {
                    self.expanded(text);
                }
                self.repeated(|walk| walk.item(body));
            }
            NodeKind::Case { word, patterns, .. } => {
                self.word(word);
                self.conditional(|walk| {
                    for pattern in patterns {
                        for word in &pattern.patterns {
                            walk.word(word);
                        }
                        if let Some(body) = &pattern.body {
                            walk.item(body);
                        }
                    }
                });
            }
            _ => self.not_understood(),
        }
    }

    /// What a function does is looked at here. Where it does it, only its callers know.
    fn function(&mut self, name: &str, body: &Node) {
        let count = self.touches.len();
        self.conditional(|walk| walk.node(body));
        if self.has_changed_since(count) {
            self.when.command += 1;
            self.anything(name.as_bytes(), RUNS_WHERE, ChangeReason::NotKnown);
        }
        self.functions.insert(name.into());
    }

    /// `[[ … ]]` changes nothing; what is in it may.
    fn condition(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::UnaryTest { operand, .. }
            | NodeKind::CondNot { operand }
            | NodeKind::CondParen { inner: operand } => self.condition(operand),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => {
                self.condition(left);
                self.condition(right);
            }
            NodeKind::CondTerm { value, .. } if value.contains("$(") => {
                self.apart(|walk| walk.text(format!(": {value}").as_bytes()));
            }
            NodeKind::CondTerm { value, .. } => {
                let is_quoted = value.contains(['\'', '"', '\\']);
                self.subscripts(value, if is_quoted { value } else { "" });
                self.expanded(&value.replace("${", ""));
            }
            _ => self.not_understood(),
        }
    }

    fn redirects(&mut self, redirects: &[Node]) {
        for redirect in redirects {
            self.when.command += 1;
            match &redirect.kind {
                NodeKind::Redirect { op, target, .. } => self.redirect(op, target),
                NodeKind::HereDoc { delimiter, content, quoted, .. } if !is_no_word(delimiter) => {
                    let is_dormant = *quoted || content.contains('\\');
                    self.subscripts(content, if is_dormant { content } else { "" });
                    if !quoted {
                        self.expanded(&content.replace("${", ""));
                    }
                }
                _ => self.not_understood(),
            }
        }
    }

    fn redirect(&mut self, operator: &str, target: &Node) {
        if matches!(&target.kind, NodeKind::Word { value, .. } if is_no_word(value)) {
            return self.not_understood();
        }
        let word = self.word(target);
        self.when.command += 1;
        if !operator.contains('>') || operator.ends_with("&-") {
            self.is_endless |= programs::is_endless_device(&word.text);
            return;
        }
        let is_descriptor = |text: &[u8]| {
            let digits = text.strip_suffix(b"-").unwrap_or(text);
            !text.is_empty() && digits.iter().all(u8::is_ascii_digit)
        };
        if operator == ">&" && word.as_literal().is_some_and(is_descriptor) {
            return;
        }
        for directory in self.possible() {
            let effect = match &self.expand(directory.as_ref(), &word)[..] {
                [Some(path)] => Effect::Prints(path.clone()),
                _ => Effect::Anything(WRITES_WHERE),
            };
            self.touch(effect, ChangeReason::WritesOutput, "sh".into(), directory);
        }
    }

    /// The directories to look from.
    fn possible(&self) -> Vec<Option<BString>> {
        match &self.directories {
            Some(directories) => directories.iter().cloned().map(Some).collect(),
            None => vec![None],
        }
    }

    fn simple(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        self.when.command += 1;
        for assignment in assignments {
            if let NodeKind::Word { value, .. } = &assignment.kind {
                self.sets(value.split(['=', '[', '+']).next().unwrap_or_default());
            }
            self.word(assignment);
        }
        let words: Vec<Word> = words.iter().map(|word| self.word(word)).collect();
        self.redirects(redirects);
        let Some((first, rest)) = words.split_first() else { return };
        match first.as_literal() {
            Some(name) if self.functions.contains(name) => {}
            Some(b"cd") => self.change_directory(rest),
            Some(b"pushd" | b"popd") => self.directories = None,
            Some(b"eval") => {
                let texts = rest.iter().map(Word::as_literal).collect::<Option<Vec<_>>>();
                match texts {
                    Some(texts) => self.text(&texts.join(&b' ')),
                    None => self.anything(b"eval", WRITES_WHERE, ChangeReason::NotKnown),
                }
            }
            name => {
                if name == Some(b"unset") {
                    self.functions.clear();
                }
                self.program(|walk, directory| {
                    let words = words.iter();
                    words.flat_map(|word| walk.expand(directory, word)).collect()
                });
            }
        }
    }

    /// Follows a program in every directory it may run in.
    fn program(&mut self, arguments: impl Fn(&mut Self, Option<&BString>) -> Vec<Argument>) {
        self.when.command += 1;
        for directory in self.possible() {
            let arguments = arguments(self, directory.as_ref());
            let mut process = Process { walk: self, directory, program: "sh".into() };
            process.runs(&arguments);
        }
    }

    fn sets(&mut self, variable: &str) {
        if !programs::is_harmless_variable(variable.as_bytes()) {
            let why = ChangeReason::SetsVariable.text();
            self.anything(variable.as_bytes(), why, ChangeReason::SetsVariable);
        }
    }

    fn change_directory(&mut self, arguments: &[Word]) {
        let target = match arguments {
            [word] => word.as_literal(),
            [dashes, word] if dashes.as_literal() == Some(b"--") => word.as_literal(),
            _ => None,
        };
        let is_sure = self.conditions == self.conditions_outside;
        let target = target.filter(|text| is_sure && !matches!(text, [] | [b'-', ..]));
        let directories = self.directories.take();
        let (Some(target), Some(directories), Some(files)) = (target, directories, self.files)
        else {
            return;
        };
        let mut entered = Vec::new();
        for directory in directories {
            let (place, links) = resolve(files, &directory, target, LastLink::Followed);
            // Shells keep the way they came in mind: after a link, `..` is not where it seems to be.
            if !links.is_empty() {
                return;
            }
            let is_there = matches!(place, ResolvedPath::Inside(_, PathEntry::Directory));
            entered.push(place.absolute(files));
            if !is_there || self.is_optional || self.has_changed_since(0) {
                self.left.push(directory);
            }
        }
        self.directories = Some(entered);
    }
}

/// What stands behind a command that holds others.
fn redirects_of(kind: &NodeKind) -> &[Node] {
    match kind {
        NodeKind::Subshell { redirects, .. }
        | NodeKind::BraceGroup { redirects, .. }
        | NodeKind::If { redirects, .. }
        | NodeKind::While { redirects, .. }
        | NodeKind::Until { redirects, .. }
        | NodeKind::For { redirects, .. }
        | NodeKind::Select { redirects, .. }
        | NodeKind::ForArith { redirects, .. }
        | NodeKind::ArithmeticCommand { redirects, .. }
        | NodeKind::Case { redirects, .. }
        | NodeKind::ConditionalExpr { redirects, .. } => redirects,
        _ => &[],
    }
}

/// Is it the terminal, nowhere, or a descriptor that was opened elsewhere?
fn is_no_file(path: &[u8]) -> bool {
    let descriptor = path.strip_prefix(b"/dev/fd/").unwrap_or(b"-");
    NO_FILES.contains(&path) || descriptor.iter().all(u8::is_ascii_digit)
}

/// Is this an operator or the end of a line? The parser takes them for the file that is named behind `<` or `>`, and
/// what follows for arguments, where a shell stops or goes on with another command.
fn is_no_word(token: &str) -> bool {
    let is_substitution = token.starts_with("<(") || token.starts_with(">(");
    let is_operator = token.starts_with([';', '&', '|', '<', '>', '(', ')', '\n']);
    token.is_empty() || is_operator && !is_substitution
}

/// May this text be given to the parser? Quotes are not regarded: what is in them may be parsed, too.
pub(crate) fn is_parsable(text: &str) -> bool {
    #[rustfmt::skip]
    const NESTING_WORDS: [&str; 12] = [
        "if", "elif", "while", "until", "for", "case", "select", "function", "coproc", "time", "do", "then",
    ];
    if text.len() > MAX_TEXT_BYTES || text.contains('\0') {
        return false;
    }
    let nesting = text.matches(['(', '{', '`', '[']);
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let words = words.filter(|word| NESTING_WORDS.contains(word));
    // The signs of arithmetic nest where there is any.
    let signs: &[u8] = if text.contains("((") { b";&|\n!+-*/%^<>=?:,~" } else { b";&|\n!" };
    let operators = text.bytes().filter(|byte| signs.contains(byte));
    nesting.count() + words.count() <= MAX_NESTING && operators.count() <= MAX_OPERATORS
}

/// Does a line end within what looks like a subscript? The parser reads on to its bracket, and takes the commands of the next
/// lines along as part of the word.
fn has_open_subscript(text: &str) -> bool {
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let open = line.rfind(']').map_or(line, |closed| &line[closed..]);
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_open = open.match_indices('[').any(|(at, _)| open[..at].ends_with(is_name));
        if is_open && lines.peek().is_some() {
            return true;
        }
    }
    false
}
