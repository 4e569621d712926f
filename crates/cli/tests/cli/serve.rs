//! `herma serve`: every method, as a client meets it.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use herma_testkit::hermes_sessions::HermesSessions;
use serde_json::Value;
use serde_json::json;

use super::json as printed;
use super::serve_client::Piped;
use super::serve_client::Server;
use super::test_env;

#[test]
fn a_project_is_opened_saved_compared_and_put_back() {
    let env = test_env();
    let project = env
        .work_dir("project")
        .files([("a.txt", "one\n"), ("Makefile", "")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    assert_eq!(
        client.call("initialize", json!({"protocol": 1}))["protocol"],
        1
    );
    let inside = project.join("src");
    project.mkdir("src");
    let opened = client.call("open", json!({"directory": inside}));
    assert_eq!(opened["project"]["path"], json!(project.path()));
    assert_eq!(
        (&opened["checkpoints"], &opened["automatic_saves"]),
        (&json!(0), &json!(true))
    );

    let saved = client.call("save", json!({"reason": "first", "agent": "claude"}));
    assert_eq!(saved["schema"], "herma.save/1");
    assert_eq!(
        (&saved["is_new"], &saved["outcome"]),
        (&json!(true), &json!("done"))
    );
    project.write("a.txt", "two\n");
    project.write("b.txt", "new\n");

    let diff = client.call("diff", json!({"patch": true, "context": 0}));
    assert_eq!((&diff["total"], &diff["more"]), (&json!(2), &json!(false)));
    let patch = diff["patch"].as_str().unwrap();
    assert!(
        patch.contains("-one\n+two\n") && patch.contains("+new\n"),
        "{patch}"
    );
    let cut = client.call("diff", json!({"patch": true, "max_bytes": 10, "limit": 1}));
    assert_eq!(
        (&cut["patch_truncated"], &cut["more"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(cut["patch"].as_str().unwrap().len(), 10);
    assert_eq!(client.call("diff", json!({"paths": ["b.txt"]}))["total"], 1);

    let plan = client.call("plan_restore", json!({"checkpoint": 1}));
    assert_eq!(plan["actions"].as_array().unwrap().len(), 2, "{plan}");
    assert_eq!(project.read("a.txt"), "two\n", "a plan changes nothing");
    let restored = client.call("restore", json!({"checkpoint": saved["checkpoint"]["id"]}));
    assert_eq!(
        (&restored["written"], &restored["removed"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(project.read("a.txt"), "one\n");
    let planned = client.call("undo", json!({"dry_run": true}));
    assert_eq!(planned["dry_run"], true);
    client.call("undo", json!({}));
    assert_eq!(project.read("b.txt"), "new\n");
    client.call("redo", json!({}));
    assert!(!project.exists("b.txt"));
    let nothing = client.call("continue_restore", json!({}));
    assert_eq!(nothing["target"], Value::Null);
    let shown = client.call("show", json!({"checkpoint": 1}));
    assert_eq!(shown["schema"], "herma.show/1");
    assert_eq!(client.call("status", json!({}))["checkpoints"], 2);
    assert_eq!(
        client.call("store_status", json!({}))["projects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        client.call("prune", json!({"dry_run": true}))["dry_run"],
        true
    );
    env.fsck();
}

#[test]
fn an_answer_is_what_the_command_prints() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project
        .run(["save", "-m", "first", "--name", "start"])
        .success();
    project.write("a.txt", "two\n");
    project.run(["save", "-m", "second"]).success();
    let mut server = Piped::start(&env, env.root(), &["serve", "--root", "work/project"]);
    let commands: [(&str, Value, &[&str]); 4] = [
        ("list", json!({}), &["list", "--json"]),
        (
            "show",
            json!({"checkpoint": "start"}),
            &["show", "start", "--json"],
        ),
        (
            "diff",
            json!({"from": 2, "to": 1}),
            &["diff", "2", "1", "--json"],
        ),
        (
            "plan_restore",
            json!({"checkpoint": 2}),
            &["restore", "2", "--dry-run", "--json"],
        ),
    ];
    for (method, params, command) in commands {
        let mut answered = server.client.call(method, params);
        let fields = answered.as_object_mut().unwrap();
        for added in ["outcome", "warnings", "offset", "more", "total"] {
            fields.remove(added);
        }
        assert_eq!(answered, printed(&project.run(command)), "{method}");
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
    client.call("open", json!({"root": project.path()}));
    for number in 0..5 {
        project.write("a.txt", &number.to_string());
        client.call("save", json!({}));
    }
    let mut numbers = Vec::new();
    for offset in [0, 2, 4] {
        let part = client.call("list", json!({"offset": offset, "limit": 2}));
        assert_eq!(part["more"], offset < 4);
        let part = part["checkpoints"].as_array().unwrap();
        numbers.extend(part.iter().map(|one| one["number"].as_u64().unwrap()));
    }
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

#[test]
fn steps_and_turns_are_recorded_and_taken_back() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    let turn = client.call(
        "new_turn",
        json!({"session": "s-1", "agent": "claude", "prompt": "do it"}),
    );
    assert_eq!(
        (&turn["schema"], &turn["turn"]["count"]),
        (&json!("herma.turn/1"), &json!(1))
    );
    let edit = json!({
        "phase": "begin", "session": "s-1", "agent": "claude", "tool": "Edit", "call": "c-1",
        "paths": ["a.txt"],
    });
    let begun = client.call("record_step", edit);
    assert_eq!(
        (&begun["step"]["number"], &begun["step"]["state"]),
        (&json!(1), &json!("open"))
    );
    project.write("a.txt", "two\n");
    let ended = client.call("record_step", json!({"phase": "end", "call": "c-1"}));
    assert_eq!(ended["step"]["changes"]["files"], 1);
    let steps = client.call("steps", json!({"session": "s-1"}));
    assert_eq!(
        (steps["steps"].as_array().unwrap().len(), &steps["more"]),
        (1, &json!(false))
    );
    assert_eq!(
        client.call("end_turn", json!({"session": "s-1"}))["turn"]["over"],
        true
    );
    project.write("by_hand.txt", "mine\n");
    let undone = client.call("undo", json!({"steps": [1]}));
    assert_eq!(undone["schema"], "herma.take-back/1");
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(project.exists("by_hand.txt"), "a person's file stays");
    let changed = client.call("diff", json!({"session": "s-1"}));
    assert_eq!(changed["schema"], "herma.diff-steps/1");
    assert_eq!(
        client.code("record_step", json!({"phase": "end", "step": 1})),
        -32000
    );
    assert_eq!(
        client.code("record_step", json!({"phase": "end", "call": "c-1"})),
        -32001
    );
    assert_eq!(client.code("record_step", json!({"phase": "end"})), -32602);
    assert_eq!(client.code("record_step", json!({})), -32602);
}

#[test]
fn automatic_saves_come_once_a_turn_on_request_and_never_against_the_settings() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    let once = json!({"once_per_turn": true});
    let first = client.call("ensure_checkpoint", once.clone());
    assert_eq!(
        (&first["is_new"], &first["checkpoint"]["reason"]),
        (&json!(true), &json!("auto"))
    );
    project.write("a.txt", "two\n");
    let skipped = client.call("ensure_checkpoint", once.clone());
    assert_eq!(
        (&skipped["schema"], &skipped["why"]),
        (&json!("herma.save-skipped/1"), &json!("this-turn"))
    );
    let turn = client.call("new_turn", json!({}));
    assert_eq!(
        turn["turn"],
        Value::Null,
        "without a session only the saves are counted anew"
    );
    assert_eq!(client.call("ensure_checkpoint", once)["is_new"], true);
    project.write("a.txt", "three\n");
    assert_eq!(
        client.call("ensure_checkpoint", json!({}))["is_new"],
        true,
        "unless asked for"
    );

    project.write("a.txt", "four\n");
    project.run(["config", "set", "enabled", "false"]).success();
    let skipped = client.call("ensure_checkpoint", json!({}));
    assert_eq!(
        skipped["why"], "disabled",
        "edits of the settings count at once"
    );
    assert_eq!(client.call("open", json!({}))["automatic_saves"], false);
    assert_eq!(client.call("rollback.list", json!({}))["enabled"], false);
    assert_eq!(
        client.call("save", json!({}))["is_new"],
        true,
        "who asks for it gets it"
    );
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
    let first = client.call("sessions.list", json!({"limit": 2}));
    assert_eq!(first["schema"], "herma.sessions-list/1");
    assert_eq!(
        (first["sessions"].as_array().unwrap().len(), &first["more"]),
        (2, &json!(true))
    );
    let rest = client.call("sessions.list", json!({"limit": 2, "offset": 2}));
    assert_eq!(
        (&rest["sessions"][0]["id"], &rest["more"]),
        (&json!("alpha"), &json!(false))
    );
    let shown = client.call("sessions.show", json!({"session": "alpha"}));
    assert_eq!(
        (&shown["session"]["id"], &shown["total"]),
        (&json!("alpha"), &json!(1))
    );
    assert_eq!(client.call("sessions.stats", json!({}))["sessions"], 3);
    let renamed = client.call(
        "sessions.rename",
        json!({"session": "beta", "title": "--force"}),
    );
    assert_eq!(renamed["title"], "--force", "a text is never an option");
    let found = client.call("sessions.search", json!({"query": "message"}));
    assert_eq!(found["schema"], "herma.sessions-search/1");
    let filters = json!({"older_than": 1, "title": "force"});
    let plan = client.call(
        "sessions.prune",
        json!({"filters": filters, "dry_run": true}),
    );
    assert_eq!(
        (&plan["dry_run"], &plan["sessions"]),
        (&json!(true), &json!(1))
    );
    client.call("sessions.delete", json!({"session": "gamma"}));
    assert_eq!(
        client.code("sessions.delete", json!({"session": "gamma"})),
        -32001
    );
    client.call("sessions.prune", json!({"filters": filters}));
    assert_eq!(sessions.ids(), ["alpha"]);
    assert_eq!(
        client.code("sessions.list", json!({"filters": {"older": 1}})),
        -32602
    );
    assert_eq!(client.code("sessions.vacuum", json!({})), -32601);
}

#[test]
fn hermes_finds_the_methods_of_its_terminal_interface() {
    let env = test_env();
    let project = env
        .work_dir("project")
        .files([("a.txt", "one\n"), ("b.txt", "b\n")]);
    project
        .run(["save", "-m", "before write_file\n\nmore"])
        .success();
    project.write("a.txt", "two\n");
    project.write("b.txt", "c\n");
    let server = Server::start(&env);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    let listed = client.call("rollback.list", json!({"session_id": "x", "unknown": 1}));
    let fields: BTreeSet<&str> = listed["checkpoints"][0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(fields, BTreeSet::from(["hash", "timestamp", "message"]));
    assert_eq!(
        (&listed["enabled"], &listed["checkpoints"][0]["message"]),
        (&json!(true), &json!("before write_file"))
    );
    let diff = client.call("rollback.diff", json!({"hash": "1"}));
    assert!(diff["stat"].as_str().unwrap().contains("a.txt"), "{diff}");
    assert!(diff["diff"].as_str().unwrap().contains("+two"), "{diff}");
    for method in ["rollback.restore", "rollback.diff"] {
        assert_eq!(client.code(method, json!({})), 4014);
        assert_eq!(
            client.refused(method, json!({"hash": ""}))["message"],
            "hash required"
        );
    }
    assert_eq!(
        client.code("rollback.restore", json!({"hash": "no such"})),
        5021
    );
    assert_eq!(client.code("rollback.diff", json!({"hash": 77})), 5022);

    let one = client.call("rollback.restore", json!({"hash": 1, "file_path": "a.txt"}));
    assert_eq!(
        (&one["success"], &one["file"], &one["history_removed"]),
        (&json!(true), &json!("a.txt"), &json!(0))
    );
    assert_eq!(
        (project.read("a.txt"), project.read("b.txt")),
        ("one\n".into(), "c\n".into())
    );
    client.call(
        "record_step",
        json!({"phase": "begin", "session": "s", "call": "c"}),
    );
    let busy = client.refused("rollback.restore", json!({"hash": 2, "session_id": "s"}));
    assert_eq!(busy["code"], 4009);
    client.call("record_step", json!({"phase": "end", "call": "c"}));
    let hash = listed["checkpoints"][0]["hash"].clone();
    let all = client.call("rollback.restore", json!({"hash": hash, "session_id": "s"}));
    assert_eq!(
        (&all["reason"], &all["directory"]),
        (&json!("before write_file"), &json!(project.path()))
    );
    assert_eq!(all["restored_to"], hash.as_str().unwrap()[..8]);
    assert_eq!(
        client.call("rollback.diff", json!({"hash": hash})),
        json!({"stat": "", "diff": ""})
    );
}

#[test]
fn the_socket_is_the_users_alone() {
    let env = test_env();
    let server = Server::start(&env);
    let mode = std::fs::metadata(&server.path)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let open = env.work_dir("open");
    open.chmod("", 0o777);
    let refused = open.run(["serve", "--socket", "s"]).code(1);
    assert!(
        refused
            .error_text()
            .contains("can be written by other users"),
        "{refused}"
    );
    open.write("below/file", "");
    open.chmod("below", 0o700);
    let refused = open.run(["serve", "--socket", "below/s"]).code(1);
    let told = "work/open can be written by other users (mode 0777)";
    assert!(refused.error_text().contains(told), "{refused}");
    let own = env.work_dir("own");
    own.chmod("", 0o700);
    own.write("s", "mine");
    let refused = own.run(["serve", "--socket", "s"]).code(1);
    assert!(
        refused.error_text().contains("it is no socket"),
        "{refused}"
    );
    assert_eq!(own.read("s"), "mine");
}

#[test]
fn a_live_server_is_not_replaced_and_a_dead_one_is() {
    let env = test_env();
    let first = Server::start(&env);
    let path = first.path.to_str().unwrap().to_owned();
    let refused = env.work_dir("w").run(["serve", "--socket", &path]).code(11);
    assert!(
        refused.error_text().contains("is listening on"),
        "{refused}"
    );
    assert_eq!(first.connect().call("initialize", json!({}))["protocol"], 1);
    first.signal("KILL");
    first.wait();
    assert!(
        std::fs::symlink_metadata(&path).is_ok(),
        "a killed server leaves its socket"
    );
    let second = Server::start(&env);
    assert_eq!(
        second.connect().call("initialize", json!({}))["protocol"],
        1
    );
}

#[test]
fn a_signal_or_a_client_ends_the_server_in_order() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    for signal in ["TERM", "INT"] {
        let server = Server::start(&env);
        let mut client = server.connect();
        project.write("a.txt", signal);
        let id = client.ask("save", &json!({"root": project.path()}));
        let answer = client.answer();
        server.signal(signal);
        let path = server.path.clone();
        assert_eq!(server.wait().code(), Some(0));
        assert!(!path.exists(), "the socket is removed");
        assert_eq!(
            (&answer["id"], &answer["result"]["is_new"]),
            (&json!(id), &json!(true))
        );
        assert_eq!(client.line(), None, "the connection is closed");
    }
    let server = Server::start(&env);
    let mut leaving = server.connect();
    assert_eq!(leaving.call("shutdown", json!({})), Value::Null);
    assert_eq!(leaving.line(), None);
    let mut client = server.connect();
    assert_eq!(
        client.call("shutdown", json!({"server": true})),
        Value::Null
    );
    assert_eq!(server.wait().code(), Some(0));
    env.fsck();
}

#[test]
fn without_a_socket_the_end_of_the_input_is_the_end() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut server = Piped::start(&env, project.path(), &["serve"]);
    assert_eq!(
        server.client.code("status", json!({})),
        -32602,
        "no project is named"
    );
    let root = json!({"root": project.path()});
    server.client.ask("save", &root);
    server.client.ask("status", &root);
    // A last line without a newline counts, too.
    server
        .client
        .send(br#"{"jsonrpc":"2.0","id":"last","method":"initialize"}"#);
    let (rest, ended) = server.finish();
    assert_eq!(ended.code(), Some(0));
    let ids: Vec<Value> = rest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].take())
        .collect();
    assert_eq!(
        ids,
        [json!(2), json!(3), json!("last")],
        "everything is answered first"
    );
}
