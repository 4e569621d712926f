//! The timeline as a list: prompts in front, their tool calls folded under them, as wide as the terminal.
//!
//! What a person looks for stands where the eye goes first: who, what they asked, how much is gone. A narrow terminal loses the
//! time before it loses a word of that.

use std::io;
use std::io::Write;

use herma_core::types::clock::Timestamp;
use herma_core::{Checkpoint, Row, RowCall, RowChanges, RowKind, Rows};
use herma_store::path::escape;

use super::json::{Serialize, list, object};
use super::listing::{MIN_DIGITS, counted, fit, padded, ranges_to_type, short_id, width};
use super::steps::{of_step, said_of_move, tool};
use super::time::at;
use crate::style::{Label, Style};
use crate::{here, time};

/// Below so many columns there is no room for the time.
const NARROW: usize = 60;
/// Where there is no terminal, lines are as long as they are; their columns are these.
const WHO_COLUMNS: usize = 8;
/// The least that is left of a text.
const MIN_TEXT: usize = 10;
/// So many files are named where there is nothing else to tell.
const NAMED: usize = 3;
/// So much of a session's id is shown, which mostly tells one from the others.
const SESSION_CHARS: usize = 8;

/// What is there now and was not saved yet.
pub struct Now {
    /// What differs from the last checkpoint.
    pub changes: RowChanges,
    /// Is an agent at work?
    pub who: Option<String>,
}

/// One line before its columns are known.
struct Line {
    number: String,
    when: String,
    who: String,
    text: String,
    files: String,
    lines: String,
    deleted: String,
    marks: String,
    indent: usize,
}

/// Prints the rows under the days they belong to.
pub fn write_rows(
    out: &mut dyn Write,
    style: &Style,
    (rows, now_row): (&Rows, Option<&Now>),
    with_calls: bool,
    now: Timestamp,
) -> io::Result<()> {
    let mut lines: Vec<(Option<String>, Line)> = Vec::new();
    lines.extend(now_row.map(|now| (None, now_line(now))));
    let mut last_day = time::day(now.seconds, now);
    for row in rows.rows.iter().filter(|row| with_calls || row.kind != RowKind::Shift) {
        let day = time::day(row.time, now);
        let heading = (day != last_day).then(|| day.clone());
        last_day = day;
        lines.push((heading, row_line(row, with_calls, now)));
        if with_calls && row.kind == RowKind::Work && !is_told_by_its_call(row) {
            lines.extend(row.calls.iter().map(|call| (None, call_line(call))));
        }
    }
    let columns = Columns::of(&lines, style.width);
    for (heading, line) in &lines {
        if let Some(heading) = heading {
            writeln!(out, "{}", style.theme.paint(Label::Header, heading))?;
        }
        writeln!(out, "{}", columns.write(style, line))?;
    }
    Ok(())
}

/// A row as programs read it.
pub fn row_json(row: &Row) -> impl Serialize + use<> {
    let call = row.calls.first();
    let start = call.map(|call| call.step.start.clone()).unwrap_or_default();
    let facts = start.facts;
    object! {
        number: row.id,
        kind: kind(row.kind),
        agent: who(row),
        session: facts.session,
        turn: facts.turn,
        prompt: row.calls.iter().rev().find_map(|call| call.step.start.prompt.clone()),
        text: text(row),
        seconds: row.time,
        time: time::rfc3339(at(row.time)),
        files: row.changes.count,
        deleted: row.changes.deleted,
        insertions: row.changes.lines.map(|lines| lines.0),
        deletions: row.changes.lines.map(|lines| lines.1),
        steps: list(row.calls.iter().map(|call| call.step.id())),
        undone: match (row.undone, row.in_part) {
            (0, 0) => "no",
            (undone, _) if undone >= row.calls.len().max(1) => "yes",
            _ => "partly",
        },
        checkpoint: row.checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_hex()),
    }
}

/// The word JSON uses.
const fn kind(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Work => "work",
        RowKind::Move => "move",
        RowKind::Shift => "shift",
        RowKind::Saved => "saved",
        RowKind::Hand => "hand",
    }
}

/// How far back the rows reach, and what is not there any more.
pub fn reach(rows: &Rows, now: Timestamp) -> Option<String> {
    let removed = match rows.removed {
        0 => String::new(),
        1 => "; 1 checkpoint was dropped or cleaned up".to_owned(),
        many => format!("; {many} checkpoints were dropped or cleaned up"),
    };
    let Some((seconds, number)) = rows.reach else {
        return (rows.removed > 0).then(|| format!("Nothing is left{removed}."));
    };
    let when = time::moment(seconds, now);
    let more = match rows.more {
        0 => String::new(),
        more => format!("{} not shown. ", counted(more, "older row")),
    };
    Some(format!("{more}Oldest: checkpoint {number}, {when}{removed}."))
}

fn now_line(now: &Now) -> Line {
    let who = now.who.clone().unwrap_or_else(|| "you".to_owned());
    let text =
        if now.changes.count == 0 { "no unsaved changes".to_owned() } else { names(&now.changes) };
    let who = if now.changes.count == 0 && now.who.is_none() { String::new() } else { who };
    Line { number: "now".to_owned(), who, text, ..counts(&now.changes, true) }
}

fn row_line(row: &Row, with_id: bool, now: Timestamp) -> Line {
    let number = numbers(row);
    let is_running = row.calls.iter().any(|call| call.step.is_under_way(now.seconds));
    let when = if is_running { "running".to_owned() } else { time::short(row.time, now) };
    let line = counts(&row.changes, row.kind == RowKind::Work);
    let mut marks = Vec::new();
    if row.undone + row.in_part > 0 {
        let is_whole = row.undone >= row.calls.len().max(1);
        marks.push(if is_whole { "undone" } else { "partly undone" }.to_owned());
    }
    marks.extend(row.checkpoint.iter().flat_map(labels));
    if let Some(checkpoint) = row
        .checkpoint
        .as_ref()
        .filter(|_| with_id && (row.kind != RowKind::Work || is_told_by_its_call(row)))
    {
        marks.push(short_id(checkpoint.id, MIN_DIGITS));
    }
    marks.extend(session(row).filter(|_| with_id));
    Line { number, when, who: who(row), text: text(row), marks: marks.join(" "), ..line }
}

/// The session of a prompt, by the beginning of its id, which is what `--session` takes.
fn session(row: &Row) -> Option<String> {
    let call = row.calls.first().filter(|_| row.kind == RowKind::Work)?;
    let id = call.step.start.facts.session.as_deref()?;
    let begins: String = id.chars().take(SESSION_CHARS).collect();
    Some(format!("(session {})", escape(begins.as_bytes())))
}

/// Does the row of a prompt or step say all that a line for its call would?
fn is_told_by_its_call(row: &Row) -> bool {
    let is_all = |call: &RowCall| call.step.start.prompt.is_none() && call.step.after().is_some();
    matches!(&row.calls[..], [call] if is_all(call))
}

/// What undoes it when it is typed: the number, or those of the steps of a prompt.
fn numbers(row: &Row) -> String {
    let own = row.calls.iter().filter(|call| call.step.end.moment().is_some());
    let mut own: Vec<u64> = own.filter_map(|call| call.step.number).collect();
    own.sort_unstable();
    match own[..] {
        [_, _, ..] if row.kind == RowKind::Work => ranges_to_type(own),
        _ => row.id.to_string(),
    }
}

fn labels(checkpoint: &Checkpoint) -> Vec<String> {
    let mut labels: Vec<String> =
        checkpoint.names.iter().map(|name| format!("[{}]", escape(name.as_bytes()))).collect();
    if checkpoint.pinned {
        labels.push("[pinned]".to_owned());
    }
    if checkpoint.green {
        labels.push("[green]".to_owned());
    }
    if checkpoint.receipt_damaged {
        labels.push("[its modes cannot be read]".to_owned());
    }
    labels
}

/// A row in one line, for a chat.
pub fn row_in_words(row: &Row, now: Timestamp) -> String {
    let Line { files, lines, deleted, .. } = counts(&row.changes, true);
    let is_undone = !row.calls.is_empty() && row.undone == row.calls.len();
    let undone = if is_undone { "undone" } else { "" };
    let parts = [numbers(row), time::short(row.time, now), text(row), files, lines, deleted];
    let parts = parts.iter().map(String::as_str).chain([undone]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

fn who(row: &Row) -> String {
    let of_step = row.calls.first().filter(|_| row.kind == RowKind::Work);
    let of_save = row.checkpoint.as_ref().filter(|_| row.kind == RowKind::Saved);
    let agent = of_step.map(|call| call.step.agent());
    let agent = agent.or(of_save.and_then(|saved| saved.facts.agent.as_deref()));
    escape(agent.unwrap_or("you").as_bytes())
}

fn text(row: &Row) -> String {
    let prompt = row.calls.iter().rev().find_map(|call| call.step.start.prompt.as_deref());
    let prompt = prompt.filter(|_| row.kind == RowKind::Work);
    match (prompt, &row.calls[..], &row.checkpoint) {
        (Some(prompt), ..) => format!("\"{}\"", first_line(prompt)),
        (None, [.., call], _) if row.kind == RowKind::Work => about(call),
        (None, [], Some(checkpoint)) if row.kind == RowKind::Hand || checkpoint.is_unsaid() => {
            if row.changes.count == 0 && checkpoint.changes.is_none() {
                "the first checkpoint".to_owned()
            } else {
                names(&row.changes)
            }
        }
        (None, _, Some(checkpoint)) => {
            let said = escape(&checkpoint.subject());
            let step = row.calls.first().map(|call| &call.step);
            row.told.clone().or_else(|| said_of_move(step, &said)).unwrap_or(said)
        }
        (None, [call, ..], None) => tool(&call.step).to_owned(),
        (None, [], None) => String::new(),
    }
}

/// The tool and what it worked on.
fn about(call: &RowCall) -> String {
    let start = &call.step.start;
    let path = start.paths.first().map(|path| of_step(path));
    let on = start.command.clone().or(path);
    let on = on.map(|on| first_line(&on)).unwrap_or_default();
    let tool = escape(tool(&call.step).as_bytes());
    if tool == "run" || tool.is_empty() { on } else { format!("{tool} {on}").trim_end().to_owned() }
}

fn first_line(text: &str) -> String {
    escape(text.trim_start().lines().next().unwrap_or_default().as_bytes())
}

fn names(changes: &RowChanges) -> String {
    let mut named: Vec<String> = changes.files.keys().take(NAMED).map(here::path).collect();
    let more = changes.files.len() - named.len();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    if named.is_empty() { "permissions or directories".to_owned() } else { named.join(", ") }
}

fn call_line(call: &RowCall) -> Line {
    let id = call.step.id();
    let number = id.to_string();
    let line = counts(call.changes.as_ref().unwrap_or(&RowChanges::default()), false);
    let marks = match (call.undone, call.step.after()) {
        (true, _) => "undone".to_owned(),
        (false, Some(after)) => short_id(after, MIN_DIGITS),
        (false, None) => "end not reported".to_owned(),
    };
    Line { number, text: about(call), marks, indent: 2, ..line }
}

/// The columns that say how much changed.
fn counts(changes: &RowChanges, with_files: bool) -> Line {
    let (files, deleted) = (changes.count, changes.deleted);
    let files = if with_files && files > 1 { counted(files, "file") } else { String::new() };
    let lines = changes.lines.map(|(came, went)| [("+", came), ("−", went)]);
    let lines = lines.into_iter().flatten().filter(|(_, count)| *count > 0);
    let lines: Vec<String> = lines.map(|(sign, count)| format!("{sign}{count}")).collect();
    let deleted = if deleted > 0 { format!("{deleted} deleted") } else { String::new() };
    Line {
        number: String::new(),
        when: String::new(),
        who: String::new(),
        text: String::new(),
        files,
        lines: lines.join(" "),
        deleted,
        marks: String::new(),
        indent: 0,
    }
}

/// How wide each column is.
struct Columns {
    number: usize,
    when: usize,
    who: usize,
    room: Option<usize>,
}

impl Columns {
    fn of(lines: &[(Option<String>, Line)], room: Option<usize>) -> Self {
        let widest =
            |part: fn(&Line) -> usize| lines.iter().map(|(_, line)| part(line)).max().unwrap_or(0);
        let is_narrow = room.is_some_and(|room| room < NARROW);
        Self {
            number: widest(|line| line.indent + width(&line.number)),
            when: if is_narrow { 0 } else { widest(|line| width(&line.when)) },
            who: widest(|line| width(&line.who)).min(if is_narrow { 6 } else { WHO_COLUMNS }),
            room,
        }
    }

    fn write(&self, style: &Style, line: &Line) -> String {
        let (left, used) = self.left(style, line);
        let mut tail: Vec<(Label, &str)> = vec![
            (Label::Faint, &line.files),
            (Label::Faint, &line.lines),
            (Label::Error, &line.deleted),
            (Label::Changed, &line.marks),
        ];
        tail.retain(|(_, text)| !text.is_empty());
        let wide = |tail: &[(Label, &str)]| tail.iter().map(|(_, text)| width(text) + 2).sum();
        let mut tail_width: usize = wide(&tail);
        // What is gone is worth more than how much came.
        while tail.len() > 1 && self.room.is_some_and(|room| used + tail_width + MIN_TEXT > room) {
            tail.remove(0);
            tail_width = wide(&tail);
        }
        let text = match self.room {
            None => line.text.clone(),
            Some(room) => {
                let room = room.saturating_sub(used + tail_width).max(MIN_TEXT);
                padded(&fit(&line.text, Some(room)), room)
            }
        };
        let tail = tail.into_iter().map(|(label, text)| style.theme.paint(label, text));
        let parts: Vec<String> = left.into_iter().chain([text]).chain(tail).collect();
        parts.join("  ").trim_end().to_owned()
    }

    /// What stands before the text, and how wide that is.
    fn left(&self, style: &Style, line: &Line) -> (Vec<String>, usize) {
        let number = format!("{:indent$}{}", "", line.number, indent = line.indent);
        let mut left = vec![style.theme.paint(Label::Number, &padded(&number, self.number))];
        if self.when > 0 {
            left.push(padded(&line.when, self.when));
        }
        if self.who > 0 {
            let who = padded(&fit(&line.who, Some(self.who)), self.who);
            left.push(style.theme.paint(Label::Name, &who));
        }
        let used = [self.number, self.when, self.who].into_iter().filter(|columns| *columns > 0);
        (left, used.map(|columns| columns + 2).sum())
    }
}
