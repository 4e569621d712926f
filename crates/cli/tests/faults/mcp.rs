//! A server that dies, or whose calls fail, at any of its calls: what it answered is there, and the next server
//! works without anything cleaned by hand.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use herma_testkit::faults::{Fault, Faults, Outcome, Status};
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, faults};
use serde_json::{Value, json};

use super::disturb::{Disturbed, spread, words};
use super::scene::{Action, Scene, first, id_of, second, third, without_temporary};
use super::{assert_sound, sweep};

/// What a client asks for, in this order: a save, a restore, an undo of it, and a step of an agent.
const SAVE: u64 = 1;
const RESTORE: u64 = 2;
const UNDO: u64 = 3;
const STEP: u64 = 4;

/// A project with two checkpoints and changes nobody saved.
fn scene() -> Scene {
    let prepare = |_: &herma_testkit::WorkDir<'_>, _: &Path| ();
    let history = [first(), second()];
    Scene::prepared(&history, &third(), prepare, &["mcp"], Action::Mark)
}

/// The lines of the client.
fn requests(scene: &Scene) -> String {
    let root = scene.project().path().to_owned();
    let oldest = &scene.saved[0].0;
    let asked = [
        (SAVE, "herma_save", json!({"root": root, "reason": "by a client"})),
        (RESTORE, "herma_restore", json!({"root": root, "checkpoint": oldest, "all": true})),
        (UNDO, "herma_undo", json!({"root": root, "last_prompt": true})),
        (STEP, "herma_step_begin", json!({"root": root, "tool": "shell"})),
    ];
    asked.map(|(id, tool, arguments)| line(id, tool, &arguments)).concat()
}

fn line(id: u64, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    format!("{request}\n")
}

/// What was asked for with `id` and answered with a result.
fn result(answers: &[Value], id: u64) -> Option<&Value> {
    let found = answers.iter().find(|answer| answer["id"] == id)?;
    let result = found.get("result")?;
    (result["isError"] == false).then(|| &result["structuredContent"])
}

fn read_answers(bytes: &[u8]) -> Vec<Value> {
    // The last line may be cut by the end of the server; then it is no answer.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = &bytes[..whole.map_or(0, |at| at + 1)];
    let lines = whole.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let read = |line: &[u8]| serde_json::from_slice(line).expect("every line is JSON");
    lines.map(read).collect()
}

/// The server, with the client's requests for its input.
fn on_stdin(scene: &Scene) -> Faults {
    let input = scene.env.root().join("requests");
    std::fs::write(&input, requests(scene)).unwrap();
    let script = "exec \"$HERMA\" mcp --all-tools < \"$REQUESTS\"";
    in_shell(scene, script).env("REQUESTS", input)
}

fn in_shell(scene: &Scene, script: &str) -> Faults {
    let command = Faults::new("/bin/sh")
        .args(["-c", script])
        .env_clear()
        .current_dir(scene.env.root())
        .env("HERMA", env!("CARGO_BIN_EXE_herma"));
    let variables = scene.env.variables();
    let variables = variables.iter();
    variables.fold(command, |command, (name, value)| command.env(name, value))
}

/// What must hold once a server is gone, after these answers.
fn check(scene: &Scene, answers: &[Value]) {
    assert_sound(&scene.env.repository());
    let listed = scene.listed();
    if let Some(saved) = result(answers, SAVE) {
        let id = id_of(&saved["checkpoint"]);
        assert!(listed.contains(&id), "answered, but not listed: {id}");
        assert_eq!(scene.env.archive_tree(&id), third().as_git());
    }
    let (now, temporary) = without_temporary(scene.project().tree());
    let is_undone = result(answers, UNDO).is_some();
    if scene.is_interrupted() {
        assert!(!is_undone, "answered, but unfinished");
    } else {
        assert_eq!(temporary, 0, "temporary files without a journal");
        // Without a restore to undo, an undo leads to the last checkpoint.
        let without_restore = is_undone && result(answers, RESTORE).is_none();
        let is_somewhere = now == first() || now == third();
        assert!(is_somewhere || (without_restore && now == second()), "neither here nor there");
    }
    if is_undone && result(answers, RESTORE).is_some() {
        assert_same(&third(), &now, "undone, as it was answered");
    }
    if result(answers, STEP).is_some() {
        let steps = super::json(&scene.project().run(["steps", "--all", "--json"]).success());
        assert_eq!(steps["steps"][0]["state"], "open", "{steps}");
    }
    let stash = scene.stash();
    next_server_works(scene);
    scene.reset_to(&stash);
    if scene.is_interrupted() {
        scene.project().run(["undo"]).success();
    }
    sweep::check_usable(scene);
}

/// The next server finishes what was begun, and does everything once more.
fn next_server_works(scene: &Scene) {
    let root = scene.project().path().to_owned();
    let finish = line(0, "herma_continue_restore", &json!({"root": root}));
    let input = scene.env.root().join("requests");
    std::fs::write(&input, format!("{finish}{}", requests(scene))).unwrap();
    let mut command = scene.env.command(scene.env.root());
    command.args(["mcp", "--all-tools"]).stdin(std::fs::File::open(input).unwrap());
    let output = scene.env.finish(&mut command).success();
    let answers = read_answers(&output.stdout);
    for id in [0, SAVE, RESTORE, UNDO, STEP] {
        assert!(result(&answers, id).is_some(), "{id}: {output}");
    }
    assert!(!scene.is_interrupted());
    let now = scene.project().tree();
    let mut states = [first(), second(), third()].into_iter();
    assert!(states.any(|state| state == now), "neither here nor there");
}

#[test]
fn a_server_on_stdin() {
    if !herma_testkit::git::available() {
        return;
    }
    let scene = scene();
    let command = on_stdin(&scene);
    let disturbed = Disturbed {
        name: "mcp",
        command,
        reset: &|| {
            scene.reset();
            on_stdin(&scene);
        },
        check: &|outcome| {
            assert!(!outcome.timed_out, "it hung\n{}", words(outcome));
            let answers = read_answers(&outcome.stdout);
            assert_ended(outcome, &answers);
            check(&scene, &answers);
        },
    };
    disturbed.everywhere(6);
}

/// A server was killed, or has answered everything: what failed, with an error that says what.
fn assert_ended(outcome: &Outcome, answers: &[Value]) {
    if outcome.status == Status::Signaled(9) {
        return;
    }
    assert_eq!(outcome.status, Status::Exited(0), "{}", words(outcome));
    for id in [SAVE, RESTORE, UNDO, STEP] {
        let answer = answers.iter().find(|answer| answer["id"] == id);
        let answer = answer.unwrap_or_else(|| panic!("{id} has no answer: {}", words(outcome)));
        let message = answer["result"]["content"][0]["text"].as_str();
        assert!(message.is_some_and(|text| !text.is_empty()), "{answer}");
    }
}

/// A client that connects as soon as somebody listens, asks for everything, and ends the server when it has all
/// answers. The answers it got before the server was gone.
fn ask_on_socket(socket: &Path, requests: &str, is_over: &AtomicBool) -> Vec<u8> {
    let stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(_) if is_over.load(Ordering::Relaxed) => return Vec::new(),
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut writer = stream.try_clone().expect("a socket");
    // A server that is gone reads nothing, which is what this is about.
    let _ = writer.write_all(requests.as_bytes());
    let mut heard = Vec::new();
    let mut reader = BufReader::new(stream);
    let mut lines = 0;
    while reader.read_until(b'\n', &mut heard).is_ok_and(|length| length > 0) {
        lines += 1;
        if lines == requests.lines().count() {
            let number = std::fs::read_to_string(number_of(socket)).expect("it said its number");
            // It may be gone by now.
            let _ = Command::new("kill").arg(number.trim()).bounded_status();
        }
    }
    heard
}

/// Where a server says by which number it can be ended.
fn number_of(socket: &Path) -> PathBuf {
    socket.with_extension("pid")
}

/// Runs a server on a socket with a fault, and a client that talks to it.
fn run_on_socket(scene: &Scene, socket: &Path, fault: Fault, n: u64) -> (Outcome, Vec<Value>) {
    let script = "echo $$ > \"$NUMBER\"; exec \"$HERMA\" mcp --all-tools --socket \"$SOCKET\"";
    let server = in_shell(scene, script).env("SOCKET", socket).env("NUMBER", number_of(socket));
    let requests = requests(scene);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let client = scope.spawn(|| ask_on_socket(socket, &requests, &is_over));
        let outcome = server.run(fault, n);
        is_over.store(true, Ordering::Relaxed);
        let heard = client.join().expect("the client comes to its end");
        (outcome, read_answers(&heard))
    })
}

#[test]
fn a_server_on_a_socket_that_is_left_behind() {
    if !faults::available() || !herma_testkit::git::available() {
        return;
    }
    let scene = scene();
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("s");
    let (plain, answers) = run_on_socket(&scene, &socket, Fault::Count, 0);
    assert_eq!(plain.status, Status::Exited(0), "{}", words(&plain));
    assert!(result(&answers, STEP).is_some(), "{answers:?}");
    let (mut visited, mut left) = (0, 0);
    for (offset, fault) in (0..).zip([Fault::Kill, Fault::KillAfter]) {
        for n in spread(plain.count, 12, offset) {
            scene.reset();
            let (outcome, answers) = run_on_socket(&scene, &socket, fault, n);
            assert!(!outcome.timed_out, "at {n}: it hung");
            visited += 1;
            left += u32::from(std::fs::symlink_metadata(&socket).is_ok());
            let stash = scene.stash();
            // The next one listens at the same place, whatever is there.
            let finish = run_on_socket(&scene, &socket, Fault::Count, 0);
            assert_eq!(finish.0.status, Status::Exited(0), "at {n}: {}", words(&finish.0));
            assert!(result(&finish.1, SAVE).is_some(), "at {n}: {:?}", finish.1);
            assert!(std::fs::symlink_metadata(&socket).is_err(), "the socket stays");
            scene.reset_to(&stash);
            check(&scene, &answers);
        }
    }
    assert!(left > 0, "no socket was ever left behind");
    eprintln!("mcp --socket: {} calls, {visited} visited, {left} sockets left", plain.count);
}
