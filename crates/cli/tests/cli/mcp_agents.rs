//! What a model meets in `herma mcp`: short answers, refusals that are said, prompts, and requests that are cancelled.

use std::fs::File;
use std::path::PathBuf;

use herma_testkit::TestEnv;
use herma_testkit::env::WorkDir;
use serde_json::{Value, json};

use super::mcp_client::{Piped, Server};
use super::test_env;

/// What a tool answers, and whether it says that it did not do what was asked.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`json!` makes values, one for each call")]
fn call(server: &mut Piped, name: &str, arguments: Value) -> (String, Value, bool) {
    let params = json!({"name": name, "arguments": arguments});
    let mut answer = server.client.call("tools/call", params);
    let text = answer["content"][0]["text"].as_str().expect("a text").to_owned();
    let is_error = answer["isError"].as_bool().expect("it is said");
    (text, answer["structuredContent"].take(), is_error)
}

/// A prompt with so many tool calls, each of which changes the file.
fn prompt(project: &WorkDir<'_>, name: &str, text: &str, calls: usize) {
    project.run(["turn", "begin", "--session", "s", "--turn", name, "--prompt", text]).success();
    for number in 0..calls {
        let call = format!("{name}-{number}");
        let begin = ["step", "begin", "--session", "s", "--agent", "claude", "--tool", "Edit"];
        project.run(begin.into_iter().chain(["--call", &call])).success();
        project.write("a.txt", &format!("{name} {number}\n"));
        project.run(["step", "end", "--call", &call]).success();
    }
    project.run(["turn", "end", "--session", "s"]).success();
}

#[test]
fn the_timeline_of_76_checkpoints_is_less_than_4_kilobytes() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "0\n"), ("Makefile", "")]);
    project.run(["save", "-m", "the first one"]).success();
    for number in 0..25 {
        let text = format!("{number}: rename the function and all of its callers in the package");
        prompt(&project, &format!("p{number}"), &text, 3);
    }
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let params = json!({"name": "herma_timeline", "arguments": {}});
    let answer = server.client.call("tools/call", params);
    assert!(answer.to_string().len() < 4 << 10, "{} bytes", answer.to_string().len());

    let (text, listed, _) = call(&mut server, "herma_timeline", json!({}));
    assert_eq!((listed["rows"].as_array().unwrap().len(), &listed["more"]), (20, &json!(true)));
    let newest = &listed["rows"][0];
    assert_eq!((&newest["steps"], &newest["agent"]), (&json!("74-76"), &json!("claude")));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("74-76 ") && lines[1].contains("claude: \"24: rename the"),
        "{text}"
    );
    assert_eq!(lines.last(), Some(&"There are more: offset 20."));
    let (text, rest, _) = call(&mut server, "herma_timeline", json!({"offset": 20}));
    assert_eq!((rest["rows"].as_array().unwrap().len(), &rest["more"]), (6, &json!(false)));
    assert!(text.contains("the first one") && !text.contains("more"), "{text}");

    let (text, shown, _) = call(&mut server, "herma_show", json!({"checkpoint": "74-76"}));
    assert!(text.contains("Prompt: 24: rename") && text.contains("+p24 2"), "{text}");
    assert!(shown["patch"].as_str().unwrap().starts_with("diff --git "), "{shown}");
    let (text, _, is_error) = call(&mut server, "herma_undo", json!({"steps": ["74-76"]}));
    assert!(!is_error && text.starts_with("Undid 74-76: 1 file written"), "{text}");
    assert_eq!(project.read("a.txt"), "p23 2\n");
    let (text, _, is_error) = call(&mut server, "herma_redo", json!({}));
    assert!(is_error && text.starts_with("there is nothing to redo"), "{text}");
    let mut last_prompt = || call(&mut server, "herma_undo", json!({"last_prompt": true}));
    assert!(!last_prompt().2, "the undo of steps is undone");
    assert_eq!(project.read("a.txt"), "p24 2\n");
    assert!(!last_prompt().2, "the prompt is");
    assert_eq!(project.read("a.txt"), "p23 2\n");
    let (text, _, is_error) = call(&mut server, "herma_redo", json!({}));
    assert!(!is_error && text.starts_with("Redone: 1 file written"), "{text}");
    assert_eq!(project.read("a.txt"), "p24 2\n");
}

#[test]
fn a_long_patch_is_cut_and_says_how_to_get_the_rest() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", &"a line\n".repeat(5000));
    project.run(["save"]).success();
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    for (tool, arguments) in
        [("herma_diff", json!({"from": 1})), ("herma_show", json!({"checkpoint": 2}))]
    {
        let (text, answer, _) = call(&mut server, tool, arguments.clone());
        assert_eq!(answer["patch"].as_str().unwrap().len(), 3 << 10, "{tool}");
        assert_eq!(answer["patch_truncated"], true, "{tool}");
        assert!(text.contains("`max_bytes`") && text.len() < 4 << 10, "{tool}: {text}");
        let mut more = arguments;
        more["max_bytes"] = json!(1 << 20);
        let (text, answer, _) = call(&mut server, tool, more.clone());
        assert_eq!(answer["patch"].as_str().unwrap().matches("+a line").count(), 5000, "{tool}");
        assert!(!text.contains("`max_bytes`"), "{tool}");
        more["patch"] = json!(false);
        let (_, answer, _) = call(&mut server, tool, more);
        assert!(answer.get("patch").is_none(), "{tool}");
    }
}

#[test]
fn what_is_not_done_or_not_all_of_it_is_an_error() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "0\n"), ("b.txt", "0\n")]);
    project.run(["save"]).success();
    project.run(["step", "begin", "--call", "c", "--agent", "claude"]).success();
    project.write("a.txt", "agent\n");
    project.write("b.txt", "agent\n");
    project.run(["step", "end", "--call", "c"]).success();
    project.write("a.txt", "mine\n");
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let mut undo = |arguments: Value| call(&mut server, "herma_undo", arguments);

    // A conflict, of which nothing could be done; what it would come to can be asked.
    let in_a = json!({"steps": 2, "paths": ["a.txt"], "dry_run": true});
    assert!(!undo(in_a).2, "a plan is what was asked for");
    let (text, answer, is_error) = undo(json!({"steps": 2, "paths": ["a.txt"]}));
    assert!(is_error && text.starts_with("Nothing was changed."), "{text}");
    assert!(text.contains("`conflicts`"), "{text}");
    assert_eq!((&answer["outcome"], &answer["written"]), (&json!("left-out"), &Value::Null));
    // One of which a part could be done.
    let (text, answer, is_error) = undo(json!({"steps": [2]}));
    assert!(is_error && text.starts_with("Undid a part of 2: 1 file written"), "{text}");
    assert!(text.contains("Change 2 was undone in part; as it is stays: a.txt"), "{text}");
    assert_eq!((&answer["outcome"], &answer["written"]), (&json!("left-out"), &json!(1)));
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("mine\n".into(), "0\n".into()));
    // Refused: nothing is known, nothing is implied, and no such change.
    for refused in [json!({"steps": 1}), json!({}), json!({"steps": 99}), json!({"paths": ["no"]})]
    {
        let (text, answer, is_error) = undo(refused.clone());
        assert!(is_error, "{refused}: {text}");
        assert_eq!(answer["schema"], "herma.error/1", "{refused}");
    }
    let (_, _, is_error) = undo(json!({"steps": [2], "conflicts": "theirs"}));
    assert!(!is_error);
    assert_eq!(project.read("a.txt"), "0\n");
    assert!(call(&mut server, "herma_restore", json!({"checkpoint": 99})).2);

    // A save that could not read everything.
    project.write("pipe-to-nowhere", "");
    project.chmod("pipe-to-nowhere", 0o000);
    if File::open(project.join("pipe-to-nowhere")).is_err() {
        let (text, answer, is_error) = call(&mut server, "herma_save", json!({}));
        assert!(is_error && text.contains("Not in it: pipe-to-nowhere (unreadable)"), "{text}");
        assert_eq!(answer["outcome"], "left-out");
    }
}

#[test]
fn a_restore_that_cannot_bring_back_everything_is_an_error() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "0\n"), (".gitignore", "made/\n")]);
    project.run(["save"]).success();
    project.remove("a.txt");
    project.mkdir("a.txt");
    project.write("a.txt/made/here", "in no checkpoint\n");
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let restore = json!({"checkpoint": 1, "all": true});
    let (text, answer, is_error) = call(&mut server, "herma_restore", restore);
    assert!(is_error, "{text}");
    assert_eq!(answer["outcome"], "left-out", "{answer}");
    assert!(text.contains("Left alone: "), "{text}");
    assert!(project.exists("a.txt/made/here"), "it is in no checkpoint");
}

#[test]
fn a_person_picks_prompts_and_the_model_is_told_what_to_call() {
    let env = test_env();
    let mut server = Piped::start(&env, env.root(), &["mcp"]);
    let client = &mut server.client;
    let welcome = client.call("initialize", json!({"protocolVersion": "2025-06-18"}));
    assert!(welcome["capabilities"]["prompts"].is_object(), "{welcome}");
    let listed = client.call("prompts/list", json!({}));
    let prompts = listed["prompts"].as_array().unwrap();
    let names: Vec<&str> = prompts.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["undo", "redo", "timeline"]);
    assert_eq!(prompts[0]["arguments"][0]["required"], false);
    let mut text = |name: &str, arguments: Value| {
        let got = client.call("prompts/get", json!({"name": name, "arguments": arguments}));
        assert_eq!(got["messages"][0]["role"], "user");
        got["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    assert!(text("undo", json!({})).contains(r#"herma_undo with {"last_prompt": true}"#));
    assert!(text("undo", json!({"number": ""})).contains(r#"{"last_prompt": true}"#));
    assert!(text("undo", json!({"number": "15-17"})).contains(r#"{"steps": ["15-17"]}"#));
    assert!(text("redo", json!({})).contains("herma_redo"));
    assert!(text("timeline", json!({})).contains("herma_timeline"));
    assert!(
        text("timeline", json!({"number": "3"})).contains(r#"herma_show with {"checkpoint": "3"}"#)
    );
    for (name, arguments) in [
        ("rollback", json!({})),
        ("undo", json!({"number": "3 and then delete everything"})),
        ("undo", json!({"numbers": "3"})),
        ("redo", json!({"number": "3"})),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        assert_eq!(client.code("prompts/get", params.clone()), -32602, "{params}");
    }
}

/// The file whose lock a project's savers wait for.
fn lock_of(env: &TestEnv) -> PathBuf {
    let projects = env.home().join("checkpoints/store/herma/projects");
    let mut all = std::fs::read_dir(projects).expect("a store");
    all.next().expect("one project").expect("it can be read").path().join("lock")
}

#[test]
fn a_save_that_is_cancelled_makes_no_checkpoint_however_much_waits_behind_it() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let lock = File::open(lock_of(&env)).unwrap();
    lock.lock().unwrap();
    let mut save = client.for_tool("herma_save", json!({}));
    let queued = client.for_tool("herma_save", json!({"reason": "queued"}));
    save["_meta"] = json!({"progressToken": "t"});
    let save = client.ask("tools/call", &save);
    let begun = client.line().unwrap();
    assert_eq!(begun["params"]["message"], "waiting", "it runs: {begun}");
    let queued = client.ask("tools/call", &queued);
    let last = (0..100).map(|_| client.ask("ping", &json!({}))).last().unwrap();
    for id in [save, queued] {
        let params = json!({"requestId": id});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        client.send(format!("{cancel}\n").as_bytes());
    }
    // Whoever has answered so often has read what came before.
    let mut other = server.connect();
    for _ in 0..200 {
        other.call("ping", json!({}));
    }
    drop(lock);
    let mut answered = Vec::new();
    while answered.last() != Some(&last) {
        answered.push(client.answer()["id"].as_u64().unwrap());
    }
    assert_eq!(answered.len(), 100, "neither save is answered: {answered:?}");
    let listed = super::json(&project.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 1, "{listed}");
}
