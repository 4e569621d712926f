//! `herma serve` with many clients: at once, dying, slow, and hearing of each other.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;

use herma_testkit::env::WorkDir;
use serde_json::Value;
use serde_json::json;

use super::serve_client::Server;
use super::serve_client::wait_until;
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
        let part = client.call("list", params);
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
    client.call("open", json!({"root": project.path()}));
    let mut made = BTreeSet::new();
    let mut note = |answer: &Value| {
        if answer["is_new"] == true {
            made.insert(id_of(&answer["checkpoint"]));
        }
    };
    for round in 0..rounds {
        project.write(format!("{number}.txt"), &format!("{round}\n"));
        match round % 4 {
            0 | 1 => note(&client.call(
                "ensure_checkpoint",
                json!({"reason": format!("{number}/{round}")}),
            )),
            2 => {
                let call = format!("{number}-{round}");
                note(&client.call("record_step", json!({"phase": "begin", "call": call})));
                project.write(format!("{number}.txt"), &format!("{round} in a step\n"));
                note(&client.call("record_step", json!({"phase": "end", "call": call})));
            }
            _ => {
                client.call("list", json!({"limit": 5}));
                client.call("diff", json!({"limit": 5}));
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
    assert_eq!(
        made.len(),
        workers.iter().map(BTreeSet::len).sum::<usize>(),
        "each is one's own"
    );
    assert!(made.len() >= 25, "only {} were made", made.len());
    let lost: Vec<_> = made
        .difference(&listed(&server, &project))
        .cloned()
        .collect();
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
    witness.call("open", json!({"root": project.path()}));
    for round in 0..20 {
        project.write("a.txt", &round.to_string());
        let mut dying = server.connect();
        dying.ask("save", &json!({"root": project.path()}));
        if round % 2 == 0 {
            // One more that is cut off in the middle of its line.
            dying.send(br#"{"jsonrpc":"2.0","id":2,"method":"restore","par"#);
        }
        drop(dying);
        assert_eq!(
            witness.call("status", json!({}))["schema"],
            "herma.status/1"
        );
    }
    // Every client has one of these, which is there as long as the client's other thread is.
    let writers = || {
        let threads = server.threads().into_iter();
        threads.filter(|name| name.starts_with("answers ")).count()
    };
    wait_until("their threads end", || writers() == 1);
    assert_eq!(witness.call("save", json!({}))["outcome"], "done");
    // Files were written while they were saved.
    env.repository().fsck_but_dangling();
}

#[test]
fn what_one_does_others_hear_of() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let other = env.work_dir("other").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut listener = server.connect();
    let topics = json!({"events": ["checkpoint", "restore", "step"], "root": project.path()});
    let subscription = listener.call("subscribe", topics)["subscription"].clone();
    let mut watcher = server.connect();
    watcher.call("subscribe", json!({"events": ["progress"]}));

    let mut client = server.connect();
    client.call("save", json!({"root": other.path()}));
    client.call("open", json!({"root": project.path()}));
    let saved = client.call("save", json!({}));
    client.call("record_step", json!({"phase": "begin", "call": "c"}));
    project.write("a.txt", "two\n");
    client.call("record_step", json!({"phase": "end", "call": "c"}));
    client.call("plan_restore", json!({"checkpoint": 2, "all": true}));
    client.call("restore", json!({"checkpoint": 2, "all": true}));

    listener.call("unsubscribe", json!({"subscription": subscription}));
    client.call("undo", json!({}));
    listener.call("initialize", json!({}));
    let heard: Vec<_> = listener
        .events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        heard,
        ["checkpoint", "step", "step", "checkpoint", "restore"]
    );
    assert_eq!(listener.events[0]["checkpoint"], saved["checkpoint"]);
    assert_eq!(listener.events[0]["subscription"], subscription);
    let phases: Vec<_> = [1, 2].map(|at| listener.events[at]["phase"].clone()).into();
    assert_eq!(phases, ["begin", "end"]);
    assert_eq!(listener.events[4]["written"], 1);
    assert_eq!(
        listener.code("unsubscribe", json!({"subscription": subscription})),
        -32602
    );

    watcher.call("initialize", json!({}));
    let stages: BTreeSet<_> = watcher
        .events
        .iter()
        .map(|event| event["stage"].as_str().unwrap())
        .collect();
    for stage in ["waiting", "scanning", "saving", "restoring"] {
        assert!(stages.contains(stage), "{stages:?}");
    }
}

#[test]
fn a_client_that_does_not_listen_is_told_so_and_holds_nobody_up() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let server = Server::start(&env);
    let mut slow = server.connect();
    for _ in 0..16 {
        slow.call("subscribe", json!({}));
    }
    assert_eq!(slow.code("subscribe", json!({})), -32006);
    let mut client = server.connect();
    client.call("open", json!({"root": project.path()}));
    // Every save is some fifty thousand bytes of events for the one who does not read them.
    for round in 0..40 {
        project.write("a.txt", &round.to_string());
        client.call("save", json!({}));
    }
    slow.call("initialize", json!({}));
    let (last, before) = slow.events.split_last().expect("it heard something");
    assert_eq!(last["event"], "ended", "{last}");
    assert!(
        before.iter().all(|event| event["event"] != "ended"),
        "it is said once"
    );
    slow.events.clear();
    project.write("a.txt", "after");
    client.call("save", json!({}));
    slow.call("initialize", json!({}));
    assert_eq!(slow.events, [""; 0], "its subscriptions are over");
    slow.call("subscribe", json!({}));
}

#[test]
fn one_client_too_many_is_told_so() {
    let env = test_env();
    let server = Server::start(&env);
    let mut clients: Vec<_> = (0..256).map(|_| server.connect()).collect();
    // The last one is certainly served before the next one knocks.
    clients.last_mut().unwrap().call("initialize", json!({}));
    let mut one_too_many = server.connect();
    let refused = one_too_many.line().expect("it is told why");
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&Value::Null, &json!(-32006))
    );
    assert_eq!(one_too_many.line(), None);
    drop(clients.pop());
    wait_until("there is room again", || {
        let mut stream = UnixStream::connect(&server.path).unwrap();
        let asked = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n");
        let mut line = String::new();
        let read = std::io::BufRead::read_line(&mut std::io::BufReader::new(&stream), &mut line);
        asked.is_ok() && read.is_ok() && line.contains("protocol")
    });
    clients[0].call("initialize", json!({}));
}
