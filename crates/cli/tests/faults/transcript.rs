//! Files and a conversation move together in a process that is killed at every call, or meets a full disk:
//! afterwards both are where they were, or both are where they should be, or the program says so and both
//! ways are open.

use std::path::Path;

use herma_testkit::faults::{Fault, Faults, Status};
use herma_testkit::hermes::sessions::HermesSessions;
use herma_testkit::{TestEnv, WorkDir, faults};

use super::copy::copy;
use super::disturb::FAULTS;
use super::{json, test_env};

const NOW: f64 = 1_760_000_000.0;
const SHORT: &str = "one\ntwo\n";
const LONG: &str = "one\ntwo\nthree\nfour\nfive\n";

/// The files, the transcript and the numbers of the messages.
pub(super) type State = (String, String, String, Vec<i64>);

pub(super) fn early() -> State {
    let (one, stays) = ("one\n".to_owned(), "stays\n".to_owned());
    (one, stays, SHORT.to_owned(), vec![1, 2])
}

fn late() -> State {
    let (two, made) = ("two\n".to_owned(), "made later\n".to_owned());
    (two, made, LONG.to_owned(), vec![1, 2, 3, 4, 5])
}

pub(super) fn state(env: &TestEnv, project: &WorkDir<'_>) -> State {
    let home = HermesSessions::at(&env.home());
    let connection = home.connect();
    let sql = "SELECT id FROM messages WHERE session_id = 's-1' ORDER BY id";
    let mut statement = connection.prepare(sql).unwrap();
    let ids = statement.query_map([], |row| row.get(0)).unwrap();
    let jsonl = std::fs::read_to_string(home.directory().join("s-1.jsonl")).unwrap();
    let ids = ids.collect::<Result<_, _>>().unwrap();
    (project.read("a.txt"), project.read("src/b.txt"), jsonl, ids)
}

/// A checkpoint in the middle of a conversation, and what came after it.
pub(super) fn prepare(env: &TestEnv) -> WorkDir<'_> {
    let home = HermesSessions::new(&env.home());
    home.add("s-1", NOW, None, &[NOW, NOW + 1.0]);
    home.write("s-1.jsonl", SHORT);
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("src/b.txt", "stays\n")]);
    project.run(["save", "--session", "s-1", "--name", "start"]).success();
    for at in 0..3 {
        home.sql(&format!(
            "INSERT INTO messages (session_id, role, content, timestamp)
             VALUES ('s-1', 'user', 'later {at}', {NOW} + {at})"
        ));
    }
    home.write("s-1.jsonl", LONG);
    project.write("a.txt", "two\n");
    project.write("src/b.txt", "made later\n");
    home.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    project
}

fn is_interrupted(project: &WorkDir<'_>) -> bool {
    let list = project.run(["list", "--json"]).success();
    let says = json(&list)["project"]["interrupted_restore"] == true;
    assert_eq!(says, list.error_text().contains("was not finished"));
    let doctor = project.run(["doctor", "--json"]);
    let doctor = json(&doctor);
    let mut findings = doctor["findings"].as_array().unwrap().iter();
    let named = findings.any(|finding| finding["about"] == "restore");
    assert_eq!(says, named, "doctor: {doctor}");
    says
}

/// Are files on their way?
fn are_files_half_way(env: &TestEnv) -> bool {
    let projects = std::fs::read_dir(env.store().join("herma/projects")).unwrap();
    let mut directories = projects.map(|entry| entry.unwrap().path());
    directories.any(|directory| directory.join("journal").exists())
}

/// A move from one state to the other, and the command that is disturbed in it.
pub(super) struct Course {
    args: &'static [&'static str],
    prepared_by: &'static [&'static [&'static str]],
    /// How much of a restore a killed process did before, in per cent, if the command takes that up.
    killed_at: Option<u64>,
    from: fn() -> State,
    to: fn() -> State,
    /// Where the command leads.
    end: fn() -> State,
    /// What leads from the one state to the other, and back once it is there.
    forward: &'static [&'static str],
    back: &'static str,
    /// What takes the interrupted command up again when it was reversed.
    again: &'static str,
    /// Does the command finish the move first, and then make one of its own that leads back? Then one of two
    /// moves is interrupted.
    turns_around: bool,
}

/// Both ends can be reached, whatever happened; was it in between?
pub(super) fn check(env: &TestEnv, project: &WorkDir<'_>, course: &Course, at: &str) -> bool {
    let (from, to) = ((course.from)(), (course.to)());
    let stash = tempfile::tempdir().unwrap();
    copy(env.root(), stash.path());
    let then = |args: &[&str], expected: &State| {
        let output = project.run(args);
        assert_eq!(output.status.code(), Some(0), "{at}, {args:?}: {output}");
        assert_eq!(state(env, project), *expected, "{at}, {args:?}: {output}");
        assert!(!is_interrupted(project), "{at}, {args:?}");
    };
    if is_interrupted(project) && course.turns_around {
        project.run(["restore", "--continue"]).success();
        let arrived = state(env, project);
        assert!(arrived == from || arrived == to, "{at}: {arrived:?}");
        let other = if arrived == to { &from } else { &to };
        then(&["restore", "--continue"], &arrived);
        copy(stash.path(), env.root());
        then(&["undo"], other);
        return true;
    }
    if is_interrupted(project) {
        then(&["restore", "--continue"], &to);
        then(&[course.back], &from);
        copy(stash.path(), env.root());
        then(&["undo"], &from);
        then(&[course.again], &to);
        return true;
    }
    if state(env, project) == from {
        then(course.forward, &to);
    } else {
        assert_eq!(state(env, project), to, "{at}: neither here nor there");
    }
    then(&[course.back], &from);
    false
}

fn die_everywhere(course: &Course) {
    if !faults::available() {
        return;
    }
    let env = test_env();
    let project = prepare(&env);
    for args in course.prepared_by {
        project.run(*args).success();
    }
    let template = tempfile::tempdir().unwrap();
    copy(env.root(), template.path());
    let reset = |from: &Path| copy(from, env.root());
    if let Some(per_cent) = course.killed_at {
        let count = project.faults(REWIND).run(Fault::Count, 0).count;
        reset(template.path());
        let at = count * per_cent / 100;
        let killed = project.faults(REWIND).run(Fault::Kill, at);
        assert!(killed.hit.is_some(), "{killed:?}");
        assert!(is_interrupted(&project));
        assert_eq!(are_files_half_way(&env), per_cent == KILLED_AT[0], "killed elsewhere");
        copy(env.root(), template.path());
    }
    reset(template.path());
    let plain = project.faults(course.args).run(Fault::Count, 0);
    assert_eq!(plain.status, Status::Exited(0), "{plain:?}");
    assert_eq!(state(&env, &project), (course.end)());
    let (mut visited, mut interrupted) = (0, 0);
    for fault in FAULTS {
        let stride = match (fault, course.killed_at) {
            _ if faults::step() == 1 => 1,
            (Fault::Kill, None) => 2,
            (Fault::Kill, _) => 4,
            _ => 8,
        };
        for n in Faults::positions(plain.count).step_by(stride) {
            reset(template.path());
            let outcome = project.faults(course.args).run(fault, n);
            assert!(!outcome.timed_out, "at {n}: it hung");
            let call = outcome.hit.map_or("-", |call| call.name);
            let at = format!("{fault:?} at {n} ({call})");
            visited += 1;
            interrupted += u32::from(check(&env, &project, course, &at));
            HermesSessions::at(&env.home()).assert_sound();
        }
    }
    assert!(interrupted > 0, "no kill hit the middle");
    eprintln!(
        "{:?}: {} calls, {visited} visited, {interrupted} in the middle",
        course.args, plain.count
    );
}

pub(super) const REWIND: &[&str] = &["restore", "start", "--with-transcript"];

pub(super) const RESTORE: Course = Course {
    args: REWIND,
    prepared_by: &[],
    killed_at: None,
    from: late,
    to: early,
    end: early,
    forward: REWIND,
    back: "undo",
    again: "redo",
    turns_around: false,
};

#[test]
fn a_restore_with_its_conversation() {
    die_everywhere(&RESTORE);
}

#[test]
fn an_undo_with_its_conversation() {
    die_everywhere(&Course {
        args: &["undo"],
        prepared_by: &[REWIND],
        from: early,
        to: late,
        end: late,
        forward: &["undo"],
        back: "redo",
        again: "undo",
        ..RESTORE
    });
}

#[test]
fn a_redo_with_its_conversation() {
    die_everywhere(&Course {
        args: &["redo"],
        prepared_by: &[REWIND, &["undo"]],
        forward: &["redo"],
        ..RESTORE
    });
}

/// While the files are on their way, and when the conversation is due.
const KILLED_AT: [u64; 2] = [45, 85];

#[test]
fn going_on_with_an_interrupted_one() {
    for per_cent in KILLED_AT {
        die_everywhere(&Course {
            args: &["restore", "--continue"],
            killed_at: Some(per_cent),
            ..RESTORE
        });
    }
}

#[test]
fn reversing_an_interrupted_one() {
    for per_cent in KILLED_AT {
        die_everywhere(&Course {
            args: &["undo"],
            killed_at: Some(per_cent),
            end: late,
            forward: &["redo"],
            turns_around: per_cent == KILLED_AT[1],
            ..RESTORE
        });
    }
}
