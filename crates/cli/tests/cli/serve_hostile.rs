//! `herma serve` and requests that nobody sends by accident: nothing ends the server, leaves the project, or
//! becomes an option of a command.

use std::io::BufRead;
use std::io::Write;

use herma_testkit::env::WorkDir;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use super::serve_client::Client;
use super::serve_client::Piped;
use super::serve_client::Server;
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
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"list","params":{}"#,
        "[".repeat(1 << 20)
    );
    let deep_value = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"client":{}{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000),
    );
    let cases: [(&[u8], i64); 10] = [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
        ),
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
    assert_eq!(client.call("initialize", json!({}))["protocol"], 1);
}

#[test]
fn parameters_of_the_wrong_kind_are_refused() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    client.call("save", json!({}));
    project.write("a.txt", "two\n");
    let cases = [
        ("list", json!({"limit": -1})),
        ("list", json!({"limit": "1"})),
        ("list", json!([1])),
        ("list", json!("x")),
        ("list", json!({"limits": 1})),
        ("restore", json!({})),
        ("restore", json!({"checkpoint": true})),
        ("restore", json!({"checkpoint": -1})),
        ("restore", json!({"checkpoint": 1, "dry_run": true})),
        ("restore", json!({"checkpoint": 1, "conflicts": "maybe"})),
        ("restore", json!({"checkpoint": 1, "paths": "a.txt"})),
        ("restore", json!({"since": "yesterday"})),
        ("undo", json!({"steps": ["1"]})),
        ("diff", json!({"to": 1})),
        ("open", json!({"root": "relative"})),
        ("open", json!({"root": "/a", "directory": "/a"})),
        ("open", json!({"root": "/a\0b"})),
        ("open", json!({"root": format!("/{}", "x".repeat(5000))})),
        ("subscribe", json!({"events": ["everything"]})),
        ("record_step", json!({"phase": "middle"})),
        (
            "record_step",
            json!({"phase": "end", "step": 1, "tool": "x"}),
        ),
        ("save", json!({"once_per_turn": true})),
        ("initialize", json!({"protocol": 0})),
    ];
    for (method, params) in cases {
        assert_eq!(
            client.code(method, params.clone()),
            -32602,
            "{method} {params}"
        );
    }
    assert_eq!(client.code("restore", json!({"checkpoint": 99})), -32001);
    assert_eq!(
        client.code("restore", json!({"checkpoint": "no-such-name"})),
        -32001
    );
    assert_eq!(
        client.code("diff", json!({"from": "a.txt"})),
        -32001,
        "a file is no checkpoint"
    );
    assert_eq!(client.code("no.such", json!({})), -32601);
    assert_eq!(project.read("a.txt"), "two\n", "nothing was put back");
}

#[test]
fn what_looks_like_an_option_is_none() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    let saved = client.call("save", json!({"reason": "--name=x", "agent": "--json"}));
    assert_eq!(saved["checkpoint"]["reason"], "--name=x");
    assert_eq!(saved["checkpoint"]["names"], json!([]));
    assert_eq!(saved["checkpoint"]["facts"]["agent"], "--json");
    project.write("a.txt", "two\n");
    project.write("--all", "a file\n");
    let plan = client.call("plan_restore", json!({"checkpoint": 1, "paths": ["--all"]}));
    assert_eq!(plan["actions"][0]["path"], "--all", "{plan}");
    assert_eq!(plan["actions"].as_array().unwrap().len(), 1);
    for checkpoint in ["--help", "--continue", "-h", "--"] {
        client.refused("restore", json!({"checkpoint": checkpoint}));
        client.refused("show", json!({"checkpoint": checkpoint}));
        client.refused("diff", json!({"from": checkpoint}));
    }
    let step = json!({"phase": "begin", "call": "--unknown", "paths": ["--within=7"]});
    assert_eq!(
        client.call("record_step", step)["step"]["call"],
        "--unknown"
    );
    client.call("record_step", json!({"phase": "end", "call": "--unknown"}));
}

#[test]
fn paths_stay_in_the_project() {
    let env = test_env();
    let outside = env.work_dir("outside").files([("secret", "theirs\n")]);
    let project = env
        .work_dir("project")
        .files([("a.txt", "one\n"), ("dir/b.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    client.call("save", json!({}));
    let escapes = [
        "../outside/secret".to_owned(),
        "dir/../../outside/secret".to_owned(),
        outside.join("secret").display().to_string(),
        "/etc/passwd".to_owned(),
        String::new(),
    ];
    for path in escapes {
        for method in ["plan_restore", "restore"] {
            client.refused(method, json!({"checkpoint": 1, "paths": [path]}));
        }
        client.refused("diff", json!({"paths": [path]}));
    }
    // A directory of the project becomes a link to somewhere else.
    project.remove("dir");
    project.symlink("../outside", "dir");
    outside.write("b.txt", "theirs\n");
    client.call(
        "restore",
        json!({"checkpoint": 1, "paths": ["dir/b.txt"], "all": true}),
    );
    assert_eq!(
        outside.read("b.txt"),
        "theirs\n",
        "what a link leads to is not touched"
    );
    for root in ["/", "/proc", "/nonexistent"] {
        client.refused("save", json!({"root": root}));
    }
    client.refused("save", json!({"root": env.user_home()}));
    let linked = env.root().join("linked");
    std::os::unix::fs::symlink(project.path(), &linked).unwrap();
    let status = client.call("status", json!({"root": linked}));
    assert_eq!(
        status["project"]["path"],
        json!(project.path()),
        "one project, whichever way"
    );
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
                "hash",
                "events",
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
        "open",
        "list",
        "show",
        "diff",
        "plan_restore",
        "record_step",
        "subscribe",
        "unsubscribe",
        "sessions.list",
        "sessions.show",
        "rollback.list",
        "rollback.diff",
        "steps",
        "status",
        "new_turn",
        "no.such",
    ]);
    let request = (method, any_json(), any_json()).prop_map(|(method, id, params)| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    });
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
    server
        .client
        .send(b"{\"jsonrpc\":\"2.0\",\"id\":\"alive?\",\"method\":\"initialize\"}\n");
    loop {
        let answer = server.client.answer();
        if answer["id"] == "alive?" && answer["result"]["protocol"] == 1 {
            break;
        }
        assert_ne!(
            answer["error"]["code"], -32603,
            "a mistake of ours: {answer}"
        );
    }
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn random_lines_never_end_the_server() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    for mode in ["serve", "mcp"] {
        let mut server = Piped::start(&env, project.path(), &[mode, "--root", "."]);
        if mode == "mcp" {
            let lines: Vec<Vec<u8>> = vec![b"nonsense".to_vec(), vec![0xff], b"[]".to_vec()];
            for line in &lines {
                server.client.send(line);
                server.client.send(b"\n");
                assert!(server.client.answer()["error"]["code"].as_i64().is_some());
            }
            continue;
        }
        let config = ProptestConfig {
            cases: 48,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        let server = std::cell::RefCell::new(server);
        runner
            .run(&proptest::collection::vec(any_line(), 1..16), |lines| {
                survives(&project, &mut server.borrow_mut(), &lines);
                Ok(())
            })
            .unwrap();
    }
}
