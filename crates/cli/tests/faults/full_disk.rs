//! Disks that are really full: small tmpfs mounts in a mount namespace of their own.

use std::path::PathBuf;
use std::process::Command;

use herma_testkit::git::Repository;
use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, Output, TestEnv};

use super::{assert_sound, test_env};

/// Can file systems be mounted here, out of everybody's sight?
pub(super) fn can_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .bounded_output();
    let can = tried.is_ok_and(|output| output.status.success());
    let otherwise = "no file systems can be mounted here (unshare -m, mount)";
    herma_testkit::skips::needs("mounts", can, otherwise)
}

/// Runs a script in the project, with a tmpfs on `$MOUNT` that goes away with the script.
#[track_caller]
fn run_mounted(env: &TestEnv, mount: PathBuf, options: &str, script: &str) -> Output {
    std::fs::create_dir_all(&mount).unwrap();
    let project = env.work_dir("project");
    let script = format!(
        "set -eu; mount -t tmpfs -o mode=0700,{options} none \"$MOUNT\"; cd \"$PROJECT\"\n{script}"
    );
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", &script])
        .env_clear()
        .envs(env.variables())
        .env("MOUNT", mount)
        .env("PROJECT", project.path())
        .env("HERMA", env!("CARGO_BIN_EXE_herma"))
        .env("OUT", env.root().join("tmp"));
    env.finish(&mut command)
}

/// A save fails for want of space, the store stays whole, and the next one works.
#[track_caller]
fn a_full_store(options: &str) {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.write_bytes("../big", &Random::new(1).bytes(3 << 20));
    let script = r#"
        "$HERMA" save
        cp ../big big.bin
        # Many small saves use up inodes, the big one uses up bytes.
        code=0; n=0
        while [ $code = 0 ] && [ $n -lt 200 ]; do
            n=$((n + 1)); echo $n > a.txt
            code=0; "$HERMA" save 2> "$OUT/error" || code=$?
        done
        echo "$code"
        ls "$MOUNT/checkpoints/store/herma/tmp"
        cp -a "$MOUNT/checkpoints/store" "$OUT/store"
        rm big.bin
        "$HERMA" list -z | tr '\0' '\n' | wc -l
        "$HERMA" restore "$("$HERMA" list -z | tr '\0' '\n' | tail -n 1 | cut -f 1)" a.txt --dry-run > "$OUT/plan"
        "$HERMA" show 1 > "$OUT/show"
    "#;
    let output = run_mounted(&env, env.home(), options, script).success();
    let mut lines = output.text().lines();
    assert_eq!(lines.next(), Some("1"), "the save fails: {output}");
    let count = lines.next().and_then(|line| line.trim().parse::<usize>().ok());
    assert!(count.is_some_and(|count| count >= 1), "nothing is left in tmp: {output}");
    let error = std::fs::read_to_string(env.root().join("tmp/error")).unwrap();
    assert!(error.contains("No space left on device"), "{error}");
    assert_sound(&Repository::at(env.root().join("tmp/store")));
}

#[test]
fn a_store_without_free_bytes_keeps_what_it_has() {
    a_full_store("size=2m");
}

#[test]
fn a_store_without_free_inodes_keeps_what_it_has() {
    a_full_store("size=64m,nr_inodes=80");
}

#[test]
fn a_project_without_room_to_restore_into_stays_as_it_is() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project");
    let mut random = Random::new(2);
    for name in ["../one", "../two", "../three"] {
        project.write_bytes(name, &random.bytes(400_000));
    }
    // In the mount there is room for two of the three, and a restore writes beside.
    let script = r#"
        cp ../one a; "$HERMA" save --name good
        cp ../two a; cp ../three b
        code=0; "$HERMA" restore good 2> "$OUT/error" || code=$?
        echo "$code"
        mkdir "$OUT/after"; cp -a . "$OUT/after"
        "$HERMA" undo
        cmp a ../two; cmp b ../three
        rm b
        "$HERMA" restore good
        cmp a ../one; test ! -e b
        "$HERMA" undo
        cmp a ../two; test ! -e b
    "#;
    let output = run_mounted(&env, project.path().into(), "size=1m", script).success();
    assert_eq!(output.text().lines().next(), Some("1"), "{output}");
    let error = std::fs::read_to_string(env.root().join("tmp/error")).unwrap();
    assert!(error.contains("No space left on device"), "{error}");
    let after = herma_testkit::Tree::read(env.root().join("tmp/after"));
    let files = ["a", "b"].map(|name| after.file(name).map(<[u8]>::len));
    assert_eq!(files, [Some(400_000); 2], "both files are whole");
    let mut expected = after.clone();
    expected.0.retain(|path, _| path.len() == 1);
    assert_same(&expected, &after, "no temporary files are left");
    assert_sound(&env.repository());
}

#[test]
fn cleaning_works_without_a_free_byte() {
    if !can_mount() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut random = Random::new(3);
    for n in 0..12 {
        project.write_bytes(format!("../part-{n}"), &random.bytes(200_000));
    }
    let script = r#"
        "$HERMA" save
        code=0; n=0
        while [ $code = 0 ] && [ $n -lt 12 ]; do
            cp "../part-$n" big.bin; n=$((n + 1))
            code=0; "$HERMA" save 2> "$OUT/error" || code=$?
        done
        echo "save: $code"
        cat /dev/zero > "$MOUNT/filler" 2> /dev/null || true
        df --output=avail "$MOUNT" | tail -n 1
        "$HERMA" list -z | tr '\0' '\n' | cut -f 1 | head -n 2 > "$OUT/newest"
        "$HERMA" checkpoints prune --force --max-snapshots 2 > "$OUT/pruned"
        "$HERMA" list -z | tr '\0' '\n' | cut -f 1 > "$OUT/left"
        "$HERMA" save
        "$HERMA" restore "$(tail -n 1 "$OUT/newest")"
        cp -a "$MOUNT/checkpoints/store" "$OUT/store"
    "#;
    let output = run_mounted(&env, env.home(), "size=2m", script).success();
    let said: Vec<&str> = output.text().lines().map(str::trim).take(2).collect();
    assert_eq!(said, ["save: 1", "0"], "the disk is full: {output}");
    let read = |name: &str| std::fs::read_to_string(env.root().join("tmp").join(name)).unwrap();
    assert_eq!(read("left"), read("newest"), "the newest two stay");
    assert!(!read("pruned").contains("Bytes reclaimed: 0 B"), "{}", read("pruned"));
    assert_sound(&Repository::at(env.root().join("tmp/store")));
}
