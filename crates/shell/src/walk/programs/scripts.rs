//! `sed` and `awk`: what they change depends on the script, which is read if it is simple.

use super::ODD_OPTIONS;
use crate::options::{Argument, Options, Parsed};
use crate::walk::process::Process;

const SED: Options = Options(
    "-nErsuz quiet silent regexp-extended separate unbuffered null-data posix debug sandbox",
    "-e expression",
);

/// What `sed` changes; `None` if its arguments are not understood.
pub(super) fn sed(process: &mut Process<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let (others, in_place) = without_in_place(arguments);
    let parsed = SED.parse(&others)?;
    let mut files = &parsed.operands[..];
    let mut scripts: Vec<&[u8]> = parsed.values("e expression").collect();
    if scripts.is_empty() {
        let (script, rest) = files.split_first()?;
        scripts.push(script);
        files = rest;
    }
    if !scripts.into_iter().all(is_plain_sed) {
        process.unknown("its script is not understood");
        return Some(());
    }
    for (file, suffix) in files.iter().filter_map(|file| Some((file, in_place?))) {
        process.replaces(file);
        if suffix.contains(&b'*') || suffix.contains(&b'/') {
            process.unknown(ODD_OPTIONS);
        } else if !suffix.is_empty() {
            process.makes(&[file, suffix].concat(), false);
        }
    }
    Some(())
}

/// The arguments without `-i`, and the suffix it was given. A suffix counts only if it is written right
/// behind the option, so `getopt`'s way does not fit.
fn without_in_place(arguments: &[Argument]) -> (Vec<Argument>, Option<&[u8]>) {
    let mut others = Vec::new();
    let mut in_place = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.as_ref().map_or(&b""[..], |text| text.as_slice());
        if text == b"--" {
            others.push(argument.clone());
            others.extend(rest.cloned());
            break;
        }
        if text == b"-e" || text == b"--expression" {
            others.push(argument.clone());
            others.extend(rest.next().cloned());
            continue;
        }
        match suffix(text) {
            Some(suffix) => in_place = Some(suffix),
            None => others.push(argument.clone()),
        }
    }
    (others, in_place)
}

/// The suffix in an argument that asks for changes in place.
fn suffix(argument: &[u8]) -> Option<&[u8]> {
    if argument == b"--in-place" {
        return Some(b"");
    }
    if let Some(suffix) = argument.strip_prefix(b"--in-place=") {
        return Some(suffix);
    }
    let letters = argument.strip_prefix(b"-")?;
    let at = letters.iter().position(|letter| *letter == b'i')?;
    let plain = |letter: &u8| b"nErsuz".contains(letter);
    letters[..at].iter().all(plain).then(|| &letters[at + 1..])
}

/// Does a script only print, delete and substitute? Then it neither writes files nor runs programs.
fn is_plain_sed(script: &[u8]) -> bool {
    let mut reader = Sed { rest: script };
    while !reader.rest.is_empty() {
        if reader.command().is_none() {
            return false;
        }
    }
    true
}

struct Sed<'s> {
    rest: &'s [u8],
}

impl Sed<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, fits: impl Fn(u8) -> bool) {
        let end = self.rest.iter().position(|byte| !fits(*byte));
        self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
    }

    /// One command with its addresses; `None` if it is not one of the plain ones.
    fn command(&mut self) -> Option<()> {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'}'));
        while let Some(first) = self.rest.first() {
            match first {
                b'0'..=b'9' | b'$' | b',' | b'~' | b'+' | b'!' | b' ' => {
                    self.next();
                }
                b'/' => {
                    self.next();
                    self.until(b'/')?;
                    self.skip(|byte| byte == b'I' || byte == b'M');
                }
                _ => break,
            }
        }
        match self.next() {
            Some(b'{') => return Some(()),
            None
            | Some(
                b'p' | b'd' | b'D' | b'P' | b'n' | b'N' | b'=' | b'g' | b'G' | b'h' | b'H' | b'x',
            ) => {}
            Some(b'q' | b'Q' | b'l') => self.skip(|byte| byte.is_ascii_digit()),
            // The text goes on to the end of the line.
            Some(b'a' | b'i' | b'c') => {
                while let Some(byte) = self.next() {
                    match byte {
                        b'\\' => {
                            self.next();
                        }
                        b'\n' => break,
                        _ => {}
                    }
                }
                return Some(());
            }
            Some(kind @ (b's' | b'y')) => {
                let delimiter = self.next().filter(|byte| !matches!(byte, b'\\' | b'\n'))?;
                self.until(delimiter)?;
                self.until(delimiter)?;
                if kind == b's' {
                    self.skip(|byte| {
                        matches!(byte, b'g' | b'p' | b'i' | b'I' | b'M' | b'm' | b'0'..=b'9')
                    });
                }
            }
            Some(_) => return None,
        }
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        matches!(self.rest.first(), None | Some(b';' | b'\n' | b'}')).then_some(())
    }

    /// Skips to behind the next delimiter. Brackets in which sed programs see delimiters differently are
    /// not read.
    fn until(&mut self, delimiter: u8) -> Option<()> {
        let mut in_brackets = false;
        loop {
            match self.next()? {
                b'\\' => {
                    let escaped = self.next()?;
                    if in_brackets && escaped == b']' {
                        return None;
                    }
                }
                b'\n' => return None,
                byte if byte == delimiter => return (!in_brackets).then_some(()),
                b'[' if matches!(self.rest, [b']', ..] | [b'^', b']', ..]) => return None,
                b'[' => in_brackets = true,
                b']' => in_brackets = false,
                _ => {}
            }
        }
    }
}

/// An awk script without output files, pipes and calls of the system prints and nothing else.
pub(super) fn awk(_: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    is_plain_awk(parsed.operands.first()?).then_some(())
}

/// Does a script only print? Files and pipes are written to by `print` and `printf` alone, so before the first
/// of them `>` compares.
fn is_plain_awk(script: &[u8]) -> bool {
    let find = |word: &[u8]| script.windows(word.len()).position(|part| part == word);
    let printing = &script[find(b"print").unwrap_or(script.len())..];
    let writes = |byte: &u8| matches!(byte, b'>' | b'|');
    let calls = [&b"system"[..], b"getline", b"@"];
    !printing.iter().any(writes) && calls.into_iter().all(|word| find(word).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_sed_scripts_are_told_from_those_that_write_or_run() {
        for script in [
            "s/a/b/",
            "s/a/b/g",
            "s|a/b|c|gI",
            "1,20p",
            "$d",
            "/foo/d",
            "/a/,/b/p",
            "2q",
            "s/a/b/;s/c/d/2",
            "/x/{s/a/b/;p}",
            "y/abc/def/",
            "s/[a-z]*/x/",
            "s/\\//x/",
            "3i hello",
            "$a w file",
            "10,+3!d",
            "",
        ] {
            assert!(is_plain_sed(script.as_bytes()), "{script}");
        }
        for script in [
            "w out",
            "s/a/b/w out",
            "s/a/b/e",
            "e ls",
            "1e",
            "r in",
            "s/[/]/g;s/w f;s/b/",
            "s/[]/]x/e",
            "s/[\\]/]/e",
            "s/a",
            "W out",
            ":a;N;ba",
            "\\%a%w f",
            "s\na\nb\n",
            "p w",
            "F",
        ] {
            assert!(!is_plain_sed(script.as_bytes()), "{script}");
        }
    }

    #[test]
    fn awk_compares_with_the_sign_that_writes_behind_print() {
        for script in ["$1 > 3", "$1 > 3 {print $2}", "$1 > 3 || $2 > 4", "{print $1}", "NR>1"] {
            assert!(is_plain_awk(script.as_bytes()), "{script}");
        }
        for script in [
            "{print > \"f\"}",
            "{print $1} {printf \"a\" >> \"f\"}",
            "{print | \"sh\"}",
            "{system(\"rm f\")}",
            "BEGIN{\"rm f\" | getline}",
            "@load \"x\"",
        ] {
            assert!(!is_plain_awk(script.as_bytes()), "{script}");
        }
    }
}
