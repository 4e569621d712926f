//! What one state has in a directory, and one file of it.

use std::io;
use std::io::Write;

use herma_core::{Checkpoint, PastEntry, RelPath};
use herma_store::object::EntryMode;
use herma_store::path::escape;

use crate::json::{PathJson, ProjectJson, Serialize, checkpoint_json, list, object, text};
use crate::listing::write_columns;
use crate::style::{Label, Style};
use crate::{here, units};

/// What is in a directory of a state, or the file that was asked for.
pub fn entries_json(
    project: ProjectJson,
    (checkpoint, path): (&Checkpoint, &RelPath),
    entries: &[PastEntry],
) -> impl Serialize + use<> {
    object! {
        schema: "herma.ls/1",
        project,
        checkpoint: checkpoint_json(checkpoint),
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        entries: list(entries.iter().map(entry_json)),
    }
}

/// Prints one line for each entry.
pub fn write_entries(
    out: &mut dyn Write,
    style: &Style,
    entries: &[PastEntry],
    (is_below, is_long): (bool, bool),
) -> io::Result<()> {
    let rows: Vec<[String; 3]> = entries.iter().map(|e| row(e, is_below, is_long)).collect();
    write_columns(out, style, [Label::Faint, Label::Faint, Label::Name], &rows)
}

/// A file of a state with its content.
pub fn file_json(
    project: ProjectJson,
    (checkpoint, path): (&Checkpoint, &RelPath),
    entry: &PastEntry,
    content: &[u8],
) -> impl Serialize + use<> {
    let (content, content_bytes) = text(content);
    object! {
        schema: "herma.cat/1",
        project,
        checkpoint: checkpoint_json(checkpoint),
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        kind: kind(entry.mode),
        mode: entry.mode.six_digits(),
        size: entry.size,
        id: entry.id.to_hex(),
        content,
        #[serde(flatten)]
        content_bytes: content_bytes.map(|content_bytes| object! { content_bytes }),
    }
}

/// The name of an entry; of something that is no directory, the path that was asked for.
pub fn name(entry: &PastEntry, is_below: bool) -> Vec<u8> {
    let mut name = match entry.path.split() {
        Some((_, name)) if is_below => name.to_vec(),
        _ => here::bytes(entry.path.as_bytes()).into_owned(),
    };
    name.extend((entry.mode == EntryMode::Directory).then_some(b'/'));
    name
}

fn row(entry: &PastEntry, is_below: bool, is_long: bool) -> [String; 3] {
    let name = escape(&name(entry, is_below));
    if !is_long {
        return [String::new(), String::new(), name];
    }
    let size = entry.size.map_or_else(|| "-".to_owned(), units::size);
    [entry.mode.six_digits().to_owned(), size, name]
}

/// The word JSON uses for what something is.
pub const fn kind(mode: EntryMode) -> &'static str {
    match mode {
        EntryMode::File => "file",
        EntryMode::Executable => "executable",
        EntryMode::Symlink => "link",
        EntryMode::Directory => "directory",
        EntryMode::Nested => "repository",
    }
}

fn entry_json(entry: &PastEntry) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        path: PathJson::new(entry.path.as_bytes()),
        kind: kind(entry.mode),
        mode: entry.mode.six_digits(),
        size: entry.size,
        id: entry.id.to_hex(),
    }
}
