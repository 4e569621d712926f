//! Which files belong to which session.
//!
//! Hermes names the files of a session after its id: `<id>.json`, `<id>.jsonl`, `session_<id>.json` and
//! `request_dump_<id>_<suffix>.json`. An id is free text, so the names of one session can look like those
//! of another. Here the question is never "which files match this id" but "whose is this file": a name is
//! taken apart into the ids it could belong to, and those are looked up. An id with `*`, `/` or `..` in it
//! so matches the file with literally that name, or none.

use std::ffi::CStr;

use herma_fs::dir::ListBuffer;
use herma_fs::{Dir, FileKind};

use crate::error::Result;

/// The file in which the gateway keeps which conversation is which session. It is nobody's transcript.
pub const GATEWAY_INDEX: &str = "sessions.json";

/// Calls `each` with the names in a directory that are no directories, up to the first error.
pub(crate) fn for_each(dir: &Dir, mut each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
    let mut done = Ok(());
    let listed = dir.for_each_entry(&mut ListBuffer::new(), |name, kind| {
        if done.is_ok() && !matches!(kind, FileKind::Directory | FileKind::Special) {
            done = each(name);
        }
    });
    listed.map_err(|errno| herma_fs::Error::on("list", dir.path(), errno))?;
    done
}

/// A session that a file could belong to, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'n> {
    /// The id of the session.
    pub id: &'n [u8],
    /// The form of the name.
    pub form: Form,
}

/// The forms of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `<id>.json` or `<id>.jsonl`.
    Plain,
    /// `session_<id>.json`.
    Snapshot,
    /// `request_dump_<id>_<suffix>.json`, where the suffix is a time as Hermes writes it.
    StampedDump,
    /// `request_dump_<id>_<suffix>.json` with any other suffix.
    Dump,
}

impl Form {
    pub(crate) fn is_dump(self) -> bool {
        matches!(self, Self::StampedDump | Self::Dump)
    }
}

/// The sessions a file with this name could belong to; of the dumps, the longest id first.
pub fn claims<'n>(name: &'n [u8]) -> Vec<Claim<'n>> {
    let mut claims = Vec::new();
    if name == GATEWAY_INDEX.as_bytes() {
        return claims;
    }
    let mut add = |id: &'n [u8], form| {
        if !id.is_empty() {
            claims.push(Claim { id, form });
        }
    };
    if let Some(stem) = name.strip_suffix(b".jsonl") {
        add(stem, Form::Plain);
    } else if let Some(stem) = name.strip_suffix(b".json") {
        add(stem, Form::Plain);
        if let Some(id) = stem.strip_prefix(b"session_") {
            add(id, Form::Snapshot);
        }
        if let Some(rest) = stem.strip_prefix(b"request_dump_") {
            let splits = (0..rest.len()).rev().filter(|at| rest[*at] == b'_');
            for at in splits.filter(|at| at + 1 < rest.len()) {
                let form = if is_stamp(&rest[at + 1..]) { Form::StampedDump } else { Form::Dump };
                add(&rest[..at], form);
            }
        }
    }
    claims
}

/// `20260422_231500_123456`
fn is_stamp(suffix: &[u8]) -> bool {
    let parts: Vec<_> = suffix.split(|byte| *byte == b'_').collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 6, 6] && parts.concat().iter().all(u8::is_ascii_digit)
}

/// What is known about a session that a file could belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No session has or had this id.
    Unknown,
    /// It is deleted.
    Deleted,
    /// It stays.
    Stays,
}

/// The deleted session whose file it is and may go; `None` if it stays.
///
/// A dump belongs to the longest known id that fits, a snapshot or a transcript to any that fits. When a
/// session that stays could own it too, it stays: a file too many is found later, a file too few is lost.
pub fn deleted_owner<'n>(claims: &[(Claim<'n>, Standing)]) -> Option<Claim<'n>> {
    let known = |dump: bool| {
        let of_kind = move |claim: &Claim<'_>| claim.form.is_dump() == dump;
        claims
            .iter()
            .filter(move |(claim, standing)| of_kind(claim) && *standing != Standing::Unknown)
    };
    if known(false).any(|(_, standing)| *standing == Standing::Stays) {
        return None;
    }
    let Some((owner, standing)) = known(true).next() else {
        return known(false).next().map(|(claim, _)| *claim);
    };
    // A shorter id whose suffix is a time has the better claim: the longer one only looks like it.
    let is_doubted = owner.form == Form::Dump
        && known(true).any(|(claim, standing)| {
            claim.form == Form::StampedDump && *standing == Standing::Stays
        });
    (*standing == Standing::Deleted && !is_doubted).then_some(*owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes(name: &str, deleted: &[&str], stay: &[&str]) -> bool {
        let standing = |id: &[u8]| {
            if deleted.iter().any(|known| known.as_bytes() == id) {
                Standing::Deleted
            } else if stay.iter().any(|known| known.as_bytes() == id) {
                Standing::Stays
            } else {
                Standing::Unknown
            }
        };
        let claims = claims(name.as_bytes());
        let judged: Vec<_> = claims.iter().map(|c| (*c, standing(c.id))).collect();
        deleted_owner(&judged).is_some()
    }

    #[test]
    fn all_four_forms_belong_to_their_session() {
        for name in [
            "old.json",
            "old.jsonl",
            "session_old.json",
            "request_dump_old_001.json",
            "request_dump_old_20260422_231500_123456.json",
        ] {
            assert!(goes(name, &["old"], &["other"]), "{name}");
            assert!(!goes(name, &["ol"], &["other"]), "{name}");
        }
        for name in
            ["old.txt", "old", "xold.json", "session_old.jsonl.bak", "request_dump_old.json"]
        {
            assert!(!goes(name, &["old"], &[]), "{name}");
        }
    }

    #[test]
    fn the_dump_of_a_session_with_a_longer_name_stays() {
        let name = "request_dump_job_2_20260422_231500_123456.json";
        assert!(!goes(name, &["job"], &["job_2"]));
        assert!(goes(name, &["job_2"], &["job"]));
        assert!(goes(name, &["job", "job_2"], &[]));
        assert!(goes("request_dump_job_2_001.json", &["job"], &[]));
    }

    #[test]
    fn a_dump_that_could_be_either_stays() {
        let name = "request_dump_job_20260422_231500_123456.json";
        assert!(!goes(name, &["job_20260422"], &["job"]));
        assert!(goes(name, &["job"], &[]));
        assert!(!goes("session_x.json", &["x"], &["session_x"]));
        assert!(!goes("session_x.json", &["session_x"], &["x"]));
        assert!(goes("session_x.json", &["session_x", "x"], &[]));
    }

    #[test]
    fn ids_match_literally_or_nothing() {
        assert!(!goes("a1.json", &["a*", "a?", "a[0-9]", "../a1", "/a1"], &[]));
        assert!(goes("a*.json", &["a*"], &[]));
        assert!(goes("...json", &[".."], &[]));
        assert!(!goes("sessions.json", &["sessions"], &[]));
        assert!(!goes("session_.json", &[""], &[]));
        assert!(!goes(".json", &[""], &[]));
    }
}
