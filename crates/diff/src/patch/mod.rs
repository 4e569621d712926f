//! Changes as a git patch: the bytes `git apply` takes, or lines for a terminal to colour.
//!
//! The patch is made one line at a time and handed to a callback, so a caller can colour it, cut it
//! short or page it without holding it whole. [`to_bytes`] keeps the exact bytes. What
//! is printed follows git's own output with `--histogram --no-rename-empty`, quoting included.

mod base85;
pub mod quote;

use std::io;

use herma_store::{ObjectId, RelPath};

use crate::lines::{PatchLine, PatchLineKind, hunks, is_binary};
use crate::patch::base85::literal_lines;
use crate::patch::quote::quote;
use crate::{Change, DiffError, FileState, Renamed, Side, text_of};

/// Longer files are treated as binary: nobody reads such a diff, and it takes many times the memory.
/// Git does the same, later.
pub const MAX_TEXT_BYTES: u64 = 32 << 20;

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchOptions {
    /// How many unchanged lines surround a change.
    pub context: usize,
    /// Carry the content of binary files, so that the patch can be applied. Without it they are only
    /// said to differ.
    pub binary: bool,
    /// Larger files are only said to differ; with `binary` they are an error, since a patch that lacks
    /// them would not be complete.
    pub max_file_bytes: u64,
}

impl Default for PatchOptions {
    fn default() -> Self {
        Self { context: 3, binary: false, max_file_bytes: 256 << 20 }
    }
}

/// Takes the lines of a patch. An error ends the rendering and comes back as [`DiffError::Write`].
pub type Emit<'e> = dyn FnMut(PatchLine<'_>) -> io::Result<()> + 'e;

/// Renders the changes line by line.
pub fn render(
    changes: &[Change],
    old: &dyn Side,
    new: &dyn Side,
    options: &PatchOptions,
    emit: &mut Emit<'_>,
) -> Result<(), DiffError> {
    let mut renderer = Renderer { old, new, options, emit };
    for change in changes {
        if change.is_type_change() {
            let gone = Change { new: None, from: None, path: change.old_path().clone(), ..*change };
            let created = Change { old: None, from: None, path: change.path.clone(), ..*change };
            renderer.file(&gone)?;
            renderer.file(&created)?;
        } else {
            renderer.file(change)?;
        }
    }
    Ok(())
}

/// The patch of the changes.
pub fn to_bytes(
    changes: &[Change],
    old: &dyn Side,
    new: &dyn Side,
    options: &PatchOptions,
) -> Result<Vec<u8>, DiffError> {
    let mut bytes = Vec::new();
    render(changes, old, new, options, &mut |line| {
        bytes.extend_from_slice(line.bytes);
        bytes.push(b'\n');
        Ok(())
    })?;
    Ok(bytes)
}

/// What the body of a file's patch is made of.
enum Body {
    /// The content is the same: the header says it all.
    Same,
    Text {
        old: Vec<u8>,
        new: Vec<u8>,
    },
    Binary {
        old: Vec<u8>,
        new: Vec<u8>,
    },
    /// Binary, or too large to look into, and only to be mentioned.
    Differs,
}

struct Renderer<'a, 'e> {
    old: &'a dyn Side,
    new: &'a dyn Side,
    options: &'a PatchOptions,
    emit: &'a mut Emit<'e>,
}

impl Renderer<'_, '_> {
    fn line(&mut self, kind: PatchLineKind, bytes: &[u8]) -> Result<(), DiffError> {
        (self.emit)(PatchLine { kind, bytes }).map_err(DiffError::Write)
    }

    fn header(&mut self, parts: &[&[u8]]) -> Result<(), DiffError> {
        self.line(PatchLineKind::Header, &parts.concat())
    }

    fn file(&mut self, change: &Change) -> Result<(), DiffError> {
        let body = self.body(change)?;
        let old_name = prefixed(b"a/", change.old_path());
        let new_name = prefixed(b"b/", &change.path);
        self.header(&[b"diff --git ", &old_name, b" ", &new_name])?;
        self.mode_lines(change.old, change.new)?;
        if let Some(from) = &change.from {
            self.rename_lines(from, &change.path)?;
        }
        self.index_line(change, &body)?;

        let old_label = if change.old.is_some() { old_name } else { b"/dev/null".to_vec() };
        let new_label = if change.new.is_some() { new_name } else { b"/dev/null".to_vec() };
        match body {
            Body::Same => Ok(()),
            Body::Text { old, new } => self.text(&old, &new, &old_label, &new_label),
            Body::Binary { old, new } => self.binary(&old, &new),
            Body::Differs => {
                let parts = [&b"Binary files "[..], &old_label, b" and ", &new_label, b" differ"];
                self.line(PatchLineKind::Binary, &parts.concat())
            }
        }
    }

    fn body(&self, change: &Change) -> Result<Body, DiffError> {
        if change.old.map(|state| state.id) == change.new.map(|state| state.id) {
            return Ok(Body::Same);
        }
        let mut limit = self.options.max_file_bytes;
        if !self.options.binary {
            limit = limit.min(MAX_TEXT_BYTES);
        }
        let is_text = |bytes: &[u8]| bytes.len() as u64 <= MAX_TEXT_BYTES && !is_binary(bytes);
        let old = text_of(self.old, change.old_path(), change.old, limit)?;
        let new = text_of(self.new, &change.path, change.new, limit)?;
        match (old, new) {
            (Some(old), Some(new)) if is_text(&old) && is_text(&new) => Ok(Body::Text { old, new }),
            (Some(old), Some(new)) if self.options.binary => Ok(Body::Binary { old, new }),
            (old, _) if self.options.binary => {
                let path = if old.is_none() { change.old_path() } else { &change.path };
                Err(DiffError::TooLarge { path: path.clone(), limit })
            }
            _ => Ok(Body::Differs),
        }
    }

    fn mode_lines(
        &mut self,
        old: Option<FileState>,
        new: Option<FileState>,
    ) -> Result<(), DiffError> {
        let mut mode = |what: &[u8], state: FileState| {
            self.header(&[what, state.mode.six_digits().as_bytes()])
        };
        match (old, new) {
            (None, Some(new)) => mode(b"new file mode ", new),
            (Some(old), None) => mode(b"deleted file mode ", old),
            (Some(old), Some(new)) if old.mode != new.mode => {
                mode(b"old mode ", old)?;
                mode(b"new mode ", new)
            }
            _ => Ok(()),
        }
    }

    fn rename_lines(&mut self, from: &Renamed, to: &RelPath) -> Result<(), DiffError> {
        self.header(&[format!("similarity index {}%", from.similarity).as_bytes()])?;
        self.header(&[b"rename from ", &quote(from.path.as_bytes())])?;
        self.header(&[b"rename to ", &quote(to.as_bytes())])
    }

    fn index_line(&mut self, change: &Change, body: &Body) -> Result<(), DiffError> {
        if let Body::Same = body {
            return Ok(());
        }
        // A binary patch is only accepted where the content is known to be the one it was made for.
        let digits = if let Body::Binary { .. } = body { 40 } else { 7 };
        let id = |state: Option<FileState>| {
            let mut hex = state.map_or(ObjectId::NULL, |state| state.id).to_hex();
            hex.truncate(digits);
            hex
        };
        let mode = match (change.old, change.new) {
            (Some(old), Some(new)) if old.mode == new.mode => format!(" {}", new.mode.six_digits()),
            _ => String::new(),
        };
        let line = format!("index {}..{}{mode}", id(change.old), id(change.new));
        self.header(&[line.as_bytes()])
    }

    fn text(
        &mut self,
        old: &[u8],
        new: &[u8],
        old_label: &[u8],
        new_label: &[u8],
    ) -> Result<(), DiffError> {
        let hunks = hunks(old, new, self.options.context);
        if hunks.is_empty() {
            // An empty file that came or went.
            return Ok(());
        }
        self.header(&[b"--- ", old_label, tab_after(old_label)])?;
        self.header(&[b"+++ ", new_label, tab_after(new_label)])?;
        hunks
            .iter()
            .try_for_each(|hunk| hunk.render(&mut |line| (self.emit)(line)))
            .map_err(DiffError::Write)
    }

    /// Both directions, so that the patch can also be reversed.
    fn binary(&mut self, old: &[u8], new: &[u8]) -> Result<(), DiffError> {
        self.line(PatchLineKind::Binary, b"GIT binary patch")?;
        for content in [new, old] {
            self.line(PatchLineKind::Binary, format!("literal {}", content.len()).as_bytes())?;
            for line in literal_lines(content) {
                self.line(PatchLineKind::Binary, &line)?;
            }
            self.line(PatchLineKind::Binary, b"")?;
        }
        Ok(())
    }
}

fn prefixed(prefix: &[u8], path: &RelPath) -> Vec<u8> {
    quote(&[prefix, path.as_bytes()].concat())
}

/// Without the tab, a reader could not tell where a name with spaces ends and a date begins.
fn tab_after(label: &[u8]) -> &'static [u8] {
    if label.contains(&b' ') { b"\t" } else { b"" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::PatchLineKind::{Added, Binary, Header, HunkHeader, NoNewline};
    use crate::testing::{Files, Memory};
    use crate::{Nothing, compare};

    fn created(files: &Files) -> (Memory, Vec<Change>) {
        let (side, root) = Memory::of(files);
        let changes = compare(None, Some((&side, root)), &[]).unwrap();
        (side, changes)
    }

    #[test]
    fn every_line_says_what_it_is() {
        let (side, changes) = created(&Files::new().file("a b", "x").file("c", "\0"));
        let mut kinds = Vec::new();
        render(&changes, &Nothing, &side, &PatchOptions::default(), &mut |line| {
            assert!(!line.bytes.contains(&b'\n'));
            kinds.push(line.kind);
            Ok(())
        })
        .unwrap();
        let text = [Header, Header, Header, Header, Header, HunkHeader, Added, NoNewline];
        assert_eq!(kinds, [&text[..], &[Header, Header, Header, Binary]].concat());
    }

    #[test]
    fn a_file_too_large_is_mentioned_but_never_missing_from_a_complete_patch() {
        let (side, changes) = created(&Files::new().file("large", "0123456789"));
        let options = PatchOptions { max_file_bytes: 9, ..PatchOptions::default() };
        let patch = to_bytes(&changes, &Nothing, &side, &options).unwrap();
        assert!(patch.ends_with(b"Binary files /dev/null and b/large differ\n"));
        let options = PatchOptions { binary: true, ..options };
        let error = to_bytes(&changes, &Nothing, &side, &options).unwrap_err();
        assert!(matches!(error, DiffError::TooLarge { limit: 9, .. }));
    }

    #[test]
    fn a_reader_that_stops_ends_the_rendering() {
        let (side, changes) = created(&Files::new().file("a", "x\n"));
        let stop = &mut |_: PatchLine<'_>| Err(io::ErrorKind::BrokenPipe.into());
        let error = render(&changes, &Nothing, &side, &PatchOptions::default(), stop).unwrap_err();
        assert!(matches!(error, DiffError::Write(_)));
    }

    #[test]
    fn content_that_is_gone_is_an_error_not_an_empty_file() {
        let (side, changes) = created(&Files::new().file("a", "x\n"));
        let side = side.without(&changes[0].new.unwrap().id);
        let error = to_bytes(&changes, &Nothing, &side, &PatchOptions::default()).unwrap_err();
        assert!(matches!(error, DiffError::Vanished { .. }));
    }
}
