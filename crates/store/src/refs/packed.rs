//! The `packed-refs` file, which git writes when it tidies up and Herma only ever shortens.

use std::collections::HashSet;

use herma_fs::Dir;

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::plain_file::read_plain;
use crate::refs::name;

const FILE: &str = "packed-refs";

/// About a million refs.
const MAX_SIZE: u64 = 96 << 20;

/// The content of `packed-refs`.
#[derive(Debug, Default)]
pub(crate) struct PackedRefs {
    bytes: Vec<u8>,
    lines: Vec<Line>,
}

/// One ref, with the part of the file that it takes, its peeled line included.
#[derive(Clone, Debug)]
struct Line {
    id: ObjectId,
    name: std::ops::Range<usize>,
    whole: std::ops::Range<usize>,
}

impl PackedRefs {
    /// Reads the file; one that does not exist has no refs.
    pub(crate) fn read(store: &Dir) -> Result<Self, StoreError> {
        match read_plain(store, FILE, FILE, MAX_SIZE)? {
            Some(bytes) => Self::parse(bytes),
            None => Ok(Self::default()),
        }
    }

    /// Reads the bytes of the file.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, StoreError> {
        let mut lines: Vec<Line> = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let length = bytes[start..].iter().position(|b| *b == b'\n');
            let end = length.map_or(bytes.len(), |length| start + length);
            let next = (end + 1).min(bytes.len());
            match parse_line(&bytes[start..end]) {
                Some(Content::Comment) => {}
                Some(Content::Ref(id)) => {
                    lines.push(Line { id, name: start + 41..end, whole: start..next });
                }
                Some(Content::Peeled) if !lines.is_empty() => {
                    if let Some(line) = lines.last_mut() {
                        line.whole.end = next;
                    }
                }
                _ => return Err(damaged(&bytes[start..end])),
            }
            start = next;
        }
        Ok(Self { bytes, lines })
    }

    /// The lines of a damaged file that can be read.
    pub(crate) fn salvage(bytes: &[u8]) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        for line in bytes.split(|byte| *byte == b'\n') {
            // What a peeled line belongs to may be what is damaged. The header promises them.
            if matches!(parse_line(line), Some(Content::Ref(_))) {
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
        kept
    }

    /// The names and values of all refs, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], ObjectId)> {
        self.lines.iter().map(|line| (&self.bytes[line.name.clone()], line.id))
    }

    /// The value of one ref.
    pub(crate) fn get(&self, name: &str) -> Option<ObjectId> {
        self.iter().find(|(found, _)| *found == name.as_bytes()).map(|(_, id)| id)
    }

    /// Is `name` a directory of a packed ref, or a packed ref a directory of it?
    pub(crate) fn conflicts_with(&self, name: &str) -> bool {
        let is_above = |above: &[u8], below: &[u8]| {
            below.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"))
        };
        let name = name.as_bytes();
        self.iter().any(|(found, _)| is_above(found, name) || is_above(name, found))
    }

    /// The file without these refs, everything else as it was.
    pub(crate) fn without(&self, names: &[&str]) -> Vec<u8> {
        let names: HashSet<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let mut kept = Vec::with_capacity(self.bytes.len());
        let mut done = 0;
        for line in &self.lines {
            if names.contains(&self.bytes[line.name.clone()]) {
                kept.extend_from_slice(&self.bytes[done..line.whole.start]);
                done = line.whole.end;
            }
        }
        kept.extend_from_slice(&self.bytes[done..]);
        kept
    }
}

enum Content {
    Comment,
    Ref(ObjectId),
    Peeled,
}

fn parse_line(line: &[u8]) -> Option<Content> {
    match line.first()? {
        b'#' => Some(Content::Comment),
        b'^' => ObjectId::from_hex(&line[1..]).map(|_| Content::Peeled),
        _ => {
            let id = ObjectId::from_hex(line.get(..40)?).filter(|id| !id.is_null())?;
            let is_named = line.get(40) == Some(&b' ') && name::is_valid(line.get(41..)?);
            is_named.then_some(Content::Ref(id))
        }
    }
}

fn damaged(line: &[u8]) -> StoreError {
    let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
    StoreError::damaged_file(FILE, format!("a line reads {shown:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn headers_and_peeled_lines_are_understood_and_kept() {
        let text =
            format!("# pack-refs with: peeled \n{ID} refs/a\n^{ID}\n{ID} refs/b\n{ID} refs/c");
        let packed = PackedRefs::parse(text.into_bytes()).unwrap();
        let names: Vec<&[u8]> = packed.iter().map(|(name, _)| name).collect();
        assert_eq!(names, [&b"refs/a"[..], b"refs/b", b"refs/c"]);
        let without = String::from_utf8(packed.without(&["refs/a"])).unwrap();
        assert_eq!(without, format!("# pack-refs with: peeled \n{ID} refs/b\n{ID} refs/c"));
        assert!(packed.conflicts_with("refs/a/b") && packed.conflicts_with("refs"));
        assert!(!packed.conflicts_with("refs/a") && !packed.conflicts_with("refs/ab"));
    }

    #[test]
    fn hostile_lines_are_an_error_that_names_the_file() {
        let lines = [
            ID.to_owned(),
            format!("{ID} "),
            format!("{ID} ../../x"),
            format!("{ID} refs/a..b"),
            format!("^{ID}"),
            format!("{} refs/a", "0".repeat(40)),
            format!("{ID}\trefs/a"),
            "\n".to_owned(),
            "x".repeat(60),
        ];
        for line in lines {
            match PackedRefs::parse(line.clone().into_bytes()) {
                Err(StoreError::DamagedFile { file, .. }) => assert_eq!(file, "packed-refs"),
                other => panic!("{line:?} gave {other:?}"),
            }
        }
    }
}
