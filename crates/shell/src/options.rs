//! Tells the options of a well-known program from its operands, as `getopt` does.
//!
//! An option that is not in a program's list may do anything, so a command line with one is not
//! understood, and neither is one with a word only the shell knows: that may be an option too.

use bstr::BString;

/// An argument; `None` if only the shell knows it.
pub(crate) type Argument = Option<BString>;

/// The options a program is known to have: those without a value, and those with one. In each the letters, then the
/// words: `"-rf recursive force"`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options(pub(crate) &'static str, pub(crate) &'static str);

/// A command line, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'a> {
    /// What is no option.
    pub(crate) operands: Vec<&'a [u8]>,
    given: Vec<(BString, Option<&'a [u8]>)>,
}

impl<'a> Parsed<'a> {
    fn given(&self, names: &str) -> impl Iterator<Item = Option<&'a [u8]>> {
        let is_named = move |found: &BString| names.split(' ').any(|name| found == name);
        let given = self.given.iter().filter(move |(found, _)| is_named(found));
        given.map(|(_, value)| *value)
    }

    /// Was one of these options given? The names stand in one text: `"n dry-run"`.
    pub(crate) fn has(&self, names: &str) -> bool {
        self.given(names).next().is_some()
    }

    /// The values these options were given.
    pub(crate) fn values(&self, names: &str) -> impl Iterator<Item = &'a [u8]> {
        self.given(names).flatten()
    }

    /// The value of one of these options, the last one given.
    pub(crate) fn value(&self, names: &str) -> Option<&'a [u8]> {
        self.values(names).last()
    }
}

impl Options {
    /// Takes a command line apart; `None` when it is not understood. Options may follow operands.
    pub(crate) fn parse<'a>(&self, arguments: &'a [Argument]) -> Option<Parsed<'a>> {
        let mut parsed = Parsed::default();
        let mut rest = arguments;
        while let [argument, ..] = rest {
            match argument.as_ref()?.as_slice() {
                b"--" => {
                    for operand in &rest[1..] {
                        parsed.operands.push(operand.as_ref()?);
                    }
                    break;
                }
                [b'-', _, ..] => rest = self.option(rest, &mut parsed)?,
                operand => {
                    parsed.operands.push(operand);
                    rest = &rest[1..];
                }
            }
        }
        Some(parsed)
    }

    /// What follows the options, if nothing but options stands before it.
    pub(crate) fn behind<'a>(&self, arguments: &'a [Argument]) -> Option<&'a [Argument]> {
        let mut rest = arguments;
        while let [argument, ..] = rest {
            match argument.as_ref()?.as_slice() {
                b"--" => return Some(&rest[1..]),
                [b'-', ..] => rest = self.option(rest, &mut Parsed::default())?,
                _ => break,
            }
        }
        Some(rest)
    }

    /// Reads the first argument, which is an option, with its value; what is left is returned.
    fn option<'a>(
        &self,
        arguments: &'a [Argument],
        parsed: &mut Parsed<'a>,
    ) -> Option<&'a [Argument]> {
        let (first, rest) = arguments.split_first()?;
        let next = || rest.first()?.as_ref().map(|value| value.as_slice());
        let Some(name) = first.as_ref()?.strip_prefix(b"--") else {
            let letters = &first.as_ref()?[1..];
            for (at, letter) in letters.iter().enumerate() {
                let name = BString::from(vec![*letter]);
                if has_letter(self.1, *letter) {
                    let behind = Some(&letters[at + 1..]).filter(|value| !value.is_empty());
                    parsed.given.push((name, Some(behind.or_else(next)?)));
                    return rest.get(usize::from(behind.is_none())..);
                }
                has_letter(self.0, *letter).then_some(())?;
                parsed.given.push((name, None));
            }
            return Some(rest);
        };
        let equals = name.iter().position(|byte| *byte == b'=');
        let (name, value) = equals.map_or((name, None), |at| (&name[..at], Some(&name[at + 1..])));
        let is_in = |list: &str| list.split(' ').any(|known| known.as_bytes() == name);
        let takes_next = is_in(self.1) && value.is_none();
        (is_in(self.0) || is_in(self.1)).then_some(())?;
        let value = if takes_next { Some(next()?) } else { value };
        parsed.given.push((name.into(), value));
        rest.get(usize::from(takes_next)..)
    }
}

fn has_letter(list: &str, letter: u8) -> bool {
    let letters = list.split(' ').next().and_then(|word| word.strip_prefix('-'));
    letters.is_some_and(|letters| letters.as_bytes().contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Options = Options("-rf force", "-t target");

    fn arguments(words: &[&str]) -> Vec<Argument> {
        words.iter().map(|word| Some((*word).into())).collect()
    }

    #[test]
    fn options_and_operands_are_told_apart() {
        let words = arguments(&["-rf", "a", "-tdir", "--target=x", "b", "-", "--", "-c"]);
        let parsed = OPTIONS.parse(&words).unwrap();
        assert_eq!(parsed.operands, [&b"a"[..], b"b", b"-", b"-c"]);
        assert!(parsed.has("f") && parsed.has("x r") && !parsed.has("force"));
        assert_eq!(parsed.value("t target"), Some(&b"x"[..]));
        let words = arguments(&["-rt", "x", "a", "-z"]);
        assert_eq!(OPTIONS.behind(&words), Some(&words[2..]));
        assert_eq!(OPTIONS.behind(&words[3..]), None);
    }

    #[test]
    fn what_is_not_known_is_not_understood() {
        for words in [&["-x"][..], &["--for"], &["-t"], &["--target"], &["-rx"]] {
            assert!(OPTIONS.parse(&arguments(words)).is_none(), "{words:?}");
        }
        assert!(OPTIONS.parse(&[None]).is_none());
    }
}
