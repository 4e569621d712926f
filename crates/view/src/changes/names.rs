//! The forms of a difference besides the patch: names and counts.

use std::io;
use std::io::Write;

use herma_core::RelPath;
use herma_diff::{Change, FileStat};

use crate::here;
use crate::listing::counted;
use crate::style::{Label, Style, Theme};

/// `A`, `D`, `M`, `T` or `R`, as git has it.
pub fn status_letter(change: &Change) -> char {
    match (change.old, change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        _ if change.from.is_some() => 'R',
        _ if change.is_type_change() => 'T',
        _ => 'M',
    }
}

/// Prints the names, with what happened if asked for.
pub fn write_names(
    out: &mut dyn Write,
    style: &Style,
    changes: &[Change],
    with_status: bool,
    null: bool,
) -> io::Result<()> {
    for change in changes {
        let letter = status_letter(change);
        let status = match &change.from {
            Some(from) => format!("{letter}{:03}", from.similarity),
            None => letter.to_string(),
        };
        let from = change.from.as_ref().filter(|_| with_status).map(|from| &from.path);
        if null {
            if with_status {
                write!(out, "{status}\0")?;
            }
            for path in from.into_iter().chain([&change.path]) {
                write_exactly(out, path)?;
            }
            continue;
        }
        if with_status {
            write!(out, "{}\t", style.theme.paint(label(letter), &status))?;
        }
        match from {
            Some(from) => writeln!(out, "{}\t{}", here::path(from), here::path(&change.path))?,
            None => writeln!(out, "{}", here::path(&change.path))?,
        }
    }
    Ok(())
}

const fn label(letter: char) -> Label {
    match letter {
        'A' => Label::Added,
        'D' => Label::Removed,
        _ => Label::Changed,
    }
}

fn write_exactly(out: &mut dyn Write, path: &RelPath) -> io::Result<()> {
    out.write_all(&here::bytes(path.as_bytes()))?;
    out.write_all(b"\0")
}

/// Prints how many lines changed per file, and altogether.
pub fn write_stats(
    out: &mut dyn Write,
    style: &Style,
    files: &[FileStat],
    null: bool,
) -> io::Result<()> {
    if null {
        for file in files {
            write!(out, "{}\t{}\t", number(file.insertions), number(file.deletions))?;
            write_exactly(out, &file.path)?;
        }
        return Ok(());
    }
    let names: Vec<_> = files.iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(60);
    for (file, name) in files.iter().zip(&names) {
        writeln!(out, "{name:<width$} | {}", counts(file, style.theme))?;
    }
    writeln!(out, "{}", total(files))
}

/// How many lines changed in a file.
pub fn counts(file: &FileStat, theme: Theme) -> String {
    match (file.insertions, file.deletions) {
        (Some(insertions), Some(deletions)) => format!(
            "{} {}",
            theme.paint(Label::Added, &format!("+{insertions}")),
            theme.paint(Label::Removed, &format!("-{deletions}")),
        ),
        _ if file.binary => "binary".to_owned(),
        _ => "not counted".to_owned(),
    }
}

/// How many lines changed altogether.
pub fn total(files: &[FileStat]) -> String {
    let insertions: u64 = files.iter().filter_map(|file| file.insertions).sum();
    let deletions: u64 = files.iter().filter_map(|file| file.deletions).sum();
    format!("{} changed, +{insertions}/-{deletions}", counted(files.len(), "file"))
}

/// The name of a file, and the one it had.
pub fn name(file: &FileStat) -> String {
    match &file.from {
        Some(from) => format!("{} => {}", here::path(from), here::path(&file.path)),
        None => here::path(&file.path),
    }
}

/// `-` where lines are not counted, as in git's `--numstat`.
fn number(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}
