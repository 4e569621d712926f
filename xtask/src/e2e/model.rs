//! A model on loopback that says what a script tells it to, in the languages of four providers.
//!
//! | path | language |
//! |---|---|
//! | `…/messages` | Anthropic Messages |
//! | `…/responses` | OpenAI Responses |
//! | `…/chat/completions` | OpenAI chat completions |
//! | `…:generateContent`, `…:streamGenerateContent` | Gemini |
//!
//! It keeps no state: how far a conversation has come is read from the request, which carries all of it. A
//! request that offers no tools is one for a title or a summary and gets a word. Every request is written to a
//! file, for the person who wants to know why an agent did not do what the script says.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::script::{Answer, Script};
use crate::Result;
use http::{Request, Response};

/// A running model. It stops when it is dropped.
pub struct Model {
    port: u16,
    over: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts a model that follows this script and writes the requests it gets to `log`.
    pub fn start(script: Script, log: &Path) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let over = Arc::new(AtomicBool::new(false));
        let speaker = Arc::new(Speaker {
            script,
            log: Mutex::new(File::create(log)?),
            last_id: AtomicU64::new(0),
        });
        let is_over = Arc::clone(&over);
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                let speaker = Arc::clone(&speaker);
                // A connection that breaks off is the agent's affair: it asks again or reports it.
                if let Ok(stream) = stream {
                    std::thread::spawn(move || speaker.serve(&stream));
                }
            }
        });
        Ok(Self { port, over, listening: Some(listening) })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // The listener waits for a connection: this is the last one.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        if let Some(listening) = self.listening.take() {
            drop(listening.join());
        }
    }
}

/// What answers requests.
struct Speaker {
    script: Script,
    log: Mutex<File>,
    last_id: AtomicU64,
}

impl Speaker {
    fn serve(&self, stream: &TcpStream) {
        if let Ok(request) = http::read(stream) {
            let response = self.respond(&request);
            drop(response.send(stream, request.method == "HEAD"));
        }
    }

    fn respond(&self, request: &Request) -> Response {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        self.record(request, &body);
        let path = request.path.split('?').next().unwrap_or_default();
        if request.method != "POST" {
            return Response::json(&about_models());
        }
        if path.ends_with("/messages/count_tokens") {
            Response::json(&json!({"input_tokens": 10}))
        } else if path.ends_with(":countTokens") {
            Response::json(&json!({"totalTokens": 10}))
        } else if path.ends_with("/messages") {
            anthropic::respond(self, &body)
        } else if path.ends_with("/responses") {
            responses::respond(self, &body)
        } else if path.ends_with("/chat/completions") {
            chat::respond(self, &body)
        } else if path.ends_with(":streamGenerateContent") {
            gemini::respond(self, &body, gemini::Form::Stream)
        } else if path.ends_with(":generateContent") {
            gemini::respond(self, &body, gemini::Form::Whole)
        } else {
            Response::json(&json!({}))
        }
    }

    fn record(&self, request: &Request, body: &Value) {
        let line = json!({"method": request.method, "path": request.path, "body": body});
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        drop(writeln!(log, "{line}"));
    }

    /// An id nobody else has.
    fn id(&self, kind: &str) -> String {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{kind}{number:06}")
    }

    /// What the script has for a request that offers tools, or a word for one that does not.
    fn answer(&self, body: &Value, offers_tools: bool, rounds: usize) -> Answer {
        if offers_tools {
            self.script.answer(&body.to_string(), rounds)
        } else {
            Answer::Words("ok".to_owned())
        }
    }
}

/// The requests that a log has.
pub fn requests(log: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(log)?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn about_models() -> Value {
    let model = json!({"id": "fake-model", "object": "model", "created": 1, "owned_by": "fake"});
    json!({"object": "list", "data": [model], "models": []})
}

/// The list in a field, empty if there is none.
fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text in a field, empty if there is none.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Does the request want its answer piece by piece?
fn wants_stream(body: &Value) -> bool {
    body.get("stream").and_then(Value::as_bool) == Some(true)
}

/// The words of a message, whose content is a text or a list of parts with texts.
fn words_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(words)) => words.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| text(part, "text")).collect(),
        _ => String::new(),
    }
}

/// Is this what a person wrote? Agents add notes of their own as messages of the user, in angle brackets.
fn is_prompt(words: &str) -> bool {
    !words.is_empty() && !words.trim_start().starts_with('<')
}

#[cfg(test)]
mod tests;
