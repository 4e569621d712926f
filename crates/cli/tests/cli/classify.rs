//! `herma classify`

use super::{json, test_env};

#[test]
fn a_command_is_said_to_read_or_to_change() {
    let env = test_env();
    let project = env.work_dir("project");
    let reads = project.run(["classify", "--", "grep a b 2>&1 | head"]);
    assert_eq!(reads.success().text(), "reads-only\n");
    let changes = project.run(["classify", "--", "ls; git restore ."]);
    assert_eq!(changes.code(1).text(), "may-change\n`git`: it changes files\n");
    let words = project.run(["classify", "--", "echo", "> f"]).success();
    assert_eq!(words.text(), "reads-only\n");
    let unknown = project.run(["classify", "--json", "--", "make", "clean"]);
    let unknown = json(&unknown.code(1));
    assert_eq!(unknown["schema"], "herma.classify/1");
    assert_eq!(unknown["effect"], "may-change");
    assert_eq!(unknown["program"], "make");
    assert_eq!(unknown["why"], "not-known");
    assert!(!env.home().exists(), "no home is needed");
}
