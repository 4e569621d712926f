//! OpenAI Responses.

use serde_json::{Value, json};

use super::http::Response;
use super::{Speaker, is_prompt, list, text, wants_stream, words_of};
use crate::e2e::script::{Answer, Call};

/// The kinds of items that are tool calls.
const CALLS: [&str; 3] = ["function_call", "custom_tool_call", "local_shell_call"];

/// Answers a request.
pub fn respond(speaker: &Speaker, body: &Value) -> Response {
    let offers_tools = !list(body, "tools").is_empty()
        || list(body, "input").iter().any(|item| text(item, "type") == "additional_tools");
    let items = items(speaker, speaker.answer(body, offers_tools, rounds(body)));
    let whole = json!({
        "id": speaker.id("resp_"), "object": "response", "created_at": 1, "model": text(body, "model"),
        "status": "completed", "error": null, "incomplete_details": null, "output": items,
        "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
        },
    });
    if wants_stream(body) { stream(&whole) } else { Response::json(&whole) }
}

/// How many rounds of tool calls there are since the prompt. Calls that follow each other are one round.
pub(super) fn rounds(body: &Value) -> usize {
    let mut rounds = 0;
    let mut was_call = false;
    for item in list(body, "input") {
        let kind = text(item, "type");
        let is_call = CALLS.contains(&kind);
        rounds += usize::from(is_call && !was_call);
        was_call = is_call;
        if text(item, "role") == "user" && is_prompt(&words_of(item)) {
            rounds = 0;
        }
    }
    rounds
}

fn items(speaker: &Speaker, answer: Answer) -> Vec<Value> {
    match answer {
        Answer::Words(words) => vec![json!({
            "type": "message", "id": speaker.id("msg_"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": words, "annotations": []}],
        })],
        Answer::Calls(calls) => calls
            .into_iter()
            .map(|call| match call {
                Call::Tool { name, arguments } => json!({
                    "type": "function_call", "id": speaker.id("fc_"), "call_id": speaker.id("call_"),
                    "name": name, "arguments": arguments.to_string(), "status": "completed",
                }),
                Call::Freeform { name, input } => json!({
                    "type": "custom_tool_call", "id": speaker.id("ctc_"),
                    "call_id": speaker.id("call_"), "name": name, "input": input,
                    "status": "completed",
                }),
            })
            .collect(),
    }
}

fn stream(whole: &Value) -> Response {
    let mut start = whole.clone();
    start["status"] = "in_progress".into();
    start["output"] = json!([]);
    let mut events = vec![json!({"type": "response.created", "response": start})];
    for (index, item) in list(whole, "output").iter().enumerate() {
        push_item(&mut events, index, item);
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    let mut named = Vec::new();
    for (number, mut event) in events.into_iter().enumerate() {
        event["sequence_number"] = number.into();
        named.push((text(&event, "type").to_owned(), event.to_string()));
    }
    let named: Vec<_> =
        named.iter().map(|(name, data)| (Some(name.as_str()), data.clone())).collect();
    Response::events(&named)
}

fn push_item(events: &mut Vec<Value>, index: usize, item: &Value) {
    let mut start = item.clone();
    start["status"] = "in_progress".into();
    let mut inner = Vec::new();
    match text(item, "type") {
        "message" => {
            start["content"] = json!([]);
            let part = &item["content"][0];
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            inner.push(json!({"type": "response.content_part.added", "part": empty}));
            inner.push(json!({"type": "response.output_text.delta", "delta": part["text"]}));
            inner.push(json!({"type": "response.output_text.done", "text": part["text"]}));
            inner.push(json!({"type": "response.content_part.done", "part": part}));
            for event in &mut inner {
                event["content_index"] = 0.into();
            }
        }
        "function_call" => {
            start["arguments"] = "".into();
            let arguments = &item["arguments"];
            let kind = "response.function_call_arguments";
            inner.push(json!({"type": format!("{kind}.delta"), "delta": arguments}));
            inner.push(json!({"type": format!("{kind}.done"), "arguments": arguments}));
        }
        _ => {}
    }
    for event in &mut inner {
        event["item_id"] = item["id"].clone();
        event["output_index"] = index.into();
    }
    events.push(json!({
        "type": "response.output_item.added", "output_index": index, "item": start,
    }));
    events.append(&mut inner);
    events.push(json!({
        "type": "response.output_item.done", "output_index": index, "item": item,
    }));
}
