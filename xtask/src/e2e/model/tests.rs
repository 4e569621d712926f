use std::io::Read;

use super::*;
use crate::e2e::script::{Call, Conversation};

const PROMPT: &str = "Please do the edits of SCENE-1.";

fn script() -> Script {
    let call = |name| Call::tool(name, json!({"path": "a.txt"}));
    let patch = Call::Freeform { name: "third", input: "a patch".to_owned() };
    Script {
        conversations: vec![Conversation {
            word: "SCENE-1".to_owned(),
            messages: vec![vec![call("first"), call("second")], vec![patch]],
        }],
    }
}

fn model() -> (Model, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let model = Model::start(script(), &place.path().join("requests.jsonl")).unwrap();
    (model, place)
}

fn exchange(model: &Model, request: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, model.port)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}

fn post(model: &Model, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    exchange(model, &(head + &body))
}

/// Posts what an agent would after so many rounds, and says which tools the answer names.
fn tools(path: &str, body: &Value) -> Vec<&'static str> {
    let (model, _place) = model();
    let answer = post(&model, path, body);
    let names = ["first", "second", "third"];
    let named = names.into_iter().filter(|name| answer.contains(&format!("\"{name}\"")));
    let named: Vec<_> = named.collect();
    assert_eq!(named.is_empty(), answer.contains("All done."), "{answer}");
    named
}

/// The rounds an agent reports, one after the other, in one language.
fn assert_follows_the_script(path: &str, body: impl Fn(usize, bool) -> Value) {
    for stream in [false, true] {
        assert_eq!(tools(path, &body(0, stream)), ["first", "second"], "{path}");
        assert_eq!(tools(path, &body(1, stream)), ["third"], "{path}");
        assert!(tools(path, &body(2, stream)).is_empty(), "{path}");
    }
}

#[test]
fn anthropic_messages_follow_the_script() {
    assert_follows_the_script("/v1/messages?beta=true", |rounds, stream| {
        let note = json!({"type": "text", "text": "<system-reminder>be nice</system-reminder>"});
        let prompt = json!({"type": "text", "text": PROMPT});
        let mut messages = vec![json!({"role": "user", "content": [note, prompt]})];
        for _ in 0..rounds {
            let call = json!({"type": "tool_use", "id": "x", "name": "any", "input": {}});
            let result = json!({"type": "tool_result", "tool_use_id": "x", "content": "done"});
            messages.push(json!({"role": "assistant", "content": [call]}));
            messages.push(json!({"role": "user", "content": [result, note]}));
        }
        json!({"model": "m", "stream": stream, "tools": [{"name": "any"}], "messages": messages})
    });
}

#[test]
fn openai_responses_follow_the_script() {
    assert_follows_the_script("/v1/responses", |rounds, stream| {
        let note = json!({"type": "input_text", "text": "<environment_context>here"});
        let prompt = json!({"type": "input_text", "text": PROMPT});
        let mut input = vec![
            json!({"type": "message", "role": "user", "content": [note]}),
            json!({"type": "message", "role": "user", "content": [prompt]}),
        ];
        for _ in 0..rounds {
            let call = json!({"type": "custom_tool_call", "call_id": "x", "name": "any"});
            input.extend([call.clone(), call]);
            input.push(json!({"type": "custom_tool_call_output", "call_id": "x"}));
        }
        json!({"model": "m", "stream": stream, "tools": [{"name": "any"}], "input": input})
    });
}

#[test]
fn chat_completions_follow_the_script() {
    assert_follows_the_script("/v1/chat/completions", |rounds, stream| {
        let mut messages = vec![json!({"role": "user", "content": PROMPT})];
        for _ in 0..rounds {
            messages.push(json!({"role": "assistant", "tool_calls": [{"id": "x"}]}));
            messages.push(json!({"role": "tool", "tool_call_id": "x", "content": "done"}));
        }
        json!({"model": "m", "stream": stream, "tools": [{"type": "function"}], "messages": messages})
    });
}

#[test]
fn gemini_follows_the_script() {
    for kind in ["generateContent", "streamGenerateContent"] {
        let path = format!("/v1beta/models/m:{kind}?alt=sse");
        assert_follows_the_script(&path, |rounds, _| {
            let mut contents = vec![json!({"role": "user", "parts": [{"text": PROMPT}]})];
            for _ in 0..rounds {
                contents.push(json!({"role": "model", "parts": [{"functionCall": {}}]}));
                contents.push(json!({"role": "user", "parts": [{"functionResponse": {}}]}));
            }
            json!({"tools": [{"functionDeclarations": []}], "contents": contents})
        });
    }
}

#[test]
fn a_request_without_tools_gets_a_word() {
    let (model, place) = model();
    let body = json!({"messages": [{"role": "user", "content": PROMPT}]});
    let answer = post(&model, "/v1/chat/completions", &body);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "ok");
    let log = std::fs::read_to_string(place.path().join("requests.jsonl")).unwrap();
    assert!(log.contains("SCENE-1"), "requests are written down: {log}");
}

#[test]
fn a_body_in_chunks_is_understood() {
    let (model, _place) = model();
    let body =
        json!({"tools": [{}], "messages": [{"role": "user", "content": PROMPT}]}).to_string();
    let (one, two) = body.split_at(10);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{one}\r\n{:x};a=b\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    );
    assert!(exchange(&model, &request).contains("\"second\""));
}

#[test]
fn streams_end_the_way_each_provider_ends_them() {
    let (model, _place) = model();
    let body = json!({"stream": true, "messages": []});
    assert!(post(&model, "/chat/completions", &body).ends_with("data: [DONE]\n\n"));
    let answer = post(&model, "/v1/messages", &body);
    assert!(answer.contains("event: message_stop\n"), "{answer}");
    let answer = post(&model, "/v1/responses", &body);
    assert!(answer.contains("event: response.completed\n"), "{answer}");
}

#[test]
fn hostile_requests_do_not_stop_the_model() {
    let (model, _place) = model();
    for bytes in [
        "\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n",
        "POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, model.port)).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        drop(stream);
    }
    for body in [json!(null), json!([1]), json!({"messages": "x", "input": 3, "contents": {}})] {
        for path in ["/messages", "/responses", "/chat/completions", "/m:generateContent"] {
            post(&model, path, &body);
        }
    }
    let answer = exchange(&model, "GET /v1/models HTTP/1.1\r\n\r\n");
    assert!(answer.contains("fake-model"), "{answer}");
}
