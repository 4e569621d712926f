//! The directory of the project itself was deleted.

#![allow(clippy::disallowed_methods, reason = "a directory is deleted, and a shell started in it")]

use super::test_env;

#[test]
fn undo_makes_a_deleted_project_again_from_wherever_it_is_called() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write("a.txt", "one\n");
    project.run(["save"]).success();
    let elsewhere = env.work_dir("elsewhere");
    let path = project.path().to_owned();
    let at = path.as_os_str().to_owned();
    let delete = || std::fs::remove_dir_all(&path).unwrap();

    delete();
    let refused = elsewhere.run(["-C".as_ref(), at.as_os_str(), "save".as_ref()]);
    let refused = refused.code(1);
    let said = refused.error_text();
    assert!(said.contains("is not there any more"), "{said}");
    assert!(said.contains("`herma undo` makes it again"), "{said}");
    elsewhere.run(["-C".as_ref(), at.as_os_str(), "undo".as_ref()]).success();
    assert_eq!(project.read("a.txt"), "one\n");

    // The newest one is the state without any file.
    delete();
    elsewhere.run(["--root".as_ref(), at.as_os_str(), "restore".as_ref(), "1".as_ref()]).success();
    assert_eq!(project.read("a.txt"), "one\n");

    // In the directory that is gone, as in a shell that is still there.
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "rm -r \"$PWD\" && \"$HERMA\" undo"])
        .env_clear()
        .envs(env.variables())
        .env("HERMA", env!("CARGO_BIN_EXE_herma"))
        .current_dir(&path);
    env.finish(&mut shell).success();
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn a_project_that_is_gone_is_said_to_be_and_one_without_files_is_made_again() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write("a.txt", "one\n");
    project.run(["save"]).success();
    project.remove("a.txt");
    project.run(["save"]).success();
    let path = project.path().to_owned();
    let elsewhere = env.work_dir("elsewhere");
    let at = path.to_str().unwrap();
    std::fs::remove_dir(&path).unwrap();
    let listed = elsewhere.run(["-C", at, "list"]).success();
    let said = listed.error_text();
    assert!(said.contains("is not there any more"), "{said}");
    assert!(said.contains("`herma restore N` as at another"), "{said}");
    let made = elsewhere.run(["-C", at, "restore", "@"]).success();
    let said = made.error_text();
    assert!(said.contains("Made the project's directory again"), "{said}");
    assert!(path.is_dir());
    std::fs::remove_dir(&path).unwrap();
    let made = elsewhere.run(["-C", at, "restore", "@", "--json"]).success();
    assert_eq!(super::json(&made)["root_made"], true);
    let again = elsewhere.run(["-C", at, "restore", "@"]).success();
    assert!(again.error_text().contains("Nothing to do"), "{again}");
}
