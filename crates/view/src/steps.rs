//! How steps are shown: one line each, as JSON, and as records.

use std::io;
use std::io::Write;

use herma_core::steps::{Step, StepEnd, StepId};
use herma_core::types::clock::Timestamp;
use herma_core::{ListedStep, ObjectId};
use herma_store::path::escape;

use super::json::{PathJson, Serialize, changes_json, list, object};
use super::listing::{MIN_DIGITS, changes_in_words, padded, short_id, width};
use super::time::at;
use super::{listing, outside};
use crate::style::{Label, Style};
use crate::{here, time};

/// So many of the steps that overlap one are named in its line.
const NAMED_OVERLAPS: usize = 5;
/// Below so many columns a list has no room for the date.
const NARROW: usize = 100;
/// The least that is left of what a step was about, where there are few columns.
const MIN_WHY: usize = 8;
/// Agents and tools get no more columns than this.
const MAX_NAME_COLUMNS: usize = 20;

/// Which step it is, as `--json` has it wherever one is named.
pub fn named_step_json(step: &Step) -> impl Serialize + use<> {
    let start = step.start.clone();
    object! {
        number: step.number,
        handle: handle(step),
        kind: step.kind.word(),
        state: step.end.word(),
        agent: step.agent().to_owned(),
        session: start.facts.session,
        turn: start.facts.turn,
        tool: start.facts.tool,
        command: start.command,
        prompt: start.prompt,
        seconds: step.started,
        time: time::rfc3339(at(step.started)),
    }
}

/// What a step is called until it has a number.
pub fn handle(step: &Step) -> String {
    StepId::Handle(step.handle).to_string()
}

/// A step with all that is known of it, as `--json` has it.
pub fn step_json(listed: &ListedStep) -> impl Serialize + use<> {
    whole_step_json(&listed.step, Some(listed))
}

/// A step of which nothing is known but how it began.
pub fn begun_step_json(step: &Step) -> impl Serialize + use<> {
    whole_step_json(step, None)
}

fn whole_step_json(step: &Step, listed: Option<&ListedStep>) -> impl Serialize + use<> {
    let files = listed.map_or(&[][..], |listed| &listed.files);
    object! {
        #[serde(flatten)]
        named: named_step_json(step),
        call: step.start.call.clone(),
        paths: step.start.paths.clone(),
        within: listed.and_then(|listed| listed.outer),
        ended_seconds: step.ended,
        before: step.before.checkpoint.to_hex(),
        after: step.after().map(ObjectId::to_hex),
        changes: listed.and_then(|listed| listed.changes).map(changes_json),
        files: list(files.iter().map(|path| PathJson::new(path.as_bytes()))),
        overlaps: listed.map(|listed| listed.shared.clone()).unwrap_or_default(),
        undoable: listed.is_some_and(|listed| listed.undoable),
        late: step.late,
        background: step.went_on(),
        undone: listed.is_some_and(|listed| listed.undone),
        outside: outside::of_step(step.id(), &step.outside),
        outside_more: step.outside.more,
        unseen: step.outside.unseen,
    }
}

/// Why it cannot be told what a step changed.
pub fn why_unknown(listed: &ListedStep) -> &'static str {
    match listed.step.end {
        _ if listed.is_damaged => "its checkpoints are damaged",
        StepEnd::Changed(_) => "its checkpoints are gone",
        _ => "nobody saw its end",
    }
}

/// The arguments that make `herma diff` show what a step changed.
pub fn between(step: &Step) -> String {
    let after = step.after().map(|after| {
        let before = short_id(step.before.checkpoint, MIN_DIGITS);
        format!(" --name-only id:{before} id:{}", short_id(after, MIN_DIGITS))
    });
    after.unwrap_or_default()
}

/// Prints one line for each step.
pub fn write_lines(
    out: &mut dyn Write,
    style: &Style,
    steps: &[ListedStep],
    now: Timestamp,
) -> io::Result<()> {
    let names = |listed: &ListedStep| {
        let agent = escape(listed.step.agent().as_bytes());
        let tool = escape(tool(&listed.step).as_bytes());
        [agent, tool].map(|name| listing::fit(&name, Some(MAX_NAME_COLUMNS)))
    };
    let rows: Vec<(&ListedStep, [String; 2])> =
        steps.iter().map(|listed| (listed, names(listed))).collect();
    let widest = |column: usize| rows.iter().map(|(_, names)| width(&names[column])).max();
    let widths = [0, 1].map(|column| widest(column).unwrap_or(0));
    let ids = steps.iter().map(|listed| listed.step.id().to_string().len());
    let number_width = ids.max().unwrap_or(1);
    let is_narrow = style.width.is_some_and(|columns| columns < NARROW);
    for (listed, names) in rows {
        let number = format!("{:>number_width$}", listed.step.id().to_string());
        let started = listed.step.started;
        let (when, age) = if is_narrow {
            (String::new(), format!("{:<8}", time::short(started, now)))
        } else {
            (time::local(at(started)) + "  ", format!("{:<14}", time::age(started, now)))
        };
        let agent = padded(&names[0], widths[0]);
        let tool = match widths[1] {
            0 => String::new(),
            columns => padded(&names[1], columns + 2),
        };
        let used: usize = [&number, &age, &agent].map(|part| width(part) + 2).iter().sum();
        let room =
            style.width.map(|columns| columns.saturating_sub(used + width(&when) + width(&tool)));
        // How much it changed gives way to what it was about.
        let tail_room = room.map(|room| room.saturating_sub(MIN_WHY + 2));
        let tail = listing::fit(&tail(listed), tail_room);
        let tail = if is_narrow && tail.ends_with('…') { String::new() } else { tail };
        let room = room.map(|room| room.saturating_sub(width(&tail) + 2));
        let why = listing::fit(&escape(why(listed).as_bytes()), room);
        let theme = style.theme;
        let line = format!(
            "{}  {when}{}  {}  {tool}{why}{}{}",
            theme.paint(Label::Number, &number),
            theme.paint(Label::Faint, &age),
            theme.paint(Label::Name, &agent),
            if why.is_empty() { "" } else { "  " },
            theme.paint(Label::Name, &tail),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Prints one record for a step: numbers first, then what others have named, the reason last and whole.
pub fn write_record(out: &mut dyn Write, listed: &ListedStep) -> io::Result<()> {
    let count = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let changes = listed.changes.as_ref();
    let lines = changes.filter(|changes| changes.lines_known);
    let shared: Vec<String> = listed.shared.iter().map(StepId::to_string).collect();
    let step = &listed.step;
    let fields = [
        step.id().to_string(),
        step.kind.word().to_owned(),
        step.end.word().to_owned(),
        step.started.to_string(),
        count(changes.map(|changes| changes.files)),
        count(lines.map(|changes| changes.insertions)),
        count(lines.map(|changes| changes.deletions)),
        u8::from(listed.undoable).to_string(),
        shared.join(","),
        escape(step.agent().as_bytes()),
        escape(tool(step).as_bytes()),
        why_whole(listed),
    ];
    write!(out, "{}\0", fields.join("\t"))
}

/// The tool, or what Herma did itself.
pub fn tool(step: &Step) -> &str {
    if step.kind.is_move() {
        return step.kind.word();
    }
    step.start.facts.tool.as_deref().unwrap_or_default()
}

/// The first line of what a step was about.
pub fn why(listed: &ListedStep) -> String {
    let whole = why_whole(listed);
    whole.lines().next().unwrap_or_default().to_owned()
}

/// A file a step says it is about, which need not be in the project.
pub fn of_step(path: &str) -> String {
    String::from_utf8_lossy(&here::bytes(path.as_bytes())).into_owned()
}

/// What Herma stored of a restore of some files, with their paths as from the present directory.
fn restored_part(step: &Step, said: &str) -> Option<String> {
    let paths: Vec<String> = step.part.paths.iter().map(here::path).collect();
    let (_, number) = said.strip_prefix("restored ")?.rsplit_once(" to ")?;
    (!paths.is_empty()).then(|| format!("restored {} to {number}", listing::in_a_row(&paths)))
}

/// What Herma stored of one of its own moves, as people say it.
pub fn said_of_move(step: Option<&Step>, said: &str) -> Option<String> {
    if let Some(step) = step.filter(|step| !step.part.paths.is_empty()) {
        return restored_part(step, said);
    }
    if let Some(steps) = said.strip_prefix("undo of step") {
        return Some(format!("undid {}", steps.trim_start_matches('s').trim_start()));
    }
    let to = said.strip_prefix("restore to ")?.strip_suffix(" that keeps other edits")?;
    Some(format!("went back to {to}, kept other edits"))
}

/// What a step was about: the command, the files, or else the prompt.
fn why_whole(listed: &ListedStep) -> String {
    if let Some(told) = &listed.told {
        return said_of_move(Some(&listed.step), told).unwrap_or_else(|| told.clone());
    }
    let start = &listed.step.start;
    if let Some(command) = &start.command {
        return command.clone();
    }
    if !start.paths.is_empty() {
        let paths: Vec<String> = start.paths.iter().map(|path| of_step(path)).collect();
        return paths.join(", ");
    }
    start.prompt.clone().unwrap_or_default()
}

/// What changed, and what is to be known about it.
fn tail(listed: &ListedStep) -> String {
    let mut parts = Vec::new();
    match (&listed.step.end, listed.changes) {
        (StepEnd::Open, _) => parts.push("[open]".to_owned()),
        (StepEnd::Unknown(_), _) => parts.push("[end unknown]".to_owned()),
        (StepEnd::Unchanged(_), _) if listed.step.is_idle() => parts.push("(nothing)".to_owned()),
        (StepEnd::Unchanged(_), _) => {}
        (StepEnd::Changed(_), None) => parts.push(format!("[{}]", why_unknown(listed))),
        (StepEnd::Changed(_), Some(count)) if count.files == 0 => {
            parts.push("(permissions or empty directories)".to_owned());
        }
        (StepEnd::Changed(_), Some(count)) => parts.push(format!("({})", changes_in_words(count))),
    }
    let outside = outside::in_words(&listed.step.outside);
    parts.extend(outside.iter().map(|words| format!("({words})")));
    if let Some(outer) = listed.outer {
        parts.push(format!("[part of {outer}]"));
    }
    if listed.undone {
        parts.push("[undone]".to_owned());
    }
    if listed.step.late {
        parts.push("[saved late]".to_owned());
    }
    if !listed.shared.is_empty() {
        parts.push(format!("[overlaps {}]", overlaps(&listed.shared)));
    }
    parts.join(" ")
}

/// The steps that overlap one.
pub fn overlaps(ids: &[StepId]) -> String {
    let named = ids.iter().take(NAMED_OVERLAPS);
    let mut named: Vec<String> = named.map(StepId::to_string).collect();
    let more = ids.len() - named.len();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_overlaps_are_counted() {
        let of = |numbers: &[u64]| {
            overlaps(&numbers.iter().map(|n| StepId::Number(*n)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[3]), "3");
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7]), "1, 2, 3, 4, 5, and 2 more");
    }
}
