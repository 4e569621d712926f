//! The message of a checkpoint's commit: the reason as given, then facts as trailers.
//!
//! The reason stands first and untouched, so `git log` shows it. Behind it, after an empty line, comes a
//! block that begins with `Herma-Checkpoint: 1`. A reason that would not come back exactly from that
//! (it holds a NUL, which git forbids, or ends in a way git trims) is written a second time, encoded,
//! in the trailer `Herma-Reason`.

use bstr::{BString, ByteSlice, ByteVec};
use herma_store::object::commit::{MESSAGE_MARK as MARK, receipt_of};
use herma_store::{ObjectId, RelPath};

use crate::checkpoint::{ChangeCount, Facts, Origin, Transcript};

/// Longer reasons are cut; the trailer `Herma-Reason-Length` then says how long it was.
pub const MAX_REASON: usize = 1 << 20;

/// Everything a commit message says about a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Why it was taken.
    pub reason: BString,
    /// How it came to be.
    pub origin: Origin,
    /// Who asked for it.
    pub facts: Facts,
    /// What changed since the one before.
    pub changes: Option<ChangeCount>,
    /// The tree with the receipt and the modes.
    pub extra: Option<ObjectId>,
    /// What `herma purge` took out of it.
    pub purged: Vec<RelPath>,
}

impl Message {
    /// The bytes of the commit message.
    pub fn encode(&self) -> Vec<u8> {
        let given: &[u8] = &self.reason;
        let kept = &given[..given.len().min(MAX_REASON)];
        let shown = kept.replace(b"\0", "\u{2400}");
        let shown: &[u8] = if shown.trim().is_empty() { b"checkpoint" } else { &shown };
        let mut out = shown.to_vec();
        out.extend_from_slice(MARK);
        push_trailer(&mut out, "Origin", self.origin.word().as_bytes());
        if let Some(extra) = &self.extra {
            push_trailer(&mut out, "Extra", extra.to_hex().as_bytes());
        }
        if let Some(changes) = &self.changes {
            let ChangeCount { files, insertions, deletions, lines_known, deleted } = changes;
            let lines =
                if *lines_known { format!(" +{insertions} -{deletions}") } else { String::new() };
            let deleted = deleted.map_or_else(String::new, |deleted| format!(" x{deleted}"));
            push_trailer(&mut out, "Changes", format!("{files}{lines}{deleted}").as_bytes());
        }
        for (name, value) in self.facts.texts() {
            if let Some(value) = value {
                push_trailer(&mut out, name, value.as_bytes());
            }
        }
        if let Some(transcript) = &self.facts.transcript {
            let bytes = transcript.bytes.map_or("-".to_owned(), |b| b.to_string());
            let value = format!("{} {} {bytes}", transcript.message, transcript.messages);
            push_trailer(&mut out, "Transcript", value.as_bytes());
        }
        if shown != kept || git_would_trim(kept) {
            push_trailer(&mut out, "Reason", kept);
        }
        for path in &self.purged {
            push_trailer(&mut out, "Purged", path.as_bytes());
        }
        if kept.len() < given.len() {
            push_trailer(&mut out, "Reason-Length", given.len().to_string().as_bytes());
        }
        out
    }

    /// Reads a message back. One without our block is a Hermes checkpoint: all of it is the reason.
    pub fn parse(message: &[u8]) -> Self {
        let mut parsed = Self {
            reason: message.strip_suffix(b"\n").unwrap_or(message).into(),
            origin: Origin::Hermes,
            facts: Facts::default(),
            changes: None,
            extra: receipt_of(message),
            purged: Vec::new(),
        };
        let Some(mark) = message.rfind(MARK) else { return parsed };
        parsed.reason = message[..mark].into();
        parsed.origin = Origin::Saved;
        for line in message[mark + MARK.len()..].split(|b| *b == b'\n') {
            let Some((name, value)) = line.split_once_str(": ") else { continue };
            let Some(name) = name.strip_prefix(b"Herma-") else { continue };
            parsed.take(name, value);
        }
        parsed
    }

    fn take(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"Origin" if value == b"safety" => self.origin = Origin::Safety,
            b"Origin" if value == b"merged" => self.origin = Origin::Merged,
            b"Origin" if value == b"interrupted" => self.origin = Origin::Interrupted,
            b"Origin" if value == b"hermes" => self.origin = Origin::Hermes,
            b"Purged" => self.purged.extend(RelPath::new(decode(value)).ok()),
            b"Changes" => self.changes = parse_changes(value),
            b"Transcript" => self.facts.transcript = parse_transcript(value),
            b"Reason" => self.reason = decode(value).into(),
            _ => {
                let mut texts = self.facts.texts_mut().into_iter();
                if let Some((_, text)) = texts.find(|(known, _)| known.as_bytes() == name) {
                    *text = Some(decode(value).into_string_lossy());
                }
            }
        }
    }
}

/// The message of a checkpoint from which these paths were taken out. All else that it says stays as it is,
/// also what a later version added; a message of Hermes gets a block that says whose it is.
pub fn without(message: &[u8], extra: Option<ObjectId>, purged: &[RelPath]) -> Vec<u8> {
    let known = Message::parse(message).purged;
    let mut out = Vec::with_capacity(message.len() + 256);
    if let Some(mark) = message.rfind(MARK) {
        let (reason, block) = message.split_at(mark + MARK.len());
        out.extend_from_slice(reason);
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            match extra {
                Some(extra) if line.starts_with(b"Herma-Extra: ") => {
                    push_trailer(&mut out, "Extra", extra.to_hex().as_bytes());
                }
                _ => out.extend_from_slice(line),
            }
        }
        if out.last() != Some(&b'\n') {
            out.push(b'\n');
        }
    } else {
        out.extend_from_slice(message.strip_suffix(b"\n").unwrap_or(message));
        out.extend_from_slice(MARK);
        push_trailer(&mut out, "Origin", Origin::Hermes.word().as_bytes());
    }
    for path in purged.iter().filter(|path| !known.contains(path)) {
        push_trailer(&mut out, "Purged", path.as_bytes());
    }
    out
}

/// What git calls the subject (`%s`): the first paragraph, its lines joined by spaces.
pub fn subject(message: &[u8]) -> BString {
    let lines = message.lines().map(<[u8]>::trim_ascii_end);
    let lines = lines.skip_while(|line| line.is_empty());
    let paragraph: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    paragraph.join(&b' ').into()
}

/// Does git's log, which strips empty lines at both ends, show other bytes than these?
fn git_would_trim(reason: &[u8]) -> bool {
    reason.first().is_none_or(|b| *b == b'\n') || reason.last() == Some(&b'\n')
}

fn push_trailer(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(b"Herma-");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(encode(value).as_bytes());
    out.push(b'\n');
}

/// Printable ASCII as it is, everything else (and `%`) as `%xx`.
fn encode(value: &[u8]) -> String {
    use std::fmt::Write;
    value.iter().fold(String::with_capacity(value.len()), |mut out, byte| {
        match byte {
            b'%' => out.push_str("%25"),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
        out
    })
}

fn decode(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    out
}

fn parse_transcript(value: &[u8]) -> Option<Transcript> {
    let mut words = std::str::from_utf8(value).ok()?.split(' ');
    let parsed = Transcript {
        message: words.next()?.parse().ok()?,
        messages: words.next()?.parse().ok()?,
        bytes: match words.next()? {
            "-" => None,
            bytes => Some(bytes.parse().ok()?),
        },
    };
    words.next().is_none().then_some(parsed)
}

fn parse_changes(value: &[u8]) -> Option<ChangeCount> {
    let text = std::str::from_utf8(value).ok()?;
    let files = text.split(' ').next()?.parse().ok()?;
    let count = |sign: char| -> Option<u64> {
        text.split(' ').find_map(|word| word.strip_prefix(sign))?.parse().ok()
    };
    let counted = ChangeCount { files, deleted: count('x'), ..ChangeCount::default() };
    Some(match count('+').zip(count('-')) {
        Some((insertions, deletions)) => {
            ChangeCount { insertions, deletions, lines_known: true, ..counted }
        }
        None => counted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(reason: &[u8]) -> Message {
        Message {
            reason: reason.into(),
            origin: Origin::Saved,
            facts: Facts {
                tool: Some("bash\n%x".into()),
                transcript: Some(Transcript { message: 7, messages: 3, bytes: None }),
                ..Facts::default()
            },
            changes: Some(ChangeCount {
                files: 3,
                insertions: 10,
                deletions: 2,
                lines_known: true,
                deleted: Some(1),
            }),
            extra: Some(ObjectId::EMPTY_TREE),
            purged: vec![RelPath::new(b"a/\xff b".to_vec()).unwrap()],
        }
    }

    #[test]
    fn what_is_taken_out_is_said_once_and_nothing_else_changes() {
        let more = RelPath::new(&b"keys/\n%"[..]).unwrap();
        let old = [&message(b"nul \0 inside").encode()[..], b"Herma-Later: x\n"].concat();
        let once = without(&old, Some(ObjectId::NULL), std::slice::from_ref(&more));
        let mut expected = Message { extra: Some(ObjectId::NULL), ..message(b"nul \0 inside") };
        expected.purged.push(more.clone());
        assert_eq!(Message::parse(&once), expected);
        assert!(once.contains_str("Herma-Later: x\n"));
        let twice = without(&once, Some(ObjectId::NULL), &expected.purged);
        assert_eq!(twice, once);
        let hermes = without(b"before rm\n", None, std::slice::from_ref(&more));
        let parsed = Message::parse(&hermes);
        assert_eq!((parsed.reason, parsed.origin), ("before rm".into(), Origin::Hermes));
        assert_eq!((parsed.extra, parsed.purged), (None, vec![more]));
    }

    #[test]
    fn nul_or_invalid_utf8_in_the_reason_does_not_lose_the_checkpoint() {
        let reasons: [&[u8]; 10] = [
            b"before write_file",
            b"",
            b"\n",
            b"nul \0 inside",
            b"\xff\xfe not text",
            b"ends with a newline\n",
            b"a\n\nbody\n\nHerma-Checkpoint: 1\nHerma-Origin: safety",
            b"esc \x1b[31m and \xe2\x80\xa8 line separator",
            b"100% sure",
            b"\r\n",
        ];
        for reason in reasons {
            let encoded = message(reason).encode();
            assert!(!encoded.contains(&0), "git forbids NUL in a commit");
            assert_eq!(Message::parse(&encoded), message(reason), "{:?}", reason.as_bstr());
        }
    }

    #[test]
    fn a_reason_of_two_megabytes_is_cut_and_says_so() {
        let encoded = message(&vec![b'x'; 2 << 20]).encode();
        assert_eq!(Message::parse(&encoded).reason.len(), MAX_REASON);
        assert!(encoded.contains_str("Herma-Reason-Length: 2097152"));
    }

    #[test]
    fn the_subject_is_the_first_paragraph_on_one_line_as_git_has_it() {
        let said: [(&[u8], &str); 6] = [
            (b"one", "one"),
            (b"one\ntwo \n three\n\nbody", "one two  three"),
            (b"\n \n\nlate\r\nstart\n \nbody", "late start"),
            (b"a\n\nHerma-Checkpoint: 1\n", "a"),
            (b"\n\n", ""),
            (b"", ""),
        ];
        for (message, expected) in said {
            assert_eq!(subject(message), expected, "{:?}", message.as_bstr());
        }
    }

    #[test]
    fn a_hermes_message_is_all_reason() {
        let parsed = Message::parse(b"before terminal: rm -rf x\n");
        assert_eq!(parsed.reason, "before terminal: rm -rf x");
        assert_eq!(parsed.origin, Origin::Hermes);
    }
}
