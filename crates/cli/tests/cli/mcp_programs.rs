//! `herma mcp --all-tools`: every tool, as a program meets it.

use std::os::unix::fs::PermissionsExt;

use herma_testkit::hermes::sessions::HermesSessions;
use serde_json::{Value, json};

use super::mcp_client::{Piped, Server};
use super::{json as printed, test_env};

#[test]
fn a_project_is_opened_saved_compared_and_put_back() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("Makefile", "")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    let inside = project.join("src");
    project.mkdir("src");
    let found = client.tool("herma_status", json!({"directory": inside}));
    assert_eq!(found["project"]["path"], json!(project.path()));
    assert_eq!(found["checkpoints"], 0);
    client.root = Some(project.path().to_owned());

    let saved = client.tool("herma_save", json!({"reason": "first", "agent": "claude"}));
    assert_eq!(saved["schema"], "herma.save/2");
    assert_eq!((&saved["is_new"], &saved["outcome"]), (&json!(true), &json!("done")));
    project.write("a.txt", "two\n");
    project.write("b.txt", "new\n");

    let diff = client.tool("herma_diff", json!({"patch": true, "unified": 0}));
    assert_eq!((&diff["total"], &diff["more"]), (&json!(2), &json!(false)));
    let patch = diff["patch"].as_str().unwrap();
    assert!(patch.contains("-one\n+two\n") && patch.contains("+new\n"), "{patch}");
    let cut = client.tool("herma_diff", json!({"patch": true, "max_bytes": 10, "limit": 1}));
    assert_eq!((&cut["patch_truncated"], &cut["more"]), (&json!(true), &json!(true)));
    assert_eq!(cut["patch"].as_str().unwrap().len(), 10);
    assert_eq!(client.tool("herma_diff", json!({"paths": ["b.txt"]}))["total"], 1);

    let plan = client.tool("herma_restore", json!({"checkpoint": 1, "dry_run": true}));
    assert_eq!(plan["actions"].as_array().unwrap().len(), 2, "{plan}");
    assert_eq!(project.read("a.txt"), "two\n", "a plan changes nothing");
    let restored = client.tool("herma_restore", json!({"checkpoint": saved["checkpoint"]["id"]}));
    assert_eq!((&restored["written"], &restored["removed"]), (&json!(1), &json!(1)));
    assert_eq!(project.read("a.txt"), "one\n");
    let planned = client.tool("herma_undo", json!({"last_prompt": true, "dry_run": true}));
    assert_eq!(planned["dry_run"], true);
    client.tool("herma_undo", json!({"last_prompt": true}));
    assert_eq!(project.read("b.txt"), "new\n");
    client.tool("herma_redo", json!({}));
    assert!(!project.exists("b.txt"));
    let nothing = client.tool("herma_continue_restore", json!({}));
    assert_eq!(nothing["target"], Value::Null);
    let shown = client.tool("herma_show", json!({"checkpoint": 1}));
    assert_eq!(shown["schema"], "herma.show/2");
    // The save, and the state before and after each of the three moves, which is saved once.
    assert_eq!(client.tool("herma_status", json!({}))["checkpoints"], 5);
    assert_eq!(
        client.tool("herma_store_status", json!({}))["projects"].as_array().unwrap().len(),
        1
    );
    assert_eq!(client.tool("herma_prune", json!({"dry_run": true}))["dry_run"], true);
    env.fsck();
}

#[test]
fn an_answer_is_what_the_command_prints() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "first", "--name", "start"]).success();
    project.write("a.txt", "two\n");
    project.run(["save", "-m", "second"]).success();
    let mut server =
        Piped::start(&env, env.root(), &["mcp", "--all-tools", "--root", "work/project"]);
    let commands: [(&str, Value, &[&str]); 4] = [
        ("herma_timeline", json!({}), &["list", "--json"]),
        ("herma_show", json!({"checkpoint": "start"}), &["show", "start", "--json"]),
        (
            "herma_diff",
            json!({"from": 1, "to": 2, "patch": false}),
            &["diff", "@-1", "@", "--json"],
        ),
        (
            "herma_restore",
            json!({"checkpoint": 1, "dry_run": true}),
            &["restore", "@-1", "--dry-run", "--json"],
        ),
    ];
    for (tool, params, command) in commands {
        let mut answered = server.client.tool(tool, params);
        let fields = answered.as_object_mut().unwrap();
        for added in ["outcome", "warnings", "offset", "more", "total"] {
            fields.remove(added);
        }
        assert_eq!(answered, printed(&project.run(command)), "{tool}");
    }
    let (rest, ended) = server.finish();
    assert_eq!((rest.as_str(), ended.code()), ("", Some(0)));
}

#[test]
fn lists_come_in_pages() {
    let env = test_env();
    let project = env.work_dir("project");
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    for number in 0..5 {
        project.write("a.txt", &number.to_string());
        client.tool("herma_save", json!({}));
    }
    let mut numbers = Vec::new();
    for offset in [0, 2, 4] {
        let part = client.tool("herma_timeline", json!({"offset": offset, "limit": 2}));
        assert_eq!(part["more"], offset < 4);
        let part = part["checkpoints"].as_array().unwrap();
        numbers.extend(part.iter().map(|one| one["number"].as_u64().unwrap()));
    }
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
}

#[test]
fn steps_and_turns_are_recorded_and_undone() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let turn = client
        .tool("herma_turn_begin", json!({"session": "s-1", "agent": "claude", "prompt": "do it"}));
    assert_eq!((&turn["schema"], &turn["turn"]["count"]), (&json!("herma.turn/1"), &json!(1)));
    let edit = json!({
        "session": "s-1", "agent": "claude", "tool": "Edit", "call": "c-1",
        "paths": ["a.txt"],
    });
    let begun = client.tool("herma_step_begin", edit);
    let step = &begun["step"];
    assert_eq!((&step["handle"], &step["number"]), (&json!("s1"), &Value::Null));
    assert_eq!(step["state"], "open");
    project.write("a.txt", "two\n");
    let ended = client.tool("herma_step_end", json!({"call": "c-1"}));
    assert_eq!(ended["step"]["changes"]["files"], 1);
    assert_eq!(ended["step"]["number"], 2);
    let steps = client.tool("herma_steps", json!({"session": "s-1"}));
    assert_eq!((steps["steps"].as_array().unwrap().len(), &steps["more"]), (1, &json!(false)));
    assert_eq!(client.tool("herma_turn_end", json!({"session": "s-1"}))["turn"]["over"], true);
    project.write("by_hand.txt", "mine\n");
    let undone = client.tool("herma_undo", json!({"steps": [2]}));
    assert_eq!(undone["schema"], "herma.undo/3");
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(project.exists("by_hand.txt"), "a person's file stays");
    let changed = client.tool("herma_diff", json!({"session": "s-1"}));
    assert_eq!(changed["schema"], "herma.diff-steps/2");
    assert_eq!(client.fails("herma_step_end", json!({"handle": "s1"})), "failed");
    assert_eq!(client.fails("herma_step_end", json!({"call": "c-1"})), "not-found");
    assert_eq!(client.fails("herma_step_end", json!({})), "usage");
    assert_eq!(client.fails("herma_turn_begin", json!({})), "usage");
}

#[test]
fn conversations_are_listed_searched_and_removed() {
    let env = test_env();
    let sessions = HermesSessions::new(&env.home());
    for (number, id) in ["alpha", "beta", "gamma"].into_iter().enumerate() {
        let time = 1_700_000_000.0 + number as f64;
        sessions.add(id, time, Some(time + 1.0), &[time]);
    }
    let server = Server::start(&env);
    let mut client = server.connect();
    let first = client.tool("herma_sessions_list", json!({"limit": 2}));
    assert_eq!(first["schema"], "herma.sessions-list/1");
    assert_eq!((first["sessions"].as_array().unwrap().len(), &first["more"]), (2, &json!(true)));
    let rest = client.tool("herma_sessions_list", json!({"limit": 2, "offset": 2}));
    assert_eq!((&rest["sessions"][0]["id"], &rest["more"]), (&json!("alpha"), &json!(false)));
    let shown = client.tool("herma_sessions_show", json!({"session": "alpha"}));
    assert_eq!((&shown["session"]["id"], &shown["total"]), (&json!("alpha"), &json!(1)));
    assert_eq!(client.tool("herma_sessions_stats", json!({}))["sessions"], 3);
    let renamed =
        client.tool("herma_sessions_rename", json!({"session": "beta", "title": ["--force"]}));
    assert_eq!(renamed["title"], "--force", "a text is never an option");
    let found = client.tool("herma_sessions_search", json!({"words": ["message"]}));
    assert_eq!(found["schema"], "herma.sessions-search/1");
    let plan = client
        .tool("herma_sessions_prune", json!({"older_than": 1, "title": "force", "dry_run": true}));
    assert_eq!((&plan["dry_run"], &plan["sessions"]), (&json!(true), &json!(1)));
    client.tool("herma_sessions_delete", json!({"session": "gamma"}));
    assert_eq!(client.fails("herma_sessions_delete", json!({"session": "gamma"})), "not-found");
    client.tool("herma_sessions_prune", json!({"older_than": 1, "title": "force"}));
    assert_eq!(sessions.ids(), ["alpha"]);
    assert_eq!(client.fails("herma_sessions_list", json!({"older": 1})), "usage");
}

#[test]
fn a_rollback_that_somebody_typed_is_answered_as_in_a_chat() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "before write_file"]).success();
    project.write("a.txt", "two\n");
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let listed = client.tool("herma_slash", json!({"text": "/rollback", "platform": "plain"}));
    assert_eq!(listed["action"], "list");
    let text = listed["text"].as_str().unwrap();
    assert!(text.contains("before write_file"), "{text}");
    let restored = client.tool("herma_slash", json!({"text": "/rollback 1"}));
    assert_eq!((&restored["ok"], &restored["written"]), (&json!(true), &json!(1)));
    assert_eq!(project.read("a.txt"), "one\n");
    let unclear = client.tool("herma_slash", json!({"text": "--help"}));
    assert_eq!(unclear["action"], "usage", "a text is never an option");
}

#[test]
fn what_was_herma_serve_says_what_it_is_now() {
    let env = test_env();
    for rest in [&["serve"][..], &["serve", "--socket", "s"]] {
        let refused = env.work_dir("w").run(rest).code(2);
        assert!(refused.error_text().contains("herma mcp"), "{refused}");
    }
}

#[test]
fn the_socket_is_the_users_alone() {
    let env = test_env();
    let server = Server::start(&env);
    let mode = std::fs::metadata(&server.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let open = env.work_dir("open");
    open.chmod("", 0o777);
    let refused = open.run(["mcp", "--socket", "s"]).code(1);
    assert!(refused.error_text().contains("can be written by other users"), "{refused}");
    open.write("below/file", "");
    open.chmod("below", 0o700);
    let refused = open.run(["mcp", "--socket", "below/s"]).code(1);
    let told = "work/open can be written by other users (mode 0777)";
    assert!(refused.error_text().contains(told), "{refused}");
    let own = env.work_dir("own");
    own.chmod("", 0o700);
    own.write("s", "mine");
    let refused = own.run(["mcp", "--socket", "s"]).code(1);
    assert!(refused.error_text().contains("it is no socket"), "{refused}");
    assert_eq!(own.read("s"), "mine");
}

#[test]
fn a_live_server_is_not_replaced_and_a_dead_one_is() {
    let env = test_env();
    let first = Server::start(&env);
    let path = first.path.to_str().unwrap().to_owned();
    let refused = env.work_dir("w").run(["mcp", "--socket", &path]).code(11);
    assert!(refused.error_text().contains("is listening on"), "{refused}");
    assert_eq!(first.connect().call("ping", json!({})), json!({}));
    first.signal("KILL");
    first.wait();
    assert!(std::fs::symlink_metadata(&path).is_ok(), "a killed server leaves its socket");
    let second = Server::start(&env);
    assert_eq!(second.connect().call("ping", json!({})), json!({}));
}

#[test]
fn a_signal_ends_the_server_in_order() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    for signal in ["TERM", "INT"] {
        let server = Server::start(&env);
        let mut client = server.connect();
        project.write("a.txt", signal);
        let save = client.for_tool("herma_save", json!({"root": project.path()}));
        let id = client.ask("tools/call", &save);
        let answer = client.answer();
        server.signal(signal);
        let path = server.path.clone();
        assert_eq!(server.wait().code(), Some(0));
        assert!(!path.exists(), "the socket is removed");
        let is_new = &answer["result"]["structuredContent"]["is_new"];
        assert_eq!((&answer["id"], is_new), (&json!(id), &json!(true)));
        assert_eq!(client.line(), None, "the connection is closed");
    }
    env.fsck();
}

#[test]
fn without_a_socket_the_end_of_the_input_is_the_end() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut server = Piped::start(&env, env.root(), &["mcp", "--all-tools"]);
    let client = &mut server.client;
    let nowhere = client.fails("herma_status", json!({"root": env.root().join("none")}));
    assert_eq!(nowhere, "usage");
    for tool in ["herma_save", "herma_status"] {
        let params = client.for_tool(tool, json!({"root": project.path()}));
        client.ask("tools/call", &params);
    }
    // A last line without a newline counts, too.
    client.send(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    let (rest, ended) = server.finish();
    assert_eq!(ended.code(), Some(0));
    let ids: Vec<Value> = rest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].take())
        .collect();
    assert_eq!(ids, [json!(2), json!(3), json!("last")], "everything is answered first");
}

#[test]
fn resources_are_what_the_tools_answer() {
    let env = test_env();
    let project = env.work_dir("a project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let client = &mut server.client;
    let listed = client.call("resources/list", json!({}));
    let templates = client.call("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "herma://checkpoints{+root}");
    let schemas = ["herma.list/2", "herma.steps/2", "herma.status/2"];
    for (resource, schema) in listed["resources"].as_array().unwrap().iter().zip(schemas) {
        let read = client.call("resources/read", json!({"uri": resource["uri"]}));
        let text = read["contents"][0]["text"].as_str().unwrap();
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read["schema"], schema);
        assert_eq!(read["project"]["path"], json!(project.path()));
    }
    for (uri, code) in [
        ("herma://checkpoints/nowhere", -32002),
        ("herma://nothing/", -32602),
        ("file:///etc/passwd", -32602),
        ("", -32602),
    ] {
        assert_eq!(client.code("resources/read", json!({"uri": uri})), code, "{uri}");
    }
}

#[test]
fn a_program_of_the_newest_revision_hears_of_changes_until_it_cancels() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let client = &mut server.client;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let uri = format!("herma://checkpoints{}", project.path().display());
    let wanted = json!({"_meta": meta, "notifications": {"resourceSubscriptions": [uri]}});
    let listen = client.ask("subscriptions/listen", &wanted);
    let acknowledged = client.line().unwrap();
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(
        (&acknowledged["method"], &acknowledged["params"]["_meta"][subscription]),
        (&json!("notifications/subscriptions/acknowledged"), &json!(listen))
    );
    let save = |text: &str| {
        project.write("a.txt", text);
        json!({"_meta": meta, "name": "herma_save", "arguments": {}})
    };
    client.call("tools/call", save("two\n"));
    client.call("ping", json!({}));
    assert_eq!(client.events.len(), 1);
    let heard = &client.events[0]["params"];
    assert_eq!((&heard["uri"], &heard["_meta"][subscription]), (&json!(uri), &json!(listen)));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": listen}});
    client.send(format!("{cancel}\n").as_bytes());
    client.call("tools/call", save("three\n"));
    client.call("ping", json!({}));
    assert_eq!(client.events.len(), 1, "it was cancelled");
}

#[test]
fn a_program_that_listens_and_does_not_read_keeps_nobody_from_stopping_the_server() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("big.txt", &"a line of a big file\n".repeat(40_000));
    let mut server = Piped::start(&env, project.path(), &["mcp"]);
    let client = &mut server.client;
    client.call("ping", json!({}));
    // An answer that does not fit into the pipe, and then nothing but requests that stay open.
    let diff = client.for_tool("herma_diff", json!({"max_bytes": 1 << 20}));
    client.ask("tools/call", &diff);
    for _ in 0..4 {
        client.ask("subscriptions/listen", &json!({"notifications": {}}));
    }
    let begun = client.line();
    assert!(begun.is_some(), "the first line is read, and none behind it");
    for _ in 0..4 {
        client.ask("tools/call", &diff);
        client.ask("subscriptions/listen", &json!({"notifications": {}}));
    }
    assert_eq!(server.terminate().code(), Some(0));
}
