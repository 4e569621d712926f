//! One client of `herma serve`: which method is which command, and what others hear of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Server;
use super::bounds::bound;
use super::call::CommandLine;
use super::connection::Handler;
use super::connection::Reply;
use super::events::RequestProgress;
use super::events::Topic;
use super::message;
use super::message::Request;
use super::message::RpcError;
use super::outbox::Outbox;
use super::params;
use super::params::Named;
use super::stopping;
use crate::command_env::CommandEnv;
use crate::command_env::find;
use crate::json::ProjectJson;
use crate::progress::Listener;

/// The version of the protocol: it changes only when something is removed or changes its meaning.
const PROTOCOL: u64 = 1;
/// So long a path may be.
const LONGEST_PATH: usize = 4096;
/// So many projects are remembered as saved in a turn; then all are forgotten, and saved once more.
const MOST_SAVED: usize = 256;

/// Every method, in the order docs/PROTOCOL.md has them.
pub(crate) const METHODS: [&str; 32] = [
    "initialize",
    "shutdown",
    "open",
    "status",
    "store_status",
    "save",
    "ensure_checkpoint",
    "new_turn",
    "end_turn",
    "record_step",
    "steps",
    "list",
    "show",
    "diff",
    "plan_restore",
    "restore",
    "continue_restore",
    "undo",
    "redo",
    "prune",
    "sessions.list",
    "sessions.show",
    "sessions.search",
    "sessions.stats",
    "sessions.rename",
    "sessions.delete",
    "sessions.prune",
    "subscribe",
    "unsubscribe",
    "rollback.list",
    "rollback.restore",
    "rollback.diff",
];

/// One client.
pub(crate) struct Session {
    pub(super) server: Arc<Server>,
    client: u64,
    outbox: Arc<Outbox>,
    /// The project that is meant where none is named.
    root: Option<PathBuf>,
    /// Projects that were saved in this turn.
    saved: BTreeSet<PathBuf>,
}

/// What a method came to.
pub(crate) type Answered = Result<Value, RpcError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Initialize {
    protocol: Option<u64>,
    /// Who asks; for people who look at the traffic.
    #[serde(rename = "client")]
    _client: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Shutdown {
    server: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Subscribe {
    events: Option<Vec<Topic>>,
    root: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unsubscribe {
    subscription: u64,
}

impl Handler for Session {
    fn call(&mut self, request: &Request<'_>) -> Reply {
        if request.method == "shutdown" {
            return match self.shutdown(request) {
                Ok(()) => Reply::Last(Value::Null),
                Err(error) => Reply::Answer(Err(error)),
            };
        }
        Reply::Answer(self.carry_out(request).map(bound))
    }
}

impl Session {
    /// A client that has said nothing yet.
    pub(crate) fn new(server: Arc<Server>, client: u64, outbox: Arc<Outbox>) -> Self {
        let root = server.root.clone();
        Self {
            server,
            client,
            outbox,
            root,
            saved: BTreeSet::new(),
        }
    }

    /// Carries out a method for somebody within the program.
    pub(crate) fn ask(&mut self, method: &str, params: &Map<String, Value>) -> Answered {
        let params = serde_json::value::to_raw_value(params)
            .map_err(|error| RpcError::new(message::INTERNAL_ERROR, error.to_string()))?;
        self.carry_out(&Request::within(method, &params)).map(bound)
    }

    /// The project around a directory that a client names.
    pub(crate) fn find_root(&self, directory: &str) -> Result<PathBuf, RpcError> {
        Ok(self.server.caller.find_root(&absolute(directory)?)?)
    }

    /// What a command works with that an agent's hook asks for, there or in the session's project.
    pub(crate) fn env(&self, directory: Option<&Path>) -> Result<CommandEnv, RpcError> {
        let directory = directory.or(self.root.as_deref());
        Ok(self.server.caller.env(directory, None)?)
    }

    fn carry_out(&mut self, request: &Request<'_>) -> Answered {
        match request.method.as_str() {
            "initialize" => Self::initialize(request),
            "open" => self.open(request),
            "subscribe" => self.subscribe(request),
            "unsubscribe" => self.unsubscribe(request),
            "ensure_checkpoint" => self.ensure_checkpoint(request),
            "new_turn" => self.new_turn(request),
            name if name.starts_with("sessions.") => self.sessions(request),
            name if name.starts_with("rollback.") => self.rollback(request),
            _ => self.checkpoints(request),
        }
    }

    fn initialize(request: &Request<'_>) -> Answered {
        let wanted: Initialize = request.params()?;
        if wanted.protocol == Some(0) {
            return Err(RpcError::params("there was no protocol 0"));
        }
        Ok(json!({
            "protocol": PROTOCOL,
            "herma": env!("CARGO_PKG_VERSION"),
            "methods": METHODS,
            "events": Topic::ALL.map(Topic::word),
            "limits": {
                "request_bytes": super::lines::LONGEST_LINE,
                "clients": super::MOST_CLIENTS,
            },
        }))
    }

    fn shutdown(&self, request: &Request<'_>) -> Result<(), RpcError> {
        let wanted: Shutdown = request.params()?;
        if wanted.server {
            stopping::wake(&self.server.waker);
        }
        Ok(())
    }

    fn open(&mut self, request: &Request<'_>) -> Answered {
        let wanted: params::Open = request.params()?;
        let root = match (&wanted.root, &wanted.directory) {
            (Some(_), Some(_)) => {
                return Err(RpcError::params("either `root` or `directory`, not both"));
            }
            (None, Some(directory)) => self.find_root(directory)?,
            (root, None) => self.root(root.as_deref())?,
        };
        let root = canonical(root);
        let is_off = self.are_saves_off(&root)?;
        let mut status = self.run(request, &root, &CommandLine::new(&[]))?;
        status["automatic_saves"] = (!is_off).into();
        self.root = Some(root);
        self.saved.clear();
        Ok(status)
    }

    /// Did the user turn automatic saves off? Where nobody said anything, an agent that asks wants them.
    pub(crate) fn are_saves_off(&self, root: &Path) -> Result<bool, RpcError> {
        let caller = &self.server.caller;
        Ok(caller.look(Some(root), |env, _| Ok(!env.settings.saves_by_itself()))?)
    }

    /// An answer that says nothing but which project it is about.
    fn about_project(&self, root: &Path, schema: &str) -> Answered {
        let caller = &self.server.caller;
        let project = caller.look(Some(root), |_, project| {
            Ok(json!(ProjectJson::new(project)))
        })?;
        Ok(json!({"schema": schema, "project": project, "outcome": "done", "warnings": []}))
    }

    fn ensure_checkpoint(&mut self, request: &Request<'_>) -> Answered {
        let mut wanted: params::Save = request.params()?;
        let root = self.root(wanted.root.as_deref())?;
        let why = if wanted.once_per_turn == Some(true) && self.saved.contains(&root) {
            Some("this-turn")
        } else if self.are_saves_off(&root)? {
            Some("disabled")
        } else {
            None
        };
        if let Some(why) = why {
            let mut answer = self.about_project(&root, "herma.save-skipped/1")?;
            answer["why"] = why.into();
            return Ok(answer);
        }
        wanted.reason.get_or_insert_with(|| "auto".to_owned());
        let saved = self.run(request, &root, &wanted.command())?;
        self.tell_of_checkpoint(&root, &saved);
        // A save that failed does not count.
        if self.saved.len() >= MOST_SAVED {
            self.saved.clear();
        }
        self.saved.insert(root);
        Ok(saved)
    }

    fn new_turn(&mut self, request: &Request<'_>) -> Answered {
        let wanted: params::NewTurn = request.params()?;
        let root = self.root(wanted.root.as_deref())?;
        let Some(session) = &wanted.session else {
            self.saved.clear();
            let mut answer = self.about_project(&root, "herma.turn/1")?;
            answer["turn"] = Value::Null;
            return Ok(answer);
        };
        let line = CommandLine::new(&["turn", "begin"])
            .option("--session", Some(session))
            .option("--agent", wanted.agent.as_ref())
            .option("--turn", wanted.turn.as_ref())
            .option("--prompt", wanted.prompt.as_ref());
        let begun = self.run(request, &root, &line)?;
        self.saved.clear();
        Ok(begun)
    }

    fn subscribe(&self, request: &Request<'_>) -> Answered {
        let wanted: Subscribe = request.params()?;
        let topics = match wanted.events {
            Some(events) => events.into_iter().collect(),
            None => BTreeSet::from(Topic::ALL),
        };
        let root = wanted.root.as_deref().map(absolute).transpose()?;
        let number =
            self.server
                .hub
                .subscribe(self.client, &self.outbox, topics, root.map(canonical))?;
        Ok(json!({"subscription": number}))
    }

    fn unsubscribe(&self, request: &Request<'_>) -> Answered {
        let wanted: Unsubscribe = request.params()?;
        let number = wanted.subscription;
        if self.server.hub.unsubscribe(self.client, number) {
            return Ok(json!({"subscription": number}));
        }
        Err(RpcError::params(format!(
            "you have no subscription {number}"
        )))
    }

    /// The project a request is about.
    pub(crate) fn root(&self, given: Option<&str>) -> Result<PathBuf, RpcError> {
        match (given, &self.root) {
            (Some(given), _) => Ok(canonical(absolute(given)?)),
            (None, Some(root)) => Ok(root.clone()),
            (None, None) => Err(RpcError::params(
                "which project? Give `root`, or call `open` first",
            )),
        }
    }

    /// The id of a checkpoint as people name it.
    pub(super) fn checkpoint(&self, root: &Path, named: &Named) -> Result<String, RpcError> {
        let text = named.text();
        let caller = &self.server.caller;
        let id = caller.look(Some(root), |_, project| Ok(find(project, &text)?.id));
        Ok(id?.to_hex())
    }

    /// Tells those who want to know how far a request is.
    pub(super) fn listener(&self, request: &Request<'_>, root: &Path) -> Listener {
        Arc::new(RequestProgress::new(
            &self.server.hub,
            self.client,
            request,
            root,
        ))
    }

    /// Carries out a command.
    pub(super) fn run(&self, request: &Request<'_>, root: &Path, line: &CommandLine) -> Answered {
        let listener = self.listener(request, root);
        let called = self.server.caller.call(Some(root), line, listener)?;
        Ok(called.into_value())
    }

    /// Tells those who want to know that a checkpoint was made, if one was.
    pub(super) fn tell_of_checkpoint(&self, root: &Path, answer: &Value) {
        if answer["is_new"] == true && answer["checkpoint"].is_object() {
            let body = json!({"project": answer["project"], "checkpoint": answer["checkpoint"]});
            self.server.hub.publish(Topic::Checkpoint, root, &body);
        }
    }

    /// Tells those who want to know that a step began or ended.
    pub(super) fn tell_of_step(&self, root: &Path, phase: &str, answer: &Value) {
        let body = json!({"project": answer["project"], "phase": phase, "step": answer["step"]});
        self.server.hub.publish(Topic::Step, root, &body);
        self.tell_of_checkpoint(root, answer);
    }

    /// Tells those who want to know that files were put back, if any were.
    pub(super) fn tell_of_restore(&self, root: &Path, method: &str, answer: &Value) {
        if answer["dry_run"] == false && answer["target"].is_object() {
            let body = json!({
                "project": answer["project"],
                "method": method,
                "target": answer["target"],
                "safety": answer["safety"],
                "written": answer["written"],
                "removed": answer["removed"],
            });
            self.server.hub.publish(Topic::Restore, root, &body);
        }
    }
}

/// A path a client names: absolute, and not endless.
pub(super) fn absolute(text: &str) -> Result<PathBuf, RpcError> {
    let path = Path::new(text);
    if !path.is_absolute() || text.len() > LONGEST_PATH || text.contains('\0') {
        return Err(RpcError::params(
            "`root` and `directory` are absolute paths of up to 4,096 bytes",
        ));
    }
    Ok(path.to_owned())
}

/// The directory itself, so that every way to it is the same project; what is not there stays as it is.
fn canonical(path: PathBuf) -> PathBuf {
    herma_fs::dir::canonicalize(&path).unwrap_or(path)
}

/// A method nobody knows.
pub(super) fn unknown(request: &Request<'_>) -> RpcError {
    let name: String = request.method.chars().take(64).collect();
    let name = herma_store::path::escape(name.as_bytes());
    RpcError::new(
        message::METHOD_NOT_FOUND,
        format!("there is no method `{name}`; `initialize` lists them"),
    )
}
