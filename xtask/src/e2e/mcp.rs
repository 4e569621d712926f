//! `herma mcp` with the clients that the protocol's makers publish: their inspector, and a program that uses their library.
//!
//! They check what they get by the protocol's schemas, as hosts do that are built on them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::agents::{INSPECTOR, MCP_LIBRARY, NODE};
use super::report::Table;
use super::sandbox::Sandbox;
use super::stage::Setting;
use crate::Result;

/// A program that uses the library: it prints what came of each request.
const PROGRAM: &str = include_str!("mcp/client.mjs");

/// Has both ask.
pub fn run(setting: &Setting) -> Table {
    let mut table = Table::new(&["client", "version", "answers", "verdict"]);
    for (name, ask) in [("inspector", inspect as Ask), ("library", use_library)] {
        eprintln!("── {name}");
        match ask(setting) {
            Ok((cells, problems)) => table.push(name, cells, problems),
            Err(error) => table.push(name, Vec::new(), vec![error.to_string()]),
        }
    }
    table
}

type Ask = fn(&Setting) -> Result<(Vec<String>, Vec<String>)>;

/// A project with a checkpoint, and a change since.
fn project(setting: &Setting, name: &str) -> Result<Sandbox> {
    let sandbox = Sandbox::new(name, &setting.agents, &setting.herma, setting.keep)?;
    let file = sandbox.workspace().join("a.txt");
    std::fs::write(&file, "one\n")?;
    sandbox.herma(&["save", "-m", "first"])?;
    std::fs::write(&file, "two\n")?;
    Ok(sandbox)
}

fn inspect(setting: &Setting) -> Result<(Vec<String>, Vec<String>)> {
    let sandbox = project(setting, "inspector")?;
    let ask = |words: &[&str]| -> Result<Value> {
        let mut command = node(&sandbox, setting, &setting.agents.program(&INSPECTOR));
        command.arg("--cli").arg(sandbox.program()).arg("mcp").args(words);
        answer(&mut command)
    };
    let call = |words: &[&str]| ask(&[&["--method", "tools/call", "--tool-name"], words].concat());
    let mut problems = Vec::new();
    let tools = ask(&["--method", "tools/list"])?;
    let tools = tools["tools"].as_array().map_or(0, Vec::len);
    let rows = call(&["herma_timeline", "--tool-arg", "limit=2"])?;
    expect(&mut problems, "timeline", rows["structuredContent"]["rows"][0]["number"] == 1, &rows);
    let undone = call(&["herma_undo", "--tool-arg", "last_prompt=true"])?;
    expect(&mut problems, "undo", undone["isError"] == false, &undone);
    let text = std::fs::read(sandbox.workspace().join("a.txt"))?;
    expect(&mut problems, "a.txt", text == b"one\n", &undone);
    let refused = call(&["herma_show", "--tool-arg", "nonsense=1"])?;
    expect(&mut problems, "refusal", refused["isError"] == true, &refused);
    let prompts = ask(&["--method", "prompts/list"])?;
    expect(&mut problems, "prompts", prompts["prompts"][0]["name"] == "undo", &prompts);
    Ok((vec![INSPECTOR.version().to_owned(), format!("{tools} tools")], problems))
}

fn use_library(setting: &Setting) -> Result<(Vec<String>, Vec<String>)> {
    let sandbox = project(setting, "library")?;
    // It looks for the library from where it is.
    let library = setting.agents.directory(&MCP_LIBRARY);
    let program = library.join("client.mjs");
    std::fs::write(&program, PROGRAM)?;
    let mut command = node(&sandbox, setting, &program);
    let said = answer(command.arg(sandbox.program()))?;
    let mut problems = Vec::new();
    for what in ["server", "timeline", "refusal", "undo", "prompt", "resource"] {
        expect(&mut problems, what, said[what] == true, &said);
    }
    Ok((vec![MCP_LIBRARY.version().to_owned(), format!("{} tools", said["tools"])], problems))
}

fn expect(problems: &mut Vec<String>, what: &str, holds: bool, answer: &Value) {
    if !holds {
        problems.push(format!("{what}: {answer}"));
    }
}

fn node(sandbox: &Sandbox, setting: &Setting, program: &Path) -> Command {
    let mut command = sandbox.command(setting.agents.program(&NODE));
    command.arg(program);
    command
}

fn answer(command: &mut Command) -> Result<Value> {
    let output = command.output()?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = [&output.stdout[..], &output.stderr].concat();
        format!("no answer, but {}", String::from_utf8_lossy(&said)).into()
    })
}
