//! The two side lists of a checkpoint: full modes, and what was left out.
//!
//! Both are shaped like the project, so that a directory in which nothing changed costs nothing. For a
//! directory D with something to say, the list is a git tree with up to two entries: `list`, a blob of
//! records, and `dirs`, a tree that maps subdirectory names to their own lists. A directory without
//! anything to say has no list at all.
//!
//! A record is `<word> <name>` followed by a NUL. In the list of modes the word is `f` and an octal mode
//! for a file whose mode is not the usual one, `d` and an octal mode with an empty name for the
//! directory itself, or, in the root's list only, `u` and the mode from which the usual ones follow. A directory that holds no captured file appears in no git tree: its `d` record is
//! what says that it exists. In the list of what was left out the word is the reason; behind
//! a colon, where a secret was seen in the content, its kind and line: `secret-content:github-token:12`.

use herma_store::ObjectId;
use herma_store::object::{EntryMode, TreeEntry, push_tree_entry};

use super::reason::Reason;
use super::secrets::Finding;

/// Permission bits of files a checkpoint keeps: setuid and setgid are never brought back.
pub const KEPT_BITS: u32 = 0o1777;

/// Those of directories. Setgid says which group new files in it get, and makes nobody anybody else.
pub const KEPT_DIRECTORY_BITS: u32 = 0o3777;

/// The modes a checkpoint does not have to mention: what a new file gets under the umask the project's
/// root directory shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualModes {
    root: u32,
}

impl UsualModes {
    /// The usual modes below a root directory with these permission bits.
    pub fn below(root_mode: u32) -> Self {
        Self { root: root_mode & 0o777 }
    }

    /// A directory's usual mode.
    pub fn directory(self) -> u32 {
        self.root
    }

    /// A file's usual mode.
    pub fn file(self, executable: bool) -> u32 {
        if executable { self.root | 0o100 } else { self.root & 0o666 }
    }
}

impl Default for UsualModes {
    fn default() -> Self {
        Self::below(0o755)
    }
}

/// Builds the list of one directory.
#[derive(Default)]
pub struct ListBuilder {
    records: Vec<u8>,
    dirs: Vec<u8>,
}

impl ListBuilder {
    /// Notes what the usual modes are, unless they are the most usual ones.
    pub fn usual_modes(&mut self, usual: UsualModes) {
        if usual != UsualModes::default() {
            self.record(&format!("u{:04o}", usual.root), b"");
        }
    }

    /// Notes the mode of the directory itself.
    pub fn directory_mode(&mut self, mode: u32) {
        self.record(&format!("d{mode:04o}"), b"");
    }

    /// Notes the mode of a file.
    pub fn file_mode(&mut self, name: &[u8], mode: u32) {
        self.record(&format!("f{mode:04o}"), name);
    }

    /// Notes something left out.
    pub fn left_out(&mut self, name: &[u8], reason: Reason, secret: Option<Finding>) {
        match secret {
            Some(secret) => self.record(&format!("{}:{}", reason.word(), secret.to_word()), name),
            None => self.record(reason.word(), name),
        }
    }

    /// Adds the records of another list behind these.
    pub fn append_records(&mut self, other: &Self) {
        self.records.extend_from_slice(&other.records);
    }

    fn record(&mut self, word: &str, name: &[u8]) {
        self.records.extend_from_slice(word.as_bytes());
        self.records.push(b' ');
        self.records.extend_from_slice(name);
        self.records.push(0);
    }

    /// Adds the list of a subdirectory. Names come in git's order.
    pub fn subdirectory(&mut self, name: &[u8], list: &ObjectId) {
        push_tree_entry(&mut self.dirs, EntryMode::Directory, name, list);
    }

    /// The objects of this list, stored through `blob` and `tree`; [`ObjectId::NULL`] if there is
    /// nothing to say.
    pub fn finish<E>(
        self,
        mut blob: impl FnMut(&[u8]) -> Result<ObjectId, E>,
        mut tree: impl FnMut(&[u8]) -> Result<ObjectId, E>,
    ) -> Result<ObjectId, E> {
        if self.records.is_empty() && self.dirs.is_empty() {
            return Ok(ObjectId::NULL);
        }
        let mut list = Vec::new();
        if !self.dirs.is_empty() {
            push_tree_entry(&mut list, EntryMode::Directory, b"dirs", &tree(&self.dirs)?);
        }
        if !self.records.is_empty() {
            push_tree_entry(&mut list, EntryMode::File, b"list", &blob(&self.records)?);
        }
        tree(&list)
    }
}

/// One record of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The word in front.
    pub word: &'a [u8],
    /// The name; empty for the directory itself.
    pub name: &'a [u8],
}

/// The records of a `list` blob. Stops at the first one that is malformed.
pub fn records(blob: &[u8]) -> impl Iterator<Item = Record<'_>> {
    blob.split(|b| *b == 0).filter(|record| !record.is_empty()).map_while(|record| {
        let space = record.iter().position(|b| *b == b' ')?;
        Some(Record { word: &record[..space], name: &record[space + 1..] })
    })
}

/// Reads the word of a record of something left out. What a newer version adds behind a colon is skipped.
pub fn parse_left_out(word: &[u8]) -> Option<(Reason, Option<Finding>)> {
    let colon = word.iter().position(|byte| *byte == b':');
    let reason = Reason::from_word(&word[..colon.unwrap_or(word.len())])?;
    let secret = colon.and_then(|colon| Finding::from_word(&word[colon + 1..]));
    Some((reason, secret))
}

/// What a mode record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeRecord {
    /// The usual modes of the whole checkpoint.
    Usual(UsualModes),
    /// The mode of the directory itself.
    Directory(u32),
    /// The mode of a file.
    File(u32),
}

/// Reads the word of a mode record.
pub fn parse_mode(word: &[u8]) -> Option<ModeRecord> {
    let (kind, digits) = word.split_first()?;
    let mode = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
    match kind {
        b'u' => Some(ModeRecord::Usual(UsualModes::below(mode))),
        b'd' => Some(ModeRecord::Directory(mode & KEPT_DIRECTORY_BITS)),
        b'f' => Some(ModeRecord::File(mode & KEPT_BITS)),
        _ => None,
    }
}

/// The parts of a list tree: the blob of records and the tree of subdirectories.
pub fn parts(list: &[TreeEntry]) -> (Option<ObjectId>, Option<ObjectId>) {
    let find = |name: &str, mode: EntryMode| {
        list.iter().find(|e| e.name == name && e.mode == mode).map(|e| e.id)
    };
    (find("list", EntryMode::File), find("dirs", EntryMode::Directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_modes_follow_the_umask_the_root_shows() {
        let shared = UsualModes::below(0o2775);
        assert_eq!(
            (shared.directory(), shared.file(false), shared.file(true)),
            (0o775, 0o664, 0o775)
        );
        let private = UsualModes::below(0o700);
        assert_eq!((private.file(false), private.file(true)), (0o600, 0o700));
    }

    #[test]
    fn records_read_back() {
        let mut list = ListBuilder::default();
        list.directory_mode(0o750);
        list.file_mode(b"with\nnewline", 0o600);
        let mut stored = Vec::new();
        list.finish(
            |blob| {
                stored = blob.to_vec();
                Ok::<_, ()>(ObjectId::EMPTY_TREE)
            },
            |_| Ok(ObjectId::EMPTY_TREE),
        )
        .unwrap();
        let read: Vec<_> = records(&stored).collect();
        assert_eq!(parse_mode(read[0].word), Some(ModeRecord::Directory(0o750)));
        assert_eq!(parse_mode(read[1].word), Some(ModeRecord::File(0o600)));
        assert_eq!(read[1].name, b"with\nnewline");
    }
}
