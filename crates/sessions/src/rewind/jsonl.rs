//! The transcript beside the database: its tail goes and comes back with the messages. What else tells of
//! the conversation is left alone, and named.

use std::fs::File;

use herma_fs::{Dir, FileKind, IfThere};

use super::kept::{Cut, Kept};
use super::went_on;
use crate::error::{Error, Result};

/// File systems know no longer names.
const MAX_NAME_BYTES: usize = 255;

/// A file of a session that a rewind leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: &'static str,
    /// Does it say what the conversation was, so that somebody has to look after it?
    pub matters: bool,
}

/// What a rewind does not touch though it tells of the conversation.
pub fn left_alone(sessions_dir: Option<&Dir>, session: &str) -> Result<Vec<LeftAlone>> {
    let (Some(dir), Some(jsonl)) = (sessions_dir, jsonl_name(session)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let kind = |name: &str| -> Result<Option<FileKind>> {
        if name.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        Ok(dir.stat_opt(name)?.map(|stat| stat.kind))
    };
    let why = match kind(&jsonl)? {
        None | Some(FileKind::File) => None,
        Some(FileKind::Symlink) => Some("it is a link, which is not followed"),
        Some(_) => Some("it is no regular file"),
    };
    found.extend(why.map(|why| LeftAlone { name: jsonl, why, matters: true }));
    for name in [format!("session_{session}.json"), format!("{session}.json")] {
        if kind(&name)?.is_some() {
            found.push(LeftAlone {
                name,
                why: "the agent writes it anew with its next turn",
                matters: false,
            });
        }
    }
    Ok(found)
}

pub(super) fn jsonl_name(session: &str) -> Option<String> {
    let is_name = !session.is_empty() && !session.contains(['/', '\0']);
    is_name.then(|| format!("{session}.jsonl"))
}

pub(super) fn jsonl_length(dir: &Dir, session: &str) -> Result<Option<u64>> {
    let Some(name) = jsonl_name(session).filter(|name| name.len() <= MAX_NAME_BYTES) else {
        return Ok(None);
    };
    let stat = dir.stat_opt(name.as_str())?;
    Ok(stat.filter(|stat| stat.kind == FileKind::File).map(|stat| stat.size))
}

/// The transcript beside the database, of which a tail was or will be cut.
pub(super) struct Jsonl<'k> {
    file: File,
    dir: &'k Dir,
    session: &'k str,
    start: u64,
    end: u64,
}

impl<'k> Jsonl<'k> {
    pub(super) fn open(sessions_dir: Option<&'k Dir>, cut: &'k Cut) -> Result<Option<Self>> {
        let (Some(dir), Some((start, end))) = (sessions_dir, cut.jsonl) else { return Ok(None) };
        let Some(name) = jsonl_name(&cut.session) else { return Ok(None) };
        let file = dir.open_existing(name.as_str()).if_there()?;
        let file = file.ok_or_else(|| went_on(&cut.session, "its transcript is gone"))?;
        Ok(Some(Self { file, dir, session: &cut.session, start, end }))
    }

    fn error(&self, verb: &'static str, source: std::io::Error) -> Error {
        let name = jsonl_name(self.session).unwrap_or_default();
        herma_fs::Error::on(verb, &self.dir.path().join(name), source).into()
    }

    fn length(&self) -> Result<u64> {
        let stat = herma_fs::file::stat_file(&self.file);
        Ok(stat.map_err(|e| self.error("look at", e))?.size)
    }

    /// What follows the mark must be the beginning of what was kept, or all of it.
    pub(super) fn check(&self, kept: &Kept) -> Result<()> {
        let length = self.length()?;
        if length < self.start || length > self.end {
            return Err(went_on(self.session, "its transcript has another length"));
        }
        let mut at = self.start;
        let mut buffer = Vec::new();
        kept.for_each_piece(|piece| {
            let wanted = piece.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
            buffer.resize(wanted, 0);
            let read = herma_fs::file::read_at(&self.file, &mut buffer, at);
            read.map_err(|e| self.error("read", e))?;
            if buffer != piece[..wanted] {
                return Err(went_on(self.session, "its transcript says something else"));
            }
            at += wanted as u64;
            Ok(())
        })
    }

    pub(super) fn cut(&self) -> Result<u64> {
        let length = self.length()?;
        if length > self.end {
            return Err(went_on(self.session, "its transcript has another length"));
        }
        self.file
            .set_len(self.start)
            .and_then(|()| self.file.sync_all())
            .map_err(|e| self.error("shorten", e))?;
        Ok(length - self.start)
    }

    pub(super) fn bring_back(&self, kept: &Kept) -> Result<u64> {
        use std::os::unix::fs::FileExt;
        let length = self.length()?;
        let mut at = self.start;
        kept.for_each_piece(|piece| {
            let written = self.file.write_all_at(piece, at);
            written.map_err(|e| self.error("write", e))?;
            at += piece.len() as u64;
            Ok(())
        })?;
        let synced = self.file.sync_all();
        synced.map_err(|e| self.error("sync", e))?;
        Ok(self.end - length)
    }
}
