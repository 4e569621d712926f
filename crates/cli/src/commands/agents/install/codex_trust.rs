//! Approves our hooks at Codex, the way its own `/hooks` does: through `codex app-server`.

use std::path::Path;
use std::time::{Duration, Instant};

use herma_agents::Agent;
use herma_agents::install::{HookCommand, Scope};
use herma_fs::process::interactive::Interactive;
use serde_json::{Map, Value, json};

use crate::command_env::{CommandEnv, CommandError, Kind, Result};
use crate::environment::find_program;

/// All of it takes a second or two.
const CODEX_TIMEOUT: Duration = Duration::from_secs(30);

/// Approves those hooks that call Herma, and no others.
pub(super) fn approve(env: &CommandEnv, scope: &Scope) -> Result<()> {
    let program =
        find_program("codex").ok_or_else(|| failed("`codex` is not in the search path"))?;
    let directory = match scope {
        Scope::User => env.directory.clone(),
        Scope::Project(root) => root.clone(),
    };
    let mut server = Server::start(&program, &directory)?;
    let client = json!({"clientInfo": {"name": "herma", "version": env!("CARGO_PKG_VERSION")}});
    server.ask("initialize", &client)?;
    server.tell("initialized")?;
    let listed = server.ask("hooks/list", &json!({"cwds": [directory]}))?;
    let mut state = Map::new();
    collect_ours(&listed, &mut state, 0);
    if let Scope::Project(root) = scope {
        // Those of the user are listed as well, and those of the project only once it is trusted.
        state.retain(|key, _| Path::new(key).starts_with(root));
    }
    if state.is_empty() {
        let what = match scope {
            Scope::User => "Codex does not list our hooks",
            Scope::Project(_) => {
                "Codex does not list our hooks: start it here once, and trust the project"
            }
        };
        return Err(failed(what));
    }
    let edit = json!({"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"});
    server.ask("config/batchWrite", &json!({"edits": [edit]}))?;
    Ok(())
}

/// Finds what Codex lists with a key, a hash and a command of ours, wherever it stands in the answer.
fn collect_ours(value: &Value, state: &mut Map<String, Value>, depth: usize) {
    if depth > 16 {
        return;
    }
    match value {
        Value::Object(object) => {
            let text = |key: &str| object.get(key).and_then(Value::as_str);
            let line = text("command").unwrap_or_default();
            let is_ours = HookCommand::recognise(line, Agent::Codex).is_some();
            if let (true, Some(key), Some(hash)) = (is_ours, text("key"), text("currentHash")) {
                state.insert(key.to_owned(), json!({"trusted_hash": hash}));
            }
            for value in object.values() {
                collect_ours(value, state, depth + 1);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_ours(item, state, depth + 1);
            }
        }
        _ => {}
    }
}

struct Server {
    conversation: Interactive,
    deadline: Instant,
    last: u64,
}

impl Server {
    fn start(program: &Path, directory: &Path) -> Result<Self> {
        let server = Interactive::start(program, &["app-server"], directory).map_err(|error| {
            failed(&format!("`codex app-server` could not be started: {error}"))
        })?;
        Ok(Self { conversation: server, deadline: Instant::now() + CODEX_TIMEOUT, last: 0 })
    }

    fn tell(&mut self, method: &str) -> Result<()> {
        self.send(&json!({"method": method}))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        self.send(&json!({"id": self.last, "method": method, "params": params}))?;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self.conversation.receive(left);
            let line = line.ok_or_else(|| failed(&format!("Codex did not answer `{method}`")))?;
            let Ok(answer) = serde_json::from_slice::<Value>(&line) else { continue };
            if answer.get("id").and_then(Value::as_u64) != Some(self.last) {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(failed(&format!("Codex refused `{method}`: {error}"))),
                None => Ok(answer.get("result").cloned().unwrap_or_default()),
            };
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let sent = self.conversation.send(message.to_string().as_bytes());
        sent.map_err(|error| failed(&format!("`codex app-server` ended: {error}")))
    }
}

fn failed(what: &str) -> CommandError {
    let what = herma_store::path::escape(what.as_bytes());
    CommandError::new(Kind::Failed, what)
        .with_state("The hooks are installed, but not approved.")
        .with_hint("Open `codex`, type `/hooks`, and approve Herma's.")
}
