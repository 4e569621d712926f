//! One client: the methods of the protocol, and a tool's call from its arguments to its answer.
//!
//! Both ways to begin are understood: the handshake of the revisions up to 2025-11-25, and the requests of
//! 2026-07-28 that carry their version with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use herma_view::json::text as as_text;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bounds::{AGENTS_PAGE, PROGRAMS_PAGE, Page, bound, shorten_reasons};
use super::connection::Cancelled;
use super::message::{Request, RpcError};
use super::outbox::Outbox;
use super::progress::RequestProgress;
use super::resources::{Resource, Subscription};
use super::tools::arguments::Arguments;
use super::tools::brief::brief;
use super::tools::{Tool, arguments};
use super::{Server, hook, message, prompts, resources, tools};
use crate::command_env::{CommandEnv, CommandError, Kind, Result, find};
use crate::several::Several;
use crate::terminal::answer::Parts;
use crate::terminal::progress::Listener;

/// The revision in which every request carries its version.
const MODERN: &str = "2026-07-28";
/// The revisions that begin with a handshake, newest first.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The protocol's own error for a revision nobody here knows.
const UNSUPPORTED_VERSION: i64 = -32022;
/// The protocol's own error for a resource that cannot be read.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// How long a client may keep the list of tools, in milliseconds: it changes only with the program.
const KEPT_FOR: u64 = 3_600_000;
/// So long a path may be.
const MAX_PATH_BYTES: usize = 4096;
/// So much of a patch comes to a program unless it says otherwise.
const PROGRAMS_PATCH_BYTES: usize = 32 << 10;
/// And so much to an agent.
const AGENTS_PATCH_BYTES: usize = 3 << 10;
/// What `herma show` prints before a patch is not longer than this, or there is none.
const MAX_HEAD_BYTES: usize = 256 << 10;
/// So much of a patch comes at most.
const MAX_PATCH_BYTES: u64 = 1 << 20;

const INSTRUCTIONS: &str = "Herma saves the project before files change. herma_timeline lists what happened, \
    herma_show one change, herma_diff what is different since. herma_undo undoes changes, herma_redo redoes them, \
    herma_restore goes back to a checkpoint; with `dry_run` they only say what they would do. The state from before \
    is saved first, as a checkpoint.";

/// One client.
pub(super) struct Session {
    pub(super) server: Arc<Server>,
    client: u64,
    pub(super) outbox: Arc<Outbox>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
    protocol_version: Option<String>,
    name: Option<String>,
    arguments: Option<Arguments>,
    uri: Option<String>,
    notifications: Filter,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<String>,
    #[serde(rename = "progressToken")]
    progress_token: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Filter {
    resource_subscriptions: Vec<String>,
}

impl Session {
    /// A client that has said nothing yet.
    pub(super) fn new(server: &Arc<Server>, client: u64, outbox: &Arc<Outbox>) -> Self {
        Self { server: Arc::clone(server), client, outbox: Arc::clone(outbox) }
    }

    /// Carries out a request. `None` if it is not answered: it stays open, or was cancelled.
    pub(super) fn call(
        &self,
        request: &Request,
        cancelled: &Cancelled,
    ) -> Option<Result<Value, RpcError>> {
        let params: Params = match request.params() {
            Ok(params) => params,
            Err(error) => return Some(Err(error)),
        };
        let is_modern = match params.meta.protocol_version.as_deref() {
            None => request.method == "server/discover",
            Some(MODERN) => true,
            Some(requested) => return Some(Err(unsupported(requested))),
        };
        let answer = match request.method.as_str() {
            "subscriptions/listen" => {
                let id = request.id.as_ref()?;
                self.listen(id, &params.notifications.resource_subscriptions, cancelled)
            }
            "tools/call" => self.call_tool(&params, cancelled),
            method => self.describe(method, &params, is_modern).map(Some),
        };
        let answer = answer.transpose()?;
        Some(if is_modern { answer.map(as_modern) } else { answer })
    }

    /// Everything that is soon answered.
    fn describe(&self, method: &str, params: &Params, is_modern: bool) -> Result<Value, RpcError> {
        let uri = || params.uri.clone().unwrap_or_default();
        let kept = |list: Value| if is_modern { kept(list) } else { list };
        Ok(match method {
            "initialize" => initialize(params),
            "server/discover" => kept(json!({
                "supportedVersions": versions(),
                "capabilities": capabilities(),
                "instructions": INSTRUCTIONS,
            })),
            "ping" => json!({}),
            "tools/list" => kept(json!({"tools": tools::list(self.server.has_all_tools)})),
            "prompts/list" => kept(json!({"prompts": prompts::list()})),
            "prompts/get" => {
                let name = params.name.as_deref().unwrap_or_default();
                prompts::get(name, params.arguments.as_ref().unwrap_or(&Arguments::new()))?
            }
            "resources/list" => {
                let root = self.server.root.as_deref();
                kept(json!({"resources": root.map(resources::of_project).unwrap_or_default()}))
            }
            "resources/templates/list" => {
                kept(json!({"resourceTemplates": resources::templates()}))
            }
            "resources/read" => {
                let mut read = self.read(&uri())?;
                if is_modern {
                    // It changes whenever somebody works.
                    (read["ttlMs"], read["cacheScope"]) = (0.into(), "private".into());
                }
                read
            }
            "resources/subscribe" => {
                self.subscribe(uri(), None)?;
                json!({})
            }
            "resources/unsubscribe" => {
                let uri = uri();
                let is_meant = |one: &Subscription| one.uri == uri && one.listen.is_none();
                self.server.hub.end(self.client, is_meant);
                json!({})
            }
            _ => {
                let message = "this server has tools, prompts and resources, and nothing else";
                return Err(RpcError::new(message::METHOD_NOT_FOUND, message));
            }
        })
    }

    fn read(&self, uri: &str) -> Result<Value, RpcError> {
        let resource = Resource::parse(uri)?;
        let failed = |error: CommandError| RpcError {
            code: RESOURCE_NOT_FOUND,
            message: error.message.clone(),
            data: serde_json::to_value(error.to_json()).ok(),
        };
        let tool = tools::find(resource.kind.tool, true)
            .ok_or_else(|| RpcError::params("there is no such resource"))?;
        let listener = self.progress(None, &Cancelled::default());
        let root = canonical(resource.root);
        let mut given = Arguments::new();
        given.insert("limit".to_owned(), PROGRAMS_PAGE.into());
        let answer = self.answer(tool, &given, Some(&root), &listener);
        let text = answer.map_err(failed)?.to_string();
        Ok(json!({"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}))
    }

    fn subscribe(&self, uri: String, listen: Option<Value>) -> Result<(), RpcError> {
        let mut resource = Resource::parse(&uri)?;
        resource.root = canonical(resource.root);
        self.server.hub.subscribe(Subscription {
            client: self.client,
            uri,
            listen,
            resource,
            outbox: Arc::clone(&self.outbox),
        })
    }

    /// A request that stays open: it is told of changes until it is cancelled.
    fn listen(
        &self,
        id: &Value,
        uris: &[String],
        cancelled: &Cancelled,
    ) -> Result<Option<Value>, RpcError> {
        for uri in uris {
            Resource::parse(uri)?;
        }
        resources::acknowledge(&self.outbox, id, uris);
        for uri in uris {
            if let Err(error) = self.subscribe(uri.clone(), Some(id.clone())) {
                self.stop_listening(id);
                return Err(error);
            }
        }
        if cancelled.load(Ordering::SeqCst) {
            self.stop_listening(id);
        }
        Ok(None)
    }

    /// Ends what a request that stays open hears of.
    pub(super) fn stop_listening(&self, id: &Value) {
        let is_meant = |one: &Subscription| one.listen.as_ref() == Some(id);
        self.server.hub.end(self.client, is_meant);
    }

    /// Calls a tool. A failure is a result, too: the agent is to read it.
    fn call_tool(&self, params: &Params, cancelled: &Cancelled) -> Result<Option<Value>, RpcError> {
        let name = params.name.as_deref().unwrap_or_default();
        let none = Arguments::new();
        let arguments = params.arguments.as_ref().unwrap_or(&none);
        if name == hook::NAME {
            return Ok(Some(hook::call(self, arguments)));
        }
        let Some(tool) = tools::find(name, self.server.has_all_tools) else {
            let shown: String = name.chars().take(64).collect();
            let shown = herma_store::path::escape(shown.as_bytes());
            return Err(RpcError::params(format!("there is no tool `{shown}`")));
        };
        let listener = self.progress(params.meta.progress_token.clone(), cancelled);
        let answer = self.checked(tool, arguments, &listener);
        Ok(match answer {
            Err(error) if error.kind == Kind::Cancelled && listener.is_cancelled() => None,
            Err(error) => Some(failed(&error)),
            Ok(answer) => Some(self.told(tool, answer)),
        })
    }

    /// An answer as its reader wants it: whole for a program, short for an agent.
    fn told(&self, tool: &Tool, mut answer: Value) -> Value {
        let is_error = tool.is_refused(&answer);
        let words = tool.text(&answer);
        let texts = if self.server.has_all_tools {
            let patch = answer.as_object_mut().and_then(|fields| fields.remove("patch"));
            let json = answer.to_string();
            // It is in the words, where it can be read.
            if let Some(patch) = patch {
                answer["patch"] = patch;
            }
            words.into_iter().chain([json]).collect()
        } else {
            answer = brief(&answer, tool.lists(false));
            vec![words.unwrap_or_default()]
        };
        let texts: Vec<Value> = texts.iter().map(|one| text(one)).collect();
        json!({"content": texts, "structuredContent": answer, "isError": is_error})
    }

    /// What a tool answers to arguments of which nobody knows yet whether they make sense.
    fn checked(&self, tool: &Tool, given: &Arguments, listener: &Listener) -> Result<Value> {
        let has_all = self.server.has_all_tools;
        let properties = tool.properties(has_all);
        let given = &arguments::with_lists(&properties, given.clone());
        arguments::check(&properties, given)?;
        tool.check_said(given, has_all)?;
        let root = self.root(tool, given)?;
        let answer = self.answer(tool, given, root.as_deref(), listener)?;
        let changed = tool.changed(&answer);
        if !changed.is_empty() {
            self.server.hub.publish(changed, root.as_deref());
        }
        Ok(answer)
    }

    /// What a tool answers for this project.
    fn answer(
        &self,
        tool: &Tool,
        given: &Arguments,
        root: Option<&Path>,
        listener: &Listener,
    ) -> Result<Value> {
        let (caller, has_all) = (&self.server.caller, self.server.has_all_tools);
        let mut given = given.clone();
        if given.contains_key("to") && !given.contains_key("from") {
            return Err(CommandError::usage("`to` without `from`"));
        }
        for name in ["checkpoint", "from", "to"] {
            let Some(named) = given.get_mut(name).filter(|named| !named.is_null()) else {
                continue;
            };
            // Whatever it looks like, it is a checkpoint, and neither a path nor an option.
            let typed = named.as_str().map_or_else(|| named.to_string(), str::to_owned);
            if tool.command == "show" && Several::parse(&typed).is_some() {
                continue;
            }
            let id = caller.look(root, |_, project| Ok(find(project, &typed)?.id))?;
            *named = format!("id:{}", id.to_hex()).into();
        }
        let number = |name: &str| given.get(name).and_then(Value::as_u64);
        let usual = if has_all { PROGRAMS_PAGE } else { AGENTS_PAGE };
        let page = Page {
            offset: number("offset").unwrap_or(0) as usize,
            limit: number("limit").map_or(usual, |limit| limit as usize),
        };
        let is_patch = tool.has_patch(has_all) && given.get("patch") != Some(&false.into());
        let max_patch_bytes = number("max_bytes").map(|most| most.min(MAX_PATCH_BYTES) as usize);
        let command = arguments::command_of(tool.command);
        let has_limit = arguments::find(command, "limit").is_some();
        let lists = tool.lists(has_all);
        if !lists.is_empty() && has_limit {
            given.insert("limit".to_owned(), page.needed().into());
        }
        let line = arguments::command_line(tool.command, &given);
        let done = caller.call(root, &line, None, Arc::clone(listener))?;
        let mut answer = done.into_value();
        if !lists.is_empty() {
            page.cut(&mut answer, lists, has_limit);
            shorten_reasons(&mut answer);
        }
        if is_patch {
            let usual = if has_all { PROGRAMS_PATCH_BYTES } else { AGENTS_PATCH_BYTES };
            let most = max_patch_bytes.unwrap_or(usual);
            let head = if tool.command == "show" { MAX_HEAD_BYTES } else { 0 };
            let printed = caller.call(root, &line, Some(most + head), Arc::clone(listener))?;
            let Parts { text, is_cut, .. } = printed.parts;
            let patch = if head > 0 { patch_in(&text) } else { &text };
            let kept = &patch[..patch.len().min(most)];
            add_patch(&mut answer, kept, is_cut || kept.len() < patch.len());
        }
        Ok(bound(answer))
    }

    /// The project a tool is called for; `None` if it is about the whole store.
    fn root(&self, tool: &Tool, given: &Arguments) -> Result<Option<PathBuf>> {
        if tool.is_of_store() {
            return Ok(None);
        }
        let path = |name: &str| given.get(name).and_then(Value::as_str).map(Path::new);
        let root = match (path("root"), path("directory"), &self.server.root) {
            (Some(_), Some(_), _) => {
                let message = "either `root` or `directory`, not both";
                return Err(CommandError::usage(message));
            }
            (Some(root), None, _) => absolute(root)?,
            (None, Some(directory), _) => self.server.caller.find_root(&absolute(directory)?)?,
            (None, None, Some(root)) => root.clone(),
            (None, None, None) => {
                return Err(CommandError::usage("which project? Give its `root`"));
            }
        };
        Ok(Some(canonical(root)))
    }

    /// What a command works with that an agent's hook asks for, there or in the server's project.
    pub(super) fn env(&self, directory: Option<&Path>) -> Result<CommandEnv> {
        let directory = directory.or(self.server.root.as_deref());
        self.server.caller.env(directory, None)
    }

    /// Tells the client how far a request is, if it wants to know, and the engine when it is to stop.
    fn progress(&self, token: Option<Value>, cancelled: &Cancelled) -> Listener {
        Arc::new(RequestProgress::new(token, &self.outbox, cancelled))
    }
}

/// A path a client names: absolute, and not endless.
pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if !path.is_absolute() || bytes.len() > MAX_PATH_BYTES || bytes.contains(&0) {
        let message = "`root` and `directory` are absolute paths of up to 4,096 bytes";
        return Err(CommandError::usage(message));
    }
    Ok(path.to_owned())
}

/// The directory itself, so that every way to it is the same project; what is not there stays as it is.
fn canonical(path: PathBuf) -> PathBuf {
    herma_fs::dir::canonicalize(&path).unwrap_or(path)
}

/// What `herma show` prints behind all else, whose lines are indented or have a title: the patch, and which files of it
/// are not shown because they look like secrets.
fn patch_in(shown: &[u8]) -> &[u8] {
    let mut start = 0;
    for line in shown.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") || line.ends_with(b" and is not shown.\n") {
            return &shown[start..];
        }
        start += line.len();
    }
    &[]
}

/// Adds a patch, which may be cut and need not be UTF-8.
fn add_patch(answer: &mut Value, patch: &[u8], is_cut: bool) {
    // A cut in the middle of a character is no reason to escape all of it.
    let patch = match std::str::from_utf8(patch) {
        Err(error) if is_cut && error.error_len().is_none() => &patch[..error.valid_up_to()],
        _ => patch,
    };
    let (patch, bytes) = as_text(patch);
    answer["patch"] = patch.into();
    if let Some(bytes) = bytes {
        answer["patch_bytes"] = bytes.into();
    }
    answer["patch_truncated"] = is_cut.into();
}

/// A piece of text.
pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// What an agent reads of a failure: what happened, what state things are in, what to do next.
fn failed(error: &CommandError) -> Value {
    let lines = std::iter::once(&error.message).chain(&error.state).chain(&error.hints);
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    let content = [text(&lines.join("\n"))];
    json!({"content": content, "structuredContent": error.to_json(), "isError": true})
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
    json!({
        "tools": {"listChanged": false},
        "prompts": {"listChanged": false},
        "resources": {"subscribe": true, "listChanged": false},
    })
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
            let params = Params { protocol_version: Some(version.to_owned()), ..Params::default() };
            initialize(&params)["protocolVersion"].clone()
        };
        for known in HANDSHAKE {
            assert_eq!(agreed(known), known);
        }
        assert_eq!(agreed("2031-01-01"), "2025-11-25");
        assert_eq!(agreed(MODERN), "2025-11-25", "that one has no handshake");
    }

    #[test]
    fn a_patch_that_is_cut_within_a_character_stays_readable() {
        let mut answer = json!({});
        add_patch(&mut answer, "+ä".as_bytes().split_last().unwrap().1, true);
        assert_eq!(answer, json!({"patch": "+", "patch_truncated": true}));
        let mut answer = json!({});
        add_patch(&mut answer, b"+\xff", false);
        assert_eq!(answer["patch_bytes"], "K/8=");
    }
}
