//! The power fails in the middle of commands that change other things than checkpoints: sessions, resume
//! records, and the settings of agents.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use herma_testkit::hermes::sessions::HermesSessions;
use herma_testkit::tree::assert_same;
use herma_testkit::{TestEnv, Tree};

use super::disturb::message_of;
use super::power_cut::{BY_MANY_RUNS, BY_PROGRAM, Checked, Cut, cut_power};
use super::{resume, sessions, settings_files, test_env, transcript};

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
    cut_power("restore with transcript", &command, env.root(), BY_MANY_RUNS, &check);
}

#[test]
fn a_resume_record_that_replaces_another() {
    let env = test_env();
    resume::with_old_record(&env);
    in_the_middle_of(&env, &resume::SAVE, &|cut| {
        let task = resume::task(&env, "s1").expect("a record was there before");
        assert!(task == "new" || (task == "old" && !cut.is_acknowledged), "{task}");
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
        assert_same(&before, &Tree::read(env.user_home()), "as it was before");
    });
}

/// The power fails in a command that makes a file and the directories around it, or removes them.
fn lose_directories(prepared_by: &[&[&str]], args: &[&str]) {
    let env = test_env();
    let before = Tree::read(env.user_home());
    for args in prepared_by {
        env.work_dir("w").run(*args).success();
    }
    let plugin = env.user_home().join(".config/opencode/plugins/herma.js");
    let is_installed = || match fs::read_to_string(&plugin) {
        Ok(text) => {
            assert!(text.contains("herma") && text.ends_with("}\n"), "{text}");
            true
        }
        Err(_) => false,
    };
    in_the_middle_of(&env, args, &|cut| {
        if cut.is_over {
            assert_eq!(is_installed(), args[0] == "install", "said to be done");
        }
        is_installed();
        env.work_dir("w").run(args).success();
        assert_eq!(is_installed(), args[0] == "install", "done after all");
        env.work_dir("w").run(["uninstall", "opencode"]).success();
        assert_same(&before, &Tree::read(env.user_home()), "as it was before");
    });
}

#[test]
fn an_installation_that_makes_directories() {
    lose_directories(&[], &["install", "opencode"]);
}

#[test]
fn a_removal_of_directories_that_were_made() {
    lose_directories(&[&["install", "opencode"]], &["uninstall", "opencode"]);
}

/// A setting that was said to be changed is.
fn lose_a_setting(env: &TestEnv, before: Option<&str>) {
    let args = ["config", "set", "checkpoints.max_snapshots", "7"];
    let file = env.home().join("config.yaml");
    in_the_middle_of(env, &args, &|cut| {
        let text = fs::read_to_string(&file).ok();
        let is_new = text.as_deref().is_some_and(|text| text.contains("max_snapshots: 7"));
        let is_old = text.as_deref() == before;
        assert!(is_new || (is_old && !cut.is_over), "{text:?}");
        env.work_dir("w").run(args).success();
        let names = fs::read_dir(env.home()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["config.yaml"], "nothing else is left");
    });
}

#[test]
fn a_setting_that_is_changed() {
    let env = test_env();
    fs::create_dir(env.home()).unwrap();
    fs::write(env.home().join("config.yaml"), settings_files::CONFIG).unwrap();
    lose_a_setting(&env, Some(settings_files::CONFIG));
}

#[test]
fn the_first_setting_of_a_new_user() {
    lose_a_setting(&test_env(), None);
}
