//! How checkpoints are shown to people: one line each, as wide as the terminal.

use std::io;
use std::io::Write;

use herma_core::restore::ActionKind;
use herma_core::steps::StepId;
use herma_core::types::checkpoint::{ChangeCount, Origin};
use herma_core::types::clock::Timestamp;
use herma_core::{Checkpoint, ObjectId, Restored};
use herma_store::path::escape;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::style::{Label, Style};
use crate::time;

/// The fewest digits of an id that are shown.
pub const MIN_DIGITS: usize = 7;

/// What became of the files, and of directories if some are gone.
pub fn written_and_deleted(restored: &Restored) -> String {
    let Restored { plan, kept, written, removed, .. } = restored;
    let of_directories = plan.actions.iter().filter(|action| {
        let is_kept = kept.iter().any(|kept| kept.path == action.path);
        action.kind == ActionKind::RemoveDirectory && !is_kept
    });
    let directories = of_directories.count().min(*removed);
    let files = format!("{} written, {} deleted", counted(*written, "file"), removed - directories);
    match directories {
        0 => files,
        1 => format!("{files} with 1 directory"),
        many => format!("{files} with {many} directories"),
    }
}

/// How many digits tell all these ids apart, 7 at least.
pub fn id_digits(ids: &[ObjectId]) -> usize {
    let mut hex: Vec<String> = ids.iter().map(|id| id.to_hex()).collect();
    hex.sort_unstable();
    hex.dedup();
    let longest_shared = hex.windows(2).map(|pair| shared_prefix(&pair[0], &pair[1])).max();
    longest_shared.map_or(MIN_DIGITS, |shared| (shared + 1).clamp(MIN_DIGITS, 40))
}

fn shared_prefix(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// The beginning of an id.
pub fn short_id(id: ObjectId, digits: usize) -> String {
    let mut hex = id.to_hex();
    hex.truncate(digits.max(MIN_DIGITS));
    hex
}

/// `checkpoint 3 (7f2c1ab)`, for sentences.
pub fn in_words(checkpoint: &Checkpoint) -> String {
    format!("checkpoint {} ({})", address(checkpoint), short_id(checkpoint.id, MIN_DIGITS))
}

/// `3 files, +10/-2`.
pub fn changes_in_words(count: ChangeCount) -> String {
    let plural = if count.files == 1 { "" } else { "s" };
    if count.lines_known {
        format!("{} file{plural}, +{}/-{}", count.files, count.insertions, count.deletions)
    } else {
        format!("{} file{plural}", count.files)
    }
}

/// `1 file`, `2 files`.
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("{count} {noun}"),
        Some(stem) if stem.ends_with('r') => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

/// A number with the words for one or for many.
pub fn counted_entries(count: usize, one: &str, many: &str) -> String {
    let words = if count == 1 { one } else { many };
    format!("{count} {words}")
}

/// Ascending numbers, those that follow each other as a range: `8–10, 12 and 13`.
pub fn ranges(numbers: impl IntoIterator<Item = u64>) -> String {
    in_a_row(&runs(numbers))
}

/// The same as `herma undo` reads it: `3-5,7`.
pub fn ranges_to_type(numbers: impl IntoIterator<Item = u64>) -> String {
    let typed = |run: (u64, u64)| match run {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let runs: Vec<String> = runs_of(numbers).into_iter().map(typed).collect();
    runs.join(",")
}

/// The same of steps; those without a number come last.
pub fn ranges_of_steps(steps: &[StepId]) -> String {
    let mut words = runs(steps.iter().filter_map(|id| id.number()));
    words.extend(steps.iter().filter(|id| id.number().is_none()).map(StepId::to_string));
    in_a_row(&words)
}

/// Numbers that follow each other, by their first and last.
fn runs_of(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

fn runs(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    let words = runs_of(numbers).into_iter().flat_map(|(first, last)| match last - first {
        0 => vec![first.to_string()],
        1 => vec![first.to_string(), last.to_string()],
        _ => vec![format!("{first}–{last}")],
    });
    words.collect()
}

/// `a`, `a and b`, `a, b and c`.
pub fn in_a_row(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Prints one line for each checkpoint.
pub fn write_checkpoints(
    out: &mut dyn Write,
    style: &Style,
    checkpoints: &[Checkpoint],
    now: Timestamp,
) -> io::Result<()> {
    let ids: Vec<_> = checkpoints.iter().map(|checkpoint| checkpoint.id).collect();
    let digits = id_digits(&ids);
    let number_width =
        checkpoints.iter().map(|checkpoint| checkpoint.number.to_string().len()).max().unwrap_or(1);
    for checkpoint in checkpoints {
        let number = format!("{:>number_width$}", checkpoint.number);
        let id = short_id(checkpoint.id, digits);
        let when = time::local(checkpoint.time);
        let age = format!("{:<14}", time::age(checkpoint.time.seconds, now));
        let tail = tail(checkpoint);
        let used = [&number, &id, &when, &age, &tail].map(|part| width(part) + 2);
        let room = style.width.map(|columns| columns.saturating_sub(used.iter().sum()));
        let reason = fit(&reason(checkpoint, checkpoints), room);
        let theme = style.theme;
        writeln!(
            out,
            "{}  {}  {}  {}  {reason}{}{}",
            theme.paint(Label::Number, &number),
            theme.paint(Label::Id, &id),
            when,
            theme.paint(Label::Faint, &age),
            if tail.is_empty() { "" } else { "  " },
            theme.paint(Label::Name, &tail),
        )?;
    }
    Ok(())
}

/// Why a checkpoint was taken. What Herma itself did is stored in words that Hermes knows, with the beginning of an id; here
/// the checkpoint is named by its number, if it is one of `others`.
fn reason(checkpoint: &Checkpoint, others: &[Checkpoint]) -> String {
    let subject = escape(&checkpoint.subject());
    let number = |id: &str| {
        let mut fitting = others.iter().filter(|other| other.id.to_hex().starts_with(id));
        fitting.next().map_or_else(|| id.to_owned(), |other| other.number.to_string())
    };
    let said = match checkpoint.origin {
        Origin::Safety => subject.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(')')),
        Origin::Merged => Some(&*subject),
        _ => None,
    };
    let act = said.and_then(|said| {
        if let Some(steps) = said.strip_prefix("undo of ") {
            return Some((["before undoing", "undid"], steps.to_owned()));
        }
        let kept = said.strip_prefix("restore to ").and_then(|rest| rest.strip_suffix(KEEPING));
        let target = said.strip_prefix("restoring to ").or(kept)?;
        Some((["before going back to", "went back, keeping other edits, to"], number(target)))
    });
    match (act, checkpoint.origin) {
        (Some(([before, _], what)), Origin::Safety) => format!("{before} {what}"),
        (Some(([_, done], what)), _) => format!("{done} {what}"),
        (None, _) => subject,
    }
}

/// How the reason of a save before a restore begins.
const BEFORE: &str = "pre-rollback snapshot (";
/// How the reason of a restore ends that leaves what others did.
const KEEPING: &str = " that keeps other edits";

/// What changed, the pin, the names, and what is damaged.
fn tail(checkpoint: &Checkpoint) -> String {
    let mut parts = Vec::new();
    if let Some(count) = checkpoint.changes {
        parts.push(format!("({})", changes_in_words(count)));
    }
    if checkpoint.pinned {
        parts.push("[pinned]".to_owned());
    }
    if checkpoint.green {
        parts.push("[green]".to_owned());
    }
    if checkpoint.receipt_damaged {
        parts.push("[its modes cannot be read]".to_owned());
    }
    parts.extend(checkpoint.names.iter().map(|name| format!("[{}]", escape(name.as_bytes()))));
    parts.join(" ")
}

/// The text cut to the room there is.
pub fn fit(text: &str, room: Option<usize>) -> String {
    let Some(room) = room else { return text.to_owned() };
    if width(text) <= room {
        return text.to_owned();
    }
    let mut used = 1;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect();
    format!("{kept}…")
}

/// A text behind its title, in lines as wide as there is room, which are broken between words.
pub fn wrapped(title: &str, text: &str, room: Option<usize>) -> String {
    let Some(room) = room else { return format!("{title}{text}") };
    let (mut lines, indent) = (vec![title.to_owned()], width(title));
    let mut used = indent;
    for word in text.split(' ') {
        let is_first = used == indent;
        if !is_first && used + 1 + width(word) > room {
            lines.push(" ".repeat(indent));
            used = indent;
        } else if !is_first {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
            used += 1;
        }
        lines.last_mut().into_iter().for_each(|line| line.push_str(word));
        used += width(word);
    }
    lines.join("\n")
}

/// The cells of each row below each other, each with two spaces behind it; columns that would be empty are left away.
pub fn in_columns<const N: usize>(
    style: &Style,
    labels: [Label; N],
    rows: &[[String; N]],
) -> Vec<String> {
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(widest);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).zip(labels).filter(|((_, columns), _)| *columns > 0);
        let cell = |((cell, columns), label): ((&String, usize), Label)| {
            style.theme.paint(label, cell) + &" ".repeat(columns - width(cell) + 2)
        };
        cells.map(cell).collect()
    };
    rows.iter().map(line).collect()
}

/// Prints them, nothing behind the last one.
pub fn write_columns<const N: usize>(
    out: &mut dyn Write,
    style: &Style,
    labels: [Label; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let mut lines = in_columns(style, labels, rows).into_iter();
    lines.try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

/// A text with spaces behind it, so that it takes so many columns.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// How a person names a checkpoint: by its number, and its line if it is none of the project's own.
pub fn address(checkpoint: &Checkpoint) -> String {
    match &checkpoint.line {
        Some(line) => format!("{}@{line}", checkpoint.number),
        None => checkpoint.number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use herma_core::types::checkpoint::Facts;

    use super::*;

    fn id(first: &[u8]) -> ObjectId {
        let mut bytes = [0; 20];
        bytes[..first.len()].copy_from_slice(first);
        ObjectId::from_bytes(bytes)
    }

    #[test]
    fn ids_are_shown_as_short_as_they_can_be_told_apart() {
        assert_eq!(id_digits(&[]), 7);
        assert_eq!(id_digits(&[id(&[1]), id(&[2])]), 7);
        assert_eq!(id_digits(&[id(&[1, 2, 3, 4, 5]), id(&[1, 2, 3, 4, 6])]), 10);
        assert_eq!(id_digits(&[id(&[1]), id(&[1])]), 7);
    }

    #[test]
    fn long_reasons_are_cut_to_the_terminal() {
        assert_eq!(fit("short", Some(10)), "short");
        assert_eq!(fit("exactly 10", Some(10)), "exactly 10");
        assert_eq!(fit("more than ten", Some(10)), "more than…");
        assert_eq!(fit("漢字漢字漢字", Some(10)), "漢字漢字…");
        assert_eq!(fit("more than ten", None), "more than ten");
    }

    #[test]
    fn a_long_sentence_is_broken_between_words() {
        let text = "one two three four 漢字";
        assert_eq!(wrapped("Kept: ", text, None), format!("Kept: {text}"));
        let lines = "Kept: one two\n      three\n      four\n      漢字";
        assert_eq!(wrapped("Kept: ", text, Some(13)), lines);
        assert_eq!(wrapped("", "alphabet soup", Some(3)), "alphabet\nsoup");
    }

    #[test]
    fn columns_are_padded_by_what_is_seen() {
        assert_eq!(padded("漢", 4), "漢  ");
        assert_eq!(padded("long", 2), "long");
    }

    #[test]
    fn counts_read_as_words() {
        let count = ChangeCount {
            files: 1,
            insertions: 10,
            deletions: 2,
            lines_known: true,
            deleted: None,
        };
        assert_eq!(changes_in_words(count), "1 file, +10/-2");
        let unknown = ChangeCount { files: 3, lines_known: false, ..count };
        assert_eq!(changes_in_words(unknown), "3 files");
    }

    #[test]
    fn what_herma_did_is_told_with_numbers() {
        let one = |number: u64, origin, reason: &str| Checkpoint {
            id: id(&[number as u8]),
            number,
            place: 0,
            tree: ObjectId::EMPTY_TREE,
            modes: None,
            extra: None,
            receipt_damaged: false,
            time: Timestamp { seconds: 0, nanos: 0, offset_minutes: 0 },
            reason: reason.into(),
            origin,
            facts: Facts::default(),
            changes: None,
            names: Vec::new(),
            pinned: false,
            green: false,
            purged: Vec::new(),
            line: None,
        };
        let all = [one(6, Origin::Saved, "mine"), one(7, Origin::Hermes, "")];
        for (origin, stored, told) in [
            (Origin::Saved, "undo of step 1", "undo of step 1"),
            (
                Origin::Safety,
                "pre-rollback snapshot (restoring to 06000000)",
                "before going back to 6",
            ),
            (
                Origin::Safety,
                "pre-rollback snapshot (restoring to 99000000)",
                "before going back to 99000000",
            ),
            (
                Origin::Safety,
                "pre-rollback snapshot (undo of steps 1, 2)",
                "before undoing steps 1, 2",
            ),
            (
                Origin::Safety,
                "pre-rollback snapshot (restore to 06000000 that keeps other edits)",
                "before going back to 6",
            ),
            (Origin::Merged, "undo of step 1", "undid step 1"),
            (
                Origin::Merged,
                "restore to 06000000 that keeps other edits",
                "went back, keeping other edits, to 6",
            ),
            (Origin::Safety, "pre-rollback snapshot", "pre-rollback snapshot"),
        ] {
            assert_eq!(reason(&one(8, origin, stored), &all), told);
        }
    }
}
