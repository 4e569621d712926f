//! JSON-RPC 2.0, one message a line: what comes in, and what goes out.
//!
//! Lines come from anywhere. The parameters are only looked at by the method that knows what they should be,
//! so that no line, however long or deep, becomes more than itself in memory.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Not JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON, but no request.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// A request for something nobody knows.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// A request that makes no sense as it is.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// A mistake in this program.
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// There are too many clients or subscriptions.
pub(crate) const TOO_MANY: i64 = -32006;
/// The other end belongs to another user.
pub(crate) const NOT_YOURS: i64 = -32007;

/// So long an id of a request may be: it is sent back, and kept while the request runs.
const MAX_ID_BYTES: usize = 256;

/// A request, or a notification if it has no id.
#[derive(Debug)]
pub(crate) struct Request {
    /// By which its answer is known: an integer or a text.
    pub(crate) id: Option<Value>,
    /// What to do.
    pub(crate) method: String,
    params: Option<Box<RawValue>>,
}

/// What a line says.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Something to do, or to know.
    Request(Request),
    /// An answer, though nobody asked.
    Answer,
    /// Nothing that makes sense.
    Bad {
        /// The id, as far as there is one.
        id: Value,
        /// What is wrong.
        error: RpcError,
    },
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Envelope {
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "given")]
    id: Option<Value>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// An id that is `null` is one, too, and no good one.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl RpcError {
    /// An error with this code.
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Parameters that make no sense.
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }
}

/// Reads a line.
pub(crate) fn parse(line: &[u8]) -> Incoming {
    let bad = |id: Value, code, message: String| Incoming::Bad {
        id,
        error: RpcError::new(code, message),
    };
    // What is skipped is checked, too: a line is text or it is not.
    let Ok(text) = std::str::from_utf8(line) else {
        return bad(Value::Null, PARSE_ERROR, "this is no UTF-8".to_owned());
    };
    let no_json = |error: &serde_json::Error| format!("this is no JSON: {error}");
    if text.trim_ascii_start().starts_with('[') {
        if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
            return bad(Value::Null, PARSE_ERROR, no_json(&error));
        }
        let message = "batches are not supported: send one request a line";
        return bad(Value::Null, INVALID_REQUEST, message.to_owned());
    }
    let envelope: Envelope = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) if error.classify() == Category::Data => {
            let message = format!("this is no request: {error}");
            return bad(Value::Null, INVALID_REQUEST, message);
        }
        Err(error) => return bad(Value::Null, PARSE_ERROR, no_json(&error)),
    };
    if envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some()) {
        return Incoming::Answer;
    }
    if !envelope.id.as_ref().is_none_or(is_id) {
        let message =
            format!("an id is an integer of 64 bits or a text of up to {MAX_ID_BYTES} bytes");
        return bad(Value::Null, INVALID_REQUEST, message);
    }
    let shown = envelope.id.clone().unwrap_or_default();
    let Some(method) = envelope.method else {
        return bad(shown, INVALID_REQUEST, "`method` is missing".to_owned());
    };
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return bad(shown, INVALID_REQUEST, "`jsonrpc` must be \"2.0\"".into());
    }
    Incoming::Request(Request { id: envelope.id, method, params: envelope.params })
}

/// Can a request be known by this? Other numbers would come back written otherwise, and nobody would know them.
pub(crate) fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= MAX_ID_BYTES,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

impl Request {
    /// The parameters, which must be an object; no parameters are an empty one.
    pub(crate) fn params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let text = self.params.as_deref().map_or("{}", RawValue::get);
        if !text.starts_with('{') {
            return Err(RpcError::params("`params` must be an object"));
        }
        serde_json::from_str(text).map_err(|error| RpcError::params(format!("params: {error}")))
    }
}

/// The line that answers a request, or says why there is no answer.
pub(crate) fn answer_line(id: &Value, answer: Result<Value, RpcError>) -> Vec<u8> {
    let error = match answer {
        Ok(result) => return line(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(error) => error,
    };
    let mut body = json!({"code": error.code, "message": error.message});
    if let Some(data) = error.data {
        body["data"] = data;
    }
    line(&json!({"jsonrpc": "2.0", "id": id, "error": body}))
}

/// The line that tells something nobody waits for.
pub(crate) fn notification_line(method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

fn line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn code_of(line: &[u8]) -> i64 {
        match parse(line) {
            Incoming::Bad { error, .. } => error.code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_json_is_told_from_what_is_no_request() {
        let deep = "[".repeat(1 << 20);
        let nested = format!(r#"{{"jsonrpc":"2.0","id":{deep}"#);
        for line in [&b"{"[..], b"nonsense", b"[[[[", b"{\"a\":\"\xff\"}", nested.as_bytes()] {
            assert_eq!(code_of(line), PARSE_ERROR, "{line:?}");
        }
        for line in [
            &b"[]"[..],
            b" [{\"jsonrpc\":\"2.0\"}]",
            b"3",
            b"{}",
            br#"{"jsonrpc":"1.0","method":"list"}"#,
            br#"{"jsonrpc":"2.0","method":3}"#,
            br#"{"jsonrpc":"2.0","id":{},"method":"list"}"#,
            br#"{"jsonrpc":"2.0","id":true,"method":"list"}"#,
            br#"{"jsonrpc":"2.0","id":null,"method":"list"}"#,
            br#"{"jsonrpc":"2.0","id":1.0,"method":"list"}"#,
            br#"{"jsonrpc":"2.0","id":123456789012345678901,"method":"list"}"#,
            br#"{"jsonrpc":"2.0","method":"list","method":"undo"}"#,
        ] {
            assert_eq!(code_of(line), INVALID_REQUEST, "{line:?}");
        }
        let long = format!(r#"{{"jsonrpc":"2.0","method":"list","id":"{}"}}"#, "x".repeat(300));
        assert_eq!(code_of(long.as_bytes()), INVALID_REQUEST);
    }

    #[test]
    fn a_request_has_an_id_and_a_notification_has_none() {
        let id = |line: &str| match parse(line.as_bytes()) {
            Incoming::Request(request) => request.id,
            other => panic!("{other:?}"),
        };
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"a"}"#), None);
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"a","id":"7"}"#), Some(json!("7")));
    }

    #[test]
    fn parameters_are_an_object_of_the_right_kind() {
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wanted {
            #[serde(default)]
            count: u8,
        }
        let read = |params: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"a","params":{params}}}"#);
            match parse(line.as_bytes()) {
                Incoming::Request(request) => request.params::<Wanted>(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read(r#"{"count":3}"#), Ok(Wanted { count: 3 }));
        assert_eq!(read("{}"), Ok(Wanted { count: 0 }));
        for bad in ["[3]", "3", r#"{"count":"3"}"#, r#"{"counts":3}"#, r#"{"count":-1}"#] {
            assert_eq!(read(bad).unwrap_err().code, INVALID_PARAMS, "{bad}");
        }
    }
}
