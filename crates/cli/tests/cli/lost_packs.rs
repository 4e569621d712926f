//! A store that lost packs: what a save says about it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std"
)]

use super::{json, test_env};
use herma_testkit::env::TestEnv;

fn packs(env: &TestEnv) -> Vec<std::path::PathBuf> {
    let packs = std::fs::read_dir(env.store().join("objects/pack")).unwrap();
    packs.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn files_that_were_missing_in_the_store_are_saved_again_and_counted() {
    let env = test_env();
    let files = [("a.txt", "one\n"), ("b/c.txt", "two\n"), ("d.txt", "three\n")];
    let project = env.work_dir("project").files(files);
    project.run(["save"]).success();
    for pack in packs(&env) {
        std::fs::remove_file(pack).unwrap();
    }
    let saved = project.run(["save"]).success();
    let said = saved.error_text();
    assert!(said.contains("3 files were missing in the store and were saved again."), "{said}");
    assert!(said.contains("1 pack of the store is gone"), "{said}");
    assert!(said.contains("herma checkpoints verify"), "{said}");
    assert!(!project.run(["save"]).success().error_text().contains("missing"));
    for pack in packs(&env) {
        std::fs::remove_file(pack).unwrap();
    }
    let saved = json(&project.run(["save", "--json"]).success());
    assert_eq!(saved["saved_again"], 3);
    assert_eq!(saved["lost_packs"].as_array().unwrap().len(), 1);
    project.remove("a.txt");
    project.run(["restore", "@"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
}
