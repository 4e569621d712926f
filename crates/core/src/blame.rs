//! Who wrote this line: every line of a file, and the step or the hand that put it there.
//!
//! The versions of the file are taken oldest first. Each line that a version has from the one before it keeps
//! its origin; each new one gets the author of what led from the one to the other. Herma's own moves write
//! nothing: what a restore, an undo or a redo brings back has the origin it had when it was there before.
//!
//! # Limits
//!
//! * A line is itself as long as a diff does not show it as changed. Moved within a file it is new, and so
//!   is one that got another indentation.
//! * An older version that is too large to be compared counts as not known: what changed from the last
//!   version before it to the next one after it has the authors of both stretches.

use crate::engine::operation::Operation;
use bstr::BString;
use herma_diff::DiffError;
use herma_diff::lines::is_binary;
use herma_diff::lines::origins::line_origins;
use herma_diff::patch::MAX_TEXT_BYTES;
use herma_records::step::{LineAuthor, Step};
use herma_store::object::{EntryMode, Kind, id_of};
use herma_store::{ObjectId, RelPath};

use crate::error::{AuthorshipError, Error, Result};
use crate::timeline::versions::{At, Seen, Told};

/// A checkpoint, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedIn {
    /// Its number.
    pub number: u64,
    /// The commit that is the checkpoint.
    pub id: ObjectId,
}

/// Where a line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOrigin {
    /// Who put it there.
    pub author: LineAuthor,
    /// The oldest checkpoint with it; `None` if only the present has it, or a state between checkpoints.
    pub checkpoint: Option<SavedIn>,
    /// When it was first seen, in seconds since 1970; `None` if it is not saved yet.
    pub time: Option<i64>,
}

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameLine {
    /// Its bytes, with the newline.
    pub text: BString,
    /// Where it comes from.
    pub origin: LineOrigin,
}

/// Who wrote a file.
#[derive(Clone, Debug)]
pub struct Blame {
    /// The file.
    pub path: RelPath,
    /// Its lines; together they are the file, byte by byte.
    pub lines: Vec<BlameLine>,
    /// The steps that are named, ascending.
    pub steps: Vec<Step>,
}

impl Operation<'_> {
    pub(crate) fn blame(self, path: &RelPath) -> Result<Blame> {
        let progress = self.progress;
        let told = self.tell(path)?;
        let present = told.at(told.now(), path)?;
        let text = match present {
            At::File(state) if state.mode != EntryMode::Symlink => {
                told.present_text(path, &state.id)?
            }
            At::Nothing | At::LeftOut(_) => {
                let versions = told.versions(path)?;
                return Err(why_not(path, present, &versions));
            }
            _ => return Err(AuthorshipError::NotAFile { path: path.clone() }.into()),
        };
        let versions = told.versions(path)?;
        let mut carried = Carried::new(&told, &versions);
        for version in 0..versions.len() {
            progress.check()?;
            carried.take(version)?;
        }
        let (origins, lines) = (carried.origins, carried.lines);
        let lines: Vec<BlameLine> = text
            .split_inclusive(|byte| *byte == b'\n')
            .zip(lines)
            .map(|(text, origin)| BlameLine { text: text.into(), origin: origins[origin].clone() })
            .collect();
        let named = lines.iter().flat_map(|line| line.origin.author.steps());
        Ok(Blame { path: path.clone(), steps: told.steps(named.copied()), lines })
    }
}

/// Why a file that is not in the present state cannot be looked at.
fn why_not(path: &RelPath, present: At, versions: &[Seen]) -> Error {
    let path = path.clone();
    match present {
        At::LeftOut(reason) => AuthorshipError::LeftOut { path, reason }.into(),
        _ if versions.iter().any(|seen| seen.state.is_some()) => {
            AuthorshipError::Gone { path }.into()
        }
        _ => Error::PathUnknown { path },
    }
}

impl Told<'_> {
    /// The text of a file as it is, if it is one.
    fn present_text(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<u8>> {
        let limit = MAX_TEXT_BYTES;
        let Some(text) = self.side(self.now()).content(path, id, limit)? else {
            let path = path.clone();
            return Err(AuthorshipError::TooLarge { path, limit }.into());
        };
        // Written to since it was scanned: the lines would not be those that were compared.
        if id_of(Kind::Blob, &text) != Some(*id) {
            return Err(DiffError::Vanished { path: path.clone() }.into());
        }
        if is_binary(&text) {
            return Err(AuthorshipError::Binary { path: path.clone() }.into());
        }
        Ok(text)
    }

    /// The text of a version; `None` if it is too large. What is not a file has no lines.
    fn text(&self, seen: &Seen) -> Result<Option<Vec<u8>>> {
        match seen.state {
            Some(state) if matches!(state.mode, EntryMode::File | EntryMode::Executable) => {
                let side = self.side(seen.first);
                Ok(side.content(&seen.path, &state.id, MAX_TEXT_BYTES)?)
            }
            _ => Ok(Some(Vec::new())),
        }
    }

    /// Where what is new in a version comes from.
    fn origin(&self, before: Option<&Seen>, seen: &Seen) -> LineOrigin {
        let author = before.map(|before| self.author_between(before.last, seen.first));
        let saved_in = |checkpoint: &herma_records::checkpoint::Checkpoint| SavedIn {
            number: checkpoint.number,
            id: checkpoint.id,
        };
        LineOrigin {
            checkpoint: self.holder(seen.first).map(saved_in),
            time: self.time(seen.first, author.as_ref()),
            author: author.unwrap_or(LineAuthor::Earlier),
        }
    }
}

/// The lines of one version after the other, with their origins.
struct Carried<'t> {
    told: &'t Told<'t>,
    versions: &'t [Seen],
    /// One for each version that could be read.
    origins: Vec<LineOrigin>,
    /// The version that was taken last.
    before: Option<usize>,
    text: Vec<u8>,
    /// For each of its lines the place in `origins`.
    lines: Vec<usize>,
    /// The lines of older versions, as long as something may be brought back from them.
    older: Vec<(usize, Vec<usize>)>,
    last_move: usize,
}

impl<'t> Carried<'t> {
    fn new(told: &'t Told<'t>, versions: &'t [Seen]) -> Self {
        let is_move =
            |(before, seen): (&Seen, &Seen)| told.is_move_between(before.last, seen.first);
        let mut pairs = versions.windows(2).map(|pair| (&pair[0], &pair[1]));
        Self {
            told,
            versions,
            origins: Vec::new(),
            before: None,
            text: Vec::new(),
            lines: Vec::new(),
            older: Vec::new(),
            last_move: pairs.rposition(is_move).map_or(0, |before| before + 1),
        }
    }

    /// Goes on to the next version.
    fn take(&mut self, version: usize) -> Result<()> {
        let seen = &self.versions[version];
        let Some(text) = self.told.text(seen)? else { return Ok(()) };
        let before = self.before.map(|before| &self.versions[before]);
        let is_move = before.is_some_and(|b| self.told.is_move_between(b.last, seen.first));
        let own = self.origins.len();
        self.origins.push(self.told.origin(before, seen));
        let content = |seen: &Seen| seen.state.map(|state| state.id);
        let same =
            |(older, _): &&(usize, Vec<usize>)| content(&self.versions[*older]) == content(seen);
        let brought_back = self.older.iter().rev().filter(|_| is_move).find(same);
        let lines = if let Some((_, lines)) = brought_back {
            lines.clone()
        } else {
            let mut lines = carry(&self.text, &self.lines, &text);
            if is_move {
                self.find_older(&text, &mut lines)?;
            }
            lines.into_iter().map(|line| line.unwrap_or(own)).collect()
        };
        if version < self.last_move {
            self.older.push((version, lines.clone()));
        }
        (self.before, self.text, self.lines) = (Some(version), text, lines);
        Ok(())
    }

    /// Looks for lines without an origin in older versions, newest first.
    fn find_older(&self, text: &[u8], lines: &mut [Option<usize>]) -> Result<()> {
        for (older, origins) in self.older.iter().rev() {
            if lines.iter().all(Option::is_some) {
                break;
            }
            let Some(old_text) = self.told.text(&self.versions[*older])? else { continue };
            for (line, found) in lines.iter_mut().zip(carry(&old_text, origins, text)) {
                *line = line.or(found);
            }
        }
        Ok(())
    }
}

/// The origins of the lines that `new` has from `old`.
fn carry(old: &[u8], origins: &[usize], new: &[u8]) -> Vec<Option<usize>> {
    line_origins(old, new).into_iter().map(|line| origins.get(line?).copied()).collect()
}
