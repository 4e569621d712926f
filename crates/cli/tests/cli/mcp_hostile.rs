//! `herma mcp` and requests that nobody sends by accident: nothing ends the server, leaves the project, or
//! becomes an option of a command.

use std::io::{BufRead, Write};

use herma_testkit::env::WorkDir;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::mcp_client::{Client, Piped, Server};
use super::test_env;

/// The error of a line that is sent as it is.
#[track_caller]
fn code_of<R: BufRead, W: Write>(client: &mut Client<R, W>, line: &[u8]) -> Value {
    client.send(line);
    client.send(b"\n");
    client.answer()["error"]["code"].take()
}

#[test]
fn lines_that_are_no_requests_are_answered_and_the_connection_goes_on() {
    let env = test_env();
    let server = Server::start(&env);
    let mut client = server.connect();
    let huge = vec![b'x'; (8 << 20) + 1];
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"list","params":{}"#, "[".repeat(1 << 20));
    let deep_value = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{{"a":{}{}}}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000),
    );
    let cases: [(&[u8], i64); 10] = [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"list\",\"params\":{\"root\":\"\xff\"}}",
            -32700,
        ),
        (deep.as_bytes(), -32700),
        (deep_value.as_bytes(), -32602),
        (&huge, -32600),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"list"}]"#, -32600),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"list"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":["list"]}"#, -32600),
    ];
    for (line, code) in cases {
        let start = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        assert_eq!(code_of(&mut client, line), code, "{start}");
    }
    assert_eq!(client.call("ping", json!({})), json!({}));
}

#[test]
fn parameters_of_the_wrong_kind_are_refused() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    client.tool("herma_save", json!({}));
    project.write("a.txt", "two\n");
    let root = |root: &str| ("herma_timeline", json!({"root": root}));
    let cases = [
        ("herma_timeline", json!({"limit": -1})),
        ("herma_timeline", json!({"limit": "1"})),
        ("herma_timeline", json!({"limits": 1})),
        ("herma_restore", json!({})),
        ("herma_restore", json!({"checkpoint": true})),
        ("herma_restore", json!({"checkpoint": -1})),
        ("herma_restore", json!({"checkpoint": 1, "dryrun": true})),
        ("herma_restore", json!({"checkpoint": 1, "conflicts": "maybe"})),
        ("herma_restore", json!({"checkpoint": 1, "paths": "a.txt"})),
        ("herma_restore", json!({"checkpoint": 1, "paths": []})),
        ("herma_restore", json!({"checkpoint": 1, "paths": null})),
        ("herma_restore", json!({"checkpoint": 1, "paths": [""]})),
        ("herma_restore", json!({"checkpoint": 1, "paths": [], "dry_run": true})),
        ("herma_restore", json!({"since": "tomorrow"})),
        ("herma_undo", json!({"steps": ["--all"]})),
        ("herma_undo", json!({"steps": ["-1"]})),
        ("herma_undo", json!({"steps": "a.txt"})),
        ("herma_undo", json!({"steps": [true]})),
        ("herma_undo", json!({"steps": []})),
        ("herma_undo", json!({"paths": []})),
        ("herma_diff", json!({"to": 1})),
        root("relative"),
        root("/a\0b"),
        root(&format!("/{}", "x".repeat(5000))),
        ("herma_timeline", json!({"root": "/a", "directory": "/a"})),
        ("herma_step_end", json!({"handle": "s1", "tool": "x"})),
    ];
    for (tool, arguments) in cases {
        let kind = client.fails(tool, arguments.clone());
        assert_eq!(kind, "usage", "{tool} {arguments}");
    }
    for checkpoint in [json!(99), json!("no-such-name")] {
        let arguments = json!({"checkpoint": checkpoint});
        assert_eq!(client.fails("herma_restore", arguments), "not-found");
    }
    let file = json!({"from": "a.txt"});
    let kind = client.fails("herma_diff", file);
    assert_eq!(kind, "not-found", "a file is no checkpoint");
    for (method, params, code) in [
        ("no.such", json!({}), -32601),
        ("tools/call", json!([1]), -32602),
        ("tools/call", json!("x"), -32602),
        ("tools/call", json!({"name": "herma_timeline", "arguments": [1]}), -32602),
        ("tools/call", json!({"name": ["herma_timeline"]}), -32602),
        ("tools/call", json!({}), -32602),
        ("resources/subscribe", json!({"uri": 1}), -32602),
        ("resources/subscribe", json!({"uri": "herma://everything/"}), -32602),
    ] {
        assert_eq!(client.code(method, params.clone()), code, "{method} {params}");
    }
    assert_eq!(project.read("a.txt"), "two\n", "nothing was put back");
    let list = client.tool("herma_timeline", json!({}));
    assert_eq!(list["checkpoints"].as_array().unwrap().len(), 1, "{list}");
}

#[test]
fn who_did_not_ask_for_all_tools_has_none_but_those_for_agents() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut agent = Piped::start(&env, project.path(), &["mcp"]);
    for tool in ["herma_prune", "herma_sessions_delete", "herma_steps"] {
        let params = json!({"name": tool, "arguments": {}});
        assert_eq!(agent.client.code("tools/call", params), -32602);
    }
    let more = json!({"checkpoint": 1, "with_transcript": true});
    assert_eq!(agent.client.fails("herma_restore", more), "usage");
}

#[test]
fn what_looks_like_an_option_is_none() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let saved = client.tool("herma_save", json!({"reason": "--name=x", "agent": "--json"}));
    assert_eq!(saved["checkpoint"]["reason"], "--name=x");
    assert_eq!(saved["checkpoint"]["names"], json!([]));
    assert_eq!(saved["checkpoint"]["facts"]["agent"], "--json");
    project.write("a.txt", "two\n");
    project.write("--all", "a file\n");
    let plan = json!({"checkpoint": 1, "paths": ["--all"], "dry_run": true});
    let plan = client.tool("herma_restore", plan);
    assert_eq!(plan["actions"][0]["path"], "--all", "{plan}");
    assert_eq!(plan["actions"].as_array().unwrap().len(), 1);
    for checkpoint in ["--help", "--continue", "-h", "--"] {
        client.fails("herma_restore", json!({"checkpoint": checkpoint}));
        client.fails("herma_show", json!({"checkpoint": checkpoint}));
        client.fails("herma_diff", json!({"from": checkpoint}));
    }
    let step = json!({"call": "--unknown", "paths": ["--within=7"]});
    assert_eq!(client.tool("herma_step_begin", step)["step"]["call"], "--unknown");
    client.tool("herma_step_end", json!({"call": "--unknown"}));
}

#[test]
fn paths_stay_in_the_project() {
    let env = test_env();
    let outside = env.work_dir("outside").files([("secret", "theirs\n")]);
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("dir/b.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    client.tool("herma_save", json!({}));
    let escapes = [
        "../outside/secret".to_owned(),
        "dir/../../outside/secret".to_owned(),
        outside.join("secret").display().to_string(),
        "/etc/passwd".to_owned(),
        String::new(),
    ];
    for path in escapes {
        for dry_run in [true, false] {
            let restore = json!({"checkpoint": 1, "paths": [path], "dry_run": dry_run});
            client.fails("herma_restore", restore);
        }
        client.fails("herma_diff", json!({"paths": [path]}));
    }
    // A directory of the project becomes a link to somewhere else.
    project.remove("dir");
    project.symlink("../outside", "dir");
    outside.write("b.txt", "theirs\n");
    client.tool("herma_restore", json!({"checkpoint": 1, "paths": ["dir/b.txt"], "all": true}));
    assert_eq!(outside.read("b.txt"), "theirs\n", "what a link leads to is not touched");
    for root in ["/", "/proc", "/nonexistent"] {
        client.fails("herma_save", json!({"root": root}));
    }
    client.fails("herma_save", json!({"root": env.user_home()}));
    let linked = env.root().join("linked");
    std::os::unix::fs::symlink(project.path(), &linked).unwrap();
    let status = client.tool("herma_status", json!({"root": linked}));
    assert_eq!(status["project"]["path"], json!(project.path()), "one project, whichever way");
}

/// JSON of all kinds, with words the server knows among those it does not.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!("/")),
        Just(json!("1")),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = prop_oneof![
            "[a-z_]{1,12}",
            proptest::sample::select(vec![
                "root",
                "checkpoint",
                "paths",
                "phase",
                "limit",
                "offset",
                "name",
                "arguments",
                "uri",
                "_meta",
                "jsonrpc",
                "id",
                "method",
                "params",
                "session",
                "steps",
            ])
            .prop_map(str::to_owned),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Lines from nonsense to nearly right.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let method = proptest::sample::select(vec![
        "initialize",
        "tools/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "no.such",
    ]);
    let tool = proptest::sample::select(vec![
        "herma_timeline",
        "herma_show",
        "herma_diff",
        "herma_diff",
        "herma_step_begin",
        "herma_steps",
        "herma_status",
        "herma_turn_begin",
        "herma_sessions_list",
        "herma_sessions_show",
    ]);
    let request = |(method, id, params): (&str, Value, Value)| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let called = (tool, any::<i64>(), any_json()).prop_map(move |(name, id, arguments)| {
        request(("tools/call", json!(id), json!({"name": name, "arguments": arguments})))
    });
    let asked = (method, any_json(), any_json()).prop_map(request);
    let request = prop_oneof![called, asked];
    prop_oneof![
        3 => request.prop_map(String::into_bytes),
        1 => any_json().prop_map(|value| value.to_string().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
    ]
    .prop_map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
}

fn survives(project: &WorkDir<'_>, server: &mut Piped, lines: &[Vec<u8>]) {
    for line in lines {
        server.client.send(line);
        server.client.send(b"\n");
    }
    server.client.send(b"{\"jsonrpc\":\"2.0\",\"id\":\"alive?\",\"method\":\"ping\"}\n");
    loop {
        let answer = server.client.answer();
        if answer["id"] == "alive?" && answer["result"] == json!({}) {
            break;
        }
        assert_ne!(answer["error"]["code"], -32603, "a mistake of ours: {answer}");
    }
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn random_lines_never_end_the_server() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let server = Piped::start(&env, project.path(), &["mcp", "--all-tools"]);
    let config =
        ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let server = std::cell::RefCell::new(server);
    runner
        .run(&proptest::collection::vec(any_line(), 1..16), |lines| {
            survives(&project, &mut server.borrow_mut(), &lines);
            Ok(())
        })
        .unwrap();
}

#[test]
fn long_reasons_do_not_push_checkpoints_out_of_the_list() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "0\n")]);
    let mut piped = Piped::start(&env, project.path(), &["mcp", "--all-tools"]);
    let client = &mut piped.client;
    let long = "r".repeat(1 << 20);
    for number in 0..12 {
        project.write("a.txt", &format!("{number}\n"));
        let saved = client.tool("herma_save", json!({"reason": long}));
        assert_eq!(saved["notes"], json!([]), "all of it was kept");
    }
    let listed = client.tool("herma_timeline", json!({}));
    let checkpoints = listed["checkpoints"].as_array().unwrap();
    assert_eq!(checkpoints.len(), 12);
    assert_eq!(listed["more"], false);
    assert_eq!(listed.get("truncated"), None);
    for row in listed["rows"].as_array().unwrap() {
        assert_eq!(row["text"], "r".repeat(4 << 10));
    }
    for checkpoint in checkpoints {
        assert_eq!(checkpoint["reason"], "r".repeat(4 << 10));
        assert_eq!(checkpoint["reason_truncated"], true);
    }
    let shown = client.tool("herma_show", json!({"checkpoint": 3}));
    assert_eq!(shown["checkpoint"]["reason"], long);

    project.write("a.txt", "last\n");
    let saved = client.tool("herma_save", json!({"reason": format!("{long}more")}));
    let note = "the reason has 1048580 bytes; only its first 1048576 were kept";
    assert_eq!(saved["notes"], json!([note]));
    assert_eq!(saved["warnings"], json!([note]));
    assert_eq!(saved["checkpoint"]["reason"], long);
}
