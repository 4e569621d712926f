//! OpenAI chat completions, which most agents speak with models of others.

use serde_json::{Value, json};

use super::http::Response;
use super::{Speaker, is_prompt, list, text, wants_stream, words_of};
use crate::e2e::script::{Answer, Call};

/// Answers a request.
pub fn respond(speaker: &Speaker, body: &Value) -> Response {
    let answer = speaker.answer(body, !list(body, "tools").is_empty(), rounds(body));
    let (message, reason) = message(speaker, answer);
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let mut whole = json!({
        "id": speaker.id("chatcmpl-"), "object": "chat.completion", "created": 1,
        "model": text(body, "model"), "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    });
    if !wants_stream(body) {
        return Response::json(&whole);
    }
    whole["object"] = "chat.completion.chunk".into();
    let mut first = whole.clone();
    first["choices"] = json!([{"index": 0, "delta": with_places(message), "finish_reason": null}]);
    if let Some(first) = first.as_object_mut() {
        first.remove("usage");
    }
    whole["choices"] = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    Response::events(&[
        (None, first.to_string()),
        (None, whole.to_string()),
        (None, "[DONE]".to_owned()),
    ])
}

/// How many messages with tool calls there are since the prompt.
pub(super) fn rounds(body: &Value) -> usize {
    let mut rounds = 0;
    for message in list(body, "messages") {
        match text(message, "role") {
            "user" if is_prompt(&words_of(message)) => rounds = 0,
            "assistant" if !list(message, "tool_calls").is_empty() => rounds += 1,
            _ => {}
        }
    }
    rounds
}

fn message(speaker: &Speaker, answer: Answer) -> (Value, &'static str) {
    match answer {
        Answer::Words(words) => (json!({"role": "assistant", "content": words}), "stop"),
        Answer::Calls(calls) => {
            let calls: Vec<_> = calls
                .into_iter()
                .map(|call| {
                    let (name, arguments) = match call {
                        Call::Tool { name, arguments } => (name, arguments.to_string()),
                        Call::Freeform { name, input } => (name, input),
                    };
                    let function = json!({"name": name, "arguments": arguments});
                    json!({"id": speaker.id("call_"), "type": "function", "function": function})
                })
                .collect();
            let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
            (message, "tool_calls")
        }
    }
}

/// Pieces of an answer say which of the calls they are part of.
fn with_places(mut message: Value) -> Value {
    if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for (index, call) in calls.iter_mut().enumerate() {
            call["index"] = index.into();
        }
    }
    message
}
