//! Control-C, a request to end, a terminal that is closed: the command ends soon, with 130, and leaves nothing
//! behind. An answer that nobody reads changes nothing about what was done.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use herma_testkit::faults::{Fault, Outcome, Status};
use herma_testkit::random::Random;
use herma_testkit::{Bounded, TestEnv};

use super::scene::Scene;
use super::sweep::{SIGHUP, SIGINT, SIGTERM, check, sweep};
use super::{assert_sound, test_env};

const SIGPIPE: i32 = 13;

/// Sends a signal to a save as soon as it has begun to write its pack, and returns its exit code.
fn interrupt(env: &TestEnv, signal: &str) -> Option<i32> {
    let project = env.work_dir("project");
    let temporary = env.store().join("herma/tmp");
    let mut child = env
        .command(project.path())
        .arg("save")
        .stderr(Stdio::null())
        .bounded_spawn()
        .expect("the program can be started");
    let is_writing = || {
        let entries = std::fs::read_dir(&temporary).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).any(|metadata| metadata.len() > 1 << 16)
    };
    while !is_writing() {
        let ended = child.try_wait().expect("a child can be asked");
        assert_eq!(ended, None, "the save is over before it could be interrupted");
        thread::sleep(Duration::from_micros(200));
    }
    let killed = Command::new("/bin/sh")
        .args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal])
        .arg(child.id().to_string())
        .bounded_status()
        .expect("a shell is there");
    assert!(killed.success());
    child.wait().expect("a child can be waited for").code()
}

#[test]
fn an_interrupted_save_leaves_nothing_behind() {
    let env = test_env();
    let project = env.work_dir("project").files([("first.txt", "first\n")]);
    project.run(["save"]).success();
    let mut random = Random::new(1);
    for n in 0..200 {
        project.write_bytes(format!("{n:03}.bin"), &random.bytes(200_000));
    }
    for signal in ["INT", "TERM", "HUP"] {
        assert_eq!(interrupt(&env, signal), Some(130), "SIG{signal}");
        let left: Vec<_> = std::fs::read_dir(env.store().join("herma/tmp")).unwrap().collect();
        assert!(left.is_empty(), "SIG{signal} left {left:?}");
        assert_sound(&env.repository());
        let listed = project.run(["list", "-z"]).success();
        assert_eq!(listed.text().matches('\0').count(), 1, "{listed}");
    }
    project.run(["save"]).success();
    assert_sound(&env.repository());
}

/// Every signal that asks for an end, at every call of one command.
fn stop_everywhere(name: &str, scene: &Scene) {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        sweep(name, scene, Fault::Signal(signal), 12);
    }
    // Nobody sends this one, and the program does not hear it.
    sweep(name, scene, Fault::Signal(SIGPIPE), 24);
    assert_heard(name, scene);
}

/// Without this, a program that is deaf would pass.
fn assert_heard(name: &str, scene: &Scene) {
    if !herma_testkit::faults::available() {
        return;
    }
    let is_heard = |n: u64| {
        scene.reset();
        let outcome = scene.faults().run(Fault::Signal(SIGINT), n);
        outcome.status == Status::Exited(130)
    };
    let early = [2, 4, 8, 16, 32];
    assert!(early.into_iter().any(is_heard), "{name} does not stop");
}

#[test]
fn a_first_save_that_is_stopped_leaves_nothing() {
    stop_everywhere("first save", &Scene::first_save());
}

#[test]
fn a_save_that_is_stopped_leaves_nothing() {
    stop_everywhere("save", &Scene::second_save());
}

#[test]
fn a_restore_that_is_stopped_is_done_or_undone_or_can_be_finished() {
    stop_everywhere("restore", &Scene::restore());
}

#[test]
fn a_collection_that_is_stopped_harms_nothing() {
    stop_everywhere("gc", &Scene::gc());
}

/// Runs a command with an answer that nobody reads.
fn unread(command: &mut Command) -> std::process::Output {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    let started = command.stdout(writer).stderr(Stdio::piped());
    let child = started.bounded_spawn().expect("it can be started");
    child.bounded_output().expect("it ends")
}

/// Runs a scene's command with an answer that nobody reads.
fn run_unread(scene: &Scene) -> Outcome {
    let output = unread(&mut scene.command());
    Outcome {
        status: output.status.code().map_or(Status::Signaled(SIGPIPE), Status::Exited),
        stderr: output.stderr,
        ..Outcome::unsupported()
    }
}

#[test]
fn an_answer_that_nobody_reads_changes_nothing_about_what_was_done() {
    if !herma_testkit::git::available() {
        return;
    }
    let scenes = [Scene::restore, Scene::gc, Scene::prune, Scene::drop, Scene::purge];
    for scene in scenes.map(|scene| scene()) {
        let outcome = run_unread(&scene);
        assert_eq!(outcome.status, Status::Exited(0), "{outcome:?}");
        check(&scene, &outcome);
    }
    let scene = Scene::second_save();
    let outcome = run_unread(&scene);
    assert_eq!(outcome.status, Status::Exited(0), "{outcome:?}");
    let new = scene.listed().swap_remove(0);
    assert_eq!(scene.listed().len(), scene.saved.len() + 1);
    scene.assert_restores(&new, &scene.present);
    assert_eq!(scene.litter(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_clearing_that_nobody_reads_of_is_done_when_it_is_forced_and_refused_otherwise() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let mut command = project.command();
    let prune = command.args(["checkpoints", "prune", "--max-snapshots", "1"]);
    let refused = unread(prune);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("Nothing was removed."), "{said}");
    let mut command = project.command();
    let cleared = unread(command.args(["checkpoints", "clear", "--force"]));
    assert!(cleared.status.success());
    assert!(!env.store().join("HEAD").exists(), "cleared as asked");
}
