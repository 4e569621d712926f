//! Control-C: the command ends soon, with 130, and leaves nothing behind.

use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use herma_testkit::TestEnv;
use herma_testkit::random::Random;

use super::assert_sound;
use super::test_env;

/// Sends a signal to a save as soon as it has begun to write its pack, and returns its exit code.
fn interrupt(env: &TestEnv, signal: &str) -> Option<i32> {
    let project = env.work_dir("project");
    let temporary = env.store().join("herma/tmp");
    let mut child = env
        .command(project.path())
        .arg("save")
        .stderr(Stdio::null())
        .spawn()
        .expect("the program can be started");
    let is_writing = || {
        let entries = std::fs::read_dir(&temporary)
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter_map(|entry| entry.metadata().ok())
            .any(|metadata| metadata.len() > 1 << 16)
    };
    while !is_writing() {
        let ended = child.try_wait().expect("a child can be asked");
        assert_eq!(
            ended, None,
            "the save is over before it could be interrupted"
        );
        thread::sleep(Duration::from_micros(200));
    }
    let killed = Command::new("/bin/sh")
        .args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal])
        .arg(child.id().to_string())
        .status()
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
    for signal in ["INT", "TERM"] {
        assert_eq!(interrupt(&env, signal), Some(130), "SIG{signal}");
        let left: Vec<_> = std::fs::read_dir(env.store().join("herma/tmp"))
            .unwrap()
            .collect();
        assert!(left.is_empty(), "SIG{signal} left {left:?}");
        assert_sound(&env.repository());
        let listed = project.run(["list", "-z"]).success();
        assert_eq!(listed.text().matches('\0').count(), 1, "{listed}");
    }
    project.run(["save"]).success();
    assert_sound(&env.repository());
}
