//! What a hostile review of the commands found, one test each.
#![allow(clippy::disallowed_methods, reason = "damage is done behind the program's back")]

use std::path::PathBuf;

use herma_testkit::TestEnv;

use super::{json, random_text, test_env};

fn packs(env: &TestEnv) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(env.store().join("objects/pack")).expect("the test made it");
    let paths = entries.map(|entry| entry.expect("the test made it").path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "pack")).collect()
}

/// Makes one object unreadable, in every pack it is in.
fn rot(env: &TestEnv, id: &str) {
    for path in packs(env) {
        let listed = env.git(["verify-pack", "-v", path.to_str().expect("the test made it")]);
        let line = listed.text().lines().find(|line| line.starts_with(id));
        let Some(line) = line else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (length, offset): (usize, usize) = (
            words[3].parse().expect("the test made it"),
            words[4].parse().expect("the test made it"),
        );
        let mut bytes = std::fs::read(&path).expect("the test made it");
        for byte in &mut bytes[offset + 1..offset + length] {
            *byte ^= 0xa5;
        }
        std::fs::remove_file(&path).expect("the test made it");
        std::fs::write(&path, bytes).expect("the test made it");
    }
}

fn write_config(env: &TestEnv, text: &str) {
    std::fs::create_dir_all(env.home()).expect("the test made it");
    std::fs::write(env.home().join("config.yaml"), text).expect("the test made it");
}

/// The id a ref of the first project holds.
fn ref_of(env: &TestEnv, leaf: &str) -> String {
    let projects = env.store().join("refs/herma");
    let project =
        std::fs::read_dir(projects).expect("the test made it").next().expect("the test made it");
    let file = project.expect("the test made it").path().join(leaf);
    std::fs::read_to_string(file).expect("the test made it").trim().to_owned()
}

#[test]
fn a_damaged_receipt_hides_no_checkpoint() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    project.run(["save"]).success();
    rot(&env, &ref_of(&env, "00000001.extra"));

    let list = project.run(["list"]).code(12);
    let mark = "[its modes cannot be read]";
    assert_eq!(list.text().matches(mark).count(), 2, "{list}");
    let listed = json(&project.run(["list", "--json"]).code(12));
    assert_eq!(listed["checkpoints"][1]["receipt_damaged"], true);
    let show = project.run(["show", "@-1"]).code(12);
    assert!(show.text().contains("its modes cannot be read"), "{show}");
    let shown = json(&project.run(["show", "@-1", "--json"]).code(12));
    assert_eq!(shown["checkpoint"]["receipt_damaged"], true);
    let diff = project.run(["diff", "@-1"]).success();
    assert!(diff.text().contains("-one\n+two\n"), "{diff}");

    project.write("new.txt", "made since\n");
    let restored = project.run(["restore", "@-1"]).code(3);
    let said = restored.error_text();
    assert!(
        said.contains("the modes of checkpoint ") && said.contains("cannot be read"),
        "{restored}"
    );
    assert!(restored.text().contains("keep   new.txt ("), "{restored}");
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(project.exists("new.txt"));
}

#[test]
fn an_index_with_wrong_bytes_is_mended() {
    let env = test_env();
    let project = env.work_dir("project");
    for step in 0..3 {
        project.write("a.txt", &random_text(step, 20));
        project.run(["save"]).success();
    }
    project.run(["checkpoints", "gc"]).success();
    let index = packs(&env)[0].with_extension("idx");
    let mut bytes = std::fs::read(&index).unwrap();
    bytes[1100..1108].fill(0xee);
    std::fs::remove_file(&index).unwrap();
    std::fs::write(&index, bytes).unwrap();
    project.run(["checkpoints", "verify"]).code(12);
    let repair = project.run(["checkpoints", "repair"]).success();
    assert!(repair.text().contains("Made the index of "), "{repair}");
    project.run(["checkpoints", "verify"]).success();
}

#[test]
fn what_is_left_of_a_pack_without_an_index_is_saved() {
    let env = test_env();
    let project = env.work_dir("project");
    for step in 0..3 {
        project.write(format!("{step}.txt"), &random_text(step, 400));
        project.run(["save"]).success();
    }
    let gc = ["checkpoints", "gc", "--empty-trash"];
    project.run(gc).success();
    let pack = packs(&env).remove(0);
    std::fs::remove_file(pack.with_extension("idx")).unwrap();
    let mut bytes = std::fs::read(&pack).unwrap();
    bytes.truncate(bytes.len() - 500);
    std::fs::remove_file(&pack).unwrap();
    std::fs::write(&pack, bytes).unwrap();
    // Nobody has it any more.
    for step in 0..3 {
        project.remove(format!("{step}.txt"));
    }
    let repair = project.run(["checkpoints", "repair"]).code(12);
    assert!(repair.text().contains(", which is damaged; "), "{repair}");
    let again = project.run(["checkpoints", "repair", "--json"]).code(12);
    assert_eq!(json(&again)["changed"], false);
}

#[test]
fn a_mistake_in_what_is_kept_does_not_stop_a_save() {
    for key in ["max_snapshots", "max_total_size_mb", "auto_prune"] {
        let env = test_env();
        write_config(&env, &format!("checkpoints:\n  {key}: many\n"));
        let project = env.work_dir("project").files([("a.txt", "one\n")]);
        let saved = project.run(["save"]).success();
        assert!(saved.error_text().contains("; the default is used"), "{saved}");
        project.run(["checkpoints", "prune"]).code(1);
        project.run(["maintain"]).code(1);
        // What decides which files are saved is another matter, and none of the cleaning's.
        write_config(&env, "checkpoints:\n  exclude: 7\n");
        project.run(["save"]).code(1);
        project.run(["maintain"]).success();
        write_config(&env, "checkpoints: [\n");
        project.run(["save"]).code(1);
        project.run(["maintain"]).code(1);
    }
}

#[test]
fn clear_removes_only_what_was_shown() {
    let env = test_env();
    let shop = env.work_dir("shop").files([("a.txt", "one\n")]);
    shop.run(["save"]).success();
    let mut terminal = shop.in_terminal(["checkpoints", "clear"]);
    terminal.wait_for("Proceed? [y/N]: ");
    shop.write("a.txt", "two\n");
    shop.run(["save"]).success();
    terminal.answer("y");
    let refused = terminal.finish().code(1);
    let said = "checkpoints were saved or dropped since this was shown";
    assert!(refused.text().contains(said), "{refused}");
    assert!(refused.text().contains("Nothing was removed."), "{refused}");
    let listed = json(&shop.run(["list", "--json"]).success());
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 2);
    shop.run(["checkpoints", "clear", "--yes"]).success();
    assert!(!env.store().exists());
}

#[test]
fn damage_that_keeps_room_from_being_freed_is_named_with_its_cure() {
    let env = test_env();
    let project = env.work_dir("project");
    for step in 0..4 {
        project.write("a.txt", &random_text(step, 50));
        project.run(["save"]).success();
    }
    let newest = json(&project.run(["show", "@", "--json"]).success());
    rot(&env, newest["checkpoint"]["tree"].as_str().unwrap());
    let prune = ["checkpoints", "prune", "--max-snapshots", "2"];
    let output = project.run(prune).code(12);
    let words = output.error_text();
    assert!(!words.contains("nothing was removed"), "{output}");
    assert!(words.contains("no room was freed"), "{output}");
    assert!(words.contains("/work/project: checkpoint 4 ("), "{output}");
    for cure in ["`herma checkpoints repair`", "`herma drop ID`"] {
        assert!(words.contains(cure), "{output}");
    }
}

#[test]
fn limits_below_zero_are_refused_alike() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    for flag in ["--max-size-mb", "--max-snapshots"] {
        let refused = project.run(["checkpoints", "prune", flag, "-5"]).code(2);
        assert!(refused.error_text().contains("`-5`"), "{refused}");
        project.run(["checkpoints", "prune", flag, "0", "--dry-run"]).success();
    }
    let days = ["checkpoints", "prune", "--retention-days", "-1"];
    project.run(days).success();
}

#[test]
fn maintenance_answers_programs_with_one_object() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["config", "set", "max_snapshots", "2"]).success();
    for step in 0..4 {
        project.write("a.txt", &format!("{step}\n"));
        project.run(["save"]).success();
    }
    let done = json(&project.run(["maintain", "--json"]).success());
    assert_eq!(done["schema"], "herma.maintain/1");
    assert_eq!((&done["cleaned"], &done["dropped"]), (&true.into(), &2.into()));
    let nowhere = env.root().join("nowhere");
    let arguments = ["--home", nowhere.to_str().unwrap(), "maintain", "--json"];
    let nothing = json(&project.run(arguments).success());
    assert_eq!((&nothing["cleaned"], &nothing["busy"]), (&false.into(), &false.into()));
}

#[test]
fn what_looks_like_an_old_repository_and_is_none_is_named() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let archive = env.home().join("checkpoints/legacy-20200101-000000");
    std::fs::create_dir_all(archive.join("00000000000000bb")).unwrap();
    std::os::unix::fs::symlink("/", archive.join("00000000000000aa")).unwrap();
    let output = project.run(["checkpoints", "import-legacy"]).code(3);
    let words = output.error_text();
    let link = "project 00000000000000aa (legacy-20200101-000000) was skipped: it is a link";
    assert!(words.contains(link), "{output}");
    let other =
        "project 00000000000000bb (legacy-20200101-000000) was skipped: it is no repository";
    assert!(words.contains(other), "{output}");
    let listed = json(&project.run(["checkpoints", "import-legacy", "--json"]).code(3));
    assert_eq!(listed["repositories"].as_array().unwrap().len(), 2);
}

#[test]
fn doctor_and_status_agree_that_a_replaced_project_is_not_gone() {
    let env = test_env();
    let files = [("a.txt", "one\n"), ("b.txt", "two\n")];
    env.work_dir("old").files(files).run(["save"]).success();
    let here = env.work_dir("new").files(files);
    here.run(["save"]).success();
    env.work_dir("").remove("old");
    let doctor = here.run(["doctor"]).code(3);
    assert!(doctor.text().contains("looks like this directory"), "{doctor}");
    for link in [false, true] {
        if link {
            env.work_dir("").remove("old");
            env.work_dir("").symlink("nowhere", "old");
        } else {
            env.work_dir("").write("old", "a file\n");
        }
        let doctor = here.run(["doctor"]).success();
        assert!(!doctor.text().contains("looks like"), "{doctor}");
        assert!(doctor.text().contains("0 of them gone"), "{doctor}");
        let status = json(&here.run(["checkpoints", "--json"]).success());
        let projects = status["projects"].as_array().unwrap();
        assert!(projects.iter().all(|one| one["state"] == "live"), "{status}");
    }
}
