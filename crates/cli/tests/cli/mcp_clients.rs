//! `herma mcp --socket` with many clients: at once, dying, slow, and hearing of each other.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;

use herma_testkit::env::WorkDir;
use serde_json::{Value, json};

use super::mcp_client::{Server, wait_until};
use super::test_env;

/// The id of a checkpoint.
fn id_of(checkpoint: &Value) -> String {
    checkpoint["id"].as_str().expect("an id").to_owned()
}

/// The ids of all checkpoints of a project.
fn listed(server: &Server, project: &WorkDir<'_>) -> BTreeSet<String> {
    let mut client = server.connect();
    let root = project.path();
    let mut ids = BTreeSet::new();
    loop {
        let params = json!({"root": root, "offset": ids.len(), "limit": 1000});
        let part = client.tool("herma_timeline", params);
        let checkpoints = part["checkpoints"].as_array().expect("a list");
        ids.extend(checkpoints.iter().map(id_of));
        if part["more"] == false {
            return ids;
        }
    }
}

/// One client's share of the work; returns the checkpoints that were answered as new.
fn work(server: &Server, project: &WorkDir<'_>, number: usize, rounds: usize) -> BTreeSet<String> {
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let mut made = BTreeSet::new();
    let mut note = |answer: &Value| {
        if answer["is_new"] == true {
            made.insert(id_of(&answer["checkpoint"]));
        }
    };
    for round in 0..rounds {
        project.write(format!("{number}.txt"), &format!("{round}\n"));
        match round % 4 {
            0 | 1 => {
                note(&client.tool("herma_save", json!({"reason": format!("{number}/{round}")})));
            }
            2 => {
                let call = format!("{number}-{round}");
                note(&client.tool("herma_step_begin", json!({"call": call})));
                project.write(format!("{number}.txt"), &format!("{round} in a step\n"));
                note(&client.tool("herma_step_end", json!({"call": call})));
            }
            _ => {
                client.tool("herma_timeline", json!({"limit": 5}));
                client.tool("herma_diff", json!({"limit": 5}));
            }
        }
    }
    made
}

#[test]
fn eight_clients_at_once_lose_no_checkpoint() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let workers: Vec<_> = thread::scope(|scope| {
        let begun: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn({
                    let (server, project) = (&server, &project);
                    move || work(server, project, number, 25)
                })
            })
            .collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let made: BTreeSet<String> = workers.iter().flatten().cloned().collect();
    assert_eq!(made.len(), workers.iter().map(BTreeSet::len).sum::<usize>(), "each is one's own");
    assert!(made.len() >= 25, "only {} were made", made.len());
    let lost: Vec<_> = made.difference(&listed(&server, &project)).cloned().collect();
    assert_eq!(lost, [""; 0]);
    // They write while others save: what was read half-way is in a pack, and nobody needs it.
    env.repository().fsck_but_dangling();
}

#[test]
fn a_client_that_dies_in_the_middle_harms_nobody() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut witness = server.connect();
    witness.root = Some(project.path().to_owned());
    for round in 0..20 {
        project.write("a.txt", &round.to_string());
        let mut dying = server.connect();
        let save = dying.for_tool("herma_save", json!({"root": project.path()}));
        dying.ask("tools/call", &save);
        if round % 2 == 0 {
            // One more that is cut off in the middle of its line.
            dying.send(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","par"#);
        }
        drop(dying);
        assert_eq!(witness.tool("herma_status", json!({}))["schema"], "herma.status/2");
    }
    // Every client has one of these, which is there as long as the client's other thread is.
    let writers = || {
        let threads = server.threads().into_iter();
        threads.filter(|name| name.starts_with("answers ")).count()
    };
    wait_until("their threads end", || writers() == 1);
    assert_eq!(witness.tool("herma_save", json!({}))["outcome"], "done");
    // Files were written while they were saved.
    env.repository().fsck_but_dangling();
}

/// The addresses of a project's resources.
fn uri(kind: &str, project: &WorkDir<'_>) -> Value {
    json!({"uri": format!("herma://{kind}{}", project.path().display())})
}

#[test]
fn what_one_does_others_hear_of() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let other = env.work_dir("other").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut listener = server.connect();
    let (checkpoints, steps) = (uri("checkpoints", &project), uri("steps", &project));
    listener.call("resources/subscribe", checkpoints.clone());
    listener.call("resources/subscribe", steps.clone());
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let mut heard_after = |tool: &str, arguments: Value| {
        client.tool(tool, arguments);
        listener.call("ping", json!({}));
        let heard = std::mem::take(&mut listener.events).into_iter();
        let is_about = |event: &Value| {
            assert_eq!(event["method"], "notifications/resources/updated");
            event["params"].clone()
        };
        heard.map(|event| is_about(&event)).collect::<Vec<_>>()
    };
    let nothing: [Value; 0] = [];
    let root = json!({"root": other.path()});
    assert_eq!(heard_after("herma_save", root), nothing);
    assert_eq!(heard_after("herma_save", json!({})), std::slice::from_ref(&checkpoints));
    assert_eq!(heard_after("herma_save", json!({})), nothing, "nothing new");
    let begin = json!({"call": "c"});
    assert_eq!(heard_after("herma_step_begin", begin.clone()), std::slice::from_ref(&steps));
    project.write("a.txt", "two\n");
    let both = [checkpoints.clone(), steps.clone()];
    assert_eq!(heard_after("herma_step_end", begin), both);
    let back = json!({"checkpoint": 2, "all": true});
    let plan = json!({"checkpoint": 2, "all": true, "dry_run": true});
    assert_eq!(heard_after("herma_restore", plan), nothing);
    assert_eq!(heard_after("herma_restore", back), both);
    listener.call("resources/unsubscribe", steps);
    client.tool("herma_undo", json!({"last_prompt": true}));
    listener.call("ping", json!({}));
    assert_eq!(listener.events.len(), 1);
    assert_eq!(listener.events[0]["params"], checkpoints);
}

#[test]
fn who_wants_to_know_hears_how_far_a_request_is() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    let mut save = client.for_tool("herma_save", json!({}));
    client.call("tools/call", save.clone());
    assert_eq!(client.events, [""; 0], "nobody asked");
    project.write("a.txt", "two\n");
    save["_meta"] = json!({"progressToken": "t"});
    client.call("tools/call", save);
    let mut before = 0;
    assert!(!client.events.is_empty());
    for event in &client.events {
        assert_eq!(event["method"], "notifications/progress");
        let told = &event["params"];
        assert_eq!(told["progressToken"], "t");
        let now = told["progress"].as_u64().unwrap();
        assert!(now > before, "it only grows: {event}");
        before = now;
    }
}

#[test]
fn a_client_that_does_not_listen_holds_nobody_up_and_hears_of_it_later() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut slow = server.connect();
    slow.call("resources/subscribe", uri("checkpoints", &project));
    for number in 1..64 {
        let uri = json!({"uri": format!("herma://steps/{number}")});
        slow.call("resources/subscribe", uri);
    }
    let one_too_many = json!({"uri": "herma://steps/65"});
    assert_eq!(slow.code("resources/subscribe", one_too_many), -32006);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    for round in 0..40 {
        project.write("a.txt", &round.to_string());
        client.tool("herma_save", json!({}));
    }
    slow.call("ping", json!({}));
    let heard = &slow.events;
    assert!((1..=40).contains(&heard.len()), "{heard:?}");
    assert!(heard.iter().all(|event| event["params"] == uri("checkpoints", &project)));
}

#[test]
fn a_request_that_is_cancelled_is_not_answered_and_the_next_one_is() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    client.root = Some(project.path().to_owned());
    client.tool("herma_save", json!({}));
    project.write("a.txt", "two\n");
    project.write("big.txt", &"a line of a big file\n".repeat(40_000));
    let line = |id: &str, method: &str, params: &Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        format!("{request}\n")
    };
    // Nothing begins before the answer before is taken up, and the first one does not fit into the socket.
    let diff = client.for_tool("herma_diff", json!({"max_bytes": 1 << 20}));
    let restore = client.for_tool("herma_restore", json!({"checkpoint": 1}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c", "reason": "no"}});
    let lines = [
        line("a", "tools/call", &diff),
        line("b", "ping", &json!({})),
        line("c", "tools/call", &restore),
        format!("{cancel}\n"),
        line("d", "ping", &json!({})),
    ];
    client.send(lines.concat().as_bytes());
    let mut other = server.connect();
    for _ in 0..100 {
        other.call("ping", json!({}));
    }
    let mut answered = Vec::new();
    while answered.last() != Some(&json!("d")) {
        answered.push(client.answer()["id"].take());
    }
    assert_eq!(answered, ["a", "b", "d"]);
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn an_id_that_is_under_way_is_refused() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut client = server.connect();
    let save = json!({"name": "herma_save", "arguments": {"root": project.path()}});
    let save = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": save});
    client.send(format!("{save}\n{save}\n").as_bytes());
    let answers = [client.answer(), client.answer()];
    assert!(answers.iter().all(|answer| answer["id"] == 7));
    let refused = answers.iter().filter(|one| one["error"]["code"] == -32600);
    assert_eq!(refused.count(), 1, "{answers:?}");
}

#[test]
fn one_client_too_many_is_told_so() {
    let env = test_env();
    let server = Server::start(&env);
    let mut clients: Vec<_> = (0..256).map(|_| server.connect()).collect();
    // The last one is certainly served before the next one knocks.
    clients.last_mut().unwrap().call("ping", json!({}));
    let mut one_too_many = server.connect();
    let refused = one_too_many.line().expect("it is told why");
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32006)));
    assert_eq!(one_too_many.line(), None);
    drop(clients.pop());
    wait_until("there is room again", || {
        let mut stream = UnixStream::connect(&server.path).unwrap();
        let asked = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let mut line = String::new();
        let read = std::io::BufRead::read_line(&mut std::io::BufReader::new(&stream), &mut line);
        asked.is_ok() && read.is_ok() && line.contains("result")
    });
    clients[0].call("ping", json!({}));
}
