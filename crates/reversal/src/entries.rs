//! The rule for one file, link or nested repository: three entries in, one out.
//!
//! What only one side changed is taken from that side. Content and permissions are merged separately,
//! so that a step's edit can be undone from a file somebody made executable since.

use std::sync::Arc;

use herma_diff::lines::is_binary;
use herma_diff::merge::{Labels, Merge, Resolution, merge, merge_apart};
use herma_diff::patch::MAX_TEXT_BYTES;
use herma_diff::{DiffError, FileState};
use herma_store::RelPath;
use herma_store::object::{EntryMode, Kind, Malformed, id_of};

use super::view::{Bytes, Entry};
use super::{ConflictWhy, Conflicts, Decided, Direction};

/// How entries are merged.
#[derive(Clone, Copy)]
pub(crate) struct Rule<'a> {
    pub(crate) conflicts: Conflicts,
    pub(crate) labels: Labels<'a>,
    pub(crate) direction: Direction,
    /// Do base and theirs know more of permissions than who may execute?
    pub(crate) modes_known: bool,
}

/// What comes of three entries.
#[derive(Default)]
pub(crate) struct Merged<'a> {
    /// What is there afterwards.
    pub(crate) entry: Option<Entry<'a>>,
    /// What does not go together.
    pub(crate) conflicts: Vec<(ConflictWhy, Decided)>,
    /// Are changes of both sides in the content?
    pub(crate) both: bool,
}

impl Merged<'_> {
    /// Does the content stay as it is because of a conflict?
    pub(crate) fn is_left(&self) -> bool {
        let content = |why: &ConflictWhy| *why != ConflictWhy::Mode;
        let mut conflicts = self.conflicts.iter();
        conflicts.any(|(why, decided)| content(why) && *decided == Decided::Left)
    }
}

/// What the three states have of one file. Its place may differ from state to state.
#[derive(Clone, Copy)]
pub(crate) struct Three<'e, 'a> {
    pub(crate) base: Option<&'e Entry<'a>>,
    pub(crate) ours: Option<&'e Entry<'a>>,
    pub(crate) theirs: Option<&'e Entry<'a>>,
}

/// A file that is on both sides, and where it is, for errors.
#[derive(Clone, Copy)]
struct Both<'e, 'a> {
    path: &'e RelPath,
    base: Option<&'e Entry<'a>>,
    ours: &'e Entry<'a>,
    theirs: &'e Entry<'a>,
}

impl<'a> Rule<'a> {
    /// Merges one file. `path` is where it is, for errors.
    pub(crate) fn merge(
        &self,
        path: &RelPath,
        three: Three<'_, 'a>,
    ) -> Result<Merged<'a>, DiffError> {
        if let Some(merged) = self.unwritable(three) {
            return Ok(merged);
        }
        Ok(match (three.base, three.ours, three.theirs) {
            (_, None, None) => Merged::default(),
            (None, ours, None) => settled(ours),
            (None, None, theirs) => settled(theirs),
            (Some(base), Some(ours), None) if self.is_same(base, ours) => settled(None),
            (Some(_), Some(ours), None) => self.whole(ConflictWhy::ChangedLater, Some(ours), None),
            // A deletion beats a mere move or another mode, and loses nothing by it.
            (Some(base), None, Some(theirs)) if base.has_content_of(theirs) => settled(None),
            (Some(_), None, theirs) => self.whole(ConflictWhy::DeletedLater, None, theirs),
            (base, Some(ours), Some(theirs)) => self.both(Both { path, base, ours, theirs })?,
        })
    }

    /// A nested repository's files were not recorded, so none can be brought back or removed.
    fn unwritable(&self, three: Three<'_, 'a>) -> Option<Merged<'a>> {
        let is_nested =
            |entry: Option<&Entry<'_>>| entry.is_some_and(|e| e.kind() == EntryMode::Nested);
        let cannot =
            self.direction == Direction::Back && is_nested(three.theirs) && !is_nested(three.ours);
        cannot.then(|| Merged {
            entry: three.ours.cloned(),
            conflicts: vec![(ConflictWhy::NestedRepository, Decided::Left)],
            both: false,
        })
    }

    /// Is nothing different that the states know of?
    fn is_same(&self, a: &Entry<'_>, b: &Entry<'_>) -> bool {
        let modes = if self.modes_known { a.full_mode == b.full_mode } else { true };
        a.state == b.state && modes
    }

    /// A conflict that is about the file as a whole.
    pub(crate) fn whole(
        &self,
        why: ConflictWhy,
        ours: Option<&Entry<'a>>,
        theirs: Option<&Entry<'a>>,
    ) -> Merged<'a> {
        let decided = self.conflicts.about_whole();
        let entry = if decided == Decided::Theirs { theirs } else { ours };
        let entry = entry.cloned().map(|entry| Entry {
            continues: ours.map_or(entry.continues, |ours| ours.continues.clone()),
            ..entry
        });
        Merged { entry, conflicts: vec![(why, decided)], both: false }
    }

    /// Something else is where theirs belongs, and nothing was there in between.
    fn both_made(&self, both: Both<'_, 'a>) -> Result<Merged<'a>, DiffError> {
        let Both { ours, theirs, .. } = both;
        let files = ours.kind() == EntryMode::File && theirs.kind() == EntryMode::File;
        if self.conflicts == Conflicts::Markers
            && files
            && let (Some(our_text), Some(their_text)) = (text(ours)?, text(theirs)?)
        {
            let marked = merge(b"", &our_text, &their_text).resolve(self.markers());
            return Ok(Merged {
                entry: Some(with_content(both, marked)?),
                conflicts: vec![(ConflictWhy::Reappeared, Decided::Markers)],
                both: true,
            });
        }
        Ok(self.whole(ConflictWhy::Reappeared, Some(ours), Some(theirs)))
    }

    fn both(&self, both: Both<'_, 'a>) -> Result<Merged<'a>, DiffError> {
        let Both { base, ours, theirs, .. } = both;
        if ours.has_content_of(theirs) {
            return Ok(self.with_permissions(both, ours.clone()));
        }
        let Some(base) = base else { return self.both_made(both) };
        let same_kind = base.kind() == ours.kind() && ours.kind() == theirs.kind();
        if theirs.has_content_of(base) {
            return Ok(self.with_permissions(both, ours.clone()));
        }
        if ours.has_content_of(base) {
            let taken = Entry { continues: ours.continues.clone(), ..theirs.clone() };
            return Ok(self.with_permissions(both, taken));
        }
        if !same_kind {
            return Ok(self.whole(ConflictWhy::TypeChanged, Some(ours), Some(theirs)));
        }
        let why = match ours.kind() {
            EntryMode::File => {
                let whole = || self.whole(ConflictWhy::Binary, Some(ours), Some(theirs));
                let texts = self.texts(both, base)?;
                return Ok(self.join(both, texts.unwrap_or_else(whole)));
            }
            EntryMode::Symlink => ConflictWhy::Link,
            _ => ConflictWhy::NestedRepository,
        };
        Ok(self.whole(why, Some(ours), Some(theirs)))
    }

    /// Adds the merged permissions to a merged content.
    fn join(&self, both: Both<'_, 'a>, content: Merged<'a>) -> Merged<'a> {
        let Some(entry) = content.entry.clone().filter(|_| !content.is_left()) else {
            return content;
        };
        let mut merged = self.with_permissions(both, entry);
        merged.conflicts.splice(0..0, content.conflicts);
        merged.both = content.both;
        merged
    }

    /// Merges texts. `None` if one of them is none, or is too large.
    fn texts(&self, both: Both<'_, 'a>, base: &Entry<'a>) -> Result<Option<Merged<'a>>, DiffError> {
        let Both { ours, theirs, .. } = both;
        let (Some(base), Some(our_text), Some(their_text)) =
            (text(base)?, text(ours)?, text(theirs)?)
        else {
            return Ok(None);
        };
        // Who undoes one line means to keep the next.
        let merge: Merge<'_> = merge_apart(&base, &our_text, &their_text);
        let lines: Vec<(usize, usize)> = merge.conflicts().map(|one| one.our_lines).collect();
        let is_clean = lines.is_empty();
        let why = ConflictWhy::Text { lines };
        let (resolution, decided) = match self.conflicts {
            Conflicts::Leave if !is_clean => {
                return Ok(Some(self.whole(why, Some(ours), Some(theirs))));
            }
            Conflicts::Leave | Conflicts::Ours => (Resolution::Ours, Decided::Ours),
            Conflicts::Theirs => (Resolution::Theirs, Decided::Theirs),
            Conflicts::Markers => (self.markers(), Decided::Markers),
        };
        let conflict = (!is_clean).then_some((why, decided));
        let content = merge.resolve(resolution);
        Ok(Some(Merged {
            entry: Some(with_content(both, content)?),
            conflicts: conflict.into_iter().collect(),
            both: true,
        }))
    }

    fn markers(&self) -> Resolution<'a> {
        Resolution::Markers(self.labels)
    }

    /// Gives `content` the permissions that come of the three.
    fn with_permissions(&self, both: Both<'_, 'a>, content: Entry<'a>) -> Merged<'a> {
        let Both { base, ours, theirs, .. } = both;
        let is_file = |entry: &Entry<'_>| entry.kind() == EntryMode::File;
        let all_files = base.is_none_or(is_file) && is_file(ours) && is_file(theirs);
        if !is_file(&content) || !all_files {
            return settled(Some(&content));
        }
        let (full_mode, in_conflict) = self.permissions(both);
        let mode = if full_mode & 0o100 == 0 { EntryMode::File } else { EntryMode::Executable };
        let state = FileState { mode, id: content.state.id };
        let conflict = in_conflict.then(|| (ConflictWhy::Mode, self.conflicts.about_whole()));
        Merged {
            entry: Some(Entry { state, full_mode, ..content }),
            conflicts: conflict.into_iter().collect(),
            both: false,
        }
    }

    /// The full mode that comes of three files, and whether two changes of it do not go together.
    fn permissions(&self, Both { base, ours, theirs, .. }: Both<'_, 'a>) -> (u32, bool) {
        if !self.modes_known {
            let wanted = match base {
                Some(base) if base.is_executable() != theirs.is_executable() => {
                    theirs.is_executable()
                }
                _ => ours.is_executable(),
            };
            return (with_executable(ours.full_mode, wanted), false);
        }
        let base = base.map(|base| base.full_mode);
        three_way_mode(base, ours.full_mode, theirs.full_mode, self.conflicts)
    }
}

/// The mode that comes of three, and whether two changes of it do not go together.
pub(crate) fn three_way_mode(
    base: Option<u32>,
    ours: u32,
    theirs: u32,
    conflicts: Conflicts,
) -> (u32, bool) {
    if base == Some(ours) {
        (theirs, false)
    } else if base == Some(theirs) || ours == theirs {
        (ours, false)
    } else if conflicts == Conflicts::Theirs {
        (theirs, true)
    } else {
        (ours, true)
    }
}

/// A mode with the owner's permission to execute given or taken away: whoever may read may then run it.
fn with_executable(mode: u32, executable: bool) -> u32 {
    match (executable, mode & 0o100 != 0) {
        (true, false) => mode | 0o100 | (mode & 0o444) >> 2,
        (false, true) => mode & !0o111,
        _ => mode,
    }
}

fn settled<'a>(entry: Option<&Entry<'a>>) -> Merged<'a> {
    Merged { entry: entry.cloned(), ..Merged::default() }
}

/// The content, if it is text that can be merged.
fn text(entry: &Entry<'_>) -> Result<Option<Vec<u8>>, DiffError> {
    Ok(entry.read(MAX_TEXT_BYTES)?.filter(|text| !is_binary(text)))
}

/// Our file with this content, which may be that of one of the sides.
fn with_content<'a>(both: Both<'_, 'a>, content: Vec<u8>) -> Result<Entry<'a>, DiffError> {
    let Both { path, ours, theirs, .. } = both;
    let forged = || DiffError::Damaged {
        path: path.clone(),
        source: Malformed { kind: Kind::Blob, what: "its content is a forged hash collision" },
    };
    let id = id_of(Kind::Blob, &content).ok_or_else(forged)?;
    let bytes = if id == ours.state.id {
        ours.bytes.clone()
    } else if id == theirs.state.id {
        theirs.bytes.clone()
    } else {
        Bytes::Merged(Arc::from(content))
    };
    let mode = ours.state.mode;
    Ok(Entry { state: FileState { mode, id }, bytes, ..ours.clone() })
}
