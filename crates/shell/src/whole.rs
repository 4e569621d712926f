//! Is a command one program and nothing else, so that its exit code is that program's?

use bstr::BString;
use rable::NodeKind;

use crate::Command;
use crate::walk::{Walk, is_parsable};

/// The program and its arguments, if a command runs that and nothing else: no pipe, no list, nothing in the background, no word
/// that only the shell knows. It may write to other places, and have variables of its own.
pub fn only_program(command: &Command) -> Option<Vec<BString>> {
    let text = match command {
        Command::Arguments(words) => return Some(words.clone()),
        Command::Text(text) => std::str::from_utf8(text).ok().filter(|text| is_parsable(text))?,
    };
    let nodes = rable::parse(text, false).ok()?;
    let [node] = &nodes[..] else { return None };
    let NodeKind::Command { words, .. } = &node.kind else { return None };
    let mut walk = Walk::default();
    let words = words.iter().map(|word| walk.word(word).as_literal().map(BString::from));
    let words = words.collect::<Option<Vec<BString>>>()?;
    // What is not understood is noted as something that may change anything.
    (walk.touches.is_empty() && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<String> {
        let words = only_program(&Command::Text(text.into()))?;
        Some(bstr::join(" ", words).into_iter().map(char::from).collect())
    }

    #[test]
    fn one_program_is_seen_as_such() {
        for (text, seen) in [
            ("cargo test", "cargo test"),
            ("  cargo  test -- 'a b'\n", "cargo test -- a b"),
            ("RUST_BACKTRACE=1 cargo test > log 2>&1", "cargo test"),
            ("\"cargo\" te'st'", "cargo test"),
        ] {
            assert_eq!(words(text).as_deref(), Some(seen), "{text}");
        }
        let arguments = ["cargo", "test", "|"].map(BString::from);
        assert_eq!(only_program(&Command::Arguments(arguments.to_vec())), Some(arguments.into()));
    }

    #[test]
    fn what_may_hide_its_exit_code_is_not() {
        for text in [
            "",
            "cargo test | tail",
            "cargo test; true",
            "cargo test || true",
            "cargo test && echo ok",
            "cargo test &",
            "! cargo test",
            "(cargo test)",
            "{ cargo test; }",
            "cargo test $ARGS",
            "cargo test $(cat args)",
            "cargo test *",
            "cargo test\ntrue",
            "if cargo test; then true; fi",
            "cargo test 'open",
            "A=1",
            "function cargo { true; }",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
