//! Anthropic Messages.

use serde_json::{Value, json};

use super::http::Response;
use super::{Speaker, is_prompt, list, text, wants_stream, words_of};
use crate::e2e::script::{Answer, Call};

/// Answers a request.
pub fn respond(speaker: &Speaker, body: &Value) -> Response {
    let answer = speaker.answer(body, !list(body, "tools").is_empty(), rounds(body));
    let (content, reason) = content(speaker, answer);
    let message = json!({
        "id": speaker.id("msg_fake"), "type": "message", "role": "assistant",
        "model": text(body, "model"), "content": content, "stop_reason": reason, "stop_sequence": null,
        "usage": {
            "input_tokens": 10, "output_tokens": 5,
            "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
        },
    });
    if wants_stream(body) { stream(&message) } else { Response::json(&message) }
}

/// How many messages with tool calls there are since the prompt.
pub(super) fn rounds(body: &Value) -> usize {
    let mut rounds = 0;
    for message in list(body, "messages") {
        let has = |kind| list(message, "content").iter().any(|part| text(part, "type") == kind);
        if text(message, "role") == "assistant" {
            rounds += usize::from(has("tool_use"));
        } else if !has("tool_result") && holds_prompt(message) {
            rounds = 0;
        }
    }
    rounds
}

/// The prompt stands among the agent's own notes, in the same message.
fn holds_prompt(message: &Value) -> bool {
    match list(message, "content") {
        [] => is_prompt(&words_of(message)),
        parts => parts.iter().any(|part| is_prompt(text(part, "text"))),
    }
}

fn content(speaker: &Speaker, answer: Answer) -> (Vec<Value>, &'static str) {
    match answer {
        Answer::Words(words) => (vec![json!({"type": "text", "text": words})], "end_turn"),
        Answer::Calls(calls) => {
            let calls = calls.into_iter().map(|call| {
                let (name, input) = match call {
                    Call::Tool { name, arguments } => (name, arguments),
                    Call::Freeform { name, input } => (name, json!({"input": input})),
                };
                let id = speaker.id("toolu_fake");
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            });
            (calls.collect(), "tool_use")
        }
    }
}

fn stream(message: &Value) -> Response {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, part) in list(message, "content").iter().enumerate() {
        let mut empty = part.clone();
        let delta = if text(part, "type") == "text" {
            empty["text"] = "".into();
            json!({"type": "text_delta", "text": part["text"]})
        } else {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": part["input"].to_string()})
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    let usage = json!({"output_tokens": 5});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    let named: Vec<_> =
        events.iter().map(|event| (Some(text(event, "type")), event.to_string())).collect();
    Response::events(&named)
}
