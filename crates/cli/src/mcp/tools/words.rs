//! The answers of the tools for agents in words: what was done first, then what was not, then what to do next.

use herma_core::Extent;
use herma_view::listing::counted;
use serde_json::Value;

use super::brief::{line, steps};

/// So many of several things are named.
const NAMED: usize = 5;
/// So many lines of a content.
const LINES: usize = 20;

/// The rows of the timeline, a line each.
pub(in crate::mcp) fn timeline(answer: &Value) -> String {
    let (mut lines, mut last) = (Vec::new(), "");
    for one in entries(answer, "rows") {
        let day = said(&one["time"]).get(..10).unwrap_or_default();
        if day != last {
            lines.push(format!("{day} (UTC)"));
        }
        lines.push(row(one));
        last = day;
    }
    if answer["more"] == true {
        let next = number(answer, "offset") + entries(answer, "rows").count() as u64;
        lines.push(format!("There are more: offset {next}."));
    } else if lines.is_empty() {
        lines.push("Nothing is saved here. herma_save makes the first checkpoint.".to_owned());
    }
    with_warnings(lines, answer)
}

/// Files and directories of all times, a line each.
pub(in crate::mcp) fn found_names(answer: &Value) -> String {
    let one = |one: &Value| {
        let mut text = format!("{} ({}), {}", said(&one["path"]), said(&one["kind"]), lived(one));
        if let Some(back) = one["back"].as_str() {
            text = format!("{text}; `{back}` brings it back");
        }
        text
    };
    found(answer, one, "Nothing is called so, now or at any time.")
}

/// Lines of all times, below where they were.
pub(in crate::mcp) fn found_lines(answer: &Value) -> String {
    let one = |one: &Value| {
        let stay = &one["stays"][0];
        let mut lines = vec![format!("{}, {}", said(&stay["path"]), lived(stay))];
        for line in entries(one, "lines").take(LINES) {
            lines.push(format!("  {}: {}", number(line, "number"), said(&line["text"])));
        }
        let count = entries(one, "lines").count() as u64 + number(one, "more_lines");
        if count > LINES as u64 {
            lines.push(format!("  and {} more", count - LINES as u64));
        }
        lines.join("\n")
    };
    found(answer, one, "No line matches, now or at any time.")
}

fn found(answer: &Value, one: impl Fn(&Value) -> String, nothing: &str) -> String {
    let mut lines: Vec<String> = entries(answer, "found").map(one).collect();
    if answer["more"] == true {
        let next = number(answer, "offset") + lines.len() as u64;
        lines.push(format!("There are more: offset {next}."));
    } else if lines.is_empty() {
        lines.push(nothing.to_owned());
    }
    with_warnings(lines, answer)
}

/// From when to when something was there, and who removed it.
fn lived(stay: &Value) -> String {
    let (first, last) = (number(&stay["first"], "number"), number(stay, "last"));
    let gone = &stay["gone"];
    if !gone.is_object() {
        return format!("since {first}");
    }
    let who = gone["agent"].as_str().unwrap_or("a person or nobody known");
    let prompt = gone["prompt"].as_str().map(|_| format!(", for: {}", line(&gone["prompt"])));
    let prompt = prompt.unwrap_or_default();
    format!("{first} to {last}, removed by {} ({who}{prompt})", number(gone, "number"))
}

fn row(row: &Value) -> String {
    let number = steps(row).unwrap_or_else(|| shown_id(&row["number"]));
    let when = said(&row["time"]).get(11..16).unwrap_or_default();
    let mut text =
        format!("{number} {when} {}: {}, {}", said(&row["agent"]), line(&row["text"]), counts(row));
    match said(&row["undone"]) {
        "yes" => text.push_str(", undone"),
        "partly" => text.push_str(", partly undone"),
        _ => {}
    }
    text
}

/// `3 files +10 -2`.
fn counts(changes: &Value) -> String {
    let files = counted(number(changes, "files"), "file");
    match (changes["insertions"].as_u64(), changes["deletions"].as_u64()) {
        (Some(added), Some(removed)) => format!("{files} +{added} -{removed}"),
        _ => files,
    }
}

/// One change, or those of a range, with the patch.
pub(in crate::mcp) fn shown(answer: &Value) -> String {
    let mut lines = Vec::new();
    let checkpoint = &answer["checkpoint"];
    if checkpoint.is_object() {
        let changed = &checkpoint["changes"];
        let counted =
            if changed.is_object() { format!("  {}", counts(changed)) } else { String::new() };
        let (number, when) = (shown_id(&checkpoint["number"]), minute(&checkpoint["time"]));
        lines.push(format!("{number}  {when}  {}{counted}", line(&checkpoint["reason"])));
        lines.extend(work(&answer["step"]));
    }
    let mut last = None;
    for step in entries(answer, "steps") {
        let prompt = step["prompt"].as_str();
        lines.extend(prompt.filter(|_| prompt != last).map(|prompt| format!("Prompt: {prompt}")));
        last = prompt;
        let files = entries(step, "files").map(|file| said(&file["path"]));
        let on = step["command"]
            .as_str()
            .map_or_else(|| some(&files.collect::<Vec<_>>()), str::to_owned);
        let (agent, tool) = (said(&step["agent"]), said(&step["tool"]));
        lines.push(format!("{}  {agent}  {tool} {on}", shown_id(&step["number"])));
    }
    let left = entries(answer, "left_out").map(|one| (said(&one["path"]), said(&one["reason"])));
    lines.extend(named("Left out of it", &left.collect::<Vec<_>>()));
    lines.extend(patch(answer));
    with_warnings(lines, answer)
}

/// What an agent was asked, and did.
fn work(step: &Value) -> Vec<String> {
    let names =
        [("agent", "Agent"), ("tool", "Tool"), ("prompt", "Prompt"), ("command", "Command")];
    let said = names.iter().filter_map(|(name, title)| Some((title, step[*name].as_str()?)));
    let mut lines: Vec<String> = said.map(|(title, text)| format!("{title}: {text}")).collect();
    if step["undone"] == true {
        lines.push("It is undone.".to_owned());
    }
    lines
}

/// What is different, with the patch.
pub(in crate::mcp) fn compared(answer: &Value) -> String {
    let total = counted(number(answer, "total"), "file");
    let differs = if answer["total"] == 1 { "differs" } else { "differ" };
    let mut lines = vec![format!("{total} {differs}.")];
    if answer["patch"].is_string() {
        lines.extend(patch(answer));
    } else {
        let changes = entries(answer, "changes");
        lines.extend(changes.map(|one| format!("{} {}", said(&one["status"]), said(&one["path"]))));
        if answer["more"] == true {
            let next = number(answer, "offset") + entries(answer, "changes").count() as u64;
            lines.push(format!("There are more: offset {next}."));
        }
    }
    with_warnings(lines, answer)
}

fn patch(answer: &Value) -> Vec<String> {
    let patch = answer["patch"].as_str().unwrap_or_default();
    let mut lines = Vec::new();
    if !patch.is_empty() {
        lines.push(format!("\n{}", patch.trim_end()));
    }
    if answer["patch_truncated"] == true {
        lines.push(CUT.to_owned());
    }
    lines
}

/// How to get the rest of a patch.
const CUT: &str = "(The patch goes on: `max_bytes`, up to 1048576, gives more of it, `paths` of herma_diff only some files.)";

/// What else could be done.
const CONFLICTS: &str =
    "`conflicts`: \"theirs\" undoes it over what came later, \"ours\" only the rest of the file.";

/// What stays as it is, and where an answer names it.
const STAYS: [(&str, &str); 5] = [
    ("Left alone", "kept"),
    ("Not brought back, as no checkpoint holds it", "outside"),
    ("Edited by hand since, and stays", "by_hand"),
    ("Changed by others since, and stays", "by_others"),
    ("Changed by several at once, and stays", "unattributed"),
];

pub(in crate::mcp) fn undone(answer: &Value) -> String {
    let all =
        steps(answer).unwrap_or_else(|| answer["steps"].get(0).map(shown_id).unwrap_or_default());
    let is_part = entries(answer, "outcomes").any(|one| one["outcome"] != Extent::Whole.word());
    match (&*all, is_part) {
        ("", _) => moved(answer, "Undone"),
        (all, false) => moved(answer, &format!("Undid {all}")),
        (all, true) => moved(answer, &format!("Undid a part of {all}")),
    }
}

pub(in crate::mcp) fn redone(answer: &Value) -> String {
    moved(answer, "Redone")
}

pub(in crate::mcp) fn restored(answer: &Value) -> String {
    let chosen =
        [&answer["since"], &answer["target"]].into_iter().find_map(|one| one["number"].as_u64());
    let to = chosen.map(|number| format!(" checkpoint {number}")).unwrap_or_default();
    moved(answer, &format!("Restored{to}"))
}

/// What became of files, by an undo, a redo or a restore.
fn moved(answer: &Value, what: &str) -> String {
    let paths =
        |name: &str| entries(answer, name).map(|one| said(&one["path"])).collect::<Vec<_>>();
    let changed = [paths("actions"), paths("changes")].concat();
    let is_planned = answer["dry_run"] == true;
    let mut lines = vec![if is_planned {
        let names =
            if changed.is_empty() { String::new() } else { format!(": {}", some(&changed)) };
        format!("It would change {}{names}. Nothing was changed.", counted(changed.len(), "path"))
    } else {
        done(answer, &changed, what)
    }];
    lines.extend(outcomes(answer));
    if entries(answer, "conflicts").any(|one| one["decided"] == "left") {
        lines.push(CONFLICTS.to_owned());
    }
    for (title, name) in STAYS {
        let why = |one: &Value| if one["text"].is_string() { "text" } else { "reason" };
        let all = entries(answer, name).map(|one| (said(&one["path"]), said(&one[why(one)])));
        lines.extend(named(title, &all.collect::<Vec<_>>()));
    }
    if answer["dry_run"] != true && answer["written"].is_u64() {
        let safety = answer["safety"]["number"].as_u64();
        lines.extend(safety.map(|number| format!("The state from before is checkpoint {number}.")));
    }
    with_warnings(lines, answer)
}

fn done(answer: &Value, changed: &[&str], what: &str) -> String {
    let (Some(written), Some(removed)) = (answer["written"].as_u64(), answer["removed"].as_u64())
    else {
        let is_refused = answer["outcome"] != "done";
        return if is_refused { "Nothing was changed." } else { "There was nothing to change." }
            .to_owned();
    };
    let names = if changed.is_empty() { String::new() } else { format!(" ({})", some(changed)) };
    format!("{what}: {} written, {removed} deleted{names}.", counted(written, "file"))
}

/// What stays of each step that is not wholly undone.
fn outcomes(answer: &Value) -> Vec<String> {
    let all = entries(answer, "outcomes").filter(|one| one["outcome"] != Extent::Whole.word());
    let told = all.map(|one| {
        let is_part = one["outcome"] == Extent::Part.word();
        let how = match (is_part, answer["dry_run"] == true) {
            (true, false) => "was undone in part",
            (false, false) => "was not undone",
            (true, true) => "would be undone in part",
            (false, true) => "would not be undone",
        };
        let left = entries(one, "left").map(|file| (said(&file["path"]), said(&file["text"])));
        let step = shown_id(&one["step"]);
        named(&format!("Change {step} {how}; as it is stays"), &left.collect::<Vec<_>>())
            .unwrap_or_else(|| format!("Change {step} {how}."))
    });
    told.take(NAMED).collect()
}

/// What was saved, and what was not.
pub(in crate::mcp) fn saved(answer: &Value) -> String {
    let number_of = shown_id(&answer["checkpoint"]["number"]);
    let files = counted(number(answer, "files"), "file");
    let mut lines = vec![if answer["is_new"] == true {
        format!("Saved checkpoint {number_of}: {files}.")
    } else {
        format!("Nothing changed since checkpoint {number_of}.")
    }];
    let left = entries(answer, "left_out").map(|one| (said(&one["path"]), said(&one["reason"])));
    lines.extend(named("Not in it", &left.collect::<Vec<_>>()));
    with_warnings(lines, answer)
}

fn with_warnings(mut lines: Vec<String>, answer: &Value) -> String {
    let warnings = entries(answer, "warnings").filter_map(Value::as_str);
    lines.extend(warnings.take(NAMED).map(|text| format!("Warning: {text}")));
    lines.join("\n")
}

/// `Left alone: a (ignored), b (too-large) and 3 more.`
fn named(title: &str, all: &[(&str, &str)]) -> Option<String> {
    let with_why = |(path, why): &(&str, &str)| match *why {
        "" => (*path).to_owned(),
        why => format!("{path} ({why})"),
    };
    let named: Vec<String> = all.iter().take(NAMED).map(with_why).collect();
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{title}: {}{more}.", named.join(", ")))
}

fn some(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn entries<'a>(answer: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    answer[name].as_array().into_iter().flatten()
}

fn said(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(answer: &Value, name: &str) -> u64 {
    answer[name].as_u64().unwrap_or(0)
}

/// A number, or a handle without quotes.
fn shown_id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `2026-11-02 10:12Z` of a time as JSON has it.
fn minute(time: &Value) -> String {
    let time = said(time);
    time.get(..16).map_or_else(String::new, |minute| format!("{}Z", minute.replace('T', " ")))
}
