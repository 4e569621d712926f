//! `herma mcp`: as an agent meets it, and as its hooks do.

use serde_json::{Value, json};

use super::mcp_client::Piped;
use super::test_env;

/// What a tool answers.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`json!` makes values, one for each call")]
fn tool(server: &mut Piped, name: &str, arguments: Value) -> Value {
    server.client.call("tools/call", json!({"name": name, "arguments": arguments}))
}

#[test]
fn an_agent_shakes_hands_lists_the_tools_and_uses_them() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("Makefile", "")]);
    project.mkdir("sub");
    let mut server = Piped::start(&env, &project.join("sub"), &["mcp"]);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
    });
    let welcome = server.client.call("initialize", hello);
    assert_eq!(welcome["protocolVersion"], "2025-06-18");
    assert_eq!(welcome["serverInfo"]["name"], "herma");
    server.client.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    assert_eq!(server.client.call("ping", json!({})), json!({}));
    let tools = server.client.call("tools/list", json!({}));
    assert!(tools.get("resultType").is_none(), "older agents know no such field");
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "herma_timeline",
            "herma_show",
            "herma_diff",
            "herma_find",
            "herma_grep",
            "herma_undo",
            "herma_redo",
            "herma_restore",
            "herma_save",
            "herma_hook"
        ]
    );

    let saved = tool(&mut server, "herma_save", json!({"reason": "before"}));
    assert_eq!(
        (&saved["isError"], &saved["structuredContent"]["is_new"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(saved["content"][0]["text"], "Saved checkpoint 1: 2 files.");
    project.write("a.txt", "two\n");
    let diff = tool(&mut server, "herma_diff", json!({}));
    let text = diff["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("1 file differs.") && text.contains("+two"), "{text}");
    let listed = tool(&mut server, "herma_timeline", json!({"limit": 5}));
    assert_eq!(listed["content"].as_array().unwrap().len(), 1, "nothing is said twice");
    let plan = tool(&mut server, "herma_restore", json!({"checkpoint": 1, "dry_run": true}));
    let text = &plan["content"][0]["text"];
    assert_eq!(text, "It would change 1 path: a.txt. Nothing was changed.");
    assert_eq!(project.read("a.txt"), "two\n");
    let restored = tool(&mut server, "herma_restore", json!({"checkpoint": "1"}));
    assert_eq!(restored["structuredContent"]["written"], 1);
    assert_eq!(project.read("a.txt"), "one\n");
    tool(&mut server, "herma_undo", json!({"last_prompt": true}));
    assert_eq!(project.read("a.txt"), "two\n");

    let failed = tool(&mut server, "herma_restore", json!({"checkpoint": 99}));
    assert_eq!(failed["isError"], true);
    assert!(failed["content"][0]["text"].as_str().unwrap().contains("herma list"), "{failed}");
    assert_eq!(tool(&mut server, "herma_restore", json!({}))["isError"], true);
    assert_eq!(tool(&mut server, "herma_timeline", json!({"root": "relative"}))["isError"], true);
    let unknown = json!({"name": "rm", "arguments": {}});
    assert_eq!(server.client.code("tools/call", unknown), -32602);
    assert_eq!(server.client.code("completion/complete", json!({})), -32601);
    let (rest, ended) = server.finish();
    assert_eq!((rest.as_str(), ended.code()), ("", Some(0)));
}

#[test]
fn an_agent_of_the_newest_revision_needs_no_handshake() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let meta = |version: &str| {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    };
    let found = server.client.call("server/discover", json!({"_meta": meta("2026-07-28")}));
    assert_eq!(
        (&found["resultType"], &found["supportedVersions"][0]),
        (&json!("complete"), &json!("2026-07-28"))
    );
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "herma");
    let tools = server.client.call("tools/list", json!({"_meta": meta("2026-07-28")}));
    assert_eq!(
        (&tools["resultType"], &tools["cacheScope"]),
        (&json!("complete"), &json!("public"))
    );
    let call = json!({"_meta": meta("2026-07-28"), "name": "herma_save", "arguments": {}});
    let saved = server.client.call("tools/call", call);
    assert_eq!((&saved["resultType"], &saved["isError"]), (&json!("complete"), &json!(false)));
    let refused = server.client.refused("tools/list", json!({"_meta": meta("1900-01-01")}));
    assert_eq!(
        (&refused["code"], &refused["data"]["requested"]),
        (&json!(-32022), &json!("1900-01-01"))
    );
}

#[test]
fn hooks_save_before_prompts_and_tool_calls_and_note_what_calls_change() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("Makefile", "")]);
    project.mkdir("src");
    let mut server = Piped::start(&env, env.root(), &["mcp"]);
    let mut hook = |arguments: Value| {
        let answer = tool(&mut server, "herma_hook", arguments);
        assert_eq!(answer["isError"], false, "an agent must not be kept from its work");
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let cwd = project.join("src");
    let prompt = json!({"event": "UserPromptSubmit", "host": "claude", "session": "s-1", "prompt_id": "p-1", "cwd": cwd});
    assert_eq!(hook(prompt), "{}");
    let call = |event: &str| {
        json!({
            "event": event, "host": "claude", "session_id": "s-1", "prompt_id": "p-1", "tool_name": "Write",
            "tool_use_id": "toolu_1", "cwd": cwd, "command": "${tool_input.command}",
        })
    };
    assert_eq!(hook(call("PreToolUse")), "{}");
    project.write("a.txt", "two\n");
    assert_eq!(hook(call("PostToolUse")), "{}");
    assert_eq!(hook(json!({"event": "Stop", "session_id": "s-1", "cwd": cwd})), "{}");
    let codex = json!({"event": "PreToolUse", "tool": "apply_patch", "session": "s-2", "turn": "t", "cwd": cwd});
    project.write("a.txt", "three\n");
    assert_eq!(hook(codex), "{}");
    assert_eq!(hook(json!({"event": "PreCompact"})), "{}");
    assert_eq!(hook(json!({})), "{}");
    let nowhere = hook(json!({"event": "PreToolUse", "cwd": "/"}));
    assert!(nowhere.contains("systemMessage"), "{nowhere}");

    let steps = super::json(&project.run(["steps", "--json"]).success());
    // The newest is the call without an id, which nobody has ended.
    let step = &steps["steps"][1];
    assert_eq!(
        (&step["tool"], &step["turn"], &step["command"]),
        (&json!("Write"), &json!("p-1"), &Value::Null)
    );
    assert_eq!((&step["agent"], &step["changes"]["files"]), (&json!("claude"), &json!(1)));
    let listed = super::json(&project.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"][0]["reason"], "before apply_patch");
    assert_eq!(listed["checkpoints"][0]["facts"]["session"], "s-2");
    project.run(["config", "set", "enabled", "false"]).success();
    project.write("a.txt", "four\n");
    assert_eq!(hook(call("PreToolUse")), "{}");
    let after = super::json(&project.run(["list", "--json"]).success());
    assert_eq!(after, listed, "automatic saves are turned off");
}

#[test]
fn the_document_knows_every_tool_and_no_other() {
    let document = include_str!("../../../../docs/AGENTS.md");
    let env = test_env();
    let mut listed = Vec::new();
    for args in [&["mcp"][..], &["mcp", "--all-tools"]] {
        let mut server = Piped::start(&env, env.root(), args);
        let tools = server.client.call("tools/list", json!({}));
        let tools = tools["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        listed.push(names.collect::<std::collections::BTreeSet<_>>());
    }
    let rows = document.lines().filter(|line| line.starts_with("| `herma_"));
    let documented: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let (for_agents, more) = documented.split_at(listed[0].len());
    assert_eq!(for_agents, listed[0].iter().collect::<Vec<_>>(), "first those for agents, sorted");
    let only_programs: Vec<_> = listed[1].difference(&listed[0]).collect();
    assert_eq!(more, only_programs, "then those only programs see, sorted");
}
