//! A summary of rows for a pull request, as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write;

use herma_core::{RelPath, Row, RowChanges, RowKind};
use herma_store::path::escape;

use crate::listing::counted;
use crate::time;

/// So many files of a row are named.
const NAMED_FILES: usize = 50;

/// Prints it: prompts with what they changed, edits by hand, who changed how much, and what was undone.
pub fn write_summary(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    writeln!(out, "## Changes\n")?;
    for row in rows {
        write_row(out, row)?;
    }
    writeln!(out, "## Authorship\n")?;
    for (who, share) in shares(rows) {
        let lines = share.lines.map_or_else(String::new, |(new, gone)| format!(", +{new} −{gone}"));
        let undone = match share.undone {
            0 => String::new(),
            undone => format!("; {} undone since", counted(undone, "change")),
        };
        let rows = counted(share.rows, "change");
        writeln!(out, "- {who}: {rows}, {}{lines}{undone}", counted(share.files.len(), "file"))?;
    }
    Ok(())
}

fn write_row(out: &mut dyn Write, row: &Row) -> io::Result<()> {
    let is_undone = !row.calls.is_empty() && row.undone == row.calls.len();
    let mark = match (is_undone, row.undone + row.in_part) {
        (true, _) => " (**undone**)",
        (false, 0) => "",
        _ => " (**undone in part**)",
    };
    writeln!(out, "### {}{mark}\n", title(row))?;
    let number = row.id.number().map_or_else(String::new, |number| format!("change {number}, "));
    let when = time::rfc3339(time::at(row.time));
    let changes = changes_in_words(&row.changes);
    writeln!(out, "By {}; {number}{}: {changes}\n", who(row), when.unwrap_or_default())?;
    let mut commands: Vec<&String> =
        row.calls.iter().rev().filter_map(|call| call.step.start.command.as_ref()).collect();
    commands.dedup();
    for command in commands {
        writeln!(out, "- ran {}", code(command.as_bytes()))?;
    }
    let files = &row.changes.files;
    for (path, is_gone) in files.iter().take(NAMED_FILES) {
        let gone = if *is_gone { " (deleted)" } else { "" };
        writeln!(out, "- {}{gone}", code(path.as_bytes()))?;
    }
    if files.len() > NAMED_FILES {
        writeln!(out, "- and {} more", files.len() - NAMED_FILES)?;
    }
    writeln!(out)
}

fn changes_in_words(changes: &RowChanges) -> String {
    let lines = changes.lines.map_or_else(String::new, |(new, gone)| format!(", +{new} −{gone}"));
    let deleted = match changes.deleted {
        0 => String::new(),
        deleted => format!(", {deleted} deleted"),
    };
    format!("{}{lines}{deleted}", counted(changes.count, "file"))
}

/// What was asked for, or what else it is.
fn title(row: &Row) -> String {
    let prompt = row.calls.iter().find_map(|call| call.step.start.prompt.as_ref());
    let reason = row.checkpoint.as_ref().map(herma_core::Checkpoint::subject);
    match (row.kind, prompt, reason) {
        (_, Some(prompt), _) => code(prompt.as_bytes()),
        (RowKind::Hand, ..) => "Edited by hand".to_owned(),
        (RowKind::Move, ..) => {
            row.told.as_ref().map_or("Restored".to_owned(), |t| code(t.as_bytes()))
        }
        (_, None, Some(reason)) => code(&reason),
        (_, None, None) => "Without a prompt".to_owned(),
    }
}

fn who(row: &Row) -> String {
    match row.calls.first() {
        Some(call) if !call.step.kind.is_move() => code(call.step.agent().as_bytes()),
        Some(_) => "Herma".to_owned(),
        None => "hand".to_owned(),
    }
}

/// What one of them changed.
#[derive(Default)]
struct Share<'r> {
    rows: usize,
    files: BTreeSet<&'r RelPath>,
    lines: Option<(u64, u64)>,
    undone: usize,
}

fn shares(rows: &[Row]) -> BTreeMap<String, Share<'_>> {
    let mut shares: BTreeMap<String, Share<'_>> = BTreeMap::new();
    for row in rows {
        let share =
            shares.entry(who(row)).or_insert(Share { lines: Some((0, 0)), ..Share::default() });
        share.rows += 1;
        share.files.extend(row.changes.files.keys());
        let sum =
            |(a, b): (u64, u64), (c, d): (u64, u64)| (a.saturating_add(c), b.saturating_add(d));
        share.lines = share.lines.zip(row.changes.lines).map(|(all, one)| sum(all, one));
        share.undone += usize::from(!row.calls.is_empty() && row.undone == row.calls.len());
    }
    shares
}

/// Text that somebody else chose, as code in Markdown: nothing in it is a link, a mention, HTML or the end of it.
fn code(text: &[u8]) -> String {
    let lines: Vec<&[u8]> = text.split(|byte| matches!(byte, b'\n' | b'\r' | b'\t')).collect();
    let text = escape(&lines.join(&b' ')).replace('\u{2028}', " ");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match text.trim() {
        "" => "(none)".to_owned(),
        text if text.starts_with('`') || text.ends_with('`') => format!("{fence} {text} {fence}"),
        text => format!("{fence}{text}{fence}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_others_chose_stays_code() {
        for (text, shown) in [
            ("plain", "`plain`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("@octocat #1 <img src=x> [a](b)", "`@octocat #1 <img src=x> [a](b)`"),
            ("one\ntwo\r\n# three", "`one two  # three`"),
            ("", "(none)"),
            (" \n ", "(none)"),
        ] {
            assert_eq!(code(text.as_bytes()), shown);
        }
        assert!(!code("\u{1b}[31m\u{202e}x".as_bytes()).contains(['\u{1b}', '\u{202e}']));
    }

    proptest! {
        /// CommonMark: code begins with some backticks and ends at the next run of exactly as many; it is one line.
        #[test]
        fn nothing_ends_the_code_early(text in "[`a \\n\\\\<@#]{0,40}") {
            let shown = code(text.as_bytes());
            prop_assume!(shown != "(none)");
            let fence = shown.bytes().take_while(|byte| *byte == b'`').count();
            let runs: Vec<usize> = shown.split(|c| c != '`').map(str::len).filter(|n| *n == fence).collect();
            prop_assert!(!shown.contains('\n'));
            prop_assert_eq!(runs.len(), 2, "{}", shown);
            prop_assert!(shown.ends_with(&"`".repeat(fence)));
        }
    }
}
