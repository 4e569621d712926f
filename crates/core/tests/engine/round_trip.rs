//! What was saved comes back, byte for byte.

use herma_testkit::tree::assert_same;

use super::project::TestProject;

#[test]
pub(super) fn a_saved_project_comes_back_exactly() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("src/main.rs", "fn main() {}\n");
    p.write("src/run.sh", "#!/bin/sh\n");
    p.chmod("src/run.sh", 0o755);
    p.write("secret", "s");
    p.chmod("secret", 0o600);
    std::fs::create_dir_all(p.path("empty/inner")).unwrap();
    std::os::unix::fs::symlink("../a.txt", p.path("src/link")).unwrap();
    let first = p.save("first");
    assert!(first.is_new);
    let before = p.tree();
    p.fsck();

    p.write("a.txt", "two\n");
    p.remove("src");
    p.write("src", "now a file");
    p.write("new/deep/file", "x");
    p.remove("empty");
    p.chmod("secret", 0o644);
    assert!(p.save("second").is_new);
    let after = p.tree();

    p.restore("@-1");
    assert_same(&before, &p.tree(), "restored to the first checkpoint");
    p.undo().unwrap();
    assert_same(&after, &p.tree(), "undone");
    p.redo().unwrap();
    assert_same(&before, &p.tree(), "redone");
    p.fsck();
}

#[test]
fn nothing_changed_means_no_new_checkpoint() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let first = p.save("first");
    for _ in 0..3 {
        let again = p.save("again");
        assert!(!again.is_new);
        assert_eq!(again.checkpoint.id, first.checkpoint.id);
    }
    assert_eq!(p.list().len(), 1);
}
