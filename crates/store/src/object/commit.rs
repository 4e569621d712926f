//! Commits: what a checkpoint's commit says, read tolerantly and written plainly.
//!
//! Headers that Herma does not use (`encoding`, `gpgsig`, `mergetag`, whatever comes later) are passed
//! over. What it does use must be there, once and well formed, or the commit is [`Malformed`].

use bstr::{BString, ByteSlice};

use crate::ObjectId;
use crate::object::{Kind, Malformed};

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The project's tree.
    pub tree: ObjectId,
    /// The commits before it.
    pub parents: Vec<ObjectId>,
    /// Who made the change.
    pub author: Signature,
    /// Who made the commit.
    pub committer: Signature,
    /// Everything after the headers, byte for byte.
    pub message: BString,
}

/// Who did something, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name; may be empty.
    pub name: BString,
    /// The address; may be empty.
    pub email: BString,
    /// Seconds since 1970, in UTC.
    pub seconds: i64,
    /// How many minutes local time was ahead of UTC. `-0000`, git's word for "unknown", reads as 0.
    pub offset_minutes: i32,
}

/// The largest offset four digits can say: 99 hours and 99 minutes.
const MAX_ZONE_MINUTES: u32 = 99 * 60 + 99;

fn bad(what: &'static str) -> Malformed {
    Malformed { kind: Kind::Commit, what }
}

impl Commit {
    /// Reads the bytes of a commit object.
    pub fn parse(data: &[u8]) -> Result<Self, Malformed> {
        let (first, mut rest) = next_line(data);
        let tree = first.strip_prefix(b"tree ");
        let tree = parse_id(tree.ok_or(bad("it names no tree"))?)?;
        let mut parents = Vec::new();
        while let (line, after) = next_line(rest)
            && let Some(parent) = line.strip_prefix(b"parent ")
        {
            parents.push(parse_id(parent)?);
            rest = after;
        }
        // Further down `parent` is a header like any other, as in git: no commit has a history here that git
        // does not see.
        let mut author = None;
        let mut committer = None;
        while !rest.is_empty() {
            let (line, after) = next_line(rest);
            rest = after;
            if line.is_empty() {
                break;
            }
            let (word, value) = split_at_byte(line, b' ').unwrap_or((line, b""));
            match word {
                b"tree" => return Err(bad("it says one thing twice")),
                b"author" => set(&mut author, Signature::parse(value)?)?,
                b"committer" => set(&mut committer, Signature::parse(value)?)?,
                // Another header, or, as it begins with a space, the next line of one.
                _ => {}
            }
        }
        Ok(Self {
            tree,
            parents,
            author: author.ok_or(bad("it names no author"))?,
            committer: committer.ok_or(bad("it names no committer"))?,
            message: rest.into(),
        })
    }

    /// The bytes of the commit object.
    ///
    /// Characters that would end a name or an address early (line breaks, `<`, `>`, zero bytes) are
    /// left out of them.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(256 + self.message.len());
        data.extend_from_slice(format!("tree {}\n", self.tree).as_bytes());
        for parent in &self.parents {
            data.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        data.extend_from_slice(b"author ");
        self.author.encode_into(&mut data);
        data.extend_from_slice(b"\ncommitter ");
        self.committer.encode_into(&mut data);
        data.extend_from_slice(b"\n\n");
        data.extend_from_slice(&self.message);
        data
    }
}

impl Signature {
    /// Reads `Name <address> seconds offset`.
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let (name, after) = split_at_byte(value, b'<').ok_or(bad("a person has no address"))?;
        let end =
            after.iter().position(|b| *b == b'>').ok_or(bad("a person's address does not end"))?;
        // Some tools wrote addresses with brackets in them; the time stands after the last one.
        let last = after.iter().rposition(|b| *b == b'>').unwrap_or(end);
        let mut words =
            after[last + 1..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let seconds = words.next().and_then(parse_number).ok_or(bad("a time is not a number"))?;
        let offset_minutes = match words.next() {
            Some(offset) => parse_offset(offset).ok_or(bad("a time zone is not a number"))?,
            None => 0,
        };
        Ok(Self {
            name: name.trim_ascii().into(),
            email: after[..end].into(),
            seconds,
            offset_minutes,
        })
    }

    fn encode_into(&self, data: &mut Vec<u8>) {
        let plain = |text: &[u8]| -> Vec<u8> {
            text.iter().copied().filter(|b| !b"\n\r\0<>".contains(b)).collect()
        };
        let name = plain(&self.name);
        data.extend_from_slice(name.trim_ascii());
        data.extend_from_slice(if name.trim_ascii().is_empty() { b"<" } else { b" <" });
        data.extend_from_slice(&plain(&self.email));
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.unsigned_abs().min(MAX_ZONE_MINUTES);
        let hours = (minutes / 60).min(99);
        let when = format!("> {} {sign}{hours:02}{:02}", self.seconds, minutes - hours * 60);
        data.extend_from_slice(when.as_bytes());
    }
}

fn set<T>(slot: &mut Option<T>, value: T) -> Result<(), Malformed> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(bad("it says one thing twice")),
    }
}

/// The first line, without its end, and what follows it.
fn next_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    split_at_byte(bytes, b'\n').unwrap_or((bytes, b""))
}

fn split_at_byte(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn parse_id(hex: &[u8]) -> Result<ObjectId, Malformed> {
    ObjectId::from_hex(hex).ok_or(bad("an id is not an id"))
}

fn parse_number(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Reads `+hhmm`. As git does, it takes more digits (`+051800` was written once) and more minutes.
fn parse_offset(word: &[u8]) -> Option<i32> {
    let (sign, digits) = match word.split_first()? {
        (b'+', digits) => (1, digits),
        (b'-', digits) => (-1, digits),
        _ => return None,
    };
    if digits.is_empty() || digits.len() > 7 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value: i32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(sign * (value / 100 * 60 + value % 100))
}

/// Begins the block of trailers in the message of a checkpoint's commit.
pub const MESSAGE_MARK: &[u8] = b"\n\nHerma-Checkpoint: 1\n";

/// The receipt that the message of a checkpoint's commit names: it stays as long as the commit does.
pub fn receipt_of(message: &[u8]) -> Option<ObjectId> {
    let block = &message[message.rfind(MESSAGE_MARK)? + MESSAGE_MARK.len()..];
    let lines = block.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line.strip_prefix(b"Herma-Extra: "))
        .next_back()
        .and_then(ObjectId::from_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";

    fn with(people: &str) -> Vec<u8> {
        format!("{TREE}{people}").into_bytes()
    }

    fn signature(text: &str) -> Result<Signature, Malformed> {
        Signature::parse(text.as_bytes())
    }

    #[test]
    fn a_commit_reads_back_as_written() {
        let person = |seconds, offset_minutes| Signature {
            name: "Some One".into(),
            email: "one@example.com".into(),
            seconds,
            offset_minutes,
        };
        for (seconds, offset) in
            [(0, 0), (1 << 40, 330), (-5, -90), (i64::MAX, 6039), (i64::MIN, -6039)]
        {
            let commit = Commit {
                tree: ObjectId::EMPTY_TREE,
                parents: vec![ObjectId::NULL, ObjectId::EMPTY_TREE],
                author: person(seconds, offset),
                committer: person(seconds, -offset),
                message: "subject\n\nbody \n\n".into(),
            };
            assert_eq!(Commit::parse(&commit.encode()), Ok(commit));
        }
    }

    #[test]
    fn headers_of_no_interest_are_passed_over() {
        let data = with(
            "parent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a> 1 +0000\n\
             committer C <c> 2 +0100\nencoding ISO-8859-1\ngpgsig -----BEGIN-----\n \n author X\n \
             tree no\nHG:extra x\n\nauthor in the message",
        );
        let commit = Commit::parse(&data).unwrap();
        assert_eq!(commit.parents, [ObjectId::EMPTY_TREE]);
        assert_eq!(commit.message, "author in the message");
        assert!(commit.message.starts_with(b"author in the message"));
        assert_eq!(commit.committer.offset_minutes, 60);
    }

    #[test]
    fn parents_stand_where_git_looks_for_them_or_are_none() {
        let id = ObjectId::EMPTY_TREE;
        let people = "author A <a> 1 +0000\ncommitter C <c> 2 +0100\n";
        let parents = |text: String| Commit::parse(text.as_bytes()).map(|commit| commit.parents);
        assert_eq!(parents(format!("{TREE}parent {id}\n{people}")), Ok(vec![id]));
        assert_eq!(parents(format!("{TREE}{people}parent {id}\n")), Ok(Vec::new()));
        assert_eq!(parents(format!("parent {id}\n{TREE}{people}")), Err(bad("it names no tree")));
    }

    #[test]
    fn a_commit_may_have_no_message() {
        let commit = Commit::parse(&with("author A <a> 1 +0000\ncommitter C <c> 2 +0000")).unwrap();
        assert_eq!(commit.message, "");
    }

    #[test]
    fn odd_signatures_are_read_as_git_reads_them() {
        assert_eq!(signature("A <a> 1 -0000").unwrap().offset_minutes, 0);
        assert_eq!(signature("A <a> 1 +9999").unwrap().offset_minutes, 6039);
        assert_eq!(signature("A <a> 1 -0130").unwrap().offset_minutes, -90);
        assert_eq!(signature("A <a> 1 +051800").unwrap().offset_minutes, 518 * 60);
        assert_eq!(signature("A <a> 99999999999 +0000").unwrap().seconds, 99_999_999_999);
        assert_eq!(signature("A <a> 1").unwrap().offset_minutes, 0);
        let empty = signature(" <> 1 +0000").unwrap();
        assert_eq!((empty.name.as_slice(), empty.email.as_slice()), (&b""[..], &b""[..]));
        assert_eq!(signature("A <a@b>> 7 +0000").unwrap().seconds, 7);
    }

    #[test]
    fn malformed_commits_are_refused() {
        let good = "author A <a> 1 +0000\ncommitter C <c> 2 +0000\n\nm";
        assert!(Commit::parse(&with(good)).is_ok());
        assert!(Commit::parse(good.as_bytes()).is_err(), "no tree");
        assert!(Commit::parse(&with(&format!("{TREE}{good}"))).is_err(), "two trees");
        assert!(Commit::parse(&with("author A <a> 1 +0000\n\nm")).is_err(), "no committer");
        assert!(Commit::parse(&with(&format!("parent xyz\n{good}"))).is_err());
        assert!(Commit::parse(b"").is_err());
        for text in [
            "A",
            "A <a",
            "A <a>",
            "A <a> x +0000",
            "A <a> 1 0000",
            "A <a> 1 +",
            "A <a> 9223372036854775808 +0000",
        ] {
            assert!(signature(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_cannot_smuggle_in_headers() {
        let mut commit =
            Commit::parse(&with("author A <a> 1 +0000\ncommitter C <c> 2 +0000\n\nm")).unwrap();
        commit.author.name = "x> 1 +0000\nparent 0\n<".into();
        let read = Commit::parse(&commit.encode()).unwrap();
        assert!(read.parents.is_empty());
        assert_eq!(read.author.email, "a");
    }
}
