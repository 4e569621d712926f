//! Command lines.

use bstr::{BString, ByteSlice};
use herma_shell::{Command, Effect, PathEntry, ProjectFiles, Touch, may_change, touches};

/// What reads only does not hide that something is deleted behind it, and changes no path of a project either.
pub fn reads(text: &str) {
    let command = Command::Text(text.into());
    let found = may_change(&command);
    if let Some(found) = &found {
        assert!(found.program.chars().count() <= 64);
    }
    // A project may only add that what a word stands for is not known.
    let changes = |touch: &Touch| !matches!(touch.effect, Effect::RunsGit | Effect::Follows(_));
    if found.is_none() {
        let all = touches(&command, b"/project", &Nowhere);
        assert!(!all.iter().any(changes) || may_be_anything(&all), "{all:?}");
    }
    if found.is_none() && !continues(text.as_bytes()) {
        let longer = format!("{text}\nrm -rf src");
        let found = may_change(&Command::Text(longer.as_str().into()));
        assert!(found.is_some(), "{longer:?}");
    }
    may_change(&Command::Arguments(text.split(' ').map(BString::from).collect()));
}

/// Of a project: an unheard-of program behind any line may change anything.
pub fn command_line(text: &[u8]) {
    touches(&Command::Text(text.into()), b"/project/a", &Nowhere);
    if !continues(text) {
        let longer = Command::Text([text, b"\nunheard-of-program x\n"].concat().into());
        let all = touches(&longer, b"/project", &Nowhere);
        assert!(may_be_anything(&all), "{all:?}");
    }
}

fn may_be_anything(touches: &[Touch]) -> bool {
    let is_anything = |touch: &Touch| matches!(touch.effect, Effect::Anything(_));
    touches.iter().any(is_anything)
}

fn continues(text: &[u8]) -> bool {
    text.contains_str("<<") || text.ends_with(b"\\")
}

/// A project in which every path is a file, but for links and directories by their names.
struct Nowhere;

impl ProjectFiles for Nowhere {
    fn root(&self) -> &[u8] {
        b"/project"
    }

    fn home(&self) -> Option<&[u8]> {
        Some(b"/home")
    }

    fn entry(&self, path: &[u8]) -> PathEntry {
        match path.last() {
            None | Some(b'a') => PathEntry::Directory,
            Some(b'b') => PathEntry::Link("../a".into()),
            Some(b'c') => PathEntry::LeftOut,
            Some(b'd') => PathEntry::Nothing,
            Some(_) => PathEntry::File,
        }
    }

    fn names(&self, _: &[u8]) -> Vec<BString> {
        ["a", "b", "c", "e", "-f"].map(BString::from).into()
    }

    fn size(&self, path: &[u8]) -> Option<u64> {
        Some(path.len() as u64)
    }
}
