//! Gemini.

use serde_json::{Value, json};

use super::http::Response;
use super::{Speaker, list, text};
use crate::e2e::script::{Answer, Call};

/// How the answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// At once.
    Whole,
    /// Piece by piece.
    Stream,
}

/// Answers a request.
pub fn respond(speaker: &Speaker, body: &Value, form: Form) -> Response {
    let offers_tools =
        list(body, "tools").iter().any(|tool| tool.get("functionDeclarations").is_some());
    let answer = if !offers_tools && wants_schema(body) {
        Answer::Words(judgement())
    } else {
        speaker.answer(body, offers_tools, rounds(body))
    };
    let whole = json!({
        "candidates": [{
            "content": {"role": "model", "parts": parts(speaker, answer)},
            "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "fake", "responseId": speaker.id("r"),
    });
    match form {
        Form::Whole => Response::json(&whole),
        Form::Stream => Response::events(&[(None, whole.to_string())]),
    }
}

/// How many messages with tool calls there are since the prompt.
pub(super) fn rounds(body: &Value) -> usize {
    let mut rounds = 0;
    for content in list(body, "contents") {
        let has = |field| list(content, "parts").iter().any(|part| part.get(field).is_some());
        match text(content, "role") {
            "user" if !has("functionResponse") => rounds = 0,
            "model" if has("functionCall") => rounds += 1,
            _ => {}
        }
    }
    rounds
}

/// The agent asks aside which model to take and who speaks next, and wants a value of a schema.
fn wants_schema(body: &Value) -> bool {
    let config = &body["generationConfig"];
    ["responseJsonSchema", "responseSchema"]
        .iter()
        .any(|field| config.get(field).is_some_and(|schema| !schema.is_null()))
}

fn judgement() -> String {
    let judgement = json!({
        "reasoning": "x", "next_speaker": "user", "model_choice": "flash",
        "complexity_reasoning": "x", "complexity_score": 1,
    });
    judgement.to_string()
}

fn parts(speaker: &Speaker, answer: Answer) -> Vec<Value> {
    match answer {
        Answer::Words(words) => vec![json!({"text": words})],
        Answer::Calls(calls) => calls
            .into_iter()
            .map(|call| {
                let (name, arguments) = match call {
                    Call::Tool { name, arguments } => (name, arguments),
                    Call::Freeform { name, input } => (name, json!({"input": input})),
                };
                let id = speaker.id("fc_");
                json!({"functionCall": {"name": name, "args": arguments, "id": id}})
            })
            .collect(),
    }
}
