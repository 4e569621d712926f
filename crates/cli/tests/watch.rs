//! `herma watch` as saves meet it: started by one, asked by the next, killed, silent, talking nonsense, of another
//! version. Whatever it does, every save is right.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs
)]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Child;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use herma_testkit::Bounded;
use herma_testkit::env::TestEnv;
use herma_testkit::env::WorkDir;
use serde_json::Value;

fn world() -> TestEnv {
    let env = TestEnv::with_program(env!("CARGO_BIN_EXE_herma"));
    fs::create_dir(env.home()).unwrap();
    fs::write(
        env.home().join("config.yaml"),
        "checkpoints:\n  watch: on\n",
    )
    .unwrap();
    env
}

fn socket(env: &TestEnv) -> PathBuf {
    env.home().join("herma/watch/socket")
}

/// A watcher in the foreground, ended with the test.
struct Watcher(Child);

impl Watcher {
    fn start(project: &WorkDir<'_>, env: &TestEnv, args: &[&str]) -> Self {
        let mut command = env.command(project.path());
        command.arg("watch").args(args).stderr(Stdio::null());
        let watcher = Self(command.bounded_spawn().unwrap());
        until("it listens", || status(project)["running"] == true);
        watcher
    }

    fn ends(&mut self) {
        until("it ends", || self.0.try_wait().unwrap().is_some());
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn json(project: &WorkDir<'_>, args: &[&str]) -> Value {
    let output = project.run([args, &["--json"]].concat()).success();
    serde_json::from_str(output.text()).unwrap()
}

fn status(project: &WorkDir<'_>) -> Value {
    json(project, &["watch", "--status"])
}

fn save(project: &WorkDir<'_>) -> Value {
    json(project, &["save"])
}

/// Saves until the watcher answers for the project.
fn until_answered(project: &WorkDir<'_>) {
    let answers = || status(project)["watcher"]["projects"][0]["answers"].as_u64();
    let before = answers().unwrap_or(0);
    until("it answers", || {
        save(project);
        answers().unwrap_or(0) > before
    });
}

/// Changes a file, and expects a save to see it.
#[track_caller]
fn sees_a_change(project: &WorkDir<'_>, text: &str) {
    project.write("a/file", text);
    assert_eq!(save(project)["is_new"], true, "{text}");
    assert_eq!(json(project, &["save", "--rehash"])["is_new"], false);
}

#[test]
fn a_save_starts_a_watcher_and_later_saves_ask_it() {
    let mut env = world();
    env.set("HERMA_NO_BACKGROUND", "0");
    let project = env.work_dir("project");
    project.write("a/file", "one");
    assert_eq!(status(&project)["running"], false);
    save(&project);
    until("it runs", || status(&project)["running"] == true);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(socket(&env)), 0o600);
    assert_eq!(mode(env.home().join("herma/watch")), 0o700);
    until_answered(&project);
    assert_eq!(save(&project)["is_new"], false);
    sees_a_change(&project, "two");
    until_answered(&project);
    sees_a_change(&project, "three");
    let doctor = project.run(["doctor"]);
    assert!(doctor.text().contains("watches 1 project"));
    let _ = json(&project, &["watch", "--stop"]);
    until("it ends", || !socket(&env).exists());
    assert_eq!(status(&project)["running"], false);
}

#[test]
fn nothing_is_started_where_nothing_may_be() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    save(&project);
    sees_a_change(&project, "two");
    assert!(!socket(&env).exists());
    fs::write(env.home().join("config.yaml"), "").unwrap();
    let mut env = env;
    env.set("HERMA_NO_BACKGROUND", "0");
    let project = env.work_dir("project");
    sees_a_change(&project, "a project with few files");
    assert!(!env.home().join("herma/watch").exists());
}

#[test]
fn status_says_in_words_what_is_watched_and_that_nobody_answers() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    let none = project.run(["watch", "--status"]).success();
    assert_eq!(none.text(), "No watcher runs.\n");
    let watcher = Watcher::start(&project, &env, &[]);
    until_answered(&project);
    let status = project.run(["watch", "--status"]).success();
    let text = status.text();
    assert!(text.contains("watches 1 project"), "{text}");
    assert!(text.contains("ready, 2 directories"), "{text}");
    let pid = watcher.0.id().to_string();
    let signal = |signal: &str| {
        let mut kill = std::process::Command::new("kill");
        assert!(
            kill.args([signal, pid.as_str()])
                .bounded_status()
                .unwrap()
                .success()
        );
    };
    signal("-STOP");
    let silent = project.run(["watch", "--status"]);
    signal("-CONT");
    let silent = silent.code(1);
    assert!(
        silent
            .error_text()
            .contains("did not answer within 5 seconds"),
        "{}",
        silent.error_text()
    );
}

#[test]
fn a_watcher_that_was_killed_costs_nothing_but_time() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    let mut first = Watcher::start(&project, &env, &[]);
    until_answered(&project);
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    assert!(socket(&env).exists(), "it had no time to clean up");
    sees_a_change(&project, "two");
    let _second = Watcher::start(&project, &env, &[]);
    project.write("a/file", "three, before the second one knew of it");
    assert_eq!(save(&project)["is_new"], true);
    until_answered(&project);
    sees_a_change(&project, "four");
    let busy = project.run(["watch"]);
    busy.code(11);
}

#[test]
fn a_socket_that_is_silent_or_talks_nonsense_is_not_waited_for() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    save(&project);
    fs::create_dir_all(env.home().join("herma/watch")).unwrap();
    let listener = UnixListener::bind(socket(&env)).unwrap();
    sees_a_change(&project, "two");
    let nonsense = std::thread::spawn(move || {
        for client in listener.incoming().take(3).flatten() {
            let _ = (&client).write_all(b"\x04\0\0\0\x02....");
        }
    });
    sees_a_change(&project, "three");
    sees_a_change(&project, "four");
    // Whoever is still waited for by the thread is let go.
    while !nonsense.is_finished() {
        let _ = UnixStream::connect(socket(&env));
    }
    nonsense.join().unwrap();
    sees_a_change(&project, "five");
}

#[test]
fn nonsense_ends_a_connection_and_another_version_the_watcher() {
    let env = world();
    let project = env.work_dir("project");
    let mut watcher = Watcher::start(&project, &env, &[]);
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(socket(&env)).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(bytes).unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        heard
    };
    assert!(say(&[255; 64]).is_empty());
    assert!(say(b"\x03\0\0\0\x01\x7f.").is_empty());
    assert_eq!(status(&project)["running"], true);
    let heard = say(b"\x08\0\0\0\x01\x05x.y.z\x02");
    assert_eq!(heard, [2, 0, 0, 0, 0, 5], "it does not know");
    watcher.ends();
    assert!(!socket(&env).exists());
    sees_a_change(&project, "without it");
}

#[test]
fn a_watcher_nobody_asks_or_finds_ends() {
    let env = world();
    let project = env.work_dir("project");
    let mut idle = Watcher::start(&project, &env, &["--idle", "1"]);
    idle.ends();
    let mut lost = Watcher::start(&project, &env, &[]);
    fs::remove_file(socket(&env)).unwrap();
    lost.ends();
    let mut homeless = Watcher::start(&project, &env, &[]);
    fs::rename(env.home(), env.root().join("moved")).unwrap();
    homeless.ends();
}

#[test]
fn a_home_where_no_watcher_can_be_is_as_good_as_any() {
    let mut env = world();
    env.set("HERMA_NO_BACKGROUND", "0");
    fs::create_dir(env.home().join("herma")).unwrap();
    fs::write(env.home().join("herma/watch"), "in the way").unwrap();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    save(&project);
    sees_a_change(&project, "two");
    let refused = project.run(["watch"]);
    refused.code(1);
    assert_eq!(
        fs::read_to_string(env.home().join("herma/watch")).unwrap(),
        "in the way"
    );
}

#[test]
fn what_the_system_tells_nobody_is_found_by_looking() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    let _watcher = Watcher::start(&project, &env, &["--check", "1"]);
    until_answered(&project);
    std::thread::sleep(Duration::from_millis(20));
    until_answered(&project);
    let outside = env.root().join("outside");
    fs::hard_link(project.path().join("a/file"), &outside).unwrap();
    fs::write(&outside, "through a name that is not in the project").unwrap();
    until("it is found", || save(&project)["is_new"] == true);
    let status = status(&project);
    assert_eq!(status["watcher"]["projects"][0]["missed"], 1);
    assert_eq!(json(&project, &["save", "--rehash"])["is_new"], false);
}

/// Runs a script in the project, where what it mounts is seen by nobody else. `None` where nothing can be mounted.
fn with_mounts(env: &TestEnv, project: &WorkDir<'_>, script: &str) -> Option<Vec<Value>> {
    let mut command = std::process::Command::new("unshare");
    command
        .args(["-m", "sh", "-c"])
        .arg(format!(
            "mount -t tmpfs none /mnt || exit 77; set -eu; cd \"$PROJECT\"\n{script}"
        ))
        .env_clear()
        .envs(env.variables())
        .env("PROJECT", project.path())
        .env("HERMA", env!("CARGO_BIN_EXE_herma"));
    let output = command.bounded_output().unwrap();
    if output.status.code() == Some(77) {
        let reason = "no file systems can be mounted here (unshare -m, mount)";
        herma_testkit::skipped("mounts", reason);
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('{'));
    Some(
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// What is left out is told by exit code 3.
const SAVE: &str = r#"save() { "$HERMA" save --json | tr -d '\n'; echo; }"#;

#[test]
fn what_is_mounted_over_a_directory_is_seen() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    project.write("b/file", "two");
    let script = format!(
        r#"{SAVE}
        "$HERMA" watch >/dev/null 2>&1 & watcher=$!
        trap 'kill $watcher' EXIT
        tries=0
        until "$HERMA" watch --status --json | grep -q '"answers": *[1-9]'; do
            "$HERMA" save >/dev/null; tries=$((tries + 1)); test $tries -lt 500; sleep 0.05
        done
        save
        mount -t tmpfs none a
        save
        umount a
        save
        save
        "#
    );
    let Some(saves) = with_mounts(&env, &project, &script) else {
        return;
    };
    let is_new: Vec<bool> = saves
        .iter()
        .map(|save| save["is_new"].as_bool().unwrap())
        .collect();
    assert_eq!(is_new, [false, true, true, false], "{saves:?}");
}

#[test]
fn a_watcher_that_sees_other_mounts_is_not_believed() {
    let env = world();
    let project = env.work_dir("project");
    project.write("a/file", "one");
    project.write("b/file", "two");
    let _watcher = Watcher::start(&project, &env, &[]);
    until_answered(&project);
    let script = format!("{SAVE}\nmount -t tmpfs none a; save; echo more > b/file; save");
    let Some(saves) = with_mounts(&env, &project, &script) else {
        return;
    };
    assert!(saves.iter().all(|save| save["is_new"] == true), "{saves:?}");
    assert_eq!(saves.len(), 2);
    assert_eq!(save(&project)["is_new"], true, "here it is there again");
    sees_a_change(&project, "three");
}
