//! The runs in which a conversation goes back with the files: what does the agent send its model when it goes on?

use std::path::Path;

use herma_testkit::Tree;
use serde_json::Value;

use super::drivers::Driver;
use super::model::Model;
use super::report::Table;
use super::script::Script;
use super::stage::{Setting, Stage};
use super::{LIMIT, model, process, project};
use crate::Result;

/// Has each agent go on before the third change, and after it.
pub fn run(setting: &Setting, drivers: &[&'static dyn Driver]) -> Table {
    let mut table = Table::new(&["agent", "version", "calls kept before, after", "verdict"]);
    table.fill(drivers, |driver| run_one(setting, driver));
    table
}

fn run_one(setting: &Setting, driver: &'static dyn Driver) -> Result<(Vec<String>, Vec<String>)> {
    let stage = Stage::set_up(setting, driver, "chat")?;
    let scenes = [project::scene()];
    let ended = stage.play(&scenes, 1, LIMIT, |stage| stage.install(&setting.herma))?;
    let mut problems = stage.blocked(&scenes, &ended);
    let all = requests(&stage.sandbox.directory().join("requests.jsonl"))?;
    let calls = all.iter().map(results).max_by_key(Vec::len).unwrap_or_default();
    let mut kept = Vec::new();
    for (state, left) in [("4^", calls.len() - 2), ("4", calls.len() - 1)] {
        let sent = go_on(&stage, driver, state, &mut problems)?;
        let found: Vec<&String> = calls.iter().filter(|call| sent.contains(call)).collect();
        let expected: Vec<&String> = calls.iter().take(left).collect();
        if found != expected {
            problems
                .push(format!("restored to {state}, it sent {found:?} instead of {expected:?}"));
        }
        kept.push(found.len().to_string());
    }
    Ok((vec![stage.version(), kept.join(", ")], problems))
}

/// Restores the files and the conversation; which results the agent sends when it goes on.
fn go_on(
    stage: &Stage,
    driver: &'static dyn Driver,
    state: &str,
    problems: &mut Vec<String>,
) -> Result<Vec<String>> {
    let before = Tree::read(stage.sandbox.home());
    let restored = stage.sandbox.ask(&["restore", state, "--chat"])?;
    let chat = &restored["chat"];
    let session = chat["session"].as_str().ok_or_else(|| format!("no new session: {chat}"))?;
    let after = Tree::read(stage.sandbox.home());
    let same = |(path, node): (&Vec<u8>, _)| {
        let is_database =
            [".db", ".db-wal", ".db-shm"].iter().any(|end| path.ends_with(end.as_bytes()));
        path.starts_with(b".hermes/") || is_database || after.0.get(path) == Some(node)
    };
    if !before.0.iter().all(same) {
        problems.push("`herma restore --chat` changed what was there".to_owned());
    }
    let name = format!("requests-{}.jsonl", stage.sandbox.directory().read_dir()?.count());
    let log = stage.sandbox.directory().join(&name);
    let model = Model::start(Script::default(), &log)?;
    // Those that remember where their model was are told anew.
    driver.prepare(&stage.sandbox, &model.url())?;
    let command = driver.resume(&stage.sandbox, &model.url(), session);
    let mut command = command.ok_or("nobody has said how it goes on")?;
    let ended = process::run_bounded(&mut command, stage.sandbox.directory(), &name, LIMIT)?;
    if !ended.is_well() {
        problems.push(format!("going on from {state}: {}", ended.words()));
    }
    let sent = requests(&log)?;
    Ok(sent.iter().map(results).max_by_key(Vec::len).unwrap_or_default())
}

/// The bodies of the requests a model got.
fn requests(log: &Path) -> Result<Vec<Value>> {
    Ok(model::requests(log)?.into_iter().map(|line| line["body"].clone()).collect())
}

/// The ids of the calls whose results a request has, in its order, in the language of any provider.
fn results(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(body, &mut found);
    found
}

fn look(value: &Value, found: &mut Vec<String>) {
    let id = |field: &str| value.get(field).and_then(Value::as_str);
    let kind = id("type").unwrap_or_default();
    let result = match value {
        Value::Object(fields) if fields.contains_key("functionResponse") => {
            value["functionResponse"]["id"].as_str()
        }
        Value::Object(_) if kind.ends_with("call_output") => id("call_id"),
        Value::Object(_) if id("role") == Some("tool") => id("tool_call_id"),
        Value::Object(_) => id("tool_use_id"),
        _ => None,
    };
    if let Some(result) = result.filter(|id| found.iter().all(|known| known != id)) {
        found.push(result.to_owned());
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|value| look(value, found)),
        Value::Array(values) => values.iter().for_each(|value| look(value, found)),
        _ => {}
    }
}
