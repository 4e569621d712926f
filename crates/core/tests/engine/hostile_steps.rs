//! Records of steps that somebody damaged or forged: never a panic, never a wrong byte, and whatever else there
//! is goes on working.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use herma_core::engine::NoProgress;
use herma_core::steps::StepId;

use super::interleavings::quick_project;
use super::ledger::restore_oldest;
use super::project::TestProject;
use super::steps::{handle, of_steps};

fn steps_dir(p: &TestProject) -> PathBuf {
    let id = p.project().id().clone();
    let state = p.store().join("herma/projects").join(id.as_str());
    state.join("steps")
}

fn record(p: &TestProject, handle: i64) -> PathBuf {
    steps_dir(p).join(format!("{handle:08}"))
}

/// The step of [`worked`], and where its record is.
const STEP: StepId = StepId::Handle(1);
const RECORD: i64 = 1;

/// A project with one step and one hand edit.
fn worked() -> TestProject {
    let p = quick_project();
    p.write("a.txt", "old\n");
    p.write("b.txt", "old\n");
    p.save("first");
    p.step("claude", || p.write("a.txt", "agent\n"));
    p.write("b.txt", "by hand\n");
    p
}

/// Whatever the records say: what goes can be had back.
fn assert_recoverable(p: &TestProject, what: &str) {
    let before = p.tree();
    let project = p.project();
    for asked in [of_steps(&[STEP]), restore_oldest(p)] {
        // Refusing is fine; what is done has to be undone by `undo`.
        let Ok(plan) = project.plan_undo_steps(&asked, &NoProgress) else {
            continue;
        };
        let taken = project.undo_as_planned(plan, &NoProgress);
        let taken = taken.unwrap_or_else(|e| panic!("{what}: {e:?}"));
        if taken.restored.is_some() {
            p.undo().unwrap();
        }
        assert_eq!(p.tree(), before, "{what}");
    }
    assert!(p.project().interrupted().unwrap().is_none(), "{what}");
}

/// The same, and everything else works.
fn assert_usable(p: &TestProject, what: &str) {
    let before = p.tree();
    assert_recoverable(p, what);
    let step = p.step("codex", || p.write("c.txt", "made\n"));
    assert!(p.project().interrupted().unwrap().is_none(), "{what}");
    p.undo_steps(&of_steps(&[step]));
    assert_eq!(p.tree(), before, "{what}");
    p.restore(&p.oldest());
    assert_eq!(p.read("b.txt"), "old\n", "{what}");
    assert!(p.project().interrupted().unwrap().is_none(), "{what}");
    p.undo().unwrap();
    assert_eq!(p.tree(), before, "{what}");
    p.fsck();
}

#[test]
fn a_damaged_record_is_a_step_nobody_knows() {
    let p = worked();
    let whole = std::fs::read_to_string(record(&p, RECORD)).unwrap();
    let damaged = [
        String::new(),
        "{".to_owned(),
        "\u{0}".repeat(400),
        "[]".to_owned(),
        "{\"version\":1}".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("\"handle\":1", "\"handle\":2"),
        "[".repeat(100_000),
        " ".repeat(1 << 19),
    ];
    for text in damaged {
        let p = worked();
        std::fs::write(record(&p, RECORD), &text).unwrap();
        let what: String = text.chars().take(60).collect();
        let plan = p.project().plan_undo_steps(&of_steps(&[STEP]), &NoProgress);
        assert!(plan.is_err(), "{what}");
        assert_usable(&p, &what);
    }
}

/// Replaces the number after every one of these keys.
fn with_numbers(text: &str, key: &str, value: &str) -> String {
    let key = format!("\"{key}\":");
    let mut parts = text.split(&key);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let rest = rest.strip_prefix("null").unwrap_or(rest);
        result = format!("{result}{key}{value}{rest}");
    }
    result
}

#[test]
fn forged_numbers_and_ids_are_survived() {
    let other = worked();
    let foreign = other.find("@").id.to_hex();
    for (key, value) in [
        ("next_step", "18446744073709551615"),
        ("next_step", "9223372036854775808"),
        ("next_step", "0"),
        ("sequence", "18446744073709551615"),
        ("sequence", "0"),
        ("started", "9223372036854775807"),
        ("started", "-9223372036854775808"),
        ("ended", "-9223372036854775808"),
        ("row", "18446744073709551615"),
        ("row", "0"),
        ("row", "1"),
        ("row", "2"),
    ] {
        let p = worked();
        let whole = std::fs::read_to_string(record(&p, RECORD)).unwrap();
        std::fs::write(record(&p, RECORD), with_numbers(&whole, key, value)).unwrap();
        assert_usable(&p, &format!("{key} {value}"));
        // The same in a step that never ended, and in one of Herma's own moves.
        let open = handle(p.begin("claude", "edit"));
        let whole = std::fs::read_to_string(record(&p, open)).unwrap();
        std::fs::write(record(&p, open), with_numbers(&whole, key, value)).unwrap();
        let moved = std::fs::read_to_string(record(&p, open - 1)).unwrap();
        std::fs::write(record(&p, open - 1), with_numbers(&moved, key, value)).unwrap();
        assert_recoverable(&p, &format!("open, {key} {value}"));
    }
    for id in [foreign.as_str(), "0000000000000000000000000000000000000000"] {
        let p = worked();
        let own = p.list().into_iter().map(|checkpoint| checkpoint.id.to_hex());
        let mut text = std::fs::read_to_string(record(&p, RECORD)).unwrap();
        for own in own {
            text = text.replace(&own, id);
        }
        std::fs::write(record(&p, RECORD), text).unwrap();
        let plan = p.plan_undo_steps(&of_steps(&[STEP]));
        assert_eq!(plan.uncertain(), [p.called(STEP)], "its checkpoints are not known");
        assert_usable(&p, id);
    }
}

#[test]
fn links_and_directories_in_the_place_of_records_are_not_followed() {
    let p = worked();
    let outside = p.base().join("outside");
    std::fs::rename(record(&p, RECORD), &outside).unwrap();
    symlink(&outside, record(&p, RECORD)).unwrap();
    std::fs::create_dir(record(&p, RECORD + 1)).unwrap();
    assert_usable(&p, "a link and a directory");
    let p = worked();
    let outside = p.base().join("elsewhere");
    std::fs::rename(steps_dir(&p), &outside).unwrap();
    symlink(&outside, steps_dir(&p)).unwrap();
    let count = std::fs::read_dir(&outside).unwrap().count();
    assert_usable(&p, "a link to another directory");
    let now = std::fs::read_dir(&outside).unwrap().count();
    assert_eq!(now, count, "nothing is written through a link");
    let p = worked();
    std::fs::remove_dir_all(steps_dir(&p)).unwrap();
    std::fs::write(steps_dir(&p), "a file").unwrap();
    assert_usable(&p, "a file");
}

#[test]
fn damaged_turns_are_none_and_forged_ones_do_no_harm() {
    let p = worked();
    let turns = steps_dir(&p).parent().unwrap().join("turns");
    let forged = "{\"version\":1,\"turns\":[{\"session\":\"s\",\"turn\":\"1\",\"count\":18446744073709551615,\
                  \"started\":-9223372036854775808}]}";
    for text in ["", "{", forged] {
        std::fs::write(&turns, text).unwrap();
        let facts = herma_core::types::checkpoint::Facts::default();
        p.project().begin_turn("s", &facts, Some("go on")).unwrap();
        p.project().begin_turn("s", &facts, Some("go on")).unwrap();
        p.project().end_turn("s").unwrap();
    }
}

/// Steps nobody ended, each within the one before: the most a record can ask of whoever reads it.
#[test]
fn ten_thousand_records_within_each_other_are_read() {
    let p = worked();
    let open = handle(p.begin("claude", "edit"));
    let text = std::fs::read_to_string(record(&p, open)).unwrap();
    for number in open + 1..open + 10_000 {
        let within = format!("\"handle\":{number},\"within\":{}", number - 1);
        let text = text.replace(&format!("\"handle\":{open}"), &within);
        std::fs::write(record(&p, number), text).unwrap();
    }
    let plan = p.plan_undo_steps(&of_steps(&[STEP]));
    assert_eq!(plan.steps, [p.called(STEP)]);
    p.plan_undo_steps(&restore_oldest(&p));
    let step = p.begin("claude", "edit");
    p.write("a.txt", "more\n");
    p.end(step);
}
