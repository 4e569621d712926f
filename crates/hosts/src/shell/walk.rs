//! Goes through a parsed command line until something in it may change files.

use std::collections::BTreeSet;

use bstr::BString;
use herma_core::coverage::Touches;
use herma_core::coverage::may_be_set;
use herma_core::coverage::touches;
use herma_core::coverage::touches_by_writing;
use rable::Node;
use rable::NodeKind;

use super::Destructive;
use super::Why;
use super::has_open_subscript;
use super::is_parsable;
use super::particular;
use super::words::Argument;
use super::words::expanded;
use super::words::not_understood;

/// A shell in a shell in a shell is not followed further.
const DEEPEST: usize = 6;

/// What is known on the way. Every command may run or not, so the first one that may change files decides.
#[derive(Default)]
pub(super) struct Walk {
    /// Functions the text defines. What they do was looked at where they are defined.
    functions: BTreeSet<String>,
    depth: usize,
    /// Is there a bracket that may become the one of a subscript?
    pub(super) has_bracket: bool,
    /// Is there quoted text that would run something if it was expanded?
    pub(super) has_dormant: bool,
}

type Found = Result<(), Destructive>;

impl Walk {
    /// Follows text for a shell.
    pub(super) fn text(&mut self, text: &str) -> Found {
        if !is_parsable(text) {
            return Err(Destructive::new("sh", Why::TooIntricate));
        }
        if has_open_subscript(text) {
            return Err(not_understood());
        }
        let nodes = rable::parse(text, false).map_err(|_| not_understood())?;
        nodes.iter().try_for_each(|node| self.node(node))
    }

    /// Follows text within text.
    pub(super) fn deeper(&mut self, text: &str) -> Found {
        self.within(|walk| walk.text(text))
    }

    fn within(&mut self, follow: impl FnOnce(&mut Self) -> Found) -> Found {
        if self.depth >= DEEPEST {
            return Err(Destructive::new("sh", Why::TooIntricate));
        }
        self.depth += 1;
        let found = follow(self);
        self.depth -= 1;
        found
    }

    /// Follows a command.
    pub(super) fn node(&mut self, node: &Node) -> Found {
        match &node.kind {
            NodeKind::Command {
                assignments,
                words,
                redirects,
            } => self.command(assignments, words, redirects),
            NodeKind::Pipeline { commands, .. } => self.all(commands),
            NodeKind::List { items } => items.iter().try_for_each(|item| self.node(&item.command)),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
                self.node(pipeline)
            }
            NodeKind::Coproc { command, .. } => self.node(command),
            NodeKind::Function { name, body } => {
                self.functions.insert(name.clone());
                self.node(body)
            }
            NodeKind::Empty | NodeKind::Comment { .. } => Ok(()),
            _ => self.compound(node),
        }
    }

    /// Follows a command that holds others.
    fn compound(&mut self, node: &Node) -> Found {
        match &node.kind {
            NodeKind::Subshell { body, redirects } | NodeKind::BraceGroup { body, redirects } => {
                self.redirects(redirects)?;
                self.node(body)
            }
            NodeKind::If {
                condition,
                then_body,
                else_body,
                redirects,
            } => {
                self.redirects(redirects)?;
                self.node(condition)?;
                self.node(then_body)?;
                else_body.iter().try_for_each(|body| self.node(body))
            }
            NodeKind::While {
                condition,
                body,
                redirects,
            }
            | NodeKind::Until {
                condition,
                body,
                redirects,
            } => {
                self.redirects(redirects)?;
                self.node(condition)?;
                self.node(body)
            }
            NodeKind::For {
                var,
                words,
                body,
                redirects,
            }
            | NodeKind::Select {
                var,
                words,
                body,
                redirects,
            } => {
                may_set(var)?;
                self.redirects(redirects)?;
                for word in words.iter().flatten() {
                    self.word(word)?;
                }
                self.node(body)
            }
            _ => self.test_or_case(node),
        }
    }

    fn test_or_case(&mut self, node: &Node) -> Found {
        match &node.kind {
            NodeKind::ForArith {
                init,
                cond,
                incr,
                body,
                redirects,
            } => {
                self.redirects(redirects)?;
                for text in [init, cond, incr] {
                    expanded(text)?;
                }
                self.node(body)
            }
            NodeKind::ArithmeticCommand {
                redirects,
                raw_content,
                ..
            } => {
                self.redirects(redirects)?;
                expanded(raw_content)
            }
            NodeKind::Case {
                word,
                patterns,
                redirects,
            } => {
                self.redirects(redirects)?;
                self.word(word)?;
                for pattern in patterns {
                    for word in &pattern.patterns {
                        self.word(word)?;
                    }
                    pattern.body.iter().try_for_each(|body| self.node(body))?;
                }
                Ok(())
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.redirects(redirects)?;
                self.condition(body)
            }
            _ => Err(not_understood()),
        }
    }

    /// `[[ … ]]` changes nothing; what is in it may.
    fn condition(&mut self, node: &Node) -> Found {
        match &node.kind {
            NodeKind::UnaryTest { operand, .. }
            | NodeKind::CondNot { operand }
            | NodeKind::CondParen { inner: operand } => self.condition(operand),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => {
                self.condition(left)?;
                self.condition(right)
            }
            NodeKind::CondTerm { value, .. } if value.contains("$(") => {
                self.deeper(&format!(": {value}"))
            }
            NodeKind::CondTerm { value, .. } => {
                let quoted = if value.contains(['\'', '"', '\\']) {
                    value
                } else {
                    ""
                };
                self.subscripts(value, quoted)?;
                expanded(&value.replace("${", ""))
            }
            _ => Err(not_understood()),
        }
    }

    fn all(&mut self, nodes: &[Node]) -> Found {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn redirects(&mut self, redirects: &[Node]) -> Found {
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::Redirect { op, target, .. } => self.redirect(op, target)?,
                NodeKind::HereDoc { delimiter, .. } if is_no_word(delimiter) => {
                    return Err(not_understood());
                }
                NodeKind::HereDoc {
                    content, quoted, ..
                } => {
                    let dormant = if *quoted || content.contains('\\') {
                        content
                    } else {
                        ""
                    };
                    self.subscripts(content, dormant)?;
                    if !quoted {
                        expanded(&content.replace("${", ""))?;
                    }
                }
                _ => return Err(not_understood()),
            }
        }
        Ok(())
    }

    fn redirect(&mut self, operator: &str, target: &Node) -> Found {
        if matches!(&target.kind, NodeKind::Word { value, .. } if is_no_word(value)) {
            return Err(not_understood());
        }
        let target = self.word(target)?;
        let copies = matches!(operator, ">&" | "<&");
        let is_descriptor = |text: &BString| {
            let digits = text.strip_suffix(b"-").unwrap_or(text);
            !text.is_empty() && digits.iter().all(u8::is_ascii_digit)
        };
        let is_harmless = match &target {
            _ if !operator.contains('>') || operator.ends_with("&-") => true,
            Some(text) if copies && is_descriptor(text) => true,
            Some(text) => touches_by_writing(text) == Touches::Nothing,
            None => false,
        };
        if is_harmless {
            return Ok(());
        }
        Err(Destructive::new("sh", Why::WritesOutput))
    }

    fn command(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) -> Found {
        self.redirects(redirects)?;
        for assignment in assignments {
            self.assignment(assignment)?;
        }
        let mut arguments = Vec::new();
        for (at, word) in words.iter().enumerate() {
            // A bracket alone is no pattern, but the name of a program.
            let is_test =
                matches!(&word.kind, NodeKind::Word { value, .. } if at == 0 && value == "[");
            arguments.push(if is_test {
                Some("[".into())
            } else {
                self.word(word)?
            });
        }
        self.program(&arguments)
    }

    fn assignment(&mut self, node: &Node) -> Found {
        let NodeKind::Word { value, .. } = &node.kind else {
            return Err(not_understood());
        };
        let name = value.split(['=', '[', '+']).next().unwrap_or_default();
        may_set(name)?;
        self.word(node).map(|_| ())
    }

    /// Follows a program with its arguments.
    pub(super) fn program(&mut self, arguments: &[Argument]) -> Found {
        let Some((first, rest)) = arguments.split_first() else {
            return Ok(());
        };
        let Some(first) = first else {
            return Err(Destructive::new("sh", Why::NotKnown));
        };
        let path = first.to_string();
        let name = path.rsplit('/').next().unwrap_or_default();
        if self.functions.contains(&path) {
            return Ok(());
        }
        // Only the system's own programs are what their names say.
        let is_system = ["", "/bin/", "/usr/bin/"].contains(&&path[..path.len() - name.len()]);
        match name {
            _ if !is_system => known(name, arguments),
            "cd" | "pushd" | "popd" | "dirs" => Ok(()),
            "sudo" | "doas" => {
                let command = as_other_user(name, rest)?;
                self.within(|walk| walk.program(command))
            }
            "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" => self.shell(name, rest),
            "eval" => self.joined(name, rest),
            _ if particular::only_reads(name, rest) => Ok(()),
            _ => known(name, arguments),
        }
    }

    /// A shell with text to run.
    fn shell(&mut self, name: &str, arguments: &[Argument]) -> Found {
        let is_flags = |text: &BString| {
            let letters = text.strip_prefix(b"-");
            letters.is_some_and(|letters| letters.iter().all(|letter| b"ceuxl".contains(letter)))
        };
        let flags = arguments
            .iter()
            .take_while(|argument| argument.as_ref().is_some_and(is_flags));
        let count = flags.count();
        let runs_text = arguments[..count]
            .iter()
            .flatten()
            .any(|flag| flag.contains(&b'c'));
        match arguments.get(count) {
            Some(Some(text)) if runs_text => {
                let text = std::str::from_utf8(text).map_err(|_| not_understood())?;
                self.deeper(text)
            }
            _ => Err(Destructive::new(name, Why::NotKnown)),
        }
    }

    /// `eval` runs its arguments as one text.
    fn joined(&mut self, name: &str, arguments: &[Argument]) -> Found {
        let words = arguments.iter().map(|word| {
            let text = word.as_ref().map(|text| text.as_slice());
            text.and_then(|text| std::str::from_utf8(text).ok())
        });
        match words.collect::<Option<Vec<_>>>() {
            Some(words) => self.deeper(&words.join(" ")),
            None => Err(Destructive::new(name, Why::NotKnown)),
        }
    }
}

/// What the table of programs says.
fn known(name: &str, arguments: &[Argument]) -> Found {
    let why = match touches(arguments) {
        Touches::Nothing => return Ok(()),
        Touches::Files => Why::ChangesFiles,
        Touches::Anything => Why::NotKnown,
        Touches::Elsewhere => Why::ActsElsewhere,
    };
    Err(Destructive::new(name, why))
}

fn may_set(variable: &str) -> Found {
    if may_be_set(variable.as_bytes()) {
        return Ok(());
    }
    Err(Destructive::new(variable, Why::SetsVariable))
}

/// The command behind the options of `sudo`. Whoever runs it, what it does is the same.
fn as_other_user<'a>(name: &str, arguments: &'a [Argument]) -> Result<&'a [Argument], Destructive> {
    let odd = || Destructive::new(name, Why::ActsElsewhere);
    let mut at = 0;
    loop {
        let Some(Some(text)) = arguments.get(at) else {
            return Err(odd());
        };
        match text.as_slice() {
            b"-n" | b"-E" | b"-H" | b"-S" => at += 1,
            b"-u" | b"-g" => at += 2,
            b"--" => return Ok(&arguments[at + 1..]),
            [b'-', ..] => return Err(odd()),
            word if word.contains(&b'=') => return Err(odd()),
            _ => return Ok(&arguments[at..]),
        }
    }
}

/// Is this an operator or the end of a line? The parser takes them for the file that is named behind `<` or `>`, and
/// what follows for arguments, where a shell stops or goes on with another command.
fn is_no_word(token: &str) -> bool {
    let is_substitution = token.starts_with("<(") || token.starts_with(">(");
    let is_operator = token.starts_with([';', '&', '|', '<', '>', '(', ')', '\n']);
    token.is_empty() || is_operator && !is_substitution
}
