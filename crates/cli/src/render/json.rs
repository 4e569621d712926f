//! What programs get: the shapes of `--json`, described in docs/JSON.md.
//!
//! Text is UTF-8 in JSON and bytes on disk. A path or reason that is not UTF-8 is given twice: readable
//! and escaped, and exactly, in base64, beside it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use herma_core::Checkpoint;
use herma_core::engine::Project;
use herma_core::types::checkpoint::ChangeCount;
use herma_core::types::receipt::LeftOut;
use herma_store::path::escape;
use serde::Serialize;

use crate::conversations::pending::unfinished;
use crate::terminal::time;

/// A path, and its bytes if they are not UTF-8.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PathJson {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl PathJson {
    /// The path with these bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let (path, path_bytes) = text(bytes);
        Self { path, path_bytes }
    }

    /// The path as the system knows it.
    pub(crate) fn of(path: &Path) -> Self {
        Self::new(path.as_os_str().as_bytes())
    }
}

/// Text as it is, or escaped with its bytes beside it.
pub(crate) fn text(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (escape(bytes), Some(BASE64.encode(bytes))),
    }
}

/// The project a command was about.
#[derive(Debug, Serialize)]
pub(crate) struct ProjectJson {
    id: String,
    #[serde(flatten)]
    root: PathJson,
    interrupted_restore: bool,
}

impl ProjectJson {
    /// Describes a project.
    pub(crate) fn new(project: &Project<'_>) -> Self {
        Self {
            id: project.id().to_string(),
            root: PathJson::of(project.root()),
            // A command that cannot tell has failed for it already.
            interrupted_restore: matches!(project.interrupted(), Ok(Some(_)))
                || unfinished(project).is_some(),
        }
    }
}

/// A checkpoint.
#[derive(Debug, Serialize)]
pub(crate) struct CheckpointJson {
    id: String,
    number: usize,
    sequence: u64,
    tree: String,
    seconds: i64,
    time: Option<String>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason_bytes: Option<String>,
    origin: &'static str,
    facts: FactsJson,
    changes: Option<ChangesJson>,
    names: Vec<String>,
    pinned: bool,
    receipt_damaged: bool,
}

/// How far a conversation had come.
#[derive(Debug, Serialize)]
struct TranscriptJson {
    message: i64,
    messages: u64,
    bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct FactsJson {
    agent: Option<String>,
    session: Option<String>,
    turn: Option<String>,
    tool: Option<String>,
    transcript: Option<TranscriptJson>,
}

/// How much changed; lines are `null` when they were not counted.
#[derive(Debug, Serialize)]
pub(crate) struct ChangesJson {
    pub(crate) files: u64,
    pub(crate) insertions: Option<u64>,
    pub(crate) deletions: Option<u64>,
}

impl From<ChangeCount> for ChangesJson {
    fn from(count: ChangeCount) -> Self {
        Self {
            files: count.files,
            insertions: count.lines_known.then_some(count.insertions),
            deletions: count.lines_known.then_some(count.deletions),
        }
    }
}

impl From<&Checkpoint> for CheckpointJson {
    fn from(checkpoint: &Checkpoint) -> Self {
        let (reason, reason_bytes) = text(&checkpoint.reason);
        let facts = checkpoint.facts.clone();
        Self {
            id: checkpoint.id.to_hex(),
            number: checkpoint.number,
            sequence: checkpoint.sequence,
            tree: checkpoint.tree.to_hex(),
            seconds: checkpoint.time.seconds,
            time: time::rfc3339(checkpoint.time),
            reason,
            reason_bytes,
            origin: checkpoint.origin.word(),
            facts: FactsJson {
                agent: facts.agent,
                session: facts.session,
                turn: facts.turn,
                tool: facts.tool,
                transcript: facts.transcript.map(|transcript| TranscriptJson {
                    message: transcript.message,
                    messages: transcript.messages,
                    bytes: transcript.bytes,
                }),
            },
            changes: checkpoint.changes.map(ChangesJson::from),
            names: checkpoint.names.clone(),
            pinned: checkpoint.pinned,
            receipt_damaged: checkpoint.receipt_damaged,
        }
    }
}

/// Something that is not in a checkpoint.
#[derive(Debug, Serialize)]
pub(crate) struct LeftOutJson {
    #[serde(flatten)]
    path: PathJson,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<SecretJson>,
}

/// The secret a file looks like it holds; never the secret itself.
#[derive(Debug, Serialize)]
struct SecretJson {
    kind: &'static str,
    line: u32,
}

impl From<&LeftOut> for LeftOutJson {
    fn from(left_out: &LeftOut) -> Self {
        Self {
            path: PathJson::new(&left_out.path),
            reason: left_out.reason.word(),
            secret: left_out
                .secret
                .map(|found| SecretJson { kind: found.kind.word(), line: found.line }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_not_utf8_are_given_exactly_too() {
        let plain = serde_json::to_string(&PathJson::new("ä b".as_bytes())).unwrap();
        assert_eq!(plain, r#"{"path":"ä b"}"#);
        let odd = serde_json::to_string(&PathJson::new(b"a\xff")).unwrap();
        assert_eq!(odd, r#"{"path":"a\\xff","path_bytes":"Yf8="}"#);
    }
}
