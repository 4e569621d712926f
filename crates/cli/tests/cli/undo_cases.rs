//! The table of what an undo must do, through the command line and through MCP.
//!
//! The histories are played by the engine in this process; the command alone goes through the door.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use herma_core::steps::{StepChoice, StepId};
use herma_core::{Engine, EngineOptions, Project, Settings};
use herma_testkit::cases::{self, Case, read_files};
use herma_testkit::{TestEnv, WorkDir};
use serde_json::{Value, json};

use super::mcp_client::Piped;
use super::test_env;
use super::undo_history::{Asked, Behind, marked, play};

/// The project of a case, with its history.
fn prepared(env: &TestEnv, case: &Case) -> (PathBuf, Project) {
    let root = env.work_dir(format!("case-{}", case.line)).path().to_owned();
    let clock = Behind::new();
    let engine = Engine::new(EngineOptions {
        home: env.home(),
        user_home: Some(env.user_home()),
        clock: Arc::clone(&clock) as _,
        settings: Settings::default(),
    });
    play(case, &engine, &clock, &root);
    let project = engine.project(&root).expect("it was just made");
    (root, project)
}

/// What came of it, in a word, by what a command answers as JSON.
fn outcome(answer: &Value) -> &str {
    if let Some(message) = answer["error"]["message"].as_str() {
        return refusal(message);
    }
    if answer["schema"] != "herma.undo/3" {
        return "undone";
    }
    let outcomes = answer["outcomes"].as_array().expect("a list");
    let all_are = |word: &str| outcomes.iter().all(|one| one["outcome"] == word);
    let is_empty = answer["changes"].as_array().expect("a list").is_empty();
    match () {
        () if is_empty && all_are("undone") => "nothing",
        () if all_are("undone") => "undone",
        () if all_are("not-undone") => "not-undone",
        () => "partly",
    }
}

fn refusal(message: &str) -> &str {
    let known = [
        ("nobody knows what was there before it", "unknown"),
        ("there is no checkpoint", "unknown"),
        ("there is nothing to", "nothing"),
        ("so there is nothing to redo", "nothing"),
        ("no checkpoints for", "nothing"),
        ("is still under way", "refused"),
        ("there is only one prompt to undo", "refused"),
        ("it is undone by itself", "refused"),
        ("no prompts can be undone", "refused"),
        ("is older than", "asks"),
        ("has lost a checkpoint", "asks"),
        ("are gone", "gone"),
        ("no step", "unknown"),
        ("no such step", "unknown"),
        ("is neither the number of a change nor a file", "unknown"),
        ("is neither in the project nor in any", "unknown"),
    ];
    let found = known.into_iter().find(|(words, _)| message.contains(words));
    found.map_or(message, |(_, word)| word)
}

/// What is wrong after a command.
fn wrong(env: &TestEnv, case: &Case, answer: &Value) -> Option<String> {
    let root = env.work_dir(format!("case-{}", case.line));
    let outcome = outcome(answer);
    let files = read_files(root.path());
    if outcome != case.outcome || files != case.files {
        let text = &case.text;
        return Some(format!("{}: {text}\n  came to {outcome}: {answer}\n{files:#?}", case.line));
    }
    None
}

/// The row of `herma list` that is not marked as it must be.
fn wrong_mark(project: &WorkDir<'_>, case: &Case) -> Option<String> {
    let expected = case.marks.as_ref()?;
    let differs = marks(project).into_iter().find(|(steps, undone)| {
        let has_in_part = steps.iter().any(|step| expected.in_part.contains(step));
        undone
            != match steps.iter().filter(|step| expected.undone.contains(step)).count() {
                0 if !has_in_part => "no",
                count if count == steps.len() => "yes",
                _ => "partly",
            }
    });
    differs.map(|row| format!("{}: {}\n  {row:?} is marked otherwise", case.line, case.text))
}

/// The rows of `herma list` whose steps all have numbers: those, and how much of the row is marked as undone.
fn marks(project: &WorkDir<'_>) -> Vec<(Vec<u64>, String)> {
    let listed = super::json(&project.run(["list", "--json"]).success());
    let rows = listed["rows"].as_array().expect("rows").iter();
    let row = |row: &Value| {
        let steps = row["steps"].as_array().expect("steps").iter();
        let undone = row["undone"].as_str().expect("a word").to_owned();
        let steps: Option<Vec<u64>> = steps.map(Value::as_u64).collect();
        Some((steps?, undone))
    };
    rows.filter_map(row).collect()
}

#[test]
fn the_command_line_does_what_the_table_says() {
    let env = test_env();
    cases::try_all(|case| {
        let (root, _) = prepared(&env, case);
        let project = env.work_dir(root);
        let output = project.run(case.command.iter().map(String::as_str).chain(["--json"]));
        let code = output.status.code();
        if case.outcome == "asks" && code != Some(2) {
            return Some(format!("{}: {}\n  exits with {code:?}", case.line, case.text));
        }
        let json = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        let answer: Value = serde_json::from_slice(json).unwrap_or_else(|_| panic!("{output}"));
        wrong(&env, case, &answer).or_else(|| wrong_mark(&project, case))
    });
}

/// The tool for a command, and what it takes.
fn call(project: &Project, words: &[String]) -> (&'static str, Value) {
    let asked = Asked::of(project, words);
    let mut arguments = json!({"root": project.root()});
    if words[0] == "redo" {
        return ("herma_redo", arguments);
    }
    let mut say = |name: &str, value: Value| arguments[name.replace('-', "_")] = value;
    for switch in &asked.switches {
        say(switch, true.into());
    }
    for (name, value) in &asked.values {
        let number = (name == "count").then(|| value.parse::<u64>().expect("a count").into());
        say(name, number.unwrap_or_else(|| value.clone().into()));
    }
    if !asked.steps.is_empty() {
        say("steps", numbers(project, &asked.steps).into());
    }
    if !asked.paths.is_empty() {
        say("paths", asked.paths.clone().into());
    } else if !asked.is_choice() {
        say("last_prompt", true.into());
    }
    ("herma_undo", arguments)
}

/// The numbers of steps, also of those that are called by their handles.
fn numbers(project: &Project, ids: &[StepId]) -> Vec<u64> {
    let steps = project.steps(&StepChoice::default()).expect("it has a history");
    let number = |id: &StepId| {
        let known = steps.iter().find(|one| one.step.is(*id));
        known.and_then(|one| one.step.number).or(id.number()).expect("it has a number")
    };
    ids.iter().map(number).collect()
}

#[test]
fn mcp_does_what_the_table_says() {
    let env = test_env();
    let server = Mutex::new(Piped::start(&env, env.root(), &["mcp", "--all-tools"]));
    cases::try_all(|case| {
        let (_, project) = prepared(&env, case);
        let (tool, arguments) = call(&project, &case.command);
        let request = json!({"name": tool, "arguments": arguments});
        let answer = server.lock().unwrap().client.call("tools/call", request);
        let is_refused = ["refused", "asks", "unknown", "gone", "not-undone", "partly"];
        let is_partial = answer["structuredContent"]["outcome"] == "left-out";
        let is_refused = is_refused.contains(&&*case.outcome) || is_partial;
        if case.outcome != "nothing" && answer["isError"] != is_refused {
            return Some(format!("{}: {}\n  isError is wrong: {answer}", case.line, case.text));
        }
        let is_marked = case.marks.as_ref().is_none_or(|marks| *marks == marked(&project));
        let wrong_marks = || format!("{}: {}\n  is marked otherwise", case.line, case.text);
        wrong(&env, case, &answer["structuredContent"]).or_else(|| (!is_marked).then(wrong_marks))
    });
}

#[test]
fn an_agent_is_not_undone_further_back_than_a_day_without_a_question() {
    let env = test_env();
    let case = Case::read("save claude[a3] day claude[b5] | undo | a3 b5 | asks");
    let (root, _) = prepared(&env, &case);
    let project = env.work_dir(root);
    let unchanged = || assert_eq!(read_files(project.path()), case.files);
    let undo = ["undo", "--only-agent", "claude"];
    let refused = project.run(undo).code(2);
    let said = refused.error_text();
    assert!(said.contains("step 2 is older than a day") && said.contains("--since 1d"), "{said}");
    unchanged();
    let mut asked = project.in_terminal(undo);
    asked.wait_for("step 2 is older than a day. Undo that, too? [y/N]");
    asked.answer("n");
    asked.finish().success();
    unchanged();
    project.run(undo.into_iter().chain(["--dry-run"])).success();
    project.run(undo.into_iter().chain(["--since", "1d"])).success();
    assert_eq!(marks(&project)[1..3], [(vec![3], "yes".to_owned()), (vec![2], "no".to_owned())]);
    project.run(undo.into_iter().chain(["--yes"])).success();
    assert_eq!(read_files(project.path()), cases::first_files());
}

#[test]
fn what_an_agent_undoes_is_never_implied() {
    let env = test_env();
    let project = env.work_dir("project").files([("a", "one\n")]);
    project.run(["save"]).success();
    project.write("a", "two\n");
    let mut agents = Piped::start(&env, project.path(), &["mcp"]);
    let mut undo = |arguments: Value| {
        let request = json!({"name": "herma_undo", "arguments": arguments});
        agents.client.call("tools/call", request)
    };
    let vague = [
        json!({}),
        json!({"last_prompt": false}),
        json!({"dry_run": true}),
        json!({"step": true, "running": true, "yes": true}),
        json!({"session": "s"}),
    ];
    for arguments in vague {
        let answer = undo(arguments.clone());
        assert_eq!(answer["isError"], true, "{arguments}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("`steps`, `paths`, `last_prompt`"), "{text}");
        assert_eq!(project.read("a"), "two\n");
    }
    for arguments in
        [json!({"steps": [1], "step": true}), json!({"steps": [1], "last_prompt": true})]
    {
        assert_eq!(undo(arguments)["structuredContent"]["error"]["kind"], "usage");
    }
    assert_eq!(undo(json!({"last_prompt": true}))["isError"], false);
    assert_eq!(project.read("a"), "one\n");
}
