//! What Codex was told about our hooks.
//!
//! An approval is a table in `config.toml`, named after the file and the place of the entry in it, with a hash
//! of what the entry says. Codex 0.166 makes that hash from the entry as it understands it: defaults filled in,
//! keys sorted, no spaces. A file that has the records in another form was written by a Codex we do not know,
//! and then nothing is said about it.

use std::path::{Path, PathBuf};

use serde_json::{Value as Data, json};
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::agent::Agent;
use crate::install::json::text_of;
use crate::install::switches::{Files, Question, Verdict, read_json};
use crate::install::{HookCommand, Scope};

/// An entry of ours, as Codex records it.
struct Entry {
    /// The event, and the places of the group and of the handler.
    place: String,
    hash: String,
}

/// What the files in the directory of Codex say.
pub(super) fn judge(directory: &Path, question: &Question<'_>, files: &dyn Files) -> Verdict {
    look(directory, question, files).unwrap_or_else(Verdict::CannotTell)
}

fn look(directory: &Path, question: &Question<'_>, files: &dyn Files) -> Result<Verdict, String> {
    let bytes = files.read(&directory.join("config.toml"))?;
    let bytes = bytes.unwrap_or_default();
    let text = text_of(&bytes).map_err(|error| format!("config.toml: {error}"))?;
    let config: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let first = error.message().lines().next().unwrap_or_default();
        format!("config.toml: {first}")
    })?;
    let hooks = config.get("features").and_then(|table| table.get("hooks"));
    if hooks.and_then(Item::as_bool) == Some(false) {
        return Ok(Verdict::Off("features.hooks".to_owned()));
    }
    if let Scope::Project(root) = question.scope {
        let verdict = trust_of(&config, root);
        if verdict != Verdict::Fine {
            return Ok(verdict);
        }
    }
    let data = read_json(files, question.hooks_file)?.unwrap_or_default();
    compare(&config, &known_as(directory, question, files), &entries(&data)?)
}

/// Codex follows the links of `CODEX_HOME`, but not those of the home.
fn known_as(directory: &Path, question: &Question<'_>, files: &dyn Files) -> PathBuf {
    let is_usual = directory == question.places.home.join(".codex");
    match (question.scope, question.hooks_file.file_name()) {
        (Scope::User, Some(name)) if !is_usual => files.real(directory).join(name),
        _ => question.hooks_file.to_owned(),
    }
}

/// The hooks of a project are left alone unless the project is trusted.
fn trust_of(config: &DocumentMut, root: &Path) -> Verdict {
    let trusted = |path: &Path| {
        let project = config.get("projects")?.get(path.to_str()?)?;
        Some(project.get("trust_level")?.as_str()? == "trusted")
    };
    match trusted(root) {
        Some(true) => Verdict::Fine,
        // Trust in a repository holds for what is inside, and where that begins is for Codex to say.
        None if root.ancestors().skip(1).any(|path| trusted(path) == Some(true)) => {
            Verdict::CannotTell("a directory around the project is trusted".to_owned())
        }
        _ => Verdict::NotTrusted,
    }
}

fn compare(config: &DocumentMut, file: &Path, entries: &[Entry]) -> Result<Verdict, String> {
    let nothing = toml_edit::Table::new();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let state: &dyn TableLike = match state {
        Some(state) => state.as_table_like().ok_or_else(unknown_form)?,
        None => &nothing,
    };
    let file = file.to_str().ok_or("its path is not UTF-8")?;
    let is_strange = |key: &str| {
        let rest = key.strip_prefix(file);
        rest.is_some_and(|rest| !is_place(rest))
    };
    if state.iter().any(|(key, _)| is_strange(key)) {
        return Err(unknown_form());
    }
    let mut verdict = Verdict::Fine;
    for entry in entries {
        let record = state.get(&format!("{file}:{}", entry.place));
        let Some(record) = record else {
            if verdict == Verdict::Fine {
                verdict = Verdict::NotApproved;
            }
            continue;
        };
        let record = record.as_table_like().ok_or_else(unknown_form)?;
        match judge_record(record, entry)? {
            Verdict::Fine => {}
            Verdict::NotApproved if verdict != Verdict::Fine => {}
            Verdict::Off(setting) => return Ok(Verdict::Off(setting)),
            other => verdict = other,
        }
    }
    Ok(verdict)
}

fn judge_record(record: &dyn TableLike, entry: &Entry) -> Result<Verdict, String> {
    if record.get("enabled").and_then(Item::as_bool) == Some(false) {
        return Ok(Verdict::Off("hooks.state … enabled = false".to_owned()));
    }
    let is_known = |key: &str| matches!(key, "enabled" | "trusted_hash");
    if record.iter().any(|(key, _)| !is_known(key)) {
        return Err(unknown_form());
    }
    let Some(hash) = record.get("trusted_hash") else { return Ok(Verdict::NotApproved) };
    match hash.as_str() {
        Some(hash) if hash == entry.hash => Ok(Verdict::Fine),
        Some(hash) if is_hash(hash) => Ok(Verdict::NotApprovedAnyMore),
        _ => Err(unknown_form()),
    }
}

fn unknown_form() -> String {
    "this Codex keeps its approvals in a form that is not known here".to_owned()
}

/// `:event:0:0`
fn is_place(text: &str) -> bool {
    let mut parts = text.split(':');
    let (nothing, event) = (parts.next(), parts.next());
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    nothing == Some("")
        && event.is_some_and(|event| !event.is_empty())
        && parts.clone().count() == 2
        && parts.all(is_number)
}

fn is_hash(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Ours in a `hooks.json`, wherever they stand.
fn entries(data: &Data) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let events = data.get("hooks").and_then(Data::as_object);
    for (event, groups) in events.into_iter().flatten() {
        let groups = groups.as_array().into_iter().flatten();
        for (at_group, group) in groups.enumerate() {
            let handlers = group.get("hooks").and_then(Data::as_array);
            for (place, handler) in handlers.into_iter().flatten().enumerate() {
                let line = handler.get("command").and_then(Data::as_str);
                let line = line.filter(|line| HookCommand::recognise(line, Agent::Codex).is_some());
                if let Some(line) = line {
                    let name = snake_case(event);
                    let hash = hash(event, &name, group, handler, line)?;
                    let place = format!("{name}:{at_group}:{place}");
                    entries.push(Entry { place, hash });
                }
            }
        }
    }
    Ok(entries)
}

fn hash(
    event: &str,
    name: &str,
    group: &Data,
    handler: &Data,
    line: &str,
) -> Result<String, String> {
    let known = ["type", "command", "timeout", "async", "statusMessage"];
    let keys = handler.as_object().into_iter().flatten();
    for (key, _) in keys {
        if !known.contains(&key.as_str()) {
            return Err(format!(
                "an entry has `{key}`, and how Codex reads that is not known here"
            ));
        }
    }
    let timeout = handler.get("timeout").and_then(Data::as_u64);
    let timeout = match event {
        "SessionEnd" => timeout.unwrap_or(1).clamp(1, 3),
        _ => timeout.unwrap_or(600).max(1),
    };
    let has_no_matcher = matches!(event, "UserPromptSubmit" | "Stop");
    let matcher = group.get("matcher").and_then(Data::as_str);
    let is_async = handler.get("async").and_then(Data::as_bool);
    // The keys of an object of `serde_json` are sorted.
    let mut known = json!({
        "async": is_async.unwrap_or(false), "command": line, "timeout": timeout, "type": "command",
    });
    if let Some(message) = handler.get("statusMessage").filter(|message| message.is_string()) {
        known["statusMessage"] = message.clone();
    }
    let mut hashed = json!({"event_name": name, "hooks": [known]});
    if let Some(matcher) = matcher.filter(|_| !has_no_matcher) {
        hashed["matcher"] = matcher.into();
    }
    let bytes = hashed.to_string();
    let digest = Sha256::digest(bytes);
    let digits: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{}", digits.concat()))
}

/// `PreToolUse` is `pre_tool_use` there.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
