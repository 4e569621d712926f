//! What an agent is given: the answer of a command without what only programs want.
//!
//! Some hosts hand a model only the `structuredContent` of an answer (Claude Code, VS Code), others only the text. So
//! each of the two says everything, in few bytes; and the text is not the JSON once more, as the protocol recommends
//! for old clients: a model that is given both would read all of it twice, and no old client of an agent parses it.
//! Programs (`--all-tools`) are given whole objects.

use herma_core::Extent;
use herma_view::listing::{fit, ranges_to_type};
use serde_json::{Map, Value, json};

/// So many entries of a list that does not come in pages.
const MAX_ENTRIES: usize = 20;
/// So many characters of a text; a path and a patch stay whole.
const MAX_CHARS: usize = 1000;
/// So many columns of what a row or checkpoint says of itself.
const MAX_COLUMNS: usize = 32;
/// What an agent has no use for.
const DROPPED: [&str; 23] = [
    "schema",
    "project",
    "seconds",
    "ended_seconds",
    "tree",
    "before",
    "after",
    "handle",
    "call",
    "session",
    "turn",
    "undoable",
    "unseen",
    "late",
    "waited_ms",
    "safety_is_new",
    "saved_again",
    "receipt_damaged",
    "directories",
    "old_mode",
    "new_mode",
    "binary",
    "outside_more",
];

/// What else is false need not be said.
const SAID_WHEN_FALSE: [&str; 2] = ["is_new", "more"];

/// An answer for an agent; `paged` are the lists of which it has one page.
pub(in crate::mcp) fn brief(answer: &Value, paged: &[&str]) -> Value {
    let mut brief = Map::new();
    for (name, value) in answer.as_object().into_iter().flatten() {
        let short = match (&**name, value) {
            // What they are about are rows.
            ("checkpoints", Value::Array(_)) if paged.contains(&"rows") => continue,
            ("rows", Value::Array(all)) => rows(all),
            (_, Value::Array(list)) if paged.contains(&&**name) => {
                Value::Array(list.iter().map(shorten).collect())
            }
            ("outcome", Value::String(word)) if word == "done" => continue,
            // What is wholly undone is among the steps.
            ("outcomes", Value::Array(all)) => {
                let all = all.iter().filter(|one| one["outcome"] != Extent::Whole.word());
                add(&mut brief, name, &all.cloned().collect());
                continue;
            }
            ("steps", Value::Array(_)) if steps(answer).is_some() => steps(answer).into(),
            ("project", project) if project["interrupted_restore"] == true => {
                json!({"interrupted_restore": true})
            }
            _ => {
                add(&mut brief, name, value);
                continue;
            }
        };
        brief.insert(name.clone(), short);
    }
    Value::Object(brief)
}

/// What happened, newest first. The day is said where it is another one.
fn rows(all: &[Value]) -> Value {
    let mut last = None;
    let short = |one: &Value| {
        let mut short = row(one);
        let (day, time) =
            one["time"].as_str().and_then(|time| time.split_once('T')).unwrap_or_default();
        let time = time.get(..5).unwrap_or_default();
        let is_same = last.replace(day.to_owned()).is_some_and(|last| last == day);
        short["time"] = if is_same { time.to_owned() } else { format!("{day}T{time}Z") }.into();
        short
    };
    all.iter().map(short).collect()
}

/// One thing that happened, in as few words as a list has for it.
fn row(row: &Value) -> Value {
    let mut brief = Map::new();
    for name in ["agent", "files", "deleted"] {
        let value = &row[name];
        if !value.is_null() && *value != 0 {
            brief.insert(name.to_owned(), value.clone());
        }
    }
    if let (Some(added), Some(removed)) = (row["insertions"].as_u64(), row["deletions"].as_u64()) {
        brief.insert("lines".to_owned(), format!("+{added} -{removed}").into());
    }
    let is_prompt = row["kind"] == "work" && row["prompt"].is_string();
    let name = if is_prompt { "prompt" } else { "text" };
    brief.insert(name.to_owned(), line(&row[name]).into());
    if row["undone"] != "no" {
        brief.insert("undone".to_owned(), row["undone"].clone());
    }
    match steps(row).filter(|_| row["kind"] == "work") {
        Some(steps) => brief.insert("steps".to_owned(), steps.into()),
        None => brief.insert("number".to_owned(), row["number"].clone()),
    };
    Value::Object(brief)
}

/// The numbers of a prompt with several calls, as `steps` takes them: `15-17`.
pub(in crate::mcp) fn steps(row: &Value) -> Option<String> {
    let steps = row["steps"].as_array().into_iter().flatten();
    let mut numbers: Vec<u64> = steps.filter_map(Value::as_u64).collect();
    numbers.sort_unstable();
    (numbers.len() > 1).then(|| ranges_to_type(numbers))
}

/// The first line of a text, and not all of a long one.
pub(in crate::mcp) fn line(text: &Value) -> String {
    let first = text.as_str().and_then(|text| text.lines().next());
    fit(first.unwrap_or_default(), Some(MAX_COLUMNS))
}

fn shorten(value: &Value) -> Value {
    match value {
        Value::Object(fields) if fields.contains_key("tree") => checkpoint(value),
        Value::Object(fields) => {
            let mut brief = Map::new();
            for (name, value) in fields {
                add(&mut brief, name, value);
            }
            Value::Object(brief)
        }
        Value::Array(list) => list.iter().take(MAX_ENTRIES).map(shorten).collect(),
        Value::String(text) => beginning(text).into(),
        other => other.clone(),
    }
}

/// Adds what a field says, if it says anything; beside a list that is cut, how long it is.
fn add(brief: &mut Map<String, Value>, name: &str, value: &Value) {
    let is_empty = value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
        || *value == false && !SAID_WHEN_FALSE.contains(&name);
    if is_empty || DROPPED.contains(&name) {
        return;
    }
    if let Some(list) = value.as_array().filter(|list| list.len() > MAX_ENTRIES) {
        let cut = brief.entry("truncated").or_insert_with(|| json!({}));
        if let Some(cut) = cut.as_object_mut() {
            cut.entry(name).or_insert(list.len().into());
        }
    }
    let short = match name {
        "patch" | "path" | "path_bytes" => value.clone(),
        // What was cut before is longer than what is cut here.
        "truncated" => {
            let cut = brief.remove("truncated").unwrap_or_default();
            let all = [cut, value.clone()];
            let all = all.iter().filter_map(Value::as_object).flatten();
            all.map(|(name, count)| (name.clone(), count.clone())).collect()
        }
        _ => shorten(value),
    };
    brief.insert(name.to_owned(), short);
}

fn checkpoint(checkpoint: &Value) -> Value {
    let mut brief = json!({"number": checkpoint["number"], "time": checkpoint["time"]});
    brief["reason"] = line(&checkpoint["reason"]).into();
    if checkpoint["names"] != json!([]) {
        brief["names"] = checkpoint["names"].clone();
    }
    brief
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_or_is_for_programs_goes() {
        let answer = json!({
            "schema": "herma.undo/3", "outcome": "done", "warnings": [], "written": 2, "transcript": null,
            "project": {"id": "0", "path": "/p", "interrupted_restore": false},
            "safety": {"tree": "t", "id": "i", "number": 7, "time": "T", "reason": "a\nb", "names": [], "pinned": false},
        });
        let safety = json!({"number": 7, "time": "T", "reason": "a"});
        assert_eq!(brief(&answer, &[]), json!({"written": 2, "safety": safety}));
        let interrupted =
            json!({"project": {"path": "/p", "interrupted_restore": true}, "outcome": "left-out"});
        assert_eq!(
            brief(&interrupted, &[]),
            json!({"project": {"interrupted_restore": true}, "outcome": "left-out"})
        );
    }

    #[test]
    fn long_lists_are_cut_wherever_they_are_and_pages_are_not() {
        let list = vec![json!("a"); 30];
        let answer = json!({"kept": list, "outcomes": [{"left": list}], "changes": list, "truncated": {"kept": 1234}});
        let brief = brief(&answer, &["changes"]);
        assert_eq!(brief["kept"].as_array().unwrap().len(), MAX_ENTRIES);
        assert_eq!(brief["truncated"], json!({"kept": 1234}));
        assert_eq!(brief["outcomes"][0]["left"].as_array().unwrap().len(), MAX_ENTRIES);
        assert_eq!(brief["outcomes"][0]["truncated"], json!({"left": 30}));
        assert_eq!(brief["changes"].as_array().unwrap().len(), 30);
    }

    #[test]
    fn a_row_has_its_numbers_as_other_tools_take_them() {
        let listed = json!({"rows": [{
            "number": 17, "kind": "work", "agent": "claude", "session": "s", "turn": "t", "prompt": "x".repeat(99),
            "text": "x".repeat(99), "seconds": 1, "time": "T", "files": 2, "deleted": 0, "insertions": 3,
            "deletions": null, "steps": [17, 16, 15, 12], "undone": "partly", "checkpoint": "c",
        }], "checkpoints": []});
        let row = &brief(&listed, &["checkpoints", "rows"])["rows"][0];
        assert_eq!((&row["steps"], &row["undone"]), (&json!("12,15-17"), &json!("partly")));
        assert_eq!(row["prompt"].as_str().unwrap().chars().count(), MAX_COLUMNS);
        assert!(row.get("deleted").is_none() && row.get("text").is_none(), "{row}");
    }
}
