//! `herma checkpoints verify` and `repair`, and what `herma doctor` says about the store.
#![allow(clippy::disallowed_methods, reason = "damage is done behind the program's back")]

use std::path::PathBuf;

use herma_testkit::TestEnv;

use super::{json, random_text, test_env};

fn packs(env: &TestEnv, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(env.store().join("objects/pack")).expect("the store is there");
    let paths = entries.map(|entry| entry.expect("the store is there").path());
    let has_ending = |path: &PathBuf| path.to_string_lossy().ends_with(ending);
    paths.filter(has_ending).collect()
}

/// Overwrites the middle of a file that is read-only.
fn damage(path: &PathBuf) {
    let mut bytes = std::fs::read(path).expect("the store is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::remove_file(path).expect("the store is there");
    std::fs::write(path, bytes).expect("the store is there");
}

fn record(env: &TestEnv) -> PathBuf {
    let mut entries = std::fs::read_dir(env.store().join("projects")).expect("the store is there");
    entries.next().expect("the store is there").expect("the store is there").path()
}

#[test]
fn a_whole_store_is_said_to_be_whole() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let output = project.run(["checkpoints", "verify", "--read-data"]).success();
    assert!(output.text().starts_with("Checked 1 checkpoint, "), "{output}");
    assert!(output.text().ends_with("\nEverything is in order.\n"), "{output}");
    let repair = project.run(["checkpoints", "repair"]).success();
    assert!(repair.text().starts_with("There was nothing to mend.\n"), "{repair}");
}

#[test]
fn damaged_files_are_named_and_the_other_checkpoints_stay_usable() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("big.txt", &random_text(7, 4000));
    project.run(["save"]).success();
    let largest = packs(&env, ".pack").into_iter();
    let largest = largest.max_by_key(|path| path.metadata().unwrap().len());
    damage(&largest.unwrap());

    let output = project.run(["checkpoints", "verify", "--read-data"]).code(12);
    assert!(output.text().contains("/work/project: checkpoint 2 ("), "{output}");
    assert!(output.text().contains("\n  big.txt\n"), "{output}");
    let hint = "`herma checkpoints repair` mends what can be mended.";
    assert!(output.error_text().contains(hint), "{output}");
    let json = json(&project.run(["checkpoints", "verify", "--read-data", "--json"]).code(12));
    assert_eq!(json["schema"], "herma.checkpoints-verify/2");
    assert_eq!(json["damaged"].as_array().unwrap().len(), 1);
    assert_eq!(json["damaged"][0]["paths"][0]["path"], "big.txt");

    project.run(["restore", "@-1"]).code(0);
    assert_eq!(project.read("a.txt"), "one\n");
}

/// `repair` said that `save --rehash` would store it again, and `verify` named the pack for ever.
#[test]
fn repair_heals_from_the_project_on_disk_and_verify_is_clean_afterwards() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write("big.txt", &random_text(7, 4000));
    project.run(["save"]).success();
    let verify = ["checkpoints", "verify", "--read-data"];
    damage(&packs(&env, ".pack")[0]);
    project.run(verify).code(12);
    let repair = project.run(["checkpoints", "repair"]).success();
    assert!(repair.text().contains("\nStored 1 object again"), "{repair}");
    project.run(verify).success();
    let saved = project.run(["save"]).success();
    assert!(!saved.error_text().contains("gone"), "{saved}");
    // Once it is nowhere else, that is what is said.
    project.write("big.txt", "something else");
    project.run(["save"]).success();
    for pack in packs(&env, ".pack") {
        if pack.metadata().unwrap().len() > 4000 {
            damage(&pack);
        }
    }
    let repair = project.run(["checkpoints", "repair"]).code(12);
    assert!(repair.text().contains("\n  big.txt\n"), "{repair}");
    assert!(repair.error_text().contains("`herma drop`"), "{repair}");
    let again = project.run(["checkpoints", "repair", "--json"]).code(12);
    assert_eq!(json(&again)["changed"], false);
    assert_eq!(json(&again)["after"]["packs"], serde_json::json!([]));
}

/// It said that nobody had seen its end.
#[test]
fn a_step_whose_checkpoints_are_damaged_says_so() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write("big.txt", &random_text(7, 4000));
    project.run(["save"]).success();
    damage(&packs(&env, ".pack")[0]);
    let ran = project.run(["run", "--", "sh", "-c", "echo other > big.txt"]);
    assert!(ran.error_text().contains("is not known: its checkpoints are damaged."), "{ran}");
    let steps = project.run(["steps"]).success();
    assert!(steps.text().contains("[its checkpoints are damaged]"), "{steps}");
}

#[test]
fn gc_removes_nothing_while_something_needed_cannot_be_read() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    for path in packs(&env, ".pack") {
        damage(&path);
    }
    let before = packs(&env, ".pack");
    let output = project.run(["checkpoints", "gc"]);
    assert_eq!(output.status.code(), Some(12), "{output}");
    assert_eq!(packs(&env, ".pack"), before);
}

#[test]
fn a_lost_index_is_made_again() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    for index in packs(&env, ".idx") {
        std::fs::remove_file(index).unwrap();
    }
    project.run(["checkpoints", "verify"]).code(12);
    let json = json(&project.run(["checkpoints", "repair", "--json"]).success());
    assert_eq!(json["schema"], "herma.checkpoints-repair/2");
    assert_eq!(json["changed"], true);
    assert_eq!(json["indexes"].as_array().unwrap().len(), 1);
    assert_eq!(json["after"]["whole"], true);
    project.run(["checkpoints", "verify"]).success();
    project.run(["list"]).success();
}

#[test]
fn a_damaged_record_is_found_by_doctor_and_mended_by_repair() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    std::fs::write(record(&env), "[1, 2").unwrap();
    let doctor = project.run(["doctor"]).code(1);
    assert!(doctor.text().contains("it is no JSON object"), "{doctor}");
    let repair = project.run(["checkpoints", "repair"]).success();
    assert!(repair.text().contains("Wrote the record of "), "{repair}");
    project.run(["doctor"]).success();
}

/// Every pack was removed, with exit code 0.
#[test]
fn gc_and_prune_without_refs_delete_nothing_and_say_what_to_type() {
    let env = test_env();
    let project = env.work_dir("project");
    for step in 0..3 {
        project.write("a.txt", &random_text(step, 100));
        project.run(["save"]).success();
    }
    let before = packs(&env, ".pack");
    std::fs::remove_dir_all(env.store().join("refs")).expect("the store is there");
    for command in
        [&["checkpoints", "gc"][..], &["checkpoints", "prune", "--max-snapshots", "1", "--force"]]
    {
        let refused = project.run(command).code(12);
        assert!(refused.error_text().contains("Nothing was deleted."), "{refused}");
        assert!(refused.error_text().contains("herma checkpoints repair"), "{refused}");
    }
    assert_eq!(packs(&env, ".pack"), before);
    let doctor = project.run(["doctor"]).code(1);
    assert!(doctor.text().contains("refs is damaged: it is missing"), "{doctor}");
    let repaired = project.run(["checkpoints", "repair"]).success();
    assert!(repaired.text().contains("Made refs/herma/"), "{repaired}");
    assert!(repaired.text().ends_with("Everything is in order.\n"), "{repaired}");
    project.run(["restore", "@-2"]).success();
    assert_eq!(project.read("a.txt"), random_text(0, 100));
    project.run(["checkpoints", "gc"]).success();
    project.run(["doctor"]).success();
}

#[test]
fn a_garbled_configuration_is_named_with_what_to_type_and_made_again() {
    for file in ["config", "herma/format"] {
        let env = test_env();
        let project = env.work_dir("project").files([("a.txt", "one\n")]);
        project.run(["save"]).success();
        std::fs::write(env.store().join(file), "[}\0").expect("the store is there");
        for command in ["save", "list", "undo"] {
            let refused = project.run([command]).code(12);
            assert!(refused.error_text().contains(file), "{refused}");
            assert!(refused.error_text().contains("herma checkpoints repair"), "{refused}");
        }
        let doctor = project.run(["doctor"]).code(1);
        assert!(doctor.text().contains(file), "{doctor}");
        let repaired = project.run(["checkpoints", "repair"]).success();
        assert!(repaired.text().contains(&format!("Mended {file}: ")), "{repaired}");
        assert!(repaired.text().contains("herma/set-aside/"), "{repaired}");
        project.run(["list"]).success();
        project.run(["doctor"]).success();
    }
}
