//! The power fails in the middle of commands that change other things than checkpoints: sessions, resume
//! records, and the settings of agents.

use std::fs;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use herma_testkit::TestEnv;
use herma_testkit::Tree;
use herma_testkit::hermes_sessions::HermesSessions;

use super::power_cut::BY_MANY_RUNS;
use super::power_cut::BY_PROGRAM;
use super::power_cut::Checked;
use super::power_cut::Cut;
use super::power_cut::cut_power;
use super::power_cut::need;
use super::resume;
use super::sessions;
use super::sweep::message_of;
use super::test_env;
use super::transcript;

/// What a failing assertion says.
fn caught(check: impl FnOnce()) -> Checked {
    catch_unwind(AssertUnwindSafe(check)).map_err(|panic| message_of(&*panic))
}

#[track_caller]
fn in_the_middle_of(env: &TestEnv, args: &[&str], check: &dyn Fn(Cut)) {
    let command = env.work_dir("w").faults(args);
    let check = |cut: Cut| caught(|| check(cut));
    cut_power(&args.join(" "), &command, env.root(), BY_PROGRAM, &check);
}

/// Sessions and their files agree; what was said to be gone is gone; the next run finishes the rest.
fn lose_sessions(args: &[&str], deleted: usize, and_then: fn(&HermesSessions)) {
    let env = test_env();
    let home = sessions::prepare(&env);
    let left = sessions::OLD.len() + sessions::KEPT.len() - deleted;
    in_the_middle_of(&env, args, &|cut| {
        sessions::assert_consistent(&home, cut.is_acknowledged);
        if cut.is_over {
            assert_eq!(home.ids().len(), left, "said to be gone");
        }
        let again = env.work_dir("w").run(args);
        assert!(matches!(again.status.code(), Some(0 | 2)), "{again}");
        sessions::assert_consistent(&home, true);
        assert_eq!(home.ids().len(), left);
        and_then(&home);
    });
}

#[test]
fn a_deletion_of_a_session() {
    lose_sessions(&["sessions", "delete", "--yes", "job"], 1, |_| ());
}

#[test]
fn a_prune_of_sessions() {
    lose_sessions(&["sessions", "prune", "--yes"], sessions::OLD.len(), |_| ());
}

#[test]
fn an_archive_of_sessions() {
    if super::has_program("gzip") {
        let args = ["sessions", "archive", "--yes", "--older-than", "90"];
        lose_sessions(&args, sessions::OLD.len(), sessions::assert_archived_once);
    }
}

#[test]
fn a_restore_with_its_conversation() {
    let env = test_env();
    let project = transcript::prepare(&env);
    let command = project.faults(transcript::REWIND);
    let check = |cut: Cut| {
        caught(|| {
            if cut.is_over {
                assert_eq!(transcript::state(&env, &project), transcript::early());
            }
            transcript::check(&env, &project, &transcript::RESTORE, "after a power cut");
        })
    };
    cut_power(
        "restore with transcript",
        &command,
        env.root(),
        BY_MANY_RUNS,
        &check,
    );
}

#[test]
fn a_resume_record_that_replaces_another() {
    let env = test_env();
    resume::with_old_record(&env);
    in_the_middle_of(&env, &resume::SAVE, &|cut| {
        let task = resume::task(&env, "s1").expect("a record was there before");
        assert!(
            task == "new" || (task == "old" && !cut.is_acknowledged),
            "{task}"
        );
        resume::assert_tidy(&env, "after a power cut");
    });
}

#[test]
fn an_installation_in_settings_that_were_there() {
    let env = test_env();
    let settings = env.user_home().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().expect("it is in the home")).unwrap();
    fs::write(&settings, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    let before = Tree::read(env.user_home());
    let run = |args: &[&str]| env.work_dir("w").run(args);
    in_the_middle_of(&env, &["install", "claude"], &|cut| {
        let text = fs::read_to_string(&settings).unwrap();
        let is_old = text == "{\n  \"model\": \"opus\"\n}\n";
        let is_new = text.contains("herma") && text.contains("opus");
        assert!(is_new || (is_old && !cut.is_over), "{text}");
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(parsed.is_ok(), "{text}");
        run(&["install", "claude"]).success();
        run(&["uninstall", "claude"]).success();
        let checked = need(Tree::read(env.user_home()) == before, || {
            herma_testkit::tree::diff(&before, &Tree::read(env.user_home()))
        });
        assert_eq!(checked, Ok(()), "not as it was before");
    });
}
