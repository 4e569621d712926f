//! Writing and reading what a checkpoint says about itself besides its tree.

use std::collections::{BTreeMap, HashSet};

use herma_store::object::{EntryMode, TreeEntry};
use herma_store::objects::{ObjectError, Objects};
use herma_store::path::join;
use herma_store::{ObjectId, RelPath};
use herma_worktree::lists;
use herma_worktree::reason::Reason;
use herma_worktree::receipt::{LeftOut, Receipt, Summary};

use crate::checkpoint::Checkpoint;
use crate::checkpoint::message::Message;

/// More lists than this are not a project but an attack.
const MAX_LISTS: usize = 4_000_000;

/// The counts as lines of `key value`.
pub fn encode_summary(summary: &Summary) -> String {
    use std::fmt::Write;
    let mut text = format!(
        "files {}\nbytes {}\ndirectories {}\n",
        summary.files, summary.bytes, summary.directories
    );
    for (reason, count) in &summary.left_out {
        let _ = writeln!(text, "left-out {} {count}", reason.word());
    }
    text
}

/// Reads the counts back; lines it does not know are skipped.
pub(crate) fn parse_summary(text: &[u8]) -> Summary {
    let mut summary = Summary::default();
    for line in String::from_utf8_lossy(text).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["files", n] => summary.files = n.parse().unwrap_or(0),
            ["bytes", n] => summary.bytes = n.parse().unwrap_or(0),
            ["directories", n] => summary.directories = n.parse().unwrap_or(0),
            ["left-out", word, n] => {
                if let (Some(reason), Ok(count)) = (Reason::from_word(word.as_bytes()), n.parse()) {
                    summary.left_out.insert(reason, count);
                }
            }
            _ => {}
        }
    }
    summary
}

/// All that a checkpoint says.
pub fn read_receipt(objects: &Objects, checkpoint: &Checkpoint) -> Result<Receipt, ObjectError> {
    let mut receipt = Receipt::default();
    if let Some(extra) = checkpoint.extra {
        receipt.summary = summary_of(objects, extra)?;
    }
    receipt.left_out = read_left_out(objects, checkpoint)?;
    let purged = checkpoint.purged.len() as u64;
    if purged > 0 {
        receipt.summary.left_out.insert(Reason::Purged, purged);
    }
    Ok(receipt)
}

/// The counts of a receipt.
pub fn summary_of(objects: &Objects, extra: ObjectId) -> Result<Summary, ObjectError> {
    let parts = objects.read_tree(&extra)?;
    Ok(match parts.iter().find(|e| e.name == "summary") {
        Some(summary) => parse_summary(&objects.read(&summary.id)?.data),
        None => Summary::default(),
    })
}

/// Everything a checkpoint left out, sorted by path.
pub fn read_left_out(
    objects: &Objects,
    checkpoint: &Checkpoint,
) -> Result<Vec<LeftOut>, ObjectError> {
    let purged = checkpoint.purged.iter().map(|path| LeftOut {
        path: path.as_bytes().into(),
        reason: Reason::Purged,
        secret: None,
    });
    let mut found: Vec<LeftOut> = purged.collect();
    if let Some(extra) = checkpoint.extra {
        found.extend(left_out_of(objects, extra)?);
    }
    found.sort_unstable();
    Ok(found)
}

/// What a receipt says was left out, in no order.
pub fn left_out_of(objects: &Objects, extra: ObjectId) -> Result<Vec<LeftOut>, ObjectError> {
    let parts = objects.read_tree(&extra)?;
    let list = parts.iter().find(|e| e.name == "left-out").map(|e| e.id);
    let mut found = Vec::new();
    let mut stack: Vec<(Vec<u8>, ObjectId)> = list.into_iter().map(|id| (Vec::new(), id)).collect();
    let mut seen = 0;
    while let Some((path, id)) = stack.pop() {
        seen += 1;
        if seen > MAX_LISTS {
            break;
        }
        let (records, dirs) = lists::parts(&objects.read_tree(&id)?);
        if let Some(records) = records {
            for record in lists::records(&objects.read(&records)?.data) {
                if let Some((reason, secret)) = lists::parse_left_out(record.word) {
                    found.push(LeftOut { path: join(&path, record.name).into(), reason, secret });
                }
            }
        }
        if let Some(dirs) = dirs {
            for entry in objects.read_tree(&dirs)? {
                stack.push((join(&path, &entry.name), entry.id));
            }
        }
    }
    Ok(found)
}

/// Why a checkpoint says nothing about a path: it, or a directory above it, was left out.
pub fn why_left_out(
    objects: &Objects,
    checkpoint: &Checkpoint,
    path: &RelPath,
) -> Result<Option<Reason>, ObjectError> {
    if checkpoint.purged.iter().any(|gone| path.starts_with(gone)) {
        return Ok(Some(Reason::Purged));
    }
    let Some(extra) = checkpoint.extra else { return Ok(None) };
    let entry = |tree: Vec<TreeEntry>, name: &[u8]| tree.into_iter().find(|e| e.name == name);
    let mut list = entry(objects.read_tree(&extra)?, b"left-out");
    for name in path.components() {
        let Some(here) = list else { break };
        let (records, dirs) = lists::parts(&objects.read_tree(&here.id)?);
        if let Some(records) = records {
            let data = objects.read(&records)?.data;
            let found = lists::records(&data).find(|record| record.name == name);
            let why = found.and_then(|record| lists::parse_left_out(record.word));
            let reason = why.map(|(reason, _)| reason);
            if reason.is_some_and(|reason| !reason.is_captured()) {
                return Ok(reason);
            }
        }
        list = match dirs {
            Some(dirs) => entry(objects.read_tree(&dirs)?, name),
            None => None,
        };
    }
    Ok(None)
}

/// What no state vouches for, by path.
pub type LeftOutMap = BTreeMap<Vec<u8>, Reason>;

/// What a checkpoint says nothing about, by path.
pub fn by_path(left_out: Vec<LeftOut>) -> BTreeMap<Vec<u8>, Reason> {
    let items = left_out.into_iter();
    items
        .filter(|item| !item.reason.is_captured())
        .map(|item| (item.path.into(), item.reason))
        .collect()
}

/// Reads a commit, its receipt and the trees of all lists in it. Returns the project's tree, and the contents of the receipt.
pub fn receipt_of(
    objects: &Objects,
    checkpoint: &ObjectId,
) -> Result<(ObjectId, Vec<ObjectId>), ObjectError> {
    let commit = objects.read_commit(checkpoint)?;
    let mut stack: Vec<ObjectId> = Message::parse(&commit.message).extra.into_iter().collect();
    let mut seen = HashSet::new();
    let mut contents = Vec::new();
    while let Some(list) = stack.pop() {
        for entry in objects.read_tree(&list)? {
            if !seen.insert(entry.id) {
                continue;
            }
            match entry.mode {
                EntryMode::Directory => stack.push(entry.id),
                _ => contents.push(entry.id),
            }
        }
    }
    Ok((commit.tree, contents))
}

/// The receipt a commit names, if it is there.
pub fn receipt_in(objects: &Objects, id: &ObjectId) -> Option<ObjectId> {
    let commit = objects.read_commit(id).ok()?;
    let extra = Message::parse(&commit.message).extra?;
    objects.read_tree(&extra).ok().map(|_| extra)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_reads_back() {
        let mut summary = Summary { files: 3, bytes: 99, directories: 2, ..Summary::default() };
        summary.left_out.insert(Reason::TooLarge, 1);
        summary.left_out.insert(Reason::Ignored, 7);
        assert_eq!(parse_summary(encode_summary(&summary).as_bytes()), summary);
    }
}
