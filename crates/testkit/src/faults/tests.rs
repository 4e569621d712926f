use nix::libc;

use super::*;
use crate::Bounded;

fn shell(directory: &Path, script: &str) -> Faults {
    Faults::new("/bin/sh").args(["-c", script]).current_dir(directory)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn counting_changes_nothing_and_sees_children() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outcome = shell(directory.path(), "echo a > f; mv f g; echo out; echo err >&2; exit 5")
        .run(Fault::Count, 0);
    assert_eq!(outcome.status, Status::Exited(5));
    assert_eq!(outcome.stdout, b"out\n");
    assert_eq!(outcome.stderr, b"err\n");
    // Opening the file for writing, and the rename in the child; the echo goes to descriptor 1.
    assert_eq!(outcome.count, 2, "{outcome:?}");
    assert_eq!(outcome.hit, None);
    assert_eq!(names(directory.path()), ["g"]);
}

#[test]
fn killing_before_and_after_differ_by_exactly_that_call() {
    if !available() {
        return;
    }
    for (fault, n, left) in [
        (Fault::Kill, 1, vec![]),
        (Fault::KillAfter, 1, vec!["f"]),
        (Fault::Kill, 2, vec!["f"]),
        (Fault::KillAfter, 2, vec!["g"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let outcome = shell(directory.path(), "echo a > f; mv f g; echo after > h").run(fault, n);
        assert_eq!(outcome.status, Status::Signaled(libc::SIGKILL), "{fault:?} at {n}");
        assert_eq!(outcome.count, n);
        assert!(outcome.hit.is_some());
        assert_eq!(names(directory.path()), left, "{fault:?} at {n}");
    }
}

#[test]
fn one_error_fails_one_call_and_a_lasting_one_all_the_rest() {
    if !available() {
        return;
    }
    let script = "mkdir a; mkdir b; mkdir c; exit 0";
    for (fault, left) in
        [(Fault::Error(libc::ENOSPC), vec!["a", "c"]), (Fault::ErrorFrom(libc::ENOSPC), vec!["a"])]
    {
        let directory = tempfile::tempdir().unwrap();
        let outcome = shell(directory.path(), script).run(fault, 2);
        assert_eq!(outcome.status, Status::Exited(0));
        assert_eq!(outcome.hit.map(|s| s.name), Some("mkdir"));
        assert_eq!(names(directory.path()), left, "{fault:?}");
        let message = String::from_utf8(outcome.stderr).unwrap();
        assert!(message.contains("No space left"), "{message}");
    }
}

#[test]
fn a_short_write_stores_half_and_the_writer_has_to_go_on() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("in"), "0123456789").unwrap();
    let tee = shell(directory.path(), "tee out < in");
    let plain = tee.run(Fault::Count, 0);
    assert_eq!(plain.writes, 1);
    let whole = plain.count;
    let outcome = tee.run(Fault::ShortWrite, 1);
    assert_eq!(outcome.hit.map(|s| s.name), Some("write"));
    assert_eq!(outcome.count, whole + 1, "the second half takes a second write");
    assert_eq!(std::fs::read(directory.path().join("out")).unwrap(), b"0123456789");
    let beyond = tee.run(Fault::ShortWrite, 2);
    assert_eq!(beyond.hit, None, "there is one write, and opening is none");
}

#[test]
fn an_error_leaves_calls_alone_that_never_fail_so() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("in"), "0123456789").unwrap();
    let tee = shell(directory.path(), "tee out < in");
    let count = tee.run(Fault::Count, 0).count;
    assert_eq!(count, 2, "opening the file, and the write");
    for errno in [libc::EMFILE, libc::EACCES] {
        let opening = tee.run(Fault::ErrorFrom(errno), 1);
        assert_eq!(opening.hit.map(|s| s.name), Some("openat"));
        assert_eq!(opening.status, Status::Exited(1));
        let writing = tee.run(Fault::ErrorFrom(errno), 2);
        assert_eq!((writing.hit, writing.status), (None, Status::Exited(0)));
    }
    let script = "tee out < in; mkdir a; mkdir b; exit 0";
    let later = shell(directory.path(), script).run(Fault::Error(libc::EACCES), 2);
    assert_eq!(later.hit.map(|s| s.name), Some("mkdir"));
    assert_eq!(names(directory.path()), ["b", "in", "out"], "once");
    let full = tee.run(Fault::Error(libc::EDQUOT), 2);
    assert_eq!(full.hit.map(|s| s.name), Some("write"));
}

#[test]
fn a_signal_comes_at_exactly_that_call_and_once() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = "trap 'echo heard' INT; mkdir a; mkdir b; mkdir c";
    let outcome = shell(directory.path(), script).run(Fault::Signal(libc::SIGINT), 2);
    assert_eq!(outcome.stdout, b"heard\n");
    assert_eq!(outcome.hit.map(|s| s.name), Some("mkdir"));
    assert_eq!(names(directory.path()), ["a", "b", "c"], "the child goes on");
    let deaf = shell(directory.path(), "cd a; echo x > f; echo y > g");
    let outcome = deaf.run(Fault::Signal(libc::SIGTERM), 2);
    assert_eq!(outcome.status, Status::Signaled(libc::SIGTERM));
    assert_eq!(std::fs::read(directory.path().join("a/f")).unwrap(), b"x\n");
}

#[test]
fn a_command_that_does_not_exist_is_an_exit_and_not_a_hang() {
    if !available() {
        return;
    }
    let outcome = Faults::new("/nonexistent/program").run(Fault::Kill, 1);
    assert_eq!(outcome.status, Status::Exited(127));
    assert_eq!(outcome.count, 0);
}

#[test]
fn a_command_over_its_time_is_killed_with_its_children() {
    if !available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outcome = shell(directory.path(), "sleep 600 & sleep 600")
        .time_limit(Duration::from_millis(200))
        .run(Fault::Count, 0);
    assert!(outcome.timed_out);
    assert_eq!(outcome.status, Status::Signaled(libc::SIGKILL));
}

#[test]
fn parallel_runs_leave_each_others_children_alone() {
    if !available() {
        return;
    }
    let results: Vec<_> = std::thread::scope(|scope| {
        let traced = scope.spawn(|| {
            let directory = tempfile::tempdir().unwrap();
            let command = shell(directory.path(), "echo a > f; sleep 0.05; rm f");
            (0..5).map(|_| command.run(Fault::Count, 0).count).collect::<Vec<_>>()
        });
        let plain = scope.spawn(|| {
            (0..20).for_each(|_| assert!(Command::new("true").bounded_status().unwrap().success()));
        });
        plain.join().unwrap();
        traced.join().unwrap()
    });
    assert_eq!(results, [2; 5]);
}
