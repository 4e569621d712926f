//! Prompts: what a person picks in the host (`/mcp__herma__undo` in Claude Code), as words for the model.

use serde_json::{Value, json};

use super::message::RpcError;
use super::tools::arguments::{Arguments, is_numbers};

/// What a person can pick.
struct Prompt {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// What `number` is for, where it may be given.
    number: Option<&'static str>,
}

const PROMPTS: [Prompt; 3] = [
    Prompt {
        name: "undo",
        title: "Undo the last prompt",
        description: "Undo what the last prompt did to the files, or a change by its number",
        number: Some("The change, such as 17 or 15-17; the last prompt unless said otherwise"),
    },
    Prompt { name: "redo", title: "Redo", description: "Redo what was undone last", number: None },
    Prompt {
        name: "timeline",
        title: "What happened",
        description: "List what happened in the project, or show one change",
        number: Some("The change to show, such as 17 or 15-17"),
    },
];

/// What is said behind every call.
const REPORT: &str = "Make this one call and no other, and do not change files yourself. Then say in a few words what \
    was done: which files changed, and what was left alone and why.";

/// The prompts, as `prompts/list` has them.
pub(super) fn list() -> Vec<Value> {
    let described = |prompt: &Prompt| {
        let number = prompt
            .number
            .map(|what| json!({"name": "number", "description": what, "required": false}));
        json!({
            "name": prompt.name,
            "title": prompt.title,
            "description": prompt.description,
            "arguments": number.into_iter().collect::<Vec<_>>(),
        })
    };
    PROMPTS.iter().map(described).collect()
}

/// One of them, as `prompts/get` has it.
pub(super) fn get(name: &str, arguments: &Arguments) -> Result<Value, RpcError> {
    let prompt = PROMPTS.iter().find(|prompt| prompt.name == name);
    let prompt =
        prompt.ok_or_else(|| RpcError::params("there is no such prompt; prompts/list has them"))?;
    let number = number(prompt, arguments)?;
    let text = match (name, number) {
        ("undo", None) => format!(
            "Undo the last prompt of this conversation that changed files: call the tool herma_undo with \
             {{\"last_prompt\": true}}. {REPORT}"
        ),
        ("undo", Some(number)) => {
            format!("Undo change {number}: call the tool herma_undo with {{\"steps\": [\"{number}\"]}}. {REPORT}")
        }
        ("redo", _) => format!("Redo what was undone last: call the tool herma_redo with {{}}. {REPORT}"),
        (_, None) => "Call the tool herma_timeline with {} and show me its rows, newest first: number, time, who, what, \
                      and which files. Change nothing."
            .to_owned(),
        (_, Some(number)) => format!(
            "Call the tool herma_show with {{\"checkpoint\": \"{number}\"}} and tell me what that change did. \
             Change nothing."
        ),
    };
    let content = json!({"type": "text", "text": text});
    Ok(json!({
        "description": prompt.description,
        "messages": [{"role": "user", "content": content}],
    }))
}

/// The number that was given. It goes into a sentence, so it is nothing else.
fn number<'a>(prompt: &Prompt, arguments: &'a Arguments) -> Result<Option<&'a str>, RpcError> {
    if let Some(other) = arguments.keys().find(|name| *name != "number" || prompt.number.is_none())
    {
        let other: String = other.chars().take(64).collect();
        let other = herma_store::path::escape(other.as_bytes());
        return Err(RpcError::params(format!("there is no argument `{other}`")));
    }
    let number = arguments.get("number").and_then(Value::as_str).map(str::trim);
    match number.filter(|number| !number.is_empty()) {
        Some(number) if !is_numbers(number) => {
            Err(RpcError::params("`number` is that of a change, such as 17 or 15-17"))
        }
        number => Ok(number),
    }
}
