//! `--patch`: choosing hunk by hunk.

use std::io::Write;
use std::process::Stdio;

use herma_testkit::Bounded;
use herma_testkit::env::WorkDir;

use super::test_env;
use super::undo_steps::{lines, step};

/// Runs a command with these answers; returns what it asked and showed.
#[allow(clippy::disallowed_methods, clippy::unwrap_used)]
fn answer(
    env: &herma_testkit::TestEnv,
    project: &WorkDir<'_>,
    arguments: &[&str],
    answers: &str,
) -> String {
    let mut child = env
        .command(project.path())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .bounded_spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(answers.as_bytes()).unwrap();
    drop(stdin);
    let output = child.bounded_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
}

#[test]
fn chosen_hunks_are_undone_and_the_others_stay() {
    let env = test_env();
    let project = env.work_dir("project");
    let far = lines(&[(2, "TWO"), (18, "EIGHTEEN")]);
    let cases: [(&[&str], &str, String); 8] = [
        (&["undo", "2", "--patch"], "y\nn\n", lines(&[(18, "EIGHTEEN")])),
        (&["undo", "2", "--patch"], "n\ny\n", lines(&[(2, "TWO")])),
        (&["undo", "2", "-p"], "a\n", lines(&[])),
        (&["undo", "2", "-p"], "d\n", far.clone()),
        (&["undo", "2", "-p"], "y\nq\n", lines(&[(18, "EIGHTEEN")])),
        (&["undo", "2", "-p"], "?\nj\ny\nn\n", lines(&[(2, "TWO")])),
        (&["undo", "2", "-p"], "y\nk\nn\ny\n", lines(&[(2, "TWO")])),
        // The end of the input is no answer.
        (&["undo", "2", "-p"], "", far.clone()),
    ];
    project.write("code.txt", &lines(&[]));
    step(&project, &["--agent", "claude"], &[("code.txt", &far)]);
    for (arguments, answers, expected) in cases {
        project.write("code.txt", &far);
        answer(&env, &project, arguments, answers);
        assert_eq!(project.read("code.txt"), expected, "{answers:?}");
    }
    env.fsck();
}

#[test]
fn a_hunk_is_split_and_whole_files_are_asked_about() {
    let env = test_env();
    let project = env.work_dir("project").files([("gone.txt", "g\n")]);
    project.write("code.txt", &lines(&[]));
    let number =
        project.run(["step", "begin", "--tool", "Bash"]).success().text().trim().to_owned();
    project.write("code.txt", &lines(&[(5, "FIVE"), (7, "SEVEN")]));
    project.write("made.txt", "made\n");
    project.remove("gone.txt");
    project.run(["step", "end", &number]).success();
    // code.txt: split, first part yes, second no; gone.txt comes back; made.txt stays.
    let said = answer(&env, &project, &["undo", "2", "-p"], "s\ny\nn\ny\nn\n");
    assert_eq!(project.read("code.txt"), lines(&[(7, "SEVEN")]), "{said}");
    assert!(project.exists("gone.txt"), "{said}");
    assert!(project.exists("made.txt"), "{said}");
}

#[test]
fn a_restore_without_steps_is_chosen_from_as_well() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write("code.txt", &lines(&[]));
    project.run(["save"]).success();
    project.write("code.txt", &lines(&[(2, "TWO"), (18, "EIGHTEEN")]));
    let said = answer(&env, &project, &["restore", "@", "-p"], "y\nn\n");
    insta::assert_snapshot!(herma_testkit::output::redact::redact(&said, &[]), @"
    code.txt
    (1/2) Undo this hunk [y,n,q,a,d,j,k,?]? (2/2) Undo this hunk [y,n,q,a,d,j,k,?]? Restored a part of checkpoint 1: 1 file written, 0 deleted.
    `herma undo` brings it back.
    @@ -1,5 +1,5 @@
     line 1
    -TWO
    +line 2
     line 3
     line 4
     line 5
    @@ -15,6 +15,6 @@ line 14
     line 15
     line 16
     line 17
    -EIGHTEEN
    +line 18
     line 19
     line 20
    write  code.txt
    ");
    assert_eq!(project.read("code.txt"), lines(&[(18, "EIGHTEEN")]));
}
