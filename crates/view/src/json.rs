//! What programs get: the shapes of `--json`, described in docs/JSON.md.
//!
//! Text is UTF-8 in JSON and bytes on disk. A path or reason that is not UTF-8 is given twice: readable
//! and escaped, and exactly, in base64, beside it.

use std::ffi::OsStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use herma_core::types::checkpoint::ChangeCount;
use herma_core::{Checkpoint, Project};
use herma_worktree::receipt::LeftOut;
pub use serde::Serialize;

use herma_store::path::escape;

use crate::time;

/// An object as programs get it: its fields in the order they are written, with attributes of serde where they need some.
#[macro_export]
macro_rules! object {
    ($($(#[$how:meta])* $name:ident $(: $value:expr)?),* $(,)?) => {{
        // Every field has a type of its own, which is called like the field.
        #[allow(non_camel_case_types)]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($name),*> {
                $($(#[$how])* $name: $name),*
            }
            Object { $($name $(: $value)?),* }
        };
        object
    }};
}
pub use object;

/// A function that makes such an object, for those who may not need it.
#[macro_export]
macro_rules! lazy_object {
    ($($fields:tt)*) => { || $crate::object! { $($fields)* } };
}
pub use lazy_object;

/// What a list in an object holds.
pub fn list<T: Serialize>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.collect()
}

/// A path, and its bytes if they are not UTF-8.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PathJson {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl PathJson {
    /// The path with these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let (path, path_bytes) = text(bytes);
        Self { path, path_bytes }
    }

    /// The path as the system knows it.
    pub fn of(path: impl AsRef<OsStr>) -> Self {
        Self::new(path.as_ref().as_encoded_bytes())
    }
}

/// Text as it is, or escaped with its bytes beside it.
pub fn text(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (escape(bytes), Some(BASE64.encode(bytes))),
    }
}

/// The project a command was about.
#[derive(Debug, Serialize)]
pub struct ProjectJson {
    id: String,
    #[serde(flatten)]
    root: PathJson,
    interrupted_restore: bool,
}

impl ProjectJson {
    /// The project; `is_unfinished` if a conversation has yet to follow its files.
    pub fn new(project: &Project, is_unfinished: bool) -> Self {
        Self {
            id: project.id().to_string(),
            root: PathJson::of(project.root()),
            // A command that cannot tell has failed for it already.
            interrupted_restore: matches!(project.interrupted(), Ok(Some(_))) || is_unfinished,
        }
    }
}

/// A checkpoint.
pub fn checkpoint_json(checkpoint: &Checkpoint) -> impl Serialize + use<> {
    let (reason, reason_bytes) = text(&checkpoint.reason);
    let facts = &checkpoint.facts;
    object! {
        id: checkpoint.id.to_hex(),
        number: checkpoint.number,
        #[serde(flatten)]
        line: checkpoint.line.clone().map(|line| object! { line }),
        tree: checkpoint.tree.to_hex(),
        seconds: checkpoint.time.seconds,
        time: time::rfc3339(checkpoint.time),
        reason,
        #[serde(flatten)]
        reason_bytes: reason_bytes.map(|reason_bytes| object! { reason_bytes }),
        origin: checkpoint.origin.word(),
        facts: object! {
            #[serde(flatten)]
            texts: facts.clone(),
            transcript: facts.transcript.map(|transcript| object! {
                message: transcript.message,
                messages: transcript.messages,
                bytes: transcript.bytes,
            }),
        },
        changes: checkpoint.changes.map(changes_json),
        names: checkpoint.names.clone(),
        pinned: checkpoint.pinned,
        green: checkpoint.green,
        receipt_damaged: checkpoint.receipt_damaged,
    }
}

/// How much changed; lines are `null` when they were not counted.
pub fn changes_json(count: ChangeCount) -> impl Serialize {
    object! {
        files: count.files,
        insertions: count.lines_known.then_some(count.insertions),
        deletions: count.lines_known.then_some(count.deletions),
    }
}

/// Something that is not in a checkpoint; of the secret a file looks like it holds, never the secret itself.
pub fn left_out_json(left_out: &LeftOut) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        path: PathJson::new(&left_out.path),
        reason: left_out.reason.word(),
        #[serde(flatten)]
        secret: left_out.secret.map(|found| object! {
            secret: object! { kind: found.kind.word(), line: found.line },
        }),
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
