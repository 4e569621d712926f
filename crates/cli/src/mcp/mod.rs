//! `herma mcp`: tools with which an agent looks at checkpoints and goes back, over the Model Context Protocol.
//!
//! A tool is a method of `herma serve` under another name, so what it takes and answers is described in
//! docs/PROTOCOL.md. Both ways to begin are understood: the handshake of the revisions up to 2025-11-25, and the
//! requests of 2026-07-28 that carry their version with them.
//!
//! * [`tools`]: the tools, as an agent sees them
//! * [`hook`]: the tool that agents' hooks call instead of starting `herma hook`

mod hook;
mod tools;

use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::serve::Session;
use crate::serve::connection::Handler;
use crate::serve::connection::Reply;
use crate::serve::message;
use crate::serve::message::Request;
use crate::serve::message::RpcError;

/// The revision in which every request carries its version.
const MODERN: &str = "2026-07-28";
/// The revisions that begin with a handshake, newest first.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The protocol's own error for a revision nobody here knows.
const UNSUPPORTED_VERSION: i64 = -32022;
/// How long a client may keep the list of tools, in milliseconds: it changes only with the program.
const KEPT_FOR: u64 = 3_600_000;

const INSTRUCTIONS: &str = "Herma saves the project before files change. herma_list shows the checkpoints, \
    herma_diff what changed, herma_plan_restore what going back would do. herma_restore and herma_undo change \
    files; the state from before is saved first, and herma_undo takes them back.";

/// An agent that is connected.
pub(crate) struct Mcp {
    session: Session,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
    #[serde(rename = "protocolVersion")]
    protocol_version: Option<String>,
    name: Option<String>,
    arguments: Option<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<String>,
}

impl Handler for Mcp {
    fn call(&mut self, request: &Request<'_>) -> Reply {
        if request.id.is_none() {
            // Nothing that an agent only tells changes what is done for it.
            return Reply::Answer(Ok(Value::Null));
        }
        Reply::Answer(self.carry_out(request))
    }
}

impl Mcp {
    /// An agent that has said nothing yet.
    pub(crate) fn new(session: Session) -> Self {
        Self { session }
    }

    fn carry_out(&mut self, request: &Request<'_>) -> Result<Value, RpcError> {
        let params: Params = request.params()?;
        let is_modern = match params.meta.protocol_version.as_deref() {
            None => false,
            Some(MODERN) => true,
            Some(requested) => return Err(unsupported(requested)),
        };
        let result = match request.method.as_str() {
            "initialize" => initialize(&params),
            "server/discover" => kept(json!({
                "supportedVersions": versions(),
                "capabilities": capabilities(),
                "instructions": INSTRUCTIONS,
            })),
            "ping" => json!({}),
            "tools/list" if is_modern => kept(json!({"tools": tools::all()})),
            "tools/list" => json!({"tools": tools::all()}),
            "tools/call" => self.call_tool(params)?,
            _ => {
                let message = "this server has tools, and nothing else";
                return Err(RpcError::new(message::METHOD_NOT_FOUND, message));
            }
        };
        Ok(if is_modern || request.method == "server/discover" {
            as_modern(result)
        } else {
            result
        })
    }

    fn call_tool(&mut self, params: Params) -> Result<Value, RpcError> {
        let name = params.name.unwrap_or_default();
        let arguments = params.arguments.unwrap_or_default();
        if name == hook::NAME {
            return Ok(hook::call(&mut self.session, &arguments));
        }
        let Some(tool) = tools::find(&name) else {
            let shown: String = name.chars().take(64).collect();
            let shown = herma_store::path::escape(shown.as_bytes());
            return Err(RpcError::params(format!("there is no tool `{shown}`")));
        };
        Ok(tool.call(&mut self.session, arguments))
    }
}

fn initialize(params: &Params) -> Value {
    let requested = params.protocol_version.as_deref().unwrap_or_default();
    let known = HANDSHAKE.into_iter().find(|version| *version == requested);
    json!({
        "protocolVersion": known.unwrap_or(HANDSHAKE[0]),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": false}})
}

fn server_info() -> Value {
    json!({"name": "herma", "title": "Herma", "version": env!("CARGO_PKG_VERSION")})
}

fn versions() -> Vec<&'static str> {
    let modern = std::iter::once(MODERN);
    modern.chain(HANDSHAKE).collect()
}

/// What a client may keep for a while.
fn kept(mut result: Value) -> Value {
    result["ttlMs"] = KEPT_FOR.into();
    result["cacheScope"] = "public".into();
    result
}

/// What every result of the newest revision says of itself.
fn as_modern(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server_info()});
    result
}

fn unsupported(requested: &str) -> RpcError {
    let requested: String = requested.chars().take(64).collect();
    RpcError {
        code: UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_owned(),
        data: Some(json!({"supported": versions(), "requested": requested})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_revision_is_agreed_on_and_an_unknown_one_is_answered_with_ours() {
        let agreed = |version: &str| {
            let params = Params {
                protocol_version: Some(version.to_owned()),
                ..Params::default()
            };
            initialize(&params)["protocolVersion"].clone()
        };
        for known in HANDSHAKE {
            assert_eq!(agreed(known), known);
        }
        assert_eq!(agreed("2031-01-01"), "2025-11-25");
        assert_eq!(agreed(MODERN), "2025-11-25", "that one has no handshake");
    }
}
