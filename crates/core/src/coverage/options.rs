//! Tells the options of a well-known program from its operands, as `getopt` does.
//!
//! An option that is not in a program's list may do anything, so a command line with one is not
//! understood, and neither is one with a word only the shell knows: that may be an option too.

use bstr::BString;

/// An argument; `None` if only the shell knows it.
pub(crate) type Argument = Option<BString>;

/// The options a program is known to have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Letters without a value.
    pub(crate) short: &'static str,
    /// Letters with a value.
    pub(crate) short_valued: &'static str,
    /// Words without a value.
    pub(crate) long: &'static [&'static str],
    /// Words with a value.
    pub(crate) long_valued: &'static [&'static str],
}

/// A command line, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'a> {
    /// What is no option.
    pub(crate) operands: Vec<&'a [u8]>,
    given: Vec<(BString, Option<&'a [u8]>)>,
}

impl<'a> Parsed<'a> {
    /// Was one of these options given?
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.given
            .iter()
            .any(|(found, _)| names.iter().any(|name| found == name))
    }

    /// The value of one of these options, the last one given.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&'a [u8]> {
        let mut given = self.given.iter().rev();
        given
            .find(|(found, _)| names.iter().any(|name| found == name))
            .and_then(|(_, value)| *value)
    }
}

impl Options {
    /// Takes a command line apart; `None` when it is not understood. Options may follow operands.
    pub(crate) fn parse<'a>(&self, arguments: &'a [Argument]) -> Option<Parsed<'a>> {
        let mut parsed = Parsed::default();
        let mut rest = arguments.iter();
        let mut only_operands = false;
        while let Some(argument) = rest.next() {
            let argument: &'a [u8] = argument.as_ref()?;
            match argument {
                _ if only_operands => parsed.operands.push(argument),
                b"--" => only_operands = true,
                [b'-', b'-', name @ ..] => self.long(name, &mut parsed, &mut rest)?,
                [b'-', letters @ ..] if !letters.is_empty() => {
                    self.short(letters, &mut parsed, &mut rest)?;
                }
                operand => parsed.operands.push(operand),
            }
        }
        Some(parsed)
    }

    fn long<'a>(
        &self,
        name: &'a [u8],
        parsed: &mut Parsed<'a>,
        rest: &mut std::slice::Iter<'a, Argument>,
    ) -> Option<()> {
        let equals = name.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals {
            Some(at) => (&name[..at], Some(&name[at + 1..])),
            None => (name, None),
        };
        let is_in = |list: &[&str]| list.iter().any(|known| known.as_bytes() == name);
        let value = if is_in(self.long_valued) {
            match value {
                Some(value) => Some(value),
                None => Some(rest.next()?.as_ref()?.as_slice()),
            }
        } else if is_in(self.long) {
            value
        } else {
            return None;
        };
        parsed.given.push((name.into(), value));
        Some(())
    }

    fn short<'a>(
        &self,
        letters: &'a [u8],
        parsed: &mut Parsed<'a>,
        rest: &mut std::slice::Iter<'a, Argument>,
    ) -> Option<()> {
        for (at, letter) in letters.iter().enumerate() {
            let name = BString::from(vec![*letter]);
            if self.short.as_bytes().contains(letter) {
                parsed.given.push((name, None));
            } else if self.short_valued.as_bytes().contains(letter) {
                let value = match &letters[at + 1..] {
                    [] => rest.next()?.as_ref()?.as_slice(),
                    value => value,
                };
                parsed.given.push((name, Some(value)));
                return Some(());
            } else {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Options = Options {
        short: "rf",
        short_valued: "t",
        long: &["force"],
        long_valued: &["target"],
    };

    fn arguments(words: &[&str]) -> Vec<Argument> {
        words.iter().map(|word| Some((*word).into())).collect()
    }

    #[test]
    fn options_and_operands_are_told_apart() {
        let words = arguments(&["-rf", "a", "-tdir", "--target=x", "b", "-", "--", "-c"]);
        let parsed = OPTIONS.parse(&words).unwrap();
        assert_eq!(parsed.operands, [&b"a"[..], b"b", b"-", b"-c"]);
        assert!(parsed.has(&["f"]) && parsed.has(&["x", "r"]) && !parsed.has(&["force"]));
        assert_eq!(parsed.value(&["t", "target"]), Some(&b"x"[..]));
    }

    #[test]
    fn what_is_not_known_is_not_understood() {
        for words in [&["-x"][..], &["--for"], &["-t"], &["--target"], &["-rx"]] {
            assert!(OPTIONS.parse(&arguments(words)).is_none(), "{words:?}");
        }
        assert!(OPTIONS.parse(&[None]).is_none());
    }
}
